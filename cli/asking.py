"""Asks the user at the terminal, where no terminal means no; and who the user is."""

from __future__ import annotations

import getpass
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
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


def find_user(command: Sequence[str] = ("git", "config", "user.email")) -> str:
    """Find the user's e-mail address in git's settings, else the login name."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path.cwd())
    except OSError:
        return getpass.getuser()
    return done.stdout.strip() or getpass.getuser()
