"""Earlier versions of a source, as a stamp on a target table may name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from schemaman.schema import Path
from schemaman.types import Type


@dataclass(frozen=True, slots=True)
class Became:
    """What a member of a struct is called now; without a name it has left.

    Where nobody has said whether it left or got the name, it is not `sure`: then `asked` are the member that
    went and the one that came, by their paths in the step in which that became a question, and `version` the
    number of the version that this step led to: another step may have exchanged the same two.
    """

    name: str | None
    sure: bool = True
    asked: tuple[Path, Path] | None = field(default=None, compare=False)
    version: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Past:
    """An earlier version of the source, as a stamp on a target table may name it.

    `names` maps each column name of that version to the name that the same column has now,
    None for a column that has left since. `known_as` are ids that it had while no witness declared it.
    `members` tells of parts of columns that are no more what they were: the column's name now, then the
    names of that version. One that is what it was is told of where another version's of that name is not.
    `types` are those of columns that are still there and have another type now.
    """

    id: str
    began: Mapping[str, object] = field(default_factory=dict)
    names: Mapping[str, str | None] = field(default_factory=dict)
    known_as: tuple[str, ...] = ()
    members: Mapping[Path, Became] = field(default_factory=dict)
    types: Mapping[str, Type] = field(default_factory=dict)

    def answers_to(self, id: str | None) -> bool:
        """Whether an id is this version's, or was it before it was declared."""
        return id in (self.id, *self.known_as)
