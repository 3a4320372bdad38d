"""Measures a table with many versions: `python -m bench.long_history [VERSIONS]`, ratios within one run.

It records a tenth of the versions, all, and three times as many in a store each, then a chunk that brings one
more version, in CPU seconds of `record`. It also folds streams whose shapes alternate between partitions, at
one, two and four times a length. Every result is checked.
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
ALTERNATING = 2_000
APPENDS = 5


def main(versions: int) -> None:
    """Print the figures, then one line of JSON for `bench.compare` and `bench.performance_page`."""
    gc.set_threshold(*COLLECT)
    found: dict[str, float] = {}
    sizes = (versions // 10, versions, 3 * versions)
    with tempfile.TemporaryDirectory() as folder:
        appends = {size: _measure_append(Path(folder) / f"{size}.db", size) for size in sizes}
        for size, seconds in appends.items():
            found[f"CPU seconds to append one version to {size} (at most 0.2)"] = seconds
        found[f"append at {sizes[2]} / at {sizes[0]} versions (at most 2)"] = (
            appends[sizes[2]] / appends[sizes[0]]
        )
        name = tables.table_of(0).table
        empty = _measure_command("--version")
        for words in (["show", f"{name}@latest"], ["diff", name]):
            times = [_measure_command(*words, "--store", str(Path(folder) / f"{s}.db")) for s in sizes[:2]]
            found[f"CPU seconds of {words[0]} at {sizes[1]} versions, without the start"] = times[1] - empty
            found[f"{words[0]} at {sizes[1]} / at {sizes[0]} versions, whole command"] = times[1] / times[0]
    for partitions in (2, 8):
        for kind, shapes in (("two shapes", 2), ("new shapes", 0)):
            times = [_measure_fold(ALTERNATING * n, partitions, shapes) for n in (1, 2, 4)]
            for n, (before, after) in zip((2, 4), pairwise(times), strict=True):
                found[f"fold of {kind} in {partitions} partitions: length {n} / {n // 2}"] = after / before
    for name, value in found.items():
        print(f"{value:10.2f}  {name}")
    print(json.dumps({"long_history": versions, "python": platform.python_version(), "ratios": found}))


def _measure_append(path: Path, size: int) -> float:
    """Record a table in chunks, then measure one version more in a newly opened store, several times."""
    with SqlStore.open(str(path), create=True) as store:
        Registry(store, lambda: 0).record(*tables.chunk([0], range(size)))
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
    start = time.process_time()
    work()
    return time.process_time() - start


def _require(what: str, correct: bool) -> None:
    if not correct:
        raise SystemExit(f"wrong result: {what}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else VERSIONS)
