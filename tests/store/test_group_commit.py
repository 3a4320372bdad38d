"""Registrations of several threads share a commit, and each has its own outcome."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, Event

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

import schemaman as sm
from schemaman.store.log import RegistrationEntry
from schemaman.store.sql.group_commit import GroupCommit
from schemaman.store.sql.memory_subjects import MemorySubjects
from schemaman.store.sql.store import SqlStore
from schemaman.store.subjects import SubjectName
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.requests import SchemaRequest
from schemaman.subjects.schema_registry import SchemaRegistry, Surroundings, WantedRegistration


def test_threads_register_together_and_nothing_is_lost(tmp_path: Path) -> None:
    registry = sm.open_schema_registry(f"sqlite:///{tmp_path / 'a.db'}", create=True)
    start = Barrier(8)

    def work(thread: int) -> list[int]:
        start.wait()
        ids = []
        for number in range(6):
            found = registry.register(f"s{number}", f'{{"type":"fixed","name":"F","size":{number + 1}}}')
            ids.append(found.version.schema_id)
            with pytest.raises(RefusedRequest):
                registry.register(f"s{number}", f'{{"type":"fixed","name":"G{thread}","size":1}}')
        return ids

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))
    assert all(ids == results[0] for ids in results)
    assert sorted(results[0]) == [1, 2, 3, 4, 5, 6]
    assert [[v.number for v in registry.list_versions(f"s{n}")] for n in range(6)] == [[1]] * 6


def test_a_group_has_one_commit_and_each_member_its_outcome(tmp_path: Path) -> None:
    registry = sm.open_schema_registry(f"sqlite:///{tmp_path / 'a.db'}", create=True)
    registry.register("b", _write_fixed("B", 1))
    before = registry.read_revision()
    schemas = {"a": _write_fixed("A", 1), "b": _write_fixed("C", 2), "c": "{", "d": _write_fixed("A", 1)}
    group = [
        WantedRegistration(SubjectName(".", name), SchemaRequest(schema))
        for name, schema in (*schemas.items(), ("b", _write_fixed("B", 1)), ("a", schemas["a"]))
    ]
    outcomes = registry.register_group(group)
    found = [
        (each.version.number, each.version.schema_id)
        if isinstance(each, VersionedSchema)
        else getattr(each, "code", 0)
        for each in outcomes
    ]
    assert found == [(1, 2), 409, 42201, (1, 2), (1, 1), (1, 2)]
    assert [str(name) for name in registry.list_subjects()] == ["a", "b", "d"]
    after = registry.read_revision()
    assert after != before
    assert registry.register_group([group[0], group[4]]) == (outcomes[0], outcomes[4])
    assert registry.read_revision() == after


def test_the_evidence_of_a_group_is_one_entry_each_and_one_commit(tmp_path: Path) -> None:
    told: list[Sequence[RegistrationEntry]] = []
    registry = SchemaRegistry(MemorySubjects(), surroundings=Surroundings(record=told.append))
    events = [(f"s.t{n}-key", f"s.t{n}") for n in range(3)]
    group = [
        WantedRegistration(SubjectName(".", subject), SchemaRequest(_write_key(record)))
        for subject, record in (*events, events[0])
    ]
    registry.register_group([*group, WantedRegistration(SubjectName(".", "x"), SchemaRequest('"int"'))])
    assert [[entry.subject for entry in entries] for entries in told] == [[subject for subject, _ in events]]
    registry.register_group(group)
    assert len(told) == 1
    store = f"sqlite:///{tmp_path / 'a.db'}"
    sm.open_schema_registry(store, create=True).register_group(group)
    with SqlStore.open(store) as opened:
        noted = list(opened.read(kinds=[RegistrationEntry]))
    assert [(stamped.sequence, stamped.entry) for stamped in noted] == list(enumerate(told[0], 1))


def _write_key(record: str) -> str:
    return (
        f'{{"type":"record","name":"Key","namespace":"{record}","connect.name":"{record}.Key",'
        '"fields":[{"name":"id","type":"int"}]}'
    )


def _write_fixed(name: str, size: int) -> str:
    return f'{{"type":"fixed","name":"{name}","size":{size}}}'


def test_a_part_that_fails_leaves_the_others(tmp_path: Path) -> None:
    """Commits are fewer than writers, and a failed commit is told to each writer."""
    engine = create_engine(f"sqlite:///{tmp_path / 'a.db'}")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE t (n INTEGER)"))
    commits, gathers = list[int](), Event()

    @contextmanager
    def begin():
        while (
            gathers.is_set() and group._waiting < 7
        ):  # whatever the scheduler does, writers come while one writes
            time.sleep(0.001)
        gathers.clear()
        with engine.connect() as connection, connection.begin():
            yield connection
            if fails:
                raise OSError("the disk is full")
            commits.append(1)

    fails = False
    gathers.set()
    group = GroupCommit(begin)
    start = Barrier(8)

    def write(number: int) -> str:
        start.wait()
        try:
            with group.join() as connection:
                connection.execute(text("INSERT INTO t VALUES (:n)"), {"n": number})
                if number % 2:
                    raise ValueError(number)
        except (ValueError, OSError) as error:
            return type(error).__name__
        return "done"

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(write, range(8))) == ["done", "ValueError"] * 4
        fails = True
        gathers.set()
        assert set(pool.map(write, range(0, 16, 2))) == {"OSError"}
    fails = False
    gathers.set()

    def break_one(number: int) -> str:
        start.wait()
        try:
            with group.join() as connection:
                connection.execute(
                    text("INSERT INTO t VALUES (:n)" if number else "INSERT INTO none"), {"n": 9}
                )
        except OperationalError:
            return "fault"
        return "done"

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(break_one, range(8)))
    with engine.begin() as connection:
        # Whoever shared the transaction of the fault was told, and all others are there.
        removed = connection.execute(text("DELETE FROM t WHERE n = 9"))
        assert removed.rowcount == outcomes.count("done")
    with engine.connect() as connection:
        assert sorted(connection.execute(text("SELECT n FROM t")).scalars()) == [0, 2, 4, 6]
    assert 1 <= len(commits) <= 4
