"""Laws of the one diff: it tells everything, nothing twice, and patching undoes it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.model.ddl import parse_type
from schemaman.model.diff import (
    AddColumn,
    ChangeDefault,
    ChangeNullable,
    ChangeType,
    Diff,
    DropColumn,
    MoveColumn,
    RenameColumn,
    diff,
    patch,
)
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Boolean
from tests.support.strategies import related, schemas

PAIRS = st.one_of(related(), related(ids=True), st.tuples(schemas(), schemas()))
# Tables are compared by their text where defaults matter: to Python, True and 1 are equal.


@given(PAIRS)
def test_patching_the_old_with_the_diff_gives_the_new(pair: tuple[TableSchema, TableSchema]) -> None:
    old, new = pair
    assert repr(patch(old, diff(old, new))) == repr(new)


@given(st.data(), related())
def test_the_law_holds_with_renames_that_a_caller_knows(
    data: st.DataObject, pair: tuple[TableSchema, TableSchema]
) -> None:
    old, new = pair
    gone = data.draw(st.permutations(old.names))
    come = data.draw(st.permutations(new.names))
    count = data.draw(st.integers(0, min(len(gone), len(come))))
    renames = dict(zip(gone[:count], come[:count], strict=True))
    assert repr(patch(old, diff(old, new, renames))) == repr(new)


@given(st.one_of(schemas(), schemas(ids=True)))
def test_nothing_differs_from_itself(schema: TableSchema) -> None:
    assert diff(schema, schema) == ()


@given(PAIRS)
def test_different_tables_always_differ(pair: tuple[TableSchema, TableSchema]) -> None:
    old, new = pair
    assert (diff(old, new) == ()) == (repr(old) == repr(new))


@given(PAIRS)
def test_every_change_is_needed(pair: tuple[TableSchema, TableSchema]) -> None:
    """No change says what another one says already: each alone makes a difference."""
    old, new = pair
    changes = diff(old, new)
    for i, change in enumerate(changes):
        try:
            left = patch(old, changes[:i] + changes[i + 1 :])
        except KeyError:
            continue
        assert repr(left) != repr(new), change


@pytest.mark.parametrize(
    "changes",
    [
        (RenameColumn(("a",), "b"),),
        (AddColumn(("b",), Column("b", Boolean()), None),),
    ],
)
def test_a_name_that_is_taken_is_no_place_for_another_column(changes: Diff) -> None:
    with pytest.raises(KeyError):
        patch(TableSchema((Column("a", Boolean()), Column("b", Boolean()))), changes)


@given(related(ids=True))
def test_with_ids_a_new_name_is_a_rename_and_never_a_drop(pair: tuple[TableSchema, TableSchema]) -> None:
    old, new = pair
    ids_old, ids_new = {c.id for c in old.columns}, {c.id for c in new.columns}
    if not old.columns or not new.columns:
        return
    changes = diff(old, new)
    dropped = {c.column.name for c in changes if isinstance(c, DropColumn) and len(c.path) == 1}
    added = {c.column.name for c in changes if isinstance(c, AddColumn) and len(c.path) == 1}
    assert dropped == {c.name for c in old.columns if c.id not in ids_new}
    assert added == {c.name for c in new.columns if c.id not in ids_old}


@given(st.data(), schemas(ids=True))
def test_moves_are_as_few_as_can_be(data: st.DataObject, schema: TableSchema) -> None:
    if len(schema.columns) < 2:
        return
    columns = list(schema.columns)
    column = columns.pop(data.draw(st.integers(0, len(columns) - 1)))
    columns.insert(data.draw(st.integers(0, len(columns))), column)
    changes = diff(schema, replace(schema, columns=tuple(columns)))
    assert len(changes) <= 1
    assert all(isinstance(c, MoveColumn) for c in changes)


def table(*columns: str, key: tuple[str, ...] = ()) -> TableSchema:
    """Columns from `name TYPE`, `!` behind the name for NOT NULL."""
    made = []
    for text in columns:
        name, type = text.split(" ", 1)
        made.append(Column(name.rstrip("!"), parse_type(type), nullable=not name.endswith("!")))
    return TableSchema(tuple(made), key)


@pytest.mark.parametrize(
    ("old", "new", "renames", "changes"),
    [
        (table("a INT"), table("a BIGINT"), {}, ["ChangeType a"]),
        (table("a INT"), table("a! INT"), {}, ["ChangeNullable a"]),
        (table("a INT", "b INT"), table("a INT"), {}, ["DropColumn b"]),
        (table("a INT"), table("b INT"), {}, ["DropColumn a", "AddColumn b"]),
        (table("a INT"), table("b INT"), {"a": "b"}, ["RenameColumn a"]),
        (table("a INT", key=("a",)), table("b INT", key=("b",)), {"a": "b"}, ["RenameColumn a"]),
        (table("a INT", "b INT"), table("b INT", "a INT"), {"a": "b", "b": "a"},
         ["RenameColumn a", "RenameColumn b"]),
        (table("a INT", "b INT"), table("b INT", "a INT"), {}, ["MoveColumn b"]),
        (table("a INT", "b INT", key=("a",)), table("a INT", "b INT", key=("a", "b")), {}, ["ChangeKey"]),
        (table("s STRUCT<a: INT>"), table("s STRUCT<a: INT, b: INT>"), {}, ["AddColumn s.b"]),
        (table("s STRUCT<a: INT, b: INT>"), table("s STRUCT<a: BIGINT>"), {},
         ["DropColumn s.b", "ChangeType s.a"]),
        (table("s ARRAY<INT>"), table("s ARRAY<BIGINT NOT NULL>"), {},
         ["ChangeType s.element", "ChangeNullable s.element"]),
        (table("s MAP<INT, INT>"), table("s MAP<BIGINT, STRING>"), {},
         ["ChangeType s.key", "ChangeType s.value"]),
        (table("s ARRAY<STRUCT<a: INT>>"), table("s ARRAY<STRUCT<b: INT>>"), {},
         ["DropColumn s.element.a", "AddColumn s.element.b"]),
        (table("s ARRAY<INT>"), table("s INT"), {}, ["ChangeType s"]),
    ],
)  # fmt: skip
def test_each_kind_of_change_is_called_by_its_name(
    old: TableSchema, new: TableSchema, renames: dict[str, str], changes: list[str]
) -> None:
    told = diff(old, new, renames)
    assert [f"{type(c).__name__} {'.'.join(getattr(c, 'path', ()))}".strip() for c in told] == changes
    assert patch(old, told) == new


def test_true_and_one_are_different_defaults() -> None:
    old, new = (
        TableSchema((Column("a", parse_type("INT"), default=True),)),
        TableSchema((Column("a", parse_type("INT"), default=1),)),
    )
    assert diff(old, new) == (ChangeDefault(("a",), True, 1),)


@pytest.mark.parametrize(
    "change",
    [
        DropColumn(("x",), Column("x", parse_type("INT"))),
        AddColumn(("y",), Column("y", parse_type("INT")), after="x"),
        MoveColumn(("a",), after="x"),
        RenameColumn(("x",), "y"),
        ChangeType(("a", "element"), parse_type("INT"), parse_type("BIGINT")),
        ChangeNullable(("x",), True, False),
    ],
)
def test_a_change_of_a_place_that_is_not_there_is_refused(change) -> None:
    with pytest.raises(KeyError):
        patch(table("a INT"), [change])
