"""Finds the records of tables that could not be read since the newest one that could."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from schemaman.compat.judge import RejectedRecords
from schemaman.debezium.observation import Observation, Reject
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.registry import Registry

TopicRejects = Mapping[tuple[str, str], tuple[Reject, ...]]
"""Open rejects by stream and topic."""


def group_rejects(registry: Registry) -> TopicRejects:
    """Group the open rejects of all streams; lines of files that are no records belong to no topic."""
    found: dict[tuple[str, str], tuple[Reject, ...]] = {}
    for reject in registry.rejects():
        if reject.partition >= 0:
            key = (reject.stream, reject.topic)
            found[key] = (*found.get(key, ()), reject)
    return found


def find_unread(
    registry: Registry, histories: Iterable[TableHistory], rejects: TopicRejects
) -> dict[TableId, tuple[RejectedRecords, ...]]:
    """Find the unread records behind the newest readable record of each table, by partition.

    A table without topics of rows is read from the topics of its statements. A history that was cut at an
    earlier version is left out: what follows was not asked for.
    """
    found: dict[TableId, tuple[RejectedRecords, ...]] = {}
    for history in histories if rejects else ():
        if not any(stream == history.table.stream for stream, _ in rejects):
            continue
        observations = registry.observations(history.table)
        topics = history.topics or tuple(dict.fromkeys(o.last.topic for o in observations))
        of_table = [r for topic in topics for r in rejects.get((history.table.stream, topic), ())]
        unread = _select_unread(of_table, observations)
        if unread and registry.history(history.table).latest.number == history.latest.number:
            found[history.table] = unread
    return found


def _select_unread(
    rejects: Iterable[Reject], observations: Iterable[Observation]
) -> tuple[RejectedRecords, ...]:
    read: dict[tuple[str, int], int] = {}
    for observation in observations:
        for at in (observation.first, observation.last):
            place = (at.topic, at.partition)
            read[place] = max(read.get(place, -1), at.offset)
    behind: dict[tuple[str, int], list[Reject]] = {}
    for reject in rejects:
        place = (reject.topic, reject.partition)
        if reject.offset + reject.count - 1 > read.get(place, -1):
            behind.setdefault(place, []).append(reject)
    return tuple(_merge_rejects(some) for _, some in sorted(behind.items()))


def _merge_rejects(rejects: Iterable[Reject]) -> RejectedRecords:
    first, *others = sorted(rejects, key=lambda reject: reject.offset)
    count = first.count + sum(reject.count for reject in others)
    return RejectedRecords(first.topic, first.partition, first.offset, count, first.reason)
