"""Keep the columns and nested fields that the source has dropped and rows still to be written have."""

from __future__ import annotations

from dataclasses import replace

from schemaman.history.struct_fields import lower_path
from schemaman.history.versions import TableHistory
from schemaman.migration.properties.displaced_columns import format_displaced, read_displaced
from schemaman.migration.properties.names import DISPLACED_PROPERTY
from schemaman.migration.spark_sql import set_properties
from schemaman.model.ddl import quote_name
from schemaman.model.schema import Column, TableSchema, walk_fields
from schemaman.model.types import Array, Map, Struct
from schemaman.sink.dropped_columns import (
    add_columns,
    add_nested_fields,
    has_newest_version_stamp,
    rename_displaced,
)
from schemaman.sink.key_sequence import KeySequence
from schemaman.spark.streaming.migration_context import TableContext
from schemaman.spark.streaming.migration_state import MigrationState
from schemaman.spark.streaming.newest_version import migrate_to_newest
from schemaman.spark.streaming.sink_table import Blocked, Ready


def keep_dropped(state: MigrationState) -> MigrationState:
    """Add the dropped columns and nested fields whose names are free, before the newest version drops them.

    Where the policy lets values go, or the table has the columns, nothing is added.
    """
    history, dropped = state.history, () if state.drops else state.dropped.named
    with_fields = history if state.drops else add_nested_fields(history, state.rows.versions)
    if not dropped and with_fields == history:
        return state
    ready = None if state.lake is None else Ready(state.lake)
    if ready:
        dropped = _leave_out_displaced(ready, history, dropped)
        missing = _find_missing_columns(ready, history, dropped)
        if not missing and not _lacks_nested_fields(ready, with_fields):
            return state
    kept = _add_dropped(state, with_fields, dropped)
    if isinstance(kept, Blocked) and not kept.is_temporary and ready:
        # a column that the table has, and cannot give the type that it had last, prevents no other one
        others = tuple(column for column in dropped if column.name in missing)
        again = _add_dropped(state, with_fields, others) if 0 < len(others) < len(dropped) else kept
        kept = again if isinstance(again, Ready) else kept
    if isinstance(kept, Ready):
        return state.add(kept)
    return state.stop(kept) if kept.is_temporary else replace(state, undropped=kept.reason)


def _add_dropped(
    state: MigrationState, history: TableHistory, columns: tuple[Column, ...]
) -> Ready | Blocked:
    return migrate_to_newest(state.context, state.recorded, add_columns(history, columns), state.keys)


def keep_displaced(state: MigrationState) -> MigrationState:
    """Add the dropped columns whose names other columns have by now, and note what the table still lacks."""
    ready = state.ready
    assert ready is not None
    dropped, refused_displaced = state.dropped, ""
    kept = None if state.drops else _add_displaced(state, ready, dropped.displaced)
    if isinstance(kept, Blocked) and kept.is_temporary:
        return state.stop(kept)
    if isinstance(kept, Ready):
        state, ready = state.add(kept), kept
    elif kept is not None:
        refused_displaced = kept.reason
    reasons = ((dropped.named, state.undropped), (dropped.displaced, refused_displaced))
    notes = tuple(
        f"{quote_name(name)}: {_explain_missing(state.context, refused)}"
        for columns, refused in reasons
        for name in _find_missing_columns(ready, state.known, columns)
    )
    return state.add_notes(notes)


def _add_displaced(
    state: MigrationState, ready: Ready, dropped: tuple[Column, ...]
) -> Ready | Blocked | None:
    """The table with columns whose names other columns have taken over; None if it has them."""
    table, history = state.context, state.history
    missing = [c for c in dropped if _find_missing_columns(ready, state.known, (c,))]
    if not missing:
        return None
    sink_table, policy = table.sink_table, table.shared.policy
    names = str(sink_table.table), sink_table.target.name, sink_table.target.format
    ruling = policy.find_ruling("reuse-name", *names)
    if ruling.level not in ("auto", "approve"):
        return Blocked(f"another column has its name now ({ruling.why})")
    if not has_newest_version_stamp(ready.lake, history):
        return Blocked("another column has its name now, and the table is not of the newest version")
    style = policy.find_representation(*names).names
    kept, entries = rename_displaced(history, state.known, ready.lake, missing, style)
    table.executor.run(set_properties(sink_table.name, {DISPLACED_PROPERTY: format_displaced(entries)}))
    keys = KeySequence(history, is_automatic=ready.proves_keys)
    return migrate_to_newest(table, state.recorded, kept, keys)


def _explain_missing(table: TableContext, refused: str) -> str:
    """Why the table has no column for a dropped column of the source."""
    if refused:
        return f"the source has dropped it, and the lake did not get it for older rows: {refused}"
    target = table.sink_table.target
    names = str(table.sink_table.table), target.name, target.format
    why = table.shared.policy.find_ruling("drop-column", *names).why
    return f"the source has dropped it, and its values in older rows are left out ({why})"


def _find_missing_columns(
    ready: Ready, history: TableHistory, columns: tuple[Column, ...]
) -> tuple[str, ...]:
    """The names of the columns that a lake table lacks."""
    mapped = ready.map_rows(history).names if columns else {}
    return tuple(c.name for c in columns if c.id not in mapped)


def _leave_out_displaced(
    ready: Ready, history: TableHistory, columns: tuple[Column, ...]
) -> tuple[Column, ...]:
    """The columns but those of which the table has the values under a name that it gave them."""
    displaced = read_displaced(ready.lake)
    mapped = ready.map_rows(history).names if displaced else {}
    return tuple(c for c in columns if c.id is None or mapped.get(c.id) not in displaced)


def _lacks_nested_fields(ready: Ready, history: TableHistory) -> bool:
    """Whether a lake table lacks a nested field of the newest version."""
    names = ready.map_rows(history).names
    types = {c.name: c for c in ready.lake.schema.columns}
    for column in history.latest.schema.columns:
        name = None if column.id is None else names.get(column.id)
        if name is not None and isinstance(types[name].type, Array | Map | Struct):
            here, there = (
                {lower_path(path[1:]) for path, _, _ in walk_fields(TableSchema((each,)))}
                for each in (types[name], column)
            )
            if there - here:
                return True
    return False
