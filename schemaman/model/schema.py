"""Tables and columns as values: identity, schema, paths, fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from schemaman.model.ddl import format_type
from schemaman.model.types import Array, Map, Struct, Type, without_labels

Scalar = str | int | float | bool | None
Path = tuple[str, ...]
"""The path of a column or nested field: column name, then names of nested fields, with `element`
inside arrays and `key` or `value` inside maps, as in Iceberg."""

DEFAULT_STREAM = "main"
SCHEMES = ("file", "git", "lake", "registry")
"""The words before the colon of a REF that is no table."""


@dataclass(frozen=True, slots=True, order=True)
class TableId:
    """The identity of a table: the stream of its records and its full name in the database.

    `schema` is empty for databases without that level (MySQL, MariaDB, MongoDB).
    """

    server: str
    database: str
    schema: str
    table: str
    stream: str = DEFAULT_STREAM

    @property
    def parts(self) -> tuple[str, ...]:
        """Server, database, schema and table, without empty parts."""
        return tuple(p for p in (self.server, self.database, self.schema, self.table) if p)

    @property
    def levels(self) -> tuple[str, ...]:
        """Server, database, schema and table with empty parts, so that tables of equal `parts` differ."""
        return (self.server, self.database, self.schema, self.table)

    def __str__(self) -> str:
        name = ".".join(quote_part(p) for p in self.parts)
        return name if self.stream == DEFAULT_STREAM else f"{quote_stream(self.stream)}:{name}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    The history assigns `id` and never reuses it; a column of a lake table or a file has None.
    `default` is the text that the record printed, not an expression to run. `source_type` is
    the database's own word for the type. `emitted_name` is the field name in events, None
    where no event had the column.
    """

    name: str
    type: Type
    nullable: bool = True
    default: Scalar = None
    comment: str | None = None
    source_type: str | None = None
    emitted_name: str | None = None
    id: int | None = None

    def __hash__(self) -> int:
        """Hash name, id and nullability, which differ for most columns; hashing all attributes is slower."""
        return hash((self.name, self.id, self.nullable))

    def with_identity(self, id: int | None, emitted_name: str | None) -> Column:
        """Return the column with that id and that field name in events; the same object if it has them.

        The fold calls this for each column of each record: `dataclasses.replace` takes five times as long.
        """
        if self.id == id and self.emitted_name == emitted_name:
            return self
        c = self
        return Column(c.name, c.type, c.nullable, c.default, c.comment, c.source_type, emitted_name, id)


class _KeptOfSchema:
    """What a schema computes once: it is asked for its names and its hash many times a record."""

    __slots__ = ("_hash", "_names")
    _hash: int
    _names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableSchema(_KeptOfSchema):
    """The schema of a table: columns in order, names of key columns in key order, comment."""

    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    comment: str | None = None

    def __hash__(self) -> int:
        """Hash the names and ids of the columns, which differ for most schemas."""
        try:
            return self._hash
        except AttributeError:
            found = hash((self.names, tuple([c.id for c in self.columns])))
            object.__setattr__(self, "_hash", found)
            return found

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        try:
            return self._names
        except AttributeError:
            found = tuple([c.name for c in self.columns])  # a generator takes twice as long
            object.__setattr__(self, "_names", found)
            return found

    def column(self, name: str) -> Column | None:
        """Return the column of that exact name; None if the table has no such column."""
        return next((c for c in self.columns if c.name == name), None)


def quote_part(part: str) -> str:
    """Quote one part of a dotted name if it is empty or contains a dot, a colon, a quote, `@` or a space."""
    if part and all(ch not in '."@: ' for ch in part):
        return part
    return '"' + part.replace('"', '""') + '"'


def quote_stream(stream: str) -> str:
    """Quote the name of a stream like a part of a name, and also where a REF would read it as a scheme."""
    return f'"{stream}"' if stream in SCHEMES else quote_part(stream)


def walk_fields(schema: TableSchema) -> Iterator[tuple[Path, Type, bool]]:
    """Yield path, type and nullability of every column and nested field, parents first; unions stay whole."""
    for column in schema.columns:
        yield from _walk_type((column.name,), column.type, column.nullable)


def walk_comments(schema: TableSchema) -> Iterator[tuple[Path, str | None]]:
    """Yield path and comment of the table (the empty path), every column and every nested field."""
    yield (), schema.comment
    for column in schema.columns:
        yield (column.name,), column.comment
    for path, type, _ in walk_fields(schema):
        if isinstance(type, Struct):
            yield from (((*path, field.name), field.comment) for field in type.fields)


def _walk_type(path: Path, type: Type, nullable: bool) -> Iterator[tuple[Path, Type, bool]]:
    yield path, type, nullable
    match type:
        case Array(element, element_nullable):
            yield from _walk_type((*path, "element"), element, element_nullable)
        case Map(key, value, value_nullable):
            yield from _walk_type((*path, "key"), key, False)
            yield from _walk_type((*path, "value"), value, value_nullable)
        case Struct(fields):
            for field in fields:
                yield from _walk_type((*path, field.name), field.type, field.nullable)
        case _:
            return


_type_text = lru_cache(1 << 14)(format_type)

KEPT_SCHEMAS = 256
"""The number of schemas, or of pairs of them, about which a fact is kept: a fold asks for it repeatedly, and
tables of equal schemas change alike."""


def format_shape(schema: TableSchema) -> str:
    """Format the shape of a table: names, logical types, nullability and key.

    Order, comments, defaults, enum labels, ids and source types are attributes and no part of the shape.
    """
    rows = sorted(
        f"{c.name!r} {_type_text(without_labels(c.type))}{'' if c.nullable else ' NOT NULL'}"
        for c in schema.columns
    )
    return "\n".join([*rows, f"KEY {list(schema.key)!r}"])


@lru_cache(KEPT_SCHEMAS)
def fingerprint(schema: TableSchema) -> str:
    """Return the stable id of a shape: 12 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(format_shape(schema).encode()).hexdigest()[:12]
