"""Deletes that tell no place of their own, whoever has read how much before: the lake ends as its source."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemaman.debezium.records import Record
from schemaman.migration.policy import Policy, PolicyRule
from schemaman.registry import Registry
from schemaman.spark.streaming.micro_batch import record_batch
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_deletes import INT, SOURCE, bare, flat, key
from tests.streaming.test_policy import alive, told
from tests.support.checkout import PROOF
from tests.support.memory_sink import EMPTYING, MemorySink, batch_of
from tests.support.records import node, record, struct

ADDING = Policy(rules=(PolicyRule("block", ("add-column",)),))
"""A column more stops the table."""


@dataclass(slots=True)
class Job:
    """A mirror that can be started again, and a history that can be ahead of it."""

    store: SqlStore
    policy: Policy = EMPTYING
    lake: MemorySink = field(init=False)

    def __post_init__(self) -> None:
        self.lake = MemorySink(self.store, lambda _: None, "delta", self.policy)

    def again(self) -> None:
        """Another process: what stands in the lake and in quarantine is there still."""
        old, self.lake = self.lake, MemorySink(self.store, lambda _: None, "delta", self.lake.policy)
        for name in ("tables", "sources", "kept", "aside", "unplaced", "rejected"):
            setattr(self.lake, name, getattr(old, name))

    def ingest(self, records: Sequence[Record]) -> None:
        """`schemaman ingest`, beside the job."""
        record_batch(batch_of(records), Registry(self.store, lambda: 0), "main", lambda _: None)

    def rows(self) -> dict[int, int]:
        """The rows that readers see."""
        return {row["id"]: row["n"] for row in alive(self.lake)}


ROWS = [flat(0, 1, 1, 100), flat(1, 2, 1, 110), flat(2, 1, 2, 120), flat(3, 2, 2, 130)]
THEN = [bare(4, 1), flat(5, 2, 3, 140), flat(6, 2, 4, 150)]


def test_a_history_that_is_ahead_of_the_rows_places_no_delete_too_early(store: SqlStore) -> None:
    job = Job(store)
    job.ingest([*ROWS, *THEN])
    job.lake.take(ROWS)
    job.again()
    job.lake.take(THEN)
    assert (job.rows(), job.lake.withheld()) == ({2: 4}, {})


def test_such_a_delete_stands_behind_what_waits_of_its_row(store: SqlStore) -> None:
    job = Job(store)
    unsent = {"id": 1, "n": 1, "t": "__debezium_unavailable_value"}
    rows = [told(0, row={"id": 2, "n": 1, "t": "x"}), told(1, "u", unsent)]
    later = [bare(2, 1), told(3, row={"id": 2, "n": 2, "t": "x"})]
    job.ingest([*rows, *later])
    job.lake.take(rows)
    assert list(job.lake.withheld()) == [("srv.public.t", 0, 1)]
    job.again()
    job.lake.take(later)
    job.lake.take([])
    # it is over with the row, and so with what its value was to be kept for
    assert (job.rows(), job.lake.withheld()) == ({2: 2}, {})


@pytest.mark.parametrize("restarts", [(1,), (0, 1), (0, 2), (0, 1, 2)])
def test_what_comes_again_behind_a_delete_comes_behind_it_in_another_process_too(
    store: SqlStore, restarts: tuple[int, ...]
) -> None:
    job = Job(store)
    job.lake.take([flat(0, 1, 1, 100), bare(1, 1), flat(2, 1, 2, 120), flat(3, 2, 1, 130)])
    for number, batch in enumerate(([bare(4, 1)], [flat(5, 1, 2, 120)], [flat(6, 2, 1, 130)])):
        if number in restarts:
            job.again()
        job.lake.take(batch)
    assert (job.rows(), job.lake.withheld()) == ({1: 2, 2: 1}, {})


def test_where_several_topics_have_rows_of_the_table_a_delete_that_cannot_be_placed_waits(
    store: SqlStore,
) -> None:
    job = Job(store)
    job.lake.take([replace(flat(0, 5, 1, 90), topic="routed")])
    job.ingest([*ROWS, *THEN])
    job.lake.take(ROWS)
    job.again()
    job.lake.take(THEN)
    assert job.rows() == {1: 2, 2: 4, 5: 1}
    (reason,) = job.lake.withheld().values()
    assert "it is not known which rows of its partition precede it" in reason
    assert "delete the row by hand" in reason


# Any stream, in any batches.


def wider(offset: int, id: int, n: int, lsn: int) -> Record:
    """A flattened row with a column more."""
    added: dict[str, Any] = {"__op": "u", **{f"__{k}": v for k, v in SOURCE.items()}, "__lsn": lsn}
    extra = {k: node("int64" if k == "__lsn" else "string", optional=True) for k in added}
    schema = struct("srv.public.t.Value", id=INT, n=INT, m=node("int32", optional=True), **extra)
    made = record({"schema": schema, "payload": {"id": id, "n": n, "m": 1, **added}}, key(id))
    return Record(made.topic, 0, offset, 1, made.key, made.value)


def damaged(record: Record) -> Record:
    """A row that nobody understands."""
    told = json.loads(record.value or b"")
    told["payload"]["n"] = "damaged"
    return replace(record, value=json.dumps(told).encode())


def streamed(random: Random, repeats: float = 0.15) -> tuple[dict[int, int], list[Record]]:
    """What a source did to four rows, as a connector tells it that starts again now and then."""
    rows: dict[int, int] = {}
    events: list[tuple[int, int | None, int, bool]] = [(9, 0, 100, False)]
    count = random.randint(4, 14)
    widened = random.randint(1, 2 * count)
    for n in range(count):
        id, lsn = random.randint(1, 3), 110 + 10 * n
        if id in rows and random.random() < 0.5:
            del rows[id]
            events.append((id, None, lsn, False))
        else:
            rows[id] = n
            events.append((id, n, lsn, n >= widened))
    records: list[Record] = []
    at = 0
    while at < len(events):
        id, value, lsn, wide = events[at]
        made = wider if wide else flat
        records.append(bare(len(records), id) if value is None else made(len(records), id, value, lsn))
        at += 1
        if random.random() < repeats and len(records) < 40:
            at = max(0, at - random.randint(1, 5))
    return {9: 0, **rows}, records


@settings(max_examples=300 if PROOF else 12, deadline=None)
@given(st.integers(0, 2**32))
def test_wherever_batches_end_and_processes_begin_the_lake_ends_as_its_source(seed: int) -> None:
    random = Random(seed)
    rows, records = streamed(random)
    with TemporaryDirectory() as folder, SqlStore.open(f"sqlite:///{folder}/store.db", create=True) as store:
        job = Job(store, random.choice((EMPTYING, ADDING)))
        ahead, at = random.random() < 0.5, 0
        while at < len(records):
            if ahead and random.random() < 0.3:
                job.ingest(records[: random.randint(at + 1, len(records))])
            if random.random() < 0.15:
                job.lake.policy = EMPTYING
            batch = records[at : at + random.randint(1, 4)]
            job.lake.take(batch)
            if random.random() < 0.1:  # a crash before the batch was taken
                job.again()
                job.lake.take(batch)
            at += len(batch)
            if random.random() < 0.4:
                job.again()
        job.lake.policy = EMPTYING
        job.lake.take([])
        job.lake.take([])
        assert (job.rows(), job.lake.withheld()) == (rows, {})


@settings(max_examples=300 if PROOF else 12, deadline=None)
@given(st.integers(0, 2**32))
def test_whenever_records_are_understood_the_lake_ends_as_its_source(seed: int) -> None:
    random = Random(seed)
    rows, records = streamed(random, repeats=0)
    hurt = {(r.topic, 0, r.offset): r for r in records[1:] if r.value and random.random() < 0.3}
    with TemporaryDirectory() as folder, SqlStore.open(f"sqlite:///{folder}/store.db", create=True) as store:
        job, at = Job(store), 0
        while at < len(records):
            batch = records[at : at + random.randint(1, 4)]
            job.lake.take([damaged(r) if (r.topic, 0, r.offset) in hurt else r for r in batch])
            at += len(batch)
            for place in [p for p in job.lake.unplaced if random.random() < 0.3]:
                job.lake.unplaced[place] |= {"value": hurt[place].value}
            if random.random() < 0.2:
                job.again()
        for place in job.lake.unplaced:
            job.lake.unplaced[place] |= {"value": hurt[place].value}
        for _ in range(3):
            job.lake.take([])
        assert (job.rows(), job.lake.withheld()) == (rows, {})
