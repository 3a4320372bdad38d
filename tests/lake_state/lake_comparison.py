"""A mirrored lake held against the independent fold of its events: which table is which, what is as promised.

Beyond `lake_state.compare`, which forgives nothing: a table that stopped has the structure that it stopped
with; a column that left the source keeps its values, under the name by which the lake knows it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from schemaman.migration.properties.names import SOURCE_PROPERTY
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.row_columns import (
    DELETED,
    OFFSET,
    OP,
    ORDER,
    PARTITION,
    TOPIC,
    list_row_columns,
)
from schemaman.migration.spark_sql import type_name
from schemaman.migration.target import LakeTable
from schemaman.model.schema import TableId
from schemaman.sink.column_mapping import find_incarnation
from schemaman.store.sql.store import SqlStore
from tests.lake_state.compare import Difference, Shape, assigned, compare, is_same
from tests.lake_state.fold import Appended, State, Table, fold
from tests.lake_state.recording import Event, Place, read

_OF_STRUCTURE = ("type", "key", "column-missing")


@dataclass(slots=True)
class ComparedTable:
    """A table of the lake: of which source table, its structure and rows, and whether it takes no more."""

    source: TableId
    live: LakeTable
    rows: list[dict[str, Any]]
    stopped: bool = False


@dataclass(slots=True)
class Comparison:
    """How much was compared, and what differs."""

    tables: int = 0
    rows: int = 0
    cells: int = 0
    differences: list[str] = field(default_factory=list)


def compared(
    folder: Path, store: SqlStore, lake: Collection[ComparedTable], withheld: Collection[tuple[str, int, int]]
) -> Comparison:
    """The lake against the fold of all events but those that were withheld."""
    # a lake column may be called as a record calls it whose row was withheld: its name is known all the same
    as_sent = has_only_texts(store, lake)
    every = fold(folder, (), as_sent=as_sent).tables

    def fold_without(places: Collection[Place], *, keep_structures: bool = False) -> State:
        state = fold(folder, places, as_sent=as_sent, keep_structures=keep_structures)
        for name, each in state.tables.items():
            state.tables[name] = replace(each, spellings=every.get(name, each).spellings)
        return state

    state, newest = fold_without(withheld), fold_without(withheld, keep_structures=True)
    found = Comparison()
    met: set[tuple[str, str, int]] = set()
    others = _find_places_of_others(folder, lake)
    for table in lake:
        mine, described = state, newest
        if table.live.name in others:
            places = {*withheld, *others[table.live.name]}
            mine, described = fold_without(places), fold_without(places, keep_structures=True)
        candidates = _candidates(mine, store, table)
        if not candidates:
            if table.rows:
                found.differences.append(f"{table.source}: in the lake, and no event told of it")
            continue
        # What is withheld may have given the lake table its structure before it was.
        pairs = list(zip(candidates, _candidates(described, store, table), strict=True))
        pairs = pairs if table.stopped else pairs[-1:]
        tried = [(len(_differences(each, table)), -each.life, each) for pair in pairs for each in pair]
        expected = min(tried, key=lambda each: each[:2])[2]
        expected = _add_filled_rows(
            expected, table, lake, lambda name: fold_without({*withheld, *others[name]})
        )
        met.add((*expected.name, expected.life))
        if table.live.name in others:
            met |= {(*each.name, each.life) for each in _candidates(state, store, table)}
        found.tables += 1
        found.rows += len(expected.appended if not table.live.schema.key else expected.rows)
        found.cells += expected.cells
        found.differences += [str(difference) for difference in _differences(expected, table)]
    for name, expected in state.tables.items():
        if name not in met and expected.rows and not expected.ended:
            found.differences.append(f"{'.'.join(name[:2])}: not in the lake, {len(expected.rows)} rows told")
    return found


def _add_filled_rows(
    expected: Table, table: ComparedTable, lake: Collection[ComparedTable], fold_table: Callable[[str], State]
) -> Table:
    """What a log should have that was filled: each live row of the table before it, as one that was read."""
    record = read_record(table.live.properties)
    if table.live.schema.key or not record.is_filled or record.predecessor is None:
        return expected
    before = next((t for t in lake if t.live.name == record.predecessor.table), None)
    if before is None:
        return expected
    rows = fold_table(before.live.name).table(*expected.name).rows
    filled = [Appended(row.place, "r", None, row.cells) for row in rows]
    return replace(expected, appended=[*filled, *expected.appended])


def has_only_texts(store: SqlStore, lake: Collection[ComparedTable]) -> bool:
    """Whether nothing tells the types of any table, so that each value is the text of its JSON."""
    found = [store.history(table.source) for table in lake]
    return bool(found) and all(h is not None and h.latest.status == "inferred" for h in found)


def _find_places_of_others(folder: Path, lake: Collection[ComparedTable]) -> dict[str, set[Place]]:
    """The events that went into another lake table of the same source, by lake table; of successors alone.

    A successor records where its first version began: the events from there on are its own, but for those
    that the table before it has: a reader reads both. One with a key that was filled has all of them.
    """
    found: dict[str, set[Place]] = {}
    for table in lake:
        record = read_record(table.live.properties)
        if record.predecessor is None:
            continue
        began = json.loads(record.predecessor.began)
        # A table that made room for another one is not among them.
        before = next((t for t in lake if read_record(t.live.properties).successor == table.live.name), None)
        written, own = (
            {name_order(row.get(ORDER)) for row in each.rows} if each else set() for each in (before, table)
        )
        # A row shows its last event alone: the ones before it of the same key are in the same table.
        last = {
            (*event.place[:2], repr(event.key)): event.place[2]
            for event in read(folder)
            if event.key and name_event(event) in written
        }
        reached: set[tuple[str, int]] = set()
        for event in read(folder):
            topic, partition, offset = event.place
            there = name_event(event) in written
            there |= offset <= last.get((topic, partition, repr(event.key)), -1)
            if _is_from(event, began):
                reached.add((topic, partition))
            # A row that is read beside the stream has no position: it is as new as what came before it.
            reads = event.source.get("lsn") is None and event.source.get("file") is None
            later = (_is_from(event, began) or (reads and (topic, partition) in reached)) and not there
            # Rows that a successor took over, or got late, are told under the former name of their table.
            is_former = event.source.get("table") != table.source.table
            later = later or (is_former and (bool(record.taken) or name_event(event) in own))
            owner = before if later else table
            if owner is not None and (later or not (record.is_filled and table.live.schema.key)):
                found.setdefault(owner.live.name, set()).add(event.place)
    return found


def name_order(order: object) -> str:
    """Name the event that wrote a row: its partition and offset, and its position in a binlog.

    A table that got another name has rows of several topics, so that offsets alone are not unique.
    """
    position, _, place = str(order).partition("/")
    place = place.rsplit("/", 1)[-1]
    return f"{position}/{place}" if re.fullmatch(r"\d{12}\.\d{20}\.\d{10}", position) else place


def name_event(event: Event) -> str:
    """Name an event as `name_order` names it in a row."""
    place, source = f"{event.place[1]:06d}.{event.place[2]:020d}", event.source
    if not source.get("file"):
        return place
    number = int(str(source["file"]).rpartition(".")[2])
    return f"{number:012d}.{source['pos']:020d}.{source.get('row') or 0:010d}/{place}"


def list_successions(folder: Path, lake: Collection[ComparedTable]) -> list[tuple[ComparedTable, set[Place]]]:
    """Each table with a successor, and the events that went into the other tables of its source."""
    others = _find_places_of_others(folder, lake)
    return [
        (table, others.get(table.live.name, set()))
        for table in lake
        if read_record(table.live.properties).successor
    ]


def _is_from(event: Event, began: Mapping[str, Any]) -> bool:
    """Whether an event is not from before the place where a version began."""
    source, kind, value = event.source, began["position"]["kind"], str(began["position"]["value"])
    if kind == "lsn" and source.get("lsn") is not None:
        return int(source["lsn"]) >= int(value)
    if kind == "binlog" and source.get("file"):
        file, at, row = value.rsplit(":", 2)
        return (source["file"], source["pos"], source.get("row") or 0) >= (file, int(at), int(row))
    topic, partition, offset = event.place
    return (topic, partition) == (began["topic"], began["partition"]) and offset >= began["offset"]


def _candidates(state: State, store: SqlStore, table: ComparedTable) -> list[Table]:
    """The lives of the source table that a lake table may hold: it keeps the rows of one that was renamed."""
    source = table.source
    for _ in range(8):
        other = _renamed_to(store, source, table.live)
        if other is None:
            break
        source = other
    space = source.schema or source.database
    return [t for t in state.tables.values() if t.name == (space, source.table)]


def _renamed_to(store: SqlStore, source: TableId, live: LakeTable) -> TableId | None:
    history = store.history(source)
    if history is None:
        return None
    own = str(source) == live.properties.get(SOURCE_PROPERTY)
    life = find_incarnation(live, history) if own else history.latest.incarnation
    return next((e.other for e in history.events if e.kind == "renamed" and e.incarnation == life), None)


def _differences(expected: Table, table: ComparedTable) -> list[Difference]:
    schema = table.live.schema
    columns = {c.name: type_name(c.type) for c in schema.columns}
    now = {c.name.lower() for c in expected.columns}
    own = frozenset(c.name for c in list_row_columns(schema.key))
    there = {name.lower(): name for name in columns if name not in own}
    spelled = {c.name: (c.name, *expected.spellings.get(c.name, ())) for c in expected.columns}
    gone = {*there.values()} - {*assigned(spelled, there).values()}
    rows = [replace(r, left={n: v for n, v in r.left.items() if n.lower() not in now}) for r in expected.rows]
    keyless = not schema.key
    shape = Shape(
        columns,
        schema.key,
        own=own | gone,
        deleted=None if keyless else DELETED,
        place=(TOPIC, PARTITION, OFFSET) if keyless else None,
        op=OP if keyless else None,
    )
    found = compare(replace(expected, rows=rows), table.rows, shape)
    found = [d for d in found if not (table.stopped and d.what in _OF_STRUCTURE)]
    return found if keyless else [*found, *_left(expected, table, columns, gone)]


def _left(
    expected: Table, table: ComparedTable, columns: Mapping[str, str], gone: Collection[str]
) -> list[Difference]:
    """Values in columns that the source has no more, and that it never told."""
    # By column, not by name: two columns that are gone may have had the same name. And by each of its names:
    # a lake that nobody told of a rename has the last value of each.
    told = [v for r in expected.rows for v in (*r.left.values(), *r.cells.values(), *r.ids.values())]
    told += [v for r in expected.rows for values in r.spelled.values() for v in values.values()]
    return [
        Difference(".".join(expected.name), "cell", column, "", "", repr(row[column]))
        for row in table.rows
        for column in gone
        if not row.get(DELETED) and row[column] is not None
        if not any(is_same(value, row[column], columns[column]) for value in told)
    ]
