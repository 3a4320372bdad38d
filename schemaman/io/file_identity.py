"""What tells a file from a changed one, without reading all of it.

A file on disk has its size, its inode, and the times of its last changes. A remote file has the tag or the
time that its file system tells. A digest of the first and the last block catches wrong times.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from schemaman.io.remote_files import is_remote, open_binary, read_facts

_BLOCK = 1 << 16
SETTLED_NS = 2_000_000_000
"""The coarsest time of a change that a usual file system keeps.

Source: Microsoft Learn, "File Times": the write time of FAT has a resolution of two seconds.
"""

_TAGS = ("ETag", "etag")
_TIMES = ("LastModified", "last_modified", "mtime", "updated", "modified")
"""Names of facts in fsspec: s3fs, adlfs and http; s3fs, adlfs, local and sftp, gcsfs, and `modified`."""


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """What tells a file from a changed one; `changed_ns` is its last change in epoch ns, if times decide."""

    text: str
    changed_ns: int | None

    def is_settled(self, at_ns: int, settled_ns: int = SETTLED_NS) -> bool:
        """Return whether a change after `at_ns` would have given the file another time.

        `settled_ns` is the difference between the times of two changes that are surely distinct.
        """
        return self.changed_ns is None or self.changed_ns + settled_ns <= at_ns


def identify_file(path: str) -> FileIdentity | None:
    """Identify a file or what is at an address; None for a pipe, and if too little is told about it.

    Raises `OSError`, and as `list_addresses`.
    """
    return _identify_remote(path) if is_remote(path) else _identify_local(path)


def find_earlier_size(path: str, identity: str) -> int | None:
    """Finds the size that a file of lines on disk had with an earlier identity, if lines were appended since.

    None in all other cases: another inode, other bytes at the ends of the earlier content, or a line that had
    no end. Raises `OSError`.
    """
    try:
        size, inode, _, _, digest = json.loads(identity)
    except (TypeError, ValueError):  # of a remote file, or of two files
        return None
    facts = Path(path).stat()
    if type(size) is not int or inode != facts.st_ino or not 0 < size < facts.st_size:
        return None
    with open_binary(path) as file:
        file.seek(size - 1)
        is_whole = file.read(1) == b"\n"
        file.seek(0)
        return size if is_whole and _digest_ends(file, size) == digest else None


def _identify_local(path: str) -> FileIdentity | None:
    facts = Path(path).stat()
    if not stat.S_ISREG(facts.st_mode):
        return None
    with open_binary(path) as file:
        digest = _digest_ends(file, facts.st_size)
    parts = (facts.st_size, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, digest)
    return FileIdentity(json.dumps(parts), max(facts.st_mtime_ns, facts.st_ctime_ns))


def _identify_remote(address: str) -> FileIdentity | None:
    facts = read_facts(address)
    size = facts.get("size")
    tag = next((facts[name] for name in _TAGS if facts.get(name)), None)
    changed_ns = next((_convert_time(facts[name]) for name in _TIMES if name in facts), None)
    if not isinstance(size, int) or (tag is None and changed_ns is None):
        return None
    if tag is not None:
        return FileIdentity(json.dumps((size, str(tag), changed_ns)), None)
    with open_binary(address) as file:
        digest = _digest_ends(file, size)
    return FileIdentity(json.dumps((size, facts.get("ino"), changed_ns, digest)), changed_ns)


def _convert_time(value: object) -> int | None:
    """Convert a time of fsspec to epoch nanoseconds; None for a text, whose form differs."""
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    return int(value * 1e9) if isinstance(value, int | float) else None


def _digest_ends(file: BinaryIO, size: int) -> str:
    """Digest the first and the last block of the first `size` bytes of a file."""
    digest = hashlib.sha256(file.read(min(_BLOCK, size)))
    if size > _BLOCK:
        begin = max(size - _BLOCK, _BLOCK)
        file.seek(begin, os.SEEK_SET)
        digest.update(file.read(size - begin))
    return digest.hexdigest()
