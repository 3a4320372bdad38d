"""The log in memory, for tests and dry runs; it ends with the process.

It implements the same port as a database, and the same contract tests run on both.
"""

from __future__ import annotations

import secrets
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from schemaman.debezium.observation import Observation
from schemaman.errors import Conflict
from schemaman.history.epochs import UNDECIDED, Verdicts
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.store.derived import (
    Clock,
    Fold,
    decide_all,
    list_touched_tables,
    make_locked_error,
    make_lost_error,
    make_not_empty_error,
    wall_clock,
)
from schemaman.store.file_proofs import FileProof
from schemaman.store.folding import fold
from schemaman.store.hash_chain import SealedEntry, check_chain, seal_entries
from schemaman.store.log import (
    CoveredRange,
    Entry,
    Lease,
    LogEntry,
    ObservationEntry,
    RenumberingEntry,
    list_tables,
)
from schemaman.store.offsets import merge_ranges
from schemaman.store.renumbering import list_current_ids, renumber_versions
from schemaman.store.summary_json import StoredSummary, make_stored_summary

ObservationsByTable = Mapping[TableId, tuple[Observation, ...]]


class MemoryStore:
    """The log, its projections and the leases of one process; safe for several threads at once."""

    where = "memory"

    def __init__(self, clock: Clock = wall_clock, fold: Fold = fold) -> None:
        self.id = str(uuid.uuid4())
        self._clock = clock
        self._fold = fold
        self._lock = threading.Lock()
        self._log: tuple[LogEntry, ...] = ()
        self._observations: ObservationsByTable = {}
        self._covered: tuple[CoveredRange, ...] = ()
        self._histories: Mapping[TableId, TableHistory] = {}
        self._leases: dict[str, Lease] = {}
        self._file_proofs: dict[str, FileProof] = {}

    def append(self, entries: Sequence[Entry], expect: int) -> int:
        """Append all entries, and fold the tables that they touch, all or nothing; the new end.

        Raises:
            Conflict: the log does not end at `expect`, or a range is covered already.
        """
        with self._lock:
            if len(self._log) != expect:
                raise Conflict(
                    f"memory: the log ends at {len(self._log)}, not at {expect}",
                    hint="another thread has written meanwhile: run again",
                )
            at_ms = self._clock()
            before = self._histories
            end = self._add_entries(
                tuple(LogEntry(n, at_ms, entry) for n, entry in enumerate(entries, expect + 1))
            )
            renumberings = _list_renumberings(before, self._histories)
            self._log = (
                *self._log,
                *(LogEntry(n, at_ms, shift) for n, shift in enumerate(renumberings, end + 1)),
            )
            return len(self._log)

    def restore(self, log: Iterable[SealedEntry], identity: str = "") -> int:
        """Put a whole log into this empty store, and take on its identity; the new end.

        Raises:
            UsageError: the store is not empty.
            UnreadableInput: the log is not whole.
        """
        with self._lock:
            if self._log:
                raise make_not_empty_error(self.where)
            end = self._add_entries(tuple(sealed.open_entry() for sealed in check_chain(log)))
            self.id = identity or self.id
            return end

    def sealed(self) -> Iterator[SealedEntry]:
        """The entries of the log with their hashes."""
        return seal_entries(self._log)

    def read(self, after: int = 0, kinds: Iterable[type[Entry]] = ()) -> Iterator[LogEntry]:
        """The entries after `after` in order, of the given kinds or all."""
        wanted = tuple(kinds)
        return (s for s in self._log[after:] if not wanted or isinstance(s.entry, wanted))

    def find_position(self, since_ms: int) -> int:
        """The sequence of the last entry before the first one that was written at or after a time."""
        later = (entry.sequence for entry in self._log if entry.at_ms >= since_ms)
        return next(later, len(self._log) + 1) - 1

    def load(self, table: TableId) -> Sequence[Observation]:
        """All observations of a table (also as the old name of a rename), in log order."""
        return self._observations.get(table, ())

    def end(self) -> int:
        """The sequence of the last entry; 0 for an empty log."""
        return len(self._log)

    def tables(self) -> tuple[TableId, ...]:
        """Every table that has a history, in order."""
        return tuple(sorted(self._histories))

    def find_by_name(self, last: str) -> tuple[TableId, ...]:
        """The tables that have a history and whose name ends with that part, in order."""
        return tuple(t for t in self.tables() if t.parts[-1:] == (last,))

    def find_by_alias(self, name: str) -> tuple[TableId, ...]:
        """The tables that have that alias, in order."""
        return tuple(t for t in self.tables() if any(a.name == name for a in self._histories[t].aliases))

    def history(self, table: TableId) -> TableHistory | None:
        """The folded history of a table; None if no observation has a schema."""
        return self._histories.get(table)

    def read_histories(self, tables: Iterable[TableId]) -> Callable[[TableId], TableHistory | None]:
        """The histories of these tables as they are now."""
        return {table: self._histories.get(table) for table in tables}.get

    def read_summaries(self, tables: Iterable[TableId] | None = None) -> tuple[StoredSummary, ...]:
        """The summaries of all histories, or of those of some tables, in order of their tables."""
        wanted = None if tables is None else frozenset(tables)
        known = (table for table in self.tables() if wanted is None or table in wanted)
        return tuple(make_stored_summary(self._histories[table]) for table in known)

    def read_ranges(self, stream: str, topics: Iterable[str] | None = None) -> tuple[CoveredRange, ...]:
        """What has been read of a stream, or of some topics of it, in as few ranges as possible, in order."""
        wanted = None if topics is None else set(topics)
        ranges = (c for c in self._covered if c.stream == stream)
        return tuple(c for c in ranges if wanted is None or c.topic in wanted)

    def find_file_proofs(self, keys: Iterable[str]) -> Mapping[str, FileProof]:
        """The proofs of read files with these keys, by key."""
        return {key: self._file_proofs[key] for key in keys if key in self._file_proofs}

    def put_file_proofs(self, proofs: Iterable[FileProof]) -> None:
        """Keep proofs of read files, each instead of an earlier one with its key."""
        self._file_proofs |= {proof.key: proof for proof in proofs}

    def acquire(self, target: str, owner: str, now_ms: int, ttl_ms: int) -> str:
        """A token for the target until `now_ms + ttl_ms`. Raises `Locked`: who holds it, until when."""
        token = secrets.token_hex(8)
        with self._lock:
            lease = self._leases.get(target)
            if lease is not None and lease.expires_ms > now_ms:
                raise make_locked_error(lease)
            self._leases[target] = Lease(target, owner, token, now_ms + ttl_ms)
        return token

    def renew(self, target: str, token: str, now_ms: int, ttl_ms: int) -> None:
        """Extend the lease until `now_ms + ttl_ms`. Raises `Locked` if the token is no longer valid."""
        with self._lock:
            lease = self._leases.get(target)
            if lease is None or lease.token != token:
                raise make_lost_error(target)
            self._leases[target] = Lease(target, lease.owner, token, now_ms + ttl_ms)

    def release(self, target: str, token: str) -> None:
        """Release the lease; no effect if the token is no longer valid."""
        with self._lock:
            lease = self._leases.get(target)
            if lease is not None and lease.token == token:
                del self._leases[target]

    def leases(self) -> tuple[Lease, ...]:
        """The leases that were taken and not given back, also those that have ended, by target."""
        with self._lock:
            return tuple(self._leases[target] for target in sorted(self._leases))

    def check(self) -> tuple[str, ...]:
        """What is wrong with the projections; empty if they are the fold of the log."""
        entries = [s.entry for s in self._log]
        observations = _add_observations({}, entries)
        faults: list[str] = []
        if merge_ranges(e for e in entries if isinstance(e, CoveredRange)) != self._covered:
            faults.append("the offsets that count as read are not those of the log")
        folded = self._fold_tables({}, observations, tuple(observations))
        faults += [
            f"the history of {table} is not the fold of the log"
            for table in sorted({*folded, *self._histories})
            if folded.get(table) != self._histories.get(table)
        ]
        return tuple(faults)

    def rebuild(self) -> None:
        """Fold everything again from the log, which stays as it is."""
        with self._lock:
            entries = [s.entry for s in self._log]
            self._observations = _add_observations({}, entries)
            self._covered = merge_ranges(e for e in entries if isinstance(e, CoveredRange))
            self._histories = self._fold_tables({}, self._observations, tuple(self._observations))

    def close(self) -> None:
        """Nothing has to be given back."""

    def _add_entries(self, new: tuple[LogEntry, ...]) -> int:
        entries = [stamped.entry for stamped in new]
        covered = merge_ranges([*self._covered, *(e for e in entries if isinstance(e, CoveredRange))])
        observations = _add_observations(self._observations, entries)
        histories = self._fold_tables(self._histories, observations, list_touched_tables(entries))
        self._log, self._covered = (*self._log, *new), covered
        self._observations, self._histories = observations, histories
        return len(self._log)

    def _fold_tables(
        self,
        before: Mapping[TableId, TableHistory],
        observations: ObservationsByTable,
        tables: Iterable[TableId],
    ) -> Mapping[TableId, TableHistory]:
        after, known = dict(before), decide_all(before.values())
        self._fold_into(after, observations, tables, known)
        now = decide_all(after.values())
        others = [t for t in {*known, *now} if t in after and known.get(t, {}) != now.get(t, {})]
        self._fold_into(after, observations, others, now)
        return after

    def _fold_into(
        self,
        histories: dict[TableId, TableHistory],
        observations: ObservationsByTable,
        tables: Iterable[TableId],
        decided: Mapping[TableId, Verdicts],
    ) -> None:
        for table in tables:
            histories.pop(table, None)
            folded = self._fold(observations[table], table, decided.get(table, UNDECIDED))
            if folded is not None:
                histories[table] = folded


def _list_renumberings(
    before: Mapping[TableId, TableHistory], after: Mapping[TableId, TableHistory]
) -> tuple[RenumberingEntry, ...]:
    other = sorted(t for t, history in before.items() if after.get(t) is not history)
    shifts = (_renumber_history(before[t], after.get(t)) for t in other)
    return tuple(shift for shift in shifts if shift is not None)


def _renumber_history(before: TableHistory, after: TableHistory | None) -> RenumberingEntry | None:
    ids = [version.id for version in before.versions]
    return renumber_versions(before.table, ids, list_current_ids(ids, after.versions if after else ()))


def _add_observations(known: ObservationsByTable, entries: Iterable[Entry]) -> ObservationsByTable:
    after = dict(known)
    for entry in entries:
        if isinstance(entry, ObservationEntry):
            for table in list_tables(entry):
                after[table] = (*after.get(table, ()), entry.observation)
    return after
