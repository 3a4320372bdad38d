"""Read records into the history."""

from __future__ import annotations

import click

from schemaman.ingest.ingest import Summary
from schemaman.registry import Registry
from schemaman.report.views.ingest import build_ingest_report
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door, format_option, interval_option
from schemaman_cli.sources import (
    Sources,
    following,
    judged,
    read_sources,
    source_options,
    sources_of,
    versions_of,
)
from schemaman_cli.wiring import open_registry


@verb(
    "ingest",
    "schemaman ingest records.jsonl.gz",
    "schemaman ingest 'kafka://broker:9092/shop.*' --stream prod",
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@source_options
@click.option("--topic", metavar="NAME", help="SOURCE holds bare values of this topic, one a line.")
@click.option("--max-rejects", type=click.IntRange(min=0), help="With more rejects than these, exit code 3.")
@click.option("--keep-payload", is_flag=True, help="Keep the bytes of rejects: they may hold personal data.")
@click.option("--follow", is_flag=True, help="Go on with what comes later, until the command is ended.")
@interval_option("The pause between two looks at the topics, with --follow.")
@format_option("text", "json", "markdown")
@door
def ingest(
    door: Door,
    sources: tuple[str, ...],
    topic: str | None,
    max_rejects: int | None,
    keep_payload: bool,
    since: str | None,
    follow: bool,
    interval: float,
    format: str,
    **_: object,
) -> int:
    """Read the records of each SOURCE into the history; reading them again changes nothing.

    A SOURCE is a file of kcat -J lines (.jsonl, .gz, .zst), Parquet with the columns of Spark's Kafka source,
    a folder that holds records.*, - for standard input, or kafka://BROKERS/TOPIC[,TOPIC...|*]: what these
    topics hold now, but for what has been read before. With --follow, also what they will hold; each time
    that something is new, a report.
    """
    meant = sources_of(door, sources, topic=topic, keep_payload=keep_payload, since=since)
    registry = open_registry(door, create=True)
    if not follow:
        done = read_sources(door, registry, meant)
        _show(door, registry, meant, done, format)
        return judged(door, done, max_rejects, meant)
    for number, done in enumerate(following(door, registry, meant, interval)):
        if not number or done.new:
            _show(door, registry, meant, done, format)
            judged(door, done, max_rejects, meant)
    return 0


def _show(door: Door, registry: Registry, sources: Sources, done: Summary, format: str) -> None:
    stream, tables = door.settings.stream.value, versions_of(registry, done)
    report = build_ingest_report(
        done, stream=stream, engine=sources.engine, sources=sources.words, tables=tables
    )
    door.console.show(report, format)


COMMAND = ingest
