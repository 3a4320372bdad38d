"""A shop whose tables change while rows go in: what the live tests run, statement by statement."""

from __future__ import annotations

from tests.live.streaming import Streaming

_TYPES = (
    *("smallint", "int", "oid", "real", "double precision", "numeric", "numeric(20,4)", "money", "boolean"),
    *(
        "char(3)",
        "varchar(7)",
        "text",
        "bytea",
        "bit(1)",
        "bit(5)",
        "bit varying(9)",
        "uuid",
        "json",
        "jsonb",
    ),
    *(
        "xml",
        "point",
        "inet",
        "cidr",
        "macaddr",
        "int4range",
        "tsvector",
        "int[]",
        "text[]",
        "date",
        "interval",
    ),
    *("time", "time(3)", "timetz", "timestamp", "timestamp(3)", "timestamptz"),
)
_EVERY_TYPE = ", ".join(f"c{number} {type}" for number, type in enumerate(_TYPES))

TABLES = (
    "CREATE TYPE shop.mood AS ENUM ('sad', 'ok')",
    "CREATE TABLE shop.orders (id int PRIMARY KEY, customer varchar(20) NOT NULL, qty int,"
    " total numeric(8,2) NOT NULL, placed timestamptz DEFAULT now())",
    "CREATE TABLE shop.order_lines (order_id int, line smallint, sku text, PRIMARY KEY (order_id, line))",
    "CREATE TABLE shop.customers (email text NOT NULL, name text, CONSTRAINT customers_email UNIQUE (email))",
    "CREATE TABLE shop.visits (url text NOT NULL, at timestamp(3))",
    "CREATE TABLE shop.pallets (id int PRIMARY KEY, place text)",
    f"CREATE TABLE shop.kinds (id bigint PRIMARY KEY, {_EVERY_TYPE}, mood shop.mood, moods shop.mood[])",
)
"""Before the connector starts: a primary key, a composite one, a unique index, none, and every type."""

FIRST_ROWS = (
    "INSERT INTO shop.orders VALUES (1, 'ann', 2, 10.50)",
    "INSERT INTO shop.order_lines VALUES (1, 1, 'a')",
    "INSERT INTO shop.customers VALUES ('ann@example.org', 'Ann')",
    "INSERT INTO shop.visits VALUES ('/', '2026-01-01')",
    "INSERT INTO shop.pallets VALUES (1, 'north')",
    "INSERT INTO shop.kinds (id, mood, c0) VALUES (1, 'ok', 7)",
)

CHANGES = (
    "INSERT INTO shop.orders VALUES (2, 'bob', 1, 3)",
    "ALTER TABLE shop.orders ADD COLUMN note text",
    "INSERT INTO shop.orders VALUES (3, 'bob', 1, 3)",
    "ALTER TABLE shop.orders ADD COLUMN state varchar(8) NOT NULL DEFAULT 'new'",
    "INSERT INTO shop.orders VALUES (4, 'bob', 1, 3)",
    "ALTER TABLE shop.orders DROP COLUMN placed",
    "INSERT INTO shop.orders VALUES (5, 'cy', 1, 3)",
    "ALTER TABLE shop.orders RENAME COLUMN qty TO quantity",
    "INSERT INTO shop.orders VALUES (6, 'cy', 1, 3)",
    "ALTER TABLE shop.orders ALTER customer TYPE varchar(80)",
    "INSERT INTO shop.orders VALUES (7, 'di', 1, 3)",
    "ALTER TABLE shop.orders ALTER total TYPE numeric(12,2)",
    "INSERT INTO shop.orders VALUES (8, 'di', 1, 3)",
    "ALTER TABLE shop.orders ALTER id TYPE bigint",
    "INSERT INTO shop.orders VALUES (9, 'ed', 1, 3)",
    "ALTER TABLE shop.orders ALTER quantity SET NOT NULL",
    "UPDATE shop.orders SET total = 4 WHERE id = 9",
    "ALTER TABLE shop.orders DROP CONSTRAINT orders_pkey, ADD PRIMARY KEY (customer, id)",
    "INSERT INTO shop.orders VALUES (10, 'flo', 1, 3)",
    "DELETE FROM shop.orders WHERE id = 10",
    "INSERT INTO shop.order_lines VALUES (1, 2, 'b')",
    "ALTER TABLE shop.order_lines DROP CONSTRAINT order_lines_pkey, ADD PRIMARY KEY (line, order_id)",
    "INSERT INTO shop.order_lines VALUES (1, 3, 'c')",
    "ALTER TABLE shop.customers DROP CONSTRAINT customers_email",
    "INSERT INTO shop.customers VALUES ('bob@example.org', 'Bob')",
    "ALTER TABLE shop.visits ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "INSERT INTO shop.visits VALUES ('/shop', NULL)",
    "DROP TABLE shop.pallets",
    "CREATE TABLE shop.pallets (label text PRIMARY KEY, id smallint, full_ boolean NOT NULL)",
    "INSERT INTO shop.pallets VALUES ('A', 1, true)",
    "CREATE TABLE shop.refunds (id int PRIMARY KEY, why text)",
    "INSERT INTO shop.refunds VALUES (1, 'broken')",
    "ALTER TYPE shop.mood ADD VALUE 'happy'",
    "INSERT INTO shop.kinds (id, mood) VALUES (2, 'happy')",
    "ALTER TABLE shop.kinds ALTER c0 TYPE bigint",
    "INSERT INTO shop.kinds (id) VALUES (3)",
)
"""While the connector streams; each statement that changes a row is awaited in the topics before the next."""

UNCONFIRMED = {
    "orders@2": ("nullable:note",),
    "orders@3": ("nullable:state",),
    "orders@8": ("nullable:quantity",),
    "order_lines@2": ("key",),
    "customers@2": ("key", "nullable:name"),
    "visits@2": ("key", "nullable:id"),
    "pallets@2": ("key", "nullable:label", "nullable:id", "nullable:full_"),
    "refunds@1": ("key", "nullable:id", "nullable:why"),
}
"""Facts that one row alone has shown, by table and version; all others were shown again by a later row."""

_ROWS = ("INSERT", "UPDATE", "DELETE")


def play(stream: Streaming) -> None:
    """Everything in order, with the connector close behind."""
    stream.tell(*TABLES, *FIRST_ROWS)
    stream.start(len(FIRST_ROWS))
    for sql in CHANGES:
        (stream.row if sql.startswith(_ROWS) else stream.tell)(sql)
