"""The fold: laws over the set of observations, and the cases that real connectors make."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from schemaman.debezium.connector import Connector
from schemaman.debezium.connectors import mariadb, postgresql
from schemaman.debezium.observation import ALTERNATIONS, EvidenceKind, Observation
from schemaman.debezium.records import Coordinates, Position
from schemaman.history.fold.fold import fold
from schemaman.history.versions import TableHistory
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import Boolean, Date, Integer, String, Type

INT = Integer(32)
TABLE = TableId("shop", "app", "public", "orders")


def dialect_of(connector: str) -> Connector:
    return {"postgresql": postgresql.CONNECTOR, "mariadb": mariadb.CONNECTOR}[connector]


def schema(*names: str, key: tuple[str, ...] = ("id",), required: tuple[str, ...] = ("id",)) -> TableSchema:
    columns = tuple(Column(n, Integer(32), n not in required, emitted_name=n) for n in names)
    return TableSchema(columns, key)


def mark(
    offset: int, lsn: int | None, *, read: int | None = None, partition: int = 0, topic: str = "t"
) -> Coordinates:
    position = Position("none", "") if lsn is None else Position("lsn", str(lsn), str(lsn))
    time = (lsn or offset) * 10
    return Coordinates(topic, partition, offset, position, time, time + 5 if read is None else read, time)


def seen(
    structure: TableSchema,
    first: Coordinates,
    last: Coordinates | None = None,
    *,
    snapshot: bool = False,
    witness: EvidenceKind = "emitted",
    connector: str = "postgresql",
) -> Observation:
    last = last or first
    count = last.offset - first.offset + 1
    return Observation(TABLE, witness, "image", connector, "3.4.1", first, last, count, snapshot, structure)


def history(*observations: Observation) -> TableHistory:
    result = fold(observations, TABLE, dialect_of)
    assert result is not None
    return result


def shapes(found: TableHistory) -> list[tuple[str, ...]]:
    return [v.schema.names for v in found.versions]


A, AB, ABC = schema("id", "a"), schema("id", "a", "b"), schema("id", "a", "b", "c")


def test_a_return_to_an_earlier_shape_is_a_version_of_its_own() -> None:
    found = history(seen(A, mark(0, 10), mark(4, 14)), seen(AB, mark(5, 15)), seen(A, mark(6, 16)))
    assert shapes(found) == [A.names, AB.names, A.names]
    assert found.versions[0].id == found.versions[2].id


def test_a_column_that_was_dropped_and_added_again_has_another_id() -> None:
    found = history(seen(AB, mark(0, 10)), seen(A, mark(1, 11)), seen(AB, mark(2, 12)))
    first, last = found.versions[0].schema, found.versions[2].schema
    assert [c.id for c in first.columns] == [1, 2, 3]
    assert [c.id for c in last.columns] == [1, 2, 4]


def test_a_column_that_moved_in_an_append_only_table_is_another_one() -> None:
    found = history(seen(ABC, mark(0, 10)), seen(schema("id", "b", "c", "a"), mark(1, 11)))
    first, last = (v.schema for v in found.versions)
    assert found.versions[0].id == found.versions[1].id
    assert [c.id for c in first.columns] == [1, 2, 3, 4]
    assert [c.id for c in last.columns] == [1, 3, 4, 5]


def test_of_two_columns_that_exchanged_their_places_neither_is_known_to_have_stayed() -> None:
    found = history(seen(AB, mark(0, 10)), seen(schema("id", "b", "a"), mark(1, 11)))
    assert [c.id for c in found.versions[1].schema.columns] == [1, 4, 5]


def typed(**types: Type) -> TableSchema:
    """A schema whose columns have these types."""
    return TableSchema(tuple(Column(n, t, n != "id", emitted_name=n) for n, t in types.items()), ("id",))


@pytest.mark.parametrize(
    ("before", "after", "ids"),
    [
        # what cannot be exchanged was added again, and its neighbour was not touched
        (typed(id=INT, b=INT, a=String()), typed(id=INT, a=String(), b=Integer(64)), [1, 3, 4]),
        (typed(id=INT, b=INT, a=String(), z=INT), typed(id=INT, a=String(), z=INT, b=INT), [1, 3, 4, 5]),
        (typed(id=INT, c=INT, b=String(), a=Date()), typed(id=INT, a=Date(), x=INT), [1, 4, 5]),
        # a new name takes the place of one that vanished
        (typed(id=INT, b=INT, a=String()), typed(id=INT, x=INT, a=String()), [1, 4, 3]),
        # no appending gives this order for less than a table of its own
        (
            typed(id=INT, a=String(), b=INT, c=Date(), d=Boolean()),
            typed(id=INT, d=Boolean(), a=String(), b=INT, c=Date(), e=INT),
            [1, 5, 2, 3, 4, 6],
        ),
    ],
)
def test_what_appending_allows_tells_which_column_moved(
    before: TableSchema, after: TableSchema, ids: list[int]
) -> None:
    found = history(seen(before, mark(0, 10)), seen(after, mark(1, 11)))
    assert [c.id for c in found.latest.schema.columns] == ids


def test_a_table_that_seems_to_be_rebuilt_is_a_doubt() -> None:
    before = typed(id=INT, a=String(), b=INT, c=Date())
    found = history(seen(before, mark(0, 10)), seen(typed(id=INT, c=Date(), a=String(), b=INT), mark(1, 11)))
    assert [d.kind for d in found.disagreements] == ["perhaps-swapped"]


def test_what_stands_behind_a_new_column_was_added_after_it() -> None:
    found = history(seen(AB, mark(0, 10)), seen(schema("id", "a", "x", "b"), mark(1, 11)))
    assert [c.id for c in found.versions[1].schema.columns] == [1, 2, 4, 5]


def test_partitions_are_put_into_the_order_of_the_source() -> None:
    found = history(
        seen(A, mark(0, 10), mark(3, 16)),
        seen(AB, mark(4, 30)),
        seen(A, mark(0, 12, partition=1), mark(1, 20, partition=1)),
        seen(AB, mark(2, 22, partition=1), mark(3, 40, partition=1)),
    )
    assert shapes(found) == [A.names, AB.names]
    second = found.versions[1]
    assert second.after is not None
    assert (second.after.position.value, second.at.position.value) == ("20", "22")
    assert found.versions[0].records + second.records == 4 + 1 + 2 + 2


def test_a_shape_that_one_partition_hides_is_found_by_the_other() -> None:
    found = history(
        seen(A, mark(0, 10, partition=1), mark(9, 40, partition=1)),
        seen(A, mark(0, 11), mark(1, 18)),
        seen(AB, mark(2, 25), mark(3, 28)),
        seen(A, mark(4, 45)),
    )
    assert shapes(found) == [A.names, AB.names, A.names]


def test_records_delivered_again_open_no_version() -> None:
    later = schema("id", "a", "b", required=("id", "a"))
    found = history(
        seen(A, mark(0, 10), mark(1, 11)),
        seen(AB, mark(2, 12), mark(3, 13)),
        seen(later, mark(4, 12, read=900), mark(5, 13, read=901)),
    )
    assert shapes(found) == [A.names, AB.names]
    assert [d.kind for d in found.disagreements] == ["delivered-twice-differently"]
    assert found.disagreements[0].versions == (2,)


def test_records_delivered_again_that_go_on_into_news_open_the_next_version() -> None:
    found = history(
        seen(A, mark(0, 10), mark(1, 11)),
        seen(AB, mark(2, 11, read=900), mark(5, 20, read=950)),
    )
    assert shapes(found) == [A.names, AB.names]
    after = found.versions[1].after
    assert after is not None
    assert (after.position.value, found.versions[1].at.position.value) == ("11", "20")


def test_what_only_a_snapshot_shows_stands_behind_the_last_streamed_record() -> None:
    found = history(
        seen(A, mark(0, 10), mark(1, 11)),
        seen(AB, mark(2, None, read=500), mark(3, None, read=501), snapshot=True),
        seen(AB, mark(4, 60)),
    )
    assert shapes(found) == [A.names, AB.names]
    assert found.versions[1].at.offset == 2


def test_key_and_nullability_of_a_late_reading_are_provisional() -> None:
    later = schema("id", "a", key=("id", "a"), required=("id", "a"))
    found = history(
        seen(A, mark(0, 10), mark(1, 60), snapshot=True),
        seen(later, mark(2, 70, read=5000), mark(3, 80, read=5001)),
    )
    second = found.versions[1]
    assert second.status == "provisional"
    assert set(second.unconfirmed) == {"key", "nullable:a"}
    assert found.versions[0].status == "confirmed"


def test_a_record_committed_after_the_first_reading_confirms() -> None:
    later = schema("id", "a", key=("id", "a"), required=("id", "a"))
    found = history(
        seen(A, mark(0, 10), snapshot=True),
        seen(later, mark(2, 70, read=705), mark(3, 80, read=805)),
    )
    assert found.versions[1].status == "confirmed"
    assert found.versions[1].unconfirmed == ()


def declared(structure: TableSchema, at: Coordinates, action: str = "image", **more: object) -> Observation:
    base = Observation(TABLE, "declared", "image", "mariadb", "3.5.0", at, at, 1, False, structure)
    return replace(base, action=action, **more)  # type: ignore[arg-type]


def test_declared_images_make_versions_and_events_support_them() -> None:
    image = TableSchema((Column("order id", Integer(32), False), Column("memo", String(20))), ("order id",))
    wire = TableSchema((Column("order_id", Integer(32), False), Column("memo", String())), ("order_id",))
    found = history(
        declared(image, mark(0, 10, topic="ddl")),
        declared(image, mark(1, 20, topic="ddl")),
        seen(wire, mark(0, 15), mark(3, 30), connector="mariadb"),
    )
    (version,) = found.versions
    assert version.status == "confirmed"
    assert version.schema.names == ("order id", "memo")
    assert [c.emitted_name for c in version.schema.columns] == ["order_id", "memo"]
    assert [(e.kind, e.records) for e in version.evidence] == [("declared", 2), ("emitted", 4)]
    assert found.disagreements == ()


def test_an_event_that_no_image_explains_is_a_disagreement_and_no_version() -> None:
    image = schema("id", "a")
    found = history(declared(image, mark(0, 10, topic="ddl")), seen(ABC, mark(0, 15), connector="mariadb"))
    assert len(found.versions) == 1
    assert [d.kind for d in found.disagreements] == ["emitted-differs"]


def test_a_late_image_refines_what_events_have_shown() -> None:
    image = TableSchema((Column("id", Integer(32), False), Column("memo", String(20))), ("id",))
    wire = TableSchema((Column("id", Integer(32), False), Column("memo", String())), ("id",))
    found = history(seen(wire, mark(0, 10), connector="mariadb"), declared(image, mark(0, 12, topic="ddl")))
    (version,) = found.versions
    assert version.schema.column("memo") == Column("memo", String(20), emitted_name="memo", id=2)


def test_a_late_image_tells_the_names_that_travel_under_others() -> None:
    image = TableSchema((Column("id", Integer(32), False), Column("order-no", Integer(32))), ("id",))
    wire = TableSchema((Column("id", Integer(32), False), Column("order_no", Integer(32))), ("id",))
    found = history(seen(wire, mark(0, 10), connector="mariadb"), declared(image, mark(0, 12, topic="ddl")))
    (version,) = found.versions
    assert version.schema.column("order-no") == Column("order-no", Integer(32), emitted_name="order_no", id=2)


def test_an_interval_may_begin_with_a_position_and_end_without_one() -> None:
    read = seen(A, mark(0, 10), mark(9, None), snapshot=True)
    found = history(replace(read, interrupted=True), seen(AB, mark(10, 20)))
    assert shapes(found) == [A.names, AB.names]


def test_drop_and_create_begin_a_new_incarnation() -> None:
    found = history(
        declared(A, mark(0, 10, topic="ddl")),
        replace(declared(A, mark(1, 20, topic="ddl"), "drop"), schema=None),
        declared(A, mark(2, 30, topic="ddl")),
    )
    assert [v.incarnation for v in found.versions] == [1, 2]
    assert [e.kind for e in found.events] == ["dropped"]
    ids = [{c.id for c in v.schema.columns} for v in found.versions]
    assert not ids[0] & ids[1]
    assert not found.is_dropped


def test_a_drop_of_what_never_was_is_no_history() -> None:
    drop = replace(declared(A, mark(1, 20, topic="ddl"), "drop"), schema=None)
    assert fold([drop], TABLE, dialect_of) is None


def test_a_stated_rename_keeps_the_id() -> None:
    renamed = schema("id", "z")
    found = history(
        declared(A, mark(0, 10, topic="ddl")),
        declared(renamed, mark(1, 20, topic="ddl"), renames=(("a", "z"),)),
    )
    assert [c.id for c in found.versions[1].schema.columns] == [1, 2]


def test_defaults_and_comments_are_revisions() -> None:
    commented = replace(A, columns=(A.columns[0], replace(A.columns[1], comment="x", default=5)))
    found = history(seen(A, mark(0, 10)), seen(commented, mark(1, 11)))
    (version,) = found.versions
    assert version.revision == 1
    assert version.revisions[0].schema.columns[1].comment is None


def capped(runs: list[Observation]) -> list[Observation]:
    """What a scanner makes of runs that alternate too often: one counted interval a shape."""
    intervals: dict[TableSchema | None, Observation] = {}
    for run in runs:
        known = intervals.get(run.schema, replace(run, count=0, interrupted=True))
        intervals[run.schema] = replace(known, last=run.last, count=known.count + run.count)
    return list(intervals.values())


@pytest.mark.parametrize("records", [ALTERNATIONS + 1, 139, 140])
def test_shapes_that_alternate_for_ever_are_a_few_versions_however_they_were_cut(records: int) -> None:
    runs = runs_of([(0, (A, AB)[i % 2]) for i in range(records)], None)
    whole = history(*runs)
    assert shapes(whole) == [A.names, AB.names]
    assert whole.records == records
    assert [(d.kind, d.versions) for d in whole.disagreements] == [("perhaps-two-writers", (2,))]
    assert whole.versions[1].at.offset == 1
    assert history(*capped(runs)) == whole
    assert history(*capped(runs[:100]), *capped(runs[100:])) == whole
    assert history(*capped(runs[:100]), *runs[100:]) == whole


LINES = [A, AB, ABC, schema("id", "b"), schema("id", "a", key=())]


@st.composite
def streams(draw: st.DrawFn) -> list[tuple[int, TableSchema]]:
    """Records of a table in source order: (partition, shape)."""
    return draw(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(LINES)), min_size=1, max_size=25))


def runs_of(records: list[tuple[int, TableSchema]], cut: random.Random | None) -> list[Observation]:
    """The runs that a scanner makes of it, cut at random places if asked to."""
    result: list[Observation] = []
    offsets = [0, 0, 0]
    open_runs: dict[int, tuple[TableSchema, Coordinates, Coordinates]] = {}
    for lsn, (partition, structure) in enumerate(records, start=1):
        here = mark(offsets[partition], lsn, partition=partition)
        offsets[partition] += 1
        run = open_runs.get(partition)
        if run is not None and run[0] == structure and not (cut and cut.random() < 0.3):
            open_runs[partition] = (structure, run[1], here)
            continue
        if run is not None:
            result.append(seen(*run))
        open_runs[partition] = (structure, here, here)
    return result + [seen(*run) for run in open_runs.values()]


@given(streams(), st.integers(0, 999))
def test_the_history_is_a_function_of_the_set(records: list[tuple[int, TableSchema]], seed: int) -> None:
    chance = random.Random(seed)
    whole = history(*runs_of(records, None))
    pieces = runs_of(records, chance)
    pieces += chance.sample(pieces, chance.randrange(len(pieces) + 1))
    chance.shuffle(pieces)
    assert history(*pieces) == whole


@given(streams())
def test_every_change_of_shape_in_a_partition_is_a_version(records: list[tuple[int, TableSchema]]) -> None:
    records = [(0, structure) for _, structure in records]
    found = history(*runs_of(records, None))
    wanted = [records[0][1]]
    for _, structure in records[1:]:
        if structure != wanted[-1]:
            wanted.append(structure)
    # structures that alternate are a doubt, unless only their keys do
    for first, second, third, fourth in zip(wanted, wanted[1:], wanted[2:], wanted[3:], strict=False):
        assume(first != third or second != fourth or first.names == second.names)
    assert shapes(found) == [w.names for w in wanted]
    assert [v.schema.key for v in found.versions] == [w.key for w in wanted]
    assert found.records == len(records)
