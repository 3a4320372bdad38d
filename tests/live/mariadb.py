"""A MariaDB server with a binlog, from the PATH, on loopback, and the connector that reads it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.live.connect import Worker
from tests.live.database import reachable_folder, unprivileged
from tests.live.process import NotReady, Server, await_true, free_port, running
from tests.live.streaming import JSON, Connector
from tests.live.topics import Topics
from tests.support.record_mariadb import Client

_READY = 30.0
_PROGRAMS = ("mariadbd", "mariadb", "mariadb-install-db")
CONNECTORS = ("debezium-mariadb",)
"""The sets of jars that the worker of such a connector needs."""
_USER = "debezium"


@dataclass(frozen=True, slots=True)
class MariaDb:
    """Where a server listens: its port for a connector, its socket for a client."""

    port: int
    socket: Path

    def client(self) -> Client:
        """A session of the user that may do everything."""
        return Client(str(self.socket))


@contextmanager
def mariadb() -> Iterator[MariaDb]:
    """An empty server with a binlog of whole rows.

    Raises:
        NotReady: a program of MariaDB is not on the PATH, or the server did not come up.
    """
    programs = _find_programs()
    with tempfile.TemporaryDirectory(prefix="schemaman-live-", dir=reachable_folder()) as place:
        folder = Path(place)
        data = folder / "data"
        data.mkdir(mode=0o755)
        user = unprivileged(folder, data)
        basis = Path(programs["mariadbd"]).resolve().parent.parent
        shared = ["--no-defaults", f"--datadir={data}", f"--basedir={basis}", "--skip-name-resolve"]
        _run([programs["mariadb-install-db"], *shared, "--auth-root-authentication-method=normal"], user)
        found = MariaDb(free_port(), data / "server.sock")
        settings = {
            "port": found.port, "socket": found.socket, "bind-address": "127.0.0.1", "pid-file": data / "pid",
            "server-id": 1, "log-bin": "binlog", "binlog-format": "ROW", "binlog-row-image": "FULL",
            "default-time-zone": "+00:00", "character-set-server": "utf8mb4",
            "innodb-flush-log-at-trx-commit": 0, "innodb-buffer-pool-size": "32M", "tmpdir": data,
        }  # fmt: skip
        words = [f"--{name}={value}" for name, value in settings.items()]
        server = Server("MariaDB", [programs["mariadbd"], *shared, *words], folder / "server.log", **user)
        with running(server, signal.SIGTERM):
            await_true("a connection", lambda: _answers(programs["mariadb"], found.socket), server, _READY)
            found.client().ask(
                f"CREATE USER {_USER}@'127.0.0.1' IDENTIFIED BY '{_USER}'; "
                f"GRANT ALL PRIVILEGES ON *.* TO {_USER}@'127.0.0.1'"
            )
            yield found


@contextmanager
def connector(
    name: str, database: str, server: MariaDb, worker: Worker, broker: str, more: Mapping[str, str]
) -> Iterator[Connector]:
    """The connector of a database, not started yet."""
    topics = Topics(broker, name, JSON)
    made = Connector(name, worker, topics, _settings(name, database, server, broker) | dict(more))
    try:
        yield made
    finally:
        made.close()


def _settings(name: str, database: str, server: MariaDb, broker: str) -> dict[str, str]:
    """Source: Debezium documentation, MariaDB "Connector properties"."""
    return {
        "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
        "tasks.max": "1",
        "database.hostname": "127.0.0.1",
        "database.port": str(server.port),
        "database.user": _USER,
        "database.password": _USER,
        "database.server.id": str(5000 + server.port),
        "database.ssl.mode": "disable",
        "database.include.list": database,
        "topic.prefix": name,
        "schema.history.internal.kafka.bootstrap.servers": broker,
        "schema.history.internal.kafka.topic": f"history.{name}",
        "include.schema.changes": "true",
        "skipped.operations": "none",
        "poll.interval.ms": "20",
    }


def _find_programs() -> dict[str, str]:
    found = {name: shutil.which(name) for name in _PROGRAMS}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise NotReady(
            f"a recording of MariaDB needs {', '.join(missing)} on the PATH: install the package "
            "mariadb-server 10.11, or unpack it and add its usr/bin and usr/sbin to the PATH"
        )
    return {name: path for name, path in found.items() if path is not None}


def _run(command: list[str], user: Mapping[str, object]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **user)  # type: ignore[call-overload]
    if done.returncode != 0:
        raise NotReady(f"MariaDB could not set up its folder: {done.stdout}{done.stderr}")


def _answers(program: str, socket: Path) -> bool:
    command = [program, "--no-defaults", "--user=root", "-S", str(socket), "-e", "SELECT 1"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
