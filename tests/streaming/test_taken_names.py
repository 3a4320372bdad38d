"""A name that a successor would get is that of another table of the source: each has its own rows."""

from __future__ import annotations

import pytest

from schemaman.debezium.records import Record
from schemaman.migration.policy import Policy
from schemaman.migration.row_columns import DELETED
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_autopilot import INT, lake, told
from tests.support.memory_sink import MemorySink
from tests.support.records import row_event

__all__ = ["lake"]


def of_other(offset: int, v: int) -> Record:
    op = "u" if offset else "c"
    return row_event({"id": INT, "v": INT}, op, {"id": 10, "v": v}, table="t__2", offset=offset)


FIRST = [told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 1})]
REKEYED = [told(2, {"id": 3, "n": 7}, key=("n",)), told(3, {"id": 4, "n": 8}, key=("n",))]
LATER = [told(4, {"id": 5, "n": 9}, key=("n",)), of_other(1, 2)]
STREAMS = {
    "the table first": [FIRST, [of_other(0, 1)], REKEYED, LATER],
    "both in one batch": [FIRST, [*REKEYED, of_other(0, 1)], LATER],
    "the successor first": [FIRST, REKEYED, [of_other(0, 1)], LATER],
}


@pytest.mark.parametrize("stream", STREAMS)
def test_a_successor_takes_no_name_that_a_table_of_the_source_has(lake: MemorySink, stream: str) -> None:
    for batch in STREAMS[stream]:
        lake.take(batch)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    rows: dict[tuple[str, ...], list[int]] = {("id", "n"): [], ("id", "v"): []}
    for table in lake.tables.values():
        assert table.live is not None
        rows[table.live.schema.names[:2]] += [row["id"] for row in table.read() if not row[DELETED]]
    assert {names: sorted(ids) for names, ids in rows.items()} == {
        ("id", "n"): [1, 2, 3, 4, 5],
        ("id", "v"): [10],
    }


@pytest.mark.parametrize("is_first", [True, False])
def test_no_view_keeps_the_name_of_a_table(store: SqlStore, is_first: bool) -> None:
    """The view of `t` has the name before `t__2` is known, or would get it afterwards."""
    lake = MemorySink(store, lambda _: None, "iceberg", Policy(profile="autopilot"), lambda _: False)
    lake.view = "ice.raw.`{database}.{schema}.{table}__2`"
    own, other = told(0, {"id": 1, "n": 1}), of_other(0, 1)
    for record in (own, other) if is_first else (other, own):
        lake.take([record])
    lake.take([told(1, {"id": 2, "n": 1}), of_other(1, 2)])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    assert list(lake.views) == ["`ice`.`raw`.`shop.public.t__2__2`"]
    assert [row["v"] for row in lake.tables["ice.raw.`shop.public.t__2`"].read()] == [2]
    assert sum("would have the name of the lake table of srv.shop.public.t__2" in n for n in lake.notes) == 1
