"""What a report prints can be typed: names, versions, commands. Topics, ends and reverts are named."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.support.checkout import CAPTURES
from tests.support.command_line import Run
from tests.support.records import Node, node, row_event

INT, TEXT = node("int32"), node("string", optional=True)
BOOKS = CAPTURES / "mariadb" / "bookshop-mariadb-3.5.0-json"
HOSTILE = [
    "Order Details",
    'say "hi"',
    "a.b",
    "..",
    "x@y",
    "$HOME",
    "bell\x07",
    "line\nend",
    "Größe",
    "z" * 60,
]


def write_rows(place: Path, rows: Iterable[tuple[str, Mapping[str, Node]]], topic: str | None = None) -> None:
    """Write a file of records: one for each table and its columns, in this order; `topic` is that of all."""
    lines = []
    for offset, (table, columns) in enumerate(rows):
        row = {name: 1 if kind["type"] == "int32" else "x" for name, kind in columns.items()}
        made = row_event(columns, "c", row, offset=offset, table=table)
        line = {"topic": topic or f"t{table.encode().hex()[:80]}", "partition": 0, "offset": offset}
        key, value = (None if part is None else part.decode() for part in (made.key, made.value))
        lines.append(json.dumps({**line, "key": key, "payload": value}))
    (place / "records.jsonl").write_text("\n".join(lines))


@pytest.mark.parametrize("table", HOSTILE)
def test_a_printed_name_is_a_name(run: Run, place: Path, table: str) -> None:
    write_rows(place, [(table, {"id": INT}), ("t", {"id": INT})])
    assert run("ingest", ".").code == 0
    listed = run("tables").out.splitlines()[2:]
    (printed,) = (line.split("  ")[0].strip() for line in listed if not line.startswith("t  "))
    found = run("history", printed, "--format", "json").json["table"]
    assert found["name"] == table
    assert run("show", f"{printed}@1", "--format", "json").json["table"] == found["id"]
    assert run("history", found["id"], "--format", "json").json["table"] == found


def test_quotes_that_a_shell_takes_away_are_not_missed(run: Run, place: Path) -> None:
    write_rows(place, [("Order Details", {"id": INT})])
    run("ingest", ".")
    (word,) = shlex.split('srv.shop.public."Order Details"@1')
    assert run("show", word).code == 0


def test_a_printed_command_is_a_command(run: Run, place: Path) -> None:
    old, new = {"id": INT, "old name": TEXT}, {"id": INT, "new $name": TEXT}
    write_rows(place, [("Order Details", old), ("Order Details", new)])
    run("ingest", ".")
    shown = run("history", "Order Details").out
    (line,) = (line for line in shown.splitlines() if "schemaman decide rename" in line)
    words = shlex.split(line[line.index("schemaman") :])
    assert run(*words[1:]).code == 0
    assert "old name → new $name" in run("diff", "Order Details").out.replace(" renamed to ", " → ")
    missing = run("show", "Order Details@9")
    hint = missing.err.splitlines()[1]
    assert run(*shlex.split(hint.partition("schemaman ")[2].removesuffix(" lists the versions"))).code == 0


def test_tables_of_one_topic_say_so(run: Run, place: Path) -> None:
    write_rows(place, [("A$Item", {"id": INT}), ("A Item", {"id": INT})], topic="srv.shop.A_Item")
    run("ingest", ".")
    first, second = run("tables", "--format", "json").json["tables"]
    assert first["topics"] == first["shared_topics"] == second["shared_topics"] == ["srv.shop.A_Item"]
    assert 'shares its topic with srv.shop.public."A Item"' in run("tables").out
    assert "shares its topic" in run("tables", "*.A$Item").out
    alone = run("names", "A Item", "--format", "json").json
    assert alone["topic_collisions"] == run("names", "--format", "json").json["topic_collisions"] != []


def test_a_topic_of_one_table_is_no_question(run: Run, place: Path) -> None:
    write_rows(place, [("a", {"id": INT}), ("b", {"id": INT})])
    run("ingest", ".")
    assert "shares" not in run("tables").out
    assert [t["shared_topics"] for t in run("tables", "--format", "json").json["tables"]] == [[], []]


def test_a_renamed_table_is_not_called_dropped(run: Run) -> None:
    run("ingest", BOOKS)
    tables = {t["name"]: t for t in run("tables", "--format", "json").json["tables"]}
    assert tables["author_list"]["renamed_to"] == "books.bookshop.writer_list"
    assert tables["author_list"]["dropped"]
    assert (tables["book_old"]["renamed_to"], tables["book_old"]["dropped"]) == (None, True)
    rows = {line.split()[0]: line for line in run("tables").out.splitlines()}
    assert "renamed to books.bookshop.writer_list" in rows["author_list"]
    assert "  dropped " in rows["book_old"]
    assert "renamed to books.bookshop.writer_list" in run("history", "author_list").out
    assert "dropped" not in run("history", "author_list").out


def test_a_version_that_takes_a_change_back_is_called_so(run: Run, place: Path) -> None:
    plain, wide = {"id": INT, "a": TEXT}, {"id": INT, "a": TEXT, "b": TEXT}
    wider = {**wide, "c": TEXT}
    write_rows(place, [("t", plain), ("t", wide), ("t", wider), ("t", wide), ("t", plain)])
    run("ingest", ".")
    versions = run("history", "t", "--format", "json").json["versions"]
    assert [v["repeats"] for v in versions] == [None, None, None, 2, 1]
    assert [v["repeats"] for v in run("history", "t", "--last", 1, "--format", "json").json["versions"]] == [
        1
    ]
    shown = run("history", "t").out
    assert shown.count("as version 2 again") == shown.count("as version 1 again") == 1
    assert "as version 1 again" in run("history", "t", "--last", 1).out
    assert "t@5 is as version 1 again" in run("diff", "t").out
    assert run("diff", "t", "--format", "json").json["repeats"] == 1
    assert run("diff", "t", "1..3", "--format", "json").json["repeats"] is None
    assert run("diff", "t", "5..1", "--format", "json").json["repeats"] is None


def test_the_gate_takes_versions_in_every_spelling(run: Run, place: Path) -> None:
    write_rows(place, [("t", {"id": INT, "a": TEXT}), ("t", {"id": INT}), ("t", {"id": INT, "a": INT})])
    run("ingest", ".")
    spellings = (["t@2", "--against", "t@1"], ["t@2", "--against", "1"], ["t@1..2"], ["t@v1..v2"])
    results = [run("check", *words, "--format", "json").json for words in spellings]
    assert all(result == results[0] for result in results)
    assert {f["new"].rpartition("@")[2] for f in results[0]["findings"]} == {"2"}
    whole = run("check", "t", "--against", "-2", "--format", "json").json
    assert {f["new"].rpartition("@")[2] for f in whole["findings"]} == {"2", "3"}
    for words in (["t@1", "--against", "2"], ["t@1..2", "--against", "1"], ["t", "t@2", "--against", "1"]):
        assert run("check", *words).code == 2
