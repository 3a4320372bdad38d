"""Migrate a lake table to the structure that the rows of a batch need, as far as the policy allows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from schemaman.errors import (
    BadReference,
    Locked,
    NoHistory,
    PartlyApplied,
    RowsUnready,
    SchemamanError,
    Stale,
    StatementConflict,
    StatementFailed,
)
from schemaman.history.open_renames import treat_as_additions
from schemaman.history.versions import TableHistory
from schemaman.migration.plan import Refusal
from schemaman.migration.source import migration_source
from schemaman.migration.successor import LakeTableAt, find_first_address
from schemaman.sink.answered_renames import find_former_columns, plan_answered_renames
from schemaman.sink.key_sequence import KeySequence, NextKey
from schemaman.sink.moved_tables import has_moved, is_renamed
from schemaman.sink.preflight import refuse_unconfirmed_key
from schemaman.sink.reread import hash_reading
from schemaman.sink.table_stages import Stage, run_stages
from schemaman.sink.uncertain_keys import is_key_open
from schemaman.spark.sql_errors import RAISED
from schemaman.spark.streaming.column_parts import add_parts
from schemaman.spark.streaming.kept_columns import keep_displaced, keep_dropped
from schemaman.spark.streaming.migration_context import TableContext
from schemaman.spark.streaming.migration_state import MigrationState, RowsToWrite
from schemaman.spark.streaming.newest_version import migrate_to_newest
from schemaman.spark.streaming.noted_inspections import NotedInspections
from schemaman.spark.streaming.sink_table import OVERTAKEN, Blocked, Ready
from schemaman.spark.streaming.successors import begin_successor, choose_table

_APART = "columns of an answered rename are not united yet, both keep their values"


@dataclass(frozen=True, slots=True)
class UnprovenKey:
    """The key of the rows that come next, which the rows of a table do not prove, and the reason."""

    next: NextKey
    reason: str


def migrate_table(
    table: TableContext,
    read_by: TableHistory,
    versions: Collection[int] = (),
    *,
    holds_key: bool = False,
    unfit: Collection[int] = (),
    is_quiet: bool = False,
) -> Ready | Blocked:
    """Migrate the lake table to the newest version of its source, or return why it is blocked.

    `read_by` is the history, with decisions, with which the rows were read. If the history has changed since,
    the rows must be read again: the table would have another schema than the rows. Columns of `versions` that
    the newest one lacks are kept, under the policy for drops. For the other arguments see `RowsToWrite`.

    A fault of one table, even an unforeseen one, never blocks another; only a failure of the store or of the
    session is raised.
    """
    shared = table.shared
    table = replace(table, executor=NotedInspections(table.executor, shared.journal, shared.clock))
    try:
        source = table.sink_table
        table = table.at_address(find_first_address(table.inspect, source.lake_table, str(source.table)))
        recorded = table.shared.registry.history(source.table)
        history = table.shared.apply_decisions(recorded)
        if hash_reading(history) != hash_reading(read_by):
            return OVERTAKEN
        rows = RowsToWrite(frozenset(versions), frozenset(unfit), holds_key, is_quiet)
        begun = MigrationState(table, table, rows, recorded, history, history)
        return _finish(run_stages(begun, {"move-tables": _move_tables, **_STAGES}))
    except (StatementFailed, Stale, PartlyApplied, NoHistory, BadReference) as error:
        return Blocked(_format_error(error), is_locked=isinstance(error, (Locked, StatementConflict)))
    except (SchemamanError, *RAISED):
        raise
    except Exception as error:  # an unforeseen fault has no known class
        return Blocked(f"it cannot be migrated: {type(error).__name__}: {error}")


def _move_tables(state: MigrationState) -> MigrationState:
    """Give the lake table its name; from then on an open rename is an addition where the policy has it so."""
    mover, address = state.source.make_mover(), state.source.sink_table.lake_table
    moved = mover.move_tables(state.whole, address) if has_moved(state.whole) else ()
    notes = mover.explain_copies(state.whole, address) if moved else ()
    whole = treat_as_additions(state.whole) if state.source.keeps_both else state.whole
    return replace(state, whole=whole, history=whole, steps=moved).add_notes(notes)


def _migrate(state: MigrationState) -> MigrationState:
    """Bring the table to the newest version."""
    outcome = migrate_to_newest(state.context, state.recorded, state.history, state.keys)
    return state.stop(outcome) if isinstance(outcome, Blocked) else state.add(outcome)


def _unite_columns(state: MigrationState) -> MigrationState:
    """Unite columns whose rename was answered after the table had got both.

    Where the rows do not prove which of two values holds, both columns keep theirs, and a note says so.
    """
    table, ready = state.context, state.ready
    if ready is None or table.find_level("unite-columns") not in ("auto", "approve"):
        return state
    former = find_former_columns(ready.join_renames(state.history), ready.lake)
    recipes = table.make_recipes(migration_source(state.history))
    plan, notes = plan_answered_renames(recipes, ready.lake, former, table.executor)
    if plan is None:
        return state.add_notes(notes)
    outcome = table.apply_approved(plan)
    if isinstance(outcome, Blocked) and outcome.plan is not None and plan.approvals_needed:
        waiting = f"{_APART}: {outcome.reason}"
        return replace(state.add_notes((*notes, waiting)), ready=replace(ready, waiting=outcome.plan))
    if isinstance(outcome, Blocked):
        return state.stop(outcome)
    return state.add(replace(ready, lake=outcome.lake, steps=outcome.steps, notes=notes))


def _take_rows(state: MigrationState) -> MigrationState:
    """Take the rows of the lake table of an earlier name of the source."""
    table, ready = state.context, state.ready
    if ready is None or not is_renamed(state.history):
        return state
    address = table.sink_table.lake_table
    steps, notes = table.make_mover().take_rows(state.history, address)
    lake = table.inspect(address) if steps else None
    return state.add(replace(ready, lake=lake or ready.lake, steps=steps, notes=notes))


def _change_key(state: MigrationState) -> MigrationState:
    """Give the table the key of the rows that come next; a successor gets it if the rows do not prove it."""
    assert state.ready is not None
    keyed = _rekey(state, state.ready)
    if isinstance(keyed, Ready):
        return state.add(keyed)
    if isinstance(keyed, Blocked):
        return state.stop(keyed)
    if state.source.find_level("on-key-changed") != "auto":
        return state.stop(Blocked(keyed.reason))
    newest = LakeTableAt(state.context.sink_table.lake_table, state.ready.lake)
    ended = replace(state, tables=(*state.tables[:-1], newest))
    begun = begin_successor(ended, keyed.next.version, state.place, _name_whole(keyed.next.key, state))
    return begun if begun.is_stopped else run_stages(begun, _STAGES)


def _name_whole(key: tuple[str, ...], state: MigrationState) -> tuple[str, ...]:
    """The key by the source's names: the table may have parts of its columns, a successor has none."""
    newest = state.history.latest
    whole = next(v for v in state.whole.versions if v.number == newest.number)
    pairs = zip(newest.schema.columns, whole.schema.columns, strict=False)
    names = {part.name: column.name for part, column in pairs}
    return tuple(names.get(name, name) for name in key)


def _rekey(state: MigrationState, ready: Ready) -> Ready | Blocked | UnprovenKey:
    """The table with the key of the rows that come next, once no row of the batch has its present one.

    Late rows of an earlier key wait if the rows of the table do not prove that one.
    """
    # A column that has got another name on proof is the same one in each key.
    keys = replace(state.keys, history=ready.join_renames(state.history))
    while True:
        keyed = _take_next_key(state, ready, keys)
        if not isinstance(keyed, UnprovenKey) or not keyed.next.is_earlier:
            return keyed
        number = keyed.next.version.number
        keys = replace(keys, versions=frozenset(v for v in keys.versions if v > number))


def _take_next_key(state: MigrationState, ready: Ready, keys: KeySequence) -> Ready | Blocked | UnprovenKey:
    """The table with the next of some keys."""
    table, history = state.context, state.history
    following = keys.find_next(ready.lake.schema.key, ready.map_rows(history).names)
    unchanged = replace(ready, steps=(), notes=())
    if following is None or refuse_unconfirmed_key(history) is not None:
        return unchanged
    if following.is_held:
        return replace(unchanged, later=following.later)
    schema = replace(history.latest.schema, key=following.key)
    plan = table.make_recipes(replace(migration_source(history), schema=schema)).plan_rekey(ready.lake)
    if plan is None:
        return unchanged
    if isinstance(plan, Refusal):
        return UnprovenKey(following, f"{plan.change}: {plan.reason}; instead: {plan.instead}")
    excess = table.explain_scan(ready.lake.name)
    if excess:
        return Blocked(f"the key is not changed: {excess}", plan)
    try:
        outcome = table.apply_approved(plan)
    except RowsUnready as error:
        return UnprovenKey(following, _format_error(error))
    if isinstance(outcome, Blocked):
        return outcome
    return replace(unchanged, lake=outcome.lake, steps=outcome.steps, later=following.later)


_STAGES: Mapping[Stage, Callable[[MigrationState], MigrationState]] = {
    "choose-table": choose_table,
    "split-columns": add_parts,
    "keep-dropped": keep_dropped,
    "migrate": _migrate,
    "keep-displaced": keep_displaced,
    "unite-columns": _unite_columns,
    "take-rows": _take_rows,
    "change-key": _change_key,
}


def _finish(state: MigrationState) -> Ready | Blocked:
    """The table that can take the rows, with the versions whose rows come after it."""
    if state.outcome is not None:
        return state.outcome
    assert state.ready is not None
    assert state.place is not None
    ready, versions = state.ready, state.rows.versions
    place = replace(state.place, table=LakeTableAt(state.context.sink_table.lake_table, ready.lake))
    # What comes after a table that was just made is decided as if the batch had ended there.
    whole = place.cut_rebuilt(state.whole, place.until)
    goes_on = state.place.table is None or place.is_paused or not is_key_open(whole)
    later = place.list_later(versions) if goes_on or place.is_rebuilt(state.whole) else frozenset()
    return replace(
        ready,
        steps=state.steps,
        notes=tuple(dict.fromkeys(state.notes)),
        drops=state.drops,
        ignores_additions=state.ignores_additions,
        later=ready.later | later,
        adds_texts=state.source.splits_columns and not state.rows.unfit,
        is_over=state.rows.is_quiet,
        place=place,
    )


def _format_error(error: SchemamanError) -> str:
    return error.message if error.hint is None else f"{error.message} ({error.hint})"
