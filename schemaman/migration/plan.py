"""Plans as values: from a source schema and a lake table to steps and refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, assert_never

from schemaman.history.past_versions import PreviousVersion as PreviousVersion
from schemaman.history.versions import AcceptedType
from schemaman.migration.policy import ChangeKind as ChangeKind
from schemaman.migration.policy import DropPolicy as DropPolicy
from schemaman.migration.policy import Level as Level
from schemaman.migration.policy import Policy as Policy
from schemaman.model.ddl import format_type, quote_name
from schemaman.model.diff import (
    AddColumn,
    Change,
    ChangeAttribute,
    ChangeComment,
    ChangeDefault,
    ChangeKey,
    ChangeNullable,
    ChangeType,
    DropColumn,
    MoveColumn,
    RenameColumn,
)
from schemaman.model.display import DisplayedValue, count_noun
from schemaman.model.schema import Path, TableSchema

StepClass = Literal[
    "none", "additive", "widening", "metadata", "capability-upgrade", "needs-scan", "needs-rewrite"
]
StepKind = Literal[
    "create-namespace", "create-table", "add-columns", "change-type", "rename-column", "drop-not-null",
    "drop-columns", "change-comment", "set-properties", "set-key", "drop-key", "add-constraint",
    "drop-constraint", "backfill", "drop-table", "restore", "rename-table", "replace-view", "drop-view",
]  # fmt: skip
Reversible = Literal["reversible", "time-travel", "no"]
PhaseName = Literal[
    "expand", "backfill", "swap", "contract", "abandon", "rekey", "fill", "link", "rollback",
    "split", "gather", "unite", "take-rows", "fill-successor",
]  # fmt: skip
"""`split` adds parts of a column, and `gather` fills the newest part from the earlier ones. `unite` fills a
column from the one that it was before. `take-rows` fills a table from the one that it was before, and
`fill-successor` fills a successor from the table before it.
"""


@dataclass(frozen=True, slots=True)
class MigrationSource:
    """The structure to follow and its origin, as they are printed into the plan.

    `former_names` maps a column to its former names in the history, newest first; a lake table that still
    has one of them is renamed. `past` lists the versions of this incarnation up to the current one, oldest
    first. They decide the renames of a table with a version stamp, and distinguish dropped columns from
    unknown ones. `ended` lists the versions of earlier incarnations: a table with the version stamp of one
    holds the rows of another table. `newer` lists the versions after the one that is followed: a table with
    the version stamp of one is not migrated back.

    `inferred`: the structure was inferred from values. `phantom`: no statement can have produced the
    structure, and no event showed it. No table follows an inferred or a phantom structure. `untyped`:
    no record shows types, and each column is a text. `proven` columns
    have their names by renames that only the evidence proves. The types of `unsure_types` may come from
    another setting of the connector. `accepted_types` are differences between the types of source and lake
    that a person accepted. `former_comments` are earlier comments of columns and nested fields that have none
    now, by their paths, and of the table, by the empty path; no plan file keeps them.
    """

    table: str
    version: int
    id: str
    revision: int
    schema: TableSchema
    began: Mapping[str, object] = field(default_factory=dict)
    former_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unanswered: tuple[tuple[str, str], ...] = ()
    past: tuple[PreviousVersion, ...] = ()
    ended: tuple[PreviousVersion, ...] = ()
    inferred: bool = False
    untyped: bool = False
    phantom: bool = False
    proven: tuple[str, ...] = ()
    unsure_types: tuple[str, ...] = ()
    newer: tuple[PreviousVersion, ...] = ()
    accepted_types: tuple[AcceptedType, ...] = ()
    former_comments: Mapping[Path, tuple[str, ...]] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Step:
    """One statement: one commit, one line in the journal.

    `precondition` and `postcondition` are conditions as `conditions.is_met` checks them. A step whose
    postcondition is already met is recorded and not run. With an empty postcondition the statement may be
    repeated without harm.
    """

    kind: StepKind
    statement: str
    step_class: StepClass
    reversible: Reversible
    precondition: Mapping[str, object]
    postcondition: Mapping[str, object]
    undo: str | None = None
    hurts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Phase:
    """The part of a plan in a change of several plans: `number` of `of`.

    `gate` describes what must be true before the phase begins; the first step checks it. `follows` is the
    hash of the plan before it, None for the first. A plan that undoes another one has the name `rollback`.
    """

    name: PhaseName
    number: int
    of: int
    gate: str
    follows: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A change that must not be made: the reason, and what a person can do instead."""

    change: str
    reason: str
    instead: str


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """The decision of the policy about one change of a plan, if its level is not `auto`.

    `path` is the column or nested field of the change, by its name in the source; empty for the table. `why`
    names the rule. The writer of rows quarantines those that need a change whose level is `quarantine`.
    """

    change: str
    path: Path
    kind: ChangeKind
    level: Level
    why: str


@dataclass(frozen=True, slots=True)
class Plan(DisplayedValue):
    """The steps for one target table; the plan file holds exactly this, with its hash.

    `point_of_no_return` is the number (from 1) of the first step that no statement undoes, None if every
    step can be undone. If time travel undoes that step, it does so only until rows are written. `base_layout`
    is the layout of the table before the plan (see `layout`), as far as it is compared.
    """

    target: str
    format: str
    table: str
    source: MigrationSource
    base_identity: str | None
    base_version: str | None
    base_schema: TableSchema | None
    wanted: TableSchema
    steps: tuple[Step, ...]
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
    approvals_needed: tuple[str, ...] = ()
    expires_ms: int | None = None
    rulings: tuple[PolicyDecision, ...] = ()
    phase: Phase | None = None
    point_of_no_return: int | None = None
    base_column_ids: str = ""
    base_layout: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        parts = [count_noun(len(self.steps), "step"), count_noun(len(self.refusals), "refusal")]
        parts += (
            [f"{count_noun(len(self.approvals_needed), 'approval')} needed"] if self.approvals_needed else []
        )
        source = f"{self.source.table}@{self.source.version}"
        return f"<Plan for {self.format} table {self.table} to follow {source}: {', '.join(parts)}>"


_NAMESPACE: StepKind = "create-namespace"
"""The one kind of step that needs no undo: an empty namespace does no harm."""


def find_point_of_no_return(steps: Sequence[Step]) -> int | None:
    """Find the number (from 1) of the first step that no statement undoes."""
    return next((n for n, each in enumerate(steps, 1) if each.undo is None and each.kind != _NAMESPACE), None)


def count_outcomes(plan: Plan) -> Mapping[StepClass | Literal["refused"], int]:
    """Count the steps of each class, and the refusals, of a plan; a plan without either counts as `none`."""
    kinds: list[StepClass | Literal["refused"]] = [each.step_class for each in plan.steps]
    kinds += ["refused"] * len(plan.refusals)
    return Counter(kinds or ["none"])


def describe_change(change: Change) -> str:
    """Describe a change in one line."""
    if isinstance(change, ChangeKey):
        return f"change the key from ({', '.join(change.old)}) to ({', '.join(change.new)})"
    at = ".".join(quote_name(part) for part in change.path)
    match change:
        case AddColumn(_, column):
            return f"add {at} {format_type(column.type)}"
        case DropColumn():
            return f"drop {at}"
        case RenameColumn(_, name):
            return f"rename {at} to {quote_name(name)}"
        case ChangeType(_, old, new):
            return f"change {at} from {format_type(old)} to {format_type(new)}"
        case ChangeNullable(_, _, new):
            return f"{'allow' if new else 'forbid'} NULL in {at}"
        case ChangeComment():
            return f"comment on {at or 'the table'}"
        case MoveColumn(_, after):
            return f"move {at} {'to the front' if after is None else f'behind {quote_name(after)}'}"
        case ChangeDefault():
            return f"change the default of {at}"
        case ChangeAttribute(_, attribute):
            return f"change {attribute} of {at}"
        case _:
            assert_never(change)
