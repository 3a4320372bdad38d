"""DDL texts as evidence: what sqlglot reads of them, and what is left where it cannot."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.ddl.event_facts import DdlFacts, read_ddl
from schemaman.debezium.ddl.event_grammar import MYSQL_STATEMENTS
from schemaman.debezium.ddl.event_parser import LONGEST
from schemaman.debezium.ddl.event_renames import (
    find_column_renames,
    find_recreated_columns,
    find_table_renames,
)
from schemaman.debezium.ddl.event_subjects import Subject, find_subjects
from tests.support.checkout import CAPTURES
from tests.support.records import records

BOOKS = sorted(p for p in (CAPTURES / "mariadb").iterdir() if (p / "records.ndjson.gz").exists())


def texts() -> list[str]:
    found: dict[str, None] = {}
    for run in BOOKS:
        for record in records(run):
            value = json.loads(record.value) if record.topic == "books" and record.value else {}
            payload = value.get("payload", value)
            if payload.get("ddl"):
                found[payload["ddl"]] = None
    return list(found)


@pytest.mark.parametrize(("ddl", "expected"), [
    ("ALTER TABLE b ADD COLUMN p INT DEFAULT 7 COMMENT 'x', DROP COLUMN t, "
     "MODIFY COLUMN title VARCHAR(400) NOT NULL DEFAULT 'a''b'",
     {("p", "default"): "7", ("p", "comment"): "x", ("title", "default"): "a'b", ("title", "comment"): None}),
    ("ALTER TABLE b ALTER COLUMN a SET DEFAULT 1, ALTER COLUMN t DROP DEFAULT",
     {("a", "default"): "1", ("t", "default"): None}),
    ("ALTER TABLE b CHANGE COLUMN a `b c` INT DEFAULT NULL COMMENT 'q'",
     {("b c", "default"): None, ("b c", "comment"): "q"}),
    ("ALTER TABLE b COMMENT='people'", {("", "comment"): "people"}),
    ("ALTER TABLE b COMMENT=''", {("", "comment"): None}),
    ("CREATE TABLE t (`a` timestamp(6) NOT NULL DEFAULT current_timestamp(6) COMMENT 'hi', b INT DEFAULT -1) "
     "COMMENT='tt'",
     {("a", "default"): "CURRENT_TIMESTAMP(6)", ("a", "comment"): "hi", ("b", "default"): "-1",
      ("b", "comment"): None, ("", "comment"): "tt"}),
    ("ALTER TABLE b MODIFY a INT DEFAULT 3; ALTER TABLE b RENAME COLUMN a TO z;",
     {("z", "default"): "3", ("z", "comment"): None}),
    ("CREATE VIEW v AS SELECT 1", {}),
    ("CREATE TABLE t LIKE u", {}),
])  # fmt: skip
def test_defaults_and_comments(ddl, expected):
    found = read_ddl(ddl, "mysql")
    assert found.parsed
    assert {(column, attribute): text for column, attribute, text in found.stated_attributes} == expected


@pytest.mark.parametrize(("ddl", "renames", "stated_"), [
    ('ALTER TABLE s.t RENAME COLUMN a TO "b"', (("A", "b"),), {}),
    ("COMMENT ON COLUMN s.t.a IS 'hey'", (), {("A", "comment"): "hey"}),
    ("COMMENT ON TABLE s.t IS ''", (), {("", "comment"): None}),
    ("ALTER TABLE s.t ADD (a NUMBER(9) DEFAULT 1 NOT NULL, b DATE)", (),
     {("A", "default"): "1", ("B", "default"): None}),
])  # fmt: skip
def test_oracle_keeps_names_in_capitals(ddl, renames, stated_):
    found = read_ddl(ddl, "oracle")
    assert found.renames == renames
    assert {(column, attribute): text for column, attribute, text in found.stated_attributes} == stated_


@pytest.mark.parametrize("ddl", [
    "RENAME TABLE a TO b, c TO d", "ALTER TABLE t PARTITION BY HASH (id), RENAME COLUMN a TO b",
    "ALTER IGNORE TABLE t CHANGE a b INT", "/*!50001 ALTER TABLE t CHANGE a b INT */",
    f"ALTER TABLE t CHANGE a b INT COMMENT '{'x' * LONGEST}'",
])  # fmt: skip
def test_what_cannot_be_parsed_still_tells_its_renames(ddl):
    found = read_ddl(ddl, "mysql")
    assert all(fact == "anew" for _, fact, _ in found.stated_attributes)
    assert (found.renames, found.tables) == (
        find_column_renames(ddl, MYSQL_STATEMENTS),
        find_table_renames(ddl, MYSQL_STATEMENTS),
    )
    assert found.renames or found.tables


@pytest.mark.parametrize(("ddl", "anew"), [
    ("DROP COLUMN a, ADD COLUMN a INT", ("a",)), ("ADD `A` INT DEFAULT 1, DROP a", ("A",)),
    ("DROP IF EXISTS a CASCADE, ADD IF NOT EXISTS a INT", ("a",)),
    ("DROP a, ADD COLUMN (b INT, a DECIMAL(3,2))", ("a",)),
    ("/*!50001 DROP a, ADD a INT */", ("a",)), ("DROP `KEY`, ADD `KEY` INT", ("KEY",)),
    ("DROP a, ADD a INT; ALTER TABLE t CHANGE a b INT", ("b",)),
    ("DROP a, ADD a INT; ALTER TABLE t DROP a", ()), ("DROP a; ALTER TABLE u ADD a INT", ()),
    ("DROP KEY a, ADD KEY a (a)", ()), ("DROP PRIMARY KEY, ADD PRIMARY KEY (a)", ()),
    ("DROP PERIOD FOR SYSTEM_TIME, ADD PERIOD FOR SYSTEM_TIME (a, b)", ()),
    ("DROP CONSTRAINT a, ADD CONSTRAINT a CHECK (a > 1)", ()), ("ADD b INT COMMENT 'DROP a, ADD a'", ()),
    ("DROP b, CHANGE a b INT", ()), ("ADD a INT", ()), ("DROP a, ADD", ()), ("DROP", ()),
])  # fmt: skip
def test_columns_made_anew(ddl, anew):
    ddl = f"ALTER TABLE t {ddl}"
    assert find_recreated_columns(ddl, MYSQL_STATEMENTS) == anew
    assert (
        tuple(column for column, fact, _ in read_ddl(ddl, "mysql").stated_attributes if fact == "anew")
        == anew
    )


def test_other_connectors_write_no_statements():
    assert read_ddl("ALTER TABLE t RENAME COLUMN a TO b", "db2") == DdlFacts()


def test_parser_and_tokenizer_agree_on_every_recorded_statement(figure):
    parsed = 0
    for ddl in texts():
        found = read_ddl(ddl, "mariadb")
        parsed += found.parsed
        assert (found.renames, found.tables) == (
            find_column_renames(ddl, MYSQL_STATEMENTS),
            find_table_renames(ddl, MYSQL_STATEMENTS),
        )
    figure("recorded DDL texts that sqlglot reads", f"{parsed} of {len(texts())}")
    assert parsed > 0.85 * len(texts())


def test_nothing_is_written_to_the_terminal(capfd):
    read_ddl("ALTER TABLE t REORGANIZE PARTITION p INTO (PARTITION p VALUES LESS THAN (1))", "mysql")
    assert capfd.readouterr() == ("", "")


WORDS = st.sampled_from("(),;'`\"=1.\x00ab") | st.sampled_from(
    ("ALTER", "TABLE", "CREATE", "RENAME", "COLUMN", "TO", "CHANGE", "MODIFY", "ADD", "IS", "ON", "DEFAULT",
     "COMMENT", "INT", "é", "--", "/*", "*/")
)  # fmt: skip
DDL = st.lists(WORDS, max_size=40).map(" ".join) | st.text(max_size=60)


@given(DDL, st.sampled_from(["mysql", "oracle"]))
def test_any_text_is_read_without_a_fault(ddl, connector):
    found = read_ddl(ddl, connector)
    assert isinstance(found, DdlFacts)
    assert isinstance(find_subjects(ddl), tuple)


@pytest.mark.parametrize("ddl", [
    "ALTER TABLE " + "a." * 60_000, "ALTER TABLE t " + "WAIT " * 60_000, "ALTER TABLE t " + "," * 90_000,
    "ALTER TABLE t ADD a INT DEFAULT " + "(" * 90_000, ";" * 90_000, "`" * 90_000,
    "ALTER TABLE t RENAME " * 40_000,
])  # fmt: skip
def test_a_long_text_is_read_in_bounded_time(ddl):
    began = time.perf_counter()
    read_ddl(ddl, "mysql")
    find_subjects(ddl)
    assert time.perf_counter() - began < 15


@pytest.mark.parametrize(("ddl", "expected"), [
    ("CREATE TABLE IF NOT EXISTS a.b (id INT)", [Subject("CREATE", "table", ("a", "b"), False)]),
    ("CREATE OR REPLACE TABLE b (id INT)", [Subject("CREATE", "table", ("b",), True)]),
    ("alter ignore table `x y` add z int", [Subject("ALTER", "table", ("x y",))]),
    ("CREATE UNIQUE INDEX i ON a.b(c); DROP INDEX j ON d", [Subject("CREATE", "index", ("a", "b")),
                                                          Subject("DROP", "index", ("d",))]),
    ("DROP DATABASE IF EXISTS d", [Subject("DROP", "database", ("d",))]),
    ("DROP SCHEMA d", [Subject("DROP", "database", ("d",))]),
    ("RENAME TABLE a TO b", [Subject("RENAME", "table", ("a",))]),
    ("CREATE TEMPORARY TABLE t (id INT)", []),
    ("CREATE GLOBAL TEMPORARY TABLE t (id INT)", []),
    ("CREATE", []), ("", []), ("DROP INDEX", [Subject("DROP", "index", ())]),
])  # fmt: skip
def test_what_a_statement_is_about(ddl, expected):
    assert list(find_subjects(ddl)) == expected


@pytest.mark.parametrize(("ddl", "alone"), [
    ("RENAME TABLE a TO b", True),
    ("RENAME TABLES IF EXISTS a TO b, c.d TO `e f`;", True),
    ("ALTER TABLE s.a RENAME AS b", True),
    ("s.a TO s.b; s.c TO s.d;", True),
    ("ALTER TABLE a RENAME TO b, ADD c INT", False),
    ("ALTER TABLE a RENAME COLUMN c TO d", False),
    ("RENAME TABLE a TO b; ALTER TABLE b ADD c INT", False),
    ("", False),
])  # fmt: skip
def test_statements_that_rename_tables_alone(ddl, alone):
    assert read_ddl(ddl, "mysql").renames_alone is alone
