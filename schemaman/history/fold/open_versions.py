"""The open versions of one table in order, and what speaks against each while they are built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from schemaman.debezium.records import Coordinates
from schemaman.history.fold.timeline import Point
from schemaman.history.fold.version_builder import OpenVersion
from schemaman.history.versions import Disagreement, Ending, TableEvent
from schemaman.model.schema import TableId


@dataclass(slots=True)
class Incarnations:
    """The incarnations of a table: the number of the newest, and the events that begin and end them.

    `is_unshown`: it was created, and no record has shown its schema yet.
    """

    number: int = 0
    has_ended: bool = True
    is_unshown: bool = False
    events: list[TableEvent] = field(default_factory=list)

    def create_unshown(self, at: Coordinates) -> None:
        """Begin an incarnation under the name of an ended table, before a record shows its schema."""
        if self.has_ended and not self.is_unshown:
            self.number += 1
            self.is_unshown = True
            self.events.append(TableEvent("created", at, self.number))

    def begin_shown(self) -> None:
        """A record shows the first schema of an incarnation, which may have been created before."""
        self.number += not self.is_unshown
        self.has_ended = self.is_unshown = False

    def truncate(self, at: Coordinates) -> None:
        """The table lost all rows, and goes on."""
        self.events.append(TableEvent("truncated", at, self.number))

    def end_newest(self, kind: Ending, at: Coordinates, other: TableId | None) -> None:
        """End the newest incarnation."""
        self.events.append(TableEvent(kind, at, self.number, other))
        self.has_ended, self.is_unshown = True, False


class OpenVersions:
    """The open versions of a table, the oldest first, and the contradictions of each.

    `recorded` counts how often one was recorded, also the same one again.
    """

    def __init__(self) -> None:
        self.in_order: list[OpenVersion] = []
        self.next_id = 1
        self.recorded = 0
        self._living_from = 0
        self._contradictions: dict[tuple[str, int, str], list[Coordinates]] = {}

    @property
    def newest(self) -> OpenVersion:
        """The newest version."""
        return self.in_order[-1]

    def add_version(self, version: OpenVersion) -> None:
        """Begin a version; the one before it ends there, if it has not ended."""
        if self.in_order and self.newest.until is None:
            self.newest.until = version.at
        self.next_id = max(self.next_id, max([c.id or 0 for c in version.schema.columns], default=0) + 1)
        if not self.in_order or self.newest.incarnation != version.incarnation:
            self._living_from = len(self.in_order)
        version.place, version.next_id = len(self.in_order), self.next_id
        self.in_order.append(version)

    def merge_newest(self, other: OpenVersion) -> None:
        """Undo the newest version: its records are of an earlier one."""
        other.points += self.newest.points
        undone = len(self.in_order) - 1
        self._contradictions = {key: at for key, at in self._contradictions.items() if key[1] != undone}
        self.in_order.pop()
        self.newest.until = None

    def find_number(self, version: OpenVersion) -> int:
        """The ordinal of a version."""
        assert self.has_version(version)
        return version.place + 1

    def has_version(self, version: OpenVersion) -> bool:
        """Whether a version is one of these: an undone version no longer is."""
        return version.place < len(self.in_order) and self.in_order[version.place] is version

    def list_since(self, version: OpenVersion) -> list[OpenVersion]:
        """One of the versions and those after it."""
        return self.in_order[version.place :]

    def list_newest_living(self, count: int) -> list[OpenVersion]:
        """The newest versions of the incarnation of the newest version, the oldest first, at most `count`."""
        return self.in_order[max(self._living_from, len(self.in_order) - count) :]

    def list_newest_first(self) -> Iterator[OpenVersion]:
        """The versions of the incarnation of the newest version, the newest first."""
        incarnation = self.newest.incarnation
        return takewhile(lambda v: v.incarnation == incarnation, reversed(self.in_order))

    def record_disagreement(self, kind: str, version: OpenVersion, message: str, point: Point) -> None:
        """Keep a disagreement; the same one at many records is kept once, with its coordinates."""
        disagreement = (kind, self.find_number(version) - 1, message)
        self._contradictions.setdefault(disagreement, []).append(point.coordinates)
        self.recorded += 1

    def record_remark(self, kind: str, message: str, marks: Iterable[Coordinates]) -> None:
        """Keep a remark about the newest version, by the records that show it; without any, by its first."""
        self._contradictions[kind, len(self.in_order) - 1, message] = list(marks) or [self.newest.at]

    def list_disagreements(self, others: Iterable[Disagreement]) -> tuple[Disagreement, ...]:
        """The disagreements and others in order of versions, each with its first and last coordinates."""
        own = (
            Disagreement(kind, (index + 1,), message, tuple(dict.fromkeys((marks[0], marks[-1]))))
            for (kind, index, message), marks in self._contradictions.items()
        )
        return tuple(sorted([*own, *others], key=lambda d: (d.versions, d.kind, d.message)))
