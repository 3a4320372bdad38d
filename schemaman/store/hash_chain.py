"""The chain of a log: each entry is sealed by a hash that holds the one before it.

Law: a log of which an entry was altered, lost, added or moved is not `unbroken`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from schemaman.errors import UnreadableInput
from schemaman.store import entry_json as codec
from schemaman.store.log import Stamped

GENESIS = ""
"""What the hash of the first entry follows."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """An entry as it lies in a log: canonical JSON, and the hash of it and of the entry before."""

    sequence: int
    at_ms: int
    body: str
    hash: str

    def opened(self, where: str = "log") -> Stamped:
        """The entry itself. Raises `StoreUnavailable` if the body is none; `where` is named."""
        return Stamped(
            self.sequence, self.at_ms, codec.from_bytes(self.body, f"{where}: log entry {self.sequence}")
        )


def link(previous: str, sequence: int, at_ms: int, body: str) -> str:
    """The hash of an entry, which holds that of the entry before: nothing can be altered in between."""
    return hashlib.sha256(f"{previous}\n{sequence}\n{at_ms}\n{body}".encode()).hexdigest()


def seal(log: Iterable[Stamped], head: str = GENESIS) -> Iterator[Sealed]:
    """Entries as they are added behind the one whose hash is `head`."""
    for stamped in log:
        body = codec.to_bytes(stamped.entry).decode()
        head = link(head, stamped.sequence, stamped.at_ms, body)
        yield Sealed(stamped.sequence, stamped.at_ms, body, head)


_ANOTHER_COPY = "nothing behind it can be trusted: take another copy, or read the records into a new store"


def unbroken(log: Iterable[Sealed], where: str = "log") -> Iterator[Sealed]:
    """The entries of a whole log. Raises `UnreadableInput` at the first that does not follow."""
    head = GENESIS
    for number, sealed in enumerate(log, 1):
        if sealed.sequence != number:
            raise UnreadableInput(
                f"{where}: log entry {sealed.sequence} stands in place {number}",
                hint=_ANOTHER_COPY,
            )
        if sealed.hash != link(head, sealed.sequence, sealed.at_ms, sealed.body):
            raise UnreadableInput(
                f"{where}: log entry {number} is not what was written: its hash does not follow",
                hint=_ANOTHER_COPY,
            )
        head = sealed.hash
        yield sealed
