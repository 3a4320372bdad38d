"""The exit code of each error, for commands and for the tables in a report of `sync`."""

from __future__ import annotations

from schemaman.errors import CouldNotDo, PartlyApplied, SchemamanError, Stale, UsageError

USAGE, FAILED = 2, 3

EXIT_CODES: tuple[tuple[type[SchemamanError], int], ...] = (
    (UsageError, USAGE),
    (CouldNotDo, FAILED),
    (Stale, 4),
    (PartlyApplied, 5),
)


def exit_code(error: SchemamanError) -> int:
    """Return the exit code of an error."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), FAILED)
