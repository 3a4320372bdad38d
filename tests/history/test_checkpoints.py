"""A history that goes on from checkpoints is the fold of all its observations, in every order of arrival."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from bench import tables
from schemaman.debezium.observation import Observation, forget_key
from schemaman.debezium.records import Coordinates, Position
from schemaman.history.epochs import UNDECIDED
from schemaman.history.fold import continuation, table_walk, timeline
from schemaman.history.fold.checkpoint import FoldCheckpoint
from schemaman.history.versions import TableHistory
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import Boolean, Integer, String, Timestamp, Type
from schemaman.store import folding
from schemaman.store.folding import continue_history, fold_with_checkpoint
from tests.support.checkout import PROOF

TABLE = TableId("erp", "erp", "public", "orders")
TYPES: tuple[Type, ...] = (Integer(32), Integer(64), String(), Boolean(), Timestamp(6), Timestamp(3))
STREAMS = 300 if PROOF else 4


@pytest.fixture(autouse=True)
def short_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints in short histories: fewer versions are looked back on, and fewer runs kept one by one."""
    monkeypatch.setattr(table_walk, "MAX_OLDER_VERSIONS", 2)
    monkeypatch.setattr(continuation, "OVERLAP", 6)
    monkeypatch.setattr(folding, "FIRST_CHECKPOINT", 1)
    monkeypatch.setattr(folding, "SPACING", 3)


def make_column(name: str, type: Type, nullable: bool = True) -> Column:
    return Column(name, type, nullable=nullable, emitted_name=name)


def change_schema(schema: TableSchema, number: int, chance: random.Random, oddity: float) -> TableSchema:
    """Another structure: mostly a new column, sometimes what is harder to tell."""
    columns = list(schema.columns)
    place = chance.randrange(1, len(columns)) if len(columns) > 1 else 0
    fresh = make_column(f"c{number}", chance.choice(TYPES), nullable=chance.random() < 0.7)
    if chance.random() >= oddity:
        if len(columns) > 5:
            del columns[place]
        return replace(schema, columns=(*columns, fresh))
    kind = chance.choice(["drop", "type", "nullable", "default", "key", "middle", "name", "swap", "raw"])
    old = columns[place]
    match kind:
        case "drop" if len(columns) > 2:
            del columns[place]
        case "type":
            columns[place] = replace(old, type=chance.choice(TYPES))
        case "nullable":
            columns[place] = replace(old, nullable=not old.nullable)
        case "default":
            columns[place] = replace(old, default=str(number))
        case "key":
            return replace(schema, key=chance.choice([(), ("id",), ("id", columns[-1].name)]))
        case "middle":
            columns.insert(place, fresh)
        case "name":
            name = f"c{chance.randrange(number + 1)}x"
            columns[place] = replace(old, name=name, emitted_name=name)
        case "swap" if len(columns) > 2:
            columns[-1], columns[place] = columns[place], columns[-1]
        case _:
            columns[place] = replace(old, name=f"c_{number}", emitted_name=f"c-{number}")
    unique = {column.name: column for column in columns}
    return TableSchema(tuple(unique.values()), tuple(k for k in schema.key if k in unique))


def make_mark(partition: int, offset: int, lsn: int, chance: random.Random, jitter: int) -> Coordinates:
    time = 1_700_000_000_000 + 1000 * lsn
    committed, read = time + chance.randrange(jitter + 1), time + 100 + chance.randrange(jitter + 1)
    place = Position("lsn", str(1000 + lsn), str(1000 + lsn))
    return Coordinates("erp.public.orders", partition, offset, place, committed, read, read + 5)


def make_run(
    edges: tuple[Coordinates, Coordinates], count: int, release: str, is_read: bool, schema: TableSchema
) -> Observation:
    return Observation(
        TABLE,
        "emitted",
        "image",
        "postgresql",
        release,
        *edges,
        count,
        is_read,
        schema,
        schema_name="erp.public.orders.Value",
    )


def make_stream(chance: random.Random, versions: int) -> list[Observation]:
    """The runs of a table in the order of their positions, in one partition or several."""
    partitions, jitter = chance.choice([1, 1, 2, 3]), chance.choice([0, 0, 50, 3000])
    oddity, returns = chance.choice([0.0, 0.0, 0.0, 0.03, 0.3]), chance.choice([0.0, 0.0, 0.0, 0.0, 0.05])
    repetition = chance.choice([0.0, 0.0, 0.0, 0.05])
    schemas = [
        TableSchema((make_column("id", Integer(64), nullable=False), make_column("c0", String())), ("id",))
    ]
    offsets, lsn = [0] * partitions, 0
    release, found = "3.5.0.Final", []
    for number in range(1, versions + 1):
        schema = schemas[-1] if number == 1 else change_schema(schemas[-1], number, chance, oddity)
        schema = chance.choice(schemas) if chance.random() < returns else schema
        schemas.append(schema)
        release = "3.6.0.Final" if oddity and chance.random() < 0.01 else release
        for partition in chance.sample(range(partitions), chance.randint(1, partitions)):
            for _ in range(chance.randint(1, 2)):
                count = chance.randint(1, 4)
                begun = lsn if chance.random() >= repetition else max(lsn - 3, 0)
                first = make_mark(partition, offsets[partition], begun, chance, jitter)
                offsets[partition] += count
                lsn += count
                last = make_mark(partition, offsets[partition] - 1, max(lsn - 1, begun), chance, jitter)
                is_read = number == 1 or (oddity > 0 and chance.random() < 0.01)
                edges = (first, first if count == 1 else last)
                found.append(make_run(edges, count, release, is_read, schema))
    return found


def arrange(stream: list[Observation], chance: random.Random) -> list[list[Observation]]:
    """Chunks of a stream as they arrive: in order, with late ones, or in any order."""
    order = list(stream)
    late = chance.choice([0, 0, 1, 3, len(stream)])
    for _ in range(late):
        order.insert(chance.randrange(len(order)), order.pop(chance.randrange(len(order))))
    chunks, at = [], 0
    while at < len(order):
        size = chance.choice([1, 1, 1, 2, 5])
        chunks.append(order[at : at + size])
        at += size
    return chunks


def go_on(chunks: Sequence[Sequence[Observation]]) -> Iterator[tuple[TableHistory | None, bool]]:
    """The history after each chunk as a store makes it, and whether it went on from a checkpoint."""
    known: list[Observation] = []
    since: list[Observation] = []
    history: TableHistory | None = None
    checkpoint: FoldCheckpoint | None = None
    for chunk in chunks:
        known += chunk
        since += chunk
        found = None
        if checkpoint is not None and history is not None:
            found = continue_history(checkpoint, history, since)
        if found is not None:
            if found[1] is not checkpoint:
                since = []
            history, checkpoint = found
        else:
            history, checkpoint = fold_with_checkpoint(known, TABLE, UNDECIDED)
            since = []
        yield history, found is not None


def is_fold(history: TableHistory | None, observations: Sequence[Observation]) -> bool:
    return history == folding.fold(observations, TABLE, UNDECIDED)


@pytest.mark.parametrize("seed", range(STREAMS))
def test_going_on_gives_the_fold_of_all_observations(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    few_runs = chance.choice([4, 64])
    monkeypatch.setattr(timeline, "ALTERNATIONS", few_runs)
    monkeypatch.setattr(continuation, "ALTERNATIONS", few_runs)
    chunks = arrange(make_stream(chance, chance.randint(20, 45)), chance)
    for number, (history, went_on) in enumerate(go_on(chunks), start=1):
        if went_on:
            assert is_fold(history, [one for chunk in chunks[:number] for one in chunk])


def make_plain_stream(versions: int) -> list[Observation]:
    return [replace(tables.make_observation(0, number), table=TABLE) for number in range(versions)]


def test_a_stream_in_order_goes_on_from_its_checkpoints() -> None:
    stream = make_plain_stream(40)
    found = list(go_on([stream[:29], *([one] for one in stream[29:])]))
    assert [went_on for _, went_on in found[1:]] == [True] * 11
    assert is_fold(found[-1][0], stream)


@pytest.mark.parametrize("since", [30, 36])
def test_a_late_record_is_folded_with_all_others(since: int) -> None:
    stream = make_plain_stream(40)
    late = stream.pop(since)
    found = list(go_on([stream[:37], stream[37:], [late]]))
    assert [went_on for _, went_on in found] == [False, True, False]
    assert is_fold(found[-1][0], [*stream, late])


def make_again(one: Observation, offset: int) -> Observation:
    """The same records, delivered once more from an offset."""
    first, last = (replace(mark, offset=offset + n) for n, mark in enumerate((one.first, one.last)))
    return replace(one, first=first, last=last)


def move_to_partition(one: Observation) -> Observation:
    """Odd versions in a second partition."""
    partition = (one.first.offset // tables.RECORDS) % 2
    first, last = (replace(mark, partition=partition) for mark in (one.first, one.last))
    return replace(one, first=first, last=last)


@pytest.mark.parametrize("change", [forget_key, move_to_partition])
def test_what_all_records_share_leaves_a_table_its_checkpoints(
    change: Callable[[Observation], Observation],
) -> None:
    stream = [change(one) for one in make_plain_stream(40)]
    found = list(go_on([stream[:29], *([one] for one in stream[29:])]))
    assert [went_on for _, went_on in found[1:]] == [True] * 11
    assert is_fold(found[-1][0], stream)


def test_a_key_that_is_shown_at_last_is_the_key_of_all() -> None:
    stream = [*map(forget_key, make_plain_stream(39)), make_plain_stream(40)[39]]
    found = list(go_on([stream[:38], stream[38:39], stream[39:]]))
    assert [went_on for _, went_on in found] == [False, True, False]
    assert is_fold(found[-1][0], stream)


def test_records_that_come_again_after_a_restart_leave_a_table_its_checkpoints() -> None:
    """The first restart is in what is settled, the second one among the newest versions."""
    stream = make_plain_stream(54)
    moved = [
        *stream[:5],
        make_again(stream[4], 50),
        *(make_again(one, one.first.offset + 10) for one in stream[5:]),
    ]
    moved.insert(53, make_again(stream[51], 5000))
    moved[54:] = [make_again(one, 6000 + one.first.offset) for one in stream[52:]]
    found = list(go_on([moved[:50], moved[50:53], *([one] for one in moved[53:])]))
    assert [went_on for _, went_on in found[1:]] == [True] * (len(found) - 1)
    assert is_fold(found[2][0], moved[:54])
    assert is_fold(found[-1][0], moved)


def test_a_lead_of_the_clock_that_only_an_open_version_shows_is_not_relied_on() -> None:
    stream = make_plain_stream(40)
    ahead = replace(stream[33].last, ts_ms=(stream[33].last.read_ms or 0) + 100)
    stream[33] = replace(stream[33], last=ahead)
    found = list(go_on([stream[:36], *([one] for one in stream[36:])]))
    assert not any(went_on for _, went_on in found)
    assert is_fold(found[-1][0], stream)


def change_last(stream: list[Observation], change: Callable[[Observation], Observation]) -> list[Observation]:
    return [*stream[:-1], change(stream[-1])]


@pytest.mark.parametrize(
    "change",
    [
        lambda one: replace(one, schema=make_plain_stream(1)[0].schema),
        lambda one: replace(one, connector_version="3.6.0.Final"),
        lambda one: replace(one, snapshot=True),
        lambda one: replace(one, writer="shard-2"),
        lambda one: replace(one, schema=replace(one.schema, key=("id", "note"))),
        lambda one: replace(one, schema=replace(one.schema, key=())),
        lambda one: replace(one, schema_name="erp.orders.Value"),
        lambda one: replace(one, action="truncate", schema=None),
        lambda one: replace(one, unstated_attributes=("key",)),
        lambda one: replace(one, first=replace(one.first, ts_ms=1), last=replace(one.last, ts_ms=1)),
        lambda one: replace(one, last=replace(one.last, ts_ms=(one.last.ts_ms or 0) + 10**9)),
    ],
    ids=[
        "an earlier schema",
        "another release",
        "a snapshot",
        "a shard",
        "another key",
        "no key",
        "another name",
        "truncated",
        "a key that is unknown",
        "an old time",
        "a clock that is ahead",
    ],
)
def test_what_a_record_shows_of_older_ones_is_not_lost(change: Callable[[Observation], Observation]) -> None:
    stream = change_last(make_plain_stream(40), change)
    found = list(go_on([stream[:36], stream[36:38], stream[38:]]))
    assert [went_on for _, went_on in found[:2]] == [False, True]
    assert is_fold(found[-1][0], stream)
