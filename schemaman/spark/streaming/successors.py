"""Choose the lake table of a source that takes the rows, and begin its successor where its key ends."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial

from schemaman.errors import Locked, PartlyApplied, Stale
from schemaman.history.versions import SchemaVersion, TableHistory, find_perhaps_made_anew
from schemaman.migration.properties.names import PREDECESSOR_PROPERTY, SUCCESSOR_PROPERTY
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.recipes.filled_successors import plan_filling
from schemaman.migration.recipes.successor_plans import plan_successor
from schemaman.migration.replacement_table import NO_CARRIED_COLUMNS
from schemaman.migration.row_columns import add_row_columns
from schemaman.migration.source import migration_source
from schemaman.migration.split_columns import split_columns
from schemaman.migration.successor import LakeTableAt, list_successors
from schemaman.migration.target import LakeTable, query_number
from schemaman.sink.column_mapping import find_incarnation
from schemaman.sink.filled_successors import (
    find_carried_columns,
    find_origin,
    is_filling_due,
    may_fill,
)
from schemaman.sink.row_places import RowPlace, find_place, make_predecessor, pause_place
from schemaman.sink.uncertain_keys import is_key_open
from schemaman.sink.unfinished_runs import finish_killed_runs
from schemaman.spark.streaming.column_parts import add_parts
from schemaman.spark.streaming.migration_state import MigrationState
from schemaman.spark.streaming.newest_version import NEW_TABLE, block_by_plan, find_first_key
from schemaman.spark.streaming.sink_table import Blocked, Ready

_SUCCEEDED = "{}: newer rows go into {}, and {} keeps the rows from before"
_REKEYED = "the key of {} changes from ({}) to ({}), and the rows do not prove it"
_RENAMED = "another table of the source has the name {} now, and the lake table cannot give up its own"
_REBUILT = "the table {} may have been made anew under its name"
_RETYPED = "the key ({1}) of {0} gets another type, which the format does not make in place"
_UNFILLED = "{} is not filled from {}: {}"
_LOST_SUCCESSOR = (
    "newer rows of {} were in {}, which does not exist: restore it; or unset the property {} to write into "
    "the older table again"
)
_UNKNOWN_BEGINNING = (
    "it is not known which versions of the source begin in a successor of its lake table: restore the "
    "property {}"
)


def choose_table(state: MigrationState) -> MigrationState:
    """Choose the table that takes the first of the rows: that of the source, or a successor of it.

    A table that is not the newest one takes its rows as it is. Where the newest one ends before all of the
    rows, its successor is begun, and takes them.
    """
    source, versions = state.source, state.rows.versions
    tables = list_successors(source.inspect, source.sink_table.lake_table)
    format, shared = source.sink_table.target.format, source.shared
    lines = shared.journal.read_target_lines
    if finish_killed_runs(tables, format, shared.store.id, lines, source.run_steps):
        tables = list_successors(source.inspect, source.sink_table.lake_table)
    lost = read_record(tables[-1].lake.properties).successor if tables else ""
    if lost:
        return state.stop(Blocked(_LOST_SUCCESSOR.format(tables[-1].lake.name, lost, SUCCESSOR_PROPERTY)))
    state = fill_successors(replace(state, tables=tables))
    if state.is_stopped:
        return state
    tables = state.tables
    begins = source.find_level("on-key-lost") == "auto"
    follows = all(source.find_level(kind) == "auto" for kind in NEW_TABLE)

    def list_stuck(history: TableHistory, lake: LakeTable) -> Collection[str]:
        context = source.at_address(tables[-1].address)
        wanted = migration_source(split_columns(history, lake), proven=source.takes_proof)
        return context.make_recipes(wanted).list_stuck_columns(lake)

    ends_by_type = source.find_level("on-key-changed") == "auto"
    find_place_among = partial(
        find_place,
        state.whole,
        begins_successors=begins,
        follows_names=follows,
        list_stuck=list_stuck if ends_by_type else None,
        renames=source.find_proven_renames() if ends_by_type else (),
        is_quiet=state.rows.is_quiet,
    )
    place = find_place_among(tables, versions)
    if place is None:
        return state.stop(Blocked(_UNKNOWN_BEGINNING.format(PREDECESSOR_PROPERTY)))
    state = replace(state, tables=tables)
    if place.table is not None and not place.is_newest:
        return _use_earlier_table(state, place, place.table)
    end = _find_due_end(state, place)
    if end is not None:
        # The successor may end before the last of the rows, as a new table for them does.
        following = find_place_among((), [number for number in versions if number >= end.number])
        if following is not None and following.until is not None and following.until > end.number:
            place = replace(place, until=following.until)
        begun = begin_successor(state, end, place)
        return begun if begun.is_stopped else choose_table(begun)
    if place.table is not None:
        state = replace(state, context=source.at_address(place.table.address), lake=place.table.lake)
    if source.splits_columns and any(number < state.whole.latest.number for number in versions):
        place = pause_place(place, state.whole, versions)
    history = place.cut_followed(state.whole)
    if place.is_paused:
        return replace(state, place=place, history=history)
    if state.rows.is_quiet and is_key_open(state.whole) and not place.is_rebuilt(state.whole):
        # No record of another key is known to follow: this table takes what it surely can.
        place = replace(place, until=None)
    return replace(state, place=place, history=history)


def fill_successors(state: MigrationState) -> MigrationState:
    """Fill each successor from the table before it, where the policy has it so and the rows prove it."""
    source, history, tables = state.source, state.whole, state.tables
    if source.find_level("fill-successor") != "auto":
        return state
    demanded = source.has_rule("fill-successor")
    for number in range(1, len(tables)):
        before, after = tables[number - 1 : number + 1]
        if not is_filling_due(history, before, after, is_demanded=demanded):
            continue
        excess = source.explain_rewrite(before.address)
        if excess:
            state = state.add_notes((_UNFILLED.format(after.address, before.address, excess),))
            continue
        plan = plan_filling(
            migration_source(history),
            source.target,
            before,
            after,
            find_origin(history),
            source.sink_table.target.name,
            partial(query_number, source.executor),
        )
        try:
            done = source.apply_plan(plan)
        except Locked:
            # While another job fills it, a row that is deleted in it would lack its last values.
            tables = list_successors(source.inspect, tables[0].address)
            if is_filling_due(history, *tables[number - 1 : number + 1], is_demanded=demanded):
                raise
            continue
        except (Stale, PartlyApplied) as error:
            # Another job filled it: the next batch finds what is missing.
            state = state.add_notes((_UNFILLED.format(after.address, before.address, error.message),))
            continue
        if isinstance(done, Blocked):
            return state.stop(done)
        # The next table takes what this one has got.
        tables = list_successors(source.inspect, tables[0].address)
        state = replace(state.add_notes(done.notes), steps=(*state.steps, *done.steps), tables=tables)
    return state


def begin_successor(
    state: MigrationState,
    version: SchemaVersion,
    place: RowPlace | None = None,
    key: tuple[str, ...] | None = None,
) -> MigrationState:
    """Begin the next lake table of the source, for the rows from a version on, and link to it.

    `place` is that of the table before it. Without `key` it gets that of its first rows, as a new table does.
    Where a later type holds no value of its rows, and no text does, it has the structure from before that
    type. The rows that wait with the key of the table before it hold no key of the new one.
    """
    table, before = state.source, state.tables[-1]
    history = state.whole if place is None else place.cut_successor(state.whole, version)
    if table.splits_columns:
        own = [number for number in state.rows.versions if number >= version.number]
        history = pause_place(RowPlace(None), history, own).cut_history(history)
    key = key or _find_first_key(state, history) or history.latest.schema.key
    proven = table.takes_proof
    source = migration_source(history, proven=proven)
    carried = NO_CARRIED_COLUMNS
    demanded = table.has_rule("fill-successor")
    if table.find_level("fill-successor") == "auto" and may_fill(
        history, before.lake, version, key, is_demanded=demanded
    ):
        carried = find_carried_columns(history, before.lake)
    plans = plan_successor(
        add_row_columns(replace(source, schema=replace(source.schema, key=key))),
        table.target,
        table.inspect,
        state.tables,
        make_predecessor(before, version, history),
        table.shared.policy,
        table.sink_table.target.name,
        table.list_addresses(),
        carried,
    )
    steps: tuple[str, ...] = ()
    for plan in plans:
        done = block_by_plan(plan, before.lake) or table.apply_plan(plan)
        if isinstance(done, Blocked):
            return state.stop(done)
        steps += done.steps
    was, now = (", ".join(names) for names in (before.lake.schema.key, key))
    if version.number in find_perhaps_made_anew(history):
        why = _REBUILT.format(history.table)
    elif was != now:
        why = _REKEYED.format(history.table, was, now)
    elif find_incarnation(before.lake, history) not in (None, history.latest.incarnation):
        why = _RENAMED.format(history.table)
    else:
        why = _RETYPED.format(history.table, now)
    note = _SUCCEEDED.format(why, plans[0].table, before.address)
    begun = state.add(Ready(before.lake, steps, notes=(note,)))
    return replace(begun, rows=replace(state.rows, holds_key=False), undropped="")


def _find_first_key(state: MigrationState, history: TableHistory) -> tuple[str, ...] | None:
    """Find the key of the first rows of a successor; None for the newest key."""
    keys = replace(state.keys, history=history)
    return find_first_key(state.source, history, keys)


def _use_earlier_table(state: MigrationState, place: RowPlace, table: LakeTableAt) -> MigrationState:
    """A table that has a successor: its rows come before those of later tables.

    Its structure stays, but for columns of texts beside those whose types do not hold a value. A successor
    that was filled gets the rows that come late, too, once they are written.
    """
    later = place.list_later(state.rows.versions)
    following = state.tables[state.tables.index(table) + 1]
    if place.until is not None and read_record(following.lake.properties).is_filled:
        later |= {place.until}
    lake, steps = table.lake, state.steps
    if state.rows.unfit:
        context = state.source.at_address(table.address)
        earlier = replace(state, context=context, lake=lake, history=place.cut_history(state.whole))
        added = add_parts(earlier)
        if added.is_stopped:
            return added
        lake, steps = added.lake or lake, added.steps
    return state.stop(
        Ready(
            lake,
            steps,
            proven=state.source.find_proven_renames(),
            ignores_additions=state.ignores_additions,
            later=later,
            keeps_both=state.source.keeps_both,
            proves_keys=True,
            place=replace(place, table=LakeTableAt(table.address, lake)),
            is_over=state.rows.is_quiet,
        )
    )


def _find_due_end(state: MigrationState, place: RowPlace) -> SchemaVersion | None:
    """Find the version at which the newest table ends, if no row has an earlier one; None if it goes on."""
    if place.until is None or place.table is None:
        return None
    whole = place.cut_rebuilt(state.whole, place.until)
    if is_key_open(whole) and not place.is_rebuilt(state.whole):
        return None
    if any(map(place.has_version, state.rows.versions)):
        return None
    return next(v for v in state.whole.versions if v.number == place.until)
