"""Frames, tables and folders as sources: the log of one local reading, wherever the rows are."""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile
from zipimport import zipimporter

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

import schemaman as sm
from schemaman.errors import EngineUnavailable, UnreadableInput, UsageError
from schemaman.ingest.chunks import KnownOffsets
from schemaman.ingest.ingest import Summary, ingest
from schemaman.io.files import File, find_file
from schemaman.io.kafka import Span, Topics
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.registry import Registry
from schemaman.spark import frame_ingest, require_data_sources
from schemaman.spark.frame_ingest import ingest_frame, pack_partitions
from schemaman.spark.ingest import Destination
from schemaman.spark.record_columns import RAW
from schemaman.spark.record_source import (
    FilePart,
    PartScanner,
    TopicPart,
    choose_task_bytes,
    count_slots,
    count_tasks,
    pack_parts,
    parse_bytes,
    pickle_tasks,
    split_files,
    split_spans,
)
from schemaman.spark.task_rows import quicken_next_task
from schemaman.store.log import LogEntry
from schemaman.store.memory import MemoryStore
from tests.support.command_line import Run
from tests.support.recordings import recorded

pytestmark = pytest.mark.spark
SHOP = sorted(recorded("postgres/shop-json"), key=lambda r: (r.topic, r.partition, r.offset))
Result = tuple[Summary, list[LogEntry]]


def make_frame(spark: Any, records: Sequence[sm.Record]) -> Any:
    rows = [(r.topic, r.partition, r.offset, _read_time(r), r.key, r.value, list(r.headers)) for r in records]
    return spark.createDataFrame(rows, RAW)


def _read_time(record: sm.Record) -> datetime | None:
    return None if record.timestamp_ms is None else datetime.fromtimestamp(record.timestamp_ms / 1000, UTC)


def read_frame(frame: Any) -> Result:
    store = MemoryStore(lambda: 0)
    summary = ingest_frame(frame, Destination(Registry(store, lambda: 0), "main", NO_REGISTRY))
    return summary, list(store.read())


def read_here(records: Sequence[sm.Record] = SHOP) -> Result:
    store = MemoryStore(lambda: 0)
    summary = ingest(records, Registry(store, lambda: 0), "main", NO_REGISTRY)
    return summary, list(store.read())


def test_the_partitioning_of_a_frame_changes_nothing(spark: Any) -> None:
    frame, expected = make_frame(spark, SHOP), read_here()
    assert expected[0].observations > 20
    assert read_frame(frame.coalesce(1)) == expected
    assert read_frame(frame.repartition(3)) == expected
    assert read_frame(frame.union(frame.limit(40))) == expected


def test_offsets_with_two_records_or_none_are_refused(spark: Any) -> None:
    frame = make_frame(spark, [*SHOP, replace(SHOP[0], value=b"{}")])
    with pytest.raises(UnreadableInput, match="two different records"):
        read_frame(frame)
    with pytest.raises(UsageError, match="no offset"):
        read_frame(make_frame(spark, [replace(SHOP[0], offset=None)]))  # type: ignore[arg-type]


def test_what_the_history_knows_is_filtered_out(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_ingest, "WORTH_SKIPPING", 20)
    frame = make_frame(spark, SHOP)
    store = MemoryStore(lambda: 0)
    registry = Registry(store, lambda: 0)
    early = [record for record in SHOP if record.offset < 60]
    ingest(early, registry, "main", NO_REGISTRY)
    again = ingest_frame(frame, Destination(registry, "main", NO_REGISTRY))
    assert again.new == len(SHOP) - len(early)
    assert again.read < len(SHOP)
    other = Registry(MemoryStore(lambda: 0), lambda: 0)
    ingest(early, other, "main", NO_REGISTRY)
    ingest(SHOP, other, "main", NO_REGISTRY)
    assert registry.tables() == other.tables()
    assert ingest_frame(frame, Destination(registry, "main", NO_REGISTRY)).new == 0


def write_folder(folder: Path, pieces: int) -> None:
    folder.mkdir()
    for number in range(pieces):
        first, end = (n * len(SHOP) // pieces for n in (number, number + 1))
        rows = [asdict(record) for record in SHOP[first:end]]
        table = arrow.Table.from_pylist(rows).drop_columns(["headers", "timestamp_ms", "is_key_known"])
        times = [record.timestamp_ms for record in SHOP[first:end]]
        table = table.append_column("timestamp", arrow.array(times, arrow.timestamp("ms", "UTC")))
        parquet.write_table(table, folder / f"part-{pieces - number}.parquet")
    (folder / "_SUCCESS").write_text("")


def test_a_folder_a_pattern_and_a_table_are_sources(spark: Any, run: Run, tmp_path: Path) -> None:
    write_folder(tmp_path / "raw", 4)
    with sm.open(tmp_path / "local.db", create=True) as registry:
        sm.ingest(SHOP, registry)
        expected = [history.versions for history in registry.tables()]
    spark.read.parquet(str(tmp_path / "raw")).write.format("delta").saveAsTable("raw_events")
    for source in (f"{tmp_path}/ra*/*.parquet", f"file://{tmp_path}/raw", "table:raw_events"):
        (tmp_path / "s.db").unlink(missing_ok=True)
        done = run("ingest", source, "--engine", "spark", "--store", tmp_path / "s.db", "--format", "json")
        assert (done.code, done.json["records"]["new"]) == (0, len(SHOP)), done.err
        with sm.open(tmp_path / "s.db") as registry:
            assert [history.versions for history in registry.tables()] == expected
    spark.sql("DROP TABLE raw_events")
    assert run("ingest", "table:nowhere", "--engine", "spark").code == 3
    assert run("ingest", "table:raw_events", "--engine", "local").code == 2


def test_parts_are_packed_by_bytes_and_ranges_by_offsets() -> None:
    parts = [FilePart(File("f", "lines"), bytes=size) for size in (5, 5, 20, 1, 1)]
    assert pack_parts(parts, 10) == [(0, 1), (2,), (3, 4)]
    assert pack_parts([], 10) == []
    assert [parse_bytes(text) for text in ("128m", "134217728b", "1GB", "5")] == [2**27, 2**27, 2**30, 5]
    spans = list(split_spans([Span("t", 0, 5, 12)], 4))
    assert [(span.start, span.end) for span in spans] == [(5, 9), (9, 12)]


def test_a_task_has_its_own_parts_and_shows_no_option(tmp_path: Path) -> None:
    topics = [
        TopicPart(Topics("b:1", ("t",)), Span("t", 0, n, n + 1), (("sasl.password", "hid"),))
        for n in range(3)
    ]
    tasks = pickle_tasks(topics, [(0, 2), (1,)])
    assert [pickle.loads(task) for task in tasks] == [[(0, topics[0]), (2, topics[2])], [(1, topics[1])]]
    assert "hid" not in repr(PartScanner(tasks, KnownOffsets(), NO_REGISTRY, 1))


def test_row_groups_are_looked_up_only_where_a_file_is_large(tmp_path: Path) -> None:
    rows = arrow.table({name: ["x" * 50] * 90 for name in ("topic", "partition", "offset", "key", "value")})
    parquet.write_table(rows, tmp_path / "a.parquet", row_group_size=30)
    file = find_file(str(tmp_path / "a.parquet"))
    assert split_files([file], file.bytes * 8) == [(FilePart(file, bytes=file.bytes),)]
    (parts,) = split_files([file], file.bytes)
    assert [(part.start, part.groups) for part in parts] == [(0, (0,)), (30, (1,)), (60, (2,))]
    assert abs(sum(part.bytes for part in parts) - file.bytes) < 3
    parquet.write_table(rows, tmp_path / "a.parquet", row_group_size=1)
    (parts,) = split_files([file], file.bytes)
    assert len(parts) == 8
    assert [group for part in parts for group in part.groups or ()] == list(range(90))


def test_a_worker_reads_no_archive_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ZipFile(tmp_path / "words.zip", "w") as archive:
        archive.writestr("words_early.py", "WORD = 'early'")
        archive.writestr("words_late.py", "WORD = 'late'")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "words.zip"), str(tmp_path / "no.jar")])
    assert importlib.import_module("words_early").WORD == "early"
    quicken_next_task()
    assert not any(isinstance(importer, zipimporter) for importer in sys.path_importer_cache.values())
    assert str(tmp_path / "no.jar") not in sys.path
    importlib.invalidate_caches()
    assert importlib.import_module("words_late").WORD == "late"


def test_spark_without_data_sources_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "schemaman.spark.find_spec", lambda name: None if name.endswith("datasource") else name
    )
    with pytest.raises(EngineUnavailable, match=r"needs Spark 4\.0"):
        require_data_sources()


def test_small_partitions_share_tasks(spark: Any) -> None:
    packed = pack_partitions(spark.range(50).repartition(12))
    assert packed.rdd.getNumPartitions() == count_slots(spark)
    of_unknown_size = make_frame(spark, SHOP[:50]).repartition(12)
    assert pack_partitions(of_unknown_size).rdd.getNumPartitions() == 12


def test_each_slot_gets_equally_many_tasks_of_a_gib_or_of_the_set_size(spark: Any) -> None:
    slots, setting = count_slots(spark), "spark.sql.files.maxPartitionBytes"
    assert [count_tasks(spark, size) for size in (0, 1, slots << 30, (slots << 30) + 1)] == [
        slots,
        slots,
        slots,
        2 * slots,
    ]
    assert choose_task_bytes(spark, (slots << 30) + 2 * slots) == (1 << 29) + 1
    spark.conf.set(setting, "64m")
    try:
        assert count_tasks(spark, (slots << 26) + 1) == 2 * slots
    finally:
        spark.conf.unset(setting)


def test_the_data_source_gives_records_and_runs(spark: Any, tmp_path: Path) -> None:
    write_folder(tmp_path / "raw", 3)
    spark.dataSource.register(sm.spark.RecordDataSource)
    reading = spark.read.format("schemaman").option("maxPartitionBytes", "20k")
    records = reading.load(f"{tmp_path}/raw")
    assert records.rdd.getNumPartitions() == 3
    found, log = read_frame(records)
    assert (found.read, len(log)) == (len(SHOP), len(read_here()[1]))
    runs = reading.option("rows", "runs").load(f"{tmp_path}/raw").collect()
    assert sum(row["records"] for row in runs) == len(SHOP)
    assert any(row["table"] and row["table"].endswith("orders") for row in runs)
