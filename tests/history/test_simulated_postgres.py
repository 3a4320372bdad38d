"""Histories of a made-up PostgreSQL: every structure that a row showed is there, none that never was."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from schemaman.debezium.records import Coordinates, Record
from schemaman.history.versions import SchemaVersion
from schemaman.model.ddl import format_type
from schemaman.model.types import without_labels
from schemaman.store.offsets import GAPS
from tests.ingest.test_order import Desk
from tests.support.checkout import PROOF
from tests.support.simulated_postgres import EXCHANGED, STEPS, Emitted, Shape, World, world

WORDS = ("INT", "BIGINT", "STRING", "BOOLEAN", "FLOAT", "SMALLINT")
WORLDS = st.builds(
    world, st.integers(0, 2**32), st.lists(st.sampled_from(STEPS), max_size=60), st.integers(1, 3)
)
AMBIGUOUS = st.builds(
    world,
    st.integers(0, 2**32),
    st.lists(st.sampled_from(STEPS), max_size=60),
    st.integers(1, 3),
    st.just(EXCHANGED),
)


def pieces(made: World, chance: Random) -> list[list[Record]]:
    """The records in dumps that have holes, and come in any order."""
    dumps: list[list[Record]] = [[] for _ in range(chance.randint(1, 4))]
    mine = 0
    for record in made.connector.records:
        if chance.random() < 0.3:
            mine = chance.randrange(len(dumps))
        dumps[mine].append(record)
    chance.shuffle(dumps)
    return dumps


def whole(made: World) -> Desk:
    desk = Desk()
    desk.read(made.connector.records)
    return desk


@settings(max_examples=600 if PROOF else 60)
@given(WORLDS | AMBIGUOUS, st.randoms(use_true_random=False))
def test_the_history_does_not_depend_on_who_read_what_first(made: World, chance: Random) -> None:
    desk, straight = Desk(), whole(made)
    for dump in pieces(made, chance):
        desk.read(dump)
    assert desk.histories == straight.histories
    assert desk.rejected == straight.rejected
    desk.read(made.connector.records)
    assert desk.histories == straight.histories


@settings(max_examples=40 if PROOF else 2)
@given(st.integers(0, 2**32))
def test_more_holes_than_runs_end_at_cost_no_version(seed: int) -> None:
    """Runs pass over such gaps: what fills them has the same versions, with wider beginnings."""
    chance = Random(seed)
    made = world(seed, [chance.choice((*["row"] * 30, "ddl", "read", "catch up")) for _ in range(1400)], 1)
    straight, desk = whole(made), Desk()
    for rest in range(2):
        desk.read([record for record in made.connector.records if record.offset % 2 == rest])
    assume(max(record.offset for record in made.connector.records) > 2 * GAPS)
    for history, other in zip(straight.histories, desk.histories, strict=True):
        assert history.table == other.table
        assert history.records == other.records
        for version, found in zip(history.versions, other.versions, strict=True):
            assert (found.id, found.incarnation, found.schema) == (
                version.id,
                version.incarnation,
                version.schema,
            )
            assert found.at.position.rank >= version.at.position.rank


def shape_of(version: SchemaVersion) -> Shape:
    """Names and types of a version, in the words of the world."""
    columns = version.schema.columns
    return tuple((c.name, WORDS.index(format_type(without_labels(c.type)))) for c in columns)


def place(mark: Coordinates) -> tuple[str, int, int]:
    return (mark.topic, mark.partition, mark.offset)


def streamed(made: World, table: str) -> list[Emitted]:
    """What the log showed of a table, each change once, in the order of commits."""
    mine = {e.lsn: e for e in reversed(made.emitted) if e.structure.name == table and e.lsn}
    order = {c.lsn: n for n, c in enumerate(c for t in made.log for c in t.changes)}
    return sorted(mine.values(), key=lambda e: order[e.lsn])


def distinct(shapes: Sequence[Shape]) -> list[Shape]:
    return [shape for shape, _ in groupby(shapes)]


@given(WORLDS)
def test_every_structure_is_one_that_was_and_none_is_missing(made: World) -> None:
    for history in whole(made).histories:
        mine = [e for e in made.emitted if e.structure.name == history.table.table]
        shown = distinct([shape_of(v) for v in history.versions])
        assert set(shown) == {e.structure.shape for e in mine}
        read = [e for e in mine if not e.lsn]
        log = distinct([e.structure.shape for e in streamed(made, history.table.table)])
        if all(e.committed == 0 for e in read):
            assert shown == distinct([*(e.structure.shape for e in read), *log])
        else:
            rest = iter(shown)
            assert all(shape in rest for shape in log)


@given(WORLDS)
def test_each_version_begins_at_a_record_that_has_it(made: World) -> None:
    true = {e.offset: e for e in made.emitted}
    for history in whole(made).histories:
        for version in history.versions:
            assert true[place(version.at)].structure.shape == shape_of(version)
            for one in version.evidence:
                assert true[place(one.first)].structure.shape == shape_of(version)
                assert true[place(one.last)].structure.shape == shape_of(version)


def told(version: SchemaVersion) -> set[tuple[str, object]]:
    """Key and nullability of a version."""
    schema = version.schema
    return {("key", schema.key), *((f"nullable:{c.name}", c.nullable) for c in schema.columns)}


def facts(version: SchemaVersion) -> set[tuple[str, object]]:
    """Those that count as certain."""
    return {fact for fact in told(version) if fact[0] not in version.unconfirmed}


@given(WORLDS)
def test_no_fact_is_certain_that_never_was(made: World) -> None:
    """What a table has been and is again when it is read, though not in between, nobody can tell apart.

    Nor a table without a key whose columns may all be null, and one that twice had another name when the
    connector looked for it.
    """
    true = {e.offset: e for e in made.emitted}
    for history in whole(made).histories:
        for version in history.versions:
            marks = [version.at, *(m for e in version.evidence for m in (e.first, e.last))]
            last = max(true[place(m)].read for m in marks)
            if not version.schema.key and all(c.nullable for c in version.schema.columns):
                continue
            assert facts(version) <= made.true_between(history.table.table, 0, last)


AT_ONCE = st.builds(
    lambda seed, steps: world(seed, [word for step in steps for word in (step, "catch up")]),
    st.integers(0, 2**32),
    st.lists(st.sampled_from(("row", "row", "ddl", "incremental")), max_size=40),
)


@given(AT_ONCE)
def test_a_connector_that_never_lags_tells_nothing_but_the_truth(made: World) -> None:
    true = {e.offset: e for e in made.emitted}
    for history in whole(made).histories:
        for version in history.versions:
            assert told(version) == true[place(version.at)].structure.facts
