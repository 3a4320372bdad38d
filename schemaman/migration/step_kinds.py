"""The kinds of change that each step of a plan makes for the policy, read from its statement alone.

A plan file says of itself what its steps do, and anybody can edit it. Law: a step that changes the meaning of
columns or rows has the kind whose level a person gave, whatever kind, class or phase the file gives the step.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from schemaman.migration.plan import PhaseName, Plan, Step, StepKind
from schemaman.migration.policy import ChangeKind
from schemaman.migration.policy_checks import classify_widening
from schemaman.migration.properties.names import KEY_PROPERTY
from schemaman.migration.rename_grounds import RenameGrounds, follow_renames
from schemaman.migration.row_columns import ORDER
from schemaman.migration.spark_sql import TABLE_PATTERN
from schemaman.migration.sql_reader import SqlReader
from schemaman.migration.statement_check import find_structure_after, is_taking_rows, read_step_changes
from schemaman.migration.successor_rows import is_filling_successor
from schemaman.migration.target import TARGETS, is_same_key
from schemaman.model.diff import AddColumn, Change, ChangeType, RenameColumn
from schemaman.model.schema import TableSchema, walk_fields

_KINDS: Mapping[StepKind, ChangeKind] = {
    "create-table": "new-table",
    "add-columns": "add-column",
    "rename-column": "rename-stated",
    "rename-table": "rename-table",
    "drop-columns": "drop-column",
    "drop-not-null": "drop-not-null",
    "drop-constraint": "drop-not-null",
    "change-comment": "change-comment",
    "backfill": "retype",
    "add-constraint": "set-not-null",
}
"""The kind of each step that the statement alone shows. The others are empty, or depend on the table.

`create-namespace` makes an empty namespace, and `restore` always needs approval.
"""


FILLING_PHASES: tuple[PhaseName, ...] = ("gather", "unite", "take-rows", "fill-successor")
"""Their statements show what they fill, whatever a plan file calls its phase."""
_PATH = r"`(?:[^`]|``)+`(?:\.`(?:[^`]|``)+`)*"
_FILLS_NULL = re.compile(
    rf"UPDATE {TABLE_PATTERN} SET (?P<new>{_PATH}) = .* WHERE {_PATH} IS NOT NULL AND (?P=new) IS NULL "
    rf"AND \(`{ORDER}` IS NULL OR `{ORDER}` < '[^']*'\)",
    re.DOTALL,
)
"""The statement that unites two columns: it replaces no value, whatever a plan file says of it."""


@dataclass(frozen=True, slots=True)
class _State:
    """The table between two steps: its structure, its key, and its key by the names after all renames."""

    schema: TableSchema
    key: tuple[str, ...]
    final_key: tuple[str, ...]
    is_new: bool

    def has_key(self, columns: Collection[str]) -> bool:
        return is_same_key(columns, self.key) or is_same_key(columns, self.final_key)


def list_step_kinds(
    plan: Plan, layout: Collection[str] = (), grounds: RenameGrounds | None = None
) -> tuple[tuple[ChangeKind, ...], ...]:
    """List the kinds of change of each step of a plan; empty for a step that means no change.

    `layout` names the columns by which the files of the table are laid out now. `grounds` are those that the
    store has; without them each rename counts as stated, and no name as used before.

    Raises:
        ValueError: a step names a column that the table does not have by then.
    """
    renames = {} if grounds is None else grounds.list_kinds(plan)
    state = _find_first_state(plan)
    kinds: list[tuple[ChangeKind, ...]] = []
    for step in plan.steps:
        changes = read_step_changes(plan, step, state.schema)
        found = list(_list_kinds(plan, step, state, changes, frozenset(layout)))
        if step.statement in renames:
            found = [renames[step.statement]]
        if grounds is not None and any(
            isinstance(c, AddColumn) and len(c.path) == 1 and c.path[0].lower() in grounds.used
            for c in changes
        ):
            found.append("reuse-name")
        kinds.append(tuple(found))
        layout = {_follow(name, changes) for name in layout}
        state = _find_state_after(plan, step, state, changes)
    return tuple(kinds)


def _find_first_state(plan: Plan) -> _State:
    if plan.base_schema is None:
        return _State(plan.wanted, plan.wanted.key, plan.wanted.key, True)
    base = plan.base_schema
    final = dict(follow_renames(plan))
    return _State(base, base.key, tuple(final.get(name, name) for name in base.key), False)


def _find_state_after(plan: Plan, step: Step, state: _State, changes: tuple[Change, ...]) -> _State:
    written = _read_key(step)
    key = written if written is not None else tuple(_follow(name, changes) for name in state.key)
    final = written if written is not None else state.final_key
    schema = state.schema if state.is_new else find_structure_after(plan, step, state.schema)
    return replace(state, schema=schema, key=key, final_key=final)


def _list_kinds(
    plan: Plan, step: Step, state: _State, changes: tuple[Change, ...], layout: Collection[str]
) -> Iterator[ChangeKind]:
    match step.kind:
        case "change-type":
            types = {path: type for path, type, _ in walk_fields(state.schema)}
            for change in changes:
                if isinstance(change, ChangeType):
                    yield classify_widening(types.get(change.path), change.new)
                    if change.path[0] in layout:
                        yield "change-layout-column"
        case "set-properties":
            key = _read_key(step)
            if key is not None and not state.is_new and not state.has_key(key) and not _is_first_key(step):
                yield "change-key"
        case "drop-key":
            yield "change-key"
        case "set-key":
            reader = SqlReader(step.statement.partition(" IDENTIFIER FIELDS ")[2])
            named = [".".join(path) for path in reader.list_of(reader.path)]
            if not state.has_key(named):
                yield "change-key"
        case "backfill" if plan.phase is not None and plan.phase.name in FILLING_PHASES:
            if is_filling_successor(step.statement):
                yield "fill-successor"
            elif is_taking_rows(step.statement):
                yield "rename-table"
            else:
                yield "unite-columns" if _FILLS_NULL.fullmatch(step.statement) else "retype"
        case _ if step.kind in _KINDS:
            yield _KINDS[step.kind]
        case _:
            pass
    if step.step_class == "capability-upgrade" or (
        step.kind == "set-properties" and _switches_features(plan, step)
    ):
        yield "upgrade"


def _read_key(step: Step) -> tuple[str, ...] | None:
    """Read the key that a step records; None if it records none, empty if it takes the record away."""
    properties = step.postcondition.get("properties")
    if step.kind != "set-properties" or not isinstance(properties, Mapping) or KEY_PROPERTY not in properties:
        return None
    try:
        found = json.loads(properties[KEY_PROPERTY] or "[]")
    except ValueError:
        found = None
    return tuple(map(str, found)) if isinstance(found, list) else ("",)


def _is_first_key(step: Step) -> bool:
    """Whether the table records no key before, by a condition that is checked on the table itself.

    Nothing was merged by a recorded key until then. A key that is not the source's is a difference of the
    next plan.
    """
    before = step.precondition.get("properties")
    return isinstance(before, Mapping) and before.get(KEY_PROPERTY, "") is None


def _switches_features(plan: Plan, step: Step) -> bool:
    """Whether a step sets or unsets features of a table that exists, whatever class the file gives it."""
    properties = step.postcondition.get("properties")
    features = TARGETS.get(plan.format).feature_properties
    return isinstance(properties, Mapping) and not features.isdisjoint(properties)


def _follow(name: str, changes: Iterable[Change]) -> str:
    renames = {c.path: c.name for c in changes if isinstance(c, RenameColumn)}
    return renames.get((name,), name)
