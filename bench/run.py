"""Measures schemaman in ratios of CPU time within one run; each time counts only with a correct result.

Every variant runs in its own process, in turn in each repetition; the first repetition is dropped.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench import made_events

RECORDS = int(os.environ.get("BENCH_RECORDS", "100000"))
REPETITIONS = int(os.environ.get("BENCH_REPETITIONS", "4"))
_SCAN = """
import sys
from schemaman.io import files
from schemaman.ingest.chunks import KnownOffsets, build_reading, read_chunks
from schemaman.ingest.scan import merge
records = files.read_records(files.find_file(sys.argv[1]))
takes = [t for _, t in read_chunks(records, KnownOffsets({}, {}), build_reading(lambda id: None))]
print(sum(t.read for t in takes), len(merge(r for t in takes for s in t.stretches for r in s.runs)))
"""
_FLOOR = "import sys\nprint(sum(1 for _ in open(sys.argv[1], 'rb')))"
_NAIVE = """
import json, sys
count, shapes = 0, set()
for line in open(sys.argv[1], 'rb'):
    payload = json.loads(json.loads(line)['payload'])
    shapes.add(json.dumps(payload['schema'], sort_keys=True))
    count += 1
print(count, len(shapes))
"""


def main() -> None:
    """Print the ratios, then one line of JSON for `bench.compare`."""
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "records.jsonl"
        shapes = made_events.write(records, RECORDS)
        script = str(Path(sys.executable).with_name("schemaman"))
        variants = {
            "empty interpreter": [sys.executable, "-c", "pass"],
            "import schemaman": [sys.executable, "-c", "import schemaman"],
            "--help": [sys.executable, script, "--help"],
            "read lines": [sys.executable, "-c", _FLOOR, str(records)],
            "scan": [sys.executable, "-c", _SCAN, str(records)],
            "json.loads of all": [sys.executable, "-c", _NAIVE, str(records)],
        }
        answers = {
            "read lines": f"{RECORDS}",
            "scan": f"{RECORDS} {shapes}",
            "json.loads of all": f"{RECORDS} {shapes}",
        }
        seconds: dict[str, list[float]] = {name: [] for name in variants}
        for repetition in range(REPETITIONS + 1):
            for name, command in variants.items():
                spent = _cpu(command, expect=answers.get(name))
                if repetition:
                    seconds[name].append(spent)
    found = _ratios({name: statistics.median(times) for name, times in seconds.items()})
    for name, value in found.items():
        print(f"{value:8.2f}  {name}")
    print(json.dumps({"records": RECORDS, "python": platform.python_version(), "ratios": found}))


def _ratios(cpu: Mapping[str, float]) -> dict[str, float]:
    start = cpu["empty interpreter"]
    return {
        "--help / empty interpreter (at most 5)": cpu["--help"] / start,
        "import schemaman / empty interpreter": cpu["import schemaman"] / start,
        "read lines / scan": (cpu["read lines"] - start) / (cpu["scan"] - start),
        "json.loads of all / scan": (cpu["json.loads of all"] - start) / (cpu["scan"] - start),
    }


def _cpu(command: list[str], expect: str | None) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if expect is not None and ran.stdout.strip() != expect:
        raise SystemExit(f"wrong result: {ran.stdout!r} instead of {expect}")
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
