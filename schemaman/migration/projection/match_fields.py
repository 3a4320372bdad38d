"""What became of the members of a live table since the version of its stamp.

Law: where nothing says which of several members of one name the table has, none is taken for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemaman.history.past_versions import CurrentField, PreviousVersion
from schemaman.history.struct_fields import lower_path, rename_parents
from schemaman.migration.plan import MigrationSource
from schemaman.model.schema import Path


@dataclass(frozen=True, slots=True)
class FieldFate:
    """What became of a member that a live table has; `exact`: the table stands where it was still there.

    `is_younger`: it came after the table's stamp, by a plan that was made in part; `candidates`: as any of these.
    `split_into`: an earlier plan kept it as one that had left, and it is, or may be, what has this name now.
    """

    became: CurrentField
    exact: bool
    candidates: tuple[str, ...] = ()
    is_younger: bool = False
    split_into: str = ""


def match_fields(source: MigrationSource, standing: int | None) -> Mapping[Path, FieldFate]:
    """What became of the members of a live table; `standing`: the past version that its stamp means."""
    found: dict[Path, FieldFate] = {}
    if standing is not None:
        younger = _match_younger_fields(source, standing)
        found = {path: FieldFate(now, True) for path, now in source.past[standing].nested_fields.items()}
        # One that left, and whose name came back: a plan that was made in part may have filled it since.
        named: dict[Path, tuple[str, ...]] = {}
        for past in source.past[standing + 1 :]:
            for path in past.nested_fields:
                place = lower_path(rename_parents(path, past.nested_fields))
                named[place] = (*named.get(place, ()), *_list_names(younger[path]))
        left = {path for path, fate in found.items() if _is_other_field(path, fate.became)}
        # What an earlier plan kept still has the name under which that plan found it.
        left |= _find_dropped_fields(source.past[:standing]) - found.keys()
        stood = source.past[standing].nested_fields
        back = {path: names for path in left if (names := named.get(lower_path(rename_parents(path, stood))))}
        found = younger | {path: fate for path, fate in found.items() if path not in back}
        found |= {path: FieldFate(CurrentField(None), False, names) for path, names in back.items()}
    else:
        # One that left, and whose name another had: nothing says which of them the table has.
        meant = _match_younger_fields(source, -1)
        found = {
            path: FieldFate(CurrentField(None), False, fate.candidates)
            for path, fate in meant.items()
            if fate.candidates
        }
        found = {path: found[path] for path in found.keys() & _find_dropped_fields(source.past)}
    earlier = source.past if standing is None else source.past[:standing]
    for past in reversed(earlier):
        for path, now in past.nested_fields.items():
            if now == CurrentField(path[-1]):
                continue
            # What a stamped table still has of earlier times is what an earlier plan kept.
            fate = (
                FieldFate(now, False)
                if standing is None
                else FieldFate(CurrentField(None), False, split_into=now.name or "")
            )
            found.setdefault(path, fate)
    return found


def _is_other_field(path: Path, now: CurrentField) -> bool:
    """Whether what has the name now is another, or may be."""
    return now.name is None or (not now.is_sure and now.name.lower() == path[-1].lower())


def _find_dropped_fields(versions: Sequence[PreviousVersion]) -> set[Path]:
    """Members of any of these versions that left for good."""
    return {
        path for past in versions for path, now in past.nested_fields.items() if now == CurrentField(None)
    }


def _list_names(fate: FieldFate) -> tuple[str, ...]:
    """What a member may be called now."""
    return fate.candidates or ((fate.became.name,) if fate.became.name is not None else ())


def _match_younger_fields(source: MigrationSource, standing: int) -> dict[Path, FieldFate]:
    """What became of members that are younger than the stamp: of plans that were made in part."""
    meant: dict[Path, dict[CurrentField, None]] = {}
    for past in source.past[standing + 1 :]:
        for path, now in past.nested_fields.items():
            meant.setdefault(path, {})[now] = None
    return {
        path: FieldFate(next(iter(all)), False, is_younger=True)
        if len(all) == 1
        else FieldFate(CurrentField(None), False, tuple(now.name for now in all if now.name is not None))
        for path, all in meant.items()
    }
