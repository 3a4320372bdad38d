"""Tables and their columns as values: identity, structure, paths, fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from schemaman.model.ddl import format_type
from schemaman.model.types import Array, Map, Struct, Type, without_labels

Scalar = str | int | float | bool | None
Path = tuple[str, ...]
"""A place inside a table: column name, then member names, with `element` inside arrays
and `key` or `value` inside maps, as in Iceberg."""

DEFAULT_STREAM = "main"
SCHEMES = ("file", "git", "lake", "registry")
"""What a REF to something else than a table begins with, before a colon."""


@dataclass(frozen=True, slots=True, order=True)
class TableId:
    """Who a table is: where its records come from and what its database calls it.

    `schema` is empty for databases without that level (MySQL, MariaDB, MongoDB).
    """

    server: str
    database: str
    schema: str
    table: str
    stream: str = DEFAULT_STREAM

    @property
    def parts(self) -> tuple[str, ...]:
        """Server, database, schema and table, empty parts left out."""
        return tuple(p for p in (self.server, self.database, self.schema, self.table) if p)

    @property
    def levels(self) -> tuple[str, ...]:
        """Server, database, schema and table, empty parts as well: what tells tables of equal parts apart."""
        return (self.server, self.database, self.schema, self.table)

    def __str__(self) -> str:
        name = ".".join(quote_part(p) for p in self.parts)
        return name if self.stream == DEFAULT_STREAM else f"{quote_stream(self.stream)}:{name}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    `id` is given by the history and never reused; None where no history speaks (a live
    table, a file). `default` is what the witness printed, not an expression to run.
    `source_type` is the database's own word for the type. `emitted_name` is the name
    on the wire, None where no event showed it.
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
        """Of what tells columns apart mostly: all that a column says takes three times as long."""
        return hash((self.name, self.id, self.nullable))

    def with_identity(self, id: int | None, emitted_name: str | None) -> Column:
        """The column with that id and that name on the wire; itself if it has them.

        What the fold does to each column of each record: `dataclasses.replace` takes five times as long.
        """
        if self.id == id and self.emitted_name == emitted_name:
            return self
        c = self
        return Column(c.name, c.type, c.nullable, c.default, c.comment, c.source_type, emitted_name, id)


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The structure of a table: columns in order, key columns in key order, comment."""

    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    comment: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple([c.name for c in self.columns])  # a generator takes twice as long

    def column(self, name: str) -> Column | None:
        """The column of that exact name, if there is one."""
        return next((c for c in self.columns if c.name == name), None)


def quote_part(part: str) -> str:
    """One part of a dotted name, in double quotes where dots, colons or `@` would mislead."""
    if part and all(ch not in '."@: ' for ch in part):
        return part
    return '"' + part.replace('"', '""') + '"'


def quote_stream(stream: str) -> str:
    """The name of a stream before a table's; in double quotes too where a REF would take it for a scheme."""
    return f'"{stream}"' if stream in SCHEMES else quote_part(stream)


def walk_fields(schema: TableSchema) -> Iterator[tuple[Path, Type, bool]]:
    """Every place of a table in order: path, type, nullable; parents first; a union is one place."""
    for column in schema.columns:
        yield from _walk_type((column.name,), column.type, column.nullable)


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


def format_shape(schema: TableSchema) -> str:
    """The shape as text: names, logical types, nullability and key; nothing else.

    Order, comments, defaults, enum labels, ids and spellings of the source are attributes.
    """
    rows = sorted(
        f"{c.name!r} {_type_text(without_labels(c.type))}{'' if c.nullable else ' NOT NULL'}"
        for c in schema.columns
    )
    return "\n".join([*rows, f"KEY {list(schema.key)!r}"])


def fingerprint(schema: TableSchema) -> str:
    """The stable id of a shape: 12 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(format_shape(schema).encode()).hexdigest()[:12]
