"""Law of batch boundaries: a stream leads to the same rows and the same waiting records wherever batches end.

`tests.support.batches` cuts each stream; `tests.ingest.test_order` holds the same law of histories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.store.sql.store import SqlStore
from tests.streaming import test_dropped_columns as dropped_columns
from tests.streaming import test_names_that_come_back as names
from tests.streaming import test_repeated_records as repeated
from tests.streaming import test_values_not_sent as not_sent
from tests.streaming.test_deletes import bare, flat
from tests.streaming.test_late_schema_changes import mirror as approved_mirror
from tests.streaming.test_policy import alive, mirror
from tests.support.batches import cut, cuts
from tests.support.checkout import PROOF
from tests.support.memory_sink import MemorySink

BIG = not_sent.BIG


@dataclass(frozen=True, slots=True)
class Stream:
    """Records, and what they lead to: `rows` as `read` gives them, or None if one batch tells them.

    `waits` are the records that wait, by offset.
    """

    records: Sequence[Record]
    rows: Any = None
    waits: dict[int, str] | None = None
    open: Callable[[SqlStore], MemorySink] = mirror
    read: Callable[[MemorySink], Any] = alive


def only(lake: MemorySink, *, columns: Sequence[str]) -> list[dict[str, Any]]:
    return [{name: row[name] for name in columns} for row in alive(lake)]


def nested(lake: MemorySink) -> list[Any]:
    return [dropped_columns.held(row["s"]) for row in dropped_columns.rows(lake)]


def with_columns(lake: MemorySink) -> tuple[set[str], list[dict[str, Any]]]:
    (table,) = lake.lake()
    return {*table.live.schema.names}, dropped_columns.rows(lake)


def sent_again() -> Iterator[tuple[str, Stream]]:
    """Streams of which all from some record on comes twice, as after a crash of the connector."""
    for name, (records, wanted) in repeated.STREAMS.items():
        for begin in range(len(records) if PROOF else 1):
            stream = Stream(
                repeated.twice(records, begin),
                [wanted] if wanted else [],
                read=partial(only, columns=list(wanted)),
            )
            yield f"{name}, again from {begin}", stream


def reused_names() -> Iterator[tuple[str, Stream]]:
    """Both formats in a proof, else one and the other by turns."""
    for number, (name, records) in enumerate(names.STREAMS.items()):
        for format in ("delta", "iceberg") if PROOF else (("delta", "iceberg")[number % 2],):
            open = partial(approved_mirror, format=format)
            yield f"{name}, {format}", Stream(records, open=open, read=names.outcome)


FLAT = [flat(0, 1, 1, 100), flat(1, 2, 1, 110), bare(2, 1), flat(3, 3, 1, 130)]
BEHIND = [not_sent.row(3, "u", 1, BIG, 10), not_sent.row(4, "u", 1, BIG, 11)]
WHOLE = not_sent.row(2, "u", 1, "whole", 9)
NOT_UNDERSTOOD = not_sent.damaged(1, 1)
STREAMS = {
    **dict(sent_again()),
    **dict(reused_names()),
    "columns that came and went": Stream(
        dropped_columns.CAME_AND_WENT,
        (
            {"id", "b", "a", "c", "_row_order", "_row_deleted"},
            [
                {"id": 1, "b": "y", "a": 5, "c": None},
                {"id": 2, "b": "x", "a": 2, "c": None},
                {"id": 4, "b": None, "a": 4, "c": 9},
                {"id": 5, "b": None, "a": 4, "c": None},
            ],
        ),
        open=dropped_columns.mirror,
        read=with_columns,
    ),
    "nested fields that came and went": Stream(
        dropped_columns.MEMBERS_CAME_AND_WENT,
        [
            {"k": 1, "p": [{"x": 1}]},
            {"k": 2, "m": 3, "p": [{"x": 1, "y": 4}], "q": {"u": 5, "v": 6}},
            {"k": 2, "p": [{"x": 1}], "q": {"u": 5}},
            {"k": 8, "p": [{"x": 2}], "r": 9},
        ],
        open=dropped_columns.mirror,
        read=nested,
    ),
    "a flattened delete": Stream(FLAT, [{"id": 2, "n": 1}, {"id": 3, "n": 1}]),
    "a whole row behind one that waits": Stream(
        [not_sent.OLD, not_sent.BAD, WHOLE, *BEHIND], {1: "whole"}, {1: "at:"}, read=not_sent.bigs
    ),
    "a whole row behind one not understood": Stream(
        [not_sent.OLD, NOT_UNDERSTOOD, WHOLE, *BEHIND], {1: "whole"}, {1: "at:"}, read=not_sent.bigs
    ),
    "a row from before one not understood, again": Stream(
        [not_sent.OLD, NOT_UNDERSTOOD, not_sent.BEHIND, not_sent.row(3, "u", 1, "old", 5, lsn=100)],
        {1: "old"},
        {1: "at:", 2: "waits"},
        read=not_sent.bigs,
    ),
}


@pytest.mark.parametrize("case", STREAMS)
def test_a_table_comes_to_the_same_wherever_batches_end(tmp_path: Path, case: str) -> None:
    stream = STREAMS[case]
    wanted = stream.rows
    for number, ends in enumerate(cuts(len(stream.records))):
        with SqlStore.open(f"sqlite:///{tmp_path / f'{number}.db'}", create=True) as store:
            lake = stream.open(store)
            for batch in cut(stream.records, ends):
                lake.take(batch)
            lake.take([])
            assert not_sent.waits(lake) == (stream.waits or {}), ends
            assert bool(lake.stopped) is False, ends
            rows = stream.read(lake)
        wanted = rows if wanted is None else wanted
        assert rows == wanted, ends
