"""The log: everything the registry knows is a fold over these entries; port `Store`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from schemaman.debezium.observation import Note, Observation, Reject
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId, TableSchema
from schemaman.store.ranges import CoveredRange as CoveredRange

if TYPE_CHECKING:  # what reads no summaries
    from schemaman.store.summary_json import StoredSummary

StepState = Literal["intent", "done", "skipped", "failed"]
RunState = Literal["started", "claimed", "finished", "drifted", "settled", "waiting", "ready"]
"""`claimed`: the table has the run's fencing token. `drifted`: the table changed outside of schemaman;
`statement` describes the changes. `settled`: the table again equals the result of the last migration, or
`statement` says that a person has forgotten the target. `waiting`: records, a plan or a table waits, for the
reason in `statement`. `ready`: that no longer waits."""


@dataclass(frozen=True, slots=True)
class ObservationEntry:
    """The entry of an observation of a table."""

    observation: Observation


@dataclass(frozen=True, slots=True)
class RejectEntry:
    """The entry of a rejected record."""

    reject: Reject


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """The entry of a note about a record."""

    note: Note


@dataclass(frozen=True, slots=True)
class MigrationEntry:
    """A line of the journal of a migration; `step` counts from 0, None for the whole run.

    `layout` is the layout that a finished run left, as names and texts; it is empty in other lines.
    `details` are more facts of a line, as names and texts: what a step that is `done` cost (`ms`, and `rows`
    and `bytes` where the format tells them), or what a `waiting` line is about.
    """

    run: str
    plan: str
    target: str
    step: int | None
    state: StepState | RunState
    statement: str = ""
    version: str = ""
    error: str = ""
    layout: tuple[tuple[str, str], ...] = ()
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class VersionMove:
    """A version by its id, its previous number, and its current number; None if the version was removed."""

    id: str
    was: int
    now: int | None


@dataclass(frozen=True, slots=True)
class RenumberingEntry:
    """Late evidence put a version of a table between others, or took one away."""

    table: TableId
    moves: tuple[VersionMove, ...]


@dataclass(frozen=True, slots=True)
class RegistrationEntry:
    """A client registered the schema of events: evidence of the event schema, without a source position.

    No fold makes a version of it, since it tells neither when the table changed nor whether it did. `names`
    are the topic and the record name by which a history knows the table. `part` is `key` or `value`, empty if
    nothing tells it; `schema` has the columns of that part alone, and no key.
    """

    subject: str
    version: int
    schema_id: int
    guid: str
    names: tuple[str, ...]
    part: str
    schema: TableSchema


Entry = (
    ObservationEntry
    | RejectEntry
    | NoteEntry
    | CoveredRange
    | RenumberingEntry
    | MigrationEntry
    | RegistrationEntry
)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An entry with its place in the log and the time when it was written (epoch ms)."""

    sequence: int
    at_ms: int
    entry: Entry


def list_tables(entry: Entry) -> tuple[TableId, ...]:
    """List the tables of an entry: two for a rename, none for an entry that is not an observation."""
    if not isinstance(entry, ObservationEntry):
        return ()
    observation = entry.observation
    return (
        (observation.table,)
        if observation.previous in (None, observation.table)
        else (observation.table, observation.previous)
    )


class Store(Protocol):
    """The store of the log. One transaction writes entries and the projections that follow from them."""

    def append(self, entries: Sequence[Entry], expect: int) -> int:
        """Append if the log still ends at `expect`; return the new end. Raises `Conflict` otherwise.

        Changes of version numbers follow as further entries (`RenumberingEntry`).
        """

    def read(self, after: int = 0, kinds: Iterable[type[Entry]] = ()) -> Iterator[LogEntry]:
        """The entries after `after` in order, of the given kinds or all."""

    def find_position(self, since_ms: int) -> int:
        """The sequence of the last entry before the first one that was written at or after a time (ms)."""

    def load(self, table: TableId) -> Sequence[Observation]:
        """All observations of a table (also as the old name of a rename)."""


class Projections(Protocol):
    """What a store keeps folded, written in the transaction of the entries that it follows from."""

    def end(self) -> int:
        """The sequence of the last entry; 0 for an empty log."""

    def tables(self) -> tuple[TableId, ...]:
        """Every table that has a history, in order."""

    def find_by_name(self, last: str) -> tuple[TableId, ...]:
        """The tables that have a history and whose name ends with that part, in order."""

    def find_by_alias(self, name: str) -> tuple[TableId, ...]:
        """The tables that have that alias, in order."""

    def history(self, table: TableId) -> TableHistory | None:
        """The folded history of a table; None if no observation has a schema."""

    def read_histories(self, tables: Iterable[TableId]) -> Callable[[TableId], TableHistory | None]:
        """The histories of these tables as they are now, each made when it is asked for."""

    def read_summaries(self, tables: Iterable[TableId] | None = None) -> tuple[StoredSummary, ...]:
        """The summaries of all histories, or of those of some tables, in order of their tables."""

    def read_ranges(self, stream: str, topics: Iterable[str] | None = None) -> tuple[CoveredRange, ...]:
        """What has been read of a stream, or of some topics of it, in as few ranges as possible, in order."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A target held by `owner`; `token` proves it, until `expires_ms`."""

    target: str
    owner: str
    token: str
    expires_ms: int


class Leases(Protocol):
    """Who may migrate a target: one owner at a time, until a moment (epoch ms), then anyone."""

    def leases(self) -> tuple[Lease, ...]:
        """The leases that were taken and not given back, also those that have ended, by target."""

    def acquire(self, target: str, owner: str, now_ms: int, ttl_ms: int) -> str:
        """A token for the target until `now_ms + ttl_ms`. Raises `Locked`: who holds it, until when."""

    def renew(self, target: str, token: str, now_ms: int, ttl_ms: int) -> None:
        """Extend the lease. Raises `Locked` if the token is no longer valid."""

    def release(self, target: str, token: str) -> None:
        """Release the lease; no effect if the token is no longer valid."""
