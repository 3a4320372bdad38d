"""Damaged records: they raise nothing but the reject, never hang, and change no version of the sound ones.

`tests.support.read_damaged` does and reads the damage in a process whose memory and time are bound.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.support.checkout import PROOF, ROOT

RUNS = {
    "postgres": ("shop-json", "shop-avro", "shop-upgrade", "shop-incremental", "shop-names-none",
                 "shop-flat-routed", "shop-flat-plain", "shop-modes"),
    "db2": ("shop-3.4.1-json", "shop-2.5.4-avro", "shop-1.9.8-json", "documented-plain",
            "shop-3.4.1-transactions", "shop-3.4.1-plain"),
    "mariadb": ("bookshop-mariadb-3.5.0-json", "bookshop-mysql-1.4.2-json", "bookshop-mysql-2.5.4-avro",
                "bookshop-mariadb-3.5.0-plain"),
    "mongodb": ("inventory-2.5.4-pre-image", "inventory-2.5.4-pre-image-plain", "inventory-1.4.2-oplog",
                "inventory-2.5.4-change-streams-avro"),
}  # fmt: skip
RECORDS = 50_000 if PROOF else 1_500
"""Damaged records of each source."""


@pytest.mark.parametrize("source", RUNS)
def test_damaged_records(source: str, figure: Callable[[str, object], None]) -> None:
    runs = [f"{source}/{run}" for run in RUNS[source]]
    command = [sys.executable, "-m", "tests.support.read_damaged", "5", str(RECORDS), *runs]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3600, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    told = json.loads(done.stdout)
    assert told["records"] == RECORDS
    assert min(told["outcomes"][word] for word in ("reject", "skipped")) > 0
    said = ", ".join(f"{count} {word}" for word, count in sorted(told["outcomes"].items()))
    figure(
        f"damaged records, {source}",
        f"{RECORDS}: {said}; slowest {told['slowest_ms']} ms, memory at most {told['peak_mib']} MiB, "
        f"{told['histories']} times a history was the same",
    )
