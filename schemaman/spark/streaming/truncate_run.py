"""A TRUNCATE in the journal: a run of its own, so that people see it and can take it back.

The rows are soft-deleted with the rows of their batch, in one commit. The statement of the run says the same
once more, and changes no further row. Only a TRUNCATE gives rows its own position, so that the way back finds
exactly those.
"""

from __future__ import annotations

import secrets
from dataclasses import replace

from schemaman.errors import SchemamanError, SessionLost
from schemaman.history.versions import TableHistory
from schemaman.migration.apply.apply import apply
from schemaman.migration.conditions import fingerprint_structure
from schemaman.migration.plan import Step
from schemaman.migration.projection.metadata_columns import read_metadata_columns
from schemaman.migration.row_columns import DELETED, ORDER
from schemaman.migration.spark_sql import literal
from schemaman.model.ddl import quote_name
from schemaman.spark.streaming.migration_context import TableContext
from schemaman.spark.streaming.newest_version import make_newest_plan

_NOTE = "the source table was emptied (TRUNCATE): its rows were soft-deleted at its position"


def record_truncate(table: TableContext, history: TableHistory, position: str) -> str:
    """Write the run of a TRUNCATE that was written; `position` is its place in the source's log, as text.

    The rows are deleted already, so that a fault stops nothing: return it as a note, empty for none.

    Raises:
        SessionLost: the engine has stopped.
    """
    try:
        _apply_again(table, history, position)
    except SessionLost:
        raise
    except SchemamanError as error:
        return f"{_NOTE}, and the journal has no run of it: {error.message}"
    return ""


def _apply_again(table: TableContext, history: TableHistory, position: str) -> None:
    plan, live = make_newest_plan(table, history)
    if live is None:
        return
    name, shared = table.sink_table.name, table.shared
    deleted, order = quote_name(DELETED), quote_name(ORDER)
    older = f"NOT coalesce({deleted}, false) AND coalesce({order}, '') < {literal(position)}"
    # Users may have a column of their own that says the same.
    own = read_metadata_columns(live).get("deleted")
    flags = (deleted,) if own is None else (deleted, quote_name(own))
    gone, alive = (", ".join(f"{flag} = {value}" for flag in flags) for value in ("true", "false"))
    step = Step(
        "backfill",
        f"UPDATE {name} SET {gone}, {order} = {literal(position)} WHERE {older}",
        "needs-rewrite",
        "reversible",
        {"structure": fingerprint_structure(live.schema)},
        {},
        f"UPDATE {name} SET {alive} WHERE {deleted} AND {order} = {literal(position)}",
    )
    plan = replace(
        plan, wanted=live.schema, steps=(step,), refusals=(), approvals_needed=(), rulings=(), notes=(_NOTE,),
        point_of_no_return=None,
    )  # fmt: skip
    apply(
        plan, table.executor, shared.journal, shared.clock, run=secrets.token_hex(6), leases=shared.store,
        approved=True, store=shared.store.id,
    )  # fmt: skip
