"""Recordings written into the lake by the sink, with nobody who answers: what is done, and what waits.

`python -m bench.autopilot [PROFILE …] [--only PART] [--batch SIZE] [--captures FOLDER] [--details]`. Tables
are in memory, so that neither Spark nor a server is needed. Each figure comes from catalogue and events of
a recording. `bench.recorder` makes a folder of others.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from schemaman.history.open_questions import list_open_questions
from schemaman.history.table_renames import list_table_questions
from schemaman.history.versions import TableHistory
from schemaman.migration.column_map import make_column_map
from schemaman.migration.policy import PROFILES, Policy, PolicyRule
from schemaman.migration.properties.displaced_columns import read_displaced
from schemaman.migration.properties.table_record import DisplacedColumn, SplitColumn, read_record
from schemaman.migration.row_columns import DELETED, OFFSET, OP, PARTITION, TOPIC, list_row_columns
from schemaman.migration.source import migration_source
from schemaman.migration.spark_sql import type_name
from schemaman.migration.split_columns import find_part_ids, list_former_parts, list_text_parts
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, ConnectorModes
from schemaman.store.sql.store import SqlStore
from tests.lake_state.compare import Held, Shape, compare
from tests.lake_state.fold import State, Table, fold
from tests.lake_state.lake_comparison import ComparedTable, compared, has_only_texts, list_successions
from tests.lake_state.lake_types import holds
from tests.lake_state.recording import Place, read
from tests.lake_state.row_numbers import find_row_faults
from tests.lake_state.truth import truth_of
from tests.support.checkout import CAPTURES
from tests.support.memory_sink import MemorySink
from tests.support.recordings import recorded, registry

FORMATS = ("delta", "iceberg")
SIZES = (20, 1_000_000)
"""Records of a batch: small batches, and one big one."""
MODES = ConnectorModes("precise", "adaptive_time_microseconds", "bytes", "numeric", "json", "long")
"""The settings of the recorded connectors, which records without schemas do not hold; Debezium's defaults."""
STRUCTURE = (": type", ": key", ": column-missing")


@dataclass(slots=True)
class Figures:
    """Figures of one way to write recordings; tables are those that the source has at the end."""

    tables: int = 0
    stopped: int = 0
    waiting: int = 0
    named_and_typed: int = 0
    keyed: int = 0
    values: int = 0
    wrong: int = 0
    asked: int = 0
    displaced: int = 0
    superseded: int = 0
    untyped: int = 0
    absent_after_table_rename: int = 0
    asked_after_table_rename: int = 0
    quarantined: int = 0
    misplaced: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)

    def add(self, other: Figures) -> None:
        """Add the figures of another recording."""
        for part in fields(self):
            mine, more = getattr(self, part.name), getattr(other, part.name)
            setattr(
                self,
                part.name,
                more | mine if isinstance(mine, dict) and part.name == "examples" else mine + more,
            )


def list_recordings(only: str, captures: Path = CAPTURES) -> list[str]:
    """The recordings whose truth the independent fold reads, and whose name has a part."""
    folders = sorted(folder for kind in ("postgres", "mariadb") for folder in (captures / kind).glob("*/"))
    return [name for f in folders if only in (name := f"{f.parent.name}/{f.name}")]


def measure(
    name: str, format: str, policy: Policy, size: int, captures: Path = CAPTURES, *, is_idle: bool = False
) -> Figures:
    """Write one recording in batches of a size, and compare the lake with its truth.

    `is_idle`: a batch without records comes last, as a stream has one while its source rests.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        SqlStore.open(f"sqlite:///{folder}/store.db", create=True) as store,
    ):
        modes = MODES if name.startswith("mariadb/") else UNKNOWN_MODES
        sink = MemorySink(store, registry(name, captures), format, policy, lambda _: False, modes=modes)
        records = recorded(name, captures)
        for start in range(0, len(records), size):
            sink.take(records[start : start + size])
        if is_idle:
            sink.take([])
        return _read_figures(captures / name, sink)


def list_tables(sink: MemorySink) -> list[ComparedTable]:
    """The lake tables as a view shows them: the parts of a split column united under the source's name."""
    found = []
    for table in sink.lake():
        splits = read_record(table.live.properties).split
        displaced = read_displaced(table.live)
        parts: dict[str, list[str]] = {}
        owners = _find_owners(sink, table) if splits else {}
        dropped = _list_dropped_parts(sink, table) - {*owners} if splits else frozenset[str]()
        for name, split in sorted(splits.items(), key=lambda item: bool(item[1].holds), reverse=True):
            if name in table.live.schema.names and name not in dropped:
                column = owners.get(name) or _find_split_column(split, displaced)
                parts.setdefault(column, []).append(name)
                parts[column][:0] = [_find_present_name(split.beside, displaced)] if split.beside else []
        for column, names in parts.items():
            # Values as text have the type of no version: the newest part of a type tells the column's.
            typed = [name for name in names if not (name in splits and splits[name].holds)]
            newest = typed[-1] if typed else column
            types = {c.name: type_name(c.type) for c in table.live.schema.columns}
            united = tuple(dict.fromkeys(n for n in reversed(names) if n != column))
            table.rows = [_unite(row, (*united, column), types) for row in table.rows]
            columns = tuple(
                replace(c, name=column if c.name == newest else c.name)
                for c in table.live.schema.columns
                if c.name == newest or c.name not in (column, *names)
            )
            table.live = replace(table.live, schema=replace(table.live.schema, columns=columns))
        found.append(table)
    return found


def _find_split_column(split: SplitColumn, displaced: Mapping[str, DisplacedColumn]) -> str:
    """The name that a split column has now: another one may have taken it over since the split."""
    taken = [name for name, each in displaced.items() if each.column == split.column]
    since = [n for n in taken if displaced[n].began and not _is_before(displaced[n].began, split.began)]
    return min(since, key=lambda n: _find_offset(displaced[n].began), default=split.column)


def _find_present_name(column: str, displaced: Mapping[str, DisplacedColumn]) -> str:
    """The name of a column of the lake, from before another one took it over."""
    return next((name for name, each in displaced.items() if each.was == column != name), column)


def _is_before(began: str, other: str) -> bool:
    return _find_offset(began) < _find_offset(other)


def _find_offset(began: str) -> tuple[str, int, int]:
    place = json.loads(began)
    return place["topic"], place["partition"], place["offset"]


def _find_owners(sink: MemorySink, table: ComparedTable) -> dict[str, str]:
    """The column whose values each part has, where the table records another name or a displaced one."""
    history = sink.store.history(table.source)
    if history is None:
        return {}
    displaced = {*read_displaced(table.live)}
    names = make_column_map(migration_source(history), table.live).names
    texts = list_text_parts(history, table.live)
    newest = {c.id: c.name for c in history.latest.schema.columns}
    former = {n: newest[id] for n, id in list_former_parts(history, table.live).items() if id in newest}
    return former | {text: names[id] for id, text in texts.items() if names.get(id) in displaced}


def _list_dropped_parts(sink: MemorySink, table: ComparedTable) -> frozenset[str]:
    """The parts of columns that the source has no more: another column may have their name since."""
    history = sink.store.history(table.source)
    if history is None:
        return frozenset()
    newest = {c.id for c in history.latest.schema.columns}
    ids = find_part_ids(history, read_record(table.live.properties).split)
    return frozenset(name for name, id in ids.items() if id not in newest)


def _unite(row: dict[str, Any], names: Sequence[str], types: Mapping[str, str]) -> dict[str, Any]:
    """The row with the value of a split column, whose parts have these names, the source's own last."""
    values = [Held(row[name], types[name]) for name in names if row.get(name) is not None]
    assert len(values) < 2, f"a row has two values of {names[-1]}: {values}"
    return {**{n: v for n, v in row.items() if n not in names}, names[-1]: values[0] if values else None}


def _read_figures(folder: Path, sink: MemorySink) -> Figures:
    withheld = set(sink.withheld())
    faults = find_row_faults(folder, sink.lake(), withheld)
    sizes = {e.place: len(e.after or e.before or e.key or ()) for e in read(folder)}
    full, lake = fold(folder), {_name(t): t for t in list_tables(sink)}
    found = _count_wrong(folder, sink, withheld)
    found.differences += faults.list_all() if faults else []
    found.misplaced = len(faults.list_all()) if faults else 0
    found.quarantined = sum(sizes.get(place, 0) for place in withheld - set(sink.left) - sink.ended)
    waits = _list_waiting(sink)
    asked_tables = _list_asked_tables(sink)
    for expected in _list_present(full):
        table = lake.get(expected.name)
        found.tables += 1
        found.values += expected.cells
        reason = waits.get(
            expected.name, "" if table or not expected.rows else _explain_missing(sink, expected)
        )
        if reason:
            is_stopped = table is None or table.stopped
            found.stopped += is_stopped
            found.waiting += not is_stopped
            text = _normalise(reason)
            found.reasons[text] += 1
            found.examples.setdefault(text, f"{folder.name} {'.'.join(expected.name)}: {reason}")
        if table is not None:
            found.named_and_typed += _has_names_and_types(expected, table)
            found.keyed += _has_key(expected, table)
        absent = _count_absent(full, expected, table)
        if expected.name in asked_tables:
            found.asked_after_table_rename += absent
        else:
            found.absent_after_table_rename += absent
    return found


def _explain_missing(sink: MemorySink, expected: Table) -> str:
    """Why a table is not in the lake: as its records that were rejected say."""
    text = next((r for r in sink.rejected.values() if ".".join(expected.name) in r), "")
    if text:
        return text
    topics = {place[0] for place in sink.rejected if place[0].endswith(f".{expected.name[1]}")}
    return next((r for place, r in sink.rejected.items() if place[0] in topics), "not in the lake")


def _list_asked_tables(sink: MemorySink) -> set[tuple[str, str]]:
    """The tables of which `schemaman status` asks whether they had another name."""
    histories = list(filter(None, map(sink.store.history, sink.store.tables())))
    asked = {question.table for question in list_table_questions(histories)}
    return {(h.table.schema or h.table.database, h.table.table) for h in histories if str(h.table) in asked}


def _name(table: ComparedTable) -> tuple[str, str]:
    return table.source.schema or table.source.database, table.source.table


def _list_present(state: State) -> Iterator[Table]:
    """The tables of the last state that the source still has, the last life of each name."""
    last = {table.name: table for table in state.tables.values()}
    yield from (table for table in last.values() if not table.ended)


def _list_waiting(sink: MemorySink) -> dict[tuple[str, str], str]:
    """The reason of each table that stopped, or that has records which wait, by the name of its source."""
    found: dict[tuple[str, str], str] = {}
    for lake_table, source in sink.sources.items():
        name = source.schema or source.database, source.table
        reasons = list(sink.aside.get(lake_table, {}).values())
        if lake_table in sink.stopped or reasons:
            # The newest reason is the one that holds: a stopped table gives the same to all of its records.
            found[name] = sink.quiet.get(lake_table) or (reasons[-1] if reasons else "stopped")
    return found


def _normalise(reason: str) -> str:
    """A reason without names and numbers, so that equal ones count together."""
    text = re.split(r"; instead: |; write |: run `|: use `", reason)[0]
    text = re.sub(r"`(?:[^`]|``)+`", "…", text)
    text = re.sub(r"\([^()]*\)", "(…)", text)
    return re.sub(r"\b(?:[a-z_]+\.)+[a-z_0-9]+\b|\b\d+\b", "…", text)[:160]


def _count_wrong(folder: Path, sink: MemorySink, withheld: Collection[Place]) -> Figures:
    """The rows and cells that are not where a reader looks for them; see `Figures`.

    A reader looks under the name of a column, then in the column that it displaced, then where the answer to
    an open question would take the value from. Each is compared there.
    """
    tables = list_tables(sink)
    as_named, with_displaced, wrong = _compare_by_rules(folder, sink, tables, withheld)
    untyped = 0
    if has_only_texts(sink.store, tables):
        wrong = Counter({d: count for d, count in wrong.items() if not _is_same_number(d)})
        moved = list_moved_names(folder)
        untyped = sum(count for d, count in wrong.items() if d.split(": cell ")[0] in moved)
    return Figures(
        differences=[*wrong.elements()],
        wrong=sum(wrong.values()) - untyped,
        untyped=untyped,
        asked=sum((with_displaced - wrong).values()),
        displaced=sum((as_named - with_displaced).values()),
        superseded=count_superseded(folder, tables, withheld),
    )


def list_moved_names(folder: Path) -> frozenset[str]:
    """The columns whose name the source exchanged, used again or gave to another column: `shop.orders.note`.

    Where nothing shows the types of columns, nothing shows such a change either.
    """
    ids: dict[tuple[int, str], set[int]] = {}
    names: dict[tuple[int, int], set[str]] = {}
    tables: dict[int, set[str]] = {}
    for table in (each for state in truth_of(folder).states for each in state.values()):
        tables.setdefault(table.id, set()).add(f"{table.space}.{table.name}")
        for column in table.columns:
            ids.setdefault((table.id, column.name), set()).add(column.id)
            names.setdefault((table.id, column.id), set()).add(column.name)
    return frozenset(
        f"{table}.{name}"
        for (id, name), columns in ids.items()
        for table in tables[id]
        if len(columns) > 1 or any(len(names[id, column]) > 1 for column in columns)
    )


def _is_same_number(difference: str) -> bool:
    """Whether both texts of a difference are the same number: JSON spells 12 also as 1.2E1."""
    found = re.search(r" told '([-+.\dEe]+)' there '([-+.\dEe]+)'$", difference)
    try:
        return found is not None and Decimal(found[1]) == Decimal(found[2])
    except InvalidOperation:
        return False


def list_unexplained(
    folder: Path,
    sink: MemorySink,
    gone: Collection[Place] = (),
    unite: Callable[[MemorySink, Sequence[ComparedTable]], Sequence[ComparedTable]] = lambda _, tables: (
        tables
    ),
) -> list[str]:
    """The rows and cells that are nowhere where a reader looks for them.

    `gone` are records whose rows a person deleted, as a reason asked; `unite` unites tables as one states.
    """
    tables, withheld = unite(sink, list_tables(sink)), {*sink.withheld(), *gone}
    return list(_compare_by_rules(folder, sink, tables, withheld)[2].elements())


def _compare_by_rules(
    folder: Path, sink: MemorySink, tables: Sequence[ComparedTable], withheld: Collection[Place]
) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """What differs by names alone, then also in displaced columns, then also by answers to questions."""
    as_named = _list_wrong(folder, sink, tables, withheld)
    displaced = [_unite_displaced(table) for table in tables]
    with_displaced = as_named & _list_wrong(folder, sink, displaced, withheld)
    wrong = with_displaced
    for answer in range(2):
        answered = [_answer(sink, table, answer) for table in tables]
        wrong = wrong & _list_wrong(folder, sink, answered, withheld)
    return as_named, with_displaced, wrong


def _list_wrong(
    folder: Path, sink: MemorySink, tables: Sequence[ComparedTable], withheld: Collection[Place]
) -> Counter[str]:
    found = compared(folder, sink.store, tables, withheld).differences
    return Counter(d for d in found if not any(word in d for word in STRUCTURE))


def _unite_displaced(table: ComparedTable) -> ComparedTable:
    """The table in which a column without a value has that of the one whose name it took over."""
    entries = read_displaced(table.live).items()
    pairs = [(name, entry.column) for name, entry in entries if entry.column in table.live.schema.names]
    return _fill(table, pairs)


def _answer(sink: MemorySink, table: ComparedTable, answer: int) -> ComparedTable:
    """The table as the answer to its open questions would unite it; the command with this number of each."""
    history = sink.store.history(table.source)
    if history is None:
        return table
    names = set(table.live.schema.names)
    pairs = []
    for question in list_open_questions(history):
        for command in question.commands:
            word, version, old, new = [*shlex.split(command)[2:], "", "", "", ""][:4]
            if word == "rename" and new in names:
                # The other answer to names that were exchanged: each is what it was.
                former = new if answer and len(question.commands) > 1 else old
                pairs.append((_find_displaced_by(table, history, former, version), new))
    return _fill(table, [(old, new) for old, new in pairs if old in names and old != new])


def _find_displaced_by(table: ComparedTable, history: TableHistory, column: str, version: str) -> str:
    """The column of the lake with the values that a column had before a version, written `table@number`."""
    entries = {name: e for name, e in read_displaced(table.live).items() if e.column == column}
    _, _, number = version.rpartition("@")
    before = next((v for v in history.versions if number.isdigit() and v.number == int(number) - 1), None)
    found = (name for name, e in entries.items() if before is not None and e.version == before.id)
    # A name that the source has no more was not taken over.
    moved = [column, *entries] if column in history.latest.schema.names else [column]
    return next(found, moved[-1])


def _fill(table: ComparedTable, pairs: Sequence[tuple[str, str]]) -> ComparedTable:
    """The table in which each new column without a value has that of its old one, which then has none."""
    types = {c.name: type_name(c.type) for c in table.live.schema.columns}
    rows = []
    for row in table.rows:
        filled = {new: Held(row[old], types[old]) for old, new in pairs if row[new] is None is not row[old]}
        rows.append({**row, **filled})
    return replace(table, rows=rows)


def count_superseded(folder: Path, tables: Sequence[ComparedTable], withheld: Collection[Place]) -> int:
    """The rows of tables with a successor that are not the newest of their rows any more.

    A reader of both tables sees them beside the newer ones: nothing shows which is which. Of a successor that
    was filled, a reader needs no other table.
    """
    if not any(read_record(table.live.properties).predecessor for table in tables):
        return 0
    newest = {row.place for table in fold(folder, withheld).tables.values() for row in table.rows}
    count = 0
    filled = {table.live.name for table in tables if read_record(table.live.properties).is_filled}
    for table, others in list_successions(folder, tables):
        if read_record(table.live.properties).successor in filled:
            continue
        state = fold(folder, {*withheld, *others})
        name = _name(table)
        rows = [row for t in state.tables.values() if t.name == name and not t.ended for row in t.rows]
        count += sum(row.place not in newest for row in rows) if table.live.schema.key else 0
    return count


def _list_columns(expected: Table) -> list[tuple[str, tuple[str, ...], str]]:
    """Each told column of the source: its name, how records spell it now, and its type."""
    told = {name for row in expected.rows for name in row.cells}
    return [
        (c.name, (c.name, *expected.spellings.get(c.name, ())[:1]), c.type)
        for c in expected.columns
        if not c.generated and c.name in told
    ]


def _has_names_and_types(expected: Table, table: ComparedTable) -> bool:
    there = {c.name.lower(): type_name(c.type) for c in table.live.schema.columns}
    for _, spellings, type in _list_columns(expected):
        found = next((there[s.lower()] for s in spellings if s.lower() in there), None)
        if found is None or not holds(found, type):
            return False
    return True


def _has_key(expected: Table, table: ComparedTable) -> bool:
    spelled = {
        c.name.lower(): {s.lower() for s in (c.name, *expected.spellings.get(c.name, ()))}
        for c in expected.columns
    }
    keys = [{n.lower() for n in key} for key in (expected.key, expected.told_key or expected.key)]
    there = {n.lower() for n in table.live.schema.key}
    return any(
        len(there) == len(key) and all(there & (spelled.get(name, set()) | {name}) for name in key)
        for key in keys
    )


def _count_absent(state: State, expected: Table, table: ComparedTable | None) -> int:
    """The values of rows that events told under an earlier name of a table, and not under the present one."""
    earlier = [
        t for t in state.tables.values() if t.id == expected.id and t.name != expected.name and t.ended
    ]
    key = expected.key
    have = {repr([row.cells.get(n) for n in key]) for row in expected.rows}
    missed = [
        row
        for old in earlier
        for row in old.rows
        if key and repr([row.cells.get(n) for n in key]) not in have
    ]
    if table is None:
        return sum(len(row.cells) for row in missed)
    own = frozenset(c.name for c in list_row_columns(table.live.schema.key))
    columns = {c.name: type_name(c.type) for c in table.live.schema.columns}
    deleted = DELETED if table.live.schema.key else None
    place = None if table.live.schema.key else (TOPIC, PARTITION, OFFSET)
    shape = Shape(
        columns, table.live.schema.key, own=own, deleted=deleted, place=place, op=None if deleted else OP
    )
    if place is not None:
        return sum(len(row.cells) for row in missed)
    differences = compare(replace(expected, rows=missed), table.rows, shape)
    return sum(len(missed[0].cells) for d in differences if d.what == "row-missing")


REVIEWED = {
    "may be … of a BIGINT UNSIGNED": "no statement was recorded, so that -1 may be 18446744073709551615",
    "may have been written under an earlier key": (
        "a delete whose key the connector made up (REPLICA IDENTITY USING INDEX), or an update that changed "
        "the columns of one of two possible keys"
    ),
    "the row was written when the key was": (
        "a change with the row before it may be of one of several rows of a log from before the first key"
    ),
    "is not confirmed that the key was": (
        "the source table went before a record could confirm its key, or rows contradict the key"
    ),
    "is not confirmed that its key is now": "the table begins with a key that no record confirms",
    "the delete may not name its row": "an index other than the key identifies the rows at the source",
    "its key is NULL": "a unique index of the source tells no rows with NULL apart",
    "its key is uncertain": "two rows of the lake may be meant, and nothing in the record tells which",
    "it arrived after a newer record of its row": (
        "the newer record may have lost the column, or the value; only a snapshot shows which"
    ),
}
"""What no rule can settle, by a part of the normalised reason, and why."""


def is_reviewed(text: str) -> bool:
    """Whether a normalised reason is one that no rule can settle."""
    return any(part in text for part in REVIEWED)


LABELS = {
    "stopped": "tables that stopped",
    "waiting": "tables with records that wait",
    "named_and_typed": "names and types right",
    "keyed": "key kept",
    "wrong": "values wrong or lost without a word",
    "asked": "values in another column, which an open question names",
    "displaced": "values in the column whose name another one took over (x__old)",
    "superseded": "rows that a table still has beside newer ones in its successor",
    "untyped": "values of JSON without schemas under a name that the source gave to another column",
    "absent_after_table_rename": "values absent after a table's rename",
    "asked_after_table_rename": "values in the table of the former name, which an open question names",
    "quarantined": "values that wait in quarantine",
    "misplaced": "rows missing, twice, stale or old, by numbers that rows have for life (bench.recorder)",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures of each profile, format and size of batches."""
    parser = argparse.ArgumentParser(prog="python -m bench.autopilot")
    parser.add_argument("profiles", nargs="*", choices=[[], *PROFILES], default=["careful", "autopilot"])
    parser.add_argument("--only", default="", help="recordings whose name has this part")
    parser.add_argument("--format", choices=FORMATS, action="append")
    parser.add_argument("--batch", type=int, action="append", help="records of a batch")
    parser.add_argument("--captures", type=Path, default=CAPTURES, help="the folder of the recordings")
    parser.add_argument("--idle", action="store_true", help="a batch without records comes last")
    parser.add_argument("--fill", action="store_true", help='fill successors: `on-key-lost = "fill"`')
    parser.add_argument("--details", action="store_true", help="an example of each reason")
    asked = parser.parse_args(arguments)
    names = list_recordings(asked.only, asked.captures)
    for size in asked.batch or SIZES:
        for format in asked.format or FORMATS:
            for profile in asked.profiles:
                rules = (PolicyRule("auto", ("fill-successor",)),) if asked.fill else ()
                policy = Policy(profile=profile, rules=rules)
                _print_figures(names, format, policy, size, asked)


def _print_figures(
    names: Sequence[str], format: str, policy: Policy, size: int, asked: argparse.Namespace
) -> None:
    total, began = Figures(), time.perf_counter()
    for name in names:
        each = measure(name, format, policy, size, asked.captures, is_idle=asked.idle)
        total.add(each)
        if asked.details:
            counts = (f"{attribute} {_get(each, attribute)}" for attribute in LABELS)
            print(f"{name}: {each.tables} tables, {each.values} values; {', '.join(counts)}", flush=True)
            print(*(f"  {difference}" for difference in each.differences), sep="\n", flush=True)
    batch = f"batches of {size}" if size < SIZES[-1] else "one batch"
    what = f"{total.tables} tables, {total.values} values"
    print(f"\n{policy.profile}, {format}, {batch}: {what} ({time.perf_counter() - began:.0f} s)", flush=True)
    for attribute, label in LABELS.items():
        print(f"{_get(total, attribute):8}  {label}")
    for text, count in total.reasons.most_common():
        print(f"{count:12}  {text}")
        why = next((why for part, why in REVIEWED.items() if part in text), "NOT REVIEWED")
        print(f"{'':14}reviewed: {why}")
        if asked.details:
            print(f"{'':14}e.g. {total.examples[text]}")


def _get(figures: Figures, attribute: str) -> Any:
    return getattr(figures, attribute)


if __name__ == "__main__":
    main()
