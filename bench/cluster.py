"""`python -m bench.cluster` compares the Spark engine with what a user would write, in one session.

`--mb` is the size of the values, `--files` are numbers of files. Each time counts only with a correct
result; the session start does not count. Variants run in turn, `--rounds` times. The least time and the least
CPU time of each count, so that the first round is the warm-up. Each time goes to standard error at once. At
the end come wall seconds, CPU seconds of all processes, ratios to `sum(crc32)`, the first time of each
variant, and the greatest memory of the driver's Python, of a Python worker, and of the JVM. `--only` runs the
named variants beside `sum(crc32)`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import functions as F

from bench import made_events
from bench.cluster_events import WrittenEvents, write_files
from bench.processes import ProcessWatch
from schemaman.io.file_patterns import find_files
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.registry import Registry
from schemaman.spark.frame_ingest import ingest_frame
from schemaman.spark.ingest import Destination, ingest_folder
from schemaman.spark.session import start_session
from schemaman.store.memory import MemoryStore

_SETTINGS = {
    "spark.sql.parquet.columnarReaderBatchSize": "512",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
}
"""Batches of values of five kilobytes must not take 25 MB each."""

_FLOOR = "sum(crc32)"
_TABLES = {table.name: table for table in (made_events.ORDERS, made_events.DEFAULTS)}
_PROCESSES = ("driver", "workers", "jvm")


def main() -> None:
    """Print the figures, then one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=300)
    parser.add_argument("--files", type=int, nargs="+", default=[1, 200, 5000])
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--table", choices=_TABLES, default="orders", help="values of 4.1 kB or of 5.7 kB")
    parser.add_argument("--slow", action="store_true", help="also from_json and json.loads in an RDD")
    parser.add_argument("--only", nargs="+", metavar="VARIANT", help="the variants to run, by name")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        spark = start_session(warehouse=Path(name) / "lake", settings=_SETTINGS)
        for files in options.files:
            folder = Path(name) / f"files-{files}"
            written = write_files(folder, options.mb, files, options.topics, _TABLES[options.table])
            os.sync()  # the disk must not be busy with these files while they are read
            variants = _list_variants(spark, folder, written, slow=options.slow)
            if options.only:
                variants = {name: variants[name] for name in (_FLOOR, *options.only)}
            measured: dict[str, list[dict[str, float]]] = {variant: [] for variant in variants}
            for number in range(options.rounds):
                for variant, run in variants.items():
                    one = _measure(run)
                    measured[variant].append(one)
                    _print_progress(f"{files} files, round {number + 1}: {variant}", one)
            figures = {variant: _summarize(one) for variant, one in measured.items()}
            _print_figures(files, figures)
            found |= {f"{files} files: {variant}": one for variant, one in figures.items()}
            shutil.rmtree(folder)
        spark.stop()
    facts = {"spark": pyspark.__version__, "mb": options.mb, "rounds": options.rounds}
    print(json.dumps({**facts, "load": round(os.getloadavg()[2], 1), "figures": found}))


def _summarize(rounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Take the least times and the greatest memory of a variant; `first` is the time of its first round."""
    least = {name: min(one[name] for one in rounds) for name in ("wall", "cpu")}
    most = {name: max(one[name] for one in rounds) for name in _PROCESSES}
    return {**least, "first": rounds[0]["wall"], **most}


def _print_progress(name: str, one: Mapping[str, float]) -> None:
    """Print one time as soon as it is measured, since a run that is ended early loses what comes later."""
    print(
        f"  {name:50} wall {one['wall']:7.2f} s  CPU {one['cpu']:7.2f} s{_format_memory(one)}",
        file=sys.stderr,
        flush=True,
    )


def _format_memory(one: Mapping[str, float]) -> str:
    return "".join(f"  {name} {one[name]:5.0f} MB" for name in _PROCESSES)


def _print_figures(files: int, figures: Mapping[str, Mapping[str, float]]) -> None:
    floor = figures[_FLOOR]
    for variant, one in figures.items():
        ratio = one["wall"] / floor["wall"], one["cpu"] / floor["cpu"]
        print(
            f"{f'{files} files: {variant}':45} wall {one['wall']:7.2f} s ({ratio[0]:5.2f}x, first"
            f" {one['first']:6.2f} s)  CPU {one['cpu']:7.2f} s ({ratio[1]:5.2f}x){_format_memory(one)}",
            flush=True,
        )


def _list_variants(
    spark: Any, folder: Path, written: WrittenEvents, *, slow: bool
) -> dict[str, Callable[[], None]]:
    """List the variants; each ends the benchmark if its result is wrong."""

    def open_frame() -> Any:
        return spark.read.parquet(str(folder))

    def read_checksums() -> None:
        counted = open_frame().agg(F.sum(F.crc32("value")), F.count("value")).collect()[0]
        _require(counted[1], written.records)

    def read_folder() -> None:
        registry = Registry(MemoryStore(lambda: 0), lambda: 0)
        done = ingest_folder(spark, find_files(str(folder)) or (), Destination(registry, "main", NO_REGISTRY))
        _require((done.new, done.observations), (written.records, written.runs))

    def read_frame() -> None:
        registry = Registry(MemoryStore(lambda: 0), lambda: 0)
        done = ingest_frame(open_frame(), Destination(registry, "main", NO_REGISTRY))
        _require((done.new, done.observations), (written.records, written.runs))

    def group_by_text() -> None:
        schema = F.get_json_object(F.col("value").cast("string"), "$.schema")
        _require(open_frame().groupBy("topic", schema).count().count(), written.schemas)

    def group_by_part() -> None:
        parsed = F.from_json(F.col("value").cast("string"), "schema string, payload string")
        _require(open_frame().groupBy("topic", parsed["schema"]).count().count(), written.schemas)

    def group_by_struct() -> None:
        text = F.col("value").cast("string")
        parsed = F.from_json(text, F.schema_of_json(F.lit(written.sample)))
        _require(open_frame().groupBy("topic", parsed["schema"]).count().count(), written.schemas)

    def group_in_python() -> None:
        rows = open_frame().select("topic", "value").rdd
        keys = rows.map(lambda row: (row[0], json.dumps(json.loads(row[1])["schema"], sort_keys=True)))
        _require(keys.map(lambda key: (key, 1)).reduceByKey(int.__add__).count(), written.schemas)

    read_checksums()  # warms up the files and the JVM
    fast = {
        _FLOOR: read_checksums,
        "schemaman, files": read_folder,
        "schemaman, data frame": read_frame,
        "get_json_object and groupBy": group_by_text,
    }
    odd = {
        "from_json of the schema as a string": group_by_part,
        "from_json of the whole type": group_by_struct,
        "json.loads in an RDD": group_in_python,
    }
    return {**fast, **(odd if slow else {})}


def _measure(run: Callable[[], None]) -> dict[str, float]:
    with ProcessWatch() as watch:
        start = time.monotonic()
        run()
        wall = time.monotonic() - start
    sizes = zip(_PROCESSES, (watch.own, watch.largest_python, watch.largest_java), strict=True)
    return {"wall": wall, "cpu": watch.cpu, **{name: size / 1000 for name, size in sizes}}


def _require(found: object, expected: object) -> None:
    if found != expected:
        raise SystemExit(f"wrong result: {found} instead of {expected}")


if __name__ == "__main__":
    main()
