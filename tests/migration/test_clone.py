"""A plan that is tried on a clone: the real table is neither asked nor written for it, and rows stay away."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemaman.errors import CouldNotDo, StatementFailed
from schemaman.migration.apply.apply import check
from schemaman.migration.apply.clone import NAMESPACE, make_rehearsal
from schemaman.migration.plan import Plan
from schemaman.migration.rollback import plan_restore
from schemaman.migration.target import LakeTable
from tests.migration.test_recipes import cook, done, live_of
from tests.support.memory_lake import MemoryJournal, MemoryTable
from tests.support.plans import TARGETS, both, lake, plan, source

EARLIER = "id INT NOT NULL, a INT, PRIMARY KEY (id)"
LATER = "id INT NOT NULL, a TEXT, PRIMARY KEY (id)"


class Clones:
    """A table and its clone. Rows are in the table alone: whoever counts them on a clone finds none."""

    def __init__(self, made: MemoryTable, rows: int = 0) -> None:
        self.made, self.clone = made, MemoryTable("none")
        self.rows = rows
        self.told: list[str] = []
        self.asked: list[str] = []
        self.fails = ""

    def inspect(self, table: str, format: str) -> LakeTable | None:
        return (self.clone if NAMESPACE in table else self.made).live

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        live = live_of(self.made)
        if statement.startswith("SHOW CREATE TABLE"):
            columns = ",\n".join(
                f"`{c.name}` {'INT' if c.name == 'id' else 'STRING'}" for c in live.schema.columns
            )
            return ((f"CREATE TABLE x (\n{columns}\n)\nUSING iceberg",),)
        if statement.startswith("SHOW TBLPROPERTIES"):
            # Iceberg itself writes them without quotes.
            return tuple(
                (k, v.replace('"', "") if k == "identifier-fields" else v) for k, v in live.properties.items()
            )
        self.asked.append(statement)
        return ((0 if NAMESPACE in statement else self.rows,),)

    def run(self, statement: str) -> None:
        self.told.append(statement)
        if self.fails and self.fails in statement:
            raise StatementFailed("not here")
        if statement.startswith("DROP TABLE"):
            self.clone.live = None
        elif "SHALLOW CLONE" in statement or statement.startswith("CREATE TABLE"):
            self.clone = MemoryTable("clone", replace(live_of(self.made), identity="clone"))
            self.clone.fields = dict(self.made.fields)
        elif not statement.startswith(("CREATE NAMESPACE", "DELETE FROM", "INSERT INTO", "UPDATE")):
            assert NAMESPACE in statement
            self.clone.run(statement)


def tried(drawn: Plan, clones: Clones) -> None:
    make_rehearsal(clones, TARGETS[drawn.format][0], "r")(drawn)
    assert clones.clone.live is None
    assert not [
        statement
        for statement in clones.told
        if not statement.startswith("CREATE") and NAMESPACE not in statement
    ]


@both
def test_phases_of_a_recipe_are_tried_on_a_clone_whatever_the_rows_say(format: str) -> None:
    made = lake(format, EARLIER)
    expand, backfill, swap, contract = cook(format, source(LATER)).make_plans(live_of(made))
    for phase in (expand, backfill, swap, contract):
        clones = Clones(made, rows=5)
        tried(phase, clones)
        assert all(NAMESPACE in query for query in clones.asked)
        for step in phase.steps:
            assert any(step.statement.partition("t` ")[2] in statement for statement in clones.told)
        done(phase, made)


@both
def test_a_backfill_that_fails_on_the_clone_is_told(format: str) -> None:
    made = lake(format, EARLIER)
    expand, backfill, *_ = cook(format, source(LATER)).make_plans(live_of(made))
    done(expand, made)
    clones = Clones(made)
    clones.fails = "UPDATE"
    with pytest.raises(StatementFailed, match="tried on an empty clone"):
        tried(backfill, clones)
    assert clones.clone.live is None


@both
def test_a_table_is_tried_to_be_filled_without_its_rows(format: str) -> None:
    made = lake(format, EARLIER)
    new = "/lake/t2" if format == "delta" else "ice.raw.t2"
    first, fill = cook(format, source(LATER)).make_plans(live_of(made), new)
    filled = MemoryTable(new)
    done(first, filled)
    clones = Clones(filled, rows=5)
    tried(fill, clones)
    (statement,) = (each for each in clones.told if each.startswith("INSERT INTO"))
    assert NAMESPACE in statement.partition(" SELECT ")[0]
    there = TARGETS[format][0].table_name(TARGETS[format][1])
    assert statement.endswith(f"FROM {there} WHERE false")


def test_what_goes_back_in_time_is_not_tried() -> None:
    made = lake("delta", EARLIER)
    version = live_of(made).version
    drawn = plan("delta", source("id BIGINT NOT NULL, a INT, PRIMARY KEY (id)"), made.live)
    done(drawn, made)
    back = plan_restore(drawn, live_of(made), version, TARGETS["delta"][0])
    assert back is not None
    clones = Clones(made)
    with pytest.raises(CouldNotDo, match="which a clone does not have"):
        tried(back, clones)
    assert clones.told == []


def test_a_table_whose_files_are_never_deleted_has_a_clone_whose_files_are() -> None:
    made = lake("iceberg", "id INT, a STRING")
    made.run("ALTER TABLE `ice`.`raw`.`t` SET TBLPROPERTIES ('gc.enabled' = 'false')")
    drawn = plan("iceberg", source("id INT, a STRING, b INT"), made.live)
    clones = Clones(made)
    told = check(
        drawn, clones, MemoryJournal(), lambda: 0, rehearse=make_rehearsal(clones, TARGETS["iceberg"][0], "r")
    )
    assert told.state == "checked"
    (created,) = (each for each in clones.told if each.startswith("CREATE TABLE"))
    assert "schemaman.source" in created
    assert "gc.enabled" not in created
