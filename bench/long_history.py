"""Measures a table with many versions: `python -m bench.long_history [VERSIONS]`, ratios within one run.

It records a tenth of the versions, all, and three times as many in a store each, then a chunk that brings one
more version, in CPU seconds of `record`. As many versions of small tables show the rate of appends, also ten
times as many. A table of ten versions gets its records in many chunks. Streams whose shapes alternate between
partitions are folded at one, two and four times a length. Every result is checked. The whole takes two or
three minutes; `bench.performance_page` writes the last line into `docs/performance.md`.
"""

from __future__ import annotations

import gc
import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from bench import tables
from bench.processes import SCRIPT, run_process
from schemaman.debezium.observation import Observation
from schemaman.history.epochs import UNDECIDED
from schemaman.registry import Registry
from schemaman.store.folding import fold
from schemaman.store.sql.store import SqlStore
from schemaman_cli.main import COLLECT

VERSIONS = 10_000
ALTERNATING = 500
APPENDS = 5
FEW = 10
"""The number of versions of a small table, and of one that gets many chunks."""

TABLES_AT_ONCE = 500


def main(versions: int) -> None:
    """Print the figures, then one line of JSON for `bench.compare` and `bench.performance_page`."""
    gc.set_threshold(*COLLECT)
    sizes = (versions // 10, versions, 3 * versions)
    with tempfile.TemporaryDirectory() as folder:
        found = _measure_sizes(Path(folder), sizes)
        for count in (versions, 10 * versions):
            path = Path(folder) / f"small-{count}.db"
            found[f"versions a CPU second: {count} in small tables"] = _measure_rate(path, count)
        found |= _measure_chunks(Path(folder), sizes[:2])
    for partitions in (2, 8):
        for kind, shapes in (("two shapes", 2), ("new shapes", 0)):
            times = [_measure_fold(ALTERNATING * n, partitions, shapes) for n in (1, 2, 4)]
            for n, (before, after) in zip((2, 4), pairwise(times), strict=True):
                found[f"fold of {kind} in {partitions} partitions: length {n} / {n // 2}"] = after / before
    for name, value in found.items():
        print(f"{value:10.2f}  {name}")
    print(json.dumps({"long_history": versions, "python": platform.python_version(), "ratios": found}))


def _measure_sizes(folder: Path, sizes: tuple[int, int, int]) -> dict[str, float]:
    """Measure appends to one table of each size, and the questions about the newest versions."""
    found: dict[str, float] = {}
    appends: dict[int, float] = {}
    for size in sizes:
        path = folder / f"{size}.db"
        found[f"versions a CPU second: {size} of one table"] = _record_versions(path, size)
        appends[size] = _measure_append(path, size)
        found[f"CPU seconds to append one version to {size} (at most 0.2)"] = appends[size]
    few, many, most = sizes
    found[f"append at {most} / at {few} versions (at most 2)"] = appends[most] / appends[few]
    name = tables.table_of(0).table
    empty = _measure_command("--version")
    for words in (["show", f"{name}@latest"], ["diff", name]):
        times = [_measure_command(*words, "--store", str(folder / f"{size}.db")) for size in (few, many)]
        found[f"CPU seconds of {words[0]} at {many} versions, without the start"] = times[1] - empty
        found[f"{words[0]} at {many} / at {few} versions, whole command"] = times[1] / times[0]
    return found


def _record_versions(path: Path, size: int) -> float:
    """Record a table in one chunk; return the versions in a CPU second."""
    chunk = tables.chunk([0], range(size))
    with SqlStore.open(str(path), create=True) as store:
        seconds = _measure(lambda: Registry(store, lambda: 0).record(*chunk))
    return size / seconds


def _measure_append(path: Path, size: int) -> float:
    """Measure one version more in a newly opened store, several times."""
    times: list[float] = []
    for number in range(size, size + APPENDS):
        with SqlStore.open(str(path)) as store:
            chunk = tables.chunk([0], range(number, number + 1))
            start = time.process_time()
            recorded = Registry(store, lambda: 0).record(*chunk)
            new = [version.number for version in recorded.tables[0].new]
            times.append(time.process_time() - start)
        _require("append", new == [number + 1])
    return statistics.median(times)


def _measure_rate(path: Path, count: int) -> float:
    """Record as many versions in tables of ten, without making the observations."""
    seconds = 0.0
    with SqlStore.open(str(path), create=True) as store:
        registry = Registry(store, lambda: 0)
        for chunk in tables.chunks(count // FEW, FEW, TABLES_AT_ONCE):
            start = time.process_time()
            recorded = registry.record(*chunk)
            seconds += time.process_time() - start
            _require("append", recorded.observations == len(chunk[0]))
    return count / seconds


def _measure_chunks(folder: Path, sizes: tuple[int, int]) -> dict[str, float]:
    """Measure one chunk more of a table with few versions, each in a newly opened store.

    The chunks before have an entry of the log each, and are recorded at once.
    """
    found: dict[str, float] = {}
    for size in sizes:
        path = folder / f"chunks-{size}.db"
        with SqlStore.open(str(path), create=True) as store:
            Registry(store, lambda: 0).record(*tables.later_chunks(0, FEW, range(size)))
        times: list[float] = []
        for number in range(size, size + APPENDS):
            with SqlStore.open(str(path)) as store:
                registry = Registry(store, lambda: 0)
                times.append(_measure(partial(registry.record, *tables.later_chunks(0, FEW, [number]))))
                history = store.history(tables.table_of(0))
            _require("chunk", history is not None and len(history.versions) == FEW)
        found[f"CPU seconds to append a chunk to {FEW} versions from {size} chunks"] = statistics.median(
            times
        )
    few, many = found.values()
    found[f"chunk at {sizes[1]} / at {sizes[0]} chunks (at most 2)"] = many / few
    return found


def _measure_command(*words: str) -> float:
    """Measure the CPU seconds of a command."""
    done = run_process(SCRIPT, *words)
    _require(words[0], bool(done.output))
    return done.cpu


def _measure_fold(length: int, partitions: int, shapes: int) -> float:
    """Measure the fold of runs that go round the partitions; `shapes` is 0 if each run has its own."""
    observations = [_make_run(number, number % partitions, shapes) for number in range(length)]
    versions = shapes or length
    times = [_measure(lambda: fold(observations, tables.table_of(0), UNDECIDED)) for _ in range(3)]
    history = fold(observations, tables.table_of(0), UNDECIDED)
    _require("fold", history is not None and len(history.versions) == versions)
    return statistics.median(times)


def _make_run(number: int, partition: int, shapes: int) -> Observation:
    """Make the run of a place in the stream."""
    run = tables.make_observation(0, number)
    first, last = (replace(mark, partition=partition) for mark in (run.first, run.last))
    schema = tables.structure(number % shapes) if shapes else run.schema
    return replace(run, first=first, last=last, schema=schema)


def _measure(work: Callable[[], object]) -> float:
    """Measure the CPU seconds of a piece of work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _require(what: str, correct: bool) -> None:
    if not correct:
        raise SystemExit(f"wrong result: {what}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else VERSIONS)
