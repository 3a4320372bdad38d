"""What the scanner costs on records in memory: `python -m bench.scan`, ratios of CPU time within one run.

Read floor (a checksum of the bytes), comparing, parsing each record whole, and json.loads + json.dumps of the
schema. The answers are checked against each other and the truth before a time counts.
"""

from __future__ import annotations

import json
import os
import statistics
import time
import zlib
from collections.abc import Callable, Sequence

from bench.gen import events, wide
from schemaman.debezium.records import Record
from schemaman.ingest.chunks import build_reading
from schemaman.ingest.scan import scan

RECORDS = int(os.environ.get("BENCH_RECORDS", "20000"))
REPETITIONS = int(os.environ.get("BENCH_REPETITIONS", "3"))


def main() -> None:
    """Print size, microseconds a record and the ratios, for real events and for wide ones."""
    for name, records in (("recorded", events(RECORDS)), ("100 columns", wide(RECORDS))):
        mean = sum(len(r.value or b"") for r in records) / len(records)
        found = _measured(records)
        print(f"{name}: {len(records)} events, {mean / 1000:.1f} kB each")
        for variant, seconds in found.items():
            micros, ratio = seconds / len(records) * 1e6, found["json.loads + dumps"] / seconds
            print(f"  {variant:20} {micros:8.2f} µs  {ratio:7.1f} x json.loads + dumps")


def _measured(records: Sequence[Record]) -> dict[str, float]:
    """Median CPU seconds of each variant, taken in turn; the first repetition is dropped."""
    reading = build_reading(lambda id: None)
    variants: dict[str, Callable[[], int]] = {
        "read floor": lambda: sum(zlib.crc32(r.value or b"") & 0 for r in records) or len(records),
        "comparing": lambda: len(scan(records, reading)),
        "parsing whole": lambda: len(scan(records, reading, quick=False)),
        "json.loads + dumps": lambda: len(
            {json.dumps(json.loads(r.value or b"")["schema"]) for r in records}
        ),
    }
    if scan(records, reading) != scan(records, reading, quick=False):
        raise SystemExit("comparing and parsing give other answers")
    answers = {name: run() for name, run in variants.items() if name != "read floor"}
    if len(set(answers.values())) != 1:
        raise SystemExit(f"the variants give other answers: {answers}")
    spent: dict[str, list[float]] = {name: [] for name in variants}
    for repetition in range(REPETITIONS + 1):
        for name, run in variants.items():
            start = time.process_time()
            run()
            if repetition:
                spent[name].append(time.process_time() - start)
    return {name: statistics.median(times) for name, times in spent.items()}


if __name__ == "__main__":
    main()
