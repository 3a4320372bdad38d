"""As-of questions: which version a table had at a source position or at a moment, and how certain that is."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import accumulate

from schemaman.debezium.connector import find_connector
from schemaman.debezium.observation import STATEMENT_KINDS
from schemaman.debezium.records import Coordinates, Position, PositionKind, Rank
from schemaman.history.references import AsOf
from schemaman.history.versions import INTERNAL_NULLABILITY, Proof, SchemaVersion, TableEvent, TableHistory

RankOf = Callable[[Coordinates], Rank | None]
"""Ranks coordinates for a question; None for coordinates without the needed position or time."""


def limit_certainty(version: SchemaVersion, revision: int, rank: RankOf, asked_rank: Rank) -> SchemaVersion:
    """Return the version with every fact that no record proves at `asked_rank` among its unconfirmed facts.

    These are facts that are proven only after it or not at all, and defaults that changed around it.
    """
    late = [p.fact for p in version.find_proofs(revision) if not _is_proven(version, p, rank, asked_rank)]
    late += _list_changing_defaults(version, revision, rank, asked_rank)
    added = tuple(fact for fact in dict.fromkeys(late) if fact not in version.unconfirmed)
    status = "provisional" if added and version.status == "confirmed" else version.status
    return replace(version, status=status, unconfirmed=(*version.unconfirmed, *added))


def _list_changing_defaults(
    version: SchemaVersion, revision: int, rank: RankOf, asked_rank: Rank
) -> Iterator[str]:
    """List the defaults that changed between two records, one before `asked_rank` and one after it."""
    current = next(r for r in version.revisions if r.number == revision)
    following = next((r for r in version.revisions if r.number > revision), None)
    if following is None or following.after is None or any(e.kind == "declared" for e in version.evidence):
        return
    after = rank(following.after)
    if after is not None and asked_rank <= after:
        return
    for column in current.schema.columns:
        new = following.schema.column(column.name)
        if new is not None and new.default != column.default:
            yield f"default:{column.name}"


def _is_proven(version: SchemaVersion, proof: Proof, rank: RankOf, asked_rank: Rank) -> bool:
    if proof.at is None:
        return False
    proven = rank(proof.at)
    if proven is not None:
        return proven <= asked_rank
    # rows that are read beside the stream have no place in it: the next record that has one stands behind,
    # unless the connector lags and it was committed before the reading
    marks = [(m, found) for m in _list_all_coordinates(version) if (found := rank(m)) is not None]
    behind = [found for m, found in marks if is_behind(m, proof.at) and _is_committed_after(m, proof.at)]
    last = max((found for _, found in marks), default=None)
    return min(behind) <= asked_rank if behind else last is not None and last < asked_rank


def is_behind(mark: Coordinates, other: Coordinates) -> bool:
    """Whether a record certainly follows another one: both are in one partition."""
    same = (mark.topic, mark.partition) == (other.topic, other.partition)
    return same and mark.offset > other.offset


def _is_committed_after(mark: Coordinates, other: Coordinates) -> bool:
    """Whether it was committed when the other one had been read; both times are the source's."""
    return mark.ts_ms is None or other.ts_ms is None or mark.ts_ms >= other.ts_ms


def _list_all_coordinates(version: SchemaVersion) -> tuple[Coordinates, ...]:
    edges = (m for e in version.evidence for m in e.coordinates)
    return (version.at, *edges, *(r.at for r in version.revisions))


def explain_end(
    history: TableHistory, version: SchemaVersion, reached: Callable[[Coordinates], bool]
) -> str | None:
    """Explain the end of a version's incarnation up to a position; None if the incarnation had not ended.

    `reached` returns whether coordinates are before that position. The result is also None if the table was
    created again and no record has shown its schema yet.
    """
    events = [e for e in history.events if _is_later_end(version, e) and reached(e.at)]
    if not events:
        return None
    if events[-1].kind != "created":
        return f"the table was {events[-1].kind} by then"
    kind = next((e.kind for e in reversed(events) if e.kind != "created"), "dropped")
    return f"the table was {kind} and another one had its name by then, which no record shows there"


def _is_later_end(version: SchemaVersion, event: TableEvent) -> bool:
    """Whether an event is the end of the version's incarnation, or of a later one."""
    if event.kind == "truncated":
        return False
    later = event.incarnation - version.incarnation
    return later > 0 or (later == 0 and event.kind != "created")


def find_contradiction(
    history: TableHistory, version: SchemaVersion, rank: RankOf, asked_rank: Rank
) -> str | None:
    """Describe how the connector's own schema history contradicts a version, if no later record shows it."""
    shown_ranks = [
        found
        for coordinates in list_coordinates(version)
        if (found := rank(coordinates)) is not None and found <= asked_rank
    ]
    for disagreement in history.disagreements:
        if disagreement.kind == INTERNAL_NULLABILITY and version.number in disagreement.versions:
            ranks = [
                found
                for coordinates in disagreement.coordinates
                if (found := rank(coordinates)) is not None and found <= asked_rank
            ]
            if ranks and max(ranks) > max(shown_ranks, default=()):
                return disagreement.message
    return None


def is_noticed_late(version: SchemaVersion) -> bool:
    """Whether the first record of a version proves only that the change was made after its position.

    A connector that polls for changes reports a new capture instance at the position of the last change that
    it has read. Source: Debezium Db2StreamingChangeEventSource and SqlServerStreamingChangeEventSource,
    `migrateTable` before the first change that is not older than the instance.
    """
    position = version.at.position
    streamed = position.kind == "commit_lsn" and position.value != ""
    return streamed and any(e.kind == "declared" and e.first == version.at for e in version.evidence)


def find_first_event(version: SchemaVersion, rank: RankOf) -> Rank | None:
    """Where an event first showed the version."""
    ranks = (
        rank(coordinates) for e in version.evidence if e.kind == "emitted" for coordinates in e.coordinates
    )
    return min((r for r in ranks if r is not None), default=None)


def format_first_event(version: SchemaVersion) -> str:
    """When, or else where, an event first showed the version."""
    coordinates = next(e.first for e in version.evidence if e.kind == "emitted")
    return (
        f"{coordinates.topic}[{coordinates.partition}]@{coordinates.offset}"
        if coordinates.ts_ms is None
        else str(AsOf(coordinates.ts_ms))
    )


def list_evidence_coordinates(version: SchemaVersion) -> Iterator[Coordinates]:
    """The coordinates at which a version was valid."""
    noticed = version.at.position if is_noticed_late(version) else None
    for evidence in version.evidence:
        for coordinates in evidence.coordinates:
            if evidence.kind != "declared" or coordinates.position != noticed:
                yield coordinates


def list_coordinates(version: SchemaVersion) -> Iterator[Coordinates]:
    """Every record at which the version is known to be valid, or to begin."""
    yield version.at
    for evidence in version.evidence:
        yield from evidence.coordinates


def find_rank(mark: Coordinates, kind: PositionKind) -> Rank | None:
    """Rank coordinates among positions of a kind; None without a position of that kind."""
    return rank_position(mark.position) if mark.position.kind == kind else None


def rank_position(position: Position) -> Rank | None:
    """Rank the earliest visibility of a change, to compare a bare position with it.

    A change is visible when its transaction commits: after the change itself and after the previous commit.
    Source: Debezium PostgresSourceInfo `sequence` = [last commit lsn, lsn].
    """
    match position.kind:
        case "lsn":
            return (max(int(position.value), int(position.commit or position.value)),)
        case "commit_lsn":
            return None if position.commit is None else (position.commit,)
        case "binlog":
            return position.rank
        case "scn":
            return (int(position.value),) if position.value.isdecimal() else None
        case _:
            return None


def is_position(position: Position, kind: PositionKind, value: str) -> bool:
    """Whether a question names this position; of a change also by that of its commit."""
    return position.kind == kind and value in (
        position.value,
        position.commit if kind == "commit_lsn" else None,
    )


def find_log_name(position: Position) -> str:
    """What the files of its binary log are called; positions in two such logs have no order. Else empty.

    Source: MySQL manual, `log_bin`: a file is called by the base name and a number.
    """
    if position.kind != "binlog":
        return ""
    file = position.value.rsplit(":", 2)[0]
    base, _, index = file.rpartition(".")
    return f"{base}.…" if index.isdecimal() else file


SECOND_MS = 1000


def make_earliest_rank(history: TableHistory) -> RankOf:
    """Make a function that returns the first possible millisecond of the change of a record of the table.

    Up to 1.9 Debezium's MySQL connector reports the time at which it read a statement. That time is after the
    statement and possibly after following changes, but not before earlier changes in the log.

    Source: recordings of Debezium 1.9.8 and MySQL without GTIDs: statements have milliseconds, which no event
    header has; rows have whole seconds.
    """
    read = _find_late_statements(history)
    known = (mark for mark in _list_history_coordinates(history) if read and mark not in read)
    times_by_position = sorted((mark.position.rank, mark.ts_ms) for mark in known if mark.ts_ms is not None)
    positions = [position for position, _ in times_by_position]
    times = list(accumulate((time for _, time in times_by_position), max))

    def first(mark: Coordinates) -> Rank | None:
        if mark.ts_ms is None:
            return None
        if mark not in read:
            return (mark.ts_ms,)
        before = bisect_left(positions, mark.position.rank)
        return (min(times[before - 1], mark.ts_ms) if before else 0,)

    return first


def make_latest_rank(history: TableHistory) -> RankOf:
    """Make a function that returns the last possible millisecond of the change of a record of the table.

    A time of whole seconds is truncated: the change was made within that second. Such sources are the event
    headers of binary logs (MySQL, MariaDB), Oracle's LogMiner, MongoDB's oplog, Informix and Vitess. With
    GTIDs of MySQL 8.0.1 or newer, Debezium reports milliseconds since 2.6. PostgreSQL always reports
    microseconds, so a time without a fraction is exact. In a binary log, the time of a statement is its
    beginning. The statement is complete when it is written, so no later than the connector reads it.

    Source: MySQL internals, "Binlog Event Header" (`timestamp`: 4 bytes, seconds) and MariaDB, QUERY_EVENT
    ("the time in seconds that the statement took to execute" stands beside it); Debezium
    MySqlStreamingChangeEventSource.setEventTimestamp; Oracle, V$LOGMNR_CONTENTS (`TIMESTAMP` is a DATE);
    MongoDB, BSON Timestamp; PostgreSQL, "Logical Replication Message Formats" (Begin: microseconds).
    """
    statements = _find_statement_topics(history)

    def last(mark: Coordinates) -> Rank | None:
        if mark.ts_ms is None:
            return None
        exact = mark.position.kind == "lsn" or mark.ts_ms % SECOND_MS
        made = mark.ts_ms if exact else mark.ts_ms + SECOND_MS - 1
        if mark.position.kind == "binlog" and mark.topic in statements and mark.read_ms is not None:
            return (max(made, mark.read_ms),)
        return (made,)

    return last


def has_read_times(history: TableHistory) -> bool:
    """Whether the times of the table are those at which its changes were read, not made."""
    names = {history.connector, *(epoch.connector for epoch in history.epochs)}
    return any(find_connector(name).has_read_times for name in names)


def _find_late_statements(history: TableHistory) -> frozenset[Coordinates]:
    """Whether the time of a statement in a binary log is the time at which it was read."""
    topics = _find_statement_topics(history)
    same = frozenset(
        mark
        for mark in _list_history_coordinates(history)
        if mark.position.kind == "binlog" and mark.topic in topics and mark.ts_ms == mark.read_ms
    )
    return same if any((mark.ts_ms or 0) % SECOND_MS for mark in same) else frozenset()


def _list_history_coordinates(history: TableHistory) -> Iterator[Coordinates]:
    for version in history.versions:
        yield from list_coordinates(version)
        for revision in version.revisions:
            yield revision.at
    for event in history.events:
        yield event.at


def _find_statement_topics(history: TableHistory) -> frozenset[str]:
    """The topics whose records are statements."""
    return frozenset(
        mark.topic
        for version in history.versions
        for evidence in version.evidence
        if evidence.kind in STATEMENT_KINDS
        for mark in evidence.coordinates
    )
