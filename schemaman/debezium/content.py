"""What runs say, whatever the bytes in which they say it.

Law: a function of table and shape, so that each shape is decoded once, however often it comes.
"""

from __future__ import annotations

from dataclasses import replace

from schemaman.decode.decode import decode
from schemaman.decode.wire import Reading
from schemaman.evidence import Observation, Run
from schemaman.inference import content


class Contents:
    """The contents of runs that were asked for; grows with shapes, not with runs."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._known: dict[tuple[str, tuple[str, ...], str], Observation | None] = {}
        self._one: dict[Observation, Observation] = {}

    def of(self, run: Run) -> Observation | None:
        """What a run says, as the fold compares it; None for what is no testimony.

        Equal contents are one object.
        """
        place = (run.first.topic, run.table, run.shape)
        if place not in self._known:
            self._known[place] = self._decoded(run)
        return self._known[place]

    def _decoded(self, run: Run) -> Observation | None:
        outcomes = decode(replace(run, interrupted=False), "", self._reading.schemas, self._reading.forms)
        said = next((content(o) for o in outcomes if isinstance(o, Observation)), None)
        return None if said is None else self._one.setdefault(said, said)
