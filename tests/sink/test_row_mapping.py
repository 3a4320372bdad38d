"""Changes of a source in the words of a lake table: columns by id, keys to trust, what is set aside."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal as Number

import pytest

from schemaman.debezium.records import NO_POSITION, Coordinates
from schemaman.history.versions import Revision, SchemaVersion, TableHistory
from schemaman.migration.target import LakeTable
from schemaman.model.ddl import parse_type
from schemaman.model.schema import Column, Path, TableId, TableSchema
from schemaman.model.types import Decimal, Integer, String, Timestamp
from schemaman.sink.row_change import Op, RecordOffset, Row, RowChange
from schemaman.sink.row_mapping import EndedIncarnation, RowMap, map_change, map_columns
from schemaman.sink.upsert import LakeChange
from schemaman.sink.values.struct_values import make_renaming
from schemaman.sink.values.to_lake import fit_value
from schemaman.sink.values.values import UnfitColumn

TABLE = TableId("s", "db", "public", "t")
LAKE = (
    Column("id", Integer(32), nullable=False),
    Column("title", String()),
    Column("price", Decimal(12, 2)),
    Column("old_note", String()),
)
SOURCE = TableSchema(
    (
        Column("id", Integer(32), id=1),
        Column("name", String(), id=2),
        Column("price", Integer(32), id=3),
        Column("gone", String(), id=4),
        Column("note", String(), id=5),
        Column("maybe", String(), id=6),
    ),
    ("id",),
)
TO = RowMap(
    LAKE,
    ("id",),
    names={1: "id", 2: "title", 3: "price", 5: "old_note"},
    unmapped_reasons={6: "perhaps it became another"},
    incarnations={1: 1, 2: 2},
    incarnation=2,
)


def change(
    op: Op, key: Row | None, after: Row | None = None, before: Row | None = None, version: int = 2, **more
) -> RowChange:
    unavailable = more.get("unavailable", frozenset())
    place = RecordOffset("main", "topic", 0, 7)
    return RowChange(
        place, TABLE, op, key, before, after, unavailable, "0001", 0, op == "d", SOURCE, version, NO_POSITION
    )


def written(made: RowChange, to: RowMap = TO) -> LakeChange:
    found = map_change(made, to)
    assert isinstance(found, LakeChange)
    return found


def test_columns_are_found_by_what_they_are_and_not_by_their_names() -> None:
    found = written(change("c", {"id": 1}, {"id": 1, "name": "a", "price": 3, "gone": "x", "note": "n"}))
    assert found.values == {"id": 1, "title": "a", "price": Number("3.00"), "old_note": "n"}


def test_a_number_becomes_a_decimal_without_rounding_or_its_row_is_set_aside() -> None:
    assert written(change("u", {"id": 1}, {"id": 1, "price": 2**31 - 1})).values["price"] == 2**31 - 1
    tight = RowMap((*LAKE[:2], Column("price", Decimal(4, 2))), ("id",), TO.names, {}, TO.incarnations, 2)
    found = map_change(change("u", {"id": 1}, {"id": 1, "price": 100}), tight)
    assert isinstance(found, UnfitColumn)
    assert found.column == "price"


def test_a_row_that_was_written_under_another_key_is_set_aside() -> None:
    wider = replace(TO, key=("id", "title"))
    found = map_change(change("u", {"id": 1}, {"id": 1, "name": "a"}), wider)
    assert isinstance(found, UnfitColumn)
    assert found.reason.startswith(
        "the row was written when the key was (id), and the table's is (id, title): it names no row"
    )


def test_a_delete_is_known_by_the_key_of_its_record() -> None:
    assert written(change("d", {"id": 1}, before={"id": 1, "name": "a"})).values == {"id": 1}


@pytest.mark.parametrize("op", ["d"])
def test_a_delete_whose_key_is_another_one_is_set_aside(op: Op) -> None:
    found = map_change(change(op, {"name": "a"}, before={"id": 1, "name": "a"}), TO)
    assert isinstance(found, UnfitColumn)
    assert "lacks columns of the table's key (id)" in found.reason


def test_an_update_without_a_key_is_taken_where_its_key_cannot_have_changed() -> None:
    after: Row = {"id": 1, "name": "b"}
    assert written(change("u", None, after)).values["id"] == 1
    assert written(change("u", None, after, before={"id": 1})).values["id"] == 1
    assert isinstance(map_change(change("u", None, after, before={"id": 9}), TO), UnfitColumn)


def test_a_deleted_row_is_written_whole_or_not_at_all_where_no_key_tells_it() -> None:
    """Such a table keeps the row that was deleted; where it has a key, no more of it is asked than that."""
    gone = replace(change("d", {"id": 1}, before={"id": 1}), unread_reasons={"price": "nobody knows"})
    assert map_change(gone, replace(TO, key=())) == UnfitColumn("price", "nobody knows")
    assert written(gone).values == {"id": 1}


def test_a_deleted_row_lacks_nothing_that_its_table_does_not_want() -> None:
    gone = replace(change("d", {"id": 1}, before={"id": 1}), unread_reasons={"gone": "nobody knows"})
    assert isinstance(map_change(gone, replace(TO, key=())), LakeChange)
    gone = replace(gone, unread_reasons={"maybe": "nobody knows"})
    assert map_change(gone, replace(TO, key=())) == UnfitColumn("maybe", "nobody knows")


def test_a_value_of_a_column_that_may_have_become_another_is_not_left_out() -> None:
    found = map_change(change("c", {"id": 1}, {"id": 1, "maybe": "x"}), TO)
    assert isinstance(found, UnfitColumn)
    assert found.reason == "perhaps it became another"
    assert written(change("c", {"id": 1}, {"id": 1, "maybe": None})).values == {"id": 1}


def test_a_row_of_an_earlier_life_is_none_of_this_table() -> None:
    gone = change("c", {"id": 1}, {"id": 1}, version=1)
    found = map_change(gone, TO)
    assert isinstance(found, EndedIncarnation)
    assert "`schemaman decide confirm s.db.public.t@1 ended`" in found.reason
    assert map_change(replace(gone, redelivered=True), TO) == EndedIncarnation()
    assert map_change(gone, replace(TO, settled_ends=frozenset({1}))) == EndedIncarnation()


def test_values_that_were_not_sent_are_named_as_the_lake_names_them() -> None:
    found = written(change("u", {"id": 1}, {"id": 1}, unavailable=frozenset({"name", "gone"})))
    assert found.unavailable == frozenset({"title"})


def test_a_table_without_a_key_has_no_row_to_keep_a_value_from() -> None:
    keyless = RowMap(LAKE, (), TO.names, {}, TO.incarnations, 2)
    assert written(change("c", None, {"id": 1}), keyless).values["_row_offset"] == 7
    found = map_change(change("u", None, {"id": 1}, unavailable=frozenset({"name"})), keyless)
    assert isinstance(found, UnfitColumn)


NAMED = LakeTable(
    "ice.raw.t",
    TableSchema(
        (
            Column("id", Integer(32), nullable=False),
            Column("a_b", String()),
            Column("a_b_2", String()),
            Column("_op", String()),
            Column("_ts", Timestamp()),
        ),
        ("id",),
    ),
    "i",
    "0",
    {
        "schemaman.names": '{"a_b": "A b", "a_b_2": "a-b"}',
        "schemaman.metadata": '{"op": "_op", "ts": "_ts"}',
    },
)


def test_rows_go_where_the_table_says_that_it_keeps_a_column() -> None:
    columns = (Column("id", Integer(32), id=1), Column("A b", String(), id=2), Column("a-b", String(), id=3))
    schema = TableSchema(columns, ("id",))
    at = Coordinates("t", 0, 0)
    revision = Revision(0, schema, at)
    version = SchemaVersion(1, "x" * 12, 1, "confirmed", (revision,), None, at, None, 1, ())
    to = map_columns(TableHistory(TABLE, "postgresql", (version,)), NAMED)
    assert to.names == {1: "id", 2: "a_b", 3: "a_b_2"}
    row: Row = {"id": 1, "A b": "x", "a-b": "y"}
    known = replace(change("c", {"id": 1}, row, version=1), schema=schema)
    for made in (known, replace(known, version=None)):
        assert written(made, to).values == {
            "id": 1, "a_b": "x", "a_b_2": "y", "_op": "c", "_ts": datetime(1970, 1, 1, tzinfo=UTC),
        }  # fmt: skip
    gone = written(replace(change("d", {"id": 1}, before=row, version=1), schema=schema), to)
    assert gone.values["_op"] == "d"


@pytest.mark.parametrize(
    ("value", "ignores", "waits"), [("x", False, True), (None, False, False), ("x", True, False)]
)
def test_a_value_waits_whose_column_the_lake_should_have(
    value: str | None, ignores: bool, waits: bool
) -> None:
    columns = (Column("id", Integer(32), id=1), Column("A b", String(), id=2), Column("new", String(), id=3))
    schema, at = TableSchema(columns, ("id",)), Coordinates("t", 0, 0)
    version = SchemaVersion(1, "x" * 12, 1, "confirmed", (Revision(0, schema, at),), None, at, None, 1, ())
    lake = replace(NAMED, schema=replace(NAMED.schema, columns=NAMED.schema.columns[:2]))
    to = map_columns(TableHistory(TABLE, "postgresql", (version,)), lake, ignores_additions=ignores)
    made = map_change(replace(change("c", {"id": 1}, {"id": 1, "new": value}, version=1), schema=schema), to)
    assert isinstance(made, UnfitColumn) == waits
    assert not isinstance(made, UnfitColumn) or "`schemaman sync " in made.reason


QTY: dict[Path, str] = {("qty",): "quantity"}


@pytest.mark.parametrize(("type", "lake", "names", "value", "wanted"), [
    ("STRUCT<qty: INT, x: INT>", "STRUCT<x: INT, quantity: INT>", QTY, {"qty": 1, "x": 2},
     {"quantity": 1, "x": 2}),
    ("STRUCT<p: STRUCT<a: INT>>", "STRUCT<q: STRUCT<b: INT>>", {("p",): "q", ("p", "a"): "b"},
     {"p": {"a": 1}}, {"q": {"b": 1}}),
    ("MAP<STRING, ARRAY<STRUCT<a: INT>>>", "MAP<STRING, ARRAY<STRUCT<b: INT>>>",
     {("value", "element", "a"): "b"}, {"k": ({"a": 1}, None), "n": None},
     {"k": [{"b": 1}, None], "n": None}),
    # a name that came to another member later: each value goes where it belongs
    ("STRUCT<a: INT>", "STRUCT<b: INT, a: INT>", {("a",): "b"}, {"a": 1}, {"b": 1, "a": None}),
])  # fmt: skip
def test_a_value_of_before_gets_the_names_of_today(type: str, lake: str, names, value, wanted) -> None:
    there = parse_type(lake)
    found = make_renaming(parse_type(type), there, names)
    assert found is not None
    assert fit_value(found.rename_value(value), found.type, there, "s") == wanted


def test_a_value_of_a_member_that_left_is_not_put_under_anothers_name() -> None:
    there = parse_type("STRUCT<a: INT>")
    found = make_renaming(parse_type("STRUCT<a: INT, b: INT>"), there, {("b",): "a"}, {("a",)})
    assert found is not None
    assert fit_value(found.rename_value({"a": None, "b": 2}), found.type, there, "s") == {"a": 2}
    assert isinstance(fit_value(found.rename_value({"a": 1, "b": 2}), found.type, there, "s"), UnfitColumn)


@pytest.mark.parametrize(("type", "lake"), [
    ("STRUCT<qty: INT>", "STRUCT<qty: INT>"),  # the policy left the lake's name as it was
    ("STRUCT<qty: INT, quantity: INT>", "STRUCT<quantity: INT>"),  # two would have one name
    ("STRUCT<qty: INT>", "STRING"),
])  # fmt: skip
def test_members_keep_their_names_where_the_lake_has_no_place_for_the_new_one(type: str, lake: str) -> None:
    assert make_renaming(parse_type(type), parse_type(lake), QTY) is None
