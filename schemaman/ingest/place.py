"""Where a record stands in the source's log, and that it can stand there."""

from __future__ import annotations

from schemaman.decode.wire import Facts, Reading
from schemaman.evidence import NOWHERE, Position, Rank

_BEYOND = 10**19
"""Connectors tell their places in 64 bits. A damaged record beyond would stand behind all others for ever.
Numbers of equal length are on one side of it, so that outlines, which compare lengths, agree."""


def place_of(reading: Reading, told: Facts) -> tuple[Position, Rank]:
    """The place that a record tells, and what orders it.

    Raises:
        ValueError: no log has such a place.
    """
    place = reading.position_of(told.connector, told.source) if told.source else NOWHERE
    try:
        rank = place.rank
        f"{place.value}{place.commit}".encode()
        if not any(isinstance(part, int) and part >= _BEYOND for part in rank):
            return place, rank
    except ValueError:  # half a surrogate pair, too
        pass
    raise ValueError(f"a position that cannot be read: {place.kind} {place.value[:40]!r}")
