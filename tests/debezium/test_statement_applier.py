"""Statements of each database: what they make of a table, what is passed, and what is not read."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from schemaman.debezium.ddl.migrations.grammar import GRAMMARS
from schemaman.debezium.ddl.migrations.migration_files import find_unread_file, prepare_script, sort_files
from schemaman.debezium.ddl.migrations.script import split_script
from schemaman.debezium.ddl.migrations.statement_applier import StatementApplier
from schemaman.model.column_list import format_columns, parse_columns
from schemaman.model.schema import TableId, TableSchema
from schemaman.model.types import Integer

ACCEPTED = "id BIGINT NOT NULL, name VARCHAR(20), n INT, PRIMARY KEY (id)"
SCHEMAS = {"postgresql": "public", "sqlserver": "dbo", "oracle": "APP", "db2": "APP"}


def apply(connector: str, script: str, columns: str = ACCEPTED) -> StatementApplier:
    """Apply a script to the accepted table of a connector, whose names have the case of the database."""
    upper = connector in ("oracle", "db2")
    id = TableId("shop", "app", SCHEMAS.get(connector, ""), "ORDERS" if upper else "orders")
    schema = parse_columns(columns.replace("id", "ID").replace("name", "NAME") if upper else columns)
    applier = StatementApplier(GRAMMARS[connector], [(id, schema)])
    for statement in split_script(prepare_script(script, connector), GRAMMARS[connector]):
        applier.apply(statement, "V2.sql")
    return applier


def show(schema: TableSchema) -> str:
    """The names, types, nullability, defaults and key of a table."""
    plain = [c.__class__(c.name, c.type, c.nullable, c.default, c.comment) for c in schema.columns]
    return format_columns(TableSchema(tuple(plain), schema.key, schema.comment))


@pytest.mark.parametrize(
    ("connector", "script", "expected"),
    [
        ("mysql", "ALTER TABLE `orders` ADD (a int unsigned not null comment 'x', b enum('x','y') "
         "default 'x')",
         "id BIGINT NOT NULL, name VARCHAR(20), n INT, a INT UNSIGNED NOT NULL COMMENT 'x', "
         "b ENUM('x','y') DEFAULT 'x', PRIMARY KEY (id)"),
        ("mysql", "ALTER TABLE shop.orders MODIFY name varchar(30) NOT NULL AFTER id",  None),
        ("mariadb", "ALTER TABLE app.orders CHANGE COLUMN n m BIGINT FIRST, DROP name, ADD KEY k "
         "(m), ALGORITHM=INPLACE;",
         "m BIGINT, id BIGINT NOT NULL, PRIMARY KEY (id)"),
        ("mysql", "ALTER TABLE ORDERS DROP PRIMARY KEY, ADD PRIMARY KEY (N), COMMENT='t;', ENGINE=InnoDB",
         "id BIGINT NOT NULL, name VARCHAR(20), n INT NOT NULL, PRIMARY KEY (n), COMMENT 't;'"),
        ("mysql", "DELIMITER //\nCREATE PROCEDURE p() BEGIN DROP TABLE orders; END//\nDELIMITER ;\n"
         "ALTER TABLE orders DROP COLUMN n; # c;", "id BIGINT NOT NULL, name VARCHAR(20), PRIMARY "
         "KEY (id)"),
        ("oracle", "ALTER TABLE orders ADD (a NUMBER(10,2) DEFAULT 0 NOT NULL, b DATE);\n"
         "ALTER TABLE orders MODIFY (name VARCHAR2(50 CHAR) NOT NULL, a DEFAULT 5);\nALTER TABLE "
         "orders DROP (b)\n/",
         "ID BIGINT NOT NULL, NAME VARCHAR(50) NOT NULL, n INT, A DECIMAL(10,2) NOT NULL DEFAULT "
         "'5', PRIMARY KEY (ID)"),
        ("oracle", "SET DEFINE OFF\nPROMPT it's\nALTER TABLE app.orders RENAME COLUMN name TO "
         "\"Full;Name\"; "
         "ALTER TABLE orders SET UNUSED COLUMN \"n\";", "ID BIGINT NOT NULL, `Full;Name` "
         "VARCHAR(20), PRIMARY KEY (ID)"),
        ("sqlserver", "ALTER TABLE dbo.orders ADD a nvarchar(max) NULL, [b c] datetime2(3) NOT NULL "
         "DEFAULT (getdate())\n"
         "ALTER TABLE [orders] ALTER COLUMN name nvarchar(50)\nGO\nEXEC sp_rename "
         "'dbo.orders.name', 'full', 'COLUMN'\n"
         "ALTER TABLE orders DROP COLUMN n, CONSTRAINT fk_n", None),
        ("sqlserver", "ALTER TABLE orders ALTER COLUMN name varchar(10) NOT NULL\nGO\nexec sp_rename "
         "@objname = 'orders.n', @newname = 'm', @objtype = 'COLUMN'",
         "id BIGINT NOT NULL, name VARCHAR(10) NOT NULL, m INT, PRIMARY KEY (id)"),
        ("db2", "ALTER TABLE orders ADD COLUMN a INT NOT NULL WITH DEFAULT 0 ALTER COLUMN name SET "
         "DATA TYPE VARCHAR(50) "
         "DROP COLUMN \"n\";\nCALL SYSPROC.ADMIN_CMD('REORG TABLE orders');",
         "ID BIGINT NOT NULL, NAME VARCHAR(50), A INT NOT NULL DEFAULT '0', PRIMARY KEY (ID)"),
        ("db2", "--#SET TERMINATOR @\nALTER TABLE orders ALTER COLUMN name SET NOT NULL@\nALTER "
         "TABLE orders DROP PRIMARY KEY@",
         "ID BIGINT NOT NULL, NAME VARCHAR(20) NOT NULL, n INT"),
        ("mariadb", "/*!50003 ALTER ONLINE TABLE orders DROP COLUMN name */;/*M! SET x = 1 */; "
         "-- /*! DROP TABLE orders */",
         "id BIGINT NOT NULL, n INT, PRIMARY KEY (id)"),
        ("oracle", "COMMENT ON COLUMN orders.name IS q'[it's]'",
         "ID BIGINT NOT NULL, NAME VARCHAR(20) COMMENT 'it\\'s', n INT, PRIMARY KEY (ID)"),
        ("postgresql", "ALTER TABLE orders ADD note text, ADD key int, DROP COLUMN IF EXISTS gone, "
         "DROP n, ALTER id TYPE int",
         "id INT NOT NULL, name VARCHAR(20), note STRING, key INT, PRIMARY KEY (id)"),
    ],
)  # fmt: skip
def test_a_statement_makes_of_a_table_what_the_database_makes(
    connector: str, script: str, expected: str | None
) -> None:
    applier = apply(connector, script)
    if expected is None:
        assert len(applier.unread) == 1
        return
    assert applier.unread == []
    (table,) = applier.tables.values()
    assert show(table.schema) == expected


@pytest.mark.parametrize(
    ("connector", "script"),
    [
        ("postgresql", "BEGIN; SET search_path = public; SELECT setval('s', 1), pg_catalog.f(); "
         "INSERT INTO orders VALUES (1, 'ALTER TABLE "
         "orders DROP n;');"
         "CREATE UNIQUE INDEX CONCURRENTLY i ON orders (name); GRANT ALL ON orders TO bob; COMMIT;"
         "CREATE FUNCTION f() RETURNS int AS $x$ BEGIN DROP TABLE orders; END $x$ LANGUAGE plpgsql;"
         "CREATE VIEW v AS SELECT 1; ALTER TABLE orders OWNER TO bob, ENABLE TRIGGER ALL; TRUNCATE orders;"
         "CREATE TEMP TABLE t AS SELECT 1; ALTER TABLE t ADD x int; DROP TABLE t; DROP TABLE IF "
         "EXISTS nope;"
         "ALTER TABLE orders DROP CONSTRAINT orders_n_fkey, VALIDATE CONSTRAINT c; ALTER TABLE "
         "orders SET (fillfactor=70)"),
        ("mysql", "LOCK TABLES orders WRITE; UPDATE orders SET n = 1; UNLOCK TABLES; CREATE TRIGGER "
         "t BEFORE INSERT ON "
         "orders FOR EACH ROW BEGIN IF NEW.n THEN SET NEW.n = 1; END IF; END; USE app; ALTER TABLE "
         "orders DROP INDEX i"),
        ("sqlserver", "SET ANSI_NULLS ON\nGO\nBEGIN TRANSACTION\nUPDATE orders SET n = 1\nCREATE "
         "TABLE #t (a int)\nDROP TABLE #t\n"
         "COMMIT\nGO\nCREATE PROCEDURE p AS\nDROP TABLE orders\nGO\nALTER TABLE orders WITH CHECK "
         "CHECK CONSTRAINT ALL"),
        ("oracle", "CREATE OR REPLACE TRIGGER t BEFORE INSERT ON orders BEGIN NULL; END;\n/\nCOMMIT;\n"
         "ALTER TABLE orders ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;\nCREATE INDEX i ON orders (id);"),
    ],
)  # fmt: skip
def test_statements_that_change_no_structure_are_passed(connector: str, script: str) -> None:
    applier = apply(connector, script)
    assert applier.unread == []
    assert all(table.schema == table.accepted for table in applier.tables.values())
    assert applier.dropped == []


@pytest.mark.parametrize(
    ("connector", "script", "line", "reason"),
    [
        ("postgresql", "\n\nDO $$ BEGIN DROP TABLE orders; END $$;", 3, "block"),
        ("postgresql", "SELECT * INTO other FROM orders", 1, "creates a table"),
        ("postgresql", "CREATE TABLE x AS SELECT 1;", 1, "list of columns"),
        ("postgresql", "CREATE TABLE x (LIKE orders);", 1, "LIKE"),
        ("postgresql", "ALTER TABLE nope ADD x int;", 1, "has no table nope"),
        ("postgresql", "ALTER TABLE orders DROP COLUMN x;", 1, "no column x"),
        ("postgresql", "ALTER TABLE orders ADD COLUMN n int;", 1, "already has a column n"),
        ("postgresql", "ALTER TABLE orders ADD COLUMN m mood;", 1, "type mood is not known"),
        ("postgresql", "ALTER TABLE orders FROBNICATE;", 1, "not read"),
        ("postgresql", "ALTER TABLE orders DROP CONSTRAINT orders_id;", 1, "may be the primary key"),
        ("postgresql", "INSERT INTO t VALUES (1)\nALTER TABLE orders DROP n;", 1, "follows inside"),
        ("postgresql", "DROP SCHEMA public CASCADE;", 1, "every table"),
        ("postgresql", "SELECT AddGeometryColumn('orders', 'g', 4326, 'POINT', 2);", 1, "function AddGeo"),
        ("mysql", "SOURCE other.sql", 1, "no statement"),
        ("sqlserver", "ALTER SCHEMA x TRANSFER dbo.orders", 1, "every table"),
        ("postgresql", "DROP TYPE mood CASCADE;", 1, "columns that use"),
        ("postgresql", "ALTER TABLE orders ADD COLUMN a int; SELECT 'x", 1, "has no end"),
        ("postgresql", "SELECT $$ x; ALTER TABLE orders DROP n;", 1, ""),
        ("postgresql", "\\i other.sql", 1, "no statement"),
        ("postgresql", "COPY orders FROM stdin;\r\n1\t;\r\n\\.\r\nDO $$ x $$;", 4, "block"),
        ("mysql", "CREATE TABLE x LIKE orders;", 1, "list of columns"),
        ("mysql", "CREATE PROCEDURE p() BEGIN SELECT 1;\nALTER TABLE orders DROP n;", 1, "no clear end"),
        ("oracle", "BEGIN EXECUTE IMMEDIATE 'DROP TABLE orders'; END;\n/", 1, "block"),
        ("oracle", "CREATE PROCEDURE p IS BEGIN x; END;\nALTER TABLE orders DROP (n);", 1, "no clear end"),
        ("sqlserver", "IF 1 = 1\nDROP TABLE orders", 1, "block"),
        ("sqlserver", "EXEC sp_executesql N'DROP TABLE orders'", 1, "not known"),
        ("db2", "CALL drop_all()", 1, "not known"),
    ],
)  # fmt: skip
def test_what_is_not_read_says_so(connector: str, script: str, line: int, reason: str) -> None:
    applier = apply(connector, script)
    unread = applier.unread[-1]
    assert reason in unread.reason
    assert unread.place.line == line
    names = [c.name for t in applier.tables.values() for c in t.schema.columns]
    assert "n" in names, "nothing of it is applied"


def test_events_get_the_types_of_events() -> None:
    script = "ALTER TABLE orders ADD a varchar(9), ADD b timestamp(0) NOT NULL DEFAULT now()"
    applier = apply("postgresql", script, "id BIGINT NOT NULL, name STRING, n INT, PRIMARY KEY (id)")
    (table,) = applier.tables.values()
    assert table.is_emitted
    assert show(table.schema).endswith("a STRING, b TIMESTAMP_NTZ(3) NOT NULL DEFAULT 0, PRIMARY KEY (id)")


def test_files_run_in_the_order_of_their_tool() -> None:
    flyway = ["R__view.sql", "V10__c.sql", "V2.1__b.sql", "V2__a.sql", "U2__a.sql", "B1__base.sql"]
    assert sort_files(flyway) == ("V2__a.sql", "V2.1__b.sql", "V10__c.sql", "R__view.sql")
    assert sort_files(["2_b.up.sql", "10_c.up.sql", "1_a.up.sql", "1_a.down.sql"]) == (
        "1_a.up.sql", "2_b.up.sql", "10_c.up.sql",
    )  # fmt: skip
    prisma = ["m/20240102_b/migration.sql", "m/20240101_a/migration.sql", "m/20240101_a/down.sql"]
    assert sort_files(prisma) == ("m/20240101_a/migration.sql", "m/20240102_b/migration.sql")


@pytest.mark.parametrize(
    ("connector", "script", "names"),
    [
        ("postgresql", "-- +goose Up\nALTER TABLE orders ADD a int;\n-- +goose Down\nDROP TABLE "
         "orders;", ["a"]),
        ("postgresql", "-- migrate:up\nALTER TABLE orders ADD a int;\n-- migrate:down\nDROP TABLE "
         "orders;", ["a"]),
        ("postgresql", "-- +goose Up\n-- +goose StatementBegin\nCREATE FUNCTION f() RETURNS int AS "
         "'x;' LANGUAGE sql;\n"
         "-- +goose StatementEnd\nALTER TABLE orders ADD a int;", ["a"]),
        ("postgresql", "--liquibase formatted sql\n--changeset x:1\nALTER TABLE orders ADD a int;\n"
         "--rollback ALTER TABLE orders DROP a;\n--changeset x:2 dbms:oracle\nDROP TABLE orders;\n"
         "--changeset x:3 endDelimiter://\nALTER TABLE orders ADD b int//\n--changeset x:4 dbms:!oracle\n"
         "ALTER TABLE orders ADD c int;", ["a", "b", "c"]),
        ("postgresql", "BEGIN;\n\n-- Running upgrade  -> 1\n\nCREATE TABLE alembic_version "
         "(version_num VARCHAR(32) NOT NULL, "
         "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));\nALTER TABLE orders ADD COLUMN "
         "a INTEGER;\n\n"
         "INSERT INTO alembic_version (version_num) VALUES ('1') RETURNING "
         "alembic_version.version_num;\n\nCOMMIT;", ["a"]),
    ],
)  # fmt: skip
def test_only_what_migrates_forwards_is_applied(connector: str, script: str, names: list[str]) -> None:
    applier = apply(connector, script)
    assert applier.unread == []
    table = next(t for t in applier.tables.values() if t.accepted is not None)
    assert [c.name for c in table.schema.columns[3:]] == names


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("db/changelog.xml", "<databaseChangeLog/>", "Liquibase"),
        ("db/changelog.yaml", "databaseChangeLog:\n", "Liquibase"),
        ("models/dbt_project.yml", "name: x", "dbt"),
        ("db/V3__x.java", "class V3 {}", "programming language"),
        ("versions/0123456789ab_x.py", "from alembic import op", "alembic"),
        ("db/20240101_x.rb", "add_column", "programming language"),
        ("README.md", "ALTER TABLE", None),
        ("conf.yml", "a: 1", None),
    ],
)
def test_files_in_other_languages_are_told(name: str, text: str, word: str | None) -> None:
    unread = find_unread_file(name, text)
    assert (unread is None) if word is None else (unread is not None and word in unread.reason)


@pytest.mark.parametrize("connector", sorted(GRAMMARS))
def test_hostile_scripts_are_read_in_time_and_run_nothing(connector: str, tmp_path: Path) -> None:
    scripts = [
        f"INSERT INTO t VALUES {','.join(['(1)'] * 10_000)};",
        f"SELECT '{'a' * 300_000}';",
        f"ALTER TABLE orders ADD x int DEFAULT {'(' * 5_000}1{')' * 5_000};",
        f"CREATE TABLE t (a {'(' * 5_000}",
        f"ALTER TABLE \"$(touch {tmp_path}/x)\" ADD `touch {tmp_path}/x` int;",
        "ALTER TABLE orders ADD \"a\x00\x1b[31m\u202e\" int; -- \x85\u2028",
        "\ufffe\x02DELIMITER x\x02;;;'\"`$$",
        "/*" * 10_000,
    ]  # fmt: skip
    began = time.process_time()
    for script in scripts:
        for unread in apply(connector, script).unread:
            assert len(unread.beginning) <= 80
            assert unread.beginning.isprintable()
    assert time.process_time() - began < 10
    assert list(tmp_path.iterdir()) == []


OUT, UNSURE = [(True, 1)], [(False, 1)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("ALTER TABLE orders SET UNLOGGED", OUT),
        ("ALTER TABLE orders SET UNLOGGED, ALTER n DROP NOT NULL; ALTER TABLE orders SET LOGGED", []),
        ("ALTER PUBLICATION dbz DROP TABLE items, ONLY public.orders", OUT),
        ("ALTER PUBLICATION dbz DROP TABLES IN SCHEMA public, sales", OUT),
        (
            "ALTER PUBLICATION d DROP TABLE orders; ALTER PUBLICATION d ADD TABLE orders (id) WHERE (n > 1)",
            [],
        ),
        ("ALTER PUBLICATION dbz DROP TABLE orders; ALTER PUBLICATION x ADD TABLE orders", OUT),
        ("ALTER PUBLICATION dbz SET TABLE items, lines", UNSURE),
        ("ALTER PUBLICATION dbz SET TABLE items, orders", []),
        ("CREATE PUBLICATION x FOR TABLE items; ALTER PUBLICATION x SET TABLE lines; DROP PUBLICATION x", []),
        ("DROP PUBLICATION IF EXISTS x, dbz CASCADE;", UNSURE),
        ("DROP PUBLICATION dbz; CREATE PUBLICATION dbz FOR ALL TABLES WITH (publish_via_partition_root)", []),
        ("DROP PUBLICATION dbz; CREATE PUBLICATION dbz FOR ALL TABLES WITH (publish = 'insert')", UNSURE),
        ("DROP PUBLICATION dbz; CREATE PUBLICATION dbz FOR TABLES IN SCHEMA sales, TABLE orders", []),
        ("ALTER PUBLICATION dbz SET (publish = 'insert, update')", UNSURE),
        (
            "ALTER PUBLICATION dbz SET (publish = 'insert, update, delete'); ALTER PUBLICATION d OWNER TO x",
            [],
        ),
    ],
)
def test_a_statement_that_ends_the_capture_of_a_table_marks_it(
    script: str, expected: list[tuple[bool, int]]
) -> None:
    applier = apply("postgresql", script)
    marks = [table.held_back for table in applier.tables.values()]
    assert [(mark.is_certain, mark.place.line) for mark in marks if mark is not None] == expected
    assert applier.unread == []


def test_a_renamed_column_stays_one_column() -> None:
    applier = apply(
        "postgresql",
        "ALTER TABLE orders RENAME n TO m; ALTER TABLE orders ALTER m TYPE int8; ALTER TABLE orders "
        "ADD n int",
    )
    (table,) = applier.tables.values()
    assert table.accepted is not None
    ids = {c.name: c.id for c in table.accepted.columns}
    (renamed,) = [c for c in table.schema.columns if c.id == ids["n"]]
    assert (renamed.name, renamed.type) == ("m", Integer(64))
    assert table.places[ids["n"] or 0].line == 1
