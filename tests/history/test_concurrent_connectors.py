"""Connectors that follow each other, and such that write one table at the same time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemaman.debezium.observation import Observation
from schemaman.history.versions import TableHistory
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Floating, Integer
from tests.history.test_fold import AB, A, declared, history, mark, seen

MYSQL, MARIADB = ("mysql", "2.5.4.Final"), ("mariadb", "3.4.1.Final")


def by(
    connector: tuple[str, str], at: int, structure: TableSchema = A, until: int | None = None
) -> Observation:
    last = None if until is None else mark(until, until)
    said = seen(structure, mark(at, at), last)
    return replace(said, connector=connector[0], connector_version=connector[1])


def told(found: TableHistory) -> list[str]:
    return [d.message for d in found.disagreements if d.kind == "connectors-at-once"]


def of_any(*observations: Observation) -> TableHistory:
    """Told by connectors that say where they read as PostgreSQL does, which does not matter here."""
    postgres = [replace(o, connector="postgresql") if o.connector == "mysql" else o for o in observations]
    return history(*postgres)


def test_a_move_from_one_connector_to_another_is_an_epoch_and_no_disagreement() -> None:
    found = of_any(by(MYSQL, 1, until=9), by(MARIADB, 10, until=20))
    assert len(found.versions) == 1
    assert [(e.connector, e.connector_version) for e in found.epochs][1] == MARIADB
    assert found.disagreements == ()


def test_a_move_and_its_way_back_are_none_either() -> None:
    found = of_any(*(by(c, at) for at, c in enumerate((MYSQL, MARIADB, MYSQL, MARIADB), 1)))
    assert len(found.epochs) == 4
    assert told(found) == []


@pytest.mark.parametrize("other", [MARIADB, ("mysql", "3.0.8.Final")])
def test_two_that_take_turns_write_at_the_same_time(other: tuple[str, str]) -> None:
    turns = [by(connector, 2 * n + i) for n in range(3) for i, connector in enumerate((MYSQL, other), 1)]
    (message,) = told(of_any(*turns))
    assert "2.5.4.Final" in message
    assert other[1] in message
    assert "two connectors write this table at the same time" in message
    assert told(of_any(*reversed(turns))) == [message]


def test_types_that_move_with_the_connector_are_the_same_columns() -> None:
    numbers = TableSchema((*A.columns, Column("f", Floating(32), emitted_name="f")), A.key)
    image = replace(declared(numbers, mark(0, 1)), connector="mariadb")
    wide = replace(numbers, columns=(*A.columns, Column("f", Floating(64), emitted_name="f")))
    first = replace(seen(numbers, mark(1, 2), connector="mariadb"), connector_version="2.7.0.Final")
    second = replace(seen(wide, mark(2, 3), connector="mariadb"), connector_version="3.5.0.Final")
    found = history(image, first, second)
    (version,) = found.versions
    assert [e.changes for e in found.epochs] == [(), ("f is sent as DOUBLE, no longer as FLOAT",)]
    assert version.find_event_schema().columns[-1].type == Floating(64)


def test_a_column_that_comes_with_another_connector_may_always_have_been_there() -> None:
    found = of_any(by(MYSQL, 1), by(MARIADB, 2, AB))
    (remark,) = found.disagreements
    assert "changed from postgresql 2.5.4.Final to mariadb 3.4.1.Final here" in remark.message
    assert [c.type for c in found.latest.schema.columns] == [Integer(32)] * 3
