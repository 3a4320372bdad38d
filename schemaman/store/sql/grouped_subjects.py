"""Subjects in PostgreSQL, where each question waits for a network: questions go together, and so do writes.

Law: what is read and what is written are those of `SqlSubjectRows`; writes that wait are there for every
question, and before the commit they are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import BigInteger, Boolean, Connection, Table

from schemaman.store.sql.kept_subjects import KeptSubjects
from schemaman.store.sql.quick_statements import list_rows_together
from schemaman.store.sql.subject_tables import REFERENCE, SCHEMA, SCHEMA_ID, SETTINGS, SUBJECT, VERSION
from schemaman.store.sql.subjects import (
    AppendRegistrations,
    SqlSubjectRows,
    format_references,
    format_schema,
    format_version,
    read_schema,
    read_settings,
    read_version,
)
from schemaman.store.subject_names import GLOBAL_CONTEXT, format_context
from schemaman.store.subjects import (
    RegisteredSchema,
    SubjectName,
    SubjectSettings,
    SubjectVersion,
)

_NOW_MS = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"


def _list_columns(table: Table, alias: str) -> str:
    return ", ".join(f"{alias}.{column.name}" for column in table.columns)


# Each `OFFSET 0` keeps the server from joining another way than by the index, also without statistics.
# Source: postgresql.org/docs/current/explicit-joins.html; src/backend/optimizer/prep/prepjointree.c.
_SETTINGS = (
    f"SELECT {_list_columns(SETTINGS, 's')} FROM {{schema}}.subject_settings s WHERE scope = ANY(%(scopes)s)"
)
_VERSIONS = f"""
    SELECT {_list_columns(VERSION, "v")}
    FROM unnest(%(contexts)s::text[], %(names)s::text[]) AS wanted(context, name)
    CROSS JOIN LATERAL (
        SELECT * FROM {{schema}}.subject_version
        WHERE context = wanted.context AND subject = wanted.name OFFSET 0
    ) v ORDER BY v.context, v.subject, v.number"""
_LATEST = f"""
    SELECT {_list_columns(SCHEMA, "s")}
    FROM unnest(%(contexts)s::text[], %(names)s::text[]) AS wanted(context, name)
    CROSS JOIN LATERAL (
        SELECT schema_id FROM {{schema}}.subject_version
        WHERE context = wanted.context AND subject = wanted.name AND NOT is_deleted
        ORDER BY number DESC LIMIT 1
    ) v
    CROSS JOIN LATERAL (
        SELECT * FROM {{schema}}.subject_schema WHERE context = wanted.context AND id = v.schema_id OFFSET 0
    ) s"""
_CONTENTS = f"""
    SELECT wanted.fingerprint, {_list_columns(SCHEMA, "s")}
    FROM unnest(%(contexts)s::text[], %(fingerprints)s::text[]) AS wanted(context, fingerprint)
    CROSS JOIN LATERAL (
        SELECT * FROM {{schema}}.subject_schema
        WHERE context = wanted.context AND fingerprint >= wanted.fingerprint
        AND fingerprint <= wanted.fingerprint || 'z' OFFSET 0
    ) s ORDER BY s.fingerprint, s.id"""
_NUMBERS = f"""
    SELECT NULL, {_NOW_MS}
    UNION ALL SELECT context, largest_id FROM {{schema}}.subject_context WHERE context = ANY(%(contexts)s)"""


def _write_insert(table: Table, ending: str = "") -> str:
    """Write the statement that inserts many rows at once: an array for each column."""
    names = [column.name for column in table.columns]
    arrays = ", ".join(f"%({column.name})s::{_find_type(column.type)}[]" for column in table.columns)
    return f"INSERT INTO {{schema}}.{table.name} ({', '.join(names)}) SELECT * FROM unnest({arrays}) {ending}"


def _find_type(type: object) -> str:
    return "boolean" if isinstance(type, Boolean) else "bigint" if isinstance(type, BigInteger) else "text"


_ADD_SCHEMAS, _ADD_REFERENCES, _ADD_VERSIONS = map(_write_insert, (SCHEMA, REFERENCE, VERSION))
_COUNT_VERSIONS = _write_insert(
    SUBJECT,
    "ON CONFLICT (context, name) DO UPDATE"
    " SET live = subject.live + excluded.live, total = subject.total + excluded.total",
)
_SET_LARGEST_IDS = _write_insert(
    SCHEMA_ID, "ON CONFLICT (context) DO UPDATE SET largest_id = excluded.largest_id"
)
Statement = tuple[str, Mapping[str, object]]


@dataclass(eq=False, slots=True)
class _RowsRead:
    """What a transaction has read, or has written since; what is not here was not read."""

    settings: dict[str, SubjectSettings] = field(default_factory=dict)
    versions: dict[SubjectName, tuple[SubjectVersion, ...]] = field(default_factory=dict)
    schemas: dict[tuple[str, int], RegisteredSchema | None] = field(default_factory=dict)
    ids: dict[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)
    largest: dict[str, int] = field(default_factory=dict)
    now_ms: int | None = None


@dataclass(eq=False, slots=True)
class _RowsWaiting:
    """The rows that wait to be sent; the largest ids are by context, the numbers of versions by subject."""

    schemas: list[dict[str, object]] = field(default_factory=list)
    references: list[dict[str, object]] = field(default_factory=list)
    versions: list[dict[str, object]] = field(default_factory=list)
    largest: dict[str, int] = field(default_factory=dict)
    counted: dict[SubjectName, tuple[int, int]] = field(default_factory=dict)

    def list_statements(self) -> list[Statement]:
        """List the statements that write these rows."""
        counted = [
            {"context": subject.context, "name": subject.name, "live": live, "total": total}
            for subject, (live, total) in sorted(self.counted.items())
        ]
        largest = [{"context": name, "largest_id": id} for name, id in sorted(self.largest.items())]
        pairs: tuple[tuple[str, Sequence[Mapping[str, object]]], ...] = (
            (_SET_LARGEST_IDS, largest),
            (_ADD_SCHEMAS, self.schemas),
            (_ADD_REFERENCES, self.references),
            (_ADD_VERSIONS, self.versions),
            (_COUNT_VERSIONS, counted),
        )
        return [
            (text, {name: [row[name] for row in rows] for name in rows[0]}) for text, rows in pairs if rows
        ]


class GroupedSubjectRows(SqlSubjectRows):
    """The rows of one transaction; what was read is kept in it, and new versions are written together.

    Each other write sends what waits, and forgets what was read.
    """

    def __init__(
        self,
        connection: Connection,
        now_ms: Callable[[], int],
        kept: KeptSubjects | None = None,
        append: AppendRegistrations | None = None,
    ) -> None:
        self._sent = connection
        self._alone = SqlSubjectRows(connection, now_ms)
        self._read = _RowsRead()
        self._waiting = _RowsWaiting()
        super().__init__(connection, self._find_now, kept, append)

    def find_revision(self) -> None:
        """Return None: to ask for the revision would be a wait."""

    @property
    def _connection(self) -> Connection:
        """The connection for any other question or write than those below."""
        self.send()
        self._read = _RowsRead()
        return self._sent

    @_connection.setter
    def _connection(self, connection: Connection) -> None:
        self._sent = connection

    def read_ahead(
        self, subjects: Collection[SubjectName], contents: Collection[tuple[str, str]] = ()
    ) -> None:
        """Read what registrations ask for, and wait once."""
        self.send()
        names = sorted(set(subjects))
        contexts = sorted({name.context for name in names})
        scopes = [*map(str, names), *map(format_context, (*contexts, GLOBAL_CONTEXT))]
        keys = sorted(set(contents))
        of_names = {"contexts": [name.context for name in names], "names": [name.name for name in names]}
        of_contents = {"contexts": [key[0] for key in keys], "fingerprints": [key[1] for key in keys]}
        asked: list[Statement] = [(_CONTENTS, of_contents)] if keys else []
        if names:
            asked += [
                (_SETTINGS, {"scopes": scopes}),
                (_VERSIONS, of_names),
                (_LATEST, of_names),
                (_NUMBERS, {"contexts": contexts}),
            ]
        answers = iter(list_rows_together(self._sent, asked))
        if keys:
            self._keep_contents(keys, next(answers))
        if names:
            self._keep_subjects(names, scopes, *answers)

    def _keep_contents(self, keys: Iterable[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> None:
        ids: dict[tuple[str, str], list[int]] = {key: [] for key in keys}
        for fingerprint, *row in rows:
            schema = read_schema(row)
            self._read.schemas[schema.context, schema.id] = schema
            ids[schema.context, fingerprint].append(schema.id)
        self._read.ids |= {key: tuple(found) for key, found in ids.items()}

    def _keep_subjects(
        self,
        names: Iterable[SubjectName],
        scopes: Iterable[str],
        settings: Iterable[Sequence[Any]],
        versions: Iterable[Sequence[Any]],
        latest: Iterable[Sequence[Any]],
        numbers: Iterable[Sequence[Any]],
    ) -> None:
        self._read.settings |= dict.fromkeys(scopes, SubjectSettings())
        self._read.settings |= {row[0]: read_settings(row) for row in settings}
        found: dict[SubjectName, list[SubjectVersion]] = {name: [] for name in names}
        for version in map(read_version, versions):
            found[version.subject].append(version)
        self._read.versions |= {name: tuple(some) for name, some in found.items()}
        self._read.schemas |= {(schema.context, schema.id): schema for schema in map(read_schema, latest)}
        self._read.largest = dict.fromkeys((name.context for name in found), 0)
        for context, number in numbers:
            if context is None:
                self._read.now_ms = int(number)
            else:
                self._read.largest[context] = number

    def send(self) -> None:
        """Send the writes that wait, and wait once."""
        statements = self._waiting.list_statements()
        self._waiting = _RowsWaiting()
        if statements:
            list_rows_together(self._sent, statements)

    def _find_now(self) -> int:
        if self._read.now_ms is None:
            self._read.now_ms = self._alone.now_ms()
        return self._read.now_ms

    def find_schema(self, context: str, id: int) -> RegisteredSchema | None:
        """Find a schema by its id."""
        key = context, id
        if key not in self._read.schemas:
            self._read.schemas[key] = self._alone.find_schema(context, id)
        return self._read.schemas[key]

    def list_ids(self, context: str, fingerprint: str) -> tuple[int, ...]:
        """List the ids of a content, the one that it was given first in front."""
        key = context, fingerprint
        if key not in self._read.ids:
            self._read.ids[key] = self._alone.list_ids(context, fingerprint)
        return self._read.ids[key]

    def list_versions(self, subject: SubjectName) -> tuple[SubjectVersion, ...]:
        """List the versions of a subject by number, also soft-deleted ones."""
        if subject not in self._read.versions:
            self._read.versions[subject] = self._alone.list_versions(subject)
        return self._read.versions[subject]

    def find_largest_id(self, context: str) -> int:
        """The largest id that was ever given in a context; 0 for none."""
        if context not in self._read.largest:
            self._read.largest[context] = self._alone.find_largest_id(context)
        return self._read.largest[context]

    def list_settings(self, scopes: Iterable[str]) -> Mapping[str, SubjectSettings]:
        """Read the settings of several scopes; one without settings is left out."""
        wanted = tuple(scopes)
        missing = [scope for scope in wanted if scope not in self._read.settings]
        self._read.settings |= {
            **dict.fromkeys(missing, SubjectSettings()),
            **self._alone.list_settings(missing),
        }
        found = {scope: self._read.settings[scope] for scope in wanted}
        return {scope: settings for scope, settings in found.items() if settings != SubjectSettings()}

    def set_largest_id(self, context: str, id: int) -> None:
        """Remember the largest id of a context."""
        self._read.largest[context] = self._waiting.largest[context] = id

    def add_schema(self, schema: RegisteredSchema, fingerprint: str) -> None:
        """Add a schema with an id that is free, and its references."""
        ids = self.list_ids(schema.context, fingerprint)
        self._read.ids[schema.context, fingerprint] = (*ids, schema.id)
        self._read.schemas[schema.context, schema.id] = schema
        self._waiting.schemas.append(format_schema(schema, fingerprint))
        self._waiting.references.extend(format_references(schema))

    def add_version(self, version: SubjectVersion) -> None:
        """Add a version whose number is free."""
        before = self.list_versions(version.subject)
        after = sorted((*before, version), key=lambda each: each.number)
        self._read.versions[version.subject] = tuple(after)
        self._waiting.versions.append(format_version(version))
        live, total = self._waiting.counted.get(version.subject, (0, 0))
        self._waiting.counted[version.subject] = live + (not version.is_deleted), total + 1
