"""Write the rows of records into the lake tables, continuously."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import click

from schemaman.api.row_stream import Checkpoint, RowStream
from schemaman.api.sources import find_sources, follow_sources, read_sources
from schemaman.api.target_tables import warn_of_idle_targets
from schemaman.errors import UsageError
from schemaman.report.document import Code, Report
from schemaman.report.json.stream import WrittenBatch, build_stream
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext, format_option, interval_option, with_one_stream
from schemaman_cli.source_options import rate_rejects, source_options


@command(
    "stream",
    "schemaman stream 'kafka://broker:9092/shop.*'",
    "schemaman stream records.jsonl.gz --once",
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@source_options
@click.option(
    "--once", is_flag=True, help="Write what is there and exit. Sources other than Kafka need this."
)
@interval_option("Pause between two rounds.")
@click.option(
    "--batch",
    type=click.IntRange(min=1, max=1_000_000),
    default=10_000,
    show_default=True,
    metavar="RECORDS",
    help="Largest number of records that are written at once.",
)
@click.option(
    "--checkpoints",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("checkpoints"),
    show_default=True,
    help="Folder of the offsets that are written; one file for each stream.",
)
@click.option("--quarantine", metavar="TABLE", help="Lake table of records that cannot be written yet.")
@click.option("--max-rejects", type=click.IntRange(min=0), help="Exit with 3 if more records are rejected.")
@format_option("text", "json")
@with_one_stream
def stream(
    context: CommandContext,
    sources: tuple[str, ...],
    once: bool,
    interval: float,
    batch: int,
    checkpoints: Path,
    quarantine: str | None,
    max_rejects: int | None,
    since: str | None,
    format: str,
    **_: object,
) -> int:
    """Read each SOURCE into the history, migrate the tables of its records, and write their rows.

    Two processes of one store may write the same tables, as while one is replaced: each row is written once.
    Records that cannot be written wait in the quarantine, and are written when their table can take them.
    Each batch is a report; with --format json, one line.

    This process reads the records. For many records a second, use a LakeSink in a streaming job of Spark.
    With --once, the exit code is 1 if a record waits or was rejected.
    """
    settings = context.settings
    if not settings.targets.value:
        raise UsageError(
            "schemaman.toml has no target to write", hint="add a [[target]], or run schemaman init"
        )
    workspace = make_workspace(context)
    found = find_sources(workspace, sources, since=since)
    registry = open_registry(context, create=True)
    name = settings.stream.value
    checkpoint = Checkpoint.open(checkpoints / f"{quote(name, safe='')}.json", name, registry.store.id)
    rows = RowStream(workspace, registry, found, checkpoint, batch, quarantine)
    if once:
        read = read_sources(workspace, registry, found)
        warn_of_idle_targets(workspace, registry.store.tables())
        complete = [_show(context, written, format) for written in rows.write_rows()]
        if not complete:
            context.console.inform("no record to write")
        rejected = rate_rejects(context, read, max_rejects, found)
        return max(rejected, 0 if all(complete) else 1)
    is_warned = False
    for read in follow_sources(workspace, registry, found, interval):
        if not is_warned:
            warn_of_idle_targets(workspace, registry.store.tables())
            is_warned = True
        for written in rows.write_rows():
            _show(context, written, format)
        rate_rejects(context, read, max_rejects, found)
    return 0


def _show(context: CommandContext, written: WrittenBatch, format: str) -> bool:
    """Write the report of a batch, and return whether no record of it waits."""
    context.console.append(Report("Stream", (Code(written.text),), dict(build_stream(written))), format)
    return written.is_complete


COMMAND = stream
