"""The command line as a user types it: results, messages, exit codes; every layer is the real one."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import split

import click
import pytest
from jsonschema import Draft202012Validator

from schemaman.api.exit_codes import exit_code_of_plan, exit_code_of_run
from schemaman.compat.judge import RULES
from schemaman.model.column_list import parse_columns
from schemaman.model.diff import diff
from schemaman.plugins import Plugins
from schemaman.report.json import schemas
from schemaman_cli.group import SECTIONS, ExampleCommand, LazyGroup
from tests.live.database import schema_of_its_own
from tests.live.process import free_port
from tests.support.checkout import CAPTURES
from tests.support.command_line import Done, Run
from tests.support.records import event, node, struct

POSTGRES = CAPTURES / "postgres" / "shop-json"
AVRO = CAPTURES / "postgres" / "shop-avro"
COMMANDS: Plugins[click.Command] = Plugins("schemaman_cli.commands", "COMMAND")
PROGRAM = str(Path(sys.executable).with_name("schemaman"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that has read a recorded stream."""
    path = tmp_path_factory.mktemp("store") / "schemaman.db"
    done = subprocess.run(
        [PROGRAM, "ingest", str(POSTGRES), "--store", f"sqlite:///{path}"], capture_output=True, check=True
    )
    assert b"13 tables with records" in done.stdout
    return path


@pytest.fixture
def filled(store: Path, place: Path) -> Path:
    """A working folder with a copy of that store."""
    shutil.copy(store, place / "schemaman.db")
    return place


def lines(count: int = 10) -> list[str]:
    """The first records of the stream, as kcat prints them."""
    with gzip.open(POSTGRES / "records.ndjson.gz", "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line, _ in zip(file, range(count), strict=False)]


# --- help and manners


@pytest.mark.parametrize("name", COMMANDS.names())
def test_every_help_begins_with_two_examples_of_that_command(run: Run, name: str) -> None:
    done = run(name, "--help")
    assert done.code == 0
    head = done.out.splitlines()[:3]
    assert head[0] == "Examples:"
    assert all(line.startswith(f"  $ schemaman {name}") for line in head[1:]) or name == "completion"
    assert "Usage: schemaman " + name in done.out


@pytest.mark.parametrize("name", COMMANDS.names())
def test_every_example_is_a_command_line_that_is_understood(name: str) -> None:
    command = COMMANDS.get(name)
    assert isinstance(command, ExampleCommand)
    assert len(command.examples) == 2
    for example in command.examples:
        words = re.split(r" \|| >>? ", example)[0].split()[2:]
        command.make_context(name, words)


def test_every_command_stands_in_the_help_with_its_first_line(run: Run) -> None:
    done = run("--help")
    assert done.code == 0
    for name in COMMANDS.names():
        assert re.search(rf"^  {name} +[A-Z]", done.out, re.MULTILINE)
    told = [name for _, section in SECTIONS for name in section]
    assert set(told) <= set(COMMANDS.names())


@pytest.mark.parametrize("name", COMMANDS.names())
def test_a_file_of_a_command_begins_with_what_the_help_says(name: str) -> None:
    group = LazyGroup()
    assert 10 < len(group._first_line(name)) < 90


def test_commands_that_are_not_built_are_not_there(run: Run) -> None:
    assert run("host").code == 2


def test_an_unknown_command_suggests_the_nearest(run: Run) -> None:
    done = run("ingets")
    assert done == Done(
        2, "", "error: no such command: ingets; did you mean ingest?\n  hint: schemaman --help\n"
    )


def test_the_version_is_one_line(run: Run) -> None:
    done = run("--version")
    assert done.code == 0
    assert re.fullmatch(r"schemaman \d+\.\d+\.\d+\n", done.out)


def test_a_wrong_option_is_a_usage_error(run: Run) -> None:
    done = run("tables", "--frmat", "json")
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("error: ")


def test_every_error_has_a_hint_and_no_traceback(run: Run) -> None:
    for words in (
        ["tables"],
        ["ingest", "nothing.jsonl"],
        ["schema", "nonsense"],
        ["rules", "column-droped"],
        ["show", "orders@"],
        ["apply", "missing.plan.json"],
    ):
        done = run(*words)
        assert done.code in (2, 3)
        assert done.err.startswith("error: ")
        assert "Traceback" not in done.err


def test_debug_shows_the_traceback(filled: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "show", "orders@99", "--debug"], capture_output=True, text=True, check=False
    )
    assert "Traceback" in done.stderr


def test_a_fault_of_our_own_is_one_line_that_asks_for_a_report(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh no")

    monkeypatch.setattr(click.Group, "invoke", broken)
    done = run("tables")
    assert done.code == 3
    assert done.err.splitlines() == [
        "error: schemaman has a fault of its own: ZeroDivisionError: oh no",
        "  hint: please report it with the output of the same command and --debug",
    ]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_have_their_exit_codes(place: Path, number: signal.Signals, code: int) -> None:
    process = subprocess.Popen(
        [PROGRAM, "ingest", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not (place / "schemaman.db").exists():
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert err.strip().startswith(b"error: ")


@pytest.mark.parametrize("words", ["tables", "--help"])
def test_a_full_disk_behind_stdout_is_said_in_one_line(filled: Path, words: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{PROGRAM} {words} > /dev/full"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stderr.splitlines()[0] == "error: standard output cannot be written: No space left on device"
    assert len(done.stderr.splitlines()) == 2


def test_a_full_disk_behind_json_is_said_in_json(filled: Path) -> None:
    words = f"{PROGRAM} tables --format json > /dev/full"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=False)
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, error["exit_code"]) == (3, 3)
    assert error["message"] == "standard output cannot be written: No space left on device"


def test_a_closed_stdout_is_said_in_one_line(filled: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{PROGRAM} tables >&-"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stderr.splitlines()[0] == "error: standard output is closed"


def test_no_command_at_all_is_a_call_for_help(run: Run) -> None:
    done = run()
    assert (done.code, done.err) == (0, "")
    assert done.out == run("--help").out


def test_a_reader_who_goes_is_no_error(filled: Path) -> None:
    command = f"{PROGRAM} history orders | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


@contextmanager
def nobody() -> Iterator[int]:
    """A pipe whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        yield writer
    finally:
        os.close(writer)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("tables", 0),
        ("--help", 0),
        ("show --help", 0),
        ("history orders --format json", 0),
        ("check orders --against orders@1", 1),
        ("ingest .", 0),
        ("show nothing", 3),
        ("nothing", 2),
    ],
)
def test_a_reader_who_has_gone_changes_no_exit_code(filled: Path, words: str, code: int) -> None:
    (filled / "records.jsonl").write_text(f"{lines(1)[0]}\nno record\n", encoding="utf-8")
    for unbuffered in ("", "1"):
        with nobody() as writer:
            environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
            done = subprocess.run(
                [PROGRAM, *words.split()], stdout=writer, stderr=writer, check=False, env=environment
            )
        assert done.returncode == code


@pytest.mark.parametrize("stderr", ["2> /dev/full", "2>&-"])
@pytest.mark.parametrize(
    ("words", "code"), [("tables", 0), ("ingest .", 0), ("show nothing", 3), ("tables > /dev/full", 3)]
)
def test_what_stderr_does_not_take_changes_no_exit_code(
    filled: Path, words: str, code: int, stderr: str
) -> None:
    (filled / "records.jsonl").write_text(f"{lines(1)[0]}\nno record\n", encoding="utf-8")
    done = subprocess.run(
        ["bash", "-c", f"{PROGRAM} {words} {stderr}"], stdout=subprocess.DEVNULL, check=False
    )
    assert done.returncode == code


def test_the_broken_pipe_of_another_is_no_success(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(click.Group, "invoke", broken)
    assert run("tables").code == 3


def test_a_shell_is_told_what_may_follow(place: Path) -> None:
    asked = {"_SCHEMAMAN_COMPLETE": "bash_complete", "COMP_WORDS": "schemaman ta", "COMP_CWORD": "1"}
    done = subprocess.run([PROGRAM], capture_output=True, text=True, check=True, env={**os.environ, **asked})
    assert done.stdout == "plain,tables\n"


# --- ingest


def test_ingest_says_what_it_read_and_twice_changes_nothing(run: Run, place: Path) -> None:
    first = run("ingest", POSTGRES, "--format", "json")
    assert first.code == 0
    assert first.json["records"] == {"read": 582, "new": 582, "known": 0, "rejected": 0}
    before = run("history", "orders", "--format", "json").out
    second = run("ingest", POSTGRES, "--format", "json")
    assert second.json["records"] == {"read": 582, "new": 0, "known": 582, "rejected": 0}
    assert second.json["unchanged"]["files"] == 1
    assert "not read again" in run("ingest", POSTGRES).out
    forced = run("ingest", POSTGRES, "--again", "--format", "json")
    assert forced.json["records"] == second.json["records"]
    assert forced.json["unchanged"] == {"files": 0, "since_ms": None}
    assert run("history", "orders", "--format", "json").out == before


def test_ingest_finds_the_registry_beside_avro(run: Run) -> None:
    done = run("ingest", AVRO, "--format", "json")
    assert done.code == 0
    assert done.json["records"]["rejected"] == 0
    assert done.json["tables"]


def test_ingest_reads_standard_input(place: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "ingest", "-", "--format", "json"],
        input="\n".join(lines(40)).encode(),
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["records"]["read"] == 40


def test_a_gap_that_is_filled_later_is_told_before_and_after(run: Run, place: Path) -> None:
    """What lies between is read later: versions get other numbers, and who looks is told of both."""
    records = [json.loads(line) for line in lines(1000)]
    gone = [r for r in records if r["topic"] == "shopdb.shop.orders" and 50 < r["offset"] < 90]
    rest = [r for r in records if r not in gone]
    for name, some in (("rest", rest), ("all", records)):
        text = "\n".join(map(json.dumps, some))
        (place / f"{name}.jsonl").write_text(text, encoding="utf-8")
    run("ingest", "rest.jsonl")
    (hole,) = run("history", "orders", "--format", "json").json["unread"]
    assert (hole["topic"], hole["first"], hole["last"]) == ("shopdb.shop.orders", 51, 89)
    assert "Offsets that were never read: versions may begin there" in run("history", "orders").out
    before = {v["version"]: v["id"] for v in run("history", "orders", "--format", "json").json["versions"]}
    told = run("ingest", "all.jsonl", "--format", "json").json["renumbered"]
    after = run("history", "orders", "--format", "json").json
    now = {v["version"]: v["id"] for v in after["versions"]}
    assert told
    assert all(before[one["was"]] == one["id"] == now[one["now"]] for one in told)
    assert after["unread"] == []
    assert [(one["was"], one["now"]) for one in after["renumbered"]] == [
        (one["was"], one["now"]) for one in told
    ]


def test_closed_standard_input_is_said_in_one_line(place: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{PROGRAM} ingest - <&-"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stderr.splitlines()[0] == "error: -: standard input is closed"


@pytest.mark.parametrize("stream", ["", " ", "a\nb", "\x1b[31m", "\udcff", "x" * 256])
def test_a_stream_has_a_name_that_can_be_shown(run: Run, place: Path, stream: str) -> None:
    done = run("ingest", POSTGRES, "--stream", stream)
    assert done.code == 2
    assert "stream" in done.err.splitlines()[0]
    assert not (place / "schemaman.db").exists()


def test_a_stream_may_be_called_as_people_call_things(run: Run, place: Path) -> None:
    for stream in ('dev "é漢" 100%', "a:b", "a.b@c", "{x}"):
        assert run("ingest", POSTGRES, "--stream", stream).code == 0
        listed = run("tables", "--stream", stream, "--format", "json").json["tables"]
        assert len(listed) == 13
        assert run("show", f"{listed[0]['id']}@1").code == 0
        assert run("history", listed[0]["id"]).code == 0


def test_an_empty_file_is_nothing_and_no_error(run: Run, place: Path) -> None:
    (place / "empty.jsonl").touch()
    done = run("ingest", "empty.jsonl", "--format", "json")
    assert done.code == 0
    assert done.json["records"]["read"] == 0


def test_a_missing_file_is_said(run: Run) -> None:
    done = run("ingest", "missing.jsonl")
    assert done.code == 3
    assert "missing.jsonl: no such file" in done.err


@pytest.mark.parametrize(
    ("bad", "reason"), [('{"topic": "t", "partit', "not JSON"), ("what is this", "not JSON")]
)
def test_a_bad_line_is_set_aside_and_the_others_are_read(
    run: Run, place: Path, bad: str, reason: str
) -> None:
    good = lines(40)
    (place / "records.jsonl").write_text("\n".join([*good[:20], bad, *good[20:]]))
    done = run("ingest", ".", "--format", "json")
    assert done.code == 0
    assert done.json["records"] == {"read": 40, "new": 40, "known": 0, "rejected": 1}
    assert "warning: 1 record could not be decoded" in done.err
    (reject,) = run("rejects", "--format", "json").json["rejects"]
    assert reason in reject["reason"]
    assert reject["offset"] == 21


def test_more_rejects_than_allowed_are_an_outage(run: Run, place: Path) -> None:
    (place / "records.jsonl").write_text("\n".join([*lines(5), "x", "y"]))
    done = run("ingest", ".", "--max-rejects", "1")
    assert done.code == 3
    assert "more than --max-rejects 1" in done.err
    assert run("ingest", ".", "--max-rejects", "1").code in (0, 3)


def test_nothing_readable_is_an_outage(run: Run, place: Path) -> None:
    (place / "noise.jsonl").write_text("one\ntwo\n")
    done = run("ingest", "noise.jsonl")
    assert done.code == 3
    assert "no record in noise.jsonl could be decoded" in done.err


def test_an_avro_id_that_the_registry_does_not_know_is_a_reject(run: Run, place: Path) -> None:
    (place / "registry.json").write_text("[]")
    shutil.copy(AVRO / "records.parquet", place / "records.parquet")
    done = run("ingest", ".")
    assert done.code == 3
    rejects = run("rejects", "--format", "json").json["rejects"]
    assert rejects
    assert all("registry" in r["reason"] for r in rejects)


def test_a_store_that_is_no_database_keeps_its_bytes(run: Run, place: Path) -> None:
    (place / "schemaman.db").write_text("my precious notes")
    done = run("ingest", POSTGRES)
    assert done.code == 3
    assert len(done.err.splitlines()) <= 2
    assert (place / "schemaman.db").read_text() == "my precious notes"


# --- looking


JSON_COMMANDS = (
    ("tables", ["tables"]),
    ("history", ["history", "orders"]),
    ("show", ["show", "orders@3"]),
    ("blame", ["blame", "orders"]),
    ("impact", ["impact", "orders"]),
    ("diff", ["diff", "orders"]),
    ("diff", ["diff", "orders@1", "orders@latest"]),
    ("names", ["names"]),
    ("check", ["check", "orders", "--against", "orders@1"]),
    ("rules", ["rules"]),
    ("rejects", ["rejects"]),
    ("report", ["report", "orders", "stock"]),
    ("config", ["config", "show"]),
)


@pytest.mark.parametrize(("name", "words"), JSON_COMMANDS)
def test_json_is_valid_against_its_published_schema(
    run: Run, filled: Path, name: str, words: list[str]
) -> None:
    done = run(*words, "--format", "json")
    schema = run("schema", name)
    assert schema.code == 0
    assert schema.json == schemas.read_schema(name)
    Draft202012Validator(schema.json).validate(done.json)


@pytest.mark.parametrize(("name", "words"), JSON_COMMANDS)
@pytest.mark.parametrize("format", ["text", "markdown"])
def test_what_people_read_goes_to_stdout_alone(
    run: Run, filled: Path, name: str, words: list[str], format: str
) -> None:
    done = run(*words, "--format", format)
    assert done.code in (0, 1)
    assert done.out
    assert done.err == ""
    assert "\x1b" not in done.out


def test_a_table_answers_to_any_end_of_its_name(run: Run, filled: Path) -> None:
    whole = run("history", "shopdb.shop.shop.orders", "--format", "json")
    assert run("history", "orders", "--format", "json") == whole
    assert run("history", "main:shop.orders", "--format", "json") == whole


def test_an_ambiguous_name_lists_the_candidates(run: Run, filled: Path) -> None:
    done = run("history", "suppliers")
    assert done.code == 2
    assert "shop.suppliers" in done.err
    assert "inventory.suppliers" in done.err


def test_a_table_without_history_is_an_outage(run: Run, filled: Path) -> None:
    done = run("check", "ordes", "--against", "orders@1")
    assert done.code == 3
    assert "shopdb.shop.shop.orders" in done.err


def test_another_stream_is_another_table(run: Run, filled: Path) -> None:
    assert run("history", "orders", "--stream", "dev").code == 3
    assert run("tables", "--stream", "dev", "--format", "json").json["tables"] == []


@pytest.mark.parametrize("ref", ["orders@3", "orders@latest", "orders@-1", "orders@lsn:0/19D8AE8"])
def test_show_takes_every_way_to_name_a_version(run: Run, filled: Path, ref: str) -> None:
    done = run("show", ref, "--format", "json")
    assert done.code == 0
    assert done.json["table"] == "shopdb.shop.shop.orders"


def test_show_by_time_and_by_id(run: Run, filled: Path) -> None:
    versions = run("history", "orders", "--format", "json").json["versions"]
    third = versions[2]
    by_id = run("show", f"orders@id:{third['id']}", "--format", "json")
    assert by_id.json["id"] == third["id"]
    assert run("show", "orders@2020-01-01T00:00Z").code in (2, 3)
    assert run("show", "orders@2030-01-01T00:00Z", "--format", "json").json["version"] == len(versions)
    assert run("show", "orders@2030-01-01").code == 2


def test_a_shown_structure_can_be_read_again(run: Run, filled: Path) -> None:
    (filled / "orders.ddl").write_text(run("show", "orders", "--as", "columns").out)
    assert run("diff", "orders", "file:orders.ddl", "--format", "json").json["changes"] == []
    (filled / "orders.avsc").write_text(run("show", "orders", "--as", "avro").out)
    assert run("show", "file:orders.avsc").code == 0


def test_diff_is_always_clean(run: Run, filled: Path) -> None:
    assert run("diff", "orders@1", "orders@latest").code == 0
    assert run("diff", "orders@1", "orders@1", "--format", "json").json["changes"] == []


def test_a_table_that_never_changed_has_an_empty_diff(run: Run, filled: Path) -> None:
    done = run("diff", "all_types")
    assert (done.code, done.err) == (0, "")
    assert "shopdb.shop.shop.all_types@1 is the only version" in done.out
    found = run("diff", "all_types", "--format", "json").json
    assert found["changes"] == []
    Draft202012Validator(schemas.read_schema("diff")).validate(found)


def test_two_tables_are_compared_by_names(run: Run, filled: Path) -> None:
    found = run("diff", "orders@1", "customers@1", "--format", "json").json
    assert found["changes"]
    assert {"rename-column"}.isdisjoint(c["change"] for c in found["changes"])
    assert "stated" not in {c["grade"] for c in found["candidates"]}
    assert not [c for c in found["changes"] if c["path"] == ["id"] and c["change"] == "change-attribute"]


def test_two_streams_with_one_structure_do_not_differ(run: Run, filled: Path) -> None:
    # the second stream begins later, so that its history numbers the columns otherwise
    with gzip.open(POSTGRES / "records.ndjson.gz", "rt", encoding="utf-8") as file:
        every = file.read().splitlines()
    (filled / "late.ndjson").write_text("\n".join(every[len(every) // 2 :]))
    assert run("ingest", "late.ndjson", "--stream", "late").code == 0
    shown = [
        run("show", ref, "--format", "json").json
        for ref in ("main:customers@latest", "late:customers@latest")
    ]
    assert shown[0]["columns"] != shown[1]["columns"]
    found = run("diff", "main:customers@latest", "late:customers@latest", "--format", "json").json
    assert found["changes"] == found["candidates"] == []


def test_names_of_a_recording_with_awkward_names(run: Run) -> None:
    run("ingest", AVRO)
    found = run("names", "--format", "json").json
    rules = {c["rule"] for t in found["tables"] for c in t["columns"]}
    assert rules <= {"none", "avro", "avro_unicode", "scrubbed", "misread", "other", None}
    assert "none" in rules


def test_a_report_is_written_whole_and_only_there(run: Run, filled: Path) -> None:
    done = run("report", "--format", "html", "-o", "out/report.html")
    assert done.code == 0
    assert done.out == ""
    page = (filled / "out" / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "orders" in page
    assert sorted(p.name for p in filled.iterdir()) == ["out", "schemaman.db"]


# --- judging


def test_check_fails_by_severity(run: Run, filled: Path) -> None:
    against = ["orders", "--against", "orders@1"]
    assert run("check", *against).code == 1
    assert run("check", *against, "--fail-on", "off").code == 0
    assert run("check", "orders", "--against", "orders@latest").code == 0


def test_check_for_github_is_annotations(run: Run, filled: Path) -> None:
    done = run("check", "orders", "--against", "orders@1", "--format", "github")
    assert done.code == 1
    assert all(re.match(r"::(error|warning|notice) title=", line) for line in done.out.splitlines()[:-1])


def test_readers_and_overrides_decide_what_is_grave(run: Run, filled: Path) -> None:
    assert run("check", "orders", "--against", "orders@1").code == 1
    (filled / "schemaman.toml").write_text('readers = ["merge-key"]\n')
    assert run("check", "orders", "--against", "orders@1").code == 0
    (filled / "schemaman.toml").write_text('[rules]\ncolumn-droped = "note"\n')
    done = run("check", "orders", "--against", "orders@1")
    assert done.code == 2
    assert "column-dropped" in done.err


def test_without_a_baseline_the_gate_does_not_guess(run: Run, filled: Path) -> None:
    done = run("check", "--source")
    assert done.code == 2
    assert "there is no baseline" in done.err


@pytest.fixture
def repository(filled: Path) -> Path:
    """The working folder as a git repository whose snapshots accept an early version of orders."""
    for words in (
        ["init", "-q", "-b", "main"],
        ["config", "user.email", "a@b.c"],
        ["config", "user.name", "a"],
    ):
        subprocess.run(["git", *words], check=True)
    return filled


def commit(message: str) -> None:
    subprocess.run(["git", "add", "schemas"], check=True)
    subprocess.run(["git", "commit", "-q", "-m", message], check=True)


def test_the_gate_compares_with_the_snapshots_in_git(run: Run, repository: Path) -> None:
    assert run("snapshot").code == 0
    commit("accept everything")
    done = run("check", "--source", "--format", "json")
    assert done.code == 0
    assert done.json["findings"] == []
    assert run("accept", "orders@1").code == 0
    commit("an early state of orders")
    done = run("check", "--source", "--format", "json")
    assert done.code == 1
    assert {f["table"] for f in done.json["findings"]} == {"shopdb.shop.shop.orders"}
    assert {f["file"] for f in done.json["findings"]} == {"schemas/shopdb.shop.shop.orders.json"}
    assert all(f["line"] for f in done.json["findings"])
    assert run("check", "stock").code == 0
    assert run("accept", "orders").code == 0
    commit("accept orders")
    assert run("check", "--source").code == 0


def test_a_table_that_the_baseline_does_not_hold_is_said_aloud(run: Run, repository: Path) -> None:
    assert run("snapshot", "stock").code == 0
    commit("accept one table")
    done = run("check", "orders")
    assert done.code == 0
    assert "danger: no baseline  shopdb.shop.shop.orders" in done.out
    assert run("check", "orders", "--format", "json").json["unaccepted"] == ["shopdb.shop.shop.orders"]
    assert [run("check", "orders", "--fail-on", each).code for each in ("danger", "note")] == [1, 1]
    assert "no baseline" not in run("check", "--source").out


def test_snapshot_leaves_what_differs_to_accept(run: Run, repository: Path) -> None:
    run("accept", "orders@1")
    file = repository / "schemas" / "shopdb.shop.shop.orders.json"
    before = file.read_text()
    done = run("snapshot")
    assert done.code == 0
    assert file.read_text() == before
    assert "these tables have changed since their snapshot: shopdb.shop.shop.orders" in done.err
    assert run("show", f"file:{file}", "--format", "json").json["columns"]


def test_a_finding_is_explained(run: Run, filled: Path) -> None:
    findings = run("check", "orders", "--against", "orders@1", "--format", "json").json["findings"]
    for finding in findings:
        done = run("explain", finding["fingerprint"], "--format", "json")
        assert done.code == 0
        assert done.json["rule"]["name"] == finding["rule"]
        Draft202012Validator(schemas.read_schema("explain")).validate(done.json)
    assert run("explain", "1fffffffffffffff").code == 2


def test_a_finding_against_a_file_is_explained_by_the_printed_command(run: Run, filled: Path) -> None:
    (filled / "accepted.ddl").write_text("id INT NOT NULL, gone INT, PRIMARY KEY (id)")
    done = run("check", "orders", "--against", "file:accepted.ddl")
    assert done.code == 1
    for line in done.out.splitlines():
        if "schemaman explain " in line:
            words = split(line.partition("schemaman explain ")[2])
            assert words[1:] == ["orders", "--against", "file:accepted.ddl"]
            assert run("explain", *words).code == 0


def test_a_finding_that_is_waived_is_shown_and_fails_nothing(run: Run, filled: Path) -> None:
    check = ("check", "orders", "--against", "orders@1", "--format", "json", "--fail-on", "note")
    before = run(*check)
    assert before.code == 1
    why = ("--reason", "nobody reads it", "--owner", "ann")
    for finding in before.json["findings"]:
        assert run("waive", finding["fingerprint"], *why, "--expires", "30d").code == 0
    text = (filled / "schemaman.waivers.toml").read_text()
    after = run(*check)
    Draft202012Validator(schemas.read_schema("check")).validate(after.json)
    assert {f["status"] for f in after.json["findings"]} == {"waived"}
    assert after.json["findings"][0]["waiver"]["owner"] == "ann"
    assert after.code == (1 if after.json["remarks"] or after.json["unjudged"] else 0)
    assert f"{len(after.json['findings'])} waived" in run(*check[:4]).out
    again = before.json["findings"][0]["fingerprint"]
    assert "already contains this waiver" in run("waive", again, *why, "--expires", "30d").err
    (filled / "schemaman.waivers.toml").write_text(re.sub(r"expires = .*", "expires = 2020-01-01", text))
    ended = run(*check).json
    assert {f["status"] for f in ended["findings"]} == {"open"}
    assert all("expired on 2020-01-01" in remark for remark in ended["waiver_remarks"])
    assert len(ended["waiver_remarks"]) == len(ended["findings"])
    assert "the finding counts again" in run(*check[:4]).out
    assert run("waive", again, *why, "--expires", "2020-01-01").code == 2
    assert run("waive", "1fffffffffffffff", *why, "--expires", "30d").code == 2
    assert run("waive", again, "--reason", " ", "--owner", "ann", "--expires", "30d").code == 2


@pytest.mark.parametrize("name", RULES.names())
def test_a_rule_tells_its_page(run: Run, name: str) -> None:
    done = run("rules", name)
    assert done.code == 0
    for part in ("What happened", "Why it hurts", "What to do"):
        assert part in done.out


def test_a_rename_that_is_decided_is_no_question_any_more(run: Run, filled: Path) -> None:
    suspected = "column-rename-suspected"
    against = ["check", "customers", "--against", "customers@1", "--format", "json"]
    assert suspected in {f["rule"] for f in run(*against).json["findings"]}
    assert run("decide", "rename", "customers", "phone", "phone_number").code == 0
    rules = {f["rule"] for f in run(*against).json["findings"]}
    assert suspected not in rules
    assert "column-renamed" in rules
    found = run("diff", "customers@4", "customers@5", "--format", "json").json["changes"]
    renames = [(c["old"], c["new"]) for c in found if c["change"] == "rename-column"]
    assert renames == [("phone", "phone_number")]
    assert {"add-column", "drop-column"}.isdisjoint(c["change"] for c in found)


def test_a_decision_that_fits_nothing_is_refused(run: Run, filled: Path) -> None:
    assert run("decide", "rename", "customers", "email", "nonsense").code == 2
    assert run("decide", "rename", "customers", "email").code == 2
    assert run("decide", "confirm", "customers", "nullable:nonsense").code == 2
    assert not (filled / "schemaman.decisions.toml").exists()


def test_members_inside_of_what_was_renamed_are_decided(run: Run, place: Path) -> None:
    """Of a column or of a member, once the file says that it was."""
    records: list[str] = []
    for at, (s, p, a) in enumerate((("u", "p", "a"), ("t", "q", "b"))):
        inner = struct(None, **{p: struct(None, **{a: node("int32")})})
        told = event(struct("R", id=node("int32"), **{s: inner}), lsn=at + 1)
        told["payload"]["after"] = {"id": 1, s: {p: {a: 1}}}
        record = {"topic": "srv.public.t", "partition": 0, "offset": at, "key": None}
        records.append(json.dumps({**record, "payload": json.dumps(told)}))
    (place / "nested.jsonl").write_text("\n".join(records), encoding="utf-8")
    assert run("ingest", "nested.jsonl").code == 0
    pairs = [("u", "t"), ("u.p", "t.q"), ("u.p.a", "t.q.b")]
    for known, pair in enumerate(pairs):
        for early in pairs[known + 1 :]:
            assert run("decide", "rename", "t", *early).code == 2
        assert run("decide", "rename", "t", *pair).code == 0
    assert "already contains this answer" in run("decide", "rename", "t", *pairs[-1]).err
    assert "contains the opposite answer" in run("decide", "not-rename", "t", *pairs[1]).err


def test_an_answer_that_means_nothing_is_not_written(run: Run, filled: Path) -> None:
    done = run("decide", "rename", "customers@5", "foo", "bar")
    assert done.code == 2
    assert "it drops: phone; it adds: phone_number" in done.err
    assert run("decide", "not-rename", "customers@1", "phone", "phone_number").code == 2
    done = run("decide", "confirm", "orders@latest", "nullable:nonsense")
    assert done.code == 2
    assert "provisional facts: nullable:channel" in done.err
    assert run("decide", "confirm", "orders@1", "nullable:channel").code == 2
    assert not (filled / "schemaman.decisions.toml").exists()


def test_the_contrary_of_an_answer_is_refused_with_its_line(run: Run, filled: Path) -> None:
    answer = ("customers@5", "phone", "phone_number")
    assert run("decide", "not-rename", *answer).code == 0
    path = filled / "schemaman.decisions.toml"
    text = path.read_text()
    assert re.search(r'^began = "shopdb\.shop\.customers\[0\]@\d+"$', text, re.MULTILINE)
    assert "already contains this answer" in run("decide", "not-rename", *answer).err
    done = run("decide", "rename", *answer)
    assert done.code == 2
    assert "line 2, entry 1 of [[not-rename]]" in done.err
    assert path.read_text() == text


def test_a_confirmed_fact_is_certain(run: Run, filled: Path) -> None:
    before = run("history", "orders", "--format", "json").json["versions"][-1]
    assert before["unconfirmed"] == ["nullable:channel"]
    assert run("decide", "confirm", "orders", "nullable:channel").code == 0
    after = run("history", "orders", "--format", "json").json["versions"][-1]
    assert after["unconfirmed"] == []
    assert after["status"] == "confirmed"


# --- settings, store


def test_config_shows_policies_and_projections_and_where_they_stand(run: Run, tmp_path: Path) -> None:
    (tmp_path / "schemaman.toml").write_text(
        '[[policy]]\ntables = "billing.*"\ndrop-column = "approve"\n'
        '[[projection]]\ntargets = "delta"\njson = "variant"\nmetadata = ["op"]\n'
    )
    told = {s["name"]: s for s in run("config", "show", "--format", "json").json["settings"]}
    assert told["policies"]["value"] == [
        {"changes": ["drop-column"], "level": "approve", "tables": ["billing.*"], "targets": ["*"]}
    ]
    assert told["projections"]["value"] == [
        {"json": "variant", "metadata": {"op": "_op"}, "tables": ["*"], "targets": ["delta"]}
    ]
    assert told["projections"]["origin"].endswith("schemaman.toml")
    shown = run("config", "show").out
    assert "drop-column = approve for billing.* to *" in shown
    assert "json = variant, metadata = op=_op for * to delta" in shown


def test_settings_say_where_they_come_from(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "pyproject.toml").write_text('[tool.schemaman]\nstore = "postgresql://me:secret@host/db"\n')
    monkeypatch.setenv("SCHEMAMAN_ENGINE", "local")
    done = run("config", "show", "--stream", "prod", "--format", "json")
    told = {s["name"]: s for s in done.json["settings"]}
    assert told["stream"]["origin"] == "--stream"
    assert told["engine"] == {"name": "engine", "value": "local", "origin": "SCHEMAMAN_ENGINE"}
    assert told["store"]["origin"] == str(place / "pyproject.toml")
    assert "secret" not in done.out
    assert told["fail_on"]["origin"] == "default"


def test_secrets_of_spark_are_not_printed(run: Run, place: Path) -> None:
    (place / "schemaman.toml").write_text('[spark]\n"spark.hadoop.fs.s3a.secret.key" = "hush"\na = "b"\n')
    for format in ("text", "json"):
        done = run("config", "show", "--format", format)
        assert "hush" not in done.out
        assert "***" in done.out


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://anna:s3cr3t@127.0.0.1:{port}/db",
        "postgresql://anna:s3/cr3t@127.0.0.1:{port}/db",
        "postgresql://anna@127.0.0.1:{port}/db?sslmode=disable&password=s3cr3t",
    ],
)
def test_a_password_of_the_store_is_neither_taken_as_a_flag_nor_printed(
    run: Run, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    address = address.format(port=free_port())
    done = run("tables", "--store", address)
    assert done.code == 2
    assert "PGPASSWORD" in done.err
    monkeypatch.setenv("SCHEMAMAN_STORE", address)
    shown = run("config", "show")
    tried = run("tables")
    assert tried.code == 3
    assert "cannot be reached" in tried.err
    assert "cr3t" not in "".join((done.err, shown.out, tried.out, tried.err))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://anna:s3cr3t@127.0.0.1:{port}/db",
        "postgresql://anna:s3cr3t@127.0.0.1:{port}/db?no_such=1",
        "mysql://anna:s3cr3t@127.0.0.1/db",
        "anna:s3cr3t@127.0.0.1/db",
    ],
)
def test_no_traceback_shows_the_password_of_the_store(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("SCHEMAMAN_STORE", address.format(port=free_port()))
    for format in ("text", "json"):
        assert "s3cr3t" not in run("config", "show", "--format", format).out
    command = [PROGRAM, "ingest", str(POSTGRES), "--debug"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "s3cr3t" not in done.stdout + done.stderr
    assert "Traceback" in done.stderr
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("registry", "says"),
    [
        ("ftp://me:hush@host", "ftp://me:***@host: not the address of a schema registry"),
        ("me:hush@host:8081", "not the address of a schema registry"),
        ("http://", "http://: not the address of a registry"),
        ("http://me:hush@host", "an address must not contain a user or a password"),
    ],
)
def test_an_address_that_no_registry_has_is_a_wrong_question(
    run: Run, place: Path, registry: str, says: str
) -> None:
    done = run("ingest", AVRO, "--registry", registry)
    assert done.code == 2
    assert says in done.err
    assert "hush" not in done.err
    assert "hint: " in done.err
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("words", [["show", "file:{}"], ["apply", "{}"], ["diff", "file:{}", "file:{}"]])
def test_a_file_that_cannot_be_read_is_said_with_a_hint(run: Run, place: Path, words: list[str]) -> None:
    (place / "folder").mkdir()
    (place / "full" / "below").mkdir(parents=True)
    for name in ("b.avsc", "a.avsc"):
        (place / "full" / name).write_text("{}")
    (place / "bytes").write_bytes(b"\xff\xfe\x00")
    for name, hint in (
        ("missing", "check the spelling"),
        ("bytes/in", "check the spelling"),
        ("folder", "name a file in it: folder/…"),
        ("full", "name a file in it: full/a.avsc, full/b.avsc"),
        ("bytes", "use a text file in UTF-8"),
        ("x" * 300, "use a text file"),
    ):
        done = run(*(word.format(name) for word in words))
        assert done.code == 3
        assert done.err.startswith(f"error: {name}: ")
        assert f"  hint: {hint}" in done.err


@pytest.mark.parametrize("stream", ["file", "git", "lake", "registry"])
def test_a_table_of_a_stream_named_like_a_scheme_is_shown_by_its_printed_name(run: Run, stream: str) -> None:
    assert run("ingest", POSTGRES, "--stream", stream).code == 0
    for listed in run("tables", "--format", "json").json["tables"]:
        assert run("show", listed["id"], "--format", "json").json["table"] == listed["id"]
        assert run("history", listed["id"]).code == 0


def test_a_store_in_postgresql_answers_as_a_file_does(run: Run, place: Path, database: str) -> None:
    address = schema_of_its_own(database)
    for store in ("sqlite:///schemaman.db", address):
        assert run("ingest", AVRO, "--store", store).code == 0
    for words in (
        ["tables", "--format", "json"],
        ["history", "orders", "--format", "json"],
        ["names", "--format", "json"],
        ["rejects", "--format", "json"],
        ["store", "check"],
    ):
        here, there = run(*words), run(*words, "--store", address)
        assert (here.code, here.out) == (there.code, there.out)
        assert here.out
    again = run("ingest", AVRO, "--store", address)
    assert "none of them new" in again.out or "0 of them new" in again.out


def test_settings_are_searched_up_to_the_root_of_the_repository(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "schemaman.toml").write_text('stream = "outside"')
    root = place / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(root / "deep" / "down")
    stream = {s["name"]: s["value"] for s in run("config", "show", "--format", "json").json["settings"]}
    assert stream["stream"] == "main"
    (root / "schemaman.toml").write_text('stream = "inside"\nstore = "sqlite:///here.db"')
    stream = {s["name"]: s["value"] for s in run("config", "show", "--format", "json").json["settings"]}
    assert stream["stream"] == "inside"
    run("ingest", POSTGRES)
    assert (root / "here.db").exists()


def test_settings_that_are_wrong_are_said_with_file_and_key(run: Run, place: Path) -> None:
    (place / "schemaman.toml").write_text("stor = 1")
    done = run("tables")
    assert done.code == 2
    assert done.err == f"error: {place}/schemaman.toml: unknown key 'stor'\n  hint: did you mean store?\n"


@pytest.mark.parametrize(
    ("environment", "option", "coloured"),
    [({}, "always", True), ({}, "auto", False), ({"NO_COLOR": "1"}, "always", False), ({}, "never", False)],
)
def test_colour_is_asked_for_and_no_color_wins(
    run: Run,
    filled: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    option: str,
    coloured: bool,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in run("history", "orders", "--color", option).out) == coloured


def test_a_store_is_checked_and_folded_again(run: Run, filled: Path) -> None:
    before = run("history", "orders", "--format", "json").out
    assert run("store", "check").code == 0
    assert run("store", "rebuild").code == 0
    assert run("history", "orders", "--format", "json").out == before


def test_a_plan_without_a_target_is_a_usage_error(run: Run, filled: Path) -> None:
    for words in (["plan"], ["plan", "orders", "--target", "delta"], ["plan", "--target", "nowhere"]):
        done = run(*words)
        assert done.code == 2
        assert "hint:" in done.err


def test_drift_without_a_migration_is_not_clean(run: Run, filled: Path) -> None:
    done = run("drift")
    assert done.code == 3
    assert "no migration" in done.err


def test_a_demo_takes_no_folder_that_is_not_its_own(run: Run, place: Path) -> None:
    (place / "mine").mkdir()
    (place / "mine" / "notes.txt").write_text("keep")
    done = run("demo", "--dir", "mine")
    assert done.code == 2
    assert (place / "mine" / "notes.txt").read_text() == "keep"


def examples() -> Iterator[str]:
    yield from (e for name in COMMANDS.names() for e in getattr(COMMANDS.get(name), "examples", ()))


def test_no_example_stands_twice() -> None:
    told = list(examples())
    assert len(told) == len(set(told))


def test_a_table_that_is_not_as_promised_is_partly_applied() -> None:
    missing = diff(parse_columns("id INT, n INT"), parse_columns("id INT"))
    assert exit_code_of_run("applied", (), ()) == exit_code_of_plan(()) == 0
    assert exit_code_of_run("applied", missing, ()) == 5
    assert exit_code_of_run("refused", (), ()) == 1
    assert exit_code_of_run("applied", (), ("a change",)) == exit_code_of_plan(("a change",)) == 1
