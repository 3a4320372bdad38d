"""Builds the grids of unread offsets, and of numbers that versions had before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from schemaman.report.document import Block, Grid, Inline, Text
from schemaman.report.json.tables import Document
from schemaman.report.views import words
from schemaman.store.log import RenumberingEntry
from schemaman.store.offsets import Hole


@dataclass(frozen=True, slots=True)
class Extent:
    """Unread offsets before beginnings of versions, and when (epoch ms) late evidence renumbered versions."""

    holes: tuple[Hole, ...] = ()
    shifts: tuple[tuple[int, RenumberingEntry], ...] = ()

    def build_document(self) -> Document:
        """Builds these JSON members of the document of a history."""
        return {
            "unread": [
                {
                    "version": hole.version,
                    "topic": hole.topic,
                    "partition": hole.partition,
                    "first": hole.first,
                    "last": hole.last,
                }
                for hole in self.holes
            ],
            "renumbered": [
                {"at_ms": at_ms, "id": one.id, "was": one.was, "now": one.now}
                for at_ms, shift in self.shifts
                for one in shift.moves
            ],
        }


NO_EXTENT = Extent()


def build_extent_grids(extent: Extent) -> Iterator[Block]:
    """Build a table of unread offsets and a table of renumbered versions, each unless empty."""
    if extent.holes:
        rows = tuple(map(_build_hole_row, extent.holes))
        caption = "Offsets that were never read: versions may begin there, and unknown versions may exist"
        yield Grid(caption, ("version", "offsets", "uncertain"), rows)
    moved = [(at_ms, one) for at_ms, shift in extent.shifts for one in shift.moves]
    if moved:
        lines: Sequence[tuple[Inline, ...]] = [
            (
                (Text(words.format_time(at_ms)),),
                (Text(one.id, code=True),),
                (Text(str(one.was)),),
                (Text("removed" if one.now is None else str(one.now)),),
            )
            for at_ms, one in moved
        ]
        yield Grid("Versions renumbered by late records", ("when", "id", "before", "now"), tuple(lines))


def _build_hole_row(hole: Hole) -> tuple[Inline, ...]:
    reason = (
        "the version may be older, and its first schema may differ"
        if hole.head
        else "the version may have begun earlier"
    )
    offsets = f"{hole.topic}[{hole.partition}]@{hole.first}..{hole.last}"
    return ((Text(str(hole.version)),), (Text(offsets, code=True),), (Text(reason),))
