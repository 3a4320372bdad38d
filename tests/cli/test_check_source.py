"""`check --source`: records that could not be read, and tables that did not change."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from schemaman.debezium.records import Record
from schemaman.ingest.ingest import ingest
from schemaman.registry import Registry
from schemaman.store.sql.store import SqlStore
from tests.cases.connector import INT, LONG, TEXT, Connector
from tests.support.command_line import Run, place, run

__all__ = ["place", "run"]

TOPIC = "srv.public.t"
FIRST = {"id": INT, "n": LONG}
FORMATS = ("text", "concise", "jsonl", "sarif", "junit", "github", "gitlab", "azure", "markdown")


def read(records: Sequence[Record]) -> None:
    """Read records into the store of the working folder."""
    with SqlStore.open("schemaman.db", create=True) as store:
        ingest(records, Registry(store, lambda: 0), "main", lambda id: None)


def commit(place: Path, message: str = "accepted") -> None:
    who = ["-c", "user.email=a@example.com", "-c", "user.name=a"]
    subprocess.run(["git", *who, "add", "."], cwd=place, check=True, capture_output=True)
    subprocess.run(["git", *who, "commit", "-qm", message], cwd=place, check=True, capture_output=True)


@pytest.fixture
def connector(place: Path, run: Run) -> Connector:
    """A connector whose tables `t` and `u` are recorded and accepted."""
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=place, check=True)
    (place / ".gitignore").write_text("schemaman.db*\n")
    connector = Connector()
    for table in ("t", "u"):
        connector.rows(FIRST, table=table)
    read(connector.records)
    assert run("snapshot", "-q").code == 0
    commit(place)
    connector.records.clear()
    return connector


def test_a_check_that_could_not_read_does_not_pass(connector: Connector, run: Run) -> None:
    for _ in range(2):
        connector.write(TOPIC, None, b"\x00\x00\x00\x00\x09?")
    read(connector.records)
    done = run("check", "--source")
    assert done.code == 3
    assert "▲ danger: records-not-read  srv.shop.public.t" in done.out
    assert f"2 records of {TOPIC} could not be read, from {TOPIC}[0]@3 on" in done.out
    assert f"schemaman rejects --topic {TOPIC}" in done.out
    assert done.out.splitlines()[-1].startswith("▲ unknown · 1 danger")
    answer = run("check", "--source", "--format", "json").json
    assert answer["verdict"] == "unknown"
    (unread,) = answer["unread"]
    assert (unread["table"], unread["first"]) == ("srv.shop.public.t", f"{TOPIC}[0]@3")
    outputs = {name: run("check", "--source", "--format", name) for name in FORMATS}
    told = {(done.code, "unknown · 1 danger" in done.out + done.err) for done in outputs.values()}
    assert told == {(3, True)}
    (log,) = json.loads(outputs["sarif"].out)["runs"]
    assert (log["invocations"][0]["exitCode"], log["invocations"][0]["executionSuccessful"]) == (3, False)
    assert '<testsuites name="schemaman" tests="2" failures="0" errors="1">' in outputs["junit"].out
    assert "##vso[task.complete result=Failed;]the check could not read all" in outputs["azure"].out
    assert run("check", "--source", "--fail-on", "danger").code == 1
    assert run("check", "--source", "--fail-on", "off").code == 0
    assert run("check", "u").code == 0
    assert run("check", "t").code == 3
    for name in ("text", "concise", "json", "jsonl", "sarif", "junit", "gitlab", "markdown", "html"):
        assert "records-not-read" in run("report", "--format", name).out, name
    assert "records-not-read" in run("report", "--against", "accepted").out
    assert "could not be read" in run("explain", unread["finding"]).out
    waived = ("--reason", "known", "--owner", "ann", "--expires", "5d")
    assert run("waive", unread["finding"], *waived).code == 0
    assert run("check", "--source").code == 0


def test_records_that_were_not_read_are_sent_to_the_webhook(
    connector: Connector, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[str, list[str]]] = []

    def keep(_: object, body: bytes, *__: object, **___: object) -> None:
        document = json.loads(body)
        sent.append((document["event"], [entry["table"] for entry in document["entries"]]))

    monkeypatch.setattr("schemaman.io.notifications.post_json", keep)
    Path("schemaman.toml").write_text('[notify]\nwebhook = "https://example.com"\n')
    assert run("check", "--source").code == 0
    assert sent == []
    connector.write(TOPIC, None, b"\x00\x00\x00\x00\x09?")
    read(connector.records)
    for options in ((), ("--fail-on", "danger"), ("--fail-on", "off")):
        run("check", "--source", *options)
    assert sent == [("unknown", ["srv.shop.public.t"])] * 2


def test_a_later_record_shows_what_the_unread_ones_might_have(connector: Connector, run: Run) -> None:
    connector.write(TOPIC, None, b"\x00\x00\x00\x00\x09?")
    connector.rows(FIRST)
    read(connector.records)
    assert run("check", "--source").code == 0
    connector.records.clear()
    connector.write("srv.public.other", None, b"?")
    read(connector.records)
    assert run("check", "--source").code == 0, "a topic of no table"


def test_a_truncation_is_found_although_no_structure_shows_it(
    connector: Connector, run: Run, place: Path
) -> None:
    connector.row(FIRST, op="t")
    read(connector.records)
    found = run("check", "--source", "--format", "json").json["findings"]
    assert [(f["rule"], f["table"]) for f in found] == [("table-truncated", "srv.shop.public.t")]
    assert run("accept", "t").code == 0
    commit(place)
    assert run("check", "--source", "--format", "json").json["findings"] == []


def test_only_the_tables_that_changed_are_read(
    connector: Connector, run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connector.rows({"id": INT, "n": TEXT})
    read(connector.records)
    whole = run("check", "--source", "--level", "FULL_TRANSITIVE", "--format", "json").json
    asked: list[str] = []
    read_histories = SqlStore.read_histories

    def follow(store: SqlStore, tables: object) -> object:
        names = list(tables)  # type: ignore[call-overload]
        asked.extend(str(name) for name in names)
        return read_histories(store, names)

    monkeypatch.setattr(SqlStore, "read_histories", follow)
    quick = run("check", "--source", "--format", "json").json
    assert asked == ["srv.shop.public.t"]
    assert quick["tables"] == whole["tables"] == ["srv.shop.public.t", "srv.shop.public.u"]
    assert [f["rule"] for f in quick["findings"]] == ["number-to-string"]
    assert quick["findings"][0]["fingerprint"] in {f["fingerprint"] for f in whole["findings"]}
    (place / "schemas" / "copy.json").write_text((place / "schemas/srv.shop.public.u.json").read_text())
    commit(place, "a second file of one table")
    assert run("check", "--source", "--format", "json").json["tables"] == whole["tables"]


@pytest.mark.parametrize("options", [(), ("--source",)])
@pytest.mark.usefixtures("connector")
def test_a_pattern_of_a_consumer_that_selects_nothing_is_named(run: Run, options: Sequence[str]) -> None:
    Path("schemaman.toml").write_text(
        """[consumers.a]
kind = "spark"
tables = ["public.t", "public.v", "*.u"]
columns = ["n?*", "n", "nome"]
[consumers.b]
kind = "sql"
columns = ["*", "id"]
[consumers.c]
kind = "sql"
tables = ["t2"]
columns = ["nome"]
"""
    )
    done = run("check", *options)
    assert [line.partition("[")[2] for line in done.out.splitlines() if "[consumers." in line] == [
        "consumers.a]: no checked table matches public.v",
        "consumers.a]: no column of its tables matches n?*",
        "consumers.a]: no column of its tables matches nome",
        "consumers.c] reads none of the checked tables: none matches t2",
    ]
    assert done.code == 0


def test_tables_whose_names_make_one_topic_are_told(connector: Connector, run: Run) -> None:
    for table in ("item list", "item_list"):
        connector.rows(FIRST, table=table, topic="srv.public.item_list")
    for table in ("a", "b"):
        connector.rows(FIRST, table=table, topic="routed")
    read(connector.records)
    done = run("check", "--source")
    assert (done.code, done.out.count("note: names-collide")) == (0, 1)
    names = 'srv.shop.public."item list", srv.shop.public.item_list'
    assert f"{names} share the topic srv.public.item_list: their names become the same one" in done.out
    assert run("check", "--source", "--fail-on", "note").code == 1
    assert "names-collide" not in run("check", "t").out


def test_a_file_is_not_checked_against_the_history_but_compared(connector: Connector, run: Run) -> None:
    Path("new.sql").write_text("CREATE TABLE t (id INT, n TEXT)")
    done = run("check", "file:new.sql", "--against", "t")
    assert (done.code, "schemaman diff t file:new.sql" in done.err) == (2, True)
