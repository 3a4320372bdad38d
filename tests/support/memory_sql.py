"""Conditions and assignments on the rows of a table in memory, read by SQLite as Spark would read them.

Values are compared as wholes and by equality alone, but for those of the row columns. It knows what the
statements for united columns use, and refuses every other by SQLite's error.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from schemaman.migration.row_columns import DELETED, ORDER

Rows = Sequence[dict[Any, Any]]
_RAW = (ORDER, DELETED)
_PATH = r"`\w+`(?:\.`\w+`)+"
_WIDENING = re.compile(r"try_cast\((?:try_cast\((`\w+`) AS BIGINT\) AS INT|(`\w+`) AS BIGINT)\)")
"""What an INT is as a BIGINT, and back: its value stays as it is."""


def count_rows(rows: Rows, fields: Mapping[str, int], condition: str) -> int:
    """The number of rows that a condition matches."""
    rows, fields, (condition,), _ = _open_structs(rows, fields, condition)
    with _load(rows, fields)[0] as found:
        ((number,),) = found.execute(f"SELECT count(*) FROM t WHERE {_translate(condition)}")
    return int(number)


def update_rows(rows: Rows, fields: Mapping[str, int], assigned: str, condition: str) -> None:
    """Assign values of columns and nested fields, or NULL, in the rows that a condition matches."""
    opened, columns, (assigned, condition), paths = _open_structs(rows, fields, assigned, condition)
    found, values = _load(opened, columns)
    columns = _select(columns)
    with found:
        found.execute(f"UPDATE t SET {_translate(assigned)} WHERE {_translate(condition)}")
        for number, order, deleted in found.execute(f"SELECT _number, {', '.join(_RAW)} FROM t"):
            rows[number].update({ORDER: order, DELETED: None if deleted is None else bool(deleted)})
        for number, *cells in found.execute(f"SELECT _number, {_list(columns)} FROM t"):
            for field, cell in zip(columns.values(), cells, strict=True):
                if field >= 0 and (cell is not None or field in rows[number]):
                    rows[number][field] = None if cell is None else values[cell]
            for name, field in paths.items():
                cell = cells[list(columns.values()).index(field)]
                column, *inner = name.split(".")
                if rows[number].get(fields[column]) is not None:
                    value = None if cell is None else values[cell]
                    rows[number][fields[column]] = _assign(rows[number][fields[column]], inner, value)


def _open_structs(
    rows: Rows, fields: Mapping[str, int], *texts: str
) -> tuple[Rows, Mapping[str, int], list[str], Mapping[str, int]]:
    """Rows in which the nested fields that texts name are columns of their own, called `s.a`."""
    found = sorted({path.replace("`", "") for text in texts for path in re.findall(_PATH, text)})
    paths = {name: -1 - number for number, name in enumerate(found)}
    opened = [dict(row) for row in rows]
    for row in opened:
        for name, field in paths.items():
            column, *inner = name.split(".")
            value = row.get(fields[column])
            for part in inner:
                value = (value or {}).get(part)
            row[field] = value
    named = [re.sub(_PATH, lambda found: f"`{found[0].replace('`', '')}`", text) for text in texts]
    return opened, {**fields, **paths}, named, paths


def _assign(struct: Any, path: Sequence[str], value: Any) -> Any:
    name, *inner = path
    return {**struct, name: _assign(struct.get(name) or {}, inner, value) if inner else value}


def _load(rows: Rows, fields: Mapping[str, int]) -> tuple[sqlite3.Connection, list[Any]]:
    """The rows as a table whose cells are numbers of values."""
    # The first two numbers are those that SQLite has for the words of a statement.
    found, values = sqlite3.connect(":memory:"), list[Any]([False, True])
    fields = _select(fields)
    numbers = {repr(value): number for number, value in enumerate(values)}
    found.execute(f"CREATE TABLE t (_number, {', '.join(_RAW)}, {_list(fields)})")
    for number, row in enumerate(rows):
        cells: list[Any] = [number, *(row.get(name) for name in _RAW)]
        for field in fields.values():
            value = row.get(field)
            if value is not None and repr(value) not in numbers:
                numbers[repr(value)] = len(values)
                values.append(value)
            cells.append(None if value is None else numbers[repr(value)])
        found.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(cells))})", cells)
    return found, values


def _select(fields: Mapping[str, int]) -> dict[str, int]:
    return {name: field for name, field in fields.items() if name not in _RAW}


def _list(fields: Mapping[str, int]) -> str:
    return ", ".join(f"`{name.replace('`', '``')}`" for name in fields)


def _translate(text: str) -> str:
    return _WIDENING.sub(lambda found: found[1] or found[2], text).replace("<=>", "IS")
