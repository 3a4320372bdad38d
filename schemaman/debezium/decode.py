"""Decoding of a run: observations of tables, skipped records, rejects, and notes.

All records of a run have one shape and one table, so one of them is read for all.
"""

from __future__ import annotations

from dataclasses import replace

from schemaman.debezium.ddl.online import is_working_copy
from schemaman.debezium.envelope import is_schemaless, observe_events, observe_schemaless_events
from schemaman.debezium.flattened import is_row, observe_row
from schemaman.debezium.flattened_fields import PREFIX
from schemaman.debezium.inference import extract_content
from schemaman.debezium.key import note_key_types
from schemaman.debezium.observation import (
    Observation,
    Outcome,
    SchemaRun,
    forget_key,
    reject_run,
    skip_run,
)
from schemaman.debezium.payload import Body, SchemaLookup, read_event, read_key
from schemaman.debezium.raw_record import OUTBOX, TOMBSTONE, DecodeContext, is_outbox
from schemaman.debezium.records import Record
from schemaman.debezium.schema_change import observe_changes
from schemaman.debezium.schema_history import observe_history
from schemaman.debezium.signal import SIGNAL, is_signal, is_signal_payload, note_signal_table
from schemaman.debezium.wire_format import AUTO, Forms, read_framing
from schemaman.errors import UnreadableInput

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
    match classify_record(record, value, forms.added, counted=run.inferred is not None):
        case "event":
            key = _read_key(record, schemas, forms)
            observed = (observe_schemaless_events if is_schemaless(value) else observe_events)(
                run, stream, value, key
            )
            observed = observed if record.is_key_known else forget_key(observed)
            if is_working_copy(observed):
                return (skip_run(run, "shadow-table"),)
            return (observed, *note_signal_table(observed), *note_key_types(observed, key))
        case "flattened":
            key = _read_key(record, schemas, forms)
            observed = observe_row(run, stream, value, key, forms.added)
            return (observed if record.is_key_known else forget_key(observed),)
        case "schema-change":
            return observe_changes(run, stream, value)
        case "internal-history":
            return observe_history(run, stream, value)
        case kind:
            return (skip_run(run, kind),)


def _read_key(record: Record, schemas: SchemaLookup, forms: Forms) -> Body | None:
    if record.key is None:
        return None
    return read_key(record.key, schemas, read_framing(record.key, record.headers, "key", forms.key))


def classify_without_value(record: Record) -> str | None:
    """Classify a record whose kind does not depend on the structure of its value; None: the value decides.

    The scanner, the decoder and the reader of rows all ask this function, so they skip the same records.
    """
    if record.value is None:
        return TOMBSTONE
    if is_outbox(record):
        return OUTBOX
    return SIGNAL if is_signal(record) else None


def classify_record(record: Record, value: Body, prefix: str = PREFIX, *, counted: bool = False) -> str:
    """Classify a record: `event`, `flattened`, `schema-change`, `internal-history`, or a kind to skip.

    `counted`: the scanner has counted the fields of the record, since no schema has its structure.

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
    if _is_history(record, value) and not is_row(record, value, prefix):
        return "internal-history"
    if is_row(record, value, prefix, counted=counted):
        return "flattened"
    if isinstance(value.payload.get("source"), dict):
        found = (kind for kind, members in _KINDS if members <= fields)
    else:
        found = (kind for kind, members in _KINDS if members <= fields and "source" not in members)
    kind = next(found, None)
    if kind is None and is_signal_payload(value.payload):
        return SIGNAL
    if kind is None:
        raise UnreadableInput(_explain_unknown(value))
    return "message" if kind == "event" and value.payload.get("op") == "m" else kind


def _is_history(record: Record, value: Body) -> bool:
    """Return whether a value is of a connector's own schema history: JSON without key, positions as objects.

    Columns may be called `source` and `position` too. Source: Debezium HistoryRecord.
    """
    if record.key is not None or value.schema is not None or "op" in value.fields:
        return False
    return all(isinstance(value.payload.get(name), dict) for name in ("source", "position"))


def _explain_unknown(value: Body) -> str:
    """Explain why a value is not read by the form that it has."""
    if value.schema is None:
        return f"JSON without a schema and without a source block: {_list_fields(value)}"
    return f"a Connect schema {value.name!r} that is no record of Debezium: {_list_fields(value)}"


def _list_fields(value: Body) -> str:
    return ", ".join(sorted(value.fields)[:8]) or "no members"


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
