"""Finds files of records: the kind of file by its name, and the only file in a folder.

Law: of several files none is chosen; the error names them.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Literal

from schemaman.errors import BadReference, UnreadableInput

REGISTRY = "registry.json"
"""The file name of a schema registry's export beside records."""

_CANDIDATES = 10
"""The largest number of candidates that a message names."""

_LINES = (".jsonl", ".ndjson", ".json")
_PACKED: tuple[Literal["", ".gz", ".zst"], ...] = ("", ".gz", ".zst")


def find_in_folder(folder: Path) -> Path:
    """Find the only file of records in a folder.

    Raises:
        BadReference: there is no file or there are several; the error names candidates.
        UnreadableInput: the folder cannot be read.
    """
    try:
        found = _list_recordings(folder)
    except OSError as error:
        raise UnreadableInput(
            f"{folder}: {error.strerror or error}", hint="give this user permission to read the folder"
        ) from error
    plain = [
        p for p in found if find_kind(p.name) and p.name in {f"records{e}" for e in list_endings().split()}
    ]
    for candidates in (plain, found):
        if len(candidates) == 1:
            return candidates[0]
    if not found:
        raise BadReference(f"{folder}: no records.* in this folder", hint=_list_candidates(folder))
    names = ", ".join(p.name for p in found)
    raise BadReference(f"{folder}: several files of records: {names}", hint="name one of them")


def _list_recordings(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.name.startswith("records.") and find_kind(p.name))


def _list_candidates(folder: Path) -> str:
    """Lists files in a folder and its subfolders that the user may have meant."""
    found: list[str] = []
    for path in sorted(folder.iterdir()):
        with suppress(OSError):
            below = [] if not path.is_dir() else [path, *(p for p in sorted(path.iterdir()) if p.is_dir())]
            found += [str(inner) for inner in below if _list_recordings(inner)]
            found += [str(path)] if path.is_file() and path.name != REGISTRY and find_kind(path.name) else []
        if len(found) > _CANDIDATES:
            return f"name one of: {', '.join(found[:_CANDIDATES])}, …"
    if found:
        return f"name {found[0]}" if len(found) == 1 else f"name one of: {', '.join(found)}"
    return f"it contains no files of records; known endings: {list_endings()}"


def find_kind(name: str) -> tuple[Literal["lines", "parquet"], Literal["", ".gz", ".zst"]] | None:
    """Finds the kind and the compression of a file by its name; None for other files."""
    if name.endswith(".parquet"):
        return ("parquet", "")
    for packing in _PACKED:
        if name.endswith(tuple(ending + packing for ending in _LINES)):
            return ("lines", packing)
    return None


def list_endings() -> str:
    """Lists the endings of files of records."""
    return " ".join([*(ending + packing for ending in _LINES for packing in _PACKED), ".parquet"])
