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
    """What became of a nested field of a lake table.

    `exact`: the version of the table's stamp still had it. `is_younger`: a partial plan added the field after
    the stamp. `candidates`: the names that the field may have now. `split_into`: an earlier plan kept
    the field as a dropped one, and it is, or may be, the field that has this name now.
    """

    became: CurrentField
    exact: bool
    candidates: tuple[str, ...] = ()
    is_younger: bool = False
    split_into: str = ""


def match_fields(source: MigrationSource, stamped: int | None) -> Mapping[Path, FieldFate]:
    """What became of the members of a live table; `stamped`: the past version that its stamp means."""
    found: dict[Path, FieldFate] = {}
    if stamped is not None:
        younger = _match_younger_fields(source, stamped)
        found = {path: FieldFate(now, True) for path, now in source.past[stamped].nested_fields.items()}
        # One that left, and whose name came back: a plan that was made in part may have filled it since.
        named: dict[Path, tuple[str, ...]] = {}
        for past in source.past[stamped + 1 :]:
            for path in past.nested_fields:
                key = lower_path(rename_parents(path, past.nested_fields))
                named[key] = (*named.get(key, ()), *_list_names(younger[path]))
        dropped = {path for path, fate in found.items() if _is_other_field(path, fate.became)}
        # What an earlier plan kept still has the name under which that plan found it.
        dropped |= _find_dropped_fields(source.past[:stamped]) - found.keys()
        stamped_fields = source.past[stamped].nested_fields
        back = {
            path: names
            for path in dropped
            if (names := named.get(lower_path(rename_parents(path, stamped_fields))))
        }
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
    earlier = source.past if stamped is None else source.past[:stamped]
    for past in reversed(earlier):
        for path, now in past.nested_fields.items():
            if now == CurrentField(path[-1]):
                continue
            # What a stamped table still has of earlier times is what an earlier plan kept.
            fate = (
                FieldFate(now, False)
                if stamped is None
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


def _match_younger_fields(source: MigrationSource, stamped: int) -> dict[Path, FieldFate]:
    """What became of members that are younger than the stamp: of plans that were made in part."""
    meant: dict[Path, dict[CurrentField, None]] = {}
    for past in source.past[stamped + 1 :]:
        for path, now in past.nested_fields.items():
            meant.setdefault(path, {})[now] = None
    return {
        path: FieldFate(next(iter(all)), False, is_younger=True)
        if len(all) == 1
        else FieldFate(CurrentField(None), False, tuple(now.name for now in all if now.name is not None))
        for path, all in meant.items()
    }
