"""The error family: one class for each fault that a caller may handle separately.

    SchemamanError
    ├── UsageError              the command or call is wrong
    │   ├── UnknownName         no such rule, target, table, version, …
    │   ├── AmbiguousName       several things have that name
    │   ├── BadReference        a REF or a SOURCE that cannot be read as one
    │   └── BadConfiguration    a settings, decisions or snapshot file that is wrong
    ├── CouldNotDo              the request is valid, but it failed
    │   ├── UnreadableInput     a file or stream that cannot be read
    │   ├── RegistryUnavailable the schema registry does not answer, or refuses the request
    │   ├── StoreUnavailable    the store cannot be opened, is damaged, or has another layout
    │   ├── EngineUnavailable   Spark, Java or an optional package is missing or did not start
    │   ├── NoHistory           the store has no record of the named table
    │   └── StatementFailed     the target refused a statement
    │       ├── StatementConflict   another writer committed first
    │       └── SessionLost     the engine behind the session stopped
    ├── Stale                   the state has changed since it was read, or another process holds the lock
    │   ├── StalePlan           the plan was edited, has expired, or its target has changed
    │   ├── Conflict            another writer appended to the log first
    │   ├── Locked              another process holds the lease on the target
    │   └── OtherStore          another store maintains the table
    └── PartlyApplied           some steps of a plan ran, the others did not

A message says what is wrong and where; `hint` says what to do now. A fault of a
single record is no exception but a value (`debezium.observation.Reject`): one bad
record never stops a topic. `cli/main.py` alone assigns exit codes to these classes.
"""

from __future__ import annotations


class SchemamanError(Exception):
    """A fault with a message for people, and a hint that says what to do now."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SchemamanError):
    """The command or call cannot be understood as given."""


class UnknownName(UsageError):
    """A name that does not exist; the message lists the names that do."""


class AmbiguousName(UsageError):
    """A name that several things have; the message lists them."""


class BadReference(UsageError):
    """A REF or SOURCE that is not of any known form."""


class BadConfiguration(UsageError):
    """A settings, decisions, waivers, snapshot or plan file that is wrong."""


class CouldNotDo(SchemamanError):
    """The request was understood and could not be carried out."""


class UnreadableInput(CouldNotDo):
    """A file or stream that is missing, damaged or of an unknown kind."""


class RegistryUnavailable(CouldNotDo):
    """A schema registry does not answer, or refuses the request; records that need it cannot be read."""


class StoreUnavailable(CouldNotDo):
    """The store cannot be opened, or its contents are not those of a store."""


class EngineUnavailable(CouldNotDo):
    """A program or package that this task needs is missing."""


class NoHistory(CouldNotDo):
    """The store has no record of the named table."""


class StatementFailed(CouldNotDo):
    """A target refused a statement of a plan; the statement had no effect."""


class StatementConflict(StatementFailed):
    """Another writer of the target committed first, or a fault passes; the caller may try again."""


class SessionLost(StatementFailed):
    """The engine behind the session stopped; every further statement fails."""


class Stale(SchemamanError):
    """The state of a store or target has changed since the caller read it."""


class StalePlan(Stale):
    """The plan was edited, has expired, or its target has changed since it was made."""


class RowsUnready(StalePlan):
    """The rows of a table do not fulfil what a step of its plan needs; the step was not run."""


class Conflict(Stale):
    """Another writer appended to the log first."""


class Locked(Stale):
    """Another process holds the lease on the target."""


class OtherStore(Stale):
    """Another store than the open one maintains the table."""


class PartlyApplied(SchemamanError):
    """A plan stopped before its last step; the journal lists the steps that ran."""


def message_of(error: Exception) -> str:
    """Return the message of any exception, also of one that schemaman does not raise itself."""
    if isinstance(error, SchemamanError):
        return error.message
    return f"schemaman has a fault of its own: {type(error).__name__}: {error}"
