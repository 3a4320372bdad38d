"""Law: what a member of a struct held is in the member of the lake that it became, never in another one's.

Whenever the record of it comes, and whatever people have said of the members: else its row waits, and the
reason says what to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count, pairwise

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from schemaman.debezium.records import NO_POSITION
from schemaman.history.decisions import NotRename, Rename, format_coordinates
from schemaman.history.struct_fields import find_unsettled_fields
from schemaman.history.versions import TableHistory
from schemaman.migration.apply.apply import apply
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import Policy, PolicyRule
from schemaman.migration.source import migration_source
from schemaman.model.ddl import format_type
from schemaman.model.schema import Column, Path, TableSchema, walk_fields
from schemaman.model.types import Array, Field, Integer, Map, String, Struct, Type
from schemaman.sink.dropped_columns import add_nested_fields
from schemaman.sink.row_change import RecordOffset, RowChange
from schemaman.sink.row_mapping import map_change, map_columns
from schemaman.sink.upsert import LakeChange
from schemaman.sink.values.values import UnfitColumn, Value
from tests.migration.test_nested_fields import (
    DROPS,
    TABLE,
    Answer,
    answered,
    in_turn,
    lives_of,
    plan,
    renamed,
    standing,
    told,
    until,
    with_words,
)
from tests.migration.test_values_in_columns import written
from tests.support.checkout import PROOF
from tests.support.memory_lake import MemoryJournal, MemoryTable
from tests.support.plans import TARGETS, both, migrated, statements
from tests.support.random_histories import history as history_of

UNDECIDED = (
    "{0} has a value, and it may be that {1} became {2}: use `schemaman decide rename "
    "shop.app.public.t {1} {2}`, or not-rename"
)


def came(history: TableHistory, number: int, value: Value, lake: MemoryTable) -> object:
    """What a record of a version brings into a table: its column `s`, or why its row waits."""
    assert lake.live is not None
    schema = history.versions[number - 1].schema
    offset = RecordOffset("main", "t", 0, number)
    row = RowChange(offset, history.table, "c", None, None, {"s": value}, frozenset(),
                    str(number), 0, False, schema, number, NO_POSITION)  # fmt: skip
    found = map_change(row, map_columns(history, lake.live))
    assert isinstance(found, LakeChange | UnfitColumn)
    return found.reason if isinstance(found, UnfitColumn) else found.values["s"]


def waiting(held: object, path: str, old: str, new: str) -> bool:
    """Whether a row waits for that answer."""
    return isinstance(held, str) and held.endswith(UNDECIDED.format(path, old, new))


@both
@pytest.mark.parametrize("members", [("a", "c", "cb", "ca"), ("ab", "cb", "ca")])
def test_a_value_whose_rename_nobody_decided_is_not_put_under_its_old_name(
    format: str, members: tuple[str, ...]
) -> None:
    history = renamed(lives_of(*members), ("s.b", "s.a"))
    made = standing(format, history, len(members))
    value = {"k": 1, "a": 2, "b": None}
    assert waiting(came(history, 1, value, made), "s.a", "s.a", "s.c")
    assert came(history, 1, {**value, "a": None}, made) == {"k": 1, "c": None, "a": None}
    said = renamed(history, ("s.b", "s.a"), ("s.a", "s.c"))
    assert came(said, 1, value, made) == {"k": 1, "c": 2, "a": None}


@both
@pytest.mark.parametrize("members", [("ab", "bc", "bca"), ("ab", "bc", "b", "ba")])
def test_a_name_that_came_back_while_its_rename_is_not_decided_waits(
    format: str, members: tuple[str, ...]
) -> None:
    history = lives_of(*members)
    made = standing(format, history, len(members))
    value = {"k": 1, "a": 2, "b": 3}
    assert waiting(came(history, 1, value, made), "s.a", "s.a", "s.c")
    denied = renamed(history, ("s.a", "s.c"), kind=NotRename)
    assert came(denied, 1, value, made) == {**dict.fromkeys(members[-1]), **value}


@both
def test_a_name_that_came_back_and_may_be_another_members_waits(format: str) -> None:
    history = lives_of("xb", "x", "xa", "xb")
    made = standing(format, history, 4)
    value = {"k": 1, "x": 2, "b": 3}
    assert waiting(came(history, 1, value, made), "s.b", "s.a", "s.b")
    assert came(renamed(history, ("s.a", "s.b"), kind=NotRename), 1, value, made) == value
    said = renamed(history, ("s.a", "s.b"))
    assert came(said, 1, value, made) == "the lake's struct has no field 'b, which was dropped'"
    assert came(said, 3, {"k": 1, "x": 2, "a": 3}, made) == value


@both
def test_what_a_table_has_that_was_left_where_it_stood_is_told_by_its_stamp(format: str) -> None:
    history = lives_of("a", "ab", "cb")
    ignoring = Policy(rules=(PolicyRule("ignore", ("rename-suspected",)),))
    made = standing(format, history, 2)
    migrated(made, plan(format, until(history, 3), made, ignoring))
    for number in (1, 2):
        assert came(history, number, {"k": 1, "a": 2}, made) == {"k": 1, "a": 2, "b": None}
    assert came(history, 3, {"k": 1, "c": 2}, made) == "the lake's struct has no field 'c'"


@both
@pytest.mark.parametrize("empty", [set(), {"c"}, {"b"}], ids=str)
def test_a_table_that_takes_no_renames_has_values_where_they_were(format: str, empty: set[str]) -> None:
    """A name that is another one's by now is not that one's in the table."""
    history = renamed(lives_of("bc", "ba", "ca"), ("s.c", "s.a"), ("s.b", "s.c"))
    made = standing(format, history, 1)
    ignoring = Policy(rules=(PolicyRule("ignore", ("rename-stated",)),))
    for number in (2, 3):
        migrated(made, plan(format, until(history, number), made, ignoring))
    for number, (one, two) in enumerate((("b", "c"), ("b", "a"), ("c", "a")), 1):
        held = {"k": 1} | {name: None if name in empty else n for n, name in enumerate("bc", 2)}
        value: Value = {"k": 1, one: held["b"], two: held["c"]}
        assert came(history, number, value, made) == held


@both
@pytest.mark.parametrize("drops", [False, True], ids=["keep", "drop"])
def test_a_new_member_gets_no_place_that_an_earlier_one_has_where_renames_are_ignored(
    format: str, drops: bool
) -> None:
    """`a` became `b`, what holds them became `a`, and there came another `a`: the lake has the first one."""
    shapes = ("c: STRUCT<a: INT, x: INT>", "c: STRUCT<b: INT, x: INT>", "a: STRUCT<a: INT, x: INT>")
    history = told(*(f"s STRUCT<k: INT, {shape}> ID 1" for shape in shapes))
    words = (Rename, "s.c.a", "s.c.b"), (Rename, "s.c", "s.a"), (NotRename, "s.c.b", "s.a.a")
    history = with_words(history, *words)
    made = standing(format, history, 1)
    ignoring = replace(DROPS if drops else Policy(), rules=(PolicyRule("ignore", ("rename-stated",)),))
    for number in (2, 3):
        migrated(made, plan(format, until(history, number), made, ignoring))
    first: Value = {"k": 1, "c": {"a": 7, "x": 2}}
    assert came(history, 1, first, made) == first
    assert came(history, 2, {"k": 1, "c": {"b": 7, "x": 2}}, made) == first
    left = "the lake's struct has no field 'a, which was dropped'"
    assert came(history, 3, {"k": 1, "a": {"a": 8, "x": 2}}, made) == left


@both
def test_a_member_that_somebody_renamed_by_hand_takes_its_values(format: str) -> None:
    """The table has the stamp of before still: no plan has anything to do."""
    history = lives_of("a", "b")
    made = standing(format, history, 1)
    assert made.live is not None
    (rename,) = plan(format, migration_source(renamed(history, ("s.a", "s.b"))), made).steps[:1]
    made.run(rename.statement)
    said = renamed(history, ("s.a", "s.b"))
    assert came(said, 2, {"k": 1, "b": 2}, made) == {"k": 1, "b": 2}
    assert came(said, 1, {"k": 1, "a": 2}, made) == {"k": 1, "b": 2}


@both
def test_a_member_that_the_table_dropped_is_not_put_under_a_name_it_had_before(format: str) -> None:
    """The stamp is of the version before: a rename of another one was not made."""
    types = ("y: INT, k: INT", "x: INT, k: INT", "y: INT, l: INT")
    history = told(*(f"s STRUCT<{members}> ID 1" for members in types))
    words = (Rename, "s.y", "s.x"), (NotRename, "s.x", "s.y"), (NotRename, "s.k", "s.y")
    history = with_words(history, *words, (NotRename, "s.x", "s.l"), (Rename, "s.k", "s.l"))
    made = followed(format, history, 1, 2)
    ignoring = replace(DROPS, rules=(PolicyRule("ignore", ("rename-stated",)),))
    migrated(made, plan(format, migration_source(history), made, ignoring))
    assert came(history, 3, {"y": 3, "l": 2}, made) == {"y": 3, "k": 2}
    assert came(history, 1, {"y": None, "k": 2}, made) == {"y": None, "k": 2}
    another = "the lake's struct has no field 'y, whose name another field has'"
    assert came(history, 1, {"y": 1, "k": 2}, made) == another


@both
def test_of_two_that_left_under_one_name_nobody_knows_which_the_table_has(format: str) -> None:
    history = renamed(lives_of("xa", "x", "xb", "xa", "x"), ("s.b", "s.a"))
    made = standing(format, history, 4)
    migrated(made, plan(format, until(history, 5), made))
    for number in (1, 4):
        assert isinstance(came(history, number, {"k": 1, "x": 2, "a": 3}, made), str)


@both
@pytest.mark.parametrize("at_once", [False, True], ids=["version by version", "at once"])
def test_a_value_from_before_a_rename_is_where_its_member_was_when_it_left(
    format: str, at_once: bool
) -> None:
    """Not under its own name, which another member has later."""
    told = lives_of("a", "b", "c", "a")
    history = with_words(told, (Rename, "s.a", "s.b"), (NotRename, "s.b", "s.c"), (NotRename, "s.c", "s.a"))
    made = MemoryTable(TARGETS[format][1])
    for number in (3, 4) if at_once else (1, 2, 3, 4):
        now = replace(history, versions=history.versions[:number])
        migrated(made, plan(format, migration_source(add_nested_fields(now, range(1, number + 1))), made))
        for late in range(1, number + 1):
            (column,) = (c for c in now.versions[late - 1].schema.columns if c.name == "s")
            name = "abca"[late - 1]
            assert isinstance(column.type, Struct)
            found = came(now, late, {"k": 1, name: late}, made)
            there = {"a": "b" if late == 1 and number > 1 else "a"}.get(name, name)
            assert isinstance(found, dict)
            assert {n: v for n, v in found.items() if v is not None} == {"k": 1, there: late}


@both
def test_what_left_before_does_not_hide_that_a_member_may_have_become_another(format: str) -> None:
    """Its old name is another's: kept under that, its values stood beside those of that other one."""
    history = with_words(lives_of("a", "c", "a", "b"), (Rename, "s.a", "s.c"), (NotRename, "s.c", "s.a"))
    made = MemoryTable(TARGETS[format][1])
    for number in (1, 2, 3):
        now = replace(history, versions=history.versions[:number])
        migrated(made, plan(format, migration_source(add_nested_fields(now, range(1, number + 1))), made))
    assert came(history, 3, {"k": 1, "a": 3}, made) == {"k": 1, "c": None, "a": 3}
    assert add_nested_fields(history, range(1, 5)) == history
    asked = plan(format, migration_source(add_nested_fields(history, range(1, 5))), made)
    assert [r.change for r in asked.refusals] == ["rename `s`.`a` to `b`"]
    assert statements(asked) == []
    assert came(history, 1, {"k": 1, "a": 2}, made) == {"k": 1, "c": 2, "a": None}
    other = with_words(history, (Rename, "s.a", "s.c"), (NotRename, "s.c", "s.a"), (NotRename, "s.a", "s.b"))
    migrated(made, plan(format, migration_source(add_nested_fields(other, range(1, 5))), made))
    assert came(other, 1, {"k": 1, "a": 2}, made) == {"k": 1, "c": 2, "a": None, "b": None}
    # A table that had not followed would have the first one's values under that name.
    assert str(came(other, 3, {"k": 1, "a": 3}, made)).endswith("no field 'a, which was dropped'")
    assert came(other, 4, {"k": 1, "b": 4}, made) == {"k": 1, "c": None, "a": None, "b": 4}


def followed(format: str, history: TableHistory, *numbers: int) -> MemoryTable:
    """A table that was brought to these versions, one after the other; what left is kept."""
    made = MemoryTable(TARGETS[format][1])
    for number in numbers:
        migrated(made, plan(format, until(history, number), made))
    return made


P = "s STRUCT<k: INT, p: {}> ID 1"
HELD: list[tuple[str, str, Callable[[Value], Value]]] = [
    ("STRUCT<k: INT, {}: INT>", "s.p", lambda value: value),
    ("ARRAY<STRUCT<k: INT, {}: INT>>", "s.p.element", lambda value: [value]),
    ("STRUCT<q: STRUCT<k: INT, {}: INT>>", "s.p.q", lambda value: {"q": value}),
]


def dropped_with(type: str, above: str, *names: str) -> TableHistory:
    """A struct is dropped after a member of it got one name after another."""
    history = told(*(P.format(type.format(name)) for name in names), "s STRUCT<k: INT> ID 1")
    return renamed(history, *((f"{above}.{a}", f"{above}.{b}") for a, b in pairwise(names)))


@both
@pytest.mark.parametrize("steps", [(1, 2, 3), (1, 3)], ids=["made", "not made"])
@pytest.mark.parametrize(("type", "above", "held"), HELD)
def test_only_a_rename_that_the_table_made_is_known_when_the_whole_has_left(
    format: str, type: str, above: str, held: Callable[[Value], Value], steps: Sequence[int]
) -> None:
    """The stamp is of the last version in both."""
    history = dropped_with(type, above, "a", "c")
    made = followed(format, history, *steps)
    for number, name in ((1, "a"), (2, "c")):
        found = came(history, number, {"k": 1, "p": held({"k": 1, name: 2})}, made)
        if 2 in steps:
            assert found == {"k": 1, "p": held({"k": 1, "c": 2})}
        else:
            assert isinstance(found, str)


@both
def test_a_table_that_made_some_of_the_renames_waits_when_the_whole_has_left(format: str) -> None:
    history = dropped_with(*HELD[0][:2], "a", "c", "d")
    half, whole = followed(format, history, 1, 2, 4), followed(format, history, 1, 3, 4)
    for number, name in enumerate("acd", 1):
        value: Value = {"k": 1, "p": {"k": 1, name: 2}}
        assert isinstance(came(history, number, value, half), str)
        assert came(history, number, value, whole) == {"k": 1, "p": {"k": 1, "d": 2}}


@both
def test_a_name_that_was_anothers_before_tells_nothing_when_the_whole_has_left(format: str) -> None:
    """The table has the first one's `b`; the other that is called so came and went while nobody looked."""
    kept = "STRUCT<k: INT, {}: INT>"
    names = ("a", "b", "x", "b")
    history = told(*(P.format(kept.format(name)) for name in names), "s STRUCT<k: INT> ID 1")
    history = with_words(
        history, (Rename, "s.p.a", "s.p.b"), (NotRename, "s.p.b", "s.p.x"), (Rename, "s.p.x", "s.p.b")
    )
    made = followed(format, history, 1, 2, 5)
    assert isinstance(came(history, 3, {"k": 1, "p": {"k": 1, "x": 3}}, made), str)


FEW = st.sampled_from("abc")


@st.composite
def documents(draw: st.DrawFn, depth: int) -> Type:
    """A struct of few names, so that they come back and go to others."""
    names = draw(st.lists(FEW, unique=True, min_size=1, max_size=3))
    return Struct(tuple(Field(name, draw(held_in(depth - 1))) for name in names))


def held_in(depth: int) -> st.SearchStrategy[Type]:
    """What a member holds: a number mostly."""
    if depth < 1:
        return st.just(Integer(32))
    nested = documents(depth)
    return st.sampled_from([0, 0, 0, 1, 2, 3]).flatmap(
        lambda which: (
            st.just(Integer(32)), nested, nested.map(Array), nested.map(lambda s: Map(String(), s))
        )[which]
    )  # fmt: skip


@st.composite
def worked_on(draw: st.DrawFn, type: Type, depth: int) -> Type:
    """The type after somebody renamed, dropped and added members of it."""
    match type:
        case Array(element):
            return replace(type, element=draw(worked_on(element, depth)))
        case Map(_, value):
            return replace(type, value=draw(worked_on(value, depth)))
        case Struct(fields):
            there = [replace(f, type=draw(worked_on(f.type, depth - 1))) for f in fields]
            for _ in range(draw(st.integers(0, 2))):
                at, name = draw(st.integers(0, len(there) - 1)), draw(FEW)
                free = all(f.name != name for f in there)
                match draw(st.sampled_from(["rename", "rename", "drop", "add"])):
                    case "rename" if free:
                        there[at] = replace(there[at], name=name)
                    case "drop" if len(there) > 1:
                        there.pop(at)
                    case "add" if free:
                        there.append(Field(name, draw(held_in(depth - 1))))
            return Struct(tuple(there))
        case _:
            return type


@st.composite
def lives(draw: st.DrawFn) -> tuple[TableHistory, list[Answer], list[bool]]:
    """A life of documents, what is true of its members, and which of that somebody has said."""
    depth = draw(st.sampled_from([1, 1, 2, 3]))
    types: list[Type] = [draw(documents(depth))]
    for _ in range(draw(st.integers(2, 4))):
        types.append(draw(worked_on(types[-1], depth)))
    history = history_of([TableSchema((Column("s", each, id=1),)) for each in types])
    answers: list[Answer] = []
    for at, after in enumerate(history.versions[1:], 1):
        used: set[str] = set()
        for old, new in in_turn(history, at, answers):
            same = not used & {old, new} and draw(st.booleans())
            used |= {old, new} if same else set()
            answers.append(
                (Rename if same else NotRename)(TABLE, old, new, after.id, format_coordinates(after.at))
            )
    return history, answers, [draw(st.booleans()) for _ in answers]


def in_part(
    history: TableHistory, answers: Sequence[Answer], said: Sequence[bool], *, back: bool
) -> TableHistory:
    """The history with what was said; a rename that nobody is asked about was said too.

    So was one of which a name came back, if not `back`: what a table has of that stays where it is.
    """
    known = [a for a, told in zip(answers, said, strict=True) if told]
    hidden = [a for a, told in zip(answers, said, strict=True) if not told and isinstance(a, Rename)]
    while True:
        found = answered(history, known)
        more = [a for a in hidden if not _open(found, a) or (not back and _came_back(found, a))]
        if not more:
            return found
        known += more
        hidden = [a for a in hidden if a not in more]


def _step(history: TableHistory, answer: Answer) -> int:
    return next(i for i, v in enumerate(history.versions) if format_coordinates(v.at) == answer.began)


def _open(history: TableHistory, answer: Answer) -> bool:
    at = _step(history, answer)
    asked = find_unsettled_fields(history.versions[at - 1 : at + 1])[0].questions
    return tuple(answer.old.split(".")) in asked


def _came_back(history: TableHistory, answer: Answer) -> bool:
    at = _step(history, answer)
    old, new = (path.rpartition(".")[2] for path in (answer.old, answer.new))
    versions = [{path[-1] for path, _, _ in walk_fields(version.schema)} for version in history.versions]
    return any(old in names for names in versions[at:]) or any(new in names for names in versions[:at])


def identities(history: TableHistory) -> list[dict[Path, int]]:
    """For each version, which member is which; one that left under a name and came back is the same."""
    found: list[dict[Path, int]] = []
    left: dict[tuple[int, str], int] = {}
    numbers = count(1)
    for version in history.versions:
        before = found[-1] if found else {}
        told = {a.new: a.old for a in version.field_answers if a.same}
        was: dict[Path, Path | None] = {(): ()}
        now: dict[Path, int] = {(): 0}
        for path, _, _ in walk_fields(version.schema):
            parent = was[path[:-1]]
            same = None if parent is None else (*parent, path[-1])
            old = told.get(path, None if same in told.values() else same)
            was[path] = old if old in before else None
            if old in before:
                now[path] = before[old]
            else:
                holder = left.get((now[path[:-1]], path[-1]))
                now[path] = next(numbers) if holder is None else holder
        del now[()]
        for path, id in before.items():
            if id not in now.values():
                left[before.get(path[:-1], 0), path[-1]] = id
        left = {at: id for at, id in left.items() if id not in now.values()}
        found.append(now)
    return found


def value_of(type: Type, at: Path, ids: Mapping[Path, int], empty: Collection[int]) -> Value:
    """A record's value, in which each leaf tells which member it is; `empty` ones have none."""
    match type:
        case Struct(fields):
            return {f.name: value_of(f.type, (*at, f.name), ids, empty) for f in fields}
        case Array(element):
            return (value_of(element, (*at, "element"), ids, empty),)
        case Map(_, value):
            return {"k": value_of(value, (*at, "value"), ids, empty)}
        case _ if ids[at] in empty:
            return None
        case _:
            return ids[at]


def leaves(value: object, type: Type, at: Path) -> list[tuple[Path, int]]:
    """Where each member's value is."""
    match type, value:
        case Struct(fields), dict():
            return [leaf for f in fields for leaf in leaves(value.get(f.name), f.type, (*at, f.name))]
        case Array(element), list() | tuple():
            return [leaf for each in value for leaf in leaves(each, element, (*at, "element"))]
        case Map(_, inside), dict():
            return [leaf for each in value.values() for leaf in leaves(each, inside, (*at, "value"))]
        case _, int():
            return [(at, value)]
        case _:
            return []


def look(
    history: TableHistory, lake: MemoryTable, ids: Sequence[Mapping[Path, int]], empty: Collection[int]
) -> list[object]:
    """Records of every version so far come into the table: what it holds of them, or why they wait."""
    found: list[object] = []
    assert lake.live is not None
    note("; ".join(f"{format_type(v.schema.columns[0].type)} {v.field_answers}" for v in history.versions))
    (type,) = (c.type for c in lake.live.schema.columns if c.name == "s")
    for number, (version, known) in enumerate(zip(history.versions, ids, strict=False), 1):
        (column,) = version.schema.columns
        value = value_of(column.type, ("s",), known, empty)
        held = came(history, number, value, lake)
        found.append(held)
        if isinstance(held, str):
            continue
        there = leaves(held, type, ("s",))
        assert sorted(id for _, id in there) == sorted(id for _, id in leaves(value, column.type, ("s",)))
        for path, id in there:
            here = lake.cells.setdefault(path, set())
            here.add((id, number))
            assert len({id for id, _ in here}) == 1, (path, here, held)
    return found


EMPTY = st.sets(st.integers(1, 30), max_size=20)


@settings(max_examples=5000 if PROOF else 240)
@given(format=st.sampled_from(sorted(TARGETS)), life=lives(), empty=EMPTY)
def test_each_value_that_comes_late_is_in_a_member_of_its_own(
    format: str, life: tuple[TableHistory, list[Answer], list[bool]], empty: set[int]
) -> None:
    """The table is made when all has happened, as for a first batch; answers come after it."""
    history, answers, said = life
    ids = identities(answered(history, answers))
    now = in_part(history, answers, said, back=True)
    target, table = TARGETS[format]
    lake = MemoryTable(table)
    made = apply(make_plan(migration_source(now), None, target, table, Policy()), lake, MemoryJournal(),
    lambda: 0,
                 run="r")  # fmt: skip
    assert made.differences == ()
    assert isinstance(look(now, lake, ids, empty)[-1], dict)
    everything = look(answered(history, answers), lake, ids, empty)
    newest = set(ids[-1].values())
    for number, known in enumerate(ids):
        if set(known.values()) <= newest:
            assert isinstance(everything[number], dict) or "holds no" in str(everything[number])


POLICIES = [Policy(), Policy(), DROPS] + [
    replace(policy, rules=(*policy.rules, PolicyRule("ignore", (kind,))))
    for policy in (Policy(), DROPS)
    for kind in ("rename-suspected", "rename-stated", "add-column")
]


@settings(max_examples=5000 if PROOF else 240)
@given(
    format=st.sampled_from(sorted(TARGETS)),
    life=lives(),
    empty=EMPTY,
    seen=st.lists(st.sampled_from([True, True, False]), min_size=5, max_size=5),
    policy=st.sampled_from(POLICIES),
)
def test_each_value_is_in_a_member_of_its_own(
    format: str,
    life: tuple[TableHistory, list[Answer], list[bool]],
    empty: set[int],
    seen: list[bool],
    policy: Policy,
) -> None:
    """The table follows; what came of earlier versions comes again each time."""
    history, answers, said = life
    ids = identities(answered(history, answers))
    known = in_part(history, answers, said, back=False)
    target, table = TARGETS[format]
    lake = MemoryTable(table)
    for number in range(1, len(history.versions) + 1):
        if not seen[number - 1]:
            continue
        now = replace(known, versions=known.versions[:number])
        left = add_nested_fields(now, range(1, number + 1)) if policy.drops == "keep" else now
        for following in (left, now):
            drawn = make_plan(migration_source(following), lake.live, target, table, policy)
            if drawn.steps and written(drawn):
                done = apply(drawn, lake, MemoryJournal(), lambda: 0, run="r", approved=True)
                assert done.differences == ()
        if lake.live is not None and written(drawn):
            look(now, lake, ids, empty)
