"""What waits in a quarantine: how many records of which table, since when, why, and what settles it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from schemaman.migration.spark_sql import literal
from schemaman.model.display import count_noun
from schemaman.model.schema import TableId
from schemaman.model.shell import quote_word

_COMMAND = re.compile(r"`(schemaman [^`]+)`|\((schemaman [^()]+)\)")
_OPEN_COMMAND = re.compile(r"(`schemaman (?:[a-z-]+ )+)TABLE(?=[ `])")
_TRIED_AGAIN = "records that come later settle it, and each batch tries it again"


@dataclass(frozen=True, slots=True)
class WaitingRecords:
    """The quarantined records of one source table for one lake table, which is empty if none is known.

    `oldest_ms` is when the oldest of them came into its topic, in epoch milliseconds, None if unknown.
    `reason` is that of the oldest. `command` settles it; empty if records that come later do.
    """

    lake_table: str
    source_table: str
    records: int
    oldest_ms: int | None = None
    reason: str = ""
    command: str = ""

    def __str__(self) -> str:
        since = "" if self.oldest_ms is None else f", the oldest since {_format_time(self.oldest_ms)}"
        where = f" for {self.lake_table}" if self.lake_table else ", not decoded"
        settled = f"; to settle it: {self.command}" if self.command else f"; {_TRIED_AGAIN}"
        count = count_noun(self.records, "record")
        verb = "waits" if self.records == 1 else "wait"
        return f"{count} {verb} in quarantine{where}{since}: {self.reason}{settled}"


def format_waiting_query(table: str, stream: str | None = None) -> str:
    """Write the query of what waits in a quarantine table, named as SQL does; `None` for all streams."""
    oldest = "min_by(reason, struct(`timestamp`, topic, `partition`, `offset`))"
    where = "" if stream is None else f"WHERE stream = {literal(stream)} "
    return (
        f"SELECT lake_table, source_table, count(*), unix_millis(min(`timestamp`)), {oldest} FROM {table} "
        f"{where}GROUP BY lake_table, source_table ORDER BY lake_table, source_table"
    )


def read_waiting(rows: Iterable[Sequence[object]]) -> tuple[WaitingRecords, ...]:
    """Read the rows of that query."""
    return tuple(_read_records(row) for row in rows)


def _read_records(row: Sequence[object]) -> WaitingRecords:
    lake_table, source_table, count, oldest, text = row
    source = _name_table(str(source_table))
    reason = fill_commands(str(text or ""), source)
    oldest_ms = None if oldest is None else int(str(oldest))
    return WaitingRecords(str(lake_table), source, int(str(count)), oldest_ms, reason, find_command(reason))


def fill_commands(reason: str, source_table: str) -> str:
    """Write the name of the source table into the commands of a reason that is the same for all tables."""
    if not source_table:
        return reason
    return _OPEN_COMMAND.sub(lambda found: f"{found[1]}{quote_word(source_table)}", reason)


def _name_table(text: str) -> str:
    """The name of a source table that the quarantine has with all of its levels; empty for an empty text."""
    if not text:
        return ""
    stream, server, database, schema, table = ast.literal_eval(text)
    return str(TableId(server, database, schema, table, stream))


def find_command(reason: str) -> str:
    """Find the command that a reason names; a plan that waits for approval is approved by its file."""
    found = _COMMAND.search(reason)
    if found is not None:
        return found[1] or found[2]
    return "schemaman approve PLAN_FILE" if reason.startswith("needs approval") else ""


def _format_time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
