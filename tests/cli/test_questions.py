"""Questions to the history as a user types them, over recorded streams."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from jsonschema import Draft202012Validator

from schemaman.history.references import AsOf
from schemaman.languages.language import SCHEMA_LANGUAGES
from schemaman.report.json import schemas
from schemaman_cli.commands.show import LANGUAGES
from schemaman_cli.main import main, root
from tests.support.checkout import CAPTURES
from tests.support.command_line import Done, finished
from tests.support.records import change, column, image

ORDERS = "postgres/shop-json"
AVRO = "postgres/shop-avro"
BOOKS = "mariadb/bookshop-mariadb-3.5.0-json"
AWAY = "postgres/shop-downtime"
DB2 = "db2/shop-3.4.1-json"
MONGO = "mongodb/inventory-2.5.4-pre-image"
FLAT = "postgres/shop-flat-routed"


Ask = Callable[..., Done]


@cache
def folder_of_stores() -> TemporaryDirectory[str]:
    """A folder that is removed when the tests end."""
    return TemporaryDirectory(prefix="schemaman-questions-")


@cache
def remembered(recording: str) -> Path:
    """A store that has read a recording."""
    path = Path(folder_of_stores().name) / f"{recording.replace('/', '-')}.db"
    assert main(["ingest", str(CAPTURES / recording), "--store", f"sqlite:///{path}", "--quiet"]) == 0
    return path


@pytest.fixture
def ask(place: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Ask:
    """Asks the history of a recording."""

    def ask(recording: str, *words: object) -> Done:
        store = place / f"{recording.replace('/', '-')}.db"
        if not store.exists():
            shutil.copy(remembered(recording), store)
        return finished(capfdbinary, (*words, "--store", f"sqlite:///{store}"))

    return ask


# --- show: which structure


def test_a_version_is_named_by_number_and_by_how_far_back(ask: Ask) -> None:
    def version(ref: str) -> int:
        found: int = ask(ORDERS, "show", ref, "--format", "json").json["version"]
        return found

    assert [version(f"orders@{n}") for n in ("3", "latest", "-1", "-13")] == [3, 14, 13, 1]
    gone = ask(ORDERS, "show", "orders@15")
    assert (gone.code, gone.out) == (2, "")
    assert gone.err == (
        "error: shopdb.shop.shop.orders@15: there are versions 1 to 14\n"
        "  hint: schemaman history shopdb.shop.shop.orders lists the versions\n"
    )
    assert "@9.7: there are 9.0, 9.1, 9.2\n" in ask(ORDERS, "show", "orders@9.7").err
    assert ask(ORDERS, "show", "orders@-14").code == 2


def test_a_time_means_the_version_that_stood_then(ask: Ask) -> None:
    versions = ask(ORDERS, "history", "orders", "--format", "json").json["versions"]
    for version in versions:
        at = version["from"]["at"]["ts_ms"]
        said = ask(ORDERS, "show", f"orders@{AsOf(at)}", "--format", "json")
        assert said.code in (0, 2), said.err
        if said.code == 0:
            assert said.json["version"] >= version["version"]
        else:
            assert "is not certain whether version" in said.err


def test_behind_the_last_record_the_newest_version_is_told_with_a_warning(ask: Ask) -> None:
    said = ask(ORDERS, "show", "orders@2030-01-01T00:00Z", "--format", "json")
    assert (said.code, said.json["version"]) == (0, 14)
    assert said.err.startswith(
        "warning: orders@2030-01-01T00:00Z: the last known record is of 2026-11-21 07:39:43.580"
    )
    assert said.err.endswith("; later changes are unknown\n")
    last = ask(ORDERS, "tables", "shop.orders", "--format", "json").json["tables"][0]["last_seen"]
    assert ask(ORDERS, "show", f"orders@lsn:{last['position']['value']}").err == ""


def test_a_moment_of_db2_comes_with_the_warning_that_its_times_are_those_of_reading(ask: Ask) -> None:
    run = "db2/shop-3.4.1-json"
    told = "this source gives only the times at which changes were read"
    assert told in ask(run, "show", "DB2INST1.ORDERS@2030-01-01T00:00Z").err
    assert told not in ask(run, "show", "DB2INST1.ORDERS@latest").err
    assert told not in ask(ORDERS, "show", "orders@2030-01-01T00:00Z").err


@pytest.mark.parametrize(
    ("table", "records", "shared", "told"),
    [("shop.orders", 163, 1, [1, 1]), ("shop.order_lines", 60, 5, [5, 5])],
)
def test_a_record_that_two_versions_tell_is_one_record_of_the_table(
    ask: Ask, table: str, records: int, shared: int, told: list[int]
) -> None:
    found = ask(AVRO, "history", table, "--format", "json").json
    assert (found["table"]["records"], found["table"]["shared"]) == (records, shared)
    assert [v["shared"] for v in found["versions"] if v["shared"]] == told
    assert sum(v["records"] for v in found["versions"]) == records - shared
    assert ask(AVRO, "tables", table, "--format", "json").json["tables"][0]["records"] == records
    assert f" {records} records" in ask(AVRO, "history", table).out
    # of the table, however few of its versions are shown
    assert ask(AVRO, "history", table, "--last", 1, "--format", "json").json["table"] == found["table"]


def test_the_last_structure_of_a_table_that_is_gone_comes_with_a_warning(ask: Ask) -> None:
    said = ask(BOOKS, "show", "author_list")
    assert said.code == 0
    assert said.err.startswith("warning: books.bookshop.author_list was renamed 2026-11-21 ")
    assert said.err.endswith(" and is now books.bookshop.writer_list: this is its last known schema\n")
    dropped = ask(BOOKS, "show", "book_old")
    assert "was dropped" in dropped.err
    gone = ask(BOOKS, "show", "book_old@2030-01-01T00:00Z")
    assert (gone.code, gone.out) == (3, "")
    assert "the table was dropped by then" in gone.err


def test_a_change_that_was_noticed_late_is_not_told_too_early(ask: Ask) -> None:
    """Db2 tells a change at the position of the one that it had read last."""
    second = ask(DB2, "history", "PRODUCTS", "--format", "json").json["versions"][1]
    told = second["from"]["at"]["position"]["commit"]
    said = ask(DB2, "show", f"PRODUCTS@commit_lsn:{told}")
    assert said.code == 2
    assert "whether version 1 or version 2 was valid then" in said.err
    shown = next(e["first"] for e in second["evidence"] if e["kind"] == "emitted")
    at = f"PRODUCTS@commit_lsn:{shown['position']['commit']}"
    assert ask(DB2, "show", at, "--format", "json").json["version"] == 2


def test_a_phantom_alone_is_no_answer_as_of_a_moment(ask: Ask) -> None:
    found = ask(DB2, "history", "AUDIT_LOG", "--format", "json").json["versions"]
    assert found[-1]["status"] == "phantom"
    said = ask(DB2, "show", "AUDIT_LOG@2030-01-01T00:00Z", "--format", "json")
    assert said.json["version"] == found[-2]["version"]


def test_a_moment_of_uncertainty_names_both_versions(ask: Ask) -> None:
    versions = ask(ORDERS, "history", "orders", "--format", "json").json["versions"]
    doubtful = next(
        v
        for v in versions
        if v["from"]["after"] and v["from"]["at"]["ts_ms"] - v["from"]["after"]["ts_ms"] > 2
    )
    lsn = int(doubtful["from"]["at"]["position"]["value"]) - 1
    said = ask(ORDERS, "show", f"orders@lsn:{lsn}")
    assert said.code == 2
    number = doubtful["version"]
    assert f"whether version {number - 1} or version {number} was valid then" in said.err
    assert f"orders@{number - 1} or" in said.err
    begin = doubtful["from"]
    times = f"between {AsOf(begin['after']['ts_ms'])} and {AsOf(begin['at']['ts_ms'])}"
    assert f"one ended and the other began {times}" in said.err


@pytest.mark.parametrize(
    ("recording", "table", "other"),
    [
        (ORDERS, "orders", "binlog:mysql-bin.000001:4"),
        (BOOKS, "bookshop.book", "lsn:0/16B6A50"),
        (DB2, "ORDERS", "scn:12"),
        (MONGO, "customers", "gtid:1-1-1"),
    ],
)
def test_a_position_of_another_kind_is_a_usage_error(
    ask: Ask, recording: str, table: str, other: str
) -> None:
    versions = ask(recording, "history", table, "--format", "json").json["versions"]
    own = {v["from"]["at"]["position"]["kind"] for v in versions} - {"none"}
    said = ask(recording, "show", f"{table}@{other}")
    assert (said.code, said.out) == (2, "")
    assert f"its positions are of kind {', '.join(sorted(own))}" in said.err
    assert "use a position of that kind" in said.err


@pytest.mark.parametrize(
    ("recording", "table"),
    [(ORDERS, "orders"), (BOOKS, "bookshop.book"), (DB2, "ORDERS"), (MONGO, "products")],
)
def test_each_version_stands_where_its_own_records_stand(ask: Ask, recording: str, table: str) -> None:
    for version in ask(recording, "history", table, "--format", "json").json["versions"]:
        at = version["from"]["at"]["position"]
        if at["kind"] == "none":
            continue
        shown = [e["first"]["position"] for e in version["evidence"] if e["kind"] == "emitted"]
        if at["kind"] == "commit_lsn":
            at = {"kind": "commit_lsn", "value": (shown or [at])[0]["commit"]}
        said = ask(recording, "show", f"{table}@{at['kind']}:{at['value']}", "--format", "json")
        if said.code == 0:
            assert said.json["version"] == version["version"]
        else:
            assert said.code == 2
            assert f"version {version['version']} was valid then" in said.err


def test_a_file_of_another_binary_log_is_a_usage_error(ask: Ask) -> None:
    versions = ask(BOOKS, "history", "bookshop.book", "--format", "json").json["versions"]
    own = versions[-1]["from"]["at"]["position"]["value"]
    assert own.startswith("binlog.000001:")
    assert ask(BOOKS, "show", f"bookshop.book@binlog:{own}").code == 0
    assert ask(BOOKS, "show", "bookshop.book@binlog:binlog.000002:4").code == 0
    for other in ("foo:1", "mysql-bin.000001:4", "binlog:4", own.replace("binlog", "zinlog")):
        said = ask(BOOKS, "show", f"bookshop.book@binlog:{other}")
        assert (said.code, said.out) == (2, "")
        assert "the files of its binary log have other names: binlog.…" in said.err
        assert "hint: write binlog:FILE:POSITION" in said.err


def test_the_id_of_a_version_is_enough(ask: Ask) -> None:
    for version in ask(ORDERS, "history", "orders", "--format", "json").json["versions"]:
        said = ask(ORDERS, "show", f"orders@id:{version['id'][:6]}", "--format", "json")
        assert said.json["id"] == version["id"]


def test_files_of_every_language_are_structures(ask: Ask, tmp_path: Path) -> None:
    for language in LANGUAGES:
        said = ask(ORDERS, "show", "customers", "--as", language)
        (tmp_path / f"customers.{language}").write_text(said.out)
        read = ask(ORDERS, "show", f"file:customers.{language}", "--format", "json")
        assert read.code == 0, read.err
        names = [c["name"] for c in read.json["columns"]]
        assert names == [
            c["name"] for c in ask(ORDERS, "show", "customers", "--format", "json").json["columns"]
        ]
        assert read.json["table"] is None
    for exact in ("json", "columns"):
        assert (
            ask(ORDERS, "diff", "customers", f"file:customers.{exact}", "--format", "json").json["changes"]
            == []
        )


# --- show: in which language


def test_the_languages_are_those_on_the_shelf() -> None:
    assert set(LANGUAGES) == {*SCHEMA_LANGUAGES.names(), "json"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_structure_goes_to_stdout_and_what_it_cannot_say_to_stderr(ask: Ask, language: str) -> None:
    said = ask(BOOKS, "show", "bookshop.book", "--as", language)
    assert said.code == 0
    assert said.out.endswith(("}\n", "'\n", "`\n", "T\n", "G\n", "\n"))
    told = said.err.splitlines()
    assert all(line.startswith(f"warning: {language}: ") for line in told)
    assert bool(told) == (language not in ("json", "columns"))
    assert ask(BOOKS, "show", "bookshop.book", "--as", language, "--quiet").err == ""


def test_what_delta_cannot_say_of_a_mariadb_table_is_told(ask: Ask) -> None:
    told = ask(BOOKS, "show", "bookshop.book@2", "--as", "delta").err.splitlines()
    assert any(line.startswith("warning: delta: written as BIGINT: pages INT UNSIGNED") for line in told)
    assert any("not expressed: the key (isbn)" in line for line in told)


def test_a_type_without_a_word_is_an_error_or_left_out(ask: Ask) -> None:
    said = ask(MONGO, "show", "products", "--as", "iceberg")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: iceberg cannot express main:fulfillment.inventory.products@")
    assert "_id UNKNOWN('bson:objectId')" in said.err
    assert "--partial" in said.err
    partial = ask(MONGO, "show", "products", "--as", "iceberg", "--partial")
    assert partial.code == 0
    assert "_id" not in partial.out
    assert "warning: iceberg: left out: _id UNKNOWN('bson:objectId')" in partial.err


def test_the_key_alone(ask: Ask) -> None:
    avro = ask(ORDERS, "show", "order_lines", "--key", "--as", "avro").json
    assert [f["name"] for f in avro["fields"]] == ask(ORDERS, "show", "order_lines", "--format", "json").json[
        "key"
    ]
    assert avro["name"] == "shopdb.shop.shop.order_lines.Key"
    none = ask(BOOKS, "show", "author_list", "--key")
    assert none.code == 2
    assert "no key" in none.err


# --- show: which face


def test_the_wire_face_is_what_an_event_carried(ask: Ask) -> None:
    source = ask(DB2, "show", "PRODUCTS@1", "--format", "json").json
    wire = ask(DB2, "show", "PRODUCTS@1", "--face", "wire", "--format", "json").json
    assert (source["face"], source["record"]) == ("source", None)
    assert wire["face"] == "wire"
    assert wire["record"]["topic"] == "db2.DB2INST1.PRODUCTS"
    declared, emitted = ([(c["name"], c["type"]) for c in shown["columns"]] for shown in (source, wire))
    assert ("SKU", "CHAR(12)") in declared
    assert ("SKU", "STRING") in emitted
    Draft202012Validator(schemas.read_schema("show")).validate(wire)


def test_the_wire_face_has_the_names_on_the_wire(ask: Ask) -> None:
    recording = "db2/shop-2.5.4-avro"
    source = ask(recording, "show", "lower_case", "--format", "json").json
    wire = ask(recording, "show", "lower_case", "--face", "wire", "--as", "avro").json
    assert [f["name"] for f in wire["fields"]] == [c["emitted_name"] for c in source["columns"]]
    assert [f["name"] for f in wire["fields"]] != [c["name"] for c in source["columns"]]
    assert wire["name"].endswith(".Value")


def test_a_version_that_no_event_carried_has_no_wire_face(ask: Ask) -> None:
    said = ask(BOOKS, "show", "secret_two", "--face", "wire")
    assert (said.code, said.out) == (3, "")
    assert "no event with a schema is known for main:books.bookshop.secret_two@1" in said.err
    assert ask(ORDERS, "show", "file:x.avsc", "--face", "wire").code in (2, 3)


# --- blame


def lines_of(said: Done) -> list[list[str]]:
    """The cells of a grid, split where two blanks stand."""
    return [re.split(r" {2,}", line) for line in said.out.splitlines()]


def test_blame_tells_version_record_and_witness_of_each_column(ask: Ask) -> None:
    said = ask(BOOKS, "blame", "bookshop.author")
    assert (said.code, said.err) == (0, "")
    rows = lines_of(said)
    assert rows[1] == ["column", "what", "since", "no later than", "position", "record", "evidence"]
    (middle,) = [row for row in rows if row[0] == "middle"]
    assert middle[1:3] == ["VARCHAR(40), null", "v3"]
    assert middle[4:] == ["binlog binlog.000001:5191", "books[0]@16", "declared, emitted"]
    assert [row[1] for row in rows if row[0] == "name"] == ["VARCHAR(80), not null", "comment 'full name'"]
    assert ["(table)", "key (id)", "v1"] in [row[:3] for row in rows]
    assert ["v2", "ALTER TABLE bookshop.author ADD COLUMN email VARCHAR(120) NULL"] in rows


def test_blame_of_an_older_version_knows_nothing_of_later_ones(ask: Ask) -> None:
    rows = lines_of(ask(BOOKS, "blame", "bookshop.author@2"))
    assert {row[2] for row in rows if len(row) == 7} == {"since", "v1", "v2"}
    assert "middle" not in {row[0] for row in rows}


def test_history_says_from_where_on_a_key_is_proven(ask: Ask) -> None:
    said = " ".join(ask(AWAY, "history", "carts").out.split())
    first = "2026-11-21 07:40:25.614 UTC · LSN 0/1EF39A8"
    proven = "2026-11-21 07:40:28.597 UTC · LSN 0/1EFFC00"
    assert f"no later than {proven}; first seen in the record at {first}" in said
    assert f"its key: certain from {proven} on, not confirmed before" in said
    assert f"{proven}; first seen {first}, not confirmed before" in said
    assert "not confirmed: its key" in ask(AWAY, "history", "carriers").out


def test_as_of_a_place_no_question_takes_a_later_key_for_certain(ask: Ask) -> None:
    early, later = "carts@lsn:32455080", "carts@lsn:32504832"
    text = ask(AWAY, "show", early).out
    assert "Not confirmed at this position, but from 2026-11-21 07:40:28.597 UTC" in text
    assert "not confirmed: its key" in ask(AWAY, "show", early, "--as", "ddl").err
    assert "not confirmed: its key" not in ask(AWAY, "show", later, "--as", "ddl").err
    found = ask(AWAY, "diff", early, later, "--format", "json").json
    assert found["unconfirmed"] == {"old": ["key"], "new": []}
    assert "its key" in ask(AWAY, "diff", early, later).out
    key = next(f for f in ask(AWAY, "blame", early, "--format", "json").json["facts"] if f["fact"] == "key")
    assert (key["status"], key["proven"]) == ("provisional", None)


def test_blame_says_what_is_provisional(ask: Ask) -> None:
    found = ask(ORDERS, "blame", "orders", "--format", "json").json
    doubtful = [f"{f['fact']}:{f['column']}" for f in found["facts"] if f["status"] == "provisional"]
    history = ask(ORDERS, "history", "orders", "--format", "json").json
    assert doubtful == history["versions"][-1]["unconfirmed"]
    assert "null (provisional)" in ask(ORDERS, "blame", "orders").out


def test_blame_follows_an_answered_rename(ask: Ask) -> None:
    rows = [row for row in lines_of(ask(ORDERS, "blame", "customers@5")) if row[0] == "phone_number"]
    before = rows[0][:3]
    assert {row[2] for row in rows} == {"v5"}
    assert ask(ORDERS, "decide", "rename", "customers@5", "phone", "phone_number").code == 0
    after = [row[:3] for row in lines_of(ask(ORDERS, "blame", "customers@5"))]
    assert ["phone_number", "this name", "v5"] in after
    assert ["phone_number", *before[1:]] not in after


@pytest.mark.parametrize("ref", ["file:orders.avsc", "lake:/orders", "registry:orders-value"])
def test_blame_is_of_tables_alone(ask: Ask, ref: str) -> None:
    said = ask(ORDERS, "blame", ref)
    assert (said.code, said.out) == (2, "")
    assert "not a table of the history" in said.err


# --- tables and rejects


def test_tables_counts_and_tells_when_each_was_last_seen(ask: Ask) -> None:
    found = {t["name"]: t for t in ask(ORDERS, "tables", "--format", "json").json["tables"]}
    orders = found["orders"]
    history = ask(ORDERS, "history", "orders", "--format", "json").json
    assert orders["versions"] == len(history["versions"])
    assert orders["records"] == sum(v["records"] for v in history["versions"])
    ends = [e["last"] for v in history["versions"] for e in v["evidence"]]
    assert orders["last_seen"]["ts_ms"] == max(end["ts_ms"] for end in ends)
    assert orders["rejects"] == 0
    (row,) = [row for row in lines_of(ask(ORDERS, "tables")) if row[0] == "orders"]
    assert row[2:] == [
        *("v14", "9", "(id)", str(orders["records"])),
        *("2026-11-21 07:39:43.580 UTC", "provisional", "1 provisional fact"),
    ]


def test_tables_may_be_chosen_by_a_pattern(ask: Ask) -> None:
    def names(*patterns: str) -> set[str]:
        return {t["name"] for t in ask(ORDERS, "tables", *patterns, "--format", "json").json["tables"]}

    assert names("inventory.*") == {"movements", "stock", "suppliers"}
    assert names("order*", "stock") == {"orders", "order_lines", "stock"}
    assert names("shopdb.shop.shop.orders") == {"orders"}
    none = ask(ORDERS, "tables", "nothing*")
    assert none.code == 0
    assert none.out == "No table matches: schemaman tables lists the known tables\n"
    assert ask(ORDERS, "tables", "nothing*", "--format", "json").json["tables"] == []


def test_the_rejects_of_a_table_are_counted_and_shown_for_it_alone(ask: Ask, tmp_path: Path) -> None:
    with gzip.open(CAPTURES / ORDERS / "records.ndjson.gz", "rt", encoding="utf-8") as file:
        record = json.loads(next(line for line in file if '"topic":"shopdb.shop.orders"' in line))
    broken = [
        {**record, "topic": topic, "offset": 10_000 + n, "payload": '{"schema":'}
        for n, topic in enumerate(["shopdb.shop.orders"] * 2 + ["shopdb.shop.customers", "elsewhere"])
    ]
    (tmp_path / "broken.jsonl").write_text("".join(json.dumps(b) + "\n" for b in broken))
    assert ask(ORDERS, "ingest", "broken.jsonl", "--max-rejects", "9").code in (0, 3)
    counts = {t["name"]: t["rejects"] for t in ask(ORDERS, "tables", "--format", "json").json["tables"]}
    assert {name: n for name, n in counts.items() if n} == {"orders": 2, "customers": 1}
    assert "1 provisional fact, 2 rejects" in ask(ORDERS, "tables").out

    def topics(*words: str) -> list[str]:
        return [r["topic"] for r in ask(ORDERS, "rejects", *words, "--format", "json").json["rejects"]]

    assert len(topics()) == 4
    assert topics("orders") == ["shopdb.shop.orders"] * 2
    assert topics("orders", "customers", "--topic", "shopdb.shop.customers") == ["shopdb.shop.customers"]
    assert topics("--topic", "elsewhere") == ["elsewhere"]
    assert topics("--stream", "dev") == []
    assert ask(ORDERS, "rejects", "nothing").code == 3


def test_what_is_to_know_of_a_table(ask: Ask) -> None:
    notes = ask(BOOKS, "rejects", "bookshop.author", "--format", "json").json["notes"]
    assert [n["table"] for n in notes] == ["books.bookshop.author"]
    assert len(ask(BOOKS, "rejects", "--format", "json").json["notes"]) > 1


# --- history


def test_history_tells_who_spoke_for_each_version(ask: Ask) -> None:
    heads = [line for line in ask(BOOKS, "history", "bookshop.author").out.splitlines() if "Version" in line]
    assert heads[:2] == [
        "✓ Version 1  1 record declared, 5 emitted",
        "• Version 2  note  1 record declared, 1 emitted",
    ]


def test_history_says_that_a_column_is_another_one_of_that_name(ask: Ask) -> None:
    lines = ask(ORDERS, "history", "orders").out.splitlines()
    assert "    + remark  STRING  a new column with the same name" in lines
    assert "    + coupon  STRING" in lines
    text = ask(ORDERS, "diff", "orders@3", "orders@4").out
    assert "    + remark  STRING  a new column with the same name" in text


def test_the_last_versions_alone(ask: Ask) -> None:
    whole = ask(ORDERS, "history", "orders", "--format", "json").json
    found = ask(ORDERS, "history", "orders", "--last", 3, "--format", "json").json
    assert found["versions"] == whole["versions"][-3:]
    Draft202012Validator(schemas.read_schema("history")).validate(found)
    text = ask(ORDERS, "history", "orders", "--last", 3).out
    every = ask(ORDERS, "history", "orders").out
    assert "11 earlier versions not shown" in text
    assert "14 versions" in text
    assert re.findall(r"Version \d+\b.*", text) == re.findall(r"Version 1[234]\b.*", every)
    assert (
        text[text.index("Version 14, id") :].splitlines()[:11]
        == every[every.index("Version 14, id") :].splitlines()[:11]
    )
    assert ask(ORDERS, "history", "orders", "--last", 99).out == every
    assert ask(ORDERS, "history", "orders", "--last", 0).code == 2


def test_the_document_of_history_holds_what_was_promised(ask: Ask) -> None:
    for recording in (ORDERS, BOOKS, DB2, MONGO, FLAT):
        for table in ask(recording, "tables", "--format", "json").json["tables"]:
            found = ask(recording, "history", table["id"], "--format", "json").json
            Draft202012Validator(schemas.read_schema("history")).validate(found)
            assert {"id", "stream", "connector", "server", "database", "schema", "name", "identity"} <= set(
                found["table"]
            )
            for alias in found["aliases"]:
                assert {"kind", "name", "from", "until"} <= set(alias)
            for version, following in zip(found["versions"], [*found["versions"][1:], None], strict=True):
                assert version["status"] in {"confirmed", "provisional", "phantom", "declared", "inferred"}
                assert bool(version["unconfirmed"]) == (version["status"] == "provisional") or (
                    version["status"] in ("phantom", "inferred", "declared")
                )
                assert version["records"] == sum(e["records"] for e in version["evidence"])
                if following is not None:
                    assert version["until"] is not None
                for evidence in version["evidence"]:
                    assert {"topic", "partition", "offset", "position", "ts_ms"} <= set(evidence["first"])
                    assert set(evidence["first"]) == set(evidence["last"])


# --- show: what is not a table of the history


def test_a_revision_of_the_repository_holds_structures(ask: Ask, tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for version in (1, 2):
        avro = ask(ORDERS, "show", f"orders@{version}", "--as", "avro").out
        (tmp_path / "orders.avsc").write_text(avro)
        git("add", "orders.avsc")
        git("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", f"version {version}")
    for ref, version in (("git:HEAD:orders.avsc", 2), ("git:HEAD~1:orders.avsc", 1)):
        found = ask(ORDERS, "show", ref, "--format", "json").json
        wanted = ask(ORDERS, "show", f"orders@{version}", "--format", "json").json
        assert [c["type"] for c in found["columns"]] == [c["type"] for c in wanted["columns"]]
        assert found["ref"] == ref
    assert ask(ORDERS, "show", "git:HEAD:nothing.avsc").code in (2, 3)
    changes = ask(ORDERS, "diff", "git:HEAD~1:orders.avsc", "orders@2", "--format", "json").json["changes"]
    assert {c["path"][0] for c in changes if c["change"] == "add-column"} == {"channel", "updated_at"}


def structure(said: Done) -> list[tuple[str, str, bool]]:
    return [(c["emitted_name"], c["type"], c["nullable"]) for c in said.json["columns"]]


def test_a_registry_holds_structures(ask: Ask, tmp_path: Path) -> None:
    recording = "postgres/shop-avro"
    (tmp_path / "schemaman.toml").write_text(f'registry = "{CAPTURES / recording / "registry.json"}"\n')
    subject = "registry:shopdb.shop.orders-value"
    asked = (ask(recording, "show", f"{subject}@{n}", "--format", "json") for n in range(1, 40))
    registered = [structure(said) for said in asked if said.code == 0]
    assert len(registered) > 5
    assert structure(ask(recording, "show", subject, "--format", "json")) in registered
    for ref in ("orders@1", "orders@-1", "orders"):
        assert structure(ask(recording, "show", ref, "--face", "wire", "--format", "json")) in registered
    assert ask(recording, "show", f"{subject}@999").code in (2, 3)
    missing = ask(recording, "show", "registry:nothing-value")
    assert missing.code in (2, 3)
    assert "nothing-value" in missing.err


# --- help


def test_completion_knows_the_languages_and_the_faces(ask: Ask) -> None:
    def offered(*words: str) -> set[str]:
        given = ShellComplete(root, {}, "schemaman", "_SCHEMAMAN_COMPLETE").get_completions(
            list(words[:-1]), words[-1]
        )
        return {each.value for each in given}

    assert offered("show", "orders", "--as", "") == set(LANGUAGES)
    assert offered("show", "orders", "--face", "") == {"source", "wire"}
    assert offered("bla") == {"blame"}
    assert {"--as", "--face", "--key", "--partial", "--format"} <= offered("show", "--")
    assert {"--last", "--format", "--stream"} <= offered("history", "--")
    assert {"--topic", "--format", "--stream"} <= offered("rejects", "--")


def test_every_question_has_a_schema(ask: Ask) -> None:
    names = ask(ORDERS, "schema").out.split()
    assert {"tables", "history", "show", "blame", "names", "diff", "rejects"} <= set(names)


# --- revisions: what changed in a version


def test_a_revision_is_called_by_its_number(ask: Ask) -> None:
    told = ask(BOOKS, "show", "author@4.2")
    assert told.out.lstrip().startswith("main:books.bookshop.author@4.2, id ")
    for asked, meant in (("4.2", "4.2"), ("latest", "4.2"), ("4.0", "4.0"), ("3", "3")):
        told = ask(BOOKS, "show", f"author@{asked}", "--format", "json")
        assert told.json["ref"] == f"main:books.bookshop.author@{meant}"


def remember(path: Path, *payloads: object) -> Path:
    """A store that has read these schema changes."""
    lines = [
        json.dumps({"topic": "srv", "partition": 0, "offset": n, "key": None, "payload": json.dumps(told)})
        for n, told in enumerate(payloads)
    ]
    records, store = path / "records.jsonl", path / "one.db"
    records.write_text("\n".join(lines), encoding="utf-8")
    assert main(["ingest", str(records), "--store", f"sqlite:///{store}", "--quiet"]) == 0
    return store


def declared(at: int, *columns: Any) -> object:
    entry = {"type": "ALTER", "id": '"shop"."t"', "table": image(*columns)}
    told = change(entry, ddl="ALTER TABLE t COMMENT 'x'", file="b.000001", pos=at, row=0, snapshot="false")
    return {**told, "ts_ms": at}


def test_the_diff_of_a_table_with_one_version_tells_its_revisions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = column("a"), column("b", position=2)
    where = f"sqlite:///{remember(tmp_path, declared(1, a, b), declared(2, a, {**b, 'comment': 'more'}))}"
    capsys.readouterr()
    assert main(["diff", "t", "--store", where, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["old"], told["new"]) == ("main:srv.shop.t@1.0", "main:srv.shop.t@1.1")
    assert ("change-comment", ["b"], "more") in [(c["change"], c["path"], c["new"]) for c in told["changes"]]


def test_the_diff_of_a_table_that_never_changed_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = f"sqlite:///{remember(tmp_path, declared(1, column('a')))}"
    assert main(["diff", "t", "--store", where]) == 0
    assert "only version of this table" in capsys.readouterr().out
