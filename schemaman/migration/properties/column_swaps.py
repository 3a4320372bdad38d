"""What a table tells of columns that are being exchanged for others."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from schemaman.migration.plan import Refusal, words
from schemaman.migration.properties.names import RECIPE_PROPERTY
from schemaman.migration.target import Live
from schemaman.model.ddl import format_type, parse_type, quote_name
from schemaman.model.diff import Change, ChangeComment, ChangeKey, ChangeType, DropColumn, RenameColumn
from schemaman.model.types import Type

RESUME = (
    "finish that plan with `schemaman resume RUN`, or take it back with `schemaman plan --rollback RUN`: "
    "`schemaman status` names the run"
)
_GOES_ON = "`schemaman plan TABLE --recipe` goes on with the exchange, or gives it up; then plan again"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A column whose values move to another one: `new` takes the name of `column`, which is kept as `old`."""

    column: str
    new: str
    old: str
    was: Type
    type: Type


def under_way(live: Live) -> tuple[Exchange, ...]:
    """The exchanges that a table is in the midst of, as its own property tells."""
    return exchanges_in(live.properties)


def exchanges_in(properties: Mapping[str, str]) -> tuple[Exchange, ...]:
    """The exchanges that properties of a table tell of."""
    return tuple(
        Exchange(each["column"], each["new"], each["old"], parse_type(each["was"]), parse_type(each["type"]))
        for each in _told(properties, RECIPE_PROPERTY).get("exchanges", ())
    )


def phase_of(live: Live) -> str | None:
    """The phase of those exchanges that was begun last."""
    phase = _told(live.properties, RECIPE_PROPERTY).get("phase")
    return None if phase is None else str(phase)


def held_back(live: Live, change: Change) -> Refusal | None:
    """Why a change has to wait until an exchange is through: its column is to be found by name and type."""
    if isinstance(change, ChangeKey | ChangeComment):
        return None
    whole = len(change.path) == 1
    if not change.path or (whole and not isinstance(change, RenameColumn | DropColumn | ChangeType)):
        return None
    at = change.path[0].lower()
    e = next((e for e in under_way(live) if at in (e.column.lower(), e.new.lower())), None)
    if e is None:
        return None
    reason = f"{quote_name(e.column)} is being exchanged in phases for {quote_name(e.new)}"
    return Refusal(words(change), reason, _GOES_ON)


def recipe_text(phase: str, exchanges: Iterable[Exchange]) -> str:
    """Exchanges as the property keeps them."""
    listed = [
        {
            "column": e.column,
            "new": e.new,
            "old": e.old,
            "was": format_type(e.was),
            "type": format_type(e.type),
        }
        for e in exchanges
    ]
    told = {"phase": phase, "exchanges": listed}
    return json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def free_name(name: str, suffix: str, taken: Collection[str]) -> str:
    """`name__suffix`, with a number where another column has that name; Spark ignores case."""
    lowered = {each.lower() for each in taken}
    wanted, number = f"{name}__{suffix}", 1
    while wanted.lower() in lowered:
        number += 1
        wanted = f"{name}__{suffix}{number}"
    return wanted


def _told(properties: Mapping[str, str], key: str) -> dict[str, Any]:
    try:
        told = json.loads(properties.get(key, "{}"))
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
