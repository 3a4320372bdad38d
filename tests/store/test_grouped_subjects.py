"""Registrations over PostgreSQL ask together and write together, and see what single questions see."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

import schemaman as sm
from schemaman.store.log import RegistrationEntry
from schemaman.store.sql.grouped_subjects import GroupedSubjectRows
from schemaman.store.sql.store import SqlStore
from schemaman.store.sql.subjects import SqlSubjectRows
from schemaman.store.subjects import SubjectName
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.requests import SchemaRequest
from schemaman.subjects.schema_registry import SchemaRegistry, Surroundings, WantedRegistration
from tests.live.database import schema_of_its_own
from tests.support.checkout import PROOF

SUBJECTS = [SubjectName(context, name) for context in (".", ".team") for name in ("a", "b%s", "{c}")]


def write_record(name: str, fields: int) -> str:
    """A record; one with more fields may follow one with fewer."""
    listed = [{"name": f"f{n}", "type": "int", "default": 0} for n in range(fields)]
    return json.dumps({"type": "record", "name": name, "fields": listed})


def write_key(table: str) -> str:
    """The schema of a key as Debezium registers it."""
    return (
        f'{{"type":"record","name":"Key","namespace":"{table}","connect.name":"{table}.Key",'
        '"fields":[{"name":"id","type":"int"}]}'
    )


def draw_group(chance: random.Random) -> list[WantedRegistration]:
    """Registrations of few contents under few subjects, so that many are there already, or break others."""
    return [
        WantedRegistration(
            chance.choice(SUBJECTS),
            SchemaRequest(
                write_record(chance.choice("RS"), chance.randrange(4)),
                metadata=chance.choice((None, None, {"properties": {"p": "1"}})),
                version=chance.choice((0, 0, 0, 2)),
            ),
        )
        for _ in range(chance.randrange(1, 9))
    ]


def read_outcome(outcome: object) -> object:
    """An outcome without its times."""
    if isinstance(outcome, VersionedSchema):
        return replace(outcome.version, at_ms=0), outcome.schema
    return str(outcome)


@pytest.fixture
def url(database: str) -> str:
    return schema_of_its_own(database)


@pytest.mark.parametrize("seed", range(1, 100 if PROOF else 4))
def test_groups_have_the_outcomes_of_single_questions(url: str, seed: int) -> None:
    chance = random.Random(seed)
    with SqlStore.open(url, create=True) as store:
        grouped, alone = SchemaRegistry(store), sm.open_schema_registry()
        for _ in range(12):
            group = draw_group(chance)
            found = [list(map(read_outcome, each.register_group(group))) for each in (grouped, alone)]
            assert found[0] == found[1]
            if chance.random() < 0.3:
                subject = str(chance.choice(SUBJECTS))
                for registry in (grouped, alone):
                    with suppress(RefusedRequest):  # there is none, or it is deleted already
                        registry.delete_subject(subject)
        pages = [registry.list_schemas(deleted=True) for registry in (grouped, alone)]
        assert list(map(read_outcome, pages[0])) == list(map(read_outcome, pages[1]))
        assert store.check() == ()


def test_what_waits_is_there_for_each_question(url: str) -> None:
    name, other = SUBJECTS[:2]
    with SqlStore.open(url, create=True) as store:
        registry = SchemaRegistry(store)
        version, schema = (
            (found := registry.register(str(name), '"int"')).version,
            found.schema,
        )
        with store.writing_subjects() as rows:
            assert isinstance(rows, GroupedSubjectRows)
            rows.read_ahead([name, other])
            rows.add_version(replace(version, number=2, is_deleted=True))
            rows.add_schema(replace(schema, id=7), "ff")
            rows.set_largest_id(".", 7)
            assert rows.list_ids(".", "ff") == (7,)
            plain = SqlSubjectRows(rows._sent, rows.now_ms)
            assert [v.number for v in plain.list_versions(name)] == [1]
            assert [v.number for v in rows.list_versions(name)] == [1, 2]
            assert [v.number for v in rows.list_uses(".", 1)] == [1, 2]
            assert plain.find_schema(".", 7) == rows.find_schema(".", 7) == replace(schema, id=7)
            assert (plain.find_largest_id("."), rows.find_largest_id(".")) == (7, 7)
            rows.write_settings(str(other), replace(rows.read_settings(str(other)), mode="READONLY"))
            assert rows.read_settings(str(other)).mode == "READONLY"
            rows.remove_versions(name, (2,))
            rows.remove_schema(".", 7)
            rows.read_ahead([name], [(".", "ff")])
            assert (rows.list_ids(".", "ff"), rows.list_versions(name)) == ((), (version,))
            assert rows.now_ms() == rows.now_ms() > version.at_ms - 1
        assert store.check() == ()


def collect_waits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the statements that wait for the server; those of a pipeline wait together."""
    waits: list[str] = []
    execute = psycopg.Cursor.execute

    def note(cursor: Any, query: Any, *rest: Any, **more: Any) -> Any:
        if cursor.connection._pipeline is None:
            waits.append(str(query))
        return execute(cursor, query, *rest, **more)

    monkeypatch.setattr(psycopg.Cursor, "execute", note)
    return waits


def test_a_group_waits_no_more_often_than_one_registration(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = sm.open_schema_registry(url, create=True)
    registry.register("first", write_key("first"))
    waits, counts = collect_waits(monkeypatch), list[int]()
    for size in (1, 9):
        waits.clear()
        group = [
            WantedRegistration(SubjectName(".", f"{table}-key"), SchemaRequest(write_key(table)))
            for table in (f"k{size}.t{n}" for n in range(size))
        ]
        assert all(isinstance(found, VersionedSchema) for found in registry.register_group(group))
        counts.append(len(waits))
    # Several entries of the log are written by another way of the driver, which is not counted.
    assert abs(counts[0] - counts[1]) <= 1, waits
    assert max(counts) <= 12, waits


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_evidence_is_in_the_commit_of_its_registration(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    store_url = f"sqlite:///{tmp_path / 'a.db'}" if kind == "sqlite" else request.getfixturevalue("url")
    behind: list[Sequence[RegistrationEntry]] = []
    with SqlStore.open(store_url, create=True) as store:
        registry = SchemaRegistry(store, surroundings=Surroundings(record=behind.append))
        registry.register_pair("k.t", write_key("k.t"), write_record("V", 1))
        registry.register("k.u-key", write_key("k.u"))
        assert (list_evidence(store), behind) == (["k.t-key", "k.u-key"], [])
        assert store.check() == ()


def list_evidence(store: SqlStore) -> Sequence[str]:
    """The subjects of the registrations in the log."""
    return [
        stamped.entry.subject
        for stamped in store.read(kinds=[RegistrationEntry])
        if isinstance(stamped.entry, RegistrationEntry)
    ]


def test_a_log_that_another_process_writes_delays_no_registration(url: str) -> None:
    """The evidence follows behind: it waits for the log, and holds no lock of the subjects meanwhile."""
    registry = sm.open_schema_registry(url, create=True)
    with SqlStore.open(url) as store, ThreadPoolExecutor(1) as pool:
        with store._writing():
            waiting = pool.submit(registry.register, "k.t-key", write_key("k.t"))
            deadline = time.monotonic() + 30
            while not registry.list_subjects() and time.monotonic() < deadline:
                time.sleep(0.01)
            assert [str(name) for name in registry.list_subjects()] == ["k.t-key"]
            registry.register("other", '"int"')
            assert store.end() == 0
        waiting.result(30)
        assert list_evidence(store) == ["k.t-key"]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize(
    "damage", ["UPDATE meta SET value = '7' WHERE name = 'end'", "ALTER TABLE log RENAME TO lost"]
)
def test_a_damaged_log_refuses_no_registration(
    kind: str, damage: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    store_url = f"sqlite:///{tmp_path / 'a.db'}" if kind == "sqlite" else request.getfixturevalue("url")
    registry = sm.open_schema_registry(store_url, create=True)
    with SqlStore.open(store_url) as store, store._writing() as connection:
        if kind == "postgresql":
            connection.execute(text(f'SET LOCAL search_path = "{store_url.rpartition("=")[2]}"'))
        connection.execute(text(damage))
    group = [
        WantedRegistration(SubjectName(".", f"k.t{n}-key"), SchemaRequest(write_key(f"k.t{n}")))
        for n in range(2)
    ]
    found = registry.register_group(group)
    assert [each.version.schema_id for each in found if isinstance(each, VersionedSchema)] == [1, 2]
    assert [str(name) for name in registry.list_subjects()] == ["k.t0-key", "k.t1-key"]
