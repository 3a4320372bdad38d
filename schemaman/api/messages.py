"""Messages of the library beside its results: progress, information and warnings."""

from __future__ import annotations

import logging
from typing import Protocol

LOGGER = logging.getLogger("schemaman")
"""The logger for Python programs; the library configures no handler that prints."""
LOGGER.addHandler(logging.NullHandler())


class Messages(Protocol):
    """Takes messages: the console of a command, or Python's logging."""

    def progress(self, text: str) -> None:
        """Report the current activity; an implementation may drop most of these."""

    def inform(self, text: str) -> None:
        """Report one line of information."""

    def warn(self, text: str, hint: str | None = None) -> None:
        """Report a warning, with advice."""


class LogMessages:
    """Writes messages to the logger `schemaman`."""

    def progress(self, text: str) -> None:
        """Log at level DEBUG."""
        LOGGER.debug("%s", text)

    def inform(self, text: str) -> None:
        """Log at level INFO."""
        LOGGER.info("%s", text)

    def warn(self, text: str, hint: str | None = None) -> None:
        """Log at level WARNING."""
        LOGGER.warning("%s", f"{text} (hint: {hint})" if hint else text)
