"""Decoding of a run: observations of tables, skipped records, rejects, and notes.

All records of a run have one shape and one table, so one of them is read for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from schemaman.debezium.ddl.online import is_working_copy
from schemaman.debezium.document import find_row
from schemaman.debezium.envelope import (
    is_schemaless,
    note_shape,
    observe_events,
    observe_schemaless_events,
)
from schemaman.debezium.event_shapes import RestoredEvent, restore_event, unwrap_cell_schemas
from schemaman.debezium.flattened import is_row, observe_row, read_key_names
from schemaman.debezium.flattened_fields import KeyNames
from schemaman.debezium.inference import extract_content
from schemaman.debezium.key import (
    explain_key,
    is_key_of,
    list_key_fields,
    note_key_types,
    note_unread_key,
    parse_struct_text,
)
from schemaman.debezium.observation import (
    Note,
    Observation,
    Outcome,
    SchemaRun,
    forget_key,
    is_awaiting_schema,
    reject_run,
    skip_run,
)
from schemaman.debezium.payload import Body, SchemaLookup, read_event, read_key
from schemaman.debezium.raw_record import OUTBOX, TOMBSTONE, DecodeContext, is_outbox
from schemaman.debezium.records import Record
from schemaman.debezium.signal import SIGNAL, is_signal, is_signal_payload, note_signal_table
from schemaman.debezium.source_block import read_origin
from schemaman.debezium.wire_format import AUTO, Forms, read_framing
from schemaman.errors import UnreadableInput
from schemaman.plugins import defer

if TYPE_CHECKING:  # topics of events have neither schema changes nor records of other programs
    from schemaman.debezium.foreign_formats import explain_unknown
    from schemaman.debezium.schema_change import observe_changes
    from schemaman.debezium.schema_history import observe_history
else:
    explain_unknown = defer("schemaman.debezium.foreign_formats:explain_unknown")
    observe_changes = defer("schemaman.debezium.schema_change:observe_changes")
    observe_history = defer("schemaman.debezium.schema_history:observe_history")

HEARTBEAT_TOPIC = "__debezium-heartbeat"

_KINDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("schema-change", frozenset({"source", "databaseName", "ddl"})),
    ("schema-change", frozenset({"source", "databaseName", "tableChanges"})),
    ("message", frozenset({"source", "op", "message"})),
    ("event", frozenset({"source", "op"})),
    ("transaction", frozenset({"status", "id", "event_count"})),
    ("notification", frozenset({"aggregate_type", "additional_data"})),
)
"""Kinds of records and the fields that identify them; the first match counts. Source: Debezium
Envelope, ConnectTableChangeSerializer, TransactionStructMaker, HeartbeatImpl, Notification."""


def decode(run: SchemaRun, stream: str, schemas: SchemaLookup, forms: Forms = AUTO) -> tuple[Outcome, ...]:
    """Decode a run; a run that cannot be read gives one `Reject` with the reason.

    `stream` is the name of the records' stream; `schemas` returns the Avro text of a registry id; `forms` are
    the configured forms of keys and values.
    """
    if run.fault is not None:
        return (reject_run(run, stream, run.fault),)
    try:
        return _decode(run, stream, schemas, forms)
    except UnreadableInput as fault:
        return (reject_run(run, stream, fault.message),)
    except RecursionError:
        return (reject_run(run, stream, "the schema is nested too deeply to be read"),)


def _decode(run: SchemaRun, stream: str, schemas: SchemaLookup, forms: Forms) -> tuple[Outcome, ...]:
    record = run.sample
    kind = classify_without_value(record)
    if kind is not None or record.value is None:
        return (skip_run(run, kind or TOMBSTONE),)
    value = read_event(
        record.value, schemas, read_framing(record.value, record.headers, "value", forms.value)
    )
    if value.payload is None:
        # JsonConverter writes a null with a schema as an object, and a bare null as text
        return (skip_run(run, TOMBSTONE),)
    key, key_fault = _read_key(record, schemas, forms)
    restored = restore_event(
        value.payload,
        record.topic,
        None if value.schema is None else value.name,
        lambda: read_key_names(key),
    )
    if restored is not None:
        value = Body(restored.payload, restored.restore_schema(value.schema))
        key = _restore_key(key) if restored.cells else key
    match classify_record(record, value, forms, read_key_names(key), counted=run.inferred is not None):
        case "event":
            key, key_fault = _confirm_key(key, key_fault, find_row(value.payload), record)
            observed = (observe_schemaless_events if is_schemaless(value) else observe_events)(
                run, stream, value, key
            )
            observed = _weigh(observed, record, restored, key_fault)
            if is_working_copy(observed):
                return (skip_run(run, "shadow-table"),)
            origin = read_origin(value.payload)
            return (
                observed,
                *note_signal_table(observed),
                *note_key_types(observed, key),
                *_note_key(observed, key_fault),
                *note_shape(observed, origin.stated_connector, restored),
            )
        case "flattened":
            key, key_fault = _confirm_key(key, key_fault, value.payload, record)
            observed = _weigh(observe_row(run, stream, value, key, forms.added), record, None, key_fault)
            return (observed, *_note_key(observed, key_fault))
        case "schema-change":
            return observe_changes(run, stream, value)
        case "internal-history":
            return observe_history(run, stream, value)
        case kind:
            return (skip_run(run, kind),)


def _read_key(record: Record, schemas: SchemaLookup, forms: Forms) -> tuple[Body | None, str | None]:
    """Read the key of a record, and the reason if its columns stay unknown.

    Raises:
        UnreadableInput: the key waits for its schema or for a configured form.
    """
    if record.key is None:
        return None, None
    try:
        key = read_key(record.key, schemas, read_framing(record.key, record.headers, "key", forms.key))
        list_key_fields(key)
    except UnreadableInput as fault:
        if is_awaiting_schema(fault.message):
            raise UnreadableInput(f"key: {fault.message}") from None
        fields = parse_struct_text(record.key)
        if fields is not None:
            return Body(fields), None
        return None, explain_key(record.key, fault.message)
    return key, None


def _confirm_key(
    key: Body | None, fault: str | None, row: Mapping[str, object] | None, record: Record
) -> tuple[Body | None, str | None]:
    """Confirm the fields of a key that is the text of a struct; else the key is unknown."""
    if key is None or record.key is None or parse_struct_text(record.key) is None:
        return key, fault
    return (key, fault) if is_key_of(key.payload, row) else (None, explain_key(record.key, ""))


def _restore_key(key: Body | None) -> Body | None:
    """Restore a key whose columns have cells around their values."""
    if key is None or key.schema is None:
        return key
    return Body(key.payload, unwrap_cell_schemas(key.schema))


def _weigh(
    observed: Observation, record: Record, restored: RestoredEvent | None, key_fault: str | None
) -> Observation:
    """Mark what the record does not show: its key, or the identity of its table."""
    if restored is not None and restored.weak:
        observed = replace(observed, weak=True)
    return observed if record.is_key_known and key_fault is None else forget_key(observed)


def _note_key(observed: Observation, fault: str | None) -> tuple[Note, ...]:
    return () if fault is None else (note_unread_key(observed, fault),)


def classify_without_value(record: Record) -> str | None:
    """Classify a record whose kind does not depend on the structure of its value; None: the value decides.

    The scanner, the decoder and the reader of rows all ask this function, so they skip the same records.
    """
    if record.value is None:
        return TOMBSTONE
    if is_outbox(record):
        return OUTBOX
    return SIGNAL if is_signal(record) else None


def classify_record(
    record: Record, value: Body, forms: Forms, key: KeyNames, *, counted: bool = False
) -> str:
    """Classify a record: `event`, `flattened`, `schema-change`, `internal-history`, or a kind to skip.

    `key` has the names in its key. `counted`: the scanner has counted the fields of the record, since no
    schema has its structure.

    Raises:
        UnreadableInput: the record is of no known kind; the message describes its form.
    """
    if not isinstance(value.payload, dict):
        raise UnreadableInput("the value is a bare JSON value, no record of Debezium")
    fields = value.fields
    if record.topic.startswith(HEARTBEAT_TOPIC) or value.name.endswith(".Heartbeat"):
        return "heartbeat"
    if fields == {"ts_ms"} and b'"serverName"' in (record.key or b""):
        return "heartbeat"  # of a topic with a prefix of its own, without schemas
    row = is_row(record, value, forms, key, counted=counted)
    if _is_history(record, value) and not row:
        return "internal-history"
    if row:
        return "flattened"
    if isinstance(value.payload.get("source"), dict):
        found = (kind for kind, members in _KINDS if members <= fields)
    else:
        found = (kind for kind, members in _KINDS if members <= fields and "source" not in members)
    kind = next(found, None)
    if kind is None and is_signal_payload(value.payload):
        return SIGNAL
    if kind is None:
        raise UnreadableInput(explain_unknown(value))
    return "message" if kind == "event" and value.payload.get("op") == "m" else kind


def _is_history(record: Record, value: Body) -> bool:
    """Return whether a value is of a connector's own schema history: JSON without key, positions as objects.

    Columns may be called `source` and `position` too. Source: Debezium HistoryRecord.
    """
    if record.key is not None or value.schema is not None or "op" in value.fields:
        return False
    return all(isinstance(value.payload.get(name), dict) for name in ("source", "position"))


class ContentCache:
    """A cache of the contents of runs; it grows with shapes, not with runs."""

    def __init__(self, reading: DecodeContext) -> None:
        self._reading = reading
        self._known: dict[tuple[str, tuple[str, ...], str], Observation | None] = {}
        self._one: dict[Observation, Observation] = {}

    def read_content(self, run: SchemaRun) -> Observation | None:
        """Read the content of a run, as the fold compares it; None for a run without an observation.

        Equal contents are one object.
        """
        key = (run.first.topic, run.table, run.shape)
        if key not in self._known:
            self._known[key] = self._decode(run)
        return self._known[key]

    def _decode(self, run: SchemaRun) -> Observation | None:
        outcomes = decode(replace(run, interrupted=False), "", self._reading.schemas, self._reading.forms)
        observed = next((extract_content(o) for o in outcomes if isinstance(o, Observation)), None)
        return None if observed is None else self._one.setdefault(observed, observed)
