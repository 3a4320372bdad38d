"""Apache Iceberg on Spark: format version 2 in a named catalogue, keys as identifier fields."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from schemaman.errors import BadReference
from schemaman.migration import spark_sql as sql
from schemaman.migration.plan import Refusal
from schemaman.migration.target import Draft, Held, Live
from schemaman.migration.targets import _drafts as drafts
from schemaman.migration.targets._types import Holder, has_variant
from schemaman.migration.type_mapping import DEFAULT, Representation
from schemaman.model.diff import AddColumn, Change, ChangeNullable, ChangeType, DropColumn, RenameColumn
from schemaman.model.schema import Column, Path, TableSchema, walk
from schemaman.model.types import Array, Decimal, Floating, Integer, Map, Struct, Type

_SMALLEST_INTEGER = 32
_VERSION_3 = {"format-version": "3"}
"""Source: Iceberg spec, "Primitive Types": variant is there since version 3; Iceberg never goes back."""
_METADATA_COLUMNS = frozenset({
    "_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number",
})  # fmt: skip


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

    def hold(self, type: Type, how: Representation = DEFAULT) -> Held | Refusal:
        """How Iceberg holds a logical type: no integer below 32 bits."""
        return Holder(how, _SMALLEST_INTEGER).hold(type)

    def table_name(self, table: str) -> str:
        """`catalog.namespace.table`, back-ticks around every part.

        Raises:
            BadReference: no catalogue or no namespace is named.
        """
        parts = sql.table_parts(table)
        if len(parts) < 3:
            raise BadReference(
                f"{table!r} names no Iceberg table",
                hint="write catalog.namespace.table, such as ice.raw.orders",
            )
        return sql.dotted(parts)

    def refuse(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Names of metadata columns, and dots that read like the path of another place.

        Source: Iceberg `MetadataColumns`; `TypeUtil.indexByName` joins names by dots.
        """
        joined = Counter(".".join(path).lower() for path, _, _ in walk(schema))
        twice = {
            path[0] for path, _, _ in walk(schema) if joined[".".join(path).lower()] > 1 and _dotted(path)
        }
        refused: dict[str, Refusal] = {}
        for name in schema.names:
            if name.lower() in _METADATA_COLUMNS:
                reason = "Iceberg keeps this name for itself: the table could not be read any more"
                refused[name] = Refusal(_naming(name), reason, _OTHER_NAME)
            elif name in twice:
                reason = "Iceberg joins names by dots, and another column has a member of that path"
                refused[name] = Refusal(_naming(name), reason, _OTHER_NAME)
        return refused

    def create(self, table: str, schema: TableSchema, properties: Mapping[str, str]) -> Draft:
        """A table of format version 2, since version 3 locks readers out; only VARIANT needs that one."""
        version = _VERSION_3 if any(has_variant(c.type) for c in schema.columns) else {"format-version": "2"}
        chosen = version | dict(properties)
        return drafts.create(self.table_name(table), schema, "iceberg", chosen)

    def create_namespace(self, table: str) -> Draft | None:
        """The namespace of the table; some catalogues insist on it."""
        return drafts.create_namespace(sql.table_parts(table)[:-1])

    def set_key(self, table: str, schema: TableSchema) -> Draft | None:
        """`SET IDENTIFIER FIELDS`, when every key column may be one: required, primitive, no float."""
        columns = [schema.column(name) for name in schema.key]
        able = all(c and not c.nullable and not isinstance(c.type, _NO_IDENTIFIER) for c in columns)
        if not columns or not able:
            return None
        name = self.table_name(table)
        statement = sql.set_identifier_fields(name, schema.key)
        undo = sql.drop_identifier_fields(name, schema.key)
        after = {"properties": {"identifier-fields": sql.identifier_fields(schema.key)}}
        return Draft((), "set-key", statement, "metadata", "reversible", undo, after=after)

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Draft:
        """One `SET TBLPROPERTIES`."""
        return drafts.set_properties(self.table_name(table), properties)

    def unset_properties(self, table: str, properties: Sequence[str]) -> Draft:
        """One `UNSET TBLPROPERTIES`."""
        return drafts.unset_properties(self.table_name(table), properties)

    def upgrade(self, table: str, properties: Mapping[str, str]) -> Draft:
        """A later format version, for good."""
        draft = self.set_properties(table, properties)
        hurts = ("engines that do not read this format version",)
        return replace(draft, step_class="capability-upgrade", reversible="no", hurts=hurts)

    def drop_key(self, live: Live) -> Draft | None:
        """`DROP IDENTIFIER FIELDS`, None where there are none: they cannot become nullable or leave."""
        fields = identifiers(live)
        if not fields:
            return None
        name = self.table_name(live.name)
        statement, undo = (
            build(name, fields) for build in (sql.drop_identifier_paths, sql.set_identifier_paths)
        )
        after = {"properties": {"identifier-fields": sql.identifier_fields(())}}
        before = {"properties": {"identifier-fields": live.properties["identifier-fields"]}}
        return Draft((), "drop-key", statement, "metadata", "reversible", undo, (_UPSERTS,), after, before)

    def require(self, live: Live, column: str) -> Draft | Refusal | None:
        """Refused: no SQL makes a column of a live Iceberg table required."""
        change = f"forbid NULL in {sql.path_name((column,))}"
        instead = "prove that no row is NULL, and make it required through Iceberg's own API"
        return Refusal(change, "Iceberg's SQL cannot forbid NULL in a table that has rows", instead)

    def relax(self, live: Live, column: str) -> Draft | None:
        """None: nothing was required."""
        return None

    def needs(self, live: Live, change: Change) -> Mapping[str, str]:
        """Format version 3 for VARIANT; every other change is made in every table."""
        variant = isinstance(change, AddColumn) and has_variant(change.column.type)
        return _VERSION_3 if variant and live.properties.get("format-version") != "3" else {}

    def alter(self, live: Live, change: Change) -> Draft | Refusal:
        """The statement for one change, or why Iceberg would refuse it or choke on it."""
        match change:
            case AddColumn(path) | DropColumn(path) | RenameColumn(path) | ChangeType(path) if (
                drafts.in_map_key(live.schema, path)
            ):
                return drafts.refuse(change, "Iceberg cannot change the key of a map", "write a new column")
            case ChangeType(_, old, new) if not widens_in_place(old, new):
                return drafts.refuse_type_change(change)
            case AddColumn() | RenameColumn() if (name := _taken(live, change)) is not None:
                return drafts.refuse(change, _PARTITION.format(sql.path_name((name,))), _NOT_THERE)
            case AddColumn() | RenameColumn() if (name := _joined_twice(live, change)) is not None:
                return drafts.refuse(change, _JOINED.format(name), _APART)
            case ChangeNullable(path, False, True) if any(p[: len(path)] == path for p in identifiers(live)):
                return drafts.refuse(change, "an identifier field must have a value", _UNIDENTIFIED)
            case DropColumn(path) if any(p[: len(path)] == path for p in identifiers(live)):
                return drafts.refuse(change, "it is an identifier field or holds one", _UNIDENTIFIED)
            case RenameColumn(path) if any(len(p) > 1 and p[: len(path)] == path for p in identifiers(live)):
                return drafts.refuse(change, "Iceberg loses identifier fields inside it", _UNIDENTIFIED)
            case DropColumn():
                refusal = drafts.refuse_drop(live, change)
                if refusal is not None:
                    return refusal
            case _:
                pass
        return drafts.draft(self.table_name(live.name), live.schema, change)

    def together(self, live: Live, several: Sequence[Draft]) -> Draft:
        """One statement for several drafts of one kind."""
        return drafts.together(self.table_name(live.name), several)


TARGET = IcebergTarget()
_NO_IDENTIFIER = (Floating, Array, Map, Struct)
_UNIDENTIFIED = "drop the identifier fields first: ALTER TABLE … DROP IDENTIFIER FIELDS"
_UPSERTS = "writers that upsert by identifier fields, such as Flink"
_PARTITION = "a partition field is or was called {}, and Iceberg lets no other column have that name"
_NOT_THERE = (
    "name the column otherwise at the source, or leave it out; or plan into a new table: schemaman plan "
    "TABLE --recipe --into LAKE_TABLE (to drop or replace the partition field does not set its name free)"
)
_JOINED = "Iceberg joins names by dots, and the table has another column or member {} already"
_APART = "leave one of the two out, or rename it at the source; a kept one may be dropped first"
_OTHER_NAME = "leave the column out, or rename it at the source"


def _dotted(path: Path) -> bool:
    return any("." in part for part in path)


def _taken(live: Live, change: AddColumn | RenameColumn) -> str | None:
    """The first name that a change would give to a column, and that a partition field has from elsewhere.

    Partitions of the past count too: each change of the schema checks all of them. Source: Iceberg
    `PartitionSpec.Builder.checkAndAddPartitionName`; measured, also behind DROP and REPLACE PARTITION FIELD.
    """
    told = live.partition_names
    taken = ((".".join(new), old) for old, new in _named(live, change))
    return next((name for name, old in taken if name in told and told[name] != old), None)


def _joined_twice(live: Live, change: AddColumn | RenameColumn) -> str | None:
    """The first path that a change would give, and that reads like another one once dots join it.

    One that has the very same place hands it on, or is in the way: that is not for this format to say.
    Source: Iceberg `TypeUtil.indexByName`.
    """
    named = _named(live, change)
    moved = {old for old, _ in named}
    stay = (path for path, _, _ in walk(live.schema) if path not in moved)
    joined = {".".join(path).lower(): _lowered(path) for path in stay}
    found = ((".".join(new), _lowered(new)) for _, new in named)
    return next((told for told, new in found if joined.get(told.lower(), new) != new), None)


def _lowered(path: Path) -> Path:
    return tuple(part.lower() for part in path)


def _named(live: Live, change: AddColumn | RenameColumn) -> list[tuple[Path | None, Path]]:
    """The paths that a change gives, to the column and inside of it, each with the one that it had."""
    at, depth = change.path, len(change.path)
    if isinstance(change, AddColumn):
        inside = walk(TableSchema((Column(at[-1], change.column.type),)))
        return [(None, (*at[:-1], *path)) for path, _, _ in inside]
    moved = [path for path, _, _ in walk(live.schema) if path[:depth] == at] or [at]
    return [(path, (*at[:-1], change.name, *path[depth:])) for path in moved]


def _naming(name: str) -> str:
    return f"name a column {sql.path_name((name,))}"


def identifiers(live: Live) -> tuple[Path, ...]:
    """The identifier fields of a live table, each as a path. Source: Iceberg table spec, "Schemas"."""
    told = json.loads(live.properties.get("identifier-fields", "[]"))
    paths = {".".join(path): path for path, _, _ in walk(live.schema)}
    return tuple(paths.get(name, (name,)) for name in told)
