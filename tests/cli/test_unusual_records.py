"""`ingest` of records in unusual shapes: what is read, what is said of it, and the exit code."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Run
from tests.support.records import event, node, struct

ROW = struct("srv.public.berth.Value", nr=node("int32"), name=node("string", optional=True))
TOPIC = "srv.public.berth"


def berth(**after: object) -> dict[str, Any]:
    made = event(ROW, table="berth", lsn=7)
    made["payload"]["after"] = {"nr": 1, "name": "north", **after}
    return made


def line(offset: int, key: object, value: object, topic: str = TOPIC) -> str:
    """A line of kcat -J; a key that is a text stays as it is."""
    text = key if key is None or isinstance(key, str) else json.dumps(key)
    row = {
        "topic": topic,
        "partition": 0,
        "offset": offset,
        "ts": 1,
        "key": text,
        "payload": json.dumps(value),
    }
    return json.dumps(row) + "\n"


def notes(run: Run) -> list[str]:
    return [note["kind"] for note in run("rejects", "--format", "json").json["notes"]]


@pytest.mark.parametrize(("keys", "key", "kinds"), [
    (["Struct{nr=0}", "Struct{nr=1}"], ["nr"], []),
    (["0", "1"], [], ["key-unreadable"]),
    (["berth-0", "berth-1"], [], ["key-unreadable"]),
    (["6f9f2a40-0000-4000-8000-000000000000", "6f9f2a40-0000-4000-8000-000000000001"], [],
     ["key-unreadable"]),
    ([{"nr": 0}, {"nr": 1}], ["nr"], []),
])  # fmt: skip
def test_a_table_is_understood_whatever_its_keys_are(
    run: Run, place: Path, keys: list[object], key: list[str], kinds: list[str]
) -> None:
    (place / "r.jsonl").write_text("".join(line(n, k, berth(nr=n)) for n, k in enumerate(keys)))
    done = run("ingest", "r.jsonl")
    assert (done.code, done.err) == (0, "")
    shown = run("show", "berth", "--format", "json").json
    columns = [(c["name"], c["nullable"]) for c in shown["columns"]]
    assert (columns, shown["key"]) == ([("nr", False), ("name", True)], key)
    assert notes(run) == kinds
    assert run("check", "berth", "--against", "berth@1").code == 0


def test_a_topic_is_said_to_hold_flattened_rows(run: Run, place: Path) -> None:
    (place / "r.jsonl").write_text(
        "".join(line(n, None, {"nr": n, "name": "x"}, "port.berth") for n in range(2))
    )
    refused = run("ingest", "r.jsonl", "--store", "sqlite:///other.db")
    assert refused.code == 3
    assert "--flattened" in refused.out + refused.err
    assert run("ingest", "r.jsonl", "--flattened", "port.*").code == 0
    assert "port.berth" in run("tables").out


@pytest.mark.parametrize("cut", ["line", "gzip"])
def test_a_cut_file_is_read_up_to_its_end_and_the_exit_code_says_so(run: Run, place: Path, cut: str) -> None:
    data = "".join(line(n, {"nr": n}, berth(nr=n)) for n in range(40)).encode()
    path = place / ("r.jsonl" if cut == "line" else "r.jsonl.gz")
    path.write_bytes(data[:-30] if cut == "line" else gzip.compress(data)[:-9])
    done = run("ingest", path.name)
    assert done.code == 3
    assert "ends too early" in done.err
    (table,) = run("tables", "--format", "json").json["tables"]
    assert table["records"] >= 39 if cut == "line" else table["records"] > 0
    path.write_bytes(data if cut == "line" else gzip.compress(data))
    assert run("ingest", path.name).code == 0
    (table,) = run("tables", "--format", "json").json["tables"]
    assert table["records"] == 40
