"""Tables that may be other ones under a new name, where the source states no rename: a question for people.

Laws: a pair is asked about only if neither table may belong to another pair. Nothing happens before the
answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from shlex import quote

from schemaman.history.decisions import TableRename
from schemaman.history.open_questions import OpenQuestion, list_open_questions
from schemaman.history.versions import SchemaVersion, TableHistory


def list_table_questions(
    histories: Sequence[TableHistory], answers: Sequence[TableRename] = ()
) -> tuple[OpenQuestion, ...]:
    """Ask of each table that began with the structure of another one after whose last record it came.

    `histories` are with decisions; `answers` are those about tables.
    """
    answered = {(each.previous, each.table) for each in answers}
    ends: dict[str, list[TableHistory]] = {}
    for history in histories:
        for id in _list_last_ids(history):
            ends.setdefault(id, []).append(history)
    pairs = [
        (old, new)
        for new in histories
        if new.versions
        for old in ends.get(new.versions[0].id, ())
        if _may_be_renamed(old, new) and (str(old.table), str(new.table)) not in answered
    ]
    olds, news = Counter(old.table for old, _ in pairs), Counter(new.table for _, new in pairs)
    found = []
    for old, new in pairs:
        if olds[old.table] == news[new.table] == 1:
            names = f"{quote(str(old.table))} {quote(str(new.table))}"
            found.append(
                OpenQuestion(
                    str(new.table),
                    f"whether the table {old.table} became {new.table}",
                    (f"schemaman decide rename-table {names}",),
                    f"schemaman decide not-rename-table {names}",
                )
            )
    return tuple(found)


def list_questions(
    histories: Sequence[TableHistory], answers: Sequence[TableRename] = ()
) -> tuple[OpenQuestion, ...]:
    """List all questions about these tables: those of each table, then those about pairs of them.

    `histories` are with decisions; `answers` are those about tables.
    """
    own = (question for history in histories for question in list_open_questions(history))
    return (*own, *list_table_questions(histories, answers))


def _list_last_ids(history: TableHistory) -> frozenset[str]:
    """The ids of the last version, and of those before it that only facts which are read late tell apart.

    PostgreSQL's connector finds neither key nor NOT NULL of a table that has another name by then.
    """
    found: set[str] = set()
    for version in reversed(history.versions):
        found.add(version.id)
        if not version.unconfirmed or version.incarnation != history.latest.incarnation:
            break
        before = next((v for v in history.versions if v.number == version.number - 1), None)
        if before is None or not _has_same_columns(before, version):
            break
    return frozenset(found)


def _has_same_columns(one: SchemaVersion, other: SchemaVersion) -> bool:
    columns = ([(c.name, c.type) for c in v.schema.columns] for v in (one, other))
    return next(columns) == next(columns)


def _may_be_renamed(old: TableHistory, new: TableHistory) -> bool:
    """Whether a table began where another one of the same columns and key had no record any more."""
    if old.table == new.table or not old.versions or not new.versions or old.has_ended:
        return False
    if any(alias.kind == "table" for alias in new.aliases):
        return False
    one, other = old.table, new.table
    if (one.stream, one.server, one.database) != (other.stream, other.server, other.database):
        return False
    last, first = old.last_record.position, new.versions[0].at.position
    return last.kind == first.kind != "none" and last.rank < first.rank
