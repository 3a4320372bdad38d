"""What else than the table may have made a new structure: doubts, where two truths fit the same records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from schemaman.debezium.observation import Observation
from schemaman.history.column_places import match_places
from schemaman.history.epochs import FormChange
from schemaman.history.fold.column_ids import find_moved_columns
from schemaman.model.schema import KEPT_SCHEMAS, TableSchema

MAX_OLDER_VERSIONS = 16
"""The number of versions to search for a column that came back."""
ALTERED_UNSEEN = "altered-unseen"
ALTERED_UNSEEN_MESSAGE = "a statement altered the table here, and no record has shown its structure since"

_SWAPPED = "{} are in other positions than before: they swapped names, or were dropped and added again"

UNSEEN_MESSAGES = {
    "create": "a statement created the table anew here, and no record has shown its structure since",
    "drop": "a statement dropped a database here whose name differs from that of this table's by case alone: "
    "the table is gone if the server ignores case, and no record has shown it since",
}
"""What other statements than ALTER did to a table that no record has shown since."""


def list_ambiguities(
    before: TableSchema,
    after: TableSchema,
    previous: Sequence[Observation],
    observation: Observation,
    older: Sequence[TableSchema] = (),
) -> Iterator[tuple[str, str]]:
    """Find another possible cause of a new schema than a change of the table, as (kind, message).

    `previous` has the schema before; `older` are the schemas before that.
    """
    last = previous[-1]
    former_one = (last.connector, last.connector_version)
    if former_one != (observation.connector, observation.connector_version):
        moved = last.connector != observation.connector
        words = (f"{last.connector} ", f"{observation.connector} ") if moved else ("", "")
        releases = f"{words[0]}{last.connector_version} to {words[1]}{observation.connector_version}"
        yield (
            "connector-changed",
            f"the connector changed from {releases} here: the new one may read more or other columns",
        )
    names = set(after.names)
    remaining = tuple(n for n in before.names if n in names)
    dropped = [n for n in before.names if n not in names]
    if _is_perhaps_recreated(before, after):
        yield (
            "perhaps-made-anew",
            "key and columns changed at once: the table may have been dropped and created again "
            "under its name; the stream of this database does not show that",
        )
    if (
        dropped
        and remaining == after.names
        and not observation.snapshot
        and all(o.snapshot for o in previous)
    ):
        yield (
            "column-not-streamed",
            f"{', '.join(dropped)} was read from the table and is not in the stream: "
            "generated columns are not "
            "streamed, or it was dropped before the first change of a row",
        )
    for name in _find_returned(before, after, older):
        yield (
            "perhaps-excluded",
            f"{name} is in its old position again: it was dropped and added again, or the "
            "connector excluded it for a while (column.exclude.list)",
        )


@lru_cache(KEPT_SCHEMAS)
def list_moves(before: TableSchema, after: TableSchema) -> tuple[tuple[str, str], ...]:
    """Find another cause of another order than that columns were added again, as (kind, message)."""
    return tuple(_list_moves(before, after))


def _list_moves(before: TableSchema, after: TableSchema) -> Iterator[tuple[str, str]]:
    known = {c.name: c.id for c in before.columns}
    again = [c.name for c in after.columns if known.get(c.name, c.id) != c.id]
    circles = match_places(before, after).circles
    circles = tuple(circle for circle in circles if set(circle) <= set(again))
    moved = find_moved_columns(before, after)
    for names in circles:
        # of two names, either may come first
        shown = [name for name in again if name in names] if len(names) == 2 else names
        yield "perhaps-swapped", _SWAPPED.format(", ".join(shown))
    if moved and not again:
        yield (
            "perhaps-swapped",
            f"{', '.join(moved)} moved, where this database only appends: the table was rebuilt, or these "
            "columns or those behind them were dropped and added again",
        )
    elif not circles and len(again) > 1 and sorted(before.names) == sorted(after.names):
        yield "perhaps-swapped", _SWAPPED.format(", ".join(again))
    elif former := _find_former_names(before, after):
        pairs = ", ".join(f"{old} to {new}" for old, new in former)
        yield (
            "perhaps-swapped",
            f"the order of columns suggests that names were handed on, {pairs}: another column has the old "
            "name now, and no record shows which one",
        )


def _find_former_names(before: TableSchema, after: TableSchema) -> list[tuple[str, str]]:
    """Find columns that took other names, of which another column took the old one: (old, new).

    Either a new name stands where appending puts none and the old name came again behind it, or all places
    have the types that they had, though a column of the same name has not.
    """
    known = {c.name: c for c in before.columns}
    stayed = {c.id for c in before.columns} & {c.id for c in after.columns}
    handed_on = match_places(before, after).handed_on
    if displaced := [(a.name, b.name) for a, b in handed_on if a.id not in stayed and b.id not in stayed]:
        return displaced
    last = max((i for i, c in enumerate(after.columns) if c.id in stayed), default=0)
    pairs = list(zip(before.columns, after.columns, strict=False))
    again = [
        (old.name, new.name)
        for old, new in pairs[:last]
        if new.name not in known and old.id not in stayed and old.name in after.names
    ]
    if again or len(before.columns) != len(after.columns):
        return again
    moved = [(old, new) for old, new in pairs if old.name != new.name]
    shifted = any(new.name in known and known[new.name].type != new.type for _, new in moved)
    is_chain = shifted and all(old.type == new.type for old, new in moved)
    return [(old.name, new.name) for old, new in moved] if is_chain else []


def _find_returned(before: TableSchema, after: TableSchema, older: Sequence[TableSchema]) -> Iterator[str]:
    """Find columns that equal those of an older schema, between the same neighbours."""
    known = set(before.names)
    for column in after.columns:
        if column.name in known:
            continue
        for schema in reversed(older):
            was = schema.column(column.name)
            if was is None:
                continue
            common = set(schema.names) & set(after.names)
            order = [[n for n in s.names if n in common] for s in (schema, after)]
            if was.type == column.type and order[0] == order[1]:
                yield column.name
            break


@lru_cache(KEPT_SCHEMAS)
def _is_perhaps_recreated(before: TableSchema, after: TableSchema) -> bool:
    """Whether less than half of the columns stayed, and of the key nothing.

    Columns that came, went and came again at once are as much of a jump as a whole key. Names that moved
    between places are none: their columns stayed.
    """
    places = match_places(before, after)
    moved = {b.id: a.id for a, b in places.pairs if a.name in places.moved and a.name != b.name}
    later = {c.name: moved.get(c.id, c.id) for c in after.columns}
    stayed = {c.id for c in before.columns} & {*later.values()}
    key = {column.id for name in before.key if (column := before.column(name)) is not None}
    old, new = set(before.names), set(after.names)
    again = {name for name, id in later.items() if id not in stayed} & old
    jumped = bool(again and old - new and new - old)
    return 2 * len(stayed) < len(before.columns) and (jumped or not key & {later.get(k) for k in after.key})


def describe_open_change(change: FormChange) -> tuple[str, str]:
    """(kind, message) of a change of form that no other table has decided yet."""
    names = ", ".join(change.columns)
    return (
        "perhaps-another-mode",
        f"{names} changed from {change.was} to {change.now}, and no record shows yet whether the "
        "table changed or a handling mode of the connector: no other table changed like that "
        "then, and none kept the old form",
    )


def describe_common_change(columns: str, was: str, now: str) -> tuple[str, str]:
    """(kind, message) of a change of form that other tables confirm, and that no other release explains."""
    return (
        "perhaps-altered",
        f"{columns} changed from {was} to {now} when other tables did, and the release of the "
        "connector did not change: this counts as a connector setting and makes no version; if "
        "these tables were altered alike at that moment, or are one table under several names, "
        "this one changed here",
    )
