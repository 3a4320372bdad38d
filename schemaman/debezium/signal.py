"""Signals: what tells a connector to read tables again, in a topic or in a table of its own.

A signal table is captured like any other where it lies among the tables to capture; then its rows are
events, also those that the connector itself writes to open and to close a window of an incremental snapshot.
"""

from __future__ import annotations

from schemaman.debezium.observation import SIGNAL_TABLE, Note, Observation
from schemaman.debezium.raw_record import parse_json
from schemaman.debezium.records import Record
from schemaman.model.types import String

SIGNALS = frozenset(
    {
        "execute-snapshot",
        "log",
        "pause-snapshot",
        "resume-snapshot",
        "schema-changes",
        "set-binlog-position",
        "stop-snapshot",
    }
)
"""What a record of a signal topic may ask for. Source: Debezium StandardActionProvider."""

_MEMBERS = frozenset({"id", "type", "data"})
_WITHOUT_DATA = frozenset({"pause-snapshot", "resume-snapshot", "stop-snapshot"})

SIGNAL = "signal"
"""What stands for the table of the records of a signal topic."""


def is_signal(record: Record) -> bool:
    """Whether a record of a signal topic asks a connector for something: its key is a bare text.

    Source: Debezium KafkaSignalChannel: the key is the text of `topic.prefix`, the value `type` and `data`.
    """
    key, value = record.key, record.value
    if not key or key[:1] in b"{\0\1" or value is None or value[:1] != b"{":
        return False
    try:
        asked = parse_json(value)
    except ValueError:
        return False
    return is_signal_payload(asked)


def is_signal_payload(payload: object) -> bool:
    """Whether a value has just the form of a signal, since rows have columns called `type` as well.

    What a signal asks for is an object; only those that halt snapshots do without it. Source: Debezium
    KafkaSignalChannel, SignalRecord: `id`, `type` and `data`.
    """
    if not isinstance(payload, dict) or not payload.keys() <= _MEMBERS:
        return False
    kind, data = payload.get("type"), payload.get("data")
    if not isinstance(kind, str) or kind not in SIGNALS:
        return False
    return isinstance(data, dict) or (data is None and kind in _WITHOUT_DATA)


def note_signal_table(observed: Observation) -> tuple[Note, ...]:
    """That a table is one of signals and holds no data of anybody, if it has their structure.

    Source: Debezium, "Sending signals": a table of `id`, `type` and `data`, all texts.
    """
    schema = observed.schema
    if schema is None or [name.lower() for name in schema.names] != ["id", "type", "data"]:
        return ()
    if not all(isinstance(column.type, String) for column in schema.columns):
        return ()
    first = observed.first
    told = (
        f"{observed.table} has the structure of a signal table (id, type, data): "
        "its rows are orders to the connector and marks of its own, no data of anybody"
    )
    note = Note(
        observed.table.stream, first.topic, first.partition, first.offset, SIGNAL_TABLE, told,
        observed.table, observed.count,
    )  # fmt: skip
    return (note,)
