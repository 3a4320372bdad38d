"""What tables show of their connector's settings, in a SQL store, so that no append has to ask all tables.

Law: after each append the verdicts are those that `epochs.decide` gives for all footprints of a server; an
append looks only at changes of form about which what it brought may decide otherwise, through indexes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    delete,
    exists,
    insert,
    not_,
    select,
    update,
)

from schemaman.debezium.records import Coordinates
from schemaman.history.epochs import (
    ChangeId,
    ConnectorSettingsShown,
    FormChange,
    FormInterval,
    Verdict,
    decide_changes,
)
from schemaman.model.schema import TableId
from schemaman.store import schema_json as structure_codec
from schemaman.store.sql.tables import FORM, FORM_CHANGE, format_table_key, parse_table_key, split_batches

_TIMES = ("since_ms", "after_ms", "at_ms", "until_ms")


@dataclass(frozen=True, slots=True)
class StoredChange:
    """A stored change of form of a table, with its decision."""

    table: str
    change: FormChange
    verdict: Verdict


def read_verdicts(
    connection: Connection, tables: Iterable[TableId]
) -> dict[TableId, dict[ChangeId, Verdict]]:
    """What has been decided about the changes of these tables."""
    found: dict[TableId, dict[ChangeId, Verdict]] = {}
    for one in _read_changes(connection, [format_table_key(t) for t in tables]):
        found.setdefault(parse_table_key(one.table), {})[one.change.id] = one.verdict
    return found


def update_settings(
    connection: Connection, settings: Mapping[TableId, ConnectorSettingsShown]
) -> tuple[TableId, ...]:
    """Keep the new connector settings of tables; return the tables whose changes are now decided differently.

    A table without known records has empty settings.
    """
    scopes: dict[str, dict[str, ConnectorSettingsShown]] = {}
    for table, shown in settings.items():
        scopes.setdefault(find_scope(table), {})[format_table_key(table)] = shown
    others: set[str] = set()
    for scope, tables_shown in scopes.items():
        others |= _Scope(connection, scope).update_tables(tables_shown)
    return tuple(sorted(parse_table_key(key) for key in others))


def clear_settings(connection: Connection) -> None:
    """Forget all of it."""
    connection.execute(delete(FORM))
    connection.execute(delete(FORM_CHANGE))


class StoredSettings:
    """All that is kept, to be compared with what the log gives."""

    def __init__(self, connection: Connection) -> None:
        self._form_intervals: dict[str, list[FormInterval]] = {}
        for row in connection.execute(select(FORM)):
            self._form_intervals.setdefault(row.table_key, []).append(
                FormInterval(row.form, row.first_ms, row.last_ms)
            )
        self._changes: dict[str, list[StoredChange]] = {}
        for row in connection.execute(select(FORM_CHANGE)):
            self._changes.setdefault(row.table_key, []).append(_read_change(row))
        self._scopes: dict[str, dict[str, ConnectorSettingsShown]] = {}

    def read_verdicts(self, table: TableId, settings: ConnectorSettingsShown) -> dict[ChangeId, Verdict]:
        """What is kept of the verdicts on a table, whose footprint is this one by the log."""
        key = format_table_key(table)
        if settings.changes or settings.form_intervals:
            self._scopes.setdefault(find_scope(table), {})[key] = settings
        return {c.change.id: c.verdict for c in self._changes.get(key, ())}

    def is_consistent(self) -> bool:
        """Whether it is what follows from the footprints of all tables that were asked for."""
        settings = {table: f for scope in self._scopes.values() for table, f in scope.items()}
        shown = {
            table: _sort_intervals(f.form_intervals) for table, f in settings.items() if f.form_intervals
        }
        decided = {t: v for scope in self._scopes.values() for t, v in decide_changes(scope).items()}
        changes = {
            table: [StoredChange(table, c, decided[table][c.id]) for c in _strip_changes(f)]
            for table, f in settings.items()
            if f.changes
        }
        stored = {table: _sort_changes(found) for table, found in self._changes.items()}
        return (shown, changes) == ({t: _sort_intervals(s) for t, s in self._form_intervals.items()}, stored)


def find_scope(table: TableId) -> str:
    """The stream and the server of a table, within which one connector has one setting."""
    return hashlib.sha256(structure_codec.encode_canonical([table.stream, table.server])).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class _Scope:
    """The tables of one server in one stream."""

    connection: Connection
    scope: str

    def update_tables(self, settings: Mapping[str, ConnectorSettingsShown]) -> set[str]:
        """Keep footprints, and decide again what they may change; the tables with other verdicts."""
        before = {key: dict[ChangeId, StoredChange]() for key in settings}
        for one in _read_changes(self.connection, [*settings]):
            before[one.table][one.change.id] = one
        parts = self.write_shown(settings)
        now = {key: {c.id: c for c in _strip_changes(settings[key])} for key in settings}
        changed = [
            k for k in settings if now[k] != {change_id: c.change for change_id, c in before[k].items()}
        ]
        self.write_changes({key: (before[key], now[key]) for key in changed})
        if not self.has_changes():
            return set()
        work = _VerdictWork(self)
        for key in changed:
            work.add_changes(key, before[key], now[key])
        for key, part in parts:
            for one in self.find_contradicted(key, part):
                work.add_change(one)
        return work.decide_verdicts()

    def write_shown(self, settings: Mapping[str, ConnectorSettingsShown]) -> list[tuple[str, FormInterval]]:
        """Write the forms that tables show; return each table with its added and removed intervals."""
        old: dict[str, set[FormInterval]] = {key: set() for key in settings}
        for keys in split_batches([*settings]):
            for row in self.connection.execute(select(FORM).where(FORM.c.table_key.in_(keys))):
                old[row.table_key].add(FormInterval(row.form, row.first_ms, row.last_ms))
        changed = {
            key: (old[key], set(settings[key].form_intervals))
            for key in settings
            if old[key] != set(settings[key].form_intervals)
        }
        for keys in split_batches([*changed]):
            self.connection.execute(delete(FORM).where(FORM.c.table_key.in_(keys)))
        rows = [
            {"scope": self.scope, "table_key": key, **asdict(s)}
            for key, (_, now) in changed.items()
            for s in _sort_intervals(now)
        ]
        if rows:
            self.connection.execute(insert(FORM), rows)
        return [(key, part) for key, (was, now) in changed.items() for part in _diff_intervals(was, now)]

    def write_changes(
        self, changed: Mapping[str, tuple[dict[ChangeId, StoredChange], dict[ChangeId, FormChange]]]
    ) -> None:
        """Write the changes of tables; what had been decided about one stays until it is decided again."""
        rows = [
            _make_row(self.scope, key, change, before[change_id].verdict if change_id in before else "open")
            for key, (before, now) in changed.items()
            for change_id, change in now.items()
        ]
        for keys in split_batches([*changed]):
            self.connection.execute(delete(FORM_CHANGE).where(FORM_CHANGE.c.table_key.in_(keys)))
        if rows:
            self.connection.execute(insert(FORM_CHANGE), rows)

    def has_changes(self) -> bool:
        """Whether there is anything to decide."""
        return bool(self.connection.scalar(select(exists().where(FORM_CHANGE.c.scope == self.scope))))

    def find_contradicted(self, table: str, part: FormInterval) -> Iterator[StoredChange]:
        """The changes of other tables that a form contradicts, or does no more, since it is shown there.

        Of two bounds the one is left to the index that finds next to nothing where many changed alike.
        """
        c = FORM_CHANGE.c
        behind = and_(c.was == part.form, c.at_ms <= part.last_ms, c.until_ms + 0 >= part.first_ms)
        before = and_(c.now == part.form, c.since_ms + 0 <= part.last_ms, c.after_ms >= part.first_ms)
        for where in (behind, before):
            query = select(FORM_CHANGE).where(c.scope == self.scope, where, c.table_key != table)
            yield from [_read_change(row) for row in self.connection.execute(query)]

    def find_affected(
        self, table: str, change: FormChange | None, other: FormChange | None, verdict: Verdict
    ) -> list[StoredChange]:
        """The decided changes that a change of a table confirms, and that its value in `other` did not.

        None means no change, or a contradicted change, which confirms nothing.
        """
        if change is None:
            return []
        c = FORM_CHANGE.c
        if other is None or _find_gap(change) != _find_gap(other):
            more = (
                _match_confirming(change)
                if other is None
                else and_(_match_confirming(change), not_(_match_confirming(other)))
            )
            where = and_(_match_rule(self.scope, change), c.verdict == verdict, more)
        elif other.since_ms <= change.since_ms and change.until_ms <= other.until_ms:
            return []
        else:
            # what is around the one and seconded by the other; left to the index that finds next to nothing
            around = and_(c.at_ms >= other.until_ms, c.after_ms + 0 <= other.since_ms)
            rule = and_(c.scope == self.scope, c.was == change.was, c.now + "" == change.now)
            where = and_(rule, c.verdict + "" == verdict, around, _match_apart(change))
        query = select(FORM_CHANGE).where(where, c.table_key != table)
        return [_read_change(row) for row in self.connection.execute(query)]

    def is_confirmed(self, table: str, change: FormChange) -> bool:
        """Whether another table that nothing contradicts changed so, too."""
        c = FORM_CHANGE.c
        rule = and_(_match_rule(self.scope, change), c.verdict.in_(("epoch", "open")))
        query = select(c.was).where(rule, _match_confirming(change), c.table_key != table).limit(1)
        return self.connection.execute(query).first() is not None

    def write_verdict(self, one: StoredChange, verdict: Verdict) -> None:
        """Keep what is decided about a change."""
        c, at = FORM_CHANGE.c, one.change.at
        here = and_(c.topic == at.topic, c.partition == at.partition, c.offset == at.offset)
        rule = and_(c.was == one.change.was, c.now == one.change.now)
        of_it = and_(c.scope == self.scope, c.table_key == one.table, here, rule)
        self.connection.execute(update(FORM_CHANGE).where(of_it).values(verdict=verdict))

    def is_old_form_kept(self, form: str, first: int, last: int, but: str) -> bool:
        """Whether another table shows a form between two times, after a change."""
        c = FORM.c
        meets = and_(c.last_ms >= first, c.first_ms + 0 <= last, c.table_key != but)
        return self._has_rows(select(c.form).where(c.scope == self.scope, c.form == form, meets))

    def is_new_form_earlier(self, form: str, first: int, last: int, but: str) -> bool:
        """Whether another table shows a form between two times, before a change."""
        c = FORM.c
        meets = and_(c.last_ms + 0 >= first, c.first_ms <= last, c.table_key != but)
        return self._has_rows(select(c.form).where(c.scope == self.scope, c.form == form, meets))

    def is_contradicted(self, one: StoredChange) -> bool:
        """Whether another table kept the old form, or had the new one before."""
        c = one.change
        return self.is_old_form_kept(c.was, c.at_ms, c.until_ms, one.table) or self.is_new_form_earlier(
            c.now, c.since_ms, c.after_ms, one.table
        )

    def _has_rows(self, query: Select[tuple[str]]) -> bool:
        return self.connection.execute(query.limit(1)).first() is not None


class _VerdictWork:
    """Changes that may be decided differently now, with their previous decision."""

    def __init__(self, scope: _Scope) -> None:
        self._scope = scope
        self._asked: dict[tuple[str, ChangeId], StoredChange] = {}
        self._before: dict[tuple[str, ChangeId], StoredChange] = {}
        """What is asked as it was kept; nothing of what is new."""
        self._dropped: list[StoredChange] = []
        self._first: dict[tuple[str, ChangeId], Verdict] = {}
        self._last: dict[tuple[str, ChangeId], Verdict] = {}

    def add_change(self, one: StoredChange) -> None:
        """Look whether it is contradicted now; what had been decided about it is known."""
        key = (one.table, one.change.id)
        if key not in self._asked:
            self._asked[key] = self._before[key] = one

    def add_changes(
        self, table: str, before: Mapping[ChangeId, StoredChange], now: Mapping[ChangeId, FormChange]
    ) -> None:
        """Add the changes of one table, with their previous and current values."""
        self._dropped += (known for change_id, known in before.items() if change_id not in now)
        for change_id, change in now.items():
            known = before.get(change_id)
            self._asked[table, change_id] = StoredChange(
                table, change, "open" if known is None else known.verdict
            )
            if known is not None:
                self._before[table, change_id] = known

    def decide_verdicts(self) -> set[str]:
        """Decide the contradicted changes, then those that others confirm; return affected tables."""
        found: list[StoredChange] = []
        seconding: list[tuple[str, FormChange | None, FormChange | None]] = [
            (one.table, _find_confirming(one), None) for one in self._dropped
        ]
        for key, one in self._asked.items():
            own = self._scope.is_contradicted(one)
            if own != (one.verdict == "own"):
                self._set_verdict(one, "own" if own else "open")
            if not own:
                found.append(replace(one, verdict="open") if one.verdict == "own" else one)
            seconding.append(
                (one.table, _find_confirming(self._before.get(key)), None if own else one.change)
            )
        for table, was, now in seconding:
            found += self._scope.find_affected(table, was, now, "epoch")
            found += self._scope.find_affected(table, now, was, "open")
        for one in {(o.table, o.change.id): o for o in reversed(found)}.values():
            verdict: Verdict = "epoch" if self._scope.is_confirmed(one.table, one.change) else "open"
            if verdict != one.verdict:
                self._set_verdict(one, verdict)
        return {key[0] for key, first in self._first.items() if first != self._last[key]}

    def _set_verdict(self, one: StoredChange, verdict: Verdict) -> None:
        key = (one.table, one.change.id)
        self._first.setdefault(key, one.verdict)
        self._last[key] = verdict
        self._scope.write_verdict(one, verdict)


def _find_confirming(one: StoredChange | None) -> FormChange | None:
    """What may second others."""
    return None if one is None or one.verdict == "own" else one.change


def _match_rule(scope: str, change: FormChange) -> ColumnElement[bool]:
    c = FORM_CHANGE.c
    return and_(c.scope == scope, c.was == change.was, c.now == change.now)


def _match_confirming(change: FormChange) -> ColumnElement[bool]:
    """The condition that a row and a change confirm each other, as in `FormChange.seconds`."""
    c = FORM_CHANGE.c
    return and_(c.after_ms <= change.at_ms, c.at_ms >= change.after_ms, _match_apart(change))


def _match_apart(change: FormChange) -> ColumnElement[bool]:
    """The condition that neither of a row and a change is within the other, as in `FormChange.within`."""
    c = FORM_CHANGE.c
    around = and_(c.after_ms <= change.since_ms, c.at_ms >= change.until_ms)
    inside = and_(c.since_ms >= change.after_ms, c.until_ms <= change.at_ms)
    return and_(not_(around), not_(inside))


def _find_gap(change: FormChange) -> tuple[int, int]:
    return (change.after_ms, change.at_ms)


def _diff_intervals(was: set[FormInterval], now: set[FormInterval]) -> Iterator[FormInterval]:
    """The intervals in which forms are shown at only one of two times."""
    ends = {(s.form, s.first_ms): s.last_ms for s in was}
    for one in now - was:
        end = ends.get((one.form, one.first_ms))
        grown = end is not None and end < one.last_ms
        yield FormInterval(one.form, end + 1, one.last_ms) if grown and end is not None else one
    begun = {(s.form, s.first_ms): s.last_ms for s in now}
    for one in was - now:
        if begun.get((one.form, one.first_ms), -1) < one.last_ms:
            yield one


def _read_changes(connection: Connection, tables: list[str]) -> list[StoredChange]:
    found: list[StoredChange] = []
    for keys in split_batches(tables):
        query = select(FORM_CHANGE).where(FORM_CHANGE.c.table_key.in_(keys))
        found += (_read_change(row) for row in connection.execute(query))
    return found


def _read_change(row: Row[tuple[object, ...]]) -> StoredChange:
    m = row._mapping
    at = Coordinates(m["topic"], m["partition"], m["offset"])
    change = FormChange((), m["was"], m["now"], at, *(m[name] for name in _TIMES))
    return StoredChange(m["table_key"], change, m["verdict"])


def _make_row(scope: str, table: str, change: FormChange, verdict: Verdict) -> dict[str, object]:
    at = change.at
    offset = {"topic": at.topic, "partition": at.partition, "offset": at.offset}
    times = {name: getattr(change, name) for name in _TIMES}
    forms = {"was": change.was, "now": change.now}
    return {"scope": scope, "table_key": table, **offset, **forms, **times, "verdict": verdict}


def _strip_change(change: FormChange) -> FormChange:
    at = Coordinates(change.at.topic, change.at.partition, change.at.offset)
    return FormChange((), change.was, change.now, at, *(getattr(change, name) for name in _TIMES))


def _strip_changes(settings: ConnectorSettingsShown) -> list[FormChange]:
    """The changes as they are kept: without their columns, in a fixed order."""
    return sorted(map(_strip_change, settings.changes), key=lambda c: c.id)


def _sort_intervals(shown: Iterable[FormInterval]) -> list[FormInterval]:
    return sorted(shown, key=lambda s: (s.form, s.first_ms, s.last_ms))


def _sort_changes(changes: Iterable[StoredChange]) -> list[StoredChange]:
    return sorted(changes, key=lambda c: c.change.id)
