"""The exit codes of plans, of runs and of errors, for commands and for the tables in a report of `sync`."""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.errors import CouldNotDo, PartlyApplied, SchemamanError, Stale, UsageError

REFUSED, USAGE, FAILED, DIFFERENT = 1, 2, 3, 5

EXIT_CODES: tuple[tuple[type[SchemamanError], int], ...] = (
    (UsageError, USAGE),
    (CouldNotDo, FAILED),
    (Stale, 4),
    (PartlyApplied, DIFFERENT),
)


def exit_code(error: SchemamanError) -> int:
    """Return the exit code of an error."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), FAILED)


def exit_code_of_plan(refusals: Sequence[object]) -> int:
    """Return the exit code of a plan that was made: 1 if it refuses a change, else 0."""
    return REFUSED if refusals else 0


def exit_code_of_run(state: str, differences: Sequence[object], refusals: Sequence[object]) -> int:
    """Return the exit code of a plan's run: 5 if the table differs from the plan, 1 for any refusal, else 0.

    `state` and `differences` are those of the run. `refusals` are those of the plan, which leave changes out
    even if other steps ran.
    """
    if differences:
        return DIFFERENT
    return REFUSED if state == "refused" else exit_code_of_plan(refusals)
