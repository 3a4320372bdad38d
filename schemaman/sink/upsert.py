"""Changes of rows on their way into a table: the columns that remember positions, and the fold per key.

Law: the fold of a key's changes, merged into a table where the greater position wins, leaves the row that
merging them one after the other leaves; changes delivered twice, or late, change nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, assert_never

Op = Literal["c", "u", "d", "r", "t"]
TopicOffset = tuple[str, int, int]
"""Topic, partition, offset."""


@dataclass(frozen=True, slots=True)
class LakeChange:
    """A change of a row in the words of one lake table: its columns, its types.

    `values` are those that the record brings; `unavailable` are columns whose value the source has and did
    not send, since it did not change (TOAST). `redelivered`: it was delivered before most likely.
    """

    op: Op
    order: str
    record: TopicOffset
    values: Mapping[str, object] = field(default_factory=dict)
    unavailable: frozenset[str] = frozenset()
    redelivered: bool = False


@dataclass(frozen=True, slots=True)
class Upsert:
    """What becomes of one row: `values` are set, `kept` columns stay as the table has them.

    The table may have the row from between the changes: columns whose `value_orders` are not the last one stay as it
    has them where its row is not older than the word. A column of no value whose word is not the last went
    when the row began anew. `records` are all records that went into it.

    `needs_row`: some kept value must be in the table already, in a row that is newer than `restart_order`, where the
    row began anew last; without such a row it is not known. `unsent_order`: the oldest word of a column whose value
    was not sent again later: a table that knows the row to be gone since then does not know the value.
    """

    order: str
    deleted: bool
    values: Mapping[str, object]
    kept: frozenset[str]
    records: tuple[TopicOffset, ...]
    value_orders: Mapping[str, str] = field(default_factory=dict)
    needs_row: bool = False
    restart_order: str | None = None
    unsent_order: str | None = None


def fold_changes(
    changes: Iterable[LakeChange], columns: Collection[str], truncated: str = ""
) -> Upsert | None:
    """What the changes of one key come to; None if a TRUNCATE at `floor` came after all of them.

    `changes` are in order; `columns` are those of the table without the ones that remember positions.
    """
    state = _FoldedRow()
    for change in changes:
        state.records.append(change.record)
        if change.order > truncated:
            state.add_change(change)
    if state.order is None:
        return None
    others = frozenset(columns) - state.values.keys()
    # Of a grave all stays, and so does what was not sent: some row of the table has to have it.
    stay = others if state.deleted or state.restart_order is None else frozenset(state.unknown)
    words = {name: order for name, order in state.value_orders.items() if order != state.order}
    if state.restart_order is not None and state.restart_order != state.order:
        words |= dict.fromkeys(others - stay, state.restart_order)
    return Upsert(
        state.order,
        state.deleted,
        state.values,
        stay,
        tuple(state.records),
        words,
        needs_row=bool(state.unknown),
        restart_order=state.restart_order if state.unknown else None,
        unsent_order=min((state.value_orders[name] for name in state.unsent), default=None),
    )


@dataclass(slots=True)
class _FoldedRow:
    """A row while its changes are gone through.

    From `restart_order` on nothing of what it was before goes on. `value_orders` are the orders of the values; of `unknown`
    columns no change since then brings one, of `unsent` ones a later change brings none.
    """

    order: str | None = None
    restart_order: str | None = None
    deleted: bool = False
    values: dict[str, object] = field(default_factory=dict)
    value_orders: dict[str, str] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    unsent: set[str] = field(default_factory=set)
    records: list[TopicOffset] = field(default_factory=list)

    def add_change(self, change: LakeChange) -> None:
        """The next change."""
        self.order = change.order
        match change.op:
            case "d" | "c":
                # The key's values stay, for a grave needs them; what the row held is what the table holds.
                self.restart_order = change.order
                self._clear()
            case "u" | "r":
                if self.deleted:
                    self._clear()
            case "t":
                raise ValueError("a TRUNCATE is no change of a row")
            case _:
                assert_never(change.op)
        self.deleted = change.op == "d"
        sent, unsent = change.values.keys(), frozenset() if self.deleted else change.unavailable
        self.values |= change.values
        self.value_orders |= dict.fromkeys(sent, change.order)
        self.unsent = (self.unsent | (unsent & self.values.keys())) - sent
        self.unknown = (self.unknown | unsent) - self.values.keys()

    def _clear(self) -> None:
        self.values, self.value_orders, self.unsent, self.unknown = {}, {}, set(), set()
