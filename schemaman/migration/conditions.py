"""Conditions of a table before and after a step, which can be checked on the table alone.

Law: an unknown member of a condition never counts as true.
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
    """Hash everything that a step can change in a table except its properties; None for no table.

    Unlike the fingerprint of a version it includes order and comments: a swap of two names changes the order.
    """
    if schema is None:
        return None
    rows = [f"{c.name!r} {_column_text(c)} {c.comment or ''!r}" for c in schema.columns]
    return hashlib.sha256("\n".join([*rows, repr(schema.comment or "")]).encode()).hexdigest()[:12]


def is_met(lake: LakeTable | None, condition: Mapping[str, object], ask: CountQuery | None = None) -> bool:
    """Whether a lake table meets a condition of a step; None stands for a missing table.

    A caller checks `views` by itself (view → mark, see `view_steps`), since they are not of the table.

    Members: `structure` (a fingerprint of the whole table, None for no table), `columns` (name → type as
    text, None if absent), `properties` (None if absent, or `{}`), `key`, `version` (no commit since then) and
    `counts` (query → its one number), for which `ask` runs the query.

    Raises:
        ValueError: the condition has an unknown member, or it has `counts` and there is no `ask`.
    """
    return all(_is_true(lake, name, wanted, ask) for name, wanted in condition.items())


def find_unmet_query(lake: LakeTable | None, condition: Mapping[str, object], ask: CountQuery) -> str | None:
    """Find the query of an unmet condition whose number differs; None if another member is unmet."""
    counts = condition.get("counts")
    others = {name: wanted for name, wanted in condition.items() if name != "counts"}
    if not isinstance(counts, Mapping) or not is_met(lake, others):
        return None
    given = ((query, number, ask(str(query))) for query, number in counts.items())
    return next((f"{q} gives {found}, not {number}" for q, number, found in given if found != number), None)


def list_unknown_conditions(condition: Mapping[str, object]) -> list[str]:
    """List the members of a condition that `is_met` does not know, in order."""
    return sorted(name for name, wanted in condition.items() if not _is_known(name, wanted))


def _is_known(name: str, wanted: object) -> bool:
    match name, wanted:
        case ("structure", str() | None) | ("key", [*_]) | ("version", str()):
            return True
        case (("columns" | "properties" | "counts" | "views"), {}):
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
        case "views", _:
            raise ValueError("a condition has views, and they are not of the table")
        case "counts", {**counts}:
            if ask is None:
                raise ValueError("a condition has a query, but there is no function to run it")
            return lake is not None and all(ask(str(query)) == number for query, number in counts.items())
        case _:
            raise ValueError(f"the plan has an unknown condition: {name}")


def make_step(draft: Draft, before: LakeTable | None, after: LakeTable | None) -> Step:
    """Make the step of a draft, from one state of the table to the next."""
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
    """Describe the structure of a table, and each touched column."""
    columns = {name: _describe_column(lake, name) for name in touched} if lake else {}
    return {"structure": fingerprint_structure(lake.schema if lake else None)} | (
        {"columns": columns} if columns else {}
    )


def _property_value(value: object) -> object:
    """Treat an empty property as absent."""
    return None if value == _EMPTY else value


def _describe_column(lake: LakeTable, name: str) -> str | None:
    column = lake.schema.column(name)
    return None if column is None else _column_text(column)


def _column_text(column: Column) -> str:
    return format_type(column.type) + ("" if column.nullable else " NOT NULL")
