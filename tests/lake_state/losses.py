"""What the events of a recording do not tell of the rows that its database ended with.

A difference between a fold and the database is a loss of the events. `expected-losses.toml` has a line for
each, with its reason; one that is not there, and one that does not occur any more, is an error.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from tests.lake_state.cells import UNTOLD, Beyond, Cell
from tests.lake_state.fold import State, Table
from tests.lake_state.truth import Column, Structure, Truth

EXPECTED = Path(__file__).parent / "expected-losses.toml"

Found = tuple[str, str, str]
"""Table, what is lost, column: the identity of a loss."""


@dataclass(frozen=True, slots=True)
class Loss:
    """How often something is lost, and one example of it."""

    table: str
    what: str
    column: str
    count: int
    told: str = ""
    had: str = ""
    reason: str = ""

    @property
    def identity(self) -> Found:
        """What makes two losses one."""
        return self.table, self.what, self.column


@dataclass(slots=True)
class _Ledger:
    counts: Counter[Found] = field(default_factory=Counter)
    examples: dict[Found, tuple[str, str]] = field(default_factory=dict)

    def note(self, table: str, what: str, column: str = "", told: object = "", had: object = "") -> None:
        found = (table, what, column)
        self.counts[found] += 1
        self.examples.setdefault(found, (repr(told)[:60], repr(had)[:60]))


def losses(
    state: State, truth: Truth, database: Mapping[tuple[str, str], list[dict[str, Cell]]]
) -> list[Loss]:
    """What the database has and the events did not tell, or the other way round."""
    ledger = _Ledger()
    structures = {(t.space, t.name): t for t in truth.last.values()}
    told = {table.name: table for table in state.tables.values() if not table.ended}
    for name in sorted({*database, *told}):
        called = ".".join(name)
        if name not in told:
            if database[name]:
                ledger.note(called, "table-untold", had=f"{len(database[name])} rows")
        else:
            _structure(called, told[name], structures[name], ledger)
            _rows(called, told[name], structures[name], database[name], ledger)
    for table in state.tables.values():
        if table.ended:
            ledger.note(".".join(table.name), "table-ended", told=f"{len(table.rows)} rows")
    return [Loss(*found, count, *ledger.examples[found]) for found, count in sorted(ledger.counts.items())]


def expected(recording: str) -> list[Loss]:
    """The losses that are known of a recording, with their reasons."""
    lines = tomllib.loads(EXPECTED.read_text("utf-8"))["loss"]
    return [
        Loss(line["table"], line["what"], line.get("column", ""), line["count"], reason=line["reason"])
        for line in lines
        if recording in line["recordings"]
    ]


def _structure(called: str, told: Table, had: Structure, ledger: _Ledger) -> None:
    now = {c.id: c for c in had.columns}
    then = {c.id: c for c in told.columns}
    for id in now.keys() - then.keys():
        ledger.note(called, "column-untold", now[id].name, had=now[id].type)
    for id in then.keys() - now.keys():
        ledger.note(called, "column-gone", then[id].name, told=then[id].type)
    for id in now.keys() & then.keys():
        if (now[id].name, now[id].type) != (then[id].name, then[id].type):
            ledger.note(called, "column-changed", now[id].name, then[id], now[id])
    if told.key != had.called(had.key):
        ledger.note(called, "key-changed", "", told.key, had.called(had.key))


def _rows(
    called: str, table: Table, had: Structure, rows: Sequence[Mapping[str, Cell]], ledger: _Ledger
) -> None:
    columns = {c.id: c for c in had.columns}
    told = [{columns[id].name: v for id, v in row.ids.items() if id in columns} for row in table.rows]
    types = {c.name: c for c in had.columns}
    key = [name for name in had.called(had.key) if not any(is_random(row[name]) for row in rows)]
    for mine, theirs in _pairs(told, rows, key, types):
        if theirs is None:
            ledger.note(called, "row-gone", "", mine)
        elif mine is None:
            ledger.note(called, "row-untold", "", had=theirs)
        else:
            for name, value in theirs.items():
                if not is_same(mine.get(name, UNTOLD), value, types[name].type):
                    ledger.note(called, "cell", name, mine.get(name, UNTOLD), value)


Told = Mapping[str, Cell]


def _pairs(
    told: list[dict[str, Cell]], rows: Sequence[Told], key: Sequence[str], types: Mapping[str, Column]
) -> Iterator[tuple[Told | None, Told | None]]:
    """Rows that belong together: by key, and where a key was never told by all that was."""
    mine = list(told)
    for theirs in rows:
        same = [m for m in mine if key and all(n in m and m[n] == theirs[n] for n in key)]
        if not same:
            same = [
                m
                for m in mine
                if all(is_same(v, theirs[n], types[n].type) for n, v in m.items())
                or (not key and m.items() == theirs.items())
            ]
        if same:
            mine.remove(same[0])
        yield (same[0] if same else None), theirs
    for left in mine:
        yield left, None


def is_random(value: Cell) -> bool:
    """Whether a value is one that every run of the statements makes anew."""
    return isinstance(value, str) and bool(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-.*", value))


def is_same(told: Cell, had: Cell, type: str) -> bool:
    """Whether an event and the database mean the same, the moments of their runs aside."""
    if told == had and isinstance(told, bool) == isinstance(had, bool):
        return True
    if told is UNTOLD:  # a reader of the events has NULL there
        return had is None
    if told is None or had is None:
        return False
    if is_random(told) and is_random(had):
        return True
    match told, had:
        case datetime(), datetime():
            return _of_a_run(told) and _of_a_run(had)
        case date(), date():
            return _of_a_run(told) and _of_a_run(had)
        case float(), Decimal():
            return Decimal(repr(told)) == had
        case int(), str():  # a number that the database has turned into text since
            return str(told) == had
        case timedelta(), str():
            return _span(had) == (0, told)
        case str(), str() if type.startswith("interval"):
            return _span(told) == _span(had)
        case str(), dict():
            return bool(json.loads(told) == had)
        case dict(), dict():
            return had.items() <= told.items()
        case Beyond(), Beyond():
            return told.raw == had.raw
        case tuple(), tuple() if len(told) == len(had):
            return all(is_same(a, b, type) for a, b in zip(told, had, strict=True))
        case _:
            return False


_RECORDED = date(2026, 11, 21)


def _of_a_run(value: date) -> bool:
    """Whether a moment is one of the recording, or of a replay that runs now."""
    day = value.date() if isinstance(value, datetime) else value
    return day == _RECORDED or abs(day - datetime.now(UTC).date()) <= timedelta(days=1)


def _span(text: str) -> tuple[int, timedelta] | None:
    """Months, and the rest, of a span in ISO 8601."""
    day = r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?"
    found = re.fullmatch(day + r"(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+)(?:\.(\d+))?S)?)?", text)
    if not found:
        return None
    years, months, days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[:6])
    micros = int((found[7] or "").ljust(6, "0"))
    rest = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=micros)
    return 12 * years + months, rest
