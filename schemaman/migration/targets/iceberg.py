"""Apache Iceberg on Spark: format version 2 in a named catalogue, keys as identifier fields.

This module decides which statements a change needs. `migration.spark_sql` makes their SQL text;
`_common_drafts` holds the statements that both formats share.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from schemaman.errors import BadReference
from schemaman.migration import spark_sql as sql
from schemaman.migration.plan import Refusal
from schemaman.migration.target import Draft, Executor, LakeTable, LakeType
from schemaman.migration.targets import _common_drafts as drafts
from schemaman.migration.targets._commit_cost import select_cost
from schemaman.migration.targets._types import TypeHolder, has_variant
from schemaman.migration.type_mapping import DEFAULT, Representation
from schemaman.model.ddl import quote_name
from schemaman.model.diff import AddColumn, Change, ChangeNullable, ChangeType, DropColumn, RenameColumn
from schemaman.model.schema import Column, Path, TableSchema, walk_fields
from schemaman.model.types import Array, Decimal, Floating, Integer, Map, Struct, Type

_SMALLEST_INTEGER = 32
_VERSION_3 = {"format-version": "3"}
"""Source: Iceberg spec, "Primitive Types": variant exists since version 3. Iceberg never goes back."""
_METADATA_COLUMNS = frozenset({
    "_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number",
})  # fmt: skip
_NO_PROPERTIES = frozenset(
    {"current-snapshot-id", "format", "identifier-fields", "location", "provider", "sort-order"}
)
"""Entries that Iceberg shows as properties without being any. Source: Iceberg `BaseSparkTable.properties`."""
_GC_PROPERTY = "gc.enabled"
"""With False, files are never deleted, so a clone could not be purged. Source: Iceberg `TableProperties`."""


def widens_in_place(old: Type, new: Type) -> bool:
    """Whether Iceberg promotes the type, in format version 2 and 3 alike.

    Source: Iceberg spec "Schema Evolution", `TypeUtil.isPromotionAllowed`.
    """
    match old, new:
        case Integer(32), Integer(64):
            return True
        case Floating(32), Floating(64):
            return True
        case Decimal(p, s), Decimal(q, r):
            return r == s and q >= p
        case _:
            return False


class IcebergTarget:
    """Iceberg tables in a named Spark catalogue."""

    name = "iceberg"
    feature_properties = frozenset({"format-version"})

    def hold_type(self, type: Type, representation: Representation = DEFAULT) -> LakeType | Refusal:
        """Find how Iceberg holds a logical type: no integer has less than 32 bits."""
        return TypeHolder(representation, _SMALLEST_INTEGER).hold_type(type)

    def table_name(self, table: str) -> str:
        """Write `catalog.namespace.table` with back-ticks around every part.

        Raises:
            BadReference: no catalogue or no namespace is named.
        """
        parts = sql.split_table_name(table)
        if len(parts) < 3:
            raise BadReference(
                f"{table!r} names no Iceberg table",
                hint="write catalog.namespace.table, such as ice.raw.orders",
            )
        return sql.quote_table_name(parts)

    def canonical_name(self, table: str) -> str:
        """Return the name in parts, as it is spelled, since a catalogue may be case-sensitive.

        Raises:
            BadReference: this is no table name.
        """
        return sql.format_table_name(sql.split_table_name(table))

    def is_in_session_catalog(self, table: str) -> bool:
        """Return False: an Iceberg table belongs to a named catalogue, which lasts."""
        return False

    def find_catalog(self, table: str) -> str:
        """Find the catalogue of a table, which its name begins with."""
        return sql.split_table_name(table)[0]

    def refuse_names(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Refuse names of metadata columns, and names whose dots make them equal to another path.

        Source: Iceberg `MetadataColumns`; `TypeUtil.indexByName` joins names by dots.
        """
        joined = Counter(".".join(path).lower() for path, _, _ in walk_fields(schema))
        twice = {
            path[0]
            for path, _, _ in walk_fields(schema)
            if joined[".".join(path).lower()] > 1 and _has_dot(path)
        }
        refused: dict[str, Refusal] = {}
        for name in schema.names:
            if name.lower() in _METADATA_COLUMNS:
                reason = "Iceberg reserves this name: the table could no longer be read"
                refused[name] = Refusal(_describe_naming(name), reason, _OTHER_NAME)
            elif name in twice:
                reason = "Iceberg joins names by dots, and another column has a nested field with that path"
                refused[name] = Refusal(_describe_naming(name), reason, _OTHER_NAME)
        return refused

    def create_table(self, table: str, schema: TableSchema, properties: Mapping[str, str]) -> Draft:
        """Draft a table of format version 2, or 3 for VARIANT, since version 3 excludes readers."""
        version = _VERSION_3 if any(has_variant(c.type) for c in schema.columns) else {"format-version": "2"}
        chosen = version | dict(properties)
        return drafts.create_table(self.table_name(table), schema, "iceberg", chosen)

    def rename_table(self, table: str, to: str) -> str | None:
        """Write `RENAME TO`; a catalogue of Hadoop's has none, and then the statement fails."""
        name, parts = self.table_name(table), sql.split_table_name(to)
        return sql.rename_table(name, parts[1:]) if sql.split_table_name(table)[0] == parts[0] else None

    def create_namespace(self, table: str) -> Draft | None:
        """Draft the namespace of the table; some catalogues require it."""
        return drafts.create_namespace(sql.split_table_name(table)[:-1])

    def set_key(self, table: str, schema: TableSchema) -> Draft | None:
        """Draft `SET IDENTIFIER FIELDS` if every key column is required, primitive and no float."""
        columns = [schema.column(name) for name in schema.key]
        able = all(c and not c.nullable and not isinstance(c.type, _NO_IDENTIFIER) for c in columns)
        if not columns or not able:
            return None
        name = self.table_name(table)
        statement = sql.set_identifier_fields(name, schema.key)
        undo = sql.drop_identifier_fields(name, schema.key)
        after = {"properties": {"identifier-fields": sql.format_identifiers(schema.key)}}
        return Draft((), "set-key", statement, "metadata", "reversible", undo, after=after)

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Draft:
        """Draft one `SET TBLPROPERTIES`."""
        return drafts.set_properties(self.table_name(table), properties)

    def unset_properties(self, table: str, properties: Sequence[str]) -> Draft:
        """Draft one `UNSET TBLPROPERTIES`."""
        return drafts.unset_properties(self.table_name(table), properties)

    def upgrade_features(self, table: str, properties: Mapping[str, str]) -> Draft:
        """Draft the permanent upgrade to a later format version."""
        draft = self.set_properties(table, properties)
        hurts = ("engines that do not read this format version",)
        return replace(draft, step_class="capability-upgrade", reversible="no", hurts=hurts)

    def drop_key(self, lake: LakeTable) -> Draft | None:
        """Draft `DROP IDENTIFIER FIELDS`, None without any: they cannot become nullable or be dropped."""
        fields = read_identifiers(lake)
        if not fields:
            return None
        name = self.table_name(lake.name)
        statement, undo = (
            build(name, fields) for build in (sql.drop_identifier_paths, sql.set_identifier_paths)
        )
        after = {"properties": {"identifier-fields": sql.format_identifiers(())}}
        before = {"properties": {"identifier-fields": lake.properties["identifier-fields"]}}
        return Draft((), "drop-key", statement, "metadata", "reversible", undo, (_UPSERTS,), after, before)

    def forbid_null(self, lake: LakeTable, column: str) -> Draft | Refusal | None:
        """Refuse: no SQL makes a column of an existing Iceberg table required."""
        change = f"forbid NULL in {sql.path_name((column,))}"
        instead = "prove that no row is NULL, and make it required through Iceberg's own API"
        return Refusal(change, "Iceberg's SQL cannot forbid NULL in a table that has rows", instead)

    def allow_null(self, lake: LakeTable, column: str) -> Draft | None:
        """Return None: `forbid_null` makes no column required."""
        return None

    def find_missing_properties(self, lake: LakeTable, change: Change) -> Mapping[str, str]:
        """Find format version 3 for VARIANT; every other change is possible in every table."""
        variant = isinstance(change, AddColumn) and has_variant(change.column.type)
        return _VERSION_3 if variant and lake.properties.get("format-version") != "3" else {}

    def draft_change(self, lake: LakeTable, change: Change) -> Draft | Refusal:
        """Draft the statement for one change, or refuse it if Iceberg would, or if it damages the table."""
        match change:
            case AddColumn(path) | DropColumn(path) | RenameColumn(path) | ChangeType(path) if (
                drafts.in_map_key(lake.schema, path)
            ):
                return drafts.refuse_change(
                    change, "Iceberg cannot change the key of a map", "write a new column"
                )
            case ChangeType(_, old, new) if not widens_in_place(old, new):
                return drafts.refuse_type_change(change)
            case AddColumn() | RenameColumn() if (name := _find_taken_name(lake, change)) is not None:
                return drafts.refuse_change(
                    change, _PARTITION.format(sql.path_name((name,))), _OTHER_COLUMN_NAME
                )
            case AddColumn() | RenameColumn() if (name := _find_joined_twice(lake, change)) is not None:
                return drafts.refuse_change(change, _JOINED.format(name), _LEAVE_ONE_OUT)
            case ChangeNullable(path, False, True) if any(
                p[: len(path)] == path for p in read_identifiers(lake)
            ):
                return drafts.refuse_change(change, "an identifier field must have a value", _UNIDENTIFIED)
            case DropColumn(path) if any(p[: len(path)] == path for p in read_identifiers(lake)):
                return drafts.refuse_change(change, "it is or contains an identifier field", _UNIDENTIFIED)
            case RenameColumn(path) if any(
                len(p) > 1 and p[: len(path)] == path for p in read_identifiers(lake)
            ):
                return drafts.refuse_change(
                    change, "Iceberg loses identifier fields inside it", _UNIDENTIFIED
                )
            case DropColumn():
                refusal = (
                    drafts.refuse_drop(lake, change)
                    or _refuse_former_layout(lake, change)
                    or _refuse_deleting_field(lake, change)
                )
                if refusal is not None:
                    return refusal
            case _:
                pass
        if isinstance(change, DropColumn | RenameColumn) and (named := _find_inner_metrics(lake, change)):
            unset = self.unset_properties(lake.name, named).statement
            return drafts.refuse_change(
                change, _INNER_METRICS.format(", ".join(named)), f"first run: {unset}"
            )
        return drafts.draft_change(self.table_name(lake.name), lake.schema, change)

    def combine_drafts(self, lake: LakeTable, several: Sequence[Draft]) -> Draft:
        """Combine several drafts of one kind in one statement."""
        return drafts.combine_drafts(self.table_name(lake.name), several)

    def draft_clone(self, executor: Executor, source: str, clone: str) -> Sequence[str]:
        """Draft an empty table with the same columns, partitions, sort order, identifiers and properties."""
        return _clone_table(executor, source, clone)

    def explain_append_only(self, lake: LakeTable) -> str:
        """Return an empty text: Iceberg has no such setting."""
        return ""

    def is_setting(self, property: str) -> bool:
        """Whether a property is one of those that Iceberg reads. Source: Iceberg `TableProperties`."""
        return property.startswith(("commit.", "gc.", "history.", "read.", "write."))

    def restore_version(self, table: str, version: str) -> str | None:
        """Return None: a rollback of Iceberg restores rows, and no schema and no property."""
        return None

    def measure_table(self, executor: Executor, table: str) -> int | None:
        """Sum the sizes of the files. Source: Iceberg "Spark queries", metadata table `files`."""
        rows = executor.query(f"SELECT sum(file_size_in_bytes) FROM {self.table_name(table)}.files")
        return int(str(rows[0][0] or 0)) if rows else None

    def list_row_writes(self, executor: Executor, table: str, version: str) -> tuple[str, ...]:
        """Return nothing: no version is restored."""
        return ()

    def read_commit_cost(self, executor: Executor, table: str) -> Mapping[str, int]:
        """Read the summary of the newest snapshot. Source: Iceberg `SnapshotSummary`."""
        name = self.table_name(table)
        found = executor.query(f"SELECT summary FROM {name}.snapshots ORDER BY committed_at DESC LIMIT 1")
        return select_cost(found[0][0] if found else None, ("added-records",), ("added-files-size",))

    def drop_clone(self, clone: str) -> str:
        """Write a DROP TABLE that also deletes the files."""
        return f"DROP TABLE IF EXISTS {clone} PURGE"


TARGET = IcebergTarget()
_NO_IDENTIFIER = (Floating, Array, Map, Struct)
_UNIDENTIFIED = "drop the identifier fields first: ALTER TABLE … DROP IDENTIFIER FIELDS"
_UPSERTS = "writers that upsert by identifier fields, such as Flink"
_PARTITION = "a partition field has or had the name {}, and Iceberg allows no other column of that name"
_OTHER_COLUMN_NAME = (
    "give the column another name at the source, or leave it out; or plan into a new table with `schemaman "
    "plan TABLE --recipe --into LAKE_TABLE` (dropping or replacing the partition field does not free its "
    "name)"
)
_FORMER_LAYOUT = (
    "a former partition spec or sort order names it, and Iceberg could not write the table, or not even read "
    "it, without the column"
)
_UNKNOWN_LAYOUT = (
    "the metadata file cannot be read, so a former partition spec or sort order may name the column; Iceberg "
    "could not write the table then"
)
_DELETES_ROWS = (
    "delete files name rows by its values, as Flink writes them; most engines could not read the table "
    "without the column, and Iceberg itself could not once old schemas are removed from the metadata"
)
_COMPACT = (
    "first run twice, so that the delete files go, too: CALL {}.system.rewrite_data_files(table => {}, "
    "options => map('rewrite-all', 'true')); drop other branches that have such files; then plan again"
)
_KEEP_COLUMN = (
    'keep the column: write drop-column = "ignore" into a [[policy]] for this table; or plan into a new '
    "table with `schemaman plan TABLE --recipe --into LAKE_TABLE`"
)
_METRICS_PREFIX = "write.metadata.metrics.column."
_INNER_METRICS = "Iceberg would refuse each later change of properties, since {} would name no field"
_JOINED = "Iceberg joins names by dots, and the table already has another column or nested field {}"
_LEAVE_ONE_OUT = "leave one of the two out, or rename it at the source; a kept one may be dropped first"
_OTHER_NAME = "leave the column out, or rename it at the source"


def _refuse_former_layout(lake: LakeTable, change: DropColumn) -> Refusal | None:
    """Refuse to drop a field that any partition spec or sort order of the metadata names.

    Iceberg binds all of them to the current schema whenever it loads a table for writing, so a table that
    lacks the field can no longer be written, and older releases cannot read it. Measured with Iceberg 1.11:
    sort orders in each format version, partition specs in version 1. Source: Iceberg
    `SortOrder.checkCompatibility`, `PartitionSpec.checkCompatibility`; apache/iceberg issue 4563.
    """
    if lake.former_layout is None:
        return drafts.refuse_change(change, _UNKNOWN_LAYOUT, _KEEP_COLUMN)
    used = drafts.is_used(change.path, lake.former_layout)
    return drafts.refuse_change(change, _FORMER_LAYOUT, _KEEP_COLUMN) if used else None


def _refuse_deleting_field(lake: LakeTable, change: DropColumn) -> Refusal | None:
    """Refuse to drop a field whose values in an equality delete file delete rows.

    Iceberg 1.11 finds a dropped field in an old schema of the metadata, and cannot read the table after
    `expire_snapshots` with `clean_expired_metadata`: "Cannot find field for ID" (measured). Source: Iceberg
    table spec, "Equality Delete Files".
    """
    if not drafts.is_used(change.path, lake.equality_deletes):
        return None
    catalog, *parts = sql.split_table_name(lake.name)
    compact = _COMPACT.format(quote_name(catalog), sql.literal(sql.format_table_name(parts)))
    return drafts.refuse_change(change, _DELETES_ROWS, compact)


def _find_inner_metrics(lake: LakeTable, change: DropColumn | RenameColumn) -> list[str]:
    """Find the properties that set the metrics of a nested field inside of a dropped or renamed one.

    Iceberg corrects the properties of the field itself, but not those of fields inside of it, and then
    refuses each change of properties. Source: Iceberg `PropertyUtil.applySchemaChanges`,
    `MetricsConfig.validateReferencedColumns`; measured with Iceberg 1.11.
    """
    inside = f"{_METRICS_PREFIX}{'.'.join(change.path)}."
    return sorted(name for name in lake.properties if name.startswith(inside))


def _has_dot(path: Path) -> bool:
    return any("." in part for part in path)


def _find_taken_name(lake: LakeTable, change: AddColumn | RenameColumn) -> str | None:
    """Find the first new name of a change that belongs to a partition field of another column.

    Former partition fields count, too: each change of the schema checks all of them. Source: Iceberg
    `PartitionSpec.Builder.checkAndAddPartitionName`; measured, also after DROP and REPLACE PARTITION FIELD.
    """
    reserved = lake.partition_names
    taken = ((".".join(new), old) for old, new in _list_given_paths(lake, change))
    return next((name for name, old in taken if name in reserved and reserved[name] != old), None)


def _find_joined_twice(lake: LakeTable, change: AddColumn | RenameColumn) -> str | None:
    """Find the first new path of a change that equals another path once both are joined by dots.

    An equal path does not count: its column is renamed, or other checks refuse the change. Source: Iceberg
    `TypeUtil.indexByName`.
    """
    named = _list_given_paths(lake, change)
    moved = {old for old, _ in named}
    stay = (path for path, _, _ in walk_fields(lake.schema) if path not in moved)
    joined = {".".join(path).lower(): _lower_path(path) for path in stay}
    found = ((".".join(new), _lower_path(new)) for _, new in named)
    return next((name for name, new in found if joined.get(name.lower(), new) != new), None)


def _lower_path(path: Path) -> Path:
    return tuple(part.lower() for part in path)


def _list_given_paths(lake: LakeTable, change: AddColumn | RenameColumn) -> list[tuple[Path | None, Path]]:
    """List the new paths of a change, of the column and inside of it, each with the former path."""
    at, depth = change.path, len(change.path)
    if isinstance(change, AddColumn):
        inside = walk_fields(TableSchema((Column(at[-1], change.column.type),)))
        return [(None, (*at[:-1], *path)) for path, _, _ in inside]
    moved = [path for path, _, _ in walk_fields(lake.schema) if path[:depth] == at] or [at]
    return [(path, (*at[:-1], change.name, *path[depth:])) for path in moved]


def _describe_naming(name: str) -> str:
    return f"name a column {sql.path_name((name,))}"


def read_identifiers(lake: LakeTable) -> tuple[Path, ...]:
    """Read the identifier fields of a lake table as paths. Source: Iceberg table spec, "Schemas"."""
    names = json.loads(lake.properties.get("identifier-fields", "[]"))
    paths = {".".join(path): path for path, _, _ in walk_fields(lake.schema)}
    return tuple(paths.get(name, (name,)) for name in names)


def _clone_table(executor: Executor, source: str, clone: str) -> list[str]:
    """Write the statements that create an empty clone of an Iceberg table."""
    # Spark would substitute a variable; a name that the escape alters makes no exact clone, and is refused.
    shown = str(executor.query(f"SHOW CREATE TABLE {source}")[0][0])
    definition = shown.replace("${", "\\u0024{")
    properties = {str(k): str(v) for k, v in executor.query(f"SHOW TBLPROPERTIES {source}")}
    columns_end = definition.index(")\nUSING")
    columns = definition[definition.index("(") : columns_end + 1]
    clauses = [
        line for line in definition[columns_end:].splitlines() if line.startswith(("COMMENT", "PARTITIONED"))
    ]
    kept = {name: value for name, value in properties.items() if name not in _NO_PROPERTIES | {_GC_PROPERTY}}
    lines = [f"CREATE TABLE {clone} {columns}", "USING iceberg", *clauses, _tblproperties(kept)]
    statements = ["\n".join(lines)]
    fields = [f for f in properties.get("identifier-fields", "[]")[1:-1].split(",") if f]
    if fields:
        dotted = ", ".join(".".join(map(quote_name, field.split("."))) for field in fields)
        statements.append(f"ALTER TABLE {clone} SET IDENTIFIER FIELDS {dotted}")
    if order := properties.get("sort-order"):
        statements.append(f"ALTER TABLE {clone} WRITE ORDERED BY {order}")
    return statements


def _tblproperties(properties: dict[str, str]) -> str:
    return (
        "TBLPROPERTIES ("
        + ", ".join(
            f"{sql.literal(name)} = {sql.literal(value)}" for name, value in sorted(properties.items())
        )
        + ")"
    )
