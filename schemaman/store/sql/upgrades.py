"""From an older layout of a store to the one of today, a step at a time.

Law: all steps are one transaction, in which the log stays as it is; what is folded is folded again last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection

from schemaman.errors import StoreUnavailable
from schemaman.store.sql.histories import StoredHistories
from schemaman.store.sql.subject_tables import SUBJECT_TABLES
from schemaman.store.sql.tables import (
    CHECKPOINT,
    FORM,
    FORM_CHANGE,
    HISTORY_BLOCK,
    LAYOUT,
    METADATA,
    NAMED,
    RESTORE,
    SUMMARY,
    make_damaged_error,
    read_meta,
    set_meta,
)
from schemaman.store.sql.verify import find_chain_faults


def _add_names_and_forms(connection: Connection) -> None:
    """Names and forms of tables are in separate rows; a new fold writes them."""
    for table in (NAMED, FORM, FORM_CHANGE):
        table.create(connection)


def _fold_again(connection: Connection) -> None:
    """The result of the fold changes; the tables stay.

    3: a table that got its name back no longer decides its own changes.
    4: swapped names begin a version; a run of two versions counts for neither alone; ambiguity is reported.
    5: each fact that was read later than its rows has the record from which on it is proven.
    6: certain facts of a column are not those of another column with its name. Rows that were read outside of
    the stream follow the statement with their schema. Each history has a seal.
    7: the first and the last record with a position are kept if rows were read outside of the stream before
    or after them.
    8: a fact that a reading outside of the stream proves has a proof there, even at the beginning of a
    version. A reading after the catalogue lost a column proves nothing about that column. With rows only, a
    connector's own schema history shows that a table was created again; it supports no version of another
    incarnation.
    9: a repeated statement that swaps names swaps nothing.
    13: the proof of a key has the time at which the key was first read.
    """


def _add_summaries(connection: Connection) -> None:
    """Each history has a summary in a row of its own; a new fold writes it."""
    SUMMARY.create(connection)


def _add_subjects(connection: Connection) -> None:
    """The subjects of a schema registry are rows of their own, which no fold touches."""
    METADATA.create_all(connection, tables=SUBJECT_TABLES)


def _add_blocks(connection: Connection) -> None:
    """The versions of a long history are in blocks, and its fold goes on from a checkpoint."""
    METADATA.create_all(connection, tables=[HISTORY_BLOCK, CHECKPOINT])


STEPS: Mapping[int, Callable[[Connection], None]] = {
    1: _add_names_and_forms,
    2: _fold_again,
    3: _fold_again,
    4: _fold_again,
    5: _fold_again,
    6: _fold_again,
    7: _fold_again,
    8: _fold_again,
    9: _add_summaries,
    10: _add_subjects,
    11: _add_blocks,
    12: _fold_again,
}
"""By layout, the step to the next one: it changes only tables and columns. A step whose tables change later
keeps a copy of their earlier form. A layout that only changes the result of the fold has an empty step.
"""


def read_layout(connection: Connection) -> int:
    """The layout of a store. Raises `StoreUnavailable` if it is no number."""
    value = read_meta(connection, "layout")
    if not value.isascii() or not value.isdigit():
        raise make_damaged_error(f"its layout is {value!r}")
    return int(value)


def refuse_layout(layout: int, where: str) -> None:
    """Raises `StoreUnavailable` for a layout that this code neither reads nor upgrades."""
    if layout != LAYOUT and layout not in STEPS:
        raise StoreUnavailable(
            f"{where} has layout {layout}; this schemaman reads layout {LAYOUT}",
            hint="use the schemaman that wrote it, or a newer one, or name another store",
        )


def upgrade_store(connection: Connection, histories: StoredHistories) -> int:
    """Upgrade a store to the current layout, in an exclusive transaction; return its previous layout.

    Raises:
        StoreUnavailable: the log is damaged, so that it cannot be folded.
    """
    before = read_layout(connection)
    if before == LAYOUT:
        return before
    fault = next(find_chain_faults(connection, histories.where, filing=False), None)
    if fault is not None:
        raise StoreUnavailable(
            f"{histories.where} cannot be upgraded from layout {before} to {LAYOUT}: {fault}", hint=RESTORE
        )
    for layout in range(before, LAYOUT):
        STEPS[layout](connection)
    set_meta(connection, layout=str(LAYOUT))
    histories.rebuild(connection)
    return before
