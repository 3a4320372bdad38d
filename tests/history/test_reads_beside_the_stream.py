"""What is read from a table beside the stream: where it stands, and that it moves nothing of the stream."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Coordinates
from schemaman.model.schema import TableSchema
from tests.history.test_fold import AB, ABC, A, history, mark, schema, seen, shapes


def streamed(structure: TableSchema, lsn: int, read: int | None = None, partition: int = 0) -> Observation:
    """One record, committed at ten times its lsn."""
    return seen(structure, mark(lsn, lsn, read=read, partition=partition))


def read(
    structure: TableSchema, offset: int, at: int, partition: int = 0, lsn: int | None = None
) -> Observation:
    """One row read from the table at a time, by an incremental snapshot if it tells no lsn."""
    place = replace(mark(offset, lsn, read=at, partition=partition), ts_ms=at)
    return seen(structure, place, snapshot=True)


def test_a_partition_that_streamed_nothing_yet_is_read_after_what_others_streamed() -> None:
    found = history(
        streamed(A, 10), read(AB, 0, at=150, partition=1), streamed(AB, 20), streamed(ABC, 30, partition=1)
    )
    assert shapes(found) == [A.names, AB.names, ABC.names]
    second = found.versions[1]
    assert (second.at.partition, second.at.offset) == (1, 0)
    assert (second.after, second.until) == (mark(10, 10), mark(30, 30, partition=1))


def test_a_read_closes_nothing_that_was_streamed_late() -> None:
    found = history(streamed(A, 10), read(AB, 11, at=205), streamed(A, 20, read=210), streamed(AB, 30))
    assert shapes(found) == [A.names, AB.names]
    assert found.versions[1].after == mark(20, 20, read=210)
    assert found.versions[1].at.offset == 11


def test_a_read_is_newer_than_all_that_was_committed_before_it() -> None:
    late = [streamed(A, 20, read=300), streamed(AB, 21, read=301), streamed(ABC, 40)]
    assert shapes(history(streamed(A, 10), read(ABC, 11, at=250), *late)) == [A.names, AB.names, ABC.names]
    assert shapes(history(read(ABC, 11, at=250), *late)) == [A.names, AB.names, ABC.names]


def test_what_was_committed_after_a_read_is_a_return() -> None:
    found = history(streamed(A, 10), read(AB, 11, at=150), streamed(A, 20))
    assert shapes(found) == [A.names, AB.names, A.names]


@pytest.mark.parametrize("clock", [100, 99])
def test_the_own_partition_tells_what_a_clock_does_not(clock: int) -> None:
    found = history(streamed(A, 1), read(A, 2, at=100), streamed(AB, 9, read=clock), read(AB, 10, at=101))
    assert shapes(found) == [A.names, AB.names]
    # of one millisecond nobody knows what another partition had sent
    found = history(streamed(A, 1), read(A, 2, at=100), streamed(AB, 9, read=100, partition=1))
    assert shapes(found) == [A.names, AB.names]


def test_a_change_without_rows_is_told_by_the_next_snapshot_and_stays() -> None:
    found = history(streamed(A, 10), read(AB, 11, at=150, lsn=12))
    assert shapes(found) == [A.names, AB.names]


def test_reads_before_anything_was_streamed_stand_in_their_order() -> None:
    found = history(read(A, 0, at=50, lsn=5), read(AB, 1, at=60), streamed(ABC, 10))
    assert shapes(found) == [A.names, AB.names, ABC.names]


@st.composite
def lines(draw: st.DrawFn) -> tuple[list[Observation], list[Observation]]:
    """A table that grows, streamed in two partitions with some lag; and rows that are read in between."""
    steps = sorted(draw(st.lists(st.integers(1, 30), min_size=1, max_size=12, unique=True)))
    changes = sorted(draw(st.lists(st.integers(0, 31), min_size=2, max_size=2)))
    lag = draw(st.integers(1, 40))

    def at(moment: int) -> TableSchema:
        return (A, AB, ABC)[sum(moment >= 10 * c for c in changes)]

    stream = [streamed(at(10 * lsn), lsn, 10 * lsn + lag, draw(st.integers(0, 1))) for lsn in steps]
    moments = draw(st.lists(st.integers(5, 350), max_size=5, unique=True))
    rows = [read(at(m), 1000 + m, at=m, partition=draw(st.integers(0, 1))) for m in sorted(moments)]
    # offsets follow the times of processing
    every = sorted([*stream, *rows], key=lambda o: (o.first.read_ms or 0, o.snapshot))
    for number, observation in enumerate(every):
        place = replace(observation.first, offset=number)
        every[number] = replace(observation, first=place, last=place)
    return [o for o in every if not o.snapshot], [o for o in every if o.snapshot]


@given(lines())
def test_what_is_read_moves_no_streamed_version(told: tuple[list[Observation], list[Observation]]) -> None:
    stream, rows = told
    alone, together = history(*stream), history(*stream, *rows)
    seen_in_rows = {o.schema.names for o in rows if o.schema is not None}
    assert set(shapes(together)) == {*shapes(alone), *seen_in_rows}
    # nothing comes twice: the table only grew
    assert shapes(together) == sorted(set(shapes(together)), key=len)
    begins = {v.schema.names: v.at for v in alone.versions}
    for version in together.versions:
        if version.schema.names not in seen_in_rows:
            assert version.at == begins[version.schema.names]


def windows(*observations: Observation) -> list[str]:
    return [d.message for d in history(*observations).disagreements if d.kind == "changed-while-read"]


def test_a_change_across_an_incremental_snapshot_is_flagged() -> None:
    first, second = read(A, 11, at=115), read(AB, 21, at=255)
    assert windows(streamed(A, 10), first, streamed(AB, 20), second) == [
        "incremental reads show this version and version 1: the table changed between them"
    ]
    (told,) = windows(streamed(A, 10), first, streamed(AB, 20))
    assert "none since" in told


def test_a_whole_new_snapshot_or_no_read_at_all_is_no_flag() -> None:
    assert windows(streamed(A, 10), streamed(AB, 20)) == []
    assert windows(streamed(A, 10), read(A, 11, at=150), read(AB, 21, at=200, lsn=15), streamed(AB, 20)) == []
    assert windows(read(A, 0, at=50, lsn=5), streamed(AB, 20)) == []


def test_what_was_read_late_is_certain_from_a_later_record_on() -> None:
    keyed = schema("id", "a", key=("id", "a"), required=("id", "a"))

    def late(lsn: int, at: int) -> Observation:
        return seen(keyed, mark(lsn, lsn, read=at))

    found = history(streamed(A, 10), late(20, 1000), late(30, 1001), late(101, 1012))
    second = found.versions[1]
    assert (second.at.offset, second.proven_from) == (20, mark(101, 101, read=1012))
    assert second.status == "confirmed"
    waiting = history(streamed(A, 10), late(20, 1000), late(30, 1001)).versions[1]
    assert (waiting.status, waiting.proven_from) == ("provisional", None)


def test_a_clock_of_the_database_that_goes_ahead_confirms_nothing() -> None:
    keyed = schema("id", "a", key=("id", "a"), required=("id", "a"))

    def ahead(lsn: int, at: int, structure: TableSchema = keyed) -> Observation:
        place: Coordinates = replace(mark(lsn, lsn, read=at), ts_ms=at + 500)
        return seen(structure, place)

    # read 100 ms after the first; by the database's clock it was committed after that reading
    found = history(ahead(10, 100, A), ahead(20, 1000), ahead(30, 1100))
    assert found.versions[1].status == "confirmed"
    late = replace(ahead(30, 1100).first, ts_ms=1100)
    found = history(ahead(10, 100, A), ahead(20, 1000), seen(keyed, late))
    assert (found.versions[1].status, found.versions[1].proven_from) == ("provisional", None)


@st.composite
def mixed(draw: st.DrawFn) -> list[tuple[int, bool, TableSchema]]:
    """Records in the order in which a connector sent them: partition, whether read, structure."""
    record = st.tuples(st.integers(0, 1), st.booleans(), st.sampled_from([A, AB, ABC]))
    return draw(st.lists(record, min_size=1, max_size=14))


def runs(records: list[tuple[int, bool, TableSchema]], chance: random.Random | None) -> list[Observation]:
    """Runs as a scanner makes them, cut at random places if asked to."""
    done: list[Observation] = []
    open_runs: dict[int, Observation] = {}
    for number, (partition, beside, structure) in enumerate(records, start=1):
        at = number * 10
        one = (
            read(structure, number, at, partition)
            if beside
            else streamed(structure, number, at + 3, partition)
        )
        run = open_runs.get(partition)
        alike = run is not None and (run.schema, run.snapshot) == (one.schema, one.snapshot)
        if run is not None and alike and not (chance and chance.random() < 0.4):
            open_runs[partition] = replace(run, last=one.last, count=run.count + 1)
            continue
        if run is not None:
            done.append(run)
        open_runs[partition] = one
    return [*done, *open_runs.values()]


@given(mixed(), st.integers(0, 999))
def test_with_reads_too_the_history_is_a_function_of_the_set(
    records: list[tuple[int, bool, TableSchema]], seed: int
) -> None:
    chance = random.Random(seed)
    pieces = runs(records, chance)
    pieces += chance.sample(pieces, chance.randrange(len(pieces) + 1))
    chance.shuffle(pieces)
    assert history(*pieces) == history(*runs(records, None))


@given(mixed())
def test_every_structure_that_was_sent_is_remembered_and_every_record_counted(
    records: list[tuple[int, bool, TableSchema]],
) -> None:
    found = history(*runs(records, None))
    assert {v.schema.names for v in found.versions} == {structure.names for _, _, structure in records}
    assert found.records == len(records)
