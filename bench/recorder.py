"""Random recordings of a real PostgreSQL or MariaDB by a real Debezium, with the catalogue beside them.

`python -m bench.recorder FOLDER --seeds 1-8 [--steps 300] [--database mariadb]` makes
`FOLDER/postgres/random-1` or `FOLDER/mariadb/random-1`, and so on. MariaDB's programs have to be on the PATH.
`python -m bench.autopilot autopilot --captures FOLDER` writes them into the lake and compares both.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import psycopg
from psycopg.rows import dict_row

from bench import random_mariadb, random_statements
from bench.mariadb_source import MariaDbSource
from bench.postgres_source import PostgresSource
from schemaman.debezium.records import Record
from tests.live.broker import broker_in
from tests.live.connect import Worker, connect_in
from tests.live.database import postgres
from tests.live.mariadb import CONNECTORS, MariaDb, connector, mariadb
from tests.live.process import NotReady, free_port
from tests.live.secured import Secured
from tests.live.streaming import JSON, Connector, streaming
from tests.live.topics import Topics
from tests.support.certificates import self_signed


class Source(Protocol):
    """A database that runs statements, and notes what it is after each."""

    steps: list[dict[str, Any]]

    def start(self) -> None:
        """Note the tables that the snapshot of the connector will read."""

    def end(self) -> None:
        """Note the numbers of the rows that each table has at the end."""

    def run(self, statements: Sequence[str]) -> Hashable | None:
        """Run statements of one transaction; give its number if it wrote rows."""

    def list_tables(self) -> Sequence[Mapping[str, Any]]:
        """List the tables as they are now."""

    def list_arrived(self, topics: Topics) -> set[Any]:
        """List the transactions whose records have arrived."""


def record(folder: Path, seed: int, steps: int, database: str, worker: Worker, broker: str) -> None:
    """Make the recording of a seed of a PostgreSQL.

    Raises:
        NotReady: the connector failed, as Debezium does on some streams.
    """
    name = f"random_{seed}"
    with ExitStack() as stack:
        form = replace(JSON, settings=_partitions(seed))
        stream = stack.enter_context(streaming(name, database, worker, broker, form))
        connection = stack.enter_context(
            psycopg.connect(f"{database}/{name}", autocommit=True, row_factory=dict_row)
        )
        place = folder / "postgres" / f"random-{seed}"
        _record(place, seed, steps, PostgresSource(connection), stream, random_statements)


def record_mariadb(folder: Path, seed: int, steps: int, server: MariaDb, worker: Worker, broker: str) -> None:
    """Make the recording of a seed of a MariaDB. Raises as `record`."""
    with connector(
        f"random_{seed}", random_mariadb.SCHEMA, server, worker, broker, _partitions(seed)
    ) as stream:
        place = folder / "mariadb" / f"random-{seed}"
        _record(place, seed, steps, MariaDbSource(server.client()), stream, random_mariadb)


def _partitions(seed: int) -> dict[str, str]:
    """Settings of a connector: a third of the seeds have topics of three partitions."""
    return {"topic.creation.default.replication.factor": "1"} | {
        "topic.creation.default.partitions": "3" if seed % 3 == 0 else "1"
    }


def _record(
    place: Path, seed: int, steps: int, source: Source, stream: Connector, statements: ModuleType
) -> None:
    chance = random.Random(seed)
    for sql in (*statements.CREATE_ROW_NUMBERS, *statements.make_tables(chance, 6)):
        source.run([sql])
    rows = [source.run([statements.make_insert(chance, table)]) for table in source.list_tables()]
    source.start()
    if not source.list_tables():
        raise NotReady("the source refuses the statements that create the first tables")
    stream.start(sum(number is not None for number in rows))
    wanted = _play(chance, source, stream, steps, statements)
    _await_quiet(source, stream, wanted)
    stream.check()
    source.end()
    _write(place, stream.topics.records, source.steps)


def _play(
    chance: random.Random, source: Source, stream: Connector, steps: int, statements: ModuleType
) -> set[Hashable]:
    """Run transactions while the connector streams, lags or is away; give those with rows."""
    wanted: set[Hashable] = set()
    while len(source.steps) < steps:
        stream.check()
        pace = chance.choices(("close", "lagging", "stopped"), (5, 3, 2))[0]
        with ExitStack() as stack:
            if pace == "stopped":
                stack.enter_context(stream.stopped())
            for _ in range(chance.randint(5, 30)):
                made = statements.make_transaction(chance, source.list_tables())
                number = source.run(made.statements)
                if number is not None and made.is_dml:
                    wanted.add(number)
                    if pace == "close":
                        _await_quiet(source, stream, {number}, 3)
    return wanted


def _await_quiet(source: Source, stream: Connector, transactions: set[Hashable], seconds: float = 15) -> None:
    """Wait until the records of transactions have come, or none came for a time: some tables are gone."""
    end, count = time.monotonic() + seconds, -1
    while not transactions <= source.list_arrived(stream.topics) and time.monotonic() < end:
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
    """The records as `kcat -J` prints them, in the order of their time."""
    for r in sorted(records, key=lambda r: (r.timestamp_ms or 0, r.topic, r.partition, r.offset)):
        key, value = (None if part is None else part.decode() for part in (r.key, r.value))
        line = {"topic": r.topic, "partition": r.partition, "offset": r.offset, "tstype": "create"}
        headers = [part for name, data in r.headers for part in (name, (data or b"").decode())]
        yield json.dumps({**line, "ts": r.timestamp_ms, "headers": headers, "key": key, "payload": value})


def main() -> None:
    """Make the recordings of the seeds, each in a database of its own."""
    parser = argparse.ArgumentParser(prog="python -m bench.recorder")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", default="1-4", help="the first and the last seed")
    parser.add_argument("--steps", type=int, default=300, help="statements of a recording")
    parser.add_argument("--database", choices=("postgres", "mariadb"), default="postgres")
    asked = parser.parse_args()
    first, _, last = asked.seeds.partition("-")
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        at = Path(place)
        secured = Secured(f"127.0.0.1:{free_port()}", self_signed(at))
        for part in ("broker", "connect"):
            (at / part).mkdir()
        broker = stack.enter_context(broker_in(at / "broker", secured))
        if asked.database == "mariadb":
            server = stack.enter_context(mariadb())
            worker = stack.enter_context(connect_in(at / "connect", broker, connectors=CONNECTORS))
            make = partial(record_mariadb, server=server, worker=worker, broker=broker)
        else:
            worker = stack.enter_context(connect_in(at / "connect", broker))
            url = stack.enter_context(postgres()).url
            make = partial(record, database=url, worker=worker, broker=broker)
        for seed in range(int(first), int(last or first) + 1):
            began = time.monotonic()
            try:
                make(asked.folder, seed, asked.steps)
            except NotReady as error:
                # Its records are of no use without an end.
                reason = str(error).split("Caused by: ")[-1]
                print(f"random-{seed}: not recorded: {reason[:300]}", flush=True)
                continue
            print(f"random-{seed}: {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
