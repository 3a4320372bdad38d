"""A command that goes on reading says in each round what happened, when, and how far it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schemaman.api import sources
from schemaman.io import files, kafka
from schemaman.report.json import schemas
from schemaman.store.offsets import Partition
from schemaman_cli import following
from tests.support.command_line import Done, Run
from tests.support.records import node, row_event

Follow = Callable[..., Done]
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"


def write(place: Path, count: int) -> None:
    """Write the first records of a topic."""
    lines = []
    for offset in range(count):
        made = row_event({"id": node("int32")}, "c", {"id": offset}, offset=offset)
        payload = None if made.value is None else made.value.decode()
        lines.append(
            json.dumps({"topic": "srv.t", "partition": 0, "offset": offset, "key": None, "payload": payload})
        )
    (place / "r.jsonl").write_text("\n".join(lines))


@pytest.fixture
def follow(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> Follow:
    """`ingest --follow` on a topic that a file stands for, with so many records in each round."""

    def followed(*counts: int, words: tuple[str, ...] = ()) -> Done:
        left = list(counts)
        known = [0]

        def advance(_: float = 0) -> None:
            if not left:
                raise KeyboardInterrupt
            write(place, left.pop(0))

        def read(_: object, __: object, ___: object, ____: object, unread: dict[Partition, int]) -> Any:
            records = list(files.read_records(files.find_file("r.jsonl")))
            unread["srv.t", 0] = len(records) - known[0]
            known[0] = len(records)
            return iter(records)

        advance()
        monkeypatch.setattr(kafka, "read_batches", read)
        monkeypatch.setattr(sources, "time", SimpleNamespace(sleep=advance))
        return run("ingest", "kafka://broker:9092/srv.t", "--follow", *words)

    return followed


def test_each_round_is_a_line_with_time_lag_and_offsets(follow: Follow) -> None:
    done = follow(3, 3, 3, 5, 5)
    lines = [line for line in done.out.splitlines() if " UTC · " in line]
    assert done.code == 130
    assert [re.sub(TIME, "T", line) for line in lines] == [
        "T · 3 new records · lag 3 · read up to srv.t[0]@2",
        "T · nothing new · lag 0",
        "T · 2 new records · lag 2 · read up to srv.t[0]@4",
        "T · nothing new · lag 0",
    ]


def test_silence_is_broken_once_a_minute(follow: Follow, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def passed() -> float:
        now[0] += 25.0
        return now[0]

    monkeypatch.setattr(following, "time", SimpleNamespace(monotonic=passed))
    done = follow(*[1] * 8)
    assert done.out.count("nothing new") == 3


def test_json_is_one_line_a_round(follow: Follow) -> None:
    done = follow(2, 2, 4, words=("--format", "json"))
    rounds = [json.loads(line) for line in done.out.splitlines()]
    for each in rounds:
        Draft202012Validator(schemas.read_schema("ingest")).validate(each)
    assert [(r["records"]["new"], r["lag"], r["offsets"]) for r in rounds] == [
        (2, 2, [{"topic": "srv.t", "partition": 0, "offset": 1}]),
        (0, 0, []),
        (2, 2, [{"topic": "srv.t", "partition": 0, "offset": 3}]),
    ]
    assert json.loads(done.err.splitlines()[-1])["error"]["exit_code"] == 130
