"""Findings that people accept for a while, as `schemaman.waivers.toml` keeps them in git.

Law: `parse(text + to_text(w))` holds `w` besides whatever `parse(text)` held.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from schemaman.errors import BadConfiguration

_TEXTS = ("finding", "rule", "table", "reason", "owner")


@dataclass(frozen=True, slots=True)
class Waiver:
    """A finding, by its fingerprint, that fails no gate until the end of the day `expires` (UTC).

    `rule` and `table` say to people which one it is.
    """

    finding: str
    rule: str
    table: str
    reason: str
    owner: str
    expires: date


def parse_waivers(text: str, where: str = "schemaman.waivers.toml") -> tuple[Waiver, ...]:
    """The waivers in the text of a file; `where` names it in errors.

    Raises:
        BadConfiguration: no TOML, another section, or an entry that is incomplete.
    """
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadConfiguration(f"{where} is not valid TOML: {error}", hint="mend that line") from error
    entries = document.pop("waive", [])
    if document or not isinstance(entries, list):
        raise BadConfiguration(f"{where} holds something else than [[waive]]", hint="write [[waive]]")
    return tuple(_read_waiver(entry, f"{where}: [[waive]] {n}") for n, entry in enumerate(entries, 1))


def to_text(waiver: Waiver) -> str:
    """A waiver as a block of TOML, to be put behind what the file holds."""
    told = [f"{key} = {_quote_text(getattr(waiver, key))}" for key in _TEXTS]
    return "\n".join(["", "[[waive]]", *told, f"expires = {waiver.expires.isoformat()}", ""])


def select_unexpired(waivers: Iterable[Waiver], today: date) -> Mapping[str, Waiver]:
    """The waivers that have not expired, by the findings that they are for; of several the one that lasts."""
    good = sorted((w for w in waivers if w.expires >= today), key=lambda w: w.expires)
    return {waiver.finding: waiver for waiver in good}


def _read_waiver(entry: object, where: str) -> Waiver:
    told = entry if isinstance(entry, dict) else {}
    texts = [told.get(key) for key in _TEXTS]
    expires = told.get("expires")
    whole = all(isinstance(text, str) and text for text in texts) and told.keys() == {*_TEXTS, "expires"}
    if not whole or not isinstance(expires, date) or isinstance(expires, datetime):
        hint = f"it holds {', '.join(_TEXTS)} as texts, and expires as a day"
        raise BadConfiguration(f"{where} is incomplete or holds something else", hint=hint)
    finding, rule, table, reason, owner = map(str, texts)
    return Waiver(finding, rule, table, reason, owner, expires)


def _quote_text(text: str) -> str:
    """A TOML basic string. JSON's escapes are TOML's, but for the one character that only TOML escapes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
