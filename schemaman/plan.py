"""Plans: from a source structure and a live table to steps and refusals; port `Target`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from schemaman.diff import Change
from schemaman.schema import Column, TableSchema
from schemaman.types import Type

StepClass = Literal[
    "none", "additive", "widening", "metadata", "capability-upgrade", "needs-scan", "needs-rewrite"
]
StepKind = Literal[
    "create-table", "add-columns", "change-type", "rename-column", "drop-not-null",
    "drop-columns", "change-comment", "set-properties", "set-key",
]  # fmt: skip
Reversible = Literal["reversible", "time-travel", "no"]
DropPolicy = Literal["keep", "drop"]


@dataclass(frozen=True, slots=True)
class Live:
    """A target table as its own catalogue tells it: read from the target, never from memory.

    `identity` names this very table (Delta's table id, Iceberg's uuid or location); `version`
    its newest metadata state (Delta's version, Iceberg's metadata file). `key` of the schema
    is what the target keeps as key (Iceberg identifier fields; for Delta the property).
    """

    name: str
    schema: TableSchema
    identity: str
    version: str
    properties: Mapping[str, str] = field(default_factory=dict)
    features: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Source:
    """The structure to follow and where it comes from, as it is printed into the plan.

    `former_names` maps a column to the names that the history says it had before (newest first):
    what may be renamed on a live table that still has the old name.
    """

    table: str
    version: int
    id: str
    revision: int
    schema: TableSchema
    began: Mapping[str, object] = field(default_factory=dict)
    former_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unanswered: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user allows; the defaults are those that nobody regrets."""

    drops: DropPolicy = "keep"
    comments: bool = True
    upgrades: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One statement: one commit, one line in the journal.

    `precondition` and `postcondition` are the columns (name → type in words, or None for
    absent) and properties that must hold before and after; a step whose postcondition already
    holds is recorded as done without being run.
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
class Refusal:
    """A change that must not be made as asked: why, and what a person could do instead."""

    change: str
    reason: str
    instead: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be done to one target table, hashed; the plan file is this and nothing more."""

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


@dataclass(frozen=True, slots=True)
class Held:
    """A logical type as a target holds it; `note` says what gets lost, if anything does."""

    type: Type
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement that a target proposes for one or several changes of the diff."""

    changes: tuple[Change, ...]
    kind: StepKind
    statement: str
    step_class: StepClass
    reversible: Reversible
    undo: str | None = None
    hurts: tuple[str, ...] = ()


class Target(Protocol):
    """A table format: how it holds types, and which statements it really accepts."""

    name: str

    def hold(self, type: Type) -> Held | Refusal:
        """How this format holds a logical type."""

    def create(self, table: str, schema: TableSchema, properties: Mapping[str, str]) -> Draft:
        """The statement that creates a table, with what later steps need switched on."""

    def alter(self, live: Live, change: Change) -> Draft | Refusal:
        """The statement for one change of a live table, or why there is none."""


class Executor(Protocol):
    """What runs statements: Spark SQL and nothing else. One statement is one commit."""

    def inspect(self, table: str, format: str) -> Live | None:
        """The live table, None where there is none."""

    def run(self, statement: str) -> None:
        """Run a statement. Raises `StatementFailed`."""

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """The rows of a query."""


def column_of(schema: TableSchema, name: str) -> Column | None:
    """The column of that name as a lake sees names: without regard to case."""
    return next((c for c in schema.columns if c.name.lower() == name.lower()), None)
