"""Finds the file and the line of a finding in the repository."""

from __future__ import annotations

import json
import os
from pathlib import PurePath

from schemaman.compat.judge import Finding
from schemaman.errors import UsageError
from schemaman.io import git


def place_in_repository(name: str, prefix: str) -> str:
    """Return the path of a file from the root of its repository; `prefix` is that of the working folder."""
    return PurePath(os.path.normpath(PurePath(prefix) / os.path.relpath(name))).as_posix()


def find_line(text: str, finding: Finding) -> int:
    """Find the line of the column of a finding, from 1; the first line for a table or a dropped column."""
    lines = text.splitlines()
    words = [json.dumps(part, ensure_ascii=False) for part in reversed(finding.path)] + list(finding.path)
    return next((n for word in words for n, line in enumerate(lines, 1) if word in line), 1 if lines else 0)


def find_folder_prefix() -> str:
    """Find the path of the working folder in its repository; empty outside a repository."""
    try:
        return git.find_prefix()
    except UsageError:
        return ""
