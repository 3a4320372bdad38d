"""SOURCEs as commands name them: found, opened, and read into the history, once or again and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import click

from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import FORMS
from schemaman.errors import (
    BadReference,
    Conflict,
    NoHistory,
    RegistryUnavailable,
    UnreadableInput,
    UsageError,
)
from schemaman.ingest.chunks import UnreadableItem
from schemaman.ingest.ingest import Summary
from schemaman.ingest.ingest import ingest as read_in
from schemaman.io import files, kafka
from schemaman.io.schema_registry import NO_REGISTRY, AnyRegistry, load_export
from schemaman.registry import Registry
from schemaman.report.views.words import format_count, format_number
from schemaman_cli.clients import options_of, registered
from schemaman_cli.options import Door
from schemaman_cli.sessions import ingest_on_spark

F = TypeVar("F", bound=Callable[..., Any])
Found = files.File | kafka.Topics

_LONGEST_PAUSE = 60.0
"""Seconds between two attempts to reach a broker that is gone."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What a command reads: words of the user, what they mean, who reads it, and the registry if any.

    `topic` names bare values of a file. `since_ms` is the time of the first record of a topic that matters.
    """

    words: tuple[str, ...]
    found: tuple[Found, ...]
    engine: str
    given: AnyRegistry | None
    topic: str | None = None
    keep_payload: bool = False
    since_ms: int | None = None


def source_options(function: F) -> F:
    """The options of a command that reads SOURCEs; their values reach it as settings, but for `--from`."""
    decorated: Any = function
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    found: F = decorated
    return found


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--engine", type=click.Choice(["auto", "local", "spark"]), help="Who reads; auto goes by size."
    ),
    click.option(
        "--registry",
        metavar="URL|FILE",
        help="A schema registry, or its export; default registry.json beside SOURCE.",
    ),
    click.option(
        "--registry-config",
        multiple=True,
        metavar="FILE|NAME=VALUE",
        help="Options of the registry's client; secrets in a FILE.",
    ),
    click.option(
        "--kafka-config",
        multiple=True,
        metavar="FILE|NAME=VALUE",
        help="Options of librdkafka; secrets in a FILE.",
    ),
    click.option(
        "--format-key", type=click.Choice(FORMS), help="How keys are framed; auto takes what is proven."
    ),
    click.option("--format-value", type=click.Choice(FORMS), help="How values are framed."),
    click.option(
        "--added-prefix",
        metavar="TEXT",
        help="What fields begin with that flattening added (add.fields.prefix); __ if not said.",
    ),
    click.option(
        "--from",
        "since",
        metavar="TIME",
        help="Topics from their first record of that time on (2026-11-01T12:00Z) instead of their beginning.",
    ),
)


def sources_of(
    door: Door,
    words: tuple[str, ...],
    *,
    topic: str | None = None,
    keep_payload: bool = False,
    since: str | None = None,
) -> Sources:
    """The SOURCEs that a user named.

    Raises:
        UsageError: options that do not go together, or a time that is none.
        CouldNotDo: a file that is not there.
    """
    found = tuple(_find(word) for word in words)
    since_ms = None if since is None else _moment(since)
    if since_ms is not None and not all(isinstance(source, kafka.Topics) for source in found):
        raise UsageError("--from is for topics of Kafka; a file is read whole", hint="leave it out")
    engine = _engine(door.settings.engine.value, found)
    return Sources(words, found, engine, registered(door), topic, keep_payload, since_ms)


def read_sources(door: Door, registry: Registry, sources: Sources) -> Summary:
    """Read what is new of the SOURCEs into the history.

    Raises:
        CouldNotDo: a source, a registry or the store cannot be read or written.
        UsageError: a source is of another stream.
        Conflict: somebody else reads the same records into the same stream.
    """
    done = Summary()
    for schemas, found in _by_registry(sources.given, sources.found):
        done += _read(door, registry, sources, found, schemas)
    return done


def versions_of(registry: Registry, done: Summary) -> dict[str, int]:
    """How many versions each table has that was spoken of."""
    told: dict[str, int] = {}
    for table in done.tables:
        try:
            told[str(table)] = len(registry.history(table).versions)
        except NoHistory:
            continue
    return told


def judged(door: Door, done: Summary, max_rejects: int | None, sources: Sources) -> int:
    """The exit code: what was not understood is a warning, unless it is everything or too much.

    Raises:
        UnreadableInput: nothing was understood, or more than `max_rejects` were not.
    """
    if not done.rejects:
        return 0
    # a tombstone has no bytes that could be misunderstood
    asides = [kind for kind, _ in done.skipped if kind != "tombstone"]
    if not (done.observations or done.known > done.waiting or asides):
        raise UnreadableInput(
            f"nothing in {', '.join(sources.words)} could be understood", hint="schemaman rejects"
        )
    told = f"{format_count(done.rejects, 'record')} could not be understood"
    if max_rejects is not None and done.rejects > max_rejects:
        raise UnreadableInput(f"{told}, more than --max-rejects {max_rejects}", hint="schemaman rejects")
    door.console.warn(told, hint="schemaman rejects")
    return 0


def following(door: Door, registry: Registry, sources: Sources, pause: float) -> Iterator[Summary]:
    """What is new, round after round with `pause` seconds between them, until the process is ended.

    A source that cannot be reached in the first round is an error; later it is told, and asked again with
    growing pauses.

    Raises:
        UsageError: a source that cannot be followed: a file ends.
        CouldNotDo: as `read_sources`, in the first round; the store's troubles always.
    """
    if not all(isinstance(source, kafka.Topics) for source in sources.found):
        raise UsageError("only topics of Kafka can be followed: a file ends", hint="kafka://BROKERS/TOPIC")
    yield read_sources(door, registry, sources)
    waiting = pause
    while True:
        time.sleep(waiting)
        try:
            done = read_sources(door, registry, sources)
        except (UnreadableInput, RegistryUnavailable, Conflict) as error:
            waiting = min(_LONGEST_PAUSE, max(waiting, 1.0) * 2)
            door.console.warn(f"{error.message}; asked again in {waiting:.0f} s", hint=error.hint)
            continue
        waiting = pause
        yield done


def _find(source: str) -> Found:
    return (
        kafka.find_topics(source) if source.startswith(kafka.SCHEME) else _absolute(files.find_file(source))
    )


def _absolute(file: files.File) -> files.File:
    """The file as executors find it too, who may run in another folder; and named alike wherever we stand."""
    if file.path == files.STANDARD_INPUT:
        return file
    registry = None if file.registry is None else str(Path(file.registry).absolute())
    return replace(file, path=str(Path(file.path).absolute()), registry=registry)


def _moment(text: str) -> int:
    """A time with its zone in epoch milliseconds."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise BadReference(f"--from {text!r} is no time", hint="2026-11-01T12:00Z") from None
    if at.tzinfo is None:
        raise BadReference(f"--from {text} says no time zone", hint=f"{text}Z for UTC")
    return int(at.timestamp() * 1000)


def _engine(chosen: str, found: Sequence[Found]) -> str:
    here = any(isinstance(source, kafka.Topics) for source in found)
    if chosen == "spark" and here:
        raise UsageError("Kafka is read by this process, not by executors", hint="--engine local")
    if chosen != "auto" or here:
        return "local" if chosen == "auto" else chosen
    size = sum(source.bytes for source in found if isinstance(source, files.File))
    return "spark" if size >= files.SPARK_FROM_BYTES else "local"


def _by_registry(
    given: AnyRegistry | None, found: Sequence[Found]
) -> Iterator[tuple[AnyRegistry, list[Found]]]:
    """Sources that follow one another and share a registry, with that registry."""
    for path, group in groupby(found, key=lambda source: None if given else _registry_beside(source)):
        yield given or (NO_REGISTRY if path is None else load_export(path)), list(group)


def _registry_beside(source: Found) -> str | None:
    return source.registry if isinstance(source, files.File) else None


def _records(
    door: Door, registry: Registry, sources: Sources, source: Found
) -> Iterator[Record | UnreadableItem]:
    if isinstance(source, files.File):
        return files.read_records(source, topic=sources.topic)
    if sources.topic is not None:
        raise UsageError("--topic names bare values of a file; the address names topics", hint="leave it out")
    options = options_of(door, door.settings.kafka_config)
    return kafka.read_records(source, options, registry.offsets(door.settings.stream.value), sources.since_ms)


def _read(
    door: Door, registry: Registry, sources: Sources, found: Sequence[Found], schemas: AnyRegistry
) -> Summary:
    def progress(so_far: Summary) -> None:
        door.console.progress(f"{format_number(so_far.read)} records read")

    if sources.engine == "spark":
        if sources.topic is not None:
            raise UsageError("bare values are read in this process only", hint="--engine local")
        on_disk = [source for source in found if isinstance(source, files.File)]
        return ingest_on_spark(door, on_disk, registry, schemas, sources.keep_payload, progress)
    done = Summary()
    stream, forms = door.settings.stream.value, door.settings.forms
    for source in found:
        records = _records(door, registry, sources, source)
        done += read_in(records, registry, stream, schemas, sources.keep_payload, progress, forms=forms)
    return done
