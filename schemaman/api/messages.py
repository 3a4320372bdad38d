"""What a caller hears while the library works: progress, news and warnings."""

from __future__ import annotations

import logging
from typing import Protocol

LOGGER = logging.getLogger("schemaman")
"""Python programs hear warnings here; nothing is configured."""
LOGGER.addHandler(logging.NullHandler())


class Messages(Protocol):
    """Takes what happens beside the result: the terminal of a command, or Python's logging."""

    def progress(self, text: str) -> None:
        """What is being done now; most of these are never shown."""

    def inform(self, text: str) -> None:
        """One line of news."""

    def warn(self, text: str, hint: str | None = None) -> None:
        """A warning, with what to do about it."""


class LogMessages:
    """Messages as records of the logger `schemaman`."""

    def progress(self, text: str) -> None:
        """A debug record."""
        LOGGER.debug("%s", text)

    def inform(self, text: str) -> None:
        """An info record."""
        LOGGER.info("%s", text)

    def warn(self, text: str, hint: str | None = None) -> None:
        """A warning record."""
        LOGGER.warning("%s", f"{text} (hint: {hint})" if hint else text)
