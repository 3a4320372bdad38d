"""What is to know of records besides structures: `ingest`, `history` and `rejects` say it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from schemaman_cli.main import main
from tests.support.records import change, column, image

CREATE = ("CREATE TABLE t (id INT)", ["id"])


class Shell:
    """Commands in a folder, and what they said."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *words: str) -> str:
        assert main(list(words)) == 0
        return self.capsys.readouterr().out

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--format", "json"))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


def declared(*told: tuple[int, str, Sequence[str]]) -> None:
    """A file of schema changes: partition, statement, and the columns that are told with it."""
    lines = []
    for offset, (partition, ddl, names) in enumerate(told):
        columns = [column(name, "INT", place) for place, name in enumerate(names, 1)]
        entry = {"type": ddl.split()[0], "id": '"shop"."t"', "table": image(*columns)}
        value = change(*([entry] if names else []), ddl=ddl, file="binlog.000001", pos=offset, row=0)
        line = {"topic": "srv", "partition": partition, "offset": offset, "ts": 1, "key": None}
        lines.append(json.dumps({**line, "payload": json.dumps(value)}))
    Path("changes.jsonl").write_text("\n".join(lines))


def test_schema_changes_in_several_partitions_are_told_wherever_one_looks(run: Shell) -> None:
    declared((0, *CREATE), (1, "ALTER TABLE t ADD a INT", ["id", "a"]), (2, *CREATE))
    assert "2 notes about records" in run("ingest", "changes.jsonl")
    for words in (["history", "t"], ["rejects"]):
        assert "schema-changes-unordered" in run(*words)
        (note,) = run.json(*words)["notes"]
        assert (note["kind"], note["partition"], note["count"]) == ("schema-changes-unordered", 1, 2)


def test_a_change_without_a_structure_is_told_with_the_history_of_its_table(run: Shell) -> None:
    declared((0, *CREATE), (0, "ALTER TABLE t ADD a INT", []), (0, "ALTER TABLE other ADD a INT", []))
    run("ingest", "changes.jsonl")
    assert "ALTER TABLE t ADD a INT: the connector published no structure" in run("history", "t")
    (note,) = run.json("history", "t")["notes"]
    assert (note["kind"], note["offset"], note["table"]) == ("ddl-without-structure", 1, "srv.shop.t")
    assert len(run.json("rejects")["notes"]) == 2


def test_a_diff_of_two_lives_says_that_they_are_two_tables(run: Shell) -> None:
    declared((0, *CREATE), (0, "DROP TABLE t", []), (0, *CREATE), (0, "ALTER TABLE t ADD a INT", ["id", "a"]))
    run("ingest", "changes.jsonl")
    told = run("diff", "t@1", "t@2")
    assert all(line in told for line in ("- id  INT", "+ id  INT  a new column with the same name"))
    assert "t@2 is a table that was created again" in told
    assert "created again" not in run("diff", "t@2", "t@3")


def test_where_nothing_is_to_know_nothing_is_said(run: Shell) -> None:
    declared((0, *CREATE))
    run("ingest", "changes.jsonl")
    assert run.json("history", "t")["notes"] == []
    assert "to know" not in run("history", "t")
