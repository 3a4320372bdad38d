"""What a table looked like at a moment, where the source tells its times less exactly than the question."""

from __future__ import annotations

import pytest

from schemaman.errors import NoHistory, UsageError
from schemaman.history.references import AsOf
from schemaman.history.versions import TableHistory
from schemaman.resolve import select_version
from tests.cases.connector import INT, NOON, NOTE, Connector, entry
from tests.support.records import Node, column, image

WHOLE = NOON + 10_000 - NOON % 1000
"""A time as an event header of a binary log tells it."""
ADDED = column("note", "TEXT", 2)
WIDER = {"id": INT, "note": NOTE}


def shop(*columns: Node, comment: str | None = None) -> Node:
    """The table with an `id` and these columns."""
    return image(column("id", "INT", 1, optional=False), *columns, key=("id",), comment=comment)


def begun(name: str = "mysql") -> Connector:
    """A connector whose table was made, and has a row 5 s before `WHOLE`."""
    connector = Connector(name)
    ddl = "CREATE TABLE t (id INT PRIMARY KEY)"
    connector.change(entry("CREATE", '"shop"."t"', shop()), ddl=ddl, ts_ms=NOON)
    connector.row({"id": INT}, ts_ms=WHOLE - 5000)
    return connector


def alter(connector: Connector, *columns: Node, ts_ms: int = WHOLE, comment: str | None = None) -> None:
    """A statement that gives the table these columns beside its `id`."""
    told = shop(*columns, comment=comment)
    connector.change(entry("ALTER", '"shop"."t"', told), ddl="ALTER TABLE t ADD note TEXT", ts_ms=ts_ms)


def at(history: TableHistory, ts_ms: int) -> str:
    """The reference of what stood at a moment, without its table."""
    return select_version(history, AsOf(ts_ms)).ref.partition("@")[2]


@pytest.mark.parametrize("name", ["mysql", "mariadb"])
def test_inside_the_second_of_a_change_both_versions_are_named(name: str) -> None:
    connector = begun(name)
    connector.row({"id": INT}, ts_ms=WHOLE)
    alter(connector, ADDED)
    connector.row(WIDER, ts_ms=WHOLE + 5000)
    history = connector.told()["t"]
    assert at(history, WHOLE - 5000 + 999) == "1"
    for ms in (0, 1, 500, 998):
        with pytest.raises(UsageError, match="whether version 1 or version 2 was valid then") as told:
            at(history, WHOLE + ms)
        assert told.value.hint == "name the version: srv.shop.t@1 or srv.shop.t@2"
        assert "between 2023-11-14T22:13:30.000Z and 2023-11-14T22:13:30.999Z" in told.value.message
    for ms in (999, 1000, 4000):
        version = select_version(history, AsOf(WHOLE + ms)).version
        assert version is not None
        assert (version.number, version.status) == (2, "confirmed")


def test_several_changes_in_one_second_name_the_first_and_the_last() -> None:
    connector = begun()
    alter(connector, ADDED)
    alter(connector, ADDED, column("more", "INT", 3))
    connector.row({**WIDER, "more": {**INT, "optional": True}}, ts_ms=WHOLE)
    history = connector.told()["t"]
    with pytest.raises(UsageError, match="version 1 or version 3"):
        at(history, WHOLE + 500)
    assert at(history, WHOLE + 999) == "3"


def test_milliseconds_are_told_to_the_millisecond() -> None:
    """MySQL with GTIDs, as Debezium tells it since 2.6; and PostgreSQL, at a second that has no fraction."""
    connector = begun()
    connector.row({"id": INT}, ts_ms=WHOLE + 122)
    alter(connector, ADDED, ts_ms=WHOLE + 123)
    connector.row(WIDER, ts_ms=WHOLE + 5000)
    history = connector.told()["t"]
    assert [at(history, WHOLE + ms) for ms in (122, 123, 124)] == ["1", "2", "2"]
    exact = Connector()
    exact.row({"id": INT}, ts_ms=WHOLE - 1)
    exact.row(WIDER, ts_ms=WHOLE)
    exact.row(WIDER, ts_ms=WHOLE + 5000)
    assert [at(exact.told()["t"], WHOLE + ms) for ms in (-1, 0, 1)] == ["1", "2", "2"]


def test_a_table_that_was_dropped_may_have_stood_inside_that_second() -> None:
    connector = begun()
    connector.change(entry("DROP", '"shop"."t"', None), ddl="DROP TABLE t", ts_ms=WHOLE)
    history = connector.told()["t"]
    two_answers = "version 1 was valid then, or the table no longer existed"
    with pytest.raises(UsageError, match=two_answers):
        at(history, WHOLE + 500)
    with pytest.raises(NoHistory, match="dropped by then"):
        at(history, WHOLE + 999)


def test_revisions_are_not_guessed_either() -> None:
    connector = begun()
    alter(connector, comment="what we sell")
    connector.row({"id": INT}, ts_ms=WHOLE + 5000)
    history = connector.told()["t"]
    with pytest.raises(UsageError, match=r".*@1\.0 or .*@1\.1 was valid then"):
        at(history, WHOLE + 500)
    assert [at(history, WHOLE + ms) for ms in (-1, 999)] == ["1.0", "1.1"]


def test_a_statement_is_over_when_it_is_read_not_when_it_began() -> None:
    """Rows go on in the old structure while a table is altered; the statement is written when it is over."""
    connector = begun()
    connector.row({"id": INT}, ts_ms=WHOLE + 3000)
    connector.lag_ms = WHOLE + 8000 - NOON - connector.at - 8
    alter(connector, ADDED)
    connector.row(WIDER, ts_ms=WHOLE + 20_000)
    history = connector.told()["t"]
    for ms in (500, 3000, 7999):
        with pytest.raises(UsageError, match="version 1 or version 2"):
            at(history, WHOLE + ms)
    assert at(history, WHOLE + 8000) == "2"


def test_a_time_of_reading_does_not_show_that_a_structure_still_stood() -> None:
    """Debezium 1.9 tells of a statement when it read it: the next one may have been made by then."""
    connector = begun()
    for number, read in enumerate((WHOLE + 123, WHOLE + 456)):
        connector.lag_ms = read - NOON - connector.at - 8
        alter(connector, *(ADDED, column("more", "INT", 3))[: number + 1], ts_ms=read)
    connector.row({**WIDER, "more": {**INT, "optional": True}}, ts_ms=WHOLE + 1000)
    history = connector.told()["t"]
    for moment in (WHOLE - 3000, WHOLE + 123, WHOLE + 455):
        with pytest.raises(UsageError, match=r"version [12] or version 3"):
            at(history, moment)
    assert at(history, WHOLE + 456) == "3"
