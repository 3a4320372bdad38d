"""Signals: commands to a connector, such as to read tables again, in a topic or in a signal table.

A connector captures a signal table if it is among the tables to capture. Then its rows are events, also those
that the connector itself writes to open and to close a window of an incremental snapshot.
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
"""The types of signals. Source: Debezium StandardActionProvider."""

_MEMBERS = frozenset({"id", "type", "data"})
_WITHOUT_DATA = frozenset({"pause-snapshot", "resume-snapshot", "stop-snapshot"})

SIGNAL = "signal"
"""The table name of the records of a signal topic."""


def is_signal(record: Record) -> bool:
    """Return whether a record of a signal topic is a signal to a connector; its key is a bare text.

    Source: Debezium KafkaSignalChannel: the key is the text of `topic.prefix`, the value `type` and `data`.
    """
    key, value = record.key, record.value
    if not key or key[:1] in b"{\0\1" or value is None or value[:1] != b"{":
        return False
    try:
        signal = parse_json(value)
    except ValueError:
        return False
    return is_signal_payload(signal)


def is_signal_payload(payload: object) -> bool:
    """Return whether a value has exactly the form of a signal, since rows may have a column `type`, too.

    The `data` of a signal is an object; only signals that pause, resume or stop snapshots may omit it.
    Source: Debezium KafkaSignalChannel, SignalRecord: `id`, `type` and `data`.
    """
    if not isinstance(payload, dict) or not payload.keys() <= _MEMBERS:
        return False
    kind, data = payload.get("type"), payload.get("data")
    if not isinstance(kind, str) or kind not in SIGNALS:
        return False
    return isinstance(data, dict) or (data is None and kind in _WITHOUT_DATA)


def note_signal_table(observed: Observation) -> tuple[Note, ...]:
    """Note that a table has the structure of a signal table and no data of an application.

    Source: Debezium, "Sending signals": a table of `id`, `type` and `data`, all texts.
    """
    schema = observed.schema
    if schema is None or [name.lower() for name in schema.names] != ["id", "type", "data"]:
        return ()
    if not all(isinstance(column.type, String) for column in schema.columns):
        return ()
    first = observed.first
    message = (
        f"{observed.table} has the structure of a signal table (id, type, data): "
        "its rows are commands to the connector and its own markers, no data of an application"
    )
    note = Note(
        observed.table.stream, first.topic, first.partition, first.offset, SIGNAL_TABLE, message,
        observed.table, observed.count,
    )  # fmt: skip
    return (note,)
