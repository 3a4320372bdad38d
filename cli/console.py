"""Writes results to stdout, and warnings and progress to stderr."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO

import click

from schemaman.model.printable import escape_invisible, format_json
from schemaman.model.shell import add_options_in_spans
from schemaman.report.document import FORMATS, Report
from schemaman.report.formats.text import TextFormat
from schemaman_cli.output import discard_output, draw, write_error_lines
from schemaman_cli.paging import find_width, is_paged, page_text
from schemaman_cli.printed_commands import complete_commands

HEARTBEAT_SECONDS = 10.0
_REDRAW_SECONDS = 0.1


@dataclass(slots=True)
class Console:
    """Writes to a terminal or a pipe; `color` is the setting, `quiet` suppresses warnings and progress.

    With `json`, stdout is only for JSON. `options` are added to the commands that are printed.
    """

    color: str = "auto"
    quiet: bool = False
    json: bool = False
    pager: bool = True
    options: tuple[str, ...] = ()
    _progress: Progress | None = field(default=None, init=False)

    def show(self, report: Report, format: str) -> None:
        """Write a report to stdout in the named format; on a terminal, a long text through a pager."""
        text = self.render(report, format)
        if format == "text" and self.pager and is_paged(text, sys.stdout, os.environ):
            self.end_progress()
            page_text(text, os.environ)
        else:
            self.write(text)

    def render(self, report: Report, format: str) -> str:
        """Return a report as text; only the format `text` has colours."""
        report = complete_commands(report, self.options)
        if format == "text":
            colored = is_colored(self.color, sys.stdout, os.environ)
            return TextFormat(color=colored, width=find_width(sys.stdout, os.environ)).render(report)
        return FORMATS.get(format).render(report)

    def write(self, text: str) -> None:
        """Write text to stdout unchanged. A closed pipe does not stop the command."""
        self.end_progress()
        try:
            click.echo(text.encode("utf-8", "backslashreplace"), nl=False)
        except BrokenPipeError:
            discard_output(sys.stdout)

    def inform(self, text: str) -> None:
        """Write a line to stderr unless `--quiet` is set."""
        self.end_progress()
        if not self.quiet:
            write_error_lines(add_options_in_spans(text, self.options))

    def append(self, report: Report, format: str) -> None:
        """Write one of many reports to stdout, without a pager; JSON as one line."""
        if format == "json":
            self.write(format_json(complete_commands(report, self.options).data, None) + "\n")
        else:
            self.write(self.render(report, format))

    def answer(self, text: str, document: dict[str, object]) -> None:
        """Report the work of a command: a line on stderr, or with `json` the document on stdout."""
        if self.json:
            self.show(Report("", (), document), "json")
        else:
            self.inform(text)

    def warn(self, text: str, hint: str | None = None) -> None:
        """Write a warning to stderr."""
        self.inform(f"warning: {text}")
        if hint:
            self.inform(f"  hint: {hint}")

    def progress(self, text: str) -> None:
        """Show progress: one redrawn line on a terminal, otherwise a plain line every ten seconds."""
        stream: IO[str] | None = sys.stderr  # None if the descriptor was closed at the start
        if self.quiet or stream is None:
            return
        if self._progress is None:
            self._progress = Progress(stream.isatty())
        self._progress.update(text)

    def end_progress(self) -> None:
        """Clear the progress line before other output."""
        if self._progress is not None:
            self._progress.clear()


class Progress:
    """The progress line."""

    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal
        self.last = -math.inf if terminal else time.monotonic()
        self.shown = False

    def update(self, text: str) -> None:
        """Show the newest state if enough time has passed since the previous one."""
        now = time.monotonic()
        if now - self.last < (_REDRAW_SECONDS if self.terminal else HEARTBEAT_SECONDS):
            return
        self.last, visible = now, escape_invisible(text)  # most texts are not shown
        draw(f"\r\x1b[2K{visible}" if self.terminal else f"{visible}\n")
        self.shown = self.terminal

    def clear(self) -> None:
        """Clear the line on a terminal."""
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
