"""The Spark engine: executors open and scan the files; the driver merges, decodes and records.

Law: the log equals that of the local engine, entry by entry.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.wire_format import AUTO, Forms
from schemaman.errors import CouldNotDo, UsageError
from schemaman.ingest.chunks import CHUNK, ChunkPart, KnownOffsets, build_reading, merge_parts
from schemaman.ingest.ingest import Intake, Summary
from schemaman.io.files import STANDARD_INPUT, File
from schemaman.registry import Registry
from schemaman.spark.record_source import SCHEMA, PartScanner, split_file
from schemaman.store.offsets import Ranges, find_missing

_PARTS = 64
"""The largest number of tasks for one file: enough for many cores, few enough for a small machine."""


def ingest(
    spark: SparkSession,
    files: Sequence[File],
    registry: Registry,
    stream: str,
    schemas: SchemaLookup,
    keep_payload: bool = False,
    progress: Callable[[Summary], None] | None = None,
    size: int = CHUNK,
    forms: Forms = AUTO,
) -> Summary:
    """Read files into the history of a stream, with the result of successive local `ingest` calls.

    Executors must be able to open the files, and `schemas` must be picklable. Raises as
    `schemaman.ingest.ingest.ingest`, and:

        CouldNotDo: the Spark job failed.
        UsageError: only this process can read a source.
    """
    if any(file.path == STANDARD_INPUT for file in files):
        raise UsageError("the Spark engine cannot read standard input", hint="use --engine local")
    known = KnownOffsets(*registry.known_offsets(stream)).load_hashes()
    found = _scan_files(spark, files, PartScanner((), known, schemas, size, forms))
    summary = Summary()
    for file, takes in zip(files, found, strict=True):
        intake = Intake(registry, stream, schemas, keep_payload=keep_payload, forms=forms)
        if _is_overtaken(takes, known, intake.known):
            now = intake.known.load_hashes()
            (takes,) = _scan_files(spark, [file], PartScanner((), now, schemas, size, forms))
        for taken in takes:
            intake.enter(taken)
            if progress is not None:
                progress(summary + intake.summary)
        summary += intake.summary
    return summary


def _scan_files(spark: SparkSession, files: Sequence[File], scanner: PartScanner) -> list[list[ChunkPart]]:
    """Scan each file, chunk by chunk."""
    pieces = [(n, part) for n, file in enumerate(files) for part in split_file(file, _PARTS)]
    rows = _run_scanner(spark, replace(scanner, parts=[part for _, part in pieces]), len(pieces))
    found: list[list[ChunkPart]] = [[] for _ in files]
    reading = build_reading(scanner.schemas, scanner.forms)
    for (number, _), group in groupby(sorted(rows), key=lambda row: (pieces[row[0]][0], row[1])):
        found[number].append(merge_parts((pickle.loads(take) for _, _, take in group), reading))
    return found


def _run_scanner(spark: SparkSession, scanner: PartScanner, size: int) -> list[tuple[int, int, bytes]]:
    if size == 0:
        return []
    try:
        rows = spark.range(0, size, 1, size).mapInArrow(scanner, SCHEMA).collect()
    except PySparkException as error:
        raise CouldNotDo(
            f"the Spark job that reads the files failed: {error}",
            hint="--engine local reads without Spark",
        ) from error
    return [(row["part"], row["chunk"], bytes(row["take"])) for row in rows]


def _is_overtaken(takes: Iterable[ChunkPart], known: KnownOffsets, now: KnownOffsets) -> bool:
    """Whether earlier files have covered some records of this file since its scan."""
    for taken in takes:
        if taken.refusal is not None and known.ranges != now.ranges:
            return True
        for topic, partition, first, last in taken.extents:
            before: Ranges = known.ranges.get((topic, partition), ())
            after: Ranges = now.ranges.get((topic, partition), ())
            if find_missing(first, last, before) != find_missing(first, last, after):
                return True
    return False
