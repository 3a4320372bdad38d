"""Measures the scanner on records in memory: `python -m bench.scan`, ratios of CPU time within one run.

The variants are: a checksum of the bytes, comparing bytes, parsing each whole record, and json.loads +
json.dumps of the schema. Each time counts only if all variants give the correct result.
"""

from __future__ import annotations

import json
import os
import statistics
import time
import zlib
from collections.abc import Callable, Sequence

from bench.made_events import events, wide
from schemaman.debezium.records import Record
from schemaman.ingest.chunks import build_reading
from schemaman.ingest.scan import scan

RECORDS = int(os.environ.get("BENCH_RECORDS", "20000"))
REPETITIONS = int(os.environ.get("BENCH_REPETITIONS", "3"))


def main() -> None:
    """Print size, microseconds a record and the ratios, for real events and for wide ones."""
    for name, records in (("recorded", events(RECORDS)), ("100 columns", wide(RECORDS))):
        mean = sum(len(r.value or b"") for r in records) / len(records)
        found = _measure(records)
        print(f"{name}: {len(records)} events, {mean / 1000:.1f} kB each")
        for variant, seconds in found.items():
            micros, ratio = seconds / len(records) * 1e6, found["json.loads + dumps"] / seconds
            print(f"  {variant:20} {micros:8.2f} µs  {ratio:7.1f} x json.loads + dumps")


def _measure(records: Sequence[Record]) -> dict[str, float]:
    """Measure the median CPU seconds of each variant, in turn; the first repetition is dropped."""
    reading = build_reading(lambda id: None)
    variants: dict[str, Callable[[], int]] = {
        "checksum": lambda: sum(zlib.crc32(r.value or b"") & 0 for r in records) or len(records),
        "comparing bytes": lambda: len(scan(records, reading)),
        "parsing records": lambda: len(scan(records, reading, quick=False)),
        "json.loads + dumps": lambda: len(
            {json.dumps(json.loads(r.value or b"")["schema"]) for r in records}
        ),
    }
    if scan(records, reading) != scan(records, reading, quick=False):
        raise SystemExit("comparing and parsing give different results")
    answers = {name: run() for name, run in variants.items() if name != "checksum"}
    if len(set(answers.values())) != 1:
        raise SystemExit(f"the variants give different results: {answers}")
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
