"""What a query reads, as PostgreSQL itself notes it: the dependencies of a view on columns, in `pg_depend`.

Source: PostgreSQL 15, 53.18 pg_depend: `refobjsubid` is the number of the column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.compat.generated_queries import QueryMaker
from tests.compat.test_statement_reads import MARKED, Marked, read
from tests.support.checkout import PROOF

TABLES = '''
create table orders (id int primary key, customer_id int, status text, total numeric, placed_at timestamp,
                     address text, items int[], payload jsonb);
create table customers (id int primary key, name text, email text, region text);
create table lines (order_id int, sku text, qty int, price numeric);
create table "Odd ""Table""" ("odd, name" text, "a`b" text);
'''
DEPENDENCIES = """
select distinct c.relname, a.attname from pg_depend d
join pg_rewrite r on r.oid = d.objid and r.ev_class = 'oracle'::regclass
join pg_class c on c.oid = d.refobjid and c.relname <> 'oracle'
join pg_attribute a on a.attrelid = c.oid and a.attnum = d.refobjsubid
where d.refobjsubid > 0 and d.classid = 'pg_rewrite'::regclass
"""
COUNT = 3000 if PROOF else 60
UNKNOWN = ("foreign_notes", "former", "_row_deleted", "other.", "row_to_json")
"""Names that are not in the database, and a whole row, for which it notes the table alone."""


@pytest.fixture
def shop(database: str) -> Iterator[psycopg.Connection]:
    """A database with the tables of the marked statements."""
    with psycopg.connect(f"{database}/postgres", autocommit=True) as server:
        server.execute("create database marked_statements")
        try:
            with psycopg.connect(f"{database}/marked_statements", autocommit=True) as connection:
                connection.execute(TABLES)
                yield connection
        finally:
            server.execute("drop database marked_statements with (force)")


def queries() -> Iterator[Marked]:
    """The queries that a view may have."""
    for marked in MARKED:
        is_query = marked.sql.startswith(("select", "with")) and "returning" not in marked.sql
        is_known = not marked.expected[1] and not any(word in marked.sql for word in UNKNOWN)
        if marked.language == "postgres" and is_query and is_known:
            yield marked


def list_noted(shop: psycopg.Connection, query: str) -> set[str]:
    """The columns that PostgreSQL notes for a view."""
    shop.execute(f"create view oracle as {query}")
    noted = {f"{table}.{column}" for table, column in shop.execute(DEPENDENCIES)}
    shop.execute("drop view oracle")
    return noted


def test_postgresql_notes_the_same_columns_for_each_query(shop: psycopg.Connection) -> None:
    found = {marked.sql: list_noted(shop, marked.sql) ^ marked.expected[0].keys() for marked in queries()}
    assert len(found) > 70
    assert {sql: columns for sql, columns in found.items() if columns} == {}


def test_postgresql_notes_the_same_columns_for_generated_queries(
    shop: psycopg.Connection, figure: Callable[[str, object], None]
) -> None:
    for seed in range(COUNT):
        sql = QueryMaker(seed).make()
        columns, unresolved = read(Marked("postgres", sql, ({}, 0)))
        assert ({*columns}, unresolved) == (list_noted(shop, sql), 0), sql
    figure("generated queries, of which PostgreSQL notes the same columns", COUNT)
