"""Values of JSON as text: a text as it is, any other value as JSON spells it."""

from __future__ import annotations

import base64
import json
from decimal import Decimal

from schemaman.model.schema import Column
from schemaman.sink.values.row_decoder import Cell
from schemaman.sink.values.unavailable import PLACEHOLDER, list_placeholders
from schemaman.sink.values.values import UnfitValue, Value, abbreviate_value


def make_text_cell(field: str, column: Column, placeholder: bytes = PLACEHOLDER) -> Cell:
    """Make the cell of a field of which nothing shows the type; see `format_json`.

    Each text that may be the placeholder of a text, of bytes or of a document counts as unavailable.
    """
    nodes = ({"type": "string"}, {"type": "string", "name": "io.debezium.data.Json"}, {"type": "bytes"})
    found = dict.fromkeys(p for node in nodes for p in list_placeholders(node, "json", placeholder))
    coded = base64.b64encode(placeholder).decode()
    return field, column.name, tuple(dict.fromkeys((*found, coded))), None, format_json


def format_json(value: object) -> Value:
    """Format a value as text: `12.50`, `true`, `[1,null]`; a text is the text itself.

    Raises:
        UnfitValue: a number is too large for JSON, or the value is none of JSON.
    """
    return value if isinstance(value, str) else _format_value(value)


def _format_value(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case Decimal() if value.is_finite():
            return str(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return f"[{','.join(map(_format_value, value))}]"
        case dict():
            pairs = (f"{_format_value(str(name))}:{_format_value(one)}" for name, one in value.items())
            return f"{{{','.join(pairs)}}}"
        case _:
            raise UnfitValue(f"{abbreviate_value(value)} is no value of JSON")
