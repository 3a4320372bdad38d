"""Changes of rows on their way into a table: the columns that remember positions, and the fold per key.

Law: the fold of a key's changes, merged into a table where the greater position wins, leaves the row that
merging them one after the other leaves; changes delivered twice, or late, change nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from schemaman.diff import ChangeKey
from schemaman.plan import Live, Refusal, Source, words
from schemaman.schema import Column, TableSchema
from schemaman.types import Boolean, Integer, String, Type

ORDER = "_row_order"
"""Column: where in the source's log the row stands; of two, the greater text is the later one."""
DELETED = "_row_deleted"
"""Column: the source deleted the row at that place. It stays, so that nothing older brings it back."""
OP = "_row_op"
"""Column of a table without a key: what happened to the row, in Debezium's letters."""
STREAM, TOPIC, PARTITION, OFFSET = "_row_stream", "_row_topic", "_row_partition", "_row_offset"
"""Columns of a table without a key: the record of the row, by which it is known again."""

KEYED: tuple[tuple[str, Type], ...] = ((ORDER, String()), (DELETED, Boolean()))
KEYLESS: tuple[tuple[str, Type], ...] = (
    (ORDER, String()),
    (OP, String()),
    (STREAM, String()),
    (TOPIC, String()),
    (PARTITION, Integer(32)),
    (OFFSET, Integer(64)),
)

TRUNCATED_PROPERTY = "schemaman.truncated"
"""Table property: the position of the newest TRUNCATE; no row that is older may come back."""

_LOG = (
    "the table is a log of changes: a row that was updated or deleted has several records in it, and none of "
    "them tells the old key of an update"
)
_ROWS = "the table has one row for each key, and graves, and no records that could be counted one by one"
_MOVED = (
    "move it away, so that the next plan makes a new table, and fill that by a snapshot of the source "
    "(Debezium sends an incremental one as events)"
)

Op = Literal["c", "u", "d", "r", "t"]
Place = tuple[str, int, int]
"""Topic, partition, offset."""


@dataclass(frozen=True, slots=True)
class LakeChange:
    """A change of a row in the words of one lake table: its columns, its types.

    `values` are those that the record brings; `unavailable` are columns whose value the source has and did
    not send, since it did not change (TOAST). `again`: it was delivered before most likely.
    """

    op: Op
    order: str
    place: Place
    values: Mapping[str, object] = field(default_factory=dict)
    unavailable: frozenset[str] = frozenset()
    again: bool = False


@dataclass(frozen=True, slots=True)
class Upsert:
    """What becomes of one row: `values` are set, `kept` columns stay as the table has them.

    `places` are all records that went into it. `needs_row`: some kept value must be in the table already;
    without the row it is not known. `lost`: not even a row could tell it, since the row began anew before.
    """

    order: str
    deleted: bool
    values: Mapping[str, object]
    kept: frozenset[str]
    places: tuple[Place, ...]
    needs_row: bool = False
    lost: bool = False


def row_columns(key: Collection[str]) -> tuple[Column, ...]:
    """The columns that a mirrored table has besides those of its source; another kind of table has others."""
    return tuple(Column(name, type) for name, type in (KEYED if key else KEYLESS))



def with_row_columns(source: Source) -> Source:
    """The source with the columns that a mirrored table has besides its own."""
    schema = source.schema
    columns = (*schema.columns, *row_columns(schema.key))
    return replace(source, schema=TableSchema(columns, schema.key, schema.comment))


def key_refused(key: tuple[str, ...], live: Live) -> Refusal | None:
    """Why the rows of a mirrored table cannot be told by `key` instead; None if they can, or it is no mirror.

    Rows that are merged by a key and records that are appended one by one are not each other's.
    """
    names, change = set(live.schema.names), words(ChangeKey(live.schema.key, key))
    if key and not live.schema.key and names.issuperset(name for name, _ in KEYLESS):
        return Refusal(change, _LOG, f"let {live.name} be the log that it is: {_MOVED}")
    if live.schema.key and not key and DELETED in names:
        return Refusal(change, _ROWS, f"let {live.name} be as it is: {_MOVED}")
    return None


def folded(changes: Iterable[LakeChange], columns: Collection[str], floor: str = "") -> Upsert | None:
    """What the changes of one key come to; None if a TRUNCATE at `floor` came after all of them.

    `changes` are in order; `columns` are those of the table without the ones that remember positions.
    """
    state = _Row()
    for change in changes:
        state.places.append(change.place)
        if change.order > floor:
            state.take(change)
    if state.order is None:
        return None
    kept = frozenset() if state.anew else frozenset(columns) - state.values.keys()
    return Upsert(
        state.order,
        state.deleted,
        state.values,
        kept if not state.deleted else frozenset(columns) - state.values.keys(),
        tuple(state.places),
        needs_row=bool(state.unknown) and not state.anew,
        lost=bool(state.unknown) and state.anew,
    )


@dataclass(slots=True)
class _Row:
    """A row while its changes are gone through; `anew`: nothing of what the table holds goes on."""

    order: str | None = None
    anew: bool = False
    deleted: bool = False
    values: dict[str, object] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    places: list[Place] = field(default_factory=list)

    def take(self, change: LakeChange) -> None:
        """The next change."""
        self.order = change.order
        match change.op:
            case "d":
                # The key's values stay, for a grave needs them; what the row held is what the table holds.
                self.anew, self.deleted = True, True
                self.values, self.unknown = dict(change.values), set()
            case "c":
                self.anew, self.deleted = True, False
                self.values, self.unknown = dict(change.values), set(change.unavailable)
            case "u" | "r":
                self.values = ({} if self.deleted else self.values) | dict(change.values)
                self.unknown = (self.unknown | change.unavailable) - self.values.keys()
                self.deleted = False
            case "t":
                raise ValueError("a TRUNCATE is no change of a row")
            case _:
                assert_never(change.op)
