"""Recipes without an engine: which phases, what each needs and leaves, and where there is no way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.errors import PartlyApplied, StalePlan
from schemaman.migration import casts as conversion
from schemaman.migration.apply.apply import apply
from schemaman.migration.plan import MigrationSource, Plan, Policy
from schemaman.migration.plan_file import from_text, plan_hash, to_text
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import PolicyRule
from schemaman.migration.properties.column_swaps import find_free_name, read_swaps
from schemaman.migration.properties.displaced_columns import read_displaced
from schemaman.migration.properties.names import RECIPE_PROPERTY
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.target import LakeTable
from schemaman.model.column_list import parse_columns
from schemaman.model.ddl import parse_type
from tests.support.memory_lake import Crash, MemoryJournal, MemoryTable
from tests.support.plans import TARGETS, both, lake, source
from tests.support.random_histories import lives

PHASES = ("expand", "backfill", "swap", "contract")


def cook(format: str, following: MigrationSource, **how) -> RecipePlanner:
    target, table = TARGETS[format]
    return RecipePlanner(following, target, table, how.pop("policy", Policy()), **how)


def names(plans: Sequence[Plan]) -> tuple[str, ...]:
    return tuple(plan.phase.name for plan in plans if plan.phase)


def live_of(made: MemoryTable) -> LakeTable:
    assert made.live is not None
    return made.live


def done(plan: Plan, made: MemoryTable) -> None:
    migration = apply(plan, made, MemoryJournal(), lambda: 0, run="r", approved=True)
    assert migration.state in ("applied", "unchanged")
    assert migration.differences == ()


@both
def test_phases_follow_each_other_and_end_in_what_the_ordinary_plan_wants(format: str) -> None:
    made = lake(format, "id INT NOT NULL, a INT NOT NULL COMMENT 'x', b DATE, PRIMARY KEY (id)")
    later = source("id INT NOT NULL, a TEXT COMMENT 'x', b TEXT, PRIMARY KEY (id)")
    plans = cook(format, later).make_plans(live_of(made))
    assert names(plans) == PHASES
    assert [p.phase.follows for p in plans if p.phase] == [None, *map(plan_hash, plans[:3])]
    # A backfill may be repeated for as long as rows come in: it is left to go until the swap.
    for plan, begins in zip(plans, (0, 1, 1, 3), strict=True):
        assert from_text(to_text(plan)) == plan
        left = cook(format, later).make_plans(live_of(made))
        assert names(left) == PHASES[begins:]
        assert plan.steps[-1].statement in [s.statement for one in left for s in one.steps]
        done(plan, made)
    live = live_of(made)
    assert live.schema.names == ("id", "a", "b")
    assert live.schema.column("a").comment == "x"  # type: ignore[union-attr]
    assert make_plan(later, live, *TARGETS[format], Policy()).steps == ()
    assert cook(format, later).make_plans(live)[0].notes == ("no change needs a recipe",)


@both
def test_approvals_and_the_point_of_no_return_are_in_the_plan(format: str) -> None:
    made = lake(format, "id INT, a INT")
    plans = cook(format, source("id INT, a TEXT")).make_plans(live_of(made))
    assert [bool(p.approvals_needed) for p in plans] == [False, True, True, True]
    assert [p.point_of_no_return for p in plans] == [None, None, None, 1]
    assert [s.step_class for s in plans[1].steps] == ["needs-rewrite"]
    free = Policy(rules=(PolicyRule("auto", ("retype",)),))
    plans = cook(format, source("id INT, a TEXT"), policy=free).make_plans(live_of(made))
    assert [bool(p.approvals_needed) for p in plans] == [False, False, False, True]


@both
def test_a_gate_that_does_not_hold_stops_the_phase_and_says_which_rows(format: str) -> None:
    made = lake(format, "id INT, a INT")
    expand, backfill, swap, _ = cook(format, source("id INT, a TEXT")).make_plans(live_of(made))
    done(expand, made)
    made.counted = lambda query: 3
    for plan in (backfill, swap):
        with pytest.raises(StalePlan, match="gives 3, not 0"):
            done(plan, made)
    assert read_swaps(live_of(made))


@both
@pytest.mark.parametrize("late", [0, 2])
@pytest.mark.parametrize("dies", ["before", "after"])
def test_a_backfill_that_dies_is_taken_up_and_rows_that_came_late_are_caught(
    format: str, dies: str, late: int
) -> None:
    made = lake(format, "id INT, a INT")
    expand, backfill, swap, _ = cook(format, source("id INT, a TEXT")).make_plans(live_of(made))
    done(expand, made)
    (step,) = backfill.steps
    (differing,) = cast("dict[str, int]", step.postcondition["counts"])
    unfilled = [5]
    made.counted = lambda query: unfilled[0] if query == differing else 0

    def die(statement: str) -> None:
        if statement == step.statement:
            raise Crash

    def fill(statement: str) -> None:
        unfilled[0] = 0 if statement == step.statement else unfilled[0]
        if dies == "after":
            die(statement)

    made.after = fill
    made.before = die if dies == "before" else made.before
    journal = MemoryJournal()
    with pytest.raises(Crash):
        apply(backfill, made, journal, lambda: 0, run="r", approved=True)
    came_through, dies = dies == "after", "never"
    made.before = lambda _: None
    unfilled[0] += late
    if unfilled[0]:
        with pytest.raises(StalePlan, match=f"gives {unfilled[0]}, not 0"):
            done(swap, made)
    apply(backfill, made, journal, lambda: 0, run="r2", approved=True)
    assert unfilled == [0]
    told = [line.state for line in journal.lines if line.run == "r2" and line.step == 0]
    assert told == (["done"] if came_through and not late else ["intent", "done"])
    assert made.ran.count(step.statement) == (2 if came_through and late else 1)
    done(swap, made)


@both
@pytest.mark.parametrize("at", range(8))
def test_a_swap_that_dies_anywhere_is_taken_up_and_bars_every_other_plan(format: str, at: int) -> None:
    made = lake(format, "id INT NOT NULL, a INT NOT NULL, PRIMARY KEY (id, a)")
    later = source("id INT NOT NULL, a TEXT, b DATE, PRIMARY KEY (id, a)")
    expand, backfill, swap, contract = cook(format, later).make_plans(live_of(made))
    done(expand, made)
    done(backfill, made)
    journal, left = MemoryJournal(), [at]

    def die(statement: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Crash

    made.before = die
    try:
        apply(swap, made, journal, lambda: 0, run="r", approved=True)
    except Crash:
        assert at < len(swap.steps)
        if at:
            barred = make_plan(later, live_of(made), *TARGETS[format], Policy())
            assert barred.steps == ()
            assert "schemaman resume" in barred.refusals[0].instead
            assert cook(format, later).make_plans(live_of(made))[0].refusals
    made.before = lambda _: None
    apply(swap, made, journal, lambda: 0, run="r2", approved=True)
    done(contract, made)
    assert set(live_of(made).schema.names) == {"id", "a"}
    assert live_of(made).schema.key == ("id", "a")


@both
@pytest.mark.parametrize("names_changed", [1, 2, 3])
def test_a_swap_that_is_taken_up_asks_again_for_each_pair(format: str, names_changed: int) -> None:
    made = lake(format, "id INT NOT NULL, a INT, b INT, PRIMARY KEY (id)")
    later = source("id INT NOT NULL, a TEXT, b TEXT, PRIMARY KEY (id)")
    expand, backfill, swap, _ = cook(format, later).make_plans(live_of(made))
    done(expand, made)
    done(backfill, made)
    left = [names_changed]

    def die(statement: str) -> None:
        left[0] -= "RENAME COLUMN" in statement
        if left[0] < 0:
            raise Crash

    made.before = die
    journal = MemoryJournal()
    with pytest.raises(Crash):
        apply(swap, made, journal, lambda: 0, run="r", approved=True)
    made.before = lambda _: None
    stands = live_of(made).schema.names
    made.counted = lambda query: 7 * ("`b__new`" in query)
    with pytest.raises(PartlyApplied, match=r"`b__new`.* gives 7, not 0"):
        apply(swap, made, journal, lambda: 0, run="r2", approved=True)
    if names_changed > 1:
        assert live_of(made).schema.names == stands
    made.counted = lambda _: 0
    assert apply(swap, made, journal, lambda: 0, run="r3", approved=True).differences == ()


@both
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("STRING", "BINARY", "no unambiguous conversion"),
        ("TIMESTAMP", "TIMESTAMP_NTZ", "no unambiguous conversion"),
        ("STRING", "TIMESTAMP", "no unambiguous conversion"),
        ("STRING", "STRUCT<a: INT>", "no unambiguous conversion"),
        ("ARRAY<INT>", "STRING", "no unambiguous conversion"),
    ],
)
def test_what_would_have_to_be_guessed_has_no_recipe(format: str, old: str, new: str, words: str) -> None:
    made = lake(format, f"id INT, a {old}")
    (refused,) = cook(format, source(f"id INT, a {new}")).make_plans(live_of(made))
    assert words in refused.refusals[0].reason
    assert refused.steps == ()


@both
def test_columns_that_lay_out_the_files_are_not_exchanged(format: str) -> None:
    made = lake(format, "id INT, a INT")
    laid = replace(live_of(made), layout=("a",))
    (refused,) = cook(format, source("id INT, a TEXT")).make_plans(laid)
    assert "partitioned" in refused.refusals[0].reason
    assert "--into" in refused.refusals[0].instead


def test_a_column_by_which_files_were_partitioned_once_is_not_exchanged_on_iceberg() -> None:
    """The name would go to another column, and Iceberg refuses that once the names are half exchanged."""
    made = lake("iceberg", "id INT, a INT")
    later = source("id INT, a TEXT")
    for taken in ({"a": ("a",)}, {"a__new": ()}):
        (refused,) = cook("iceberg", later).make_plans(replace(live_of(made), partition_names=taken))
        assert [r for r in refused.refusals if "partition field" in r.reason]
        assert refused.steps == ()


@both
def test_a_column_without_a_way_does_not_hold_up_the_others(format: str) -> None:
    made = lake(format, "id INT, a INT, b BINARY")
    plans = cook(format, source("id INT, a TEXT, b TEXT")).make_plans(live_of(made))
    assert names(plans) == PHASES
    assert [p.phase.follows for p in plans if p.phase] == [None, *map(plan_hash, plans[:3])]
    assert [r.change for r in plans[0].refusals] == ["change `b` from BINARY to STRING"]
    assert not any(p.refusals for p in plans[1:])
    for plan in plans:
        migration = apply(plan, made, MemoryJournal(), lambda: 0, run="r", partial=True, approved=True)
        assert migration.state in ("applied", "unchanged")
        assert migration.differences == ()
    assert live_of(made).schema.column("a").type == parse_type("STRING")  # type: ignore[union-attr]


@both
def test_renames_come_first(format: str) -> None:
    made = lake(format, "id INT, a INT")
    later = source("id INT, b TEXT", former_names={"b": ("a",)})
    (refused,) = cook(format, later).make_plans(live_of(made))
    assert "ordinary plan first" in refused.refusals[0].instead


@both
def test_the_policy_may_bar_a_recipe(format: str) -> None:
    made = lake(format, "id INT, a INT")
    barred = Policy(rules=(PolicyRule("block", ("retype",)),))
    (refused,) = cook(format, source("id INT, a TEXT"), policy=barred).make_plans(live_of(made))
    assert "retype = block" in refused.refusals[0].reason


def test_a_delta_table_without_column_mapping_is_upgraded_or_filled_into_a_new_one() -> None:
    plain = LakeTable(
        "/lake/t", parse_columns("id INT, a INT"), "i", "0", {"schemaman.source": "shop.public.t"}
    )
    later = source("id INT, a TEXT")
    plans = cook("delta", later).make_plans(plain)
    assert plans[0].steps[0].step_class == "capability-upgrade"
    assert any("deltalake" in who for who in plans[0].steps[0].hurts)
    assert plans[0].approvals_needed
    (refused,) = cook("delta", later, policy=Policy(upgrades=False)).make_plans(plain)
    assert "--into" in refused.refusals[0].instead
    made, fill = cook("delta", later, policy=Policy(upgrades=False)).make_plans(plain, "/lake/new")
    assert (made.table, fill.table) == ("/lake/new", "/lake/new")
    assert fill.base_identity is None
    assert from_text(to_text(fill)) == fill
    assert "INSERT INTO `delta`.`/lake/new`" in fill.steps[0].statement


@both
def test_a_row_that_came_late_and_cannot_be_converted_keeps_the_names_as_they_are(format: str) -> None:
    """Its new value is NULL, as the conversion's would be: that they are equal says nothing."""
    made = lake(format, "id INT, a TEXT")
    expand, backfill, swap, _ = cook(format, source("id INT, a INT"), exact=("a",)).make_plans(live_of(made))
    done(expand, made)
    done(backfill, made)
    lossless = conversion.write_exactness("`a`", parse_type("STRING"), parse_type("INT"))
    made.counted = lambda query: int(lossless in query)
    with pytest.raises(StalePlan, match="gives 1, not 0"):
        done(swap, made)


def test_rows_without_a_value_that_the_new_table_wants_are_found_before_it_is_filled() -> None:
    free = Policy(rules=(PolicyRule("auto", ("set-not-null", "retype")),))
    made = lake("delta", "id INT NOT NULL, a INT, PRIMARY KEY (id)")
    later = source("id INT NOT NULL, a TEXT NOT NULL, PRIMARY KEY (id)")
    first, fill = cook("delta", later, policy=free).make_plans(live_of(made), "/lake/new")
    assert first.steps[-1].kind == "add-constraint"
    gates = cast("dict[str, int]", fill.steps[0].precondition["counts"])
    assert any("`a` IS NOT NULL" in query for query in gates)
    _, open_fill = cook("delta", later).make_plans(live_of(made), "/lake/new")
    gates = cast("dict[str, int]", open_fill.steps[0].precondition["counts"])
    assert not any("`a` IS NOT NULL" in query for query in gates)


def grouped(query: str) -> str:
    """What a query for keys that several rows have groups the rows by; empty for any other query."""
    return query.partition(" GROUP BY ")[2].partition(" HAVING ")[0]


@both
def test_a_key_whose_converted_values_are_not_one_for_each_row_stops_every_phase(format: str) -> None:
    """`007` and `7` are two texts and one number."""
    made = lake(format, "id STRING NOT NULL, n INT, b STRING NOT NULL, PRIMARY KEY (id, n, b)")
    later = source("id INT NOT NULL, n INT, b INT NOT NULL, PRIMARY KEY (id, n, b)")
    expand, backfill, swap, _ = cook(format, later).make_plans(live_of(made))
    done(expand, made)
    converted = "try_cast(`id` AS INT), `n`, try_cast(`b` AS INT)"
    (unfilled,) = cast("dict[str, int]", backfill.steps[0].postcondition["counts"])
    made.counted = lambda query: int(query == unfilled or grouped(query) == converted)
    with pytest.raises(StalePlan, match=r"GROUP BY .* gives 1, not 0"):
        done(backfill, made)
    made.counted = lambda query: int(query == unfilled and backfill.steps[0].statement not in made.ran)
    done(backfill, made)
    made.counted = lambda query: int(grouped(query) == "`id__new`, `n`, `b__new`")
    with pytest.raises(StalePlan, match="gives 1, not 0"):
        done(swap, made)
    made.counted = lambda _: 0
    done(swap, made)
    # Once before the first step, and again right before each of the names changes.
    gates = [cast("dict[str, int]", step.precondition.get("counts", {})) for step in swap.steps]
    assert [grouped(query) for gate in gates for query in gate if grouped(query)] == [
        *["`id__new`, `n`, `b__new`"] * 3,
        *["`id`, `n`, `b__new`"] * 2,
    ]
    made = lake(format, "id STRING NOT NULL, n INT, b STRING NOT NULL, PRIMARY KEY (id, n, b)")
    new = "/lake/new" if format == "delta" else "ice.raw.new"
    _, fill = cook(format, later).make_plans(live_of(made), new)
    asked = cast("dict[str, int]", fill.steps[0].precondition["counts"])
    assert [grouped(query) for query in asked if grouped(query)] == [converted]


@both
@pytest.mark.parametrize("into", [False, True])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("TIMESTAMP", "TEXT"),
        ("TIMESTAMP_NTZ", "TEXT"),
        ("DATE", "TEXT"),
        ("DECIMAL(38,10)", "NUMERIC"),
        ("DOUBLE", "TEXT"),
        ("BOOLEAN", "TEXT"),
    ],
)
def test_a_key_does_not_become_text_that_writers_spell_otherwise(
    format: str, old: str, new: str, into: bool
) -> None:
    """`1` and `1.0000000000` are one number and two keys: the row would be written a second time."""
    table = {"delta": "/lake/new", "iceberg": "ice.raw.new"}[format] if into else None
    made = lake(format, f"id {old} NOT NULL, a INT, PRIMARY KEY (id)")
    (plan,) = cook(format, source(f"id {new} NOT NULL, a INT, PRIMARY KEY (id)")).make_plans(
        live_of(made), table
    )
    assert plan.steps == ()
    (refused,) = plan.refusals
    assert "a key column" in refused.reason
    assert "snapshot" in refused.instead
    beside = lake(format, f"id INT NOT NULL, a {old}, PRIMARY KEY (id)")
    following = source(f"id INT NOT NULL, a {new}, PRIMARY KEY (id)")
    assert cook(format, following).make_plans(live_of(beside), table)[0].steps


@both
@pytest.mark.parametrize(("old", "new"), [("INT", "TEXT"), ("DECIMAL(20,0)", "TEXT"), ("STRING", "DATE")])
def test_a_key_that_everybody_spells_alike_is_exchanged(format: str, old: str, new: str) -> None:
    made = lake(format, f"id {old} NOT NULL, a INT, PRIMARY KEY (id)")
    plans = cook(format, source(f"id {new} NOT NULL, a INT, PRIMARY KEY (id)")).make_plans(live_of(made))
    assert names(plans) == PHASES


@both
def test_an_exchange_of_a_key_for_text_that_was_begun_is_given_up(format: str) -> None:
    made = lake(format, "id INT NOT NULL, at TIMESTAMP NOT NULL, PRIMARY KEY (id)")
    later = source("id INT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (id)")
    done(cook(format, later).make_plans(live_of(made))[0], made)
    live = live_of(made)
    rekeyed = replace(live, schema=replace(live.schema, key=("id", "at")))
    following = source("id INT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (id, at)")
    (plan,) = cook(format, following).make_plans(rekeyed)
    assert names((plan,)) == ("abandon",)
    assert "a key column" in plan.notes[0]


@both
def test_columns_beside_the_key_are_exchanged_without_asking_for_it(format: str) -> None:
    made = lake(format, "id INT NOT NULL, a INT, PRIMARY KEY (id)")
    plans = cook(format, source("id INT NOT NULL, a TEXT, PRIMARY KEY (id)")).make_plans(live_of(made))
    gates = [step.precondition.get("counts", {}) for plan in plans for step in plan.steps]
    assert not [query for gate in gates for query in cast("dict[str, int]", gate) if grouped(query)]


@both
def test_columns_get_names_that_nobody_has(format: str) -> None:
    made = lake(format, "id INT, a INT, A__NEW INT")
    plans = cook(format, source("id INT, a TEXT, a__old INT, A__NEW INT")).make_plans(live_of(made))
    assert [e.new for e in _exchanges(plans[0])] == ["a__new2"]
    assert [e.old for e in _exchanges(plans[0])] == ["a__old2"]
    assert find_free_name("a", "old", ()) == "a__old"


def _exchanges(expand: Plan):
    told = expand.steps[0].postcondition["properties"]
    assert isinstance(told, dict)
    return read_swaps(LakeTable("t", expand.wanted, "", "", {RECIPE_PROPERTY: told[RECIPE_PROPERTY]}))


@both
@given(life=lives())
def test_recipes_of_any_life_end_where_the_ordinary_plan_wants(
    format: str, life: list[MigrationSource]
) -> None:
    """Whatever the ordinary plan refuses for its type is exchanged in phases, or refused once more."""
    target, table = TARGETS[format]
    made = MemoryTable(table)
    free = Policy(rules=(PolicyRule("auto", ("retype", "upgrade")),))
    for following in life:
        drawn = make_plan(following, made.live, target, table, free)
        if not drawn.steps and made.live is None:
            return
        apply(drawn, made, MemoryJournal(), lambda: 0, run="r", partial=True, approved=True)
        key = live_of(made).schema.key
        values = dict(made.fields)
        plans = cook(format, following, policy=free).make_plans(live_of(made))
        if plans[0].refusals or not plans[0].steps:
            continue
        exchanges = _exchanges(plans[0]) if names(plans)[0] == "expand" else ()
        for plan in plans[:3]:
            done(plan, made)
        for e in exchanges:
            assert made.fields[e.old] == values[e.column]
            assert e.old in read_displaced(live_of(made))
        if exchanges:
            assert live_of(made).schema.key == key
            again = make_plan(following, made.live, target, table, free)
            stuck = {e.column for e in exchanges}
            assert not [r for r in again.refusals if any(f"`{c}` from" in r.change for c in stuck)]


@both
@pytest.mark.parametrize(
    ("later", "why"),
    [
        ("id INT, cost TEXT, b TEXT", "has no column of this name"),
        ("id INT, b TEXT", "has no column of this name"),
        ("id INT, a BIGINT, b TEXT", "wanted type is BIGINT now"),
        ("id INT, a TEXT, b TEXT, a__old DATE", "another column is called `a__old`"),
    ],
)
def test_an_exchange_that_the_source_wants_no_more_is_given_up_and_the_other_goes_on(
    format: str, later: str, why: str
) -> None:
    made = lake(format, "id INT, a INT, b DATE")
    first = cook(format, source("id INT, a TEXT, b TEXT")).make_plans(live_of(made))
    done(first[0], made)
    values, held = dict(made.fields), live_of(made).schema.column("a")
    former = {"cost": ("a",)} if "cost" in later else {}
    following = replace(source(later), former_names=former)
    ordinary = make_plan(following, live_of(made), *TARGETS[format], Policy())
    apply(ordinary, made, MemoryJournal(), lambda: 0, run="r", partial=True, approved=True)
    assert made.fields["a"] == values["a"]
    assert live_of(made).schema.column("a") == held
    (ended,) = cook(format, following).make_plans(live_of(made))
    assert names([ended]) == ("abandon",)
    assert why in ended.notes[0]
    assert len(ended.approvals_needed) == 1
    assert from_text(to_text(ended)) == ended
    done(ended, made)
    assert [e.column for e in read_swaps(live_of(made))] == ["b"]
    assert "a__new" not in live_of(made).schema.names
    assert made.fields["a"] == values["a"]
    left = cook(format, following).make_plans(live_of(made))
    assert names(left) == PHASES[1:]
    for plan in left[:2]:
        done(plan, made)
    for _ in range(2):
        ordinary = make_plan(following, live_of(made), *TARGETS[format], Policy())
        apply(ordinary, made, MemoryJournal(), lambda: 0, run="r", partial=True, approved=True)
        for plan in cook(format, following).make_plans(live_of(made)):
            if names([plan]) != ("contract",):
                done(plan, made)
    assert not make_plan(following, live_of(made), *TARGETS[format], Policy()).refusals
    assert values["a"] in made.fields.values()


@both
def test_an_exchange_of_one_column_of_a_narrower_type_goes_on_without_the_word(format: str) -> None:
    made = lake(format, "id INT, a BIGINT")
    following = source("id INT, a INT")
    done(cook(format, following, exact=("a",)).make_plans(live_of(made))[0], made)
    assert names(cook(format, following).make_plans(live_of(made))) == PHASES[1:]


@both
def test_an_exchange_may_be_given_up_as_long_as_no_names_change(format: str) -> None:
    made = lake(format, "id INT, a INT")
    following = source("id INT, a TEXT")
    assert cook(format, following).plan_abandon(live_of(made))[0].notes == ("no column swap is in progress",)
    expand, _, swap, _ = cook(format, following).make_plans(live_of(made))
    done(expand, made)
    (ended,) = cook(format, following).plan_abandon(live_of(made))
    made.before = _dying_at(swap.steps[1].statement)
    with pytest.raises(Crash):
        done(swap, made)
    made.before = lambda _: None
    assert "schemaman resume" in cook(format, following).plan_abandon(live_of(made))[0].refusals[0].instead
    with pytest.raises(StalePlan):
        done(ended, made)
    barred = Policy(rules=(PolicyRule("block", ("retype",)),))
    again = lake(format, "id INT, a INT")
    done(expand, again)
    (ended,) = cook(format, following, policy=barred).make_plans(live_of(again))
    assert "the policy no longer allows it" in ended.notes[0]
    done(ended, again)
    assert live_of(again).schema.names == ("id", "a")
    assert not read_swaps(live_of(again))


@both
def test_an_expansion_that_stopped_half_way_is_planned_from_where_it_stands(format: str) -> None:
    made = lake(format, "id INT, a INT")
    following = source("id INT, a TEXT")
    expand = cook(format, following).make_plans(live_of(made))[0]
    made.before = _dying_at(expand.steps[-1].statement)
    with pytest.raises(Crash):
        done(expand, made)
    made.before = lambda _: None
    assert read_swaps(live_of(made))
    plans = cook(format, following).make_plans(live_of(made))
    assert names(plans) == PHASES
    for plan in plans:
        done(plan, made)
    assert live_of(made).schema.names == ("id", "a")


@both
def test_what_the_source_calls_like_a_new_column_is_not_thrown_away(format: str) -> None:
    made = lake(format, "id INT, a INT")
    done(cook(format, source("id INT, a TEXT")).make_plans(live_of(made))[0], made)
    (plan,) = cook(format, source("id INT, a BIGINT, a__new TEXT")).make_plans(live_of(made))
    assert plan.steps == ()
    assert "its values may be in that column" in plan.refusals[0].reason


def _dying_at(statement: str):
    def die(sent: str) -> None:
        if sent == statement:
            raise Crash

    return die


@both
@given(life=lives(), data=st.data())
def test_a_source_may_move_on_amid_an_exchange(format: str, life: list[MigrationSource], data) -> None:
    """However far an exchange came, ordinary plans and recipes come to an end; no value is lost before."""
    target, table = TARGETS[format]
    made = MemoryTable(table)
    free = Policy(rules=(PolicyRule("auto", ("retype", "upgrade")),))
    for number, following in enumerate(life):
        rounds = data.draw(st.integers(0, 3)) if number < len(life) - 1 else 9
        for _ in range(rounds):
            drawn = make_plan(following, made.live, target, table, free)
            if not drawn.steps and made.live is None:
                return
            apply(drawn, made, MemoryJournal(), lambda: 0, run="r", partial=True, approved=True)
            before = set(made.fields.values())
            plans = cook(format, following, policy=free).make_plans(live_of(made))
            if plans[0].refusals or not plans[0].steps:
                break
            fresh = {made.fields[e.new] for e in read_swaps(live_of(made)) if e.new in made.fields}
            done(plans[0], made)
            (phase,) = names(plans[:1])
            gone = before - set(made.fields.values())
            assert phase == "contract" or gone <= (fresh if phase == "abandon" else set())
            if phase == "backfill":
                for plan in plans[1:]:
                    done(plan, made)
        else:
            assert number < len(life) - 1, "no end of plans"


@given(pair=st.tuples(*[st.sampled_from(
    ["INT", "BIGINT", "DECIMAL(10,2)", "DOUBLE", "STRING", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "BOOLEAN",
     "BINARY", "ARRAY<INT>", "ARRAY<STRING>", "MAP<STRING, INT>", "MAP<STRING, STRING>", "STRUCT<a: INT>",
     "STRUCT<a: STRING, b: INT>"]
)] * 2))  # fmt: skip
def test_a_conversion_is_written_whenever_there_is_one(pair) -> None:
    old, new = map(parse_type, pair)
    if conversion.is_convertible(old, new):
        assert conversion.write_conversion("`a`", old, new)
        assert conversion.write_exactness("`a`", old, new)
    else:
        assert old != new
