"""The questions of a table that only people can answer, each with the command that settles it.

Law: a question is listed until each command of it has been given, or one that contradicts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from shlex import quote

from schemaman.history.column_places import match_places
from schemaman.history.struct_fields import find_unsettled_fields, format_path
from schemaman.history.versions import RenameCandidate, SchemaVersion, TableHistory, find_recreated_columns


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question about a table, in words, and the commands that answer it.

    `commands` state what is most likely; `otherwise` is what to say where it is not so.
    """

    table: str
    text: str
    commands: tuple[str, ...]
    otherwise: str = ""


def list_open_questions(history: TableHistory) -> tuple[OpenQuestion, ...]:
    """List the questions about the newest incarnation, none if the table has ended.

    `history` is with decisions.
    """
    if history.has_ended:
        return ()
    incarnation = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    return (
        *(ask_rename(history, v, c) for v in incarnation for c in v.candidates if c.grade != "proven"),
        *(q for before, v in pairwise(incarnation) for q in ask_exchange(history, before, v)),
        *_ask_fields(history, incarnation),
        *_ask_key(history, incarnation),
    )


def ask_rename(history: TableHistory, version: SchemaVersion, candidate: RenameCandidate) -> OpenQuestion:
    """Ask whether a column became another one."""
    old, new = candidate.old, candidate.new
    return OpenQuestion(
        str(history.table),
        f"whether {old} became {new}",
        (_format_command("rename", history, version, old, new),),
        _format_command("not-rename", history, version, old, new),
    )


def ask_exchange(
    history: TableHistory, before: SchemaVersion, version: SchemaVersion
) -> Iterator[OpenQuestion]:
    """Ask what two columns or more became that all have the name of another one, or were all recreated."""
    dropped, added = (set(names) for names in find_recreated_columns(before, version))
    groups = []
    for circle in match_places(before.revisions[-1].schema, version.revisions[0].schema).circles:
        turns = [(old, new) for old, new in zip(circle, (*circle[1:], circle[0]), strict=True)]
        if all((old in dropped) == (new in added) for old, new in turns):
            groups.append([(old, new) for old, new in sorted(turns) if old in dropped])
    asked = {name for turns in groups for pair in turns for name in pair}
    asked |= {name for c in version.candidates for name in (c.old, c.new)}
    others = sorted({*dropped, *added} - asked)
    groups.append(list(zip(others, (*others[1:], *others[:1]), strict=True)) if len(others) > 1 else [])
    for turns in filter(None, groups):
        names = sorted({name for pair in turns for name in pair})
        yield OpenQuestion(
            str(history.table),
            f"whether {', '.join(names)} are new columns, or exchanged names",
            tuple(_format_command("rename", history, version, old, new) for old, new in turns),
            "write a column's own name twice if it stayed; nothing is to be done if all are new",
        )


def _ask_fields(history: TableHistory, incarnation: Sequence[SchemaVersion]) -> Iterator[OpenQuestion]:
    """Ask whether nested fields became other ones."""
    questions = (
        each for unsettled in find_unsettled_fields(incarnation) for each in unsettled.questions.values()
    )
    for old, new in dict.fromkeys((format_path(old), format_path(new)) for old, new in questions):
        pair = f"{quote(str(history.table))} {quote(old)} {quote(new)}"
        yield OpenQuestion(
            str(history.table),
            f"whether {old} became {new}",
            (f"schemaman decide rename {pair}",),
            f"schemaman decide not-rename {pair}",
        )


def _ask_key(history: TableHistory, incarnation: Sequence[SchemaVersion]) -> Iterator[OpenQuestion]:
    """Ask for the newest key where it replaced another one and is unconfirmed."""
    newest = history.latest
    if "key" in newest.unconfirmed and {v.schema.key for v in incarnation} != {newest.schema.key}:
        key = ", ".join(newest.schema.key)
        command = f"schemaman decide confirm {quote(str(history.table))} key"
        yield OpenQuestion(str(history.table), f"whether the key is ({key})", (command,))


def _format_command(word: str, history: TableHistory, version: SchemaVersion, old: str, new: str) -> str:
    table = quote(f"{history.table}@{version.number}")
    return f"schemaman decide {word} {table} {quote(old)} {quote(new)}"
