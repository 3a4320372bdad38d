"""The page `docs/automatic.md` on a broker: from `init` to rows in Iceberg, before and after a change."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.live.broker import settled_in
from tests.live.secured import Secured
from tests.live.test_kafka import create, send
from tests.support import automatic_page, console_page

pytestmark = pytest.mark.spark
NAME = "broker:9092"


def test_the_page_shows_what_comes_out(
    spark: SparkSession, secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bless: bool
) -> None:
    for name, value in (("NO_COLOR", "1"), ("COLUMNS", "110")):
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    spark.sql("DROP NAMESPACE IF EXISTS ice.raw CASCADE")
    broker = settled_in(tmp_path / "data", secured)
    plain, before, after = automatic_page.split_page()
    first, second = automatic_page.list_records()
    with broker.up():
        for topic in sorted({record.topic for record in first}):
            create(broker.address, topic)
        played = []
        for text, records in ((plain, first), (before, []), (after, second)):
            send(broker.address, records)
            played.append(console_page.play(text.replace(NAME, broker.address), tmp_path))
    shown = "".join(played).replace(broker.address, NAME)
    if bless:
        automatic_page.PAGE.write_text(shown, encoding="utf-8")
    assert shown == automatic_page.PAGE.read_text(encoding="utf-8"), "docs/automatic.md is stale"
    rows = spark.table("ice.raw.returns").where("_row_deleted IS NOT TRUE")
    assert {"photo", "note", "order_ref"} <= set(rows.columns)
    assert rows.count() > 5
