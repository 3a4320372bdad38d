"""Writes and reads copies of a log as files of lines, compressed by gzip.

Laws: a file exists completely or not at all, and an earlier file stays until then. Equal logs give equal
files.
"""

from __future__ import annotations

import gzip
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from schemaman.errors import CouldNotDo, UnreadableInput
from schemaman.store import archive
from schemaman.store.archive import LogCopy

_MAGIC = b"\x1f\x8b"
_HINT = "make another copy: `schemaman store export`"


def save_copy(path: Path, lines: Iterable[str]) -> int:
    """Writes a copy; returns its number of lines.

    Raises:
        CouldNotDo: the file cannot be written; no part of it remains.
    """
    beside = path.with_name(f".schemaman-{os.getpid()}.part")
    try:
        try:
            with beside.open("xb") as file:
                count = _pack_lines(file, lines)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
            return count
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CouldNotDo(
            f"{path} cannot be written: {error.strerror or error}",
            hint="free disk space, or name another file",
        ) from error


def send_copy(stream: BinaryIO, lines: Iterable[str], where: str) -> int:
    """Writes a copy into an open stream; returns its number of lines. A truncated copy lacks its end line.

    Raises:
        CouldNotDo: the stream cannot be written; `where` names it.
    """
    try:
        count = _pack_lines(stream, lines)
        stream.flush()
    except OSError as error:
        raise CouldNotDo(
            f"{where} cannot be written: {error.strerror or error}", hint="the copy is incomplete"
        ) from error
    return count


@contextmanager
def keep_stream(stream: BinaryIO, where: str) -> Iterator[Path]:
    """Keeps the bytes of a stream, which can be read only once, in a temporary file.

    Raises:
        UnreadableInput: the stream cannot be read, or the disk is full; `where` names the stream.
    """
    with TemporaryDirectory(prefix="schemaman-") as folder:
        path = Path(folder) / "copy"
        try:
            with path.open("xb") as file:
                shutil.copyfileobj(stream, file)
        except OSError as error:
            raise UnreadableInput(
                f"{where} cannot be read: {error.strerror or error}",
                hint="TMPDIR sets the folder of the temporary file",
            ) from error
        yield path


def load_copy(path: Path, where: str = "") -> LogCopy:
    """Load the copy in a file; messages call it `where`.

    Raises:
        UnreadableInput: as `archive.read`, or the file cannot be read.
    """
    return archive.read_copy(_read_lines(path, where or str(path)), where or str(path))


def _pack_lines(file: BinaryIO, lines: Iterable[str]) -> int:
    count = 0
    # Without a name and a time in its header, equal logs give equal bytes.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
        for line in lines:
            packed.write(line.encode() + b"\n")
            count += 1
    return count


def _read_lines(path: Path, where: str) -> Iterator[str]:
    try:
        with path.open("rb") as file:
            if not file.peek(2).startswith(_MAGIC):
                raise UnreadableInput(f"{where} is not a copy of a store: it is not gzip data", hint=_HINT)
            with gzip.open(file, "rt", encoding="ascii") as text:
                yield from text
    except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError) as error:
        raise UnreadableInput(f"{where} is damaged or incomplete: {error}", hint=_HINT) from error
    except OSError as error:
        raise UnreadableInput(
            f"{where} cannot be read: {error.strerror or error}", hint="name a file from store export"
        ) from error
