"""Which lake table follows which table of the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from shlex import quote

from schemaman.errors import UsageError
from schemaman.history.decisions import Decisions
from schemaman.history.references import TableRef, parse
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.migration.target import TARGETS
from schemaman.model.schema import TableId, quote_stream
from schemaman.registry import Registry
from schemaman.resolve import select_version
from schemaman.settings import TargetSetting
from schemaman_cli.options import Door
from schemaman_cli.wiring import find, histories

Cut = tuple[TableHistory, tuple[SchemaVersion, ...]]
"""A history up to a version, and the versions behind it."""


@dataclass(frozen=True, slots=True)
class Follower:
    """A lake table that follows a source table, up to the newest version of the history.

    `newer` versions are known beside it where somebody asked for an older one. `address` says where the
    target has other tables, None where the lake table was named by hand.
    """

    history: TableHistory
    target: str
    format: str
    table: str
    newer: tuple[SchemaVersion, ...] = ()
    address: Callable[[TableId], str] | None = None


def all_followers(door: Door, registry: Registry, answers: Decisions) -> tuple[Follower, ...]:
    """The lake tables of all targets that follow a table of the stream, as `answers` have its history."""
    there = _standing(door, histories(door, registry, answers=answers))
    return tuple(f for one in door.settings.targets.value for f in _followers(there, one))


def followers(
    door: Door, registry: Registry, tables: Sequence[str], target: str | None, lake_table: str | None
) -> tuple[Follower, ...]:
    """The lake tables that follow the named tables, or all of the stream.

    `orders@3` is followed no further than that version.

    Raises:
        UsageError: no target is named anywhere, or a format alone without the one table and its name; or a
            table is named that no target holds.
    """
    settings = door.settings
    named = {t.name for t in settings.targets.value}
    if target is not None and target not in named and target in TARGETS.names():
        if len(tables) != 1 or lake_table is None:
            hint = f"schemaman plan TABLE --target {target} --table LAKE_TABLE"
            raise UsageError(f"{target} is a format: one TABLE and --table are needed with it", hint=hint)
        ((history, newer),) = _followed(door, registry, tables)
        return (Follower(history, target, target, lake_table, newer),)
    if lake_table is not None:
        raise UsageError("--table goes with --target delta or iceberg; a named target says its tables itself")
    chosen = settings.targets.value if target is None else (settings.target(target),)
    if not chosen:
        hint = "schemaman plan TABLE --target delta --table LAKE_TABLE, or a [[target]] in schemaman.toml"
        raise UsageError("there is no target to plan for", hint=hint)
    followed = _followed(door, registry, tables)
    homeless = [str(h.table) for h, _ in followed if not any(one.has_table(h.table) for one in chosen)]
    if tables and homeless:
        patterns = ", ".join(f"{one.name} = {' '.join(one.tables)}" for one in chosen)
        raise UsageError(
            f"no target holds {', '.join(homeless)}",
            hint=f"mend the `tables` of a [[target]], or name another table; targets hold {patterns}",
        )
    return tuple(f for one in chosen for f in _followers(followed, one))


def tell_of_other_streams(door: Door, tables: Iterable[TableId], target: str | None = None) -> None:
    """Warn of targets that hold tables of other streams alone: they wait for `--stream`."""
    stream = door.settings.stream.value
    there = tuple(tables)
    for one in door.settings.targets.value:
        held = sorted({table.stream for table in there if one.has_table(table)})
        if held and stream not in held and target in (None, one.name):
            named = ", ".join(map(quote_stream, held))
            what = f"target {one.name} holds no table of stream {quote_stream(stream)}"
            door.console.warn(f"{what}; it holds tables of stream {named}", f"--stream {quote(held[0])}")


def as_of(history: TableHistory, version: SchemaVersion) -> TableHistory:
    """What was known when that version was the newest one."""
    versions = tuple(v for v in history.versions if v.number <= version.number)
    events = tuple(e for e in history.events if e.incarnation < version.incarnation)
    return replace(history, versions=versions, events=events)


def _followed(door: Door, registry: Registry, tables: Sequence[str]) -> tuple[Cut, ...]:
    """The histories to follow; one that is gone or of another stream is followed only if it was named."""
    if not tables:
        return _standing(door, histories(door, registry))
    return tuple(_until(door, registry, text) for text in tables)


def _standing(door: Door, every: Iterable[TableHistory]) -> tuple[Cut, ...]:
    """Those of the stream that are not gone."""
    stream = door.settings.stream.value
    return tuple((h, ()) for h in every if h.table.stream == stream and not h.has_ended)


def _until(door: Door, registry: Registry, text: str) -> Cut:
    reference = parse(text)
    if not isinstance(reference, TableRef):
        raise UsageError(f"{text} is no table of the history", hint="schemaman tables lists them")
    found = find(door, registry, str(reference.name))
    version = select_version(found, reference.selector).version
    if version is None:
        return found, ()
    return as_of(found, version), tuple(v for v in found.versions if v.number > version.number)


def _followers(followed: Sequence[Cut], target: TargetSetting) -> Iterator[Follower]:
    for history, newer in followed:
        if target.has_table(history.table):
            address = target.address(history.table)
            yield Follower(history, target.name, target.format, address, newer, target.address)
