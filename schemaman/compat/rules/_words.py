"""Helpers that rules share: paths and columns as text, and the result of Avro's schema resolution."""

from __future__ import annotations

from schemaman.compat.avro.tables import can_read_type, is_filled
from schemaman.compat.judge import Transition, Verdict, Verdicts
from schemaman.model.column_list import format_scalar
from schemaman.model.ddl import format_type
from schemaman.model.diff import ColumnOrField, RenameColumn
from schemaman.model.schema import Column, Path, TableSchema
from schemaman.model.types import Type

LATER = "read from the catalogue, perhaps at a later moment than the record"
"""The reason for the milder verdict of an unconfirmed fact."""


def join_path(path: Path) -> str:
    """Formats a path: `address.city`."""
    return ".".join(path)


def describe_column(column: ColumnOrField) -> str:
    """Formats a column: `INT NOT NULL DEFAULT 5`."""
    words = [format_type(column.type), *([] if column.nullable else ["NOT NULL"])]
    if isinstance(column, Column) and column.default is not None:
        words.append(f"DEFAULT {format_scalar(column.default)}")
    return " ".join(words)


def restrict_to_column(verdicts: Verdicts, transition: Transition, *names: str) -> Verdicts:
    """Returns the verdicts for a column: those of merges count only if it is part of the key."""
    if transition.has_key_column(*names):
        return verdicts
    return {reader: v for reader, v in verdicts.items() if reader != "merge-key"}


def apply_resolution(
    verdicts: Verdicts, *, backward: bool, forward: bool, milder: Verdict = "danger"
) -> Verdicts:
    """Sets the verdicts of Avro's readers by the result of schema resolution: break, or at most `milder`."""
    result = dict(verdicts)
    if backward:
        result["avro-backward"] = "break"
    elif verdicts.get("avro-backward") == "break":
        result["avro-backward"] = milder
    if forward:
        result["avro-forward"] = "break"
    elif verdicts.get("avro-forward") == "break":
        result["avro-forward"] = milder
    return result


def is_unfilled(column: Column, written: TableSchema) -> bool:
    """Returns whether an Avro reader that has the column finds neither a value nor a default for it."""
    return not is_filled(column, written)


def is_renamed(transition: Transition, path: Path) -> bool:
    """Returns whether the step gave the column its name: then Avro does not compare its old and new form."""
    return any(isinstance(c, RenameColumn) and c.name == path[0] for c in transition.changes)


def check_resolution(transition: Transition, path: Path, old: Type, new: Type) -> tuple[bool, bool]:
    """Returns whether a type change breaks the new Avro reader on old data, and the old one on new data."""
    if is_renamed(transition, path):
        return False, False
    return not can_read_type(new, old), not can_read_type(old, new)
