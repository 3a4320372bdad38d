"""Servers of the live lane: each with its own log file, awaited with a deadline, ended by its process id."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

_PAUSE = 0.05
_LAST_LINES = 15


class NotReady(Exception):
    """A server did not come up, or something did not happen in time; the message ends with its last words."""


class Server:
    """A running child process. `check` raises `NotReady` once it has ended by itself."""

    def __init__(self, name: str, command: Sequence[str | Path], log: Path, **options) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                **options,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def check(self) -> None:
        if (code := self._process.poll()) is not None:
            raise NotReady(f"{self.name} ended with exit code {code}:\n{self.last_words()}")

    def last_words(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_LAST_LINES:])

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def stop(self, number: int, seconds: float = 20) -> None:
        """End it; killed when it does not go in time."""
        if self._process.poll() is None:
            self._process.send_signal(number)
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def java(heap: str, classpath: str, *arguments: str | Path) -> list[str | Path]:
    """A command line for a small JVM that starts fast and stays on loopback."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if program is None:
        raise NotReady("the live tests need Java 17 or newer on the PATH or in JAVA_HOME")
    fast = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true"]
    return [program, f"-Xmx{heap}", *fast, "-cp", classpath, *arguments]


def free_port() -> int:
    """A loopback port that nobody listened on a moment ago."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def await_true(what: str, happened: Callable[[], bool], server: Server, seconds: float) -> None:
    """Ask until it is so.

    Raises:
        NotReady: `server` has ended, or `seconds` have passed.
    """
    deadline = time.monotonic() + seconds
    while not happened():
        server.check()
        if time.monotonic() > deadline:
            raise NotReady(f"{server.name}: {what} did not happen in {seconds:g} s:\n{server.last_words()}")
        time.sleep(_PAUSE)


@contextlib.contextmanager
def running(server: Server, number: int) -> Iterator[Server]:
    """`server` until the end of the block."""
    try:
        yield server
    finally:
        server.stop(number)
