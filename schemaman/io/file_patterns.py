"""Finds the files of records of a folder or a pattern."""

from __future__ import annotations

from glob import glob, has_magic
from pathlib import Path

from schemaman.errors import BadReference, UnreadableInput
from schemaman.io.files import File
from schemaman.io.folders import REGISTRY, find_kind, list_endings


def find_files(name: str) -> tuple[File, ...] | None:
    """Find the files of a folder with its subfolders, or of a pattern, in the order of their paths.

    None for the name of one file, and for a folder with a `records.*`, which stands for that file. Names that
    begin with `_` or `.` are hidden, as their writers mean it.

    Raises:
        BadReference: there are no files of records.
        UnreadableInput: a folder cannot be read.
    """
    path = Path(name)
    try:
        is_folder = path.is_dir()
        if not is_folder and (path.exists() or not has_magic(name)):
            return None
        if is_folder and any(find_kind(p.name) and p.name.startswith("records.") for p in path.iterdir()):
            return None
        found = path.rglob("*") if is_folder else map(Path, glob(name, recursive=True))  # noqa: PTH207 - any root
        files = tuple(sorted(filter(None, map(_open_file, found)), key=lambda file: file.path))
    except OSError as error:
        raise UnreadableInput(f"{name}: {error.strerror or error}") from error
    if not files:
        raise BadReference(f"{name}: there are no files of records", hint=f"known endings: {list_endings()}")
    return files


def _open_file(path: Path) -> File | None:
    """Describe a file of records; None for any other."""
    kind = find_kind(path.name)
    if kind is None or path.name.startswith(("_", ".")) or path.name == REGISTRY or not path.is_file():
        return None
    beside = path.with_name(REGISTRY)
    registry = str(beside.absolute()) if beside.is_file() else None
    return File(str(path.absolute()), *kind, registry=registry)
