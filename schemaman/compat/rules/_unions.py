"""Changes of fields whose documents have values of several types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from schemaman.compat.judge import Finding, Transition, Verdicts
from schemaman.compat.rules._kinds import TypeChange, build_finding, find_parent, is_in_map_key
from schemaman.model.diff import ChangeType
from schemaman.model.types import Array, Map, Struct, Type, Union, list_members, widens, without_labels

UnionChange = Literal["array", "object", "conflict", "drift", "elements"]


def find_union_changes(transition: Transition, kind: UnionChange) -> Iterator[TypeChange[Type, Type]]:
    """Finds changes of one kind from or to a union; other labels of its enums are no change.

    `array` and `object`: single values and arrays, or objects, began to mix. `conflict`: other types came.
    `drift`: a type no longer occurs. `elements`: any of these for the elements of an array.
    """
    for change in transition.changes:
        match change:
            case ChangeType(path, old, new) if isinstance(old, Union) or isinstance(new, Union):
                same = without_labels(old) == without_labels(new)
                element = isinstance(find_parent(transition, path), Array)
                is_id = path == ("_id",) and transition.has_fact("documents")
                if same or is_id or is_in_map_key(transition, path):
                    continue
                if ("elements" if element else _classify(old, new)) == kind:
                    yield TypeChange(path, old, new)
            case _:
                continue


def find_mixed_values(
    transition: Transition, kind: Literal["array", "object"], name: str, verdicts: Verdicts
) -> Iterator[Finding]:
    """Finds fields in which single values and arrays, or objects, began to mix, for the rule of that name."""
    for change in find_union_changes(transition, kind):
        yield build_finding(
            name,
            verdicts,
            transition,
            change,
            "no column of a table holds both",
            "agree on one type at the source",
            "or leave the field out at the target until all documents have one type",
        )


def _classify(old: Type, new: Type) -> UnionChange:
    for kind, shapes in (("array", Array), ("object", (Struct, Map))):
        mixed = [_mixes(type, shapes) for type in (old, new)]
        if mixed == [False, True]:
            return "array" if kind == "array" else "object"
    kept = all(any(widens(a, b) for b in list_members(new)) for a in list_members(old))
    return "conflict" if kept else "drift"


def _mixes(type: Type, shapes: type[Type] | tuple[type[Type], ...]) -> bool:
    found = [isinstance(each, shapes) for each in list_members(type)]
    return any(found) and not all(found)
