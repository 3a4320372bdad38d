"""Which version of its source the stamp of a live table means, and where that must not be guessed.

Law: a table is never moved by a history that does not know where it stands, nor back to an earlier version.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from schemaman.debezium.records import Position, Rank
from schemaman.migration.plan import MigrationSource, PreviousVersion, Refusal
from schemaman.migration.properties.names import BEGAN_PROPERTY, VERSION_PROPERTY
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.target import LakeTable

_UNSET = f"unset its property {VERSION_PROPERTY}"


def format_began(began: Mapping[str, object]) -> str:
    """A place in the source's log as the stamp keeps it."""
    return json.dumps(began, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def find_stamped_version(source: MigrationSource, lake: LakeTable) -> int | None:
    """Which of the past versions the stamp of the table means; None where it says none, or not which."""
    return find_version(source.past, *_read_stamp(lake))


def find_version(versions: Sequence[PreviousVersion], id: str | None, began: str | None) -> int | None:
    """Which of the versions is the one of this id that began there; None where nothing tells which."""
    found = _match_versions(versions, id, began)
    return found[0] if len(found) == 1 else None


def is_before(began: str, versions: Sequence[PreviousVersion]) -> bool:
    """Whether a place of the source's log is before all versions; false where places do not tell."""
    try:
        place, first = _rank_position(json.loads(began)), _rank_position(versions[0].began)
    except (LookupError, TypeError, ValueError):  # as in `find_version_around`
        return False
    return place[0] == first[0] and bool(place[1]) and place[1] < first[1]


def refuse_stamp(source: MigrationSource, lake: LakeTable) -> Refusal | None:
    """Why nothing may be planned by the stamp that a table bears; None if it has none, or one that is known.

    A hand-made source without past versions says nothing of stamps.
    """
    id, _ = _read_stamp(lake)
    if id is None or not source.past:
        return None
    known = (*source.past, *source.newer)
    found = _match_versions(known, *_read_stamp(lake))
    change = f"bring {lake.name} to {source.table}@{source.version}"
    ahead = [n for n in found if n >= len(source.past)]
    if not found:
        return Refusal(
            change,
            f"its version stamp {id} is not known here, and column names alone do not show which "
            "columns they are",
            "read the records of that version (`schemaman ingest`), or use the store that has "
            f"them; if its columns are those of version {source.version}, {_UNSET}; then plan "
            "again",
        )
    if ahead:
        number = source.version + 1 + ahead[-1] - len(source.past)
        return Refusal(
            change,
            f"it follows version {number} already: no plan leads back to an earlier version",
            f"plan without @{source.version}; `schemaman plan --rollback` undoes an applied plan; "
            f"if its columns are those of version {source.version}, {_UNSET} and plan again",
        )
    if any(source.past[n].names != source.past[found[0]].names for n in found):
        return Refusal(
            change,
            f"several versions have the id of its version stamp, {id}, none of them begins at the "
            "stamped position, and their names mean different columns",
            f"set its property {BEGAN_PROPERTY} to where its version began, one of "
            f"{', '.join(format_began(source.past[n].began) for n in found)}; then plan again",
        )
    return None


def is_ended_incarnation(source: MigrationSource, lake: LakeTable) -> bool:
    """Whether the stamp of the table means a version of an earlier incarnation."""
    id, began = _read_stamp(lake)
    past = [p for p in source.past if p.has_id(id)]
    ended = [p for p in source.ended if p.has_id(id)]
    if any(format_began(p.began) == began for p in past):
        return False
    if any(format_began(p.began) == began for p in ended) or not past:
        return bool(ended)
    found = find_version((*source.ended, *source.past), id, began) if ended else None
    return found is not None and found < len(source.ended)


def _read_stamp(lake: LakeTable) -> tuple[str | None, str | None]:
    record = read_record(lake.properties)
    return record.version, record.began


def _match_versions(versions: Sequence[PreviousVersion], id: str | None, began: str | None) -> list[int]:
    """The versions that a stamp may mean; several only where nothing tells which."""
    if id is None:
        return []
    same = [n for n, past in enumerate(versions) if past.has_id(id)]
    here = [n for n, past in enumerate(versions) if format_began(past.began) == began]
    exact = [n for n in same if n in here]
    # Late evidence may move the beginning of a version, or refine what it is: one of the two is enough, and
    # one record begins one version.
    if exact or len(same) < 2:
        return exact[-1:] or same or here
    # It moves no beginning behind what was of that version already.
    around = find_version_around(versions, began)
    return [around] if around in same else same


def find_version_around(versions: Sequence[PreviousVersion], began: str | None) -> int | None:
    """The version in whose time a place of the source's log stands; None where places do not tell."""
    try:
        rank, ranks = (
            _rank_position(json.loads(began or "{}")),
            [_rank_position(past.began) for past in versions],
        )
    except (LookupError, TypeError, ValueError):  # somebody edited it, or a hand-made source has none
        return None
    alike = len({kind for kind, _ in (rank, *ranks)}) == 1
    if not alike or not rank[1] or ranks != sorted(ranks):
        return None
    count = bisect_right(ranks, rank)
    return count - 1 if count else None


def _rank_position(began: Mapping[str, Any]) -> tuple[str, Rank]:
    position = Position(began["position"]["kind"], began["position"]["value"])
    return position.kind, position.rank
