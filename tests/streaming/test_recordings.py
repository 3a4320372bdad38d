"""Every recording of PostgreSQL, MariaDB and MySQL through the mirror, on tables in memory, cell by cell.

What the mirror withheld is left out of the independent fold as well, each record with its reason; what is
there must then be the same. The few differences left are what the events say themselves that is not so.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from schemaman.debezium.records import Record
from schemaman.history.decisions import Decisions, NotRename, Rename, format_coordinates
from schemaman.store.sql.store import SqlStore
from tests.lake_state.lake_comparison import Comparison, compared
from tests.support.checkout import CAPTURES, PROOF
from tests.support.memory_sink import MemorySink
from tests.support.recordings import recorded, registry

RECORDINGS = sorted(
    f"{kind}/{folder.name}" for kind in ("postgres", "mariadb") for folder in (CAPTURES / kind).iterdir()
)
BATCHES = (1, 3, 10) if PROOF else (1, 3)
FEW = (
    ("postgres/shop-json", "iceberg"),
    ("postgres/shop-crash", "iceberg"),
    ("postgres/shop-downtime", "delta"),
    ("postgres/shop-incremental", "delta"),
    ("mariadb/bookshop-mariadb-3.5.0-json", "iceberg"),
)
CASES = [(name, format) for name in RECORDINGS for format in ("delta", "iceberg")] if PROOF else FEW

KNOWN = tomllib.loads((Path(__file__).parent / "differences.toml").read_text("utf-8"))["known"]


def opened(name: str, format: str, folder: Path) -> tuple[MemorySink, list[Record]]:
    """A mirror that has seen nothing yet, and the records of a recording."""
    number = len(list(folder.iterdir()))
    store = SqlStore.open(f"sqlite:///{folder / f'{number}.db'}", create=True).__enter__()
    return MemorySink(store, registry(name), format), list(recorded(name))


def batches(records: list[Record], count: int) -> list[list[Record]]:
    size = -(-len(records) // count)
    return [records[start : start + size] for start in range(0, len(records), size)]


def found_of(name: str, mirror: MemorySink) -> Comparison:
    return compared(CAPTURES / name, mirror.store, mirror.lake(), set(mirror.withheld()))


def unknown(name: str, differences: list[str]) -> list[str]:
    """The differences that no line explains."""
    return [d for d in differences if not any(d.startswith(begin) for begin in known(name))]


def known(name: str) -> list[str]:
    """How the differences of a recording begin that a line explains."""
    return [k["difference"] for k in KNOWN if name.rpartition("/")[2] in k["recordings"]]


@pytest.mark.parametrize(("name", "format"), CASES)
def test_a_recording_ends_in_the_state_of_its_events(name: str, format: str, tmp_path: Path, figure) -> None:
    told: list[str] = []
    for count in BATCHES:
        mirror, records = opened(name, format, tmp_path)
        with mirror.store:
            for number, batch in enumerate(batches(records, count)):
                for _ in range(1 + number % 2):  # every second one again, as after a crash
                    mirror.take(batch)
            found = found_of(name, mirror)
        assert all(mirror.withheld().values())
        assert unknown(name, found.differences) == []
        told += found.differences
    assert [k for k in known(name) if not any(d.startswith(k) for d in told)] == [], "it explains nothing"
    figure(
        f"rows of {name} in {format} tables in memory",
        f"{found.tables} tables, {found.rows} rows, {found.cells} cells",
    )


def test_records_of_partitions_that_are_read_one_after_the_other_end_alike(tmp_path: Path) -> None:
    name = "postgres/shop-avro"
    mirror, records = opened(name, "delta", tmp_path)
    with mirror.store:
        mirror.approve = lambda plan: all(ruled.kind != "reuse-name" for ruled in plan.rulings)
        records.sort(key=lambda record: (-record.partition, record.topic, record.offset))
        for batch in batches(records, 4):
            mirror.take(batch)
        assert unknown(name, found_of(name, mirror).differences) == []


def test_a_question_that_is_answered_lets_the_rows_in_and_old_values_move_along(tmp_path: Path) -> None:
    name = "postgres/shop-crash"
    mirror, records = opened(name, "delta", tmp_path)
    with mirror.store:
        mirror.approve = lambda plan: all(ruled.kind != "rename-proven" for ruled in plan.rulings)
        for batch in batches(records, 3):
            mirror.take(batch)
        waiting = [reason for reason in mirror.withheld().values() if "rename" in reason]
        assert len(waiting) > 20
        proven: list[Rename] = []
        others: list[NotRename] = []
        for history in filter(None, map(mirror.store.history, mirror.store.tables())):
            for version in history.versions:
                for c in version.candidates:
                    answer = (str(history.table), c.old, c.new, version.id, format_coordinates(version.at))
                    if c.grade == "proven":
                        proven.append(Rename(*answer))
                    else:
                        others.append(NotRename(*answer))
        mirror.decisions = Decisions(tuple(proven), tuple(others))
        mirror.take([])
        assert not [reason for reason in mirror.withheld().values() if "rename" in reason]
        assert found_of(name, mirror).differences == []
        (returns,) = (t for t in mirror.lake() if t.source.table == "returns")
        assert "order_no" not in returns.live.schema.names
        assert all(row["order_ref"] for row in returns.rows if not row["_row_deleted"])
