"""Delta Lake on Spark: column mapping by name, type widening, keys as a table property.

This module decides which statements a change needs. `migration.spark_sql` makes their SQL text;
`_common_drafts` holds the statements that both formats share.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from schemaman.errors import BadReference
from schemaman.migration import spark_sql as sql
from schemaman.migration.plan import Refusal
from schemaman.migration.target import Draft, Executor, LakeTable, LakeType
from schemaman.migration.targets import _common_drafts as drafts
from schemaman.migration.targets._commit_cost import select_cost
from schemaman.migration.targets._types import TypeHolder, has_part, has_variant
from schemaman.migration.targets.iceberg import widens_in_place as iceberg_widens
from schemaman.migration.type_mapping import DEFAULT, Representation
from schemaman.model.diff import AddColumn, Change, ChangeNullable, ChangeType, DropColumn, RenameColumn
from schemaman.model.schema import Path, TableSchema
from schemaman.model.types import (
    Array,
    Date,
    Decimal,
    Floating,
    Integer,
    Map,
    String,
    Struct,
    Timestamp,
    Type,
    Unknown,
)

_SESSION = "spark_catalog"
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//[^/]*)?(/.*)")
_MAPPING = {"delta.columnMapping.mode": "name"}
_WIDENING = {"delta.enableTypeWidening": "true"}
_NTZ = {"delta.feature.timestampNtz": "supported"}
_VARIANT = {"delta.feature.variantType": "supported"}
_CONSTRAINT = "delta.constraints."
_OWN_CONSTRAINT = "schemaman_not_null_"
_ICEBERG_COMPAT = tuple(f"delta.enableIcebergCompatV{number}" for number in (1, 2, 3))
_CHANGE_FEED = "delta.enableChangeDataFeed"
_FEED_COLUMNS = frozenset({"_change_type", "_commit_version", "_commit_timestamp"})
"""The columns of the change data feed. Source: Delta `CDCReader`; `RESERVED_CDC_COLUMNS_ON_WRITE`."""
_STREAMS = "streams that read the table: they stop at this change"
_FEED_READERS = "readers of the change data feed (`table_changes`, streams): no range may cross this change"
_READERS = {
    "delta.columnMapping.mode": "readers without column mapping (reader version 2, Delta 1.2), and "
    "deltalake's to_pyarrow_table and to_pandas, which give NULL in every column",
    "delta.enableTypeWidening": "readers without the table feature typeWidening (Delta 3.2), deltalake too",
    "delta.feature.timestampNtz": "readers without the table feature timestampNtz (Delta 2.4)",
}
"""The readers that cannot read a table with a feature.

Source: Delta protocol, "Column Mapping", "Type Widening", "Timestamp without timezone"; deltalake 1.6 tried.
"""
_NO_SETTINGS = (
    "delta.columnMapping.maxColumnId", "delta.constraints.", "delta.feature.", "delta.lastCommitTimestamp",
    "delta.lastUpdateVersion", "delta.minReaderVersion", "delta.minWriterVersion",
    "delta.rowTracking.materialized",
)  # fmt: skip
"""Beginnings of other properties. Source: Delta `DeltaConfigs`, `TableFeatureProtocolUtils`."""
_HARMLESS = frozenset({
    "ADD COLUMNS", "DROP COLUMNS", "RENAME COLUMN", "CHANGE COLUMN", "CHANGE COLUMNS", "SET TBLPROPERTIES",
    "UNSET TBLPROPERTIES", "ADD CONSTRAINT", "DROP CONSTRAINT", "SET TABLE COMMENT", "UPGRADE PROTOCOL",
    "UPDATE SCHEMA", "OPTIMIZE", "VACUUM START", "VACUUM END", "COMPUTE STATS",
})  # fmt: skip
"""Operations of a Delta table's history that write no rows. Source: Delta `DeltaOperations`."""
_METRICS_AT = 12
"""The place of `operationMetrics` in a row of `DESCRIBE HISTORY`. Source: Delta `DeltaHistory`."""
_ROW_METRICS = ("numUpdatedRows", "numTargetRowsUpdated", "numOutputRows")
_BYTE_METRICS = ("numAddedBytes", "numTargetBytesAdded", "numOutputBytes")
_SPARK_3 = "Delta on Spark 3.5 widens integers up to INT, and no other number or date; Spark 4 does"
_INTEGER_DIGITS = 10
_BIGINT_DIGITS = 20


def widens_in_place(old: Type, new: Type, top_level: bool = True) -> bool:
    """Whether Delta changes the type without touching a file, given type widening and timestampNtz.

    Whole arrays, maps and structs are never widened, only their parts. Source: Delta
    `TypeWidening.isTypeChangeSupported`; char and varchar: Spark `CharVarcharUtils`.
    """
    match old, new:
        case Integer(a), Integer(b):
            return b > a
        case Integer(a), Floating(64):
            return a < 64
        case Integer(a), Decimal(precision, scale):
            return precision - scale >= (_INTEGER_DIGITS if a < 64 else _BIGINT_DIGITS)
        case Floating(32), Floating(64):
            return True
        case Decimal(p, s), Decimal(q, r):
            return q - p >= r - s >= 0
        case Date(), Timestamp(_, False):
            return True
        case String(int(length)), String(longer, False):
            return longer is None or (top_level and longer >= length)
        case Unknown("void"), _:
            return True
        case _:
            return False


def _widens_on_spark_3(old: Type, new: Type) -> bool:
    """Whether Delta on Spark 3.5 makes a change of `widens_in_place`, too: of integers only up to INT.

    Source: Delta 3.3, `TypeWideningShims.isTypeChangeSupported` for Spark 3.5; measured with 3.3.3.
    """
    match old, new:
        case Integer(), Integer(bits):
            return bits <= 32
        case ((String() | Unknown()), _):
            return True
        case _:
            return False


def select_row_writes(operations: Sequence[tuple[int, str]], version: str) -> tuple[str, ...]:
    """Select the operations of a table's history after a version that may have written rows, in words."""
    return tuple(
        f"{name} made version {number}"
        for number, name in sorted(operations)
        if number > int(version) and name not in _HARMLESS
    )


class DeltaTarget:
    """Delta tables, by path or by name in a catalogue."""

    name = "delta"
    feature_properties = frozenset(_MAPPING | _WIDENING | _NTZ | _VARIANT)

    def hold_type(self, type: Type, representation: Representation = DEFAULT) -> LakeType | Refusal:
        """Find how Delta holds a logical type."""
        return TypeHolder(representation).hold_type(type)

    def table_name(self, table: str) -> str:
        """Write a path as ``delta.`path` ``, and a name with back-ticks around its parts.

        Raises:
            BadReference: neither a path nor a name that the session's own catalogue accepts.
        """
        path = _find_path(table)
        if path is not None:
            return sql.quote_table_name(("delta", path))
        parts = sql.split_table_name(table)
        if len(parts) < 3 and not all(re.fullmatch(r"\w+", part, re.ASCII) for part in parts):
            raise BadReference(
                f"{table!r}: the session's own catalogue takes letters, digits and underscores only",
                hint="name the table by its path, /folder/of/the/table",
            )
        return sql.quote_table_name(parts)

    def canonical_name(self, table: str) -> str:
        """Return the folder of a path, else the name in parts.

        The session's own catalogue ignores case, and its name is optional. Both may not hold for others.
        Source: Spark `SessionCatalog.formatTableName`, "Identifiers"; Hadoop `Path.normalizePath`.

        Raises:
            BadReference: neither a path nor a table name.
        """
        if table.startswith("/") or _URI.fullmatch(table):
            return _canonicalize_path(table)
        parts = sql.split_table_name(table)
        if len(parts) == 2 and parts[0].lower() == self.name and "/" in parts[1]:
            return _canonicalize_path(parts[1])
        if len(parts) == 3 and parts[0].lower() == _SESSION:
            parts = parts[1:]
        if len(parts) < 3:
            parts = tuple(part.lower() for part in (("default", *parts) if len(parts) == 1 else parts))
        return sql.format_table_name(parts)

    def is_in_session_catalog(self, table: str) -> bool:
        """Whether a name has at most two parts, or begins with `spark_catalog`; a path has no catalogue."""
        own = table.count(".") < 2 or table.startswith("spark_catalog.")
        return "/" not in table and own

    def find_catalog(self, table: str) -> str:
        """Find the catalogue of a table by name; a path has none."""
        parts = () if _find_path(table) is not None else sql.split_table_name(table)
        if not parts or (len(parts) == 2 and parts[0].lower() == self.name):
            return ""
        return parts[0] if len(parts) > 2 else _SESSION

    def refuse_names(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Refuse nothing: Delta reads every name that column mapping lets it store."""
        return {}

    def create_table(self, table: str, schema: TableSchema, properties: Mapping[str, str]) -> Draft:
        """Draft a table with column mapping, type widening and timestampNtz, which later steps need."""
        switched_on = _MAPPING | _WIDENING | _NTZ
        return drafts.create_table(self.table_name(table), schema, "delta", switched_on | dict(properties))

    def rename_table(self, table: str, to: str) -> str | None:
        """Write `RENAME TO`; a table that has only a path has no name."""
        if not self.find_catalog(table) or self.find_catalog(table) != self.find_catalog(to):
            return None
        parts = sql.split_table_name(to)
        return sql.rename_table(self.table_name(table), parts[1:] if len(parts) > 2 else parts)

    def create_namespace(self, table: str) -> Draft | None:
        """Draft the database of a table by name; a path needs none."""
        parts = () if _find_path(table) is not None else sql.split_table_name(table)[:-1]
        return drafts.create_namespace(parts) if parts and parts[-1] != "default" else None

    def set_key(self, table: str, schema: TableSchema) -> Draft | None:
        """Return None: Delta keeps no key, so a property of schemaman has it."""
        return None

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Draft:
        """Draft one `SET TBLPROPERTIES`."""
        return drafts.set_properties(self.table_name(table), properties)

    def unset_properties(self, table: str, properties: Sequence[str]) -> Draft:
        """Draft one `UNSET TBLPROPERTIES`."""
        return drafts.unset_properties(self.table_name(table), properties)

    def upgrade_features(self, table: str, properties: Mapping[str, str]) -> Draft:
        """Draft the permanent upgrade to features, with the readers that it stops."""
        draft = self.set_properties(table, properties)
        hurts = tuple(_READERS.get(key, f"readers that do not know {key}") for key in sorted(properties))
        return replace(draft, step_class="capability-upgrade", reversible="no", hurts=hurts)

    def drop_key(self, lake: LakeTable) -> Draft | None:
        """Return None: Delta keeps no key that could prevent a change."""
        return None

    def forbid_null(self, lake: LakeTable, column: str) -> Draft | Refusal | None:
        """Draft a CHECK constraint, which reads every row and has the column's name; None if it exists."""
        constraint = f"{_OWN_CONSTRAINT}{column}"
        if f"{_CONSTRAINT}{constraint.lower()}" in lake.properties:
            return None
        if not re.fullmatch(r"\w+", column, re.ASCII):
            reason = "a constraint cannot be named for a column with such a name"
            return Refusal(f"forbid NULL in {sql.path_name((column,))}", reason, "add a CHECK by hand")
        name, expression = self.table_name(lake.name), f"{sql.path_name((column,))} IS NOT NULL"
        return Draft(
            (),
            "add-constraint",
            sql.add_check(name, constraint, expression),
            "needs-scan",
            "reversible",
            sql.drop_check(name, constraint),
            ("writers that write NULL",),
            {"properties": {f"{_CONSTRAINT}{constraint.lower()}": expression}},
            {"counts": {sql.count_rows(name, f"{sql.path_name((column,))} IS NULL"): 0}},
        )

    def allow_null(self, lake: LakeTable, column: str) -> Draft | None:
        """Draft the drop of the constraint of `forbid_null`; None if there is none."""
        constraint = f"{_OWN_CONSTRAINT}{column}"
        key = f"{_CONSTRAINT}{constraint.lower()}"
        if key not in lake.properties:
            return None
        name = self.table_name(lake.name)
        undo = sql.add_check(name, constraint, lake.properties[key])
        after, before = {"properties": {key: None}}, {"properties": {key: lake.properties[key]}}
        statement, hurts = sql.drop_check(name, constraint), (drafts.EXPECTS_VALUE,)
        return Draft((), "drop-constraint", statement, "metadata", "reversible", undo, hurts, after, before)

    def find_missing_properties(self, lake: LakeTable, change: Change) -> Mapping[str, str]:
        """Find missing features: column mapping for names, type widening for types, timestampNtz, VARIANT."""
        wanted: dict[str, str] = {}
        match change:
            case RenameColumn() | DropColumn():
                wanted = _MAPPING
            case AddColumn(path, column):
                wanted = (_MAPPING if _needs_mapping(path, column.type) else {}) | _require_ntz(column.type)
                wanted |= _VARIANT if has_variant(column.type) else {}
            case ChangeType(_, String() | Unknown(), new):
                wanted = _require_ntz(new)
            case ChangeType(_, _, new):
                wanted = _WIDENING | _require_ntz(new)
            case _:
                pass
        return {key: value for key, value in wanted.items() if not _is_on(lake, key, value)}

    def draft_change(self, lake: LakeTable, change: Change) -> Draft | Refusal:
        """Draft the statement for one change, or refuse it if Delta would."""
        refusal = _refuse_in_use(lake, change) or self._refuse_feed_name(lake, change)
        if refusal is not None:
            return refusal
        match change:
            case AddColumn(_, column) if (property := _find_incompatible(lake, column.type)) is not None:
                reason = f"the table is also read as Iceberg, and {property} allows no column of this type"
                return drafts.refuse_change(change, reason, f"set {property} to false first, or {_LEAVE_OUT}")
            case ChangeType(path, old, new) if not widens_in_place(old, new, len(path) == 1):
                return drafts.refuse_type_change(change)
            case ChangeType(_, old, new) if lake.spark_major < 4 and not _widens_on_spark_3(old, new):
                return replace(drafts.refuse_type_change(change), reason=_SPARK_3)
            case ChangeType(_, old, new) if _is_uniform(lake) and not iceberg_widens(old, new):
                reason = "the table is also read as Iceberg, which cannot make this change"
                return drafts.refuse_change(
                    change, reason, "switch IcebergCompat off first, or keep the type"
                )
            case DropColumn((name,)) if _is_last_data_column(lake, name):
                reason = "it is the last column that is no partition column"
                return drafts.refuse_change(change, reason, "keep the column, or drop the table instead")
            case DropColumn():
                refusal = drafts.refuse_drop(lake, change)
                if refusal is not None:
                    return refusal
            case _:
                pass
        draft = drafts.draft_change(self.table_name(lake.name), lake.schema, change)
        return draft if isinstance(draft, Refusal) else _add_ways_back(lake, draft, change)

    def _refuse_feed_name(self, lake: LakeTable, change: Change) -> Refusal | None:
        """Refuse a name that the change data feed has for a column of its own, whatever its case.

        Delta refuses the exact name. With another case it accepts the column, and then no reader can resolve
        it: measured with Delta 4.4. A nested field may have the name.
        """
        match change:
            case AddColumn((name,)) | RenameColumn((_,), name) if (
                name.lower() in _FEED_COLUMNS and _is_feeding(lake)
            ):
                off = self.set_properties(lake.name, {_CHANGE_FEED: "false"}).statement
                reason = f"the change data feed of the table has a column {name.lower()} of its own"
                instead = f"{_LEAVE_OUT}; or, if no job reads the feed, first run: {off}"
                return drafts.refuse_change(change, reason, instead)
            case _:
                return None

    def combine_drafts(self, lake: LakeTable, several: Sequence[Draft]) -> Draft:
        """Combine several drafts of one kind in one statement."""
        return drafts.combine_drafts(self.table_name(lake.name), several)

    def draft_clone(self, executor: Executor, source: str, clone: str) -> Sequence[str]:
        """Draft an emptied shallow clone: a DELETE of all rows unlists the files, and rewrites none."""
        return [f"CREATE TABLE {clone} SHALLOW CLONE {source}", f"DELETE FROM {clone}"]

    def explain_append_only(self, lake: LakeTable) -> str:
        """Explain the property `delta.appendOnly`. Source: Delta protocol, "Append-only Tables"."""
        is_on = lake.properties.get("delta.appendOnly", "").lower() == "true"
        return "delta.appendOnly is true, so no statement may update rows" if is_on else ""

    def is_setting(self, property: str) -> bool:
        """Whether a property has Delta's prefix, is no feature, and is not maintained by Delta itself."""
        return property.startswith("delta.") and not property.startswith(_NO_SETTINGS)

    def restore_version(self, table: str, version: str) -> str | None:
        """Write `RESTORE TABLE`. Source: Delta "Restore a Delta table to an earlier state"."""
        return f"RESTORE TABLE {self.table_name(table)} TO VERSION AS OF {int(version)}"

    def measure_table(self, executor: Executor, table: str) -> int | None:
        """Read the size of the table. Source: Delta "Table utility commands", `sizeInBytes`.

        It comes before the properties, the only map of the row.
        """
        rows = executor.query(f"DESCRIBE DETAIL {self.table_name(table)}")
        at = next((i for i, cell in enumerate(rows[0]) if isinstance(cell, Mapping)), 0) if rows else 0
        return int(str(rows[0][at - 1])) if at else None

    def list_row_writes(self, executor: Executor, table: str, version: str) -> tuple[str, ...]:
        """List the operations of the table's history that may have written rows."""
        history = executor.query(f"DESCRIBE HISTORY {self.table_name(table)}")
        return select_row_writes([(int(str(row[0])), str(row[4])) for row in history], version)

    def read_commit_cost(self, executor: Executor, table: str) -> Mapping[str, int]:
        """Read the metrics of the newest operation of the table's history.

        Source: Delta `DeltaOperationMetrics` (INSERT, UPDATE, MERGE); `DESCRIBE HISTORY` has them as a map.
        """
        history = executor.query(f"DESCRIBE HISTORY {self.table_name(table)} LIMIT 1")
        metrics = history[0][_METRICS_AT] if history and len(history[0]) > _METRICS_AT else None
        return select_cost(metrics, _ROW_METRICS, _BYTE_METRICS)

    def drop_clone(self, clone: str) -> str:
        """Write a plain DROP TABLE: the files of a shallow clone belong to the source."""
        return f"DROP TABLE IF EXISTS {clone}"


TARGET = DeltaTarget()
_KEEP_NUMBERED = "declare the column NOT NULL at the source, or build a new table without an identity column"
_LEAVE_OUT = "leave the column out, or rename it at the source"


def _canonicalize_path(path: str) -> str:
    """Normalize a path: no doubled slashes and dots, and its scheme unless that is `file`."""
    found = _URI.fullmatch(path)
    scheme, host, folder = (found[1].lower(), found[2] or "", found[3]) if found else ("file", "", path)
    folder = posixpath.normpath(f"/{folder.lstrip('/')}")
    if scheme == "file" and host in ("", "//", "//localhost"):
        return folder
    return f"{scheme}:{host}{folder}"


def _find_path(table: str) -> str | None:
    """Find the folder of a table that is named by its path; None for another name."""
    if table.startswith("/") or re.match(r"[a-z][a-z0-9+.-]*:/", table):
        sql.refuse_variables(table)
        return table.rstrip("/") or "/"
    parts = sql.split_table_name(table)
    return parts[1] if len(parts) == 2 and parts[0].lower() == "delta" and "/" in parts[1] else None


def _is_on(lake: LakeTable, key: str, value: str) -> bool:
    setting = lake.properties.get(key, "").lower()
    return setting == value or (key in _MAPPING and setting == "id")


def _require_ntz(type: Type) -> dict[str, str]:
    match type:
        case Timestamp(_, False):
            return _NTZ
        case Array(element):
            return _require_ntz(element)
        case Map(key, value):
            return _require_ntz(key) | _require_ntz(value)
        case Struct(fields):
            return _NTZ if any(_require_ntz(f.type) for f in fields) else {}
        case _:
            return {}


def _needs_mapping(path: Path, type: Type) -> bool:
    """Whether a name needs column mapping. Source: Delta `DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES`."""
    names = [path[-1]]
    todo = [type]
    while todo:
        match todo.pop():
            case Array(element):
                todo.append(element)
            case Map(key, value):
                todo += [key, value]
            case Struct(fields):
                names += [f.name for f in fields]
                todo += [f.type for f in fields]
            case _:
                pass
    return any(ch in " ,;{}()\n\t=" for name in names for ch in name)


def _add_ways_back(lake: LakeTable, draft: Draft, change: Change) -> Draft:
    """Add time travel to a draft where it is the only undo, and the readers that Delta itself stops.

    Source: Delta "Restore a Delta table to an earlier state", "Tracking non-additive schema changes".
    """
    if isinstance(change, AddColumn) and not _is_on(lake, *next(iter(_MAPPING.items()))):
        return replace(draft, reversible="time-travel", undo=None)
    hurts = draft.hurts
    if isinstance(change, DropColumn | RenameColumn | ChangeType):
        feeds = (_FEED_READERS,) if _is_feeding(lake) else ()
        hurts = (*hurts, _STREAMS, *feeds)
    return replace(
        draft, reversible="time-travel" if draft.reversible == "no" else draft.reversible, hurts=hurts
    )


def _is_feeding(lake: LakeTable) -> bool:
    return lake.properties.get(_CHANGE_FEED, "").lower() == "true"


def _is_uniform(lake: LakeTable) -> bool:
    return any(lake.properties.get(key, "").lower() == "true" for key in _ICEBERG_COMPAT)


def _find_incompatible(lake: LakeTable, type: Type) -> str | None:
    """Find the property that lets Iceberg read the table, but no column of this type.

    Source: Delta protocol, "Writer Requirements for IcebergCompatV1", "…V2": version 1 has no lists and maps,
    and neither has VARIANT.
    """
    first, second, _ = _ICEBERG_COMPAT
    on = [key for key in (first, second) if lake.properties.get(key, "").lower() == "true"]
    nested = has_part(type, lambda part: isinstance(part, Array | Map))
    return next((key for key in on if has_variant(type) or (nested and key == first)), None)


def _is_last_data_column(lake: LakeTable, name: str) -> bool:
    """Whether all other columns are partition columns. Source: Delta `DELTA_NON_PARTITION_COLUMN_ABSENT`."""
    partitions = {field.path[0] for field in lake.partitions}
    return bool(partitions) and {column.name for column in lake.schema.columns} - partitions == {name}


def _refuse_in_use(lake: LakeTable, change: Change) -> Refusal | None:
    """Refuse a change of a column that constraints or generated columns use, or of an identity column.

    Source: Delta `DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED`: only names, comments and positions.
    """
    if isinstance(change, ChangeNullable) and lake.generated.get(change.path[0]) == "":
        return drafts.refuse_change(change, "the table numbers the column by itself", _KEEP_NUMBERED)
    if not isinstance(change, DropColumn | RenameColumn | ChangeType):
        return None
    name = change.path[0]
    for key, expression in lake.properties.items():
        if key.startswith(_CONSTRAINT) and _is_mentioned(expression, name):
            used = key.removeprefix(_CONSTRAINT)
            instead = f"drop the constraint {used} first and add it again after"
            return drafts.refuse_change(change, f"the constraint {used} uses the column", instead)
    for generated, expression in lake.generated.items():
        if generated != name and _is_mentioned(expression, name):
            reason = f"the generated column {sql.path_name((generated,))} is computed from it"
            return drafts.refuse_change(change, reason, "drop the generated column first")
    if name in lake.generated and isinstance(change, ChangeType):
        reason = "its values are computed by the table itself"
        return drafts.refuse_change(change, reason, "build a new table with another expression")
    return None


def _is_mentioned(expression: str, name: str) -> bool:
    """Whether an expression may use a column: as a separate word, or in back-ticks."""
    spellings = "|".join(re.escape(each) for each in dict.fromkeys((name, name.replace("`", "``"))))
    return re.search(rf"(?<!\w)(?:{spellings})(?!\w)", expression, re.IGNORECASE) is not None
