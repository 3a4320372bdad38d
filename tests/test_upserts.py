"""The fold of a key's changes: whatever is delivered twice, late or in other batches, one row comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from schemaman.plan import Source
from schemaman.schema import Column, TableSchema
from schemaman.types import Integer, String
from schemaman.upserts import (
    DELETED,
    KEYED,
    KEYLESS,
    ORDER,
    LakeChange,
    Op,
    Upsert,
    folded,
    with_row_columns,
)

COLUMNS = ("id", "a", "b")


def change(
    op: Op, order: int, a: object = None, b: object = None, *, unsent: tuple[str, ...] = ()
) -> LakeChange:
    values = {"id": 1} if op == "d" else {"id": 1, "a": a, "b": b}
    sent = {name: value for name, value in values.items() if name not in unsent}
    return LakeChange(op, f"{order:06d}", ("t", 0, order), sent, frozenset(unsent))


@dataclass
class Paper:
    """A table with one row, merged into as the statement merges."""

    row: dict[str, object] | None = None

    def merge(self, upsert: Upsert | None) -> bool:
        """Take a staged row; whether it could be taken."""
        if upsert is None:
            return True
        old = self.row
        if upsert.lost or (
            upsert.needs_row and (old is None or (old[DELETED] and str(old[ORDER]) < upsert.order))
        ):
            return False
        if old is not None and upsert.order <= str(old[ORDER]):
            return True
        kept = upsert.kept if old is not None and (upsert.deleted or not old[DELETED]) else ()
        told = {n: old[n] if old is not None and n in kept else upsert.values.get(n) for n in COLUMNS}
        self.row = told | {ORDER: upsert.order, DELETED: upsert.deleted}
        return True

    @property
    def shown(self) -> dict[str, object] | None:
        """What a reader sees of it."""
        if self.row is None or self.row[DELETED]:
            return None
        return {name: self.row[name] for name in COLUMNS}


@st.composite
def lives(draw) -> list[LakeChange]:
    """Changes of one row as a source makes them, in its order; an update may leave values unsent."""
    there = False
    made: list[LakeChange] = []
    for order in range(1, draw(st.integers(1, 8)) + 1):
        op: Op = draw(st.sampled_from(("u", "d"))) if there else "c"
        there = op != "d"
        unsent = draw(st.sampled_from(((), ("b",), ("a", "b")))) if op == "u" else ()
        made.append(change(op, order, draw(st.integers(0, 3)), draw(st.integers(0, 3)), unsent=unsent))
    return made


def truth(changes: Sequence[LakeChange]) -> dict[str, object] | None:
    """The row that a database has after the changes."""
    row: dict[str, object] | None = None
    for each in changes:
        row = None if each.op == "d" else {**(row or {}), **each.values}
    return row


@given(lives(), st.data())
def test_any_batches_end_in_the_row_of_the_source(changes: list[LakeChange], data: st.DataObject) -> None:
    table = Paper()
    rest = list(changes)
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        assert table.merge(folded(rest[:size], COLUMNS))
        rest = rest[size:]
    assert table.shown == truth(changes)


@given(lives(), st.data())
def test_what_is_delivered_again_changes_nothing(changes: list[LakeChange], data: st.DataObject) -> None:
    table = Paper()
    assert table.merge(folded(changes, COLUMNS))
    before = dict(table.row or {})
    again = data.draw(
        st.lists(st.sampled_from(changes), min_size=1).map(lambda c: sorted(c, key=lambda x: x.order))
    )
    table.merge(folded(again, COLUMNS))
    assert table.row == before


@given(lives(), st.randoms(use_true_random=False))
def test_whole_rows_may_come_in_any_order(changes: list[LakeChange], random) -> None:
    whole = [c for c in changes if not c.unavailable]
    mixed = list(whole)
    random.shuffle(mixed)
    table = Paper()
    for each in mixed:
        assert table.merge(folded([each], COLUMNS))
    assert table.row is None or table.row[ORDER] == whole[-1].order
    assert (table.shown is None) == (not whole or whole[-1].op == "d")


def test_a_value_that_was_not_sent_is_taken_from_the_change_before() -> None:
    row = folded([change("c", 1, "x", "big"), change("u", 2, "y", unsent=("b",))], COLUMNS)
    assert row is not None
    assert (row.values, row.kept, row.needs_row) == ({"id": 1, "a": "y", "b": "big"}, frozenset(), False)


def test_a_value_that_was_not_sent_needs_the_row_that_the_table_has() -> None:
    row = folded([change("u", 2, "y", unsent=("b",))], COLUMNS)
    assert row is not None
    assert (row.kept, row.needs_row, row.lost) == (frozenset({"b"}), True, False)


def test_a_value_that_was_not_sent_after_a_delete_is_lost_and_said_to_be() -> None:
    row = folded([change("d", 1), change("c", 2, "y", unsent=("b",))], COLUMNS)
    assert row is not None
    assert row.lost


def test_a_truncate_ends_what_is_older_and_nothing_else() -> None:
    assert folded([change("c", 1, "x"), change("u", 2, "y")], COLUMNS, floor="000003") is None
    row = folded([change("c", 1, "x"), change("c", 4, "y")], COLUMNS, floor="000003")
    assert row is not None
    assert row.values["a"] == "y"


def test_a_column_that_a_record_does_not_know_keeps_its_value() -> None:
    older = LakeChange("u", "000002", ("t", 0, 2), {"id": 1, "a": "y"})
    row = folded([older], COLUMNS)
    assert row is not None
    assert (row.kept, row.needs_row) == (frozenset({"b"}), False)


def test_the_columns_that_remember_positions() -> None:
    columns = (Column("id", Integer(32), nullable=False), Column("a", String()))
    keyed = Source("t", 1, "0" * 12, 0, TableSchema(columns, ("id",)))
    assert with_row_columns(keyed).schema.names == ("id", "a", *(name for name, _ in KEYED))
    keyless = Source("t", 1, "0" * 12, 0, TableSchema(columns))
    assert with_row_columns(keyless).schema.names == ("id", "a", *(name for name, _ in KEYLESS))
