"""Measures a store as it grows: `python -m bench.scale [TABLES]`, ratios within one run.

The benchmark makes two stores through the registry and runs the same queries on both. One has `TABLES` tables
with ten versions each (full size: 100000), the other a hundredth of that. A third store has one table with
many versions. Finally it reads two files of records with the same schemas. `BENCH_KEEP=FOLDER` keeps the
stores in a folder and reuses existing ones. Every result is checked; times are CPU seconds.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench import made_events, tables
from bench.processes import SCRIPT, run_process
from schemaman.registry import Registry
from schemaman.store.sql.store import SqlStore
from schemaman_cli.main import COLLECT

TABLES = 2_000
VERSIONS = 10
AT_ONCE = 500
"""The number of tables in one chunk, with all versions: as many as a chunk of an ingest may contain."""

ASKED = 50
LONG = int(os.environ.get("BENCH_LONG", "2000"))
"""The number of versions of the long table (full size: 10000)."""

RECORDS = int(os.environ.get("BENCH_RECORDS", "100000"))
REPETITIONS = int(os.environ.get("BENCH_REPETITIONS", "4"))


def main(count: int) -> None:
    """Print the figures, then one line of JSON for `bench.compare`."""
    few = max(count // 100, 1)
    gc.set_threshold(*COLLECT)
    with _folder() as folder:
        small, large = folder / f"{few}.db", folder / f"{count}.db"
        _build(small, few)
        found = _build(large, count)
        for name, times in _measure_queries({small: few, large: count}).items():
            found[f"{name}: {count} tables / {few} tables (at most 2)"] = times[large] / times[small]
        done = run_process(SCRIPT, "tables", "--store", str(large))
        _require("tables", len(done.output.splitlines()) == count + 2)
        found["CPU milliseconds of schemaman tables per table"] = 1000 * done.cpu / count
        found |= _measure_long_table(folder / f"long-{LONG}.db")
        found |= _measure_memory(folder)
    for name, value in found.items():
        print(f"{value:10.2f}  {name}")
    print(json.dumps({"tables": count, "python": platform.python_version(), "ratios": found}))


def _build(path: Path, count: int) -> dict[str, float]:
    """Record all versions of the tables and return the figures; none if the store exists already."""
    if path.exists():
        return {}
    chunks = [0.0]
    start = time.perf_counter()
    with _registry(path, create=True) as registry:
        for observations, ranges in tables.chunks(count, VERSIONS, AT_ONCE):
            cpu = time.process_time()
            recorded = registry.record(observations, ranges)
            chunks.append(time.process_time() - cpu)
            _require("append", recorded.observations == len(observations))
    wall = time.perf_counter() - start
    tenth, total = max((len(chunks) - 1) // 10, 1), count * VERSIONS
    return {
        "versions appended per CPU second (at least 2000)": total / sum(chunks),
        "versions appended per second": total / wall,
        "last tenth of appends / first tenth (at most 1.2)": sum(chunks[-tenth:])
        / sum(chunks[1 : tenth + 1]),
        "kilobytes of the store per version": path.stat().st_size / total / 1000,
    }


def _measure_queries(stores: Mapping[Path, int]) -> dict[str, dict[Path, float]]:
    """Measure each query in each store, in turn; the first repetition is dropped."""
    spent: dict[str, dict[Path, list[float]]] = {}
    for repetition in range(REPETITIONS + 1):
        for path, count in stores.items():
            with _registry(path) as registry:
                times = [*_query_registry(registry, count), *_run_commands(path, count)]
            for name, seconds in times if repetition else ():
                spent.setdefault(name, {}).setdefault(path, []).append(seconds)
    return {name: {path: statistics.median(s) for path, s in found.items()} for name, found in spent.items()}


def _query_registry(registry: Registry, count: int) -> Iterator[tuple[str, float]]:
    """Query an open registry for evenly spread tables."""
    numbers = [count * i // ASKED for i in range(ASKED)]
    names = [tables.table_of(number).table for number in numbers]
    topics = [f'"{tables.topic_of(number)}"' for number in numbers]

    def show(i: int) -> int:
        version = registry.resolve(f"{names[i]}@latest").version
        return 0 if version is None else version.number

    queries: dict[str, Callable[[int], int]] = {
        "show, in process": show,
        "history, in process": lambda i: len(registry.history(registry.find(names[i])).versions),
        "history of a topic, in process": lambda i: len(registry.history(registry.find(topics[i])).versions),
    }
    for name, ask in queries.items():
        start = time.process_time()
        answers = [ask(i) for i in range(ASKED)]
        yield name, time.process_time() - start
        _require(name, set(answers) == {VERSIONS})


def _run_commands(path: Path, count: int) -> Iterator[tuple[str, float]]:
    """Run the same queries as whole commands."""
    name = tables.table_of(count // 2).table
    for words, lines in (("show", tables.WIDTH), ("history", VERSIONS)):
        done = run_process(SCRIPT, words, name, "--store", str(path))
        yield f"schemaman {words}", done.cpu
        _require(words, len(done.output.splitlines()) >= lines)


def _measure_long_table(path: Path) -> dict[str, float]:
    """Measure a table with many versions: one more version, and the most frequent queries, in CPU seconds."""
    number = 0
    if not path.exists():
        with _registry(path, create=True) as registry:
            registry.record(*tables.chunk([number], range(LONG)))
    with _registry(path) as registry:
        end = len(registry.history(tables.table_of(number)).versions)
        start = time.process_time()
        recorded = registry.record(*tables.chunk([number], range(end, end + 1)))
        found = {f"CPU seconds to append to {LONG} versions": time.process_time() - start}
        _require("append", [v.number for v in recorded.tables[0].new] == [end + 1])
    name = tables.table_of(number).table
    for words in (["show", f"{name}@latest"], ["diff", name], ["history", name]):
        done = run_process(SCRIPT, *words, "--store", str(path))
        _require(words[0], bool(done.output))
        found[f"CPU seconds of {words[0]} at {LONG} versions"] = done.cpu
    return found


def _measure_memory(folder: Path) -> dict[str, float]:
    """Measure the ratio of peak memories of an ingest: four times the records with the same schemas."""
    peaks = []
    for times in (1, 4):
        records = folder / f"records-{times}.jsonl"
        made_events.write(records, RECORDS * times // 4)
        done = run_process(SCRIPT, "ingest", str(records), "--store", str(folder / f"records-{times}.db"))
        peaks.append(done.peak)
        records.unlink()
    return {"peak memory of an ingest: four times the records / records (at most 1.2)": peaks[1] / peaks[0]}


@contextmanager
def _folder() -> Iterator[Path]:
    if kept := os.environ.get("BENCH_KEEP"):
        yield Path(kept)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@contextmanager
def _registry(path: Path, create: bool = False) -> Iterator[Registry]:
    with SqlStore.open(str(path), create=create) as store:
        yield Registry(store, lambda: 0)


def _require(what: str, correct: bool) -> None:
    if not correct:
        raise SystemExit(f"wrong result: {what}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TABLES)
