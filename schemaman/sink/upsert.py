"""Changes of rows on their way into a table: the columns that remember positions, and the fold per key.

Law: the fold of a key's changes, merged into a table where the greater position wins, leaves the row that
merging them one after the other leaves; changes delivered twice, or late, change nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, assert_never

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

    The table may have the row from between the changes: columns whose `words` are not the last one stay as it
    has them where its row is not older than the word. A column of no value whose word is not the last went
    when the row began anew. `places` are all records that went into it.

    `needs_row`: some kept value must be in the table already, in a row that is newer than `anew`, where the
    row began anew last; without such a row it is not known. `unsent`: the oldest word of a column whose value
    was not sent again later: a table that knows the row to be gone since then does not know the value.
    """

    order: str
    deleted: bool
    values: Mapping[str, object]
    kept: frozenset[str]
    places: tuple[Place, ...]
    words: Mapping[str, str] = field(default_factory=dict)
    needs_row: bool = False
    anew: str | None = None
    unsent: str | None = None


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
    others = frozenset(columns) - state.values.keys()
    # Of a grave all stays, and so does what was not sent: some row of the table has to have it.
    stay = others if state.deleted or state.anew is None else frozenset(state.unknown)
    words = {name: order for name, order in state.words.items() if order != state.order}
    if state.anew is not None and state.anew != state.order:
        words |= dict.fromkeys(others - stay, state.anew)
    return Upsert(
        state.order,
        state.deleted,
        state.values,
        stay,
        tuple(state.places),
        words,
        needs_row=bool(state.unknown),
        anew=state.anew if state.unknown else None,
        unsent=min((state.words[name] for name in state.unsent), default=None),
    )


@dataclass(slots=True)
class _Row:
    """A row while its changes are gone through.

    From `anew` on nothing of what it was before goes on. `words` are the orders of the values; of `unknown`
    columns no change since then brings one, of `unsent` ones a later change brings none.
    """

    order: str | None = None
    anew: str | None = None
    deleted: bool = False
    values: dict[str, object] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    unsent: set[str] = field(default_factory=set)
    places: list[Place] = field(default_factory=list)

    def take(self, change: LakeChange) -> None:
        """The next change."""
        self.order = change.order
        match change.op:
            case "d" | "c":
                # The key's values stay, for a grave needs them; what the row held is what the table holds.
                self.anew = change.order
                self._forget()
            case "u" | "r":
                if self.deleted:
                    self._forget()
            case "t":
                raise ValueError("a TRUNCATE is no change of a row")
            case _:
                assert_never(change.op)
        self.deleted = change.op == "d"
        told, unsent = change.values.keys(), frozenset() if self.deleted else change.unavailable
        self.values |= change.values
        self.words |= dict.fromkeys(told, change.order)
        self.unsent = (self.unsent | (unsent & self.values.keys())) - told
        self.unknown = (self.unknown | unsent) - self.values.keys()

    def _forget(self) -> None:
        self.values, self.words, self.unsent, self.unknown = {}, {}, set(), set()
