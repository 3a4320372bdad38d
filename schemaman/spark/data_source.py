"""The PySpark data source `schemaman`: records of files and topics, or their runs, for other jobs.

    spark.dataSource.register(schemaman.spark.RecordDataSource)
    spark.read.format("schemaman").option("rows", "runs").load("dumps/*.jsonl.gz")

Source: Spark "Python Data Source API", since Spark 4.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from schemaman.debezium.observation import SchemaRun
from schemaman.debezium.wire_format import AUTO
from schemaman.errors import BadReference, UnreadableInput, UsageError
from schemaman.ingest.chunks import ChunkPart, KnownOffsets, build_reading, read_segments
from schemaman.ingest.line_batches import Item, parse_items, parse_lines
from schemaman.io.file_patterns import find_files
from schemaman.io.files import find_file
from schemaman.io.kafka import SCHEME, Topics, find_topics, list_spans
from schemaman.io.schema_registry import NO_REGISTRY, AnyRegistry, load_export
from schemaman.spark.record_columns import RAW
from schemaman.spark.record_source import (
    FilePart,
    SourcePart,
    TopicPart,
    pack_parts,
    parse_bytes,
    read_part,
    split_files,
    split_spans,
)
from schemaman.spark.task_rows import keep_modules, quicken_next_task
from schemaman.spark.topic_stream import STARTING_OFFSETS, TASK_OFFSETS, TopicStreamReader, build_row

RUNS = (
    "topic string, partition int, first_offset bigint, last_offset bigint, records bigint, "
    "`table` string, shape string, fault string"
)
"""The columns of a run: consecutive records of one table and one shape in a partition of a topic.

Runs end at the ends of tasks. `fault` says why records cannot be read; a piece of a file that is no record
has the path as its topic, the partition -1, and its line as both offsets."""

_ROWS = ("records", "runs")
_KAFKA = "kafka."
_TASK_BYTES = "128m"


@dataclass(frozen=True, slots=True)
class _Task(InputPartition):
    """The parts of a source that one task reads, in order."""

    parts: tuple[SourcePart, ...]
    registry: str | None


class RecordDataSource(DataSource):
    """Reads `kcat -J` lines, Parquet, and Kafka topics, in ranges of bytes and of offsets.

    Options: `path`, a file, a folder, a pattern or `kafka://BROKERS/TOPIC[,TOPIC…|*]`; `rows`, which is
    `records` (the columns of Spark's Kafka source) or `runs`; `registry`, the export of a schema registry;
    `maxPartitionBytes` and `maxPartitionOffsets`, the size of a task; `kafka.NAME`, an option of librdkafka.

    Raises:
        UsageError: an option is missing or unknown.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "schemaman"

    def schema(self) -> str:
        """The columns."""
        return RUNS if _choose_rows(self.options) == "runs" else RAW

    def reader(self, schema: Any) -> DataSourceReader:
        """A reader of the source."""
        return RecordReader(dict(self.options))

    def streamReader(self, schema: Any) -> TopicStreamReader:
        """A reader of the topics as a stream of records; `startingOffsets` is that of Spark's Kafka source.

        Raises:
            UsageError: the path is no address of topics, or runs are asked for.
        """
        if _choose_rows(self.options) == "runs":
            raise UsageError("a stream has records, no runs", hint="omit the option rows")
        options = {name.lower(): value for name, value in self.options.items()}
        most = int(options.get("maxpartitionoffsets", TASK_OFFSETS))
        starting = options.get(STARTING_OFFSETS.lower(), "")
        client = _read_client_options(self.options)
        return TopicStreamReader(options.get("path", ""), starting, client, most)


class RecordReader(DataSourceReader):
    """Plans tasks of similar size, and reads them."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name.lower(): value for name, value in options.items()}
        self._rows = _choose_rows(options)

    def partitions(self) -> list[_Task]:
        """Plan the tasks. Raises like `files.find_file` and `kafka.read_records`."""
        path = self._options.get("path", "")
        if not path:
            raise UsageError("the data source schemaman needs a path", hint="load('dumps/*.jsonl.gz')")
        registry = self._options.get("registry")
        if path.startswith(SCHEME):
            return [_Task((part,), registry) for part in self._split_topics(find_topics(path))]
        files = find_files(path) or (find_file(path),)
        most = parse_bytes(self._options.get("maxpartitionbytes", _TASK_BYTES))
        parts = [part for pieces in split_files(files, most) for part in pieces]
        packs = pack_parts(parts, most)
        return [self._pack([parts[number] for number in pack], registry) for pack in packs]

    def _pack(self, parts: list[FilePart], registry: str | None) -> _Task:
        beside = sorted({part.file.registry for part in parts if part.file.registry is not None})
        if registry is None and len(beside) > 1:
            raise BadReference(
                f"several exports of registries: {', '.join(beside)}", hint="option('registry', 'FILE')"
            )
        return _Task(tuple(parts), registry or (beside[0] if beside else None))

    def _split_topics(self, source: Topics) -> Iterator[TopicPart]:
        options = _read_client_options(self._options)
        most = int(self._options.get("maxpartitionoffsets", TASK_OFFSETS))
        pairs = tuple(options.items())
        for span in split_spans(list_spans(source, options, {}), most):
            yield TopicPart(source, span, pairs)

    def read(self, partition: _Task) -> Iterator[tuple[object, ...]]:  # type: ignore[override]
        """Read the rows of a task. Raises `UnreadableInput` for a piece that is no record."""
        keep_modules()
        items = (item for part in partition.parts for item in read_part(part))
        if self._rows == "runs":
            schemas = NO_REGISTRY if partition.registry is None else load_export(partition.registry)
            yield from _read_runs(items, schemas)
        else:
            yield from map(build_row, parse_items(items))
        quicken_next_task()


def _read_client_options(options: Mapping[str, str]) -> dict[str, str]:
    """Read the options of librdkafka."""
    return {
        name.lower().removeprefix(_KAFKA): value
        for name, value in options.items()
        if name.lower().startswith(_KAFKA)
    }


def _choose_rows(options: Mapping[str, str]) -> str:
    chosen = {name.lower(): value for name, value in options.items()}.get("rows", _ROWS[0])
    if chosen not in _ROWS:
        raise UsageError(f"rows cannot be {chosen!r}", hint=f"known: {', '.join(_ROWS)}")
    return chosen


def _read_runs(items: Iterator[Item], schemas: AnyRegistry) -> Iterator[tuple[object, ...]]:
    for part in read_segments(parse_lines(items), KnownOffsets(), build_reading(schemas, AUTO)):
        if part is None:
            raise UnreadableInput(
                "the offsets of a partition are not in order", hint="read the records, and sort them"
            )
        if part.refusal is not None:
            raise part.refusal
        yield from _build_rows(part)


def _build_rows(part: ChunkPart) -> Iterator[tuple[object, ...]]:
    for item in part.unreadable:
        yield (item.source, -1, item.line, item.line, 1, None, None, item.reason)
    for stretch in part.stretches:
        yield from map(_build_run, stretch.runs)
    yield from map(_build_run, part.waiting)


def _build_run(run: SchemaRun) -> tuple[object, ...]:
    table = ".".join(part for part in run.table if part) or None
    first, last = run.first, run.last
    return (first.topic, first.partition, first.offset, last.offset, run.count, table, run.shape, run.fault)
