"""Encoding epochs: how a connector wrote events, and since when, apart from what the tables were.

Law: what is decided about a change of form depends on the footprints of all tables of one server, not on
their order; a table whose form never changed is asked for nothing else than which forms it shows. What one
table under two names may have shown never counts as two.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import Literal

from schemaman.debezium.records import Coordinates
from schemaman.model.types import Type

Verdict = Literal["epoch", "own", "open"]
"""Of a change of form: another table changed so at that time; another one kept the old form; neither."""

ChangeId = tuple[str, int, int, str, str]
"""Topic, partition and offset of the first record of a new form, the old form and the new one."""
Verdicts = Mapping[ChangeId, Verdict]
UNDECIDED: Verdicts = MappingProxyType({})
FormRule = tuple[str, str]
"""The old and the new form."""
FormQuery = Callable[[str, int, int, str], bool]
"""Whether a form is shown between two moments by any table but one: form, first, last, that table."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """A period in which a connector encodes the events of a table in one way, from `at` on.

    `number` counts from 1 in each table. The epoch began after `after` (None: nothing earlier is known) and
    no later than `at`. `changes` describe the changed encoding; empty if a new release changes nothing.
    """

    number: int
    connector: str
    connector_version: str
    after: Coordinates | None
    at: Coordinates
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EventField:
    """A field that is not as its `column` is; `name` and `type` are None if no event has it."""

    column: str
    name: str | None
    type: Type | None


@dataclass(frozen=True, slots=True)
class EventSchema:
    """The event schema of a version from `at` on, in the epoch with that number; only differing fields."""

    epoch: int
    at: Coordinates
    fields: tuple[EventField, ...] = ()


@dataclass(frozen=True, slots=True)
class FormChange:
    """Columns that took another form at once, which a setting of the connector may explain.

    The old form was shown from `since_ms` to `after_ms`, the new one from `at_ms`, where `at` is its first
    record, to `until_ms`. Times are those of reading, epoch milliseconds.
    """

    columns: tuple[str, ...]
    was: str
    now: str
    at: Coordinates
    since_ms: int
    after_ms: int
    at_ms: int
    until_ms: int

    @property
    def id(self) -> ChangeId:
        """What names the change, however the times around it become known."""
        return (self.at.topic, self.at.partition, self.at.offset, self.was, self.now)

    @property
    def rule(self) -> FormRule:
        """The forms, without the columns."""
        return (self.was, self.now)

    def is_confirming(self, other: FormChange) -> bool:
        """Whether another table's change by the same rule and at the same time confirms this one.

        Records show a table that is renamed and renamed back as two tables. Then all facts under one name are
        in the interval without facts under the other name, and do not confirm each other.
        """
        meet = self.after_ms <= other.at_ms and other.after_ms <= self.at_ms
        return meet and not self.is_within(other) and not other.is_within(self)

    def is_within(self, other: FormChange) -> bool:
        """Whether all evidence of the change is between the two forms of another change."""
        return other.after_ms <= self.since_ms and self.until_ms <= other.at_ms


@dataclass(frozen=True, slots=True)
class FormInterval:
    """A form that only one setting writes, and the interval in which a table showed it without a break."""

    form: str
    first_ms: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class ConnectorSettingsShown:
    """What one table shows of its connector's settings."""

    changes: tuple[FormChange, ...] = ()
    form_intervals: tuple[FormInterval, ...] = ()


NO_SETTINGS_SHOWN = ConnectorSettingsShown()


def decide_changes(settings: Mapping[str, ConnectorSettingsShown]) -> dict[str, dict[ChangeId, Verdict]]:
    """Decide each change of form of the tables of one server, by table.

    A setting changes the form of all columns of a kind at one moment. So a change is no epoch where another
    table kept the old form, or had the new one before; and it is one where another table changed so, too,
    both may have changed at the same moment, and are not one that had another name for a time.
    """
    forms: dict[str, list[tuple[int, int, str]]] = {}
    for table, shown_settings in settings.items():
        for one in shown_settings.form_intervals:
            forms.setdefault(one.form, []).append((one.first_ms, one.last_ms, table))
    intervals = {form: _Intervals(found) for form, found in forms.items()}
    nothing = _Intervals(())

    def shows(form: str, first: int, last: int, but: str) -> bool:
        return intervals.get(form, nothing).has_overlap(first, last, but)

    changes = [(table, change) for table, f in settings.items() for change in f.changes]
    decided: dict[str, dict[ChangeId, Verdict]] = {}
    for (table, change), verdict in zip(changes, reach_verdicts(changes, shows), strict=True):
        decided.setdefault(table, {})[change.id] = verdict
    return decided


def reach_verdicts(changes: Sequence[tuple[str, FormChange]], shows: FormQuery) -> list[Verdict]:
    """What is decided about changes, each with its table; all of one rule have to be there."""
    own = [is_contradicted(table, change, shows) for table, change in changes]
    rules: dict[FormRule, list[tuple[str, FormChange]]] = {}
    for (table, change), refuted in zip(changes, own, strict=True):
        if not refuted:
            rules.setdefault(change.rule, []).append((table, change))
    moments = {rule: _Moments(found) for rule, found in rules.items()}
    return [
        "own" if refuted
        else "epoch" if moments[change.rule].has_confirming(table, change)
        else "open"
        for (table, change), refuted in zip(changes, own, strict=True)
    ]  # fmt: skip


def is_contradicted(table: str, change: FormChange, shows: FormQuery) -> bool:
    """Whether another table kept the old form after the change, or had the new form before it."""
    return shows(change.was, change.at_ms, change.until_ms, table) or shows(
        change.now, change.since_ms, change.after_ms, table
    )


class _Intervals:
    """Closed intervals of tables: whether any but one table's own meets another interval."""

    def __init__(self, intervals: Iterable[tuple[int, int, str]]) -> None:
        ordered = sorted(intervals)
        self._firsts = [first for first, _, _ in ordered]
        self._latest: list[tuple[tuple[int, str], int]] = []
        """Up to each interval: the greatest end with its table, and the greatest end of any other table."""
        best, other = (-1, ""), -1
        for _, last, table in ordered:
            if table == best[1]:
                best = (max(best[0], last), table)
            elif last > best[0]:
                best, other = (last, table), best[0]
            else:
                other = max(other, last)
            self._latest.append((best, other))

    def has_overlap(self, first: int, last: int, but: str) -> bool:
        """Whether an interval of another table has a moment in common with this one."""
        index = bisect_right(self._firsts, last) - 1
        if index < 0:
            return False
        (latest, table), other = self._latest[index]
        return (other if table == but else latest) >= first


class _Moments:
    """Changes of tables by one rule: whether one of another table seconds a change.

    The change with the nearest beginning is examined first; it mostly decides, so no other is examined.
    """

    def __init__(self, changes: Iterable[tuple[str, FormChange]]) -> None:
        alike: dict[tuple[int, int, int, int], tuple[FormChange, set[str]]] = {}
        for table, one in changes:
            times = (one.after_ms, one.at_ms, one.since_ms, one.until_ms)
            alike.setdefault(times, (one, set()))[1].add(table)
        self._ordered = [alike[times] for times in sorted(alike)]
        self._after = [one.after_ms for one, _ in self._ordered]
        self._latest = [*accumulate((one.at_ms for one, _ in self._ordered), max)]
        """Up to each: the last moment at which any of them may have been."""

    def has_confirming(self, table: str, change: FormChange) -> bool:
        """Whether a change of another table seconds this one."""
        for index in range(bisect_right(self._after, change.at_ms) - 1, -1, -1):
            if self._latest[index] < change.after_ms:
                return False
            one, tables = self._ordered[index]
            if one.is_confirming(change) and (len(tables) > 1 or table not in tables):
                return True
        return False
