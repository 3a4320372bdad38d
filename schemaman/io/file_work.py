"""How much work it is to read files, and whether several processes can share it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from schemaman.io.files import STANDARD_INPUT, File, measure_unpacked
from schemaman.io.remote_files import is_remote

PARALLEL_FROM_BYTES = 768 * 2**20
"""The size of plain lines from which several processes read: a smaller one is read in about a second."""

_SMALL = 32 * 2**20
"""The size on disk up to which a file is small: its records are held in memory as one chunk, if they are."""

PART_BYTES = 32 * 2**20
"""The least size of a part: each parses the first records of all tables."""

_PARTS_OF_A_PROCESS = 4
"""The number of parts from which processes end at about the same time."""

_LARGEST_PART = 128 * 2**20
"""The size of a part from which a larger one saves little."""

_WORK_OF_COMPRESSED = 8
"""The bytes of plain lines that are read in the time of one byte of a compressed file, about."""


def count_cores() -> int:
    """Counts the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_worth_sharing(files: Sequence[File], shared_from: int) -> bool:
    """Returns whether several processes read files faster: they have parts, and enough work.

    `shared_from` is the work in bytes of plain lines.
    """
    if not files or not all(map(is_shareable, files)):
        return False
    has_parts = len(files) > 1 or is_divisible(files[0])
    return has_parts and sum(map(measure_work, files)) >= shared_from


def choose_part_bytes(files: Sequence[File], jobs: int) -> int:
    """Chooses from how many bytes on a part of Parquet files ends, if `jobs` processes read them.

    Of each table and partition, a part parses the first and the last record: where many tables take turns,
    small parts cost more than their lines.
    """
    share = sum(file.bytes for file in files) // (jobs * _PARTS_OF_A_PROCESS)
    return min(max(share, PART_BYTES), _LARGEST_PART)


def is_shareable(file: File) -> bool:
    """Returns whether another process can read a file as this one does: it is on a local disk."""
    return file.path != STANDARD_INPUT and not is_remote(file.path)


def is_small(file: File) -> bool:
    """Returns whether a file may be recorded together with its neighbours."""
    return file.path != STANDARD_INPUT and 0 < file.bytes <= _SMALL


def is_divisible(file: File) -> bool:
    """Returns whether a file may have several parts.

    Nothing tells where the lines of a compressed file begin before all in front of them is unpacked.
    """
    if file.kind == "lines":
        return not file.packing and (file.place is None or file.place.keys is None)
    return file.kind == "parquet"


def measure_work(file: File) -> int:
    """Measures the work of reading a file, in bytes of plain lines, about."""
    if file.kind == "lines" and not file.packing:
        return file.bytes
    return max(file.bytes * _WORK_OF_COMPRESSED, measure_unpacked(file))
