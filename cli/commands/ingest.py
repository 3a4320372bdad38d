"""Read records into the history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import click

from schemaman.adapters import files, kafka
from schemaman.adapters.schema_registry import NO_REGISTRY, Registered, load
from schemaman.decode.framing import FORMS
from schemaman.errors import UnreadableInput, UsageError
from schemaman.evidence import Record
from schemaman.ingest import Summary
from schemaman.ingest import ingest as read_in
from schemaman.reading import Unread
from schemaman.registry import Registry
from schemaman.summary.intake import ingest_report
from schemaman.summary.words import count, figure
from schemaman_cli.clients import options_of, registered
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.sessions import ingest_on_spark
from schemaman_cli.wiring import open_registry

Found = files.File | kafka.Topics


@verb(
    "ingest",
    "schemaman ingest records.jsonl.gz",
    "schemaman ingest 'kafka://broker:9092/shop.*' --stream prod",
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--engine", type=click.Choice(["auto", "local", "spark"]), help="Who reads; auto goes by size.")
@click.option(
    "--registry",
    metavar="URL|FILE",
    help="A schema registry, or its export; default registry.json beside SOURCE.",
)
@click.option(
    "--registry-config",
    multiple=True,
    metavar="FILE|NAME=VALUE",
    help="Options of the registry's client; secrets in a FILE.",
)
@click.option(
    "--kafka-config",
    multiple=True,
    metavar="FILE|NAME=VALUE",
    help="Options of librdkafka; secrets in a FILE.",
)
@click.option(
    "--format-key", type=click.Choice(FORMS), help="How keys are framed; auto takes what is proven."
)
@click.option("--format-value", type=click.Choice(FORMS), help="How values are framed.")
@click.option(
    "--added-prefix",
    metavar="TEXT",
    help="What fields begin with that flattening added (add.fields.prefix); __ if not said.",
)
@click.option("--topic", metavar="NAME", help="SOURCE holds bare values of this topic, one a line.")
@click.option("--max-rejects", type=click.IntRange(min=0), help="With more rejects than these, exit code 3.")
@click.option("--keep-payload", is_flag=True, help="Keep the bytes of rejects: they may hold personal data.")
@format_option("text", "json", "markdown")
@door
def ingest(
    door: Door,
    sources: tuple[str, ...],
    topic: str | None,
    max_rejects: int | None,
    keep_payload: bool,
    format: str,
    **_: object,
) -> int:
    """Read the records of each SOURCE into the history; reading them again changes nothing.

    A SOURCE is a file of kcat -J lines (.jsonl, .gz, .zst), Parquet with the columns of Spark's Kafka source,
    a folder that holds records.*, - for standard input, or kafka://BROKERS/TOPIC[,TOPIC...|*]: what these
    topics hold now, but for what has been read before.
    """
    found = [_find(source) for source in sources]
    engine = _engine(door.settings.engine.value, found)
    given = registered(door)
    registry = open_registry(door, create=True)
    done = Summary()
    for schemas, files_of in _by_registry(given, found):
        done += _read(door, registry, files_of, engine, schemas, topic, keep_payload)
    versions = {str(h.table): len(h.versions) for h in registry.tables() if h.table in done.tables}
    stream = door.settings.stream.value
    report = ingest_report(done, stream=stream, engine=engine, sources=sources, tables=versions)
    door.console.show(report, format)
    return _judged(door, done, max_rejects, sources)


def _find(source: str) -> Found:
    return kafka.find(source) if source.startswith(kafka.SCHEME) else _absolute(files.find(source))


def _absolute(file: files.File) -> files.File:
    """The file as executors find it too, who may run in another folder; and named alike wherever we stand."""
    if file.path == files.STANDARD_INPUT:
        return file
    registry = None if file.registry is None else str(Path(file.registry).absolute())
    return replace(file, path=str(Path(file.path).absolute()), registry=registry)


def _engine(chosen: str, found: Sequence[Found]) -> str:
    here = any(isinstance(source, kafka.Topics) for source in found)
    if chosen == "spark" and here:
        raise UsageError("Kafka is read by this process, not by executors", hint="--engine local")
    if chosen != "auto" or here:
        return "local" if chosen == "auto" else chosen
    size = sum(source.bytes for source in found if isinstance(source, files.File))
    return "spark" if size >= files.SPARK_FROM_BYTES else "local"


def _by_registry(
    given: Registered | None, found: Sequence[Found]
) -> Iterator[tuple[Registered, list[Found]]]:
    """Sources that follow one another and share a registry, with that registry."""
    for path, group in groupby(found, key=lambda source: None if given else _registry_beside(source)):
        yield given or (NO_REGISTRY if path is None else load(path)), list(group)


def _registry_beside(source: Found) -> str | None:
    return source.registry if isinstance(source, files.File) else None


def _records(door: Door, registry: Registry, source: Found, topic: str | None) -> Iterator[Record | Unread]:
    if isinstance(source, files.File):
        return files.records(source, topic=topic)
    if topic is not None:
        raise UsageError("--topic names bare values of a file; the address names topics", hint="leave it out")
    options = options_of(door, door.settings.kafka_config)
    return kafka.records(source, options, registry.covered(door.settings.stream.value))


def _read(
    door: Door,
    registry: Registry,
    found: Sequence[Found],
    engine: str,
    schemas: Registered,
    topic: str | None,
    keep_payload: bool,
) -> Summary:
    def progress(so_far: Summary) -> None:
        door.console.progress(f"{figure(so_far.read)} records read")

    if engine == "spark":
        if topic is not None:
            raise UsageError("bare values are read in this process only", hint="--engine local")
        on_disk = [source for source in found if isinstance(source, files.File)]
        return ingest_on_spark(door, on_disk, registry, schemas, keep_payload, progress)
    done = Summary()
    for source in found:
        records = _records(door, registry, source, topic)
        stream, forms = door.settings.stream.value, door.settings.forms
        done += read_in(records, registry, stream, schemas, keep_payload, progress, forms=forms)
    return done


def _judged(door: Door, done: Summary, max_rejects: int | None, sources: tuple[str, ...]) -> int:
    """The exit code: what was not understood is a warning, unless it is everything or too much."""
    if not done.rejects:
        return 0
    # a tombstone has no bytes that could be misunderstood
    asides = [kind for kind, _ in done.asides if kind != "tombstone"]
    if not (done.observations or done.known > done.waiting or asides):
        raise UnreadableInput(
            f"nothing in {', '.join(sources)} could be understood", hint="schemaman rejects"
        )
    told = f"{count(done.rejects, 'record')} could not be understood"
    if max_rejects is not None and done.rejects > max_rejects:
        raise UnreadableInput(f"{told}, more than --max-rejects {max_rejects}", hint="schemaman rejects")
    door.console.warn(told, hint="schemaman rejects")
    return 0


COMMAND = ingest
