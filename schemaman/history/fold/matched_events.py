"""Events beside declared structures: which version an event is of, and where the two disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from schemaman.history.fold.event_encoding import EventEncodingEpochs, EventFields, select_event_fields
from schemaman.history.fold.event_match import ColumnFit, find_fitting, fit_columns, list_differences
from schemaman.history.fold.key_history import EmittedKey
from schemaman.history.fold.moved_columns import renumber_columns
from schemaman.history.fold.open_versions import OpenVersions
from schemaman.history.fold.timeline import Point
from schemaman.history.fold.version_builder import OpenVersion, map_event_names
from schemaman.model.schema import TableSchema


@dataclass(frozen=True, slots=True)
class EarlyEvent:
    """An event that no structure explains that was declared before it; `version` is the nearest one."""

    point: Point
    emitted: TableSchema
    version: OpenVersion
    message: str


@dataclass(frozen=True, slots=True)
class EmittedEvents:
    """What the events of a table show beside its versions: epochs of their encoding, and their keys."""

    epochs: EventEncodingEpochs = field(default_factory=EventEncodingEpochs)
    keys: list[tuple[OpenVersion, EmittedKey]] = field(default_factory=list)

    def add_event(
        self, point: Point, version: OpenVersion, event_fields: EventFields, key: tuple[str, ...] = ()
    ) -> None:
        """Keep the event schema of a version; rows without a schema have none."""
        if point.observation.evidence == "emitted":
            epoch = self.epochs.add_event(point.coordinates, point.observation, version.schema, event_fields)
            version.event_forms.add_schema(epoch, point.coordinates, event_fields)
            if version.is_declared and not point.observation.is_key_unknown:
                self.keys.append((version, EmittedKey(point.coordinates, key)))


def match_event(
    versions: OpenVersions, events: EmittedEvents, point: Point, emitted: TableSchema
) -> EarlyEvent | None:
    """Add an event to the declared version that it is of; return it if no version explains it so far."""
    newest = versions.newest
    version, fit = find_fitting(versions.list_newest_first, emitted)
    if fit.unexplained:
        message = f"events carry {', '.join(fit.unexplained)}, which the declared structure does not explain"
        return EarlyEvent(point, emitted, version, message)
    version.points.append(point)
    _learn_event_names(versions, version, fit, emitted)
    events.add_event(
        point, version, select_event_fields(fit.names, emitted), fit.translate_names(emitted.key)
    )
    if version is not newest and fit.is_exact:
        message = f"events still had the structure of version {versions.find_number(version)}"
        versions.record_disagreement("emitted-lags-declared", newest, message, point)
    if fit.missing:
        message = f"no event carries the declared {', '.join(fit.missing)}"
        versions.record_disagreement("column-not-emitted", version, message, point)
    _record_differences(versions, version, emitted, fit, point)
    return None


def settle_early_events(
    versions: OpenVersions, events: EmittedEvents, early_events: Sequence[EarlyEvent]
) -> None:
    """Add early events to structures that were declared later, or record what does not explain them."""
    for early in early_events:
        point, emitted = early.point, early.emitted
        found = _find_later_version(versions, early)
        if found is None:
            versions.record_disagreement("emitted-differs", early.version, early.message, point)
            continue
        version, fit = found
        version.points[1:] = sorted([*version.points[1:], point], key=lambda p: p.order)
        _learn_event_names(versions, version, fit, emitted)
        fields = select_event_fields(fit.names, emitted)
        version.event_forms.add_schema(len(events.epochs.epochs), point.coordinates, fields)
        if not point.observation.snapshot and point.coordinates.position.rank < version.at.position.rank:
            number = versions.find_number(version)
            message = f"events had the structure of version {number} before it was declared"
            versions.record_disagreement("emitted-leads-declared", version, message, point)
        _record_differences(versions, version, emitted, fit, point)


def _find_later_version(versions: OpenVersions, early: EarlyEvent) -> tuple[OpenVersion, ColumnFit] | None:
    """Find the first later version of the same incarnation that has exactly the columns of an event."""
    later = versions.in_order[versions.find_number(early.version) :]
    living = (v for v in later if v.incarnation == early.version.incarnation and v.is_declared)
    names = frozenset(early.emitted.names)
    likely = (v for v in living if names <= v.fields)
    return next(((v, f) for v in likely if (f := fit_columns(v.schema, early.emitted)).is_exact), None)


def _learn_event_names(
    versions: OpenVersions, version: OpenVersion, fit: ColumnFit, emitted: TableSchema
) -> None:
    """Learn under which names events carry the columns of a version, and what that proves of their ids."""
    version.event_forms.names.update(map_event_names(fit, emitted))
    index = versions.find_number(version) - 1
    versions.next_id = renumber_columns(versions.in_order, index, emitted, versions.next_id)


def _record_differences(
    versions: OpenVersions, version: OpenVersion, emitted: TableSchema, fit: ColumnFit, point: Point
) -> None:
    """Keep the contradictions between an event and its declared schema."""
    if point.observation.is_key_unknown:
        emitted = replace(emitted, key=tuple(fit.names.get(k, k) for k in version.schema.key))
    for kind, message in list_differences(version.schema, emitted, fit):
        versions.record_disagreement(kind, version, message, point)
