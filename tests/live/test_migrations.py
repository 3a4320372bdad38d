"""What the gate reads in a migration is what PostgreSQL does: names, types, NULL and keys of all tables."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import psycopg
from psycopg import sql

from schemaman.debezium.ddl.migrations.grammar import GRAMMARS
from schemaman.debezium.ddl.migrations.script import split_script
from schemaman.debezium.ddl.migrations.statement_applier import StatementApplier
from schemaman.model.ddl import format_type
from tests.live.catalogue import tables_of
from tests.support.checkout import PROOF
from tests.support.generated_migrations import CATALOGUE, Migrations

SCRIPTS, STATEMENTS = (1500, 25) if PROOF else (12, 25)
Shown = dict[str, tuple[tuple[tuple[str, str, bool], ...], tuple[str, ...]]]


def of_server(connection: psycopg.Connection[object], schema: str) -> Shown:
    return {
        name: (tuple((c.name, CATALOGUE[c.type], c.nullable) for c in table.columns), table.key)
        for (_, name), table in tables_of(connection, schema).items()
    }


def of_applier(applier: StatementApplier) -> Shown:
    return {
        t.id.table: (tuple((c.name, format_type(c.type), c.nullable) for c in t.schema.columns), t.schema.key)
        for t in applier.tables.values()
        if t.schema.columns
    }


def test_a_migration_is_read_as_the_server_runs_it(
    database: str, figure: Callable[[str, object], None]
) -> None:
    ran = 0
    with psycopg.connect(f"{database}/postgres") as connection:
        for seed in range(SCRIPTS):
            schema = f"m{seed}"
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
            migrations = Migrations(Random(seed), schema)
            accepted: list[str] = []
            for _ in range(STATEMENTS):
                statement = migrations.statement()
                try:
                    with connection.transaction():
                        connection.execute(statement.encode())
                    accepted.append(statement)
                except psycopg.Error:
                    continue
            applier = StatementApplier(GRAMMARS["postgresql"], ())
            script = migrations.script(accepted)
            for part in split_script(script, GRAMMARS["postgresql"]):
                applier.apply(part, "V1.sql")
            assert applier.unread == [], (seed, script)
            assert of_applier(applier) == of_server(connection, schema), (seed, script)
            ran += len(accepted)
            connection.rollback()
    assert ran >= SCRIPTS * 3
    figure("statements of migrations that PostgreSQL ran and the gate read alike", ran)
