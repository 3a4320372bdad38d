"""A lake table as a value, and two ports: `Target`, a table format, and `Executor`, which runs SQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from schemaman.migration.plan import Refusal, Reversible, StepClass, StepKind
from schemaman.migration.properties.names import CHECK_PREFIX, KEY_PROPERTY
from schemaman.migration.type_mapping import DEFAULT, Representation
from schemaman.model.diff import Change
from schemaman.model.schema import Column, Path, TableSchema
from schemaman.model.types import Type
from schemaman.plugins import Plugins


@dataclass(frozen=True, slots=True)
class LayoutField:
    """A column or nested field by which files are laid out.

    `transform` is written as the format does: `identity`, `bucket[4]`, `truncate[8]`, `day`, …; in a sort
    order the direction follows: `identity asc nulls-first`.
    """

    path: Path
    transform: str = "identity"


@dataclass(frozen=True, slots=True)
class LakeTable:
    """A target table as its own catalogue describes it: always read from the target.

    `identity` identifies the table (Delta's table id, Iceberg's uuid or location); `version` is its newest
    metadata state (Delta's version, Iceberg's metadata file). The key of `schema` is the key in the target
    (Iceberg identifier fields; for Delta the property).

    `layout` names the columns by which files are partitioned, clustered or sorted; `partitions`,
    `clustering` and `sort` list them apart. `former_layout` are the columns and nested fields of all
    partition specs and sort orders that the metadata of the table still has, None if that is unknown.
    `generated` maps a generated column to its expression, and an identity column to an empty one.
    `defaults` maps columns to the defaults that writers get which leave them out. `identifiers` are the paths
    of Iceberg's identifier fields; only Iceberg has `format_version`. `partition_names` are the present and
    former names of partition fields, each with the path of the only column that may have this name, empty if
    none may. `column_ids` changes if a column is dropped and one of its name is created; it is empty if the
    format has no ids. `field_ids` are the ids of columns and nested fields that survive a rename, as far as
    the format shows them. `equality_deletes` are the columns and nested fields whose values in a delete file
    of Iceberg delete rows. `snapshots` are the sequence numbers of the first snapshot of the table as it is,
    0 if unknown, and of the newest one. `spark_major` is the major version of Spark that read the table.
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
    former_layout: tuple[Path, ...] | None = ()
    generated: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    identifiers: tuple[Path, ...] = ()
    format_version: int | None = None
    partition_names: Mapping[str, Path] = field(default_factory=dict)
    column_ids: str = ""
    field_ids: Mapping[Path, str] = field(default_factory=dict)
    equality_deletes: tuple[Path, ...] = ()
    snapshots: tuple[int, int] = (0, 0)
    spark_major: int = 4

    @property
    def checks(self) -> Mapping[str, str]:
        """The expression of each CHECK constraint, by name. Source: Delta `Constraints`."""
        return {
            key.removeprefix(CHECK_PREFIX): expression
            for key, expression in self.properties.items()
            if key.startswith(CHECK_PREFIX)
        }


@dataclass(frozen=True, slots=True)
class LakeType:
    """A logical type as a target holds it; `note` describes what is lost, if anything is."""

    type: Type
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement that a target proposes for one or several changes of the diff.

    `before` are its preconditions and `after` its postconditions, besides the changes themselves.
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
    """A table format: how it holds types, and which statements it accepts."""

    name: str
    feature_properties: frozenset[str]
    """The table properties, besides schemaman's own, that plans set to enable features."""

    def hold_type(self, type: Type, how: Representation = DEFAULT) -> LakeType | Refusal:
        """Return how this format holds a logical type; where it has a choice, `how` decides."""

    def table_name(self, table: str) -> str:
        """Write a table name of a user as SQL does. Raises `BadReference`."""

    def canonical_name(self, table: str) -> str:
        """Return the canonical spelling of a table name. Raises `BadReference`."""

    def is_in_session_catalog(self, table: str) -> bool:
        """Whether a table name is one of the session's own catalogue, which may forget it."""

    def find_catalog(self, table: str) -> str:
        """Find the catalogue in a table name: empty for a path, the session's own if none is named."""

    def refuse_names(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Refuse the columns whose names the format would accept, but then could not read."""

    def create_table(self, table: str, schema: TableSchema, properties: Mapping[str, str]) -> Draft:
        """Draft the statement that creates a table, with the features that later steps need."""

    def rename_table(self, table: str, to: str) -> str | None:
        """Write the statement that renames a table; None for a path, and between two catalogues."""

    def create_namespace(self, table: str) -> Draft | None:
        """Draft the statement that creates the namespace of a table; None if the table is a path."""

    def set_key(self, table: str, schema: TableSchema) -> Draft | None:
        """Draft the statement that sets the key of a new table; None if the format has no keys."""

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Draft:
        """Draft the statement that sets properties."""

    def unset_properties(self, table: str, properties: Sequence[str]) -> Draft:
        """Draft the statement that unsets properties; it accepts missing ones."""

    def upgrade_features(self, table: str, properties: Mapping[str, str]) -> Draft:
        """Draft the statement that enables features, with the readers that it stops."""

    def drop_key(self, lake: LakeTable) -> Draft | None:
        """Draft the statement that drops the key of the format; None if the table has none."""

    def forbid_null(self, lake: LakeTable, column: str) -> Draft | Refusal | None:
        """Draft the statement that forbids NULL in a column that holds none; None if it is forbidden."""

    def allow_null(self, lake: LakeTable, column: str) -> Draft | None:
        """Draft the statement that undoes `forbid_null`; None if there is nothing to undo."""

    def find_missing_properties(self, lake: LakeTable, change: Change) -> Mapping[str, str]:
        """Find the table properties that a change needs and the table lacks."""

    def draft_change(self, lake: LakeTable, change: Change) -> Draft | Refusal:
        """Draft the statement for one change of a lake table, or refuse it."""

    def combine_drafts(self, lake: LakeTable, drafts: Sequence[Draft]) -> Draft:
        """Combine several accepted changes of one kind, none inside another's column, in one statement."""

    def draft_clone(self, executor: Executor, source: str, clone: str) -> Sequence[str]:
        """Draft the statements that create an empty clone of a table; both names as SQL writes them.

        Raises:
            CouldNotDo: the format has no way to clone a table.
        """

    def explain_append_only(self, lake: LakeTable) -> str:
        """Explain why the table allows no update of rows; empty if it does."""

    def is_setting(self, property: str) -> bool:
        """Whether a property is a setting of the table that only people change, unlike a feature or CHECK."""

    def restore_version(self, table: str, version: str) -> str | None:
        """Write the statement that restores a table to an earlier version; None if the format has none."""

    def measure_table(self, executor: Executor, table: str) -> int | None:
        """Sum the bytes of the table's present data files, from its metadata; None if it does not tell."""

    def list_row_writes(self, executor: Executor, table: str, version: str) -> tuple[str, ...]:
        """List the operations after a version that may have written rows, in words.

        Raises:
            StatementFailed: the operations cannot be read.
        """

    def read_commit_cost(self, executor: Executor, table: str) -> Mapping[str, int]:
        """Read what the newest commit of a table wrote: `rows` and `bytes`, as far as the format tells.

        Raises:
            StatementFailed: the commits cannot be read.
        """

    def drop_clone(self, clone: str) -> str:
        """Write the statement that drops a clone if it exists; the name as SQL writes it."""


class Executor(Protocol):
    """Runs statements of Spark SQL. One statement is one commit."""

    def inspect(self, table: str, format: str) -> LakeTable | None:
        """Read a lake table from its catalogue; None if it does not exist."""

    def run(self, statement: str) -> None:
        """Run a statement. Raises `StatementFailed`."""

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """Return the rows of a query."""


def query_number(executor: Executor, query: str) -> int:
    """Return the one number that a query gives. Raises `StatementFailed`."""
    ((number,),) = executor.query(query)
    return int(str(number))


def find_column(schema: TableSchema, name: str) -> Column | None:
    """Find a column by name without regard to case, as a lake does."""
    return next((c for c in schema.columns if c.name.lower() == name.lower()), None)


TARGETS: Plugins[Target] = Plugins("schemaman.migration.targets", "TARGET", ("schemaman.targets",))
"""The table formats, by name."""


def is_same_key(one: Collection[object], other: Collection[object]) -> bool:
    """Whether two keys have the same columns, in whatever order: rows are merged by all of them."""
    return len(one) == len(other) and set(one) == set(other)


def has_known_key(lake: LakeTable) -> bool:
    """Whether a live table tells its key, be it an empty one."""
    return KEY_PROPERTY in lake.properties or bool(lake.schema.key)
