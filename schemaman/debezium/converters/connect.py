"""Readers of Kafka Connect schemas, as JsonConverter prints them: to logical types and columns.

A node is the JSON of one Connect schema: `type`, `optional`, `name`, `version`, `doc`,
`parameters`, `default`, and `fields`, `items`, `keys` or `values`.
Source: Kafka JsonConverter.asJsonSchema; the semantic names are those of Debezium's
`io.debezium.time`, `io.debezium.data` and of `org.apache.kafka.connect.data`.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from schemaman.debezium.connectors import _numbers
from schemaman.debezium.connectors._type_expression import format_type_expression
from schemaman.errors import UnreadableInput
from schemaman.model.schema import Column, Scalar
from schemaman.model.types import (
    Array,
    Binary,
    Bits,
    Boolean,
    Date,
    Decimal,
    Enum,
    EnumSet,
    Field,
    Floating,
    Integer,
    Interval,
    Json,
    Map,
    Numeric,
    String,
    Struct,
    Time,
    Timestamp,
    Type,
    Unknown,
    Uuid,
    Xml,
)

Node = Mapping[str, Any]

DECIMAL = "org.apache.kafka.connect.data.Decimal"
COLUMN_NAME = "__debezium.source.column.name"
COLUMN_TYPE = "__debezium.source.column.type"
COLUMN_LENGTH = "__debezium.source.column.length"
COLUMN_SCALE = "__debezium.source.column.scale"
COLUMN_COMMENT = "__debezium.source.column.comment"

_PRIMITIVES: dict[str, Type] = {
    "boolean": Boolean(),
    "int8": Integer(8),
    "int16": Integer(16),
    "int32": Integer(32),
    "int64": Integer(64),
    "float": Floating(32),
    "float32": Floating(32),
    "double": Floating(64),
    "float64": Floating(64),
    "string": String(),
    "bytes": Binary(),
}

_TIME: dict[str, Type] = {
    "Date": Date(),
    "Time": Time(3),
    "MicroTime": Time(6),
    "NanoTime": Time(9),
    "ZonedTime": Time(6, zoned=True),
    "Timestamp": Timestamp(3, zoned=False),
    "MicroTimestamp": Timestamp(6, zoned=False),
    "NanoTimestamp": Timestamp(9, zoned=False),
    "ZonedTimestamp": Timestamp(6, zoned=True),
    "IsoDate": Date(),
    "IsoTime": Time(6),
    "IsoTimestamp": Timestamp(6, zoned=False),
    "StructuredDate": Date(),
    "StructuredTime": Time(9),
    "StructuredZonedTime": Time(9, zoned=True),
    "StructuredTimestamp": Timestamp(9, zoned=False),
    "StructuredZonedTimestamp": Timestamp(9, zoned=True),
    "Year": Integer(32),
    "Interval": Interval(),
    "MicroDuration": Interval("DAY TO SECOND"),
    "NanoDuration": Interval("DAY TO SECOND"),
    "StructuredDuration": Interval(),
}
_DATA: dict[str, Type] = {
    "VariableScaleDecimal": Numeric(),
    "Json": Json(),
    "Xml": Xml(),
    "Uuid": Uuid(),
    "Ltree": String(),
    "Tsvector": String(),
}
_CONNECT: dict[str, Type] = {
    "Date": Date(),
    "Time": Time(3),
    # a java.util.Date, but Debezium writes zoneless columns so (time.precision.mode=connect)
    "Timestamp": Timestamp(3, zoned=False),
}
# Avro's own logical types, without a connect.name. Source: Avro specification.
_AVRO: dict[str, Type] = {
    "date": Date(),
    "time-millis": Time(3),
    "time-micros": Time(6),
    "timestamp-millis": Timestamp(3),
    "timestamp-micros": Timestamp(6),
    "timestamp-nanos": Timestamp(9),
    "local-timestamp-millis": Timestamp(3, zoned=False),
    "local-timestamp-micros": Timestamp(6, zoned=False),
    "local-timestamp-nanos": Timestamp(9, zoned=False),
    "uuid": Uuid(),
}
_SEMANTIC: dict[str, Type] = {f"io.debezium.time.{name}": type for name, type in _TIME.items()}
_SEMANTIC |= {f"io.debezium.data.{name}": type for name, type in _DATA.items()}
_SEMANTIC |= {f"org.apache.kafka.connect.data.{name}": type for name, type in _CONNECT.items()}
_SEMANTIC |= _AVRO

_STRUCTURAL = re.compile(r"io\.debezium\.data\.(geometry\.\w+|(Double|Float|Sparse|SparseDouble)Vector)")
"""Semantic names that add nothing to the structure of their nodes."""


_SCALES = 1 << 14
"""The most digits of a decimal after the point in any database. Source: PostgreSQL, numeric: up to 16383."""


def read_type(node: Node) -> Type:
    """Read the logical type of a schema node; `Unknown` for a Debezium name that schemaman does not know.

    Raises:
        UnreadableInput: the node is no Connect schema.
    """
    name = node.get("name")
    if isinstance(name, str):
        if name in _SEMANTIC:
            return _SEMANTIC[name]
        if name in _PARAMETRISED:
            return _PARAMETRISED[name](_read_parameters(node))
        if name.startswith("io.debezium.") and not _STRUCTURAL.fullmatch(name):
            return Unknown(name)
    return _read_structure(node)


def read_columns(node: Node) -> tuple[Column, ...]:
    """Read the fields of a struct as columns, in order; `emitted_name` is the field's name.

    `name` is the column's own name if `column.propagate.source.type` adds it to the field. A field without
    `optional` is required. Defaults that are no scalars are left out.

    Raises:
        UnreadableInput: the node is no struct, or one of its fields is no Connect schema.
    """
    return tuple(_read_column(field) for field in read_fields(node))


def read_fields(node: Node) -> tuple[Node, ...]:
    """Read the field nodes of a struct, each with its name under `field`.

    Raises:
        UnreadableInput: the node is no struct, a field has no name, or two have the same.
    """
    fields = node.get("fields")
    if _read_kind(node) != "struct" or not isinstance(fields, list):
        raise UnreadableInput(f"expected a Connect struct, found {_describe_node(node)}")
    named = tuple(_name_field(field) for field in fields)
    if None in named:
        raise UnreadableInput(f"a field without a name in the Connect struct {node.get('name')!r}")
    fields = tuple(field for field in named if field is not None)
    names = Counter(field["field"] for field in fields)
    if len(names) < len(fields):
        twice = next(name for name, count in names.items() if count > 1)
        raise UnreadableInput(f"the Connect struct {node.get('name')!r} has two fields {twice!r}")
    return fields


def _name_field(field: object) -> Node | None:
    """Return the field with its name under `field`; None if it has no name.

    Source: JsonConverter writes `{"type":…,"field":…}`; the manuals of Debezium print the members of the
    class Field instead, `{"name":…,"index":…,"schema":{"type":"INT32","optional":"false"}}`.
    """
    if not isinstance(field, dict):
        return None
    if isinstance(field.get("field"), str):
        return field
    name, schema = field.get("name"), field.get("schema")
    return {**schema, "field": name} if isinstance(name, str) and isinstance(schema, dict) else None


def _read_kind(node: Node) -> object:
    """Read the type of a node, in small letters as JsonConverter writes it."""
    kind = node.get("type")
    return kind.lower() if isinstance(kind, str) else kind


def _read_column(field: Node) -> Column:
    parameters = _read_parameters(field)
    emitted = field["field"]
    own_text = field.get("type") == "struct" and str(field.get("name", "")).startswith("io.debezium.")
    doc = None if own_text else field.get("doc")
    return Column(
        name=parameters.get(COLUMN_NAME, emitted),
        type=read_type(field),
        nullable=_is_optional(field),
        default=_read_default(field),
        comment=doc if isinstance(doc, str) else parameters.get(COLUMN_COMMENT),
        source_type=_read_source_type(parameters),
        emitted_name=emitted,
    )


def _is_optional(node: Node) -> bool:
    return node.get("optional") in (True, "true")


def _read_source_type(parameters: Mapping[str, str]) -> str | None:
    """Source: Debezium PropagateSourceTypeToSchemaParameter."""
    if COLUMN_TYPE not in parameters:
        return None
    length, scale = _read_number(parameters, COLUMN_LENGTH), _read_number(parameters, COLUMN_SCALE)
    return format_type_expression(parameters[COLUMN_TYPE], length, scale)


def _read_default(node: Node) -> Scalar:
    default = node.get("default")
    if isinstance(default, str) and node.get("name") == DECIMAL:
        return _format_decimal(default, _read_scale(_read_parameters(node)))
    if isinstance(default, float) and not math.isfinite(default):
        return None
    return default if isinstance(default, str | int | float | bool) else None


def _format_decimal(encoded: str, scale: int) -> str:
    """Format a Decimal default, base64 of a big-endian two's complement, as digits: `AMg=` → `2.00`.

    Source: Kafka JsonConverter with `decimal.format=BASE64`; other formats stay as they are.
    """
    try:
        unscaled = int.from_bytes(base64.b64decode(encoded, validate=True), signed=True)
        if scale <= 0:
            return str(unscaled * 10**-scale)
        digits = str(abs(unscaled)).rjust(scale + 1, "0")
    except (ValueError, binascii.Error):  # no base64, or a number of too many digits
        return encoded
    return f"{'-' if unscaled < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def _read_parameters(node: Node) -> Mapping[str, str]:
    parameters = node.get("parameters")
    return {k: str(v) for k, v in parameters.items() if v is not None} if isinstance(parameters, dict) else {}


def _read_number(parameters: Mapping[str, str], name: str) -> int | None:
    text = parameters.get(name, "")
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,10}", text) else None


def _read_scale(parameters: Mapping[str, str]) -> int:
    scale = _read_number(parameters, "scale") or 0
    if abs(scale) > _SCALES:
        raise UnreadableInput(f"a decimal with a scale of {scale}")
    return _numbers.restore_scale_sign(scale)


def _read_decimal(parameters: Mapping[str, str]) -> Type:
    scale = _read_scale(parameters)
    precision = _read_number(parameters, "connect.decimal.precision")
    if precision is None:
        return Decimal(max(38, scale), max(scale, 0))
    return _numbers.make_decimal(precision, scale)


def _read_bits(parameters: Mapping[str, str]) -> Type:
    length = _read_number(parameters, "length")
    return Bits(None if length == 2147483647 else length)


def _read_labels(parameters: Mapping[str, str]) -> tuple[str, ...]:
    """Read the labels of an enum; newer releases put a backslash before commas and backslashes in them."""
    allowed = parameters.get("allowed")
    if not allowed:
        return ()
    labels = re.findall(r"(?:^|,)((?:\\[\\,]|[^,])*)", allowed)
    return tuple(re.sub(r"\\([\\,])", r"\1", label) for label in labels)


_PARAMETRISED: dict[str, Callable[[Mapping[str, str]], Type]] = {
    DECIMAL: _read_decimal,
    "io.debezium.data.Bits": _read_bits,
    "io.debezium.data.Enum": lambda parameters: Enum(_read_labels(parameters)),
    "io.debezium.data.EnumSet": lambda parameters: EnumSet(_read_labels(parameters)),
}


def _read_structure(node: Node) -> Type:
    kind = _read_kind(node)
    match kind:
        case "array":
            items = _require_child(node, "items")
            return Array(read_type(items), _is_optional(items))
        case "map":
            values = _require_child(node, "values")
            return Map(read_type(_require_child(node, "keys")), read_type(values), _is_optional(values))
        case "struct":
            return Struct(tuple(Field(f["field"], read_type(f), _is_optional(f)) for f in read_fields(node)))
        case str() if kind in _PRIMITIVES:
            return _PRIMITIVES[kind]
        case _:
            raise UnreadableInput(f"{_describe_node(node)} is no Connect schema")


def _require_child(node: Node, member: str) -> Node:
    child = node.get(member)
    if not isinstance(child, dict):
        raise UnreadableInput(f"a Connect {node.get('type')} without {member!r}")
    return child


def _describe_node(node: Node) -> str:
    named = f" named {node['name']!r}" if node.get("name") else ""
    return f"a node of type {node.get('type')!r}{named}"
