"""`stream`: which records become rows, and what its checkpoint keeps between two runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from schemaman.api.row_stream import Checkpoint, RowStream, choose_quarantine
from schemaman.api.services import open_registry
from schemaman.api.settings_files import load_settings
from schemaman.api.sources import find_sources
from schemaman.api.workspace import Workspace
from schemaman.debezium.records import Record
from schemaman.errors import BadConfiguration, UsageError
from schemaman.io import files, kafka
from schemaman.settings import SettingsFile, read_settings
from schemaman.spark.streaming.batch_report import BatchReport
from tests.support.checkout import CAPTURES
from tests.support.command_line import Run

SHOP = CAPTURES / "postgres" / "shop-crash"
TOPIC = "kafka://broker:9092/shopdb.*"
TARGET = '[[target]]\nname = "lake"\nformat = "iceberg"\ntables = "*"\ntable = "ice.raw.{table}"\n'


class Written:
    """A lake that notes the batches it is given, and fails at one of them."""

    def __init__(self, fails_at: int = -1) -> None:
        self.batches: list[tuple[int, tuple[Record, ...]]] = []
        self.fails_at = fails_at

    def __call__(self, records: Sequence[Record], number: int) -> BatchReport:
        if len(self.batches) == self.fails_at:
            raise RuntimeError("the lake went away")
        self.batches.append((number, tuple(records)))
        return BatchReport(number, ())

    @property
    def records(self) -> list[Record]:
        return [record for _, batch in self.batches for record in batch]


def recorded() -> list[Record]:
    return [r for r in files.read_records(files.find_file(str(SHOP))) if isinstance(r, Record)]


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch, place: Path) -> list[Record]:
    """Topics that hold these records: partition after partition, each with its last known record again."""
    held = sorted(recorded(), key=lambda r: (r.topic, r.partition, r.offset))

    def read(_: Any, __: Any, known: Any, *more: Any) -> Iterator[Record]:
        ends = {partition: ranges[-1][1] for partition, ranges in known.items()}
        yield from (r for r in list(held) if r.offset >= ends.get((r.topic, r.partition), 0))

    for name in ("read_records", "read_batches"):
        monkeypatch.setattr(kafka, name, read)
    Path("schemaman.toml").write_text(TARGET)
    return held


def write_rows(lake: Written, source: str = TOPIC, size: int = 40) -> list[int]:
    """One run of the second half of `stream`; the sizes of its batches."""
    workspace = Workspace(load_settings({}))
    registry = open_registry(workspace, create=True)
    try:
        found = find_sources(workspace, (source,))
        checkpoint = Checkpoint.open(Path("checkpoints/main.json"), "main", registry.store.id)
        rows = RowStream(workspace, registry, found, checkpoint, size, write=lake)
        return [batch.records for batch in rows.write_rows()]
    finally:
        workspace.close()


def test_each_record_of_a_topic_is_written_once(run: Run, topics: list[Record]) -> None:
    later = topics[50:]
    del topics[50:]
    assert run("ingest", TOPIC, "-q").code == 0
    lake = Written()
    assert write_rows(lake) == [40, 10]
    assert write_rows(lake) == []
    topics += later
    assert write_rows(lake) == []
    assert run("ingest", TOPIC, "-q").code == 0
    assert sum(write_rows(lake)) == len(later)
    assert lake.records == topics
    assert [number for number, _ in lake.batches] == list(range(1, len(lake.batches) + 1))


def test_a_batch_that_was_not_written_comes_again(run: Run, topics: list[Record]) -> None:
    assert run("ingest", TOPIC, "-q").code == 0
    lake = Written(fails_at=1)
    with pytest.raises(RuntimeError):
        write_rows(lake)
    lake.fails_at = -1
    write_rows(lake)
    assert lake.records == topics
    assert [number for number, _ in lake.batches] == [1, 2, 3]


def test_a_file_is_written_as_a_whole_each_time(run: Run, place: Path) -> None:
    Path("schemaman.toml").write_text(TARGET)
    assert run("ingest", SHOP, "-q").code == 0
    lake = Written()
    assert write_rows(lake, str(SHOP), 1000) == [91]
    assert write_rows(lake, str(SHOP), 1000) == [91]


def test_a_checkpoint_belongs_to_a_store_and_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "main.json"
    first = Checkpoint.open(path, "main", "store-1")
    first.advance([Record("t", 3, 7, None, None, None)], keep=True)
    again = Checkpoint.open(path, "main", "store-1")
    assert (again.batch, again.written) == (1, {("t", 3): 7})
    for store, stream in (("store-2", "main"), ("store-1", "other")):
        with pytest.raises(UsageError, match="belongs to stream main of the store store-1"):
            Checkpoint.open(path, stream, store)
    for damaged in ("{", "[]", json.dumps({"store": "store-1", "stream": "main", "written": [["t"]]})):
        path.write_text(damaged)
        with pytest.raises(BadConfiguration, match="is not a checkpoint"):
            Checkpoint.open(path, "main", "store-1")


@pytest.mark.parametrize(
    ("target", "quarantine"),
    [
        ('format = "iceberg"\ntable = "ice.raw.{table}"', "`ice`.`schemaman`.`quarantine`"),
        ('format = "iceberg"\ntable = "ice.a.{schema}.{table}"', "`ice`.`a`.`schemaman`.`quarantine`"),
        ('format = "delta"\npath = "/lake/{table}"', "/here/warehouse/schemaman_quarantine"),
    ],
)
def test_the_quarantine_lies_in_the_lake_of_the_first_target(target: str, quarantine: str) -> None:
    text = f'[[target]]\nname = "x"\ntables = "*"\n{target}\n'
    settings = read_settings({}, {}, SettingsFile("/here/schemaman.toml", text))
    chosen = choose_quarantine(settings, settings.targets.value)
    assert chosen.removeprefix(str(Path.cwd())) == quarantine or chosen.endswith(
        "/warehouse/schemaman_quarantine"
    )


def test_without_a_target_there_is_nothing_to_write(run: Run) -> None:
    done = run("stream", SHOP, "--once")
    assert done.code == 2
    assert "no target to write" in done.err
    assert "schemaman init" in done.err


def test_files_cannot_be_followed(run: Run, place: Path) -> None:
    Path("schemaman.toml").write_text(TARGET)
    done = run("stream", SHOP)
    assert done.code == 2
    assert "only Kafka topics can be followed" in done.err


@pytest.mark.parametrize("ahead", [0, 10**15])
def test_a_checkpoint_ahead_of_the_history_leaves_no_record_out(
    run: Run, topics: list[Record], ahead: int
) -> None:
    later = topics[50:]
    del topics[50:]
    assert run("ingest", TOPIC, "-q").code == 0
    lake = Written()
    write_rows(lake)
    file = Path("checkpoints/main.json")
    document = json.loads(file.read_text())
    document["written"] = [[topic, partition, last + ahead] for topic, partition, last in document["written"]]
    file.write_text(json.dumps(document))
    topics += later
    assert run("ingest", TOPIC, "-q").code == 0
    write_rows(lake)
    assert [r for r in topics if r not in lake.records] == []
    assert len(lake.records) == len(topics) + (50 if ahead else 0)


@pytest.mark.parametrize(
    "text", ['{"store": "s", "stream": "main", "batch": Infinity, "written": []}', "[" * 10**5]
)
def test_a_file_that_is_no_checkpoint_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "main.json"
    path.write_text(text)
    with pytest.raises(BadConfiguration, match="is not a checkpoint"):
        Checkpoint.open(path, "main", "s")


def test_a_checkpoint_is_written_beside_links_and_other_processes(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("precious")
    path = tmp_path / "main.json"
    path.symlink_to(other)
    (tmp_path / ".main.json.part").symlink_to(other)
    Checkpoint.open(tmp_path / "new.json", "main", "s")
    Checkpoint(path, "main", "s").advance([], keep=True)
    assert other.read_text() == "precious"
    assert Checkpoint.open(path, "main", "s").batch == 1
