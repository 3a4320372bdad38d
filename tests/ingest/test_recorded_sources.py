"""Sources are recorded in any cut with one history, and small ones together with one log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.records import Record
from schemaman.errors import UnreadableInput, UsageError
from schemaman.ingest.chunks import ChunkPart, KnownOffsets, UnreadableItem, read_chunks
from schemaman.ingest.ingest import Intake, ingest
from schemaman.ingest.read_extents import ReadExtents
from schemaman.ingest.recorded_sources import TOGETHER, Numbered, RecordedSources, SourceReading
from schemaman.ingest.summary import Summary
from schemaman.io.schema_registry import RegistryExport
from schemaman.registry import Registry
from schemaman.store.log import CoveredRange, Entry
from schemaman.store.memory import MemoryStore
from tests.ingest.test_order import RECORDINGS, recorded, whole
from tests.support.checkout import PROOF

Item = Record | UnreadableItem
SIZE = 60


@dataclass(slots=True)
class Desk:
    """A registry, and sources by name: lists of items, of which those of up to `small` items are small."""

    schemas: SchemaLookup
    sources: Mapping[str, Sequence[Item]]
    small: int = SIZE
    size: int = SIZE
    registry: Registry = field(default_factory=lambda: Registry(MemoryStore(lambda: 0), lambda: 0))
    intakes: int = 0

    def open_intake(self) -> Intake:
        self.intakes += 1
        return Intake(self.registry, "main", self.schemas)

    def read(self, name: str, intake: Intake) -> Iterator[Numbered]:
        return read_chunks(self.sources[name], intake.known, intake.reading, size=self.size)

    def record(self, is_ahead: bool = False) -> list[RecordedSources[str]]:
        reading = SourceReading(
            self.open_intake, self.read, lambda name: len(self.sources[name]) <= self.small
        )
        intake = Intake(self.registry, "main", self.schemas)
        ahead = ([*self.read(name, intake)] for name in self.sources) if is_ahead else None
        return list(reading.record(self.sources, ahead))

    @property
    def log(self) -> list[Entry]:
        return [stamped.entry for stamped in self.registry.store.read()]


def cut(records: Sequence[Item], sizes: Sequence[int]) -> dict[str, Sequence[Item]]:
    """Cut records into sources of these sizes in turn."""
    sources: dict[str, Sequence[Item]] = {}
    at = 0
    while at < len(records):
        size = sizes[len(sources) % len(sizes)]
        sources[f"{len(sources):04}"] = records[at : at + size]
        at += size
    return sources


def test_small_sources_have_the_log_of_large_ones() -> None:
    records, schemas = recorded("postgres/shop-json")
    desk = Desk(schemas, cut(records, [2]))
    done = desk.record()
    number = len(desk.sources)
    assert [len(one.sources) for one in done] == [TOGETHER] * (number // TOGETHER) + [number % TOGETHER]
    assert desk.intakes == len(done)
    larger = Desk(schemas, cut(records, [2 * TOGETHER]), small=0, size=2 * TOGETHER)
    larger.record()
    assert desk.log == larger.log
    assert sum((one.summary for one in done), Summary()).new == len(records)
    assert [read.read for one in done for _, read in one.sources] == [2] * (len(records) // 2)


@settings(max_examples=400 if PROOF else 20, phases=(Phase.explicit, Phase.generate))
@given(st.sampled_from(RECORDINGS), st.integers(0, 3 * SIZE), st.randoms(use_true_random=False))
def test_overlapping_sources_have_one_log_whoever_reads_them(run: str, small: int, random: Random) -> None:
    """Sources repeat and precede others, and are read one by one, or all before the first is recorded."""
    records, schemas = recorded(run)
    sources = dict(cut(records, [random.randint(1, 2 * SIZE) for _ in range(9)]))
    for number in range(random.randint(0, 5)):
        begin = random.randrange(len(records))
        sources[f"again {number}"] = records[begin : begin + random.randint(0, 3 * SIZE)]
    names = list(sources)
    if random.random() < 0.7:
        random.shuffle(names)
    sources = {name: sources[name] for name in names}
    one, ahead = Desk(schemas, sources, small), Desk(schemas, sources, small)
    done = one.record()
    assert ahead.record(is_ahead=True) == done
    assert ahead.log == one.log
    assert [name for each in done for name, _ in each.sources] == names
    histories = sorted(one.registry.tables(), key=lambda history: history.table)
    assert histories == sorted(whole(run).registry.tables(), key=lambda history: history.table)
    assert sum((each.summary for each in done), Summary()).new == len(records)


def test_what_was_read_before_an_error_is_recorded() -> None:
    records, schemas = recorded("postgres/shop-json")
    sources = cut(records[:40], [10])
    for broken, error in (
        (replace(records[0], value=b"{}"), UsageError),  # the record at this offset is another one
        ([records[31], records[30]], UnreadableInput),
    ):
        items = broken if isinstance(broken, list) else [broken]
        desk = Desk(schemas, {**dict(list(sources.items())[:3]), "broken": items, **sources})
        with pytest.raises(error):
            desk.record()
        alone = Registry(MemoryStore(lambda: 0), lambda: 0)
        ingest(records[:30], alone, "main", schemas)
        assert desk.registry.offsets("main") == alone.offsets("main")
        assert desk.registry.tables() == alone.tables()


def test_a_reject_is_counted_for_its_source_alone() -> None:
    records, schemas = recorded("postgres/shop-json")
    pieces = cut(records[:40], [10])
    bad = replace(records[15], value=b"no json")
    pieces["0001"] = [bad if item is records[15] else item for item in pieces["0001"]]
    torn = UnreadableItem("0002", 1, "no record", "")
    pieces["0002"] = [torn, *pieces["0002"]]
    done = Desk(schemas, pieces).record()
    assert [len(one.sources) for one in done] == [2, 1, 1]
    assert [read.rejects for one in done for _, read in one.sources] == [0, 1, 1, 0]


def test_many_rejects_count_for_every_source_of_a_transaction() -> None:
    """Only the first rejects have a place; no source may then count as read without one."""
    records, schemas = recorded("postgres/shop-json")
    pieces = cut([replace(record, value=b"no json") for record in records[:20]] + list(records[20:40]), [10])
    (done,) = Desk(schemas, pieces).record()
    assert [read.rejects for _, read in done.sources] == [20] * 4


def test_a_source_with_a_record_of_an_unknown_schema_is_recorded_at_once() -> None:
    records, schemas = recorded("postgres/shop-json")
    pieces = cut(records[:40], [10])
    pieces["0001"] = [*pieces["0001"][:5], replace(records[15], value=b"\0\0\0\0\7\0"), *pieces["0001"][6:]]
    done = Desk(schemas, pieces).record()
    assert [len(one.sources) for one in done] == [1, 1, 2]
    assert [entry.last for entry in Desk(schemas, {}).log if isinstance(entry, CoveredRange)] == []


@settings(max_examples=500 if PROOF else 100)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=20))
def test_extents_meet_what_a_set_of_offsets_meets(spans: list[tuple[int, int]]) -> None:
    extents, offsets = ReadExtents(), set[int]()
    for low, length in spans:
        part = ChunkPart(extents=(("t", 0, low, low + length),))
        mine = set(range(low, low + length + 1))
        assert extents.has_met(part) == bool(offsets & mine)
        extents.add([part])
        offsets |= mine


def test_known_offsets_of_an_empty_registry() -> None:
    desk = Desk(RegistryExport({}), {})
    assert desk.open_intake().known.ranges == KnownOffsets().ranges == {}
    assert desk.record() == []
