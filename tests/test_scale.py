"""What is asked of a store does not grow with what it holds: the same statements for few and many tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from bench import tables
from schemaman.registry import Registry
from schemaman.stores import _histories
from schemaman.stores.sql import SqlStore

VERSIONS = 3


@contextmanager
def statements() -> Iterator[list[str]]:
    """The SQL that runs meanwhile."""
    ran: list[str] = []

    def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
        ran.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield ran
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def filled(path: Path, count: int) -> Registry:
    registry = Registry(SqlStore.open(str(path), create=True), lambda: 0)
    registry.record(*tables.chunk(range(count), range(VERSIONS)))
    return registry


def asked(registry: Registry, question: Callable[[Registry], object]) -> int:
    with statements() as ran:
        assert question(registry)
    return len(ran)


@pytest.mark.parametrize(
    "question",
    [
        lambda registry: registry.resolve("table_000003@latest"),
        lambda registry: registry.history(registry.find("erp.erp.module_0000.table_000003")),
        lambda registry: registry.find(f'"{tables.topic_of(3)}"'),
        lambda registry: registry.record(*tables.chunk([3], range(VERSIONS, VERSIONS + 1))).entries,
        lambda registry: registry.record(*tables.chunk([1000], range(VERSIONS))).entries,
    ],
    ids=["show", "history", "by topic", "append", "append of a new table"],
)
def test_a_question_about_one_table_asks_the_same_of_a_large_store(
    question: Callable[[Registry], object], tmp_path: Path
):
    few, many = filled(tmp_path / "few.db", 5), filled(tmp_path / "many.db", 150)
    assert asked(few, question) == asked(many, question) < 40


def test_an_append_asks_the_same_for_many_tables_as_for_few(tmp_path: Path):
    def appended(count: int) -> int:
        registry = filled(tmp_path / f"{count}.db", count)
        return asked(registry, lambda r: r.record(*tables.chunk(range(count), range(VERSIONS, 5))).entries)

    assert appended(5) == appended(_histories.TABLES)
