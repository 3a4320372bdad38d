"""What changes on the wire alone makes no version: names, forms of types, and facts that nobody tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.observation import Observation
from schemaman.history.fold.encoding import parse_release
from schemaman.history.fold.fold import fold
from schemaman.history.versions import TableHistory
from schemaman.model.name_adjustment import Mode, adjust_field, misread_name
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Binary, Date, Decimal, Floating, Integer, String, Time, Timestamp, Type
from tests.history.test_fold import TABLE, dialect_of, history, mark, seen, shapes

RAW = ("order id", "unit-price", "größe", "cost$", "note")


def table(*names: str, key: tuple[str, ...] = (), types: Mapping[str, Type] | None = None) -> TableSchema:
    """A table of texts; other types by name; the key, the first column if none is given, is not nullable."""
    key = key or names[:1]
    columns = tuple(Column(n, (types or {}).get(n, String()), n not in key, emitted_name=n) for n in names)
    return TableSchema(columns, key)


def adjusted(schema: TableSchema, mode: Mode) -> TableSchema:
    """The table under another naming, as a later release would send it."""
    names = {n: adjust_field(n, mode) for n in schema.names}
    columns = tuple(replace(c, name=names[c.name], emitted_name=names[c.name]) for c in schema.columns)
    return TableSchema(columns, tuple(names[k] for k in schema.key))


def streamed(schema: TableSchema, lsn: int, version: str = "3.4.1.Final") -> Observation:
    return replace(seen(schema, mark(lsn, lsn)), connector_version=version)


def told(found: TableHistory) -> list[str]:
    return [d.kind for d in found.disagreements]


@pytest.mark.case(51, 52)
@pytest.mark.parametrize("mode", ["avro", "avro_unicode", "scrubbed"])
def test_other_names_of_the_same_columns_are_no_version(mode: Mode) -> None:
    raw = table(*RAW)
    found = history(streamed(raw, 1), streamed(adjusted(raw, mode), 2), streamed(raw, 3))
    (version,) = found.versions
    assert version.schema.names == RAW
    assert [r.schema.columns[0].emitted_name for r in version.revisions] == [
        "order id",
        adjust_field("order id", mode),
        "order id",
    ]
    assert told(found) == ["encoding-changed"]


def test_names_misread_and_adjusted_are_found_again() -> None:
    raw = table("größe", "a/b")
    wire = adjusted(table(misread_name("größe"), "a/b"), "avro")
    assert wire.names == ("gr____e", "a_b")
    assert shapes(history(streamed(raw, 1), streamed(wire, 2))) == [("größe", "a/b")]


def test_the_table_goes_on_changing_under_other_names() -> None:
    raw = table(*RAW)
    grown = table(*RAW, "second choice")
    found = history(
        streamed(raw, 1), streamed(adjusted(raw, "avro"), 2), streamed(adjusted(grown, "avro"), 3)
    )
    assert shapes(found) == [RAW, (*RAW, "second_choice")]
    assert [c.id for c in found.versions[1].schema.columns] == [1, 2, 3, 4, 5, 6]


def test_one_column_under_a_likely_name_is_a_rename_until_something_else_is_known() -> None:
    raw, avro = table("order-id", "other"), table("order_id", "other")
    assert shapes(history(streamed(raw, 1), streamed(avro, 2))) == [raw.names, avro.names]
    # an upgrade explains it, and so does a later name that nobody would have given
    assert shapes(history(streamed(raw, 1, "1.9.8.Final"), streamed(avro, 2))) == [raw.names]
    unicode = table("order_u002did", "other")
    assert shapes(history(streamed(raw, 1), streamed(avro, 2), streamed(unicode, 3))) == [raw.names]


def test_other_types_or_names_beside_make_it_a_change_of_the_table() -> None:
    raw = table(*RAW)
    other = adjusted(raw, "avro")
    numbers = replace(other, columns=(replace(other.columns[0], type=Integer(32)), *other.columns[1:]))
    assert len(history(streamed(raw, 1), streamed(numbers, 2)).versions) == 2
    more = TableSchema((*other.columns, Column("brand_new", String())), other.key)
    assert len(history(streamed(raw, 1), streamed(more, 2)).versions) == 2


ADAPTIVE: dict[str, Type] = {
    "at": Timestamp(6, zoned=False), "of": Timestamp(3, zoned=False), "t": Time(6), "d": Date()
}  # fmt: skip
CONNECT: dict[str, Type] = {
    "at": Timestamp(3, zoned=False), "of": Timestamp(3, zoned=False), "t": Time(3), "d": Date()
}  # fmt: skip


@pytest.mark.case(14, 15)
@pytest.mark.parametrize(("was", "now"), [
    (ADAPTIVE, CONNECT),
    ({"a": Decimal(8, 2), "b": Decimal(10, 0)}, {"a": Floating(64), "b": Floating(64)}),
    ({"a": Decimal(8, 2), "b": Decimal(8, 2)}, {"a": String(), "b": String()}),
    ({"a": Binary(), "b": Binary()}, {"a": String(), "b": String()}),
])  # fmt: skip
def test_forms_of_types_that_an_upgrade_changes_at_once_are_no_version(
    was: dict[str, Type], now: dict[str, Type]
) -> None:
    before, after = table("id", *was, types=was), table("id", *now, types=now)
    found = history(
        streamed(before, 1, "2.5.4.Final"),
        streamed(after, 2),
        streamed(table("id", *now, "more", types=now), 3),
    )
    assert [v.schema.names for v in found.versions] == [before.names, (*before.names, "more")]
    assert [c.type for c in found.versions[1].schema.columns[1:-1]] == [*was.values()]
    assert "encoding-changed" in told(found)
    # under one release it may be the table's
    alone = history(streamed(before, 1), streamed(after, 2))
    assert len(alone.versions) == 2
    assert set(told(alone)) == {"perhaps-another-mode"}
    assert alone.versions[1].status == "provisional"
    changed = [c.name for c, d in zip(before.columns, after.columns, strict=True) if c.type != d.type]
    assert sorted(alone.versions[1].unconfirmed) == sorted(f"type:{name}" for name in changed)


def test_a_type_that_changes_alone_is_the_tables_even_at_an_upgrade() -> None:
    before = table("id", "a", "b", types={"a": Decimal(8, 2), "b": Decimal(8, 2)})
    after = table("id", "a", "b", types={"a": Floating(64), "b": Decimal(8, 2)})
    found = history(streamed(before, 1, "2.5.4.Final"), streamed(after, 2))
    assert len(found.versions) == 2
    assert told(found) == ["connector-changed"]


@pytest.mark.case(20)
def test_a_column_that_appears_with_an_upgrade_may_have_existed_before() -> None:
    found = history(streamed(table("id"), 1, "1.9.8.Final"), streamed(table("id", "vector"), 2))
    assert (len(found.versions), told(found)) == (2, ["connector-changed"])


@pytest.mark.case(43)
def test_a_column_that_only_a_snapshot_reads_may_be_a_generated_one() -> None:
    read = replace(streamed(table("id", "net"), 1), snapshot=True)
    assert told(history(read, streamed(table("id"), 2))) == ["column-not-streamed"]
    assert told(history(streamed(table("id", "net"), 1), streamed(table("id"), 2))) == []


def test_a_composite_key_in_the_order_of_an_old_release() -> None:
    key = table("sku", "warehouse", key=("warehouse", "sku"))
    wire = table("sku", "warehouse", key=("sku", "warehouse"))
    snapshot = replace(seen(key, mark(0, 1)), snapshot=True, connector_version="1.4.2.Final")
    found = history(snapshot, streamed(wire, 2, "1.4.2.Final"), streamed(wire, 900, "1.4.2.Final"))
    assert [v.schema.key for v in found.versions] == [("warehouse", "sku")]
    assert told(found) == ["key-order-not-told"]
    assert len(history(snapshot, streamed(wire, 2, "1.9.8.Final")).versions) == 2
    # and where only the stream tells it, nothing confirms it
    alone = history(streamed(wire, 2, "1.4.2.Final"), streamed(wire, 900, "1.4.2.Final"))
    assert alone.versions[0].unconfirmed == ("key",)


def test_events_of_a_misread_table_tell_neither_key_nor_not_null() -> None:
    def named(structure: TableSchema, lsn: int, snapshot: bool = False) -> Observation:
        table = replace(TABLE, table="Größen")
        return replace(streamed(structure, lsn), table=table, snapshot=snapshot)

    blind = TableSchema(tuple(replace(c, nullable=True) for c in table("id", "note").columns))

    first = named(table("id", "note"), 1, snapshot=True)
    found = fold([first, named(blind, 2), named(blind, 900)], first.table, dialect_of)
    assert found is not None
    (version,) = found.versions
    assert (version.schema.key, version.status, told(found)) == (("id",), "confirmed", ["facts-not-told"])
    unknown = fold([named(blind, 2), named(blind, 900)], first.table, dialect_of)
    assert unknown is not None
    assert set(unknown.versions[0].unconfirmed) == {"key", "nullable:id", "nullable:note"}


@pytest.mark.parametrize(("text", "release"), [
    ("3.4.1.Final", (3, 4)), ("2.0.0.CR1", (2, 0)), ("", (0, 0)), ("nightly", (0, 0)),
])  # fmt: skip
def test_releases(text: str, release: tuple[int, int]) -> None:
    assert parse_release(text) == release


NAMES = st.lists(st.text("ab -/.$ö_1", min_size=1, max_size=4), min_size=2, max_size=5, unique=True)


@given(NAMES, st.sampled_from(["avro", "avro_unicode", "scrubbed"]))
def test_no_change_of_naming_alone_ever_loses_or_mixes_columns(names: list[str], mode: Mode) -> None:
    raw = table(*names)
    wire = adjusted(raw, mode)
    if len(set(wire.names)) < len(names):
        return
    found = history(streamed(raw, 1), streamed(wire, 2))
    last = found.versions[-1].schema
    assert [c.emitted_name for c in last.columns] == [*wire.names]
    if len(found.versions) == 1:
        assert shapes(found) == [raw.names]
        assert last.key == raw.key


def test_each_release_is_an_epoch_and_no_version() -> None:
    before, after = table("id", *ADAPTIVE, types=ADAPTIVE), table("id", *CONNECT, types=CONNECT)
    found = history(streamed(before, 1, "2.5.4.Final"), streamed(after, 2), streamed(after, 3))
    assert [(e.number, e.connector_version, e.at.offset) for e in found.epochs] == [
        (1, "2.5.4.Final", 1),
        (2, "3.4.1.Final", 2),
    ]
    assert found.epochs[0].changes == ()
    assert found.epochs[1].changes == (
        "at is sent as TIMESTAMP_NTZ(3), no longer as TIMESTAMP_NTZ(6)",
        "t is sent as TIME(3), no longer as TIME(6)",
    )
    (version,) = found.versions
    (face,) = version.event_schemas
    assert (face.epoch, face.at.offset) == (2, 2)
    assert [(f.column, f.type) for f in face.fields] == [
        ("at", CONNECT["at"]),
        ("t", CONNECT["t"]),
    ]
    assert [c.type for c in version.find_event_schema().columns] == [c.type for c in after.columns]
    assert [c.type for c in version.schema.columns] == [c.type for c in before.columns]


def test_other_names_are_an_epoch_and_a_face_of_their_own() -> None:
    raw = table(*RAW)
    found = history(streamed(raw, 1), streamed(adjusted(raw, "avro"), 2), streamed(raw, 3))
    assert [e.number for e in found.epochs] == [1, 2, 3]
    (version,) = found.versions
    assert [version.find_event_schema(face).names for face in version.event_schemas] == [
        adjusted(raw, "avro").names,
        RAW,
    ]


def test_what_is_declared_later_has_the_names_and_events_keep_theirs() -> None:
    wire = table("order_id", "price", types={"price": Floating(64)})
    image = table("order id", "price", types={"price": Decimal(18, 2)})
    seen_first = replace(streamed(wire, 1), connector="mariadb")
    declared = replace(
        streamed(replace(image, columns=tuple(replace(c, emitted_name=None) for c in image.columns)), 2),
        connector="mariadb", evidence="declared",
    )  # fmt: skip
    (version,) = history(seen_first, declared).versions
    assert version.schema.names == ("order id", "price")
    assert [(c.name, c.type) for c in version.find_event_schema().columns] == [
        ("order_id", String()),
        ("price", Floating(64)),
    ]
