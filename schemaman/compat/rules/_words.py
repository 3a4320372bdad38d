"""Words that rules share: places, columns in words, and what Avro's resolution makes of a column."""

from __future__ import annotations

from schemaman.compat.judge import Transition, Verdict, Verdicts
from schemaman.debezium.converters.avro_schema import (
    Avro,
    is_readable,
    list_unreadable_fields,
    to_avro,
    type_to_avro,
)
from schemaman.model.column_list import format_scalar
from schemaman.model.ddl import format_type
from schemaman.model.diff import ColumnOrField, RenameColumn
from schemaman.model.schema import Column, Path, TableSchema
from schemaman.model.types import Type

LATER = "read from the catalogue, perhaps at a later moment than the record"
"""Why an unconfirmed fact weighs less."""


def join_path(path: Path) -> str:
    """A path in one word: `address.city`."""
    return ".".join(path)


def describe_column(member: ColumnOrField) -> str:
    """A column in words: `INT NOT NULL DEFAULT 5`."""
    words = [format_type(member.type), *([] if member.nullable else ["NOT NULL"])]
    if isinstance(member, Column) and member.default is not None:
        words.append(f"DEFAULT {format_scalar(member.default)}")
    return " ".join(words)


def restrict_to_column(verdicts: Verdicts, transition: Transition, *names: str) -> Verdicts:
    """The verdicts for a column: merges are touched only if it is part of the key."""
    if transition.has_key_column(*names):
        return verdicts
    return {reader: v for reader, v in verdicts.items() if reader != "merge-key"}


def apply_resolution(
    verdicts: Verdicts, *, backward: bool, forward: bool, milder: Verdict = "danger"
) -> Verdicts:
    """The verdicts with those of Avro as its resolution says: break, or at most `milder`."""
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
    """Whether an Avro reader that knows the column finds neither value nor default for it."""
    reader = to_avro(TableSchema((column,)), "Value")
    return bool(list_unreadable_fields(reader, to_avro(written, "Value")))


def is_renamed(transition: Transition, path: Path) -> bool:
    """Whether the column got its name in this step: then Avro never compares its old and new form."""
    return any(isinstance(c, RenameColumn) and c.name == path[0] for c in transition.changes)


def check_resolution(transition: Transition, path: Path, old: Type, new: Type) -> tuple[bool, bool]:
    """Whether a type change stops Avro readers: the new reader on old data, the old one on new."""
    if is_renamed(transition, path):
        return False, False
    before: Avro = type_to_avro(old, False, "Value")
    after: Avro = type_to_avro(new, False, "Value")
    return not is_readable(after, before), not is_readable(before, after)
