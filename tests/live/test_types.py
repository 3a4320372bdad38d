"""Every type that this PostgreSQL has, sent by a live connector: the sheet of PostgreSQL says what arrives.

A table of one column for each declared row of the sheet is read as a snapshot and streamed, with the defaults
and with every option set to another value. Types of extensions that the server does not have are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
import pytest

from schemaman.debezium.converters.connect import read_columns
from schemaman.model.ddl import format_type
from tests.live.connect import Worker
from tests.live.forms import Form, json_with_schemas
from tests.live.statements import SCHEMA
from tests.live.streaming import streaming
from tests.support import type_sheets as sheets
from tests.support.type_sheets import Row

OTHER = {
    "decimal.handling.mode": "string",
    "time.precision.mode": "isostring",
    "binary.handling.mode": "hex",
    "interval.handling.mode": "string",
    "hstore.handling.mode": "map",
}
UNKNOWN = {"include.unknown.datatypes": "true"}
OF_EXTENSIONS = {"citext", "isbn", "ltree", "lquery", "hstore", "geometry", "geography"}
MADE = (
    "CREATE EXTENSION vector",
    "CREATE TYPE mood AS ENUM ('sad', 'ok')",
    "CREATE TYPE address AS (street text, number int)",
    "CREATE DOMAIN price AS numeric(10,2)",
    "CREATE DOMAIN age AS int4",
)
ROWS = [
    row for row in sheets.rows("postgresql") if row.witness == "declared" and "modifier" in row.attributes
]


@pytest.mark.parametrize("modes", [{}, OTHER, UNKNOWN], ids=["defaults", "other_modes", "unknown_types"])
def test_what_arrives_is_what_the_sheet_says(
    modes: Mapping[str, str], database: str, worker: Worker, broker: str, request: pytest.FixtureRequest
) -> None:
    name = f"types_{request.node.callspec.id}"
    form = json_with_schemas()
    chosen = Form(modes, form.envelope, form.options)
    with streaming(name, database, worker, broker, chosen) as stream:
        stream.tell(*MADE)
        with psycopg.connect(f"{database}/{name}") as connection:
            columns = {f"c{row.number}": spelled for row in ROWS if (spelled := _spelled(connection, row))}
        absent = {
            row.attributes["type_name"].removeprefix("_") for row in ROWS if f"c{row.number}" not in columns
        }
        assert absent <= OF_EXTENSIONS
        body = ", ".join(f"{column} {type}" for column, type in columns.items())
        stream.tell(f"CREATE TABLE {SCHEMA}.every (id int PRIMARY KEY, {body})")
        stream.tell(f"INSERT INTO {SCHEMA}.every (id) VALUES (1)")
        stream.start(1)
        stream.row(f"INSERT INTO {SCHEMA}.every (id) VALUES (2)")
        wanted = {
            c: type for row in ROWS if (c := f"c{row.number}") in columns and (type := _emitted(row, modes))
        }
        values = [json.loads(record.value or b"") for record in stream.topics.records]
        assert [value["payload"]["source"]["snapshot"] != "false" for value in values] == [True, False]
        for value in values:
            assert _types(value) == {"id": "INT", **wanted}


def _spelled(connection: psycopg.Connection[Any], row: Row) -> str | None:
    """The type as this server writes it; None if it has none of that name."""
    found = connection.execute(
        "SELECT format_type(oid, %s) FROM pg_type WHERE typname = %s",
        (row.attributes["modifier"], row.attributes["type_name"]),
    ).fetchone()
    return None if found is None else str(found[0])


def _emitted(row: Row, modes: Mapping[str, str]) -> str | None:
    """The type that the sheet says; None where the column is left out."""
    below = [r for r in sheets.rows("postgresql") if r.witness == "emitted" and r.declared == row.number]
    set_so = {f"{option}={value}" for option, value in modes.items()}
    chosen = [r for r in below if set_so & set(r.told.split())] or [r for r in below if not r.told]
    (only,) = chosen
    return None if only.attributes is None else only.type


def _types(value: Mapping[str, Any]) -> dict[str, str]:
    fields: Sequence[Mapping[str, Any]] = value["schema"]["fields"]
    after = next(field for field in fields if field["field"] == "after")
    return {column.name: format_type(column.type) for column in read_columns(after)}
