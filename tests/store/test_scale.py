"""What is asked of a store does not grow with what it holds: the same statements for few and many tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from bench import tables
from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Position
from schemaman.history.epochs import UNDECIDED
from schemaman.model.schema import Column
from schemaman.model.types import Integer
from schemaman.registry import Registry
from schemaman.store.folding import fold
from schemaman.store.sql import histories as _histories
from schemaman.store.sql.store import SqlStore

VERSIONS = 3
MANY = 60


def calls(work: Callable[[], object]) -> int:
    """How many functions a piece of work calls."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def placed(said: Observation, place: int) -> Observation:
    """What was said, of MySQL, at a place of its log."""
    position = Position("binlog", f"mysql-bin.000001:{place}:0")
    first, last = (replace(mark, position=position) for mark in (said.first, said.last))
    return replace(said, connector="mysql", first=first, last=last)


def declared(versions: int, hidden: int) -> list[Observation]:
    """A table whose every version is declared and then shown by events, without some of its columns."""
    found = []
    for version in range(versions):
        rows = placed(tables.make_observation(0, version), 20 * version + 10)
        image = tables.structure(version)
        more = (Column(f"hidden_{n}", Integer(32)) for n in range(hidden))
        schema = replace(image, columns=(*image.columns, *more))
        mark = replace(rows.first, topic="erp", offset=version)
        statement = replace(
            rows, evidence="declared", action="image" if version else "create", first=mark, last=mark,
            count=1, schema=schema,
        )  # fmt: skip
        found += [placed(statement, 20 * version), rows]
    return found


@pytest.mark.parametrize(
    "said",
    [
        lambda count: [tables.make_observation(0, version) for version in range(count)],
        lambda count: declared(count, 0),
    ],
    ids=["emitted", "declared"],
)
def test_a_fold_costs_what_its_versions_cost(said: Callable[[int], list[Observation]]) -> None:
    costs = []
    for count in (MANY, 2 * MANY):
        observations = said(count)
        history = fold(observations, tables.table_of(0), UNDECIDED)
        assert history is not None
        assert len(history.versions) == count
        costs.append(calls(partial(fold, observations, tables.table_of(0), UNDECIDED)))
    assert costs[1] < 2.3 * costs[0]


def test_fields_that_no_version_has_are_not_sought_in_each_column() -> None:
    def said(count: int) -> list[Observation]:
        return [
            one if one.schema is None or one.evidence == "declared" else replace(
                one, schema=replace(one.schema, columns=(*one.schema.columns, Column("added", Integer(32))))
            )
            for one in declared(count, 0)
        ]  # fmt: skip

    history = fold(said(MANY), tables.table_of(0), UNDECIDED)
    assert history is not None
    assert [(d.kind, d.versions) for d in history.disagreements] == [
        ("emitted-differs", (n,)) for n in range(1, MANY + 1)
    ]
    costs = [calls(partial(fold, said(n), tables.table_of(0), UNDECIDED)) for n in (MANY, 2 * MANY)]
    assert costs[1] < 3.5 * costs[0]


def test_columns_that_no_event_carries_leave_each_version_its_events() -> None:
    history = fold(declared(MANY, 2), tables.table_of(0), UNDECIDED)
    assert history is not None
    assert [v.records for v in history.versions] == [tables.RECORDS + 1] * MANY
    assert {d.kind for d in history.disagreements} == {"column-not-emitted"}


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
    assert asked(few, question) == asked(many, question) < 45


def test_an_append_asks_the_same_for_many_tables_as_for_few(tmp_path: Path):
    def appended(count: int) -> int:
        registry = filled(tmp_path / f"{count}.db", count)
        return asked(registry, lambda r: r.record(*tables.chunk(range(count), range(VERSIONS, 5))).entries)

    assert appended(5) == appended(_histories.TABLES_AT_ONCE)
