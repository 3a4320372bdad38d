"""Every kind of record of a connector: what says nothing of a table is set aside, and nothing is rejected."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from schemaman_cli.main import main
from tests.live.connect import Worker
from tests.live.forms import json_with_schemas
from tests.live.recorded_history import Told
from tests.live.streaming import Streaming, streaming

NAME = "live_kinds"
SETTINGS = {
    "provide.transaction.metadata": "true",
    "heartbeat.interval.ms": "100",
    "signal.data.collection": "shop.signals",
}
TABLES = (
    "CREATE TABLE shop.signals (id text PRIMARY KEY, type text, data text)",
    "CREATE TABLE shop.books (isbn text PRIMARY KEY, title text, content text)",
    "ALTER TABLE shop.books ALTER content SET STORAGE EXTERNAL",
    "CREATE TABLE shop.loans (id int PRIMARY KEY, isbn text)",
    "INSERT INTO shop.books VALUES ('1', 'One', repeat('x', 9000))",
)
STEPS = (
    "INSERT INTO shop.books VALUES ('2', 'Two', 'y'); INSERT INTO shop.loans VALUES (1, '2')",
    "UPDATE shop.books SET title = 'Uno' WHERE isbn = '1'",
    "UPDATE shop.loans SET id = 7 WHERE id = 1",
    "ALTER TABLE shop.loans ADD COLUMN due date; INSERT INTO shop.loans VALUES (8, '2', NULL)",
    "SELECT pg_logical_emit_message(true, 'audit', 'hello')",
    "DELETE FROM shop.loans WHERE id = 7",
    "TRUNCATE shop.loans",
    "INSERT INTO shop.loans VALUES (9, '1', NULL)",
)
SILENT = "ALTER TABLE shop.books ADD COLUMN pages int"
SIGNAL = (
    """INSERT INTO shop.signals VALUES ('s', 'execute-snapshot', '{"data-collections": ["shop.books"]}')"""
)


@dataclass(frozen=True, slots=True)
class Stages:
    """What was told after the steps, after the snapshot that a signal asked for, and after one more row."""

    stream: Streaming
    steps: Told
    snapshot: Told
    row: Told


@pytest.fixture(scope="module")
def told(
    database: str, worker: Worker, broker: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stages]:
    folder = tmp_path_factory.mktemp("kinds")
    with streaming(NAME, database, worker, broker, replace(json_with_schemas(), settings=SETTINGS)) as stream:
        stream.tell(*TABLES)
        stream.start(1)
        stream.row(*STEPS)
        steps = Told.now(stream, folder)
        stream.tell(SILENT)
        stream.row(SIGNAL)
        stream.until("the incremental snapshot", lambda: len(incremental(stream)) == 2)
        snapshot = Told.now(stream, folder)
        stream.row("INSERT INTO shop.books VALUES ('3', 'Three', 'z', 3)")
        yield Stages(stream, steps, snapshot, Told.now(stream, folder))


def incremental(stream: Streaming) -> list[int]:
    """Offsets of the rows that were read while others streamed."""
    facts = stream.topics.facts().values()
    return [f.place[2] for f in facts if f.source["snapshot"] == "incremental"]


@pytest.mark.case(26, 28, 46)
def test_no_kind_of_record_makes_a_false_structure(told: Stages) -> None:
    """A delete has NULLs where there were values, a long value is left out, a table is emptied."""
    assert told.steps.differences() == []
    assert {t: [v.schema.names for v in h.versions] for t, h in told.steps.histories.items()} == {
        "books": [("isbn", "title", "content")],
        "loans": [("id", "isbn"), ("id", "isbn", "due")],
    }
    values = b"".join(record.value or b"" for record in told.stream.topics.records)
    assert b'"content":"__debezium_unavailable_value"' in values


@pytest.mark.case(27)
def test_a_truncate_is_an_event_of_the_live_table(told: Stages) -> None:
    (event,) = told.steps.histories["loans"].events
    assert (event.kind, event.at.topic, event.at.offset) == ("truncated", f"{NAME}.shop.loans", 7)


def test_what_is_no_testimony_is_set_aside(
    told: Stages, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heartbeats = f"__debezium-heartbeat.{NAME}"
    source = f"{told.stream.topics.source},{heartbeats}"
    store = f"sqlite:///{tmp_path / 'store.db'}"
    assert main(["ingest", source, "--store", store, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["records"]["rejected"] == 0
    assert found["asides"].keys() == {"heartbeat", "message", "tombstone", "transaction"}
    assert (found["asides"]["message"], found["asides"]["tombstone"]) == (1, 2)


@pytest.mark.case(41)
def test_a_snapshot_shows_a_column_that_no_row_has_shown(told: Stages) -> None:
    """It began after the last row that was streamed, and the row of later is of the same version."""
    first, second = told.snapshot.histories["books"].versions
    assert second.schema.names == (*first.schema.names, "pages")
    assert (second.after and second.after.offset, second.at.offset) == (2, 3)
    assert incremental(told.stream) == [3, 4]
    later = told.row.histories["books"].versions
    assert [(v.records, v.status) for v in later] == [(3, "confirmed"), (3, "confirmed")]
    assert [v.id for v in later] == [first.id, second.id]
