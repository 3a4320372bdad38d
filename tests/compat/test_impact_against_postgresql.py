"""What a query reads, as PostgreSQL itself notes it: the dependencies of a view on columns, in `pg_depend`.

Source: PostgreSQL 15, 53.18 pg_depend: `refobjsubid` is the number of the column.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.compat.test_impact_statements import MARKED, Marked

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
UNKNOWN = ("foreign_notes", "former", "_row_deleted", "other.")
"""Names that are not in the database."""


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


def test_postgresql_notes_the_same_columns_for_each_query(shop: psycopg.Connection) -> None:
    wrong = {}
    for marked in queries():
        shop.execute(f"create view oracle as {marked.sql}")
        noted = {f"{table}.{column}" for table, column in shop.execute(DEPENDENCIES)}
        shop.execute("drop view oracle")
        if noted != marked.expected[0].keys():
            wrong[marked.sql] = noted ^ marked.expected[0].keys()
    assert not wrong
    assert len(list(queries())) > 70
