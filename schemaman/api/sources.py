"""SOURCEs of records: found, opened, and read into the history, once or again and again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path

from schemaman.api.client_options import read_client_options
from schemaman.api.spark_session import ingest_on_spark
from schemaman.api.workspace import Workspace
from schemaman.debezium.records import Record
from schemaman.errors import BadReference, Conflict, RegistryUnavailable, UnreadableInput, UsageError
from schemaman.ingest.chunks import UnreadableItem
from schemaman.ingest.ingest import Summary
from schemaman.ingest.ingest import ingest as ingest_records
from schemaman.io import files, kafka
from schemaman.io.schema_registry import NO_REGISTRY, AnyRegistry, load_export
from schemaman.registry import Registry
from schemaman.report.views.words import format_number

FoundSource = files.File | kafka.Topics

_LONGEST_PAUSE = 60.0
"""Seconds between two attempts to reach a broker that is gone."""


@dataclass(frozen=True, slots=True)
class RecordSources:
    """The SOURCEs to read: their names, what each name means, the engine, and the schema registry if any.

    `topic` names bare values of a file. `since_ms` is the time of the first record of a topic that matters.
    """

    names: tuple[str, ...]
    found: tuple[FoundSource, ...]
    engine: str
    schema_registry: AnyRegistry | None
    topic: str | None = None
    keep_payload: bool = False
    since_ms: int | None = None


def find_sources(
    workspace: Workspace,
    names: tuple[str, ...],
    *,
    topic: str | None = None,
    keep_payload: bool = False,
    since: str | None = None,
) -> RecordSources:
    """The SOURCEs of these names.

    Raises:
        UsageError: options that do not go together, or a time that cannot be read.
        CouldNotDo: a file that is missing.
    """
    found = tuple(_find_source(name) for name in names)
    since_ms = None if since is None else _parse_time(since)
    if since_ms is not None and not all(isinstance(source, kafka.Topics) for source in found):
        raise UsageError("--from is for topics of Kafka; a file is read whole", hint="leave it out")
    engine = _choose_engine(workspace.settings.engine.value, found)
    schema_registry = workspace.open_schema_registry()
    return RecordSources(names, found, engine, schema_registry, topic, keep_payload, since_ms)


def read_sources(workspace: Workspace, registry: Registry, sources: RecordSources) -> Summary:
    """Read the new records of the SOURCEs into the history.

    Raises:
        CouldNotDo: a source, a schema registry or the store cannot be read or written.
        UsageError: a source is of another stream.
        Conflict: another process reads the same records into the same stream.
    """
    done = Summary()
    for schemas, found in _group_by_registry(sources.schema_registry, sources.found):
        done += _read_group(workspace, registry, sources, found, schemas)
    return done


def follow_sources(
    workspace: Workspace, registry: Registry, sources: RecordSources, pause: float
) -> Iterator[Summary]:
    """The new records, round after round with `pause` seconds between them, until the process is ended.

    A source that cannot be reached in the first round is an error. In a later round it is a warning, and
    the source is read again after growing pauses.

    Raises:
        UsageError: a source that cannot be followed: a file ends.
        CouldNotDo: as `read_sources`, in the first round; errors of the store always.
    """
    if not all(isinstance(source, kafka.Topics) for source in sources.found):
        raise UsageError("only topics of Kafka can be followed: a file ends", hint="kafka://BROKERS/TOPIC")
    yield read_sources(workspace, registry, sources)
    waiting = pause
    while True:
        time.sleep(waiting)
        try:
            done = read_sources(workspace, registry, sources)
        except (UnreadableInput, RegistryUnavailable, Conflict) as error:
            waiting = min(_LONGEST_PAUSE, max(waiting, 1.0) * 2)
            workspace.messages.warn(f"{error.message}; asked again in {waiting:.0f} s", hint=error.hint)
            continue
        waiting = pause
        yield done


def _find_source(name: str) -> FoundSource:
    return kafka.find_topics(name) if name.startswith(kafka.SCHEME) else _make_absolute(files.find_file(name))


def _make_absolute(file: files.File) -> files.File:
    """The file with its absolute path: executors may run in another folder."""
    if file.path == files.STANDARD_INPUT:
        return file
    registry = None if file.registry is None else str(Path(file.registry).absolute())
    return replace(file, path=str(Path(file.path).absolute()), registry=registry)


def _parse_time(text: str) -> int:
    """A time with its zone in epoch milliseconds."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise BadReference(f"--from {text!r} is no time", hint="2026-11-01T12:00Z") from None
    if at.tzinfo is None:
        raise BadReference(f"--from {text} says no time zone", hint=f"{text}Z for UTC")
    return int(at.timestamp() * 1000)


def _choose_engine(chosen: str, found: Sequence[FoundSource]) -> str:
    is_kafka = any(isinstance(source, kafka.Topics) for source in found)
    if chosen == "spark" and is_kafka:
        raise UsageError("Kafka is read by this process, not by executors", hint="--engine local")
    if chosen != "auto" or is_kafka:
        return "local" if chosen == "auto" else chosen
    size = sum(source.bytes for source in found if isinstance(source, files.File))
    return "spark" if size >= files.SPARK_FROM_BYTES else "local"


def _group_by_registry(
    chosen: AnyRegistry | None, found: Sequence[FoundSource]
) -> Iterator[tuple[AnyRegistry, list[FoundSource]]]:
    """Sources that follow one another and share a schema registry, with that registry."""
    for path, group in groupby(found, key=lambda source: None if chosen else _find_export(source)):
        yield chosen or (NO_REGISTRY if path is None else load_export(path)), list(group)


def _find_export(source: FoundSource) -> str | None:
    return source.registry if isinstance(source, files.File) else None


def _open_records(
    workspace: Workspace, registry: Registry, sources: RecordSources, source: FoundSource
) -> Iterator[Record | UnreadableItem]:
    if isinstance(source, files.File):
        return files.read_records(source, topic=sources.topic)
    if sources.topic is not None:
        raise UsageError("--topic names bare values of a file; the address names topics", hint="leave it out")
    settings = workspace.settings
    options = read_client_options(settings.kafka_config)
    return kafka.read_records(source, options, registry.offsets(settings.stream.value), sources.since_ms)


def _read_group(
    workspace: Workspace,
    registry: Registry,
    sources: RecordSources,
    found: Sequence[FoundSource],
    schemas: AnyRegistry,
) -> Summary:
    def report(so_far: Summary) -> None:
        workspace.messages.progress(f"{format_number(so_far.read)} records read")

    if sources.engine == "spark":
        if sources.topic is not None:
            raise UsageError("bare values are read in this process only", hint="--engine local")
        on_disk = [source for source in found if isinstance(source, files.File)]
        return ingest_on_spark(workspace, on_disk, registry, schemas, sources.keep_payload, report)
    done = Summary()
    stream, forms = workspace.settings.stream.value, workspace.settings.forms
    for source in found:
        records = _open_records(workspace, registry, sources, source)
        done += ingest_records(records, registry, stream, schemas, sources.keep_payload, report, forms=forms)
    return done
