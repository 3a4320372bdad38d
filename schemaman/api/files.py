"""Reads text files as a whole, and writes them as a whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

from schemaman.errors import CouldNotDo, UnreadableInput

_NAMED_FILES = 10
"""The largest number of files that a message names."""


def read_text(path: str | Path) -> str:
    """Read the text of a file. Raises `UnreadableInput`."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UnreadableInput(f"{path}: {_describe_fault(error)}", hint=_suggest(error, str(path))) from error


def read_lines(path: str | Path) -> Iterator[bytes]:
    """Read the lines of a file one after the other, as bytes. Raises `UnreadableInput`."""
    try:
        with Path(path).open("rb") as file:
            yield from file
    except (OSError, ValueError) as error:
        raise UnreadableInput(f"{path}: {_describe_fault(error)}", hint=_suggest(error, str(path))) from error


def read_text_if_present(path: Path) -> str:
    """Read the text of a file; empty if there is no file. Raises `UnreadableInput`."""
    return read_text(path) if path.exists() else ""


def write_text(path: Path, text: str) -> None:
    """Write a whole file or nothing. Raises `CouldNotDo`."""
    # A name of its own: two processes never write one part, and a link of that name is not followed.
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise CouldNotDo(f"{path} cannot be written: {error.strerror or error}") from error


def name_files(folder: Path) -> str:
    """Name the first files of a folder; for an empty folder the pattern of a path."""
    try:
        found = sorted(str(path) for path in folder.iterdir() if path.is_file())
    except OSError:
        found = []
    named = [*found[:_NAMED_FILES], *(["…"] if len(found) > _NAMED_FILES else [])]
    return ", ".join(named or [str(folder / "…")])


def is_present(path: Path) -> bool:
    """Whether there is a file or a folder; false for an invalid file name."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether there is a folder; false for an invalid name, which reading or writing then reports."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _describe_fault(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 text ({error.reason} at byte {error.start})"
    return str(getattr(error, "strerror", None) or error).lower()


def _suggest(error: OSError | ValueError, path: str) -> str:
    """Suggest what to do about a file that cannot be read."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return "check the spelling; paths are relative to the working folder"
        case IsADirectoryError():
            return f"name a file in it: {name_files(Path(path))}"
        case PermissionError():
            return "give this user permission to read the file"
        case _:
            return "use a text file in UTF-8"
