"""`ingest --follow` at a real broker: what comes later is read, an outage is waited for, the end is clean."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman_cli.main import main
from tests.live.broker import settled_in
from tests.live.process import free_port
from tests.live.secured import Secured
from tests.live.test_kafka import create, send
from tests.support.certificates import self_signed
from tests.support.recordings import recorded

PATIENCE = 60.0


@dataclass
class Follower:
    """A command that goes on and on, and what it has said."""

    process: subprocess.Popen[str]
    said: Path
    warned: Path

    def reports(self) -> list[Any]:
        """The reports that are whole by now: one JSON document after the other."""
        text, found, decoder = self.said.read_text(), [], json.JSONDecoder()
        while text := text.lstrip():
            try:
                document, end = decoder.raw_decode(text)
            except ValueError:
                break
            found.append(document)
            text = text[end:]
        return found

    def awaits(self, true: Callable[[], bool]) -> None:
        """Wait until it is so. Fails if the command ends before, or nothing comes of it."""
        end = time.monotonic() + PATIENCE
        while not true():
            assert self.process.poll() is None, self.warned.read_text()
            assert time.monotonic() < end, self.warned.read_text()
            time.sleep(0.1)

    def new(self) -> int:
        """How many records entered, as all reports together say."""
        return sum(report["records"]["new"] for report in self.reports())

    def awaits_new(self, count: int) -> None:
        """Wait until so many records have entered."""
        self.awaits(lambda: self.new() == count)


@contextmanager
def following(folder: Path, *words: str) -> Iterator[Follower]:
    said, warned = folder / "said", folder / "warned"
    command = [sys.executable, "-m", "schemaman_cli.main", "ingest", *words, "--follow", "--interval", "0.2"]
    with said.open("w") as out, warned.open("w") as err:
        process = subprocess.Popen(
            [*command, "--format", "json"], stdout=out, stderr=err, cwd=folder, env=os.environ, text=True
        )
        try:
            yield Follower(process, said, warned)
        finally:
            process.kill()
            process.wait(PATIENCE)


def orders(topic: str) -> list[Record]:
    told = [r for r in recorded("postgres/shop-json") if r.topic.endswith(".orders")]
    return [replace(r, topic=topic, partition=0, offset=n) for n, r in enumerate(told)]


@pytest.mark.parametrize(("by", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_comes_later_is_read_until_the_command_is_ended(
    broker: str, tmp_path: Path, by: signal.Signals, code: int
) -> None:
    topic = f"followed.{code}"
    create(broker, topic)
    records = orders(topic)
    with following(tmp_path, f"kafka://{broker}/{topic}") as follower:
        follower.awaits(lambda: len(follower.reports()) >= 1)
        for end in (5, 6, len(records)):
            send(broker, records[follower.new() : end])
            follower.awaits_new(end)
        follower.awaits(lambda: follower.reports()[-1]["lag"] == 0)
        ends = [r["offsets"][0]["offset"] for r in follower.reports() if r["offsets"]]
        assert (ends == sorted(ends), ends[-1]) == (True, len(records) - 1)
        assert [r["lag"] for r in follower.reports()] == [r["records"]["new"] for r in follower.reports()]
        follower.process.send_signal(by)
        assert follower.process.wait(PATIENCE) == code
    with pytest.MonkeyPatch.context() as here:
        here.chdir(tmp_path)
        assert main(["store", "check"]) == 0
        assert main(["ingest", f"kafka://{broker}/{topic}"]) == 0


def test_a_broker_that_goes_and_comes_again(tmp_path: Path) -> None:
    broker = settled_in(tmp_path, Secured(f"127.0.0.1:{free_port()}", self_signed(tmp_path)))
    records = orders("gone")
    with broker.up() as server:
        create(broker.address, "gone")
        send(broker.address, records[:5])
        with following(tmp_path, f"kafka://{broker.address}/gone") as follower:
            follower.awaits_new(5)
            server.stop(signal.SIGKILL)
            follower.awaits(lambda: "next attempt in" in follower.warned.read_text())
            with broker.up():
                send(broker.address, records[5:])
                follower.awaits_new(len(records))
                assert sum(r["records"]["rejected"] for r in follower.reports()) == 0


def test_reading_begins_where_a_time_says(
    broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    create(broker, "since")
    records = [replace(r, timestamp_ms=1_767_225_600_000 + n * 60_000) for n, r in enumerate(orders("since"))]
    send(broker, records)
    source = f"kafka://{broker}/since"
    words = ["ingest", source, "--format", "json", "--from"]
    assert main([*words, "2026-01-01T00:02:30Z"]) == 0
    assert json.loads(capsys.readouterr().out)["records"]["new"] == len(records) - 3
    assert main([*words, "2036-01-01T00:00Z"]) == 0
    assert json.loads(capsys.readouterr().out)["records"]["new"] == 0
    assert main(["ingest", source, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["records"]["new"] == 3


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["records.jsonl", "--follow"], "only Kafka topics can be followed"),
        (["records.jsonl", "--from", "2026-01-01T00:00Z"], "--from works only with Kafka topics"),
        (["kafka://127.0.0.1:9/t", "--from", "2026-01-01T00:00"], "has no time zone"),
        (["kafka://127.0.0.1:9/t", "--from", "yesterday"], "is not a time"),
    ],
)
def test_what_cannot_be_followed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("records.jsonl").touch()
    assert main(["ingest", *words]) == 2
    assert told in capsys.readouterr().err
