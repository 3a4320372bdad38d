"""Standard output and error when nobody takes them: no result depends on who listens."""

from __future__ import annotations

import os
import sys
from typing import IO

import click

from schemaman.report.formats._characters import escape_invisible


def write_error_lines(text: str) -> None:
    """Lines on stderr; lost if they cannot be written. A name in them moves no terminal's cursor."""
    try:
        click.echo(escape_invisible(text, lines=True), err=True)
    except OSError:
        discard_output(sys.stderr)


def draw(text: str) -> None:
    """Text on stderr as it is, at once; lost if it cannot be written."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        discard_output(sys.stderr)


def discard_output(stream: IO[str]) -> None:
    """What is written from now on goes nowhere; Python would complain once more when it closes the stream."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
