"""The values from which a fold goes on: observations of the newest versions, and bounds for later ones."""

from __future__ import annotations

from dataclasses import dataclass

from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Position


@dataclass(frozen=True, slots=True)
class PartitionEnd:
    """What was read of a partition: its last offset, and the number of its runs before the kept ones.

    `is_collapsed`: it has more runs than are kept one by one.
    """

    topic: str
    partition: int
    offset: int
    runs: int
    is_collapsed: bool


@dataclass(frozen=True, slots=True)
class FoldCheckpoint:
    """The kept `observations` are those of the versions from number `first` on; up to `settled` none changes.

    If `settled` is 0, they are the joined runs of the whole table, and only `partitions` are of use.

    `next_id` is the first column id that no version up to `first` has. What comes later has to lie behind
    `position` and `latest_ms`, the newest time of a settled record, and within `clock_ahead`. `shapes` are
    the fingerprints of earlier schemas. `shared_records` and `key_spans` count those of earlier versions.
    """

    first: int
    settled: int
    observations: tuple[Observation, ...]
    next_id: int
    position: Position
    latest_ms: int
    clock_ahead: int
    shared_records: int
    key_spans: int
    shapes: frozenset[str]
    partitions: tuple[PartitionEnd, ...]
