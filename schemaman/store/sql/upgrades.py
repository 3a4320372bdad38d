"""From an older layout of a store to the one of today, a step at a time.

Law: all steps are one transaction, in which the log stays as it is; what is folded is folded again last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection

from schemaman.errors import StoreUnavailable
from schemaman.store.sql.histories import StoredHistories
from schemaman.store.sql.tables import (
    FORM,
    FORM_CHANGE,
    LAYOUT,
    NAMED,
    RESTORE,
    make_damaged_error,
    read_meta,
    set_meta,
)
from schemaman.store.sql.verify import find_chain_faults


def _add_names_and_forms(connection: Connection) -> None:
    """Names and forms of tables lie in rows of their own; folding again writes them."""
    for table in (NAMED, FORM, FORM_CHANGE):
        table.create(connection)


def _fold_again(connection: Connection) -> None:
    """The fold says something else.

    3: a table that got its name back no longer decides its own changes. 4: names that were exchanged begin a
    version; a run that two versions hold counts for neither alone; what may be two truths is told. 5: it is
    told from which record on each fact is proven that was read later than its rows. 6: what was certain of a
    column is not of another one of its name; rows that were read beside the stream stand behind the
    statement whose structure they show; each history bears a seal. 7: the first and the last record that have
    a position are kept where rows were read beside the stream before or behind them. 8: a fact that a reading
    beside the stream proves has a proof there, also where the version begins with it; what was read when the
    catalogue had lost a column proves nothing of it; beside rows alone, a connector's own schema history
    tells that a table stands again; it supports no version of another one. 9: a statement that exchanges
    names and is told again exchanges nothing.
    """


STEPS: Mapping[int, Callable[[Connection], None]] = {
    1: _add_names_and_forms,
    2: _fold_again,
    3: _fold_again,
    4: _fold_again,
    5: _fold_again,
    6: _fold_again,
    7: _fold_again,
    8: _fold_again,
}
"""By layout, what makes the next one of it: tables and columns only. A step whose tables change later keeps
a copy of them as they were. A layout in which only the fold says something else has a step that does nothing.
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
            hint="use the schemaman that wrote it, or a newer one, or name another store with --store",
        )


def upgrade_store(connection: Connection, histories: StoredHistories) -> int:
    """Bring a store to the layout of today, in a transaction that nobody else writes beside; what it was.

    Raises:
        StoreUnavailable: its log is damaged, so that nothing can be folded from it.
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
