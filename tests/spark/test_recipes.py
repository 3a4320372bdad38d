"""Recipes on real tables: each phase run, gates that hold, every value where it belongs."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from schemaman.errors import StalePlan, StatementFailed
from schemaman.migration.apply.apply import apply
from schemaman.migration.apply.clone import NAMESPACE, make_rehearsal
from schemaman.migration.apply.journal import count_progress
from schemaman.migration.plan import Plan, Policy
from schemaman.migration.plan_file import from_text, to_text
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import PolicyRule
from schemaman.migration.properties.column_swaps import read_swaps
from schemaman.migration.properties.displaced_columns import read_displaced
from schemaman.migration.recipes.phases import count_differing
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.rollback import find_version_before, plan_restore, plan_rollback
from schemaman.migration.target import LakeTable
from schemaman.spark.executor import SparkExecutor
from tests.spark.formats import on_delta, on_iceberg
from tests.spark.ten_steps import versions
from tests.spark.test_migrate import plan, run, table_of
from tests.support.chain import TARGETS
from tests.support.memory_lake import MemoryJournal

pytestmark = pytest.mark.spark


def look(executor: SparkExecutor, table: str, format: str) -> LakeTable:
    live = executor.inspect(table, format)
    assert live is not None
    return live


def cook(format: str, table: str, following, **how) -> RecipePlanner:
    return RecipePlanner(following, TARGETS[format], table, how.pop("policy", Policy()), **how)


def is_settled(plan: Plan) -> bool:
    """Whether nothing is left to do to the table but to write down where it stands."""
    return not plan.refusals and all(step.kind == "set-properties" for step in plan.steps)


def applied(plan: Plan, executor: SparkExecutor) -> None:
    """Apply a plan as its file holds it, with the approval that it asks for."""
    run(from_text(to_text(plan)), executor)


BEFORE = """id INT NOT NULL ID 1, n INT ID 2, d DECIMAL(8,2) NOT NULL COMMENT 'net' ID 3, t TIMESTAMP ID 4,
    on DATE ID 5, l ARRAY<STRUCT<p: INT, q: STRING>> ID 6, m MAP<STRING, STRUCT<v: FLOAT>> ID 7,
    f DOUBLE ID 8, kept INT ID 9, PRIMARY KEY (id)"""
AFTER = """id INT NOT NULL ID 1, n VARCHAR(20) ID 2, d TEXT NOT NULL COMMENT 'net' ID 3, t TEXT ID 4,
    on TEXT ID 5, l ARRAY<STRUCT<p: VARCHAR(9), q: STRING>> ID 6, m MAP<STRING, STRUCT<v: TEXT>> ID 7,
    f TEXT ID 8, kept INT ID 9, PRIMARY KEY (id)"""
ROWS = (
    "(1, -7, 10.50, TIMESTAMP'2024-03-10 02:30:00.000001Z', DATE'2024-02-29', "
    "array(named_struct('p', 1, 'q', 'x'), NULL), map('a', named_struct('v', 1.5)), 0.1, 5)",
    "(2, NULL, 0.00, NULL, NULL, NULL, NULL, NULL, NULL)",
    "(3, 2147483647, 999999.99, TIMESTAMP'1969-12-31 23:59:59.999999Z', DATE'0001-01-01', array(), map(), "
    "double('NaN'), 6)",
)
READ: tuple[tuple[object, ...], ...] = (
    (
        1, "-7", "10.50", "2024-03-10T02:30:00.000001Z", "2024-02-29",
        [("1", "x"), None], {"a": ("1.5",)}, "0.1", 5,
    ),
    (2, None, "0.00", None, None, None, None, None, None),
    (3, "2147483647", "999999.99", "1969-12-31T23:59:59.999999Z", "0001-01-01", [], {}, "NaN", 6),
)  # fmt: skip
COLUMNS = "id, n, d, t, `on`, l, m, f, kept"


@on_iceberg
def test_values_move_to_columns_of_another_type_phase_by_phase(executor, format: str) -> None:
    table = table_of(format, "exchanged")
    name = TARGETS[format].table_name(table)
    first, second = versions(BEFORE, AFTER)
    run(plan(format, table, first, None), executor)
    executor.run(f"INSERT INTO {name} VALUES {', '.join(ROWS)}")
    old = executor.query(f"SELECT {COLUMNS} FROM {name} ORDER BY id")
    ordinary = plan(format, table, second, look(executor, table, format))
    assert len(ordinary.refusals) == 7
    expand, backfill, swap, contract = cook(format, table, second).make_plans(look(executor, table, format))
    assert [p.phase.follows for p in (backfill, swap, contract) if p.phase] == [
        _hash(p) for p in (expand, backfill, swap)
    ]
    with pytest.raises(StalePlan):
        applied(backfill, executor)
    applied(expand, executor)
    with pytest.raises(StalePlan, match=r"gives [23], not 0"):
        applied(swap, executor)
    assert len(read_swaps(look(executor, table, format))) == 7
    applied(backfill, executor)
    late = f"SELECT id + 10, 5, d, t, `on`, l, m, f, kept FROM {name} WHERE id = 1"
    executor.run(f"INSERT INTO {name} ({COLUMNS}) {late}")
    with pytest.raises(StalePlan, match="gives 1, not 0"):
        applied(swap, executor)
    again, swap, contract = cook(format, table, second).make_plans(look(executor, table, format))
    applied(again, executor)
    applied(swap, executor)
    assert executor.query(f"SELECT {COLUMNS} FROM {name} WHERE id < 10 ORDER BY id") == READ
    kept = ", ".join(f"`{column}__old`" for column in ("n", "d", "t", "on", "l", "m", "f"))
    before = executor.query(f"SELECT id, {kept}, kept FROM {name} WHERE id < 10 ORDER BY id")
    assert repr(before) == repr(old)
    assert is_settled(plan(format, table, second, look(executor, table, format)))
    executor.run(f"INSERT INTO {name} (id, d) VALUES (20, 'not even a number')")
    applied(contract, executor)
    live = look(executor, table, format)
    assert sorted(live.schema.names) == sorted(COLUMNS.replace("`", "").split(", "))
    assert live.schema.column("d").comment == "net"  # type: ignore[union-attr]
    assert read_displaced(live) == {}
    assert executor.query(f"SELECT {COLUMNS} FROM {name} WHERE id < 10 ORDER BY id") == READ
    assert is_settled(plan(format, table, second, live))


def _hash(plan: Plan) -> str:
    from_file = from_text(to_text(plan))
    assert from_file == plan
    return to_text(plan).partition('"hash": "')[2][:64]


PAIRS = (
    ("BIGINT", "INT", "7", 7, "3000000000"),
    ("DECIMAL(12,4)", "DECIMAL(10,2)", "7.2500", Decimal("7.25"), "7.2501"),
    ("DOUBLE", "DECIMAL(10,2)", "7.25", Decimal("7.25"), "0.125"),
    ("STRING", "INT", "'42'", 42, "'4x'"),
    ("STRING", "DECIMAL(6,2)", "'4.5'", Decimal("4.50"), "'4.505'"),
    ("STRING", "DATE", "'2024-02-29'", date(2024, 2, 29), "'2024-02-30'"),
    ("DOUBLE", "FLOAT", "0.5", 0.5, "0.1"),
    (
        "TIMESTAMP_NTZ(6)", "DATE", "TIMESTAMP_NTZ'2024-02-29 00:00:00'", date(2024, 2, 29),
        "TIMESTAMP_NTZ'2024-02-29 00:00:01'",
    ),
    ("ARRAY<BIGINT>", "ARRAY<INT>", "array(7L)", [7], "array(3000000000L)"),
    ("MAP<STRING, BIGINT>", "MAP<STRING, INT>", "map('a', 7L)", {"a": 7}, "map('a', 3000000000L)"),
    ("STRUCT<x: BIGINT>", "STRUCT<x: INT>", "named_struct('x', 7L)", (7,), "named_struct('x', 3000000000L)"),
)  # fmt: skip


@on_iceberg
def test_what_would_lose_something_does_not_get_through_the_gate(executor, format: str) -> None:
    table = table_of(format, "narrowed")
    name = TARGETS[format].table_name(table)
    names = [f"c{n}" for n in range(len(PAIRS))]
    first, second = versions(
        *(
            ", ".join(["id INT ID 1", *(f"c{n} {pair[side]} ID {n + 2}" for n, pair in enumerate(PAIRS))])
            for side in (0, 1)
        )
    )
    run(plan(format, table, first, None), executor)
    executor.run(f"INSERT INTO {name} VALUES (1, {', '.join(pair[2] for pair in PAIRS)})")
    for n, pair in enumerate(PAIRS):
        executor.run(f"INSERT INTO {name} (id, c{n}) VALUES ({n + 2}, {pair[4]})")
    recipe = cook(format, table, second, exact=tuple(names))
    expand, *_ = recipe.make_plans(look(executor, table, format))
    applied(expand, executor)
    backfill = recipe.make_plans(look(executor, table, format))[0]
    with pytest.raises(StalePlan, match=f"gives {len(PAIRS)}, not 0"):
        applied(backfill, executor)
    executor.run(f"DELETE FROM {name} WHERE id > 1")
    backfill, swap, _ = recipe.make_plans(look(executor, table, format))
    applied(backfill, executor)
    executor.run(f"INSERT INTO {name} (id, {', '.join(names)}) VALUES (99, {', '.join(p[4] for p in PAIRS)})")
    for exchange in read_swaps(look(executor, table, format)):
        assert executor.query(count_differing(name, (exchange,))) == ((1,),)
    with pytest.raises(StalePlan, match="gives 1, not 0"):
        applied(swap, executor)
    executor.run(f"DELETE FROM {name} WHERE id = 99")
    applied(swap, executor)
    rows = executor.query(f"SELECT {', '.join(names)} FROM {name} WHERE id = 1")
    assert rows == (tuple(pair[3] for pair in PAIRS),)
    assert is_settled(plan(format, table, second, look(executor, table, format)))


@on_iceberg
def test_a_key_is_exchanged_where_the_rows_allow_it(executor, format: str) -> None:
    table = table_of(format, "rekeyed")
    name = TARGETS[format].table_name(table)
    columns = "id INT NOT NULL ID 1, shop INT NOT NULL ID 2, a STRING ID 3"
    first, second, third = versions(
        f"{columns}, PRIMARY KEY (id)", f"{columns}, PRIMARY KEY (id, shop)", f"{columns}, PRIMARY KEY (shop)"
    )
    run(plan(format, table, first, None), executor)
    executor.run(f"INSERT INTO {name} VALUES (1, 1, 'x'), (2, 1, 'y')")
    (rekey,) = cook(format, table, second).make_plans(look(executor, table, format))
    assert rekey.phase is not None
    assert rekey.phase.name == "rekey"
    assert rekey.approvals_needed
    applied(rekey, executor)
    live = look(executor, table, format)
    assert live.schema.key == ("id", "shop")
    assert is_settled(plan(format, table, second, live))
    (twice,) = cook(format, table, third).make_plans(live)
    with pytest.raises(StalePlan, match="gives 1, not 0"):
        applied(twice, executor)
    executor.run(f"UPDATE {name} SET shop = 2 WHERE id = 2")
    (rekey,) = cook(format, table, third).make_plans(look(executor, table, format))
    applied(rekey, executor)
    assert look(executor, table, format).schema.key == ("shop",)
    assert executor.query(f"SELECT * FROM {name} ORDER BY id") == ((1, 1, "x"), (2, 2, "y"))
    back = plan_rollback(rekey, look(executor, table, format), len(rekey.steps))
    applied(back, executor)
    again = look(executor, table, format)
    assert again.schema.key == ("id", "shop")
    assert again.properties.get("identifier-fields") == live.properties.get("identifier-fields")


@on_delta
def test_a_key_column_changes_its_type(executor, format: str) -> None:
    table = table_of(format, "key_retyped")
    name = TARGETS[format].table_name(table)
    types = ("INT", "VARCHAR(9)")
    first, second = versions(*(f"id {type} NOT NULL ID 1, PRIMARY KEY (id)" for type in types))
    run(plan(format, table, first, None), executor)
    executor.run(f"INSERT INTO {name} VALUES (1), (2)")
    for phase in cook(format, table, second).make_plans(look(executor, table, format)):
        applied(phase, executor)
    live = look(executor, table, format)
    assert (live.schema.names, live.schema.key) == (("id",), ("id",))
    assert executor.query(f"SELECT id FROM {name} ORDER BY id") == (("1",), ("2",))
    executor.run(f"INSERT INTO {name} VALUES ('three')")


@on_iceberg
def test_a_table_that_cannot_be_changed_is_filled_into_a_new_one(executor, format: str) -> None:
    old, new = table_of(format, "plain_old"), table_of(format, "plain_new")
    name, other = TARGETS[format].table_name(old), TARGETS[format].table_name(new)
    executor.run(f"CREATE NAMESPACE IF NOT EXISTS {'lives' if format == 'delta' else 'ice.lives'}")
    executor.run(f"CREATE TABLE {name} (id INT, a INT, p INT) USING {format} PARTITIONED BY (p)")
    executor.run(f"INSERT INTO {name} VALUES (1, 10, 7), (2, NULL, 8)")
    first, second = versions(
        "id INT NOT NULL ID 1, a INT ID 2, p INT ID 3, PRIMARY KEY (id)",
        "id BIGINT NOT NULL ID 1, a TEXT ID 2, p TEXT ID 3, b INT ID 4, PRIMARY KEY (id)",
    )
    run(plan(format, old, first, look(executor, old, format)), executor)
    plain = Policy(upgrades=False)
    refused = cook(format, old, second, policy=plain).make_plans(look(executor, old, format))
    assert all("--into" in refusal.instead for one in refused for refusal in one.refusals)
    made, fill = cook(format, old, second, policy=plain).make_plans(look(executor, old, format), new)
    applied(made, executor)
    applied(fill, executor)
    rows = executor.query(f"SELECT id, a, p, b FROM {other} ORDER BY id")
    assert rows == ((1, "10", "7", None), (2, None, "8", None))
    live = look(executor, new, format)
    assert not live.schema.column("id").nullable  # type: ignore[union-attr]
    assert is_settled(make_plan(second, live, TARGETS[format], new, plain))


@on_delta
def test_a_new_table_begins_a_name_that_came_back_empty(executor, format: str) -> None:
    """The old column of that name goes along out of its way, though no plan has moved it yet."""
    old, new = table_of(format, "again_old"), table_of(format, "again_new")
    first, _, third = versions(
        "id INT NOT NULL ID 1, a INT ID 2, PRIMARY KEY (id)",
        "id INT NOT NULL ID 1, PRIMARY KEY (id)",
        "id INT NOT NULL ID 1, a INT ID 3, PRIMARY KEY (id)",
    )
    run(plan(format, old, first, None), executor)
    executor.run(f"INSERT INTO {TARGETS[format].table_name(old)} VALUES (1, 7), (2, NULL)")
    for one in cook(format, old, third).make_plans(look(executor, old, format), new):
        applied(one, executor)
    rows = executor.query(f"SELECT id, a, a__old FROM {TARGETS[format].table_name(new)} ORDER BY id")
    assert rows == ((1, None, 7), (2, None, None))
    assert is_settled(make_plan(third, look(executor, new, format), TARGETS[format], new, Policy()))


@on_iceberg
def test_phases_that_write_rows_are_tried_on_a_clone_that_has_none(executor, format: str) -> None:
    old, new = table_of(format, "tried"), table_of(format, "tried_new")
    name = TARGETS[format].table_name(old)
    first, second = versions(
        "id INT NOT NULL ID 1, a INT ID 2, PRIMARY KEY (id)",
        "id INT NOT NULL ID 1, a TEXT ID 2, PRIMARY KEY (id)",
    )
    run(plan(format, old, first, None), executor)
    executor.run(f"INSERT INTO {name} VALUES (1, 10), (2, NULL)")
    executor.run(f"ALTER TABLE {name} SET TBLPROPERTIES ('gc.enabled' = 'false')")
    rehearse = make_rehearsal(executor, TARGETS[format], "try")
    cooked = cook(format, old, second)
    made, fill = cooked.make_plans(look(executor, old, format), new)
    applied(made, executor)
    apply(fill, executor, MemoryJournal(), lambda: 0, run="r", approved=True, rehearse=rehearse)
    filled = executor.query(f"SELECT id, a FROM {TARGETS[format].table_name(new)} ORDER BY id")
    assert filled == ((1, "10"), (2, None))
    phases = cooked.make_plans(look(executor, old, format))[:3]
    for phase in phases:
        done = apply(phase, executor, MemoryJournal(), lambda: 0, run="r", approved=True, rehearse=rehearse)
        assert (done.state, done.differences) == ("applied", ())
    assert executor.query(f"SELECT id, a FROM {name} ORDER BY id") == ((1, "10"), (2, None))
    catalog = "spark_catalog" if format == "delta" else "ice"
    assert executor.query(f"SHOW TABLES IN {catalog}.{NAMESPACE}") == ()

    executor.run(f"INSERT INTO {name} (id, a) VALUES (3, '7')")
    back = plan_rollback(phases[2], look(executor, old, format), len(phases[2].steps))
    with pytest.raises(StalePlan, match="gives 1, not 0"):
        applied(back, executor)
    executor.run(f"UPDATE {name} SET a__old = 7 WHERE id = 3")
    applied(back, executor)
    assert executor.query(f"SELECT id, a FROM {name} ORDER BY id") == ((1, 10), (2, None), (3, 7))


LATER = "c STRING COMMENT 'y' ID 2, b STRING COMMENT 'z' ID 3, n INT ID 4, PRIMARY KEY (id)"
BACK = versions(
    "id INT NOT NULL ID 1, a STRING COMMENT 'x' ID 2, b STRING ID 3, PRIMARY KEY (id)",
    f"id INT NOT NULL ID 1, {LATER}",
    f"id BIGINT NOT NULL ID 1, {LATER}",
)


@on_delta
def test_a_plan_is_taken_back_step_by_step(executor, format: str) -> None:
    table = table_of(format, "taken_back")
    name = TARGETS[format].table_name(table)
    run(plan(format, table, BACK[0], None), executor)
    executor.run(f"INSERT INTO {name} VALUES (1, 'a', 'b')")
    before = look(executor, table, format)
    forward = plan(format, table, BACK[1], before)
    assert forward.point_of_no_return is None
    journal = MemoryJournal()
    done = apply(forward, executor, journal, lambda: 0, run="r", approved=True)
    assert done.state == "applied"
    back = plan_rollback(forward, look(executor, table, format), count_progress(journal.lines)[0])
    assert back.refusals == ()
    assert any("written into the columns" in each for each in back.approvals_needed)
    applied(back, executor)
    after = look(executor, table, format)
    assert after.schema == before.schema
    told = {k: v for k, v in after.properties.items() if k.startswith("schemaman.")}
    assert told == {k: v for k, v in before.properties.items() if k.startswith("schemaman.")}
    assert executor.query(f"SELECT id, a, b FROM {name}") == ((1, "a", "b"),)
    again = plan(format, table, BACK[1], after)
    assert [s.statement for s in again.steps] == [s.statement for s in forward.steps]


@on_iceberg
def test_a_wider_type_stays_at_a_rollback(executor, format: str) -> None:
    table = table_of(format, "no_way_back")
    run(plan(format, table, BACK[1], None), executor)
    forward = plan(format, table, BACK[2], look(executor, table, format))
    assert forward.point_of_no_return == 1
    journal = MemoryJournal()
    apply(forward, executor, journal, lambda: 0, run="r", approved=True)
    back = plan_rollback(forward, look(executor, table, format), count_progress(journal.lines)[0])
    assert [step.kind for step in back.steps] == ["set-properties"]
    assert back.refusals == ()
    assert any("stays" in note for note in back.notes), back.notes


def test_a_delta_table_is_restored_where_no_statement_leads_back_and_nobody_wrote(executor) -> None:
    table = table_of("delta", "restored")
    name = TARGETS["delta"].table_name(table)
    run(plan("delta", table, BACK[1], None), executor)
    executor.run(f"INSERT INTO {name} (id) VALUES (1)")
    before = look(executor, table, "delta")
    forward = plan("delta", table, BACK[2], before)
    journal = MemoryJournal()
    apply(forward, executor, journal, lambda: 0, run="r", approved=True, store="s")
    live, version = look(executor, table, "delta"), find_version_before(journal.lines)
    assert live.schema != before.schema
    assert version == before.version
    assert TARGETS["delta"].list_row_writes(executor, table, version) == ()
    back = plan_restore(forward, live, version, TARGETS["delta"])
    assert back is not None
    assert back.approvals_needed
    applied(back, executor)
    after = look(executor, table, "delta")
    assert after.schema == before.schema
    told = {k: v for k, v in after.properties.items() if k.startswith("schemaman.")}
    assert told == {k: v for k, v in before.properties.items() if k.startswith("schemaman.")}
    assert executor.query(f"SELECT id FROM {name}") == ((1,),)
    again = plan("delta", table, BACK[2], after)
    assert [s.statement for s in again.steps] == [s.statement for s in forward.steps]
    executor.run(f"INSERT INTO {name} (id) VALUES (2)")
    writes = TARGETS["delta"].list_row_writes(executor, table, after.version)
    assert writes == (f"WRITE made version {int(after.version) + 1}",)


REQUIRED = versions(
    "id INT NOT NULL ID 1, a STRING ID 2, PRIMARY KEY (id)",
    "id INT NOT NULL ID 1, a STRING NOT NULL ID 2, PRIMARY KEY (id)",
    "id INT NOT NULL ID 1, b STRING NOT NULL ID 2, PRIMARY KEY (id)",
    "id INT NOT NULL ID 1, b STRING ID 2, PRIMARY KEY (id)",
)


def test_null_is_forbidden_where_the_policy_wants_it_and_no_row_has_it(executor) -> None:
    table = table_of("delta", "required")
    name = TARGETS["delta"].table_name(table)
    wanted = {"rules": (PolicyRule("approve", ("set-not-null",)),)}
    run(plan("delta", table, REQUIRED[0], None), executor)
    executor.run(f"INSERT INTO {name} VALUES (1, NULL), (2, 'x')")
    guarded = plan("delta", table, REQUIRED[1], look(executor, table, "delta"), **wanted)
    assert [s.step_class for s in guarded.steps if s.kind == "add-constraint"] == ["needs-scan"]
    with pytest.raises(StalePlan, match="gives 1, not 0"):
        run(guarded, executor)
    executor.run(f"DELETE FROM {name} WHERE id = 1")
    run(plan("delta", table, REQUIRED[1], look(executor, table, "delta"), **wanted), executor)
    with pytest.raises(StatementFailed, match="CONSTRAINT"):
        executor.run(f"INSERT INTO {name} (id) VALUES (3)")
    renamed = plan("delta", table, REQUIRED[2], look(executor, table, "delta"), **wanted)
    kinds = [s.kind for s in renamed.steps]
    assert kinds == ["drop-constraint", "rename-column", "set-properties", "add-constraint"]
    run(renamed, executor)
    assert plan("delta", table, REQUIRED[2], look(executor, table, "delta"), **wanted).steps == ()
    run(plan("delta", table, REQUIRED[3], look(executor, table, "delta"), **wanted), executor)
    executor.run(f"INSERT INTO {name} (id) VALUES (3)")
    assert executor.query(f"SELECT * FROM {name} ORDER BY id") == ((2, "x"), (3, None))


def test_iceberg_says_that_it_cannot_forbid_null(executor) -> None:
    table = table_of("iceberg", "required")
    run(plan("iceberg", table, REQUIRED[0], None), executor)
    wanted = {"rules": (PolicyRule("approve", ("set-not-null",)),)}
    drawn = plan("iceberg", table, REQUIRED[1], look(executor, table, "iceberg"), **wanted)
    assert "cannot forbid NULL" in drawn.refusals[0].reason


def test_identifier_fields_get_out_of_the_way_and_come_back(executor) -> None:
    table = table_of("iceberg", "identified")
    executor.run("CREATE NAMESPACE IF NOT EXISTS ice.lives")
    executor.run(
        f"CREATE TABLE {table} (id INT NOT NULL, k INT NOT NULL, s STRUCT<x: INT NOT NULL> NOT NULL) "
        "USING iceberg PARTITIONED BY (bucket(2, s.x))"
    )
    executor.run(f"ALTER TABLE {table} SET IDENTIFIER FIELDS k, s.x")
    executor.run(f"INSERT INTO {table} VALUES (1, 2, named_struct('x', 3))")
    first, second = versions(
        "id INT NOT NULL ID 1, k INT NOT NULL ID 2, s STRUCT<x: INT> NOT NULL ID 3, PRIMARY KEY (k)",
        "id INT NOT NULL ID 1, m INT ID 2, PRIMARY KEY (m)",
    )
    adopted = plan("iceberg", table, first, look(executor, table, "iceberg"))
    run(adopted, executor)
    later = plan("iceberg", table, second, look(executor, table, "iceberg"), drops="drop")
    assert [r.change for r in later.refusals] == ["drop `s`"]
    assert "partitioned" in later.refusals[0].reason
    done = apply(later, executor, MemoryJournal(), lambda: 0, run="r", partial=True, approved=True)
    assert done.differences == ()
    live = look(executor, table, "iceberg")
    assert live.properties["identifier-fields"] == "[]"
    assert executor.query(f"SELECT id, m, s.x FROM {table}") == ((1, 2, 3),)


@pytest.mark.parametrize(
    ("ddl", "fields", "row"),
    [
        ("a INT NOT NULL ID 1, id INT ID 2, PRIMARY KEY (a)", '["a"]', "a, id"),
        ("b INT ID 1, id INT NOT NULL ID 2, PRIMARY KEY (b)", "[]", "b, id"),
    ],
    ids=["handed_on", "exchanged"],
)
def test_an_identifier_field_stays_with_its_column(
    executor, request, ddl: str, fields: str, row: str
) -> None:
    table = table_of("iceberg", f"identified_{request.node.callspec.id}")
    executor.run("CREATE NAMESPACE IF NOT EXISTS ice.lives")
    executor.run(f"CREATE TABLE {table} (id INT NOT NULL, b INT NOT NULL) USING iceberg")
    executor.run(f"ALTER TABLE {table} SET IDENTIFIER FIELDS id")
    executor.run(f"INSERT INTO {table} VALUES (1, 2)")
    for following in versions("id INT NOT NULL ID 1, b INT NOT NULL ID 2, PRIMARY KEY (id)", ddl):
        drawn = plan("iceberg", table, following, look(executor, table, "iceberg"))
        assert drawn.refusals == ()
        run(drawn, executor)
    live = look(executor, table, "iceberg")
    assert live.properties["identifier-fields"] == fields
    assert plan("iceberg", table, following, live).steps == ()
    assert executor.query(f"SELECT {row} FROM {table}") == ((1, 2),)


def test_a_generated_column_bars_what_it_is_computed_from(executor, warehouse: Path) -> None:
    table = str(warehouse / "computed")
    executor.run(
        f"CREATE TABLE delta.`{table}` (id INT, a INT, g INT GENERATED ALWAYS AS (a + 1)) USING delta "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true')"
    )
    first, second = versions("id INT ID 1, a INT ID 2, g INT ID 3", "id INT ID 1, b BIGINT ID 2, g INT ID 3")
    run(plan("delta", table, first, look(executor, table, "delta")), executor)
    drawn = plan("delta", table, second, look(executor, table, "delta"))
    assert "generated column `g`" in drawn.refusals[0].reason
    with pytest.raises(StatementFailed, match="GENERATED"):
        executor.run(f"ALTER TABLE delta.`{table}` RENAME COLUMN a TO b")
