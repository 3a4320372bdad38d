"""A change event inside a CloudEvent, whose attributes have the facts of a source block."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass

from schemaman.debezium.flattened_fields import SOURCE_FIELDS, parse_source_value
from schemaman.debezium.raw_record import JsonObject
from schemaman.errors import UnreadableInput

SPECVERSION = b'"specversion"'
"""A key of every CloudEvent in JSON. Source: CloudEvents 1.0, required attributes."""

_ATTRIBUTE = "iodebezium"
_FIELDS = {name.replace("_", "").lower(): name for name in SOURCE_FIELDS}


@dataclass(frozen=True, slots=True)
class CloudEvent:
    """The content of a CloudEvent: `row` and `schema` of JSON data, or `data` as framed Avro.

    `source` and `op` are those of the change event.
    """

    source: Mapping[str, object]
    op: str
    row: object = None
    schema: JsonObject | None = None
    data: bytes | None = None

    def build_payload(self, row: object) -> JsonObject:
        """Build the payload of the change event, as it would be without the CloudEvent around it."""
        images = dict(row) if isinstance(row, Mapping) else {}
        return {"before": None, "after": None, **images, "source": dict(self.source), "op": self.op}


def read_cloud_event(document: object) -> CloudEvent | None:
    """Read the change event in a JSON document; None if the document is no CloudEvent of Debezium.

    Source: Debezium CloudEventsConverter: an attribute is `iodebezium` and the letters and digits of a
    field's name; its value is text. Data is `schema` and `payload`, the payload alone, or Avro in base64, by
    `json.schemas.enable` and `data.serializer.type`.

    Raises:
        UnreadableInput: the attributes name no table, or the data has no known form.
    """
    if not isinstance(document, dict) or "specversion" not in document or "data" not in document:
        return None
    if not str(document.get("type")).startswith("io.debezium."):
        return None
    attributes = {
        name.lower().removeprefix(_ATTRIBUTE): value
        for name, value in document.items()
        if name.lower().startswith(_ATTRIBUTE)
    }
    op = attributes.get("op")
    source = {_FIELDS[n]: parse_source_value(_FIELDS[n], v) for n, v in attributes.items() if n in _FIELDS}
    if not isinstance(op, str) or not isinstance(source.get("connector"), str):
        raise UnreadableInput(
            "a CloudEvent without Debezium's attributes (extension.attributes.enable=false) names no table"
        )
    return _read_data(document["data"], source, op)


def _read_data(data: object, source: Mapping[str, object], op: str) -> CloudEvent:
    if isinstance(data, str):
        try:
            return CloudEvent(source, op, data=base64.b64decode(data, validate=True))
        except (ValueError, binascii.Error):
            raise UnreadableInput("the data of the CloudEvent is a text that is no base64") from None
    if isinstance(data, dict) and data.keys() == {"schema", "payload"}:
        schema = data["schema"]
        if isinstance(schema, dict) and isinstance(schema.get("fields"), list):
            return CloudEvent(source, op, data["payload"], schema)
    if data is None or isinstance(data, dict):
        return CloudEvent(source, op, data)
    raise UnreadableInput("the data of the CloudEvent is neither an object nor a text")


def wrap_schema(schema: Mapping[str, object]) -> JsonObject:
    """Add the fields of the envelope to the schema of the data."""
    fields = schema.get("fields")
    around = [{"field": "source", "type": "struct", "fields": []}, {"field": "op", "type": "string"}]
    return {**schema, "fields": [*(fields if isinstance(fields, list) else []), *around]}
