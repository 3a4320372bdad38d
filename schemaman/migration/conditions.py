"""What is true of a table before a step and after it: conditions that can be checked on the table alone.

Law: a member that is not known never passes for true.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

from schemaman.migration.plan import Step
from schemaman.migration.target import Draft, LakeTable
from schemaman.model.ddl import format_type
from schemaman.model.diff import ChangeKey, RenameColumn
from schemaman.model.schema import Column, TableSchema

_EMPTY = "{}"
CountQuery = Callable[[str], int]
"""Runs a query that gives one number."""


def fingerprint_structure(schema: TableSchema | None) -> str | None:
    """A fingerprint of everything that a step can change in a table but its properties; None for no table.

    Unlike the fingerprint of a version it sees order and comments: a swap of two names shows in the order.
    """
    if schema is None:
        return None
    rows = [f"{c.name!r} {_column_text(c)} {c.comment or ''!r}" for c in schema.columns]
    return hashlib.sha256("\n".join([*rows, repr(schema.comment or "")]).encode()).hexdigest()[:12]


def is_met(lake: LakeTable | None, condition: Mapping[str, object], ask: CountQuery | None = None) -> bool:
    """Whether a condition of a step is true of a live table (None: there is no such table).

    Members: `structure` (a fingerprint of the whole table, None for no table), `columns` (name → type in
    words, None for absent), `properties` (None for absent, or for `{}`), `key`, `version` (nobody committed
    since) and `counts` (query → the one number that it gives), for which the table has to be asked.

    Raises:
        ValueError: a member that this version does not know, or nobody to ask; it must not pass for true.
    """
    return all(_is_true(lake, name, wanted, ask) for name, wanted in condition.items())


def find_unmet_query(lake: LakeTable | None, condition: Mapping[str, object], ask: CountQuery) -> str | None:
    """The query of a condition that gives another number than it should; None if it is not for that."""
    counts = condition.get("counts")
    others = {name: wanted for name, wanted in condition.items() if name != "counts"}
    if not isinstance(counts, Mapping) or not is_met(lake, others):
        return None
    given = ((query, number, ask(str(query))) for query, number in counts.items())
    return next((f"{q} gives {found}, not {number}" for q, number, found in given if found != number), None)


def list_unknown_conditions(condition: Mapping[str, object]) -> list[str]:
    """The members of a condition that `holds` has no answer to, in order."""
    return sorted(name for name, wanted in condition.items() if not _is_known(name, wanted))


def _is_known(name: str, wanted: object) -> bool:
    match name, wanted:
        case ("structure", str() | None) | ("key", [*_]) | ("version", str()):
            return True
        case (("columns" | "properties" | "counts"), {}):
            return True
        case _:
            return False


def _is_true(lake: LakeTable | None, name: str, wanted: object, ask: CountQuery | None) -> bool:
    match name, wanted:
        case "structure", _:
            return wanted == (fingerprint_structure(lake.schema) if lake else None)
        case "columns", {**columns}:
            return lake is not None and all(_describe_column(lake, str(n)) == c for n, c in columns.items())
        case "properties", {**properties}:
            properties_now = lake.properties if lake is not None else {}
            same = all(
                _property_value(properties_now.get(str(k))) == _property_value(v)
                for k, v in properties.items()
            )
            return lake is not None and same
        case "key", [*key]:
            return lake is not None and list(lake.schema.key) == key
        case "version", str(version):
            return lake is not None and lake.version == version
        case "counts", {**counts}:
            if ask is None:
                raise ValueError("a condition has a query, but there is no function to run it")
            return lake is not None and all(ask(str(query)) == number for query, number in counts.items())
        case _:
            raise ValueError(f"the plan has an unknown condition: {name}")


def make_step(draft: Draft, before: LakeTable | None, after: LakeTable | None) -> Step:
    """The step that a draft makes, from one state of the table to the next."""
    touched = sorted({c.path[0] for c in draft.changes if not isinstance(c, ChangeKey) and c.path})
    touched += [c.name for c in draft.changes if isinstance(c, RenameColumn) and len(c.path) == 1]
    post: dict[str, object] = {} if after is None else describe_state(after, touched)
    return Step(
        draft.kind,
        draft.statement,
        draft.step_class,
        draft.reversible,
        describe_state(before, touched) | dict(draft.before),
        post | dict(draft.after),
        draft.undo,
        draft.hurts,
    )


def describe_state(lake: LakeTable | None, touched: Sequence[str]) -> dict[str, object]:
    """The structure of a table, and each touched column in words."""
    columns = {name: _describe_column(lake, name) for name in touched} if lake else {}
    return {"structure": fingerprint_structure(lake.schema if lake else None)} | (
        {"columns": columns} if columns else {}
    )


def _property_value(value: object) -> object:
    """A property that says nothing is as good as absent."""
    return None if value == _EMPTY else value


def _describe_column(lake: LakeTable, name: str) -> str | None:
    column = lake.schema.column(name)
    return None if column is None else _column_text(column)


def _column_text(column: Column) -> str:
    return format_type(column.type) + ("" if column.nullable else " NOT NULL")
