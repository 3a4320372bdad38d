"""Which tables the store tells of otherwise than when a mirror looked last, whoever has told it since.

Law: where rows of a lake table turn out to be what they were not read as, this is said in the batch that it
is learnt in, though no row of that table comes; what is not told of is not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from schemaman.debezium.connector import DIALECTS
from schemaman.debezium.observation import STATEMENTS, Observation
from schemaman.errors import SchemamanError, StatementFailed
from schemaman.history.fold.fold import fold
from schemaman.migration.target import Executor
from schemaman.model.schema import TableId
from schemaman.registry import Memory
from schemaman.sink.reread import retold
from schemaman.sink.row_order import place
from schemaman.sink.stale_rows import LetThrough
from schemaman.sink.values.connector_modes import Modes
from schemaman.spark.sql_errors import RAISED
from schemaman.spark.streaming.batch_report import TableReport
from schemaman.spark.streaming.table_migration import Follower
from schemaman.store.edge_hashes import Extents
from schemaman.store.log import Covered, Observed, tables_of

_WINDOW = 2_000
"""So many entries of the log are read first to find where the batch before this one ended."""


@dataclass(slots=True)
class Learnt:
    """Goes along with the log of a store, from batch to batch.

    `began` is where the log ended at first, `looked` the place up to which it was read; `open` are tables
    that have to be looked at, with the number of observations that were new of them.
    """

    store: Memory
    stream: str
    modes: Modes
    followers: Callable[[TableId], Iterable[Follower]]
    began: int = field(init=False)
    looked: int | None = None
    open: Counter[TableId] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.began = self.store.end()

    def learn(self, extents: Extents) -> None:
        """Take up what was told since the last batch; this one has entered the history.

        `extents` are the first and the last offset of each place of the batch: in another process the batch
        may have been learnt from already, so the log is read from where the one before it was.

        Raises `StoreUnavailable`.
        """
        since = self._reached(extents) if self.looked is None else self.looked
        self.looked = self.store.end()
        for stamped in self.store.read(since, [Observed]):
            self.looked = max(self.looked, stamped.sequence)
            self.open.update(t for t in tables_of(stamped.entry) if t.stream == self.stream)

    def falsified(
        self, executor: Callable[[Follower], Executor], seen: Collection[Follower]
    ) -> Iterator[TableReport]:
        """The lake tables that would take no rows, as those in them are not what they were read as.

        Those `seen` got rows, and are looked at already. What is given back is looked at again with the next
        batch. What goes wrong with one table is told of it alone.
        """
        for table, new in sorted(self.open.items()):
            quiet = [f for f in self.followers(table) if f not in seen]
            found = [(f, self._fault(f, executor, new)) for f in quiet]
            if all(why is None for _, why in found):
                del self.open[table]
            yield from (TableReport(str(table), f.lake_table, stopped=why) for f, why in found if why)

    def _fault(self, follower: Follower, executor: Callable[[Follower], Executor], new: int) -> str | None:
        """Why a lake table would take no rows; None if it is not there, or its rows are what they should."""
        try:
            if not self._retold(follower.table, new):
                return None
            asked = executor(follower)
            live = asked.inspect(follower.lake_table, follower.target.format)
            history = self.store.history(follower.table)
            if live is None or history is None:
                return None
            found = LetThrough(self.store, self.modes).fault(history, live, follower.name, asked)
            return None if found is None else str(found)
        except StatementFailed as error:
            return error.message
        except (SchemamanError, *RAISED):
            raise
        except Exception as error:  # nobody foresaw it, so its kind is not known
            return f"it cannot be looked at: {type(error).__name__}: {error}"

    def _reached(self, extents: Extents) -> int:
        """Where in the log the batch before this one was learnt from; if nobody can tell, its first end."""
        topics = {topic for topic, _ in extents}
        begun = [(c.topic, c.partition, c.first) for c in self.store.covered(self.stream, topics)]
        places = {(t, p): extents[t, p][0] for t, p, first in begun if first < extents.get((t, p), (0, 0))[0]}
        found: dict[tuple[str, int], tuple[int, int]] = {}
        window = _WINDOW
        while places.keys() - found.keys():
            since = max(0, self.began - window)
            for stamped in self.store.read(since, [Covered]):
                told = stamped.entry
                if not isinstance(told, Covered) or told.stream != self.stream:
                    continue
                place, mine = (told.topic, told.partition), (told.first, stamped.sequence)
                if told.first < places.get(place, 0):
                    found[place] = max(found.get(place, mine), mine)
            if not since:
                break
            window *= 8
        return max((sequence for _, sequence in found.values()), default=self.began)

    def _retold(self, table: TableId, new: int) -> bool:
        """Whether rows that were read before these observations may be of another structure by them."""
        told = self.store.load(table)
        since = self.store.read(self.looked or 0, [Observed])
        if any(table in tables_of(stamped.entry) for stamped in since):
            return True  # more is told by now: which of all these were new, nobody knows
        before = fold(told[:-new], table, DIALECTS.get)
        after = fold(told, table, DIALECTS.get) if before else None
        if before is None or after is None:
            return _stated_behind_rows(told)
        # its rows may have been read when even less was told
        return _is_late(told[:-new], told[-new:]) or bool(retold(before, after, self.modes))


def _stated_behind_rows(told: Sequence[Observation]) -> bool:
    """Whether a statement was read after a row, of a table of which nobody can tell what was known before."""
    rows = (at for at, each in enumerate(told) if each.witness not in STATEMENTS)
    return any(each.witness in STATEMENTS for each in told[next(rows, len(told)) :])


def _is_late(told: Sequence[Observation], new: Sequence[Observation]) -> bool:
    """Whether anything stands before what was known of a table, or nobody can tell."""
    known = [each.last.position for each in told if each.last.position.kind != "none"]
    last = max(map(place, known), default="")
    kinds = {position.kind for position in known}
    places = [each.first.position for each in new if each.first.position.kind != "none"]
    return any(position.kind not in kinds or place(position) < last for position in places)
