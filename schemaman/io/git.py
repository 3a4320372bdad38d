"""Reads files of a git revision, and finds the commit at which a branch left the default branch."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from schemaman.errors import BadReference, EngineUnavailable, UnreadableInput, UsageError

_HERE = Path()


def read_file(revision: str, path: str, folder: Path = _HERE) -> str:
    """Read a file at a revision; `path` is relative to `folder`, which is in the repository.

    Raises:
        UsageError: `folder` is not in a repository, or there is no such revision.
        UnreadableInput: the file does not exist at that revision, or is not UTF-8 text.
    """
    commit = resolve_revision(revision, folder)
    done = _run_git(folder, "cat-file", "blob", f"{commit}:./{path}")
    if done.returncode:
        raise UnreadableInput(
            f"revision {revision} has no file {path}", hint=f"see `git ls-tree -r --name-only {revision}`"
        )
    return _decode_text(done.stdout, f"{path} at {revision}")


def read_folder(
    revision: str, path: str, folder: Path = _HERE, *, keep: Callable[[str], bool] | None = None
) -> Mapping[str, str]:
    """Read every file below a folder at a revision, by path; empty if the folder does not exist.

    Paths are relative to the folder `path`. Symbolic links and submodules are omitted, and the files whose
    path `keep` rejects.

    Raises:
        UsageError: `folder` is not in a repository, or there is no such revision.
        UnreadableInput: a file is not UTF-8 text.
    """
    commit = resolve_revision(revision, folder)
    # Without --full-tree, a working folder below the root would be taken for a filter.
    tree = f"{commit}:./{'' if path == '.' else path}"
    listed = _run_git(folder, "ls-tree", "-r", "-z", "--full-tree", tree)
    if listed.returncode:
        return {}
    blobs: dict[str, str] = {}
    for line in listed.stdout.split(b"\0"):
        facts, _, name = line.partition(b"\t")
        if facts.startswith(b"100") and (keep is None or keep(os.fsdecode(name))):
            blobs[os.fsdecode(name)] = facts.split()[2].decode()
    bodies = _read_blobs(folder, list(blobs.values()))
    return {
        name: _decode_text(body, f"{path}/{name} at {revision}")
        for name, body in zip(blobs, bodies, strict=True)
    }


_DEFAULT_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


def find_merge_base(folder: Path = _HERE, branch: str | None = None) -> str:
    """Find the merge base of HEAD and the default branch, or of HEAD and `branch`.

    The default branch is the target of `origin/HEAD`, else the first existing one of `origin/main`,
    `origin/master`, `main` and `master`. On that branch itself the merge base is HEAD.

    Raises:
        UsageError: no repository, no commit, no such branch, or no common commit.
    """
    head, *others = _find_commits(folder, "HEAD", *_DEFAULT_BRANCHES)
    if head is None:
        resolve_revision("HEAD", folder)
    if branch:
        base = _find_branch(branch, folder)
        commit: str | None = resolve_revision(base, folder)
    else:
        known = zip(_DEFAULT_BRANCHES, others, strict=True)
        base, commit = next(((n, c) for n, c in known if c is not None), ("", None))
    if commit is None:
        raise UsageError(
            "git has no default branch here",
            hint="fetch it (fetch-depth: 0 in actions/checkout, GIT_DEPTH: 0 in GitLab), or name it: --base",
        )
    done = _run_git(folder, "merge-base", head or "", commit)
    if done.returncode:
        raise UsageError(
            f"HEAD and {base} have no common commit",
            hint="in a shallow clone, fetch the whole history: fetch-depth: 0, or git fetch --unshallow",
        )
    return done.stdout.decode().strip()


def find_file(commit: str, path: str, folder: Path = _HERE) -> str | None:
    """Find a file at a commit; None if it does not exist. Raises `UnreadableInput` if it is not UTF-8."""
    done = _run_git(folder, "cat-file", "blob", f"{commit}:./{path}")
    return None if done.returncode else _decode_text(done.stdout, f"{path} at {commit[:12]}")


def find_prefix(folder: Path = _HERE) -> str:
    """Find the path of a folder inside its repository; empty for the root. Raises `UsageError`."""
    done = _run_git(folder, "rev-parse", "--show-prefix")
    if done.returncode:
        resolve_revision("HEAD", folder)
    return os.fsdecode(done.stdout).strip("\n")


def resolve_revision(revision: str, folder: Path = _HERE) -> str:
    """Resolve a revision to the id of its commit. Raises `UsageError` as above."""
    done = _run_git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if done.returncode == 0:
        return done.stdout.decode().strip()
    if _run_git(folder, "rev-parse", "--git-dir").returncode:
        raise UsageError(
            f"{folder.absolute()} is not in a git repository",
            hint="run the command in a repository, or name a file",
        )
    hint = "fetch it, or see `git branch --all`"
    if revision == "HEAD":
        hint = "make a first commit"
    raise BadReference(f"this git repository has no revision {revision!r}", hint=hint)


def _find_branch(name: str, folder: Path) -> str:
    """Find a branch by its name on the remote, as a pull request names it, or any other revision."""
    for full in (f"origin/{name}", name):
        if _run_git(folder, "rev-parse", "--verify", "--quiet", f"{full}^{{commit}}").returncode == 0:
            return full
    if _run_git(folder, "rev-parse", "--git-dir").returncode:
        resolve_revision(name, folder)
    raise BadReference(
        f"git does not know the base {name}", hint=f"fetch it: git fetch --unshallow origin {name}"
    )


def _find_commits(folder: Path, *names: str) -> list[str | None]:
    """Find the commits of some names with one process; None for a name without one.

    Source: git cat-file, `--batch-check`, whose lines are `<id> <type> <size>` or `<name> missing`.
    """
    questions = "".join(f"{name}^{{commit}}\n" for name in names)
    done = _run_git(folder, "cat-file", "--batch-check", stdin=questions.encode())
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    found = [words[0] if words[1:2] == ["commit"] else None for words in lines]
    return found if len(found) == len(names) else [None] * len(names)


def _read_blobs(folder: Path, blobs: list[str]) -> list[bytes]:
    """Read the bytes of many blobs with one process. Source: git cat-file, BATCH OUTPUT."""
    if not blobs:
        return []
    done = _run_git(folder, "cat-file", "--batch", stdin="".join(f"{b}\n" for b in blobs).encode())
    output, at, bodies = done.stdout, 0, list[bytes]()
    for blob in blobs:
        line_end = output.find(b"\n", at)
        words = output[at:line_end].split()
        if done.returncode or line_end < 0 or words[:2] != [blob.encode(), b"blob"]:
            raise UnreadableInput(f"git cannot read its object {blob}", hint="run `git fsck`")
        start, at = line_end + 1, line_end + 2 + int(words[2])
        bodies.append(output[start : at - 1])
    return bodies


def _run_git(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(command, input=stdin, capture_output=True, check=False)
    except OSError as error:
        raise EngineUnavailable(
            f"git cannot be started: {error.strerror or error}", hint="install git"
        ) from error


def _decode_text(body: bytes, where: str) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableInput(f"{where}: not UTF-8 text ({error.reason} at byte {error.start})") from error
