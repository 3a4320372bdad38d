"""Addresses: two spellings of one table are one target, to leases and to the journal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.addresses import canonical, target_id
from schemaman.errors import Locked
from schemaman.journal import StoreJournal
from schemaman.log import Migrated
from schemaman.migrate import LEASE_MS, apply
from schemaman.stores.memory import MemoryStore
from schemaman.targets import delta, iceberg
from tests.paper_lake import PaperLake
from tests.test_planner import plan, source

SAME = {
    "delta:/lake/t": (
        "/lake/t", "/lake/t/", "/lake//t", "/lake/./t", "/lake/x/../t", "file:/lake/t", "file:///lake/t/",
        "FILE:/lake/t", "file://localhost/lake/t", "delta.`/lake/t`", "DELTA.`/lake/t/`",
        "delta.`file:/lake/t`",
    ),
    "delta:s3a://bucket/lake/t": ("s3a://bucket/lake/t", "s3a://bucket/lake/t/", "S3A://bucket//lake/t"),
    "delta:lake.t": ("lake.t", "`lake`.`t`", "spark_catalog.lake.t", "Spark_Catalog.`lake`.T", "LAKE.t"),
    "delta:default.t": ("t", "default.t", "`T`", "spark_catalog.default.t"),
    "delta:main.lake.T": ("main.lake.T", "`main`.lake.`T`"),
    "iceberg:ice.raw.t": ("ice.raw.t", "`ice`.`raw`.`t`"),
    "iceberg:ice.raw.`a b`.t": ("ice.raw.`a b`.t", "`ice`.raw.`a b`.`t`"),
}  # fmt: skip
OTHERS = (
    "/lake/T", "/lake/tt", "s3://bucket/lake/t", "hdfs://a/lake/t", "hdfs://b/lake/t", "lake.t2",
    "file://host/lake/t",
)  # fmt: skip


@pytest.mark.parametrize(("wanted", "spelled"), [(w, s) for w, all in SAME.items() for s in all])
def test_one_table_has_one_address(wanted: str, spelled: str) -> None:
    format, _, table = wanted.partition(":")
    assert target_id(format, spelled) == wanted
    assert canonical(wanted) == wanted
    assert (delta.TARGET if format == "delta" else iceberg.TARGET).table_name(table)


def test_tables_that_are_two_have_two_addresses() -> None:
    found = [target_id("delta", other) for other in OTHERS]
    assert len({*found, *SAME}) == len(OTHERS) + len(SAME)
    assert target_id("iceberg", "ice.raw.T") != target_id("iceberg", "ice.raw.t")


@given(st.sampled_from(["delta", "iceberg"]), st.text("/ab.`: S-", min_size=1, max_size=12))
def test_an_address_is_its_own(format: str, table: str) -> None:
    found = target_id(format, table)
    assert canonical(found) == found


def test_another_spelling_finds_the_lease_and_the_journal() -> None:
    store, lake = MemoryStore(), PaperLake("/lake/t")
    drawn = plan("delta", source("id INT"), None)
    token = store.acquire(target_id("delta", "file:/lake/t/"), "someone", 0, LEASE_MS)
    with pytest.raises(Locked, match="someone"):
        apply(drawn, lake, StoreJournal(store), lambda: 0, run="r", leases=store)
    store.release(target_id("delta", "/lake/t"), token)
    line = Migrated("old", "p", "delta:file:/lake/t", None, "started", "", "0")
    store.append([line], store.end())
    assert [each.run for each in StoreJournal(store).about(target_id("delta", "/lake/t"))] == ["old"]
