"""Commands that findings print do what they say when a shell runs them, whatever names they hold."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.model.printable import escape_invisible
from schemaman.model.shell import build_command, join_words
from tests.cases.connector import INT, LONG, TEXT, Connector
from tests.cli.test_check_source import commit, read
from tests.support.command_line import Run, place, run

__all__ = ["place", "run"]

HOSTILE = (
    "$(touch pwned)",
    "a`touch pwned`b",
    "it's",
    "-x",
    "two\nlines",
    "100%\\n",
    "; touch pwned #",
    "ä\u202eb",
)
WAIVED = ("--reason", "known", "--owner", "ann", "--expires", "5d")


def split_by_shell(line: str) -> list[str]:
    """The words that a real shell passes to `schemaman`."""
    function = "schemaman() { for word; do printf '%s\\0' \"$word\"; done; }\n"
    done = subprocess.run(["sh", "-c", function + line], capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout.decode().split("\0")[:-1]


def list_printed(text: str) -> list[str]:
    """The commands behind `more`, one line each."""
    return [line.partition("more ")[2].strip() for line in text.splitlines() if line.startswith("    more ")]


def test_a_shell_reads_the_words_back() -> None:
    words = (*HOSTILE, "", " ", "end\n", "\x1b[31m")
    assert split_by_shell(join_words(("schemaman", *words))) == [*words]
    assert split_by_shell(build_command(("decide", "rename"), HOSTILE)) == [
        "decide",
        "rename",
        "--",
        *HOSTILE,
    ]


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_a_printed_word_has_no_invisible_character(word: str) -> None:
    line = join_words([word])
    assert word.endswith("\n") or escape_invisible(line) == line


@pytest.mark.parametrize("table", ["o'r $(touch pwned) `x`", "-t"])
def test_every_command_of_a_check_of_the_source_runs(run: Run, place: Path, table: str) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=place, check=True)
    (place / ".gitignore").write_text("*.db*\n")
    connector = Connector()
    connector.rows({"id": INT, **dict.fromkeys(HOSTILE, LONG)}, table=table)
    read(connector.records)
    assert run("snapshot", "-q").code == 0
    commit(place)
    connector.records.clear()
    # One column has another type, one another name; the others are gone.
    connector.rows({"id": INT, HOSTILE[0]: TEXT, "new $(touch pwned)": LONG}, table=table)
    read(connector.records)
    store = ("--store", "sqlite:///schemaman.db")
    findings = run("check", "--source", *store, "--format", "json").json["findings"]
    found = {c for f in findings for c in f["commands"]}
    assert {tuple(split_by_shell(c)[1:3]) for c in found} == {store}
    assert {c for f in findings for fix in f["fixes"] for c in f["commands"] if fix.endswith(c)} == found
    printed = list_printed(run("check", "--source", *store).out)
    assert len(printed) == len(findings) > 3
    for line in printed:
        words = split_by_shell(line)
        assert "--store" in words
        assert run(*words).code == 0, line
    commands = [command for finding in findings for command in finding["commands"]]
    assert commands
    for command in commands:
        words = split_by_shell(command)
        (place / "schemaman.decisions.toml").unlink(missing_ok=True)
        done = run(*words)
        expected = (2, "NEW_NAME") if words[-1] == "NEW_NAME" else (0, "")
        assert (done.code, expected[1] in done.err) == (expected[0], True), (command, done)
    for finding in findings:
        again = split_by_shell(next(line for line in printed if finding["fingerprint"] in line))
        assert run("waive", *again[1:2], *WAIVED, *again[2:]).code == 0
    assert run("check", "--source").code == 0
    report = run("report", "--format", "json").json
    assert {f["status"] for t in report["tables"] for f in t["findings"]} == {"waived"}
    assert "waived   until" in run("report").out
    assert not (place / "pwned").exists()


@pytest.mark.parametrize("name", ["-n $(touch pwned)`x`.sql", "it's two\nlines.sql"])
def test_every_command_of_a_check_of_files_runs(run: Run, place: Path, name: str) -> None:
    (place / "old.sql").write_text("id INT, gone STRING, n BIGINT")
    (place / name).write_text("id INT, n INT")
    places = ("--against", "file:old.sql", "--", f"file:{name}")
    found = run("check", "--format", "json", *places).json["findings"]
    printed = list_printed(run("check", *places).out)
    assert len(printed) == len(found) > 1
    for line in printed:
        words = split_by_shell(line)
        assert run(*words).code == 0
        assert run("waive", words[1], *WAIVED, *words[2:]).code == 0
        bare = run("explain", words[1])
        assert bare.code == 3
        assert f"{words[1]} [TABLE|PATH]... [--against REF] [--base BRANCH]" in bare.err
    assert run("check", *places).code == 0
    assert not (place / "pwned").exists()
