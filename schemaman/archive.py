"""A log as lines of text: a copy that can be kept elsewhere, compared, and put back.

Law: `read(write(log)) == log`; a copy that is cut short or altered is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from schemaman import codec, structure_codec
from schemaman.errors import StoreUnavailable, UnreadableInput
from schemaman.log import Stamped

LAYOUT = 1
_HINT = "take another copy: `schemaman store export`"


def write(log: Iterable[Stamped], store: str = "") -> Iterator[str]:
    """The lines of a copy, without line breaks: a head, the entries, and a hash of all that.

    `store` is the identity of the store that is copied.
    """
    told = hashlib.sha256()
    for line in _lines(log, store):
        told.update(line.encode() + b"\n")
        yield line
    yield structure_codec.canonical({"sha256": told.hexdigest()}).decode()


def read(lines: Iterable[str], where: str = "archive") -> Iterator[Stamped]:
    """The entries of a copy; only its last line shows that it is whole, so take none before the end.

    Raises:
        UnreadableInput: no copy, one of another layout, cut short or altered.
    """
    told = hashlib.sha256()
    ended = False
    for number, text in enumerate(lines, 1):
        line = text.rstrip("\r\n")
        body = _object(line, f"{where}:{number}")
        if ended or (number == 1) != ("schemaman_log" in body):
            raise UnreadableInput(f"{where}:{number}: not a copy of a log", hint=_HINT)
        if "sha256" in body:
            ended = True
            if body["sha256"] != told.hexdigest():
                raise UnreadableInput(f"{where} was altered: its hash is another", hint=_HINT)
            continue
        told.update(line.encode() + b"\n")
        if number == 1:
            if body["schemaman_log"] != LAYOUT:
                raise UnreadableInput(f"{where}: layout {body['schemaman_log']!r}, not {LAYOUT}", hint=_HINT)
            continue
        yield _stamped(body, f"{where}:{number}")
    if not ended:
        raise UnreadableInput(f"{where} is cut short: its last line is missing", hint=_HINT)


def _lines(log: Iterable[Stamped], store: str) -> Iterator[str]:
    yield structure_codec.canonical({"schemaman_log": LAYOUT, "store": store}).decode()
    for stamped in log:
        line = {"at_ms": stamped.at_ms, "entry": codec.to_json(stamped.entry), "sequence": stamped.sequence}
        yield structure_codec.canonical(line).decode()


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        body = json.loads(line)
    except ValueError as error:
        raise UnreadableInput(f"{where}: not JSON: {error}", hint=_HINT) from error
    if not isinstance(body, dict):
        raise UnreadableInput(f"{where}: not a copy of a log", hint=_HINT)
    return body


def _stamped(body: dict[str, Any], where: str) -> Stamped:
    try:
        return Stamped(int(body["sequence"]), int(body["at_ms"]), codec.from_json(body["entry"], where))
    except (KeyError, TypeError, ValueError, StoreUnavailable) as error:
        raise UnreadableInput(f"{where}: no log entry: {error}", hint=_HINT) from error
