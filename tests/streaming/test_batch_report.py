"""The printed report of a batch: the counts, and everything that a person has to know."""

from __future__ import annotations

import pytest

from examples.mirror import print_report
from schemaman.spark.streaming.batch_report import BatchReport, TableReport


def test_the_report_of_a_batch_lists_what_was_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    ignored = TableReport(
        "srv.public.t", "/lake/t", records=3, ignored=2, notes=("`b`: its default at the source is 5",)
    )
    blocked = TableReport(
        "srv.public.u", "ice.raw.u", records=1, quarantined=1, replayed=2, blocked="needs approval"
    )
    print_report("shop", BatchReport(7, tables=(ignored, blocked), untargeted=4, rejected=1))
    assert capsys.readouterr().out.splitlines() == [
        "shop: batch 7",
        "  1 record not decoded, in quarantine",
        "  4 records of tables without a target",
        "  srv.public.t -> /lake/t: 3 records, 0 rows written, 2 ignored by the policy",
        "    note: `b`: its default at the source is 5",
        "  srv.public.u -> ice.raw.u: 1 record, 0 rows written, 1 quarantined, 2 released from quarantine",
        "    blocked: needs approval",
    ]
