"""What a list of tables shows of each, without the history itself.

Law: a summary is a function of the history, so a store may keep it beside the history.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from schemaman.debezium.records import Coordinates
from schemaman.history.versions import SchemaVersion, TableEvent, TableHistory, list_unresolved
from schemaman.model.schema import TableId


@dataclass(frozen=True, slots=True)
class TableSummary:
    """The facts of a table's newest version, and totals of its history.

    `versions` counts versions; `number`, `revision`, `id`, `status`, `columns` (a count), `key`,
    `unconfirmed`, `after` and `at` are those of the newest one. `topics` are the topics of its rows, each
    once; `current_topics` those it has now. `disputes` counts the disagreements that are no remarks.
    `is_settled`: the table exists, its newest version is no phantom, and nothing is open about it.
    """

    table: TableId
    connector: str
    identity: Literal["source", "weak"]
    versions: int
    number: int
    revision: int
    id: str
    status: str
    columns: int
    key: tuple[str, ...]
    unconfirmed: tuple[str, ...]
    after: Coordinates | None
    at: Coordinates
    records: int
    last_record: Coordinates
    disagreements: int = 0
    disputes: int = 0
    is_key_unknown: bool = False
    is_settled: bool = True
    is_dropped: bool = False
    end: TableEvent | None = None
    topics: tuple[str, ...] = ()
    current_topics: tuple[str, ...] = ()


def summarize_history(history: TableHistory) -> TableSummary:
    """Summarize a history."""
    latest: SchemaVersion = history.latest
    now = (a.name for a in history.aliases if a.kind == "topic" and a.until is None)
    return TableSummary(
        history.table,
        history.connector,
        history.identity,
        len(history.versions),
        latest.number,
        latest.revision,
        latest.id,
        latest.status,
        len(latest.schema.columns),
        latest.schema.key,
        latest.unconfirmed,
        latest.after,
        latest.at,
        history.records,
        history.last_record,
        len(history.disagreements),
        sum(not d.is_remark for d in history.disagreements),
        history.is_key_unknown(latest),
        _is_settled(history),
        history.is_dropped,
        history.end,
        history.topics,
        tuple(dict.fromkeys(now)),
    )


def _is_settled(history: TableHistory) -> bool:
    latest = history.latest
    is_open = list_unresolved(history, latest.number, latest.number)
    return not history.has_ended and latest.status != "phantom" and not is_open
