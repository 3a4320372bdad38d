"""Files that the history covers already and that are as they were then: they are not read again.

Of a file of lines that has grown, only the new lines are read.

Law: a file counts as unchanged only with a proof. One is kept after a reading to the end without rejected or
waiting records, of a file that did not change meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from schemaman.errors import SchemamanError
from schemaman.ingest.summary import Summary
from schemaman.io.file_identity import SETTLED_NS, FileIdentity, find_earlier_size, identify_file
from schemaman.io.files import STANDARD_INPUT, File
from schemaman.io.remote_files import is_remote
from schemaman.settings import Settings
from schemaman.store.file_proofs import FileProof, FileProofs

_SAVED_TOGETHER = 500
"""How many proofs one transaction keeps: an interrupted reading of many files loses no more."""


@dataclass(frozen=True, slots=True)
class GrownFile:
    """A file whose first `bytes`, whole lines with so many `records`, the history covers."""

    bytes: int
    records: int


class UnchangedFiles:
    """Finds the unchanged ones of `files`, and keeps proofs for those that are read."""

    def __init__(
        self,
        proofs: FileProofs,
        settings: Settings,
        topic: str | None,
        files: Iterable[File],
        settled_ns: int = SETTLED_NS,
    ) -> None:
        self._proofs = proofs
        self._topic = topic
        self._settled_ns = settled_ns
        self._started_ns = time.time_ns()
        self._keys = {f: _make_key(f, settings, topic) for f in files if f.path != STANDARD_INPUT}
        self._identities = {file: _identify(file) for file in self._keys}
        self._kept: Mapping[str, FileProof] = {}
        self._new: list[FileProof] = []

    def find(self) -> dict[File, FileProof]:
        """Find the files that are unchanged since they were read to their end."""
        self._kept = self._proofs.find_file_proofs(self._keys.values())
        found = {}
        for file, identities in self._identities.items():
            proof = self._kept.get(self._keys[file])
            if proof is not None and proof.identity == _format_identities(identities):
                found[file] = proof
        return found

    def find_grown(self) -> dict[File, GrownFile]:
        """Finds the files of plain lines that only grew since the proofs that `find` has loaded.

        Bare values are left out: the number of a line is their offset.
        """
        found = {}
        for file, key in self._keys.items():
            is_plain = file.kind == "lines" and not file.packing and file.place is None
            proof = self._kept.get(key)
            if not is_plain or self._topic is not None or proof is None or is_remote(file.path):
                continue
            try:
                size = find_earlier_size(file.path, proof.identity)
            except OSError:  # the reading explains what cannot be read
                continue
            if size is not None:
                found[file] = GrownFile(size, proof.records)
        return found

    def prove(self, file: File, done: Summary, clock: Callable[[], int]) -> None:
        """Note that a file was read to its end; the note becomes a proof with `save`."""
        before = self._identities.get(file)
        if not before or done.rejects or done.waiting or done.truncated or before != _identify(file):
            return
        if all(identity.is_settled(self._started_ns, self._settled_ns) for identity in before):
            identity = _format_identities(before)
            self._new.append(FileProof(self._keys[file], identity, done.read, clock()))
        if len(self._new) >= _SAVED_TOGETHER:
            self.save()

    def save(self) -> None:
        """Keep the proofs of all files that were read."""
        if self._new:
            self._proofs.put_file_proofs(self._new)
            self._new.clear()


def summarize_unchanged(found: Iterable[FileProof]) -> Summary:
    """Summarize files that are not read again: their records are known."""
    done = Summary()
    for proof in found:
        known = proof.records
        done += Summary(known, known, unchanged_files=1, unchanged_since_ms=proof.read_ms)
    return done


def _make_key(file: File, settings: Settings, topic: str | None) -> str:
    """Make the key of a file: it changes with each option that decides which records the file holds."""
    meaning = (
        file.path,
        file.kind,
        file.packing,
        file.registry,
        repr(file.place),
        topic,
        settings.stream.value,
        repr(settings.forms),
        settings.record_limit.value,
        settings.registry.value,
    )
    return hashlib.sha256(json.dumps(meaning, default=str).encode()).hexdigest()


def _identify(file: File) -> tuple[FileIdentity, ...]:
    """Identify a file, and that of its keys; empty if nothing tells it from a changed one."""
    paths = [file.path] if file.place is None or file.place.keys is None else [file.path, file.place.keys]
    try:
        found = [identify_file(path) for path in paths]
    except (OSError, ValueError, SchemamanError):  # the reading explains what cannot be read
        return ()
    return tuple(one for one in found if one is not None) if None not in found else ()


def _format_identities(identities: Sequence[FileIdentity]) -> str:
    return " ".join(identity.text for identity in identities)
