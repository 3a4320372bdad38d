"""The same stream again: topics that were copied, restored or mirrored; connectors without their offsets.

Law: what was seen by its own position in the source's log is a redelivery, whatever its offset is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import pytest

from schemaman.debezium.records import Record
from schemaman.history.versions import TableHistory
from schemaman.ingest.ingest import ingest
from schemaman.registry import Registry
from schemaman.store.memory import MemoryStore
from tests.cases.connector import INT, NOTE, TEXT, Connector, shapes, told
from tests.support import recordings
from tests.support.checkout import CAPTURES, PROOF

Copy = Callable[[Sequence[Record]], list[Record]]

RUNS = sorted(str(p.parent.relative_to(CAPTURES)) for p in CAPTURES.glob("*/*/records.*"))


def append(records: Sequence[Record], again: Iterable[Record]) -> list[Record]:
    """Records, and some of them again behind the last offsets of their partitions."""
    offsets: dict[tuple[str, int], int] = {}
    for r in records:
        offsets[r.topic, r.partition] = max(offsets.get((r.topic, r.partition), 0), r.offset + 1)
    result = list(records)
    for r in again:
        place = (r.topic, r.partition)
        result.append(replace(r, offset=offsets[place]))
        offsets[place] += 1
    return sorted(result, key=lambda r: (r.topic, r.partition, r.offset))


def copy_whole(records: Sequence[Record]) -> list[Record]:
    """The stream twice."""
    return append(records, records)


def copy_twice(records: Sequence[Record]) -> list[Record]:
    """The stream three times."""
    return append(copy_whole(records), records)


def copy_part(records: Sequence[Record]) -> list[Record]:
    """A part of the stream again."""
    first, last = sorted(random.Random(7).sample(range(len(records)), 2))
    return append(records, records[first:last])


def mirror(records: Sequence[Record]) -> list[Record]:
    """The stream in other partitions, too."""
    return [*records, *(replace(r, partition=r.partition + 5) for r in records)]


def read(run: str, copy: Copy) -> dict[str, TableHistory]:
    """The histories of a recording that was copied."""
    registry = Registry(MemoryStore(), lambda: 0)
    ingest(copy(recordings.recorded(run)), registry, "main", recordings.registry(run))
    return {str(h.table): h for h in registry.tables()}


def facts(history: TableHistory) -> tuple[object, ...]:
    """What does not depend on how often the records came."""
    return (
        [(v.id, v.incarnation, v.schema, v.status, v.unconfirmed, v.at.position) for v in history.versions],
        [(e.kind, e.incarnation, e.at.position) for e in history.events],
        [(k.columns, k.origins, k.is_confirmed) for k in history.keys],
        {(d.kind, d.versions, d.message) for d in history.disagreements},
    )


COPIES = (copy_whole, copy_twice, copy_part, mirror)
EVERY = [(run, copy) for run in RUNS for copy in COPIES]
SOME = [(run, COPIES[number % len(COPIES)]) for number, run in enumerate(RUNS)]
"""In a small run each recording is copied in one way, by turns."""


@pytest.mark.parametrize(("run", "copy"), EVERY if PROOF else SOME)
def test_a_stream_that_comes_again_changes_no_history(run: str, copy: Copy):
    once, again = read(run, list), read(run, copy)
    assert {t: facts(h) for t, h in again.items()} == {t: facts(h) for t, h in once.items()}


def mirror_part(records: Sequence[Record]) -> list[Record]:
    """A part of the stream in another topic, too."""
    part = records[len(records) // 3 : len(records) // 2]
    return [*records, *(replace(r, topic=f"{r.topic}.copy") for r in part)]


@pytest.mark.parametrize("run", ["inventory-2.5.4-update-full", "inventory-1.4.2-oplog"])
def test_documents_that_come_again_in_another_topic_are_no_further_documents(run: str):
    once, again = read(f"mongodb/{run}", list), read(f"mongodb/{run}", mirror_part)
    assert {t: facts(h)[0] for t, h in again.items()} == {t: facts(h)[0] for t, h in once.items()}


@pytest.mark.parametrize("name", ["postgresql", "mysql", "db2", "oracle", "sqlserver", "informix"])
@pytest.mark.parametrize("copy", [copy_whole, copy_twice, mirror])
def test_rows_of_a_snapshot_that_come_again_make_no_version(name: str, copy: Copy):
    connector = Connector(name=name)
    connector.rows({"id": INT, "a": TEXT}, op="r", snapshot="true")
    connector.rows({"id": INT, "a": TEXT})
    connector.rows({"id": INT, "a": TEXT, "b": NOTE})
    history = told(copy(connector.records))["t"]
    assert shapes(history) == shapes(connector.told()["t"])
    assert [v.until for v in history.versions] == [history.versions[1].at, None]


def test_another_snapshot_after_the_stream_is_no_redelivery():
    connector = Connector()
    connector.rows({"id": INT, "a": TEXT}, op="r", snapshot="true")
    connector.rows({"id": INT, "a": TEXT})
    connector.rows({"id": INT, "a": TEXT, "b": NOTE}, op="r", snapshot="true")
    assert len(connector.told()["t"].versions) == 2


def test_rows_that_an_incremental_snapshot_read_before_the_stream_went_on_are_old():
    connector = Connector()
    connector.rows({"id": INT, "a": TEXT})
    connector.rows({"id": INT, "a": TEXT}, op="r", snapshot="incremental", lsn=None, sequence=None)
    connector.rows({"id": INT, "a": TEXT, "b": NOTE})
    assert len(connector.told()["t"].versions) == 2
    assert len(told(copy_whole(connector.records))["t"].versions) == 2
