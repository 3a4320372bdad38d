"""The log in memory: for tests and dry runs; what the process ends with is gone.

It is the same port as a database, and the same contract is tested on both.
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
    decided_over,
    fold,
    locked,
    lost,
    not_empty,
    touched,
    wall_clock,
)
from schemaman.store.hash_chain import Sealed, seal, unbroken
from schemaman.store.log import Covered, Entry, Lease, Observed, Renumbered, Stamped, tables_of
from schemaman.store.offsets import merge
from schemaman.store.renumbering import ids_now, renumbered

Said = Mapping[TableId, tuple[Observation, ...]]


class MemoryStore:
    """The log, its projections and the leases of one process; safe for several threads at once."""

    where = "memory"

    def __init__(self, clock: Clock = wall_clock, fold: Fold = fold) -> None:
        self.id = str(uuid.uuid4())
        self._clock = clock
        self._fold = fold
        self._lock = threading.Lock()
        self._log: tuple[Stamped, ...] = ()
        self._said: Said = {}
        self._covered: tuple[Covered, ...] = ()
        self._histories: Mapping[TableId, TableHistory] = {}
        self._leases: dict[str, Lease] = {}

    def append(self, entries: Sequence[Entry], expect: int) -> int:
        """Append all entries, and fold the tables that they touch, all or nothing; the new end.

        Raises:
            Conflict: the log does not end at `expect`, or a range is covered already.
        """
        with self._lock:
            if len(self._log) != expect:
                raise Conflict(
                    f"memory: the log ends at {len(self._log)}, not at {expect}",
                    hint="another thread wrote meanwhile: run again",
                )
            at_ms = self._clock()
            before = self._histories
            end = self._add(tuple(Stamped(n, at_ms, entry) for n, entry in enumerate(entries, expect + 1)))
            told = _renumbered(before, self._histories)
            self._log = (*self._log, *(Stamped(n, at_ms, shift) for n, shift in enumerate(told, end + 1)))
            return len(self._log)

    def restore(self, log: Iterable[Sealed], identity: str = "") -> int:
        """Put a whole log into this empty store, and take on its identity; the new end.

        Raises:
            UsageError: the store is not empty.
            UnreadableInput: the log is not whole.
        """
        with self._lock:
            if self._log:
                raise not_empty(self.where)
            end = self._add(tuple(sealed.opened() for sealed in unbroken(log)))
            self.id = identity or self.id
            return end

    def sealed(self) -> Iterator[Sealed]:
        """The log as it lies, each entry with its hash."""
        return seal(self._log)

    def read(self, after: int = 0, kinds: Iterable[type[Entry]] = ()) -> Iterator[Stamped]:
        """The entries behind `after` in order, of the given kinds or of all."""
        wanted = tuple(kinds)
        return (s for s in self._log[after:] if not wanted or isinstance(s.entry, wanted))

    def load(self, table: TableId) -> Sequence[Observation]:
        """All observations that speak of a table (also as the old name of a rename), in log order."""
        return self._said.get(table, ())

    def end(self) -> int:
        """The sequence of the last entry; 0 for an empty log."""
        return len(self._log)

    def tables(self) -> tuple[TableId, ...]:
        """Every table that has a history, in order."""
        return tuple(sorted(self._histories))

    def named(self, last: str) -> tuple[TableId, ...]:
        """The tables that have a history and whose name ends with that part, in order."""
        return tuple(t for t in self.tables() if t.parts[-1:] == (last,))

    def aliased(self, name: str) -> tuple[TableId, ...]:
        """The tables that have that alias, in order."""
        return tuple(t for t in self.tables() if any(a.name == name for a in self._histories[t].aliases))

    def history(self, table: TableId) -> TableHistory | None:
        """The folded history of a table; None if nothing gives it a structure."""
        return self._histories.get(table)

    def held(self, tables: Iterable[TableId]) -> Callable[[TableId], TableHistory | None]:
        """The histories of these tables as they are now."""
        return {table: self._histories.get(table) for table in tables}.get

    def covered(self, stream: str, topics: Iterable[str] | None = None) -> tuple[Covered, ...]:
        """What has been read of a stream, or of some topics of it, in as few ranges as possible, in order."""
        wanted = None if topics is None else set(topics)
        mine = (c for c in self._covered if c.stream == stream)
        return tuple(c for c in mine if wanted is None or c.topic in wanted)

    def acquire(self, target: str, owner: str, now_ms: int, ttl_ms: int) -> str:
        """A token for the target until `now_ms + ttl_ms`. Raises `Locked`: who holds it, until when."""
        token = secrets.token_hex(8)
        with self._lock:
            held = self._leases.get(target)
            if held is not None and held.expires_ms > now_ms:
                raise locked(held)
            self._leases[target] = Lease(target, owner, token, now_ms + ttl_ms)
        return token

    def renew(self, target: str, token: str, now_ms: int, ttl_ms: int) -> None:
        """Hold it until `now_ms + ttl_ms`. Raises `Locked` if the token holds it no more."""
        with self._lock:
            held = self._leases.get(target)
            if held is None or held.token != token:
                raise lost(target)
            self._leases[target] = Lease(target, held.owner, token, now_ms + ttl_ms)

    def release(self, target: str, token: str) -> None:
        """Give it back; nothing happens if the token holds it no more."""
        with self._lock:
            held = self._leases.get(target)
            if held is not None and held.token == token:
                del self._leases[target]

    def leases(self) -> tuple[Lease, ...]:
        """The leases that were taken and not given back, also those that have ended, by target."""
        with self._lock:
            return tuple(self._leases[target] for target in sorted(self._leases))

    def check(self) -> tuple[str, ...]:
        """What is wrong with the projections; empty if they are the fold of the log."""
        entries = [s.entry for s in self._log]
        said = _heard({}, entries)
        faults: list[str] = []
        if merge(e for e in entries if isinstance(e, Covered)) != self._covered:
            faults.append("the offsets that count as read are not those of the log")
        folded = self._folded({}, said, tuple(said))
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
            self._said = _heard({}, entries)
            self._covered = merge(e for e in entries if isinstance(e, Covered))
            self._histories = self._folded({}, self._said, tuple(self._said))

    def close(self) -> None:
        """Nothing has to be given back."""

    def _add(self, new: tuple[Stamped, ...]) -> int:
        entries = [stamped.entry for stamped in new]
        covered = merge([*self._covered, *(e for e in entries if isinstance(e, Covered))])
        said = _heard(self._said, entries)
        histories = self._folded(self._histories, said, touched(entries))
        self._log, self._covered = (*self._log, *new), covered
        self._said, self._histories = said, histories
        return len(self._log)

    def _folded(
        self, before: Mapping[TableId, TableHistory], said: Said, tables: Iterable[TableId]
    ) -> Mapping[TableId, TableHistory]:
        after, known = dict(before), decided_over(before.values())
        self._fold_into(after, said, tables, known)
        now = decided_over(after.values())
        others = [t for t in {*known, *now} if t in after and known.get(t, {}) != now.get(t, {})]
        self._fold_into(after, said, others, now)
        return after

    def _fold_into(
        self,
        histories: dict[TableId, TableHistory],
        said: Said,
        tables: Iterable[TableId],
        decided: Mapping[TableId, Verdicts],
    ) -> None:
        for table in tables:
            histories.pop(table, None)
            folded = self._fold(said[table], table, decided.get(table, UNDECIDED))
            if folded is not None:
                histories[table] = folded


def _renumbered(
    before: Mapping[TableId, TableHistory], after: Mapping[TableId, TableHistory]
) -> tuple[Renumbered, ...]:
    other = sorted(t for t, history in before.items() if after.get(t) is not history)
    shifts = (_shift(before[t], after.get(t)) for t in other)
    return tuple(shift for shift in shifts if shift is not None)


def _shift(before: TableHistory, after: TableHistory | None) -> Renumbered | None:
    ids = [version.id for version in before.versions]
    return renumbered(before.table, ids, ids_now(ids, after.versions if after else ()))


def _heard(said: Said, entries: Iterable[Entry]) -> Said:
    after = dict(said)
    for entry in entries:
        if isinstance(entry, Observed):
            for table in tables_of(entry):
                after[table] = (*after.get(table, ()), entry.observation)
    return after
