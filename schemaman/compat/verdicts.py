"""The readers that a change may break, how bad that is for each, and the levels that protect some of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Reader = Literal["avro-backward", "avro-forward", "spark", "delta", "iceberg", "sql", "merge-key"]
READERS: tuple[Reader, ...] = (
    "avro-backward", "avro-forward", "spark", "delta", "iceberg", "sql", "merge-key",
)  # fmt: skip
Verdict = Literal["break", "danger", "note"]
Verdicts = Mapping[Reader, Verdict]
Severity = Literal["break", "danger", "note", "off"]
SEVERITIES: tuple[Severity, ...] = ("off", "note", "danger", "break")
"""From the mildest to the worst."""


@dataclass(frozen=True, slots=True)
class Level:
    """A compatibility level of Avro's registries: the readers it protects, and against which versions."""

    readers: tuple[Reader, ...]
    transitive: bool = False


LEVELS: Mapping[str, Level] = {
    "NONE": Level(()),
    "BACKWARD": Level(("avro-backward",)),
    "BACKWARD_TRANSITIVE": Level(("avro-backward",), transitive=True),
    "FORWARD": Level(("avro-forward",)),
    "FORWARD_TRANSITIVE": Level(("avro-forward",), transitive=True),
    "FULL": Level(("avro-backward", "avro-forward")),
    "FULL_TRANSITIVE": Level(("avro-backward", "avro-forward"), transitive=True),
}
"""The seven levels. Source: Confluent CompatibilityLevel."""

_LETTERS: dict[str, Verdict] = {"B": "break", "D": "danger", "N": "note"}


def parse_verdicts(letters: str) -> Verdicts:
    """Parses the verdicts of the seven readers in their order: B break, D danger, N note, `·` none."""
    row = zip(READERS, letters.split(), strict=True)
    return {reader: _LETTERS[letter] for reader, letter in row if letter != "·"}


def cap_verdicts(verdict: Verdict, verdicts: Verdicts) -> Verdicts:
    """Returns the verdicts with each worse one reduced to `verdict`."""
    top = SEVERITIES.index(verdict)
    return {r: verdict if SEVERITIES.index(v) > top else v for r, v in verdicts.items()}
