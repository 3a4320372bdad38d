"""Values that were not sent, on real tables: what may have them waits, and so does what lacks them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.migration.row_columns import DELETED
from schemaman.migration.target import TARGETS
from schemaman.spark.streaming.quarantine import NO_PREVIOUS_ROW, Quarantine
from schemaman.spark.streaming.row_staging import WAITS_FOR_OLDER
from schemaman.store.sql.store import SqlStore
from tests.spark.formats import on_iceberg
from tests.spark.recordings_in_tables import Run, frame
from tests.streaming.test_repeated_records import STREAMS, change, twice
from tests.streaming.test_values_not_sent import BAD, BEHIND, BIG, FIRST, OLD, damaged, emptied, row, shrunk
from tests.support.checkout import PROOF

pytestmark = pytest.mark.spark

WAYS = [("delta", 10_000), ("iceberg", 0)] if PROOF else [("iceberg", 10_000)]
"""In a small run no executors decode: `test_stream` shows that they do it as this process does."""


def bigs(run: Run) -> dict[int, str]:
    (lake,) = run.lake()
    return {each["id"]: each["big"] for each in lake.rows if not each[DELETED]}


@pytest.mark.parametrize(("format", "small"), WAYS)
def test_an_update_waits_behind_one_in_quarantine(spark, tmp_path: Path, format: str, small: int) -> None:
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        run = Run(spark, store, format, f"kept_{format}", NO_REGISTRY)
        mirror = run.mirror(small)
        mirror(frame(spark, [OLD, BAD, row(3, "c", 2, "other", 1)]), 0)
        mirror(frame(spark, [BEHIND, row(4, "u", 2, BIG, 2)]), 1)
        assert bigs(run) == {1: "old", 2: "other"}
        (report,) = run.reports[1].tables
        assert (report.rows, report.quarantined) == (1, 1)
        withheld = {place[2]: reason for *place, _, reason in run.withheld()}
        assert withheld.keys() == {1, 2}
        assert withheld[2] == WAITS_FOR_OLDER
        # a whole row waits for nothing, and one behind it neither
        mirror(frame(spark, [row(5, "u", 1, "whole", 3)]), 2)
        mirror(frame(spark, [row(6, "u", 1, BIG, 4)]), 3)
        assert bigs(run) == {1: "whole", 2: "other"}
        assert {place[2] for *place, _, _ in run.withheld()} == {1}


@on_iceberg
def test_a_row_keeps_nothing_of_one_that_a_truncate_in_its_batch_ended(
    spark, tmp_path: Path, format: str
) -> None:
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        run = Run(spark, store, format, f"kept_from_before_{format}", NO_REGISTRY)
        mirror = run.mirror()
        mirror(frame(spark, [FIRST]), 0)
        mirror(frame(spark, [emptied(), shrunk(2, "u", None, 130)]), 1)
        (lake,) = run.lake()
        assert [(each["a"], each["b"], each[DELETED]) for each in lake.rows] == [(130, None, False)]


@pytest.mark.parametrize(("format", "small"), WAYS)
def test_an_update_waits_behind_one_that_nobody_understood(
    spark, tmp_path: Path, format: str, small: int
) -> None:
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        run = Run(spark, store, format, f"unread_{format}", NO_REGISTRY)
        mirror = run.mirror(small)
        # between two of one batch, which would not have asked the table
        mirror(frame(spark, [OLD, damaged(1, 1), BEHIND, row(3, "c", 2, "other", 1)]), 0)
        assert (run.reports[0].rejected, bigs(run)) == (1, {1: "old", 2: "other"})
        # and in quarantine from before
        mirror(frame(spark, [row(4, "u", 1, BIG, 2), row(5, "u", 2, BIG, 2)]), 1)
        reasons = {place[2]: reason for *place, _, reason in run.withheld()}
        assert reasons.keys() == {1, 2, 4}
        assert reasons[2] == reasons[4] == WAITS_FOR_OLDER
        # a whole row lets them go, and is one to keep from
        mirror(frame(spark, [row(6, "u", 1, "whole", 3)]), 2)
        mirror(frame(spark, [row(7, "u", 1, BIG, 4)]), 3)
        assert bigs(run) == {1: "whole", 2: "other"}
        assert {place[2] for *place, _, _ in run.withheld()} == {1}


class Sparing(Run):
    """A quarantine that keeps places and reasons alone."""

    def quarantine(self) -> Quarantine:
        return Quarantine(Run.quarantine(self).table, self.format, keep_bytes=False)


def test_where_nobody_knows_whose_record_waits_each_that_lacks_a_value_does(spark, tmp_path: Path) -> None:
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        run = Sparing(spark, store, "iceberg", "kept_sparingly", NO_REGISTRY)
        mirror = run.mirror()
        mirror(frame(spark, [OLD, BAD, row(3, "c", 2, "other", 1)]), 0)
        mirror(frame(spark, [BEHIND, row(4, "u", 2, BIG, 2), row(5, "c", 3, "third", 3)]), 1)
        assert bigs(run) == {1: "old", 2: "other", 3: "third"}
        assert [reason for *_, reason in run.withheld()].count(WAITS_FOR_OLDER) == 2


@on_iceberg
def test_a_row_of_the_table_from_between_the_changes_of_a_batch_is_not_overwritten(
    spark, tmp_path: Path, format: str
) -> None:
    for number, (case, cut) in enumerate(
        [
            ("a value that was not sent", (2, 4, 5)),
            ("a row that began anew", (3, 5)),
            ("a column that came and left", (2, 4, 5)),
        ]
    ):
        records, wanted = STREAMS[case]
        delivered = twice(records, 0)
        with SqlStore.open(f"sqlite:///{tmp_path / f'{number}.db'}", create=True) as store:
            run = Run(spark, store, format, f"again_{number}_{format}", NO_REGISTRY)
            mirror = run.mirror()
            edges = (0, *cut, len(delivered))
            for batch, (start, end) in enumerate(pairwise(edges)):
                mirror(frame(spark, delivered[start:end]), batch)
            (lake,) = run.lake()
            assert [{n: row[n] for n in wanted} for row in lake.rows if not row[DELETED]] == [wanted]
            assert run.withheld() == []


@on_iceberg
def test_a_value_that_was_not_sent_of_a_row_that_is_not_there_is_not_written(
    spark, tmp_path: Path, format: str
) -> None:
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        run = Run(spark, store, format, f"missing_{format}", NO_REGISTRY)
        mirror = run.mirror()
        mirror(frame(spark, [row(0, "c", 1, "old", 1)]), 0)
        mirror(frame(spark, [row(1, "u", 2, BIG, 2), row(2, "u", 1, BIG, 3)]), 1)
        assert bigs(run) == {1: "old"}
        assert [(place[2], reason) for *place, _, reason in run.withheld()] == [(1, NO_PREVIOUS_ROW)]
        # a row from before the first batch, which bears no place
        (lake,) = run.lake()
        name = TARGETS.get(format).table_name(lake.live.name)
        spark.sql(f"UPDATE {name} SET `_row_order` = NULL, `_row_deleted` = NULL")
        mirror(frame(spark, [row(3, "u", 1, BIG, 4)]), 2)
        (lake,) = run.lake()
        assert [(each["big"], each["id"]) for each in lake.rows if each["_row_order"]] == [("old", 1)]
        assert [place[2] for *place, _, _ in run.withheld()] == [1]


@on_iceberg
def test_a_value_of_a_row_that_was_deleted_since_is_not_brought_back(
    spark, tmp_path: Path, format: str
) -> None:
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        run = Run(spark, store, format, f"gone_{format}", NO_REGISTRY)
        mirror = run.mirror()
        first, gone = change("c", 100, big="old", z="1"), change("d", 110)
        mirror(frame(spark, [first, replace(gone, offset=1)]), 0)
        mirror(
            frame(spark, [replace(first, offset=2), replace(change("u", 130, big=BIG, z="3"), offset=3)]), 1
        )
        (lake,) = run.lake()
        assert [row[DELETED] for row in lake.rows] == [True]
        assert {reason for *_, reason in run.withheld()} == {NO_PREVIOUS_ROW}
        mirror(frame(spark, [replace(change("u", 140, big="whole", z="4"), offset=4)]), 2)
        mirror(frame(spark, [replace(change("u", 150, big=BIG, z="5"), offset=5)]), 3)
        (lake,) = run.lake()
        assert [(row["big"], row["z"]) for row in lake.rows] == [("whole", "5")]
        assert run.withheld() == []
