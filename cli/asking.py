"""Asks the user at the terminal; without a terminal the answer is no."""

from __future__ import annotations

import sys
from typing import TextIO

import click

from schemaman.errors import UsageError


def confirm(question: str, yes: bool, example: str) -> bool:
    """Whether the user confirms, at the prompt or with `--yes`.

    Raises:
        UsageError: there is neither a terminal nor `--yes`; `example` is the command without `--yes`.
    """
    if yes:
        return True
    if not at_terminal():
        raise UsageError(f"{question} There is no terminal to ask at", hint=f"{example} --yes")
    return click.confirm(question, default=False, err=True)


def at_terminal() -> bool:
    """Whether standard input is a terminal."""
    stream: TextIO | None = sys.stdin
    return stream is not None and stream.isatty()
