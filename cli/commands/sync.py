"""Read what is new, and have the lake tables follow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from schemaman.errors import UsageError
from schemaman.ingest.ingest import Summary
from schemaman.registry import Registry
from schemaman.report.json.sync import FollowedTable
from schemaman.report.views.sync import build_sync_report
from schemaman_cli.group import verb
from schemaman_cli.lake import tell_of_other_streams
from schemaman_cli.options import Door, door, format_option, interval_option
from schemaman_cli.sources import following, judged, read_sources, source_options, sources_of
from schemaman_cli.syncing import Keeper, Said
from schemaman_cli.wiring import decisions_of, now_ms, open_store


@verb(
    "sync",
    "schemaman sync 'kafka://broker:9092/shop.*'",
    "schemaman sync records.jsonl.gz --once",
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@source_options
@click.option("--once", is_flag=True, help="One round, then end; without it only topics of Kafka.")
@interval_option("The pause between two rounds.")
@click.option(
    "--plans",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("plans"),
    show_default=True,
    help="Where plans lie that wait for a person.",
)
@click.option("--partial", is_flag=True, help="Make the steps of a plan that has refusals.")
@click.option("--max-rejects", type=click.IntRange(min=0), help="With more rejects than these, exit code 3.")
@format_option("text", "json", "markdown")
@door
def sync(
    door: Door,
    sources: tuple[str, ...],
    once: bool,
    interval: float,
    plans: Path,
    partial: bool,
    max_rejects: int | None,
    since: str | None,
    format: str,
    **_: object,
) -> int:
    """Read each SOURCE into the history and bring the targets of schemaman.toml up to it, again and again.

    Both are of one stream, that of --stream: tables of other streams stay as they are.

    What the policy makes automatic is done at once, each step journalled. What a person has to approve waits
    as a plan file, and is done in the first round after `schemaman approve`. A table that is refused or fails
    stops no other one; it is told again when something about it changes. With --once the exit code is that of
    the gravest table: 1 waiting or refused, 3 failed, 4 stale or locked, 5 partly applied.
    """
    if not door.settings.targets.value:
        raise UsageError("there is no target to bring up to date", hint="add a [[target]] to schemaman.toml")
    meant = sources_of(door, sources, since=since)
    store = open_store(door, create=True)
    registry = Registry(store, now_ms)
    keeper = Keeper(door, registry, plans, partial=partial)
    if once:
        read = read_sources(door, registry, meant)
        tell_of_other_streams(door, store.tables())
        keeper.hear(read)
        found = keeper.round(decisions_of(door))
        _show(door, read, found, format)
        return max((judged(door, read, max_rejects, meant), *(f.code for f in found)))
    before: Sequence[FollowedTable] | None = None
    said = Said(door)
    for read in following(door, registry, meant, interval):
        keeper.hear(read)
        if before is None:
            tell_of_other_streams(door, store.tables())
        answers = decisions_of(door) if before is None else said.answers()
        found = () if answers is None else keeper.round(answers)
        if before is None or read.new or (answers is not None and list(found) != list(before)):
            _show(door, read, found, format)
            judged(door, read, max_rejects, meant)
        if answers is not None:
            before = [f for f in found if not f.is_current]
    return 0


def _show(door: Door, read: Summary, found: Sequence[FollowedTable], format: str) -> None:
    door.console.show(build_sync_report(read, found), format)


COMMAND = sync
