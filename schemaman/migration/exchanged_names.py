"""Compares the ids of columns with those that the last migration left: a name may mean another column now.

Names decide which column is which, and ids check them where the format shows ids.

Laws: without ids on both sides nothing is said; a table passes as the last plan of the journal left it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from schemaman.migration import spark_sql as sql
from schemaman.migration.layout import IDENTITY, is_replaced, read_column_ids, record_columns
from schemaman.migration.plan import Plan, Refusal
from schemaman.migration.properties.names import PLAN_PROPERTY
from schemaman.migration.target import LakeTable, Target
from schemaman.model.schema import Path
from schemaman.model.shell import quote_word
from schemaman.store.log import MigrationEntry

NAMES_ACCEPTED = "names accepted"
"""The text of the line by which a person accepts the names that the columns of a table have."""
_BETWEEN = "__back"
_EXCHANGED = (
    "others exchanged names since the last migration, as the ids of the columns show: {}; values of one "
    "column would go into another one"
)
_RENAMED = (
    "others renamed {} since the last migration, as the ids of the columns show; the old values would be in "
    "one column, and new ones in another"
)
_CREATED_AGAIN = (
    "{}: the column has another id than the last migration left, so others dropped it and created it again; "
    "older rows have no value in it until the source sends them again"
)
_MADE_ANEW = (
    "others made the table anew since the last migration (CREATE OR REPLACE, DROP and CREATE): columns are "
    "taken by their names, and nothing would show names that were exchanged then"
)


@dataclass(frozen=True, slots=True)
class NameCheck:
    """What the ids of a table show: `exchanged` maps paths to those that their columns had before.

    `created_again` are paths of the last migration with an id that no column had then. `is_made_anew`: ids or
    snapshots show that the table was replaced. `renamed` maps names that no column
    had to those that no column has now, of whole columns.
    """

    exchanged: Mapping[Path, Path]
    created_again: tuple[Path, ...] = ()
    is_made_anew: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a plan says of columns whose values may be of another origin."""
        notes = (_CREATED_AGAIN.format(sql.path_name(path)) for path in self.created_again)
        return (*((_MADE_ANEW,) if self.is_made_anew else ()), *notes)


def check_names(lines: Iterable[MigrationEntry], lake: LakeTable) -> NameCheck:
    """Compare the ids of a table with the lines of its target, oldest first.

    Only the line of the plan that the table itself names counts: another store, a restored version or a run
    that stopped left other columns.
    """
    before, after = _find_recorded(lines, lake), record_columns(lake)
    if not before or not after:
        return NameCheck({})
    if before[IDENTITY] != after[IDENTITY]:
        return NameCheck({}, is_made_anew=True)
    if PLAN_PROPERTY not in lake.properties:
        return NameCheck({})
    ids, now = read_column_ids(before), read_column_ids(after)
    former = {id: path for path, id in ids.items()}
    # A column brings its nested fields along, so only those of the same column can be exchanged.
    moved = {
        path: former.get(id)
        for path, id in now.items()
        if ids.get(path, id) != id and ids.get(path[:-1]) == now.get(path[:-1])
    }
    return NameCheck(
        {path: was for path, was in moved.items() if was is not None},
        tuple(path for path, was in moved.items() if was is None),
        is_replaced(before, after),
        {
            path[0]: was[0]
            for path, id in now.items()
            if len(path) == 1 and path not in ids and (was := former.get(id, path)) not in now
        },
    )


def refuse_exchanged_names(check: NameCheck, target: Target, lake: LakeTable) -> Refusal | None:
    """Refuse to follow a source by names that mean other columns than before; None if none does."""
    if not check.exchanged:
        return None
    found = ", ".join(
        f"{sql.path_name(path)} is the column that was {sql.path_name(was)}"
        for path, was in check.exchanged.items()
    )
    back = "; ".join(_rename_back(target.table_name(lake.name), check.exchanged, lake))
    return Refusal(
        f"write into {', '.join(map(sql.path_name, check.exchanged))}",
        _EXCHANGED.format(found),
        f"give the columns their names back: {back}; or, if each column contains the values that its name "
        f"says, run `schemaman drift --accept-names {quote_word(lake.name)}`",
    )


def refuse_second_column(check: NameCheck, target: Target, lake: LakeTable, plan: Plan) -> Refusal | None:
    """Refuse to add a column under the name that others took from it; None if the plan adds none."""
    had = {name.lower() for name in lake.schema.names}
    added = {name.lower() for name in plan.wanted.names} - had
    renamed = {now: was for now, was in check.renamed.items() if was.lower() in added}
    if not renamed:
        return None
    name = target.table_name(lake.name)
    found = ", ".join(f"{sql.path_name((was,))} to {sql.path_name((now,))}" for now, was in renamed.items())
    back = "; ".join(sql.rename_column(name, (now,), was) for now, was in renamed.items())
    return Refusal(
        f"add {', '.join(sql.path_name((was,)) for was in renamed.values())}",
        _RENAMED.format(found),
        f"give the columns their names back: {back}; or, if the old values are to stay where they are, "
        f"run `schemaman drift --accept-names {quote_word(lake.name)}`",
    )


def accept_names(target: str, lake: LakeTable) -> MigrationEntry:
    """Make the line by which a person accepts the names of a table's columns."""
    layout = tuple(record_columns(lake).items())
    return MigrationEntry("drift", "", target, None, "settled", NAMES_ACCEPTED, layout=layout)


def _find_recorded(lines: Iterable[MigrationEntry], lake: LakeTable) -> Mapping[str, str]:
    """Find the newest ids that were recorded for the table as it is; empty if there are none.

    A table without the property may have lost it because it was replaced: then the newest line counts.
    """
    plan, found = lake.properties.get(PLAN_PROPERTY), dict[str, str]()
    for line in lines:
        own = line.state == "finished" and plan in (None, line.plan)
        if own or (line.state == "settled" and line.statement == NAMES_ACCEPTED):
            found = dict(line.layout)
    return found if IDENTITY in found else {}


def _rename_back(name: str, exchanged: Mapping[Path, Path], lake: LakeTable) -> list[str]:
    """Write the renames that give columns their former names; a taken name needs one in between."""
    direct = {now: was for now, was in exchanged.items() if was not in lake.field_ids}
    turns = {now: was for now, was in exchanged.items() if now not in direct}
    between = {now: (*now[:-1], f"{now[-1]}{_BETWEEN}") for now in turns}
    return [
        *(sql.rename_column(name, now, was[-1]) for now, was in direct.items()),
        *(sql.rename_column(name, now, between[now][-1]) for now in turns),
        *(sql.rename_column(name, between[now], was[-1]) for now, was in turns.items()),
    ]
