"""One fact of a history beside the truth, and the reviewed list of those that no record can settle."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

Listed = tuple[str, str, str, str, str, bool]
"""Table, fact, where, what the history says, what was true, and whether the history claims what it says."""


@dataclass(frozen=True, slots=True, order=True)
class Judged:
    """What a version says of one fact, and what was so in the database at `where` (begin, end, both).

    `sure`: the history claims it; otherwise it says itself that nothing confirms it.
    """

    table: str
    version: int
    fact: str
    where: str
    says: str
    truth: str
    sure: bool = field(default=True, compare=False)

    @property
    def agrees(self) -> bool:
        """Whether it was so."""
        return self.says == self.truth

    @property
    def listed(self) -> Listed:
        """What an entry of the reviewed list says of it."""
        return self.table, self.fact, self.where, self.says, self.truth, self.sure

    def __str__(self) -> str:
        doubt = "" if self.sure else " (unconfirmed)"
        place = f"{self.table}@{self.version} {self.fact} at {self.where}"
        return f"{place}: says {self.says}, truth {self.truth}{doubt}"


def reviewed(path: Path) -> dict[tuple[Listed, int], str]:
    """The reviewed list of a run: each difference that a person looked at, and why both truths fit."""
    told = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {
        ((d["table"], d["fact"], d["where"], d["says"], d["truth"], d["claimed"]), version): d["reason"]
        for d in told.get("difference", ())
        for version in d["versions"]
    }


def bless_reviewed(path: Path, found: Iterable[Judged]) -> None:
    """Write the list anew; reasons already given stay, new entries have none and fail until they do."""
    known = reviewed(path)
    entries: dict[tuple[Listed, str], list[int]] = {}
    for d in sorted(found):
        reason = known.get((d.listed, d.version), "")
        entries.setdefault((d.listed, reason), []).append(d.version)
    head = "# Facts in which the history differs from the database, each with the reason why no record shows "
    head += "which is right.\n"
    path.write_text(
        head + "".join(_entry(*entry, versions) for entry, versions in entries.items()), encoding="utf-8"
    )


def _entry(listed: Listed, why: str, versions: list[int]) -> str:
    *texts, claimed = listed
    table, fact, where, says, truth, reason = (
        str(text).replace("\\", "\\\\").replace('"', '\\"') for text in (*texts, why)
    )
    return (
        f'\n[[difference]]\ntable = "{table}"\nversions = {versions}\nfact = "{fact}"\nwhere = "{where}"\n'
        f'says = "{says}"\ntruth = "{truth}"\nclaimed = {str(claimed).lower()}\nreason = "{reason}"\n'
    )
