"""Lake tables of the targets, and the history that each follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from shlex import quote

from schemaman.api.workspace import Workspace
from schemaman.errors import UsageError
from schemaman.history.decisions import Decisions
from schemaman.history.references import TableRef, parse
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.migration.target import TARGETS
from schemaman.model.schema import TableId, quote_stream
from schemaman.registry import Registry
from schemaman.resolve import select_version
from schemaman.settings import TargetSetting

CutHistory = tuple[TableHistory, tuple[SchemaVersion, ...]]
"""A history up to a version, and the versions after it."""


@dataclass(frozen=True, slots=True)
class TargetTable:
    """A lake table and the history that it follows, up to the newest version of that history.

    `newer` are the known versions after it, where an older one was asked for. `address` gives the lake tables
    of other source tables; it is None where the lake table was named by hand.
    """

    history: TableHistory
    target: str
    format: str
    table: str
    newer: tuple[SchemaVersion, ...] = ()
    address: Callable[[TableId], str] | None = None


def list_all_target_tables(
    workspace: Workspace, registry: Registry, decisions: Decisions
) -> tuple[TargetTable, ...]:
    """The lake tables of all targets for the tables of the stream, with these decisions applied."""
    followed = _keep_alive(workspace, registry.select(decisions=decisions))
    return tuple(f for one in workspace.settings.targets.value for f in _list_tables(followed, one))


def list_target_tables(
    workspace: Workspace,
    registry: Registry,
    tables: Sequence[str],
    target: str | None,
    lake_table: str | None,
) -> tuple[TargetTable, ...]:
    """The lake tables that follow the named tables, or all of the stream.

    `orders@3` is followed no further than that version.

    Raises:
        UsageError: no target is named anywhere, or a format alone without the one table and its name; or a
            table is named that no target holds.
    """
    settings = workspace.settings
    named = {t.name for t in settings.targets.value}
    if target is not None and target not in named and target in TARGETS.names():
        if len(tables) != 1 or lake_table is None:
            hint = f"schemaman plan TABLE --target {target} --table LAKE_TABLE"
            raise UsageError(f"{target} is a format: one TABLE and --table are needed with it", hint=hint)
        ((history, newer),) = _cut_histories(workspace, registry, tables)
        return (TargetTable(history, target, target, lake_table, newer),)
    if lake_table is not None:
        raise UsageError("--table goes with --target delta or iceberg; a named target says its tables itself")
    chosen = settings.targets.value if target is None else (settings.target(target),)
    if not chosen:
        hint = "schemaman plan TABLE --target delta --table LAKE_TABLE, or a [[target]] in schemaman.toml"
        raise UsageError("there is no target to plan for", hint=hint)
    followed = _cut_histories(workspace, registry, tables)
    homeless = [str(h.table) for h, _ in followed if not any(one.has_table(h.table) for one in chosen)]
    if tables and homeless:
        patterns = ", ".join(f"{one.name} = {' '.join(one.tables)}" for one in chosen)
        raise UsageError(
            f"no target holds {', '.join(homeless)}",
            hint=f"mend the `tables` of a [[target]], or name another table; targets hold {patterns}",
        )
    return tuple(f for one in chosen for f in _list_tables(followed, one))


def warn_of_other_streams(workspace: Workspace, tables: Iterable[TableId], target: str | None = None) -> None:
    """Warn of targets that hold tables of other streams alone: they wait for `--stream`."""
    stream = workspace.settings.stream.value
    known = tuple(tables)
    for one in workspace.settings.targets.value:
        held = sorted({table.stream for table in known if one.has_table(table)})
        if held and stream not in held and target in (None, one.name):
            named = ", ".join(map(quote_stream, held))
            what = f"target {one.name} holds no table of stream {quote_stream(stream)}"
            workspace.messages.warn(
                f"{what}; it holds tables of stream {named}", f"--stream {quote(held[0])}"
            )


def cut_history(history: TableHistory, version: SchemaVersion) -> TableHistory:
    """What was known when that version was the newest one."""
    versions = tuple(v for v in history.versions if v.number <= version.number)
    events = tuple(e for e in history.events if e.incarnation < version.incarnation)
    return replace(history, versions=versions, events=events)


def _cut_histories(workspace: Workspace, registry: Registry, tables: Sequence[str]) -> tuple[CutHistory, ...]:
    """The histories to follow; a dropped table or one of another stream is followed only if it was named."""
    if not tables:
        return _keep_alive(workspace, registry.select())
    return tuple(_cut_at_reference(registry, text) for text in tables)


def _keep_alive(workspace: Workspace, histories: Iterable[TableHistory]) -> tuple[CutHistory, ...]:
    """The histories of the stream whose tables were not dropped."""
    stream = workspace.settings.stream.value
    return tuple((h, ()) for h in histories if h.table.stream == stream and not h.has_ended)


def _cut_at_reference(registry: Registry, text: str) -> CutHistory:
    reference = parse(text)
    if not isinstance(reference, TableRef):
        raise UsageError(f"{text} is no table of the history", hint="schemaman tables lists them")
    found = registry.history(registry.find(reference.name))
    version = select_version(found, reference.selector).version
    if version is None:
        return found, ()
    return cut_history(found, version), tuple(v for v in found.versions if v.number > version.number)


def _list_tables(followed: Sequence[CutHistory], target: TargetSetting) -> Iterator[TargetTable]:
    for history, newer in followed:
        if target.has_table(history.table):
            address = target.address(history.table)
            yield TargetTable(history, target.name, target.format, address, newer, target.address)
