"""One database with its connector: statements go in, records come out, and a test waits until they came."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.live.connect import Worker
from tests.live.forms import Form, json_with_schemas
from tests.live.process import await_true
from tests.live.statements import SCHEMA, Narrator
from tests.live.topics import Topics

_ARRIVAL = 30.0
JSON = json_with_schemas()


class Connector:
    """A connector with its topics, which begin with its name."""

    def __init__(self, name: str, worker: Worker, topics: Topics, settings: Mapping[str, str]) -> None:
        self.name = name
        self.topics = topics
        self._worker = worker
        self._settings = settings

    def close(self) -> None:
        """Neither a connector nor a reader any more; database and topics stay."""
        self.topics.close()
        if self._worker.knows(self.name):
            self._worker.delete(self.name)

    def start(self, records: int) -> None:
        """Start the connector and wait until its snapshot, of so many records, has arrived."""
        self._worker.create(self.name, self._settings)
        self.until("the snapshot", lambda: len(self.topics.facts()) >= records)

    def check(self) -> None:
        """Raise `NotReady` with the connector's own words if its task has failed."""
        self._worker.check(self.name)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """The connector is away in this block, and reads afterwards what it missed."""
        self._worker.stop(self.name)
        yield
        self._worker.resume(self.name)

    def until(self, what: str, happened) -> None:
        def read() -> bool:
            self.topics.read()
            self._worker.check(self.name)
            return happened()

        await_true(what, read, self._worker.server, _ARRIVAL)


class Streaming(Connector):
    """The connector `name` of the PostgreSQL database `name`."""

    def __init__(
        self,
        name: str,
        form: Form,
        narrator: Narrator,
        worker: Worker,
        topics: Topics,
        settings: Mapping[str, str],
    ) -> None:
        super().__init__(name, worker, topics, settings)
        self.form = form
        self.narrator = narrator

    def tell(self, *statements: str) -> list[int]:
        """Run statements, each in its own transaction; gives the transactions."""
        return [self.narrator.tell(sql) for sql in statements]

    def start(self, records: int) -> None:
        """Start the connector and wait until its snapshot, of so many records, has arrived."""
        self.narrator.snapshot()
        super().start(records)

    def row(self, *statements: str) -> None:
        """Run statements and wait after each until its record has arrived: the connector does not lag."""
        for sql in statements:
            self.arrived(self.tell(sql))

    def restart(self, worker: Worker) -> None:
        """The connector begins anew on another worker, from the offsets that are stored there."""
        self._worker = worker
        worker.create(self.name, self._settings)

    def arrived(self, transactions: list[int]) -> None:
        """Wait until the records of these transactions lie in their topics."""
        wanted = set(transactions)
        self.until(f"transactions {transactions}", lambda: wanted <= self.topics.transactions())

    def sent(self) -> None:
        """Wait until the server has sent all that was told, whether or not anybody reads it.

        What it decodes behind DDL it begins with the table once more, so that a connector asks the catalogue.
        """
        end = self.narrator.end()
        what = "the server to send what it has"
        await_true(what, lambda: self.narrator.sent(self.name) >= end, self._worker.server, _ARRIVAL)

    @contextmanager
    def undecoded(self) -> Iterator[None]:
        """The server decodes nothing for the connector in this block, as one that has much else to do."""
        process = self.narrator.sender(self.name)
        os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(process, signal.SIGCONT)


@contextmanager
def streaming(
    name: str, database: str, worker: Worker, broker: str, form: Form = JSON
) -> Iterator[Streaming]:
    """A new database on the server `database` and its connector, not started yet."""
    with psycopg.connect(f"{database}/postgres", autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
    topics = Topics(broker, name, form)
    with psycopg.connect(f"{database}/{name}", autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {SCHEMA}".encode())
        settings = _settings(name, database) | dict(form.settings)
        stream = Streaming(name, form, Narrator(connection), worker, topics, settings)
        try:
            yield stream
        finally:
            stream.close()


def _settings(name: str, database: str) -> dict[str, str]:
    """Source: Debezium documentation, PostgreSQL "Connector properties"."""
    place = conninfo_to_dict(database)
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": "1",
        "database.hostname": str(place["host"]),
        "database.port": str(place["port"]),
        "database.user": str(place["user"]),
        "database.password": "none",
        "database.dbname": name,
        "plugin.name": "pgoutput",
        "slot.name": name,
        "publication.name": name,
        "topic.prefix": name,
        "schema.include.list": SCHEMA,
        "skipped.operations": "none",
        "poll.interval.ms": "20",
        "status.update.interval.ms": "300",
    }
