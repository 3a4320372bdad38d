"""Stale rows: those that were read before the history of their source changed.

Law: a table with rows that were read by a wrong structure takes no further rows, and none of its columns is
renamed, until these rows are deleted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from schemaman.debezium.connector import CONNECTORS
from schemaman.debezium.observation import STATEMENT_KINDS
from schemaman.debezium.records import Coordinates
from schemaman.history.fold.fold import fold
from schemaman.history.versions import TableHistory
from schemaman.migration.column_map import read_names
from schemaman.migration.properties.names import READ_PROPERTY, SOURCE_PROPERTY
from schemaman.migration.row_columns import ORDER
from schemaman.migration.spark_sql import literal, set_properties
from schemaman.migration.target import Executor, LakeTable
from schemaman.model.ddl import quote_name
from schemaman.model.name_adjustment import DISPLACED_SUFFIX, list_adjusted_forms
from schemaman.model.schema import TableId
from schemaman.registry import RegistryStore
from schemaman.sink.column_mapping import find_incarnation
from schemaman.sink.reread import (
    JoinedColumns,
    RereadStretch,
    find_reread_stretches,
    hash_reading,
    merge_stretches,
)
from schemaman.sink.row_mapping import map_columns
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, ConnectorModes

_PROPERTY_KEYS = ("store", "table", "reading", "said")


@dataclass(frozen=True, slots=True)
class StaleRows:
    """Rows of a table that were read by a wrong structure, and what to do with them."""

    reason: str
    instead: str

    def __str__(self) -> str:
        return f"{self.reason}. {self.instead[:1].upper()}{self.instead[1:]}"


_UNREADABLE_PROPERTY = StaleRows(
    f"its property {READ_PROPERTY} cannot be read: it was edited",
    "restore its previous value; or unset it, if each schema change was read before the rows that follow it",
)


@dataclass(frozen=True, slots=True)
class StaleRowCheck:
    """Checks how the rows of lake tables were read; each table records it in a property.

    `modes` are the settings of the reader; unknown modes are taken from the property of the table.
    """

    store: RegistryStore
    modes: ConnectorModes

    def find_stale_rows(
        self, history: TableHistory, lake: LakeTable, name: str, executor: Executor
    ) -> StaleRows | None:
        """Find why a table must take no rows; None if its rows were read by the right structure.

        `name` is the table as SQL writes it. Raises `StatementFailed`.
        """
        misread = self.find_misread_rows(history, lake, name, executor)
        readings = self._fold_readings(history, lake)
        if misread is not None or readings is None:
            return misread
        if find_incarnation(lake, history) not in (None, history.latest.incarnation):
            return None  # it has the rows of an ended table, whatever table has the name now
        previous = self._find_rename(readings[0], history)
        if previous is not None and executor.query(_format_count_query(name, f"`{ORDER}` >= ''")):
            return _explain_rename(history, name, previous)
        return None

    def find_misread_rows(
        self, history: TableHistory, lake: LakeTable, name: str, executor: Executor
    ) -> StaleRows | None:
        """Find rows of a table with other columns or of another table by now; None if there are none.

        `name` is the table as SQL writes it. Raises `StatementFailed`.
        """
        known = _parse_property(lake)
        if known is None:
            return _UNREADABLE_PROPERTY
        readings = self._fold_readings(history, lake)
        if readings is None:
            return None
        before, after = readings
        modes = self.modes if self.modes != UNKNOWN_MODES else ConnectorModes(**known.get("modes", {}))
        all_stretches = find_reread_stretches(before, after, modes)
        for columns in dict.fromkeys(each.joined for each in all_stretches):
            placed_column = _find_placed_column(lake, before, columns)
            column = placed_column or _find_named_column(lake, columns)
            if columns and column is None:
                continue
            stretches = merge_stretches([each for each in all_stretches if each.joined == columns])
            # a column whose identity is certain never holds values of another one, whatever its name
            for one in (replace(each, until=None) for each in stretches) if placed_column else stretches:
                condition = _format_condition(one, column)
                found = executor.query(_format_count_query(name, condition))
                if found:
                    return _explain_stale_rows(history, name, one, condition, found)
        return None

    def _fold_readings(
        self, history: TableHistory, lake: LakeTable
    ) -> tuple[TableHistory, TableHistory] | None:
        """The history by which the rows were read, and the present one; None if nothing is new."""
        count = self._count_read_observations(history, lake)
        if count is None or ORDER not in lake.schema.names:
            return None
        observations = self.store.load(history.table)
        before = fold(observations[:count], history.table, CONNECTORS.get)
        after = fold(observations, history.table, CONNECTORS.get)
        return None if before is None or after is None else (before, after)

    def _find_rename(self, before: TableHistory, after: TableHistory) -> TableId | None:
        """Find a table that had rows, and whose rename to this one was read only after they were written.

        It may have had other names in between, under which no row came. `after` may be a history up to the
        end of an earlier incarnation: a later rename says nothing of its rows.
        """
        known = {alias.name for alias in before.aliases if alias.kind == "table"}
        names = [(a.name, a.until) for a in after.aliases if a.kind == "table" and a.name not in known]
        tables = {str(table): table for table in self.store.tables()} if names else {}
        passed: set[str] = set()
        while names:
            name, until = names.pop()
            table = tables.get(name)
            if table is not None and any(o.evidence not in STATEMENT_KINDS for o in self.store.load(table)):
                return table
            earlier = _find_last_rename(filter(None, map(self.store.history, tables.values())), name, until)
            if earlier is not None and name not in passed:
                names.append((str(earlier[0]), earlier[1]))
            passed.add(name)
        return None

    def record_reading(self, history: TableHistory, lake: LakeTable, name: str, executor: Executor) -> bool:
        """Record in the table how its rows are read from now on; False if the store has newer observations.

        Raises `StatementFailed`.
        """
        known = _parse_property(lake) or {}
        current: dict[str, Any] = {
            "store": self.store.id, "table": str(history.table), "reading": hash_reading(history)
        }  # fmt: skip
        if self.modes != UNKNOWN_MODES:
            current["modes"] = {name: mode for name, mode in asdict(self.modes).items() if mode is not None}
        if {key: known.get(key) for key in current} == current:
            return True
        current["said"] = str(len(self.store.load(history.table)))
        newest = self.store.history(history.table)
        if newest is None or hash_reading(newest) != current["reading"]:
            return False
        executor.run(set_properties(name, {READ_PROPERTY: json.dumps(current, sort_keys=True)}))
        return True

    def _count_read_observations(self, history: TableHistory, lake: LakeTable) -> int | None:
        """Count the observations by which the rows were read; None if unknown, or if none is new."""
        known = _parse_property(lake) or {}
        mine = known.get("store") == self.store.id and known.get("table") == str(history.table)
        if not mine or known.get("reading") == hash_reading(history):
            return None
        return int(known["said"])


def clear_reading(lake: LakeTable, table: TableId) -> Mapping[str, str]:
    """The property with which a table comes back to a name: no row was read under it since it came back.

    What it says of its first stay is not of the table that has the name now. Empty if it says nothing of it.
    """
    known = _parse_property(lake) or {}
    return {READ_PROPERTY: "{}"} if known.get("table") == str(table) else {}


def _find_last_rename(
    histories: Iterable[TableHistory], name: str, until: Coordinates | None
) -> tuple[TableId, Coordinates] | None:
    """Find the table that got a name last, before a rename took the name away, and when; None if none did."""
    found = [
        (h.table, e.at) for h in histories for e in h.events if e.kind == "renamed" and str(e.other) == name
    ]
    if until is not None:
        found = [(table, at) for table, at in found if _order_rename(at) < _order_rename(until)]
    return max(found, key=lambda each: _order_rename(each[1]), default=None)


def _order_rename(at: Coordinates) -> tuple[object, ...]:
    """The order of renames of one log: one statement may rename several tables."""
    return at.position.kind, at.position.rank, at.offset


def _parse_property(lake: LakeTable) -> Mapping[str, Any] | None:
    """Parse the property of a table; None if it cannot be parsed."""
    try:
        property_value = json.loads(lake.properties.get(READ_PROPERTY, "{}"))
        is_valid = property_value == {} or (
            property_value["said"].isdecimal()
            and all(isinstance(property_value[m], str) for m in _PROPERTY_KEYS)
        )
        ConnectorModes(**property_value.get("modes", {}))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    return dict(property_value) if is_valid else None


def _find_placed_column(lake: LakeTable, before: TableHistory, columns: JoinedColumns | None) -> str | None:
    """Find the column whose values belong in another one; None if the table lacks one of the two.

    The history at the time of writing decides, since other columns may have had the names.
    """
    if columns is None:
        return None
    names = map_columns(before, lake).names
    lake_names = [names.get(id) for id in (columns.previous_id, columns.kept_id) if id is not None]
    return lake_names[0] if len({None, *lake_names}) == 3 else None


def _find_named_column(lake: LakeTable, columns: JoinedColumns | None) -> str | None:
    """Find the same column by names alone, where the version stamp does not decide."""
    if columns is None:
        return None
    previous, kept = columns.previous, columns.kept
    same_name = previous.casefold() == kept.casefold()  # a lake knows names without regard to case
    lake_names = (
        _find_lake_name(lake, previous, DISPLACED_SUFFIX if same_name else ""),
        _find_lake_name(lake, kept),
    )
    return lake_names[0] if len({None, *lake_names}) == 3 else None


def _find_lake_name(lake: LakeTable, column: str, behind: str = "") -> str | None:
    """Find the table's name of a source column with the suffix `behind`; None if it has none.

    The names that the table itself records come first, then the adjusted forms of the name in events.
    """
    names = read_names(lake)
    forms = {f"{form}{behind}".casefold() for form in list_adjusted_forms(column)}
    named = (lake_name for lake_name, source_name in names.items() if source_name == f"{column}{behind}")
    alike = sorted((own for own in lake.schema.names if own.casefold() in forms), key=names.__contains__)
    return next(iter((*named, *alike)), None)


def _format_condition(one: RereadStretch, own: str | None) -> str:
    began = f"`{ORDER}` >= {literal(one.since)}"
    stretch = began if one.until is None else f"{began} AND `{ORDER}` < {literal(one.until)}"
    # a row without a value in the old column has lost no value
    return stretch if own is None else f"{stretch} AND {quote_name(own)} IS NOT NULL"


def _format_count_query(name: str, where: str) -> str:
    """Write a query that counts matching rows by partition, with the first offset of their records."""
    partition = f"substring_index(substring_index(`{ORDER}`, '/', -1), '.', 1)"
    return (
        f"SELECT {partition}, count(*), min(substring_index(`{ORDER}`, '.', -1)) "
        f"FROM {name} WHERE {where} GROUP BY 1 ORDER BY 1"
    )


def _explain_stale_rows(
    history: TableHistory, name: str, one: RereadStretch, where: str, found: Sequence[tuple[object, ...]]
) -> StaleRows:
    count = sum(int(str(n)) for _, n, _ in found)
    offsets = ", ".join(f"offset {int(str(o))} of partition {int(str(p))}" for p, _, o in found)
    topics = " and ".join(history.topics) or "its topic"
    return StaleRows(
        f"{count} of its rows {_explain_lateness(one)}: {one.reason}. Their values may be wrong, so nothing "
        "is renamed, altered or written over them",
        f"delete them (DELETE FROM {name} WHERE {where}) and read "
        f"{topics} again from {offsets} on, with a new checkpoint: until then its records wait. The values "
        "of these rows in columns that the source dropped do not come again: copy them first",
    )


def _explain_rename(history: TableHistory, name: str, previous: TableId) -> StaleRows:
    topics = " and ".join(history.topics) or "its topic"
    return StaleRows(
        f"its rows were written before the rename of {previous} to {history.table} was read: "
        f"the rows of {previous} are not among them",
        f"drop it, rename the lake table that has the rows of {previous} to {name}, set its property "
        f"{SOURCE_PROPERTY} to {history.table}, and read {topics} again from its first row on, with a new "
        "checkpoint: until then its records wait. Or keep both tables: unset the property "
        f"{READ_PROPERTY} of this one",
    )


def _explain_lateness(one: RereadStretch) -> str:
    at = one.coordinates.position.value
    if one.joined:
        return f"from {at} on were written before a later change of the source was read"
    return f"were written before an earlier change of the source, at {at}, was read"
