"""The PostgreSQL of a random recording: statements run, and what the catalogue says after each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psycopg

from bench.random_statements import SCHEMA
from tests.lake_state.row_numbers import ROW
from tests.live.topics import Topics

_TRANSACTION = 2**32
"""`source.txId` has the low 32 bits of what `txid_current()` gives."""
_INDEXES = """
FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid CROSS JOIN LATERAL (
  SELECT jsonb_agg(a.attname ORDER BY p.place) AS names
  FROM unnest(i.indkey) WITH ORDINALITY p (number, place)
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.number
) k WHERE i.indrelid = c.oid AND i.indisunique
"""
_TABLES = f"""
SELECT c.oid::bigint, n.nspname AS schema, c.relname AS name, c.relreplident::text AS replica_identity,
  (SELECT x.relname FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
   WHERE i.indrelid = c.oid AND i.indisreplident) AS replica_identity_index,
  (SELECT jsonb_agg(jsonb_build_object(
     'name', a.attname, 'attnum', a.attnum, 'type', format_type(a.atttypid, a.atttypmod),
     'not_null', a.attnotnull, 'generated', nullif(a.attgenerated::text, ''), 'domain', NULL
   ) ORDER BY a.attnum)
   FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
  (SELECT jsonb_build_object('name', x.relname, 'columns', k.names)
   {_INDEXES} AND i.indisprimary) AS primary_key,
  (SELECT jsonb_agg(jsonb_build_object(
     'name', x.relname, 'columns', k.names, 'expressions', i.indexprs IS NOT NULL) ORDER BY x.relname)
   {_INDEXES} AND NOT i.indisprimary AND i.indpred IS NULL) AS unique_indexes
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = '{SCHEMA}' AND c.relkind = 'r' ORDER BY c.oid
"""
"""Source: PostgreSQL documentation, "System Catalogs" (pg_class, pg_attribute, pg_index)."""


@dataclass(slots=True)
class PostgresSource:
    """One connection to the source, its tables as the catalogue describes them, and each step so far."""

    connection: psycopg.Connection[dict[str, Any]]
    steps: list[dict[str, Any]] = field(default_factory=list)
    tables: dict[int, dict[str, Any]] = field(default_factory=dict)

    def start(self) -> None:
        """Note the tables that the snapshot of the connector will read."""
        self.tables = self._read()
        self.steps.append(
            {"kind": "control", "sql": "connector start", "time": _now(), "tables": [*self.tables.values()]}
        )

    def end(self) -> None:
        """Note the numbers of the rows that each table has at the end."""
        rows = {}
        for table in self.tables.values():
            query = f"SELECT jsonb_agg({ROW}) AS it FROM {SCHEMA}.{table['name']}"
            rows[table["name"]] = self._ask(query) or []
        self.steps.append({"kind": "control", "sql": "end", "time": _now(), "rows": rows})

    def run(self, statements: Sequence[str]) -> int | None:
        """Run statements in one transaction; give its number if it wrote rows. None if it is rolled back."""
        noted: list[dict[str, Any]] = []
        before, has_rows = self.tables, False
        try:
            with self.connection.transaction():
                number = self._ask("SELECT txid_current() AS it")
                for sql in statements:
                    done = self.connection.execute(sql.encode())
                    has_rows |= done.rowcount > 0
                    noted.append(self._describe(sql, number))
        except psycopg.Error:
            self.tables = before
            return None
        self.steps += noted
        return int(number) % _TRANSACTION if has_rows else None

    def list_arrived(self, topics: Topics) -> set[int]:
        """List the transactions whose records have arrived."""
        return topics.transactions()

    def list_tables(self) -> Sequence[Mapping[str, Any]]:
        """List the tables as they are now."""
        return [*self.tables.values()]

    def _describe(self, sql: str, number: int) -> dict[str, Any]:
        before, self.tables = self.tables, self._read()
        return {
            "kind": "dml" if sql.startswith(("INSERT", "UPDATE", "DELETE", "TRUNCATE")) else "ddl",
            "sql": sql,
            "time": _now(),
            "txid": str(number),
            "affected": [t for oid, t in self.tables.items() if before.get(oid) != t],
            "dropped": [t for oid, t in before.items() if oid not in self.tables],
        }

    def _read(self) -> dict[int, dict[str, Any]]:
        rows = self.connection.execute(_TABLES.encode()).fetchall()
        lists = ("columns", "unique_indexes")
        return {row["oid"]: {**row, **{name: row[name] or [] for name in lists}} for row in rows}

    def _ask(self, sql: str) -> Any:
        row = self.connection.execute(sql.encode()).fetchone()
        return row["it"] if row else None


def _now() -> str:
    return datetime.now(UTC).isoformat()
