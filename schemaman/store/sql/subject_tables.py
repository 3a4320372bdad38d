"""The tables of subjects.

Names have at most 1,000 bytes, so that a tree of PostgreSQL can keep them unique.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKeyConstraint, Index, Integer, Table, Text, text

from schemaman.store.sql.tables import METADATA

_NUMBER = BigInteger().with_variant(Integer, "sqlite")
_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
"""Ordered by bytes, as SQLite orders text."""

LIVE_VERSIONS = Index(
    "ix_subject_version_live",
    "context",
    "subject",
    "schema_id",
    unique=True,
    sqlite_where=text("NOT is_deleted"),
)


def restrict_live_versions() -> None:
    """Restricts the index of live versions in PostgreSQL, too; a SQLite store does not load that dialect."""
    LIVE_VERSIONS.dialect_kwargs["postgresql_where"] = text("NOT is_deleted")


SCHEMA_ID = Table(
    "subject_context",
    METADATA,
    Column("context", _TEXT, primary_key=True),
    Column("largest_id", BigInteger, nullable=False),
)
SCHEMA = Table(
    "subject_schema",
    METADATA,
    Column("context", _TEXT, primary_key=True),
    Column("id", _NUMBER, primary_key=True, autoincrement=False),
    Column("fingerprint", Text, nullable=False),
    Column("guid", Text, nullable=False, index=True),
    Column("body", Text, nullable=False),
    Index("ix_subject_schema_fingerprint", "context", "fingerprint", unique=True),
)
REFERENCE = Table(
    "subject_reference",
    METADATA,
    Column("context", _TEXT, primary_key=True),
    Column("subject", _TEXT, primary_key=True),
    Column("number", _NUMBER, primary_key=True, autoincrement=False),
    Column("from_context", _TEXT, primary_key=True),
    Column("from_id", _NUMBER, primary_key=True, autoincrement=False),
    Index("ix_subject_reference_from", "from_context", "from_id"),
)
SUBJECT = Table(
    "subject",
    METADATA,
    Column("context", _TEXT, primary_key=True),
    Column("name", _TEXT, primary_key=True),
    Column("live", BigInteger, nullable=False),
    Column("total", BigInteger, nullable=False),
    Index("ix_subject_name", "name"),
)
VERSION = Table(
    "subject_version",
    METADATA,
    Column("context", _TEXT, primary_key=True),
    Column("subject", _TEXT, primary_key=True),
    Column("number", _NUMBER, primary_key=True, autoincrement=False),
    Column("schema_id", _NUMBER, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("is_deleted", Boolean, nullable=False),
    Column("actor", Text, nullable=False),
    Index("ix_subject_version_schema", "context", "schema_id"),
    LIVE_VERSIONS,
    ForeignKeyConstraint(["context", "schema_id"], ["subject_schema.context", "subject_schema.id"]),
)
SETTINGS = Table(
    "subject_settings",
    METADATA,
    Column("scope", _TEXT, primary_key=True),
    Column("context", _TEXT, nullable=False),
    Column("config", Text),
    Column("mode", Text, nullable=False),
    Index("ix_subject_settings_context", "context"),
)

SUBJECT_TABLES = (SCHEMA_ID, SCHEMA, REFERENCE, SUBJECT, VERSION, SETTINGS)
