"""Suspected renames without an answer, in tables that go on meanwhile: each as a drop and an addition.

Law: the question stays in the history. An answer may come at any time, since both columns keep their values.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import pairwise

from schemaman.history.open_questions import ask_exchange, ask_rename
from schemaman.history.rename_detection import is_handed_on
from schemaman.history.struct_fields import Question, format_path, list_field_questions
from schemaman.history.versions import (
    NestedFieldAnswer,
    RenameCandidate,
    SchemaVersion,
    TableHistory,
    find_perhaps_made_anew,
    replace_ids,
)

_OPEN = "it is not decided"


def treat_as_additions(history: TableHistory) -> TableHistory:
    """The history in which each suspected rename is a drop and an addition; proven ones stay candidates.

    The same holds for nested fields, of which no rename is ever proven.

    A suspected rename stays a question where the table may have been made anew with a key: its rows are then
    of two tables. A log has the changes of both, each value in a column of its own. A name that may have been
    handed on is that of another column from then on: else it would have the values of two columns.
    """
    fields = _list_fields(history)
    if not fields and not any(_list_suspected(version) for version in history.versions):
        return history
    doubtful = _list_doubtful(history)
    history = _separate_handed_on(history, doubtful)
    versions = (
        v
        if v.number in doubtful
        else replace(
            v,
            candidates=tuple(c for c in v.candidates if c.grade == "proven"),
            field_answers=(
                *v.field_answers,
                *(NestedFieldAnswer(*pair, same=False) for pair in fields.get(v.number, ())),
            ),
        )
        for v in history.versions
    )
    return replace(history, versions=tuple(versions))


def describe_open_renames(history: TableHistory) -> tuple[str, ...]:
    """Describe the suspected renames of the newest incarnation, each with the commands that answer it."""
    doubtful = _list_doubtful(history)
    incarnation = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    renames = [
        f"{_OPEN} {ask_rename(history, v, c).text}: both columns are kept, and `schemaman decide "
        f"rename {history.table}@{v.number} {c.old} {c.new}`, or not-rename, answers it"
        for v in incarnation
        if v.number not in doubtful
        for c in _list_suspected(v)
    ]
    fields = [
        f"{_OPEN} whether {old} became {new}: both are kept, and `schemaman decide rename "
        f"{history.table}@{number} {old} {new}`, or not-rename, answers it"
        for number, pairs in _list_fields(history).items()
        if number not in doubtful and any(v.number == number for v in incarnation)
        for old, new in (map(format_path, pair) for pair in pairs)
    ]
    exchanges = [
        f"{_OPEN} {question.text}: the earlier columns are kept under other names; "
        f"`{'` and `'.join(question.commands)}` state an exchange"
        for before, v in pairwise(incarnation)
        for question in ask_exchange(history, before, v)
    ]
    return (*renames, *fields, *exchanges)


def _list_doubtful(history: TableHistory) -> frozenset[int]:
    """The numbers of versions with a key that may be those of another table."""
    keyed = {v.number for v in history.versions if v.schema.key}
    return find_perhaps_made_anew(history) & keyed


def _list_fields(history: TableHistory) -> Mapping[int, tuple[Question, ...]]:
    """The nested fields that may have been renamed, by the number of the version after the step."""
    found = {
        after.number: list_field_questions(before, after)
        for before, after in pairwise(history.versions)
        if before.incarnation == after.incarnation
    }
    return {number: pairs for number, pairs in found.items() if pairs}


def _list_suspected(version: SchemaVersion) -> tuple[RenameCandidate, ...]:
    return tuple(c for c in version.candidates if c.grade != "proven")


def _separate_handed_on(history: TableHistory, doubtful: Collection[int]) -> TableHistory:
    """The history in which each name that may have been handed on is that of a new column from then on."""
    versions = list(history.versions)
    fresh = 1 + max((c.id or 0 for v in versions for c in v.schema.columns), default=0)
    for index in range(1, len(versions)):
        before, after = versions[index - 1 : index + 1]
        names = {c.new for c in _list_suspected(after) if is_handed_on(c, before.schema, after.schema)}
        if not names or after.number in doubtful:
            continue
        handed_on = [c.id for c in after.schema.columns if c.name in names]
        ids = dict(zip(handed_on, range(fresh, fresh + len(handed_on)), strict=True))
        fresh += len(handed_on)
        later = [v.incarnation == after.incarnation for v in versions[index:]]
        versions[index:] = [
            replace_ids(v, ids) if own else v for v, own in zip(versions[index:], later, strict=True)
        ]
    return replace(history, versions=tuple(versions))
