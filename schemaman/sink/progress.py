"""How far a partition has been read, which places what tells no place of its own.

Law: a read beside the stream stands behind all that its own partition had streamed before it, and before all
that it streams later; what the stream tells of its place is never changed by what was read before, but for
two cases: a transaction that was open at a snapshot, which the snapshot did not see, where no commit is told
(PostgreSQL: that of the first one; Oracle: where the release or the flattened row leaves it out); and what is
delivered again behind a delete that tells no place, of which offsets alone say that it is the later one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Mark, Position
from schemaman.model.schema import TableId
from schemaman.sink.row_order import (
    BEHIND,
    BESIDE,
    BEYOND,
    NOWHERE,
    SNAPSHOT,
    STREAM,
    at,
    beside_the_stream,
    offset_in,
    order,
    place,
    place_in,
)
from schemaman.sink.version_lookup import Between

Here = tuple[TableId, str, int]
"""A table, a topic and a partition."""

Past = Mapping[Here, Sequence[str]]
"""For a table, a topic and a partition the orders of records that were read there, by their offsets."""

Horizons = Mapping[Here, str]
"""For a table, a topic and a partition the greatest order that was read there."""

Spans = Mapping[Here, Sequence[tuple[int, int]]]
"""Stretches of records of which nothing is known but their edges: the first and the last offset of each."""

Asked = frozenset[tuple[str, int, int]]
"""Topics, partitions and offsets."""

PLACE, AGAIN = "its place is not known for sure", "a delete may stand before it"
"""What may be doubted of an order: where its partition stood, or what was delivered again before it."""


@dataclass(frozen=True, slots=True)
class Doubts:
    """Where it is not known for sure how far a partition had been read before a record.

    `spans` are stretches of which the edges alone are known, `read` is where this process itself has read on
    ever since. `gaps`: the records are some out of many. `asked`: the lake has told how far it had been read
    before these; None if it has not been asked yet.
    """

    spans: Spans = field(default_factory=dict)
    read: frozenset[Here] = frozenset()
    gaps: bool = False
    asked: Asked | None = None


class Horizon:
    """The greatest order of each table in each partition, and the orders that depend on it."""

    def __init__(self, reached: Horizons, past: Past | None = None, doubts: Doubts | None = None) -> None:
        self.reached = dict(reached)
        self._doubts = doubts
        self._sure: dict[Here, int] = {}
        known = (past or {}).items()
        self._past = {here: ([offset_in(o) for o in os], list(accumulate(os, max))) for here, os in known}
        self._past_reads = {here: list(accumulate(map(_read_at, os), max)) for here, os in known}
        self._reads: dict[Here, str] = {}

    def order(
        self, table: TableId, mark: Mark, source: Mapping[str, Any], *, read: bool
    ) -> tuple[str, bool, str]:
        """The order of a change at a mark, whether its partition had been read further before, and a doubt.

        `read`: from the table, not from the log. The doubt is `PLACE`, `AGAIN`, or empty.
        """
        here = (table, mark.topic, mark.partition)
        before = self._before(here, mark.offset)
        own, step = self._own(mark, source, read, before)
        doubt = "" if self._doubts is None else self._doubt(self._doubts, here, mark, step, before)
        if read and step == SNAPSHOT:
            self._reads[here] = max(own, self._reads.get(here, ""))
        elif not read and _commit_untold(mark, source):
            own = max(own, self._snapshot(here, mark.offset))
        found = at(own, step, mark.partition, mark.offset)
        if found > before:
            self.reached[here] = found
        if step == BEHIND and before and self._doubts is not None and self._doubts.gaps:
            # it was set aside, and what came behind it since then may be written: it stays before that
            found = at(own, place_in(before)[1], mark.partition, mark.offset)
        return found, found < before, doubt

    def _doubt(self, doubts: Doubts, here: Here, mark: Mark, step: int, before: str) -> str:
        """What cannot be told of a record's order from what was read; from then on it is known again."""
        offset = mark.offset
        if not doubts.gaps and (here in doubts.read or here in self._sure):
            return ""
        if doubts.gaps and self._sure.get(here) == offset - 1:
            self._sure[here] = offset
            return ""
        last = place_in(before)[0] if before else NOWHERE
        asked = doubts.asked is not None and (mark.topic, mark.partition, offset) in doubts.asked
        inside = any(first < offset <= end for first, end in doubts.spans.get(here, ()))
        untold = mark.position.kind == "none" or step == BESIDE
        doubt = ""
        if last != NOWHERE and not asked:
            if untold:
                doubt = PLACE if inside else ""
            elif place(mark.position) <= last:
                doubt = AGAIN
        found_out = asked or not inside or (bool(doubt) and doubts.asked is None)
        if found_out or (not doubts.gaps and not untold):
            self._sure[here] = offset
        return doubt

    def knows(self, table: TableId, mark: Mark) -> bool:
        """Whether anything was read of a table in a partition."""
        here = (table, mark.topic, mark.partition)
        return here in self.reached or bool(self._before(here, mark.offset))

    def between(self, table: TableId, mark: Mark) -> Between:
        """The places that a record without one stands between, as far as its partition is known."""
        here = (table, mark.topic, mark.partition)
        before, (offsets, greatest) = self._before(here, mark.offset), self._past.get(here, ((), ()))
        index = bisect_right(offsets, mark.offset)
        ends = place_in(greatest[index])[0] if index < len(offsets) else None
        return place_in(before)[0] if before else "", ends

    def _before(self, here: Here, offset: int) -> str:
        """The greatest order that is known of a place before an offset."""
        reached, known = self.reached.get(here, ""), self._past.get(here)
        if known is None:
            return reached
        offsets, greatest = known
        index = bisect_left(offsets, offset)
        return max(reached, greatest[index - 1]) if index else reached

    def _snapshot(self, here: Here, offset: int) -> str:
        """The greatest place of a read of the table itself that is known before an offset."""
        read, known = self._reads.get(here, ""), self._past.get(here)
        index = 0 if known is None else bisect_left(known[0], offset)
        return max(read, self._past_reads[here][index - 1]) if index else read

    def _own(self, mark: Mark, source: Mapping[str, Any], read: bool, before: str) -> tuple[str, int]:
        position = mark.position
        last, last_step = place_in(before) if before else (NOWHERE, SNAPSHOT)
        if read and (position.kind == "none" or source.get("snapshot") == "incremental"):
            told = beside_the_stream(source)
            own, step = max(NOWHERE if told is None else place(told), last), BESIDE
        elif position.kind == "none":
            # a delete of which only the key is left stands where its partition stood
            return last, BEHIND
        else:
            own, step = place(position), SNAPSHOT if read else STREAM
            if not read and position.kind == "lsn" and position.commit is None and last_step == SNAPSHOT:
                return max(own, last), STREAM
        return (last, BEHIND) if last_step == BEHIND and own <= last else (own, step)


def _commit_untold(mark: Mark, source: Mapping[str, Any]) -> bool:
    """Whether a record tells its place and no commit: a snapshot that stands behind it may not show it.

    PostgreSQL's is of the first transaction behind a snapshot. Oracle's may be any: one that comes after a
    snapshot and stands before it was open when that was taken, since what had been committed is skipped.

    Source: Debezium PostgresSchemaFactory, `sequence`: the lsn of the last commit, null before there was one;
    XstreamStreamingChangeEventSource, which begins with the snapshot's number, in order of commits.
    """
    kind, commit = mark.position.kind, mark.position.commit
    return commit is None and (kind == "scn" or (kind == "lsn" and "sequence" in source))


def _read_at(order: str) -> str:
    """The place of an order if it is one of a read of the table itself."""
    place, step = place_in(order)
    return place if step == SNAPSHOT else ""


def past_of(told: Iterable[Observation]) -> Past:
    """What a history tells of the rows that were read: their edges, as positions never go back in a run."""
    found: dict[Here, set[str]] = {}
    for said in told:
        if said.witness not in ("emitted", "inferred"):
            continue
        step = SNAPSHOT if said.snapshot else STREAM
        for mark in (said.first, said.last):
            if mark.position.kind != "none" and _can_be(mark.position):
                here = (said.table, mark.topic, mark.partition)
                found.setdefault(here, set()).add(order(mark.position, step, mark.partition, mark.offset))
    return {here: sorted(orders, key=offset_in) for here, orders in found.items()}


def spans_of(told: Iterable[Observation]) -> Spans:
    """The stretches of rows of which a history tells the edges alone, by their offsets."""
    found: dict[Here, list[tuple[int, int]]] = {}
    for said in told:
        if said.witness in ("emitted", "inferred") and said.first.offset < said.last.offset:
            here = (said.table, said.first.topic, said.first.partition)
            found.setdefault(here, []).append((said.first.offset, said.last.offset))
    return found


def _can_be(position: Position) -> bool:
    return all(part < BEYOND for part in position.rank if isinstance(part, int))
