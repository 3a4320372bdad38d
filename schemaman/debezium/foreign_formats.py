"""Records of other tools and documents of other kinds: what a reject says of them, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemaman.debezium.payload import Body

_FLATTENED = "if the topic holds flattened rows, use --flattened TOPIC"


@dataclass(frozen=True, slots=True)
class ForeignFormat:
    """A format that is not read: the fields that identify it, its name, and what to do."""

    fields: frozenset[str]
    name: str
    advice: str


def _name_format(fields: str, name: str, advice: str) -> ForeignFormat:
    return ForeignFormat(frozenset(fields.split()), name, advice)


_AS_DEBEZIUM = "configure its writer to use the Debezium format"
_FORMATS = (
    _name_format("op_type op_ts table", "a change event of Oracle GoldenGate", _AS_DEBEZIUM),
    _name_format("data type isDdl", "a change event of Canal", _AS_DEBEZIUM),
    _name_format("data type database table es", "a change event of Canal", _AS_DEBEZIUM),
    _name_format("data type database table ts", "a change event of Maxwell", _AS_DEBEZIUM),
    _name_format("type database table commitTs", "a message of TiCDC's simple protocol", _AS_DEBEZIUM),
    _name_format("payload schema version", "a change event of Alibaba's DataWorks", _AS_DEBEZIUM),
    _name_format("data metadata", "a change event of AWS DMS", "read the same database with Debezium"),
    _name_format("eventName dynamodb", "a change event of DynamoDB Streams", "Debezium has no such records"),
    _name_format(
        "specversion data", "a CloudEvent of another producer", "use Debezium's CloudEventsConverter"
    ),
    _name_format("updated resolved", "a message of CockroachDB", "use envelope=enriched in its changefeed"),
    _name_format("resolved", "a message of CockroachDB about time alone", "it holds no row; exclude it"),
    _name_format("after updated", "a change event of CockroachDB", "use envelope=enriched in its changefeed"),
    _name_format("connector.class", "the configuration of a connector", "name the topic of its records"),
    _name_format("name config", "the configuration of a connector", "name the topic of its records"),
)
"""The formats, most specific first.

Source: Oracle GoldenGate's JSON formatter; Canal FlatMessage; Maxwell data format; TiCDC Simple Protocol;
Alibaba DataWorks message format; AWS DMS Kafka target; DynamoDB Streams; CloudEvents 1.0; CockroachDB
changefeed messages.
"""


def explain_unknown(value: Body) -> str:
    """Explain why an object is not read: what it is by its fields, and what to do."""
    payload: Mapping[str, object] = value.payload
    found = (
        None if value.schema is not None else next((f for f in _FORMATS if f.fields <= payload.keys()), None)
    )
    if found is not None:
        return f"{found.name}, which is not read: {found.advice}"
    fields = _list_fields(value)
    if value.schema is not None:
        what = f"a Connect schema {value.name!r} that is no record of Debezium: {fields}"
    elif payload.get("type") in ("record", "struct") and isinstance(payload.get("fields"), list):
        return f"a schema without a record: {fields}; name the topic of the records"
    else:
        what = f"JSON without a schema and without a source block: {fields}"
    if "op" in payload or "before" in payload or "after" in payload:
        return (
            f"{what}; it looks like an event whose images or operation are missing or not of Debezium's form"
        )
    return f"{what}; {_FLATTENED}"


def _list_fields(value: Body) -> str:
    return ", ".join(sorted(value.fields)[:8]) or "no members"
