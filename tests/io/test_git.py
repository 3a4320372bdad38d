"""Files out of git: at a revision, from the merge base, and clear words when there is none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from schemaman.errors import BadReference, UnreadableInput, UsageError
from schemaman.io import git as gitrefs


def git(folder: Path, *arguments: str) -> str:
    settings = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *settings, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path, files: dict[str, str], message: str = "change") -> str:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    return folder


def test_a_file_at_a_revision(repository: Path) -> None:
    first = commit(repository, {"schemas/a.json": "eins\n"})
    commit(repository, {"schemas/a.json": "zwei ü\n"})
    assert gitrefs.read_file(first, "schemas/a.json", repository) == "eins\n"
    assert gitrefs.read_file("HEAD~1", "schemas/a.json", repository) == "eins\n"
    assert gitrefs.read_file("main", "schemas/a.json", repository) == "zwei ü\n"
    assert gitrefs.read_file("main", "a.json", repository / "schemas") == "zwei ü\n"


def test_a_folder_at_a_revision(repository: Path) -> None:
    commit(
        repository,
        {"schemas/a.json": "1", "schemas/dev/b c.json": "", "schemas/ü\n.json": "3\n3", "other": "x"},
    )
    (repository / "schemas" / "a.json").unlink()
    expected = {"a.json": "1", "dev/b c.json": "", "ü\n.json": "3\n3"}
    assert gitrefs.read_folder("HEAD", "schemas", repository) == expected
    assert gitrefs.read_folder("HEAD", "schemas/", repository) == expected
    assert gitrefs.read_folder("HEAD", "nothing", repository) == {}
    assert set(gitrefs.read_folder("HEAD", ".", repository)) == {"other", *(f"schemas/{n}" for n in expected)}


def test_the_merge_base_is_where_the_branch_left_the_default_one(repository: Path) -> None:
    base = commit(repository, {"a": "1"})
    git(repository, "switch", "--quiet", "--create", "feature")
    commit(repository, {"a": "2"})
    git(repository, "switch", "--quiet", "main")
    ahead = commit(repository, {"b": "1"})
    assert gitrefs.find_merge_base(repository) == ahead
    git(repository, "switch", "--quiet", "feature")
    assert gitrefs.find_merge_base(repository) == base
    assert gitrefs.find_merge_base(repository, "feature") == gitrefs.resolve_revision("HEAD", repository)


def test_the_default_branch_is_the_one_of_origin(repository: Path, tmp_path: Path) -> None:
    git(repository, "branch", "--move", "trunk")
    base = commit(repository, {"a": "1"})
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(repository), str(clone))
    git(clone, "switch", "--quiet", "--create", "feature")
    commit(clone, {"a": "2"})
    assert gitrefs.find_merge_base(clone) == base


def test_what_cannot_be_found_is_said(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(BadReference, match="HEAD"):
        gitrefs.find_merge_base(repository)
    commit(repository, {"a": "1"})
    with pytest.raises(BadReference, match="'nope'"):
        gitrefs.read_file("nope", "a", repository)
    with pytest.raises(BadReference, match="'--help'"):
        gitrefs.read_file("--help", "a", repository)
    with pytest.raises(UnreadableInput, match="HEAD has no file b"):
        gitrefs.read_file("HEAD", "b", repository)
    git(repository, "branch", "--move", "trunk")
    with pytest.raises(UsageError, match="default branch") as error:
        gitrefs.find_merge_base(repository)
    assert error.value.hint is not None
    with pytest.raises(UsageError, match="not in a git repository"):
        gitrefs.read_file("HEAD", "a", tmp_path)


def test_bytes_that_are_no_text_are_refused(repository: Path) -> None:
    (repository / "a").write_bytes(b"\xff\xfe")
    commit(repository, {})
    with pytest.raises(UnreadableInput, match="a at HEAD: not UTF-8"):
        gitrefs.read_file("HEAD", "a", repository)


def test_branches_without_a_common_commit(repository: Path) -> None:
    commit(repository, {"a": "1"})
    git(repository, "switch", "--quiet", "--orphan", "other")
    commit(repository, {"b": "1"})
    with pytest.raises(UsageError, match="no common commit"):
        gitrefs.find_merge_base(repository)
