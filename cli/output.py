"""Writes to standard output and error; a closed stream does not change the result of a command."""

from __future__ import annotations

import os
import sys
from typing import IO

import click

from schemaman.report.formats._characters import escape_invisible


def write_error_lines(text: str) -> None:
    """Write lines to stderr, or drop them if it is closed. Control characters in names are escaped."""
    try:
        click.echo(escape_invisible(text, lines=True), err=True)
    except OSError:
        discard_output(sys.stderr)


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
