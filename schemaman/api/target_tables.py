"""Lists the lake tables of targets, and the history that each follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from schemaman.api.workspace import Workspace
from schemaman.errors import SchemamanError, UsageError
from schemaman.history.decisions import Decisions
from schemaman.history.references import TableRef, parse
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.migration.settings import TargetSetting, ViewSetting
from schemaman.migration.target import TARGETS
from schemaman.model.schema import TableId, quote_stream
from schemaman.model.shell import quote_word
from schemaman.registry import Registry
from schemaman.resolve import select_version

CutHistory = tuple[TableHistory, tuple[SchemaVersion, ...]]
"""A history up to a version, and the versions after it."""


@dataclass(frozen=True, slots=True)
class TargetTable:
    """A lake table and the history that it follows, up to the newest version of that history.

    `newer` are the known versions after it, if an older one was requested. `address` maps other source tables
    to their lake tables; None if the user named the lake table. `others` are the other source tables that the
    targets lead into the same lake table. `twins` are other source tables whose names only case tells apart
    from this one, with their lake tables. `view` is the view of the lake table. `neighbours` are all source
    tables of the target, this one among them.
    """

    history: TableHistory
    target: str
    format: str
    table: str
    newer: tuple[SchemaVersion, ...] = ()
    address: Callable[[TableId], str] | None = None
    others: tuple[str, ...] = ()
    twins: tuple[tuple[TableId, str], ...] = ()
    view: ViewSetting | None = None
    neighbours: tuple[TableId, ...] = ()


def list_all_target_tables(
    workspace: Workspace, registry: Registry, decisions: Decisions
) -> tuple[TargetTable, ...]:
    """List the lake tables of all targets for the tables of the stream, with these decisions applied."""
    followed = _keep_alive(workspace, registry.select(decisions=decisions))
    return _list_for_targets(followed, followed, workspace.settings.targets.value, workspace)


def list_target_tables(
    workspace: Workspace,
    registry: Registry,
    tables: Sequence[str],
    target: str | None,
    lake_table: str | None,
) -> tuple[TargetTable, ...]:
    """List the lake tables that follow the named tables, or all tables of the stream.

    `orders@3` is followed only up to that version.

    Raises:
        UsageError: there is no target; a format is named without one table and its lake table; or no target
            includes a named table.
    """
    settings = workspace.settings
    named = {t.name for t in settings.targets.value}
    if target is not None and target not in named and target in TARGETS.names():
        if len(tables) != 1 or lake_table is None:
            hint = f"schemaman plan TABLE --target {target} --table LAKE_TABLE; in Python plan(…, table=…)"
            raise UsageError(f"{target} is a format: name one source table, and its lake table", hint=hint)
        ((history, newer),) = _cut_histories(workspace, registry, tables)
        return (TargetTable(history, target, target, lake_table, newer),)
    if lake_table is not None:
        formats = " or ".join(TARGETS.names())
        hint = f"name a format as the target ({formats}), or omit the lake table"
        raise UsageError("the lake tables of a target come from the settings", hint=hint)
    chosen = settings.targets.value if target is None else (settings.target(target),)
    if not chosen:
        hint = "schemaman plan TABLE --target delta --table LAKE_TABLE, or a [[target]] in schemaman.toml"
        raise UsageError("there is no target to plan", hint=hint)
    followed = _cut_histories(workspace, registry, tables)
    excluded = [str(h.table) for h, _ in followed if not any(one.has_table(h.table) for one in chosen)]
    if tables and excluded:
        patterns = ", ".join(f"{one.name} = {' '.join(one.tables)}" for one in chosen)
        raise UsageError(
            f"no target includes {', '.join(excluded)}",
            hint=f"change `tables` of a [[target]], or name another table; targets include {patterns}",
        )
    alive = _keep_alive(workspace, registry.select())
    return _list_for_targets(followed, alive, chosen, workspace)


def warn_of_idle_targets(workspace: Workspace, tables: Iterable[TableId], target: str | None = None) -> None:
    """Warn about targets that include no table of the stream, or only those of others, by `--stream`."""
    stream = workspace.settings.stream.value
    known = tuple(tables)
    for one in workspace.settings.targets.value:
        streams = sorted({table.stream for table in known if one.has_table(table)})
        if target not in (None, one.name):
            continue
        if known and not streams:
            patterns = ", ".join(map(repr, one.tables))
            what = f"target {one.name} includes none of the known tables: its tables are {patterns}"
            workspace.messages.warn(what, "correct them: `schemaman tables` lists the known tables")
        if streams and stream not in streams:
            named = ", ".join(map(quote_stream, streams))
            what = f"target {one.name} includes no table of stream {quote_stream(stream)}"
            workspace.messages.warn(
                f"{what}, only tables of stream {named}", f"use --stream {quote_word(streams[0])}"
            )


def cut_history(history: TableHistory, version: SchemaVersion) -> TableHistory:
    """Return the history as it was when that version was the newest."""
    versions = tuple(v for v in history.versions if v.number <= version.number)
    events = tuple(e for e in history.events if e.incarnation < version.incarnation)
    return replace(history, versions=versions, events=events)


def _cut_histories(workspace: Workspace, registry: Registry, tables: Sequence[str]) -> tuple[CutHistory, ...]:
    """Select the histories to follow; a dropped table or one of another stream only if it was named."""
    if not tables:
        return _keep_alive(workspace, registry.select())
    return tuple(_cut_at_reference(registry, text) for text in tables)


def _keep_alive(workspace: Workspace, histories: Iterable[TableHistory]) -> tuple[CutHistory, ...]:
    """Select the histories of the stream whose tables still exist."""
    stream = workspace.settings.stream.value
    return tuple((h, ()) for h in histories if h.table.stream == stream and not h.has_ended)


def _cut_at_reference(registry: Registry, text: str) -> CutHistory:
    reference = parse(text)
    if not isinstance(reference, TableRef):
        raise UsageError(f"{text} is not a table of the history", hint="schemaman tables lists them")
    found = registry.history(registry.find(reference.name))
    version = select_version(found, reference.selector).version
    if version is None:
        return found, ()
    return cut_history(found, version), tuple(v for v in found.versions if v.number > version.number)


def _list_for_targets(
    followed: Sequence[CutHistory],
    alive: Sequence[CutHistory],
    chosen: Sequence[TargetSetting],
    workspace: Workspace,
) -> tuple[TargetTable, ...]:
    """List the lake tables of some targets, each with the other source tables that lead into it."""
    known = [history.table for history, _ in alive]
    sources: dict[tuple[str, str], dict[str, None]] = {}
    for one in workspace.settings.targets.value:
        for each in _list_tables(alive, one, known):
            sources.setdefault(_name_table(each), {})[str(each.history.table)] = None
    found = (table for one in chosen for table in _list_tables(followed, one, known))
    return tuple(
        replace(t, others=tuple(s for s in sources.get(_name_table(t), ()) if s != str(t.history.table)))
        for t in found
    )


def _name_table(table: TargetTable) -> tuple[str, str]:
    """The format and the canonical name of a lake table; its own spelling if it is no name."""
    try:
        return table.format, TARGETS.get(table.format).canonical_name(table.table)
    except SchemamanError:
        return table.format, table.table


def _list_tables(
    followed: Sequence[CutHistory], target: TargetSetting, known: Sequence[TableId]
) -> Iterator[TargetTable]:
    spellings: dict[str, list[TableId]] = {}
    neighbours = tuple(filter(target.has_table, known))
    for table in neighbours:
        spellings.setdefault(str(table).lower(), []).append(table)
    for history, newer in followed:
        if target.has_table(history.table):
            others = [t for t in spellings.get(str(history.table).lower(), ()) if t != history.table]
            twins = tuple((table, target.address(table)) for table in others)
            address = target.address(history.table)
            view = target.find_view(history.table)
            own = TargetTable(history, target.name, target.format, address, newer, target.address)
            yield replace(own, twins=twins, view=view, neighbours=neighbours)
