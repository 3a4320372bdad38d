"""How far the reading of files is: records, rate, share, and time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from schemaman.ingest.line_batches import LineBatch, RowBatch
from schemaman.report.views.numbers import format_number

T = TypeVar("T")
_EVERY = 500
"""The number of records between two reports; the receiver drops most of them."""

_ENOUGH_SECONDS = 0.5
"""Before that, a rate says nothing."""


@dataclass(slots=True)
class ReadingProgress:
    """Counts what is read of sources of `total` bytes together; 0 if the size of one is unknown."""

    total: int
    report: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    records: int = 0
    bytes: int = 0
    start: float = field(init=False)

    def __post_init__(self) -> None:
        self.start = self.clock()

    def count_bytes(self, number: int) -> None:
        """Count bytes of a file, as they lie on the disk."""
        self.bytes += number

    def count_records(self, records: Iterable[T]) -> Iterator[T]:
        """Pass records and batches of lines on, and report from time to time."""
        for record in records:
            before = self.records
            self.records += _count_items(record)
            if -before // _EVERY != -self.records // _EVERY:
                self.report(self.describe())
            yield record

    def count_part(self, size: int, records: int) -> None:
        """Count bytes and records that another process has read, and report."""
        self.bytes += size
        self.records += records
        self.report(self.describe())

    def describe(self) -> str:
        """Describe the reading: `12 000 records read · 8 000/s · 25 % · 3 s left`."""
        spent = self.clock() - self.start
        parts = [f"{format_number(self.records)} records read"]
        if spent >= _ENOUGH_SECONDS:
            parts.append(f"{format_number(round(self.records / spent))}/s")
        if self.total:
            share = min(self.bytes / self.total, 1.0)
            parts.append(f"{int(100 * share)} %")
            if share and spent >= _ENOUGH_SECONDS:
                parts.append(f"{_format_duration(spent * (1 - share) / share)} left")
        return " · ".join(parts)


def _count_items(record: object) -> int:
    match record:
        case LineBatch():
            return len(record.lines)
        case RowBatch():
            return len(record.rows)
        case _:
            return 1


def _format_duration(seconds: float) -> str:
    """Format a duration: `7 s`, `2 min 5 s`, `3 h 20 min`."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
