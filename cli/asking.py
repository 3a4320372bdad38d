"""Questions to the person at the terminal; where nobody sits, the answer is no."""

from __future__ import annotations

import sys
from typing import TextIO

import click

from schemaman.errors import UsageError


def confirm(question: str, yes: bool, example: str) -> bool:
    """Whether the person says yes, now or by a flag.

    Raises:
        UsageError: nobody can be asked and no flag says yes; `example` is the command that does.
    """
    if yes:
        return True
    if not at_terminal():
        raise UsageError(f"{question} Nobody can be asked here", hint=f"{example} --yes")
    return click.confirm(question, default=False, err=True)


def at_terminal() -> bool:
    """Whether somebody can answer."""
    stream: TextIO | None = sys.stdin
    return stream is not None and stream.isatty()
