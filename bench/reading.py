"""Measures whole commands that read files: `python -m bench.reading [MB]`, ratios of CPU seconds in one run.

Each layout is written once. Then every repetition runs the floors, the naive reader and `schemaman ingest`
in turn, each in its own process. CPU seconds are those of a process and of all its descendants. A time counts
only with a correct result. The first repetition is dropped.
`BENCH_LAYOUTS=kcat,values` selects layouts, `BENCH_TABLE=defaults` the wider events.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as arrow
import pyarrow.parquet as parquet

from bench import made_events
from bench.processes import run_process
from schemaman.debezium.records import Record
from schemaman.io.file_work import count_cores

MEGABYTES = 200
_ALONE, _SHARED = "ingest --jobs 1", f"ingest --jobs {count_cores()}"
REPETITIONS = int(os.environ.get("BENCH_REPETITIONS", "2"))
ONLY = os.environ.get("BENCH_LAYOUTS", "")
SAMPLED = made_events.DEFAULTS if os.environ.get("BENCH_TABLE") == "defaults" else made_events.ORDERS
TABLES = 100
PARTITIONS = 2
_FIRST = 1_700_000_000_000
"""The time of the first record in epoch milliseconds."""


_LINES = "import sys\nprint(sum(1 for p in sys.argv[1:] for _ in open(p, 'rb')))"
_CRC = """
import sys, zlib
count = 0
for path in sys.argv[1:]:
    for line in open(path, 'rb'):
        zlib.crc32(line)
        count += 1
print(count)
"""
_NAIVE_KCAT = """
import json, sys
count = 0
for path in sys.argv[1:]:
    for line in open(path, 'rb'):
        json.loads(json.loads(line)['payload'])['schema']
        count += 1
print(count)
"""
_LOADS = _NAIVE_KCAT.replace("json.loads(json.loads(line)['payload'])['schema']", "json.loads(line)")
_NAIVE_KEYED = _LOADS.replace("json.loads(line)", "json.loads(line.split(b'\\t')[1])")
_FLOOR_PARQUET = """
import sys, zlib
import pyarrow.parquet as parquet
count = 0
for path in sys.argv[1:]:
    for batch in parquet.ParquetFile(path).iter_batches(batch_size=1024, columns=['value']):
        for value in batch.column(0).to_pylist():
            zlib.crc32(value)
            count += 1
print(count)
"""
_NAIVE_PARQUET = _FLOOR_PARQUET.replace("import sys, zlib", "import json, sys").replace(
    "zlib.crc32(value)", "json.loads(value)['schema']"
)
_COMPARE_PARQUET = _NAIVE_PARQUET.replace("count = 0", "count, found = 0, set()").replace(
    "json.loads(value)['schema']", "found.add(json.dumps(json.loads(value)['schema'], sort_keys=True))"
)
"""What a user writes to find the distinct schemas."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Files of one layout: how to read them as a user would, and what `schemaman ingest` is called with."""

    name: str
    paths: tuple[Path, ...]
    records: int
    versions: int
    floors: tuple[tuple[str, str], ...]
    options: tuple[str, ...] = ()


def main(megabytes: int) -> None:
    """Print the seconds and the ratios of each layout, then one line of JSON for `bench.compare`."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        makers = (
            _make_kcat,
            _make_tables,
            _make_fetched,
            _make_values,
            _make_keyed,
            _make_packed,
            _make_parquet,
            _make_sink,
        )
        for make in makers:
            if ONLY and make.__name__.removeprefix("_make_") not in ONLY.split(","):
                continue
            layout = make(Path(folder), megabytes * 1_000_000)
            seconds, by_clock = _measure(layout, Path(folder))
            empty = seconds.pop("empty interpreter")
            first = seconds["ingest"]
            print(f"{layout.name}: {layout.records} records in {len(layout.paths)} files")
            for name, spent in seconds.items():
                ratio = (spent - empty) / (first - empty)
                micros = spent / layout.records * 1e6
                print(f"  {name:20} {spent:7.2f} CPU s  {micros:7.2f} µs  {ratio:6.2f} of ingest")
                found[f"{layout.name}: {name} / ingest"] = ratio
            speed = by_clock[_ALONE] / by_clock[_SHARED]
            print(f"  {count_cores()} processes are {speed:.2f} times as fast as one, by the clock")
            found[f"{layout.name}: time of one process / of {count_cores()}"] = speed
            for path in layout.paths:
                path.unlink()
    print(json.dumps({"megabytes": megabytes, "python": platform.python_version(), "ratios": found}))


def _measure(layout: Layout, folder: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Measure the median CPU seconds of each variant, and its seconds by the clock."""
    paths = [str(path) for path in layout.paths]
    spent: dict[str, list[float]] = {}
    passed: dict[str, list[float]] = {}
    for repetition in range(REPETITIONS + 1):
        store = folder / f"store-{repetition}.db"
        ingest = (
            "-m",
            "schemaman_cli.main",
            "ingest",
            *paths,
            "--store",
            str(store),
            "--format",
            "json",
            *layout.options,
        )
        variants: list[tuple[str, Sequence[str], Callable[[str], bool]]] = [
            ("empty interpreter", ("-c", "pass"), lambda out: not out)
        ]
        for name, code in layout.floors:
            variants.append((name, ("-c", code, *paths), lambda out: int(out) == layout.records))
        variants.append(("ingest", ingest, lambda out: _is_read(out, layout, layout.records)))
        variants.append(("ingest again", ingest, lambda out: _is_read(out, layout, 0)))
        for name in (_ALONE, _SHARED):
            other = [str(folder / f"{name}.db") if part == str(store) else part for part in ingest]
            command = (*other, *name.split()[1:])
            variants.append((name, command, lambda out: _is_read(out, layout, layout.records)))
        for name, command, is_correct in variants:
            done = run_process(*command)
            if not is_correct(done.output):
                raise SystemExit(f"{layout.name}: wrong result of {name}: {done.output[:500]}")
            if repetition:
                spent.setdefault(name, []).append(done.cpu)
                passed.setdefault(name, []).append(done.seconds)
        for file in folder.glob("*.db"):
            file.unlink()
    medians = [{name: statistics.median(times) for name, times in found.items()} for found in (spent, passed)]
    return medians[0], medians[1]


def _is_read(output: str, layout: Layout, new: int) -> bool:
    done = json.loads(output)
    versions = sum(table["versions"] for table in done["tables"])
    read = (done["records"]["read"], done["records"]["new"])
    return read == (layout.records, new) and versions in ((layout.versions,) if new else (0, layout.versions))


def _make_kcat(folder: Path, size: int) -> Layout:
    events, versions = _events(size)
    path = folder / "one.jsonl"
    count = _write(path, (_format_kcat(r) for r in events))
    floors = (("reading lines", _LINES), ("crc32", _CRC), ("json.loads of each", _NAIVE_KCAT))
    return Layout("kcat lines", (path,), count, versions, floors)


def _make_tables(folder: Path, size: int) -> Layout:
    """Write events of 100 tables in turn, in two partitions of each topic."""
    events, versions = _events(size)
    path = folder / "tables.jsonl"
    count = _write(path, (_format_kcat(_move_to_table(r, i)) for i, r in enumerate(events)))
    floors = (("reading lines", _LINES), ("json.loads of each", _NAIVE_KCAT))
    return Layout("kcat lines, 100 tables", (path,), count, TABLES * versions, floors)


def _make_fetched(folder: Path, size: int) -> Layout:
    """Write the events of 100 tables in the order in which `kcat -G` dumps the topics.

    A broker returns up to a MiB of a partition. Source: Kafka consumer configuration,
    `max.partition.fetch.bytes`; kcat 1.7.1 wrote 199 to 237 of these lines in turn.
    """
    events, versions = _events(size)
    moved = [_move_to_table(record, i) for i, record in enumerate(events)]
    parts: dict[tuple[str, int], list[Record]] = {}
    for record in moved:
        parts.setdefault((record.topic, record.partition), []).append(record)
    each = 2**20 * len(moved) // sum(len(record.key or b"") + len(record.value or b"") for record in moved)
    fetched = [
        record
        for first in range(0, max(map(len, parts.values())), each)
        for records in parts.values()
        for record in records[first : first + each]
    ]
    path = folder / "fetched.jsonl"
    count = _write(path, map(_format_kcat, fetched))
    floors = (("reading lines", _LINES), ("json.loads of each", _NAIVE_KCAT))
    return Layout("kcat lines, 100 tables as fetched", (path,), count, TABLES * versions, floors)


def _make_values(folder: Path, size: int) -> Layout:
    events, versions = _events(size)
    path = folder / "values.ndjson"
    count = _write(path, (r.value or b"" for r in events))
    floors = (("reading lines", _LINES), ("crc32", _CRC), ("json.loads of each", _LOADS))
    return Layout("values", (path,), count, versions, floors, ("--topic", SAMPLED.topic))


def _make_keyed(folder: Path, size: int) -> Layout:
    events, versions = _events(size)
    path = folder / "keyed.ndjson"
    count = _write(path, ((r.key or b"null") + b"\t" + (r.value or b"null") for r in events))
    floors = (("reading lines", _LINES), ("crc32", _CRC), ("json.loads of each", _NAIVE_KEYED))
    return Layout("keys and values", (path,), count, versions, floors, ("--topic", SAMPLED.topic))


def _make_packed(folder: Path, size: int) -> Layout:
    """Write the lines of one table into eight files of gzip."""
    events, versions = _events(size)
    each = -(-len(events) // 8)
    paths = []
    for number in range(0, len(events), each):
        paths.append(folder / f"part-{number:09}.jsonl.gz")
        lines = b"".join(_format_kcat(r) + b"\n" for r in events[number : number + each])
        paths[-1].write_bytes(gzip.compress(lines, 1))
    floors = (("unpacking lines", _LINES.replace("open(p, 'rb')", "__import__('gzip').open(p)")),)
    return Layout("kcat lines, gzip", tuple(paths), len(events), versions, floors)


def _make_parquet(folder: Path, size: int) -> Layout:
    events, versions = _events(size)
    each = -(-len(events) // 8)
    paths = []
    for number in range(0, len(events), each):
        part = events[number : number + each]
        columns = {
            "key": [r.key for r in part],
            "value": [r.value for r in part],
            "topic": [r.topic for r in part],
            "partition": [r.partition for r in part],
            "offset": [r.offset for r in part],
            "timestamp": arrow.array([_FIRST + r.offset for r in part], arrow.timestamp("ms", "UTC")),
        }
        paths.append(folder / f"part-{number:09}.parquet")
        parquet.write_table(arrow.table(columns), paths[-1])
    floors = (
        ("crc32", _FLOOR_PARQUET),
        ("json.loads of each", _NAIVE_PARQUET),
        ("and json.dumps", _COMPARE_PARQUET),
    )
    return Layout("Parquet", tuple(paths), len(events), versions, floors)


def _make_sink(folder: Path, size: int) -> Layout:
    """Write the values of one table as Connect's S3 sink does, 200 of them into each file."""
    events, versions = _events(size)
    partition = folder / "topics" / SAMPLED.topic / "partition=0"
    partition.mkdir(parents=True)
    paths = []
    for number in range(0, len(events), 200):
        paths.append(partition / f"{SAMPLED.topic}+0+{number:010}.json")
        _write(paths[-1], (r.value or b"null" for r in events[number : number + 200]))
    floors = (("reading lines", _LINES), ("json.loads of each", _LOADS))
    return Layout("files of a sink", tuple(paths), len(events), versions, floors)


def _events(size: int) -> tuple[list[Record], int]:
    """Make events of about `size` bytes; return them and the number of their schemas."""
    (sample,) = made_events.events(1, SAMPLED)
    events = made_events.events(size // len(_format_kcat(sample)), SAMPLED)
    return events, len({(r.value or b"").split(b',"payload":')[0] for r in events})


def _move_to_table(record: Record, number: int) -> Record:
    """Move a record of one table to one of the 100 tables; each has all its schemas, in two partitions."""
    table = number % TABLES
    partition, offset = number // TABLES % PARTITIONS, number // TABLES // PARTITIONS
    before = SAMPLED.name.encode()
    name = b"%s_%03d" % (before, table)
    replaced = [
        None
        if part is None
        else part.replace(b"shop." + before, b"shop." + name).replace(
            b'"table":"%s"' % before, b'"table":"%s"' % name
        )
        for part in (record.key, record.value)
    ]
    return Record(f"shopdb.shop.{name.decode()}", partition, offset, None, replaced[0], replaced[1])


def _format_kcat(record: Record) -> bytes:
    """Format a record as `kcat -J` does. Source: kcat json.c, fmt_msg_output_json."""
    head = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "tstype": "create",
        "ts": _FIRST + record.offset,
        "broker": 1,
        "key": None if record.key is None else record.key.decode(),
        "payload": None if record.value is None else record.value.decode(),
    }
    return json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode()


def _write(path: Path, lines: Iterator[bytes]) -> int:
    count = 0
    with path.open("wb") as file:
        for line in lines:
            file.write(line + b"\n")
            count += 1
    return count


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES)
