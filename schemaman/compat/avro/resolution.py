"""Whether a reader's Avro schema can read what a writer's schema has written, with Avro Java's verdict.

Laws: the verdict, and each incompatibility with its place and words, are those of
`org.apache.avro.SchemaCompatibility` of Avro 1.12.1. Where Java raises instead, `AmbiguousField` is raised.
Source: that class; Avro specification, "Schema Resolution".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

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
    find_short_name,
)
from schemaman.errors import CouldNotDo

Kind = Literal[
    "NAME_MISMATCH", "FIXED_SIZE_MISMATCH", "MISSING_ENUM_SYMBOLS", "READER_FIELD_MISSING_DEFAULT_VALUE",
    "TYPE_MISMATCH", "MISSING_UNION_BRANCH",
]  # fmt: skip
"""The kinds of incompatibilities. Source: Java `SchemaCompatibility.SchemaIncompatibilityType`."""

_PROMOTIONS = frozenset({
    ("int", "long"), ("int", "float"), ("int", "double"), ("long", "float"), ("long", "double"),
    ("float", "double"), ("string", "bytes"), ("bytes", "string"),
})  # fmt: skip
"""(writer, reader). Source: Avro specification, Schema Resolution."""


class AmbiguousField(CouldNotDo):
    """A reader's field matches several fields of the writer, by its name and its aliases."""


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """A cause: its kind, its place as a JSON pointer into the reader's schema, and Java's message."""

    kind: Kind
    location: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind} at {self.location}: {self.message}"


def check_resolution(reader: AvroSchema, writer: AvroSchema) -> tuple[Incompatibility, ...]:
    """List why the reader cannot read all that the writer may have written; empty if it can.

    Raises:
        AmbiguousField: Java's check raises for this pair.
    """
    if _Verdict(reader, writer).is_readable(reader.root, writer.root):
        return ()
    return _Checker(reader, writer).check(reader.root, writer.root, ("",))


def list_leaf_causes(reader: AvroSchema, writer: AvroSchema) -> tuple[Incompatibility, ...]:
    """List the causes down to the leaves: also those inside the branches of unions, which Java leaves out.

    Raises:
        AmbiguousField: Java's check raises for this pair.
    """
    return tuple(_Explainer(reader, writer).explain(reader.root, writer.root, ("",), frozenset()))


Location = tuple[str, ...]


class _Verdict:
    """Checks one pair of schemas as `_Checker` does, in the same order, and builds no words."""

    def __init__(self, reader: AvroSchema, writer: AvroSchema) -> None:
        self.reader_types = reader.types
        self.writer_types = writer.types
        self.results: dict[tuple[int, int], bool] = {}

    def is_readable(self, reader: Node, writer: Node) -> bool:
        if isinstance(reader, Reference):
            reader = self.reader_types[reader.name]
        if isinstance(writer, Reference):
            writer = self.writer_types[writer.name]
        if isinstance(reader, Primitive) and isinstance(writer, Primitive):
            return reader.kind == writer.kind or (writer.kind, reader.kind) in _PROMOTIONS
        pair = id(reader), id(writer)
        found = self.results.get(pair)
        if found is None:
            self.results[pair] = True
            found = self.results[pair] = self.compare(reader, writer)
        return found

    def compare(self, reader: Node, writer: Node) -> bool:
        if isinstance(writer, UnionOf):
            found = True
            for branch in writer.branches:
                # behind a failing branch, too: the results stay for other pairs
                found &= self.is_readable(reader, branch)
            return found
        if isinstance(reader, UnionOf):
            return any(self.is_readable(branch, writer) for branch in reader.branches)
        if isinstance(reader, RecordOf) and isinstance(writer, RecordOf):
            fields = self.are_fields_readable(reader, writer)
            return fields and not check_names(reader, writer, ())
        if isinstance(reader, ArrayOf) and isinstance(writer, ArrayOf):
            return self.is_readable(reader.items, writer.items)
        if isinstance(reader, MapOf) and isinstance(writer, MapOf):
            return self.is_readable(reader.values, writer.values)
        return reader.kind == writer.kind and not check_leaves(reader, writer, ())

    def are_fields_readable(self, reader: RecordOf, writer: RecordOf) -> bool:
        different = reader.plain - writer.plain
        positions = reader.others
        if different:
            positions = tuple(sorted([*(reader.positions[name] for name, _ in different), *positions]))
        found = True
        for position in positions:
            wanted = reader.fields[position]
            written = find_written_field(wanted, writer)
            if written is not None:
                found &= self.is_readable(wanted.type, written.type)
            elif wanted.default is NO_DEFAULT:
                type = wanted.type
                if isinstance(type, Reference):
                    type = self.reader_types[type.name]
                has_default = isinstance(type, Symbols) and type.default is not None
                found &= has_default and self.is_readable(type, writer)
        return found


class _Checker:
    """Checks one pair of schemas; a pair of nodes that is being checked counts as compatible meanwhile."""

    def __init__(self, reader: AvroSchema, writer: AvroSchema) -> None:
        self.reader = reader
        self.writer = writer
        self.results: dict[tuple[int, int], tuple[Incompatibility, ...]] = {}

    def check(self, reader: Node, writer: Node, at: Location) -> tuple[Incompatibility, ...]:
        reader, writer = self.reader.resolve(reader), self.writer.resolve(writer)
        if reader.kind in PRIMITIVES and writer.kind in PRIMITIVES:
            return check_leaves(reader, writer, at)
        # Java's memory is by the identity of nodes, too: a result found amid a recursion stays.
        pair = id(reader), id(writer)
        found = self.results.get(pair)
        if found is None:
            self.results[pair] = ()
            found = self.results[pair] = self.compare(reader, writer, at)
        return found

    def compare(self, reader: Node, writer: Node, at: Location) -> tuple[Incompatibility, ...]:
        if isinstance(writer, UnionOf):
            return self.check_writer_union(reader, writer, at)
        if isinstance(reader, UnionOf):
            if any(not self.check(branch, writer, ("",)) for branch in reader.branches):
                return ()
            return (_miss_branch(writer, at),)
        match reader, writer:
            case ArrayOf(), ArrayOf():
                return self.check(reader.items, writer.items, (*at, "items"))
            case MapOf(), MapOf():
                return self.check(reader.values, writer.values, (*at, "values"))
            case RecordOf(), RecordOf():
                return (*check_names(reader, writer, at), *self.check_fields(reader, writer, at))
            case _:
                return check_leaves(reader, writer, at)

    def check_writer_union(self, reader: Node, writer: UnionOf, at: Location) -> tuple[Incompatibility, ...]:
        found: list[Incompatibility] = []
        for index, branch in enumerate(writer.branches):
            here = (*at, str(index))
            if not isinstance(reader, UnionOf):
                found += self.check(reader, branch, here)
            elif self.check(reader, branch, ("",)):
                found.append(_miss_branch(self.writer.resolve(branch), here))
        return tuple(found)

    def check_fields(self, reader: RecordOf, writer: RecordOf, at: Location) -> Iterator[Incompatibility]:
        # Most fields are plain and the same in both: two sets show the others.
        different = [reader.positions[name] for name, _ in reader.plain - writer.plain]
        for position in sorted([*different, *reader.others]) if different else reader.others:
            wanted = reader.fields[position]
            written = find_written_field(wanted, writer)
            if written is not None and _is_same(wanted.type, written.type):
                continue
            here = (*at, "fields", str(position))
            if written is not None:
                yield from self.check(wanted.type, written.type, (*here, "type"))
            elif not wanted.has_default:
                type = self.reader.resolve(wanted.type)
                if isinstance(type, Symbols) and type.default is not None:
                    # Java compares the enum with the whole record here.
                    yield from self.check(type, writer, (*here, "type"))
                else:
                    yield Incompatibility("READER_FIELD_MISSING_DEFAULT_VALUE", _point(here), wanted.name)


class _Explainer:
    """Lists the causes of one pair of schemas, each down to its leaf."""

    def __init__(self, reader: AvroSchema, writer: AvroSchema) -> None:
        self.reader = reader
        self.writer = writer

    def explain(
        self, reader: Node, writer: Node, at: Location, above: frozenset[tuple[int, int]]
    ) -> Iterator[Incompatibility]:
        reader, writer = self.reader.resolve(reader), self.writer.resolve(writer)
        pair = id(reader), id(writer)
        if pair in above:
            return
        above |= {pair}
        match reader, writer:
            case _, UnionOf():
                for branch in writer.branches:
                    yield from self.explain(reader, branch, at, above)
            case UnionOf(), _:
                causes = [
                    tuple(self.explain(branch, writer, (*at, str(index)), above))
                    for index, branch in enumerate(reader.branches)
                ]
                if all(causes):
                    nearest = self.find_nearest(reader, writer)
                    yield from (_miss_branch(writer, at),) if nearest is None else causes[nearest]
            case ArrayOf(), ArrayOf():
                yield from self.explain(reader.items, writer.items, (*at, "items"), above)
            case MapOf(), MapOf():
                yield from self.explain(reader.values, writer.values, (*at, "values"), above)
            case RecordOf(), RecordOf():
                yield from check_names(reader, writer, at)
                for position, wanted in enumerate(reader.fields):
                    here = (*at, "fields", str(position))
                    written = find_written_field(wanted, writer)
                    if written is not None:
                        yield from self.explain(wanted.type, written.type, (*here, "type"), above)
                    elif not wanted.has_default:
                        yield Incompatibility("READER_FIELD_MISSING_DEFAULT_VALUE", _point(here), wanted.name)
            case _:
                yield from check_leaves(reader, writer, at)

    def find_nearest(self, reader: UnionOf, writer: Node) -> int | None:
        """Find the branch whose causes say most: of the writer's kind, or the only one that is not null."""
        kinds = [self.reader.resolve(branch).kind for branch in reader.branches]
        if writer.kind in kinds:
            return kinds.index(writer.kind)
        others = [position for position, kind in enumerate(kinds) if kind != "null"]
        return others[0] if len(others) == 1 and writer.kind != "null" else None


def _is_same(reader: Node, writer: Node) -> bool:
    """Whether two nodes are the same primitive, or plain unions of the same: each reads itself."""
    if isinstance(reader, UnionOf) and isinstance(writer, UnionOf) and reader.is_plain and writer.is_plain:
        return [branch.kind for branch in reader.branches] == [branch.kind for branch in writer.branches]
    return reader.kind == writer.kind and reader.kind in PRIMITIVES


def find_written_field(wanted: RecordField, writer: RecordOf) -> RecordField | None:
    """Find the writer's field that fills a reader's field: by its name or an alias; None if none does.

    Raises:
        AmbiguousField: several fields match.
    """
    if not wanted.aliases:
        return writer.by_name.get(wanted.name)
    names = (wanted.name, *wanted.aliases)
    written = [field for name in names if (field := writer.by_name.get(name)) is not None]
    if len(written) > 1:
        several = ", ".join(field.name for field in written)
        raise AmbiguousField(f"the field {wanted.name} matches several fields of {writer.name}: {several}")
    return written[0] if written else None


def check_leaves(reader: Node, writer: Node, at: Location) -> tuple[Incompatibility, ...]:
    """Check two nodes without nodes inside, or two nodes of different kinds."""
    if reader.kind != writer.kind:
        if (writer.kind, reader.kind) in _PROMOTIONS:
            return ()
        words = f"reader type: {reader.kind.upper()} not compatible with writer type: {writer.kind.upper()}"
        return (Incompatibility("TYPE_MISMATCH", _point(at), words),)
    match reader, writer:
        case FixedBytes(), FixedBytes():
            names = check_names(reader, writer, at)
            if reader.size == writer.size:
                return names
            words = f"expected: {writer.size}, found: {reader.size}"
            return (*names, Incompatibility("FIXED_SIZE_MISMATCH", _point((*at, "size")), words))
        case Symbols(), Symbols():
            names = check_names(reader, writer, at)
            missing = sorted(set(writer.symbols) - set(reader.symbols), key=_order_as_java)
            if not missing or reader.default is not None:
                return names
            words = f"[{', '.join(missing)}]"
            return (*names, Incompatibility("MISSING_ENUM_SYMBOLS", _point((*at, "symbols")), words))
        case _:
            return ()


def check_names(reader: Named, writer: Named, at: Location) -> tuple[Incompatibility, ...]:
    """Names match without their namespaces; an alias matches as a full name."""
    if find_short_name(reader.name) == find_short_name(writer.name) or writer.name in reader.aliases:
        return ()
    return (Incompatibility("NAME_MISMATCH", _point((*at, "name")), f"expected: {writer.name}"),)


def _miss_branch(writer: Node, at: Location) -> Incompatibility:
    words = f"reader union lacking writer type: {writer.kind.upper()}"
    return Incompatibility("MISSING_UNION_BRANCH", _point(at), words)


def _point(at: Location) -> str:
    """Format a place as a JSON pointer; the root is `/`."""
    return "/".join(word.replace("~", "~0").replace("/", "~1") for word in at) or "/"


def _order_as_java(text: str) -> bytes:
    """The order of Java's strings: by UTF-16 code units."""
    return text.encode("utf-16-be")
