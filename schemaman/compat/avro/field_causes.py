"""The fields at which Avro refuses to read: causes with a path as findings have it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from schemaman.compat.avro.levels import list_reasons
from schemaman.compat.avro.resolution import AmbiguousField, list_leaf_causes
from schemaman.compat.avro.schema import ArrayOf, AvroSchema, MapOf, Node, RecordOf, UnionOf

_IMAGES = ("before", "after")
"""The fields of Debezium's envelope that hold rows. Source: Debezium documentation, change event values."""


@dataclass(frozen=True, slots=True)
class AvroCause:
    """A cause in Java's words, and the path of its field; the path is empty for the schema as a whole.

    A path ends at a union of several types, because a table names its branches in other words.
    """

    path: tuple[str, ...]
    words: str

    def is_explained(self, paths: Iterable[tuple[str, ...]]) -> bool:
        """Whether one of the paths of findings is that of this cause, above it or below it."""
        return any(not path or (self.path and _is_above(path, self.path)) for path in paths)


def list_field_causes(reader: AvroSchema, writer: AvroSchema) -> tuple[AvroCause, ...]:
    """List why the reader cannot read the writer, down to the leaves, each cause once; empty if it can."""
    try:
        found = [AvroCause(_find_path(reader, c.location), str(c)) for c in list_leaf_causes(reader, writer)]
    except AmbiguousField as error:
        found = [AvroCause((), error.message)]
    # Java finds more in a few recursive schemas: a refusal without a leaf is still a refusal.
    return tuple(dict.fromkeys(found)) or tuple(
        AvroCause((), words) for words in list_reasons(reader, writer)
    )


def _is_above(path: tuple[str, ...], other: tuple[str, ...]) -> bool:
    length = min(len(path), len(other))
    return path[:length] == other[:length]


def _find_path(schema: AvroSchema, location: str) -> tuple[str, ...]:
    path = tuple(_walk(schema, schema.root, iter(location.split("/")[1:])))
    root = schema.root
    is_envelope = isinstance(root, RecordOf) and {*_IMAGES, "op"} <= {field.name for field in root.fields}
    if not is_envelope:
        return path
    # A field of the envelope outside of the rows is no column: it concerns each reader of the table.
    return path[1:] if path[:1] and path[0] in _IMAGES else ()


def _walk(schema: AvroSchema, node: Node, words: Iterator[str]) -> Iterator[str]:
    for word in words:
        node = schema.resolve(node)
        match node, word:
            case RecordOf(), "fields":
                field = node.fields[int(next(words))]
                next(words, None)
                yield field.name
                node = field.type
            case ArrayOf(), "items":
                yield "element"
                node = node.items
            case MapOf(), "values":
                yield "value"
                node = node.values
            case UnionOf(), _ if len(node.branches) <= 2 and any(b.kind == "null" for b in node.branches):
                node = node.branches[int(word)]
            case _:
                return
