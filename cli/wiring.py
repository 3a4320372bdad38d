"""How the parts are put together for a command: store, registry, answers, REFs, rules, targets."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from schemaman import resolve as resolution
from schemaman.compat.judge import RULES, Severity, Transition, judge_transition, rate_finding
from schemaman.compat.snapshots import from_text, is_snapshot
from schemaman.errors import CouldNotDo, NoHistory, UnreadableInput, UsageError
from schemaman.history.as_of import has_read_times
from schemaman.history.decisions import Decisions, apply_decisions
from schemaman.history.decisions import parse as parse_decisions
from schemaman.history.references import AsOf, TableName, TableRef, parse, parse_name
from schemaman.history.versions import EmittedSchema, TableHistory, find_emitted_schema
from schemaman.io import git as gitrefs
from schemaman.io import schema_registry
from schemaman.io.apicurio import Apicurio
from schemaman.model.column_list import format_columns
from schemaman.model.schema import TableId
from schemaman.registry import Registry
from schemaman.report.views import words
from schemaman.report.views.table_changes import JudgedFinding, TransitionJudge
from schemaman.resolve import ReferenceReaders, ResolvedSchema
from schemaman.settings import Settings
from schemaman.store.sql.store import SqlStore
from schemaman.store.urls import has_password
from schemaman_cli.clients import options_of
from schemaman_cli.options import Door
from schemaman_cli.sessions import live_structure

_CANDIDATES = 10
"""How many files of a folder a message names."""


def now_ms() -> int:
    """The time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def open_store(door: Door, *, create: bool = False) -> SqlStore:
    """The store that the settings name, open until the command ends; made if `create` says so.

    Raises:
        UsageError: the address stands in the command line with a password in it, or is none.
        StoreUnavailable: as `SqlStore.open`.
    """
    setting = door.settings.store
    if setting.origin.startswith("--") and has_password(setting.value):
        raise UsageError(
            "the address of the store holds a password, and others can see a command line",
            hint="say it in PGPASSWORD, ~/.pgpass or SCHEMAMAN_STORE",
        )
    store = door.open.enter_context(SqlStore.open(door.store_url, create=create))
    if store.upgraded_from is not None:
        door.console.say(
            f"{store.where} had layout {store.upgraded_from} and was upgraded; its log is as it was"
        )
    return store


def open_registry(door: Door, *, create: bool = False) -> Registry:
    """The registry over that store."""
    return Registry(open_store(door, create=create), now_ms)


def in_stream(door: Door, name: TableName) -> TableName:
    """The name with the stream that `--stream` says, if neither it nor the name says another."""
    stream = door.settings.stream
    chosen = name.stream is None and stream.origin != "default"
    return replace(name, stream=stream.value) if chosen else name


def find(door: Door, registry: Registry, text: str) -> TableHistory:
    """The history of the table that a user named, as people have answered it.

    Raises:
        UsageError: the text is no name, or the name of several tables.
        NoHistory: nothing is known of it.
    """
    history = registry.history(registry.find(in_stream(door, parse_name(text))))
    return apply_decisions(history, decisions_of(door))


def histories(
    door: Door, registry: Registry, names: Iterable[str] = (), answers: Decisions | None = None
) -> tuple[TableHistory, ...]:
    """The histories of the named tables, each once; if none is named, of all or all of `--stream`.

    They are told as people have answered them: by `answers`, or by the file. Raises as `find`.
    """
    named = dict.fromkeys(registry.find(in_stream(door, parse_name(name))) for name in names)
    answers = decisions_of(door) if answers is None else answers
    if named:
        return tuple(apply_decisions(registry.history(table), answers) for table in named)
    stream = door.settings.stream
    chosen = None if stream.origin == "default" else stream.value
    return tuple(apply_decisions(h, answers) for h in registry.tables() if chosen in (None, h.table.stream))


def decisions_of(door: Door) -> Decisions:
    """What people have decided; nothing where there is no file. Raises `BadConfiguration`."""
    path = door.path(door.settings.decisions)
    return parse_decisions(read_file(str(path)), str(path)) if path.exists() else Decisions()


def overrides_of(settings: Settings) -> dict[str, Severity]:
    """The severities that the user gave to rules. Raises `UnknownName` for a rule that is none."""
    overrides = dict(settings.rules.value)
    for name in overrides:
        RULES.get(name)
    return overrides


def judge_of(settings: Settings) -> TransitionJudge:
    """What says of a transition which rules fire, and how grave that is for the declared readers.

    Raises:
        UnknownName: an override names no rule.
    """
    overrides, rules = overrides_of(settings), RULES.load_all()

    def judged(transition: Transition) -> tuple[JudgedFinding, ...]:
        found = judge_transition(transition, rules)
        return tuple(JudgedFinding(f, rate_finding(f, settings.readers.value, overrides)) for f in found)

    return judged


def resolve(door: Door, text: str) -> ResolvedSchema:
    """What a REF means; store or Spark are opened only for a REF that needs them.

    Raises:
        UsageError: the REF is none, or names nothing, several things, or an uncertain moment.
        CouldNotDo: what it names cannot be read.
    """
    reference = parse(text)
    if isinstance(reference, TableRef):
        registry = open_registry(door)
        history = registry.history(registry.find(in_stream(door, reference.name)))
        found = resolution.select_version(apply_decisions(history, decisions_of(door)), reference.selector)
        _warn_of_age(door, text, history, found)
        if isinstance(reference.selector, AsOf) and has_read_times(history):
            door.console.warn(
                f"{text}: times of this source are those at which its changes were read; they may have been "
                "made earlier: name a position where that matters"
            )
        return found
    readers = ReferenceReaders(
        file=lambda path: _structure_text(read_file(path), path),
        git=lambda revision, path: _structure_text(gitrefs.read_file(revision, path), path),
        registry=partial(_subject, door),
        lake=partial(live_structure, door),
    )
    return resolution.resolve(reference, _NoHistories(), readers)


def _warn_of_age(door: Door, text: str, history: TableHistory, found: ResolvedSchema) -> None:
    """Say where a structure may not be that of now: nothing is known later, or the table is gone."""
    if found.last_seen is not None:
        seen = words.format_coordinates(found.last_seen)
        door.console.warn(f"{text}: its last record is of {seen}; what came after is not known")
    elif history.has_ended and found.version is not None and found.version.number == history.latest.number:
        end = [e for e in history.events if e.kind in ("dropped", "renamed")][-1]
        since = f"was {end.kind} {words.format_coordinates(end.at)}"
        other = f" and is now {end.other}" if end.other else ""
        anew = "" if history.is_dropped else "; it stands again, and no record has shown its structure yet"
        door.console.warn(f"{history.table} {since}{other}{anew}: this is its last structure")


def wire(door: Door, found: ResolvedSchema) -> EmittedSchema:
    """The wire face of a version that a REF means.

    Raises:
        UsageError: the REF means no version of a table.
        NoHistory: no event with a schema has carried that version.
    """
    if found.table is None or found.version is None:
        raise UsageError(f"{found.ref} has no wire face: it is no version of the history", hint="orders@3")
    face = find_emitted_schema(found.version, open_registry(door).observations(found.table))
    if face is None:
        raise NoHistory(f"no event with a schema has carried {found.ref}", hint="--face source shows it")
    return face


def read_file(path: str) -> str:
    """The text of a file that the user named. Raises `UnreadableInput`."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UnreadableInput(f"{path}: {_said(error)}", hint=_hint(error, path)) from error


def _said(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 text ({error.reason} at byte {error.start})"
    return str(getattr(error, "strerror", None) or error).lower()


def _hint(error: OSError | ValueError, path: str) -> str:
    """What to do where a file cannot be read."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return "look at the spelling; a path goes from the working folder"
        case IsADirectoryError():
            return f"name a file in it: {files_in(Path(path))}"
        case PermissionError():
            return "this user has to be let read it"
        case _:
            return "a text file in UTF-8 is needed"


def files_in(folder: Path) -> str:
    """The files of a folder, or the first of them; how one is written if there are none."""
    try:
        found = sorted(str(path) for path in folder.iterdir() if path.is_file())
    except OSError:
        found = []
    named = [*found[:_CANDIDATES], *(["…"] if len(found) > _CANDIDATES else [])]
    return ", ".join(named or [str(folder / "…")])


def write_file(path: Path, text: str) -> None:
    """A file that the user asked for, whole or not at all. Raises `CouldNotDo`."""
    beside = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8", errors="backslashreplace")
        beside.replace(path)
    except OSError as error:
        raise CouldNotDo(f"{path} cannot be written: {error.strerror or error}") from error


def _structure_text(text: str, where: str) -> str:
    """A snapshot as a column list; any other text as it is."""
    try:
        told = json.loads(text)
    except ValueError:
        return text
    return format_columns(from_text(text, where).schema) if is_snapshot(told) else text


def _subject(door: Door, subject: str, version: int | None) -> str:
    setting = door.settings.registry
    if not setting.value:
        raise UsageError("no registry is known", hint="say registry = URL or FILE in schemaman.toml")
    if not schema_registry.is_url(setting.value):
        return schema_registry.read_subject(str(door.path(setting)), subject, version)
    live = schema_registry.open_registry(setting.value, options_of(door, door.settings.registry_config))
    if isinstance(live, Apicurio):
        raise UsageError("Apicurio's own REST knows no subjects", hint="say its address …/apis/ccompat/v7")
    return live.fetch_subject(subject, version)


class _NoHistories:
    """Stands for the history where a REF asks for none."""

    def find(self, name: str | TableName) -> TableId:
        raise NoHistory(f"no history was opened for {name}")

    def history(self, table: TableId) -> TableHistory:
        raise NoHistory(f"no history was opened for {table}")
