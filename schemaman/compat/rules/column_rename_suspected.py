"""A column vanished and a similar one appeared.

What happened: One step dropped a column and added another one that may be the same column under another name.
The source does not record renames: PostgreSQL and Db2 never do.

Why it hurts: Each of both plans may be wrong. If it was a rename, a plan that drops and adds loses the values
of all old rows from the new column. If it was no rename, a plan that renames mixes the values of two columns.
The table is not migrated until a person answers,
or the policy makes the rename by column order (`rename-proven`).

What to do: Look at the evidence and answer with `schemaman decide`, as a rename or as none. The answer is
kept in `schemaman.decisions.toml`, under review like code.

Sources: PostgreSQL documentation, Logical Replication Message Formats (Relation has no attribute numbers);
ALTER TABLE ADD COLUMN (columns are only appended).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from schemaman.compat.judge import Example, Finding, Rule, StepFact, Transition, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.history.rename_detection import find_rename_candidates
from schemaman.history.versions import GRADE_WORDS, RenameCandidate
from schemaman.model.diff import AddColumn, ColumnOrField, DropColumn
from schemaman.model.schema import Column, Path, TableSchema
from schemaman.model.shell import build_command
from schemaman.model.types import widens

NAME = "column-rename-suspected"
_UNTIL_ANSWERED = "not migrated until a person answers"
VERDICTS = parse_verdicts("B B B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds pairs of a dropped and an added column that resemble each other."""
    drops = {c.path: c.column for c in transition.changes if isinstance(c, DropColumn)}
    adds = {c.path: c.column for c in transition.changes if isinstance(c, AddColumn)}
    for candidate in transition.candidates:
        old, new = drops.get((candidate.old,)), adds.get((candidate.new,))
        if isinstance(old, Column) and isinstance(new, Column) and _is_similar(candidate, old, new):
            yield _build_finding(transition, candidate, old, new)
    for parent in dict.fromkeys(path[:-1] for path in drops if len(path) > 1):
        yield from _find_nested(transition, parent, drops, adds)


def _find_nested(
    transition: Transition,
    parent: Path,
    drops: Mapping[Path, ColumnOrField],
    adds: Mapping[Path, ColumnOrField],
) -> Iterator[Finding]:
    """Finds a dropped and an added field of one struct that resemble each other."""
    before, after = (
        TableSchema(tuple(_make_column(f) for path, f in fields.items() if path[:-1] == parent))
        for fields in (drops, adds)
    )
    denied = {(fact.before, fact.after) for fact in transition.list_facts("not-renamed")}
    for candidate in find_rename_candidates(before, after, append_only=False):
        paths = (*parent, candidate.old), (*parent, candidate.new)
        old, new = drops[paths[0]], adds[paths[1]]
        if (_words.join_path(paths[0]), _words.join_path(paths[1])) in denied:
            continue
        if _is_similar(candidate, old, new):
            yield _build_nested_finding(transition, candidate, paths, (old, new))


def _make_column(field: ColumnOrField) -> Column:
    return Column(field.name, field.type, field.nullable)


def _build_nested_finding(
    transition: Transition,
    candidate: RenameCandidate,
    paths: tuple[Path, Path],
    fields: tuple[ColumnOrField, ColumnOrField],
) -> Finding:
    (a, b), (old, new) = map(_words.join_path, paths), fields
    arguments = (str(transition.table), a, b)
    commands = tuple(build_command(("decide", answer), arguments) for answer in ("rename", "not-rename"))
    likelihood = "is likely" if candidate.grade == "likely" else "is possibly"
    return Finding(
        NAME,
        transition.table,
        paths[0],
        f"{a} {_words.describe_column(old)}",
        f"{b} {_words.describe_column(new)}",
        f"the nested field {b} {likelihood} {a} under a new name: {_UNTIL_ANSWERED}",
        _words.apply_resolution(
            _words.restrict_to_column(VERDICTS, transition),
            backward=not new.nullable and not _words.is_renamed(transition, paths[1]),
            forward=not old.nullable and not _words.is_renamed(transition, paths[0]),
        ),
        fixes=commands,
        commands=commands,
        evidence=(f"grade {GRADE_WORDS[candidate.grade]}", *candidate.evidence),
        claims=(("nested-field-dropped", paths[0]), *_words.claim_new_column(paths[1])),
    )


def _is_similar(candidate: RenameCandidate, old: ColumnOrField, new: ColumnOrField) -> bool:
    """Returns whether the pair needs an answer: an unlikely pair with unrelated types needs none."""
    related = widens(old.type, new.type) or widens(new.type, old.type)
    return candidate.grade != "possible" or related


def _build_finding(transition: Transition, candidate: RenameCandidate, old: Column, new: Column) -> Finding:
    a, b = candidate.old, candidate.new
    arguments = (str(transition.table), a, b)
    commands = tuple(build_command(("decide", answer), arguments) for answer in ("rename", "not-rename"))
    likelihood = {"proven": "is, by column order,", "likely": "is likely", "possible": "is possibly"}
    until = _UNTIL_ANSWERED + (" or the policy makes it" if candidate.grade == "proven" else "")
    return Finding(
        NAME,
        transition.table,
        (a,),
        f"{a} {_words.describe_column(old)}",
        f"{b} {_words.describe_column(new)}",
        f"column {b} {likelihood.get(candidate.grade, 'is')} {a} under a new name: {until}",
        _words.resolve_rename(VERDICTS, transition, a, b),
        fixes=commands,
        commands=commands,
        evidence=(f"grade {GRADE_WORDS[candidate.grade]}", *candidate.evidence),
        claims=(
            ("column-dropped", (a,)),
            *((rule, (b,)) for rule in _words.RULES_OF_NEW_COLUMNS),
            ("key-column-removed", (a,)),
            ("key-column-added", (b,)),
            *_words.claim_new_name(b),
        ),
    )


RULE = Rule(
    name=NAME,
    title="a column vanished and a similar one appeared",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="columns",
    examples=(
        Example(
            "id INT NOT NULL, name VARCHAR(20) NOT NULL, city STRING",
            "id INT NOT NULL, full_name VARCHAR(20) NOT NULL, city STRING",
            fires=(("name",),),
            candidates=(
                RenameCandidate(
                    "name", "full_name", "proven", ("between id and city no column can be gained",)
                ),
            ),
        ),
        Example(
            "id INT NOT NULL, price INT",
            "id INT NOT NULL, list_price BIGINT",
            fires=(("price",),),
            candidates=(RenameCandidate("price", "list_price", "likely", ("the names are 67% alike",)),),
        ),
        Example(
            "id INT NOT NULL, price INT",
            "id INT NOT NULL, list_price INT",
            renames={"price": "list_price"},
            why="the rename is stated: column-renamed",
        ),
        Example(
            "id INT NOT NULL, note STRING",
            "id INT NOT NULL, quantity INT NOT NULL",
            candidates=(RenameCandidate("note", "quantity", "possible", ("the only pair",)),),
            why="a text does not become a number by a rename: column-dropped and column-added-required",
        ),
        Example(
            "s STRUCT<a: INT, street: STRING>", "s STRUCT<a: INT, road: STRING>", fires=(("s", "street"),)
        ),
        Example(
            "s STRUCT<street: STRING>",
            "s STRUCT<road: STRING>",
            facts=(StepFact("not-renamed", "s.street", "s.road"),),
            why="a person said that it is another field: nested-field-dropped",
        ),
        Example("id INT NOT NULL, note STRING", "id INT NOT NULL", why="no column was added: column-dropped"),
    ),
)
