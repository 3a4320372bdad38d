"""Read records into the history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import click

from schemaman.api.reading_metrics import MEDIA_TYPE
from schemaman.api.sources import (
    ReadingWatch,
    RecordSources,
    find_sources,
    follow_sources,
    read_sources,
    stream_sources,
)
from schemaman.errors import UsageError
from schemaman.ingest.summary import Summary
from schemaman.io.file_work import PARALLEL_FROM_BYTES, count_cores
from schemaman.registry import Registry
from schemaman.report.document import Report
from schemaman.report.views.ingest import build_ingest_report
from schemaman_cli.ending import end_after_chunk
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import Address, CommandContext, format_option, interval_option, with_one_stream
from schemaman_cli.source_options import count_versions, rate_rejects, source_options


@command(
    "ingest",
    "schemaman ingest records.jsonl.gz",
    "schemaman ingest 'kafka://broker:9092/shop.*' --stream prod",
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@source_options
@click.option("--topic", metavar="NAME", help="Topic of a SOURCE with bare values, one per line.")
@click.option("--max-rejects", type=click.IntRange(min=0), help="Exit with 3 if more records are rejected.")
@click.option(
    "--keep-payload",
    is_flag=True,
    help="Keep the bytes of rejected records; they may contain personal data.",
)
@click.option("--again", is_flag=True, help="Read also files that are unchanged since they were read.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes that read files side by side (default: one per core for 768 MB and more, else one).",
)
@click.option("--follow", is_flag=True, help="Keep reading new records until the command is stopped.")
@click.option("--once", is_flag=True, help="With --checkpoints: read what is there and exit.")
@click.option(
    "--checkpoints",
    type=click.Path(path_type=Path, file_okay=False),
    help="Read topics with Structured Streaming, with --engine spark; the folder of its checkpoints, one for "
    "each stream.",
)
@interval_option("With --follow: pause between two reads of the topics.")
@click.option(
    "--metrics",
    metavar="[HOST:]PORT",
    type=Address(),
    help="Serve counts for Prometheus while reading (default host: 127.0.0.1); --format json has them too.",
)
@format_option("text", "json", "markdown")
@with_one_stream
def ingest(
    context: CommandContext,
    sources: tuple[str, ...],
    topic: str | None,
    max_rejects: int | None,
    keep_payload: bool,
    since: str | None,
    again: bool,
    jobs: int | None,
    follow: bool,
    once: bool,
    checkpoints: Path | None,
    interval: float,
    metrics: tuple[str, int] | None,
    format: str,
    **_: object,
) -> int:
    """Read the records of each SOURCE into the history; reading them again changes nothing.

    A SOURCE is a file of kcat -J lines (.jsonl, .gz, .zst), Parquet or Avro with the columns of Spark's Kafka
    source, a file that a sink of Kafka Connect wrote (TOPIC+PARTITION+OFFSET.json, .avro, .parquet), a folder
    of such files or with one records.*, a pattern such as 'dump/**/*.parquet', - for standard input, or
    kafka://BROKERS/TOPIC[,TOPIC...|*]. With --topic, lines are values, or what kafka-console-consumer prints.
    A file, folder or pattern may also be an address that fsspec opens, such as s3://BUCKET/FOLDER. From
    Kafka, it reads the unread records in the topics. Spark also reads table:NAME, and with --engine
    spark folders, patterns and addresses of Parquet files. With --follow, it also reads later records, and
    prints a report whenever there are new ones. With --checkpoints, Spark reads
    the topics as a stream, which goes on from its checkpoint. A file is not read again while it is unchanged,
    except with --again, or if records of it were rejected. If kcat lines were appended to it, these are read.
    SIGTERM ends the command after the chunk that is
    being read.
    """
    if checkpoints is None and once:
        raise UsageError("without --checkpoints, ingest reads once anyway", hint="omit --once")
    if checkpoints is not None and once == follow:
        raise UsageError(
            "--checkpoints needs --once or --follow", hint="--once reads what is there and exits"
        )
    workspace = make_workspace(context)
    found = find_sources(
        workspace, sources, topic=topic, keep_payload=keep_payload, since=since, jobs=jobs or count_cores(),
        shared_from=PARALLEL_FROM_BYTES if jobs is None else 0, again=again,
    )  # fmt: skip
    registry = open_registry(context, create=True)
    with ExitStack() as stack:
        end = stack.enter_context(end_after_chunk())
        watch = ReadingWatch(begin=end.count_record, end=end.pass_chunk)
        if metrics is not None:
            from schemaman.io.text_endpoint import serve_text  # most readings need no server

            stack.enter_context(serve_text(*metrics, MEDIA_TYPE, watch.metrics.format))

        def build(done: Summary) -> Report:
            report = _build_report(context, registry, found, done, watch)
            counts = {} if metrics is None else {"metrics": watch.metrics.build_document()}
            return replace(report, data={**report.data, **counts})

        batches: Iterator[Summary] | None = None
        if checkpoints is not None:
            folder = checkpoints / quote(context.settings.stream.value, safe="") / "ingest"
            pause = None if once else interval
            batches = stream_sources(workspace, registry, found, folder.absolute(), pause, watch)
        if not follow:
            done = sum(batches or [read_sources(workspace, registry, found, watch)], Summary())
            context.console.show(build(done), format)
            return rate_rejects(context, done, max_rejects, found)
        from schemaman_cli.following import RoundLog  # most readings end

        rounds = RoundLog(context, registry, found, format)
        for number, done in enumerate(batches or follow_sources(workspace, registry, found, interval, watch)):
            report = build(done)
            if not number or done.new:
                rounds.write_round(report, done)
                rate_rejects(context, done, max_rejects, found)
            else:
                rounds.write_idle_round(report, done)
        return 0


def _build_report(
    context: CommandContext, registry: Registry, sources: RecordSources, done: Summary, watch: ReadingWatch
) -> Report:
    stream, tables = context.settings.stream.value, count_versions(registry, done)
    watch.metrics.versions.update(tables)
    return build_ingest_report(
        done, stream=stream, engine=sources.engine, sources=sources.names, tables=tables
    )


COMMAND = ingest
