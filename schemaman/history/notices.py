"""Where a version surely stood: its marks, and those of a version whose first record only gives notice of it.

Law: a record that only says that a change was made behind its position never shows the change there.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.certainty import RankOf
from schemaman.evidence import Mark, Rank
from schemaman.references import AsOf
from schemaman.versions import SchemaVersion


def noticed_late(version: SchemaVersion) -> bool:
    """Whether the record with which a version began says only that the change was made behind its position.

    A connector that asks for changes tells a new capture instance at the position of the change that it had
    read last. Source: Debezium Db2StreamingChangeEventSource and SqlServerStreamingChangeEventSource,
    `migrateTable` before the first change that is not older than the instance.
    """
    place = version.at.position
    streamed = place.kind == "commit_lsn" and place.value != ""
    return streamed and any(e.witness == "declared" and e.first == version.at for e in version.evidence)


def shown_from(version: SchemaVersion, rank: RankOf) -> Rank | None:
    """Where an event first showed the version."""
    ranks = (rank(mark) for e in version.evidence if e.witness == "emitted" for mark in e.marks)
    return min((r for r in ranks if r is not None), default=None)


def first_shown(version: SchemaVersion) -> str:
    """When, or else where, an event first showed the version."""
    mark = next(e.first for e in version.evidence if e.witness == "emitted")
    return f"{mark.topic}[{mark.partition}]@{mark.offset}" if mark.ts_ms is None else str(AsOf(mark.ts_ms))


def witnessed(version: SchemaVersion) -> Iterator[Mark]:
    """The marks of a version at which it stood."""
    noticed = version.at.position if noticed_late(version) else None
    for evidence in version.evidence:
        for mark in evidence.marks:
            if evidence.witness != "declared" or mark.position != noticed:
                yield mark


def marks_of(version: SchemaVersion) -> Iterator[Mark]:
    """Every record of which it is known that the version stood there, or that it began."""
    yield version.at
    for evidence in version.evidence:
        yield from evidence.marks
