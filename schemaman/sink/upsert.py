"""Changes of rows in the columns of a lake table, and the fold of the changes of one key.

Law: in a table where the greater position wins, merging the fold of a key's changes gives the same row as
merging the changes one after the other. Changes that are delivered twice, or late, change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Literal, assert_never

from schemaman.sink.uncertain_keys import Claim

Op = Literal["c", "u", "d", "r", "t"]
TopicOffset = tuple[str, int, int]
"""Topic, partition, offset."""


@dataclass(frozen=True, slots=True)
class LakeChange:
    """A change of a row in the columns and types of one lake table.

    `values` are those of the record. `unavailable` are columns whose value the source did not send, since it
    did not change (TOAST). `redelivered`: the change was most likely delivered before. `claim`: what the lake
    must confirm before it is written (`uncertain_keys`).
    """

    op: Op
    order: str
    record: TopicOffset
    values: Mapping[str, object] = field(default_factory=dict)
    unavailable: frozenset[str] = frozenset()
    redelivered: bool = False
    claim: Claim = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields alone, which is a third of the work of a dataclass with slots."""
        return LakeChange, _read_fields(self)


_read_fields: Callable[[LakeChange], tuple[Any, ...]] = attrgetter(*(f.name for f in fields(LakeChange)))


@dataclass(frozen=True, slots=True)
class Upsert:
    """The outcome for one row: `values` are set, `kept` columns keep the values of the table.

    The table may have a newer row than some of the changes. `value_orders` has the order of each value that
    is not of the last change: the table keeps its own value unless its row is older. A column there without a
    value was cleared at that order, when the row restarted. `records` are all records of the fold.

    `needs_row`: the table must already have some kept value, in a row newer than `restart_order`, the order
    at which the row last restarted. `unsent_order`: the oldest order of a value that a later change left out
    as unchanged; if the table's row was deleted after that order, the table lacks the value.
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
    """Fold the changes of one key; None if a TRUNCATE at the order `truncated` came after all of them.

    `changes` are in order; `columns` are those of the table without the ones that record positions.
    """
    state = _FoldedRow()
    for change in changes:
        state.records.append(change.record)
        if change.order > truncated:
            state.add_change(change)
    if state.order is None:
        return None
    others = frozenset(columns) - state.values.keys()
    # A soft-deleted row keeps all its values. Unsent values must be in a row of the table, too.
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
    """The state of a row while its changes are folded.

    Values before `restart_order` do not count. `value_orders` are the orders of the values. No change since
    then has a value for `unknown` columns; later changes leave out the values of `unsent` ones as unchanged.
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
        """Add the next change."""
        self.order = change.order
        match change.op:
            case "d" | "c":
                # A soft-deleted row needs the key's values; the table has the other values.
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
