"""What a projection chooses, on real tables: every type of every connector, names, metadata columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemaman.migration.plan import MigrationSource, Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import ProjectionRule
from schemaman.migration.target import LakeType
from schemaman.migration.type_mapping import CHOICES, ROLES
from schemaman.model.ddl import parse_type
from schemaman.model.schema import Column, TableSchema
from schemaman.spark.executor import SparkExecutor
from tests.spark.formats import both
from tests.spark.test_migrate import run
from tests.support import type_sheets as sheets
from tests.support.chain import TARGETS
from tests.support.random_histories import source

pytestmark = pytest.mark.spark
ROWS = [row for name in sheets.sheets() for row in sheets.rows(name)]
TYPES = sorted({row.type for row in ROWS} - {sheets.ABSENT, ""})
PLAIN: dict[str, object] = {}
OTHERS: dict[str, object] = {option: words[1] for option, words in CHOICES.items() if option != "geometry"}
OTHERS |= {"numeric": "decimal(38,10)", "geometry": "wkb", "names": "avro-lower", "collisions": "number"}
OTHERS |= {"metadata": tuple((role, name) for role, (name, _) in ROLES.items())}


def policy(options: dict[str, object]) -> Policy:
    return Policy(projections=(ProjectionRule(tuple(options.items())),))


def every_type(format: str, options: dict[str, object]) -> MigrationSource:
    """A table with a column of every type that a connector tells and this format holds."""
    how = policy(options).find_representation("t", format)
    held = [t for t in TYPES if isinstance(TARGETS[format].hold_type(parse_type(t), how), LakeType)]
    columns = tuple(Column(f"C-{n}", parse_type(t), id=n) for n, t in enumerate(held, 1))
    return source([TableSchema(columns)])


@both
@pytest.mark.parametrize("options", [PLAIN, OTHERS], ids=["defaults", "others"])
def test_a_table_of_every_type_is_made_as_wanted_and_then_rests(
    executor: SparkExecutor, format: str, options: dict[str, object]
) -> None:
    name = f"every_{'plain' if not options else 'other'}"
    table = f"lives.{name}" if format == "delta" else f"ice.lives.{name}"
    executor.run("CREATE NAMESPACE IF NOT EXISTS lives")
    following = every_type(format, options)
    drawn = make_plan(following, None, TARGETS[format], table, policy(options))
    assert drawn.refusals == ()
    run(drawn, executor)
    live = executor.inspect(table, format)
    assert live is not None
    assert live.schema == drawn.wanted
    assert make_plan(following, live, TARGETS[format], table, policy(options)).steps == ()
    executor.run(f"INSERT INTO {TARGETS[format].table_name(table)} (`{live.schema.names[0]}`) VALUES (NULL)")
    assert len(executor.query(f"SELECT * FROM {TARGETS[format].table_name(table)}")) == 1


@both
def test_a_table_that_is_there_gets_a_variant_metadata_and_numbered_names(
    executor: SparkExecutor, format: str
) -> None:
    table = "lives.grown" if format == "delta" else "ice.lives.grown"
    name = TARGETS[format].table_name(table)
    executor.run("CREATE NAMESPACE IF NOT EXISTS lives")
    first = TableSchema((Column("id", parse_type("INT"), id=1), Column("a b", parse_type("JSON"), id=2)))
    run(make_plan(source([first]), None, TARGETS[format], table, Policy()), executor)
    executor.run(f"INSERT INTO {name} VALUES (1, '[1]')")
    added = (Column("A_b", parse_type("JSON"), id=3), Column("a-b", parse_type("INT"), id=4))
    later = source([first, replace(first, columns=(*first.columns, *added))])
    chosen: dict[str, object] = {
        "json": "variant",
        "names": "avro-lower",
        "collisions": "number",
        "metadata": (("op", "_op"),),
    }
    live = executor.inspect(table, format)
    drawn = make_plan(later, live, TARGETS[format], table, policy(chosen))
    assert drawn.wanted.names == ("id", "a b", "a_b", "a_b_2", "_op")
    assert drawn.steps[0].step_class == "capability-upgrade"
    run(drawn, executor)
    live = executor.inspect(table, format)
    assert live is not None
    assert live.schema.columns == drawn.wanted.columns
    assert make_plan(later, live, TARGETS[format], table, policy(chosen)).steps == ()
    executor.run(f"INSERT INTO {name} (id, a_b, a_b_2, _op) VALUES (2, parse_json('[2]'), 7, 'c')")
    rows = executor.query(f"SELECT id, `a b`, to_json(a_b), a_b_2, _op FROM {name} ORDER BY id")
    assert rows == ((1, "[1]", None, None, None), (2, None, "[2]", 7, "c"))
