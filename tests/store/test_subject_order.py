"""A page of a long list is the same one from memory and from the database, whoever has written meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemaman.store.sql import kept_subjects
from schemaman.store.sql.store import SqlStore
from schemaman.subjects.schema_registry import SchemaRegistry
from tests.live.database import schema_of_its_own

FIXED = '{"type":"fixed","name":"F","size":4,"number":%d}'
PREFIXES = (":*:", "s", ":.team:", "x")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'schemaman.db'}"
    return schema_of_its_own(request.getfixturevalue("database"))


def fill(registry: SchemaRegistry) -> None:
    """Subjects of two contexts with up to three versions, some of them deleted."""
    registry.update_config({"compatibility": "NONE"}, ":.__GLOBAL:")
    for number in range(11):
        subject = f":.team:s{number}" if number % 3 == 0 else f"{'sS'[number % 2]}{number}"
        for version in range(number % 3 + 1):
            registry.register(subject, FIXED % version)
        if number % 4 == 0:
            registry.delete_version(subject, 1)
        if number % 5 == 0 and number % 4:
            registry.delete_subject(subject)


def list_pages(registry: SchemaRegistry) -> list[object]:
    """Pages of both lists with each filter."""
    found: list[object] = []
    for prefix in PREFIXES:
        for offset in (0, 1, 4, 30):
            for deleted in (False, True):
                found.append(registry.list_subjects(prefix, deleted=deleted, offset=offset, limit=3))
                for latest in (False, True):
                    found.append(
                        registry.list_schemas(
                            prefix, deleted=deleted, latest_only=latest, offset=offset, limit=3
                        )
                    )
            found.append(registry.list_subjects(prefix, deleted_only=True, offset=offset))
    return found


def test_pages_are_those_of_the_database(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqlStore.open(url, create=True) as store, SqlStore.open(url) as other:
        registry, second = SchemaRegistry(store), SchemaRegistry(other)
        fill(registry)
        expected = list_pages(registry)
        monkeypatch.setattr(kept_subjects, "_DEEP", 0)
        assert list_pages(registry) == expected
        kept = store._kept_subjects._order
        assert kept is not None
        assert list_pages(registry) == expected
        assert store._kept_subjects._order is kept
        # What another process registers is in the next page; the order is read again for a second one.
        second.register("a", FIXED % 7)
        names = [str(name) for name in registry.list_subjects("", limit=2)]
        assert names == [str(name) for name in registry.list_subjects("", limit=2)] == ["S1", "S7"]
        assert [str(name) for name in registry.list_subjects("a", limit=2)] == ["a"]
        assert store._kept_subjects._order is not kept
        assert store.check() == ()
