"""Builds the JSON members of one round of `ingest --follow` and of `sync`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from schemaman.report.json.tables import Document
from schemaman.store.offsets import Partition


@dataclass(frozen=True, slots=True)
class Round:
    """A round of reading: its end (epoch ms), and what it found.

    `lag` is the number of offsets that were unread at its start; None if the source does not tell.
    `offsets` has the last read offset of each partition that went on.
    """

    at_ms: int
    lag: int | None = None
    offsets: Mapping[Partition, int] = field(default_factory=dict)

    def build_document(self) -> Document:
        """These members of the document of a round."""
        offsets: list[Document] = [
            {"topic": topic, "partition": partition, "offset": offset}
            for (topic, partition), offset in sorted(self.offsets.items())
        ]
        return {"at_ms": self.at_ms, "lag": self.lag, "offsets": offsets}
