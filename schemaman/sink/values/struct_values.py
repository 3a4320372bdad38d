"""Values of structs under the present names of their nested fields.

Law: no two nested fields of a struct get one name, and none gets a name that the lake's struct lacks. But a
dropped field whose name another one has now gets a name that no struct has, so its values do not fit. So
does a field with an undecided rename: its values wait for the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from schemaman.model.schema import Path
from schemaman.model.types import Array, Field, Map, Struct, Type
from schemaman.sink.values.values import UnfitValue, Value

Names = Mapping[Path, str]
"""The present names of nested fields, by their path below the column with the names of the record."""


@dataclass(frozen=True, slots=True)
class FieldRenaming:
    """Renames the nested fields in values of a column of an earlier version; `type` is the result's type.

    `undecided` fields with a value have to wait, for these reasons.
    """

    type: Type
    source_type: Type
    names: Names
    undecided: Mapping[Path, str] = field(default_factory=dict)

    def rename_value(self, value: Value) -> Value:
        """A value of the column with the names of today; other values stay as they are.

        Raises UnfitValue where a field with a value has to wait.
        """
        return _rename_value(value, self.source_type, self, ())


def make_renaming(
    type: Type,
    lake: Type,
    names: Names,
    gone: Collection[Path] = (),
    wait: Mapping[Path, str] | None = None,
    sure: Names | None = None,
) -> FieldRenaming | None:
    """How values of a type come to the names that a lake's type has; None where nothing is renamed.

    `gone` are members that left, and whose names others have now; `wait` tells why others have to wait.
    `sure` are names that a lake has for them, or they have no place; no name of their own counts.
    """
    waiting = wait or {}
    taken = dict(
        _find_lake_names(type, lake, _FieldNames(names, sure or {}, frozenset({*gone, *waiting})), ())
    )
    return FieldRenaming(_rename_type(type, taken, ()), type, taken, waiting) if taken else None


@dataclass(frozen=True, slots=True)
class _FieldNames:
    """What is said of members: their names of now, those of which a lake is known to bear none but that."""

    current: Names
    certain: Names
    dropped: Collection[Path]

    def assign_names(self, fields: Collection[Field], lake: Collection[str], at: Path) -> dict[str, str]:
        """The names of a struct's members in a lake that has these; none is that of two.

        What the lake is known to call one goes before what it is called now, and that before its own name.
        """
        stay = [(*at, f.name) for f in fields if (*at, f.name) not in self.dropped]
        own = {here: here[-1] for here in stay if here not in self.certain}
        found: dict[str, str] = {}
        for names in (self.certain, own | {**self.current}, own):
            taken = {name.lower() for name in found.values()}
            wanted = {here[-1]: names[here] for here in stay if here in names and here[-1] not in found}
            several = Counter(name.lower() for name in wanted.values())
            for field_name, name in wanted.items():
                if name.lower() in lake and name.lower() not in taken and several[name.lower()] == 1:
                    found[field_name] = name
        return found


def _find_lake_names(type: Type, lake: Type, known: _FieldNames, at: Path) -> Iterator[tuple[Path, str]]:
    """The names that the lake has; one of which another has the name gets none that a struct has."""
    match type, lake:
        case Struct(fields), Struct(others):
            there = {f.name.lower(): f.type for f in others}
            names = known.assign_names(fields, there.keys(), at)
            for field in fields:
                path, now = (*at, field.name), names.get(field.name)
                if path in known.dropped:
                    yield path, f"{field.name}, which was dropped"
                elif now is None and field.name.lower() in there:
                    yield path, f"{field.name}, whose name another field has"
                elif now is not None and now != field.name:
                    yield path, now
                if path not in known.dropped and now is not None:
                    yield from _find_lake_names(field.type, there[now.lower()], known, path)
        case Array(element), Array(other):
            yield from _find_lake_names(element, other, known, (*at, "element"))
        case Map(_, value), Map(_, other):
            yield from _find_lake_names(value, other, known, (*at, "value"))
        case _:
            return


def _rename_type(type: Type, names: Names, at: Path) -> Type:
    match type:
        case Struct(fields):
            paths = [(field, (*at, field.name)) for field in fields]
            return Struct(
                tuple(
                    replace(
                        field, name=names.get(here, field.name), type=_rename_type(field.type, names, here)
                    )
                    for field, here in paths
                )
            )
        case Array(element):
            return replace(type, element=_rename_type(element, names, (*at, "element")))
        case Map(_, value):
            return replace(type, value=_rename_type(value, names, (*at, "value")))
        case _:
            return type


def _rename_value(value: Value, type: Type, to: FieldRenaming, at: Path) -> Value:
    match type:
        case Struct(fields) if isinstance(value, Mapping):
            types = {field.name: field.type for field in fields}
            waits = next((n for n in value if value[n] is not None and (*at, n) in to.undecided), None)
            if waits is not None:
                raise UnfitValue(to.undecided[*at, waits])
            return {
                to.names.get((*at, name), name): _rename_value(one, types[name], to, (*at, name))
                if name in types
                else one
                for name, one in value.items()
            }
        case Array(element) if isinstance(value, tuple | list):
            return tuple(_rename_value(one, element, to, (*at, "element")) for one in value)
        case Map(_, value_type) if isinstance(value, Mapping):
            return {key: _rename_value(one, value_type, to, (*at, "value")) for key, one in value.items()}
        case _:
            return value
