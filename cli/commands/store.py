"""Verify the store, fold it again, copy it into a file and back."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click

from schemaman.errors import CouldNotDo, StoreUnavailable, UnreadableInput, UsageError
from schemaman.io import archive_files as archives
from schemaman.report.views.words import format_number
from schemaman.store import archive
from schemaman.store.hash_chain import check_chain
from schemaman.store.sql.store import SqlStore
from schemaman_cli.group import command
from schemaman_cli.library import open_store
from schemaman_cli.options import CommandContext, with_context
from schemaman_cli.output import discard_output

_WITH_FILE = ("export", "import")
_STREAM = "-"


@command("store", "schemaman store check", "schemaman store export history.gz")
@click.argument("action", type=click.Choice(["check", "rebuild", *_WITH_FILE]))
@click.argument("file", required=False)
@click.option("--replace", is_flag=True, help="Let export take the place of a file that is there.")
@with_context
def store(context: CommandContext, action: str, file: str | None, replace: bool) -> int:
    """Check that nothing in the store is damaged, rebuild what is folded from its log, or copy it.

    export writes the whole log, with its chain of hashes, into one FILE. import puts such a file into a store
    that is new or empty, of either kind: the same entries, ids and histories are there afterwards. A FILE
    called - is standard output or standard input.
    """
    if (file is None) == (action in _WITH_FILE):
        what = f"store {action} needs a FILE" if file is None else f"store {action} takes no FILE"
        raise UsageError(what, hint="schemaman store --help")
    if replace and action != "export":
        raise UsageError(f"store {action} replaces nothing", hint="--replace belongs to export")
    if file is not None and (not file or "\0" in file):
        raise UsageError("FILE has no name that a file can have", hint="schemaman store export history.gz")
    if action == "export" and file is not None:
        return _send(context, replace) if file == _STREAM else _export(context, Path(file), replace)
    if action == "import" and file is not None:
        return _receive(context) if file == _STREAM else _import_file(context, file)
    opened = open_store(context)
    if action == "rebuild":
        opened.rebuild()
        context.console.inform("folded again from the log")
    return _checked(context, opened)


def _checked(context: CommandContext, opened: SqlStore) -> int:
    faults = opened.check()
    context.console.write("".join(f"{fault}\n" for fault in faults) or "the store is whole\n")
    if not faults:
        return 0
    context.console.warn(
        f"{opened.where} is not whole",
        "`schemaman store rebuild` mends what is folded; for a damaged log, import a copy into a new store",
    )
    return 3


def _export(context: CommandContext, file: Path, replace: bool) -> int:
    there = os.path.lexists(file)  # a link that leads nowhere is there, too
    if there and not replace:
        raise UsageError(f"{file} is there already", hint="name another file, or say --replace")
    if there and not _a_copy(file):
        raise UsageError(f"{file} is no copy of a store", hint="--replace takes the place of copies only")
    opened = open_store(context)
    with _of_a_whole_log():
        entries = archives.save_copy(file, _lines(opened)) - archive.FRAME
    context.console.write(f"{format_number(entries)} log entries of {opened.where} are in {file}\n")
    return 0


def _send(context: CommandContext, replace: bool) -> int:
    if replace:
        raise UsageError("standard output is no file to replace", hint="--replace belongs to a FILE")
    if sys.stdout.isatty():
        raise UsageError("a copy is packed bytes, no text for a terminal", hint="store export - > FILE")
    opened = open_store(context)
    try:
        with _of_a_whole_log():
            entries = archives.send_copy(sys.stdout.buffer, _lines(opened), "standard output") - archive.FRAME
    except CouldNotDo:
        discard_output(sys.stdout)
        raise
    context.console.inform(f"{format_number(entries)} log entries of {opened.where} were written")
    return 0


def _lines(opened: SqlStore) -> Iterator[str]:
    return archive.write_copy(check_chain(opened.sealed(), opened.where), opened.id)


@contextmanager
def _of_a_whole_log() -> Iterator[None]:
    """A log that is not whole is a fault of the store, not of an input."""
    try:
        yield
    except UnreadableInput as error:
        raise StoreUnavailable(
            error.message, hint="run `schemaman store check`, and restore a copy or read the records again"
        ) from error


def _receive(context: CommandContext) -> int:
    stream: TextIO | None = sys.stdin  # none at all if the descriptor was closed at the start
    if stream is None or stream.isatty():
        raise UsageError("nothing is piped into standard input", hint="store import - < FILE")
    with archives.keep_stream(stream.buffer, "standard input") as file:
        return _import(context, file, "standard input")


def _import_file(context: CommandContext, name: str) -> int:
    """A copy in a file, or in what can be read once only, as a shell's <(…) is."""
    file = Path(name)
    if not file.is_fifo():
        return _import(context, file, name)
    with file.open("rb") as stream, archives.keep_stream(stream, name) as held:
        return _import(context, held, name)


def _import(context: CommandContext, file: Path, called: str) -> int:
    # Gone through first, so that a copy that is not whole leaves no store behind.
    for sealed in check_chain(archives.load_copy(file, called).log, called):
        sealed.open_entry(called)
    opened = open_store(context, create=True)
    copy = archives.load_copy(file, called)
    entries = opened.restore(copy.log, copy.store)
    context.console.write(f"{format_number(entries)} log entries of {called} are in {opened.where}\n")
    return 0


def _a_copy(file: Path) -> bool:
    try:
        return file.is_file() and bool(archives.load_copy(file))
    except (OSError, UnreadableInput):
        return False


COMMAND = store
