"""Naming epochs: one table stays one table, one column one column, whatever a mode makes of their names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.history.fold.naming_epochs import MODES, is_emitted_as, list_originals, restore_own_names
from schemaman.model.name_adjustment import Mode, adjust_field, misread_name
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Integer, String, Type
from tests.support import chain

RAW = ("Order ID", "größe", "2nd", "cost$", "plain")
TYPES: tuple[Type, ...] = (Integer(32), String(), String(), Integer(64), String())
NAMES = st.text(st.sampled_from("aäß日_-$ 2x.uU0f"), min_size=1, max_size=6)


def table(*emitted: str, own: tuple[str, ...] = ()) -> TableSchema:
    """A table of these field names, the first one its key; `own` where the wire told own names."""
    names = own or emitted
    columns = tuple(
        Column(n, t, emitted_name=e) for n, e, t in zip(names, emitted, (*TYPES, *TYPES), strict=False)
    )
    return TableSchema(columns, names[:1])


def written(mode: Mode, names: tuple[str, ...] = RAW, *, misreading: bool = False) -> tuple[str, ...]:
    return tuple(adjust_field(misread_name(n) if misreading else n, mode) for n in names)


@pytest.mark.case(16)
@pytest.mark.case(51)
@pytest.mark.case(52)
@pytest.mark.parametrize("first", MODES)
@pytest.mark.parametrize("then", MODES)
@pytest.mark.parametrize("vouched", [True, False])
def test_a_mode_that_changes_renames_nothing(first, then, vouched):
    """Cases 16, 51 and 52: no version, whichever mode came first."""
    if {first, then} == {"avro", "scrubbed"}:
        return  # neither of them keeps the name that both were made of
    before, after = table(*written(first)), table(*written(then))
    seen = restore_own_names(before, after, vouched=vouched)
    assert (seen.names, seen.key) == (before.names, before.key)
    assert [c.emitted_name for c in seen.columns] == list(written(then))


@pytest.mark.parametrize("mode", ["none", "avro", "avro_unicode"])
def test_names_misread_by_the_stream_are_those_of_the_snapshot(mode):
    before, after = table(*written(mode)), table(*written(mode, misreading=True))
    assert restore_own_names(before, after, vouched=False, misreading=True).names == before.names
    assert restore_own_names(after, before, vouched=False, misreading=True).names == after.names


def test_columns_that_take_each_others_underscores():
    """`é` and `αβ` are `_` and `__` in a snapshot, `__` and `____` in the stream, and back some day."""
    snapshot, stream = table("k", "__", "_"), table("k", "____", "__")
    seen = restore_own_names(snapshot, stream, vouched=True, misreading=True)
    assert seen.names == ("k", "__", "_")
    assert restore_own_names(snapshot, stream, vouched=True) == stream
    assert restore_own_names(seen, snapshot, vouched=True).names == ("k", "__", "_")
    assert restore_own_names(seen, stream, vouched=False).names == ("k", "__", "_")


def test_one_renamed_column_is_a_renamed_column():
    before, after = table("id", "order-id"), table("id", "order_id")
    assert restore_own_names(before, after, vouched=False) == after
    assert restore_own_names(before, after, vouched=True).names == before.names


@pytest.mark.parametrize(("old", "new"), [("order id", "order_u0020id"), ("2nd", "x2nd"), ("a$", "a_24")])
def test_a_name_that_nobody_chooses_is_no_new_name(old, new):
    assert restore_own_names(table("id", old), table("id", new), vouched=False).names == ("id", old)
    assert restore_own_names(table("id", new), table("id", old), vouched=False).names == ("id", new)


@pytest.mark.parametrize("after", [
    ("order_id", "unit-price", "c-d"),
    ("order_idx", "unit_price", "c-d"),
])  # fmt: skip
def test_what_no_mode_explains_is_another_structure(after):
    before = table("order-id", "unit-price", "c-d")
    assert restore_own_names(before, table(*after), vouched=True) == table(*after)


def test_another_type_is_another_column():
    before, after = table("a-b", "c-d"), table("c_d", "a_b")
    assert restore_own_names(before, after, vouched=True) == after


def test_columns_that_came_and_went_beside_an_epoch():
    before, after = table("order-id", "a b", "c"), table("order_id", "a_b", "c", "new-er")
    assert restore_own_names(before, after, vouched=True).names == ("order-id", "a b", "c", "new-er")
    assert restore_own_names(before, table("order_id", "a_b"), vouched=False).names == ("order-id", "a b")
    assert restore_own_names(before, table("order_id", "b", "c2"), vouched=True).names == (
        "order-id",
        "b",
        "c2",
    )


def test_a_name_that_came_with_the_field_counts():
    told = table("order_id", "b", own=("order-id", "b"))
    renamed = table("order_id", "b", own=("order_id", "b"))
    assert restore_own_names(told, table("order_id", "b"), vouched=False).names == ("order-id", "b")
    assert restore_own_names(told, renamed, vouched=False).names == told.names
    other = table("order_id", "b", own=("order id", "b"))
    assert restore_own_names(told, other, vouched=False).names == ("order id", "b")


@given(NAMES, st.booleans())
def test_an_escaped_name_tells_its_original(name, misreading):
    emitted = adjust_field(misread_name(name) if misreading else name, "avro_unicode")
    assert name in list_originals(emitted) or max(name) >= "\uff80"


@given(NAMES, st.sampled_from(MODES), st.booleans())
def test_a_column_travels_as_its_mode_writes_it(name, mode, misreading):
    assert is_emitted_as(name, adjust_field(misread_name(name) if misreading else name, mode), mode)


@given(st.lists(NAMES, min_size=1, max_size=5, unique=True), st.sampled_from(MODES), st.booleans())
def test_nothing_is_lost_or_invented(names, mode, vouched):
    before, after = table(*names), table(*(adjust_field(n, mode) for n in names))
    seen = restore_own_names(before, after, vouched=vouched)
    assert len(seen.columns) == len(after.columns)
    assert [c.emitted_name for c in seen.columns] == [c.emitted_name for c in after.columns]
    assert set(seen.names) <= set(before.names) | set(after.names)
    assert set(seen.key) <= set(seen.names)


@given(st.lists(NAMES, min_size=1, max_size=5, unique=True), st.lists(NAMES, max_size=5, unique=True))
def test_the_same_names_stay(names, others):
    before = table(*names)
    assert restore_own_names(before, before, vouched=True) == before
    seen = restore_own_names(before, table(*others), vouched=True)
    assert len(set(seen.names)) == len(seen.columns)


# Recordings: modes that change while streaming, and names that the stream misread.


def emitted(run: str, name: str, column: str) -> list[tuple[int, str | None]]:
    history = chain.history(run, name)
    return [
        (v.number, found.emitted_name)
        for v in history.versions
        for r in v.revisions
        if (found := r.schema.column(column)) is not None
    ]


@pytest.mark.case(51)
def test_modes_that_change_while_streaming_make_no_versions():
    run = "postgres/shop-names-none"
    assert emitted(run, "shop.order-items", "order-id") == [
        (1, "order-id"),
        (1, "order_id"),
        (1, "order_u002did"),
    ]
    assert [e for v, e in emitted(run, "shop.Order Items", "Größe") if v == 6] == [
        misread_name("Größe"),
        "Gr____e",
        "Gr_uffc3_uffb6_uffc3_uff9fe",
        misread_name("Größe"),
    ]
    assert [len(h.versions) for h in chain.histories(run)] == [1, 1, 1, 1, 6, 1, 1, 1, 6, 1]


@pytest.mark.parametrize("run", ["shop-names-none", "shop-names-avro", "shop-names-unicode"])
def test_one_table_stays_one_table(run):
    found = [h.table for h in chain.histories(f"postgres/{run}")]
    assert [t.table for t in found if t.table.isascii()] == [t.table for t in found][:-1]
    assert found[-1].table == "Ünïcode"
