"""Every recording of PostgreSQL, MariaDB and MySQL through the mirror, on tables of paper, cell by cell.

What the mirror withheld is left out of the independent fold as well, each record with its reason; what is
there must then be the same. The few differences left are what the events say themselves that is not so.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from schemaman.adapters import files
from schemaman.adapters.schema_registry import NO_REGISTRY, load
from schemaman.evidence import Record
from schemaman.stores.sql import SqlStore
from tests.house import CAPTURES, PROOF
from tests.paper_mirror import PaperMirror
from tests.spark.compared import Comparison, compared

RECORDINGS = sorted(
    f"{kind}/{folder.name}" for kind in ("postgres", "mariadb") for folder in (CAPTURES / kind).iterdir()
)
BATCHES = (1, 3, 10) if PROOF else (3,)
FEW = (
    ("postgres/shop-json", "iceberg"),
    ("postgres/shop-crash", "iceberg"),
    ("postgres/shop-downtime", "delta"),
    ("postgres/shop-incremental", "delta"),
    ("mariadb/bookshop-mariadb-3.5.0-json", "iceberg"),
)
CASES = [(name, format) for name in RECORDINGS for format in ("delta", "iceberg")] if PROOF else FEW

KNOWN = tomllib.loads((Path(__file__).parent / "mirror-differences.toml").read_text("utf-8"))["known"]


def mirrored(name: str, format: str, count: int, folder: Path) -> tuple[Comparison, PaperMirror]:
    """A recording in so many batches, and every second batch given twice, as after a crash."""
    file = files.find(str(CAPTURES / name))
    records = [record for record in files.records(file) if isinstance(record, Record)]
    schemas = NO_REGISTRY if file.registry is None else load(file.registry)
    size = -(-len(records) // count)
    with SqlStore.open(f"sqlite:///{folder / f'{format}{count}.db'}", create=True) as store:
        mirror = PaperMirror(store, schemas, format)
        for number, start in enumerate(range(0, len(records), size)):
            for _ in range(1 + number % 2):
                mirror.take(records[start : start + size])
        return compared(CAPTURES / name, store, mirror.lake(), set(mirror.withheld())), mirror


def unknown(name: str, differences: list[str]) -> list[str]:
    """The differences that no line explains, and the lines that explain nothing any more."""
    known = [k["difference"] for k in KNOWN if name.rpartition("/")[2] in k["recordings"]]
    left = [d for d in differences if not any(d.startswith(begin) for begin in known)]
    return left + [k for k in known if not any(d.startswith(k) for d in differences)]


@pytest.mark.parametrize(("name", "format"), CASES)
def test_a_recording_ends_in_the_state_of_its_events(name: str, format: str, tmp_path: Path, figure) -> None:
    for count in BATCHES:
        found, mirror = mirrored(name, format, count, tmp_path)
        assert all(mirror.withheld().values())
        assert unknown(name, found.differences) == []
    figure(f"mirror: {name}, {format}", f"{found.tables} tables, {found.rows} rows, {found.cells} cells")
