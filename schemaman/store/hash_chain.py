"""The hash chain of a log: the hash of each entry includes the previous hash.

Law: the check fails for a log with an altered, lost, added or moved entry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from schemaman.errors import UnreadableInput
from schemaman.store import entry_json as codec
from schemaman.store.log import LogEntry

GENESIS = ""
"""What the hash of the first entry follows."""


@dataclass(frozen=True, slots=True)
class SealedEntry:
    """An entry in a log: canonical JSON, and the hash over it and the previous hash."""

    sequence: int
    at_ms: int
    body: str
    hash: str

    def open_entry(self, where: str = "log") -> LogEntry:
        """The entry itself. Raises `StoreUnavailable` if the body is none; `where` is named."""
        return LogEntry(
            self.sequence, self.at_ms, codec.from_bytes(self.body, f"{where}: log entry {self.sequence}")
        )


def hash_entry(previous: str, sequence: int, at_ms: int, body: str) -> str:
    """Hash an entry with the previous hash, so that any alteration breaks the chain."""
    return hashlib.sha256(f"{previous}\n{sequence}\n{at_ms}\n{body}".encode()).hexdigest()


def seal_entries(log: Iterable[LogEntry], head: str = GENESIS) -> Iterator[SealedEntry]:
    """Seal entries to append after the entry with the hash `head`."""
    for stamped in log:
        body = codec.to_bytes(stamped.entry).decode()
        head = hash_entry(head, stamped.sequence, stamped.at_ms, body)
        yield SealedEntry(stamped.sequence, stamped.at_ms, body, head)


_ANOTHER_COPY = "no later entry can be trusted: take another copy, or read the records into a new store"


def check_chain(log: Iterable[SealedEntry], where: str = "log") -> Iterator[SealedEntry]:
    """The entries of a whole log. Raises `UnreadableInput` at the first that does not follow."""
    head = GENESIS
    for number, sealed in enumerate(log, 1):
        if sealed.sequence != number:
            raise UnreadableInput(
                f"{where}: log entry {sealed.sequence} is at position {number}",
                hint=_ANOTHER_COPY,
            )
        if sealed.hash != hash_entry(head, sealed.sequence, sealed.at_ms, sealed.body):
            raise UnreadableInput(
                f"{where}: log entry {number} was altered: its hash does not match",
                hint=_ANOTHER_COPY,
            )
        head = sealed.hash
        yield sealed
