"""Two engines, one log: what executors scan enters as if one process had read it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from schemaman.errors import UnreadableInput, UsageError
from schemaman.ingest import ingest as local
from schemaman.ingest.chunks import read_chunks
from schemaman.ingest.ingest import Intake, Summary
from schemaman.ingest.recorded_sources import Numbered, SourceReading
from schemaman.io import files, schema_registry
from schemaman.io.file_work import is_small
from schemaman.registry import Registry
from schemaman.spark import ingest as pipeline
from schemaman.spark.record_columns import COLUMNS
from schemaman.spark.record_source import split_file
from schemaman.spark.streaming.micro_batch import record_batch
from schemaman.store.log import LogEntry
from schemaman.store.memory import MemoryStore
from tests.ingest.test_order import BYTES_ALTERNATE, dressed_rows, pieces_of
from tests.support.checkout import CAPTURES, PROOF

pytestmark = pytest.mark.spark

RECORDINGS = (
    "postgres/shop-json",
    "postgres/shop-avro",
    "postgres/shop-upgrade",
    "db2/shop-3.4.1-json",
    "mariadb/bookshop-mariadb-3.5.0-json",
)
Result = tuple[Summary, list[LogEntry]]


def schemas(source: str) -> schema_registry.RegistryExport:
    beside = files.find_file(source).registry
    return schema_registry.load_export(beside) if beside else schema_registry.NO_REGISTRY


def read_here(sources: Sequence[str], size: int) -> Result:
    store = MemoryStore(lambda: 0)
    registry, known = Registry(store, lambda: 0), schemas(sources[0])

    def read(file: files.File, intake: Intake) -> Iterator[Numbered]:
        return read_chunks(files.read_records(file), intake.known, intake.reading, size=size)

    reading = SourceReading(lambda: Intake(registry, "main", known), read, is_small)
    done = [recorded.summary for recorded in reading.record(map(files.find_file, sources))]
    return sum(done, Summary()), list(store.read())


def read_there(spark, sources: Sequence[str], size: int) -> Result:
    store = MemoryStore(lambda: 0)
    found = [files.find_file(source) for source in sources]
    registry = Registry(store, lambda: 0)
    summary = pipeline.ingest(
        spark, found, pipeline.Destination(registry, "main", schemas(sources[0])), size=size
    )
    return summary, list(store.read())


@pytest.mark.parametrize(("run", "size"), [*((run, 50_000) for run in RECORDINGS), (RECORDINGS[0], 100)])
def test_the_log_is_the_same(spark, run, size):
    sources = [str(CAPTURES / run)]
    summary, log = read_here(sources, size)
    assert read_there(spark, sources, size) == (summary, log)
    assert summary.observations > 20


@pytest.mark.parametrize(("size", "step"), [(70, 1), (1000, 3)] if PROOF else [(70, 3)])
def test_row_groups_are_read_by_several_tasks(spark, tmp_path, monkeypatch, size, step):
    run = CAPTURES / "postgres/shop-avro"
    whole = parquet.read_table(run / "records.parquet")
    sieved = whole.take(list(range(0, whole.num_rows, step)))
    parquet.write_table(sieved, tmp_path / "r.parquet", row_group_size=23)
    (tmp_path / "registry.json").write_bytes((run / "registry.json").read_bytes())
    assert len(split_file(files.find_file(str(tmp_path / "r.parquet")))) == -(-sieved.num_rows // 23)
    monkeypatch.setattr(pipeline, "choose_task_bytes", lambda *_: 20_000)
    sources = [str(tmp_path / "r.parquet")]
    summary, log = read_here(sources, size)
    assert read_there(spark, sources, size) == (summary, log)


def test_bytes_that_alternate_part_nothing_wherever_executors_cut(spark, tmp_path):
    records = dressed_rows(*BYTES_ALTERNATE["two shapes of one content"])
    columns = arrow.Table.from_pylist([asdict(r) for r in records])
    parquet.write_table(
        columns.drop_columns(["headers", "timestamp_ms"]), tmp_path / "r.parquet", row_group_size=23
    )
    source = str(tmp_path / "r.parquet")
    read_here_at_once = read_here([source], 1000)
    assert read_there(spark, [source], 1000) == read_here_at_once
    told = []
    for pieces in ([records], pieces_of(records, 70), pieces_of(records, 40)[::-1]):
        registry = Registry(MemoryStore(lambda: 0), lambda: 0)
        for piece in pieces:
            rows = [{n: getattr(r, n, None) for n in COLUMNS} | {"headers": []} for r in piece]
            record_batch(arrow.Table.from_pylist(rows), registry, "main", schema_registry.NO_REGISTRY)
        told.append(registry.tables())
    assert [v.records for v in told[0][0].versions] == [90, 3, 90]
    assert told == [told[0]] * 3


@pytest.fixture
def torn(tmp_path: Path) -> list[str]:
    """Dumps that overlap, one with a line that is none, one cut short."""
    lines = gzip.decompress((CAPTURES / "postgres/shop-json/records.ndjson.gz").read_bytes()).splitlines(True)
    (tmp_path / "a.jsonl").write_bytes(b"".join([*lines[:100], b"oops\n", *lines[100:300]]))
    (tmp_path / "b.jsonl").write_bytes(b"".join(lines[200:400]))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[350:]))[:-2000])
    return [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl", "c.jsonl.gz")]


def test_files_that_overlap_and_files_that_are_damaged(spark, torn):
    summary, log = read_here(torn, 60)
    assert read_there(spark, torn, 60) == (summary, log)
    assert summary.rejects == 2
    assert summary.known > 100


def test_a_record_over_the_limit_is_a_reject_of_both(spark):
    file, limit = files.find_file(str(CAPTURES / "postgres/shop-json")), 4000
    stores = MemoryStore(lambda: 0), MemoryStore(lambda: 0)
    here, there = (Registry(store, lambda: 0) for store in stores)
    summary = local.ingest(files.read_records(file, limit=limit), here, "main", schema_registry.NO_REGISTRY)
    destination = pipeline.Destination(there, "main", schema_registry.NO_REGISTRY)
    assert pipeline.ingest(spark, [file], destination, limit=limit) == summary
    assert list(stores[0].read()) == list(stores[1].read())
    assert 0 < summary.rejects < 582


def test_what_is_known_is_not_read_again(spark):
    file = files.find_file(str(CAPTURES / "postgres/shop-json"))
    store = MemoryStore(lambda: 0)
    registry = Registry(store, lambda: 0)
    destination = pipeline.Destination(registry, "main", schema_registry.NO_REGISTRY)
    read_twice = [pipeline.ingest(spark, [file], destination) for _ in range(2)]
    assert [s.new for s in read_twice] == [582, 0]
    assert store.end() == len(read_here([file.path], 50_000)[1])


@pytest.mark.parametrize(
    ("change", "error"),
    [({"payload": "other"}, UsageError), ({"offset": 0}, UnreadableInput)],
)
def test_refusals_come_back_as_they_are(spark, tmp_path, change, error):
    line = {"topic": "t", "partition": 0, "key": None, "payload": None}
    first, second = (json.dumps(line | {"offset": offset}) for offset in (0, 1))
    (tmp_path / "a.jsonl").write_text(f"{first}\n{second}\n")
    changed = json.dumps(line | {"offset": 1} | change)
    (tmp_path / "b.jsonl").write_text(f"{first}\n{changed}\n")
    sources = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    with pytest.raises(error) as here:
        read_here(sources, 10)
    with pytest.raises(error) as there:
        read_there(spark, sources, 10)
    assert (here.value.message, here.value.hint) == (there.value.message, there.value.hint)


def test_standard_input_cannot_be_read_by_executors(spark):
    registry = Registry(MemoryStore(lambda: 0), lambda: 0)
    destination = pipeline.Destination(registry, "main", schema_registry.NO_REGISTRY)
    with pytest.raises(UsageError, match="standard input"):
        pipeline.ingest(spark, [files.find_file("-")], destination)
