"""Renames: how sure the evidence is, measured; and what DDL texts state, against another parser."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
import sqlglot
from sqlglot import exp

from schemaman.debezium.ddl.event_grammar import MYSQL_STATEMENTS, ORACLE_STATEMENTS
from schemaman.debezium.ddl.event_renames import find_column_renames, find_table_renames
from schemaman.history.rename_detection import find_rename_candidates
from schemaman.history.versions import Grade
from schemaman.model.column_list import parse_columns
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Decimal, Integer, String, Timestamp, Type
from tests.support import chain
from tests.support.checkout import CAPTURES, PROOF

TYPES: tuple[Type, ...] = (Integer(32), Integer(64), String(), String(20), Decimal(10, 2), Timestamp())
STEMS = (
    "id",
    "name",
    "city",
    "total",
    "price",
    "state",
    "note",
    "code",
    "email",
    "phone",
    "created",
    "changed",
)


def grades(old: str, new: str, append_only: bool = True) -> dict[tuple[str, str], Grade]:
    found = find_rename_candidates(parse_columns(old), parse_columns(new), append_only)
    return {(c.old, c.new): c.grade for c in found}


@dataclass
class Source:
    """A table that only appends columns; attribute numbers tell afterwards what truly happened."""

    dice: random.Random
    next: int = 0
    columns: list[tuple[int, Column]] = field(default_factory=list)

    def name(self) -> str:
        taken = {c.name for _, c in self.columns}
        # Few names, so that one that was given up comes back now and then.
        return next(n for n in iter(self.word, None) if n not in taken)

    def word(self) -> str:
        return self.dice.choice(STEMS) + self.dice.choice(
            ("", "_at", "_no", "2", "_old", "_code", "_text", "x", "y")
        )

    def add(self) -> None:
        self.next += 1
        self.columns.append((self.next, Column(self.name(), self.dice.choice(TYPES))))

    def step(self, renames: int) -> None:
        at = self.dice.randrange(len(self.columns))
        number, column = self.columns[at]
        match self.dice.choice(["add", "drop", "retype", *["rename"] * renames]):
            case "add":
                self.add()
            case "drop" if len(self.columns) > 1:
                del self.columns[at]
            case "retype":
                self.columns[at] = number, replace(column, type=self.dice.choice(TYPES))
            case _:
                self.columns[at] = number, replace(column, name=self.name())

    def schema(self) -> TableSchema:
        return TableSchema(tuple(c for _, c in self.columns))


def sightings(seed: int, steps: int, renames: int) -> tuple[TableSchema, TableSchema, dict[str, str]]:
    """The table at two moments, and old → new name of the columns that are on both sides."""
    dice = random.Random(seed)
    source = Source(dice)
    for _ in range(dice.randint(4, 30)):
        source.add()
    old, before = source.schema(), {n: c.name for n, c in source.columns}
    for _ in range(dice.randint(1, steps)):
        source.step(renames)
    return old, source.schema(), {before[n]: c.name for n, c in source.columns if n in before}


@pytest.mark.parametrize(("steps", "renames", "recall"), [(1, 1, 0.85), (3, 1, 0.8), (6, 4, 0.7)])
def test_what_is_called_proven_is_true(steps: int, renames: int, recall: float) -> None:
    right = wrong = truly = 0
    for seed in range(20_000 if PROOF else 2_000):
        old, new, truth = sightings(seed, steps, renames)
        proven = {
            (c.old, c.new) for c in find_rename_candidates(old, new, append_only=True) if c.grade == "proven"
        }
        real = {(a, b) for a, b in truth.items() if a != b}
        right += len(proven & real)
        wrong += len(proven - real)
        truly += len(real)
    assert right / (right + wrong) >= 0.999
    assert right / truly >= recall


def test_a_candidate_pairs_a_name_that_vanished_with_one_that_appeared_and_uses_each_once() -> None:
    for seed in range(500):
        old, new, _ = sightings(seed, 8, 3)
        for append_only in (True, False):
            found = find_rename_candidates(old, new, append_only)
            assert {c.old for c in found} <= set(old.names) - set(new.names)
            assert {c.new for c in found} <= set(new.names) - set(old.names)
            assert len({c.old for c in found}) == len({c.new for c in found}) == len(found)
            assert all(c.evidence for c in found)
            assert append_only or all(c.grade != "proven" for c in found)


def test_between_anchors_a_new_name_is_an_old_column() -> None:
    assert grades("a INT, b INT, c INT", "x INT, y INT, c INT") == {
        ("a", "x"): "proven",
        ("b", "y"): "proven",
    }


def test_a_name_with_a_type_of_another_kind_is_a_question() -> None:
    assert grades("a INT, b INT, c INT", "x BIGINT, b INT, c INT") == {("a", "x"): "proven"}
    assert grades("a INT, b INT, c INT", "x STRING, b INT, c INT") == {("a", "x"): "likely"}
    assert grades("a INT, b INT, c INT", "x STRING, y INT, c INT") == {
        ("a", "x"): "likely",
        ("b", "y"): "likely",
    }


def test_nothing_is_proven_about_a_table_that_was_created_again() -> None:
    old = "at TIMESTAMP, sku STRING, delta INT, reason STRING, move_id BIGINT"
    assert grades(old, "id UUID, sku STRING, qty DECIMAL(9,3), moved_on DATE") == {}


def test_behind_the_last_anchor_only_names_and_types_speak() -> None:
    assert grades("a INT, price INT", "a INT, list_price INT") == {("price", "list_price"): "likely"}
    assert grades("a INT, price INT", "a INT, qty INT") == {("price", "qty"): "possible"}
    assert grades("a INT, price INT, note STRING", "a INT, qty BIGINT, sku BIGINT") == {}
    assert grades("a INT, price INT, note STRING", "a INT, memo STRING") == {("note", "memo"): "possible"}


def test_an_appended_column_is_never_an_old_one_that_stood_before_a_kept_one() -> None:
    assert grades("a INT, price INT, b INT", "a INT, b INT, list_price INT") == {}


def test_of_several_vanished_columns_type_and_name_choose() -> None:
    old = "a INT, note STRING, price INT, c INT"
    assert grades(old, "a INT, remark STRING, c INT") == {("note", "remark"): "likely"}
    assert grades(old, "a INT, remark DATE, c INT").popitem()[1] == "possible"


def test_an_order_that_no_append_only_table_shows_proves_nothing() -> None:
    rebuilt = grades("a INT, b INT, c INT, d INT", "d INT, c INT, x INT, a INT")
    assert "proven" not in rebuilt.values()
    inserted = grades("a INT, b INT, c INT, d INT", "a INT, n INT, b INT, x INT, d INT")
    assert "proven" not in inserted.values()


def test_a_name_given_up_and_used_again_proves_nothing_where_it_stood() -> None:
    assert grades("a INT, b INT, c INT, d INT, e INT", "a INT, x INT, d INT, e INT, b INT") == {
        ("c", "x"): "likely"
    }


def test_columns_that_keep_their_id_are_not_asked_about() -> None:
    old = TableSchema(
        (Column("a", Integer(32), id=1), Column("b", Integer(32), id=2), Column("c", Integer(32), id=3))
    )
    new = TableSchema(
        (Column("a", Integer(32), id=1), Column("x", Integer(32), id=2), Column("c", Integer(32), id=3))
    )
    assert find_rename_candidates(old, new, append_only=False) == ()


POSTGRES = ("shop-json", "shop-avro", "shop-upgrade", "shop-downtime", "shop-crash")


def attribute_names(run: str) -> dict[tuple[str, str], list[list[str]]]:
    """(schema, table) → the names that each attribute number of it had, in the order of time."""
    names: dict[tuple[int, int], list[str]] = {}
    tables: dict[tuple[str, str], set[tuple[int, int]]] = {}
    with (CAPTURES / "postgres" / run / "truth.jsonl").open(encoding="utf-8") as lines:
        for step in map(json.loads, lines):
            for table in (*step.get("affected", ()), *step.get("tables", ())):
                for column in table["columns"]:
                    number = (table["oid"], column["attnum"])
                    tables.setdefault((table["schema"], table["name"]), set()).add(number)
                    had = names.setdefault(number, [])
                    if had[-1:] != [column["name"]]:
                        had.append(column["name"])
    return {table: [names[number] for number in numbers] for table, numbers in tables.items()}


@pytest.mark.parametrize("run", POSTGRES)
def test_what_is_proven_in_a_recording_is_what_the_catalogue_says(run: str) -> None:
    truth = attribute_names(run)
    proven = 0
    for history in chain.histories(f"postgres/{run}"):
        for candidate in (c for v in history.versions for c in v.candidates if c.grade == "proven"):
            had = truth[history.table.schema, history.table.table]
            assert any(
                candidate.new in names[names.index(candidate.old) :]
                for names in had
                if candidate.old in names
            )
            proven += 1
    assert proven


STATED = [
    ("ALTER TABLE t CHANGE COLUMN a b INT NOT NULL DEFAULT 'x, RENAME COLUMN q TO r'", {"a": "b"}),
    (
        "alter table `s`.`t` change `a b` `c``d` varchar(10) comment 'it''s', change e f int",
        {"a b": "c`d", "e": "f"},
    ),
    ("ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a", {"a": "b", "b": "a"}),
    ("ALTER TABLE t ADD z DECIMAL(10,2) DEFAULT 0, RENAME COLUMN a TO b, DROP c", {"a": "b"}),
    ("ALTER TABLE t CHANGE a a BIGINT", {}),
    ("ALTER TABLE t RENAME INDEX a TO b, RENAME KEY c TO d, RENAME TO u", {}),
    ("ALTER TABLE t /* CHANGE x y INT */ -- CHANGE p q INT\n CHANGE a b INT # CHANGE r s INT", {"a": "b"}),
    ("CREATE TABLE t (a INT COMMENT 'RENAME COLUMN a TO b')", {}),
    ("ALTER TABLE t COMMENT 'x', ADD CONSTRAINT c CHECK (a IN ('CHANGE b c', 'd'))", {}),
    ("DROP TABLE t", {}),
    ("", {}),
]
BEYOND_SQLGLOT = [
    ("ALTER IGNORE TABLE t CHANGE a b INT", {"a": "b"}),
    ("ALTER ONLINE TABLE IF EXISTS t NOWAIT CHANGE COLUMN IF EXISTS a b INT", {"a": "b"}),
    ("ALTER TABLE t WAIT 5 RENAME COLUMN a TO b", {"a": "b"}),
    ("/*!50001 ALTER TABLE t CHANGE a b INT */", {"a": "b"}),
    ("ALTER TABLE t /*M!100500 RENAME COLUMN a TO b */", {"a": "b"}),
    ('ALTER TABLE "t" CHANGE "a" "b" INT', {"a": "b"}),
    ("ALTER TABLE t RENAME COLUMN a TO b; ALTER TABLE t CHANGE b c INT", {"a": "c"}),
    ("ALTER TABLE t COMMENT 'open, CHANGE a b INT", {}),
    (
        "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN SET @a=1; ALTER TABLE t CHANGE a b INT; END",
        {},
    ),
]


@pytest.mark.parametrize(("ddl", "renames"), [*STATED, *BEYOND_SQLGLOT])
def test_renames_that_a_statement_states(ddl: str, renames: dict[str, str]) -> None:
    assert dict(find_column_renames(ddl, MYSQL_STATEMENTS)) == renames


def sqlglot_renames(ddl: str) -> Iterator[tuple[str, str]]:
    for statement in sqlglot.parse(ddl, read="mysql"):
        for action in statement.args.get("actions", ()) if isinstance(statement, exp.Alter) else ():
            if isinstance(action, exp.RenameColumn):
                yield action.this.name, action.args["to"].name
            elif action.args.get("rename_from") is not None:
                yield action.args["rename_from"].name, action.this.name


@pytest.mark.parametrize(("ddl", "renames"), STATED)
def test_another_parser_agrees(ddl: str, renames: dict[str, str]) -> None:
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    assert {a: b for a, b in sqlglot_renames(ddl) if a != b} == renames


def test_oracle_folds_bare_names_and_keeps_quoted_ones() -> None:
    oracle = ORACLE_STATEMENTS
    assert find_column_renames('ALTER TABLE "S"."T" RENAME COLUMN a TO "b"', oracle) == (("A", "b"),)
    assert find_column_renames("ALTER TABLE s.t RENAME COLUMN a# TO b$c -- x", oracle) == (("A#", "B$C"),)
    assert find_table_renames("RENAME a TO b", oracle) == ((("A",), ("B",)),)


@pytest.mark.parametrize(
    ("ddl", "tables"),
    [
        ("RENAME TABLE a TO b", [("a", "b")]),
        ("RENAME TABLE s.a TO s.b, `s`.`c d` TO e;", [("s.a", "s.b"), ("s.c d", "e")]),
        ("RENAME TABLE IF EXISTS a NOWAIT TO b", [("a", "b")]),
        ("ALTER TABLE s.a RENAME TO s.b", [("s.a", "s.b")]),
        ("ALTER TABLE a RENAME b", [("a", "b")]),
        ("ALTER TABLE a RENAME AS b", [("a", "b")]),
        ("ALTER TABLE a RENAME = b", [("a", "b")]),
        ("ALTER TABLE a ADD c INT, RENAME TO b", [("a", "b")]),
        ("ALTER TABLE a RENAME COLUMN c TO d", []),
        ("ALTER TABLE a RENAME INDEX c TO d", []),
        ("RENAME USER a TO b", []),
        ("DROP TABLE a", []),
    ],
)
def test_tables_that_a_statement_renames(ddl: str, tables: list[tuple[str, str]]) -> None:
    assert [(".".join(a), ".".join(b)) for a, b in find_table_renames(ddl, MYSQL_STATEMENTS)] == tables
