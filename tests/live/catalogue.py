"""What PostgreSQL's catalogue says of the tables of a schema, asked in the transaction that changed them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from psycopg import Connection

from tests.truth.tables import Tables, TrueColumn, TrueTable

_COLUMNS = """
SELECT c.oid::bigint, c.relname, a.attname,
       CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod)
                      ELSE format_type(t.oid, a.atttypmod) END,
       NOT (a.attnotnull OR t.typnotnull), a.attgenerated <> '',
       ARRAY(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
WHERE c.relkind IN ('r', 'p') AND c.relnamespace = %s::regnamespace
ORDER BY c.relname, a.attnum
"""
_KEYS = """
SELECT c.relname, i.indisprimary, x.relname,
       ARRAY(SELECT a.attname::text FROM unnest(i.indkey) WITH ORDINALITY k (number, place)
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number ORDER BY k.place)
FROM pg_index i
JOIN pg_class c ON c.oid = i.indrelid
JOIN pg_class x ON x.oid = i.indexrelid
WHERE i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL AND c.relnamespace = %s::regnamespace
ORDER BY c.relname, NOT i.indisprimary, x.relname
"""


def tables_of(connection: Connection[Any], schema: str) -> Tables:
    """Every table of `schema`; the key is the primary key, else the first unique index by name.

    Source: PostgreSQL documentation, "System Catalogs" (pg_class, pg_attribute, pg_index, pg_enum).
    """
    keys: dict[str, tuple[str, ...]] = {}
    for table, _, _, key in connection.execute(_KEYS, (schema,)):
        keys.setdefault(table, tuple(key))
    columns: Mapping[tuple[int, str], list[TrueColumn]] = defaultdict(list)
    for oid, table, name, type, nullable, generated, labels in connection.execute(_COLUMNS, (schema,)):
        columns[oid, table].append(TrueColumn(name, type, nullable, generated, tuple(labels)))
    return {
        (schema, table): TrueTable((schema, table), tuple(found), keys.get(table, ()), oid)
        for (oid, table), found in columns.items()
    }
