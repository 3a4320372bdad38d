"""`check` as a pull request runs it: real repositories, every kind of change, every kind of checkout."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from shlex import split

import pytest

from schemaman.compat.snapshots import Snapshot, build_file_name, to_text
from schemaman.model.column_list import parse_columns
from schemaman.model.schema import TableId
from tests.support.command_line import Run
from tests.support.command_line import run as ask

__all__ = ["ask"]

TABLE = TableId("shop", "", "public", "orders")
LATER = TableId("shop", "", "public", "later")
ACCEPTED = "id INT NOT NULL, name STRING, n BIGINT, PRIMARY KEY (id)"
CHANGES: dict[str, tuple[str | None, int, str]] = {
    "nothing": (ACCEPTED, 0, "no findings"),
    "nullable add": ("id INT NOT NULL, name STRING, n BIGINT, extra STRING, PRIMARY KEY (id)", 0, "pass"),
    "drop": ("id INT NOT NULL, n BIGINT, PRIMARY KEY (id)", 1, "column-dropped"),
    "rename": (
        "id INT NOT NULL, full_name STRING, n BIGINT, PRIMARY KEY (id)", 1, "column-rename-suspected"
    ),
    "narrow": ("id INT NOT NULL, name STRING, n INT, PRIMARY KEY (id)", 1, "integer-narrowed"),
    "key": ("id INT NOT NULL, name STRING NOT NULL, n BIGINT, PRIMARY KEY (id, name)", 1, "key-column-added"),
    "comment": (ACCEPTED.replace("n BIGINT", "n BIGINT COMMENT 'pieces'"), 0, "pass"),
    "table gone": (None, 1, "table-dropped"),
}  # fmt: skip
CHECKOUTS = ("plain", "subfolder", "shallow", "detached", "merge commit", "other default branch")


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.email=a@example.com", "-c", "user.name=a", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def write(folder: Path, columns: str | None, table: TableId = TABLE) -> None:
    file = folder / "schemas" / build_file_name(table)
    file.parent.mkdir(parents=True, exist_ok=True)
    if columns is None:
        file.unlink()
    else:
        file.write_text(to_text(Snapshot(table, parse_columns(columns))))


def make_repository(place: Path, inside: str, columns: str | None, main: str = "main") -> Path:
    """A repository whose branch `pr` changes the accepted state; main goes on with something else."""
    upstream = place / "upstream"
    home = upstream / inside
    home.mkdir(parents=True)
    git(upstream, "init", "-q", "-b", main)
    write(home, ACCEPTED)
    write(home, "later BIGINT", LATER)
    git(upstream, "add", ".")
    git(upstream, "commit", "-qm", "accepted")
    git(upstream, "checkout", "-qb", "pr")
    write(home, columns)
    git(upstream, "add", "-A")
    git(upstream, "commit", "-qm", "proposed", "--allow-empty")
    git(upstream, "checkout", "-q", main)
    write(home, "later INT", LATER)
    git(upstream, "add", ".")
    git(upstream, "commit", "-qm", "main goes on")
    git(upstream, "checkout", "-q", "pr")
    return upstream


def check_out(place: Path, kind: str, columns: str | None) -> Path:
    """The folder in which the job runs."""
    inside = "data/lake" if kind == "subfolder" else ""
    main = "trunk" if kind == "other default branch" else "main"
    upstream = make_repository(place, inside, columns, main)
    if kind in ("plain", "subfolder"):
        return upstream / inside
    job = place / "job"
    git(place, "clone", "-q", "--branch", main, f"file://{upstream}", "job")
    if kind == "detached":
        git(job, "checkout", "-q", "--detach", "origin/pr")
    elif kind == "merge commit":
        git(job, "checkout", "-q", "--detach", f"origin/{main}")
        git(job, "merge", "-q", "--no-ff", "-m", "merge", "origin/pr")
    elif kind == "shallow":
        git(job, "fetch", "-q", "origin", "pr")
        git(job, "checkout", "-q", "--detach", "FETCH_HEAD")
    else:
        git(job, "checkout", "-q", "-b", "pr", "origin/pr")
    return job


@pytest.mark.parametrize("kind", CHECKOUTS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_pull_request_is_checked_for_what_it_changes(
    tmp_path: Path, ask: Run, monkeypatch: pytest.MonkeyPatch, change: str, kind: str
) -> None:
    columns, code, words = CHANGES[change]
    monkeypatch.chdir(check_out(tmp_path, kind, columns))
    monkeypatch.setenv("GITHUB_BASE_REF", "trunk" if kind == "other default branch" else "main")
    done = ask("check")
    assert done.code == code, done.out + done.err
    assert words in done.out
    assert "later" not in done.out
    assert not Path("schemaman.db").exists()


def test_a_shallow_clone_is_told_what_to_fetch(
    tmp_path: Path, ask: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream = make_repository(tmp_path, "", ACCEPTED)
    git(upstream, "checkout", "-q", "main")
    job = tmp_path / "job"
    git(tmp_path, "clone", "-q", "--depth=1", "--branch", "pr", f"file://{upstream}", "job")
    monkeypatch.chdir(job)
    for variable in ({}, {"GITHUB_BASE_REF": "main"}):
        for name, value in variable.items():
            monkeypatch.setenv(name, value)
        done = ask("check")
        assert done.code == 2
        assert "fetch" in done.err


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GITHUB_BASE_REF", "trunk"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "trunk"),
        ("SYSTEM_PULLREQUEST_TARGETBRANCH", "refs/heads/trunk"),
    ],
)
def test_the_base_is_that_of_the_job(
    tmp_path: Path, ask: Run, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    columns, code, words = CHANGES["drop"]
    monkeypatch.chdir(make_repository(tmp_path, "", columns, "trunk"))
    assert ask("check").code == 2
    monkeypatch.setenv(variable, value)
    done = ask("check")
    assert (done.code, words in done.out) == (code, True)
    monkeypatch.delenv(variable)
    assert ask("check", "--base", "trunk").code == code
    assert ask("check", "schemas/", "--against", "git:trunk").code == code


def test_an_annotation_has_file_and_line(tmp_path: Path, ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_repository(tmp_path, "data/lake", CHANGES["narrow"][0]) / "data" / "lake")
    lines = ask("check", "--format", "github").out.splitlines()
    file = f"data/lake/schemas/{build_file_name(TABLE)}"
    text = (Path("schemas") / build_file_name(TABLE)).read_text().splitlines()
    number = next(n for n, line in enumerate(text, 1) if '"name": "n"' in line)
    assert lines[0].startswith(f"::error file={file},line={number},title=integer-narrowed")


def test_a_finding_of_a_branch_is_explained_and_waived(
    tmp_path: Path, ask: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_repository(tmp_path, "", CHANGES["drop"][0]))
    (finding,) = ask("check", "--format", "json").json["findings"]
    assert ask("explain", finding["fingerprint"]).code == 0
    why = ("--reason", "unread", "--owner", "ann", "--expires", "30d")
    assert ask("waive", finding["fingerprint"], *why).code == 0
    assert ask("check").code == 0
    assert ask("check", "schemas").code == 0
    Path("schemaman.waivers.toml").unlink()
    again = ask("check", "schemas", "--format", "json").json["findings"][0]
    assert ask("explain", again["fingerprint"], "schemas").code == 0


def test_other_schema_files_are_checked_too(
    tmp_path: Path, ask: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "-b", "main")
    fields = [{"name": "id", "type": "long"}]
    avro = tmp_path / "avro" / "order.avsc"
    avro.parent.mkdir()

    def write_avro(fields: object) -> None:
        avro.write_text(json.dumps({"type": "record", "name": "Order", "fields": fields}))

    write_avro(fields)
    (tmp_path / "avro" / "README.md").write_text("no schema")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    assert ask("check", "avro").code == 0
    write_avro([*fields, {"name": "n", "type": "int"}])
    assert ask("check", "avro", "--level", "FORWARD").code == 0
    done = ask("check", "avro/order.avsc", "--level", "BACKWARD", "--format", "json")
    assert done.code == 1
    assert [f["new"] for f in done.json["findings"]] == ["avro/order.avsc"]


def test_a_setting_with_a_folder_is_found_from_below(
    tmp_path: Path, ask: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream = make_repository(tmp_path, "", CHANGES["drop"][0])
    (upstream / "schemaman.toml").write_text('snapshots = "schemas"\n')
    below = upstream / "jobs" / "nightly"
    below.mkdir(parents=True)
    monkeypatch.chdir(upstream)
    assert ask("check").code == 1
    monkeypatch.chdir(below)
    monkeypatch.setenv("SCHEMAMAN_SNAPSHOTS", str(upstream / "schemas"))
    assert ask("check").code == 1


def test_a_printed_command_has_the_base_and_a_misspelt_consumer_is_named(
    tmp_path: Path, ask: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_repository(tmp_path, "", CHANGES["drop"][0], "trunk"))
    (line,) = (line for line in ask("check", "--base", "trunk").out.splitlines() if "  more " in line)
    command = line.partition("schemaman ")[2]
    assert command.endswith(" --base trunk")
    assert ask(*split(command)).code == 0
    Path("schemaman.toml").write_text('[consumers.jobs]\nkind = "spark"\ntables = ["shop.oders"]\n')
    done = ask("check", "--base", "trunk")
    assert (done.code, "[consumers.jobs] reads none of the checked tables" in done.out) == (0, True)
    Path("schemaman.toml").write_text('[consumers.jobs]\nkind = "spark"\n')
    done = ask("check", "--base", "trunk")
    assert (done.code, "reads none" in done.out) == (1, False)
