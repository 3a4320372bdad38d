"""The options about the store and the stream on a command line, for the commands that a report prints."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schemaman.settings import Settings

NAMES = ("store", "stream")


def list_options(settings: Settings) -> tuple[str, ...]:
    """List the options about the store on the command line; files and variables need none."""
    return tuple(
        part
        for name in NAMES
        if (setting := getattr(settings, name)).origin.startswith("--")
        for part in (f"--{name}", setting.value)
    )


def find_options(words: Sequence[str]) -> tuple[str, ...]:
    """Find these options in a command line that failed."""
    known = {f"--{name}" for name in NAMES}
    given = list(words[: words.index("--")] if "--" in words else words)
    pairs = [pair for pair in pairwise(given) if pair[0] in known]
    pairs += [
        (name, value) for name, sign, value in (w.partition("=") for w in given) if sign and name in known
    ]
    return tuple(part for pair in pairs for part in pair)
