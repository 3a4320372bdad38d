"""The tables and views that statements may name, and the rules for their names in each SQL dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from schemaman.compat.impact.column_roles import Output

Named = TypeVar("Named")
Folding = Literal["lower", "upper", "none"]
"""What a database does with a name without quotes; `none` also means that quotes do not make case matter."""


@dataclass(frozen=True, slots=True)
class SqlName:
    """A part of a name as a statement writes it."""

    text: str
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or a view that statements may name.

    `key` identifies it: the full name of a source table. `names` are all its full names, each as parts, such
    as that of the source and that of each lake table. `columns` are those of now, in order; `former` are
    columns of earlier versions. `row_columns` belong to the lake table alone. `aliases` lead from other names
    of a column to it. `outputs` are there for a view; `is_open`: it may have more columns.
    """

    key: str
    names: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    row_columns: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    outputs: tuple[Output, ...] | None = None
    is_open: bool = False


@dataclass
class Relations:
    """All relations, by the last part of their names; those of `local` hide others of their names."""

    by_name: dict[str, list[Relation]] = field(default_factory=dict)
    local: Relations | None = None

    @staticmethod
    def of(relations: Iterable[Relation]) -> Relations:
        """Collect relations."""
        found = Relations()
        for relation in relations:
            found.add(relation)
        return found

    def add(self, relation: Relation) -> None:
        """Add a relation, or replace the one of the same key."""
        for last in {name[-1].lower() for name in relation.names if name}:
            known = self.by_name.setdefault(last, [])
            known[:] = [one for one in known if one.key != relation.key] + [relation]

    def find(self, parts: Sequence[SqlName], folding: Folding) -> tuple[Relation, ...]:
        """Find the relations that a name may mean: several if the name is ambiguous, none if unknown.

        A name with fewer parts than the full one matches its end. Exact letters win over folded ones.
        """
        if self.local is not None and (hiding := self.local.find(parts, folding)):
            return hiding
        candidates = self.by_name.get(parts[-1].text.lower(), []) if parts else []
        graded: dict[int, list[Relation]] = {}
        for relation in candidates:
            grades = [grade_parts(parts, name, folding) for name in relation.names]
            if best := max(grades, default=0):
                graded.setdefault(best, []).append(relation)
        return tuple(graded[max(graded)]) if graded else ()


def grade_parts(parts: Sequence[SqlName], full: Sequence[str], folding: Folding) -> int:
    """Grade how well a written name matches a full one: 0 not at all, 2 with the exact letters."""
    pairs = list(zip(reversed(parts), reversed(full), strict=False))
    if not pairs or not all(is_same_name(part, known, folding) for part, known in pairs):
        return 0
    return 2 if all(part.text == known for part, known in pairs) else 1


def is_same_name(written: SqlName, known: str, folding: Folding) -> bool:
    """Whether a written name means a known one.

    A name without quotes matches in any case. With quotes, a database that folds names needs the exact
    letters, or those of the folded known name.
    """
    if written.text == known:
        return True
    if written.text.lower() != known.lower():
        return False
    if not written.is_quoted or folding == "none":
        return True
    return written.text == (known.lower() if folding == "lower" else known.upper())


def choose_name(
    written: SqlName, known: Iterable[Named], folding: Folding, read: Callable[[Named], str]
) -> Named | None:
    """Choose what a written name means: the exact letters first, then the first of any case."""
    matching = [one for one in known if is_same_name(written, read(one), folding)]
    exact = next((one for one in matching if read(one) == written.text), None)
    return exact if exact is not None else next(iter(matching), None)
