"""A sink in memory whose process is killed at a moment of its work, or beside which another job works.

A moment is just before something lasts: a statement, rows that are merged, a transaction of the store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from schemaman.debezium.records import Record
from schemaman.history.decisions import Decisions
from schemaman.migration.apply.apply import LEASE_MS
from schemaman.migration.policy import Policy
from schemaman.migration.properties.names import FILLED_PROPERTY
from schemaman.registry import Registry
from schemaman.spark.streaming.migration_context import MigrationContext
from schemaman.spark.streaming.quarantine import RetryLog
from schemaman.spark.streaming.sink_table import Blocked
from schemaman.spark.streaming.table_migration import migrate_table
from schemaman.store.log import Entry
from schemaman.store.sql.store import SqlStore
from tests.support.memory_lake import Crash
from tests.support.memory_sink import MemorySink

_OF_A_RUN = ("schemaman.plan", "schemaman.fence", "schemaman.read", "schemaman.store")


@dataclass
class Moments:
    """Counts the moments of one process; at `last` it is dark, and does nothing any more."""

    last: int | None = None
    meanwhile: Callable[[], None] = lambda: None
    """Happens once, at the moment `at`."""
    at: int | None = None
    passed: list[str] = field(default_factory=list)

    def __call__(self, what: str) -> None:
        if self.last is not None and len(self.passed) >= self.last:
            raise Crash(what)
        self.passed.append(what)
        if len(self.passed) - 1 == self.at:
            self.meanwhile()


class ProcessStore(SqlStore):
    """The store as one process has it open."""

    moments: Moments

    @classmethod
    def attach(cls, store: SqlStore, moments: Moments) -> ProcessStore:
        """Open the same database in a process of its own."""
        made = cls(store._database)
        made.moments = moments
        return made

    def append(self, entries: Sequence[Entry], expect: int) -> int:
        self.moments(f"append {type(entries[0]).__name__ if entries else ''}")
        return super().append(entries, expect)

    def acquire(self, target: str, owner: str, now_ms: int, ttl_ms: int) -> str:
        self.moments(f"acquire {target}")
        return super().acquire(target, owner, now_ms, ttl_ms)

    def release(self, target: str, token: str) -> None:
        self.moments(f"release {target}")
        super().release(target, token)


def _decide_nothing(_: SqlStore) -> Decisions:
    return Decisions()


@dataclass(frozen=True)
class Batch:
    """A batch, and what people have decided by then."""

    records: Sequence[Record]
    decide: Callable[[SqlStore], Decisions] = _decide_nothing


@dataclass(frozen=True)
class Way:
    """A stream whose tables go on by one automatic way; `rules` are those of its policy."""

    batches: tuple[Batch, ...]
    policy: Policy = field(default_factory=lambda: Policy(profile="autopilot"))
    formats: tuple[str, ...] = ("delta", "iceberg")
    view: str = ""

    @property
    def decides(self) -> bool:
        """Whether people decide something between the batches."""
        return any(batch.decide is not _decide_nothing for batch in self.batches)

    def list_records(self) -> list[Record]:
        """All records in the order in which their topics have them."""
        records = (record for batch in self.batches for record in batch.records)
        return sorted(records, key=lambda each: (each.timestamp_ms or 0, each.topic, each.offset))

    def split(self, records: Sequence[Record], ends: Sequence[int]) -> Way:
        """The same way with batches of these records that end there, and two empty ones."""
        parts = (records[a:b] for a, b in pairwise((0, *ends, len(records))))
        return replace(self, batches=(*map(Batch, parts), Batch(()), Batch(())))


def begin(way: Way, store: SqlStore, format: str) -> MemorySink:
    """A sink before the first batch of a way."""
    return MemorySink(store, lambda _: None, format, way.policy, lambda _: True, view=way.view)


def attach(sink: MemorySink, store: SqlStore, moments: Moments, now_ms: int) -> MemorySink:
    """A new process over the same store, lake and quarantine."""
    own = ProcessStore.attach(store, moments)
    return replace(
        sink, store=own, before=moments, after=lambda _: None, clock=lambda: now_ms, tried=RetryLog(),
        steps=[], notes=[], plans={}, quiet={},
    )  # fmt: skip


def play(way: Way, store: SqlStore, format: str, moments: Moments) -> MemorySink:
    """All batches of a way; a killed process begins its batch anew once its leases have ended."""
    now_ms = 0
    sink = attach(begin(way, store, format), store, moments, now_ms)
    for batch in way.batches:
        sink.decisions = batch.decide(store)
        try:
            sink.take(batch.records)
        except Crash:
            now_ms += 2 * LEASE_MS
            sink = attach(sink, store, Moments(), now_ms)
            sink.decisions = batch.decide(store)
            sink.take(batch.records)
    return sink


def play_until_killed(way: Way, store: SqlStore, format: str, moments: Moments) -> MemorySink:
    """The batches of a way until the process is killed."""
    sink = attach(begin(way, store, format), store, moments, 0)
    with suppress(Crash):
        for batch in way.batches:
            sink.take(batch.records)
    return sink


def race(
    way: Way, store: SqlStore, format: str, at: int, later_ms: int, *, is_killed: bool = False
) -> MemorySink:
    """All batches of a way; at a moment another job takes the very batch that the first one is taking.

    `later_ms` is how much later it is for the other job: after `LEASE_MS` no lease of the first one holds.
    `is_killed`: the first job is killed once it has done what it was about to do at that moment.
    """
    moments = Moments(at + 1 if is_killed else None, at=at)
    sink = attach(begin(way, store, format), store, moments, 0)
    for batch in way.batches:
        sink.decisions = batch.decide(store)

        def meanwhile(batch: Batch = batch, first: MemorySink = sink) -> None:
            other = attach(first, store, Moments(), later_ms)
            other.take(batch.records)

        moments.meanwhile = meanwhile
        try:
            sink.take(batch.records)
        except Crash:
            sink = attach(sink, store, Moments(), 3 * LEASE_MS)
            sink.decisions = batch.decide(store)
            sink.take(batch.records)
    # Records that waited for the other job's lease are taken with the next batches.
    for number in range(3):
        sink = attach(sink, store, Moments(), (4 + number) * LEASE_MS)
        sink.take([])
    return sink


def settle(sink: MemorySink) -> dict[str, str]:
    """Bring each table to its newest version, as the next batch would; the reasons of those that stop."""
    registry = Registry(sink.store, sink.clock)
    context = MigrationContext(sink.store, registry, sink.policy, sink.clock, sink.approve, sink._decided)
    found = {}
    for table in sink.store.tables():
        history = sink.store.history(table)
        if history is None or any(
            e.incarnation == history.latest.incarnation and e.kind in ("dropped", "renamed")
            for e in history.events
        ):
            continue
        opened = context.open_table(sink._follower(table), sink.open_lake())
        done = migrate_table(opened, sink._decided(history))
        if isinstance(done, Blocked):
            found[str(table)] = done.reason
    return found


def describe_end(sink: MemorySink) -> dict[str, Any]:
    """Everything that lasts: tables with their structures, properties and cells, views, and what waits."""
    blocked = settle(attach(sink, sink.store, Moments(), sink.clock() + 2 * LEASE_MS))
    found: dict[str, Any] = {}
    for address, table in sorted(sink.tables.items()):
        if table.live is None:
            continue
        live = table.live
        own = {n: text for n, text in live.properties.items() if n not in _OF_A_RUN and text != "[]"}
        # A version counts the statements of runs, too, and a killed run has more of them.
        own |= {n: re.sub(r', "version": "\d+"', "", text) for n, text in own.items() if n == FILLED_PROPERTY}
        rows = sorted((sorted(row.items(), key=repr) for row in table.read()), key=repr)
        columns = {c.name: (c.type, c.nullable, c.comment) for c in live.schema.columns}
        found[address] = (columns, live.schema.key, own, rows)
    kept = {address: sorted(rows) for address, rows in sink.kept.items() if rows}
    return {
        "tables": found,
        "blocked": blocked,
        "views": dict(sink.views),
        "waits": kept,
        "withheld": sink.withheld(),
        "stopped": set(sink.stopped),
        "unplaced": sorted(sink.unplaced),
    }


def list_differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """What of an end is otherwise than it should be."""

    def walk(path: str, old: Any, new: Any) -> Iterator[str]:
        if isinstance(old, dict) and isinstance(new, dict):
            for name in sorted({*old, *new}, key=repr):
                yield from walk(f"{path}/{name}", old.get(name), new.get(name))
        elif isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
            for number, pair in enumerate(zip(old, new, strict=True)):
                yield from walk(f"{path}[{number}]", *pair)
        elif old != new:
            yield f"{path}: {old!r} became {new!r}"

    return list(walk("", expected, found))
