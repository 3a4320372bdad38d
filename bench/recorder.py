"""Random recordings of a real PostgreSQL by a real Debezium, with the catalogue after each statement.

`python -m bench.recorder FOLDER --seeds 1-8 [--steps 300]` makes `FOLDER/postgres/random-1` and so on.
`python -m bench.autopilot autopilot --captures FOLDER` writes them into the lake and compares both.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from bench.random_statements import CREATE_ROW_NUMBERS, SCHEMA, make_insert, make_tables, make_transaction
from schemaman.debezium.records import Record
from tests.lake_state.row_numbers import ROW
from tests.live.broker import broker_in
from tests.live.connect import Worker, connect_in
from tests.live.database import postgres
from tests.live.process import NotReady, free_port
from tests.live.secured import Secured
from tests.live.streaming import JSON, Streaming, streaming
from tests.support.certificates import self_signed

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
class Source:
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


def record(folder: Path, seed: int, steps: int, database: str, worker: Worker, broker: str) -> None:
    """Make the recording of a seed; a third of the seeds have topics of three partitions.

    Raises:
        NotReady: the connector failed, as Debezium does on some streams.
    """
    chance = random.Random(seed)
    name = f"random_{seed}"
    partitions = {"topic.creation.default.replication.factor": "1"} | {
        "topic.creation.default.partitions": "3" if seed % 3 == 0 else "1"
    }
    form = replace(JSON, settings=partitions)
    with ExitStack() as stack:
        stream = stack.enter_context(streaming(name, database, worker, broker, form))
        connection = stack.enter_context(
            psycopg.connect(f"{database}/{name}", autocommit=True, row_factory=dict_row)
        )
        source = Source(connection)
        for sql in (CREATE_ROW_NUMBERS, *make_tables(chance, 6)):
            source.run([sql])
        rows = [source.run([make_insert(chance, table)]) for table in source.tables.values()]
        source.start()
        stream.start(sum(number is not None for number in rows))
        wanted = _play(chance, source, stream, steps)
        _await_quiet(stream, wanted)
        stream.check()
        source.end()
        _write(folder / "postgres" / f"random-{seed}", stream.topics.records, source.steps)


def _play(chance: random.Random, source: Source, stream: Streaming, steps: int) -> set[int]:
    """Run transactions while the connector streams, lags or is away; give those with rows."""
    wanted: set[int] = set()
    while len(source.steps) < steps:
        pace = chance.choices(("close", "lagging", "stopped"), (5, 3, 2))[0]
        with ExitStack() as stack:
            if pace == "stopped":
                stack.enter_context(stream.stopped())
            for _ in range(chance.randint(5, 30)):
                made = make_transaction(chance, [*source.tables.values()])
                number = source.run(made.statements)
                if number is not None and made.is_dml:
                    wanted.add(number)
                    if pace == "close":
                        _await_quiet(stream, {number}, 3)
    return wanted


def _await_quiet(stream: Streaming, transactions: set[int], seconds: float = 15) -> None:
    """Wait until the records of transactions have come, or none came for a time: some tables are gone."""
    end, count = time.monotonic() + seconds, -1
    while not transactions <= stream.topics.transactions() and time.monotonic() < end:
        stream.topics.read()
        if count != len(stream.topics.records):
            end, count = time.monotonic() + seconds, len(stream.topics.records)


def _write(folder: Path, records: Sequence[Record], steps: Sequence[Mapping[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (("records.ndjson.gz", _format(records)), ("truth.jsonl.gz", map(json.dumps, steps))):
        with gzip.open(folder / name, "wt", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    (folder / "meta.json").write_text(json.dumps({"settings": [{}]}), encoding="utf-8")


def _format(records: Sequence[Record]) -> Iterator[str]:
    """The records as `kcat -C -J` prints them, in the order of their time."""
    for r in sorted(records, key=lambda r: (r.timestamp_ms or 0, r.topic, r.partition, r.offset)):
        key, value = (None if part is None else part.decode() for part in (r.key, r.value))
        line = {"topic": r.topic, "partition": r.partition, "offset": r.offset, "tstype": "create"}
        yield json.dumps({**line, "ts": r.timestamp_ms, "broker": 1, "key": key, "payload": value})


def _now() -> str:
    return datetime.now(UTC).isoformat()


def main() -> None:
    """Make the recordings of the seeds, each in a database of its own."""
    parser = argparse.ArgumentParser(prog="python -m bench.recorder")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", default="1-4", help="the first and the last seed")
    parser.add_argument("--steps", type=int, default=300, help="statements of a recording")
    asked = parser.parse_args()
    first, _, last = asked.seeds.partition("-")
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        at = Path(place)
        secured = Secured(f"127.0.0.1:{free_port()}", self_signed(at))
        for part in ("broker", "connect"):
            (at / part).mkdir()
        broker = stack.enter_context(broker_in(at / "broker", secured))
        worker = stack.enter_context(connect_in(at / "connect", broker))
        server = stack.enter_context(postgres())
        for seed in range(int(first), int(last or first) + 1):
            began = time.monotonic()
            try:
                record(asked.folder, seed, asked.steps, server.url, worker, broker)
            except NotReady as error:
                # Its records are of no use without an end.
                print(f"random-{seed}: not recorded: {str(error)[:300]}", flush=True)
                continue
            print(f"random-{seed}: {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
