"""Members of structs that leave or get another name: on a person's word, and never with a value lost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.history.decisions import (
    Decisions,
    NotRename,
    Rename,
    apply_decisions,
    format_coordinates,
    list_rename_pairs,
)
from schemaman.history.past_versions import CurrentField
from schemaman.history.versions import NestedFieldAnswer, TableHistory
from schemaman.migration.conditions import is_met
from schemaman.migration.plan import MigrationSource, Plan, Policy
from schemaman.migration.plan_file import from_text, to_text
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import PolicyRule
from schemaman.migration.projection.project import project
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.rollback import plan_rollback
from schemaman.migration.source import migration_source
from schemaman.model.column_list import parse_columns
from schemaman.model.ddl import format_type
from schemaman.model.diff import RenameColumn, diff, patch
from schemaman.model.schema import Column, Path, TableSchema, walk_fields
from schemaman.model.types import Array, Field, Integer, Map, String, Struct, Type
from schemaman.sink.row_mapping import map_columns
from tests.support.memory_lake import MemoryTable
from tests.support.plans import TARGETS, both, migrated, statements
from tests.support.random_histories import history as history_of

TABLE = "shop.app.public.t"
DROPS = Policy(drops="drop")
AUTO = Policy(rules=(PolicyRule("auto", ("drop-column",)),))
Answer = Rename | NotRename


def told(*ddl: str) -> TableHistory:
    """A table whose columns keep their ids: `s STRUCT<…> ID 1`."""
    return history_of([parse_columns(text) for text in ddl])


def renamed(history: TableHistory, *pairs: tuple[str, str], kind: type[Rename | NotRename] = Rename):
    """The history with an answer for each pair, in the step in which it was exchanged."""
    return with_words(history, *((kind, *pair) for pair in pairs))


def with_words(history: TableHistory, *words: tuple[type[Rename | NotRename], str, str]) -> TableHistory:
    """The history with these answers, each of a kind of its own; one may need those before it."""
    answers: list[Answer] = []
    found = history
    for kind, old, new in words:
        at = next(v for before, v in pairwise(found.versions) if (old, new) in list_rename_pairs(before, v))
        answers.append(kind(TABLE, old, new, at.id, format_coordinates(at.at)))
        found = answered(history, answers)
    return found


def answered(history: TableHistory, answers: Sequence[Answer]) -> TableHistory:
    renames = tuple(a for a in answers if isinstance(a, Rename))
    return apply_decisions(history, Decisions(renames, tuple(a for a in answers if isinstance(a, NotRename))))


def until(history: TableHistory, number: int) -> MigrationSource:
    return migration_source(replace(history, versions=history.versions[:number]))


def plan(format: str, following: MigrationSource, lake: MemoryTable, policy: Policy | None = None) -> Plan:
    target, table = TARGETS[format]
    drawn = make_plan(following, lake.live, target, table, policy or Policy())
    assert from_text(to_text(drawn)) == drawn
    return drawn


def standing(format: str, history: TableHistory, number: int) -> MemoryTable:
    """A lake that was brought to that version."""
    made = MemoryTable(TARGETS[format][1])
    migrated(made, plan(format, until(history, number), made))
    return made


def kinds(drawn: Plan) -> list[str]:
    return [step.kind for step in drawn.steps]


def test_a_source_knows_what_became_of_its_members() -> None:
    history = told(
        "s STRUCT<a: INT, gone: INT, p: STRUCT<x: INT>, now: INT> ID 1",
        "s STRUCT<a: INT, p: STRUCT<y: INT>, now: INT> ID 1",
        "s STRUCT<b: INT, p: STRUCT<y: INT>> ID 1",
        "t STRUCT<c: INT, p: STRUCT<z: INT>> ID 1",
    )
    history = renamed(history, ("s.a", "s.b"), ("s.p.x", "s.p.y"), ("s.p.y", "t.p.z"))
    first, second, third, last = (past.nested_fields for past in migration_source(history).past)
    assert first == {
        ("t", "a"): CurrentField("c", is_sure=False),
        ("t", "gone"): CurrentField(None),
        ("t", "now"): CurrentField(None),
        ("t", "p", "x"): CurrentField("z"),
    }
    assert second == {
        ("t", "a"): CurrentField("c", is_sure=False),
        ("t", "now"): CurrentField(None),
        ("t", "p", "y"): CurrentField("z"),
    }
    assert third == {("t", "b"): CurrentField("c", is_sure=False), ("t", "p", "y"): CurrentField("z")}
    assert last == {}


@both
def test_a_member_that_left_stays_unless_drops_are_wanted(format: str) -> None:
    history = told(
        "id INT ID 1, s STRUCT<x: INT, y: INT> ID 2, l ARRAY<STRUCT<p: INT, q: INT>> ID 3, "
        "m MAP<STRING, STRUCT<v: INT, w: INT>> ID 4",
        "id INT ID 1, s STRUCT<x: BIGINT> ID 2, l ARRAY<STRUCT<p: INT>> ID 3, "
        "m MAP<STRING, STRUCT<v: INT>> ID 4",
    )
    made = standing(format, history, 1)
    kept = plan(format, until(history, 2), made)
    assert statements(kept) == ["ALTER COLUMN `s`.`x` TYPE BIGINT"]
    assert any("`s`.`y`: the source has dropped it: it is kept" in note for note in kept.notes)
    drawn = plan(format, until(history, 2), made, DROPS)
    drop = "DROP COLUMNS (`s`.`y`, `l`.`element`.`q`, `m`.`value`.`w`)"
    assert statements(drawn) == ["ALTER COLUMN `s`.`x` TYPE BIGINT", drop]
    assert len(drawn.approvals_needed) == 1
    assert drop in drawn.approvals_needed[0]
    migrated(made, drawn)
    assert plan(format, until(history, 2), made, DROPS).steps == ()


@both
def test_what_was_kept_is_dropped_with_an_approval_alone(format: str) -> None:
    first, second = "s STRUCT<x: INT, y: INT> ID 1", "s STRUCT<x: INT> ID 1"
    history = told(first, second, f"{second}, n INT ID 2")
    fresh = plan(format, until(history, 2), standing(format, history, 1), AUTO)
    assert "drop-columns" in kinds(fresh)
    assert fresh.approvals_needed == ()
    made = standing(format, history, 1)
    migrated(made, plan(format, until(history, 2), made))
    late = plan(format, until(history, 3), made, AUTO)
    assert "DROP COLUMNS (`s`.`y`)" in statements(late)
    assert "kept when the source dropped it" in late.approvals_needed[0]
    unstamped = MemoryTable(made.table, replace(made.live, properties=_features(made)))  # type: ignore[type-var]
    unsure = plan(format, until(history, 2), unstamped, AUTO)
    assert "kept when the source dropped it" in unsure.approvals_needed[0]


@both
@pytest.mark.parametrize("level", ["ignore", "block"])
def test_the_policy_decides_about_members_as_about_columns(format: str, level) -> None:
    history = told("s STRUCT<x: INT, y: INT> ID 1", "s STRUCT<x: INT> ID 1")
    made = standing(format, history, 1)
    drawn = plan(format, until(history, 2), made, Policy(rules=(PolicyRule(level, ("drop-column",)),)))
    assert "drop-columns" not in kinds(drawn)
    assert [r.change for r in drawn.refusals] == (["drop `s`.`y`"] if level == "block" else [])
    assert [(r.path, r.kind) for r in drawn.rulings] == [(("s", "y"), "drop-column")]


@both
def test_a_member_is_renamed_on_a_persons_word(format: str) -> None:
    history = told(
        "id INT ID 1, s STRUCT<a: INT, y: STRING> ID 2, l ARRAY<STRUCT<p: INT>> ID 3, "
        "m MAP<STRING, STRUCT<v: STRUCT<w: INT>>> ID 4",
        "id INT ID 1, s STRUCT<b: BIGINT, y: STRING> ID 2, l ARRAY<STRUCT<r: INT>> ID 3, "
        "m MAP<STRING, STRUCT<v: STRUCT<u: INT>>> ID 4",
    )
    asked = plan(format, until(history, 2), standing(format, history, 1))
    assert [r.change for r in asked.refusals] == [
        "rename `s`.`a` to `b`",
        "rename `l`.`element`.`p` to `r`",
        "rename `m`.`value`.`v`.`w` to `u`",
    ]
    assert "`schemaman decide rename shop.app.public.t@2 s.a s.b`, or not-rename" in asked.refusals[0].instead
    assert statements(asked) == []
    assert all("schemaman.version" not in step.statement for step in asked.steps)
    pairs = ("s.a", "s.b"), ("l.element.p", "l.element.r"), ("m.value.v.w", "m.value.v.u")
    history = renamed(history, *pairs)
    made = standing(format, history, 1)
    drawn = plan(format, until(history, 2), made)
    assert drawn.refusals == ()
    assert statements(drawn) == [
        "RENAME COLUMN `s`.`a` TO `b`",
        "RENAME COLUMN `l`.`element`.`p` TO `r`",
        "RENAME COLUMN `m`.`value`.`v`.`w` TO `u`",
        "ALTER COLUMN `s`.`b` TYPE BIGINT",
    ]
    assert kinds(drawn)[3] == "set-properties"
    migrated(made, drawn)
    assert plan(format, until(history, 2), made).steps == ()
    half = standing(format, history, 1)
    for step in drawn.steps[:4]:
        assert is_met(half.live, step.precondition)
        half.run(step.statement)
        assert is_met(half.live, step.postcondition)
    back = plan_rollback(drawn, half.live, 4)
    assert back.refusals == ()
    assert back.steps[-1].statement.endswith("RENAME COLUMN `s`.`b` TO `a`")


INSIDE = {
    "a struct": ("s STRUCT<p: STRUCT<%s: INT, x: INT>, z: INT> ID 1", "s", "p", ""),
    "an array": ("s STRUCT<p: ARRAY<STRUCT<%s: INT, x: INT>>, z: INT> ID 1", "s", "p", ".element"),
    "a map": ("s STRUCT<p: MAP<STRING, STRUCT<%s: INT, x: INT>>, z: INT> ID 1", "s", "p", ".value"),
    "elements": ("l ARRAY<STRUCT<p: STRUCT<%s: INT, x: INT>, z: INT>> ID 1", "l.element", "p", ""),
    "values": ("m MAP<STRING, STRUCT<p: STRUCT<%s: INT, x: INT>>> ID 1", "m.value", "p", ""),
    "a deep one": ("s STRUCT<p: STRUCT<y: STRUCT<%s: INT, x: INT>>> ID 1", "s", "p", ".y"),
}


def quoted(path: str) -> str:
    return ".".join(f"`{part}`" for part in path.split("."))


@both
@pytest.mark.parametrize("case", INSIDE)
def test_inside_a_renamed_member_a_plan_asks(format: str, case: str) -> None:
    ddl, above, p, below = INSIDE[case]
    history = told(ddl % "a", ddl.replace("p:", "q:") % "b")
    outer = (f"{above}.{p}", f"{above}.q")
    old, new = f"{outer[0]}{below}.a", f"{outer[1]}{below}.b"
    open = renamed(history, outer)
    made = standing(format, open, 1)
    for policy in (Policy(), DROPS, AUTO):
        asked = plan(format, migration_source(open), made, policy)
        assert statements(asked) == []
        assert {r.change for r in asked.refusals} == {
            f"rename {quoted(outer[0])} to `q`", f"rename {quoted(f'{outer[0]}{below}')}.`a` to `b`"
        }  # fmt: skip
        says = [r.instead for r in asked.refusals]
        assert f"use `schemaman decide rename {TABLE}@2 {old} {new}`, or not-rename" in says
        assert all("schemaman.version" not in step.statement for step in asked.steps)
    same = renamed(history, outer, (old, new))
    drawn = plan(format, migration_source(same), made, AUTO)
    assert drawn.refusals == ()
    assert statements(drawn) == [
        f"RENAME COLUMN {quoted(f'{outer[0]}{below}')}.`a` TO `b`",
        f"RENAME COLUMN {quoted(outer[0])} TO `q`",
    ]
    there = quoted(f"{outer[1]}{below}")
    moved = f"RENAME COLUMN {quoted(outer[0])} TO `q`"
    other = with_words(history, (Rename, *outer), (NotRename, old, new))
    assert statements(plan(format, migration_source(other), made)) == [
        moved,
        f"ADD COLUMNS ({there}.`b` INT)",
    ]
    assert statements(plan(format, migration_source(other), made, AUTO)) == [
        moved,
        f"ADD COLUMNS ({there}.`b` INT)",
        f"DROP COLUMNS ({there}.`a`)",
    ]
    migrated(made, drawn)
    assert plan(format, migration_source(same), made, AUTO).steps == ()


@both
def test_an_answer_from_inside_a_renamed_member_holds_wherever_it_stands_in_the_file(format: str) -> None:
    history = told("s STRUCT<p: STRUCT<a: INT>> ID 1", "s STRUCT<q: STRUCT<b: INT>> ID 1")
    at = history.versions[-1]
    pairs = ("s.p.a", "s.q.b"), ("s.p", "s.q")
    words = [Rename(TABLE, old, new, at.id, format_coordinates(at.at)) for old, new in pairs]
    drawn = plan(format, migration_source(answered(history, words)), standing(format, history, 1))
    assert statements(drawn) == ["RENAME COLUMN `s`.`p`.`a` TO `b`", "RENAME COLUMN `s`.`p` TO `q`"]
    alone = plan(format, migration_source(answered(history, words[:1])), standing(format, history, 1))
    assert [r.change for r in alone.refusals] == ["rename `s`.`p` to `q`"]
    again = answered(history, words).versions
    assert list_rename_pairs(*again) >= {("s.p", "s.q"), ("s.p.a", "s.q.b")}  # what was said can be gainsaid


@both
@pytest.mark.parametrize("later", [(), ("t STRUCT<r: STRUCT<b: INT, x: INT>, z: INT> ID 1",)])
def test_the_question_is_put_in_the_words_that_answer_it(format: str, later: tuple[str, ...]) -> None:
    """Whatever the column or the members above were called before, and are called since."""
    first, second = (
        f"{s} STRUCT<{p}: STRUCT<{a}: INT, x: INT>, z: INT> ID 1"
        for s, p, a in (("u", "p", "a"), ("t", "q", "b"))
    )
    history = told(first, second, *later)
    outer = [("u.p", "t.q"), *(("t.q", "t.r") for _ in later)]
    made = standing(format, history, 1)
    asked = plan(format, migration_source(renamed(history, *outer)), made)
    words = f"use `schemaman decide rename {TABLE}@2 u.p.a t.q.b`, or not-rename"
    assert words in [r.instead for r in asked.refusals]
    drawn = plan(format, migration_source(renamed(history, *outer, ("u.p.a", "t.q.b"))), made, AUTO)
    assert drawn.refusals == ()
    assert "DROP" not in "".join(statements(drawn))
    migrated(made, drawn)
    assert made.live is not None
    assert made.live.schema.columns[0].type == history.latest.schema.columns[0].type


THERE_AND_BACK = {
    "at once": ("s STRUCT<{}: INT, x: INT> ID 1", "abab"),
    "by another name": ("s STRUCT<{}: INT, x: INT> ID 1", "abcab"),
    "twice": ("s STRUCT<{}: INT, x: INT> ID 1", "ababab"),
    "with what it holds": ("s STRUCT<{0}: STRUCT<{0}1: INT>> ID 1", "abab"),
}


def questions(members: Mapping[Path, CurrentField]) -> dict[Path, tuple[object, int | None]]:
    return {path: (now.question, now.version) for path, now in members.items()}


@both
@pytest.mark.parametrize("kind", [Rename, NotRename])
@pytest.mark.parametrize("case", THERE_AND_BACK)
def test_each_answer_to_a_member_renamed_there_and_back_is_a_step_on(format: str, case: str, kind) -> None:
    """The same two may be exchanged in several steps: the words say in which, and no words come twice."""
    ddl, names = THERE_AND_BACK[case]
    history = told(*(ddl.format(name) for name in names))
    made = standing(format, history, 1)
    said: list[Answer] = []
    while True:
        drawn = plan(format, migration_source(answered(history, said)), made)
        kept = from_text(to_text(drawn)).source
        assert [questions(past.nested_fields) for past in kept.past] == [
            questions(past.nested_fields) for past in drawn.source.past
        ]
        if not drawn.refusals:
            break
        words = re.search(rf"decide rename {TABLE}@(\d+) (\S+) (\S+)`", drawn.refusals[0].instead)
        assert words is not None
        at = history.versions[int(words[1]) - 1]
        step = answered(history, said).versions[at.number - 2 : at.number]
        assert (words[2], words[3]) in list_rename_pairs(*step)
        answer = kind(TABLE, words[2], words[3], at.id, format_coordinates(at.at))
        assert answer not in said
        said.append(answer)
    migrated(made, drawn)
    assert plan(format, migration_source(answered(history, said)), made).steps == ()


@both
def test_what_is_no_rename_is_a_member_that_left_and_one_that_came(format: str) -> None:
    history = told("s STRUCT<a: INT, y: INT> ID 1", "s STRUCT<b: INT, y: INT> ID 1")
    history = renamed(history, ("s.a", "s.b"), kind=NotRename)
    made = standing(format, history, 1)
    drawn = plan(format, until(history, 2), made)
    assert statements(drawn) == ["ADD COLUMNS (`s`.`b` INT)"]
    assert statements(plan(format, until(history, 2), made, DROPS)) == [
        "ADD COLUMNS (`s`.`b` INT)",
        "DROP COLUMNS (`s`.`a`)",
    ]


@both
def test_an_old_name_that_another_member_gets_waits_for_the_stamp(format: str) -> None:
    history = told(
        "s STRUCT<a: INT> ID 1", "s STRUCT<b: INT> ID 1", "t STRUCT<b: INT, a: STRING> ID 1",
    )  # fmt: skip
    history = renamed(history, ("s.a", "s.b"))
    made = standing(format, history, 1)
    drawn = plan(format, until(history, 3), made)
    assert statements(drawn) == [
        "RENAME COLUMN `s`.`a` TO `b`",
        "RENAME COLUMN `s` TO `t`",
        "ADD COLUMNS (`t`.`a` STRING)",
    ]
    for stop in range(len(drawn.steps)):
        crashed = standing(format, history, 1)
        for step in drawn.steps[:stop]:
            crashed.run(step.statement)
        again = plan(format, until(history, 3), crashed)
        assert again.refusals == ()
        migrated(crashed, again)
        assert crashed.live is not None
        assert crashed.live.schema == drawn.wanted
    unstamped = MemoryTable(made.table, replace(made.live, properties=_features(made)))  # type: ignore[type-var]
    refused = plan(format, until(history, 3), unstamped)
    assert any("does not show which of the two it has" in r.reason for r in refused.refusals)
    assert not any("`a` TO" in text for text in statements(refused))


def _features(lake: MemoryTable) -> dict[str, str]:
    assert lake.live is not None
    return {k: v for k, v in lake.live.properties.items() if not k.startswith("schemaman.")}


@both
def test_a_name_that_is_taken_is_given_to_no_other_member(format: str) -> None:
    history = renamed(told("s STRUCT<a: INT, y: INT> ID 1", "s STRUCT<b: INT, y: INT> ID 1"), ("s.a", "s.b"))
    made = standing(format, history, 1)
    name = TARGETS[format][0].table_name(made.table)
    made.run(f"ALTER TABLE {name} ADD COLUMNS (`s`.`B` INT)")
    drawn = plan(format, until(history, 2), made)
    assert [r.reason for r in drawn.refusals] == ["the lake has a nested field of that name"]
    assert statements(drawn) == []
    assert all("schemaman.version" not in step.statement for step in drawn.steps)


CHAIN = (
    "RENAME COLUMN `t`.`a` TO `__schemaman_1`",
    "RENAME COLUMN `t`.`b` TO `c`",
    "RENAME COLUMN `t`.`__schemaman_1` TO `b`",
)
RING = (
    "RENAME COLUMN `t`.`a` TO `__schemaman_1`",
    "RENAME COLUMN `t`.`b` TO `a`",
    "RENAME COLUMN `t`.`__schemaman_1` TO `b`",
)


def handing_on(*ends: str) -> TableHistory:
    """`a` became `b`, and `b` another one: all in one step."""
    first = "s STRUCT<a: STRUCT<x: INT>, b: STRING> ID 1"
    last = f"t STRUCT<b: STRUCT<y: INT>, {ends[0]}: STRING> ID 1"
    told = (("s", "a"), ("t", "b")), (("s", "b"), ("t", ends[0])), (("s", "a", "x"), ("t", "b", "y"))
    answers = [NestedFieldAnswer(old, new, same=True) for old, new in told]
    return history_of([parse_columns(first), parse_columns(last)], answers)


@both
@pytest.mark.parametrize(("end", "turns"), [("c", CHAIN), ("a", RING)])
def test_members_hand_names_on_by_a_temporary_name(format: str, end: str, turns: Sequence[str]) -> None:
    history = handing_on(end)
    made = standing(format, history, 1)
    drawn = plan(format, until(history, 2), made, DROPS)
    first, second, _ = (text.replace("`t`", "`s`") for text in turns)
    inner = "RENAME COLUMN `s`.`a`.`x` TO `y`"
    assert drawn.refusals == ()
    assert statements(drawn) == [inner, first, second, "RENAME COLUMN `s` TO `t`", turns[2]]
    assert kinds(drawn)[-2:] == ["set-properties", "rename-column"]
    for stop in range(len(drawn.steps)):
        crashed = standing(format, history, 1)
        for step in drawn.steps[:stop]:
            crashed.run(step.statement)
        again = plan(format, until(history, 2), crashed, DROPS)
        if stop >= 2:
            assert again.steps == ()
            assert [r.reason for r in again.refusals] == [
                "another plan was interrupted between two renames of this nested field"
            ]
        back = plan_rollback(drawn, crashed.live, stop)
        assert back.refusals == ()
        for step in drawn.steps[stop:]:
            assert is_met(crashed.live, step.precondition)
            crashed.run(step.statement)
            assert is_met(crashed.live, step.postcondition)
        assert crashed.live is not None
        assert crashed.live.schema == drawn.wanted
    migrated(made, drawn)
    assert plan(format, until(history, 2), made, DROPS).steps == ()


@both
def test_an_unstamped_table_does_not_say_which_members_handed_names_on(format: str) -> None:
    history = handing_on("c")
    made = standing(format, history, 1)
    unstamped = MemoryTable(made.table, replace(made.live, properties=_features(made)))  # type: ignore[type-var]
    drawn = plan(format, until(history, 2), unstamped)
    assert any("does not show which of the two it has" in r.reason for r in drawn.refusals)
    assert not any(text.startswith("RENAME COLUMN `t`.") for text in statements(drawn))


@both
def test_a_plan_that_leaves_names_open_renames_no_member(format: str) -> None:
    asked = "u STRUCT<x: INT> ID 2"
    settled = "u STRUCT<y: INT> ID 2"
    history = told(
        f"s STRUCT<a: INT, n: INT> ID 1, {asked}",
        f"s STRUCT<b: INT, n: BIGINT> ID 1, {settled}",
        f"s STRUCT<a: INT, n: BIGINT> ID 1, {settled}",
    )
    mine = ("s.a", "s.b"), ("s.b", "s.a")
    history = renamed(history, *mine)
    made = standing(format, history, 1)
    drawn = plan(format, until(history, 2), made)
    assert statements(drawn) == ["ALTER COLUMN `s`.`n` TYPE BIGINT"]
    assert [r.change for r in drawn.refusals] == ["rename `u`.`x` to `y`", "rename `s`.`a` to `b`"]
    assert "only by a plan that settles all names" in drawn.refusals[1].reason
    assert drawn.refusals[1].instead == "settle the other refusals first"
    migrated(made, drawn)
    answered = renamed(history, *mine, ("u.x", "u.y"))
    assert statements(plan(format, until(answered, 2), made)) == [
        "RENAME COLUMN `s`.`a` TO `b`",
        "RENAME COLUMN `u`.`x` TO `y`",
    ]
    assert statements(plan(format, until(answered, 3), made)) == ["RENAME COLUMN `u`.`x` TO `y`"]


@both
def test_a_member_that_came_without_a_stamp_is_known_by_its_versions(format: str) -> None:
    first, later = "u STRUCT<x: INT> ID 2", "u STRUCT<y: INT> ID 2"
    history = told(
        f"s STRUCT<a: INT> ID 1, {first}",
        f"s STRUCT<a: INT, b: INT> ID 1, {later}",
        f"s STRUCT<a: INT, c: INT> ID 1, {later}",
        f"s STRUCT<a: INT, c: INT, b: INT> ID 1, {later}",
        f"s STRUCT<a: INT, c: INT, d: INT> ID 1, {later}",
    )
    mine = ("s.b", "s.c"), ("s.b", "s.d")
    history = renamed(history, *mine)
    made = standing(format, history, 1)
    drawn = plan(format, until(history, 2), made)
    assert statements(drawn) == ["ADD COLUMNS (`s`.`b` INT)"]
    migrated(made, drawn)
    unclear = plan(format, until(history, 5), made)
    assert [r.change for r in unclear.refusals] == ["follow `s`.`b`", "rename `u`.`x` to `y`"]
    assert statements(unclear) == []
    answered = renamed(history, *mine, ("u.x", "u.y"))
    assert statements(plan(format, until(answered, 3), made)) == [
        "RENAME COLUMN `s`.`b` TO `c`",
        "RENAME COLUMN `u`.`x` TO `y`",
    ]


@both
def test_a_member_whose_name_came_back_is_not_known_by_a_stamp_from_before(format: str) -> None:
    """A plan that was made in part may have filled it since, and left no stamp."""
    history = told(
        "s STRUCT<k: INT, a: INT> ID 1",
        "s STRUCT<k: INT, c: INT> ID 1",
        "s STRUCT<k: INT, c: INT, a: STRING> ID 1",
        "s STRUCT<k: INT, a: STRING> ID 1",
        "s STRUCT<k: INT, b: STRING> ID 1",
    )
    history = renamed(history, ("s.a", "s.c"), ("s.a", "s.b"))
    drawn = plan(format, until(history, 5), standing(format, history, 1))
    assert [r.change for r in drawn.refusals] == ["follow `s`.`a`"]
    assert statements(drawn) == []


@both
def test_a_member_that_a_plan_in_part_added_does_not_stay_behind_a_taken_name(format: str) -> None:
    history = told(
        "s STRUCT<k: INT, c: INT> ID 1",
        "s STRUCT<k: INT, a: STRING> ID 1",
        "s STRUCT<k: INT, c: STRING> ID 1",
    )
    made = standing(format, history, 1)
    name = TARGETS[format][0].table_name(made.table)
    made.run(f"ALTER TABLE {name} ADD COLUMNS (`s`.`a` STRING)")
    drawn = plan(format, until(renamed(history, ("s.a", "s.c")), 3), made)
    assert "rename `s`.`a` to `c`" in [r.change for r in drawn.refusals]
    assert [s for s in statements(drawn) if "`a`" in s] == []


@both
def test_two_members_that_became_one_are_left_alone(format: str) -> None:
    history = told("s STRUCT<a: INT> ID 1", "s STRUCT<b: INT> ID 1", "s STRUCT<c: INT> ID 1")
    history = renamed(history, ("s.a", "s.b"), ("s.b", "s.c"))
    made = standing(format, history, 1)
    name = TARGETS[format][0].table_name(made.table)
    made.run(f"ALTER TABLE {name} ADD COLUMNS (`s`.`b` INT)")
    unstamped = MemoryTable(made.table, replace(made.live, properties=_features(made)))  # type: ignore[type-var]
    for lake in (made, unstamped):
        drawn = plan(format, until(history, 3), lake, DROPS)
        assert [r.change for r in drawn.refusals] == ["rename `s`.`a` to `c`", "rename `s`.`b` to `c`"]
        assert statements(drawn) == []


@both
def test_a_member_is_not_dropped_while_its_new_name_waits(format: str) -> None:
    kinds_of_s = ("b: INT", "a: INT", "c: INT", "c: INT, a: INT")
    history = renamed(told(*(f"s STRUCT<{inside}> ID 1" for inside in kinds_of_s)), ("s.a", "s.c"))
    made = standing(format, history, 1)
    for refused in ("rename `s`.`b` to `c`", "follow `s`.`a`"):
        drawn = plan(format, until(history, 4), made, DROPS)
        assert refused in [r.change for r in drawn.refusals]
        assert not any("DROP" in text for text in statements(drawn))
        migrated(made, drawn)


@both
def test_a_rename_that_the_policy_does_not_make_leaves_the_table_where_it_stands(format: str) -> None:
    history = told("s STRUCT<a: INT> ID 1, n INT ID 2", "s STRUCT<b: BIGINT, c: INT> ID 1, n BIGINT ID 2")
    history = renamed(history, ("s.a", "s.b"))
    made = standing(format, history, 1)
    drawn = plan(format, until(history, 2), made, Policy(rules=(PolicyRule("ignore", ("rename-*",)),)))
    assert statements(drawn) == ["ALTER COLUMN `n` TYPE BIGINT", "ADD COLUMNS (`s`.`c` INT)"]
    assert all("schemaman.version" not in step.statement for step in drawn.steps)
    migrated(made, drawn)
    assert "RENAME COLUMN `s`.`a` TO `b`" in statements(plan(format, until(history, 2), made))


@both
def test_a_member_that_comes_back_is_the_same(format: str) -> None:
    history = told("s STRUCT<x: INT, y: INT> ID 1", "s STRUCT<x: INT> ID 1", "s STRUCT<x: INT, y: INT> ID 1")
    made = standing(format, history, 1)
    assert plan(format, until(history, 3), made, DROPS).refusals == ()
    assert statements(plan(format, until(history, 3), made, DROPS)) == []
    migrated(made, plan(format, until(history, 2), made))
    assert statements(plan(format, until(history, 3), made, DROPS)) == []


def lives_of(*members: str) -> TableHistory:
    """A struct that has a member for each letter."""
    return told(*(f"s STRUCT<{', '.join(f'{m}: INT' for m in ('k', *each))}> ID 1" for each in members))


ANOTHER = "several nested fields had this name, and the table does not show which of them it has"


@both
@pytest.mark.parametrize(
    ("members", "pairs", "points"),
    [
        (("a", "b", "a"), [("s.b", "s.a")], (1, 3)),
        (("a", "", "b", "a"), [("s.b", "s.a")], (1, 4)),
        (("a", "", "b", "a"), [("s.b", "s.a")], (1, 2, 4)),
        (("a", "", "b", "A"), [("s.b", "s.A")], (1, 4)),
        (("a", "", "b", "a", "d"), [("s.b", "s.a"), ("s.a", "s.d")], (1, 2, 5)),
        (("b", "c", "", "b"), [("s.b", "s.c")], (1, 4)),
        (("b", "c", "", "b"), [("s.b", "s.c")], (1, 3, 4)),
    ],
)
def test_a_name_that_a_person_gave_to_another_member_is_not_one_that_came_back(
    format: str, members: Sequence[str], pairs: Sequence[tuple[str, str]], points: Sequence[int]
) -> None:
    history = lives_of(*members)
    denied = [("s.a", "s.b")] if members[:2] == ("a", "b") else []
    words = renamed(history, *pairs), renamed(history, *denied, kind=NotRename)
    both_told = [
        replace(yes, field_answers=(*yes.field_answers, *no.field_answers))
        for yes, no in zip(*(each.versions for each in words), strict=True)
    ]
    history = replace(history, versions=tuple(both_told))
    made = standing(format, history, points[0])
    for point in points[1:-1]:
        migrated(made, plan(format, until(history, point), made))
    drawn = plan(format, until(history, points[-1]), made)
    assert ANOTHER in [r.reason for r in drawn.refusals]
    assert statements(drawn) == []
    assert all("schemaman.version" not in step.statement for step in drawn.steps)
    unstamped = MemoryTable(made.table, replace(made.live, properties=_features(made)))  # type: ignore[type-var]
    assert plan(format, until(history, points[-1]), unstamped).refusals or "A" in members


@both
@pytest.mark.parametrize("members", [("b", "a", "ab", "cb"), ("b", "a", "", "a", "ab", "cb")])
def test_a_member_that_may_be_another_one_is_not_taken_for_a_third_one_of_its_name(
    format: str, members: Sequence[str]
) -> None:
    """The table has the `b` that became `a`, which may be `c` by now; the `b` of now is none of them."""
    history = renamed(lives_of(*members), ("s.b", "s.a"))
    made = standing(format, history, 1)
    drawn = plan(format, until(history, len(members)), made)
    reason = "rename not decided, and another nested field has this name now"
    (asked,) = (r for r in drawn.refusals if r.reason == reason)
    assert asked.instead == f"use `schemaman decide rename {TABLE}@{len(members)} s.a s.c`, or not-rename"
    assert statements(drawn) == []
    assert all("schemaman.version" not in step.statement for step in drawn.steps)
    told = renamed(history, ("s.a", "s.c"))
    settled = plan(format, until(told, len(members)), made)
    assert statements(settled) == ["RENAME COLUMN `s`.`b` TO `c`", "ADD COLUMNS (`s`.`b` INT)"]


@both
@pytest.mark.parametrize("points", [(1, 5), (1, 4, 5), (1, 2, 3, 4, 5)])
def test_a_member_that_came_back_keeps_its_values_under_its_later_name(
    format: str, points: Sequence[int]
) -> None:
    history = renamed(lives_of("a", "", "a", "c", "ca"), ("s.a", "s.c"))
    made = standing(format, history, points[0])
    made_of: list[str] = []
    for point in points[1:]:
        drawn = plan(format, until(history, point), made)
        assert drawn.refusals == ()
        made_of += statements(drawn)
        migrated(made, drawn)
    assert made_of == ["RENAME COLUMN `s`.`a` TO `c`", "ADD COLUMNS (`s`.`a` INT)"]


@both
def test_a_member_inside_of_one_that_came_back_is_followed_too(format: str) -> None:
    history = told(
        "s STRUCT<k: INT, p: STRUCT<x: INT>> ID 1",
        "s STRUCT<k: INT> ID 1",
        "s STRUCT<k: INT, p: STRUCT<y: INT>> ID 1",
        "s STRUCT<k: INT, p: STRUCT<x: INT>> ID 1",
    )
    history = renamed(history, ("s.p.y", "s.p.x"))
    drawn = plan(format, until(history, 4), standing(format, history, 1))
    assert [r.reason for r in drawn.refusals] == [ANOTHER]
    assert statements(drawn) == []


@both
@pytest.mark.parametrize("said", [(), ((NotRename, "s.p.a", "s.p.b"),)])
def test_a_name_that_another_got_is_known_where_what_holds_it_was_renamed(format: str, said) -> None:
    members = ("p", "a"), ("p", "b"), ("q", "a")
    history = told(*(f"s STRUCT<{p}: STRUCT<{a}: INT>> ID 1" for p, a in members))
    history = with_words(history, *said, (Rename, "s.p", "s.q"), (Rename, "s.p.b", "s.q.a"))
    drawn = plan(format, migration_source(history), standing(format, history, 1))
    assert ANOTHER in [r.reason for r in drawn.refusals]
    assert statements(drawn) == []


@both
def test_a_name_by_way_of_an_open_question_is_not_taken_for_the_same_member(format: str) -> None:
    history = renamed(lives_of("a", "b", "a"), ("s.b", "s.a"))
    drawn = plan(format, until(history, 3), standing(format, history, 1))
    assert [r.reason for r in drawn.refusals] == [ANOTHER]
    assert statements(drawn) == []


@both
def test_rows_of_a_member_that_left_are_not_read_under_the_name_that_another_got(format: str) -> None:
    history = renamed(lives_of("a", "", "b", "a"), ("s.b", "s.a"))
    live = standing(format, history, 4).live
    assert live is not None
    read = {at: moved.names for at, moved in map_columns(history, live).renamings.items()}
    assert read == {(1, "s"): {("a",): "a, which was dropped"}, (3, "s"): {("b",): "a"}}


@both
def test_the_last_member_is_not_dropped_and_recipes_wait_for_renames(format: str) -> None:
    history = told("s STRUCT<x: STRUCT<a: INT>, n: INT> ID 1", "s STRUCT<x: STRUCT<b: INT>, n: STRING> ID 1")
    lone = renamed(history, ("s.x.a", "s.x.b"), kind=NotRename)
    made = standing(format, lone, 1)
    drawn = plan(format, until(lone, 2), made, DROPS)
    assert "DROP COLUMNS (`s`.`x`.`a`)" in statements(drawn)
    history = renamed(history, ("s.x.a", "s.x.b"))
    target, table = TARGETS[format]
    assert made.live is not None
    live = standing(format, history, 1).live
    assert live is not None
    waits = RecipePlanner(until(history, 2), target, table, Policy()).make_plans(live)
    assert waits[0].refusals[0].reason == "renames come first"


@both
def test_a_member_of_a_maps_key_is_not_dropped(format: str) -> None:
    key = "id INT ID 1, m MAP<STRUCT<a: INT%s>, INT> ID 2"
    history = told(key % ", b: INT", key % "")
    made = standing(format, history, 1)
    drawn = plan(format, until(history, 2), made, DROPS)
    assert [r.change for r in drawn.refusals] == ["drop `m`.`key`.`b`"]
    assert statements(drawn) == []


NAMES = st.sampled_from("abcdef")


@st.composite
def structs(draw: st.DrawFn, depth: int = 2) -> Struct:
    names = draw(st.lists(NAMES, unique=True, min_size=1, max_size=3))
    return Struct(tuple(Field(name, draw(inner(depth))) for name in names))


def inner(depth: int) -> st.SearchStrategy[Type]:
    plain: st.SearchStrategy[Type] = st.sampled_from([Integer(32), Integer(64), String()])
    if depth == 0:
        return plain
    nested = structs(depth - 1)
    return st.one_of(plain, nested, nested.map(Array), nested.map(lambda s: Map(String(), s)))


@st.composite
def changed(draw: st.DrawFn, type: Type) -> Type:
    """The type after somebody renamed, dropped and added members of it."""
    match type:
        case Array(element, nullable):
            return Array(draw(changed(element)), nullable)
        case Map(key, value, nullable):
            return Map(key, draw(changed(value)), nullable)
        case Struct(fields):
            there = [replace(f, type=draw(changed(f.type))) for f in fields]
            for _ in range(draw(st.integers(0, 2))):
                _work(draw, there)
            return Struct(tuple(there))
        case _:
            return type


def _work(draw: st.DrawFn, there: list[Field]) -> None:
    at = draw(st.integers(0, len(there) - 1))
    free = draw(NAMES)
    taken = any(f.name == free for f in there)
    match draw(st.sampled_from(["rename", "rename", "drop", "add"])):
        case "rename" if not taken:
            there[at] = replace(there[at], name=free)
        case "drop" if len(there) > 1:
            there.pop(at)
        case "add" if not taken:
            there.append(Field(free, Integer(32)))
        case _:
            pass


@st.composite
def histories(draw: st.DrawFn) -> TableHistory:
    """A life of two columns of structs, with answers to some of the questions."""
    told_types: list[tuple[Type, Type]] = [(draw(structs()), draw(structs(0)))]
    for _ in range(draw(st.integers(1, 4))):
        one, other = told_types[-1]
        told_types.append((draw(changed(one)), draw(changed(other))))
    key = Column("id", Integer(32), id=1)
    history = history_of(
        [TableSchema((key, Column("s", one, id=2), Column("t", other, id=3))) for one, other in told_types]
    )
    answers: list[Answer] = []
    for at in range(1, len(history.versions)):
        used: set[str] = set()
        for old, new in in_turn(history, at, answers):
            if used & {old, new}:
                continue
            after = history.versions[at]
            match draw(st.sampled_from(["same", "other", "open"])):
                case "same":
                    answers.append(Rename(TABLE, old, new, after.id, format_coordinates(after.at)))
                    used |= {old, new}
                case "other":
                    answers.append(NotRename(TABLE, old, new, after.id, format_coordinates(after.at)))
    return answered(history, answers)


def in_turn(history: TableHistory, at: int, answers: Sequence[Answer]) -> Iterator[tuple[str, str]]:
    """The pairs of a step, those that are known by `answers` too, which may grow meanwhile."""
    seen: set[tuple[str, str]] = set()
    while new := sorted(list_rename_pairs(*answered(history, answers).versions[at - 1 : at + 1]) - seen):
        seen |= set(new)
        yield from new


Value = tuple[int, int]
"""Of which member, and written under which version."""


def identities(history: TableHistory) -> list[dict[Path, int]]:
    """For each version, which member is which: a name that is still there, or one that people told of."""
    found: list[dict[Path, int]] = []
    numbers = count()
    for version in history.versions:
        before = found[-1] if found else {}
        told = {a.new: a.old for a in version.field_answers if a.same}
        was: dict[Path, Path | None] = {(): ()}
        for path, _, _ in walk_fields(version.schema):
            parent = was[path[:-1]]
            same = None if parent is None else (*parent, path[-1])
            was[path] = told.get(path, None if same in told.values() else same)
        del was[()]
        found.append({path: before[old] if old in before else next(numbers) for path, old in was.items()})
    return found


@both
@pytest.mark.parametrize("policy", [Policy(), DROPS], ids=["keep", "drop"])
@given(history=histories(), data=st.data())
def test_plans_lead_members_through_their_life(
    format: str, policy: Policy, history: TableHistory, data: st.DataObject
) -> None:
    """Plans with refusals are made with `--partial` or not at all; no value is ever under another's name."""
    target, table = TARGETS[format]
    made = MemoryTable(table)
    wrote: dict[int, set[Value]] = {}
    for number, ids in enumerate(identities(history), 1):
        drawn = make_plan(until(history, number), made.live, target, table, policy)
        assert from_text(to_text(drawn)) == drawn
        if drawn.refusals and not data.draw(st.booleans()):
            continue
        migrated(made, drawn)
        assert made.live is not None
        again = make_plan(until(history, number), made.live, target, table, policy)
        assert again.steps == ()
        assert bool(again.refusals) == bool(drawn.refusals)  # what was added in part may be unclear by now
        there = {path for path, _, _ in walk_fields(made.live.schema)}
        stamped = made.live.properties.get("schemaman.version") == drawn.source.id
        for path, id in ((path, id) for path, id in ids.items() if path in there):
            here = made.cells.setdefault(path, set())
            if not drawn.refusals:
                assert wrote.get(id, set()) <= here
            if stamped or not {other for other, _ in here} & set(ids.values()) - {id}:
                wrote.setdefault(id, set()).add((id, number))
                here.add((id, number))
        if not drawn.refusals:
            wanted = history.versions[number - 1].schema
            for column in made.live.schema.columns:
                followed = wanted.column(column.name)
                assert followed is None or _holds_all(column.type, followed.type)


def _holds_all(live: Type, source: Type) -> bool:
    match live, source:
        case Struct(a), Struct(b):
            here = {f.name: f.type for f in a}
            return all(f.name in here and _holds_all(here[f.name], f.type) for f in b)
        case (Array(a), Array(b)) | (Map(_, a), Map(_, b)):
            return _holds_all(a, b)
        case _:
            return True


@given(history=histories())
def test_the_diff_knows_renames_of_members(history: TableHistory) -> None:
    target, table = TARGETS["delta"]
    made = MemoryTable(table)
    migrated(made, make_plan(until(history, 1), None, target, table, Policy()))
    assert made.live is not None
    here, told = made.live.schema, project(until(history, len(history.versions)), made.live, target, DROPS)
    changes = diff(here, told.wanted, told.renames, told.field_renames)
    assert patch(here, changes) == told.wanted
    assert len([c for c in changes if isinstance(c, RenameColumn)]) == len(told.field_renames)


@both
def test_a_question_stays_open_though_its_old_name_comes_back(format: str) -> None:
    """Another member may have it: the answer tells, and until then the table stays where it is."""
    history = lives_of("a", "b", "ba")
    made = standing(format, history, 1)
    reason = "rename not decided: the nested field of this name may be the same or another one"
    instead = f"use `schemaman decide rename {TABLE}@2 s.a s.b`, or not-rename"
    asked = plan(format, migration_source(history), made)
    told_of = [(r.change, r.reason, r.instead) for r in asked.refusals]
    assert told_of == [("rename `s`.`a` to `b`", reason, instead)]
    assert statements(asked) == []
    ignoring = Policy(rules=(PolicyRule("ignore", ("rename-suspected",)),))
    told = plan(format, migration_source(history), made, ignoring)
    assert not told.refusals
    assert any("counts as the same" in note for note in told.notes)
    same = plan(format, migration_source(renamed(history, ("s.a", "s.b"), kind=NotRename)), made)
    assert not same.refusals
    assert not same.notes
    assert len(statements(same)) == 1
    assert "ADD COLUMN" in statements(same)[0]
    other = plan(format, migration_source(renamed(history, ("s.a", "s.b"))), made)
    assert not other.refusals
    migrated(made, other)
    assert made.live is not None
    assert format_type(made.live.schema.columns[0].type) == "STRUCT<k: INT, b: INT, a: INT>"
