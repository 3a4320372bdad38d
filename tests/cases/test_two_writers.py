"""Two writers of one table: shards that are altered one after the other, and tables that share a topic."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from schemaman.history.versions import TableHistory, list_unresolved
from tests.cases.connector import INT, NOTE, TEXT, Connector, shapes, told_in_parts
from tests.support import chain
from tests.support.records import Node

OLD: dict[str, Node] = {"id": INT, "name": TEXT}
NEW: dict[str, Node] = {**OLD, "qty": NOTE}
NEWEST: dict[str, Node] = {**NEW, "size": NOTE}
OTHER: dict[str, Node] = {"id": INT, "label": TEXT}


def shards(*rows: tuple[str, dict[str, Node]]) -> TableHistory:
    """What rows of shards teach, each of a shard and a structure."""
    connector = Connector(name="vitess")
    for shard, columns in rows:
        connector.row(columns, shard=shard)
    return connector.told()["t"]


def kinds(history: TableHistory) -> list[str]:
    """The kinds of the remarks, each once."""
    return sorted({d.kind for d in history.disagreements})


def test_a_shard_that_is_altered_later_drops_no_column():
    history = shards(("-80", OLD), ("80-", OLD), ("-80", NEW), ("80-", OLD), ("-80", NEW), ("80-", NEW))
    assert shapes(history) == shapes(shards(("-", OLD), ("-", NEW)))
    assert [v.records for v in history.versions] == [3, 3]
    assert kinds(history) == ["writers-differ"]
    assert not any("dropped" in line for line in chain.finding_lines(history, history.versions))


def test_shards_go_through_the_versions_each_at_its_own_pace():
    rows = [("a", OLD), ("b", OLD), ("a", NEW), ("a", NEWEST), ("b", NEW), ("a", NEWEST), ("b", NEWEST)]
    assert shapes(shards(*rows)) == shapes(shards(("a", OLD), ("a", NEW), ("a", NEWEST)))


def test_a_shard_that_appears_later_shows_a_known_version():
    history = shards(("a", OLD), ("a", NEW), ("b", OLD), ("c", NEW), ("b", NEW))
    assert len(history.versions) == 2


def test_a_column_that_a_shard_has_and_drops_is_dropped():
    history = shards(("a", OLD), ("b", OLD), ("a", NEW), ("b", NEW), ("a", OLD), ("b", NEW), ("b", OLD))
    assert [v.schema.names for v in history.versions] == [tuple(OLD), tuple(NEW), tuple(OLD)]
    assert [v.records for v in history.versions] == [2, 3, 2]


@pytest.mark.parametrize("name", ["vitess", "postgresql"])
def test_rows_of_shards_give_one_history_however_they_were_read(name: str):
    connector = Connector(name=name)
    for shard, columns in [("a", OLD), ("b", OLD)] * 40 + [("a", NEW), ("b", OLD)] * 40 + [("b", NEW)] * 3:
        connector.row(columns, shard=shard)
    whole = connector.told()["t"]
    assert len(whole.versions) == 2
    records = connector.records
    for parts in ([records[60:], records[:60]], [records[:33], records[33:99], records[99:]]):
        assert told_in_parts(parts)["t"].versions == whole.versions


def alternate(rows: Sequence[dict[str, Node]], name: str = "postgresql") -> TableHistory:
    """What rows teach that name no writer."""
    connector = Connector(name=name)
    for columns in rows:
        connector.rows(columns, count=2)
    return connector.told()["t"]


@pytest.mark.parametrize("other", [NEW, OTHER, {**OLD, "name": INT}])
@pytest.mark.parametrize("name", ["postgresql", "mysql", "sqlserver"])
@pytest.mark.parametrize("times", [2, 3, 5, 80])
def test_structures_that_alternate_without_a_statement_are_a_doubt(
    other: dict[str, Node], name: str, times: int
):
    history = alternate([OLD, other] * times, name)
    assert [v.schema.names for v in history.versions] == [tuple(OLD), tuple(other)]
    assert history.records == 4 * times
    assert "perhaps-two-writers" in kinds(history)
    assert [d.kind for d in list_unresolved(history, 2, 2)] == ["perhaps-two-writers"]
    assert not history.is_disputed


def test_a_structure_that_comes_back_once_is_a_version_of_its_own():
    history = alternate([OLD, NEW, OLD])
    assert [v.schema.names for v in history.versions] == [tuple(OLD), tuple(NEW), tuple(OLD)]


def test_a_third_structure_is_a_version_among_those_that_alternate():
    history = alternate([OLD, NEW, OLD, NEW, NEWEST, OLD, NEWEST])
    assert [v.schema.names for v in history.versions] == [tuple(OLD), tuple(NEW), tuple(NEWEST)]


def test_keys_that_alternate_are_read_at_other_moments_and_stay_versions():
    connector = Connector()
    for key in ("id", "name", "id", "name"):
        connector.rows(OLD, key=(key,))
    assert [v.schema.key for v in connector.told()["t"].versions] == [("id",), ("name",)] * 2
