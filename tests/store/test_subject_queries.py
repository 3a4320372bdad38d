"""Questions about one key are answered by an index, however many subjects there are."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Select, create_engine, text
from sqlalchemy.dialects import sqlite

import schemaman as sm
from schemaman.errors import StoreUnavailable
from schemaman.store.sql import subjects
from schemaman.store.sql.quick_statements import QuickStatement
from schemaman.store.sql.subject_tables import SUBJECT_TABLES
from schemaman.store.sql.tables import METADATA


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        (subjects._SCHEMA_OF_ID, "context=? AND id=?"),
        (subjects._SCHEMAS_OF_IDS, "context=? AND id=?"),
        (subjects._IDS_OF_CONTENT, "context=? AND fingerprint>? AND fingerprint<?"),
        (subjects._VERSIONS_OF_SUBJECT, "context=? AND subject=?"),
        (subjects._USES_OF_SCHEMA, "context=? AND schema_id=?"),
        (subjects._LARGEST_ID, "context=?"),
        (subjects._SETTINGS_OF_THREE_SCOPES, "scope=?"),
    ],
)
def test_a_key_is_searched_with_all_of_its_columns(
    query: Select[tuple[object]] | QuickStatement, columns: str
) -> None:
    statement: Any = query.statement if isinstance(query, QuickStatement) else query
    engine = create_engine("sqlite://")
    METADATA.create_all(engine, tables=SUBJECT_TABLES)
    dialect = sqlite.dialect(paramstyle="named")
    compiled = statement.params(wanted=["1"]).compile(dialect=dialect)
    state = compiled.construct_expanded_state({key: ["1"] for key in compiled.bind_names.values()})
    with engine.connect() as connection:
        plan = connection.execute(
            text(f"EXPLAIN QUERY PLAN {state.statement}"), dict.fromkeys(state.parameters, "1")
        )
        details = [row.detail for row in plan]
    assert [detail for detail in details if f"({columns})" in detail], details
    assert not [detail for detail in details if "B-TREE" in detail], details


def test_a_damaged_row_is_a_fault_of_the_store(tmp_path: Path) -> None:
    """SQLite reads the text of a row when it is fetched, and not when the query runs."""
    path = tmp_path / "a.db"
    registry = sm.open_schema_registry(f"sqlite:///{path}", create=True)
    registry.register("s", '"int"')
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE subject_version SET actor = CAST(x'ff' AS TEXT)")
    with pytest.raises(StoreUnavailable, match="UTF-8"):
        registry.find_version("s")
