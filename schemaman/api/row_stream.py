"""Writes the rows of sources into the lake tables of the settings, batch by batch, through a `LakeSink`.

Laws: rows are written only of records that the history has, so a statement that a later topic holds is known
before the rows. A batch counts as written after its last table was: a crash repeats a batch at most, and a
repeated record changes nothing.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from schemaman.api.client_options import read_client_options
from schemaman.api.files import read_text_if_present, write_text
from schemaman.api.settings_files import resolve_path
from schemaman.api.sources import RecordSources
from schemaman.api.spark_session import open_sink
from schemaman.api.workspace import Workspace
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import SchemaId
from schemaman.errors import BadConfiguration, UsageError
from schemaman.io import files, kafka
from schemaman.migration.settings import TargetSetting
from schemaman.migration.spark_sql import quote_table_name, split_table_name
from schemaman.migration.target import TARGETS
from schemaman.registry import Registry
from schemaman.report.json.stream import WrittenBatch, WrittenTable
from schemaman.settings import Settings
from schemaman.spark.streaming.batch_report import BatchReport
from schemaman.store.offsets import Partition, Ranges

_QUARANTINE = ("schemaman", "quarantine")


@dataclass(slots=True)
class Checkpoint:
    """The last written offset of each partition of Kafka, in a file of one stream and one store.

    Files are read as a whole each time, so they have no place in it.
    """

    path: Path
    stream: str
    store: str
    batch: int = 0
    written: dict[Partition, int] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, stream: str, store: str) -> Checkpoint:
        """Read the file; empty if there is none.

        Raises:
            UsageError: the file belongs to another store or stream.
            BadConfiguration: the file is no checkpoint.
        """
        text = read_text_if_present(path)
        if not text:
            return cls(path, stream, store)
        try:
            document = json.loads(text)
            owner = str(document["store"]), str(document["stream"])
            written = {
                (str(topic), int(partition)): int(last) for topic, partition, last in document["written"]
            }
            batch = int(document["batch"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            hint = "restore the file, or remove it: all records are then written again, which changes nothing"
            raise BadConfiguration(f"{path} is not a checkpoint: {error}", hint=hint) from error
        if owner != (store, stream):
            raise UsageError(
                f"{path} belongs to stream {owner[1]} of the store {owner[0]}",
                hint="name another folder with --checkpoints, or the store with --store",
            )
        return cls(path, stream, store, batch, written)

    def advance(self, records: Sequence[Record], *, keep: bool) -> None:
        """Count a batch as written; `keep` also keeps its offsets."""
        self.batch += 1
        for record in records if keep else ():
            self.written[record.topic, record.partition] = record.offset
        document = {
            "schema_version": 1,
            "store": self.store,
            "stream": self.stream,
            "batch": self.batch,
            "written": [[*partition, last] for partition, last in sorted(self.written.items())],
        }
        write_text(self.path, json.dumps(document, indent=1) + "\n")


@dataclass(slots=True)
class RowStream:
    """Reads records that the history has and that are not written yet, and passes them to the sink.

    `size` is the largest number of records of a batch. `quarantine` is the lake table of records that cannot
    be written; None for a table in the lake of the first target. `write` writes a numbered batch; None for a
    sink on Spark, which starts with the first batch.
    """

    workspace: Workspace
    registry: Registry
    sources: RecordSources
    checkpoint: Checkpoint
    size: int
    quarantine: str | None = None
    write: Callable[[Sequence[Record], int], BatchReport] | None = None

    def write_rows(self) -> Iterator[WrittenBatch]:
        """Write the rows of all such records, and give the result of each batch.

        Raises:
            CouldNotDo: a source, the store or the quarantine is not available, or Spark does not start.
        """
        if self.sources.on_spark:
            raise UsageError(
                "rows are written from files and Kafka topics alone", hint="omit the table and --engine spark"
            )
        known = self.registry.offsets(self.workspace.settings.stream.value)
        for source in self.sources.found:
            is_kafka = isinstance(source, kafka.Topics)
            records = _select_known(self._read(source, known), known)
            while batch := tuple(islice(records, self.size)):
                yield self._write_batch(batch, keep=is_kafka)

    def _read(self, source: files.File | kafka.Topics, read: Mapping[Partition, Ranges]) -> Iterator[Record]:
        settings = self.workspace.settings
        if isinstance(source, files.File):
            limit = settings.record_limit.value
            items = files.read_records(source, limit=limit, note_schema=_refuse_schema)
            yield from (item for item in items if isinstance(item, Record))
            return
        written = _select_written(self.checkpoint.written, read)
        known = {partition: ((0, last),) for partition, last in written.items()}
        options = read_client_options(settings.kafka_config)
        for record in kafka.read_records(source, options, known, self.sources.since_ms):
            # The reader repeats the last known record of a partition.
            if record.offset > written.get((record.topic, record.partition), -1):
                yield record

    def _write_batch(self, records: Sequence[Record], *, keep: bool) -> WrittenBatch:
        if self.write is None:
            settings = self.workspace.settings
            name = self.quarantine or choose_quarantine(settings, settings.targets.value)
            form = _find_format(name, settings.targets.value)
            self.write = open_sink(self.workspace, self.registry, (name, form))
        report = self.write(records, self.checkpoint.batch + 1)
        self.checkpoint.advance(records, keep=keep)
        return _build_written(len(records), report)


def _refuse_schema(id: SchemaId, text: str) -> None:
    raise UsageError(
        "rows are not written from files that hold their own schema", hint="read the topic from Kafka"
    )


def choose_quarantine(settings: Settings, targets: Sequence[TargetSetting]) -> str:
    """Choose the table of records that cannot be written: in the lake of the first target."""
    first = targets[0]
    if first.path is not None or "/" in (first.table or ""):
        return str(resolve_path(settings.warehouse).absolute() / "_".join(_QUARANTINE))
    *names, _ = split_table_name(first.table or "")
    catalog = [name for name in names[: max(0, len(names) - 1)] if "{" not in name]
    return quote_table_name((*catalog, *_QUARANTINE))


def _find_format(quarantine: str, targets: Sequence[TargetSetting]) -> str:
    """The format of the quarantine: that of the first target, if it takes the name."""
    TARGETS.get(targets[0].format).table_name(quarantine)
    return targets[0].format


def _select_known(records: Iterable[Record], known: Mapping[Partition, Ranges]) -> Iterator[Record]:
    """Select records up to the first of a partition that the history does not have."""
    ended: set[Partition] = set()
    for record in records:
        partition = (record.topic, record.partition)
        if partition not in ended and _has_offset(known.get(partition, ()), record.offset):
            yield record
        else:
            ended.add(partition)


def _select_written(
    written: Mapping[Partition, int], known: Mapping[Partition, Ranges]
) -> dict[Partition, int]:
    """Select the offsets of a checkpoint that the history has; other partitions are written from the start.

    No record was written that the history did not have: the file was edited, or an older copy of the
    store came back. Rows are repeated then, and none is left out.
    """
    return {p: last for p, last in written.items() if _has_offset(known.get(p, ()), last)}


def _has_offset(ranges: Ranges, offset: int) -> bool:
    at = bisect_right(ranges, offset, key=lambda pair: pair[0]) - 1
    return at >= 0 and offset <= ranges[at][1]


def _build_written(records: int, report: BatchReport) -> WrittenBatch:
    return WrittenBatch(
        report.number,
        records,
        tuple(
            WrittenTable(
                t.source_table, t.lake_table, t.records, t.rows, t.quarantined, t.replayed, t.ignored,
                t.steps, t.blocked or "", t.notes,
            )
            for t in report.tables
        ),
        report.untargeted,
        report.rejected,
        str(report),
    )  # fmt: skip
