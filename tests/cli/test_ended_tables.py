"""The answer that late rows of a table which is gone are left out."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cases.connector import INT, Connector, entry
from tests.support.command_line import Run
from tests.support.records import column, image

IMAGE = image(column("id", optional=False), key=("id",))


def write_records(place: Path) -> None:
    """A table of MySQL that is dropped and made anew, with a row each time."""
    connector = Connector("mysql")
    for op in ("CREATE", "DROP", "CREATE"):
        told = {**entry(op, '"shop"."t"', IMAGE), **({"table": None} if op == "DROP" else {})}
        connector.change(told, ddl=f"{op} TABLE t")
        if op == "CREATE":
            connector.row({"id": INT})
    lines = [
        {
            "topic": r.topic,
            "partition": 0,
            "offset": r.offset,
            "key": r.key and r.key.decode(),
            "payload": (r.value or b"").decode(),
        }
        for r in connector.records
    ]
    (place / "dropped.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")


def test_late_rows_of_a_table_that_is_gone_are_left_out_by_an_answer(run: Run, place: Path) -> None:
    write_records(place)
    assert run("ingest", "dropped.jsonl").code == 0
    refused = run("decide", "confirm", "t@2", "ended")
    assert (refused.code, "no record says" in refused.err) == (2, True)
    assert run("decide", "confirm", "t", "ended").code == 0
    text = (place / "schemaman.decisions.toml").read_text(encoding="utf-8")
    assert 'fact = "ended"' in text
    assert "already contains" in run("decide", "confirm", "t@1", "ended").err
    assert run("history", "t").code == 0
