"""Chunks with few runs are recorded together, with the log of larger chunks; others are recorded alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from bench.made_events import events
from schemaman.debezium.records import Record
from schemaman.errors import UnreadableInput
from schemaman.ingest.chunk_group import CHUNKS
from schemaman.ingest.chunks import UnreadableItem, build_reading, read_chunks
from schemaman.ingest.ingest import Intake, Summary, ingest
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.registry import Registry
from schemaman.store.log import CoveredRange, Entry
from schemaman.store.memory import MemoryStore

SIZE = 260
RECORDS = [record for pair in zip(*(
    [replace(record, partition=partition) for record in events(SIZE * 7)] for partition in (0, 1)
), strict=True) for record in pair]  # fmt: skip
Item = Record | UnreadableItem


def open_registry() -> Registry:
    return Registry(MemoryStore(lambda: 0), lambda: 0)


def read_log(registry: Registry) -> list[Entry]:
    return [stamped.entry for stamped in registry.store.read()]


def list_ends(registry: Registry) -> list[int]:
    """The last offset of each transaction in partition 0."""
    entries = read_log(registry)
    return [e.last for e in entries if isinstance(e, CoveredRange) and e.partition == 0]


def enter_each(items: Iterable[Item], size: int) -> Registry:
    """Records each chunk in a transaction of its own."""
    registry = open_registry()
    intake = Intake(registry, "main", NO_REGISTRY)
    for _, chunk in read_chunks(items, intake.known, build_reading(NO_REGISTRY), size=size):
        intake.enter(chunk)
    return registry


def test_a_group_is_one_large_chunk() -> None:
    registry = open_registry()
    seen: list[int] = []
    done = ingest(
        RECORDS, registry, "main", NO_REGISTRY, size=SIZE, progress=lambda summary: seen.append(summary.read)
    )
    larger = enter_each(RECORDS, CHUNKS * SIZE)
    assert read_log(registry) == read_log(larger)
    assert registry.tables() == larger.tables() != ()
    assert done.new == len(RECORDS)
    assert seen == [CHUNKS * SIZE * (number // CHUNKS) for number in range(1, 15)]
    assert ingest(RECORDS, registry, "main", NO_REGISTRY, size=SIZE).new == 0


def test_chunks_with_many_runs_are_recorded_alone() -> None:
    alternating = [record for pair in zip(RECORDS[:200:2], RECORDS[-200::2], strict=True) for record in pair]
    moved = [replace(record, offset=at, partition=0) for at, record in enumerate(alternating)]
    registry = open_registry()
    ingest(moved, registry, "main", NO_REGISTRY, size=50)
    assert read_log(registry) == read_log(enter_each(moved, 50))


def test_what_is_no_record_or_waits_for_its_schema_is_recorded_at_once() -> None:
    one = [record for record in RECORDS if record.partition == 0]
    waiting = replace(one[2 * SIZE], value=b"\0\0\0\0\7\0")
    for odd in (waiting, UnreadableItem("file", 1, "no JSON", "")):
        items = [*one[: 2 * SIZE], odd, *one[2 * SIZE + 1 :]]
        registry = open_registry()
        ingest(items, registry, "main", NO_REGISTRY, size=SIZE)
        assert list_ends(registry)[:2] == [2 * SIZE - 1, 3 * SIZE - 1], odd


@pytest.mark.parametrize("known", [0, 100])
def test_offsets_that_go_back_are_refused_behind_what_was_read(known: int) -> None:
    one = [record for record in RECORDS if record.partition == 0]
    registry = open_registry()
    ingest(one[:known], registry, "main", NO_REGISTRY)
    with pytest.raises(UnreadableInput, match=r"offset 5 comes after 519"):
        ingest([*one[: 2 * SIZE], *one[5:]], registry, "main", NO_REGISTRY, size=SIZE)
    assert registry.offsets("main") == {(one[0].topic, 0): ((0, 2 * SIZE - 1),)}


def test_what_was_read_before_an_interruption_is_recorded() -> None:
    def interrupt(items: Iterable[Record]) -> Iterator[Record]:
        for number, item in enumerate(items):
            if number == 3 * SIZE + 10:
                raise KeyboardInterrupt
            yield item

    def end_third_chunk(summary: Summary) -> None:
        calls.append(summary)
        if len(calls) == 3:
            raise SystemExit

    calls: list[Summary] = []
    for source, progress, error in (
        (interrupt(RECORDS), None, KeyboardInterrupt),
        (RECORDS, end_third_chunk, SystemExit),
    ):
        registry = open_registry()
        with pytest.raises(error):
            ingest(source, registry, "main", NO_REGISTRY, size=SIZE, progress=progress)
        assert read_log(registry) == read_log(enter_each(RECORDS[: 3 * SIZE], 3 * SIZE))
        ingest(RECORDS, registry, "main", NO_REGISTRY, size=SIZE)
        assert registry.tables() == enter_each(RECORDS, len(RECORDS)).tables()
