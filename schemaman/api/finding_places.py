"""Finds the file and the line of a finding in the repository."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePath

from schemaman.api.files import read_text_if_present
from schemaman.compat.judge import Finding
from schemaman.compat.snapshots import build_file_name
from schemaman.errors import UsageError
from schemaman.io import git


def place_in_repository(name: str, prefix: str) -> str:
    """Return the path of a file from the root of its repository; `prefix` is that of the working folder."""
    return PurePath(os.path.normpath(PurePath(prefix) / os.path.relpath(name))).as_posix()


def find_line(text: str, finding: Finding) -> int:
    """Find the line of the column of a finding, from 1; the first line for a table or a dropped column."""
    lines = text.splitlines()
    names = [re.escape(json.dumps(part, ensure_ascii=False)[1:-1]) for part in reversed(finding.path)]
    # a schema inside a JSON text has escaped quotes; in DDL the name is a word of its own
    patterns = [rf'(?:name|field)\\?"\s*:\s*\\?"{name}\\?"' for name in names]
    patterns += [f'"{name}"' for name in names]
    patterns += [rf"(?<!\w){re.escape(part)}(?!\w)" for part in finding.path]
    found = (n for p in patterns for n, line in enumerate(lines, 1) if re.search(p, line))
    return next(found, 1 if lines else 0)


def place_in_snapshots(findings: Iterable[Finding], folder: Path) -> Iterator[Finding]:
    """Give findings of the store the place of their column in the accepted snapshot, if there is a file."""
    prefix = find_folder_prefix()
    texts: dict[str, str] = {}
    for finding in findings:
        path = folder / build_file_name(finding.table)
        name = str(path)
        if name not in texts:
            texts[name] = read_text_if_present(path)
        if text := texts[name]:
            place = place_in_repository(name, prefix)
            yield replace(finding, file=place, line=find_line(text, finding))
        else:
            yield finding


def find_folder_prefix() -> str:
    """Find the path of the working folder in its repository; empty outside a repository."""
    try:
        return git.find_prefix()
    except UsageError:
        return ""
