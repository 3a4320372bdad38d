"""Writes to standard output and error; a closed stream does not change the result of a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import IO

import click

from schemaman.model.printable import escape_commands, escape_invisible, format_json


def write_error_lines(text: str) -> None:
    """Write lines to stderr, or drop them if it is closed. Control characters in names are escaped."""
    try:
        click.echo(escape_commands(escape_invisible(text, lines=True)), err=True)
    except OSError:
        discard_output(sys.stderr)


def write_error(what: str, hint: str | None, code: int, as_json: bool = False) -> int:
    """Write the error that ends a command to stderr, and return the exit code.

    It is a line and a line with the hint, or one line of JSON, the last one on stderr.
    """
    if as_json:
        from schemaman.report.json.answers import build_error  # most commands end without an error

        write_error_lines(format_json(build_error(what, hint, code), None))
        return code
    write_error_lines(f"error: {what}")
    if hint:
        write_error_lines(f"  hint: {hint}")
    return code


def is_json_chosen(words: Sequence[str]) -> bool:
    """Whether a command line asks for JSON, also one that has another fault."""
    options = list(words[: words.index("--")] if "--" in words else words)
    chosen = [value for option, value in pairwise(options) if option == "--format"]
    chosen += [option.removeprefix("--format=") for option in options if option.startswith("--format=")]
    return "json" in chosen


def draw(text: str) -> None:
    """Write text to stderr unchanged and flush it, or drop it if stderr is closed."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        discard_output(sys.stderr)


def discard_output(stream: IO[str]) -> None:
    """Send further output to the null device; otherwise Python reports an error when it closes the stream."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
