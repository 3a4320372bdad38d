"""Tables that may be other ones under a new name, where the source states no rename: a question for people.

Laws: a pair is asked about only if neither table may belong to another pair. Nothing happens before the
answer. A table that moved to another schema and back is asked about, too: rows that it got there, or lost,
came under that name alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from shlex import quote

from schemaman.debezium.inference import NULL_ONLY
from schemaman.debezium.records import Coordinates
from schemaman.history.decisions import TableRename
from schemaman.history.open_questions import OpenQuestion, list_open_questions
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.name_adjustment import adjust_field


def list_table_questions(
    histories: Sequence[TableHistory], answers: Sequence[TableRename] = ()
) -> tuple[OpenQuestion, ...]:
    """Ask of each table that began with the structure of another one after whose last record it came.

    And of each table that may have had another schema for a time.

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
    exact = {pair[0].table for pair in pairs}, {pair[1].table for pair in pairs}
    pairs += [
        (old, new)
        for old, new in _list_adjusted_pairs(histories)
        if old.table not in exact[0] and new.table not in exact[1]
        if (str(old.table), str(new.table)) not in answered
    ]
    olds, news = Counter(old.table for old, _ in pairs), Counter(new.table for _, new in pairs)
    found = [
        _make_question(old, new, f"whether the table {old.table} became {new.table}")
        for old, new in pairs
        if olds[old.table] == news[new.table] == 1
    ]
    stays = [
        (there, home)
        for there in histories
        for home in histories
        if (str(there.table), str(home.table)) not in answered and _may_have_stayed(there, home)
    ]
    homes = Counter(there.table for there, _ in stays)
    found += [
        _make_question(there, home, f"whether the table {home.table} was {there.table} for a time")
        for there, home in stays
        if homes[there.table] == 1
    ]
    return tuple(found)


def _list_adjusted_pairs(histories: Sequence[TableHistory]) -> list[tuple[TableHistory, TableHistory]]:
    """List the pairs of which the later table has the columns of the earlier one under adjusted names.

    So it is where the connector was started again in between, and adjusts names since, as Avro needs them.
    No record shows then which characters the names have.
    """
    ends: dict[object, list[TableHistory]] = {}
    for history in histories:
        if history.versions:
            names = [c.emitted_name or c.name for c in history.latest.schema.columns]
            adjusted = _describe_columns(history.latest, [adjust_field(name, "avro") for name in names])
            ends.setdefault(adjusted, []).append(history)
    return [
        (old, new)
        for new in histories
        if new.versions
        for old in ends.get(_describe_columns(new.versions[0], new.versions[0].schema.names), ())
        if old.latest.schema.names != new.versions[0].schema.names and _may_be_renamed(old, new)
    ]


def _describe_columns(version: SchemaVersion, names: Sequence[str]) -> object:
    """The columns of a version under some names: their types, and which of them are the key."""
    schema = version.schema
    key = tuple(schema.names.index(name) for name in schema.key)
    return tuple(names), tuple(str(column.type) for column in schema.columns), key


def _make_question(old: TableHistory, new: TableHistory, what: str) -> OpenQuestion:
    names = f"{quote(str(old.table))} {quote(str(new.table))}"
    return OpenQuestion(
        str(new.table),
        what,
        (f"schemaman decide rename-table {names}",),
        f"schemaman decide not-rename-table {names}",
    )


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
    if not _may_be_one(old, new) or any(alias.kind == "table" for alias in new.aliases):
        return False
    return _is_before(old.last_record, new.versions[0].at)


def _may_be_one(old: TableHistory, new: TableHistory) -> bool:
    one, other = old.table, new.table
    if one == other or not old.versions or not new.versions or old.has_ended:
        return False
    return (one.stream, one.server, one.database) == (other.stream, other.server, other.database)


def _may_have_stayed(there: TableHistory, home: TableHistory) -> bool:
    """Whether one table may have had the schema of another one for a time, amid the life of that one.

    Both have one name, and the first columns of the stay are those of the table at home before it.
    """
    if there.table.table != home.table.table or not _may_be_one(there, home) or home.has_ended:
        return False
    began = there.versions[0]
    before = [v for v in home.versions if _is_before(v.at, began.at)]
    if not before or not _is_before(there.last_record, home.last_record):
        return False
    return len({v.incarnation for v in home.versions}) == 1 and _may_have_same_columns(before[-1], began)


def _may_have_same_columns(one: SchemaVersion, other: SchemaVersion) -> bool:
    """Whether columns are the same as far as documents show their types: a null has none."""
    return one.schema.names == other.schema.names and all(
        a.type == b.type or NULL_ONLY in (a.type, b.type)
        for a, b in zip(one.schema.columns, other.schema.columns, strict=True)
    )


def _is_before(one: Coordinates, other: Coordinates) -> bool:
    a, b = one.position, other.position
    return a.kind == b.kind != "none" and a.rank < b.rank
