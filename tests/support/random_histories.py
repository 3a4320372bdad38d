"""Made-up lives of a table: versions whose columns come, go, change and take each other's names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from schemaman.debezium.records import Coordinates
from schemaman.history.versions import NestedFieldAnswer, Revision, SchemaVersion, TableHistory
from schemaman.migration.plan import MigrationSource, PreviousVersion
from schemaman.model.schema import Column, TableId, TableSchema, fingerprint
from tests.support.strategies import COMMENTS, TYPES, edited_types

NAMES = st.sampled_from(["id", "a", "b", "c", "größe", "x y", "d.e", "`", "key"])
ALIKE = st.sampled_from(["id", "ID", "Id", "x y", "x-y", "X_Y", "x_y_2", "1x", "größe", "GRÖßE", "_op"])
"""Names that become one in small letters, or when they are made legal."""


@st.composite
def columns(draw: st.DrawFn, id: int, name: str) -> Column:
    """A column of any type, known to the world or not."""
    return Column(name, draw(TYPES), draw(st.booleans()), comment=draw(COMMENTS), id=id)


@st.composite
def lives(
    draw: st.DrawFn, versions: int = 4, called: st.SearchStrategy[str] = NAMES
) -> list[MigrationSource]:
    """The versions of one table in turn, each as a source to follow; its columns are `called` so."""
    names = draw(st.lists(called, unique=True, min_size=1, max_size=4))
    first = [draw(columns(i, name)) for i, name in enumerate(names, 1)]
    key = tuple(draw(st.lists(st.sampled_from(names), unique=True, max_size=2)))
    told = [TableSchema(tuple(first), key, draw(COMMENTS))]
    next_id = len(first) + 1
    for _ in range(draw(st.integers(0, versions - 1))):
        schema, next_id = draw(changed(told[-1], next_id, called))
        told.append(schema)
    return [source(told[: n + 1]) for n in range(len(told))]


@st.composite
def changed(
    draw: st.DrawFn, schema: TableSchema, next_id: int, words: st.SearchStrategy[str] = NAMES
) -> tuple[TableSchema, int]:
    """The table after somebody worked on it; the key follows its columns."""
    columns_ = list(schema.columns)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(columns_) - 1))
        column = columns_[at]
        free = draw(words)
        match draw(st.sampled_from(["add", "drop", "rename", "swap", "type", "null", "comment"])):
            case "add" if all(c.name != free for c in columns_):
                columns_.append(draw(columns(next_id, free)))
                next_id += 1
            case "drop" if len(columns_) > 1 and column.name not in schema.key:
                columns_.pop(at)
            case "rename" if all(c.name != free for c in columns_):
                columns_[at] = replace(column, name=free)
            case "swap":
                other = draw(st.integers(0, len(columns_) - 1))
                name = columns_[other].name
                columns_[other] = replace(columns_[other], name=column.name)
                columns_[at] = replace(columns_[at], name=name)
            case "type":
                columns_[at] = replace(column, type=draw(edited_types(column.type)))
            case "null":
                columns_[at] = replace(column, nullable=not column.nullable)
            case _:
                columns_[at] = replace(column, comment=draw(COMMENTS))
    ids = [column.id for name in schema.key for column in schema.columns if column.name == name]
    called = {c.id: c.name for c in columns_}
    key = tuple(called[id] for id in ids if id in called)
    return TableSchema(tuple(columns_), key, schema.comment), next_id


def history(told: Sequence[TableSchema], answers: Sequence[NestedFieldAnswer] = ()) -> TableHistory:
    """Versions of one table in turn, as confirmed as can be; `answers` are about the step to the last one."""
    versions: list[SchemaVersion] = []
    for number, schema in enumerate(told, 1):
        name, at = fingerprint(schema), Coordinates("t", 0, number)
        revisions = (Revision(0, schema, at),)
        versions.append(SchemaVersion(number, name, 1, "confirmed", revisions, None, at, None, 1, ()))
    versions[-1] = replace(versions[-1], field_answers=tuple(answers))
    return TableHistory(TableId("shop", "app", "public", "t"), "postgresql", tuple(versions))


def source(told: Sequence[TableSchema]) -> MigrationSource:
    """The last of several versions as something to follow."""
    newest = told[-1]
    now = {c.id: c.name for c in newest.columns}
    past = tuple(
        PreviousVersion(fingerprint(s), {"offset": n}, {c.name: now.get(c.id) for c in s.columns})
        for n, s in enumerate(told)
    )
    formers = {
        name: tuple(
            dict.fromkeys(t for p in reversed(past) for t, then in p.names.items() if then == name != t)
        )
        for name in now.values()
    }
    return MigrationSource(
        "shop.public.t",
        len(told),
        past[-1].id,
        0,
        newest,
        past[-1].began,
        {name: thens for name, thens in formers.items() if thens},
        past=past,
    )
