"""Speed of the schema registry: `python -m bench.registry [SUBJECTS … | STORE | URL PID …]`.

The server is `schemaman serve` with a store in SQLite, or with the new store `postgresql://…` that is named
there; its CPU time does not count the database. Each acknowledged registration is durable. Requests
come over eight connections that stay open; of two servers, over one and over sixteen. The empty request,
`GET /`, shows what HTTP itself costs. For each request: how many a second, the CPU microseconds of the
server, and these as a multiple of the empty request.
With the URL of an empty registry of another vendor and its processes, both answer the same requests in turn.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from bench.processes import read_cpu
from schemaman.store.sql.store import SqlStore
from schemaman.store.subject_hashes import compute_fingerprint, compute_guid
from schemaman.store.subjects import RegisteredSchema, SchemaContent, SubjectName, SubjectVersion

_CONNECTIONS = 8
_COMPARED_CONNECTIONS = (1, 16)
_FLOOR = "empty request"
_SKIPPED = 1 << 20
"""The first number of a request that counts."""
_SECONDS = 3.0
_VERSIONS = 10
_SMALL = 1_000
_LARGE = 100_000
_SUBJECTS_A_STEP = 1_000
_COMPARED = 100
"""How many subjects are registered at each of two servers before they are compared."""
_COMPARABLE = ("registration", "schema by any id", "latest version", "look-up by content")

Request = Callable[[int], bytes]


def make_schema(subject: int, version: int) -> str:
    """A record with twelve fields; each number makes another one."""
    fields = ",".join(f'{{"name":"c{n}","type":["null","string"],"default":null}}' for n in range(12))
    return f'{{"type":"record","name":"R{subject}","namespace":"v{version}","fields":[{fields}]}}'


def fill(store: str, subjects: int) -> float:
    """Fill a new store by direct inserts, a step at a time; return versions per second."""
    began = time.perf_counter()
    with SqlStore.open(store, create=True) as opened, opened.writing_subjects() as rows:
        for first in range(1, subjects + 1, _SUBJECTS_A_STEP):
            step = range(first, min(first + _SUBJECTS_A_STEP, subjects + 1))
            schemas, versions = [], []
            for subject, version in product(step, range(1, _VERSIONS + 1)):
                id, text = (subject - 1) * _VERSIONS + version, make_schema(subject, version)
                content = SchemaContent("AVRO", text, sent=text)
                schema = RegisteredSchema(".", id, compute_guid(content), content)
                schemas.append((schema, compute_fingerprint(content)))
                versions.append(SubjectVersion(SubjectName(".", f"s{subject:06}"), version, id, 0))
            rows.add_copied(schemas, versions)
        rows.set_largest_id(".", subjects * _VERSIONS)
    return subjects * _VERSIONS / (time.perf_counter() - began)


@contextmanager
def serving(store: str) -> Iterator[tuple[str, int]]:
    """The server in a process of its own: its URL and its process id."""
    command = [sys.executable, "-m", "schemaman_cli.main", "serve", "--port", "0", "--no-access-log"]
    with subprocess.Popen([*command, "--store", store], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = re.search(r"http://\S+?:\d+", server.stderr.readline())
        assert found is not None
        try:
            yield found.group(), server.pid
        finally:
            server.terminate()


def build(method: str, path: str, body: object = None) -> bytes:
    """A request of HTTP/1.1 as bytes."""
    data = b"" if body is None else json.dumps(body).encode()
    kind = "Content-Type: application/json\r\n" if data else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{kind}Content-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


async def _ask(host: str, port: int, request: Request, seconds: float, connections: int) -> tuple[int, float]:
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
    await asyncio.gather(*(connect() for _ in range(connections)))
    return answers, time.perf_counter() - began


@dataclass(frozen=True, slots=True)
class Speed:
    """Answers per second, and the CPU microseconds of the server for one."""

    rate: float
    cpu: float


def measure(
    url: str,
    pids: Sequence[int],
    request: Request,
    seconds: float = _SECONDS,
    connections: int = _CONNECTIONS,
) -> Speed:
    """Send requests for some seconds; a second before is not counted."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 0
    asyncio.run(_ask(host, port, request, 1.0, connections))
    before = read_cpu(pids)
    answers, took = asyncio.run(
        _ask(host, port, lambda number: request(number + _SKIPPED), seconds, connections)
    )
    return Speed(answers / took, 1e6 * (read_cpu(pids) - before) / answers)


def list_reads(subjects: int, versions: int = _VERSIONS) -> dict[str, Request]:
    """Requests that read, each time another schema of all.

    All but the second are asked for the first time: a parameter that no server knows keeps answers apart.
    """

    def choose(number: int) -> tuple[int, int]:
        return number * 7919 % subjects + 1, number % versions + 1

    def by_id(number: int, words: str = "") -> bytes:
        subject, version = choose(number)
        return build("GET", f"/schemas/ids/{(subject - 1) * versions + version}?n={number}{words}")

    def look_up(number: int) -> bytes:
        subject, version = choose(number)
        return build("POST", f"/subjects/s{subject:06}?n={number}", {"schema": make_schema(subject, version)})

    return {
        _FLOOR: lambda number: build("GET", "/"),
        "schema by one id": lambda number: build("GET", f"/schemas/ids/{number % 100 + 1}"),
        "schema by any id": by_id,
        "by any id and subject": lambda number: by_id(
            number, f"&fetchMaxId=false&subject=s{choose(number)[0]:06}"
        ),
        "latest version": lambda number: build(
            "GET", f"/subjects/s{choose(number)[0]:06}/versions/latest?n={number}"
        ),
        "look-up by content": look_up,
        "page of 100 subjects": lambda number: build(
            "GET", f"/subjects?offset={choose(number)[0] - 1}&limit=100&n={number}"
        ),
        "page of 20 schemas": lambda number: build(
            "GET", f"/schemas?offset={(choose(number)[0] - 1) * versions}&limit=20&n={number}"
        ),
    }


def register(number: int, run: int = 0) -> bytes:
    """A request that registers a new schema under a new subject; each run has its own ones."""
    body = {"schema": make_schema(number, 1_000 + run)}
    return build("POST", f"/subjects/new{run}-{number}/versions", body)


def register_event(number: int, run: int = 0) -> bytes:
    """A request that registers a new schema of a Debezium key, which is also noted in the log."""
    name = f"new{run}.t{number}"
    schema = {
        "type": "record", "name": "Key", "namespace": name, "connect.name": f"{name}.Key",
        "fields": [{"name": "id", "type": "int"}],
    }  # fmt: skip
    return build("POST", f"/subjects/{name}-key/versions", {"schema": json.dumps(schema)})


def measure_size(store: str, size: int) -> dict[str, Speed]:
    """Measure a store with so many subjects, and print its figures."""
    print(f"{size} subjects with {_VERSIONS} versions, filled at {fill(store, size):,.0f} a second")
    found: dict[str, Speed] = {}
    with serving(store) as (url, pid):
        for name, request in (list_reads(size) | {"registration": register}).items():
            found[name] = speed = measure(url, [pid], request)
            times = speed.cpu / found[_FLOOR].cpu
            print(f"  {name:24} {speed.rate:8,.0f} /s {speed.cpu:8,.0f} µs {times:6.2f}", flush=True)
        for each, connections in product((register, register_event), _COMPARED_CONNECTIONS):
            name = f"{each.__name__}, {connections} clients"
            speed = measure(url, [pid], partial(each, run=connections), connections=connections)
            print(f"  {name:24} {speed.rate:8,.0f} /s {speed.cpu:8,.0f} µs", flush=True)
    return found


def compare_with(other: str, pids: Sequence[int]) -> None:
    """Print the answers per second and the CPU of this server and of another one, and the quotients.

    `pids` are the processes of the other server, also those of its store.
    """
    reads = list_reads(_COMPARED, 1)
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(f"sqlite:///{Path(folder) / 'schemaman.db'}") as (url, pid),
    ):
        for each in (url, other):
            with httpx2.Client(base_url=each, timeout=60) as client:
                for subject in range(1, _COMPARED + 1):
                    body = {"schema": make_schema(subject, 1)}
                    client.post(f"/subjects/s{subject:06}/versions", json=body).raise_for_status()
        for name, connections in product(_COMPARABLE, _COMPARED_CONNECTIONS):
            request = reads.get(name, partial(register, run=connections))
            mine = measure(url, [pid], request, connections=connections)
            theirs = measure(other, pids, request, connections=connections)
            print(
                f"  {name:20} {connections:3} {mine.rate:7,.0f} /s {theirs.rate:7,.0f} /s"
                f" {mine.rate / theirs.rate:5.1f} {mine.cpu:8,.0f} µs {theirs.cpu:8,.0f} µs"
                f" {theirs.cpu / mine.cpu:5.1f}",
                flush=True,
            )


def main() -> None:
    """Print the figures for few and for many subjects, and how much more many ones cost."""
    if len(sys.argv) > 1 and sys.argv[1].startswith("postgresql://"):
        measure_size(sys.argv[1], _SMALL)
        return
    if len(sys.argv) > 1 and "://" in sys.argv[1]:
        compare_with(sys.argv[1], [int(word) for word in sys.argv[2:]])
        return
    sizes = [int(word) for word in sys.argv[1:]] or [_SMALL, _LARGE]
    with tempfile.TemporaryDirectory() as folder:
        found = [measure_size(f"sqlite:///{Path(folder) / f'{size}.db'}", size) for size in sizes]
    for name, speed in found[0].items():
        if len(found) > 1:
            print(f"{found[-1][name].cpu / speed.cpu:6.2f}  {name}: {sizes[-1]} subjects / {sizes[0]}")


if __name__ == "__main__":
    main()
