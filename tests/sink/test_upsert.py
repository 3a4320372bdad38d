"""The fold of a key's changes: whatever is delivered twice, late or in other batches, one row comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from schemaman.migration.plan import MigrationSource
from schemaman.migration.row_columns import (
    DELETED,
    KEYED,
    KEYLESS,
    ORDER,
    add_row_columns,
)
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Integer, String
from schemaman.sink.upsert import (
    LakeChange,
    Op,
    Upsert,
    fold_changes,
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
        at = "" if self.row is None else str(self.row[ORDER])
        if self.row is not None and upsert.order <= at:
            return True
        alive = self.row is not None and not self.row[DELETED]
        if upsert.needs_row and (
            not alive or (upsert.restart_order is not None and at <= upsert.restart_order)
        ):
            return False
        if (
            upsert.unsent_order is not None
            and self.row is not None
            and not alive
            and at >= upsert.unsent_order
        ):
            return False
        kept = upsert.kept | {name for name, order in upsert.value_orders.items() if self.row and order <= at}
        old = self.row if self.row is not None and (alive or upsert.deleted) else {}
        told = {n: old.get(n) if n in kept else upsert.values.get(n) for n in COLUMNS}
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
        assert table.merge(fold_changes(rest[:size], COLUMNS))
        rest = rest[size:]
    assert table.shown == truth(changes)


@given(lives(), st.data())
def test_what_is_delivered_again_changes_nothing(changes: list[LakeChange], data: st.DataObject) -> None:
    table = Paper()
    assert table.merge(fold_changes(changes, COLUMNS))
    before = dict(table.row or {})
    again = data.draw(
        st.lists(st.sampled_from(changes), min_size=1).map(lambda c: sorted(c, key=lambda x: x.order))
    )
    table.merge(fold_changes(again, COLUMNS))
    assert table.row == before


@given(lives(), st.data())
def test_what_is_delivered_again_from_somewhere_may_be_cut_anywhere(
    changes: list[LakeChange], data: st.DataObject
) -> None:
    delivered = list(changes)
    for _ in range(data.draw(st.integers(1, 3))):
        end = data.draw(st.integers(1, len(changes)))
        begin = data.draw(st.integers(0, end - 1))
        delivered = (
            [*delivered, *changes[begin:]] if data.draw(st.booleans()) else [*changes[:end], *delivered]
        )
    table, held = Paper(), list[LakeChange]()
    while delivered or held:
        size = data.draw(st.integers(1, len(delivered))) if delivered else 0
        batch = sorted([*held, *delivered[:size]], key=lambda each: each.order)
        delivered, before = delivered[size:], held
        held = [] if table.merge(fold_changes(batch, COLUMNS)) else batch
        assert not held or delivered or held != before
    assert table.shown == truth(changes)


@given(lives(), lives(), st.data())
def test_one_row_comes_of_changes_that_are_folded_and_of_such_that_are_merged_one_by_one(
    there: list[LakeChange], changes: list[LakeChange], data: st.DataObject
) -> None:
    mixed = data.draw(st.lists(st.sampled_from([*there, *changes]), min_size=1))
    batch = sorted({each.order: each for each in mixed}.values(), key=lambda each: each.order)
    folding, merging = Paper(), Paper()
    for each in there:
        assert folding.merge(fold_changes([each], COLUMNS))
        assert merging.merge(fold_changes([each], COLUMNS))
    taken = [merging.merge(fold_changes([each], COLUMNS)) for each in batch]
    if folding.merge(fold_changes(batch, COLUMNS)) and all(taken):
        assert folding.shown == merging.shown
        assert (folding.row or {})[ORDER] == (merging.row or {})[ORDER]


@given(lives(), st.randoms(use_true_random=False))
def test_whole_rows_may_come_in_any_order(changes: list[LakeChange], random) -> None:
    whole = [c for c in changes if not c.unavailable]
    mixed = list(whole)
    random.shuffle(mixed)
    table = Paper()
    for each in mixed:
        assert table.merge(fold_changes([each], COLUMNS))
    assert table.row is None or table.row[ORDER] == whole[-1].order
    assert (table.shown is None) == (not whole or whole[-1].op == "d")


def test_a_value_that_was_not_sent_is_taken_from_the_change_before() -> None:
    row = fold_changes([change("c", 1, "x", "big"), change("u", 2, "y", unsent=("b",))], COLUMNS)
    assert row is not None
    assert (row.values, row.kept, row.needs_row) == ({"id": 1, "a": "y", "b": "big"}, frozenset(), False)


def test_a_value_that_was_not_sent_needs_the_row_that_the_table_has() -> None:
    row = fold_changes([change("u", 2, "y", unsent=("b",))], COLUMNS)
    assert row is not None
    assert (row.kept, row.needs_row, row.restart_order) == (frozenset({"b"}), True, None)


def test_a_value_that_was_not_sent_after_a_delete_is_lost_and_said_to_be() -> None:
    row = fold_changes([change("d", 1), change("c", 2, "y", unsent=("b",))], COLUMNS)
    assert row is not None
    assert (row.needs_row, row.restart_order) == (True, "000002")
    table = Paper({"id": 1, "a": "x", "b": "big", ORDER: "000001", DELETED: False})
    assert not table.merge(row)


def test_a_truncate_ends_what_is_older_and_nothing_else() -> None:
    assert fold_changes([change("c", 1, "x"), change("u", 2, "y")], COLUMNS, truncated="000003") is None
    row = fold_changes([change("c", 1, "x"), change("c", 4, "y")], COLUMNS, truncated="000003")
    assert row is not None
    assert row.values["a"] == "y"


def test_a_column_that_a_record_does_not_know_keeps_its_value() -> None:
    older = LakeChange("u", "000002", ("t", 0, 2), {"id": 1, "a": "y"})
    row = fold_changes([older], COLUMNS)
    assert row is not None
    assert (row.kept, row.needs_row) == (frozenset({"b"}), False)


def test_the_columns_that_remember_positions() -> None:
    columns = (Column("id", Integer(32), nullable=False), Column("a", String()))
    keyed = MigrationSource("t", 1, "0" * 12, 0, TableSchema(columns, ("id",)))
    assert add_row_columns(keyed).schema.names == ("id", "a", *(name for name, _ in KEYED))
    keyless = MigrationSource("t", 1, "0" * 12, 0, TableSchema(columns))
    assert add_row_columns(keyless).schema.names == ("id", "a", *(name for name, _ in KEYLESS))
