"""A lake table held against the state that its source's events tell: cell by cell, and nothing is forgiven.

`compare(expected, rows, shape)` gives every difference: `key`, `column-missing`, `type`, `row-missing`,
`row-surplus`, `row-twice`, `cell`. What a cell must be follows from the lake's type: a number is a number,
text of a TIME is read as a time, a NULL is never a value, a placeholder never one either.

Sources: Spark SQL documentation, "Data Types"; what each type becomes in Python is Arrow's `to_pylist`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import TypeGuard

from tests.lake_state.cells import UNTOLD, Beyond, Cell
from tests.lake_state.fold import Row, Table
from tests.lake_state.lake_types import holds, inside

Lake = Mapping[str, object]
"""A row of the lake: column → value as Arrow's `to_pylist` gives it."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a lake table is: its columns with their types in Spark's words, and its key.

    `own`: columns that the writer added. `deleted`: of those the one that marks a deleted row. `place` and
    `op`: of a table without a key, the columns of the record's topic, partition and offset, and of what was
    done.
    """

    columns: Mapping[str, str]
    key: tuple[str, ...]
    own: frozenset[str] = frozenset()
    deleted: str | None = None
    place: tuple[str, str, str] | None = None
    op: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as the events tell it."""

    table: str
    what: str
    column: str = ""
    row: str = ""
    told: str = ""
    there: str = ""

    def __str__(self) -> str:
        where = ".".join(part for part in (self.table, self.column) if part)
        return f"{where}: {self.what} {self.row} told {self.told} there {self.there}"


@dataclass(slots=True)
class _Findings:
    table: str
    found: list[Difference] = field(default_factory=list)

    def note(
        self, what: str, column: str = "", row: object = "", told: object = "", there: object = ""
    ) -> None:
        texts = (repr(part)[:200] if part != "" else "" for part in (row, told, there))
        self.found.append(Difference(self.table, what, column, *texts))


def compare(expected: Table, rows: Iterable[Lake], shape: Shape) -> list[Difference]:
    """Everything in which a lake table differs from the expected one."""
    findings = _Findings(".".join(expected.name))
    names = _lake_names(expected, shape)
    for column in expected.columns:
        there = names.get(column.name)
        if there is None:
            if not column.generated and any(column.name in row.cells for row in expected.rows):
                findings.note("column-missing", column.name)
        elif not holds(shape.columns[there], column.type):
            findings.note("type", column.name, "", column.type, shape.columns[there])
    keys = [{names.get(name, name) for name in key} for key in (expected.key, expected.told_key)]
    if set(shape.key) not in keys[: 2 if expected.told_key else 1]:
        findings.note("key", "", "", expected.key, shape.key)
    match = _Match(names, _left_names(expected, shape, names))
    if shape.place is not None:
        _appended(expected, list(rows), shape, match, findings)
    else:
        left = [row for row in rows if not (shape.deleted and row[shape.deleted])]
        _rows(expected, left, shape, match, findings)
    return findings.found


@dataclass(frozen=True, slots=True)
class _Match:
    """Which column of the lake is which of the source: of those that it has, and of those that are gone."""

    live: Mapping[str, str]
    left: Mapping[str, str]


def _lake_names(expected: Table, shape: Shape) -> dict[str, str]:
    """The source's names of columns → the lake's: their own, or one that the connector wrote, in any case."""
    there = {name.lower(): name for name in shape.columns if name not in shape.own}
    wanted = {c.name: (c.name, *expected.spellings.get(c.name, ())) for c in expected.columns}
    return assigned(wanted, there)


def _left_names(expected: Table, shape: Shape, live: Mapping[str, str]) -> dict[str, str]:
    """The same for columns that are gone, among those of the lake that are none of the source's."""
    taken = {*live.values(), *shape.own}
    there = {name.lower(): name for name in shape.columns if name not in taken}
    gone = {name for row in expected.rows for name in row.left}
    spelled = {n: (n, *expected.left_spellings.get(n, ()), *expected.spellings.get(n, ())) for n in gone}
    return assigned(spelled, there)


def assigned(wanted: Mapping[str, Sequence[str]], there: Mapping[str, str]) -> dict[str, str]:
    """As many as there can be, no two to one: a misread name may be the right one of another column."""
    owner: dict[str, str] = {}

    def settle(name: str, tried: set[str]) -> bool:
        for spelling in wanted[name]:
            place = spelling.lower()
            if place in there and place not in tried:
                tried.add(place)
                if place not in owner or settle(owner[place], tried):
                    owner[place] = name
                    return True
        return False

    for name in wanted:
        settle(name, set())
    return {name: there[place] for place, name in owner.items()}


def _rows(expected: Table, rows: Sequence[Lake], shape: Shape, match: _Match, findings: _Findings) -> None:
    """Rows by the lake's key; without one every row counts, as often as it is there."""
    names = match.live
    key = [n for n in names if names[n] in shape.key]
    by_key: dict[tuple[str, ...], list[Lake]] = {}
    for row in rows:
        by_key.setdefault(tuple(_plain(row[names[n]]) for n in key), []).append(row)
    for told in expected.rows:
        same = by_key.get(tuple(_plain(told.cells.get(n)) for n in key), [])
        best = min(same, key=lambda row: _distance(told, row, shape, match), default=None)
        if best is None:
            findings.note("row-missing", "", _key_text(told, key))
            continue
        same.remove(best)
        _cells(told, best, shape, match, findings, _key_text(told, key))
    counted = Counter({keys: len(left) for keys, left in by_key.items()})
    told_keys = {tuple(_plain(t.cells.get(n)) for n in key) for t in expected.rows}
    for keys, count in counted.items():
        for _ in range(count):
            findings.note("row-twice" if keys in told_keys and shape.key else "row-surplus", "", keys)


def _key_text(told: Row, key: Sequence[str]) -> dict[str, Cell]:
    return {n: told.cells.get(n) for n in key} or told.cells


def _distance(told: Row, row: Lake, shape: Shape, match: _Match) -> int:
    scratch = _Findings("")
    _cells(told, row, shape, match, scratch, "")
    return len(scratch.found)


def _cells(told: Row, row: Lake, shape: Shape, match: _Match, findings: _Findings, key: object) -> None:
    live = {there: name for name, there in match.live.items()}
    gone = {there: name for name, there in match.left.items()}
    for there, type in shape.columns.items():
        if there in shape.own:
            continue
        value = row[there]
        wanted: Cell = None
        good = value is None
        if live.get(there) in told.cells:
            wanted = told.cells[live[there]]
            good = is_same(wanted, value, type)
        elif live.get(there) in told.idle:
            wanted = told.idle[live[there]]
            good = value is None or is_same(wanted, value, type)
        elif gone.get(there) in told.left:
            name = gone[there]
            wanted = told.left[name]
            known = [v for spelling, v in told.left_as.get(name, {}).items() if spelling == there]
            good = any(is_same(each, value, type) for each in (wanted, *known))
            good = good or (name in told.touched and value is None)
        if not good:
            findings.note("cell", there, key, wanted, value)


def _appended(
    expected: Table, rows: Sequence[Lake], shape: Shape, match: _Match, findings: _Findings
) -> None:
    """A table without a key: a row for each record that was told."""
    assert shape.place is not None
    there = Counter(tuple(row[column] for column in shape.place) for row in rows)
    for place, count in there.items():
        if count > 1:
            findings.note("row-twice", "", place)
    by_place = {tuple(row[column] for column in shape.place): row for row in rows}
    told = {change.place: change for change in expected.appended}
    for place, change in told.items():
        row = by_place.pop(place, None)
        if row is None:
            findings.note("row-missing", "", place, change.op)
            continue
        if shape.op and row[shape.op] != change.op:
            findings.note("cell", shape.op, place, change.op, row[shape.op])
        image = (change.before if change.op == "d" else change.after) or {}
        by_time = _Findings("")
        _cells(Row(dict(change.sent), place), row, shape, match, by_time, place)
        by_end = _Findings(findings.table)
        _cells(Row(dict(image), place), row, shape, match, by_end, place)
        # A log is what records said: a cell may be called as then, or as the table calls it since.
        wrong = {found.column for found in by_time.found}
        findings.found += [found for found in by_end.found if not change.sent or found.column in wrong]
    for place in by_place:
        findings.note("row-surplus", "", place)


def _plain(value: object) -> str:
    """A value of a key so that equal ones are equal text, whichever side they are from."""
    match value:
        case bool():
            return repr(value)
        case int() | Decimal():
            return f"{Decimal(value).normalize():f}"
        case datetime() if value.tzinfo:
            return value.astimezone(UTC).isoformat()
        case timedelta():
            return repr(value)
        case str() if (span := _clock(value)) is not None:
            return repr(span)
        case _:
            return repr(value)


@dataclass(frozen=True, slots=True)
class Held:
    """A value whose type is not that of its column, as a view shows the parts of a split column."""

    value: object
    type: str


def is_same(told: Cell, there: object, type: str) -> bool:
    """Whether a value of a lake type is what the events told; what nobody told is nothing a lake may have."""
    if isinstance(there, Held):
        return is_same(told, there.value, there.type)
    if told is UNTOLD:
        return False
    if told is None or there is None:
        return told is None and there is None
    word = re.split(r"[(<]", type.upper())[0].strip()
    check = _CHECKS.get(word)
    return check is not None and check(told, there, type)


def _boolean(told: Cell, there: object, type: str) -> bool:
    return isinstance(told, bool) and told is there


def _is_number(value: object) -> TypeGuard[int | Decimal]:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _number(told: Cell, there: object, type: str) -> bool:
    if isinstance(told, bool):  # a BIT(1) that became a number at the source: its old values are 0 and 1
        return _is_number(there) and int(told) == there
    return _is_number(told) and _is_number(there) and Decimal(told) == Decimal(there)


def _floating(told: Cell, there: object, type: str) -> bool:
    if isinstance(there, int) and not isinstance(there, bool):
        there = float(there)  # a lake in memory has the number from before its column became binary
    if not isinstance(there, float) or isinstance(told, bool):
        return False
    if isinstance(told, float):
        return told == there or (told != told and there != there)
    return isinstance(told, int | Decimal) and Decimal(there) == Decimal(told)


def _binary(told: Cell, there: object, type: str) -> bool:
    return isinstance(told, bytes) and told == there


def _date(told: Cell, there: object, type: str) -> bool:
    plain = not isinstance(told, datetime) and not isinstance(there, datetime)
    return plain and isinstance(told, date) and told == there


def _moment(zoned: bool) -> Callable[[Cell, object, str], bool]:
    def check(told: Cell, there: object, type: str) -> bool:
        if not isinstance(there, datetime):
            return False
        if isinstance(told, date) and not isinstance(told, datetime):
            told = datetime(told.year, told.month, told.day)  # noqa: DTZ001 – a day that became a wall clock's
        if not isinstance(told, datetime):
            return False
        return (told.tzinfo is not None) == zoned == (there.tzinfo is not None) and told == there

    return check


def _array(told: Cell, there: object, type: str) -> bool:
    if not isinstance(told, tuple) or not isinstance(there, list) or len(told) != len(there):
        return False
    element = inside(type)
    return all(is_same(a, b, element) for a, b in zip(told, there, strict=True))


def _map(told: Cell, there: object, type: str) -> bool:
    pairs = dict(there) if isinstance(there, list | dict) else None
    return isinstance(told, dict) and pairs is not None and told == pairs


def _struct(told: Cell, there: object, type: str) -> bool:
    if not isinstance(told, dict) or not isinstance(there, dict) or told.keys() != there.keys():
        return False
    return all(a == there[name] for name, a in told.items())


def _text(told: Cell, there: object, type: str) -> bool:
    """Text: what was text must be the very same, everything else must be read back exactly."""
    if not isinstance(there, str):
        return False
    match told:
        case str():
            return told == there
        case bool():
            return False
        case float():
            return _floating(told, _float(there), type)
        case int() | Decimal():
            try:
                return Decimal(there) == Decimal(told)
            except InvalidOperation:
                return False
        case timedelta():
            return _clock(there) == told or _span(there) == told
        case datetime():
            return _moment_of(there) == told
        case date():
            return there == told.isoformat()
        case dict() | tuple():
            return _is_document(told, _parse(there))
        case Beyond():
            return str(told.raw) == there or _is_beyond(told, there)
        case _:
            return False


def _is_document(told: Cell, there: object) -> bool:
    """Whether a document of JSON holds what was told; a day or moment that Python cannot hold is text."""
    match told, there:
        case tuple(), list():
            return len(told) == len(there) and all(map(_is_document, told, there))
        case Beyond(), str():
            return _is_beyond(told, there)
        case _:
            return bool(there == json.loads(json.dumps(told, default=str)))


def _is_beyond(told: Beyond, there: str) -> bool:
    if told.raw in _INFINITE:
        return there.removeprefix("-") == "infinity"
    return told.what == "date" and isinstance(told.raw, int) and there == _spell_day(told.raw)


def _spell_day(days: int) -> str:
    """A day since 1970 in ISO 8601, whatever its year; the calendar repeats itself every 146097 days."""
    cycles, rest = divmod(days, 146_097)
    day = date(1970, 1, 1) + timedelta(days=rest)
    year = day.year + 400 * cycles
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{day:%m-%d}"


def _float(text: str) -> float | None:
    """The number that a text spells, if it spells one."""
    try:
        return float(text)
    except ValueError:
        return None


def _moment_of(text: str) -> datetime | None:
    """The moment that a text spells; one without a zone is equal to none that has one."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _parse(text: str) -> object:
    """The document that a text spells; a text that spells none is equal to no list or struct."""
    try:
        return json.loads(text)
    except ValueError:
        return None


_INFINITE = {
    9223372036825200000, 9223372036854775807, -9223372036832400000, -622191234,
    9223372036825200, -9223372036832400, "-292275055-05-16T23:00:00Z",
}  # fmt: skip
"""How infinity travels. Source: pgjdbc `PGStatement.DATE_POSITIVE_INFINITY`, and what 1.4 to 3.6 sent."""

_CHECKS: dict[str, Callable[[Cell, object, str], bool]] = {
    "BOOLEAN": _boolean,
    "TINYINT": _number,
    "SMALLINT": _number,
    "INT": _number,
    "BIGINT": _number,
    "DECIMAL": _number,
    "FLOAT": _floating,
    "DOUBLE": _floating,
    "BINARY": _binary,
    "DATE": _date,
    "TIMESTAMP": _moment(zoned=True),
    "TIMESTAMP_NTZ": _moment(zoned=False),
    "ARRAY": _array,
    "MAP": _map,
    "STRUCT": _struct,
    "STRING": _text,
}


def _clock(text: str) -> timedelta | None:
    found = re.fullmatch(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?", text)
    if not found:
        return None
    sign, hours, minutes, seconds, parts = found.groups()
    micros = int((parts or "").ljust(6, "0"))
    whole = timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds), microseconds=micros)
    return -whole if sign else whole


def _span(text: str) -> timedelta | None:
    number = r"(-?\d+(?:\.\d+)?)"
    found = re.fullmatch(rf"(-?)P(?:{number}D)?(?:T(?:{number}H)?(?:{number}M)?(?:{number}S)?)?", text)
    if not found:
        return None
    days, hours, minutes, seconds = (Decimal(part or 0) for part in found.groups()[1:])
    micros = int((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000)
    return timedelta(microseconds=-micros if found[1] else micros)
