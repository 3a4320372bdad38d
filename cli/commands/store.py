"""Check, rebuild, export or import the store."""

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
from schemaman.report.document import Report
from schemaman.report.json.answers import build_store
from schemaman.report.views.words import format_number
from schemaman.store import archive
from schemaman.store.hash_chain import check_chain
from schemaman.store.sql.store import SqlStore
from schemaman_cli.group import command
from schemaman_cli.library import open_store
from schemaman_cli.options import CommandContext, format_option, with_context
from schemaman_cli.output import discard_output

_WITH_FILE = ("export", "import")
_STREAM = "-"


@command("store", "schemaman store check", "schemaman store export history.gz")
@click.argument("action", type=click.Choice(["check", "rebuild", *_WITH_FILE]))
@click.argument("file", required=False)
@click.option("--replace", is_flag=True, help="Let export overwrite an existing export file.")
@format_option("text", "json")
@with_context
def store(context: CommandContext, action: str, file: str | None, replace: bool, format: str) -> int:
    """Check the store for damage, rebuild the histories from its log, or export and import the log.

    export writes the log with its hash chain to FILE. import reads FILE into a new or empty store, SQLite
    or PostgreSQL; entries, ids and histories are the same afterwards. The FILE - is standard output or input.
    """
    if (file is None) == (action in _WITH_FILE):
        what = f"store {action} needs a FILE" if file is None else f"store {action} takes no FILE"
        raise UsageError(what, hint="schemaman store --help")
    if replace and action != "export":
        raise UsageError(f"store {action} does not take --replace", hint="only export takes --replace")
    if file is not None and (not file or "\0" in file):
        raise UsageError("FILE is not a valid file name", hint="schemaman store export history.gz")
    if action == "export" and file is not None:
        return (
            _export_to_stdout(context, replace) if file == _STREAM else _export(context, Path(file), replace)
        )
    if action == "import" and file is not None:
        return _import_stdin(context) if file == _STREAM else _import_file(context, file)
    opened = open_store(context)
    if action == "rebuild":
        opened.rebuild()
        if not context.console.json:
            context.console.inform("the histories were rebuilt from the log")
    return _check(context, opened, action)


def _check(context: CommandContext, opened: SqlStore, action: str) -> int:
    faults = opened.check()
    text = "\n".join(faults) or "the store is not damaged"
    _print(context, text, build_store(action, opened.where, faults=faults))
    if not faults:
        return 0
    context.console.warn(
        f"{opened.where} is damaged",
        "`schemaman store rebuild` repairs histories; for a damaged log, import a copy into a new store",
    )
    return 3


def _export(context: CommandContext, file: Path, replace: bool) -> int:
    exists = os.path.lexists(file)  # also true for a broken symbolic link
    if exists and not replace:
        raise UsageError(f"{file} already exists", hint="name another file, or use --replace")
    if exists and not _is_copy(file):
        raise UsageError(
            f"{file} is not a copy of a store", hint="--replace overwrites only copies of a store"
        )
    opened = open_store(context)
    with _convert_log_errors():
        entries = archives.save_copy(file, _write_lines(opened)) - archive.FRAME
    _print(
        context,
        f"{format_number(entries)} log entries of {opened.where} written to {file}",
        build_store("export", opened.where, file=str(file), entries=entries),
    )
    return 0


def _export_to_stdout(context: CommandContext, replace: bool) -> int:
    if context.console.json:
        raise UsageError(
            "standard output holds the copy, and no JSON", hint="store export FILE --format json"
        )
    if replace:
        raise UsageError("standard output cannot be replaced", hint="--replace needs a FILE")
    if sys.stdout.isatty():
        raise UsageError(
            "the copy is compressed, and standard output is a terminal", hint="store export - > FILE"
        )
    opened = open_store(context)
    try:
        with _convert_log_errors():
            lines = _write_lines(opened)
            entries = archives.send_copy(sys.stdout.buffer, lines, "standard output") - archive.FRAME
    except CouldNotDo:
        discard_output(sys.stdout)
        raise
    context.console.inform(f"{format_number(entries)} log entries of {opened.where} written")
    return 0


def _write_lines(opened: SqlStore) -> Iterator[str]:
    return archive.write_copy(check_chain(opened.sealed(), opened.where), opened.id)


@contextmanager
def _convert_log_errors() -> Iterator[None]:
    """Turn `UnreadableInput` into `StoreUnavailable`: the damaged log is the store's, not an input."""
    try:
        yield
    except UnreadableInput as error:
        raise StoreUnavailable(
            error.message, hint="run `schemaman store check`; then import a copy, or read the records again"
        ) from error


def _import_stdin(context: CommandContext) -> int:
    stream: TextIO | None = sys.stdin  # None if the descriptor was closed at the start
    if stream is None or stream.isatty():
        raise UsageError("standard input has no data", hint="store import - < FILE")
    with archives.keep_stream(stream.buffer, "standard input") as file:
        return _import(context, file, "standard input")


def _import_file(context: CommandContext, name: str) -> int:
    """Import a copy from a file, or from a pipe that can be read only once, such as a shell's <(…)."""
    file = Path(name)
    if not file.is_fifo():
        return _import(context, file, name)
    with file.open("rb") as stream, archives.keep_stream(stream, name) as held:
        return _import(context, held, name)


def _import(context: CommandContext, file: Path, name: str) -> int:
    # Check the whole copy first, so that a damaged copy does not leave a new store behind.
    for sealed in check_chain(archives.load_copy(file, name).log, name):
        sealed.open_entry(name)
    opened = open_store(context, create=True)
    copy = archives.load_copy(file, name)
    entries = opened.restore(copy.log, copy.store)
    _print(
        context,
        f"{format_number(entries)} log entries of {name} imported into {opened.where}",
        build_store("import", opened.where, file=name, entries=entries),
    )
    return 0


def _print(context: CommandContext, text: str, document: dict[str, object]) -> None:
    """Print the result of an action on stdout."""
    if context.console.json:
        context.console.show(Report("", (), document), "json")
    else:
        context.console.write(f"{text}\n")


def _is_copy(file: Path) -> bool:
    try:
        return file.is_file() and bool(archives.load_copy(file))
    except (OSError, UnreadableInput):
        return False


COMMAND = store
