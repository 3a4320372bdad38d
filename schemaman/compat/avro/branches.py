"""Enums and fixed types in unions that Avro calls compatible and its decoder does not find.

The check compares short names, and the decoder full names. Source: Java `SchemaCompatibility` and
`Resolver.ReaderUnion` of Avro 1.12.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.avro.resolution import find_written_field
from schemaman.compat.avro.schema import (
    ArrayOf,
    AvroSchema,
    FixedBytes,
    MapOf,
    Node,
    RecordOf,
    Symbols,
    UnionOf,
    find_short_name,
)


def list_lost_branches(reader: AvroSchema, writer: AvroSchema) -> tuple[str, ...]:
    """List the full names of the writer's types that the reader's unions have only under another namespace.

    Raises:
        AmbiguousField: a reader's field matches several fields.
    """
    return tuple(dict.fromkeys(_Walk(reader, writer).list_names(reader.root, writer.root, frozenset())))


class _Walk:
    """Walks through the matching parts of two schemas; a pair that contains itself is not entered twice."""

    def __init__(self, reader: AvroSchema, writer: AvroSchema) -> None:
        self.reader = reader
        self.writer = writer

    def list_names(self, reader: Node, writer: Node, above: frozenset[tuple[int, int]]) -> Iterator[str]:
        reader, writer = self.reader.resolve(reader), self.writer.resolve(writer)
        pair = id(reader), id(writer)
        if pair in above:
            return
        above |= {pair}
        match reader, writer:
            case _, UnionOf(branches):
                for branch in branches:
                    yield from self.list_names(reader, branch, above)
            case UnionOf(branches), Symbols() | FixedBytes():
                near = [self.reader.resolve(branch) for branch in branches]
                named = [b for b in near if isinstance(b, Symbols | FixedBytes) and b.kind == writer.kind]
                short = find_short_name(writer.name)
                is_near = any(find_short_name(b.name) == short for b in named)
                if is_near and all(b.name != writer.name for b in named):
                    yield writer.name
            case UnionOf(branches), _:
                for branch in branches:
                    if self.reader.resolve(branch).kind == writer.kind:
                        yield from self.list_names(branch, writer, above)
            case ArrayOf(), ArrayOf():
                yield from self.list_names(reader.items, writer.items, above)
            case MapOf(), MapOf():
                yield from self.list_names(reader.values, writer.values, above)
            case RecordOf(), RecordOf():
                for wanted in reader.fields:
                    written = find_written_field(wanted, writer)
                    if written is not None:
                        yield from self.list_names(wanted.type, written.type, above)
            case _:
                return
