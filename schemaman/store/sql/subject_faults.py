"""Checks the rows of subjects: contents against their fingerprints, ids, versions, counts and references.

A gap between the numbers of versions is no fault: a permanent deletion and an import leave some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Row, Table, select

from schemaman.store.sql.subject_tables import REFERENCE, SCHEMA, SCHEMA_ID, SETTINGS, SUBJECT, VERSION
from schemaman.store.sql.subjects import list_referenced, read_schema, read_settings
from schemaman.store.sql.tables import make_damaged_error
from schemaman.store.subject_hashes import compute_fingerprint
from schemaman.store.subjects import SubjectName


def find_subject_faults(connection: Connection) -> Iterator[str]:
    """List the faults of the rows of subjects.

    Raises:
        StoreUnavailable: a row is malformed.
    """
    largest = {row.context: row.largest_id for row in _read_rows(connection, SCHEMA_ID)}
    ids = set[tuple[str, int]]()
    wanted = set[tuple[str, str, int, str, int]]()
    for row in _read_rows(connection, SCHEMA):
        schema = read_schema(row)
        name = f"schema {schema.id} of context {schema.context}"
        ids.add((schema.context, schema.id))
        # What follows the fingerprint tells further ids of one content apart.
        if not row.fingerprint.startswith(compute_fingerprint(schema.content)):
            yield f"{name} was altered: its content does not match its fingerprint"
        if not 1 <= schema.id <= largest.get(schema.context, 0):
            yield f"{name} has an id that was never given"
        wanted |= {
            (subject.context, subject.name, number, schema.context, schema.id)
            for subject, number in list_referenced(schema)
        }
    yield from _find_version_faults(connection, ids)
    for one in sorted(wanted ^ {tuple(row) for row in _read_rows(connection, REFERENCE)}):
        yield f"the reference of schema {one[4]} to version {one[2]} of {SubjectName(*one[:2])} is wrong"
    for row in _read_rows(connection, SETTINGS):
        read_settings(row)


def _find_version_faults(connection: Connection, ids: set[tuple[str, int]]) -> Iterator[str]:
    live, total = Counter[SubjectName](), Counter[SubjectName]()
    for row in _read_rows(connection, VERSION):
        subject = SubjectName(row.context, row.subject)
        total[subject] += 1
        live[subject] += not row.is_deleted
        if (row.context, row.schema_id) not in ids:
            yield f"version {row.number} of subject {subject} has no schema: id {row.schema_id} is missing"
        if row.number < 1:
            yield f"version {row.number} of subject {subject} has no number that there is"
    counted = {
        SubjectName(row.context, row.name): (row.live, row.total) for row in _read_rows(connection, SUBJECT)
    }
    for subject in sorted({*total, *counted}):
        if counted.get(subject) != (live[subject], total[subject]):
            yield f"subject {subject} has {total[subject]} versions, and its row counts others"


def _read_rows(connection: Connection, table: Table) -> Iterator[Row[Any]]:
    """Read the rows of a table in the order of its key; SQLite keeps values of any type in any column."""
    kinds = [(column.type.python_type, column.nullable) for column in table.columns]
    try:
        for row in connection.execute(select(table).order_by(*table.primary_key)):
            for value, (kind, nullable) in zip(row, kinds, strict=True):
                if not isinstance(value, kind) and not (nullable and value is None):
                    raise make_damaged_error(f"a row of {table.name} has {value!r} among its values")
            yield row
    except (TypeError, ValueError) as error:
        raise make_damaged_error(f"a row of {table.name} is malformed: {error}") from error
