"""Each kind of change at each level that it may have, under autopilot: it is made whole, or waits as told."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, get_args

import pytest

from schemaman.migration.policy import (
    KINDS,
    NEVER,
    ChangeKind,
    Level,
    Policy,
    PolicyRule,
    ProjectionRule,
    Ruling,
)
from schemaman.migration.row_columns import DELETED
from schemaman.store.sql.store import SqlStore
from tests.cases.connector import TEXT as MYSQL_TEXT
from tests.cases.connector import Connector, decimal, entry
from tests.streaming.automatic_ways import WAYS
from tests.support.checkout import PROOF
from tests.support.killed_sink import Batch
from tests.support.memory_sink import MemorySink
from tests.support.records import Node, column, image, node, row_event

TIME = node("int64", "io.debezium.time.MicroTime", optional=True)
INT, LONG, DOUBLE, TEXT = (node(kind, optional=True) for kind in ("int32", "int64", "double", "string"))
ASKED: set[ChangeKind] = set()


@dataclass(frozen=True, slots=True)
class AskedPolicy(Policy):
    """A policy that remembers which kinds it was asked about."""

    def find_ruling(self, kind: ChangeKind, table: str, *targets: str) -> Ruling:
        ASKED.add(kind)
        return Policy.find_ruling(self, kind, table, *targets)


@dataclass(frozen=True)
class History:
    """Batches: those from `at` on raise the kind. `rules` make room for it, `prepare` alters the table."""

    batches: Sequence[Batch]
    formats: tuple[str, ...] = ("delta", "iceberg")
    rules: Mapping[ChangeKind, Level] | None = None
    at: int = 1
    prepare: Callable[[MemorySink], None] = lambda _: None
    projections: tuple[ProjectionRule, ...] = ()


def of(*rows: tuple[Mapping[str, Node], Mapping[str, Any]], **more: Any) -> History:
    """A row for each batch, with the types of its columns."""
    records = [
        row_event({"id": node("int32"), **types}, "u" if n else "c", {"id": n, **row}, offset=n)
        for n, (types, row) in enumerate(rows)
    ]
    return History([Batch([record]) for record in records], **more)


def mysql(*states: tuple[Node, str, Mapping[str, Node]], **more: Any) -> History:
    """A MySQL table by its images, statements and columns; texts are `x`."""
    connector, batches = Connector("mysql"), []
    for number, (shape, statement, columns) in enumerate(states):
        kind = "ALTER" if number else "CREATE"
        told = connector.change(entry(kind, '"shop"."t"', shape), table="t", ddl=statement)
        values = {name: "x" if node is MYSQL_TEXT else number for name, node in columns.items()}
        batches.append(Batch([told, connector.row(columns, table="t", values=values)]))
    return History(batches, **more)


def way(name: str, **more: Any) -> History:
    return History(WAYS[name].batches, WAYS[name].formats, **more)


def without_widening(sink: MemorySink) -> None:
    for table in sink.tables.values():
        assert table.live is not None
        kept = {n: text for n, text in table.live.properties.items() if "enableTypeWidening" not in n}
        table.live = replace(table.live, properties=kept)


def without_null(sink: MemorySink) -> None:
    """Another writer made the column NOT NULL."""
    for table in sink.tables.values():
        assert table.live is not None
        columns = (replace(c, nullable=c.name != "a" and c.nullable) for c in table.live.schema.columns)
        table.live = replace(table.live, schema=replace(table.live.schema, columns=tuple(columns)))


def laid_out_by_a(sink: MemorySink) -> None:
    for table in sink.tables.values():
        assert table.live is not None
        table.live = replace(table.live, layout=("a",))


ID, NODE = column("id", optional=False), node("int32")
TITLED = (
    ({"z": INT, "title": TEXT}, {"z": 1, "title": "a"}),
    ({"z": INT, "name": TEXT}, {"z": 1, "name": "b"}),
)
DELTA: dict[str, Any] = {"formats": ("delta",)}
HISTORIES: dict[ChangeKind, History] = {
    "new-table": of(({"a": INT}, {"a": 1}), at=0),
    "add-column": of(({"a": INT}, {"a": 1}), ({"a": INT, "b": INT}, {"a": 1, "b": 2})),
    "add-required-column": of(({"a": INT}, {"a": 1}), ({"a": INT, "b": NODE}, {"a": 1, "b": 2})),
    "reuse-name": way("name used again", at=2),
    "widen": of(({"a": INT}, {"a": 1}), ({"a": LONG}, {"a": 2})),
    "integer-to-decimal": of(
        ({"a": INT}, {"a": 1}), ({"a": decimal(12, 2, optional=True)}, {"a": "AMg="}), **DELTA
    ),
    "integer-to-double": of(({"a": INT}, {"a": 1}), ({"a": DOUBLE}, {"a": 2.5}), **DELTA),
    "upgrade": of(({"a": INT}, {"a": 1}), ({"a": LONG}, {"a": 2}), prepare=without_widening, **DELTA),
    "narrow": of(({"a": LONG}, {"a": 1}), ({"a": INT}, {"a": 2})),
    "retype": of(({"a": INT}, {"a": 1}), ({"a": TEXT}, {"a": "x"}), rules={"split-column": "block"}),
    "split-column": of(({"a": INT}, {"a": 1}), ({"a": TEXT}, {"a": "x"})),
    "drop-not-null": of(({"a": NODE}, {"a": 1}), ({"a": INT}, {"a": None}), prepare=without_null),
    "set-not-null": of(({"a": INT}, {"a": 1}), ({"a": NODE}, {"a": 2})),
    "change-default": mysql(
        (image(ID, column("a", position=2, hasDefaultValue=True, defaultValueExpression="1"), key=("id",)),
         "CREATE TABLE t", {"id": NODE, "a": INT}),
        (image(ID, column("a", position=2, hasDefaultValue=True, defaultValueExpression="2"), key=("id",)),
         "ALTER TABLE t", {"id": NODE, "a": INT}),
    ),
    "change-comment": mysql(
        (image(ID, key=("id",), comment="one"), "CREATE TABLE t", {"id": NODE}),
        (image(ID, key=("id",), comment="two"), "ALTER TABLE t COMMENT 'two'", {"id": NODE}),
    ),
    "reorder": mysql(
        (image(ID, column("a", position=2), column("b", position=3), key=("id",)), "CREATE TABLE t",
         {"id": NODE, "a": INT, "b": INT}),
        (image(ID, column("b", position=2), column("a", position=3), key=("id",)),
         "ALTER TABLE t MODIFY COLUMN a INT AFTER b", {"id": NODE, "b": INT, "a": INT}),
    ),
    "drop-column": of(({"a": INT, "b": INT}, {"a": 1, "b": 2}), ({"a": INT}, {"a": 3})),
    "rename-stated": mysql(
        (image(ID, column("v", "VARCHAR", 2, length=9), key=("id",)), "CREATE TABLE t",
         {"id": NODE, "v": MYSQL_TEXT}),
        (image(ID, column("w", "VARCHAR", 2, length=9), key=("id",)), "ALTER TABLE t RENAME COLUMN v TO w",
         {"id": NODE, "w": MYSQL_TEXT}),
    ),
    "rename-proven": of(({"a": INT, "z": INT}, {"a": 1, "z": 2}), ({"b": INT, "z": INT}, {"b": 3, "z": 4})),
    "rename-suspected": of(*TITLED, rules={"rename-unanswered": "block"}),
    "rename-unanswered": of(*TITLED),
    "unite-columns": way("columns united after an answer", at=2),
    "change-key": way("another key that rows prove", rules={"on-key-changed": "block"}),
    "on-key-changed": way("key that rows do not prove"),
    "on-key-lost": way("key that is gone"),
    "fill-successor": way("key that is gone"),
    "change-layout-column": of(({"a": INT}, {"a": 1}), ({"a": LONG}, {"a": 2}), prepare=laid_out_by_a),
    "drop-table": way("table made anew"),
    "rename-table": way("table renamed"),
    "truncate": way("TRUNCATE"),
    "untyped-json": way("JSON without types", at=0),
    "change-representation": of(
        ({"a": TIME}, {"a": 5_000_000}), ({"a": LONG}, {"a": 6}),
        projections=(ProjectionRule((("time", "bigint"),)),),
    ),
}  # fmt: skip

UNRAISED: frozenset[ChangeKind] = frozenset({"change-default", "reorder"})
"""A table of the sink keeps its own order of columns, and no defaults: neither kind changes it."""

GOES_ON: Mapping[ChangeKind, frozenset[Level]] = {
    # A soft-deleted row may have its key alone: the lake takes NULL as before.
    "set-not-null": frozenset(get_args(Level)),
    "reorder": frozenset(get_args(Level)),
    # Both columns keep their values until a person approves.
    "unite-columns": frozenset(get_args(Level)),
    # A successor takes the newer rows whether or not it gets the others.
    "fill-successor": frozenset(get_args(Level)),
    # Older readers keep theirs: the values go into a column beside.
    "upgrade": frozenset(get_args(Level)),
}
"""Levels that let rows through, though they make no change."""

WAITS: Mapping[ChangeKind, frozenset[Level]] = {
    "drop-table": frozenset({"ignore"}),
    "rename-table": frozenset({"ignore"}),
    # These records alone wait: no column or key is there for them, or they are the TRUNCATE that is left.
    "new-table": frozenset({"ignore"}),
    "change-key": frozenset({"ignore"}),
    "truncate": frozenset({"ignore"}),
    "retype": frozenset({"auto", "approve", "ignore"}),
    "rename-suspected": frozenset({"approve"}),
}
"""Levels at which rows wait, though they are no `block`: no step of the sink makes the change."""

DESTROYS: Mapping[ChangeKind, frozenset[Level]] = {
    "drop-column": frozenset({"auto", "approve"}),
    "truncate": frozenset({"auto"}),
    "change-key": frozenset({"auto", "approve"}),
}
"""Levels by which values go as they went at the source; another key lets a row have another `id`."""

CASES = [
    (kind, format, level, approves)
    for kind in KINDS
    for format in HISTORIES[kind].formats
    for level in get_args(Level)
    if level not in NEVER.get(kind, ())
    for approves in ((True, False) if level == "approve" else (False,))
]
CHOSEN = CASES if PROOF else [Random(n).choice([c for c in CASES if c[0] == k]) for n, k in enumerate(KINDS)]


def is_expected_to_wait(kind: ChangeKind, level: Level, *, approves: bool) -> bool:
    if level in GOES_ON.get(kind, ()) and (kind != "upgrade" or level != "approve"):
        return False
    if level in WAITS.get(kind, ()):
        return True
    return level in ("block", "quarantine") or (level == "approve" and not approves)


def read_last_values(batches: Sequence[Batch], key: str) -> dict[object, dict[str, object]]:
    """The last image of each row of these batches, by its key."""
    found: dict[object, dict[str, object]] = {}
    for record in (record for batch in batches for record in batch.records):
        value = json.loads(record.value or b"{}")
        row = (value.get("payload") or value).get("after") or {}
        found |= {row[key]: row} if row else {}
    return found


def read_values(sink: MemorySink) -> set[tuple[object, str]]:
    """The values of living rows with their ids, in whatever table and column."""
    rows = (row for table in sink.tables.values() if table.live for row in table.read())
    return {
        (row["id"], repr(value))
        for row in rows
        if not row.get(DELETED)
        for name, value in row.items()
        if not name.startswith("_row_") and value is not None
    }


@pytest.mark.parametrize(("kind", "format", "level", "approves"), CHOSEN)
def test_a_kind_is_made_or_waits_as_its_level_says(
    store: SqlStore, kind: ChangeKind, format: str, level: Level, approves: bool
) -> None:
    history = HISTORIES[kind]
    levels: dict[ChangeKind, Level] = {**(history.rules or {}), kind: level}
    rules = tuple(PolicyRule(each, (name,)) for name, each in levels.items())
    policy = AskedPolicy(profile="autopilot", rules=rules, projections=history.projections)
    sink = MemorySink(store, lambda _: None, format, policy, lambda _: approves)
    before: set[tuple[object, str]] = set()
    for number, batch in enumerate(history.batches):
        if number == history.at:
            history.prepare(sink)
            before = read_values(sink)
            ASKED.clear()
        sink.decisions = batch.decide(store)
        sink.take(batch.records)
    assert (kind in ASKED) == (kind not in UNRAISED)
    waits = is_expected_to_wait(kind, level, approves=approves)
    assert bool(sink.withheld()) == waits, sink.withheld()
    later = history.batches[history.at :]
    touched = read_last_values(later, "id")
    kept = {(id, value) for id, value in before if id not in touched}
    assert level in DESTROYS.get(kind, ()) or kept <= read_values(sink)
    if not waits and level != "ignore":
        images = read_last_values(later, "n" if kind in ("change-key", "on-key-changed") else "id").values()
        last = {(row["id"], repr(v)) for row in images for v in row.values() if v not in (None, "AMg=")}
        assert last <= read_values(sink)
