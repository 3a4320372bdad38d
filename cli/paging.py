"""The width of a terminal, and the pager for a text that is longer than its screen."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from typing import IO

_NARROWEST = 20
_PAGER = "less"
_LESS = "FRX"
"""Options of `less` as git sets them: end if the text fits, show colours, keep the text on the screen.
Source: git-config(1), `core.pager`."""


def find_width(stream: IO[str], environment: Mapping[str, str]) -> int | None:
    """Find the width of a terminal: `COLUMNS`, or what the terminal says; None for a pipe or a file.

    Text that another program reads is not wrapped: it may look for whole names.
    """
    if not stream.isatty():
        return None
    columns = environment.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns[:9]):
        return max(int(columns[:9]), _NARROWEST)
    return max(_find_size(stream).columns, _NARROWEST)


def is_paged(text: str, stream: IO[str], environment: Mapping[str, str]) -> bool:
    """Whether a text goes through a pager: on a terminal that is shorter than the text, unless refused."""
    if not stream.isatty() or environment.get("NO_PAGER") or environment.get("TERM") == "dumb":
        return False
    if choose_pager(environment) is None:
        return False
    return text.count("\n") >= _find_size(stream).lines


def choose_pager(environment: Mapping[str, str]) -> list[str] | None:
    """Choose the command of `PAGER`, or `less`; None for none, `cat`, or one that is not installed."""
    try:
        words = shlex.split(environment.get("PAGER", _PAGER))
    except ValueError:
        return None
    if not words or words == ["cat"] or shutil.which(words[0]) is None:
        return None
    return words


def page_text(text: str, environment: Mapping[str, str]) -> None:
    """Show a text in the pager, and wait for its end; a reader may leave early."""
    words = choose_pager(environment) or ["cat"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, env={"LESS": _LESS, "LV": "-c", **environment})
    try:
        process.communicate(text.encode("utf-8", "backslashreplace"))
    except KeyboardInterrupt:  # the pager handles Ctrl-C itself
        process.wait()


def _find_size(stream: IO[str]) -> os.terminal_size:
    try:
        return os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return os.terminal_size((80, 24))
