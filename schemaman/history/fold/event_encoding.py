"""Collects the event encodings of a table: the epochs of its connector, and each version's event schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Coordinates
from schemaman.history.epochs import Epoch, EventField, EventSchema
from schemaman.history.fold.timeline import Point
from schemaman.model.ddl import format_type
from schemaman.model.schema import KEPT_SCHEMAS, TableSchema
from schemaman.model.types import Type, has_labels, without_labels

EventFields = dict[str, tuple[str, Type]]
"""Column → the name and the type of its field."""


class EventEncodingEpochs:
    """The epochs of one table, while its events are read in order."""

    def __init__(self) -> None:
        self.epochs: list[Epoch] = []
        self._own: dict[str, Type] = {}
        self._event_fields: EventFields = {}
        self._last: Coordinates | None = None
        self._observation: Observation | None = None

    def extend_run(self, point: Point) -> bool:
        """Whether a point is the other edge of the last run, without new facts."""
        if point.observation is not self._observation:
            return False
        self.repeat_event(point)
        return True

    def repeat_event(self, point: Point) -> None:
        """Add an event without new facts."""
        self._last, self._observation = point.coordinates, point.observation

    def add_event(
        self, mark: Coordinates, observation: Observation, structure: TableSchema, event_fields: EventFields
    ) -> int:
        """Add an event with its schema and encoding; return the number of its epoch."""
        own = dict(_list_types(structure))
        if any(has_labels(type) for _, type in event_fields.values()):
            event_fields = {c: (name, without_labels(type)) for c, (name, type) in event_fields.items()}
        changes = tuple(self._list_changes(own, event_fields))
        last = self.epochs[-1] if self.epochs else None
        release = (observation.connector, observation.connector_version)
        if last is None or changes or release != (last.connector, last.connector_version):
            number = 1 if last is None else last.number + 1
            self.epochs.append(Epoch(number, *release, self._last, mark, changes))
        self._own |= own
        self._event_fields |= event_fields
        self._last, self._observation = mark, observation
        return len(self.epochs)

    def _list_changes(self, own: dict[str, Type], event_fields: EventFields) -> Iterable[str]:
        """What travels otherwise than before, of columns that are the same."""
        known = self._event_fields
        for column in [
            c for c, event_field in event_fields.items() if known.get(c, event_field) != event_field
        ]:
            (name, type), before, previous_type = event_fields[column], known[column], self._own.get(column)
            if before[0] != name:
                yield f"{column} is sent as {name}, no longer as {before[0]}"
            if before[1] != type and previous_type == own.get(column):
                yield f"{column} is sent as {format_type(type)}, no longer as {format_type(before[1])}"


@lru_cache(KEPT_SCHEMAS)
def _list_types(schema: TableSchema) -> tuple[tuple[str, Type], ...]:
    """The type of each column by its name, without labels."""
    return tuple([(c.name, without_labels(c.type)) for c in schema.columns])


def read_event_fields(emitted: TableSchema, own: TableSchema) -> EventFields:
    """The encoding of a table's columns in an event: its fields, by the table's own names, in any order."""
    types = {c.emitted_name or c.name: c.type for c in emitted.columns}
    fields = {c.name: c.emitted_name or c.name for c in own.columns}
    return {name: (field, types[field]) for name, field in fields.items() if field in types}


def select_event_fields(names: Mapping[str, str], emitted: TableSchema) -> EventFields:
    """The encoding in an event of the columns in `names` (column → its name in the event)."""
    fields = {c.name: (c.emitted_name or c.name, c.type) for c in emitted.columns}
    return {column: fields[field] for column, field in names.items()}


def make_event_schema(
    epoch: int, at: Coordinates, version: TableSchema, event_fields: EventFields
) -> EventSchema:
    """The event schema of a version: only the fields that differ from their columns."""
    fields = []
    for column in version.columns:
        name, type = event_fields.get(column.name, (None, None))
        same_type = type is column.type or (
            type is not None and without_labels(type) == without_labels(column.type)
        )
        if not same_type or name != (column.emitted_name or column.name):
            fields.append(EventField(column.name, name, type))
    return EventSchema(epoch, at, tuple(fields))
