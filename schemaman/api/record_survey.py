"""Surveys sources before their first ingest: which tables and connectors their first records show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from schemaman.api.client_options import read_client_options
from schemaman.api.settings_files import resolve_store_url
from schemaman.api.workspace import Workspace
from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import Forms, read_framing
from schemaman.errors import BadReference, UnreadableInput
from schemaman.ingest.chunks import UnreadableItem
from schemaman.ingest.ingest import ingest
from schemaman.io import files, kafka
from schemaman.io.folders import REGISTRY, find_kind
from schemaman.io.schema_registry import NO_REGISTRY, load_export
from schemaman.model.schema import TableId
from schemaman.registry import Registry
from schemaman.store.memory import MemoryStore

RECORDS_OF_FILE = 20_000
"""The number of records of a file that a survey reads: enough for the tables of a snapshot."""

RECORDS_OF_PARTITION = 20
_FILES = 50


@dataclass(frozen=True, slots=True)
class SurveyedTable:
    """A table that records show, with the connector and the topics of its records."""

    table: TableId
    connector: str
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordSurvey:
    """What the first records of sources show.

    `sources` are the words that name them for `ingest`. `is_framed`: values name a schema of a registry.
    `rejected` counts the records that could not be decoded.
    """

    sources: tuple[str, ...] = ()
    records: int = 0
    topics: tuple[str, ...] = ()
    tables: tuple[SurveyedTable, ...] = ()
    rejected: int = 0
    is_framed: bool = False


def survey_files(workspace: Workspace, name: str) -> RecordSurvey:
    """Survey the recordings in a folder and its subfolders, or one file of records.

    Raises:
        BadReference: there is no file of records.
        UnreadableInput: a file cannot be read.
    """
    found: list[_Sample] = []
    for file in _find_recordings(name):
        limit = workspace.settings.record_limit.value
        records = islice(files.read_records(file, limit=limit), RECORDS_OF_FILE)
        found.append(_survey(workspace, records, file.path, file.registry))
    return _join_samples(found)


def survey_topics(workspace: Workspace, brokers: str) -> RecordSurvey:
    """Survey all topics of a Kafka cluster by the first records of each partition.

    Raises:
        UnreadableInput: no broker answers, or there is no topic.
        UsageError, BadConfiguration: the options of Kafka are wrong.
        EngineUnavailable: confluent-kafka is not installed.
    """
    source = kafka.find_topics(f"{kafka.SCHEME}{brokers.removeprefix(kafka.SCHEME).rstrip('/')}/*")
    options = read_client_options(workspace.settings.kafka_config)
    records = kafka.read_sample(source, options, RECORDS_OF_PARTITION)
    sample = _survey(workspace, _report(records, workspace.messages.progress), "", None)
    survey = _join_samples([sample])
    topics = ",".join(select_topics(survey))
    return replace(survey, sources=(f"{kafka.SCHEME}{source.brokers}/{topics}",))


def survey_store(workspace: Workspace) -> RecordSurvey:
    """Survey the store of the settings; empty if there is none. Raises `StoreUnavailable`."""
    path = resolve_store_url(workspace.settings.store).removeprefix("sqlite:///")
    if "://" not in path and not Path(path).exists():
        return RecordSurvey()
    stream = workspace.settings.stream.value
    histories = Registry(workspace.open_store(), workspace.clock).tables()
    return RecordSurvey(
        tables=tuple(
            SurveyedTable(history.table, history.connector, history.topics)
            for history in histories
            if history.table.stream == stream and not history.has_ended
        )
    )


def select_topics(survey: RecordSurvey) -> tuple[str, ...]:
    """Select the topics of the tables by few words: `server.*` for topics that begin with their server."""
    servers = sorted({t.table.server for t in survey.tables if t.table.server})
    named = [topic for t in survey.tables for topic in t.topics]
    words = [f"{server}.*" for server in servers if any(topic.startswith(f"{server}.") for topic in named)]
    words += [server for server in servers if server in survey.topics]
    rest = [t for t in dict.fromkeys(named) if not t.startswith(tuple(f"{s}." for s in servers))]
    found = tuple(dict.fromkeys((*words, *rest)))
    return found if found and len(found) <= _FILES else ("*",)


@dataclass(slots=True)
class _Sample:
    """What the records of one source have shown so far."""

    source: str = ""
    records: int = 0
    topics: dict[str, None] = field(default_factory=dict)
    tables: tuple[SurveyedTable, ...] = ()
    rejected: int = 0
    is_framed: bool = False

    def note(
        self, records: Iterable[Record | UnreadableItem], forms: Forms
    ) -> Iterator[Record | UnreadableItem]:
        """Pass records on, and note their topics and encodings."""
        for record in records:
            if isinstance(record, Record):
                self.records += 1
                self.topics[record.topic] = None
                self.is_framed = self.is_framed or _has_framing(record, forms)
            yield record


def _survey(
    workspace: Workspace, records: Iterable[Record | UnreadableItem], name: str, export: str | None
) -> _Sample:
    """Read records into a history in memory. Each source has its own: recordings may repeat offsets."""
    sample, forms = _Sample(name), workspace.settings.forms
    registry = Registry(MemoryStore(), workspace.clock)
    schemas: SchemaLookup = workspace.open_schema_registry() or (
        NO_REGISTRY if export is None else load_export(export)
    )
    stream = workspace.settings.stream.value
    done = ingest(sample.note(records, forms), registry, stream, schemas, forms=forms)
    sample.rejected = done.rejects
    sample.tables = tuple(
        SurveyedTable(history.table, history.connector, history.topics)
        for history in registry.tables()
        if not history.has_ended
    )
    return sample


def _join_samples(samples: Sequence[_Sample]) -> RecordSurvey:
    tables = {each.table: each for sample in samples for each in sample.tables}
    return RecordSurvey(
        tuple(sample.source for sample in samples if sample.source),
        sum(sample.records for sample in samples),
        tuple(dict.fromkeys(topic for sample in samples for topic in sample.topics)),
        tuple(tables[table] for table in sorted(tables)),
        sum(sample.rejected for sample in samples),
        any(sample.is_framed for sample in samples),
    )


def _has_framing(record: Record, forms: Forms) -> bool:
    try:
        value = record.value
        return bool(value) and read_framing(value or b"", record.headers, "value", forms.value) is not None
    except (ValueError, UnreadableInput):
        return False


def _report(records: Iterable[Record], progress: Callable[[str], None]) -> Iterator[Record]:
    for record in records:
        progress(f"reading {record.topic}")
        yield record


def _find_recordings(name: str) -> list[files.File]:
    """Find the file of records of that name, or all in a folder and in the folders in it."""
    path = Path(name)
    try:
        return [files.find_file(name)]
    except BadReference:
        if not path.is_dir():
            raise
        found = [files.find_file(str(p)) for p in sorted(path.iterdir()) if p.is_file() and find_kind(p.name)]
        # an Avro file in a folder is more often something else than records
        found = [f for f in found if Path(f.path).name != REGISTRY and f.kind != "avro"]
        for inner in sorted(p for p in path.iterdir() if p.is_dir()):
            try:
                found.append(files.find_file(str(inner)))
            except BadReference:
                continue
        if not found:
            raise
        return found[:_FILES]
