"""Waivers accept findings until a day; `schemaman.waivers.toml` keeps them in git.

Law: `parse_waivers(text + to_text(w))` is `parse_waivers(text)` and `w`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from schemaman.errors import BadConfiguration, BadReference
from schemaman.history.references import parse_name

Scope = Literal["source", "files"]
"""What a finding is about: a table of a source, or schema files that are no snapshot."""

_TEXTS = ("finding", "rule", "table", "reason", "owner")


@dataclass(frozen=True, slots=True)
class Waiver:
    """A finding, by its fingerprint, that does not fail the gate until the end of the day `expires` (UTC).

    `rule` and `table` describe the finding for people.
    """

    finding: str
    rule: str
    table: str
    reason: str
    owner: str
    expires: date


def parse_waivers(text: str, where: str = "schemaman.waivers.toml") -> tuple[Waiver, ...]:
    """Reads the waivers in the text of a file; `where` names the file in errors.

    Raises:
        BadConfiguration: the text is no TOML, or has another section or an incomplete entry.
    """
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadConfiguration(f"{where} is not valid TOML: {error}", hint="mend that line") from error
    entries = document.pop("waive", [])
    if document or not isinstance(entries, list):
        raise BadConfiguration(f"{where} has other entries than [[waive]]", hint="write [[waive]]")
    return tuple(_read_waiver(entry, f"{where}: [[waive]] {n}") for n, entry in enumerate(entries, 1))


def to_text(waiver: Waiver) -> str:
    """Formats a waiver as a block of TOML to append to the file."""
    lines = [f"{key} = {_quote_text(getattr(waiver, key))}" for key in _TEXTS]
    return "\n".join(["", "[[waive]]", *lines, f"expires = {waiver.expires.isoformat()}", ""])


def select_unexpired(waivers: Iterable[Waiver], today: date) -> Mapping[str, Waiver]:
    """Selects the waivers that have not expired, by finding; of several for one finding, the longest."""
    valid = sorted((w for w in waivers if w.expires >= today), key=lambda w: w.expires)
    return {waiver.finding: waiver for waiver in valid}


def find_scope(waiver: Waiver) -> Scope:
    """Finds what the finding of a waiver is about: a table of a source has a name of several parts."""
    try:
        name = parse_name(waiver.table)
    except BadReference:
        return "source"
    return "files" if len(name.parts) == 1 else "source"


def list_remarks(
    waivers: Iterable[Waiver], findings: Collection[str], today: date, *, whole: Scope | None
) -> tuple[str, ...]:
    """Lists what no longer holds: expired waivers of findings, and waivers without a finding.

    `findings` are the fingerprints of a check. Only a check of everything shows that a waiver has no finding
    any more; `whole` says of what everything was checked, None for a check of a part.
    """
    known = tuple(waivers)
    valid = select_unexpired(known, today)
    remarks: list[str] = []
    for waiver in known:
        name = f"waiver of {waiver.finding} ({waiver.rule}, {waiver.table})"
        if waiver.finding in findings and waiver.finding not in valid:
            remarks.append(f"{name} expired on {waiver.expires}: the finding counts again")
        elif waiver.finding not in findings and whole == find_scope(waiver):
            remarks.append(f"{name} is unused: there is no such finding; remove it from the file")
    return tuple(dict.fromkeys(remarks))


def _read_waiver(entry: object, where: str) -> Waiver:
    document = entry if isinstance(entry, dict) else {}
    texts = [document.get(key) for key in _TEXTS]
    expires = document.get("expires")
    whole = all(isinstance(text, str) and text for text in texts) and document.keys() == {*_TEXTS, "expires"}
    if not whole or not isinstance(expires, date) or isinstance(expires, datetime):
        hint = f"it needs {', '.join(_TEXTS)} as texts, and expires as a day"
        raise BadConfiguration(f"{where} is incomplete or has other keys", hint=hint)
    finding, rule, table, reason, owner = map(str, texts)
    return Waiver(finding, rule, table, reason, owner, expires)


def _quote_text(text: str) -> str:
    """Formats a TOML basic string. It is JSON's, except for one character that only TOML escapes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
