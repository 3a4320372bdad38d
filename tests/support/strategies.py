"""Made-up types, columns and tables for the laws: small, odd, and of every kind."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from schemaman.model.ddl import find_common_type
from schemaman.model.schema import Column, Scalar, TableSchema
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

NAMES: SearchStrategy[str] = st.one_of(
    st.sampled_from(
        ["id", "ID", "a", "b", "note", "größe", "a-b", "a b", "`", "element", "key", "value", "NOT"]
    ),
    st.text(min_size=1, max_size=6).filter(lambda s: s.strip() == s),
)
TEXTS = st.one_of(
    st.sampled_from(["", "it's", 'a "b"', "\\", "\\n", "\n", "\t", "ü€", "a,b"]), st.text(max_size=8)
)
COMMENTS = st.one_of(st.none(), TEXTS)
LENGTHS = st.one_of(st.none(), st.integers(1, 300))
LABELS = st.lists(TEXTS, max_size=4, unique=True).map(tuple)
DEFAULTS: SearchStrategy[Scalar] = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.0, 1.0, 0.5]), TEXTS
)


@st.composite
def decimals(draw: DrawFn) -> Decimal:
    """A decimal as SQL allows it: scale between 0 and precision."""
    precision = draw(st.integers(1, 60))
    return Decimal(precision, draw(st.integers(0, precision)))


FLAT: SearchStrategy[Type] = st.one_of(
    st.sampled_from(
        [
            Boolean(),
            Floating(32),
            Floating(64),
            Numeric(),
            Date(),
            Interval(),
            Interval("YEAR TO MONTH"),
            Interval("DAY TO SECOND"),
            Uuid(),
            Json(),
            Xml(),
            Enum(),
            EnumSet(),
        ]
    ),
    st.builds(Integer, st.sampled_from([8, 16, 32, 64]), st.booleans()),
    decimals(),
    st.builds(String, LENGTHS, st.booleans()),
    st.builds(Binary, LENGTHS),
    st.builds(Bits, LENGTHS),
    st.builds(Time, st.integers(0, 12), st.booleans()),
    st.builds(Timestamp, st.integers(0, 12), st.booleans()),
    st.builds(Enum, LABELS),
    st.builds(EnumSet, LABELS),
    st.builds(Unknown, TEXTS),
)


def structs(types: SearchStrategy[Type]) -> SearchStrategy[Struct]:
    """A struct of up to four members with names of their own."""
    fields = st.builds(Field, NAMES, types, st.booleans(), COMMENTS)
    return st.lists(fields, max_size=4, unique_by=lambda f: f.name).map(lambda fs: Struct(tuple(fs)))


def _nest(types: SearchStrategy[Type]) -> SearchStrategy[Type]:
    return st.one_of(
        st.builds(Array, types, st.booleans()),
        st.builds(Map, types, types, st.booleans()),
        structs(types),
        st.lists(types, min_size=2, max_size=3).map(find_common_type),
    )


TYPES: SearchStrategy[Type] = st.recursive(FLAT, _nest, max_leaves=5)

COLUMNS: SearchStrategy[Column] = st.builds(
    Column,
    name=NAMES,
    type=TYPES,
    nullable=st.booleans(),
    default=DEFAULTS,
    comment=COMMENTS,
    source_type=st.one_of(st.none(), st.sampled_from(["int4", "varchar(20)"])),
    emitted_name=st.one_of(st.none(), NAMES),
)


@st.composite
def schemas(draw: DrawFn, ids: bool = False) -> TableSchema:
    """A table; `ids` gives every column an id, out of order."""
    columns = draw(st.lists(COLUMNS, max_size=6, unique_by=lambda c: c.name))
    if ids:
        numbers = draw(st.permutations(range(1, len(columns) + 3)))
        columns = [replace(c, id=n) for c, n in zip(columns, numbers, strict=False)]
    names = [c.name for c in columns]
    key = draw(st.lists(st.sampled_from(names), unique=True, max_size=3)) if names else []
    return TableSchema(tuple(columns), tuple(key), draw(COMMENTS))


@st.composite
def edited(draw: DrawFn, column: Column) -> Column:
    """The same column after somebody worked on it: name and id stay."""
    other = draw(COLUMNS)
    return draw(
        st.sampled_from(
            [
                column,
                replace(column, nullable=not column.nullable),
                replace(column, type=other.type),
                replace(column, type=draw(edited_types(column.type))),
                replace(column, default=other.default, comment=other.comment),
                replace(column, source_type=other.source_type, emitted_name=other.emitted_name),
            ]
        )
    )


@st.composite
def edited_types(draw: DrawFn, type: Type) -> Type:
    """The same type after somebody worked on its members; flat types become another one."""
    match type:
        case Array(element, nullable):
            return Array(draw(edited_types(element)), draw(st.booleans()) and nullable)
        case Map(key, value, nullable):
            return Map(draw(edited_types(key)), draw(edited_types(value)), draw(st.booleans()) or nullable)
        case Struct(fields):
            kept = [replace(f, type=draw(edited_types(f.type))) for f in fields if draw(st.booleans())]
            added = draw(structs(FLAT)).fields
            names = {f.name for f in kept}
            return Struct(tuple(draw(st.permutations([*kept, *(f for f in added if f.name not in names)]))))
        case _:
            return draw(FLAT)


@st.composite
def related(draw: DrawFn, ids: bool = False) -> tuple[TableSchema, TableSchema]:
    """A table before and after: columns dropped, added, renamed (by id), moved, edited, key changed.

    Without ids a renamed column is another one; with ids it keeps its own.
    """
    old = draw(schemas(ids=ids))
    columns = [draw(edited(c)) for c in old.columns if draw(st.integers(0, 3))]
    fresh = draw(schemas()).columns
    if ids:
        top = max((c.id or 0 for c in old.columns), default=0)
        fresh = tuple(replace(c, id=top + 1 + n) for n, c in enumerate(fresh))
        names = draw(st.permutations([c.name for c in columns]))
        if draw(st.booleans()):
            columns = [replace(c, name=n) for c, n in zip(columns, names, strict=True)]
        if draw(st.booleans()) and columns:
            columns[0] = replace(columns[0], name=draw(NAMES))
    everything: list[Column] = [*columns, *fresh]
    if draw(st.booleans()):
        everything = list(draw(st.permutations(everything)))
    kept = {c.name: c for c in reversed(everything)}
    last = tuple(c for c in everything if kept[c.name] is c)
    key = draw(st.lists(st.sampled_from([c.name for c in last]), unique=True, max_size=3)) if last else []
    if draw(st.booleans()) and set(old.key) <= {c.name for c in last}:
        key = list(old.key)
    return old, TableSchema(last, tuple(key), draw(st.sampled_from([old.comment, None, "about"])))
