"""Several processes read files of each layout as one does, and write its log."""

from __future__ import annotations

import gzip
import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
import zstandard

import schemaman as sm
from schemaman.api.services import workspace_of
from schemaman.api.sources import find_sources, read_sources
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import AUTO
from schemaman.errors import CouldNotDo, SchemamanError, UnreadableInput, UsageError
from schemaman.ingest.chunks import KnownOffsets, build_reading, read_chunks
from schemaman.io import files
from schemaman.io.file_parts import PartReading, RowGroups, divide_files
from schemaman.io.file_work import choose_part_bytes
from schemaman.io.reading_processes import read_files_in_processes
from schemaman.io.schema_registry import FileSchemas
from schemaman.io.worker_streams import stream_tasks
from tests.ingest.test_line_forms import RUNS, as_text
from tests.support.checkout import CAPTURES, PROOF
from tests.support.damaged_lines import format_line
from tests.support.recordings import recorded, registry

RUN = "postgres/shop-json"
LIMIT = 1 << 20


RECORD = {
    "type": "record",
    "name": "Record",
    "fields": [
        {"name": "topic", "type": "string"},
        {"name": "partition", "type": "int"},
        {"name": "offset", "type": "long"},
        {"name": "timestamp", "type": ["null", "long"]},
        {"name": "key", "type": ["null", "bytes"]},
        {"name": "value", "type": ["null", "bytes"]},
    ],
}
NAMES = ("topic", "partition", "offset", "timestamp", "key", "value")
RUNS_READ = RUNS if PROOF else [RUN, "db2/shop-2.5.4-avro", "mongodb/inventory-2.5.4-pre-image"]


def build_rows(records: Sequence[Record]) -> list[dict[str, object]]:
    return [
        dict(zip(NAMES, (r.topic, r.partition, r.offset, r.timestamp_ms, r.key, r.value), strict=True))
        for r in records
    ]


def write_lines(path: Path, records: Sequence[Record]) -> None:
    data = b"".join(format_line(r) + b"\n" for r in records)
    if path.suffix == ".gz":
        data = gzip.compress(data[:9000]) + gzip.compress(data[9000:])
    if path.suffix == ".zst":
        data = zstandard.compress(data[:9000]) + zstandard.compress(data[9000:])
    path.write_bytes(data)


def write_parquet(path: Path, records: Sequence[Record]) -> None:
    parquet.write_table(arrow.Table.from_pylist(build_rows(records)), path, row_group_size=23)


def write_avro(path: Path, records: Sequence[Record]) -> None:
    with path.open("wb") as file:
        fastavro.writer(file, RECORD, build_rows(records), sync_interval=5000)


WRITERS: dict[str, Callable[[Path, Sequence[Record]], None]] = {
    "jsonl": write_lines,
    "jsonl.gz": write_lines,
    "jsonl.zst": write_lines,
    "parquet": write_parquet,
    "avro": write_avro,
}


def write_files(folder: Path, records: Sequence[Record], count: int = 4) -> list[Path]:
    """Writes records into files, each in another layout than the one before."""
    is_text = len(as_text(records)) == len(records)
    layouts = [(end, write) for end, write in WRITERS.items() if is_text or write is not write_lines]
    step = -(-len(records) // count)
    paths = []
    for number, begin in enumerate(range(0, len(records), step)):
        ending, write = layouts[number % len(layouts)]
        paths.append(folder / f"{number}.{ending}")
        write(paths[-1], records[begin : begin + step])
    return paths


def read_log(folder: Path, paths: Sequence[Path], jobs: int) -> tuple[object, ...]:
    """Reads files into a new store; returns the summary or the error, and the log."""
    with sm.open(f"sqlite:///{folder}/{jobs}.db", create=True, clock=lambda: 0) as opened:
        workspace = workspace_of(opened)
        sources = find_sources(workspace, tuple(map(str, paths)), jobs=jobs, shared_from=0)
        try:
            done: object = read_sources(workspace, opened, sources)
        except SchemamanError as error:
            done = (type(error), error.message)
        entries = [stamped.entry for stamped in opened.store.read()]
        return done, entries, opened.offsets("main")


def require_same_log(folder: Path, paths: Sequence[Path]) -> tuple[Any, ...]:
    one, two = (read_log(folder, paths, jobs) for jobs in (1, 2))
    assert two == one
    return one


@pytest.mark.parametrize("run", RUNS_READ)
def test_files_of_all_layouts(tmp_path: Path, run: str) -> None:
    records, export = recorded(run), CAPTURES / run / "registry.json"
    if export.exists():
        shutil.copy(export, tmp_path)
    done, entries, _ = require_same_log(tmp_path, write_files(tmp_path, records, len(WRITERS)))
    assert done.read == len(records)
    assert entries


def test_offsets_of_earlier_files(tmp_path: Path) -> None:
    """Files that repeat, fill and precede what files before them have are read as by one process."""
    records = recorded(RUN)
    bounds = [(300, 600), (0, 200), (200, 300), (250, 650), (100, 120), (600, None)]
    pieces = [records[begin:end] for begin, end in bounds]
    paths = [tmp_path / f"{number}.jsonl" for number in range(len(pieces))]
    for path, piece in zip(paths, pieces, strict=True):
        write_lines(path, piece)
    done, _, _ = require_same_log(tmp_path, paths)
    assert 0 < done.known < done.read
    write_lines(paths[3], [replace(records[299], value=b"{}"), *records[301:400:5]])
    (tmp_path / "refused").mkdir()
    refusal, _, _ = require_same_log(tmp_path / "refused", paths)
    assert refusal[0] is UsageError


def test_files_behind_one_that_cannot_be_read(tmp_path: Path) -> None:
    paths = write_files(tmp_path, recorded(RUN))
    paths[3].write_bytes(b"PAR1")
    refusal, entries, _ = require_same_log(tmp_path, paths)
    assert refusal[0] is UnreadableInput
    assert entries


def make_reading(size: int, part_bytes: int) -> PartReading:
    return PartReading(None, LIMIT, KnownOffsets(), FileSchemas(registry(RUN)), AUTO, size, part_bytes)


@pytest.mark.parametrize(("size", "part_bytes"), [(400, 20_000), (37, 1)])
def test_parts_of_files(tmp_path: Path, size: int, part_bytes: int) -> None:
    found = [files.find_file(str(path)) for path in write_files(tmp_path, recorded(RUN), len(WRITERS))]
    reading = make_reading(size, part_bytes)
    context = build_reading(reading.schemas)
    whole = [list(read_chunks(files.read_batches(f), reading.known, context, size=size)) for f in found]
    counted: list[tuple[int, int]] = []

    def count(size: int, records: int) -> None:
        counted.append((size, records))

    assert [list(chunks) for chunks in read_files_in_processes(found, reading, 2, count)] == whole
    assert sum(records for _, records in counted) == len(recorded(RUN))
    assert sum(1 for part in divide_files(found, reading) if isinstance(part.span, RowGroups)) > 1
    of_lines = [f for f in found if f.kind == "lines"]
    counted.clear()
    for chunks in read_files_in_processes(of_lines, reading, 2, count):
        assert list(chunks)
    assert sum(size for size, _ in counted) == sum(f.bytes for f in of_lines)


@pytest.mark.parametrize(
    ("mebibytes", "jobs", "part"), [(8192, 2, 128), (512, 2, 64), (512, 1, 128), (96, 8, 32)]
)
def test_a_process_reads_several_parts_of_enough_bytes(
    tmp_path: Path, mebibytes: int, jobs: int, part: int
) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path in paths:
        with path.open("wb") as file:
            file.truncate(mebibytes // 2 * 2**20)
    found = [files.find_file(str(path)) for path in paths]
    assert choose_part_bytes(found, jobs) == part * 2**20


def count_up(task: int) -> Iterator[bytes]:
    if task < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    for number in range(task):
        if number == 1000:
            os.kill(os.getpid(), signal.SIGKILL)
        yield b"%d" % number


def start_counting() -> Callable[[int], Iterator[bytes]]:
    return count_up


def test_streams_come_in_the_order_of_tasks() -> None:
    tasks = [900, 0, 3, 1, 500]
    found = [(task, list(values)) for task, values in stream_tasks(tasks, start_counting, 3)]
    assert found == [(task, list(count_up(task))) for task in tasks]


def test_a_process_that_is_killed() -> None:
    streams = stream_tasks([3, 2000, 1], start_counting, 2)
    assert len(list(next(streams)[1])) == 3
    _, values = next(streams)
    with pytest.raises(CouldNotDo, match=r"ended early \(signal 9\)"):
        list(values)
    streams.close()
    assert not multiprocessing.active_children()


def test_a_killed_process_is_an_error_in_its_turn() -> None:
    streams = stream_tasks([900, -1, 1, 1], start_counting, 2)
    _, values = next(streams)
    while len(multiprocessing.active_children()) == 2:
        time.sleep(0.01)
    assert list(values) == list(count_up(900))
    _, values = next(streams)
    with pytest.raises(CouldNotDo, match=r"ended early \(signal 9\)"):
        list(values)
    streams.close()
