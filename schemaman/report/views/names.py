"""Builds the report of `names`: original and emitted names, their rule, current and predicted collisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from schemaman.debezium.emitted_names import TopicNamingStrategy, make_schema_name
from schemaman.history.fold.naming_epochs import find_naming_rule, list_originals
from schemaman.history.versions import TableHistory
from schemaman.model import name_adjustment as names
from schemaman.model.name_adjustment import Mode
from schemaman.model.schema import Column
from schemaman.report.document import Block, Grid, Heading, Inline, Notice, Paragraph, Report, Text
from schemaman.report.json.tables import SCHEMA_VERSION

MODES: tuple[Mode, ...] = ("avro", "avro_unicode", "scrubbed")
ADJUSTING: tuple[Mode, ...] = ("none", "avro", "avro_unicode")

CollisionKind = Literal["column", "table", "topic", "schema"]


@dataclass(frozen=True, slots=True)
class Collision:
    """Several names that are emitted as one name in a naming mode; `now` if events already show it.

    `of` is what has the names: columns of a table, or tables, also as topics or schemas. `mode` is `case` for
    names that differ only in case, and `topic` for topics. It is `routed` if a transform routes tables with
    different topic names to one topic, and `none` for other current collisions.
    """

    of: CollisionKind
    mode: str
    emitted: str
    names: tuple[str, ...]
    now: bool


def build_names_report(
    histories: Sequence[TableHistory], *, whole: bool, every: Sequence[TableHistory] = ()
) -> Report:
    """Build the report of `names`; without `whole`, only names that differ or collide.

    `every` are all tables, with which the given ones may collide; by default only the given ones.
    """
    topics, row_schemas, tables = _find_table_collisions(histories, every or histories)
    blocks: list[Block] = []
    for history in histories:
        schema = history.latest.schema
        shown = [c for c in schema.columns if whole or c.emitted_name not in (None, c.name)]
        found = find_collisions(schema.columns)
        if shown or found:
            blocks.append(Heading(str(history.table), 3))
        if shown and whole:
            blocks.append(
                Grid("", ("topic", "schema of rows", "naming rule"), tuple(_build_topic_rows(history)))
            )
        if shown:
            rows = tuple(_build_row(column, _list_earlier_names(history, column)) for column in shown)
            blocks.append(Grid("", ("column", "name in events", "naming rule", "earlier"), rows))
        blocks += [_build_notice(c) for c in found]
    blocks += [_build_notice(c) for c in (*topics, *row_schemas, *tables)]
    if not blocks:
        message = "every column has its own name in events, and no names collide"
        blocks.append(Paragraph((Text(message, "good"),)))
    return Report("Names", tuple(blocks), _build_document(histories, topics, row_schemas, tables))


def _find_table_collisions(
    histories: Sequence[TableHistory], every: Sequence[TableHistory]
) -> tuple[tuple[Collision, ...], tuple[Collision, ...], tuple[Collision, ...]]:
    """Find the collisions of topics, row schemas and table names in which one of the tables takes part."""
    own = {str(h.table) for h in histories}
    found = (find_topic_collisions(every), find_schema_collisions(every), find_case_collisions(every))
    topics, row_schemas, tables = (tuple(c for c in each if own.intersection(c.names)) for each in found)
    return topics, row_schemas, tables


def find_rule(column: Column) -> str | None:
    """Find the rule that made the emitted name, as `find_naming_rule` does; None without an event.

    An escaped name with an unknown original has the rule avro_unicode if only that mode escapes so.
    """
    emitted = column.emitted_name
    if emitted is None:
        return None
    if emitted == column.name and _list_originals(column):
        return "avro_unicode"
    return find_naming_rule(column.name, emitted)


def _list_originals(column: Column) -> tuple[str, ...]:
    """List the possible names of a column at its source if only its escaped name is known."""
    return tuple(own for own in list_originals(column.name) if own != column.name)


def _list_earlier_names(history: TableHistory, column: Column) -> tuple[str, ...]:
    """List the earlier names of a column in events, in order."""
    columns = (c for v in history.versions for r in v.revisions for c in r.schema.columns)
    names_seen = (c.emitted_name for c in columns if c.id == column.id)
    return tuple(dict.fromkeys(name for name in names_seen if name not in (None, column.emitted_name)))


def _list_schema_rules(history: TableHistory) -> list[tuple[str, str, str | None]]:
    """List topics and schema names in events, with the mode that makes the schema name from the topic."""
    topics = [a.name for a in history.aliases if a.kind == "topic"]
    schemas = [a.name for a in history.aliases if a.kind == "schema_name"]
    pairs = [
        (topic, name, mode)
        for topic in topics
        for name in schemas
        for mode in ADJUSTING
        if make_schema_name(topic, "row", mode) == name
    ]
    first = {(topic, name): (topic, name, mode) for topic, name, mode in reversed(pairs)}
    known = {name for _, name in first}
    lone = [(", ".join(topics), name, None) for name in schemas if name not in known]
    return sorted([*first.values(), *lone], key=lambda row: row[:2])


def find_collisions(columns: Sequence[Column]) -> tuple[Collision, ...]:
    """Find columns of one table that share an emitted name now, or would in a naming mode."""
    shared: dict[str, list[str]] = {}
    for column in columns:
        if column.emitted_name is not None:
            shared.setdefault(column.emitted_name, []).append(column.name)
    found = [
        Collision("column", "none", emitted, tuple(own), True)
        for emitted, own in shared.items()
        if len(own) > 1
    ]
    for mode in MODES:
        for group in names.find_collisions((c.name for c in columns), mode):
            found.append(Collision("column", mode, names.adjust_field(group[0], mode), group, False))
    cases: dict[str, list[str]] = {}
    for column in columns:
        cases.setdefault(column.name.lower(), []).append(column.name)
    found += [Collision("column", "case", k, tuple(own), False) for k, own in cases.items() if len(own) > 1]
    return tuple(found)


def _group_tables(pairs: Iterable[tuple[str, TableHistory]]) -> list[tuple[str, tuple[str, ...]]]:
    """Group the tables of one stream that have the same made name, in order."""
    groups: dict[tuple[str, str], dict[str, None]] = {}
    for made, history in pairs:
        groups.setdefault((history.table.stream, made), {})[str(history.table)] = None
    return [(made, tuple(own)) for (_, made), own in groups.items() if len(own) > 1]


def find_topic_collisions(histories: Sequence[TableHistory]) -> tuple[Collision, ...]:
    """Find tables whose records share a topic now, or whose names make the same topic."""
    shared, made = (
        _find_shared_names(histories, "topic"),
        _group_tables((_build_topic(h), h) for h in histories),
    )
    now, same = {own for _, own in shared}, {own for _, own in made}
    return (
        *(
            Collision("topic", "topic" if own in same else "routed", topic, own, True)
            for topic, own in shared
        ),
        *(Collision("topic", "topic", topic, own, False) for topic, own in made if own not in now),
    )


def find_schema_collisions(histories: Sequence[TableHistory]) -> tuple[Collision, ...]:
    """Find tables with separate topics whose row schemas have one name now, or would in a naming mode."""
    routed = {own for _, own in _find_shared_names(histories, "topic")}
    same = routed | {own for _, own in _group_tables((_build_topic(h), h) for h in histories)}
    shared = [(n, own) for n, own in _find_shared_names(histories, "schema_name") if own not in routed]
    found = [Collision("schema", "none", name, own, True) for name, own in shared]
    same |= {own for _, own in shared}
    for mode in ADJUSTING[1:]:
        made = _group_tables((make_schema_name(_build_topic(h), "row", mode), h) for h in histories)
        found += [Collision("schema", mode, name, own, False) for name, own in made if own not in same]
    return tuple(found)


def find_case_collisions(histories: Sequence[TableHistory]) -> tuple[Collision, ...]:
    """Find tables that exist side by side and whose names differ only in case."""
    names_in_case = _group_tables((str(h.table).lower(), h) for h in histories if not h.has_ended)
    return tuple(Collision("table", "case", name, own, False) for name, own in names_in_case)


def _find_shared_names(histories: Sequence[TableHistory], kind: str) -> list[tuple[str, tuple[str, ...]]]:
    aliases = ((a.name, h) for h in histories for a in h.aliases if a.kind == kind and a.until is None)
    return _group_tables(aliases)


def _build_topic(history: TableHistory) -> str:
    """Build the topic of a table for the connector's default settings."""
    table = history.table
    schema = table.schema or table.database
    return TopicNamingStrategy(table.server).name_table_topic(
        history.connector, table.database or schema, schema, table.table
    )


def _build_topic_rows(history: TableHistory) -> Iterable[tuple[Inline, ...]]:
    for topic, name, mode in _list_schema_rules(history):
        yield ((Text(topic, code=True),), (Text(name, code=True),), (Text(mode or "other", "muted"),))


def _build_row(column: Column, earlier: tuple[str, ...]) -> tuple[Inline, ...]:
    emitted, originals = column.emitted_name, _list_originals(column)
    rule = find_rule(column) or "—"
    return (
        (Text(column.name, code=True),),
        (Text(emitted, code=True),) if emitted is not None else (Text("not seen", "muted"),),
        (
            Text(
                f"{rule} of {' or '.join(originals)}" if originals and rule == "avro_unicode" else rule,
                "muted",
            ),
        ),
        (Text(", ".join(earlier) or "—", "muted"),),
    )


def _build_notice(found: Collision) -> Notice:
    listed, one, mode = ", ".join(found.names), found.emitted, found.mode
    match found.of:
        case "topic" if mode == "routed":
            message = (
                f"{listed} share the topic {one}, which does not follow from their names: it was routed."
            )
        case "topic":
            message = f"{listed} {'share' if found.now else 'would share'} the topic {one}."
        case "schema" if found.now:
            message = f"the row schemas of {listed} have the same name, {one}."
        case "schema":
            message = f"the row schemas of {listed} would have the same name, {one}, in mode {mode}."
        case "table":
            message = f"{listed} differ only in case: catalogs of Spark take them for one table."
        case "column" if found.now:
            message = f"events carry {listed} as one field, {one}."
        case "column" if mode == "case":
            message = (
                f"{listed} differ only in case: Spark, Delta and Iceberg through Spark take them for one "
                "column, and the PostgreSQL connector fails on this since 3.4."
            )
        case "column":
            message = f"{listed} would become one field, {one}, in mode {mode}."
        case _:
            assert_never(found.of)
    if found.now and found.of != "schema" and mode != "routed":
        return Notice("names collide", "break", "", message)
    return Notice("names would collide" if not found.now else "names collide", "note", "", message)


def _build_document(
    histories: Sequence[TableHistory],
    topics: Sequence[Collision],
    row_schemas: Sequence[Collision],
    tables: Sequence[Collision],
) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "tables": [
            {
                "table": str(h.table),
                "topics": [a.name for a in h.aliases if a.kind == "topic"],
                "schemas": [
                    {"topic": topic, "name": name, "rule": mode or "other"}
                    for topic, name, mode in _list_schema_rules(h)
                ],
                "columns": [_build_column(h, c) for c in h.latest.schema.columns],
                "collisions": [_build_collision(c) for c in find_collisions(h.latest.schema.columns)],
            }
            for h in histories
        ],
        "topic_collisions": [_build_collision(c) for c in topics],
        "schema_collisions": [_build_collision(c) for c in row_schemas],
        "table_collisions": [_build_collision(c) for c in tables],
    }


def _build_column(history: TableHistory, column: Column) -> dict[str, object]:
    return {
        "name": column.name,
        "emitted_name": column.emitted_name,
        "rule": find_rule(column),
        "earlier": list(_list_earlier_names(history, column)),
        "originals": list(_list_originals(column)),
    }


def _build_collision(found: Collision) -> dict[str, object]:
    return {
        "of": found.of,
        "mode": found.mode,
        "emitted": found.emitted,
        "names": list(found.names),
        "now": found.now,
    }
