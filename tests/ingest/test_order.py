"""The order in which records are read tells nothing: interleaved, in pieces, read twice or sent twice."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemaman.debezium.observation import Observation
from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.records import Record
from schemaman.errors import Conflict
from schemaman.history.fold.timeline import merge_runs
from schemaman.history.versions import TableHistory
from schemaman.ingest.chunks import ChunkPart, build_reading, read_chunks
from schemaman.ingest.ingest import Intake, ingest
from schemaman.io import files, schema_registry
from schemaman.model.schema import TableId
from schemaman.registry import Registry
from schemaman.store import offsets as coverage
from schemaman.store.log import ObservationEntry, RejectEntry
from schemaman.store.memory import MemoryStore
from schemaman.store.offsets import Partition, Ranges
from tests.cases.connector import INT, LONG, NOTE, TEXT, Connector, entry, shape
from tests.support.checkout import CAPTURES, PROOF
from tests.support.records import Node, column, image

RECORDINGS = sorted(str(p.parent.relative_to(CAPTURES)) for p in CAPTURES.glob("*/*/records.*"))
KEPT = [
    run
    for run in RECORDINGS
    if re.fullmatch("postgres/shop-(json|avro|busy|incremental)|mariadb/.*json", run)
]
"""Recordings of which nothing is told in other words later: no names, no keys, no record a second time."""
NO_SCHEMAS = schema_registry.NO_REGISTRY


class Desk:
    """A registry of its own, and what was read into it."""

    def __init__(self, schemas: SchemaLookup = NO_SCHEMAS) -> None:
        self.store = MemoryStore()
        self.registry = Registry(self.store, lambda: 0)
        self.schemas = schemas

    def read(self, records: Iterable[Record]) -> None:
        """One dump: the records of a partition come in the order of their offsets."""
        ingest(records, self.registry, "main", self.schemas)

    @property
    def histories(self) -> tuple[TableHistory, ...]:
        """What is known of every table."""
        return self.registry.tables()

    @property
    def covered(self) -> Mapping[Partition, Ranges]:
        """The offsets that have been read."""
        return self.registry.offsets("main")

    @property
    def observations(self) -> dict[TableId, tuple[Observation, ...]]:
        """What was said of each table, however it was cut."""
        said: dict[TableId, list[Observation]] = defaultdict(list)
        for stamped in self.store.read(kinds=(ObservationEntry,)):
            if isinstance(stamped.entry, ObservationEntry):
                said[stamped.entry.observation.table].append(stamped.entry.observation)
        return {table: merge_runs(mine) for table, mine in said.items()}

    @property
    def rejected(self) -> Counter[tuple[str, int, str]]:
        """How many records of each partition were set aside, and why."""
        entries = (s.entry for s in self.store.read(kinds=(RejectEntry,)))
        found: Counter[tuple[str, int, str]] = Counter()
        for reject in (e.reject for e in entries if isinstance(e, RejectEntry)):
            found[reject.topic, reject.partition, reject.reason] += reject.count
        return found


@cache
def recorded(run: str) -> tuple[tuple[Record, ...], SchemaLookup]:
    """The records of a recording, and its registry."""
    file = files.find_file(str(CAPTURES / run))
    schemas = schema_registry.load_export(file.registry) if file.registry else NO_SCHEMAS
    return tuple(r for r in files.read_records(file) if isinstance(r, Record)), schemas


@cache
def whole(run: str) -> Desk:
    """A recording, read as it was recorded."""
    records, schemas = recorded(run)
    desk = Desk(schemas)
    desk.read(records)
    return desk


def interleaved(records: Sequence[Record], random: Random) -> list[Record]:
    """The records with their partitions mixed in another way; each partition keeps its order."""
    partitions: dict[tuple[str, int], list[Record]] = defaultdict(list)
    for record in records:
        partitions[record.topic, record.partition].append(record)
    turns = [place for place, mine in partitions.items() for _ in mine]
    random.shuffle(turns)
    upcoming = {place: iter(mine) for place, mine in partitions.items()}
    return [next(upcoming[place]) for place in turns]


@given(st.sampled_from(RECORDINGS), st.randoms(use_true_random=False))
def test_partitions_interleave_in_any_way(run: str, random: Random) -> None:
    records, schemas = recorded(run)
    desk = Desk(schemas)
    desk.read(interleaved(records, random))
    assert desk.observations == whole(run).observations
    assert desk.histories == whole(run).histories
    assert desk.rejected == whole(run).rejected


@given(
    st.sampled_from(RECORDINGS),
    st.lists(st.tuples(st.integers(0, 600), st.integers(1, 300)), max_size=4),
    st.randoms(use_true_random=False),
)
def test_dumps_overlap_and_come_in_any_order(run: str, pieces: list[tuple[int, int]], random: Random) -> None:
    records, schemas = recorded(run)
    mixed = interleaved(records, random)
    desk = Desk(schemas)
    for start, length in pieces:
        desk.read(mixed[start : start + length])
    desk.read(interleaved(records, random))
    desk.read(mixed)
    assert desk.histories == whole(run).histories
    assert desk.rejected == whole(run).rejected


def scattered(records: Sequence[Record], random: Random) -> list[list[Record]]:
    """The records in dumps that have holes where the others have records."""
    dumps: list[list[Record]] = [[] for _ in range(random.randint(2, 4))]
    often, mine = random.choice((1, 0.1, 0.02)), 0
    for record in records:
        if random.random() < often:
            mine = random.randrange(len(dumps))
        dumps[mine].append(record)
    random.shuffle(dumps)
    return dumps


@settings(max_examples=400 if PROOF else 30)
@given(st.sampled_from(RECORDINGS), st.integers(3, 400), st.randoms(use_true_random=False))
def test_what_one_dump_lacks_another_one_fills(run: str, size: int, random: Random) -> None:
    records, schemas = recorded(run)
    desk = Desk(schemas)
    for dump in scattered(records, random):
        ingest(dump, desk.registry, "main", schemas, size=size)
    assert desk.histories == whole(run).histories
    assert desk.observations == whole(run).observations
    assert desk.rejected == whole(run).rejected


def beheaded(records: Sequence[Record], random: Random) -> list[Record]:
    """What retention has left of the records: each partition has lost its beginning."""
    ends = {(r.topic, r.partition): r.offset for r in records}
    starts = {place: random.randint(0, 2 * end // 3) for place, end in ends.items()}
    return [r for r in records if r.offset >= starts[r.topic, r.partition]]


@settings(max_examples=300 if PROOF else 30)
@given(st.sampled_from(RECORDINGS), st.randoms(use_true_random=False))
def test_a_lost_head_leaves_the_beginning_open_and_may_be_read_later(run: str, random: Random) -> None:
    records, schemas = recorded(run)
    desk = Desk(schemas)
    desk.read(beheaded(records, random))
    for history in desk.histories:
        first = history.versions[0]
        if first.status == "inferred":
            continue  # documents show a structure together: those of before belong to its beginning
        assert first.after is None
        heads = {h.last + 1 for h in coverage.find_holes(history, desk.covered) if h.version == 1 and h.head}
        start = desk.covered[first.at.topic, first.at.partition][0][0]
        assert heads == ({start} if start else set())
    desk.read(records)
    assert desk.histories == whole(run).histories
    assert all(not coverage.find_holes(history, desk.covered) for history in desk.histories)


@settings(max_examples=200 if PROOF else 20)
@given(st.sampled_from(KEPT), st.randoms(use_true_random=False))
def test_what_a_lost_head_leaves_has_the_ids_of_the_whole(run: str, random: Random) -> None:
    records, schemas = recorded(run)
    desk = Desk(schemas)
    desk.read(beheaded(records, random))
    known = {history.table: history.versions for history in whole(run).histories}
    for history in desk.histories:
        for one in history.versions:
            # what is read out of its order may be of a moment that the whole knows to be another one
            assert one.unconfirmed or any(v.has_id(one.id) for v in known[history.table])


@settings(max_examples=300 if PROOF else 20)
@given(st.sampled_from(RECORDINGS), st.integers(20, 200), st.randoms(use_true_random=False))
def test_several_that_read_at_once_add_up_to_one(run: str, size: int, random: Random) -> None:
    """Each reads what it believes to be new; who comes too late is told so, and reads again what is left."""
    records, schemas = recorded(run)
    desk = Desk(schemas)
    sources = [*scattered(records, random), list(records), interleaved(records, random)]
    waiting = [(source, begun(desk, source, size)) for source in sources]
    while waiting:
        source, (intake, takes) = waiting.pop(random.randrange(len(waiting)))
        try:
            following = next(takes, None)
            if following is not None:
                intake.enter(following[1])
                waiting.append((source, (intake, takes)))
        except Conflict:
            waiting.append((source, begun(desk, source, size)))
    assert desk.histories == whole(run).histories
    assert desk.rejected == whole(run).rejected
    covered = desk.registry.offsets("main")
    assert covered == whole(run).registry.offsets("main")


def begun(desk: Desk, source: list[Record], size: int) -> tuple[Intake, Iterator[tuple[int, ChunkPart]]]:
    """Somebody who has begun to read: what he knows of others is of this moment."""
    intake = Intake(desk.registry, "main", desk.schemas)
    return intake, read_chunks(source, intake.known, build_reading(desk.schemas), size=size)


ADDED: tuple[Node, ...] = (
    NOTE,
    {**INT, "optional": True},
    {**LONG, "optional": True},
    {**TEXT, "optional": True},
)


@st.composite
def streams(draw: st.DrawFn) -> Connector:
    """A connector that streams rows of two tables while columns come, go and change."""
    name = draw(st.sampled_from(["postgresql", "mysql"]))
    connector = Connector(name)
    tables: dict[str, dict[str, Node]] = {t: {"id": INT} for t in ("t", "u")}
    for table in tables:
        _declare(connector, table, tables[table])
    for step in range(draw(st.integers(1, 25))):
        table = draw(st.sampled_from(sorted(tables)))
        columns = tables[table]
        match draw(st.sampled_from(["row", "row", "row", "add", "drop", "widen"])):
            case "add":
                tables[table] = {**columns, f"c{step}": draw(st.sampled_from(ADDED))}
                _declare(connector, table, tables[table])
            case "drop" if len(columns) > 1:
                tables[table] = dict(list(columns.items())[:-1])
                _declare(connector, table, tables[table])
            case "widen":
                tables[table] = {**columns, "id": LONG}
                _declare(connector, table, tables[table])
            case _:
                partition = 0 if name == "mysql" else draw(st.integers(0, 2))
                connector.row(columns, table=table, partition=partition)
    return connector


def _declare(connector: Connector, table: str, columns: dict[str, Node]) -> None:
    """What the schema-change topic says, if the connector has one."""
    if connector.name == "postgresql":
        return
    words = {"int32": "INT", "int64": "BIGINT", "string": "TEXT"}
    told = [
        column(name, words[str(node["type"])], place, optional=bool(node["optional"]))
        for place, (name, node) in enumerate(columns.items(), start=1)
    ]
    change = entry("ALTER", f'"shop"."{table}"', image(*told, key=("id",)))
    connector.change(change, ddl=f"ALTER TABLE {table} …", table=table)


def taught(records: Iterable[Record]) -> dict[str, list[tuple[str, object]]]:
    """The structures of each table, and where in the source's log each begins."""
    desk = Desk()
    desk.read(records)
    return {str(h.table): [(shape(v.schema), v.at.position) for v in h.versions] for h in desk.histories}


@given(streams(), st.randoms(use_true_random=False), st.integers(0, 30))
def test_a_stream_teaches_the_same_in_any_order_and_in_pieces(
    connector: Connector, random: Random, cut: int
) -> None:
    straight, desk = Desk(), Desk()
    straight.read(interleaved(connector.records, Random(0)))
    mixed = interleaved(connector.records, random)
    desk.read(mixed[cut:])
    desk.read(mixed)
    desk.read(mixed[:cut])
    assert desk.observations == straight.observations
    assert desk.histories == straight.histories


@given(streams(), st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12)), max_size=3))
def test_what_a_restarted_connector_sends_again_changes_no_version(
    connector: Connector, restarts: list[tuple[int, int]]
) -> None:
    records = list(connector.records)
    for at, back in sorted(restarts, reverse=True):
        records[at:at] = connector.records[max(0, min(at, len(connector.records)) - back) : at]
    assert taught(renumbered(records)) == taught(connector.records)


@pytest.mark.parametrize("end", [1, 2, 3, 4, 5])
def test_a_repetition_cuts_no_run_amid_which_another_partition_spoke(end: int) -> None:
    """The third version is known to begin by the end of the run, whatever of it was delivered twice."""
    connector = Connector("postgresql")
    for row in range(9):
        told = row == 4
        connector.row({"id": LONG, **({"a": NOTE} if told else {})}, partition=int(told))
    straight = connector.records
    again = renumbered([*straight[: end + 3], *straight[end - 1 : end + 3], *straight[end + 3 :]])
    assert taught(again) == taught(straight)
    assert [len(versions) for versions in taught(again).values()] == [3]


@pytest.mark.parametrize("amid", [900, 901, 1001])
def test_what_fills_gaps_that_a_run_passed_over_is_counted_once(amid: int) -> None:
    """Also where a structure stood amid the run, so that nobody can tell which side of it records were on."""
    connector = Connector("postgresql")
    for row in range(1400):
        connector.row({"id": LONG, **({"a": NOTE} if row == amid else {})})
    straight, desk = Desk(), Desk()
    straight.read(connector.records)
    for rest in range(2):
        desk.read([record for record in connector.records if record.offset % 2 == rest])
    (history,), (whole,) = desk.histories, straight.histories
    assert history.records == whole.records == 1400
    for version, known in zip(history.versions, whole.versions, strict=True):
        (said,), (sure,) = version.evidence, known.evidence
        assert said.records <= sure.records <= said.records + said.shared_records


def renumbered(records: Iterable[Record]) -> list[Record]:
    """The records behind each other, as a broker numbers them."""
    reached: dict[tuple[str, int], int] = defaultdict(int)
    placed = []
    for record in records:
        place = (record.topic, record.partition)
        placed.append(replace(record, offset=reached[place]))
        reached[place] += 1
    return placed


STRUCTURES: tuple[dict[str, Node], ...] = (
    {"id": INT},
    {"id": INT, "a": NOTE},
    {"id": INT, "a": {**LONG, "optional": True}},
)
DRESSES = ("plain", "doc", "order", "ignored", "key")
"""Other bytes that say the same; the shapes of all of them differ."""
BARE = ("bare", "bare, ignored")


def dressed(record: Record, dress: str) -> Record:
    """The record in other bytes that say the same."""
    key, value = json.loads(record.key or b""), json.loads(record.value or b"")
    match dress:
        case "doc":
            value["schema"]["doc"] = "a table"
        case "order":
            value["schema"] = dict(reversed(value["schema"].items()))
        case "ignored":
            value["schema"]["fields"].append({"type": "string", "optional": True, "field": "transaction"})
            value["payload"]["transaction"] = None
        case "key":
            key["schema"]["doc"] = "a key"
        case "unreadable":  # no structure is told by it, so that it parts nothing
            value["schema"]["fields"] = [
                f for f in value["schema"]["fields"] if f["field"] not in ("before", "after")
            ]
        case "bare":
            key, value = key["payload"], value["payload"]
        case "bare, ignored":
            key, value = key["payload"], {**value["payload"], "transaction": None}
    return replace(record, key=json.dumps(key).encode(), value=json.dumps(value).encode())


def dressed_rows(*steps: tuple[int, Sequence[str], int]) -> list[Record]:
    """Rows of one table: so many of a structure, dressed in turn."""
    connector = Connector()
    for structure, dresses, count in steps:
        for number in range(count):
            record = connector.row(STRUCTURES[structure])
            connector.records[-1] = dressed(record, dresses[number % len(dresses)])
    return connector.records


BYTES_ALTERNATE = {
    "two shapes of one content": ((0, DRESSES[:2], 90), (1, DRESSES[:1], 3), (0, DRESSES[:2], 90)),
    "all dresses": ((0, DRESSES, 90), (1, DRESSES, 40), (0, DRESSES, 70)),
    "with what cannot be read": ((0, ("plain", "unreadable"), 90), (1, ("doc", "unreadable"), 90)),
    "rows without schemas": ((0, BARE, 90), (1, BARE[:1], 3), (0, BARE, 90)),
    "before contents do": ((0, DRESSES[:2], 90), *((n % 2, DRESSES[:2], 2) for n in range(70))),
    "no more contents than are told": tuple((n % 2, DRESSES[:3], 3) for n in range(64)),
    "one content too many": tuple((n % 2, DRESSES[:3], 3) for n in range(65)),
}  # fmt: skip


def pieces_of(records: Sequence[Record], size: int) -> list[Sequence[Record]]:
    """The records in pieces of a size."""
    return [records[at : at + size] for at in range(0, len(records), size)]


@pytest.mark.parametrize("case", BYTES_ALTERNATE)
def test_bytes_that_alternate_while_nothing_else_is_said_part_nothing(case: str) -> None:
    records = dressed_rows(*BYTES_ALTERNATE[case])
    straight = Desk()
    straight.read(records)
    for size, turn in ((1, 1), (7, -1), (40, 1), (70, -1)):
        desk = Desk()
        for piece in pieces_of(records, size)[::turn]:
            desk.read(piece)
        assert desk.histories == straight.histories, (size, turn)
        assert desk.observations == straight.observations, (size, turn)
        assert desk.rejected == straight.rejected, (size, turn)


def test_bytes_that_alternate_leave_the_counts_of_versions_whole() -> None:
    desk = Desk()
    desk.read(dressed_rows(*BYTES_ALTERNATE["two shapes of one content"]))
    (history,) = desk.histories
    assert [(v.records, v.shared_records) for v in history.versions] == [(90, 0), (3, 0), (90, 0)]


@settings(max_examples=300 if PROOF else 20)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2), st.lists(st.sampled_from(DRESSES), min_size=1, max_size=3), st.integers(1, 90)
        ),
        min_size=1,
        max_size=5,
    ),
    st.integers(1, 90),
    st.integers(1, 90),
    st.randoms(use_true_random=False),
)
def test_dressed_rows_teach_the_same_however_they_are_cut(
    steps: list[tuple[int, list[str], int]], piece: int, size: int, random: Random
) -> None:
    records = dressed_rows(*steps)
    straight, desk = Desk(), Desk()
    straight.read(records)
    parts = pieces_of(records, piece)
    random.shuffle(parts)
    for part in parts:
        ingest(part, desk.registry, "main", NO_SCHEMAS, size=size)
    assert desk.histories == straight.histories
    assert desk.observations == straight.observations
