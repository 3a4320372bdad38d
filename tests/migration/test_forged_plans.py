"""A plan file that somebody edited does not run, though its hash was computed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.errors import BadReference, StalePlan
from schemaman.migration import spark_sql as sql
from schemaman.migration.approvals import list_missing_approvals
from schemaman.migration.conditions import fingerprint_structure
from schemaman.migration.filled_columns import list_unfounded_fills
from schemaman.migration.plan import (
    MigrationSource,
    Phase,
    PhaseName,
    Plan,
    Policy,
    PolicyDecision,
    PreviousVersion,
    Step,
    StepKind,
)
from schemaman.migration.plan_file import from_text, to_text
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import PolicyRule
from schemaman.migration.recipes.move_table import plan_move
from schemaman.migration.rename_grounds import RenameGrounds
from schemaman.migration.sql_reader import SqlReader, UnreadableSql
from schemaman.migration.statement_check import find_structure_after, require_own_statements
from schemaman.migration.target import LakeTable, LakeType
from schemaman.migration.targets import delta, iceberg
from schemaman.model.column_list import parse_columns
from tests.support.command_line import place
from tests.support.memory_commands import Commands, commands
from tests.support.strategies import TEXTS, TYPES

__all__ = ["commands", "place"]

TABLE = "/lake/orders"
OTHER = "`delta`.`/lake/customers`"
DROPS = Policy(drops="drop")
FEATURES = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
KEY = b"0123456789abcdef"


def plan_for(before: str | None, after: str, policy: Policy = DROPS) -> Plan:
    names: dict[str, dict[str, str | None]] = {
        "v1": {"id": "id", "old": None},
        "v2": {"id": "id", "name": "name"},
    }
    past = tuple(PreviousVersion(id, {}, columns) for id, columns in names.items())
    source = MigrationSource("shop.public.orders", 2, "v2", 0, parse_columns(after), past=past)
    lake = None
    if before is not None:
        properties = {"schemaman.source": source.table, "schemaman.version": "v1", **FEATURES}
        lake = LakeTable(TABLE, parse_columns(before), "id-1", "3", properties)
    return make_plan(source, lake, delta.TARGET, TABLE, policy)


def with_step(plan: Plan, number: int, **changes: object) -> Plan:
    """The plan with one step edited, as it comes back from a file whose hash fits."""
    steps = list(plan.steps)
    steps[number] = replace(steps[number], **changes)  # type: ignore[arg-type]
    return from_text(to_text(replace(plan, steps=tuple(steps))))


def step_of(plan: Plan, kind: str) -> int:
    return next(n for n, step in enumerate(plan.steps) if step.kind == kind)


PLANS = {
    "create": plan_for(None, "id INT NOT NULL, name STRING"),
    "alter": plan_for("id INT, old STRING", "id BIGINT, name STRING"),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_of_ours_passes_with_and_without_a_file(name: str) -> None:
    plan = PLANS[name]
    assert plan.steps
    assert not plan.refusals
    require_own_statements(plan)
    require_own_statements(from_text(to_text(plan)))


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize(
    "statement",
    [
        f"ALTER TABLE {OTHER} SET TBLPROPERTIES ('x' = 'y')",
        f"DROP TABLE {OTHER}",
        "DROP TABLE `delta`.`/lake/orders`",
        f"DELETE FROM {OTHER}",
        "SELECT reflect('java.lang.System', 'getenv')",
        "",
    ],
)
def test_no_step_runs_another_statement(name: str, statement: str) -> None:
    for number in range(len(PLANS[name].steps)):
        with pytest.raises(StalePlan, match=f"was edited after it was made: step {number + 1}, "):
            require_own_statements(with_step(PLANS[name], number, statement=statement))


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("tail", ["; DROP TABLE x", " -- x", "/* x */", " ", "\n"])
def test_nothing_stands_behind_a_statement(name: str, tail: str) -> None:
    for number, step in enumerate(PLANS[name].steps):
        with pytest.raises(StalePlan):
            require_own_statements(with_step(PLANS[name], number, statement=step.statement + tail))


def test_a_statement_has_the_effect_that_its_step_promises() -> None:
    plan = PLANS["alter"]
    dropped = step_of(plan, "drop-columns")
    with pytest.raises(StalePlan, match="not the one that the steps lead to"):
        require_own_statements(
            with_step(plan, dropped, statement=plan.steps[dropped].statement.replace("`old`", "`id`"))
        )
    without = {k: v for k, v in plan.steps[dropped].postcondition.items() if k != "structure"}
    with pytest.raises(StalePlan, match="its postcondition has no structure"):
        require_own_statements(with_step(plan, dropped, postcondition=without))


@pytest.mark.parametrize(
    "key", ["delta.logRetentionDuration", "delta.appendOnly", "x", "schemaman.store", "schemaman.truncated"]
)
def test_no_plan_sets_a_property_that_is_not_ours(key: str) -> None:
    plan = PLANS["alter"]
    number = step_of(plan, "set-properties")
    properties = {key: "0"}
    forged = with_step(
        plan,
        number,
        statement=sql.set_properties("`delta`.`/lake/orders`", properties),
        postcondition={**plan.steps[number].postcondition, "properties": properties},
    )
    with pytest.raises(StalePlan, match=f"no plan sets the property '{key}'"):
        require_own_statements(forged)


@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE x",
        "SELECT count(*) FROM `t` WHERE reflect('a', 'b') = 1",
        "SELECT count(*) FROM `t` WHERE x1 = 1; x",
    ],
)
def test_a_condition_asks_nothing_but_counts(query: str) -> None:
    plan = PLANS["alter"]
    forged = with_step(plan, 0, precondition={**plan.steps[0].precondition, "counts": {query: 0}})
    with pytest.raises(StalePlan):
        require_own_statements(forged)


@pytest.mark.parametrize("words", ["(SELECT max(`x`) FROM `secrets`)", "reflect('a', 'b')", "`a` -- "])
def test_an_expression_holds_conversions_alone(words: str) -> None:
    step = Step(
        "backfill",
        f"UPDATE `delta`.`/lake/orders` SET `a` = {words} WHERE true",
        "needs-rewrite",
        "no",
        {},
        {},
    )
    with pytest.raises(StalePlan):
        require_own_statements(replace(PLANS["alter"], steps=(step,)))


@given(TYPES, st.none() | TEXTS)
def test_what_is_written_is_read_back(type: object, comment: str | None) -> None:
    held = delta.TARGET.hold_type(type)  # type: ignore[arg-type]
    if not isinstance(held, LakeType):
        return
    column = parse_columns("a INT").columns[0]
    column = replace(column, type=held.type, comment=comment)
    reader = SqlReader(sql.add_columns("t", [(("s", "a"), column)]))
    reader.take("ALTER TABLE t ADD COLUMNS (")
    assert sql.add_columns("t", [(("s", "a"), replace(column, type=held.type))]).endswith(")")
    path, read, said = reader.column()
    reader.take(")")
    reader.end()
    assert (path, sql.type_name(read), said) == (("s", "a"), sql.type_name(held.type), comment or None)


@pytest.mark.parametrize("text", ["'${env:X}'", "'\\x'", "'a", "'a' 'b'"])
def test_a_literal_is_one_that_is_written_here(text: str) -> None:
    reader = SqlReader(text)
    with pytest.raises(UnreadableSql):  # noqa: PT012
        reader.literal()
        reader.end()


def test_an_approval_that_was_taken_out_of_the_file_is_asked_for_all_the_same() -> None:
    plan = PLANS["alter"]
    assert list_missing_approvals(plan, DROPS) == ()
    forged = from_text(to_text(replace(plan, approvals_needed=())))
    (missing,) = list_missing_approvals(forged, DROPS)
    assert missing.startswith(
        "drop-columns: ALTER TABLE `delta`.`/lake/orders` DROP COLUMNS (`old`) (drop-column"
    )
    allowed = Policy(rules=(PolicyRule("auto", ("drop-column",)),))
    assert list_missing_approvals(forged, allowed) == ()


def test_no_phase_takes_a_step_out_of_the_policy() -> None:
    """A rollback undoes with approval what was made with approval; a file can call anything a rollback."""
    name = "`delta`.`/lake/orders`"
    statement = sql.update_rows(name, [("name", "NULL")], "true")
    emptied = Step("backfill", statement, "none", "reversible", {}, {})
    phases: tuple[PhaseName, ...] = ("rollback", "backfill", "abandon", "fill")
    for phase in phases:
        plan = replace(PLANS["alter"], steps=(emptied,), phase=Phase(phase, 1, 1, ""), approvals_needed=())
        (missing,) = list_missing_approvals(plan, Policy())
        assert missing.startswith("backfill: UPDATE")


def test_the_policy_of_another_source_or_target_does_not_hold() -> None:
    lax = PolicyRule("auto", ("drop-column",), ("*.scratch",))
    dev = PolicyRule("auto", ("drop-column",), targets=("dev",))
    policy = Policy(rules=(lax, dev))
    plan = replace(PLANS["alter"], approvals_needed=())
    true = ({plan.source.table}, {"prod"})
    for forged in (
        replace(plan, source=replace(plan.source, table="shop.public.scratch")),
        replace(plan, target="dev"),
    ):
        assert list_missing_approvals(forged, policy) == ()
        (missing,) = list_missing_approvals(forged, policy, *true)
        assert missing.startswith("drop-columns")


def test_apply_asks_the_table_and_the_settings_whose_policy_holds(commands: Commands) -> None:
    rules = '[[policy]]\ntables = "*.scratch"\ndrop-column = "auto"\n'
    rules += '[[policy]]\ntargets = "dev"\ndrop-column = "auto"\n'
    rules += '[[target]]\nname = "dev"\nformat = "iceberg"\ntables = "other.*"\ntable = "ice.dev.{table}"\n'
    commands.settings(more=rules)
    columns = (("id", "INT"), ("net", "INT"))
    commands.learns(commands.table(columns, type="CREATE"))
    assert commands.moved().code == 0
    commands.learns(commands.table(columns[:1]))
    Path("schemaman.toml").write_text(Path("schemaman.toml").read_text().replace("*.scratch", "app.*"))
    assert commands("plan", "orders", "-o", "q.plan.json").code == 0
    commands.settings(more=rules)
    plan = from_text(Path("q.plan.json").read_text())
    assert not plan.approvals_needed
    # a catalogue that ignores case finds the same table, and no target has the address
    commands.lake.tables["ICE.raw.orders"] = commands.lake.table("ice.raw.orders")
    steps = tuple(replace(s, statement=s.statement.replace("`ice`", "`ICE`")) for s in plan.steps)
    spelled = replace(plan, target="dev", table="ICE.raw.orders", steps=steps)
    for forged in (
        replace(plan, source=replace(plan.source, table="srv.app.scratch")),
        replace(plan, target="dev"),
        spelled,
    ):
        Path("f.plan.json").write_text(to_text(forged))
        refused = commands("apply", "f.plan.json")
        assert (refused.code, "needs approval: drop-columns" in refused.out + refused.err) == (1, True)
    assert "net" in commands.live().schema.names


def test_a_signed_plan_is_read_with_its_key_alone() -> None:
    plan = PLANS["alter"]
    signed = to_text(plan, KEY)
    assert from_text(signed, KEY) == from_text(signed) == plan
    for text, key in [
        (to_text(plan), KEY),
        (signed, b"another key of 16"),
        (to_text(replace(plan, approvals_needed=())), KEY),
    ]:
        with pytest.raises(StalePlan, match="is not signed with this key"):
            from_text(text, key)


@pytest.mark.parametrize(
    "table", ["/lake/${env:SECRET}", "s3://b/${x}", "delta.`/l/${x}`", "lake.`${x}`", "${x}"]
)
def test_a_table_that_spark_would_call_otherwise_is_refused(table: str) -> None:
    targets: Mapping[str, object] = {"delta": delta.TARGET, "iceberg": iceberg.TARGET}
    for target in targets.values():
        with pytest.raises(BadReference, match="Spark would take"):
            target.table_name(table)  # type: ignore[attr-defined]


def edited(plan: Plan, renames: Sequence[tuple[str, str]]) -> Plan:
    """The plan with renames of columns in front of its steps, consistent in itself, that asks for nothing."""
    assert plan.base_schema is not None
    name, steps = "`ice`.`raw`.`orders`", list[Step]()
    added = [
        Step(
            "rename-column",
            f"ALTER TABLE {name} RENAME COLUMN `{a}` TO `{b}`",
            "metadata",
            "reversible",
            {},
            {},
        )
        for a, b in renames
    ]
    schema = plan.base_schema
    for step in (*added, *plan.steps):
        before, schema = schema, find_structure_after(plan, step, schema)
        after = {**step.postcondition, "structure": fingerprint_structure(schema)}
        steps.append(
            replace(step, precondition={"structure": fingerprint_structure(before)}, postcondition=after)
        )
    return replace(plan, steps=tuple(steps), wanted=schema, approvals_needed=(), rulings=())


def test_a_rename_that_no_history_states_is_asked_for(commands: Commands) -> None:
    columns = [("id", "INT"), ("a", "INT"), ("b", "INT")]
    commands.learns(commands.table(columns, type="CREATE"))
    assert commands.moved().code == 0
    commands.learns(commands.table([*columns, ("c", "INT")]))
    assert commands("plan", "orders", "-o", "q.plan.json").code == 0
    plan = from_text(Path("q.plan.json").read_text())
    for renames in ([("a", "t"), ("b", "a"), ("t", "b")], [("a", "d")], [("a", "a__old")]):
        Path("f.plan.json").write_text(to_text(edited(plan, renames)))
        refused = commands("apply", "f.plan.json")
        assert (refused.code, "needs approval: rename-column" in refused.out + refused.err) == (1, True)
    assert commands("apply", "q.plan.json").code == 0
    assert commands.live().schema.names == ("id", "a", "b", "c")
    # what a statement states is made without a question, in both directions
    commands.learns(
        commands.table(
            [("id", "INT"), ("d", "INT"), ("b", "INT"), ("c", "INT")], ddl="ALTER TABLE orders CHANGE a d INT"
        )
    )
    assert commands("plan", "orders", "-o", "r.plan.json").code == 0
    assert commands("apply", "r.plan.json").code == 0
    assert commands.live().schema.names == ("id", "d", "b", "c")


@pytest.mark.parametrize(("path", "new", "kind"), [
    (("s", "a"), "b", "rename-stated"),
    (("s", "b"), "a", "rename-stated"),
    (("s", "a"), "c", "rename-suspected"),
    (("A-b",), "a_b", "rename-stated"),
    (("x",), "y", "rename-proven"),
])  # fmt: skip
def test_grounds_of_renames(path: tuple[str, ...], new: str, kind: str) -> None:
    step = Step("rename-column", sql.rename_column("t", path, new), "metadata", "reversible", {}, {})
    grounds = RenameGrounds(proven=frozenset({("x", "y")}), fields=frozenset({("a", "b"), ("b", "a")}))
    assert [*grounds.list_kinds(replace(PLANS["alter"], steps=(step,))).values()] == [kind]


def test_no_class_takes_an_upgrade_or_a_check_out_of_the_policy() -> None:
    name = "`delta`.`/lake/orders`"
    upgrade = {"delta.enableTypeWidening": "true"}
    upgraded, checked = sql.set_properties(name, upgrade), sql.add_check(name, "schemaman_id", "`id` IS NULL")
    steps = (
        Step("set-properties", upgraded, "metadata", "reversible", {}, {"properties": upgrade}),
        Step("add-constraint", checked, "metadata", "reversible", {}, {}),
    )
    missing = list_missing_approvals(replace(PLANS["alter"], steps=steps, approvals_needed=()), Policy())
    assert [each.partition(":")[0] for each in missing] == ["set-properties", "add-constraint"]


def test_a_plan_that_says_that_it_approves_itself_is_asked_what_its_steps_are(commands: Commands) -> None:
    commands.settings(more='profile = "autopilot"\n')
    columns = (("id", "INT"), ("net", "INT"))
    commands.learns(commands.table(columns, type="CREATE"))
    assert commands.moved().code == 0
    commands.learns(commands.table((*columns, ("vat", "INT"))))
    assert commands("plan", "orders", "-o", "q.plan.json").code == 0
    plan = from_text(Path("q.plan.json").read_text())
    statement = "ALTER TABLE `ice`.`raw`.`orders` DROP COLUMNS (`net`)"
    drop = Step("drop-columns", statement, "metadata", "no", {}, {})
    ruling = PolicyDecision("add `vat` INT", ("vat",), "reuse-name", "approve", "so it is")
    forged = replace(edited(replace(plan, steps=(drop, *plan.steps)), []), rulings=(ruling,))
    Path("f.plan.json").write_text(to_text(forged))
    refused = commands("apply", "f.plan.json")
    assert (refused.code, "needs approval: drop-columns" in refused.out + refused.err) == (1, True)
    assert "net" in commands.live().schema.names
    assert commands("apply", "q.plan.json").code == 0


@pytest.mark.parametrize("statement", [
    "ALTER TABLE `ice`.`raw`.`orders` DROP IDENTIFIER FIELDS `id`",
    "ALTER TABLE `ice`.`raw`.`orders` SET IDENTIFIER FIELDS `net`",
])  # fmt: skip
def test_a_plan_of_other_identifier_fields_waits_for_the_approval_of_another_key(
    commands: Commands, statement: str
) -> None:
    columns = (("id", "INT"), ("net", "INT"))
    commands.learns(commands.table(columns, type="CREATE"))
    assert commands.moved().code == 0
    commands.learns(commands.table((*columns, ("vat", "INT"))))
    assert commands("plan", "orders", "-o", "q.plan.json").code == 0
    plan = from_text(Path("q.plan.json").read_text())
    kind: StepKind = "drop-key" if " DROP " in statement else "set-key"
    step = Step(kind, statement, "metadata", "reversible", {}, {})
    forged = edited(replace(plan, steps=(step, *plan.steps)), [])
    Path("f.plan.json").write_text(to_text(forged))
    refused = commands("apply", "f.plan.json")
    assert (refused.code, f"needs approval: {kind}" in refused.out + refused.err) == (1, True)
    assert "change-key = block" in refused.out + refused.err


@pytest.mark.parametrize("properties", [
    {"schemaman.names": '{"a": "b", "b": "a"}'},
    {"schemaman.retired": '{"a": {"was": "b", "version": "", "began": ""}}'},
], ids=["names", "retired"])  # fmt: skip
def test_a_plan_that_records_other_columns_than_the_table_holds_needs_approval(
    commands: Commands, properties: dict[str, str]
) -> None:
    columns = (("id", "INT"), ("a", "INT"), ("b", "INT"))
    commands.learns(commands.table(columns, type="CREATE"))
    assert commands.moved().code == 0
    commands.learns(commands.table((*columns, ("c", "INT"))))
    assert commands("plan", "orders", "-o", "q.plan.json").code == 0
    plan = from_text(Path("q.plan.json").read_text())
    statement = sql.set_properties("`ice`.`raw`.`orders`", properties)
    step = Step("set-properties", statement, "none", "reversible", {}, {"properties": properties})
    Path("f.plan.json").write_text(to_text(edited(replace(plan, steps=(step, *plan.steps)), [])))
    refused = commands("apply", "f.plan.json")
    assert (refused.code, "hold other columns than now" in refused.out + refused.err) == (1, True)
    assert commands("apply", "q.plan.json").code == 0


VIEWS = 'profile = "autopilot"\n[[target]]\nname = "raw"\nformat = "iceberg"\ntables = "app.*"\n'
VIEWS += 'table = "ice.raw.{table}"\nview = "ice.pub.{table}"\n'


def plan_with_view(commands: Commands) -> Plan:
    """A plan that replaces the view of `orders`; a table `secrets` with a view is beside it."""
    Path("schemaman.toml").write_text(VIEWS)
    columns = [("id", "INT"), ("a", "INT")]
    commands.says(commands.table(columns), commands.table(columns, name="secrets"))
    assert commands("sync", "r.jsonl", "--once").code == 0
    commands.learns(commands.table([*columns, ("b", "INT")]))
    assert commands("plan", "orders", "-o", "q.plan.json").code == 0
    return from_text(Path("q.plan.json").read_text())


def with_view(plan: Plan, name: str, mark: str | None, *, drops: bool = False) -> Plan:
    """The plan with the view of its last step edited."""
    step = plan.steps[-1]
    words = "CREATE OR REPLACE VIEW" if mark else "CREATE VIEW"
    statement = f"DROP VIEW {name}" if drops else f"{words} {name}{step.statement.partition('`orders`')[2]}"
    (made,) = step.postcondition["views"].values()  # type: ignore[attr-defined]
    views = {"views": {name: None if drops else made}}
    kind: StepKind = "drop-view" if drops else "replace-view"
    forged = replace(step, kind=kind, statement=statement, precondition={"views": {name: mark}}, undo=None)
    return replace(plan, steps=(*plan.steps[:-1], replace(forged, postcondition=views)))


@pytest.mark.parametrize("drops", [False, True])
def test_no_plan_takes_the_view_of_another_table(commands: Commands, drops: bool) -> None:
    plan, view = plan_with_view(commands), "`ice`.`pub`.`secrets`"
    before = commands.lake.views[view]
    mark = before.split("'")[3]
    Path("f.plan.json").write_text(to_text(with_view(plan, view, mark, drops=drops)))
    done = commands("apply", "f.plan.json")
    assert "no run on this table made it" in done.out
    assert commands.lake.views[view] == before
    assert commands.live().schema.names == ("id", "a", "b")


def test_the_name_of_a_view_is_nothing_but_a_name(commands: Commands) -> None:
    plan = plan_with_view(commands)
    require_own_statements(plan)
    for name in ("`v` AS SELECT * FROM `secrets` --", "ice.pub.v", "`v`; DROP TABLE `x`; --", ""):
        with pytest.raises(StalePlan, match="was edited after it was made"):
            require_own_statements(with_view(plan, name, None))


def test_no_plan_moves_the_table_of_another_source(commands: Commands) -> None:
    Path("schemaman.toml").write_text(VIEWS.partition("view =")[0])
    columns = [("id", "INT"), ("a", "INT")]
    commands.says(commands.table(columns, name="secrets"))
    assert commands("sync", "r.jsonl", "--once").code == 0
    commands.learns(commands.table(columns))
    assert commands("plan", "orders", "-o", "q.plan.json").code == 0
    source, lake = from_text(Path("q.plan.json").read_text()).source, commands.live("ice.raw.secrets")
    moved = plan_move(source, lake, "ice.raw.secrets", "ice.raw.orders", iceberg.TARGET, "raw")
    assert moved is not None
    Path("f.plan.json").write_text(to_text(moved))
    refused = commands("apply", "f.plan.json")
    assert (refused.code, "does not follow srv.app.orders" in refused.err) == (4, True)
    assert commands.live("ice.raw.secrets") == lake


ORDERS = "`ice`.`raw`.`orders`"
FILLS = "WHERE `a` IS NOT NULL AND `b` IS NULL AND (`_row_order` IS NULL OR `_row_order` < '9')"
TAKES = f"FROM `ice`.`raw`.`secrets` AS o LEFT ANTI JOIN {ORDERS} AS n ON o.`id` <=> n.`id`"


def plan_of_rounds(commands: Commands) -> Plan:
    """A plan that adds a column under `autopilot`; a table `secrets` of the same columns is beside it."""
    Path("schemaman.toml").write_text(VIEWS.partition("view =")[0])
    columns = [("id", "INT"), ("a", "INT"), ("b", "INT"), ("_row_order", "TEXT")]
    commands.says(commands.table(columns), commands.table(columns, name="secrets"))
    assert commands("sync", "r.jsonl", "--once").code == 0
    commands.learns(commands.table([*columns, ("c", "INT")]))
    assert commands("plan", "orders", "-o", "q.plan.json").code == 0
    return from_text(Path("q.plan.json").read_text())


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE {ORDERS} SET `b` = `a` {FILLS}",
        f"INSERT INTO {ORDERS} (`id`, `a`) SELECT o.`id`, o.`a` {TAKES}",
        f"INSERT INTO {ORDERS} (`id`, `a`) SELECT o.`id`, o.`b` {TAKES}",
    ],
)
def test_no_plan_unites_what_no_history_calls_one(commands: Commands, statement: str) -> None:
    plan = plan_of_rounds(commands)
    filled = Step("backfill", statement, "needs-rewrite", "no", {}, {})
    forged = replace(plan, steps=(*plan.steps, filled), phase=Phase("unite", 1, 1, ""))
    Path("f.plan.json").write_text(to_text(forged))
    refused = commands("apply", "f.plan.json")
    assert (refused.code, "needs approval: no history says that these" in refused.out) == (1, True)
    assert "c" not in commands.live().schema.names


@pytest.mark.parametrize("part", ["b", "c"])
def test_no_plan_makes_a_column_that_is_there_a_part_of_another(commands: Commands, part: str) -> None:
    plan = plan_of_rounds(commands)
    number = step_of(plan, "set-properties")
    split = f'{{"{part}":{{"column":"a","version":"{plan.source.id}","began":""}}}}'
    written = plan.steps[number].postcondition["properties"]
    assert isinstance(written, dict)
    properties = {**written, "schemaman.split": split}
    forged = with_step(
        plan,
        number,
        statement=sql.set_properties(ORDERS, properties),
        postcondition={**plan.steps[number].postcondition, "properties": properties},
    )
    Path("f.plan.json").write_text(to_text(forged))
    done = commands("apply", "f.plan.json")
    # a column that the plan itself adds holds nothing yet
    assert (done.code, "which was there before, is a part of a" in done.out) == (
        (1, True) if part == "b" else (0, False)
    )


def test_columns_are_united_on_the_grounds_of_the_history_and_of_the_table() -> None:
    plan = replace(PLANS["alter"], phase=Phase("unite", 1, 1, ""))
    split = '{"b":{"column":"a","version":"v","began":""},"c":{"column":"z","version":"v","began":""}}'
    lake = LakeTable("t", parse_columns("a INT, b INT"), "", "", {"schemaman.split": split})
    grounds = RenameGrounds(stated=frozenset({("a", "d")}))

    def strange(new: str, value: str = "try_cast(`a` AS STRING)") -> int:
        statement = f"UPDATE `t` SET `{new}` = {value} WHERE `a` IS NOT NULL AND `{new}` IS NULL"
        step = Step("backfill", statement, "needs-rewrite", "no", {}, {})
        united = replace(plan, steps=(step,))
        return len(list_unfounded_fills(united, lake, grounds, lambda _: None, ()))

    assert [strange(new) for new in "bdce"] == [0, 0, 1, 1]
    assert [strange("b", value) for value in ("`b`", "coalesce(`a`, `e`)", "1")] == [1, 1, 1]
    takeover = Step("backfill", "INSERT INTO `t` (`a`) SELECT o.`a` " + TAKES, "needs-rewrite", "no", {}, {})
    plan = replace(plan, steps=(replace(takeover, statement=takeover.statement.replace(ORDERS, "`t`")),))
    former = LakeTable("ice.raw.secrets", lake.schema, "", "", {"schemaman.source": "srv.app.former"})
    for source, count in (("srv.app.former", 0), ("srv.app.other", 1)):
        found = list_unfounded_fills(plan, lake, grounds, {"ice.raw.secrets": former}.get, (source,))
        assert len(found) == count


@pytest.mark.parametrize("phase", ["rollback", "swap"])
def test_no_phase_records_other_contents_of_columns(commands: Commands, phase: PhaseName) -> None:
    plan = plan_of_rounds(commands)
    number = step_of(plan, "set-properties")
    properties = {"schemaman.names": '{"a":"b","b":"a"}'}
    step = replace(
        plan.steps[number],
        statement=sql.set_properties(ORDERS, properties),
        postcondition={**plan.steps[number].postcondition, "properties": properties},
    )
    for follows in (None, commands.live().properties["schemaman.plan"]):
        forged = replace(plan, steps=(*plan.steps[:number], step), phase=Phase(phase, 1, 1, "", follows))
        Path("f.plan.json").write_text(to_text(forged))
        refused = commands("apply", "f.plan.json")
        assert (refused.code, "needs approval: " in refused.out) == (1, True)
    assert "schemaman.names" not in commands.live().properties


LINKS = {
    "schemaman.successor": ("link", "ice.raw.secrets"),
    "schemaman.taken": ("take-rows", '["ice.raw.secrets"]'),
    "schemaman.filled": ("fill-successor", '{"table": "ice.raw.secrets", "version": "1"}'),
    "schemaman.united": ("unite", '{"a": "9"}'),
    "schemaman.predecessor": ("link", '{"table": "ice.raw.secrets", "version": "v", "began": "{}"}'),
}


def with_link(plan: Plan, key: str, phase: PhaseName | None) -> Plan:
    """The plan with a step in front that links its table with another one, as that phase does."""
    properties = {key: LINKS[key][1]}
    statement = sql.set_properties(ORDERS, properties)
    step = Step("set-properties", statement, "none", "reversible", {}, {"properties": properties})
    named = None if phase is None else Phase(phase, 1, 1, "")
    return replace(plan, steps=(step, *plan.steps), phase=named)


@pytest.mark.parametrize("key", LINKS)
def test_no_plan_links_tables_that_no_history_links(commands: Commands, key: str) -> None:
    plan = plan_of_rounds(commands)
    others: tuple[PhaseName | None, ...] = (None, "split", "expand", "rekey")
    for phase in others:
        with pytest.raises(StalePlan, match=f"sets the property '{key}'"):
            require_own_statements(with_link(plan, key, phase))
    forged = with_link(plan, key, LINKS[key][0])  # type: ignore[arg-type]
    Path("f.plan.json").write_text(to_text(edited(forged, [])))
    refused = commands("apply", "f.plan.json")
    assert refused.code in ((4,) if key.endswith("predecessor") else (1,)), refused
    assert key not in commands.live().properties
