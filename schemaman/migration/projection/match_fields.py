"""What became of the members of a live table since the version of its stamp.

Law: where nothing says which of several members of one name the table has, none is taken for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemaman.history.past_versions import Became, Past
from schemaman.history.struct_fields import lowered, named_now
from schemaman.migration.plan import Source
from schemaman.model.schema import Path


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a member that a live table has; `exact`: the table stands where it was still there.

    `young`: it came after the table's stamp, by a plan that was made in part; `maybe`: as any of these.
    `parted`: an earlier plan kept it as one that had left, and it is, or may be, what has this name now.
    """

    became: Became
    exact: bool
    maybe: tuple[str, ...] = ()
    young: bool = False
    parted: str = ""


def fates(source: Source, standing: int | None) -> Mapping[Path, Fate]:
    """What became of the members of a live table; `standing`: the past version that its stamp means."""
    found: dict[Path, Fate] = {}
    if standing is not None:
        younger = _since(source, standing)
        found = {path: Fate(now, True) for path, now in source.past[standing].members.items()}
        # One that left, and whose name came back: a plan that was made in part may have filled it since.
        named: dict[Path, tuple[str, ...]] = {}
        for past in source.past[standing + 1 :]:
            for path in past.members:
                place = lowered(named_now(path, past.members))
                named[place] = (*named.get(place, ()), *_names(younger[path]))
        left = {path for path, fate in found.items() if _unlike(path, fate.became)}
        # What an earlier plan kept still has the name under which that plan found it.
        left |= _lost(source.past[:standing]) - found.keys()
        stood = source.past[standing].members
        back = {path: names for path in left if (names := named.get(lowered(named_now(path, stood))))}
        found = younger | {path: fate for path, fate in found.items() if path not in back}
        found |= {path: Fate(Became(None), False, names) for path, names in back.items()}
    else:
        # One that left, and whose name another had: nothing says which of them the table has.
        meant = _since(source, -1)
        found = {path: Fate(Became(None), False, fate.maybe) for path, fate in meant.items() if fate.maybe}
        found = {path: found[path] for path in found.keys() & _lost(source.past)}
    earlier = source.past if standing is None else source.past[:standing]
    for past in reversed(earlier):
        for path, now in past.members.items():
            if now == Became(path[-1]):
                continue
            # What a stamped table still has of earlier times is what an earlier plan kept.
            fate = Fate(now, False) if standing is None else Fate(Became(None), False, parted=now.name or "")
            found.setdefault(path, fate)
    return found


def _unlike(path: Path, now: Became) -> bool:
    """Whether what has the name now is another, or may be."""
    return now.name is None or (not now.sure and now.name.lower() == path[-1].lower())


def _lost(versions: Sequence[Past]) -> set[Path]:
    """Members of any of these versions that left for good."""
    return {path for past in versions for path, now in past.members.items() if now == Became(None)}


def _names(fate: Fate) -> tuple[str, ...]:
    """What a member may be called now."""
    return fate.maybe or ((fate.became.name,) if fate.became.name is not None else ())


def _since(source: Source, standing: int) -> dict[Path, Fate]:
    """What became of members that are younger than the stamp: of plans that were made in part."""
    meant: dict[Path, dict[Became, None]] = {}
    for past in source.past[standing + 1 :]:
        for path, now in past.members.items():
            meant.setdefault(path, {})[now] = None
    return {
        path: Fate(next(iter(all)), False, young=True)
        if len(all) == 1
        else Fate(Became(None), False, tuple(now.name for now in all if now.name is not None))
        for path, all in meant.items()
    }
