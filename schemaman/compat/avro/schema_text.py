"""The text of an Avro schema as Avro's Java implementation writes it.

Law: `format_schema(parse_schema(text))` is `new Schema.Parser().parse(text).toString()` of Avro 1.12.1 on a
JVM from release 19 on, whose doubles have the fewest digits. Source: `Schema.toString`, `Schema.Name` and
`JsonProperties` of that release; Jackson `JsonWriteContext`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import assert_never

from schemaman.compat.avro.schema import (
    NO_DEFAULT,
    PRIMITIVES,
    ArrayOf,
    AvroSchema,
    FixedBytes,
    MapOf,
    Named,
    Node,
    Primitive,
    RecordField,
    RecordOf,
    Reference,
    Symbols,
    UnionOf,
)

_TYPE_NAMES = PRIMITIVES | {"record", "enum", "array", "map", "union", "fixed"}
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
_SHORT_ESCAPES = {
    "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\",
}  # fmt: skip
_NO_SCHEMA = AvroSchema(Primitive("null"), {})
_SMALLEST, _LARGEST = 1e-3, 1e7
"""Doubles from the first to below the second have no exponent. Source: Java `Double.toString`."""


def format_schema(schema: AvroSchema, referenced: Iterable[str] = ()) -> str:
    """Format a schema as `Schema.toString()`; the referenced types appear as names, without definitions."""
    return _SchemaWriter(schema, set(referenced), is_normal=False).format_node(schema.root, None)


def normalize_schema(schema: AvroSchema, referenced: Iterable[str] = ()) -> str:
    """Format a schema so that equal meanings have one text.

    Names are full names; aliases and properties are sorted. Docs, defaults and logical types stay.
    """
    return _SchemaWriter(schema, set(referenced), is_normal=True).format_node(schema.root, None)


class _SchemaWriter:
    """Writes one schema; `written` are the names whose definitions need not be written any more."""

    def __init__(self, schema: AvroSchema, written: set[str], is_normal: bool) -> None:
        self.schema = schema
        self.written = written
        self.is_normal = is_normal

    def format_node(self, node: Node, namespace: str | None) -> str:
        match node:
            case Primitive(kind, properties):
                if not properties:
                    return f'"{kind}"'
                return f'{{"type":"{kind}"{self.format_properties(properties)}}}'
            case ArrayOf():
                items = self.format_node(node.items, namespace)
                return f'{{"type":"array","items":{items}{self.format_properties(node.properties)}}}'
            case MapOf():
                values = self.format_node(node.values, namespace)
                return f'{{"type":"map","values":{values}{self.format_properties(node.properties)}}}'
            case UnionOf():
                return f"[{','.join(self.format_node(branch, namespace) for branch in node.branches)}]"
            case Reference(name):
                if name in self.written:
                    return self.format_name(name, namespace)
                return self.format_definition(self.schema.types[name], namespace)
            case RecordOf() | Symbols() | FixedBytes():
                if node.name in self.written:
                    return self.format_name(node.name, namespace)
                return self.format_definition(node, namespace)
            case _:
                assert_never(node)

    def format_definition(self, node: Named, namespace: str | None) -> str:
        self.written.add(node.name)
        parts = [f'"type":"{"error" if isinstance(node, RecordOf) and node.is_error else node.kind}"']
        space, dot, short = node.name.rpartition(".")
        parts.append(f'"name":{_quote(node.name if self.is_normal else short)}')
        if dot and space != namespace and not self.is_normal:
            parts.append(f'"namespace":{_quote(space)}')
        elif not dot and namespace is not None:
            parts.append('"namespace":""')
        if node.doc is not None:
            parts.append(f'"doc":{_quote(node.doc)}')
        own = space if dot else None
        match node:
            case RecordOf(fields=fields):
                parts.append(f'"fields":[{",".join(self.format_field(each, own) for each in fields)}]')
            case Symbols(symbols=symbols, default=default):
                parts.append(f'"symbols":[{",".join(map(_quote, symbols))}]')
                if default is not None:
                    parts.append(f'"default":{_quote(default)}')
            case FixedBytes(size=size):
                parts.append(f'"size":{size}')
        text = ",".join(parts) + self.format_properties(node.properties)
        return f"{{{text}{self.format_aliases(node.aliases, lambda name: self.format_name(name, own))}}}"

    def format_field(self, field: RecordField, namespace: str | None) -> str:
        return _format_shared(field) if field.is_shared else self.format_own_field(field, namespace)

    def format_own_field(self, field: RecordField, namespace: str | None) -> str:
        text = f'{{"name":{_quote(field.name)},"type":{self.format_node(field.type, namespace)}'
        if field.doc is not None:
            text += f',"doc":{_quote(field.doc)}'
        if field.default is not NO_DEFAULT:
            text += f',"default":{format_json(field.default)}'
        if field.order != "ASCENDING":
            text += f',"order":"{field.order.lower()}"'
        text += self.format_aliases(field.aliases, _quote)
        return f"{text}{self.format_properties(field.properties)}}}"

    def format_name(self, name: str, namespace: str | None) -> str:
        space, _, short = name.rpartition(".")
        is_near = bool(space) and space == namespace and short not in _TYPE_NAMES and not self.is_normal
        return _quote(short if is_near else name)

    def format_aliases(self, aliases: tuple[str, ...], format_alias: Callable[[str], str]) -> str:
        if not aliases:
            return ""
        ordered = sorted(aliases) if self.is_normal else aliases
        return f',"aliases":[{",".join(map(format_alias, ordered))}]'

    def format_properties(self, properties: Mapping[str, object]) -> str:
        names = sorted(properties) if self.is_normal else properties
        return "".join(
            f",{_quote(name)}:{format_json(properties[name], is_sorted=self.is_normal)}" for name in names
        )


@lru_cache(1 << 16)
def _format_shared(field: RecordField) -> str:
    """Format a field whose text depends neither on its schema nor on the form."""
    return _SchemaWriter(_NO_SCHEMA, set(), is_normal=False).format_own_field(field, None)


def format_json(value: object, *, is_sorted: bool = False) -> str:
    """Format a JSON value without blanks, as Jackson does."""
    match value:
        case str():
            return _quote(value)
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case int():
            return str(value)
        case float():
            return _format_double(value)
        case Mapping():
            names = sorted(value) if is_sorted else value
            pairs = (f"{_quote(name)}:{format_json(value[name], is_sorted=is_sorted)}" for name in names)
            return f"{{{','.join(pairs)}}}"
        case list() | tuple():
            return f"[{','.join(format_json(item, is_sorted=is_sorted) for item in value)}]"
        case _:
            raise TypeError(f"{type(value).__name__} is no JSON")


def _quote(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    return _SHORT_ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04X}"


def _format_double(value: float) -> str:
    """Format a double as Java's `Double.toString`; Jackson quotes what is no number."""
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    sign = "-" if math.copysign(1, value) < 0 else ""
    if not value:
        return f"{sign}0.0"
    _, digits, exponent = Decimal(repr(abs(value))).normalize().as_tuple()
    text, point = "".join(map(str, digits)), len(digits) + int(exponent)
    if not _SMALLEST <= abs(value) < _LARGEST:
        return f"{sign}{text[0]}.{text[1:] or '0'}E{point - 1}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{text}"
    return f"{sign}{text[:point].ljust(point, '0')}.{text[point:] or '0'}"
