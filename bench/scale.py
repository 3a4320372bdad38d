"""What a store costs as it grows: `python -m bench.scale [TABLES]`, ratios within one run.

Two stores are made through the registry, one of `TABLES` tables with ten versions each (100000 is the full
size) and one of a hundredth of that, and the same is asked of both. A third one holds one table of many
versions, and two files of records in the same structures are read. `BENCH_KEEP=FOLDER` keeps the stores
there, and takes those that it finds. Every answer is checked; times are CPU seconds.
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

from bench import gen, tables
from bench.processes import SCRIPT, finished
from schemaman.registry import Registry
from schemaman.store.sql.store import SqlStore
from schemaman_cli.main import COLLECT

TABLES = 2_000
VERSIONS = 10
AT_ONCE = 500
"""Tables of which a chunk brings all versions: as many as a chunk of an ingest may hold."""

ASKED = 50
LONG = int(os.environ.get("BENCH_LONG", "2000"))
"""Versions of the long table; 10000 is the full size."""

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
        for name, times in _asked({small: few, large: count}).items():
            found[f"{name}: of {count} tables / of {few} (at most 2)"] = times[large] / times[small]
        found |= _long(folder / f"long-{LONG}.db")
        found |= _memory(folder)
    for name, value in found.items():
        print(f"{value:10.2f}  {name}")
    print(json.dumps({"tables": count, "python": platform.python_version(), "ratios": found}))


def _build(path: Path, count: int) -> dict[str, float]:
    """Record all versions of the tables: how fast that was; nothing if the store was there."""
    if path.exists():
        return {}
    chunks = [0.0]
    start = time.perf_counter()
    with _registry(path, create=True) as registry:
        for told, read in tables.chunks(count, VERSIONS, AT_ONCE):
            cpu = time.process_time()
            recorded = registry.record(told, read)
            chunks.append(time.process_time() - cpu)
            _right("append", recorded.observations == len(told))
    wall = time.perf_counter() - start
    tenth, total = max((len(chunks) - 1) // 10, 1), count * VERSIONS
    return {
        "versions appended a CPU second (at least 2000)": total / sum(chunks),
        "versions appended a second": total / wall,
        "the last appends / the first (at most 1.2)": sum(chunks[-tenth:]) / sum(chunks[1 : tenth + 1]),
        "kilobytes of the store a version": path.stat().st_size / total / 1000,
    }


def _asked(stores: Mapping[Path, int]) -> dict[str, dict[Path, float]]:
    """The time of each question in each store, asked in turn; the first repetition is dropped."""
    spent: dict[str, dict[Path, list[float]]] = {}
    for repetition in range(REPETITIONS + 1):
        for path, count in stores.items():
            with _registry(path) as registry:
                times = [*_questions(registry, count), *_commands(path, count)]
            for name, seconds in times if repetition else ():
                spent.setdefault(name, {}).setdefault(path, []).append(seconds)
    return {name: {path: statistics.median(s) for path, s in found.items()} for name, found in spent.items()}


def _questions(registry: Registry, count: int) -> Iterator[tuple[str, float]]:
    """Questions to an open registry about tables all over it."""
    numbers = [count * i // ASKED for i in range(ASKED)]
    names = [tables.table_of(number).table for number in numbers]
    topics = [f'"{tables.topic_of(number)}"' for number in numbers]

    def shown(i: int) -> int:
        version = registry.resolve(f"{names[i]}@latest").version
        return 0 if version is None else version.number

    asked: dict[str, Callable[[int], int]] = {
        "show, in process": shown,
        "history, in process": lambda i: len(registry.history(registry.find(names[i])).versions),
        "history of a topic, in process": lambda i: len(registry.history(registry.find(topics[i])).versions),
    }
    for name, ask in asked.items():
        start = time.process_time()
        answers = [ask(i) for i in range(ASKED)]
        yield name, time.process_time() - start
        _right(name, set(answers) == {VERSIONS})


def _commands(path: Path, count: int) -> Iterator[tuple[str, float]]:
    """The same as whole commands."""
    name = tables.table_of(count // 2).table
    for words, lines in (("show", tables.WIDTH), ("history", VERSIONS)):
        done = finished(SCRIPT, words, name, "--store", str(path))
        yield f"schemaman {words}", done.cpu
        _right(words, len(done.told.splitlines()) >= lines)


def _long(path: Path) -> dict[str, float]:
    """A table of many versions: what one more costs, and what is asked of it most, in CPU seconds."""
    number = 0
    if not path.exists():
        with _registry(path, create=True) as registry:
            registry.record(*tables.chunk([number], range(LONG)))
    with _registry(path) as registry:
        end = len(registry.history(tables.table_of(number)).versions)
        start = time.process_time()
        recorded = registry.record(*tables.chunk([number], range(end, end + 1)))
        found = {f"CPU seconds to append to {LONG} versions": time.process_time() - start}
        _right("append", [v.number for v in recorded.tables[0].new] == [end + 1])
    name = tables.table_of(number).table
    for words in (["show", f"{name}@latest"], ["diff", name], ["history", name]):
        done = finished(SCRIPT, *words, "--store", str(path))
        _right(words[0], bool(done.told))
        found[f"CPU seconds of {words[0]} at {LONG} versions"] = done.cpu
    return found


def _memory(folder: Path) -> dict[str, float]:
    """Peak memory of an ingest of four times as many records in the same structures, as a ratio."""
    peaks = []
    for times in (1, 4):
        records = folder / f"records-{times}.jsonl"
        gen.write(records, RECORDS * times // 4)
        done = finished(SCRIPT, "ingest", str(records), "--store", str(folder / f"records-{times}.db"))
        peaks.append(done.peak)
        records.unlink()
    return {"peak memory of an ingest: four times the records / once (at most 1.2)": peaks[1] / peaks[0]}


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


def _right(what: str, answer: bool) -> None:
    if not answer:
        raise SystemExit(f"a wrong answer: {what}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TABLES)
