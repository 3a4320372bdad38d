"""The statements that write staged rows, run by SQLite, against the table in memory: both are one function.

SQLite has the same logic of NULL; the few functions of Spark that it lacks are given to it.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemaman.migration.row_columns import DELETED, ORDER
from schemaman.model.schema import Column
from schemaman.model.types import Integer, String
from schemaman.sink.row_mapping import RowMap
from schemaman.sink.upsert import LakeChange
from schemaman.sink.written_rows import is_written
from schemaman.spark.streaming.merge_sql import (
    format_merge,
    format_missing_row_query,
    format_newer_row_query,
    format_other_row_query,
    format_written_query,
)
from schemaman.spark.streaming.row_staging import WAITING
from schemaman.spark.streaming.staged_columns import list_staged_columns, make_staged_helpers
from tests.support.checkout import PROOF
from tests.support.memory_lake import MemoryTable, describe_change, stage

COLUMNS = (Column("id", Integer(32)), *(Column(name, String()) for name in "abc"))
TO = RowMap(COLUMNS, ("id",), {}, {}, {}, 1, dropped=frozenset({"c"}), key_parts=frozenset({"id", "a"}))
FIELDS = {column.name: number for number, column in enumerate(COLUMNS)}
HELPERS = make_staged_helpers(TO)
NAMES = [column.name for column in list_staged_columns(TO)]
HELPING = [HELPERS.kept, HELPERS.words, HELPERS.needs_row, HELPERS.behind, HELPERS.anew, HELPERS.unread,
           HELPERS.unsent, HELPERS.since, HELPERS.fresh, HELPERS.alike, HELPERS.first,
           HELPERS.last]  # fmt: skip
PARTS = {name: f"{HELPERS.parts}.{name}" for name in sorted(TO.key_parts)}
"""The nested fields of the helper column, each as a column of its own: SQLite has no structs."""
Row = Mapping[str, Any]


def order(place: int) -> str:
    return f"{place:05d}/1/000000.{place:020d}"


@st.composite
def records(draw) -> list[dict[str, Any]]:
    """Mapped changes of one key, in their order; some cannot be written, some only show what waits."""
    made: list[dict[str, Any]] = []
    for place in sorted(draw(st.sets(st.integers(1, 30), min_size=1, max_size=5))):
        op = draw(st.sampled_from("ccuuuud"))
        unsent = draw(st.sets(st.sampled_from("ab"))) if op in "cu" else set()
        told = [] if op == "d" else [n for n in "abc" if n not in unsent and draw(st.integers(0, 6))]
        values = {name: draw(st.sampled_from((f"{name}{place}", None, "c5"))) for name in told}
        again = draw(st.booleans())
        claim = draw(st.sampled_from(("", "", "", {"c": "fresh", "u": "alike", "d": ""}[op])))
        place_of = ("t", 0, place)
        change = LakeChange(op, order(place), place_of, {"id": 1, **values}, frozenset(unsent), again, claim)
        reason = draw(st.sampled_from((None,) * 8 + ("cannot be written", WAITING)))
        unread = draw(st.sampled_from((None, None, draw(st.integers(0, place - 1))))) if unsent else None
        described = {**describe_change(change), "reason": reason, "unread": unread}
        made.append(described | ({"change": None} if reason == WAITING else {}))
    return made


@st.composite
def rows(draw) -> Row | None:
    """A row of the table, or none."""
    if not draw(st.integers(0, 4)):
        return None
    a, c = draw(st.sampled_from(("ta", None))), draw(st.sampled_from(("tc", None, "c5")))
    place, deleted = draw(st.integers(1, 31)), draw(st.booleans())
    return {"id": 1, "a": a, "b": "tb", "c": c, ORDER: order(place), DELETED: deleted}


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    with sqlite3.connect(":memory:") as made:
        made.create_function("array_contains", 2, lambda a, n: None if a is None else int(n in json.loads(a)))
        made.create_function(
            "try_element_at", 2, lambda a, n: None if a is None else json.loads(a).get(str(n))
        )
        made.create_function("substring_index", 3, _substring_index)
        for name, columns in (("t", NAMES), ("s", [*NAMES, *HELPING, *PARTS.values()])):
            made.execute(f"CREATE TABLE {name} ({', '.join(f'`{column}`' for column in columns)})")
        yield made


def _substring_index(text: str | None, delimiter: str, count: int) -> str | None:
    if text is None:
        return None
    parts = text.split(delimiter)
    return delimiter.join(parts[:count] if count > 0 else parts[count:])


@settings(max_examples=5000 if PROOF else 400)
@given(changes=records(), old=rows(), floor=st.none() | st.integers(1, 20).map(order))
def test_the_statements_do_what_the_table_in_memory_does(
    database: sqlite3.Connection, changes: list[dict[str, Any]], old: Row | None, floor: str | None
) -> None:
    for row in (
        row for row in stage(changes, replace(TO, truncated=floor or "")) if row[HELPERS.reason] is None
    ):
        table = MemoryTable("t")
        table.fields, table.truncated = FIELDS, floor or ""
        if old is not None:
            table.rows["1",] = {FIELDS.get(name, name): value for name, value in old.items()}
        taken = not table.is_other(row, [row], TO) and table.merge(row, TO)
        _fill(database, row, old)
        assert _is_taken(database, floor, known=row[HELPERS.since] is not None) == taken
        if taken:
            (held,) = table.rows.values()
            found = {name: held[FIELDS.get(name, name)] for name in NAMES}
            assert _merged(database, row, old, floor) == _plain(found)


@st.composite
def parts(draw) -> dict[str, Any]:
    """A row whose columns of keys have few values, so that it is often in conflict with another one."""
    found = {name: draw(st.sampled_from((1, 2))) for name in ("id", "a")}
    return {**found, ORDER: order(draw(st.integers(1, 9))), DELETED: draw(st.booleans())}


@st.composite
def uncertain_rows(draw) -> dict[str, Any]:
    claim = draw(st.sampled_from((HELPERS.fresh, HELPERS.alike, HELPERS.first, HELPERS.last)))
    row = draw(parts())
    own = {name: draw(st.sampled_from((row[name], 1, 2, None))) for name in PARTS}
    first, last = sorted(draw(st.integers(1, int(row[ORDER][:5]))) for _ in range(2))
    return {**row, claim: order(first), HELPERS.last: order(last), HELPERS.parts: own}


@settings(max_examples=5000 if PROOF else 400)
@given(
    staged=st.lists(uncertain_rows(), min_size=1, max_size=3),
    there=st.lists(parts(), max_size=3),
    key=st.sampled_from((("id",), ("a", "id"))),
    is_known=st.booleans(),
    floor=st.none() | st.integers(1, 9).map(order),
    other_key_from=st.integers(1, 9).map("{:05d}".format),
)
def test_the_statement_finds_the_rows_that_may_be_others(
    database: sqlite3.Connection,
    staged: list[dict[str, Any]],
    there: list[dict[str, Any]],
    key: tuple[str, ...],
    is_known: bool,
    floor: str | None,
    other_key_from: str,
) -> None:
    keys = (("a",), key) if is_known else ()
    to = replace(TO, key=key, possible_keys=keys, other_key_from=other_key_from)
    table = MemoryTable("t")
    table.fields, table.truncated, table.key_fields = FIELDS, floor or "", {FIELDS[name] for name in key}
    table.rows = {
        tuple(repr(row[n]) for n in key): {FIELDS.get(n, n): v for n, v in row.items()} for row in there
    }
    fields = {at: name for name, at in FIELDS.items()}
    staged = [{**dict.fromkeys((*NAMES, *HELPING)), **row, "b": n} for n, row in enumerate(staged)]
    _clear(database)
    for held in table.rows.values():
        row = {fields.get(at, at): value for at, value in held.items()}
        _insert(database, "t", [row.get(name) for name in NAMES])
    for row in staged:
        _insert_staged(database, row)
    query = format_other_row_query("t", "s", key, ("a", "id"), keys, HELPERS, floor, other_key_from)
    found = _asked(database, query)
    expected = {row["b"] for row in staged if table.is_other(row, staged, to)}
    assert {row[NAMES.index("b")] for row in found} == expected


_POSITIONS = st.sampled_from(("-/0", "00001/0", "00001/1", "00002/1", "a/b/1"))
_ORDERS = st.builds("{}/{:06d}.{:020d}".format, _POSITIONS, st.integers(0, 1), st.integers(0, 2))


@settings(max_examples=3000 if PROOF else 300)
@given(
    there=_ORDERS | st.none(),
    own=_ORDERS,
    came_before=st.booleans(),
    is_alone=st.booleans(),
    deleted=st.tuples(st.booleans() | st.none(), st.booleans() | st.none()),
)
def test_the_statement_finds_the_changes_that_the_table_has(
    database: sqlite3.Connection,
    there: str | None,
    own: str,
    came_before: bool,
    is_alone: bool,
    deleted: tuple[bool | None, bool | None],
) -> None:
    revives = bool(deleted[0]) and not deleted[1]
    for named, other in (({"id": 1}, 7), ({"a": "x"}, None), ({"id": 2}, 7)):
        _clear(database)
        held = {"id": 1, "a": "x", "b": other, ORDER: there, DELETED: deleted[0]}
        _insert(database, "t", [held.get(name) for name in NAMES])
        row = {**named, ORDER: own, DELETED: deleted[1], HELPERS.needs_row: came_before}
        _insert_staged(database, row)
        query = format_written_query("t", "s", [("id",), ("a",), ("a", "id")], HELPERS, is_alone=is_alone)
        is_known = there is not None and named != {"id": 2}
        expected = is_known and is_written(
            there or "", own, came_before=came_before, is_alone=is_alone, revives=revives
        )
        assert bool(_asked(database, query)) == expected


def _clear(database: sqlite3.Connection) -> None:
    database.execute("DELETE FROM t")
    database.execute("DELETE FROM s")


def _fill(database: sqlite3.Connection, row: Row, old: Row | None) -> None:
    _clear(database)
    if old is not None:
        _insert(database, "t", [old[name] for name in NAMES])
    words = None if row[HELPERS.words] is None else json.dumps(dict(row[HELPERS.words]))
    told = {**row, HELPERS.kept: json.dumps(row[HELPERS.kept]), HELPERS.words: words}
    _insert_staged(database, told)


def _insert_staged(database: sqlite3.Connection, row: Row) -> None:
    own = row.get(HELPERS.parts) or {}
    values = [row.get(name) for name in (*NAMES, *HELPING)]
    _insert(database, "s", [*values, *(own.get(name) for name in PARTS)])


def _insert(database: sqlite3.Connection, table: str, values: Sequence[Any]) -> None:
    database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)


def _asked(database: sqlite3.Connection, statement: str) -> list[Any]:
    statement = statement.replace(f"`{HELPERS.parts}`.`", f"`{HELPERS.parts}.")
    return database.execute(statement.replace("<=>", "IS")).fetchall()


def _is_taken(database: sqlite3.Connection, floor: str | None, *, known: bool) -> bool:
    if _asked(database, format_missing_row_query("t", "s", ("id",), HELPERS, floor)):
        return False
    if _asked(database, format_other_row_query("t", "s", ("id",), ("a", "id"), (), HELPERS, floor)):
        return False
    left = [(i, column) for i, column in enumerate(COLUMNS) if column.name in TO.dropped]
    return not known or not _asked(database, format_newer_row_query("t", "s", ("id",), left, HELPERS))


def _merged(database: sqlite3.Connection, row: Row, old: Row | None, floor: str | None) -> dict[str, Any]:
    """The row after the MERGE, whose clauses are asked one by one: SQLite knows no MERGE."""
    keeps = bool(row[HELPERS.kept] or row[HELPERS.words])
    statement = format_merge("t", "s", list_staged_columns(TO), ("id",), floor, keeps=keeps)
    found = re.search(r"WHEN MATCHED AND (.*) THEN UPDATE SET (.*)\nWHEN NOT MATCHED THEN", statement)
    assert found is not None
    if old is None:
        return _plain({name: row[name] for name in NAMES})
    if not _asked(database, f"SELECT {found[1]} FROM t JOIN s ON t.id = s.id")[0][0]:
        return _plain(old)
    sets = [each.split(" = ", 1) for each in re.split(r", (?=t\.`\w+` = )", found[2])]
    (values,) = _asked(
        database, f"SELECT {', '.join(value for _, value in sets)} FROM t JOIN s ON t.id = s.id"
    )
    return _plain({**old, **dict(zip((name[3:-1] for name, _ in sets), values, strict=True))})


def _plain(row: Row) -> dict[str, Any]:
    return {**row, DELETED: bool(row[DELETED])}
