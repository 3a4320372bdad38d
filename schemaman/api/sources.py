"""Finds and opens SOURCEs of records, and reads them into the history once or repeatedly."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemaman.api.reading_metrics import ReadingMetrics
from schemaman.api.reading_progress import ReadingProgress
from schemaman.api.spark_sources import Folder, SparkSource, find_spark_source
from schemaman.api.unchanged_files import UnchangedFiles, summarize_unchanged
from schemaman.api.workspace import Workspace
from schemaman.debezium.records import Record
from schemaman.errors import BadReference, Conflict, RegistryUnavailable, UnreadableInput, UsageError
from schemaman.ingest.line_batches import Item, RowBatch
from schemaman.ingest.partition_rows import PartitionRows
from schemaman.ingest.summary import Summary
from schemaman.io import files, kafka_topics
from schemaman.io.file_identity import SETTLED_NS
from schemaman.io.file_work import PARALLEL_FROM_BYTES
from schemaman.io.line_ranges import LineRange
from schemaman.io.remote_files import is_remote
from schemaman.io.schema_registry import NO_REGISTRY, AnyRegistry, FileSchemas, load_export
from schemaman.plugins import defer
from schemaman.registry import Registry
from schemaman.report.views.numbers import format_number
from schemaman.store.offsets import Partition

if TYPE_CHECKING:  # what is unchanged is not read, and few sources need a client
    from schemaman.api.client_options import open_schema_registry, read_client_options
    from schemaman.api.local_reading import LocalReading
    from schemaman.io.kafka import read_batches as read_kafka_batches
else:
    open_schema_registry = defer("schemaman.api.client_options:open_schema_registry")
    read_client_options = defer("schemaman.api.client_options:read_client_options")
    LocalReading = defer("schemaman.api.local_reading:LocalReading")
    read_kafka_batches = defer("schemaman.io.kafka:read_batches")

FoundSource = files.File | kafka_topics.Topics

_LONGEST_PAUSE = 60.0
"""The longest pause, in seconds, between two attempts to reach an unavailable broker."""


@dataclass(slots=True)
class ReadingWatch:
    """Watches a reading: its metrics, and the functions for the begin and the end of chunks."""

    metrics: ReadingMetrics = field(default_factory=ReadingMetrics)
    begin: Callable[[], None] = lambda: None
    end: Callable[[], None] = lambda: None

    def count_records(self, items: Iterator[Item]) -> Iterator[Item]:
        """Pass items on, and note that a chunk has begun."""
        for item in items:
            self.begin()
            yield item

    def end_chunk(self, so_far: Summary) -> None:
        """Take the counts of the source after a chunk."""
        self.metrics.end_chunk(so_far)
        self.end()

    def end_source(self, done: Summary) -> None:
        """Take the counts of a source at its end."""
        self.metrics.end_source(done)
        self.end()


@dataclass(frozen=True, slots=True)
class RecordSources:
    """The SOURCEs to read: their names, the file or topics of each, the engine, the schema registry if any.

    `topic` is the topic of a file with bare values. `since_ms` is the time from which topics are read.
    `unread` has the number of unread offsets of each partition of Kafka at the start of the last reading.
    `on_spark` are sources that only Spark reads. Up to `jobs` processes read files whose work is that of
    `shared_from` bytes of plain lines. `again` reads also files that are unchanged since they were read to
    their end. A file that changed less than `settled_ns` before the reading is read again.
    """

    names: tuple[str, ...]
    found: tuple[FoundSource, ...]
    engine: str
    schema_registry: AnyRegistry | None
    topic: str | None = None
    keep_payload: bool = False
    since_ms: int | None = None
    unread: dict[Partition, int] = field(default_factory=dict, compare=False)
    on_spark: tuple[SparkSource, ...] = ()
    jobs: int = 1
    shared_from: int = PARALLEL_FROM_BYTES
    again: bool = False
    settled_ns: int = SETTLED_NS


def find_sources(
    workspace: Workspace,
    names: tuple[str, ...],
    *,
    topic: str | None = None,
    keep_payload: bool = False,
    since: str | None = None,
    jobs: int = 1,
    shared_from: int = PARALLEL_FROM_BYTES,
    again: bool = False,
) -> RecordSources:
    """Find the SOURCEs with these names; up to `jobs` processes read files of `shared_from` bytes and more.

    `again` reads also files that are unchanged since they were read to their end.

    Raises:
        UsageError: options contradict each other, or a time is malformed.
        CouldNotDo: a file is missing.
    """
    chosen = workspace.settings.engine.value
    on_spark = {name: source for name in names if (source := find_spark_source(name, chosen)) is not None}
    found = tuple(source for name in names if name not in on_spark for source in _find_source(name))
    since_ms = None if since is None else _parse_time(since)
    if since_ms is not None and (on_spark or not all(isinstance(s, kafka_topics.Topics) for s in found)):
        raise UsageError("--from works only with Kafka topics; files are read as a whole", hint="omit --from")
    if on_spark and chosen != "spark" and found:
        raise UsageError("a table and other sources need one engine", hint="use --engine spark for all")
    engine = "spark" if on_spark else _choose_engine(chosen, found)
    schema_registry = open_schema_registry(workspace.settings) if workspace.settings.registry.value else None
    return RecordSources(names, found, engine, schema_registry, topic, keep_payload, since_ms,
        on_spark=tuple(on_spark.values()), jobs=jobs, shared_from=shared_from, again=again,
    )  # fmt: skip


def read_sources(
    workspace: Workspace, registry: Registry, sources: RecordSources, watch: ReadingWatch | None = None
) -> Summary:
    """Read the new records of the SOURCEs into the history; `watch` counts what was read.

    Raises:
        CouldNotDo: a source, a schema registry or the store cannot be read or written.
        UsageError: the records of a source belong to another stream.
        Conflict: another process reads the same records into the same stream.
    """
    on_disk = [source for source in sources.found if isinstance(source, files.File)]
    unchanged = UnchangedFiles(registry.store, workspace.settings, sources.topic, on_disk, sources.settled_ns)
    left = {} if sources.again else unchanged.find()
    done = summarize_unchanged(left.values())
    sources = replace(sources, found=tuple(source for source in sources.found if source not in left))
    sizes = [source.bytes if isinstance(source, files.File) else 0 for source in sources.found]
    progress = ReadingProgress(sum(sizes) if all(sizes) else 0, workspace.messages.progress)
    watch = watch or ReadingWatch()
    watch.metrics.lag = sources.unread
    reading = _Reading(workspace, registry, sources, progress, watch, unchanged)
    for schemas, found in _group_by_registry(sources.schema_registry, sources.found):
        done += _read_group(reading, found, schemas)
    unchanged.save()
    for source in sources.on_spark:
        of_source = _read_on_spark(workspace, registry, sources, source)
        if isinstance(source, Folder):
            watch.metrics.count_bytes(sum(file.bytes for file in source.files))
        watch.end_source(of_source)
        done += of_source
    return done


def follow_sources(
    workspace: Workspace,
    registry: Registry,
    sources: RecordSources,
    pause: float,
    watch: ReadingWatch | None = None,
) -> Iterator[Summary]:
    """Read new records in rounds with `pause` seconds between them, until the process is stopped.

    An unavailable source is an error in the first round. In later rounds it is a warning, and the next
    attempts follow after growing pauses.

    Raises:
        UsageError: a source is a file, which cannot be followed.
        CouldNotDo: as `read_sources`, in the first round; errors of the store always.
    """
    if sources.on_spark or not all(isinstance(source, kafka_topics.Topics) for source in sources.found):
        raise UsageError("only Kafka topics can be followed, not files", hint="kafka://BROKERS/TOPIC")
    yield read_sources(workspace, registry, sources, watch)
    waiting = pause
    while True:
        time.sleep(waiting)
        try:
            done = read_sources(workspace, registry, sources, watch)
        except (UnreadableInput, RegistryUnavailable, Conflict) as error:
            waiting = min(_LONGEST_PAUSE, max(waiting, 1.0) * 2)
            workspace.messages.warn(f"{error.message}; next attempt in {waiting:.0f} s", hint=error.hint)
            continue
        waiting = pause
        yield done


def stream_sources(
    workspace: Workspace,
    registry: Registry,
    sources: RecordSources,
    checkpoint: Path,
    pause: float | None,
    watch: ReadingWatch | None = None,
) -> Iterator[Summary]:
    """Read one address of topics with Structured Streaming, and give the summary of each micro-batch.

    A batch is due each `pause` seconds; None reads what is there, then ends. The `checkpoint` is a folder.

    Raises:
        UsageError: there are other sources, another engine, or another stream's checkpoint.
        CouldNotDo: as `read_sources`, or the query failed.
    """
    topics = [source for source in sources.found if isinstance(source, kafka_topics.Topics)]
    if sources.engine != "spark" or len(topics) != 1 or len(sources.names) != 1:
        raise UsageError(
            "a checkpoint belongs to one address of Kafka topics, which Spark reads",
            hint="--engine spark kafka://BROKERS/TOPIC[,TOPIC...|*]",
        )
    watch = watch or ReadingWatch()
    watch.metrics.lag = sources.unread
    spark: Any = import_module("schemaman.api.spark_session")  # the local engine needs no session
    batches = spark.stream_topics_on_spark(
        workspace, topics[0], read_client_options(workspace.settings.kafka_config), registry,
        sources.schema_registry or NO_REGISTRY, sources.keep_payload, checkpoint, pause=pause,
        since_ms=sources.since_ms, unread=sources.unread, begin=watch.begin,
    )  # fmt: skip
    with closing(batches):
        for done in batches:
            watch.end_source(done)
            yield done


def _find_source(name: str) -> tuple[FoundSource, ...]:
    if name.startswith(kafka_topics.SCHEME):
        return (kafka_topics.find_topics(name),)
    return tuple(_make_absolute(file) for file in files.find_files(name))


def _make_absolute(file: files.File) -> files.File:
    """Make the paths of a file absolute: executors may run in another folder."""
    if file.path == files.STANDARD_INPUT or is_remote(file.path):
        return file
    registry = None if file.registry is None else str(Path(file.registry).absolute())
    return replace(file, path=str(Path(file.path).absolute()), registry=registry)


def _parse_time(text: str) -> int:
    """Parse a time with a zone into epoch milliseconds."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise BadReference(f"{text!r} is not a time", hint="use 2026-11-01T12:00Z") from None
    if at.tzinfo is None:
        raise BadReference(f"{text} has no time zone", hint=f"use {text}Z for UTC")
    return int(at.timestamp() * 1000)


def _choose_engine(chosen: str, found: Sequence[FoundSource]) -> str:
    is_kafka = any(isinstance(source, kafka_topics.Topics) for source in found)
    if chosen != "auto" or is_kafka:
        return "local" if chosen == "auto" else chosen
    on_disk = [source for source in found if isinstance(source, files.File)]
    if any(_is_only_local(file) for file in on_disk):
        return "local"
    size = sum(file.bytes for file in on_disk)
    return "spark" if size >= files.SPARK_FROM_BYTES else "local"


def _is_only_local(file: files.File) -> bool:
    """Whether the tasks of Spark cannot read the file, or perhaps have no access to it."""
    return file.kind == "avro" or file.place is not None or is_remote(file.path)


def _group_by_registry(
    chosen: AnyRegistry | None, found: Sequence[FoundSource]
) -> Iterator[tuple[AnyRegistry, list[FoundSource]]]:
    """Group consecutive sources that share a schema registry, with that registry."""
    for path, group in groupby(found, key=lambda source: None if chosen else _find_export(source)):
        yield chosen or (NO_REGISTRY if path is None else load_export(path)), list(group)


def _find_export(source: FoundSource) -> str | None:
    return source.registry if isinstance(source, files.File) else None


def _open_records(
    workspace: Workspace,
    registry: Registry,
    sources: RecordSources,
    source: FoundSource,
    count_bytes: Callable[[int], None],
    schemas: FileSchemas,
    lines: LineRange | None,
) -> Iterator[Item]:
    if isinstance(source, files.File):
        limit = workspace.settings.record_limit.value
        return files.read_batches(
            source,
            topic=sources.topic,
            limit=limit,
            count_bytes=count_bytes,
            note_schema=schemas.note,
            lines=lines,
        )
    if sources.topic is not None:
        raise UsageError(
            "a topic is named only for files of bare values; this address already names its topics",
            hint="omit the topic",
        )
    settings = workspace.settings
    options = read_client_options(settings.kafka_config)
    known = registry.offsets(settings.stream.value)
    records = read_kafka_batches(source, options, known, sources.since_ms, sources.unread)
    return _count_sizes(records, count_bytes)


def _count_sizes(items: Iterator[Record | RowBatch], count_bytes: Callable[[int], None]) -> Iterator[Item]:
    """Pass records and rows on, and count the bytes of their keys and values."""
    for item in items:
        if isinstance(item, Record):
            count_bytes(len(item.key or b"") + len(item.value or b""))
        elif isinstance(item.rows, PartitionRows):
            count_bytes(item.rows.count_bytes())
        yield item


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is read into a store, and what watches it."""

    workspace: Workspace
    registry: Registry
    sources: RecordSources
    progress: ReadingProgress
    watch: ReadingWatch
    unchanged: UnchangedFiles


def _read_group(reading: _Reading, found: Sequence[FoundSource], schemas: AnyRegistry) -> Summary:
    """Read sources that share a schema registry, with the engine that was chosen."""
    read = _read_group_on_spark if reading.sources.engine == "spark" else _read_group_here
    return read(reading, found, schemas)


def _read_group_on_spark(reading: _Reading, found: Sequence[FoundSource], schemas: AnyRegistry) -> Summary:
    workspace, registry, sources, watch = reading.workspace, reading.registry, reading.sources, reading.watch
    if sources.topic is not None:
        raise UsageError("the Spark engine cannot read bare values", hint="use --engine local")
    on_disk = [source for source in found if isinstance(source, files.File)]
    if any(map(_is_only_local, on_disk)):
        raise UsageError(
            "the Spark engine reads no Avro files and no files of Connect's sinks",
            hint="use --engine local",
        )

    def report(so_far: Summary) -> None:
        workspace.messages.progress(f"{format_number(so_far.read)} records read")
        watch.end_chunk(so_far)

    spark: Any = import_module("schemaman.api.spark_session")  # the local engine needs no session
    done = Summary()
    if on_disk:
        done += spark.ingest_on_spark(workspace, on_disk, registry, schemas, sources.keep_payload, report)
        watch.metrics.count_bytes(sum(file.bytes for file in on_disk))
        watch.end_source(done)
    for source in found:
        if isinstance(source, kafka_topics.Topics):
            options = read_client_options(workspace.settings.kafka_config)
            of_topics = spark.ingest_topics_on_spark(
                workspace, source, options, registry, schemas, sources.keep_payload,
                sources.since_ms, sources.unread,
            )  # fmt: skip
            watch.end_source(of_topics)
            done += of_topics
    return done


def _read_group_here(reading: _Reading, found: Sequence[FoundSource], schemas: AnyRegistry) -> Summary:
    workspace, registry, sources = reading.workspace, reading.registry, reading.sources
    progress, watch, settings = reading.progress, reading.watch, workspace.settings
    known_schemas = FileSchemas(schemas)

    def count_bytes(number: int) -> None:
        progress.count_bytes(number)
        watch.metrics.count_bytes(number)

    def count_part(size: int, records: int) -> None:
        progress.count_part(size, records)
        watch.metrics.count_bytes(size)

    def open_items(source: FoundSource, lines: LineRange | None) -> Iterator[Item]:
        items = _open_records(workspace, registry, sources, source, count_bytes, known_schemas, lines)
        return watch.count_records(progress.count_records(items))

    here = LocalReading(
        registry, settings.stream.value, known_schemas, settings.forms, sources.topic,
        settings.record_limit.value, sources.keep_payload,
        # The client of a schema registry works in this process alone.
        1 if sources.schema_registry is not None else sources.jobs,
        sources.shared_from, open_items, count_part, watch.end_chunk,
        {} if sources.again else reading.unchanged.find_grown(),
    )  # fmt: skip
    done = Summary()
    for recorded in here.read_each(found):
        watch.end_source(recorded.summary)
        for source, of_source in recorded.sources:
            if isinstance(source, files.File):
                reading.unchanged.prove(source, of_source, registry.clock)
        done += recorded.summary
    return done


def _read_on_spark(
    workspace: Workspace, registry: Registry, sources: RecordSources, source: SparkSource
) -> Summary:
    if sources.topic is not None:
        raise UsageError("the Spark engine cannot read bare values", hint="use --engine local")
    export = source.registry if isinstance(source, Folder) else None
    schemas = sources.schema_registry or (NO_REGISTRY if export is None else load_export(export))
    spark: Any = import_module("schemaman.api.spark_session")
    read, found = (
        (spark.ingest_folder_on_spark, source.files)
        if isinstance(source, Folder)
        else (spark.ingest_frame_on_spark, source)
    )
    done: Summary = read(workspace, found, registry, schemas, sources.keep_payload)
    return done
