"""A connection is kept only behind a transaction that has ended; what fails is taken back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.exc import OperationalError

from schemaman.store.sql.kept_connections import KeptConnections
from schemaman.store.sql.quick_statements import run_text


def add_quickly(connection: Connection) -> None:
    run_text(connection, "INSERT INTO t VALUES (1)")


def add_by_statement(connection: Connection) -> None:
    connection.execute(text("INSERT INTO t VALUES (1)"))


def fail_behind(add: Callable[[Connection], None], kept: KeptConnections) -> None:
    with kept.begin("BEGIN IMMEDIATE") as connection:
        add(connection)
        raise ValueError("refused")


@pytest.mark.parametrize("add", [add_quickly, add_by_statement])
def test_what_fails_is_taken_back_and_what_ends_is_there(
    tmp_path: Path, add: Callable[[Connection], None]
) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'a.db'}", connect_args={"timeout": 0})
    opened: list[Any] = []
    event.listen(engine, "connect", lambda connection, _: opened.append(connection))
    kept = KeptConnections(engine, lambda: None)

    def count() -> int:
        with kept.begin("BEGIN") as connection:
            return int(connection.execute(text("SELECT count(*) FROM t")).scalar_one())

    with kept.begin("BEGIN IMMEDIATE") as connection:
        connection.execute(text("CREATE TABLE t (n INTEGER)"))
    for expected in (1, 2):
        with kept.begin("BEGIN IMMEDIATE") as connection:
            add(connection)
        with pytest.raises(ValueError, match="refused"):
            fail_behind(add, kept)
        assert count() == expected
    assert len(opened) == 1
    with kept.begin("BEGIN IMMEDIATE") as connection:
        add(connection)
        with pytest.raises(OperationalError, match="locked"), kept.begin("BEGIN IMMEDIATE"):
            pass
        assert count() == 2
        kept.close()
    engine.dispose()
    for raw in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            raw.execute("SELECT 1")
    assert count() == 3
