"""Earlier versions of a source, as a stamp on a target table may name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from schemaman.model.schema import Path
from schemaman.model.types import Array, Map, Struct, Type


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

    def type_now(self, then: str) -> Type:
        """The type of one of `types`, its members under the names that they have now.

        One that left keeps its name there, unless another has it now.
        """
        return _called_now(self.types[then], (self.names.get(then) or then,), self.members)


def _called_now(type: Type, path: Path, told: Mapping[Path, Became]) -> Type:
    match type:
        case Array(element):
            return replace(type, element=_called_now(element, (*path, "element"), told))
        case Map(key, value):
            inner = _called_now(key, (*path, "key"), told), _called_now(value, (*path, "value"), told)
            return replace(type, key=inner[0], value=inner[1])
        case Struct(fields):
            known = {
                f.name: replace(f, type=_called_now(f.type, (*path, f.name), told))
                for f in sorted(fields, key=lambda f: _certainty(told.get((*path, f.name))))
            }
            names = {name: told.get((*path, name)) for name in known}
            now = {(b.name if b and b.name else name): known[name] for name, b in names.items()}
            return Struct(tuple(replace(field, name=name) for name, field in now.items()))
        case _:
            return type


def _certainty(now: Became | None) -> int:
    """The higher, the surer it is that a member has the name that it is given."""
    return 2 if now is None or (now.sure and now.name) else 1 if now.name else 0
