"""Policy: which rule decides, what no rule can do, and what the levels make of a plan."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from schemaman.debezium.records import Coordinates
from schemaman.errors import BadConfiguration
from schemaman.history.versions import RenameCandidate, Revision, SchemaVersion, TableHistory
from schemaman.migration.apply.apply import apply
from schemaman.migration.plan import (
    MigrationSource,
    Plan,
    Policy,
    PreviousVersion,
)
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import (
    ANY,
    DEFAULTS,
    DESTRUCTIVE,
    KINDS,
    LEVELS,
    MEANINGS,
    NEVER,
    PROFILES,
    Level,
    PolicyRule,
    Profile,
    list_names,
)
from schemaman.migration.source import migration_source
from schemaman.migration.target import LakeTable
from schemaman.model.column_list import parse_columns
from schemaman.model.schema import TableId, fingerprint
from schemaman.report.document import Grid
from schemaman.report.views.plans import build_plan_blocks
from tests.support import plans
from tests.support.memory_lake import MemoryJournal, MemoryTable
from tests.support.plans import TARGETS, both

TABLE = "shop.app.public.orders"

PATTERNS = st.sampled_from([ANY, "orders", "public.orders", "public.*", "*.orders", TABLE, "other", "o?ders"])
WORDS = st.sampled_from([ANY, "raw", "delta", "iceberg"])
CHANGES = st.sampled_from([ANY, "rename-*", *KINDS])


def _is_possible(rule: PolicyRule) -> bool:
    """Whether each kind that a rule names may have its level."""
    return not any(kind in rule.changes and rule.level in barred for kind, barred in NEVER.items())


RULES: st.SearchStrategy[PolicyRule] = st.builds(
    PolicyRule,
    st.sampled_from(LEVELS),
    st.lists(CHANGES, min_size=1, max_size=2).map(tuple),
    st.lists(PATTERNS, min_size=1, max_size=2).map(tuple),
    st.lists(WORDS, min_size=1, max_size=2).map(tuple),
    st.sampled_from(["[[policy]] 1", "[[policy]] 2"]),
).filter(_is_possible)
POLICIES = st.builds(
    Policy,
    st.sampled_from(["keep", "drop"]),
    st.booleans(),
    st.booleans(),
    st.lists(RULES, max_size=5).map(tuple),
)


def source(ddl: str, **facts) -> MigrationSource:
    return plans.source(ddl, table=TABLE, **facts)


def plan(format: str, following: MigrationSource, live: LakeTable | None, **levels: Level) -> Plan:
    target, table = TARGETS[format]
    rules = tuple(PolicyRule(level, (kind.replace("_", "-"),)) for kind, level in levels.items())
    return make_plan(following, live, target, table, Policy(rules=rules))


def lake(format: str, ddl: str, **facts) -> MemoryTable:
    made = MemoryTable(TARGETS[format][1])
    apply(plan(format, source(ddl, **facts), None), made, MemoryJournal(), lambda: 0, run="r")
    assert made.live is not None
    return made


# Which rule decides.


@given(policy=POLICIES, kind=st.sampled_from(KINDS))
def test_the_order_of_rules_means_nothing(policy: Policy, kind) -> None:
    told = policy.find_ruling(kind, TABLE, "raw", "delta")
    turned = replace(policy, rules=policy.rules[::-1])
    assert turned.find_ruling(kind, TABLE, "raw", "delta") == told


@given(policy=POLICIES, kind=st.sampled_from(KINDS))
def test_what_destroys_is_automatic_only_by_its_own_name(policy: Policy, kind) -> None:
    named = any(kind in rule.changes and rule.level == "auto" for rule in policy.rules)
    level = policy.find_ruling(kind, TABLE, "raw", "delta").level
    assert level not in NEVER.get(kind, ())
    if kind in DESTRUCTIVE and not named:
        assert level != "auto"


@given(policy=POLICIES, rule=RULES, kind=st.sampled_from(KINDS))
def test_a_rule_for_exactly_this_place_decides_and_only_a_stricter_one_can_stand_beside_it(
    policy: Policy, rule: PolicyRule, kind
) -> None:
    assume(rule.level not in NEVER.get(kind, ()))
    exact = replace(rule, changes=(kind,), tables=(TABLE,), targets=("raw",))
    rivals = [
        r for r in policy.rules if TABLE in r.tables and "raw" in r.targets and kind in r.changes
    ]  # as narrow as can be
    told = replace(policy, rules=(*policy.rules, exact)).find_ruling(kind, TABLE, "raw", "delta").level
    assert told == max((r.level for r in (*rivals, exact)), key=LEVELS.index)


@given(policy=POLICIES, kind=st.sampled_from(KINDS))
def test_rules_for_other_tables_and_targets_say_nothing(policy: Policy, kind) -> None:
    names = (TABLE, "app.public.orders", "public.orders", "orders")
    meant = tuple(
        r
        for r in policy.rules
        if any(fnmatchcase(n, p) for n in names for p in r.tables)
        and {ANY, "raw", "delta"} & set(r.targets)
        and any(fnmatchcase(kind, p) for p in r.changes)
    )
    less = replace(policy, rules=meant)
    assert less.find_ruling(kind, TABLE, "raw", "delta") == policy.find_ruling(kind, TABLE, "raw", "delta")


def test_the_narrower_table_wins_then_the_target_then_the_kind() -> None:
    def level(*rules: PolicyRule) -> Level:
        return Policy(rules=rules).find_ruling("drop-column", TABLE, "raw", "delta").level

    wide, narrow = PolicyRule("block", tables=("public.*",)), PolicyRule("ignore", tables=("orders",))
    assert level(wide, narrow) == "ignore"
    longer = PolicyRule("approve", tables=("public.orders",))
    assert level(wide, narrow, longer) == "approve"
    named = PolicyRule("block", ("drop-column",), targets=("delta",))
    assert level(named, longer) == "approve"
    assert level(named, PolicyRule("approve", targets=("raw",))) == "approve"
    assert level(PolicyRule("block"), PolicyRule("approve", ("drop-column",))) == "approve"
    assert level(PolicyRule("approve", ("drop-column",)), PolicyRule("ignore", ("drop-column",))) == "ignore"


def test_without_rules_the_defaults_hold_and_the_short_words_change_them() -> None:
    assert {kind: Policy().find_ruling(kind, TABLE, "delta").level for kind in KINDS} == dict(DEFAULTS)
    assert Policy(drops="drop").find_ruling("drop-column", TABLE, "delta").level == "approve"
    assert Policy(comments=False).find_ruling("change-comment", TABLE, "delta").level == "ignore"
    assert Policy(upgrades=False).find_ruling("upgrade", TABLE, "delta").level == "block"
    strict = Policy(drops="drop", rules=(PolicyRule("block", ("drop-*",)),))
    assert strict.find_ruling("drop-column", TABLE, "delta").why == "drop-column = block, from a rule"


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_has_a_level_for_each_kind_and_rules_override_it(profile: Profile) -> None:
    levels = PROFILES[profile]
    assert levels.keys() == set(KINDS)
    assert all(level not in NEVER.get(kind, ()) for kind, level in levels.items())
    found = Policy(profile=profile).list_levels()
    assert {ruling.kind: ruling.level for ruling in found} == levels
    assert all(("by default" in r.why) == (profile == "careful") for r in found)
    strict = Policy(profile=profile, rules=(PolicyRule("block", ("change-key",), ("t",)),))
    assert strict.find_ruling("change-key", TABLE, "delta").level == levels["change-key"]
    assert strict.find_ruling("change-key", "db.t", "delta").level == "block"


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(BadConfiguration, match="no profile 'autopilt'") as refused:
        Policy(profile="autopilt")  # type: ignore[arg-type]
    assert refused.value.hint == "did you mean autopilot?"


def test_every_default_is_a_level_that_the_kind_can_have() -> None:
    assert DEFAULTS.keys() == set(KINDS)
    assert all(level not in NEVER.get(kind, ()) for kind, level in DEFAULTS.items())
    assert not [kind for kind in DESTRUCTIVE if DEFAULTS[kind] == "auto"]


@given(st.lists(st.text('ab.":@ ', min_size=1, max_size=4), min_size=4, max_size=4))
def test_a_pattern_means_any_end_of_a_name_however_it_is_quoted(parts: list[str]) -> None:
    table = TableId(*parts)
    assert ".".join(parts[2:]) in list_names(str(table))
    assert parts[3] in list_names(str(replace(table, stream="dev:1")))


# What a level makes of a plan.


@both
def test_a_change_is_made_asked_for_left_out_or_refused(format: str) -> None:
    made = lake(format, "id INT, PRIMARY KEY (id)")
    later = source("id INT, a INT, PRIMARY KEY (id)")
    assert plan(format, later, made.live, add_column="auto").approvals_needed == ()
    asked = plan(format, later, made.live, add_column="approve")
    assert [s.kind for s in asked.steps] == ["add-columns", "set-properties"]
    assert asked.approvals_needed[0].endswith("(add-column = approve, from a rule)")
    for level in ("ignore", "quarantine", "block"):
        left = plan(format, later, made.live, add_column=level)
        assert left.steps == ()
        assert [(r.change, r.path, r.level) for r in left.rulings] == [("add `a` INT", ("a",), level)]
        assert bool(left.refusals) == (level == "block")
        assert bool(left.notes) == (level != "block")
    blocked = plan(format, later, made.live, add_column="block").refusals[0]
    assert blocked.reason == "the policy blocks it: add-column = block, from a rule"
    assert 'add-column = "approve"' in blocked.instead


@both
def test_one_statement_waits_for_approval_if_any_of_its_changes_does(format: str) -> None:
    made = lake(format, "id INT, a INT, PRIMARY KEY (id)")
    past = (PreviousVersion("x" * 12, {}, {"id": "id", "b": None}),)
    drawn = plan(format, source("id INT, a INT, b INT, c INT, PRIMARY KEY (id)", past=past), made.live)
    assert drawn.steps[0].kind == "add-columns"
    assert drawn.approvals_needed[0].endswith("(reuse-name = approve by default)")


@both
@pytest.mark.parametrize("level", ["approve", "ignore", "quarantine", "block"])
def test_a_new_table_is_a_change_too(format: str, level: Level) -> None:
    drawn = plan(format, source("id INT"), None, new_table=level)
    assert bool(drawn.steps) == (level == "approve") == bool(drawn.approvals_needed)
    assert bool(drawn.refusals) == (level == "block")


@both
def test_a_column_that_left_is_kept_dropped_or_refused(format: str) -> None:
    made = lake(format, "id INT, a INT, PRIMARY KEY (id)")
    past = (PreviousVersion("x" * 12, {}, {"id": "id", "a": None}),)
    later = source("id INT, PRIMARY KEY (id)", past=past)
    kept = plan(format, later, made.live)
    assert [s.kind for s in kept.steps if s.kind != "set-properties"] == []
    assert "drop-column = ignore by default" in kept.notes[0]
    dropped = plan(format, later, made.live, drop_column="approve")
    assert "drop-columns" in [s.kind for s in dropped.steps]
    assert dropped.approvals_needed
    assert plan(format, later, made.live, drop_column="block").refusals


@both
def test_another_policy_alone_drops_nothing(format: str) -> None:
    made = lake(format, "id INT, a INT, b INT, PRIMARY KEY (id)")
    past = (PreviousVersion("x" * 12, {}, {"id": "id", "a": None, "b": "b"}),)
    later = source("id INT, b INT, PRIMARY KEY (id)", past=past)
    kept = plan(format, later, made.live)
    assert kept.steps[0].kind == "set-properties"
    apply(kept, made, MemoryJournal(), lambda: 0, run="r")
    assert plan(format, later, made.live).steps == ()
    eager = plan(format, later, made.live, drop_column="auto")
    assert "another policy alone drops nothing" in eager.approvals_needed[0]
    both_left = (*past, PreviousVersion("y" * 12, {"at": 2}, {"id": "id", "b": None}))
    now = plan(format, source("id INT, PRIMARY KEY (id)", past=both_left), made.live, drop_column="auto")
    assert len(now.approvals_needed) == 1
    apart = lake(format, "id INT, a INT, PRIMARY KEY (id)")
    past = (PreviousVersion("x" * 12, {}, {"id": "id", "a": None}),)
    fresh = plan(format, source("id INT, PRIMARY KEY (id)", past=past), apart.live, drop_column="auto")
    assert "drop-columns" in [s.kind for s in fresh.steps]
    assert fresh.approvals_needed == ()


@both
def test_integers_become_decimals_only_with_approval_and_only_where_the_format_does_it(format: str) -> None:
    made = lake(format, "id INT, n INT, PRIMARY KEY (id)")
    drawn = plan(format, source("id INT, n DECIMAL(12,2), PRIMARY KEY (id)"), made.live)
    kind = "integer-to-decimal" if format == "delta" else "retype"
    assert [(r.kind, r.level) for r in drawn.rulings] == [(kind, "approve")]
    assert bool(drawn.approvals_needed) == (format == "delta")


@both
def test_a_key_change_names_the_rule_that_blocks_it(format: str) -> None:
    made = lake(format, "id INT NOT NULL, n INT NOT NULL, PRIMARY KEY (id)")
    later = source("id INT NOT NULL, n INT NOT NULL, PRIMARY KEY (n)")
    assert "change-key = block by default" in plan(format, later, made.live).refusals[0].reason
    ignored = plan(format, later, made.live, change_key="ignore")
    assert ignored.refusals == ()
    assert "merged by the old key" in ignored.notes[0]


@both
def test_a_layout_column_changes_its_type_only_by_its_own_rule(format: str) -> None:
    made = lake(format, "id INT, n INT, PRIMARY KEY (id)")
    assert made.live is not None
    live = replace(made.live, layout=("n",))
    later = source("id INT, n BIGINT, PRIMARY KEY (id)")
    assert "change-layout-column = block" in plan(format, later, live).refusals[0].reason
    assert plan(format, later, live, change_layout_column="auto").steps


@both
def test_a_rename_that_is_not_made_leaves_both_names_alone(format: str) -> None:
    made = lake(format, "id INT, a INT, PRIMARY KEY (id)")
    later = source("id INT, b INT, PRIMARY KEY (id)", former_names={"b": ("a",)})
    for level in ("ignore", "quarantine", "block"):
        drawn = plan(format, later, made.live, rename_stated=level)
        assert drawn.steps == ()
        assert drawn.wanted.names == ("id", "a")
    assert plan(format, later, made.live, rename_stated="approve").approvals_needed


@both
def test_a_proven_rename_is_planned_with_approval_and_only_where_that_is_asked_for(format: str) -> None:
    first = _version(1, "id INT ID 1, a INT ID 2, z INT ID 3, PRIMARY KEY (id)")
    asked = RenameCandidate("a", "b", "proven", ())
    second = _version(2, "id INT ID 1, b INT ID 4, z INT ID 3, PRIMARY KEY (id)", asked)
    history = TableHistory(TableId("shop", "app", "public", "orders"), "postgresql", (first, second))
    made = lake(format, "id INT, a INT, z INT, PRIMARY KEY (id)")
    assert "rename not decided" in plan(format, migration_source(history), made.live).refusals[0].reason
    known = migration_source(history, proven=True)
    assert (known.proven, known.unanswered, known.former_names) == (("b",), (), {"b": ("a",)})
    drawn = plan(format, known, made.live)
    assert drawn.refusals == ()
    assert "rename-proven = approve by default" in drawn.approvals_needed[0]
    assert plan(format, known, made.live, rename_proven="auto").approvals_needed == ()
    assert migration_source(history, {("a", "b"): False}, proven=True).proven == ()


def _version(number: int, ddl: str, *candidates: RenameCandidate) -> SchemaVersion:
    schema = parse_columns(ddl)
    at = Coordinates("t", 0, number)
    return SchemaVersion(
        number, fingerprint(schema), 1, "confirmed", (Revision(0, schema, at),), None, at, None, 1, (), (),
        candidates,
    )  # fmt: skip


@both
def test_a_type_that_the_connector_may_have_made_asks_first(format: str) -> None:
    made = lake(format, "id INT, n INT, PRIMARY KEY (id)")
    later = source("id INT, n BIGINT, PRIMARY KEY (id)", unsure_types=("n",))
    assert "change-representation = approve" in plan(format, later, made.live).approvals_needed[0]
    assert plan(format, replace(later, unsure_types=()), made.live).approvals_needed == ()


def test_every_kind_is_explained() -> None:
    assert MEANINGS.keys() == set(KINDS)


def test_the_report_says_why_a_change_is_blocked() -> None:
    made = lake("delta", "id INT, PRIMARY KEY (id)")
    drawn = plan("delta", source("id INT, a INT, PRIMARY KEY (id)"), made.live, add_column="block")
    grids = [
        block for block in build_plan_blocks(drawn) if isinstance(block, Grid) and block.caption == "Policy"
    ]
    assert [[cell[0].text for cell in row] for row in grids[0].rows] == [
        ["add `a` INT", "block", "add-column = block, from a rule"]
    ]


@both
def test_a_table_of_an_ended_life_is_refused_or_left_as_the_policy_says(format: str) -> None:
    made = lake(format, "id INT, PRIMARY KEY (id)", began={"at": 1})
    assert made.live is not None
    ended = (PreviousVersion(made.live.properties["schemaman.version"], {"at": 1}),)
    later = source("id INT, b INT, PRIMARY KEY (id)", began={"at": 2}, ended=ended)
    refused = plan(format, later, made.live)
    assert "drop-table = block by default" in refused.refusals[0].reason
    left = plan(format, later, made.live, drop_table="ignore", rename_table="ignore")
    assert (left.steps, left.refusals) == ((), ())
    assert "another one has its name" in left.notes[0]
