"""Registrations and reads per second of the schema registry: `python -m bench.registry [SUBJECTS]`.

The server is `schemaman serve` with a store in SQLite; each acknowledged registration is durable. Requests
come over eight connections that stay open. The empty request, `GET /`, shows what HTTP itself costs.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import schemaman as sm
from schemaman.store.subjects import SubjectName
from schemaman.subjects.copies import CopiedVersion, RegistryCopy
from schemaman.subjects.requests import SchemaRequest

_CONNECTIONS = 8
_SECONDS = 3.0
_VERSIONS = 10
_SMALL = 1_000
_LARGE = 100_000

Request = Callable[[int], bytes]


def make_schema(subject: int, version: int) -> str:
    """A record with twelve fields; each number makes another one."""
    fields = ",".join(f'{{"name":"c{n}","type":["null","string"],"default":null}}' for n in range(12))
    return f'{{"type":"record","name":"R{subject}","namespace":"v{version}","fields":[{fields}]}}'


def fill(store: str, subjects: int) -> float:
    """Fill a new store; return versions per second."""
    versions = tuple(
        CopiedVersion(
            SubjectName(".", f"s{subject:06}"),
            version,
            (subject - 1) * _VERSIONS + version,
            SchemaRequest(make_schema(subject, version)),
        )
        for subject in range(1, subjects + 1)
        for version in range(1, _VERSIONS + 1)
    )
    registry = sm.open_schema_registry(store, create=True)
    began = time.perf_counter()
    registry.restore(RegistryCopy(versions))
    return len(versions) / (time.perf_counter() - began)


@contextmanager
def serving(store: str) -> Iterator[str]:
    """The server in a process of its own; the URL."""
    command = [sys.executable, "-m", "schemaman_cli.main", "serve", "--port", "0", "--no-access-log"]
    with subprocess.Popen([*command, "--store", store], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = re.search(r"http://\S+?:\d+", server.stderr.readline())
        assert found is not None
        try:
            yield found.group()
        finally:
            server.terminate()


def build(method: str, path: str, body: object = None) -> bytes:
    """A request of HTTP/1.1 as bytes."""
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


async def _ask(host: str, port: int, request: Request, seconds: float) -> tuple[int, float]:
    """Ask over all connections for a time; how many answers there were, and in how many seconds."""
    numbers = iter(range(1 << 30))
    end = time.perf_counter() + seconds
    answers = 0

    async def connect() -> None:
        nonlocal answers
        reader, writer = await asyncio.open_connection(host, port)
        while time.perf_counter() < end:
            writer.write(request(next(numbers)))
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(head.decode() + (await reader.read(500)).decode())
            found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            assert found is not None
            await reader.readexactly(int(found.group(1)))
            answers += 1
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(connect() for _ in range(_CONNECTIONS)))
    return answers, time.perf_counter() - began


def measure(url: str, request: Request, seconds: float = _SECONDS) -> float:
    """Answers per second."""
    parts = urlsplit(url)
    answers, took = asyncio.run(_ask(parts.hostname or "", parts.port or 0, request, seconds))
    return answers / took


def list_reads(subjects: int) -> dict[str, Request]:
    """Requests that read, each time another schema of all."""

    def choose(number: int) -> tuple[int, int]:
        return number * 7919 % subjects + 1, number % _VERSIONS + 1

    def by_id(number: int, words: str = "") -> bytes:
        subject, version = choose(number)
        return build("GET", f"/schemas/ids/{(subject - 1) * _VERSIONS + version}{words}")

    def look_up(number: int) -> bytes:
        subject, version = choose(number)
        return build("POST", f"/subjects/s{subject:06}", {"schema": make_schema(subject, version)})

    return {
        "empty request": lambda number: build("GET", "/"),
        "schema by one id": lambda number: build("GET", f"/schemas/ids/{number % 100 + 1}"),
        "schema by any id": by_id,
        "by any id and subject": lambda number: by_id(
            number, f"?fetchMaxId=false&subject=s{choose(number)[0]:06}"
        ),
        "latest version": lambda number: build("GET", f"/subjects/s{choose(number)[0]:06}/versions/latest"),
        "look-up by content": look_up,
        "page of 100 subjects": lambda number: build(
            "GET", f"/subjects?offset={choose(number)[0] - 1}&limit=100"
        ),
    }


def register(number: int) -> bytes:
    """A request that registers a new schema under a new subject."""
    return build("POST", f"/subjects/new{number}/versions", {"schema": make_schema(number, 99)})


def main() -> None:
    """Print the figures for few and for many subjects."""
    sizes = [int(word) for word in sys.argv[1:]] or [_SMALL, _LARGE]
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            store = f"sqlite:///{Path(folder) / f'{size}.db'}"
            print(f"{size} subjects with {_VERSIONS} versions, imported at {fill(store, size):,.0f} a second")
            with serving(store) as url:
                for name, request in list_reads(size).items():
                    print(f"  {name:24} {measure(url, request):10,.0f} /s")
                print(f"  {'registrations':24} {measure(url, register):10,.0f} /s", flush=True)


if __name__ == "__main__":
    main()
