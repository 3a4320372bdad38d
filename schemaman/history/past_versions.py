"""Previous versions of a source, as the version stamp of a target table may name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from schemaman.model.schema import Path
from schemaman.model.types import Array, Map, Struct, Type


@dataclass(frozen=True, slots=True)
class CurrentField:
    """The current name of a nested field; a dropped field has no name.

    `is_sure` is false while no decision states whether the field was dropped or renamed. Then `question` are
    the paths of the dropped and the added field in the step that raised the question. `version` is the number
    of the version after that step, because another step may have swapped the same two fields.
    """

    name: str | None
    is_sure: bool = True
    question: tuple[Path, Path] | None = field(default=None, compare=False)
    version: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PreviousVersion:
    """A previous version of the source, as the version stamp of a target table may name it.

    `names` maps each column name of that version to the current name of the same column; None for a dropped
    column. `previous_ids` are the ids that it had before it was declared. `nested_fields` has the fields that
    have changed, keyed by the current column name and the names of that version. An unchanged field is listed
    only if a field of that name in another version has changed. `types` are those of existing columns that
    have another type now.
    """

    id: str
    began: Mapping[str, object] = field(default_factory=dict)
    names: Mapping[str, str | None] = field(default_factory=dict)
    previous_ids: tuple[str, ...] = ()
    nested_fields: Mapping[Path, CurrentField] = field(default_factory=dict)
    types: Mapping[str, Type] = field(default_factory=dict)

    def has_id(self, id: str | None) -> bool:
        """Whether an id belongs to this version, or did so before the version was declared."""
        return id in (self.id, *self.previous_ids)

    def find_current_type(self, then: str) -> Type:
        """Return the type of one of `types`, its nested fields under their current names.

        A dropped field keeps its name, unless another field has that name now.
        """
        return _rename_fields(self.types[then], (self.names.get(then) or then,), self.nested_fields)


def _rename_fields(type: Type, path: Path, outcomes: Mapping[Path, CurrentField]) -> Type:
    match type:
        case Array(element):
            return replace(type, element=_rename_fields(element, (*path, "element"), outcomes))
        case Map(key, value):
            inner = (
                _rename_fields(key, (*path, "key"), outcomes),
                _rename_fields(value, (*path, "value"), outcomes),
            )
            return replace(type, key=inner[0], value=inner[1])
        case Struct(fields):
            known = {
                f.name: replace(f, type=_rename_fields(f.type, (*path, f.name), outcomes))
                for f in sorted(fields, key=lambda f: _rank_certainty(outcomes.get((*path, f.name))))
            }
            names = {name: outcomes.get((*path, name)) for name in known}
            now = {(b.name if b and b.name else name): known[name] for name, b in names.items()}
            return Struct(tuple(replace(field, name=name) for name, field in now.items()))
        case _:
            return type


def _rank_certainty(now: CurrentField | None) -> int:
    """Rank how certain it is that a nested field has its assigned name; higher is more certain."""
    return 2 if now is None or (now.is_sure and now.name) else 1 if now.name else 0
