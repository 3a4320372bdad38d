"""Proofs that a file was read to its end: while the file is the same, it holds no new record.

Law: a proof is lost rather than wrong. A store without proofs only makes the next reading longer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileProof:
    """The history covers all `records` of a file, as it was at `read_ms` (epoch ms).

    `key` names the file and what decides how it is read. `identity` tells the file from a changed one.
    """

    key: str
    identity: str
    records: int
    read_ms: int


class FileProofs(Protocol):
    """What a store keeps of files; one proof a key."""

    def find_file_proofs(self, keys: Iterable[str]) -> Mapping[str, FileProof]:
        """Return the proofs with these keys, by key."""

    def put_file_proofs(self, proofs: Iterable[FileProof]) -> None:
        """Keep proofs, each instead of an earlier one with its key."""


def format_proof(proof: FileProof) -> str:
    """Format a proof without its key."""
    return json.dumps([proof.identity, proof.records, proof.read_ms])


def parse_proof(key: str, text: str) -> FileProof | None:
    """Parse what `format_proof` wrote; None for another text, which proves nothing."""
    try:
        identity, records, read_ms = json.loads(text)
    except (TypeError, ValueError):
        return None
    if not isinstance(identity, str) or type(records) is not int or type(read_ms) is not int:
        return None
    return FileProof(key, identity, records, read_ms)
