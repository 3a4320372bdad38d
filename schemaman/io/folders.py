"""Finds files of records: the kind of file by its name, and the only file in a folder.

Law: of several files none is chosen; the error names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from schemaman.errors import BadReference, UnreadableInput
from schemaman.io.sink_files import is_beside_values, parse_place

REGISTRY = "registry.json"
"""The file name of a schema registry's export beside records."""

Kind = Literal["lines", "parquet", "avro"]

_CANDIDATES = 10
"""The largest number of candidates that a message names."""

_LINES = (".jsonl", ".ndjson", ".json")
_PACKED: tuple[Literal["", ".gz", ".zst"], ...] = ("", ".gz", ".zst")
_LOOSE = tuple(ending + packing for ending in (".jsonl", ".ndjson") for packing in _PACKED)


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


def list_data_files(folder: Path) -> list[Path]:
    """Lists the files of records in a folder and below it, in order.

    Parquet, Avro, `.jsonl` and `.ndjson` files are data, and so are those of Kafka Connect's sinks. Another
    `.json` file may be anything. A `records.*` belongs to a recording, which is a SOURCE of its own. Hidden
    names and names that begin with `_` are no data, as in Spark. Files of a partition are in the order of
    their offsets.
    """
    found = []
    for path in folder.rglob("*"):
        if is_data_file(path.relative_to(folder).parts) and path.is_file():
            found.append(path)
    return sort_files(found)


def is_data_file(parts: Sequence[str]) -> bool:
    """Returns whether the parts of a path below a folder are those of a data file."""
    name = parts[-1]
    is_lines = name.endswith(_LOOSE) and not name.startswith("records.")
    is_data = name.endswith((".parquet", ".avro")) or is_lines or parse_place(name) is not None
    return is_data and is_data_name(parts)


def is_data_name(parts: Sequence[str]) -> bool:
    """Returns whether no part of a path is hidden, and the file does not hold keys of another one."""
    return not any(part.startswith((".", "_")) for part in parts) and not is_beside_values(parts[-1])


def sort_files(paths: Iterable[Path]) -> list[Path]:
    """Sorts files by folder and name; those of sinks by topic, partition and offset."""
    return sorted(paths, key=lambda path: order_file(str(path.parent), path.name))


def order_file(folder: str, name: str) -> tuple[str, str, int, int, str]:
    """Returns what files are ordered by."""
    place = parse_place(name)
    if place is None:
        return (folder, "", 0, 0, name)
    return (folder, place.topic, place.partition, place.first, name)


def find_kind(name: str) -> tuple[Kind, Literal["", ".gz", ".zst"]] | None:
    """Finds the kind and the compression of a file by its name; None for other files."""
    if name.endswith(".parquet"):
        return ("parquet", "")
    if name.endswith(".avro"):
        return ("avro", "")
    for packing in _PACKED:
        if name.endswith(tuple(ending + packing for ending in _LINES)):
            return ("lines", packing)
    return None


def list_endings() -> str:
    """Lists the endings of files of records."""
    return " ".join([*(ending + packing for ending in _LINES for packing in _PACKED), ".parquet", ".avro"])
