"""Queries over two tables in memory, read by SQLite as Spark would read them: how a successor is filled.

Values are compared as wholes and by equality alone, but for those of the row columns.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from schemaman.migration.row_columns import KEYED, KEYLESS, OFFSET, PARTITION, TOPIC
from schemaman.model.ddl import quote_name

if TYPE_CHECKING:
    from tests.support.memory_lake import MemoryTable

_RAW = {name for name, _ in (*KEYED, *KEYLESS)}
_PART = r"`(?:[^`]|``)+`"
_TABLE = re.compile(rf"(?<=FROM |JOIN )({_PART}(?:\.{_PART})*)")
_JOIN = re.compile(r" LEFT (ANTI|SEMI) JOIN (t\d+ AS \w+) ON ")
_INSERT = re.compile(rf"INSERT INTO ({_PART}(?:\.{_PART})*) \((.*?)\) (SELECT .*)", re.DOTALL)
Find = Callable[[str], "MemoryTable"]


def spell_key_value(value: object) -> str:
    """Spell a value of a key: equal numbers of two types have one spelling, as Spark compares them."""
    if isinstance(value, float) and value.is_integer():
        return repr(int(value))
    return format(value.normalize(), "f") if isinstance(value, Decimal) else repr(value)


def count_joined(find: Find, statement: str) -> int:
    """The one number of a query over the tables that `find` gives by their names in SQL."""
    ((number,),), _ = _run(find, statement)
    return int(number)


def insert_joined(find: Find, statement: str) -> None:
    """Insert the rows of a query into a table, each under its key, or under the place of its record."""
    found = _INSERT.fullmatch(statement)
    assert found, statement
    table = find(found[1])
    assert table.live is not None
    names = [part[1:-1].replace("``", "`") for part in re.findall(_PART, found[2])]
    rows, values = _run(find, found[3])
    key = table.live.schema.key or (TOPIC, PARTITION, OFFSET)
    for cells in rows:
        told = {
            name: cell if cell is None or name in _RAW else values[cell]
            for name, cell in zip(names, cells, strict=True)
        }
        told = {name: bool(cell) if name == KEYED[1][0] else cell for name, cell in told.items()}
        table.rows[tuple(spell_key_value(told[name]) for name in key)] = {
            name if name in _RAW else table.fields[name]: value for name, value in told.items()
        }
    table.key_fields = {table.fields[name] for name in table.live.schema.key}


def _run(find: Find, statement: str) -> tuple[list[tuple[Any, ...]], Sequence[Any]]:
    """The rows of a query, whose cells are numbers of the values, but for those of the row columns."""
    names = list(dict.fromkeys(_TABLE.findall(statement)))
    base = sqlite3.connect(":memory:")
    base.create_function("regexp_extract", 3, _extract)
    values: list[Any] = []
    numbers: dict[str, int] = {}
    for number, name in enumerate(names):
        _load(base, f"t{number}", find(name), numbers, values)
    text = _TABLE.sub(lambda found: f"t{names.index(found[0])}", statement).replace("<=>", "IS")
    with base:
        return list(base.execute(_rewrite_joins(text))), values


def _load(
    base: sqlite3.Connection, name: str, table: MemoryTable, numbers: dict[str, int], values: list[Any]
) -> None:
    assert table.live is not None
    columns = table.live.schema.names
    base.execute(f"CREATE TABLE {name} ({', '.join(map(quote_name, columns))})")
    for row in table.rows.values():
        cells = [_number(row, c, table.fields, numbers, values) for c in columns]
        base.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(cells))})", cells)


def _number(
    row: Mapping[Any, Any], name: str, fields: Mapping[str, int], numbers: dict[str, int], values: list[Any]
) -> Any:
    if name in _RAW:
        return row.get(name)
    value = row.get(fields[name])
    if value is None:
        return None
    if repr(value) not in numbers:
        numbers[repr(value)] = len(values)
        values.append(value)
    return numbers[repr(value)]


def _extract(text: str | None, pattern: str, group: int) -> str | None:
    found = None if text is None else re.search(pattern, text)
    return found[group] if found else None if text is None else ""


def _rewrite_joins(text: str) -> str:
    """Anti and semi joins as conditions, which SQLite knows; the last one first."""
    while found := list(_JOIN.finditer(text)):
        join = found[-1]
        end = _find_end(text, join.end())
        rest = text[end:].removeprefix(" WHERE ")
        word, joined = "NOT EXISTS" if join[1] == "ANTI" else "EXISTS", " AND " if rest != text[end:] else ""
        inner = f" WHERE {word} (SELECT 1 FROM {join[2]} WHERE {text[join.end() : end]})"
        text = text[: join.start()] + inner + joined + rest
    return text


def _find_end(text: str, start: int) -> int:
    """Where the condition of a join ends."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth < 0 or (depth == 0 and text.startswith((" WHERE ", " EXCEPT "), at)):
            return at
    return len(text)
