"""Random lives of a source table through the mirror, however they are delivered: nothing is wrong silently.

Rows of which nothing waits are those of the source, each value in the column that is its own, and the values
of columns that have left are kept beside them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemaman.history.decisions import Decisions, NotRename, Rename, format_coordinates
from schemaman.migration.policy import Policy, PolicyRule
from schemaman.migration.properties.names import VERSION_PROPERTY
from schemaman.migration.row_columns import DELETED
from schemaman.registry import Registry
from schemaman.spark.streaming.micro_batch import record_batch
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_policy import DEFAULTS
from tests.support.checkout import PROOF
from tests.support.memory_sink import MemorySink, batch_of
from tests.support.simulated_source import Connector, SimulatedSource, batches, delivered, placed

POLICY = Policy(rules=(PolicyRule("auto", ("truncate", "rename-proven")),))


def opened(store: SqlStore, before: MemorySink | None = None) -> MemorySink:
    """A mirror; with `before` that of another process, which finds what the one before has written."""
    lake = MemorySink(store, lambda _: None, "delta", POLICY, modes=DEFAULTS)
    lake.approve = lambda _: True
    if before is not None:
        for name in ("tables", "sources", "kept", "aside", "unplaced", "rejected", "ended", "decisions"):
            setattr(lake, name, getattr(before, name))
    return lake


def answers(store: SqlStore, source: SimulatedSource) -> Decisions:
    """What the source knows of every rename that is asked for."""
    renames: list[Rename] = []
    others: list[NotRename] = []
    for history in filter(None, map(store.history, store.tables())):
        for before, after in zip(history.versions, history.versions[1:], strict=False):
            for asked in after.candidates:
                was = source.column_at(_place(before.at.position.rank), asked.old)
                now = source.column_at(_place(after.at.position.rank), asked.new)
                answer = str(history.table), asked.old, asked.new, after.id, format_coordinates(after.at)
                if was is not None and was == now:
                    renames.append(Rename(*answer))
                else:
                    others.append(NotRename(*answer))
    return Decisions(tuple(renames), tuple(others))


def _place(rank: tuple[object, ...]) -> int:
    """The place in the log of a position: the only number of it that the simulated source counts."""
    return next(int(str(n)) for n in reversed(rank) if isinstance(n, int) and n >= 100)


def mirrored(source: SimulatedSource, store: SqlStore, chance: random.Random) -> tuple[MemorySink, set[int]]:
    """The lake once all was delivered, in a stream with crashes on both sides; and the rows that wait."""
    told = delivered(source.log, chance, chance.choice((0, 1, 3)))
    lake = opened(store)
    for batch in batches(told, chance, lag=chance.random() < 0.5):
        happens = chance.random()
        if happens < 0.1:
            lake = opened(store, lake)
        elif happens < 0.15:  # killed between the history and the rows
            record_batch(batch_of(batch), Registry(store, lambda: 0), "main", lambda _: None)
            lake = opened(store, lake)
        elif happens < 0.4:
            lake.decisions = answers(store, source)
        lake.take(batch)
        if chance.random() < 0.1:
            lake.take(batch)
    if _behind(lake, store):
        begun = len(source.log)
        source.show()
        told = placed([*told, *source.log[begun:]])
        lake.take([t.record for t in told[-source.partitions :]])
    for _ in range(2):
        lake.decisions = answers(store, source)
        lake.take([])
    rows = {(t.record.topic, t.record.partition, t.record.offset): t.row for t in told}
    waiting = {rows[at] for at in lake.withheld() if at not in lake.ended}
    return lake, {id for id in waiting if id is not None}


def _behind(lake: MemorySink, store: SqlStore) -> bool:
    """Whether the last structure was told behind all rows, and looked like an older one in them.

    A table follows before rows are written, not without any.
    """
    (table,) = lake.tables.values()
    (history,) = filter(None, map(store.history, store.tables()))
    live = table.live
    return live is not None and live.properties[VERSION_PROPERTY] != history.latest.id


def faults(source: SimulatedSource, lake: MemorySink, waiting: set[int]) -> list[str]:
    """What the lake has otherwise than the source, of rows that nothing waits of."""
    (table,) = lake.lake()
    if table.stopped:  # which is said, and why
        return []
    rows = {row["id"]: row for row in table.rows if not row[DELETED]}
    found = [f"row {id} is in one of both" for id in (rows.keys() ^ source.rows.keys()) - waiting]
    for id in (rows.keys() & source.rows.keys()) - waiting:
        found += (f"row {id}: {fault}" for fault in _faults(source, rows[id], source.rows[id]))
    return found


def _faults(source: SimulatedSource, row: Mapping[str, object], wanted: Mapping[int, object]) -> list[str]:
    now = {c.name: wanted.get(c.id) for c in source.columns}
    found = [
        f"{name} is {row.get(name)!r}, not {value!r}" for name, value in now.items() if row.get(name) != value
    ]
    own = {*now, "id"}
    # A number is text where the lake's column was made for texts of another one, which are gone.
    there = sorted(str(v) for n, v in row.items() if n not in own and n[:5] != "_row_" and v is not None)
    present = {c.id for c in source.columns}
    left = sorted(str(v) for id, v in wanted.items() if id not in present and v is not None)
    return found if there == left else [*found, f"beside it stands {there}, not {left}"]


@pytest.mark.parametrize("connector", ["postgresql", "mysql"])
@settings(max_examples=400 if PROOF else 15)
@given(seed=st.integers(0, 2**32))
def test_however_a_life_is_delivered_nothing_is_wrong_silently(connector: Connector, seed: int) -> None:
    chance = random.Random(seed)
    source = SimulatedSource(chance, connector, chance.choice((1, 1, 2, 3)))
    source.live(chance.choice((8, 15, 30)))
    with (
        TemporaryDirectory() as folder,
        SqlStore.open(f"sqlite:///{Path(folder) / 's.db'}", create=True) as store,
    ):
        lake, waiting = mirrored(source, store, chance)
        assert faults(source, lake, waiting) == []
