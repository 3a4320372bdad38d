"""Reads a file of lines with several processes: each reads ranges of lines, this one merges them in order.

Law: the parts are those that one process reads.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext

from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.wire_format import Forms
from schemaman.errors import CouldNotDo
from schemaman.ingest.chunks import (
    CHUNK,
    END,
    ChunkPart,
    KnownOffsets,
    build_reading,
    merge_parts,
    read_chunks,
)
from schemaman.ingest.probe import Prober
from schemaman.io.files import STANDARD_INPUT, File, read_batches
from schemaman.io.line_ranges import LineRange, split_into_ranges
from schemaman.io.remote_files import is_remote

PARALLEL_FROM_BYTES = 768 * 2**20
"""The size from which several processes read a file: a smaller one is read in about a second."""


Ranged = list[tuple[int, ChunkPart]]
"""The numbers and parts of chunks; one part for a range with an end."""


@dataclass(frozen=True, slots=True)
class RangeReading:
    """What a process needs to read ranges of a file."""

    file: File
    topic: str | None
    limit: int
    known: KnownOffsets
    schemas: SchemaLookup
    forms: Forms


def count_cores() -> int:
    """Counts the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_divisible(file: File) -> bool:
    """Returns whether ranges of a file can be read: lines that are not compressed, without a file of keys."""
    is_plain = file.kind == "lines" and not file.packing and file.path != STANDARD_INPUT
    is_plain = is_plain and not is_remote(file.path)
    has_keys = file.place is not None and file.place.keys is not None
    return is_plain and not has_keys


def read_in_processes(
    reading: RangeReading, jobs: int, count: Callable[[int, int], None], size: int = CHUNK
) -> Iterator[tuple[int, ChunkPart]]:
    """Reads a file with `jobs` processes, as `read_chunks` does with one.

    `count` is called with the bytes and the records of each range. Memory holds the ranges of one chunk.

    Raises:
        UnreadableInput: as `read_batches`.
        CouldNotDo: a process ended early.
    """

    def note(line_range: LineRange, ranged: Ranged) -> None:
        end = reading.file.bytes if line_range.end is None else line_range.end
        count(end - line_range.begin, sum(part.read for _, part in ranged))

    yield from merge_ranges(_read_ranges(reading, jobs, size, note), reading)


def merge_ranges(
    parts: Iterable[tuple[LineRange, Ranged]], reading: RangeReading
) -> Iterator[tuple[int, ChunkPart]]:
    """Merges the parts of ranges, in order, into chunks as `read_chunks` reads them."""
    merging = build_reading(reading.schemas, reading.forms)
    for chunk, group in groupby(parts, key=lambda part: part[0].chunk):
        found = list(group)
        last, later = found[-1]
        if last.end is None:
            yield from ((chunk + number, part) for number, part in later)
            return
        merged = merge_parts((part for _, ranged in found for _, part in ranged), merging)
        if merged.read or merged.unreadable or merged.refusal is not None:
            yield chunk, merged
        if merged.refusal is not None:
            return


def read_range(reading: RangeReading, prober: Prober, size: int, line_range: LineRange) -> Ranged:
    """Reads a range: one part, or the chunks up to the end of the file."""
    items = read_batches(reading.file, topic=reading.topic, limit=reading.limit, lines=line_range)
    most = size if line_range.end is None else END
    context = build_reading(reading.schemas, reading.forms)
    return list(read_chunks(items, reading.known, context, size=most, prober=prober))


def _read_ranges(
    reading: RangeReading, jobs: int, size: int, note: Callable[[LineRange, Ranged], None]
) -> Iterator[tuple[LineRange, Ranged]]:
    """Reads the ranges of a file in order, some of them in advance."""
    waiting: deque[tuple[LineRange, Future[Ranged]]] = deque()
    ranges = split_into_ranges(reading.file.path, size, reading.limit)
    pool = ProcessPoolExecutor(jobs, _choose_context(), _start_process, (reading, size))
    try:
        for line_range in ranges:
            waiting.append((line_range, pool.submit(_read_range, line_range)))
            while len(waiting) > 2 * jobs:
                yield _take_first(waiting, note)
        while waiting:
            yield _take_first(waiting, note)
    except BrokenProcessPool as error:
        raise CouldNotDo(
            "a process that reads a part of the file ended early", hint="read with one process: --jobs 1"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _take_first(
    waiting: deque[tuple[LineRange, Future[Ranged]]], note: Callable[[LineRange, Ranged], None]
) -> tuple[LineRange, Ranged]:
    line_range, future = waiting.popleft()
    ranged = future.result()
    note(line_range, ranged)
    return line_range, ranged


def _choose_context() -> BaseContext:
    """Chooses how processes start: a copy needs no imports, but only one thread may run then."""
    is_copied = sys.platform == "linux" and threading.active_count() == 1
    return get_context("fork" if is_copied else "spawn")


@dataclass(slots=True)
class _Worker:
    """What a process keeps from range to range."""

    reading: RangeReading
    prober: Prober
    size: int


@cache
def _workers() -> list[_Worker]:
    """Returns the list with the worker of this process."""
    return []


def _start_process(reading: RangeReading, size: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends the processes
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    prober = Prober(build_reading(reading.schemas, reading.forms))
    _workers()[:] = [_Worker(reading, prober, size)]


def _end_with_parent() -> None:
    """Ends this process when its parent was killed."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _read_range(line_range: LineRange) -> Ranged:
    (worker,) = _workers()
    return read_range(worker.reading, worker.prober, worker.size, line_range)
