"""Counts what a reading command has done, for Prometheus and as JSON."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from schemaman.ingest.summary import Summary
from schemaman.store.offsets import Partition

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Source: Prometheus "Exposition formats", text-based format."""

_PREFIX = "schemaman_ingest_"
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


@dataclass(slots=True)
class ReadingMetrics:
    """The counts over all sources and rounds of a command.

    `bytes` are those of files as they lie on the disk, and those of keys and values from Kafka; the Spark
    engine counts the bytes of local files alone. `lag` has the unread offsets of each partition of Kafka at
    the start of the last round. `versions` has the number of versions of each table with records.
    """

    clock: Callable[[], float] = time.monotonic
    done: Summary = field(default_factory=Summary)
    bytes: int = 0
    lag: Mapping[Partition, int] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    current: Summary = field(default_factory=Summary)
    start: float = field(init=False)

    def __post_init__(self) -> None:
        self.start = self.clock()

    def end_chunk(self, current: Summary) -> None:
        """Note the counts of the source that is being read, after one of its chunks."""
        self.current = current

    def end_source(self, done: Summary) -> None:
        """Add the counts of a source that was read to its end."""
        self.done += done
        self.current = Summary()

    def count_bytes(self, number: int) -> None:
        """Count bytes that were read."""
        self.bytes += number

    def build_document(self) -> dict[str, object]:
        """Build the JSON members; times are seconds."""
        counts: dict[str, object] = {name: value for name, _, _, value in self._list_values()}
        counts["seconds"] = round(self.clock() - self.start, 3)
        counts["lag"] = sum(self.lag.values()) if self.lag else None
        return counts

    def format(self) -> str:
        """Format the counts in the text format of Prometheus."""
        lines = []
        for name, kind, help, value in self._list_values():
            full = f"{_PREFIX}{name}" + ("_total" if kind == "counter" else "")
            lines += [f"# HELP {full} {help}", f"# TYPE {full} {kind}", f"{full} {value}"]
        lines += [
            f"# HELP {_PREFIX}lag Unread offsets at the start of the round",
            f"# TYPE {_PREFIX}lag gauge",
        ]
        for (topic, partition), number in sorted(self.lag.items()):
            labels = f'topic="{topic.translate(_ESCAPES)}",partition="{partition}"'
            lines.append(f"{_PREFIX}lag{{{labels}}} {number}")
        return "\n".join(lines) + "\n"

    def _list_values(self) -> list[tuple[str, str, str, int]]:
        """List name, type, help and value."""
        done = self.done + self.current
        return [
            ("records", "counter", "Records read", done.read),
            ("new_records", "counter", "Records read for the first time", done.new),
            ("bytes", "counter", "Bytes read", self.bytes),
            ("runs", "counter", "Recorded runs of one schema", done.observations),
            ("rejects", "counter", "Records that could not be decoded", done.rejects),
            ("versions", "gauge", "Versions of the tables with records", sum(self.versions.values())),
        ]
