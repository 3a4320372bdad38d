"""The declared consumers with what their SQL reads; sqlglot is loaded only if one has SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

from schemaman.api.workspace import Workspace
from schemaman.compat.affected_consumers import Readership
from schemaman.compat.gate import AVRO_READERS
from schemaman.compat.impact.impact import Impact
from schemaman.compat.impact.relations import Relation
from schemaman.compat.judge import LEVELS
from schemaman.errors import NoHistory, UnknownName
from schemaman.history import references
from schemaman.history.references import TableName
from schemaman.history.versions import TableHistory
from schemaman.migration import row_columns
from schemaman.migration.settings import TargetSetting
from schemaman.migration.spark_sql import split_table_name
from schemaman.model.schema import Path, TableId, TableSchema
from schemaman.registry import Registry

RelationFinder = Callable[[frozenset[str]], Iterable[Relation]]
"""Finds the relations whose names end in one of the words, which are in small letters."""


def build_readership(
    workspace: Workspace, find_relations: RelationFinder, level: str | None = None
) -> Readership:
    """Build the declared consumers; read the SQL of those that have some.

    Raises:
        BadConfiguration: a pattern of files matches nothing.
    """
    consumers = workspace.settings.consumers.value
    known = LEVELS.get(level.upper()) if level is not None else None
    avro = None if known is None else tuple(r for r in known.readers if r in AVRO_READERS)
    if not any(consumer.sql for consumer in consumers):
        return Readership(consumers, avro=avro)
    graph = import_module("schemaman.api.consumer_sql").read_consumer_sql(workspace, find_relations)
    return Readership(consumers, graph, avro)


def find_impact(workspace: Workspace, registry: Registry, name: str) -> Impact:
    """Find who depends on a table or a column of it: `orders`, `orders.total`, `orders.address.city`.

    Raises:
        NoHistory: there is no such table.
        UnknownName: the table never had such a column.
    """
    table, path = _split_name(registry, name)
    readership = build_readership(workspace, RegistryRelations(workspace, registry))
    graph, key = readership.graph, str(table)
    unread = graph.find_unread(key, path)
    return Impact(
        table,
        path,
        graph.find_uses(key, path),
        tuple(c for c in readership.consumers if c.declares(table, path)),
        unread,
        sum(one not in unread for one in graph.unread),
        len(readership.consumers),
        graph.coverage,
    )


class RegistryRelations:
    """Finds the tables of a registry under their source names and the names of their lake tables."""

    def __init__(self, workspace: Workspace, registry: Registry) -> None:
        self.workspace = workspace
        self.registry = registry

    def __call__(self, words: frozenset[str]) -> Iterable[Relation]:
        """Read the histories of the tables that words name."""
        targets = self.workspace.settings.targets.value
        decisions = self.registry.decisions()
        for table in self.registry.store.tables():
            names = list_names(table, targets)
            if any(_is_mentioned(name[-1], words) for name in names):
                yield build_history_relation(self.registry.history(table, decisions), self.workspace)


def build_history_relation(history: TableHistory, workspace: Workspace) -> Relation:
    """Build the relation of a table: its present columns, and those of earlier versions."""
    latest = history.latest
    earlier = [
        r.schema
        for version in history.versions
        if version.incarnation == latest.incarnation
        for r in version.revisions
    ]
    return build_relation(history.table, latest.schema, earlier, workspace)


def build_relation(
    table: TableId, schema: TableSchema, earlier: Iterable[TableSchema], workspace: Workspace
) -> Relation:
    """Build the relation of a table under all its names."""
    settings = workspace.settings
    former = dict.fromkeys(name for one in earlier for name in one.names if name not in schema.names)
    emitted = {c.emitted_name: c.name for c in schema.columns if c.emitted_name not in (None, c.name)}
    metadata = [
        name
        for rule in settings.policy.projections
        for option, chosen in rule.options
        if option == "metadata" and isinstance(chosen, tuple)
        for _, name in chosen
    ]
    added = [c.name for key in (("k",), ()) for c in row_columns.list_row_columns(key)]
    return Relation(
        str(table),
        list_names(table, settings.targets.value),
        schema.names,
        tuple(former),
        (*dict.fromkeys(added), *metadata),
        tuple((str(name), column) for name, column in emitted.items()),
    )


def list_names(table: TableId, targets: Iterable[TargetSetting]) -> tuple[tuple[str, ...], ...]:
    """List the names of a table in SQL: that of the source, and those of the lake tables that follow it."""
    names = [tuple(part for part in (table.database, table.schema, table.table) if part)]
    for target in targets:
        if target.has_table(table):
            address = target.address(table)
            names.append(("delta", address) if target.table is None else split_table_name(address))
    return tuple(dict.fromkeys(names))


def _is_mentioned(name: str, words: frozenset[str]) -> bool:
    return name.lower() in words or not name.replace("_", "").isalnum()


def _split_name(registry: Registry, text: str) -> tuple[TableId, Path]:
    """Split a name into a table and a column path: the longest name of a table wins."""
    name = references.parse_name(text)
    for length in range(len(name.parts), 0, -1):
        try:
            table = registry.find(TableName(name.parts[:length], name.stream))
        except NoHistory:
            continue
        path = name.parts[length:]
        if path:
            _require_column(registry.history(table), path[0])
        return table, path
    registry.find(name)
    raise NoHistory(f"there is no table {text} in the history", hint="schemaman tables lists them")


def _require_column(history: TableHistory, column: str) -> None:
    known = {name for v in history.versions for r in v.revisions for name in r.schema.names}
    if column not in known:
        listed = ", ".join(history.latest.schema.names)
        raise UnknownName(f"{history.table} has no column {column}", hint=f"its columns are: {listed}")
