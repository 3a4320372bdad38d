"""What the example job prints of a batch: whatever its report tells that is not all well."""

from __future__ import annotations

import pytest

from examples.mirror import _tell
from schemaman.spark.streaming.batch_report import BatchReport, TableReport


def test_the_example_prints_what_was_left_and_what_is_to_know(capsys: pytest.CaptureFixture[str]) -> None:
    told = "`b`: its default at the source is 5"
    table = TableReport("srv.public.t", "/lake/t", records=3, ignored=2, notes=(told,))
    _tell("shop", BatchReport(7, tables=(table,), untargeted=4))
    told = capsys.readouterr().out
    assert "4 records of tables that have no target" in told
    assert "3 records, 0 rows written, 2 left alone" in told
    assert "    note: `b`: its default at the source is 5\n" in told
