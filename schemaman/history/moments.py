"""When a change was made at the source, as far as its record tells: an interval where times are coarse.

Law: no moment is told for certain that the source's own time leaves open.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from schemaman.certainty import RankOf
from schemaman.evidence import STATEMENTS, Mark, Rank
from schemaman.notices import marks_of
from schemaman.versions import TableHistory

SECOND_MS = 1000


def earliest(history: TableHistory) -> RankOf:
    """What gives the first millisecond in which the change of a record of the table may have been made.

    Up to 1.9 Debezium's MySQL connector tells of a statement when it read it: that was behind the statement,
    and behind whatever followed it meanwhile, but not before what stands earlier in the log.

    Source: recordings of Debezium 1.9.8 and MySQL without GTIDs: statements have milliseconds, which no event
    header has; rows have whole seconds.
    """
    read = _read_later(history)
    marks = (mark for mark in _marks(history) if read and mark not in read)
    told = sorted((mark.position.rank, mark.ts_ms) for mark in marks if mark.ts_ms is not None)
    places = [place for place, _ in told]
    times = list(accumulate((time for _, time in told), max))

    def first(mark: Mark) -> Rank | None:
        if mark.ts_ms is None:
            return None
        if mark not in read:
            return (mark.ts_ms,)
        before = bisect_left(places, mark.position.rank)
        return (min(times[before - 1], mark.ts_ms) if before else 0,)

    return first


def latest(history: TableHistory) -> RankOf:
    """What gives the last millisecond in which the change of a record of the table may have been made.

    A time of whole seconds is cut off: the change was made within that second. So are those of a binary log's
    event headers (MySQL, MariaDB; with GTIDs of MySQL 8.0.1 or newer Debezium tells milliseconds since 2.6),
    Oracle's LogMiner, MongoDB's oplog, Informix and Vitess. PostgreSQL tells microseconds always, so a second
    without a fraction is that very moment. In a binary log the time of a statement is that at which it began:
    what it did is in place when it is written, so no later than the connector reads it.

    Source: MySQL internals, "Binlog Event Header" (`timestamp`: 4 bytes, seconds) and MariaDB, QUERY_EVENT
    ("the time in seconds that the statement took to execute" stands beside it); Debezium
    MySqlStreamingChangeEventSource.setEventTimestamp; Oracle, V$LOGMNR_CONTENTS (`TIMESTAMP` is a DATE);
    MongoDB, BSON Timestamp; PostgreSQL, "Logical Replication Message Formats" (Begin: microseconds).
    """
    statements = _statement_topics(history)

    def last(mark: Mark) -> Rank | None:
        if mark.ts_ms is None:
            return None
        exact = mark.position.kind == "lsn" or mark.ts_ms % SECOND_MS
        made = mark.ts_ms if exact else mark.ts_ms + SECOND_MS - 1
        if mark.position.kind == "binlog" and mark.topic in statements and mark.read_ms is not None:
            return (max(made, mark.read_ms),)
        return (made,)

    return last


def told_when_read(history: TableHistory) -> bool:
    """Whether times of the table are those at which its changes were read, however long ago they were made.

    Source: Debezium Db2Connection, `LSN_TO_TIMESTAMP` selects CURRENT TIMESTAMP whatever the place.
    """
    return "db2" in {history.connector, *(epoch.connector for epoch in history.epochs)}


def _read_later(history: TableHistory) -> frozenset[Mark]:
    """Statements of a binary log that tell as their time when they were read."""
    topics = _statement_topics(history)
    same = frozenset(
        mark
        for mark in _marks(history)
        if mark.position.kind == "binlog" and mark.topic in topics and mark.ts_ms == mark.read_ms
    )
    return same if any((mark.ts_ms or 0) % SECOND_MS for mark in same) else frozenset()


def _marks(history: TableHistory) -> Iterator[Mark]:
    for version in history.versions:
        yield from marks_of(version)
        for revision in version.revisions:
            yield revision.at
    for event in history.events:
        yield event.at


def _statement_topics(history: TableHistory) -> frozenset[str]:
    """The topics whose records are statements."""
    return frozenset(
        mark.topic
        for version in history.versions
        for evidence in version.evidence
        if evidence.witness in STATEMENTS
        for mark in evidence.marks
    )
