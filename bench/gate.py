"""Measures the gate: `python -m bench.gate [TABLES]`, ratios of CPU time within one run.

It checks a store of `TABLES` tables (full size: 10000) that did not change since the snapshots in git.
Then it compares one check of two Avro schemas with Avro's own libraries, that of Python if it is
installed (`pip install avro`). Every answer is checked before its time counts. `BENCH_KEEP=FOLDER` keeps
the store.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyspark

from bench import tables
from bench.processes import run_process
from schemaman.api.avro_checks import check_avro
from schemaman.compat.avro.levels import AvroVerdict
from schemaman.compat.avro.resolution import check_resolution
from schemaman.compat.avro.schema import parse_schema
from schemaman.debezium.converters.avro_schema import to_avro
from schemaman.model.column_list import parse_columns
from schemaman.registry import Registry
from schemaman.store.sql.store import SqlStore

TABLES = 2_000
VERSIONS = 10
AT_ONCE = 500
CHECKS = 2_000
COLUMNS = 100
REPETITIONS = int(os.environ.get("BENCH_REPETITIONS", "4"))
_JARS = ("avro-1*", "jackson-*", "slf4j-api*", "commons-compress*")
_TYPES = ("INT", "BIGINT", "STRING", "DECIMAL(10,2)", "TIMESTAMP(6)", "BOOLEAN", "DATE", "DOUBLE")


def main(count: int) -> None:
    """Print the figures, then one line of JSON for `bench.compare`."""
    with _folder() as folder:
        found = _measure_commands(folder, count) | _measure_avro(folder)
    for name, value in found.items():
        print(f"{value:10.2f}  {name}")
    print(json.dumps({"tables": count, "python": platform.python_version(), "ratios": found}))


def _measure_commands(folder: Path, count: int) -> dict[str, float]:
    """Measure commands on tables that did not change, in turn; the first repetition is dropped."""
    home = _build_repository(folder / f"gate-{count}", count)
    name = tables.table_of(count // 2).table
    whole = f"0 schema changes in {count:,} tables".replace(",", "\u202f")
    commands: dict[str, tuple[list[str], str]] = {
        f"check --source, {count} tables": (["check", "--source"], whole),
        f"check, {count} snapshots": (["check"], whole),
        f"check of one of {count} tables": (["check", name], "0 schema changes in 1 table"),
        f"tables, {count} tables": (["tables"], name),
        f"tables, one of {count} tables": (["tables", name], name),
    }
    spent: dict[str, list[float]] = {"start": [], **{title: [] for title in commands}}
    os.chdir(home)
    for repetition in range(REPETITIONS + 1):
        times = {"start": run_process("-c", "pass").cpu}
        for title, (words, answer) in commands.items():
            done = run_process("-m", "schemaman_cli.main", *words)
            _require(title, answer in done.output)
            times[title] = done.cpu
        for title, seconds in times.items() if repetition else ():
            spent[title].append(seconds)
    cpu = {title: statistics.median(seconds) for title, seconds in spent.items()}
    return {f"{title} / empty interpreter": cpu[title] / cpu["start"] for title in commands} | {
        f"CPU seconds of {title}": cpu[title] for title in commands
    }


def _build_repository(home: Path, count: int) -> Path:
    """Record the tables, and commit their snapshots; nothing to do if the folder exists."""
    if home.exists():
        return home
    home.mkdir(parents=True)
    with SqlStore.open(str(home / "schemaman.db"), create=True) as store:
        registry = Registry(store, lambda: 0)
        for observations, ranges in tables.chunks(count, VERSIONS, AT_ONCE):
            _require("record", registry.record(observations, ranges).observations == len(observations))
    os.chdir(home)
    run_process("-m", "schemaman_cli.main", "snapshot", "--quiet")
    who = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
    steps = (["init", "-q", "-b", "main"], ["add", "schemas"], ["commit", "-qm", "accepted"], ["gc", "-q"])
    for words in steps:
        subprocess.run(["git", *who, *words], check=True)
    return home


def _measure_avro(folder: Path) -> dict[str, float]:
    """Measure one check of two envelopes, parsed already, and transitive checks from texts."""
    reader, writer = (json.dumps(_make_envelope(COLUMNS, added)) for added in (1, 0))
    pair = parse_schema(reader), parse_schema(writer)
    own = _time(lambda: check_resolution(*pair), lambda found: found == (), CHECKS)
    title = "check of two Avro schemas"
    found = {f"{title}: Avro Java / schemaman (at least 3)": _time_java(folder, reader, writer) / own}
    if importlib.util.find_spec("avro") is not None:
        python = _time_python(reader, writer)
        found[f"{title}: Avro Python / schemaman (at least 100)"] = python / own
    earlier = [json.dumps(_make_envelope(COLUMNS, number)) for number in range(100)]
    many, few = (
        _time(partial(check_avro, earlier * times, earlier[-1], "FULL_TRANSITIVE"), _is_compatible, 5)
        for times in (10, 1)
    )
    found["transitive check of 1000 versions of 100 schemas / of 100 (at most 1.5)"] = many / few
    return found


def _is_compatible(verdict: AvroVerdict) -> bool:
    return verdict.compatible


def _make_envelope(columns: int, added: int) -> dict[str, object]:
    listed = [f"c{i} {_TYPES[i % len(_TYPES)]}{'' if i % 3 else ' NOT NULL'}" for i in range(columns)]
    listed += [f"added{i} STRING" for i in range(added)]
    row = to_avro(parse_columns(", ".join(listed)), "orders.Value")
    names = ("version", "connector", "name", "db", "schema", "table")
    source = [{"name": name, "type": "string"} for name in names]
    fields: list[dict[str, object]] = [
        {"name": "before", "type": ["null", row], "default": None},
        {"name": "after", "type": ["null", "orders.Value"], "default": None},
        {"name": "source", "type": {"type": "record", "name": "Source", "fields": source}},
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"], "default": None},
    ]
    return {"type": "record", "name": "orders.Envelope", "fields": fields}


def _time(run: Callable[[], Any], is_right: Callable[[Any], bool], count: int) -> float:
    """Return the CPU seconds of one call: the median of several measurements."""
    _require("answer", is_right(run()))
    spent: list[float] = []
    for _ in range(REPETITIONS):
        start = time.process_time()
        for _ in range(count):
            run()
        spent.append((time.process_time() - start) / count)
    return statistics.median(spent)


def _time_java(folder: Path, reader: str, writer: str) -> float:
    jars = Path(pyspark.__file__).parent / "jars"
    classes = ":".join(str(jar) for pattern in _JARS for jar in jars.glob(f"{pattern}.jar"))
    pair = folder / "pair.txt"
    pair.write_text(f"{reader}\n{writer}\n", encoding="utf-8")
    source = str(Path(__file__).with_name("AvroChecks.java"))
    command = ["java", "-cp", classes, source, str(pair), str(CHECKS)]
    verdict, seconds = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    _require("Java's verdict", verdict == "COMPATIBLE")
    return float(seconds)


def _time_python(reader: str, writer: str) -> float:
    parse = importlib.import_module("avro.schema").parse
    checker = importlib.import_module("avro.compatibility").ReaderWriterCompatibilityChecker
    pair = parse(reader), parse(writer)
    return _time(
        lambda: checker().get_compatibility(*pair),
        lambda answer: str(answer.compatibility).endswith("compatible") and "incompatible" not in str(answer),
        10,
    )


@contextmanager
def _folder() -> Iterator[Path]:
    if kept := os.environ.get("BENCH_KEEP"):
        yield Path(kept)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _require(what: str, correct: bool) -> None:
    if not correct:
        raise SystemExit(f"wrong result: {what}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TABLES)
