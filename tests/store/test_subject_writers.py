"""Several processes that register at once, some of which are killed: ids and versions stay exact."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from schemaman.errors import StoreUnavailable
from schemaman.server.running import serve_in_thread
from schemaman.store.sql.store import SqlStore
from schemaman.subjects.contents import find_served_text
from schemaman.subjects.schema_registry import SchemaRegistry
from tests.live.database import schema_of_its_own
from tests.server.conftest import Requests
from tests.support.checkout import PROOF

PROCESSES = 8
CLIENTS = 4
"""How many clients each server has, so that their registrations share commits."""
SUBJECTS, CONTENTS = 5, 12
CALLS = 12
ROUNDS = 50 if PROOF else 1
"""In each round four processes are killed."""


def write_schema(number: int) -> str:
    """A schema that may follow any other one."""
    return f'{{"type":"fixed","name":"F","size":4,"number":{number}}}'


def register_in_process(url: str, acknowledged: str, seed: int, calls: int) -> None:
    """Register by calls of the library."""
    registry = SchemaRegistry(SqlStore.open(url, busy_ms=60_000))

    def register(subject: str, schema: str) -> tuple[int, int]:
        found = registry.register(subject, schema).version
        return found.number, found.schema_id

    register_forever(register, acknowledged, seed, calls)


def register_by_requests(url: str, acknowledged: str, seed: int, calls: int) -> None:
    """Serve the store, and register as several clients of this server at once."""
    registry = SchemaRegistry(SqlStore.open(url, busy_ms=60_000))

    def run_client(address: str, client: int) -> None:
        ask = Requests(address)

        def register(subject: str, schema: str) -> tuple[int, int]:
            answer = ask("POST", f"/subjects/{subject}/versions", {"schema": schema})
            assert answer.status == 200, answer
            return answer.body["version"], answer.body["id"]

        register_forever(register, f"{acknowledged}-{client}", 10 * seed + client, calls)

    with serve_in_thread(registry) as address, ThreadPoolExecutor(CLIENTS) as pool:
        for client in [pool.submit(run_client, address, client) for client in range(CLIENTS)]:
            client.result()


def register_forever(
    register: Callable[[str, str], tuple[int, int]], acknowledged: str, seed: int, calls: int
) -> None:
    """Register at random, and note each answer behind it."""
    chance = random.Random(seed)
    with Path(acknowledged).open("a", encoding="utf-8", buffering=1) as file:
        for _ in range(calls):
            subject, number = f"s{chance.randrange(SUBJECTS)}", chance.randrange(CONTENTS)
            version, id = register(subject, write_schema(number))
            file.write(f"{subject} {number} {version} {id}\n")


Registering = Callable[[str, str, int, int], None]


def run_round(url: str, registering: Registering, folder: Path, seed: int, kills: int) -> None:
    forked = multiprocessing.get_context("fork")
    chance = random.Random(seed)
    processes = [
        forked.Process(
            target=registering,
            args=(url, str(folder / f"{seed}-{n}"), seed * 100 + n, 10_000 if n < kills else CALLS),
        )
        for n in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    for process in processes[:kills]:
        time.sleep(chance.uniform(0.05, 0.3))
        os.kill(process.pid or 0, signal.SIGKILL)
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes[kills:]] == [0] * (PROCESSES - kills)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'schemaman.db'}"
    return schema_of_its_own(request.getfixturevalue("database"))


@pytest.mark.parametrize("registering", [register_in_process, register_by_requests])
def test_ids_and_versions_stay_exact_whoever_is_killed(
    url: str, registering: Registering, tmp_path: Path, figure: Callable[[str, object], None]
) -> None:
    SqlStore.open(url, create=True).close()
    folder = tmp_path / "acknowledged"
    folder.mkdir()
    for seed in range(1, ROUNDS + 1):
        run_round(url, registering, folder, seed, kills=4)
    with SqlStore.open(url) as store:
        registry = SchemaRegistry(store)
        rows = registry.list_schemas()
        by_content: dict[str, set[int]] = defaultdict(set)
        numbers: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            by_content[find_served_text(row.schema.content)].add(row.version.schema_id)
            numbers[str(row.version.subject)].append(row.version.number)
        ids = [id for some in by_content.values() for id in some]
        assert all(len(some) == 1 for some in by_content.values())
        assert sorted(ids) == list(range(1, len(ids) + 1))
        assert all(found == list(range(1, len(found) + 1)) for found in numbers.values())
        known = {(str(r.version.subject), r.version.number, r.version.schema_id) for r in rows}
        lines = [line.split() for path in folder.iterdir() for line in path.read_text().splitlines()]
        assert len(lines) > PROCESSES
        for subject, number, version, id in (line for line in lines if len(line) == 4):
            assert (subject, int(version), int(id)) in known
            assert by_content[write_schema(int(number))] == {int(id)}
        assert store.check() == ()
    told = f"{4 * ROUNDS} kills of {PROCESSES} processes, {len(lines)} acknowledged registrations"
    figure(f"writers of subjects, {registering.__name__} on {url.partition(':')[0]}", told)


def test_the_registry_is_the_same_over_each_store(url: str) -> None:
    with SqlStore.open(url, create=True) as store:
        registry = SchemaRegistry(store)
        for name in ("b", "a", ":.team:a", "Ünï/cöde", "Z"):
            registry.register(name, write_schema(1))
        found = registry.register("b", write_schema(2), actor="ana")
        assert [str(name) for name in registry.list_subjects()] == ["Z", "a", "b", "Ünï/cöde", ":.team:a"]
        assert [str(name) for name in registry.list_subjects("Ü")] == ["Ünï/cöde"]
        assert [str(n) for n in registry.list_subjects(offset=1, limit=2)] == ["a", "b"]
        latest = registry.list_schemas("b", latest_only=True)
        assert latest == (found,)
        assert found.version.actor == "ana"
        registry.update_config({"compatibility": "NONE"}, "b")
        assert registry.delete_subject("b") == (1, 2)
        assert [str(n) for n in registry.list_subjects(deleted_only=True)] == ["b"]
        assert registry.list_uses(1, deleted=True)[2].is_deleted
        assert registry.delete_subject("b", permanent=True) == (1, 2)
    with SqlStore.open(url) as store:
        assert SchemaRegistry(store).register("b", write_schema(2)).version.number == 1
        assert SchemaRegistry(store).read_config("b", effective=True) == {"compatibilityLevel": "BACKWARD"}
    with pytest.raises(StoreUnavailable):
        registry.list_subjects()
