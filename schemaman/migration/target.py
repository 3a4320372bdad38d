"""A table of the lake as it stands, and two ports: `Target`, a table format; `Executor`, which runs SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from schemaman.migration.plan import Refusal, Reversible, StepClass, StepKind
from schemaman.migration.properties.names import CHECK_PREFIX
from schemaman.migration.type_mapping import DEFAULT, Representation
from schemaman.model.diff import Change
from schemaman.model.schema import Column, Path, TableSchema
from schemaman.model.types import Type
from schemaman.plugins import Plugins


@dataclass(frozen=True, slots=True)
class LayoutField:
    """A column, or a member of one, by which files are laid out.

    `transform` is in the format's own words: `identity`, `bucket[4]`, `truncate[8]`, `day`, …; of a sort
    order with its direction behind it: `identity asc nulls-first`.
    """

    path: Path
    transform: str = "identity"


@dataclass(frozen=True, slots=True)
class LakeTable:
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
class LakeType:
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
    feature_properties: frozenset[str]
    """The table properties, besides schemaman's own, that plans set: what switches features on."""

    def hold_type(self, type: Type, how: Representation = DEFAULT) -> LakeType | Refusal:
        """How this format holds a logical type, where there is a choice as the user wants it."""

    def table_name(self, table: str) -> str:
        """A table as users name it, as SQL writes it. Raises `BadReference`."""

    def canonical_name(self, table: str) -> str:
        """The one spelling of a table name, whichever way users write it. Raises `BadReference`."""

    def refuse_names(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """The columns whose names the format would accept and then choke on."""

    def create_table(self, table: str, schema: TableSchema, properties: Mapping[str, str]) -> Draft:
        """The statement that creates a table, with what later steps need switched on."""

    def create_namespace(self, table: str) -> Draft | None:
        """The statement that makes room for a table, None where a path is enough."""

    def set_key(self, table: str, schema: TableSchema) -> Draft | None:
        """The statement that tells a new table its key, None where the format keeps none."""

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Draft:
        """The statement that stamps a table."""

    def unset_properties(self, table: str, properties: Sequence[str]) -> Draft:
        """The statement that takes properties away; one that is not there is no fault."""

    def upgrade_features(self, table: str, properties: Mapping[str, str]) -> Draft:
        """The statement that switches features on, and who cannot read the table after it."""

    def drop_key(self, lake: LakeTable) -> Draft | None:
        """The statement after which the format keeps no key, None where it keeps none."""

    def forbid_null(self, lake: LakeTable, column: str) -> Draft | Refusal | None:
        """The statement after which a column that holds no NULL cannot, None where that is so."""

    def allow_null(self, lake: LakeTable, column: str) -> Draft | None:
        """The statement that undoes `forbid_null`, None where there is nothing to undo."""

    def find_missing_properties(self, lake: LakeTable, change: Change) -> Mapping[str, str]:
        """The table properties to switch on before a change can be made; empty if none is missing."""

    def draft_change(self, lake: LakeTable, change: Change) -> Draft | Refusal:
        """The statement for one change of a live table, or why there is none."""

    def combine_drafts(self, lake: LakeTable, drafts: Sequence[Draft]) -> Draft:
        """One statement for several accepted changes of one kind, none inside another's column."""

    def draft_clone(self, executor: Executor, source: str, clone: str) -> Sequence[str]:
        """The statements that make an empty table like another one; both names as SQL writes them.

        Raises:
            CouldNotDo: the format has no way to clone a table.
        """

    def drop_clone(self, clone: str) -> str:
        """The statement that drops a clone, if there is one; the name as SQL writes it."""


class Executor(Protocol):
    """What runs statements: Spark SQL and nothing else. One statement is one commit."""

    def inspect(self, table: str, format: str) -> LakeTable | None:
        """The live table, None where there is none."""

    def run(self, statement: str) -> None:
        """Run a statement. Raises `StatementFailed`."""

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """The rows of a query."""


def find_column(schema: TableSchema, name: str) -> Column | None:
    """The column of that name as a lake sees names: without regard to case."""
    return next((c for c in schema.columns if c.name.lower() == name.lower()), None)


TARGETS: Plugins[Target] = Plugins("schemaman.migration.targets", "TARGET", ("schemaman.targets",))
"""The table formats, by name."""
