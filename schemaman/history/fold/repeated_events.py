"""Recognizes events that only repeat: most edges of runs show the schema and the facts of the edge before.

Law: an event that is like the one before it and changed nothing is followed by others that change nothing,
since all that decides about them is the same. So is one whose schema the newest version has as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import is_

from schemaman.debezium.observation import Observation
from schemaman.history.fold.open_versions import OpenVersions


@dataclass(frozen=True, slots=True)
class WalkState:
    """What an event may change: `parts` of the newest version, and the `counts` of all that was kept."""

    parts: tuple[object, ...]
    counts: tuple[int, ...]

    def is_same(self, other: WalkState) -> bool:
        """Whether nothing was changed between two states."""
        return self.counts == other.counts and all(map(is_, self.parts, other.parts))


def find_state(versions: OpenVersions, epochs: int) -> WalkState:
    """Find the state of a walk with that many epochs of its event encoding."""
    if not versions.in_order:
        return WalkState((), (0,))
    newest = versions.newest
    counts = (len(versions.in_order), versions.next_id, versions.recorded, epochs)
    return WalkState(
        (newest, newest.shape, newest.caveats, newest.until), (*counts, len(newest.event_forms.schemas))
    )


@dataclass(slots=True)
class EventRepetition:
    """The last event, if the last point was one, and whether others like it change nothing."""

    _last: Observation | None = None
    _is_settled: bool = False

    def is_repeated(self, observation: Observation) -> bool:
        """Whether an event changes nothing, and supports the newest version."""
        return self._is_settled and self._last is not None and _is_alike(self._last, observation)

    def note_point(self, observation: Observation, *, is_shown: bool, has_changed: bool) -> None:
        """Note a point that was taken, and whether it changed more than the points of the newest version.

        `is_shown`: the newest version has the schema of the event as it is.
        """
        last, self._last = self._last, observation if _is_plain_event(observation) else None
        is_alike = last is not None and _is_alike(last, observation)
        self._is_settled = self._last is not None and (is_shown or (is_alike and not has_changed))


def _is_plain_event(observation: Observation) -> bool:
    """Whether it is an event with a schema and a known key, of a table with one writer."""
    o = observation
    return (
        o.evidence == "emitted"
        and o.action == "image"
        and o.schema is not None
        and o.inferred is None
        and not (o.previous or o.ddl or o.renames or o.stated_attributes or o.writer or o.is_key_unknown)
    )


def _is_alike(one: Observation, other: Observation) -> bool:
    """Whether a plain event and another observation differ at most in coordinates and counts.

    Their schemas have to be one object, as for the edges of a run: equal defaults may have other types.
    """
    return one is other or (
        one.schema is other.schema
        and _is_plain_event(other)
        and (one.table, one.connector, one.connector_version, one.schema_name)
        == (other.table, other.connector, other.connector_version, other.schema_name)
        and (one.snapshot, one.interrupted, one.weak, one.unstated_attributes)
        == (other.snapshot, other.interrupted, other.weak, other.unstated_attributes)
    )
