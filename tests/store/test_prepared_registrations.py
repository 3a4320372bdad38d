"""A registration is prepared before its transaction writes: what has changed since is read again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from schemaman.errors import SchemamanError
from schemaman.store.sql.store import SqlStore
from schemaman.store.subjects import SubjectRows
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.requests import SchemaRequest, parse_name
from schemaman.subjects.schema_registry import SchemaRegistry, WantedRegistration

INT, LONG, TEXT = (f'{{"type":"record","name":"R","fields":[{{"name":"a","type":"{t}"}}]}}' for t in
                   ("int", "long", "string"))  # fmt: skip


class OvertakenStore(SqlStore):
    """A store in which another process registers once, just before a transaction that writes."""

    overtaking: tuple[str, str] | None = None

    @contextmanager
    def writing_subjects(self) -> Iterator[SubjectRows]:
        wanted, self.overtaking = self.overtaking, None
        if wanted is not None:
            with SqlStore.open(self.where) as other:
                SchemaRegistry(other).register(*wanted)
        with super().writing_subjects() as rows:
            yield rows


def register_together(store: SqlStore, *wanted: tuple[str, str]) -> tuple[object, ...]:
    """Register a group; an id and a version for each, or the code of its refusal."""
    group = [WantedRegistration(parse_name(s, "."), SchemaRequest(text)) for s, text in wanted]
    return tuple(map(show, SchemaRegistry(store).register_group(group)))


def show(outcome: VersionedSchema | SchemamanError) -> object:
    if isinstance(outcome, VersionedSchema):
        return outcome.version.schema_id, outcome.version.number
    return outcome.code if isinstance(outcome, RefusedRequest) else outcome


@pytest.mark.parametrize(
    ("first", "wanted", "expected"),
    [
        (("a", INT), ("a", INT), (1, 1)),
        (("b", INT), ("a", INT), (1, 1)),
        (("a", INT), ("a", LONG), (2, 2)),
        (("a", INT), ("a", TEXT), 409),
        (("b", TEXT), ("a", INT), (2, 1)),
    ],
)
def test_what_another_process_registers_meanwhile_counts(
    tmp_path: Path, first: tuple[str, str], wanted: tuple[str, str], expected: object
) -> None:
    with OvertakenStore.open(str(tmp_path / "s.db"), create=True) as store:
        store.overtaking = first
        assert register_together(store, wanted) == (expected,)
        assert store.overtaking is None
        assert store.check() == ()


def test_what_the_same_group_registers_before_counts(tmp_path: Path) -> None:
    with SqlStore.open(str(tmp_path / "s.db"), create=True) as store:
        wanted = (("a", INT), ("b", INT), ("a", TEXT), ("a", LONG), ("a", INT), ("c", TEXT))
        assert register_together(store, *wanted) == ((1, 1), (1, 1), 409, (2, 2), (1, 1), (3, 1))
        assert register_together(store, *wanted) == ((1, 1), (1, 1), 409, (2, 2), (1, 1), (3, 1))
        assert store.check() == ()
