"""Checks the rows of a log: consecutive numbers, the hash chain, and correct index columns."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, func, select

from schemaman.errors import StoreUnavailable
from schemaman.store.hash_chain import GENESIS, hash_entry
from schemaman.store.sql.histories import SEALED_COLUMNS, SealedRow, log_rows, read_entry, read_sealed_entry
from schemaman.store.sql.quick_statements import QuickStatement
from schemaman.store.sql.tables import LAYOUT, LOG, list_index_columns, make_damaged_error, read_meta

_ANY = LOG.alias("any")
_LAST_ENTRY = QuickStatement(
    select(*SEALED_COLUMNS).where(LOG.c.sequence == select(func.max(_ANY.c.sequence)).scalar_subquery())
)


def require_sound_end(connection: Connection, where: str, end: int) -> None:
    """Refuse to append to a damaged log, or to a layout that another process has upgraded meanwhile.

    Raises:
        StoreUnavailable: the end of the log is missing or altered, or the store has another layout.
    """
    if read_meta(connection, "layout") != str(LAYOUT):
        raise StoreUnavailable(
            "the store was upgraded meanwhile by a newer schemaman",
            hint="upgrade schemaman, then run the same command again",
        )
    last = next(map(SealedRow._make, _LAST_ENTRY.list_rows(connection, {})), None)
    sequence, head = (0, GENESIS) if last is None else (last.sequence, last.chain)
    if (sequence, head) != (end, read_meta(connection, "head")):
        raise make_damaged_error(f"its log ends at {sequence}, and should end at {end}")
    if last is not None:
        read_sealed_entry(where, last)


def find_chain_faults(connection: Connection, where: str, filing: bool = True) -> Iterator[str]:
    """List the faults of the log, entry by entry, and on request those of its index columns.

    Raises:
        StoreUnavailable: a damaged index returns the same rows again.
    """
    head, last = GENESIS, 0
    for row in log_rows(connection):
        if row.sequence != last + 1:
            yield f"log entries {last + 1} to {row.sequence - 1} are missing"
        if row.chain != hash_entry(head, row.sequence, row.at_ms, row.body):
            yield f"log entry {row.sequence} was altered: its hash does not match"
        head, last = row.chain, row.sequence
        try:
            index = list_index_columns(read_entry(where, row.sequence, row.body))
        except StoreUnavailable as error:
            yield error.message
            continue
        if filing and any(getattr(row, name) != value for name, value in index.items()):
            yield f"log entry {row.sequence} is filed under another kind or table"
    end = read_meta(connection, "end")
    if (str(last), head) != (end, read_meta(connection, "head")):
        yield f"the log ends at {last}, and should end at {end}"
