"""Where results, warnings and progress go: results to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO

import click

from schemaman.report.document import FORMATS, Report
from schemaman.report.formats.text import TextFormat
from schemaman_cli.output import discard_output, draw, write_error_lines

HEARTBEAT_SECONDS = 10.0
_REDRAW_SECONDS = 0.1


@dataclass(slots=True)
class Console:
    """Writes for a person or a pipe; `color` is the setting, `quiet` keeps warnings and progress away."""

    color: str = "auto"
    quiet: bool = False
    _progress: Progress | None = field(default=None, init=False)

    def show(self, report: Report, format: str) -> None:
        """A report on stdout, in the format of that name."""
        self.write(self.render(report, format))

    def render(self, report: Report, format: str) -> str:
        """A report as text; colour only in the format for people."""
        if format == "text":
            return TextFormat(color=is_colored(self.color, sys.stdout, os.environ)).render(report)
        return FORMATS.get(format).render(report)

    def write(self, text: str) -> None:
        """Text on stdout, as it is. A reader who has gone changes nothing of what the command does."""
        self.end_progress()
        try:
            click.echo(text.encode("utf-8", "backslashreplace"), nl=False)
        except BrokenPipeError:
            discard_output(sys.stdout)

    def inform(self, text: str) -> None:
        """A line on stderr that `--quiet` keeps away."""
        self.end_progress()
        if not self.quiet:
            write_error_lines(text)

    def warn(self, text: str, hint: str | None = None) -> None:
        """A warning on stderr."""
        self.inform(f"warning: {text}")
        if hint:
            self.inform(f"  hint: {hint}")

    def progress(self, text: str) -> None:
        """What is being done: drawn over itself on a terminal, else a plain line every ten seconds."""
        stream: IO[str] | None = sys.stderr  # none at all if the descriptor was closed at the start
        if self.quiet or stream is None:
            return
        if self._progress is None:
            self._progress = Progress(stream.isatty())
        self._progress.update(text)

    def end_progress(self) -> None:
        """The line of progress goes, so that something else can be written."""
        if self._progress is not None:
            self._progress.clear()


class Progress:
    """One line that tells what is being done."""

    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal
        self.last = time.monotonic()
        self.shown = False

    def update(self, text: str) -> None:
        """The newest state; shown only when enough time has passed."""
        now = time.monotonic()
        if now - self.last < (_REDRAW_SECONDS if self.terminal else HEARTBEAT_SECONDS):
            return
        self.last = now
        draw(f"\r\x1b[2K{text}" if self.terminal else f"{text}\n")
        self.shown = self.terminal

    def clear(self) -> None:
        """An empty line on a terminal."""
        if self.shown:
            draw("\r\x1b[2K")
            self.shown = False


def is_colored(color: str, stream: IO[str], environment: Mapping[str, str]) -> bool:
    """Whether to colour. Source: no-color.org; `FORCE_COLOR` as in force-color.org."""
    if environment.get("NO_COLOR"):
        return False
    if color != "auto":
        return color == "always"
    if environment.get("FORCE_COLOR"):
        return True
    return environment.get("TERM") != "dumb" and stream.isatty()
