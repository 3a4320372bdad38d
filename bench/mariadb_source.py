"""The MariaDB of a random recording: statements run, and what the catalogue says after each."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bench.random_mariadb import SCHEMA
from tests.lake_state.row_numbers import ROW
from tests.live.topics import Topics
from tests.support.record_mariadb import Client

_COLUMNS = f"""
SELECT hex(json_object('table', c.table_name, 'name', c.column_name, 'type', c.column_type,
  'nullable', c.is_nullable, 'extra', c.extra, 'generated', c.is_generated, 'position', c.ordinal_position))
FROM information_schema.columns c
JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
WHERE c.table_schema = '{SCHEMA}' AND t.table_type = 'BASE TABLE' ORDER BY c.table_name, c.ordinal_position
"""
_INDEXES = f"""
SELECT hex(json_object('table', table_name, 'index', index_name, 'column', column_name))
FROM information_schema.statistics WHERE table_schema = '{SCHEMA}' AND non_unique = 0
ORDER BY table_name, index_name, seq_in_index
"""
"""Source: MariaDB documentation, "Information Schema Tables" (COLUMNS, STATISTICS)."""

Table = dict[str, Any]


@dataclass(slots=True)
class MariaDbSource:
    """One session of the source, its tables as the catalogue describes them, and each step so far."""

    client: Client
    steps: list[dict[str, Any]] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)

    def start(self) -> None:
        """Note the tables that the snapshot of the connector will read: no record shows what was before."""
        self.tables, self.steps = {}, []
        self._note("snapshot", ())

    def end(self) -> None:
        """Note the numbers of the rows that each table has at the end."""
        self._note("end", ())
        query = f"SELECT `{ROW}` FROM {SCHEMA}.`{{}}`"
        self.steps[-1]["rows"] = {name: [*map(int, self._ask(query.format(name)))] for name in self.tables}

    def run(self, statements: Sequence[str]) -> str | None:
        """Run statements: rows in one transaction, and each change of tables by itself.

        Returns the transaction if it wrote rows. A transaction in which a statement fails is rolled back.
        """
        if not all(is_dml(sql) for sql in statements):
            for sql in statements:
                if _has_error(self.client.ask(sql)):
                    break
                self._note("ddl", (sql,))
            return None
        self._ask("BEGIN")
        rows = 0
        for sql in statements:
            *_, found = lines = self.client.ask(f"{sql};\nSELECT row_count()")
            if _has_error(lines):
                self._ask("ROLLBACK")
                return None
            rows += max(int(found), 0)
        self._ask("COMMIT")
        self._note("dml", statements)
        return self._ask("SELECT @@last_gtid")[0] if rows else None

    def list_arrived(self, topics: Topics) -> set[str]:
        """List the transactions whose records have arrived."""
        return topics.gtids()

    def list_tables(self) -> Sequence[Mapping[str, Any]]:
        """List the tables as they are now, in the words of `bench.random_statements`."""
        return [
            {
                "name": name,
                "columns": [
                    {
                        **{part: column[part] for part in ("name", "type", "generated")},
                        "not_null": not column["nullable"],
                        "auto_increment": column["extra"] == "auto_increment",
                        "indexed": any(
                            column["name"] in index
                            for index in (table["primary_key"], *table["unique_indexes"].values())
                        ),
                    }
                    for column in table["columns"]
                ],
                "primary_key": {"columns": table["primary_key"]},
                "unique_indexes": [{"name": index} for index in table["unique_indexes"]],
            }
            for name, table in self.tables.items()
        ]

    def _note(self, op: str, statements: Sequence[str]) -> None:
        before, self.tables = self.tables, self._read()
        file, position, *_ = self._ask("SHOW MASTER STATUS")[0].split("\t")
        self.steps.append(
            {
                "step": len(self.steps) + 1,
                "op": op,
                "sql": list(statements),
                "time": datetime.now(UTC).isoformat(),
                "binlog": {"file": file, "pos": int(position)},
                "changed_tables": [t for name, t in self.tables.items() if before.get(name) != t],
                "dropped_tables": [f"{SCHEMA}.{name}" for name in before if name not in self.tables],
            }
        )

    def _read(self) -> dict[str, Table]:
        return describe_tables(map(decode, self._ask(_COLUMNS)), map(decode, self._ask(_INDEXES)))

    def _ask(self, sql: str) -> list[str]:
        lines = self.client.ask(sql)
        if _has_error(lines):
            raise RuntimeError(f"{sql}: {lines}")
        return lines


def is_dml(statement: str) -> bool:
    """Whether a statement changes rows and commits nothing by itself."""
    return statement.startswith(("INSERT", "UPDATE", "DELETE", "REPLACE"))


def _has_error(lines: Sequence[str]) -> bool:
    return any(line.startswith("ERROR") for line in lines)


def decode(line: str) -> dict[str, Any]:
    """Decode an object that the client printed in hexadecimal digits."""
    found: dict[str, Any] = json.loads(bytes.fromhex(line))
    return found


def describe_tables(
    columns: Iterable[Mapping[str, Any]], indexes: Iterable[Mapping[str, Any]]
) -> dict[str, Table]:
    """Describe tables as `tests.lake_state.truth` reads them."""
    parts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for column in columns:
        described = {"nullable": column["nullable"] == "YES", "generated": column["generated"] == "ALWAYS"}
        parts[column["table"]].append({n: v for n, v in column.items() if n != "table"} | described)
    keys: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for index in indexes:
        keys[index["table"]][index["index"]].append(index["column"])
    return {
        name: {
            "db": SCHEMA,
            "table": name,
            "columns": found,
            "primary_key": keys[name].pop("PRIMARY", []),
            "unique_indexes": dict(keys[name]),
        }
        for name, found in parts.items()
    }
