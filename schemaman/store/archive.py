"""A log as lines of text: a copy that can be kept elsewhere, compared, and put back.

Law: `read(write(log)).log == log`; a copy that is cut short or altered is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from schemaman.errors import UnreadableInput
from schemaman.store import schema_json as structure_codec
from schemaman.store.hash_chain import SealedEntry

LAYOUT = 1
"""Of the lines: a head, a line an entry, and a last one with their count and the SHA-256 of all before it."""

FRAME = 2
"""Lines that are no entries."""

_HINT = "take another copy: `schemaman store export`"
_NEWER = "upgrade schemaman, or take a copy with this one"


@dataclass(frozen=True, slots=True)
class LogCopy:
    """A copy of a store: its identity, and its log, which can be iterated once.

    Only the last line proves that the copy is complete. `log` raises there, so keep nothing before its end.
    """

    store: str
    log: Iterator[SealedEntry]


def write_copy(log: Iterable[SealedEntry], store: str = "") -> Iterator[str]:
    """The lines of a copy, without line breaks; `store` is the identity of what is copied."""
    digest, entries = hashlib.sha256(), -1
    for line in _write_lines(log, store):
        digest.update(line.encode() + b"\n")
        entries += 1
        yield line
    yield _format_json({"entries": entries, "sha256": digest.hexdigest()})


def read_copy(lines: Iterable[str], where: str = "archive") -> LogCopy:
    """Read the copy in lines. An error in the first line is raised at once, other errors by its `log`.

    Raises:
        UnreadableInput: the lines are not a copy, have another layout, or are incomplete or altered.
    """
    rest = iter(lines)
    head = next(rest, None)
    if head is None:
        raise UnreadableInput(f"{where} is incomplete: it is empty", hint=_HINT)
    body = _parse_object(head, f"{where}:1")
    if "schemaman_log" not in body:
        raise UnreadableInput(f"{where}:1: not a copy of a log", hint=_HINT)
    if body["schemaman_log"] != LAYOUT:
        message = f"{where}: layout {body['schemaman_log']!r}, not {LAYOUT}"
        raise UnreadableInput(message, hint=_NEWER)
    return LogCopy(str(body.get("store", "")), _read_entries(head, rest, where))


def _read_entries(head: str, rest: Iterable[str], where: str) -> Iterator[SealedEntry]:
    digest = hashlib.sha256(_strip_line(head).encode() + b"\n")
    ended, entries = False, 0
    for number, line in enumerate(rest, 2):
        body = _parse_object(line, f"{where}:{number}")
        if ended or "schemaman_log" in body:
            raise UnreadableInput(f"{where}:{number}: not a copy of a log", hint=_HINT)
        if "sha256" in body:
            ended = True
            if (body.get("entries"), body["sha256"]) != (entries, digest.hexdigest()):
                raise UnreadableInput(f"{where} was altered: its hash does not match", hint=_HINT)
            continue
        digest.update(_strip_line(line).encode() + b"\n")
        entries += 1
        yield _parse_entry(body, f"{where}:{number}")
    if not ended:
        raise UnreadableInput(f"{where} is incomplete: its last line is missing", hint=_HINT)


def _write_lines(log: Iterable[SealedEntry], store: str) -> Iterator[str]:
    yield _format_json({"schemaman_log": LAYOUT, "store": store})
    for s in log:
        yield _format_json({"at_ms": s.at_ms, "body": s.body, "hash": s.hash, "sequence": s.sequence})


def _format_json(value: dict[str, object]) -> str:
    return structure_codec.encode_canonical(value).decode()


def _strip_line(line: str) -> str:
    return line.rstrip("\r\n")


def _parse_object(line: str, where: str) -> dict[str, Any]:
    try:
        body = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(f"{where}: not JSON: {error}", hint=_HINT) from error
    if not isinstance(body, dict):
        raise UnreadableInput(f"{where}: not a copy of a log", hint=_HINT)
    return body


def _parse_entry(body: dict[str, Any], where: str) -> SealedEntry:
    match body:
        case {"at_ms": int(at_ms), "body": str(text), "hash": str(hash), "sequence": int(sequence)}:
            return SealedEntry(sequence, at_ms, text, hash)
        case _:
            raise UnreadableInput(f"{where}: not a log entry", hint=_HINT)
