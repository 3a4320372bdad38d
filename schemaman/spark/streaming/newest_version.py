"""Migrate a lake table of the sink to the newest version of a history, by the ordinary plan."""

from __future__ import annotations

from dataclasses import replace

from schemaman.history.decisions import Decisions, apply_decisions
from schemaman.history.open_renames import describe_open_renames, treat_as_additions
from schemaman.history.versions import TableHistory
from schemaman.migration.apply.apply import target_id
from schemaman.migration.plan import MigrationSource, Plan
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import ChangeKind
from schemaman.migration.properties.names import STORE_PROPERTY
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.row_columns import DELETED, ORDER, add_row_columns
from schemaman.migration.source import migration_source
from schemaman.migration.split_columns import join_split_renames, widen_types
from schemaman.migration.successor import LakeTableAt
from schemaman.migration.target import LakeTable
from schemaman.sink.key_sequence import KeySequence
from schemaman.sink.preflight import refuse_unconfirmed_key
from schemaman.sink.row_order import SNAPSHOT, format_order
from schemaman.sink.row_places import RowPlace
from schemaman.spark.streaming.migration_context import TableContext
from schemaman.spark.streaming.noted_inspections import NotedInspections
from schemaman.spark.streaming.sink_table import OVERTAKEN, Blocked, Ready

NEW_TABLE: tuple[ChangeKind, ...] = ("drop-table", "rename-table")
"""After these changes a table of the same name holds the rows of another table."""


_RENAMED = (
    "the source has renamed {}, its lake table is {}, and its columns are not those of the rows: read the "
    "table again under its new name (signal `execute-snapshot`), then delete the records of {} from the "
    "quarantine"
)


def migrate_to_newest(
    table: TableContext, recorded: TableHistory, history: TableHistory, keys: KeySequence
) -> Ready | Blocked:
    """Bring the table to the newest version of a history. Raises as `apply`.

    `recorded` is the whole history of the source without decisions.
    """
    plan, live = make_newest_plan(table, history, keys)
    if table.keeps_both and plan.steps:
        decided = table.shared.apply_decisions(recorded)
        plan = replace(plan, notes=(*plan.notes, *describe_open_renames(decided)))
    blocked = _block_by_checks(table, recorded, plan, live, keys) or block_by_plan(plan, live)
    if blocked is not None:
        return blocked
    emptied = _describe_emptied(table, recorded, live)
    if emptied and table.find_level("truncate") in ("block", "approve"):
        return Blocked(emptied)
    outcome = Ready(live) if live is not None and not plan.steps else table.apply_plan(plan)
    if isinstance(outcome, Blocked):
        return outcome
    name = table.sink_table.name
    if not table.stale_rows.record_reading(recorded, outcome.lake, name, table.executor):
        return OVERTAKEN
    return replace(
        outcome,
        proven=table.find_proven_renames(),
        keeps_both=table.keeps_both,
        proves_keys=keys.is_automatic,
        notes=(*outcome.notes, emptied) if emptied else outcome.notes,
    )


def make_newest_plan(
    table: TableContext, history: TableHistory, keys: KeySequence | None = None
) -> tuple[Plan, LakeTable | None]:
    """Plan the newest version, and return the table as it is; `keys` are those of the rows to write.

    Raises:
        StatementFailed: the lake cannot be asked.
    """
    sink_table, shared = table.sink_table, table.shared
    live = table.inspect(sink_table.lake_table)
    source = add_row_columns(_make_source(table, history, live, keys))
    name = sink_table.target.name
    plan = make_plan(source, live, table.target, sink_table.lake_table, shared.policy, target_name=name)
    view = sink_table.target.find_view(sink_table.table)
    if view is None:
        return plan, live
    lines = shared.journal.read_dated_lines(target_id(sink_table.target.format, sink_table.lake_table))
    decided = join_split_renames(table.decide_history(), live, table.find_proven_renames())
    whole = treat_as_additions(decided) if table.keeps_both else decided
    others = table.list_other_tables()
    how = (lines, table.executor, shared.clock(), others, sink_table.target.address)
    return shared.views.plan_view(plan, live, whole, view, *how), live


def block_by_plan(plan: Plan, live: LakeTable | None) -> Blocked | None:
    """Explain why the policy or the plan allows no rows in a table; None if it allows them."""
    if plan.refusals:
        reasons = "; ".join(f"{r.change}: {r.reason}; instead: {r.instead}" for r in plan.refusals)
        return Blocked(reasons, plan)
    waiting = [f"{r.change}: {r.why}" for r in plan.rulings if r.level == "quarantine" or r.kind in NEW_TABLE]
    if waiting:
        return Blocked("; ".join(waiting), plan)
    if live is None and not plan.steps:
        return Blocked("; ".join(plan.notes), is_ignored=True)
    return None


def refuse_foreign_store(table: TableContext, live: LakeTable) -> str | None:
    """Explain why a table accepts no rows: another store maintains it; None if none does."""
    keeper, own = read_record(live.properties).store, table.shared.store.id
    if not keeper or keeper == own:
        return None
    return (
        f"the store {keeper} maintains {live.name}, and this store is {own}: use that store; or, "
        f"if it no longer exists, set the property {STORE_PROPERTY} of the table to {own}"
    )


def _make_source(
    table: TableContext, history: TableHistory, live: LakeTable | None, keys: KeySequence | None
) -> MigrationSource:
    """The source of the plan; a new table has the key of the first rows, and types that hold all of them."""
    proven = table.takes_proof
    source = _order_key(live, migration_source(history, proven=proven))
    if live is not None or keys is None:
        return source
    first = find_first_key(table, history, keys)
    if first is not None:
        source = replace(source, schema=replace(source.schema, key=first))
    if table.splits_columns:
        wide = widen_types(history, keys.versions)
        source = replace(source, schema=replace(wide, key=source.schema.key))
    return source


def find_first_key(table: TableContext, history: TableHistory, keys: KeySequence) -> tuple[str, ...] | None:
    """Find the key of the first rows, also where its columns have other names by now on proof."""
    proven = Decisions(table.find_proven_renames())
    joined = apply_decisions(keys.history, proven)
    return replace(keys, history=joined).find_first(apply_decisions(history, proven))


def _order_key(live: LakeTable | None, source: MigrationSource) -> MigrationSource:
    """The source with its key in the table's order, if only that differs: rows are merged alike."""
    key = live.schema.key if live is not None else ()
    if sorted(key) != sorted(source.schema.key):
        return source
    return replace(source, schema=replace(source.schema, key=key))


def _block_by_checks(
    table: TableContext, recorded: TableHistory, plan: Plan, live: LakeTable | None, keys: KeySequence
) -> Blocked | None:
    """Explain why the store or the rows that are there allow no migration; None if they allow it."""
    if live is None:
        missing = _refuse_creation(table, keys)
        if missing is None:
            return None
        return Blocked(missing, is_locked=_is_made_meanwhile(table), copy=_find_moved(table, missing))
    foreign = refuse_foreign_store(table, live)
    if foreign is not None:
        return Blocked(foreign)
    taken = _refuse_taken(table, recorded)
    if taken is not None:
        return Blocked(taken, copy=Ready(live, closed=taken) if live.schema.key else None)
    preflight = table.make_preflight()
    mistaken = preflight.find_mistaken_names(live, plan)
    stale_rows = preflight.find_stale_rows(recorded, live, table.sink_table.target.format)
    if mistaken is not None:
        return Blocked(f"{mistaken.reason}: {mistaken.instead}")
    return None if stale_rows is None else Blocked(str(stale_rows))


def _is_made_meanwhile(table: TableContext) -> bool:
    """Whether another job has made the table since it was inspected: it is tried again, as after a lease."""
    executor = table.executor.engine if isinstance(table.executor, NotedInspections) else table.executor
    return executor.inspect(table.sink_table.lake_table, table.sink_table.target.format) is not None


def _refuse_taken(table: TableContext, recorded: TableHistory) -> str | None:
    """Why a table takes no rows since that of the next name of its source took those that it had."""
    address, history = table.sink_table.lake_table, table.shared.apply_decisions(recorded)
    renamed = table.make_mover().find_renamed_table(history, address)
    return None if renamed is None else _explain_renamed(history, renamed)


def _explain_renamed(history: TableHistory, renamed: LakeTableAt) -> str:
    return _RENAMED.format(history.table, renamed.address, " and ".join(history.topics) or "its topic")


def _refuse_creation(table: TableContext, keys: KeySequence) -> str | None:
    """Why a lake table must not be made now; None if it may."""
    unsure = refuse_unconfirmed_key(keys.history)
    if unsure is not None and keys.find_first(keys.history) is None:
        return f"{unsure.reason}: {unsure.instead}"
    target, address = table.sink_table.target, table.sink_table.lake_table
    mover, history = table.make_mover(), table.decide_history()
    renamed = mover.find_renamed_table(history, address)
    if renamed is not None and not mover.is_swapped_in(history):
        return _explain_renamed(history, renamed)
    addresses = None if mover.takes_rows_over(table.sink_table.table, address) else target.address
    missing = table.make_preflight().find_missing_table(history, target.format, address, addresses)
    return None if missing is None else str(missing)


def _find_moved(table: TableContext, closed: str) -> Ready | None:
    """Find the table of the next name of a source, which may have the rows of a batch that comes again."""
    found = table.make_mover().find_superseding_table(table.decide_history(), table.sink_table.lake_table)
    return None if found is None else Ready(found.lake, closed=closed, supersedes=True, place=RowPlace(found))


def _describe_emptied(table: TableContext, history: TableHistory, live: LakeTable | None) -> str:
    """Explain which rows a TRUNCATE emptied that a statement alone tells; empty if there are none.

    MySQL's and MariaDB's connectors send no event of it by default (`skipped.operations`), so that no
    batch deletes the rows.
    """
    level = table.find_level("truncate")
    if live is None or DELETED not in live.schema.names or level == "ignore" or not history.versions:
        return ""
    topics = {alias.name for alias in history.aliases if alias.kind == "topic"}
    done = read_record(live.properties).truncated
    last = max(
        (
            format_order(event.at.position, SNAPSHOT, 0, 0)
            for event in history.events
            if event.kind == "truncated"
            and event.at.topic not in topics
            and event.at.position.kind != "none"
            and event.incarnation == history.latest.incarnation
        ),
        default="",
    )
    older = f"`{ORDER}` >= '' AND `{ORDER}` < '{last}'"
    alive = f"(`{ORDER}` IS NULL OR {older}) AND NOT coalesce(`{DELETED}`, false)"
    name = table.sink_table.name
    if last <= done or not table.executor.query(f"SELECT 1 FROM {name} WHERE {alive} LIMIT 1"):
        return ""
    return (
        "the source table was emptied (TRUNCATE), as a statement alone tells "
        f"(skipped.operations): delete the rows from before (DELETE FROM {name} WHERE {alive}), "
        'or write truncate = "ignore" into a [[policy]] for this table to keep them'
    )
