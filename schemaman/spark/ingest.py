"""The Spark engine: executors open and scan the sources; the driver merges, decodes and records.

Law: the log equals that of the local engine, entry by entry.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from pyspark.sql import SparkSession

from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.wire_format import AUTO, Forms
from schemaman.errors import CouldNotDo, UsageError
from schemaman.ingest.chunks import (
    CHUNK,
    ChunkPart,
    build_reading,
    merge_parts,
    merge_segments,
)
from schemaman.ingest.ingest import Intake, Summary
from schemaman.ingest.recorded_sources import SourceReading
from schemaman.io.file_work import is_small
from schemaman.io.files import RECORD_LIMIT, STANDARD_INPUT, File
from schemaman.io.kafka import Topics, list_spans
from schemaman.registry import Registry
from schemaman.spark.record_source import (
    PartScanner,
    SourcePart,
    TopicPart,
    choose_task_bytes,
    choose_task_offsets,
    pack_parts,
    pickle_tasks,
    split_files,
    split_spans,
)
from schemaman.spark.sql_errors import RAISED, make_job_failure
from schemaman.spark.task_rows import SCHEMA
from schemaman.store.offsets import Partition

Row = tuple[int, int, bytes]


@dataclass(frozen=True, slots=True)
class Destination:
    """The stream of a registry that receives records, and how their bytes are decoded.

    `schemas` must be picklable, since executors decode too. `keep_payload` is as in
    `schemaman.ingest.ingest.ingest`.
    """

    registry: Registry
    stream: str
    schemas: SchemaLookup
    keep_payload: bool = False
    forms: Forms = AUTO

    def open_intake(self) -> Intake:
        """Open an intake, which knows the offsets that the stream has now."""
        return Intake(
            self.registry, self.stream, self.schemas, keep_payload=self.keep_payload, forms=self.forms
        )


def ingest(
    spark: SparkSession,
    files: Sequence[File],
    destination: Destination,
    progress: Callable[[Summary], None] | None = None,
    size: int = CHUNK,
    limit: int = RECORD_LIMIT,
) -> Summary:
    """Read files into the history of a stream, with the result of the local engine.

    Executors must be able to open the files. Raises as `schemaman.ingest.ingest.ingest`, and:

        CouldNotDo: the Spark job failed.
        UsageError: only this process can read a source.
    """
    if any(file.path == STANDARD_INPUT for file in files):
        raise UsageError("the Spark engine cannot read standard input", hint="use --engine local")
    known = destination.open_intake().known.load_hashes()
    scanner = PartScanner((), known, destination.schemas, size, destination.forms)
    summary = Summary()

    def read_again(file: File, intake: Intake) -> Iterator[tuple[int, ChunkPart]]:
        knowing = replace(scanner, known=intake.known.load_hashes())
        (takes,) = _scan_files(spark, [file], knowing, limit)
        return enumerate(takes)

    def end_chunk(so_far: Summary) -> None:
        if progress is not None:
            progress(summary + so_far)

    reading = SourceReading(destination.open_intake, read_again, is_small, end_chunk)
    for recorded in reading.record(files, map(enumerate, _scan_files(spark, files, scanner, limit))):
        summary += recorded.summary
    return summary


def ingest_folder(
    spark: SparkSession, files: Sequence[File], destination: Destination, limit: int = RECORD_LIMIT
) -> Summary:
    """Read the files of a folder into the history as one source, in one transaction.

    The records may be in any order of files. Files whose offsets overlap are read one after the other.
    Raises as `ingest`.
    """
    most = choose_task_bytes(spark, sum(file.bytes for file in files))
    parts = [part for pieces in split_files(files, most, limit) for part in pieces]
    tasks = pack_parts(parts, most)
    done = _ingest_parts(spark, parts, tasks, destination, destination.open_intake())
    return ingest(spark, files, destination, limit=limit) if done is None else done


def ingest_topics(
    spark: SparkSession,
    source: Topics,
    options: Mapping[str, str],
    destination: Destination,
    since_ms: int | None = None,
    unread: dict[Partition, int] | None = None,
) -> Summary:
    """Read the unread records of Kafka topics into the history, in one transaction.

    Executors must reach the brokers; each task reads a range of offsets with the client options, which may be
    secret. Arguments and errors are those of `schemaman.io.kafka.read_records`, and:

        CouldNotDo: the Spark job failed.
    """
    intake = destination.open_intake()
    spans = list_spans(source, options, intake.known.ranges, since_ms, unread)
    most = choose_task_offsets(spark, sum(span.end - span.start for span in spans))
    pairs = tuple(options.items())
    parts = [TopicPart(source, span, pairs) for span in split_spans(spans, most)]
    done = _ingest_parts(spark, parts, _pack_spans(parts, most), destination, intake)
    if done is None:
        raise CouldNotDo(f"{source}: two tasks have read the same offsets", hint="run the command again")
    return done


def _ingest_parts(
    spark: SparkSession,
    parts: Sequence[SourcePart],
    tasks: Sequence[tuple[int, ...]],
    destination: Destination,
    intake: Intake,
) -> Summary | None:
    """Scan the parts of one source and record them; None if the records must be sorted first."""
    schemas, forms, known = destination.schemas, destination.forms, intake.known.load_hashes()
    scanner = PartScanner(pickle_tasks(parts, tasks), known, schemas, CHUNK, forms, is_one_source=True)
    taken = scan_segments(_run_scanner(spark, scanner), schemas, forms)
    if taken is None:
        return None
    intake.enter(taken)
    return intake.summary


def scan_segments(rows: Iterable[Row], schemas: SchemaLookup, forms: Forms) -> ChunkPart | None:
    """Merge the rows of tasks; None if the records must be sorted first."""
    ordered = sorted(rows, key=lambda row: row[:2])
    if not all(take for _, _, take in ordered):
        return None
    return merge_segments((pickle.loads(take) for _, _, take in ordered), build_reading(schemas, forms))


def _pack_spans(parts: Sequence[TopicPart], most: int) -> list[tuple[int, ...]]:
    """Pack small ranges of offsets into one task."""
    tasks: list[list[int]] = []
    room = 0
    for number, part in enumerate(parts):
        size = part.span.end - part.span.start
        if size > room:
            tasks.append([])
            room = most
        tasks[-1].append(number)
        room -= size
    return [tuple(task) for task in tasks]


def _scan_files(
    spark: SparkSession, files: Sequence[File], scanner: PartScanner, limit: int
) -> list[list[ChunkPart]]:
    """Scan each file, chunk by chunk."""
    most = choose_task_bytes(spark, sum(file.bytes for file in files))
    pieces = [(n, part) for n, split in enumerate(split_files(files, most, limit)) for part in split]
    parts = [part for _, part in pieces]
    rows = _run_scanner(spark, replace(scanner, tasks=pickle_tasks(parts, pack_parts(parts, most))))
    found: list[list[ChunkPart]] = [[] for _ in files]
    reading = build_reading(scanner.schemas, scanner.forms)
    for (number, _), group in groupby(sorted(rows), key=lambda row: (pieces[row[0]][0], row[1])):
        found[number].append(merge_parts((pickle.loads(take) for _, _, take in group), reading))
    return found


def _run_scanner(spark: SparkSession, scanner: PartScanner) -> list[Row]:
    size = len(scanner.tasks)
    if size == 0:
        return []
    try:
        rows = spark.range(0, size, 1, size).mapInArrow(scanner, SCHEMA).collect()
    except RAISED as error:
        raise make_job_failure(error, "reads the records", "--engine local reads without Spark") from error
    return [(row["part"], row["chunk"], bytes(row["take"])) for row in rows]
