"""What is certain of a version at one place of the source's log: keys, NULLs and defaults may be read later.

Law: a fact that no record proves at a place is never told of it as certain.
Source: Debezium PgOutputMessageDecoder.handleRelationMessage, which asks the catalogue while it reads a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from schemaman.evidence import Mark, Rank
from schemaman.versions import Proof, SchemaVersion

RankOf = Callable[[Mark], Rank | None]
"""What orders a mark in the question that is asked; None if the mark does not tell."""


def certain_at(version: SchemaVersion, revision: int, rank: RankOf, wanted: Rank) -> SchemaVersion:
    """The version with all that no record proves at `wanted` among its unconfirmed facts.

    That is what is proven only behind it, or not at all, and defaults that changed around it.
    """
    late = [p.fact for p in version.late(revision) if not _proves(version, p, rank, wanted)]
    late += _changing(version, revision, rank, wanted)
    added = tuple(fact for fact in dict.fromkeys(late) if fact not in version.unconfirmed)
    status = "provisional" if added and version.status == "confirmed" else version.status
    return replace(version, status=status, unconfirmed=(*version.unconfirmed, *added))


def _changing(version: SchemaVersion, revision: int, rank: RankOf, wanted: Rank) -> Iterator[str]:
    """Defaults that changed between two records, one before `wanted` and one behind it."""
    former = next(r for r in version.revisions if r.number == revision)
    following = next((r for r in version.revisions if r.number > revision), None)
    if following is None or following.after is None or any(e.witness == "declared" for e in version.evidence):
        return
    after = rank(following.after)
    if after is not None and wanted <= after:
        return
    for column in former.schema.columns:
        new = following.schema.column(column.name)
        if new is not None and new.default != column.default:
            yield f"default:{column.name}"


def _proves(version: SchemaVersion, proof: Proof, rank: RankOf, wanted: Rank) -> bool:
    if proof.at is None:
        return False
    proven = rank(proof.at)
    if proven is not None:
        return proven <= wanted
    # rows that are read beside the stream have no place in it: the next record that has one stands behind,
    # unless the connector lags and it was committed before the reading
    marks = [(m, found) for m in _marks(version) if (found := rank(m)) is not None]
    behind = [found for m, found in marks if follows(m, proof.at) and _committed_after(m, proof.at)]
    last = max((found for _, found in marks), default=None)
    return min(behind) <= wanted if behind else last is not None and last < wanted


def follows(mark: Mark, other: Mark) -> bool:
    """Whether a record surely came behind another one: they stand in one partition."""
    same = (mark.topic, mark.partition) == (other.topic, other.partition)
    return same and mark.offset > other.offset


def _committed_after(mark: Mark, other: Mark) -> bool:
    """Whether it was committed when the other one had been read; both times are the source's."""
    return mark.ts_ms is None or other.ts_ms is None or mark.ts_ms >= other.ts_ms


def _marks(version: SchemaVersion) -> tuple[Mark, ...]:
    edges = (m for e in version.evidence for m in e.marks)
    return (version.at, *edges, *(r.at for r in version.revisions))
