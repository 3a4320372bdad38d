"""When the steps of a recording from a binary log were made, as far as its records tell the time.

The database wrote down its tables, not when; what its records say of the time is cut to whole seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from tests.truth.recording import Fact
from tests.truth.truth import OffsetTruth, Step

LAST = 2**62


@dataclass(frozen=True, slots=True)
class Moments:
    """The steps, and for each the milliseconds no earlier and no later than which it was over."""

    steps: tuple[Step, ...]
    earliest: tuple[int, ...]
    latest: tuple[int, ...]

    @classmethod
    def read(cls, truth: OffsetTruth, records: Iterable[Fact]) -> Moments:
        """What the records of a run tell of its steps, and through their order of those without a record."""
        earliest, latest = [0] * len(truth.steps), [LAST] * len(truth.steps)
        for record in records:
            step, time = truth.at(record), record.source.get("ts_ms")
            if step is None or not time:
                continue
            whole = time % 1000 == 0
            latest[step.place] = min(latest[step.place], time + 999 if whole else time)
            # what is told in milliseconds is when the connector read it: releases before 2.0 say so of DDL
            if whole and not record.snapshot:
                earliest[step.place] = max(earliest[step.place], time)
        behind = accumulate(reversed(latest), min)
        return cls(truth.steps, tuple(accumulate(earliest, max)), tuple(behind)[::-1])

    def asked(self) -> Iterator[int]:
        """Moments around the times that records tell, and inside their seconds."""
        seconds = sorted(set(self.earliest) - {0})
        return iter(sorted({s + more for s in seconds for more in (-1, 0, 1, 500, 998, 999, 1000)}))

    def at(self, time: int) -> tuple[Step, ...]:
        """The steps of which each may have been the last one that was over then."""
        surely = [n for n, over in enumerate(self.latest) if over <= time]
        perhaps = [n for n, over in enumerate(self.earliest) if over <= time]
        return self.steps[max(surely, default=0) : max(perhaps, default=0) + 1]
