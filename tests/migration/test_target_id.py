"""Addresses: two spellings of one table are one target, to leases and to the journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.errors import Locked
from schemaman.migration.apply import journal
from schemaman.migration.apply.apply import LEASE_MS, apply
from schemaman.migration.apply.journal import StoreJournal
from schemaman.migration.target_id import canonicalize_target, target_id
from schemaman.migration.targets import delta, iceberg
from schemaman.store.log import Entry, LogEntry, MigrationEntry, RunState
from schemaman.store.memory import MemoryStore
from tests.support.memory_lake import MemoryTable
from tests.support.plans import plan, source

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
    assert canonicalize_target(wanted) == wanted
    assert (delta.TARGET if format == "delta" else iceberg.TARGET).table_name(table)


def test_tables_that_are_two_have_two_addresses() -> None:
    found = [target_id("delta", other) for other in OTHERS]
    assert len({*found, *SAME}) == len(OTHERS) + len(SAME)
    assert target_id("iceberg", "ice.raw.T") != target_id("iceberg", "ice.raw.t")


@given(st.sampled_from(["delta", "iceberg"]), st.text("/ab.`: S-", min_size=1, max_size=12))
def test_an_address_is_its_own(format: str, table: str) -> None:
    found = target_id(format, table)
    assert canonicalize_target(found) == found


def test_another_spelling_finds_the_lease_and_the_journal() -> None:
    store, lake = MemoryStore(), MemoryTable("/lake/t")
    drawn = plan("delta", source("id INT"), None)
    token = store.acquire(target_id("delta", "file:/lake/t/"), "someone", 0, LEASE_MS)
    with pytest.raises(Locked, match="someone"):
        apply(drawn, lake, StoreJournal(store), lambda: 0, run="r", leases=store)
    store.release(target_id("delta", "/lake/t"), token)
    line = MigrationEntry("old", "p", "delta:file:/lake/t", None, "started", "", "0")
    store.append([line], store.end())
    assert [each.run for each in StoreJournal(store).read_target_lines(target_id("delta", "/lake/t"))] == [
        "old"
    ]


MANY = 2000
"""More targets than a bounded memory of addresses would keep."""


class Counted:
    """What is called through it, counted."""

    def __init__(self, real: object) -> None:
        self.real, self.calls = real, 0

    def __call__(self, *words: str) -> object:
        self.calls += 1
        return self.real(*words)  # type: ignore[operator]


def test_an_address_is_worked_out_once_however_many_targets_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = Counted(iceberg.TARGET.canonical_name)
    monkeypatch.setattr(iceberg.TARGET, "canonical_name", counted)
    for _ in range(3):
        for n in range(MANY):
            assert target_id("iceberg", f"ice.many.t{n}") == f"iceberg:ice.many.t{n}"
    assert counted.calls == MANY


def test_a_journal_is_asked_of_many_targets_and_reads_each_line_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Reading(MemoryStore):
        lines = 0

        def read(self, after: int = 0, kinds: Iterable[type[Entry]] = ()) -> Iterator[LogEntry]:
            for stamped in super().read(after, kinds):
                self.lines += 1
                yield stamped

    store = Reading()
    states: tuple[RunState, ...] = ("started", "finished")
    lines = [
        MigrationEntry(f"r{n}", f"p{n}", f"iceberg:ice.`many`.t{n}", None, state)
        for n in range(MANY)
        for state in states
    ]
    store.append(lines, 0)
    counted = Counted(canonicalize_target)
    monkeypatch.setattr(journal, "canonicalize_target", counted)
    asked = StoreJournal(store)
    for n in range(MANY):
        assert [line.state for line in asked.read_target_lines(f"iceberg:ice.many.t{n}")] == list(states)
        assert [line.run for line in asked.read_plan_lines(f"p{n}")] == [f"r{n}"] * 2
    assert store.lines == len(lines)
    assert counted.calls == len(lines) + MANY
    asked.write(MigrationEntry("late", "p7", "iceberg:ice.many.t7", None, "started"))
    assert [line.run for line in asked.read_target_lines("iceberg:ice.many.t7")] == ["r7", "r7", "late"]
    assert (store.lines, asked.read_target_lines("iceberg:ice.many.none")) == (len(lines) + 1, ())
