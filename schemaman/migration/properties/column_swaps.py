"""What a table tells of columns that are being exchanged for others."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from schemaman.migration.plan import Refusal, describe_change
from schemaman.migration.properties.table_record import ColumnSwap, read_record
from schemaman.migration.target import LakeTable
from schemaman.model.ddl import format_type, quote_name
from schemaman.model.diff import Change, ChangeComment, ChangeKey, ChangeType, DropColumn, RenameColumn
from schemaman.model.name_adjustment import TEMPORARY_PREFIX
from schemaman.model.schema import walk_fields

_CONTINUE = "`schemaman plan TABLE --recipe` continues the column swap or abandons it; then plan again"


def is_between_names(lake: LakeTable) -> bool:
    """Whether a plan stopped between two names of a column: no other plan knows which column is which."""
    temporary = any(path[-1].lower().startswith(TEMPORARY_PREFIX) for path, _, _ in walk_fields(lake.schema))
    return temporary or read_record(lake.properties).phase == "swap"


def suggest_resume(lake: LakeTable) -> str:
    """Suggest the command that finishes the run which stopped on this table; the table names the run."""
    run = read_record(lake.properties).run
    if run:
        return f"finish that plan with `schemaman resume {run}`; then plan again"
    return "finish that plan with `schemaman resume RUN` (`schemaman status` names the run); then plan again"


def read_swaps(lake: LakeTable) -> tuple[ColumnSwap, ...]:
    """The exchanges that a table is in the midst of, as its own property tells."""
    return read_record(lake.properties).swaps


def refuse_during_swap(lake: LakeTable, change: Change) -> Refusal | None:
    """Why a change has to wait until an exchange is through: its column is to be found by name and type."""
    if isinstance(change, ChangeKey | ChangeComment):
        return None
    whole = len(change.path) == 1
    if not change.path or (whole and not isinstance(change, RenameColumn | DropColumn | ChangeType)):
        return None
    at = change.path[0].lower()
    e = next((e for e in read_swaps(lake) if at in (e.column.lower(), e.new.lower())), None)
    if e is None:
        return None
    reason = f"{quote_name(e.column)} is being replaced in phases by {quote_name(e.new)}"
    return Refusal(describe_change(change), reason, _CONTINUE)


def format_swaps(phase: str, swaps: Iterable[ColumnSwap]) -> str:
    """Exchanges as the property keeps them."""
    listed = [
        {
            "column": e.column,
            "new": e.new,
            "old": e.old,
            "was": format_type(e.old_type),
            "type": format_type(e.new_type),
        }
        for e in swaps
    ]
    document = {"phase": phase, "exchanges": listed}
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def find_free_name(name: str, suffix: str, taken: Collection[str]) -> str:
    """`name__suffix`, with a number where another column has that name; Spark ignores case."""
    lowered = {each.lower() for each in taken}
    wanted, number = f"{name}__{suffix}", 1
    while wanted.lower() in lowered:
        number += 1
        wanted = f"{name}__{suffix}{number}"
    return wanted
