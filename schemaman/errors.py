"""The error family: every fault that a caller may want to tell apart.

    SchemamanError
    ├── UsageError              the question was wrong
    │   ├── UnknownName         no such rule, target, table, version, …
    │   ├── AmbiguousName       several things answer to that name
    │   ├── BadReference        a REF or a SOURCE that cannot be read as one
    │   └── BadConfiguration    a settings, decisions or snapshot file that is wrong
    ├── CouldNotDo              the question was right, the world was not
    │   ├── UnreadableInput     a file or stream that cannot be read
    │   ├── RegistryUnavailable the schema registry does not answer, or refuses to
    │   ├── StoreUnavailable    the store cannot be opened, is damaged, or of another layout
    │   ├── EngineUnavailable   Spark, Java or an optional package is missing or refused to start
    │   ├── NoHistory           nothing is known of a table that was named
    │   └── StatementFailed     the target refused a statement
    │       └── StatementConflict   another writer committed first
    ├── Stale                   the world moved since the plan, or someone else holds the lock
    │   ├── StalePlan
    │   ├── Conflict
    │   ├── Locked
    │   └── OtherStore          another store keeps the table
    └── PartlyApplied           some steps of a plan ran, the rest did not

A message says what is wrong and where; `hint` says what to do now. A fault of a
single record is no exception but a value (`evidence.Reject`): one bad record never
stops a topic. Exit codes are given to these classes in one place, `cli/main.py`.
"""

from __future__ import annotations


class SchemamanError(Exception):
    """A fault with a message for people, and a hint on what to do now."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SchemamanError):
    """The command or call cannot be understood as given."""


class UnknownName(UsageError):
    """A name that stands for nothing; the message lists what there is."""


class AmbiguousName(UsageError):
    """A name that stands for several things; the message lists them."""


class BadReference(UsageError):
    """A REF or SOURCE that is not of any known form."""


class BadConfiguration(UsageError):
    """A settings, decisions, waivers, snapshot or plan file that is wrong."""


class CouldNotDo(SchemamanError):
    """The request was understood and could not be carried out."""


class UnreadableInput(CouldNotDo):
    """A file or stream that is missing, damaged or of an unknown kind."""


class RegistryUnavailable(CouldNotDo):
    """A schema registry does not answer, or refuses to: nothing is known about the records that need it."""


class StoreUnavailable(CouldNotDo):
    """The store cannot be opened or does not hold what a store holds."""


class EngineUnavailable(CouldNotDo):
    """A program or package that this task needs is not there."""


class NoHistory(CouldNotDo):
    """Nothing has been recorded about the named table."""


class StatementFailed(CouldNotDo):
    """A target refused a statement of a plan; nothing of that statement was done."""


class StatementConflict(StatementFailed):
    """Another writer of the target committed first; the statement may be tried again."""


class SessionLost(StatementFailed):
    """The engine behind the session is gone: no statement will do any more."""


class Stale(SchemamanError):
    """The world is not the one that the caller last looked at."""


class StalePlan(Stale):
    """The plan is edited, expired, or its target has moved since it was made."""


class Conflict(Stale):
    """Another writer appended to the log first."""


class Locked(Stale):
    """Another process holds the lease on the target."""


class OtherStore(Stale):
    """The table is kept by another store than the one at hand."""


class PartlyApplied(SchemamanError):
    """A plan stopped half-way; what was done is in the journal."""


def message_of(error: Exception) -> str:
    """What is told of a fault, also of one that nobody foresaw."""
    if isinstance(error, SchemamanError):
        return error.message
    return f"schemaman has a fault of its own: {type(error).__name__}: {error}"
