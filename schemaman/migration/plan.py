"""Plans: from a source structure and a live table to steps and refusals; port `Target`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, assert_never

from schemaman.ddl import format_type, quote_name
from schemaman.diff import (
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
from schemaman.past import Past as Past
from schemaman.policy import ChangeKind as ChangeKind
from schemaman.policy import DropPolicy as DropPolicy
from schemaman.policy import Level as Level
from schemaman.policy import Policy as Policy
from schemaman.representation import DEFAULT, Representation
from schemaman.schema import Column, Path, TableSchema
from schemaman.types import Type

StepClass = Literal[
    "none", "additive", "widening", "metadata", "capability-upgrade", "needs-scan", "needs-rewrite"
]
StepKind = Literal[
    "create-namespace", "create-table", "add-columns", "change-type", "rename-column", "drop-not-null",
    "drop-columns", "change-comment", "set-properties", "set-key", "drop-key", "add-constraint",
    "drop-constraint", "backfill", "drop-table", "restore",
]  # fmt: skip
Reversible = Literal["reversible", "time-travel", "no"]
PhaseName = Literal["expand", "backfill", "swap", "contract", "abandon", "rekey", "fill", "rollback"]

SOURCE_PROPERTY = "schemaman.source"
"""Table property: the source table that a target table follows."""
VERSION_PROPERTY = "schemaman.version"
"""Table property: the id of the version that the target table was last brought to."""
BEGAN_PROPERTY = "schemaman.began"
"""Table property: where that version began, as JSON; an id alone can come back, a place cannot."""
KEY_PROPERTY = "schemaman.key"
"""Table property: the key columns as a JSON list, whether or not the format knows keys."""
RETIRED_PROPERTY = "schemaman.retired"
"""Table property: columns that a plan moved out of the way, as JSON: what each was called at the source."""
RECIPE_PROPERTY = "schemaman.recipe"
"""Table property: columns that are exchanged in phases, as JSON, with the phase that the table is in."""
NAMES_PROPERTY = "schemaman.names"
"""Table property: the columns that the source calls otherwise, as JSON: name in the lake → name there."""
METADATA_PROPERTY = "schemaman.metadata"
"""Table property: the columns beside those of the source, as JSON: what each is for → its name."""
KEPT_PROPERTY = "schemaman.kept"
"""Table property: what the source dropped and the table kept, as a JSON list; members by their paths."""
CHECK_PREFIX = "delta.constraints."
"""Table property of Delta: the expression of a CHECK constraint, under its name."""


@dataclass(frozen=True, slots=True)
class LayoutField:
    """A column, or a member of one, by which files are laid out.

    `transform` is in the format's own words: `identity`, `bucket[4]`, `truncate[8]`, `day`, …; of a sort
    order with its direction behind it: `identity asc nulls-first`.
    """

    path: Path
    transform: str = "identity"

STORE_PROPERTY = "schemaman.store"
"""Table property: the id of the store that keeps the table; set when a plan is first applied to it."""
PLAN_PROPERTY = "schemaman.plan"
"""Table property: the SHA-256 of the plan last begun on the table; the journal says how far it came."""
FENCE_PROPERTY = "schemaman.fence"
"""Table property: number and name of the run that last changed the table; a store's numbers only grow."""


@dataclass(frozen=True, slots=True)
class Live:
    """A target table as its own catalogue tells it: read from the target, never from memory.

    `identity` names this very table (Delta's table id, Iceberg's uuid or location); `version`
    its newest metadata state (Delta's version, Iceberg's metadata file). `key` of the schema
    is what the target keeps as key (Iceberg identifier fields; for Delta the property). `layout`
    names the columns by which files are partitioned, clustered or sorted; `partitions`, `clustering`
    and `sort` say which is which. `generated` maps a generated column to its expression, an identity column
    to an empty one. `identifiers` are the paths of Iceberg's identifier fields; `format_version` is Iceberg's
    alone. `partition_names` are those that fields of partitions have or had, each with the path of the only
    column that may be called so, empty if none may. `column_ids` is another text once a column was dropped
    and one of its name was made, empty where the format does not tell.
    """

    name: str
    schema: TableSchema
    identity: str
    version: str
    properties: Mapping[str, str] = field(default_factory=dict)
    features: frozenset[str] = frozenset()
    layout: tuple[str, ...] = ()
    partitions: tuple[LayoutField, ...] = ()
    clustering: tuple[Path, ...] = ()
    sort: tuple[LayoutField, ...] = ()
    generated: Mapping[str, str] = field(default_factory=dict)
    identifiers: tuple[Path, ...] = ()
    format_version: int | None = None
    partition_names: Mapping[str, Path] = field(default_factory=dict)
    column_ids: str = ""

    @property
    def checks(self) -> Mapping[str, str]:
        """The name of each CHECK constraint and what it demands. Source: Delta `Constraints`."""
        return {
            key.removeprefix(CHECK_PREFIX): expression
            for key, expression in self.properties.items()
            if key.startswith(CHECK_PREFIX)
        }


@dataclass(frozen=True, slots=True)
class Source:
    """The structure to follow and where it comes from, as it is printed into the plan.

    `former_names` maps a column to the names that the history says it had before (newest first):
    what may be renamed on a live table that still has the old name. `past` lists the versions of this
    incarnation up to the current one, oldest first: a stamped table is renamed exactly by them, and
    columns that left are told from those that nobody knows. `ended` lists the versions of earlier
    incarnations: a table that bears the stamp of one holds the rows of another table. `newer` lists what came
    after the version that is followed: a table that bears the stamp of one is not brought back. `inferred`:
    nobody told
    the structure, it was guessed from values; `phantom`: nobody can have made it, and no event showed it. No
    table follows either. `proven` columns have their names by renames that only the evidence proves; the
    types of `unsure_types` may come from another setting of the connector.
    """

    table: str
    version: int
    id: str
    revision: int
    schema: TableSchema
    began: Mapping[str, object] = field(default_factory=dict)
    former_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unanswered: tuple[tuple[str, str], ...] = ()
    past: tuple[Past, ...] = ()
    ended: tuple[Past, ...] = ()
    inferred: bool = False
    phantom: bool = False
    proven: tuple[str, ...] = ()
    unsure_types: tuple[str, ...] = ()
    newer: tuple[Past, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One statement: one commit, one line in the journal.

    `precondition` and `postcondition` are conditions as `conditions.holds` checks them. A step whose
    postcondition already holds is recorded and not run; an empty one means that the
    statement may be repeated without harm.
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
    """Which part of a change in several plans a plan is: `number` of `of`.

    `gate` says in words what must be true before it begins; its first step checks it. `follows` is the hash
    of the plan before it, None for the first. A plan that takes another one back has the name `rollback`.
    """

    name: PhaseName
    number: int
    of: int
    gate: str
    follows: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A change that must not be made as asked: why, and what a person could do instead."""

    change: str
    reason: str
    instead: str


@dataclass(frozen=True, slots=True)
class Ruled:
    """What the policy says of one change of a plan, where that is not simply to make it.

    `path` is the column or part of one that it is about, by its name in the source, empty for the table;
    `why` names the rule. Rows that need a change whose level is `quarantine` are to be set aside by
    whoever writes them.
    """

    change: str
    path: Path
    kind: ChangeKind
    level: Level
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be done to one target table, hashed; the plan file is this and nothing more.

    `point_of_no_return` is the number (from 1) of the first step that no statement undoes, None if every
    step can be undone; where that step's way back is time travel, it lasts until rows are written.
    `base_layout` is what the table held about its columns (see `layouts`), as far as it is to be compared.
    """

    target: str
    format: str
    table: str
    source: Source
    base_identity: str | None
    base_version: str | None
    base_schema: TableSchema | None
    wanted: TableSchema
    steps: tuple[Step, ...]
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
    approvals_needed: tuple[str, ...] = ()
    expires_ms: int | None = None
    rulings: tuple[Ruled, ...] = ()
    phase: Phase | None = None
    point_of_no_return: int | None = None
    base_column_ids: str = ""
    base_layout: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Held:
    """A logical type as a target holds it; `note` says what gets lost, if anything does."""

    type: Type
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement that a target proposes for one or several changes of the diff.

    `before`: conditions that it needs, `after`: those that it brings about, besides the changes themselves.
    """

    changes: tuple[Change, ...]
    kind: StepKind
    statement: str
    step_class: StepClass
    reversible: Reversible
    undo: str | None = None
    hurts: tuple[str, ...] = ()
    after: Mapping[str, object] = field(default_factory=dict)
    before: Mapping[str, object] = field(default_factory=dict)


class Target(Protocol):
    """A table format: how it holds types, and which statements it really accepts."""

    name: str

    def hold(self, type: Type, how: Representation = DEFAULT) -> Held | Refusal:
        """How this format holds a logical type, where there is a choice as the user wants it."""

    def table_name(self, table: str) -> str:
        """A table as users name it, as SQL writes it. Raises `BadReference`."""

    def refuse(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """The columns whose names the format would accept and then choke on."""

    def create(self, table: str, schema: TableSchema, properties: Mapping[str, str]) -> Draft:
        """The statement that creates a table, with what later steps need switched on."""

    def create_namespace(self, table: str) -> Draft | None:
        """The statement that makes room for a table, None where a path is enough."""

    def set_key(self, table: str, schema: TableSchema) -> Draft | None:
        """The statement that tells a new table its key, None where the format keeps none."""

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Draft:
        """The statement that stamps a table."""

    def unset_properties(self, table: str, properties: Sequence[str]) -> Draft:
        """The statement that takes properties away; one that is not there is no fault."""

    def upgrade(self, table: str, properties: Mapping[str, str]) -> Draft:
        """The statement that switches features on, and who cannot read the table after it."""

    def drop_key(self, live: Live) -> Draft | None:
        """The statement after which the format keeps no key, None where it keeps none."""

    def require(self, live: Live, column: str) -> Draft | Refusal | None:
        """The statement after which a column that holds no NULL cannot, None where that is so."""

    def relax(self, live: Live, column: str) -> Draft | None:
        """The statement that undoes `require`, None where there is nothing to undo."""

    def needs(self, live: Live, change: Change) -> Mapping[str, str]:
        """The table properties to switch on before a change can be made; empty if none is missing."""

    def alter(self, live: Live, change: Change) -> Draft | Refusal:
        """The statement for one change of a live table, or why there is none."""

    def together(self, live: Live, drafts: Sequence[Draft]) -> Draft:
        """One statement for several accepted changes of one kind, none inside another's column."""


class Executor(Protocol):
    """What runs statements: Spark SQL and nothing else. One statement is one commit."""

    def inspect(self, table: str, format: str) -> Live | None:
        """The live table, None where there is none."""

    def run(self, statement: str) -> None:
        """Run a statement. Raises `StatementFailed`."""

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """The rows of a query."""


def told_key(properties: Mapping[str, str]) -> tuple[str, ...] | None:
    """The key that a table's own property tells, None where it tells none that can be read."""
    try:
        return tuple(json.loads(properties[KEY_PROPERTY]))
    except (KeyError, ValueError, TypeError):
        return None


_ROOM: StepKind = "create-namespace"
"""Leaves nothing behind that anybody would miss."""


def column_of(schema: TableSchema, name: str) -> Column | None:
    """The column of that name as a lake sees names: without regard to case."""
    return next((c for c in schema.columns if c.name.lower() == name.lower()), None)


def point_of_no_return(steps: Sequence[Step]) -> int | None:
    """The number (from 1) of the first step that no statement undoes."""
    return next((n for n, each in enumerate(steps, 1) if each.undo is None and each.kind != _ROOM), None)


def outcomes(plan: Plan) -> Mapping[StepClass | Literal["refused"], int]:
    """How many steps of each class a plan has, and how many refusals; `none` once where it has neither."""
    told: list[StepClass | Literal["refused"]] = [each.step_class for each in plan.steps]
    told += ["refused"] * len(plan.refusals)
    return Counter(told or ["none"])


def words(change: Change) -> str:
    """A change in one line."""
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
