"""The block that ExtractSchemaToNewRecord adds to an event: names and types of the source's columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from schemaman.debezium.connectors._type_expression import format_type_expression
from schemaman.model.name_adjustment import list_adjusted_forms
from schemaman.model.schema import Column, TableSchema

BLOCK = "sourceSchema"
"""`id`, and `table` with `columns` of `name`, `typeName`, `length`, `scale`, `comment`: the same facts as
propagated source types, so that a block beside a schema adds nothing.

Source: Debezium ExtractSchemaToNewRecord, since 2.5."""


def add_source_columns(schema: TableSchema, payload: Mapping[str, object]) -> TableSchema:
    """Add the block's facts to the columns of a row's schema; without a block, the schema stays as it is.

    A column whose field name is an adjusted form of its name gets its own name.
    """
    names: dict[str, str] = {}
    columns = list(schema.columns)
    for facts in _list_block_columns(payload):
        own = str(facts["name"])
        forms = list_adjusted_forms(own)
        matches = [i for i, c in enumerate(columns) if c.name == own] or [
            i for i, c in enumerate(columns) if c.emitted_name in forms
        ]
        if len(matches) == 1:
            names[columns[matches[0]].name] = own
            columns[matches[0]] = _describe_column(columns[matches[0]], own, facts)
    if len({c.name for c in columns}) < len(columns):
        return schema
    return replace(schema, columns=tuple(columns), key=tuple(names.get(k, k) for k in schema.key))


def _describe_column(column: Column, own: str, facts: Mapping[str, object]) -> Column:
    type, length, scale, comment = (facts.get(n) for n in ("typeName", "length", "scale", "comment"))
    return replace(
        column,
        name=own,
        source_type=format_type_expression(type, _read_number(length), _read_number(scale))
        if isinstance(type, str)
        else None,
        comment=comment if isinstance(comment, str) else None,
    )


def _list_block_columns(payload: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    block = payload.get(BLOCK)
    table = block.get("table") if isinstance(block, Mapping) else None
    columns = table.get("columns") if isinstance(table, Mapping) else None
    if isinstance(columns, list):
        yield from (c for c in columns if isinstance(c, Mapping) and isinstance(c.get("name"), str))


def _read_number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
