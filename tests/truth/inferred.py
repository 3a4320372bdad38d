"""What JSON without schemas can show of a type, and what documents showed of their members."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from schemaman.history.versions import TableHistory
from schemaman.model.ddl import format_type
from schemaman.model.schema import TableSchema
from schemaman.model.types import Array, Struct, Type, Union
from tests.truth.compare import name_of
from tests.truth.facts import Judged

Member = tuple[str, str, tuple[str, ...], str]
"""Database, collection, path, kind of value."""

DECIMALS = {"postgres/shop-modes": {"number", "string"}, "postgres/shop-flat-plain": {"string"}}
"""Recordings without schemas, and how decimals travel there: as numbers, NaN as a text, or as base64."""

_KINDS = (
    (r"BOOLEAN", {"boolean"}),
    (r"(SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DATE|TIME\(\d\)|TIMESTAMP_NTZ\(\d\))", {"number"}),
    (r"(STRING|ENUM|UUID|XML|BINARY|BITS.*|INTERVAL.*|TIMETZ.*|TIMESTAMP\(\d\))", {"string"}),
    (r"JSON", {"string", "object"}),
    (r"ARRAY.*", {"array"}),
    (r"STRUCT.*", {"object"}),
)
_BSON = {
    "int": "INT",
    "long": "BIGINT",
    "double": "DOUBLE",
    "string": "STRING",
    "bool": "BOOLEAN",
    "date": "TIMESTAMP(3)",
    "binData": "BINARY",
    "object": "STRUCT",
    "array": "ARRAY",
}
"""What the kinds of BSON are called in a schema; others keep their name."""


def kinds(word: str, decimals: set[str]) -> set[str]:
    """The kinds of JSON values in which a type may travel; a null says nothing."""
    if re.fullmatch(r"DECIMAL.*|NUMERIC", word):
        return decimals | {"null"}
    return next(found for pattern, found in _KINDS if re.fullmatch(pattern, word)) | {"null"}


def shown_as(says: str, word: str, decimals: set[str]) -> bool:
    """Whether JSON values of a type look as the history says; of a type that changed, as one of several."""
    told = set(re.findall(r"json:(\w+)", says))
    alone = re.fullmatch(r"UNKNOWN\('json:\w+'\)", says)
    return bool(told & kinds(word, decimals)) and (alone is not None or "UNION" in says)


def members(histories: Iterable[TableHistory], lines: Iterable[str]) -> Iterator[Judged]:
    """Each member and kind that a collection is said to have, and whether a document had it."""
    written = {
        (told["db"], told["collection"], tuple(told["path"]), _BSON.get(told["type"], told["type"]))
        for told in map(json.loads, lines)
        if told["record"] == "path"
    }
    for history in histories:
        table = history.table
        for version in history.versions:
            for path, kind in _members(version.schema):
                there = (table.database, table.table, path, kind) in written
                fact = f"member:{'.'.join(path)} {kind}"
                says, true = "there", "there" if there else "not there"
                yield Judged(name_of(table), version.number, fact, "both", says, true)
            key = ", ".join(version.schema.key)
            yield Judged(name_of(table), version.number, "key", "both", key, "_id")


def _members(schema: TableSchema) -> Iterator[tuple[tuple[str, ...], str]]:
    for column in schema.columns:
        yield from _kinds_of((column.name,), column.type)


def _kinds_of(path: tuple[str, ...], type: Type) -> Iterator[tuple[tuple[str, ...], str]]:
    match type:
        case Union(alternatives):
            for alternative in alternatives:
                yield from _kinds_of(path, alternative)
        case Array(element, _):
            yield path, "ARRAY"
            yield from _kinds_of((*path, "[]"), element)
        case Struct(fields):
            yield path, "STRUCT"
            for field in fields:
                yield from _kinds_of((*path, field.name), field.type)
        case _:
            yield path, re.sub(r"UNKNOWN\('bson:(\w+)'\)", r"\1", format_type(type))
