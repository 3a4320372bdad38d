"""The records of one source, as its topics may arrive: each partition in its order, the topics in any."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

from schemaman.debezium.records import Record
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.row_columns import ORDER
from schemaman.migration.target import TARGETS
from tests.lake_state.lake_comparison import ComparedTable
from tests.lake_state.recording import Place
from tests.support.memory_sink import MemorySink

Arrival = Literal["parts of each topic", "one topic after the other"]
"""How micro-batches cut a stream: a part of each topic, or topics one after the other, cut anywhere."""
ARRIVALS: tuple[Arrival, ...] = ("parts of each topic", "one topic after the other")
_DELETE = re.compile(r"\((DELETE FROM .*?)\) and read ")
_DELETED_ROWS = re.compile(
    r"DELETE FROM (.+?) WHERE `_row_order` >= '(.*?)'"
    r"(?: AND `_row_order` < '(.*?)')?(?: AND `(.*)` IS NOT NULL)?"
)
_RENAMED = re.compile(r"the rename of (\S+) to (\S+) was read")


def interleave(records: Sequence[Record], arrival: Arrival, rng: random.Random) -> list[list[Record]]:
    """Batches of all records, in a random order of the topics."""
    partitions: dict[tuple[str, int], list[Record]] = {}
    for record in records:
        partitions.setdefault((record.topic, record.partition), []).append(record)
    if arrival == "one topic after the other":
        mixed = rng.sample(list(partitions.values()), len(partitions))
        ordered = [record for part in mixed for record in part]
        return [ordered[start:end] for start, end in pairwise(_cut(rng, len(ordered), rng.randint(1, 7)))]
    batches: list[list[Record]] = [[] for _ in range(rng.randint(1, 5))]
    cuts = {name: list(pairwise(_cut(rng, len(part), len(batches)))) for name, part in partitions.items()}
    for number, batch in enumerate(batches):
        for name in rng.sample(list(partitions), len(partitions)):
            start, end = cuts[name][number]
            batch += partitions[name][start:end]
    return batches


def _cut(rng: random.Random, length: int, count: int) -> list[int]:
    """Where a list is cut into a number of parts, which may be empty."""
    return [0, *sorted(rng.randint(0, length) for _ in range(count - 1)), length]


def settle_statements(sink: MemorySink) -> set[Place]:
    """Delete the rows that reasons ask a person to delete; the records that had written them last."""
    deleted: set[Place] = set()
    done: set[str] = set()
    while statements := {s for reason in list_reasons(sink) for s in _DELETE.findall(reason)} - done:
        for statement in statements:
            deleted |= _delete_rows(sink, statement)
        done |= statements
        sink.take([])
    return deleted


def _delete_rows(sink: MemorySink, statement: str) -> set[Place]:
    """Run a `DELETE` of a reason."""
    name, since, until, column = _match(_DELETED_ROWS, statement)
    address = next(a for a in sink.tables if TARGETS.get(sink.format).table_name(a) == name)
    table = sink.tables[address]
    history = sink.store.history(sink.sources[address])
    topics = history.topics if history is not None else ()
    deleted: set[Place] = set()
    for key, row in list(table.rows.items()):
        order = str(row[ORDER])
        is_meant = since <= order and (not until or order < until)
        if is_meant and (not column or row.get(table.fields[column]) is not None):
            del table.rows[key]
            partition, _, offset = order.rpartition("/")[2].partition(".")
            deleted |= {(topic, int(partition), int(offset)) for topic in topics}
    return deleted


def _match(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    found = pattern.fullmatch(text)
    assert found is not None, text
    return tuple(part or "" for part in found.groups())


def list_reasons(sink: MemorySink) -> tuple[str, ...]:
    """What the sink says of tables that are stopped, and of records that wait."""
    return (*sink.quiet.values(), *sink.blocked.values(), *sink.withheld().values())


def unite_stated_renames(sink: MemorySink, tables: Sequence[ComparedTable]) -> list[ComparedTable]:
    """The tables, in which one whose rows are those of another, as a reason states, has them all.

    An earlier table of the name, which has a successor, is that of another source.
    """
    stated = {new: old for reason in list_reasons(sink) for old, new in _RENAMED.findall(reason)}
    named = {str(table.source): table for table in tables}
    found = []
    for table in tables:
        is_newest = not read_record(table.live.properties).successor
        old = named.get(stated.get(str(table.source), "")) if is_newest else None
        found.append(table if old is None else replace(table, rows=_unite_rows(table, old)))
    return [table for table in found if str(table.source) not in stated.values()]


def _unite_rows(table: ComparedTable, old: ComparedTable) -> list[dict[str, Any]]:
    """The rows of both tables; of those of one key the newest."""
    names, key = table.live.schema.names, table.live.schema.key
    rows = [{name: row.get(name) for name in names} for row in (*old.rows, *table.rows)]
    if not key:
        return rows
    newest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: str(row[ORDER])):
        newest[tuple(row[name] for name in key)] = row
    return [*newest.values()]
