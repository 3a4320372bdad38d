"""Formats changes, positions, times and numbers as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from schemaman.compat.verdicts import Severity
from schemaman.debezium.connector import find_connector
from schemaman.debezium.records import Coordinates, Position
from schemaman.history.summary import TableSummary
from schemaman.history.versions import SchemaVersion, Status, TableHistory
from schemaman.model.ddl import format_type
from schemaman.model.diff import (
    AddColumn,
    Change,
    ChangeAttribute,
    ChangeComment,
    ChangeDefault,
    ChangeKey,
    ChangeNullable,
    ChangeType,
    ColumnOrField,
    DropColumn,
    MoveColumn,
    RenameColumn,
)
from schemaman.model.schema import Column, Path, Scalar
from schemaman.report.document import Inline, Text, Tone
from schemaman.report.views.numbers import format_count as format_count
from schemaman.report.views.numbers import format_number as format_number
from schemaman.report.views.numbers import format_time as format_time

SEVERITY_TONES: dict[Severity, Tone] = {"break": "break", "danger": "danger", "note": "note", "off": "muted"}
STATUS_TONES: dict[Status, Tone] = {
    "confirmed": "good", "provisional": "note", "phantom": "danger", "declared": "note", "inferred": "note",
}  # fmt: skip


def name_connector(connector: str) -> str:
    """The product's own spelling of a connector's name."""
    return find_connector(connector).title or connector


def describe_end(history: TableHistory | TableSummary) -> str:
    """Describe how a table ended: `dropped`, `renamed to shop.orders_old`; empty while it exists."""
    end = history.end
    if end is None:
        return ""
    return f"{end.kind} to {end.other}" if end.kind == "renamed" and end.other else end.kind


def describe_change(found: Change) -> Inline:
    """Describe a change in a line: a sign, the column, and what changed."""
    match found:
        case AddColumn(path, column, _):
            return (Text("+ "), _format_name(path), Text(f"  {_describe_type(column)}"))
        case DropColumn(path, column):
            return (Text("- "), _format_name(path), Text(f"  {_describe_type(column)}"))
        case RenameColumn(path, name):
            return (Text("→ "), _format_name(path), Text(" renamed to "), _format_name((*path[:-1], name)))
        case MoveColumn(path, after):
            return (Text("↕ "), _format_name(path), *_describe_move(after))
        case ChangeType(path, old, new):
            return (Text("~ "), _format_name(path), Text(f"  {format_type(old)} → {format_type(new)}"))
        case ChangeNullable(path, _, new):
            return (Text("~ "), _format_name(path), Text("  is now nullable" if new else "  is now NOT NULL"))
        case ChangeDefault(path, old, new):
            return (
                Text("~ "),
                _format_name(path),
                Text(f"  default {format_default(old)} → {format_default(new)}"),
            )
        case ChangeComment(path, old, new):
            return (
                Text("~ "),
                *_format_subject(path),
                Text(f"  comment {_quote_text(old)} → {_quote_text(new)}"),
            )
        case ChangeAttribute(path, attribute, old, new):
            words = {"source_type": "database type", "emitted_name": "name in events", "id": "column id"}
            return (
                Text("~ "),
                _format_name(path),
                Text(f"  {words[attribute]} {_format_value(old)} → {_format_value(new)}"),
            )
        case ChangeKey(old_key, new_key):
            return (Text("~ key  "), Text(f"{format_key(old_key)} → {format_key(new_key)}"))
        case _:
            assert_never(found)


def describe_changes(found: Sequence[Change]) -> Iterator[Inline]:
    """Describe each change in a line; the line says if a new column has the name of a dropped one."""
    dropped = {c.path for c in found if isinstance(c, DropColumn)}
    for each in found:
        again = isinstance(each, AddColumn) and each.path in dropped
        yield (
            *describe_change(each),
            *((Text("  a new column with the same name", "muted"),) if again else ()),
        )


def format_key(columns: tuple[str, ...]) -> str:
    """A key in words."""
    return f"({', '.join(columns)})" if columns else "none"


def format_version_key(history: TableHistory, version: SchemaVersion) -> str:
    """The key of a version in words: `unknown` if no record shows it."""
    return "unknown" if history.is_key_unknown(version) else format_key(version.schema.key)


def format_default(value: Scalar) -> str:
    """Format a default; strings are in quotes."""
    return "none" if value is None else repr(value) if isinstance(value, str) else str(value).lower()


def join_path(path: Path) -> str:
    """A path in dots."""
    return ".".join(path)


def format_position(found: Position) -> str:
    """Format a source position in the database's own notation: PostgreSQL's as `X/Y`."""
    match found.kind:
        case "none":
            return ""
        case "lsn":
            lsn = int(found.value)
            return f"LSN {lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
        case "commit_lsn":
            return f"LSN {found.value or found.commit or ''}"
        case "binlog":
            file, offset, _ = found.value.rsplit(":", 2)
            return f"binlog {file}:{offset}"
        case _:
            return f"{found.kind.upper()} {found.value}"


def format_coordinates(found: Coordinates) -> str:
    """Formats time and position of a record; topic and offset if it has no position."""
    position = format_position(found.position) or f"{found.topic}[{found.partition}]@{found.offset}"
    return f"{format_time(found.ts_ms)} · {position}"


def describe_begin(version: SchemaVersion) -> str:
    """The interval in which a version began."""
    if version.after is None:
        return f"first seen {format_coordinates(version.at)}"
    return f"after {format_coordinates(version.after)}, no later than {format_coordinates(version.at)}"


def describe_evidence(version: SchemaVersion) -> str:
    """Describes a version's evidence: `17 records emitted, 1 declared`, and records that it may share."""
    counts = [f"{format_number(e.records)} {e.kind}" for e in version.evidence if e.records]
    if not counts:
        return ""
    number, _, kind = counts[0].partition(" ")
    counts[0] = f"{number} {'record' if number == '1' else 'records'} {kind}"
    if version.shared_records:
        shared = format_number(version.shared_records)
        counts.append(f"and {shared} more that belong to this version or another")
    return ", ".join(counts)


def format_version(version: SchemaVersion | TableSummary, revision: int) -> str:
    """`3`, and `3.2` for its second revision of attributes."""
    return f"{version.number}.{revision}" if revision else str(version.number)


def describe_fact(fact: str) -> str:
    """Describe an unconfirmed fact: `its key`, `whether name may be NULL`."""
    kind, _, column = fact.partition(":")
    if kind == "key":
        return "its key"
    return f"whether {column} may be NULL" if kind == "nullable" else f"the {kind} of {column}"


def _format_name(path: Path) -> Text:
    return Text(join_path(path), code=True)


def _format_subject(path: Path) -> Inline:
    return (_format_name(path),) if path else (Text("table"),)


def _describe_type(found: ColumnOrField) -> str:
    words = [format_type(found.type), "" if found.nullable else "NOT NULL"]
    if isinstance(found, Column) and found.default is not None:
        words.append(f"DEFAULT {format_default(found.default)}")
    return " ".join(word for word in words if word)


def _describe_move(after: str | None) -> Inline:
    if after is None:
        return (Text("  is now first"),)
    return (Text("  is now after "), Text(after, code=True))


def _quote_text(text: str | None) -> str:
    return "none" if text is None else repr(text)


def _format_value(value: str | int | None) -> str:
    return "none" if value is None else str(value)
