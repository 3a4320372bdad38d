"""Helpers that rules share: paths and columns as text, and the result of Avro's schema resolution."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from schemaman.compat.avro.tables import can_read_type, is_filled
from schemaman.compat.judge import FactKind, Finding, Transition, Verdict, Verdicts, cap_verdicts
from schemaman.debezium.ddl.online import find_online_original
from schemaman.model.column_list import format_scalar
from schemaman.model.ddl import format_type
from schemaman.model.diff import AddColumn, ChangeAttribute, ColumnOrField, RenameColumn
from schemaman.model.schema import Column, Path, TableId, TableSchema
from schemaman.model.types import Type

LATER = "read from the catalogue, perhaps at a later moment than the record"
"""The reason for the milder verdict of an unconfirmed fact."""


_EXPRESSION = re.compile(
    r"[\w.\"]+\(.*\)|"
    r"(?:CURRENT[ _](?:DATE|TIME|TIMESTAMP|USER)|LOCALTIME(?:STAMP)?|SYSDATE|SYSTIMESTAMP|NULL)"
    r"(?:\(\d*\))?|'?0000-00-00.*",
    re.IGNORECASE | re.DOTALL,
)


def is_expression(default: str) -> bool:
    """Returns whether the text of a default is a function or a zero date, and no constant."""
    return _EXPRESSION.fullmatch(default.strip()) is not None


def find_working_copy(table: TableId) -> str | None:
    """Finds the table of a working copy of an online schema change; None for any other table.

    The tools work on databases whose tables have no schema.
    """
    return find_online_original(table.table) if not table.schema else None


def is_moved(old: TableId, new: TableId) -> bool:
    """Returns whether a renamed table is in another database or schema now."""
    return (old.database, old.schema) != (new.database, new.schema)


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
    """Returns whether the step gave the column its name, or its field in events another one.

    Avro does not compare the old and the new form of such a column.
    """
    for change in transition.changes:
        match change:
            case RenameColumn((_,), name) if name == path[0]:
                return True
            case ChangeAttribute((name,), "emitted_name", str(), str()) if name == path[0]:
                return True
            case _:
                continue
    return False


def find_former_name(transition: Transition, name: str) -> str:
    """Returns the name that a column had before the step."""
    renames = (c for c in transition.changes if isinstance(c, RenameColumn) and len(c.path) == 1)
    return next((c.path[0] for c in renames if c.name == name), name)


def find_swaps(transition: Transition) -> tuple[tuple[str, ...], ...]:
    """Finds the groups of columns that exchanged their names: each name goes to the next column's place."""
    renames = (c for c in transition.changes if isinstance(c, RenameColumn) and len(c.path) == 1)
    new_names = {change.path[0]: change.name for change in renames}
    swaps: list[tuple[str, ...]] = []
    for start in new_names:
        group = [start]
        while (name := new_names.get(group[-1])) is not None and name not in group:
            group.append(name)
        if name == start and not any(start in known for known in swaps):
            swaps.append(tuple(group))
    return tuple(swaps)


def is_case_only(old: str, new: str) -> bool:
    """Returns whether two names differ in upper and lower case only."""
    return old != new and old.casefold() == new.casefold()


def resolve_rename(verdicts: Verdicts, transition: Transition, old: str, new: str) -> Verdicts:
    """Returns the verdicts for a column with another name: Avro's come from schema resolution."""
    row = restrict_to_column(verdicts, transition, old, new)
    before, after = transition.old, transition.new
    old_column = before.column(old) if before else None
    new_column = after.column(new) if after else None
    if before is None or after is None or old_column is None or new_column is None:
        return row
    return apply_resolution(
        row,
        backward=is_unfilled(new_column, before) and not transition.is_unconfirmed(f"nullable:{new}"),
        forward=is_unfilled(old_column, after),
    )


def mark_unsure(finding: Finding, verdict: Verdict = "danger") -> Finding:
    """Returns the finding for a fact that is not confirmed: at most `verdict`, and the message says why."""
    return replace(
        finding,
        message=f"{finding.message} (not confirmed: {LATER})",
        verdicts=cap_verdicts(verdict, finding.verdicts),
    )


def check_resolution(transition: Transition, path: Path, old: Type, new: Type) -> tuple[bool, bool]:
    """Returns whether a type change breaks the new Avro reader on old data, and the old one on new data."""
    if is_renamed(transition, path):
        return False, False
    return not can_read_type(new, old), not can_read_type(old, new)


def keeps_source_type(transition: Transition, path: Path) -> bool:
    """Returns whether the source has the same known type for a column, so that the encoding changed."""
    new = transition.new.column(path[0]) if transition.new else None
    old = transition.old.column(find_former_name(transition, path[0])) if transition.old else None
    return old is not None and new is not None and old.source_type == new.source_type is not None


EXPLAINED_DROPS: tuple[FactKind, ...] = ("not-streamed", "excluded")
"""Facts that may explain why a column is gone from events."""

RULES_OF_DEFAULTS = (
    "default-added",
    "default-removed",
    "default-changed",
    "default-not-representable",
    "default-invalid-for-type",
    "null-shadowed-by-default",
)
"""The rules that tell of the default of a column."""


def claim_default(path: Path) -> tuple[tuple[str, Path], ...]:
    """Returns the claims of a change of type: the default of the column is written in the new type."""
    return tuple((rule, path[:1]) for rule in RULES_OF_DEFAULTS)


RULES_OF_NEW_COLUMNS = (
    "column-added-nullable",
    "column-added-required",
    "column-added-required-with-default",
    "nested-field-added",
    "field-appeared",
)
"""The rules that tell of a new column or nested field."""


def claim_name_notes(path: Path) -> tuple[tuple[str, Path], ...]:
    """Returns the claims of a finding about a new name: what else is to know of the name."""
    return (("avro-name-adjusted", path), ("sql-keyword-name", path))


def claim_new_name(name: str) -> tuple[tuple[str, Path], ...]:
    """Returns the claims of a rename: what else is to know of the new name."""
    path = (name,)
    rules = ("target-illegal-characters", "reserved-metadata-name", "name-too-long")
    return (("avro-incompatible", path), *claim_name_notes(path), *((rule, path) for rule in rules))


def claim_new_column(path: Path) -> tuple[tuple[str, Path], ...]:
    """Returns the claims of a finding that tells more of a new column than that it is new."""
    return tuple((rule, path) for rule in RULES_OF_NEW_COLUMNS)


def find_new_names(transition: Transition) -> set[str]:
    """Finds the names of columns that the step brought: by a new table, a new column or a rename."""
    if transition.old is None:
        return set(transition.new.names) if transition.new else set()
    names: set[str] = set()
    for change in transition.changes:
        match change:
            case AddColumn((name,), _, _) | RenameColumn((_,), name):
                names.add(name)
            case _:
                continue
    return names


LabelChange = Literal["renamed", "removed", "reordered", "added", "none"]


def classify_labels(old: tuple[str, ...], new: tuple[str, ...]) -> LabelChange:
    """Returns what happened to the labels of an enum; an empty list means that they are not known.

    A label is renamed if each removed one has a new one in its place.
    """
    if not old or not new or old == new:
        return "none"
    removed = [i for i, label in enumerate(old) if label not in new]
    if removed:
        return "renamed" if all(i < len(new) and new[i] not in old for i in removed) else "removed"
    if [label for label in new if label in old] != list(old):
        return "reordered"
    return "added"
