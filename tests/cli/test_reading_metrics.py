"""What a reading command counts, where Prometheus reads it, and where SIGTERM ends it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from schemaman.api.reading_metrics import MEDIA_TYPE, ReadingMetrics
from schemaman.errors import CouldNotDo
from schemaman.ingest.ingest import Summary
from schemaman.io.text_endpoint import serve_text
from schemaman.report.json import schemas
from schemaman_cli.ending import ChunkEnd, end_after_chunk
from tests.cli.test_rounds import write
from tests.support.command_line import Run


def test_the_counts_of_a_command_are_in_its_document(run: Run, place: Path) -> None:
    write(place, 3)
    size = (place / "r.jsonl").stat().st_size
    done = run("ingest", "r.jsonl", "--metrics", "0", "--format", "json")
    Draft202012Validator(schemas.read_schema("ingest")).validate(done.json)
    counts = {name: value for name, value in done.json["metrics"].items() if name != "seconds"}
    assert counts == {
        "records": 3, "new_records": 3, "bytes": size, "runs": 1, "rejects": 0, "versions": 1, "lag": None,
    }  # fmt: skip
    assert "metrics" not in run("ingest", "r.jsonl", "--format", "json").json
    assert run("ingest", "r.jsonl", "--metrics", "host:x").code == 2


def test_counts_are_served_as_prometheus_reads_them() -> None:
    metrics = ReadingMetrics(lag={('a"b', 0): 7})
    metrics.end_source(Summary(read=5, known=2, observations=1))
    metrics.end_chunk(Summary(read=10))
    with serve_text("127.0.0.1", 0, MEDIA_TYPE, metrics.format) as port:
        client = HTTPConnection("127.0.0.1", port, timeout=10)
        client.request("GET", "/metrics")
        answer = client.getresponse()
        lines = answer.read().decode().splitlines()
        assert (answer.status, answer.headers["Content-Type"]) == (200, MEDIA_TYPE)
        with pytest.raises(CouldNotDo, match="cannot be served"), serve_text("127.0.0.1", port, "", str):
            pass
        client.close()
    assert "schemaman_ingest_records_total 15" in lines
    assert "schemaman_ingest_new_records_total 13" in lines
    assert "# TYPE schemaman_ingest_versions gauge" in lines
    assert 'schemaman_ingest_lag{topic="a\\"b",partition="0"} 7' in lines


def _terminate(*_: object) -> None:
    raise InterruptedError


@pytest.fixture
def own_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, _terminate)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("own_handler")
def test_a_chunk_with_records_is_read_to_its_end() -> None:
    with pytest.raises(InterruptedError), end_after_chunk() as end:
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is _terminate
    with end_after_chunk() as end:
        end.count_record()
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(InterruptedError):
            end.pass_chunk()


def test_a_second_signal_does_not_wait() -> None:
    end = ChunkEnd(_terminate)
    end.count_record()
    end.handle(signal.SIGTERM, None)
    with pytest.raises(InterruptedError):
        end.handle(signal.SIGTERM, None)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
