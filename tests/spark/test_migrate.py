"""The lives of real tables: rows written before a migration read right after it, killed or not."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

import pyspark
import pytest

from schemaman.errors import StalePlan, StatementFailed
from schemaman.migration.apply.apply import LEASE_MS, apply
from schemaman.migration.conditions import fingerprint_structure
from schemaman.migration.plan import MigrationSource, Plan, Policy
from schemaman.migration.plan_file import from_text, to_text
from schemaman.migration.planner import make_plan
from schemaman.migration.target import LakeTable
from schemaman.spark.executor import SparkExecutor
from schemaman.store.sql.store import SqlStore
from tests.spark import second_reader
from tests.spark.apply_in_child import applied
from tests.spark.formats import both, on_delta, on_iceberg
from tests.spark.ten_steps import versions
from tests.support.chain import TARGETS
from tests.support.checkout import PROOF, ROOT
from tests.support.memory_lake import MemoryJournal

pytestmark = pytest.mark.spark
ROUNDS = 20 if PROOF else 1
MAX = Decimal(2**64 - 1)


def table_of(format: str, name: str) -> str:
    return f"lives.{name}" if format == "delta" else f"ice.lives.{name}"


def plan(format: str, table: str, following: MigrationSource, live: LakeTable | None, **policy) -> Plan:
    return make_plan(following, live, TARGETS[format], table, Policy(**policy))


def run(plan: Plan, executor: SparkExecutor) -> None:
    migration = apply(plan, executor, MemoryJournal(), lambda: 0, run="r", approved=True)
    assert (migration.state, migration.reasons, migration.differences) == ("applied", (), ())


FIRST = """id INT NOT NULL ID 1, a VARCHAR(9) ID 2, b VARCHAR(9) ID 3, f FLOAT ID 4,
    d DECIMAL(8,2) COMMENT 'it\\'s' ID 5, s STRUCT<x: INT, l: ARRAY<STRUCT<p: INT>>> ID 6,
    big BIGINT UNSIGNED ID 7, PRIMARY KEY (id), COMMENT 'life'"""
LATER = (
    # a and b swap names; columns and members widen and come; comments
    """id BIGINT NOT NULL ID 1, b VARCHAR(30) ID 2, a VARCHAR(9) ID 3, f DOUBLE ID 4,
    d DECIMAL(12,2) COMMENT 'more' ID 5,
    s STRUCT<x: BIGINT COMMENT 'in', l: ARRAY<STRUCT<p: BIGINT, q: DATE>>, z: STRING> ID 6,
    big BIGINT UNSIGNED ID 7, `größe in cm` INT ID 8,
    `tick``s` TIMESTAMP_NTZ(3) COMMENT 'line\\nbreak' ID 9, PRIMARY KEY (id)""",
    # the key is renamed, b and a hand on a name, f goes, and a new column takes the name a
    """order_id BIGINT NOT NULL ID 1, c VARCHAR(30) ID 2, b VARCHAR(9) ID 3, d DECIMAL(12,2) ID 5,
    s STRUCT<x: BIGINT, l: ARRAY<STRUCT<p: BIGINT, q: DATE>>, z: STRING> ID 6,
    big BIGINT UNSIGNED ID 7, `größe in cm` INT ID 8, `tick``s` TIMESTAMP_NTZ(3) ID 9, a DATE ID 10,
    PRIMARY KEY (order_id), COMMENT 'better'""",
)
LIFE = versions(FIRST, *LATER)
WIDE = re.sub(r"\bINT\b", "BIGINT", FIRST).replace("FLOAT", "DOUBLE").replace("(8,2)", "(12,2)")
"""The first version with the types of the second one, to which Delta on Spark 3.5 widens none of these."""
ROW = (
    "1, 'a1', 'b1', 1.5, 12.25, named_struct('x', 7, 'l', array(named_struct('p', 8))), 18446744073709551615"
)
READ = (
    ("id, a, b, f, d, s.x, s.l[0].p, big", (1, "a1", "b1", 1.5, Decimal("12.25"), 7, 8, MAX)),
    (
        "id, b, a, f, d, s.x, s.l[0].p, s.l[0].q, s.z, big, `größe in cm`, `tick``s`",
        (1, "a1", "b1", 1.5, Decimal("12.25"), 7, 8, None, None, MAX, None, None),
    ),
    (
        "order_id, c, b, d, s.x, s.l[0].p, s.l[0].q, s.z, big, a",
        (1, "a1", "b1", Decimal("12.25"), 7, 8, None, None, MAX, None),
    ),
)


@pytest.mark.parametrize(
    ("format", "drops"), [("delta", "drop"), ("iceberg", "keep"), *([("iceberg", "drop")] if PROOF else [])]
)
def test_a_table_goes_through_its_life_with_its_rows(
    executor, warehouse: Path, format: str, drops: str
) -> None:
    table = table_of(format, f"whole_{drops}")
    name = TARGETS[format].table_name(table)
    live = None
    is_limited = format == "delta" and pyspark.__version__.startswith("3.")
    life = versions(WIDE, *LATER) if is_limited else LIFE
    for following, (columns, row) in zip(life, READ, strict=True):
        drawn = plan(format, table, following, live, drops=drops)
        assert drawn.refusals == ()
        run(drawn, executor)
        live = executor.inspect(table, format)
        assert live is not None
        assert live.schema == drawn.wanted
        if following is life[0]:
            executor.run(f"INSERT INTO {name} VALUES ({ROW})")
        assert executor.query(f"SELECT {columns} FROM {name}") == (row,)
        again = plan(format, table, following, live, drops=drops)
        assert (again.steps, again.refusals) == ((), ())
    assert live is not None
    assert ("f" in live.schema.names) == (drops == "keep")
    assert live.schema.key == ("order_id",)
    read = second_reader.delta_columns if format == "delta" else second_reader.iceberg_columns
    expected = [(c.name, c.nullable) for c in live.schema.columns]
    assert [(name, nullable) for name, _, nullable in read(warehouse, table)] == expected


def test_iceberg_rows_are_read_by_pyiceberg_under_the_new_names(executor, warehouse: Path) -> None:
    table = table_of("iceberg", "read_elsewhere")
    first, second = versions(
        "id INT NOT NULL ID 1, a STRING ID 2, b STRING ID 3, PRIMARY KEY (id)",
        "id BIGINT NOT NULL ID 1, b STRING ID 2, a STRING ID 3, c DATE ID 4, PRIMARY KEY (id)",
    )
    run(plan("iceberg", table, first, None), executor)
    executor.run(f"INSERT INTO {table} VALUES (1, 'was a', 'was b')")
    run(plan("iceberg", table, second, executor.inspect(table, "iceberg")), executor)
    found = second_reader.iceberg_table(warehouse, table)
    assert found.schema().identifier_field_names() == {"id"}
    assert found.scan().to_arrow().to_pylist() == [{"id": 1, "b": "was a", "a": "was b", "c": None}]


@on_delta
def test_a_required_column_is_relaxed_when_the_source_lets_it_be_null(executor, format: str) -> None:
    table = table_of(format, "relaxed")
    name = TARGETS[format].table_name(table)
    executor.run(f"CREATE NAMESPACE IF NOT EXISTS {'lives' if format == 'delta' else 'ice.lives'}")
    executor.run(f"CREATE TABLE {name} (id INT NOT NULL, n INT NOT NULL, gone INT NOT NULL) USING {format}")
    executor.run(f"INSERT INTO {name} VALUES (1, 2, 3)")
    first, second = versions(
        "id INT NOT NULL ID 1, n INT NOT NULL ID 2, gone INT NOT NULL ID 3, PRIMARY KEY (id)",
        "id INT NOT NULL ID 1, n INT ID 2, PRIMARY KEY (id)",
    )
    adopted = plan(format, table, first, executor.inspect(table, format))
    named = ["set-key"] if format == "iceberg" else []
    assert [s.kind for s in adopted.steps] == ["set-properties", *named]
    run(adopted, executor)
    drawn = plan(format, table, second, executor.inspect(table, format))
    # Spark 3.5 alters one column in a statement.
    assert list(dict.fromkeys(s.kind for s in drawn.steps)) == ["drop-not-null", "set-properties"]
    run(drawn, executor)
    executor.run(f"INSERT INTO {name} (id) VALUES (2)")
    assert executor.query(f"SELECT * FROM {name} ORDER BY id") == ((1, 2, 3), (2, None, None))


def test_a_plain_delta_table_is_upgraded_before_it_is_changed(executor) -> None:
    table = table_of("delta", "plain")
    executor.run("CREATE NAMESPACE IF NOT EXISTS lives")
    executor.run(f"CREATE TABLE {table} (id SMALLINT, a INT, c INT) USING delta")
    executor.run(f"INSERT INTO {table} VALUES (1, 2, 3)")
    first, second = versions(
        "id SMALLINT ID 1, a INT ID 2, c INT ID 3",
        "id INT ID 1, b INT ID 2, at TIMESTAMP_NTZ ID 4",
    )
    run(plan("delta", table, first, executor.inspect(table, "delta")), executor)
    live = executor.inspect(table, "delta")
    assert len(plan("delta", table, second, live, drops="drop", upgrades=False).refusals) == 4
    run(plan("delta", table, second, live, drops="drop", upgrades=True), executor)
    assert executor.query(f"SELECT id, b, at FROM {table}") == ((1, 2, None),)


@both
def test_what_is_refused_would_not_have_worked(executor, format: str) -> None:
    table = table_of(format, "refused")
    name = TARGETS[format].table_name(table)
    first, second = versions("id INT ID 1, a BIGINT ID 2", "id INT ID 1, a DATE ID 2")
    run(plan(format, table, first, None), executor)
    drawn = plan(format, table, second, executor.inspect(table, format))
    assert [r.change for r in drawn.refusals] == ["change `a` from BIGINT to DATE"]
    with pytest.raises(StatementFailed):
        executor.run(f"ALTER TABLE {name} ALTER COLUMN `a` TYPE DATE")


def test_iceberg_refuses_a_member_of_the_path_of_a_column(executor) -> None:
    table = table_of("iceberg", "dotted")
    first, second = versions("s STRUCT<a: INT> ID 1, `s.b` INT ID 2", "s STRUCT<a: INT, b: INT> ID 1")
    run(plan("iceberg", table, first, None), executor)
    drawn = plan("iceberg", table, second, executor.inspect(table, "iceberg"))
    assert [r.change for r in drawn.refusals] == ["add `s`.`b` INT"]
    with pytest.raises(StatementFailed):
        executor.run(f"ALTER TABLE {TARGETS['iceberg'].table_name(table)} ADD COLUMNS (`s`.`b` INT)")


@on_iceberg
def test_a_retired_name_is_not_filled_again(executor, format: str) -> None:
    table = table_of(format, "retired")
    told = versions(
        "id INT ID 1, a STRING ID 2", "id INT ID 1", "id INT ID 1, a STRING ID 3"
    )  # fmt: skip
    run(plan(format, table, told[0], None), executor)
    name = TARGETS[format].table_name(table)
    executor.run(f"INSERT INTO {name} VALUES (1, 'old')")
    drawn = plan(format, table, told[2], executor.inspect(table, format))
    assert any("reuse-name" in approval for approval in drawn.approvals_needed)
    run(drawn, executor)
    executor.run(f"INSERT INTO {name} (id, a) VALUES (2, 'new')")
    rows = executor.query(f"SELECT id, a, a__old FROM {name} ORDER BY id")
    assert rows == ((1, None, "old"), (2, "new", None))
    assert plan(format, table, told[2], executor.inspect(table, format)).steps == ()


KILLED = versions(
    "id INT NOT NULL ID 1, a VARCHAR(9) ID 2, b VARCHAR(9) ID 3, c INT ID 4, PRIMARY KEY (id)",
    """id BIGINT NOT NULL ID 1, b VARCHAR(9) ID 2, a VARCHAR(9) ID 3, c BIGINT COMMENT 'now wide' ID 4,
    d DATE ID 5, PRIMARY KEY (id)""",
)


def killed(warehouse: Path, store: Path, plans: Sequence[Path], chance: random.Random) -> None:
    """Apply the plans in a process of its own, and kill it with its JVM at a random moment."""
    command = [
        sys.executable,
        "-m",
        "tests.spark.apply_in_child",
        str(warehouse),
        str(store),
        *map(str, plans),
    ]
    child = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    for _ in range(chance.randint(0, 2 * sum(len(from_text(p.read_text()).steps) for p in plans))):
        child.stdout.readline()
    time.sleep(chance.uniform(0, 0.3))
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()


def commits(executor: SparkExecutor, format: str, name: str) -> int:
    history = (
        f"DESCRIBE HISTORY {name}" if format == "delta" else f"SELECT file FROM {name}.metadata_log_entries"
    )
    return len(executor.query(history))


@pytest.mark.parametrize("round", range(ROUNDS))
def test_a_killed_migration_is_taken_up_where_it_stopped(
    executor, warehouse: Path, tmp_path: Path, round: int, figure: Callable[[str, object], None]
) -> None:
    chance = random.Random(round)
    store = tmp_path / "store.db"
    SqlStore.open(f"sqlite:///{store}", create=True).close()
    tables: dict[str, str] = {}
    plans: list[Path] = []
    before: dict[str, int] = {}
    for format in sorted(TARGETS, reverse=bool(round % 2)) if PROOF else ["iceberg"]:
        new = str(warehouse / f"killed_{round}_new") if format == "delta" else f"ice.lives.killed_{round}_new"
        table = str(warehouse / f"killed_{round}") if format == "delta" else f"ice.lives.killed_{round}"
        run(plan(format, table, KILLED[0], None), executor)
        tables[format] = name = TARGETS[format].table_name(table)
        executor.run(f"INSERT INTO {name} VALUES (1, 'a', 'b', 7)")
        before[format] = commits(executor, format, name)
        later = plan(format, table, KILLED[1], executor.inspect(table, format))
        for drawn in (later, plan(format, new, KILLED[1], None)):
            plans.append(tmp_path / f"{len(plans)}.json")
            plans[-1].write_text(to_text(drawn), encoding="utf-8")
    killed(warehouse, store, plans, chance)
    with SqlStore.open(f"sqlite:///{store}") as opened:
        for file in plans:
            drawn = from_text(file.read_text(encoding="utf-8"))
            migration = applied(drawn, executor, opened, later_ms=LEASE_MS + 1)
            assert migration.differences == ()
            live = executor.inspect(drawn.table, drawn.format)
            assert live is not None
            assert fingerprint_structure(live.schema) == fingerprint_structure(drawn.wanted)
            if drawn.base_schema is not None:
                name = tables[drawn.format]
                assert commits(executor, drawn.format, name) == before[drawn.format] + len(drawn.steps)
                assert executor.query(f"SELECT id, a, b, c, d FROM {name}") == ((1, "b", "a", 7, None),)
    if round == ROUNDS - 1:
        figure("kills of apply", f"{ROUNDS}, during four plans on two formats; same tables, each step once")


@both
def test_a_column_that_was_dropped_and_made_anew_makes_a_plan_stale(executor, format: str) -> None:
    table = table_of(format, "made_anew")
    name = TARGETS[format].table_name(table)
    first, second = versions("id INT ID 1, a INT ID 2", "id INT ID 1, a INT ID 2, b INT ID 3")
    run(plan(format, table, first, None), executor)
    executor.run(f"INSERT INTO {name} VALUES (1, 7)")
    drawn = from_text(to_text(plan(format, table, second, executor.inspect(table, format))))
    executor.run(f"ALTER TABLE {name} DROP COLUMN a")
    executor.run(f"ALTER TABLE {name} ADD COLUMN a INT")
    live = executor.inspect(table, format)
    assert live is not None
    assert live.schema == drawn.base_schema
    with pytest.raises(StalePlan, match="but other ids"):
        run(drawn, executor)
    run(plan(format, table, second, live), executor)
