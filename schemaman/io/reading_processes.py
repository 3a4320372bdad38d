"""Reads files with several processes: each reads parts of them, this one merges the parts in order.

Law: the chunks of a file are those that one process reads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import groupby

from schemaman.ingest.chunks import ChunkPart, build_reading
from schemaman.ingest.line_forms import LineForms
from schemaman.ingest.probe import Prober
from schemaman.io.file_parts import (
    PartReading,
    ReadingTask,
    ReadPart,
    divide_files,
    merge_read_parts,
    read_part,
)
from schemaman.io.files import File
from schemaman.io.worker_streams import stream_tasks


def read_files_in_processes(
    files: Sequence[File], reading: PartReading, jobs: int, count: Callable[[int, int], None]
) -> Generator[Iterator[tuple[int, ChunkPart]]]:
    """Reads files with `jobs` processes; gives the chunks of each file as `read_chunks` does.

    `count` is called with bytes and records that were read. The chunks of a file must be taken before the
    next file is. The schemas that stand in a file are noted before its chunks.

    Raises:
        UnreadableInput: as `read_batches`, in the turn of the file.
        CouldNotDo: a process ended early.
    """
    merging = build_reading(reading.schemas, reading.forms)

    def take(task: ReadingTask, values: Iterator[ReadPart]) -> Iterator[tuple[ReadingTask, ReadPart]]:
        for value in values:
            for id, text in value.texts:
                reading.schemas.note(id, text)
            count(value.bytes, 0 if value.part is None else value.part.read)
            yield task, value

    streams = stream_tasks(divide_files(files, reading), partial(_start_reading, reading), jobs)
    with closing(streams):
        for _, of_file in groupby(streams, key=lambda stream: stream[0].number):
            parts = (pair for task, values in of_file for pair in take(task, values))
            yield merge_read_parts(parts, merging, reading.size)


def _start_reading(reading: PartReading) -> Callable[[ReadingTask], Iterator[ReadPart]]:
    learned = LineForms(Prober(build_reading(reading.schemas, reading.forms)))
    return partial(read_part, reading=reading, learned=learned)
