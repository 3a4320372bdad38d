"""A datum that one Avro schema has written and another cannot read.

Law: where `check_resolution` finds an incompatibility, a decoder with both schemas fails on the datum that
`find_unreadable` builds, if it compares names as the specification says.
Source: Avro specification, "Schema Resolution".
"""

from __future__ import annotations

from itertools import compress
from typing import Final

from schemaman.compat.avro.resolution import check_leaves, check_names, find_written_field
from schemaman.compat.avro.schema import (
    ArrayOf,
    AvroSchema,
    FixedBytes,
    MapOf,
    Node,
    RecordOf,
    Symbols,
    UnionOf,
)

Datum = None | bool | int | float | str | bytes | list["Datum"] | dict[str, "Datum"]

_DEEPEST = 400

READABLE: Final = object()
"""Instead of a datum: the reader can read every value of the writer."""

_SAMPLES: dict[str, Datum] = {
    "null": None, "boolean": True, "int": 7, "long": 7, "float": 1.5, "double": 1.5, "string": "a",
    "bytes": b"\x07",
}  # fmt: skip


def find_unreadable(reader: AvroSchema, writer: AvroSchema) -> Datum | object:
    """Build a value of the writer's schema that the reader cannot read; `READABLE` if there is none.

    A writer without finite values has none.

    Raises:
        AmbiguousField: a reader's field matches several fields.
    """
    try:
        return _Builder(reader, writer).find(reader.root, writer.root, frozenset())
    except _NoValue:
        return READABLE


class _NoValue(Exception):
    """A record contains itself in a required field, or a union has no branch: there is no value to write."""


class _Builder:
    """Builds values of one pair of schemas; a pair that contains itself is not entered twice."""

    def __init__(self, reader: AvroSchema, writer: AvroSchema) -> None:
        self.reader = reader
        self.writer = writer

    def find(self, reader: Node, writer: Node, above: frozenset[tuple[int, int]]) -> Datum | object:
        reader, writer = self.reader.resolve(reader), self.writer.resolve(writer)
        pair = id(reader), id(writer)
        if pair in above:
            return READABLE
        above |= {pair}
        match reader, writer:
            case _, UnionOf():
                found = (self.find(reader, branch, above) for branch in writer.branches)
                return next((value for value in found if value is not READABLE), READABLE)
            case UnionOf(), _:
                values = [self.find(branch, writer, above) for branch in reader.branches]
                return READABLE if not values or READABLE in values else values[-1]
            case ArrayOf(), ArrayOf():
                item = self.find(reader.items, writer.items, above)
                return READABLE if item is READABLE else [item]
            case MapOf(), MapOf():
                value = self.find(reader.values, writer.values, above)
                return READABLE if value is READABLE else {"k": value}
            case RecordOf(), RecordOf():
                return self.find_in_record(reader, writer, above)
            case Symbols(), Symbols() if reader.default is None and not check_names(reader, writer, ("",)):
                missing = (symbol for symbol in writer.symbols if symbol not in reader.symbols)
                return next(missing, READABLE)
            case _:
                return self.make_sample(writer, 0) if check_leaves(reader, writer, ("",)) else READABLE

    def find_in_record(
        self, reader: RecordOf, writer: RecordOf, above: frozenset[tuple[int, int]]
    ) -> Datum | object:
        sample = self.make_sample(writer, 0)
        assert isinstance(sample, dict)
        if check_names(reader, writer, ("",)):
            return sample
        for wanted in reader.fields:
            written = find_written_field(wanted, writer)
            if written is None:
                if not wanted.has_default:
                    return sample
                continue
            value = self.find(wanted.type, written.type, above)
            if value is not READABLE:
                return {**sample, written.name: value}
        return READABLE

    def make_sample(self, node: Node, depth: int) -> Datum:
        """Make a value; of a union one that is not null, unless the type contains itself."""
        node = self.writer.resolve(node)
        if depth > _DEEPEST or (isinstance(node, UnionOf) and not node.branches):
            raise _NoValue
        match node:
            case UnionOf(branches):
                kinds = [self.writer.resolve(branch).kind for branch in branches]
                wanted = [(kind == "null") == (depth > 4) for kind in kinds]
                return self.make_sample((*compress(branches, wanted), *branches)[0], depth + 1)
            case ArrayOf():
                return [] if depth > 4 else [self.make_sample(node.items, depth + 1)]
            case MapOf():
                return {} if depth > 4 else {"k": self.make_sample(node.values, depth + 1)}
            case RecordOf():
                return {field.name: self.make_sample(field.type, depth + 1) for field in node.fields}
            case Symbols():
                return node.symbols[0]
            case FixedBytes():
                return bytes(node.size)
            case _:
                return _SAMPLES[node.kind]
