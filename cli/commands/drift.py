"""Find what someone else changed on lake tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from shlex import quote

import click

from schemaman.api.spark_session import open_executor
from schemaman.api.syncing import describe_report_hint
from schemaman.errors import CouldNotDo, NoHistory, StalePlan, StoreUnavailable, UsageError, message_of
from schemaman.migration.apply.apply import find_drift as drifted
from schemaman.migration.apply.apply import find_expected_structure, target_id
from schemaman.migration.apply.journal import (
    count_progress,
    forget_target,
    is_forgotten,
    is_in_progress,
    read_drift,
)
from schemaman.migration.apply.resume import find_resume_point
from schemaman.migration.plan import describe_change
from schemaman.migration.plan_file import from_text
from schemaman.migration.properties.names import SOURCE_PROPERTY
from schemaman.migration.target import TARGETS, Executor, LakeTable
from schemaman.registry import Registry
from schemaman.report.json.migrations import Drift
from schemaman.report.views.migrations import build_drift_report
from schemaman.store.log import MigrationEntry
from schemaman_cli.asking import confirm
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext, format_option, with_context

_Asked = tuple[set[str] | None, set[str]]
"""The sources that are asked for, if not all, and those of which a table was looked at."""


@command("drift", "schemaman drift", "schemaman drift orders --format json")
@click.argument("tables", nargs=-1, metavar="[TABLE]...")
@click.option(
    "--forget",
    "gone",
    multiple=True,
    metavar="LAKE_TABLE",
    help="A table that is rightly gone: look for it no more.",
)
@click.option("-y", "--yes", is_flag=True, help="With --forget: do not ask.")
@format_option("text", "json", "markdown", "html", "github")
@with_context
def drift(
    context: CommandContext, tables: tuple[str, ...], gone: tuple[str, ...], yes: bool, format: str
) -> int:
    """Compare lake tables with what the last migration left: those that follow TABLE, or all of them.

    What runs met meanwhile and went on from is told as well, once. The exit code is 1 if one is not as it was
    left, and 3 if one could not be looked at, or no lake table of TABLE is known. A table that --forget named
    is looked at again once a plan for it is applied.
    """
    registry = open_registry(context)
    if gone:
        if tables:
            raise UsageError("--forget goes alone", hint=f"schemaman drift --forget {quote(gone[0])}")
        return _let_go(context, registry, gone, yes)
    sources = {str(h.table) for h in registry.select(*tables)} if tables else None
    told: dict[str, list[MigrationEntry]] = {}
    for line in registry.journal():
        told.setdefault(line.target, []).append(line)
    every = {target: ls for target, ls in told.items() if any(line.state == "finished" for line in ls)}
    if not every:
        raise NoHistory("no migration has been journalled yet", hint="schemaman apply PLAN makes one")
    migrated = {target: lines for target, lines in every.items() if not is_forgotten(lines)}
    unseen: list[str] = []
    looked: set[str] = set()
    seen = _found(context, open_executor(make_workspace(context)), migrated, (sources, looked), unseen)
    found = tuple(replace(d, earlier_drift=read_drift(told[target_id(d.format, d.table)])[0]) for d in seen)
    if marks := tuple(_marks(told, found)):
        _noted(context, registry, marks)
    context.console.show(build_drift_report(found), format)
    missed = sorted((sources or set()) - looked) if not unseen else []
    for source in missed:
        context.console.warn(f"no lake table of {source} is known", "schemaman status lists those that are")
    return 3 if unseen or missed else 1 if any(d.is_drifted for d in found) else 0


def _let_go(context: CommandContext, registry: Registry, tables: Sequence[str], yes: bool) -> int:
    """Forget targets that are there no more, all or none.

    Raises:
        UsageError: nothing of that name was migrated, or it is there.
    """
    known = dict.fromkeys(line.target for line in registry.journal() if line.state == "finished")
    targets: list[str] = []
    for table in tables:
        named = [t for format in TARGETS.names() if (t := target_id(format, table)) in known]
        if not named:
            raise UsageError(f"no migration of {table} is known", hint="schemaman status lists the targets")
        targets += named
    spark = open_executor(make_workspace(context))
    for target in targets:
        _require_gone(context, spark, target)
    named = [target.partition(":")[2] for target in targets]
    example = f"schemaman drift {' '.join(f'--forget {quote(table)}' for table in tables)}"
    if confirm(f"Look for {', '.join(named)} no more?", yes, example):
        registry.note(*map(forget_target, targets))
        context.console.inform(f"{', '.join(named)} is forgotten until a plan for it is applied")
    return 0


def _require_gone(context: CommandContext, spark: Executor, target: str) -> None:
    """Raises `UsageError` for a table that is there; one that cannot be looked at is told of."""
    format, _, table = target.partition(":")
    try:
        live = spark.inspect(table, format)
    except CouldNotDo as error:
        context.console.warn(f"{table} cannot be looked at: {error.message}", error.hint)
        return
    if live is not None:
        hint = "drop it first, if it is to go"
        raise UsageError(f"{table} is there: it would not be compared any more", hint=hint)


def _found(
    context: CommandContext,
    spark: Executor,
    migrated: Mapping[str, Sequence[MigrationEntry]],
    asked: _Asked,
    unseen: list[str],
) -> Iterable[Drift]:
    """What is known of each target by its lines; one that cannot be looked at hides no other: `unseen`."""
    for target, lines in migrated.items():
        what = f"{target.partition(':')[2]} cannot be looked at"
        try:
            yield from _looked_at(context, spark, lines, target, asked)
        except CouldNotDo as error:
            unseen.append(target)
            context.console.warn(f"{what}: {error.message}", error.hint)
        except Exception as error:  # nobody foresaw it
            if len(migrated) == 1:
                raise
            unseen.append(target)
            context.console.warn(f"{what}: {message_of(error)}", describe_report_hint("TABLE"))


def _looked_at(
    context: CommandContext, spark: Executor, lines: Sequence[MigrationEntry], target: str, asked: _Asked
) -> Sequence[Drift]:
    """What is known of one target; nothing if it is not asked for."""
    format, _, table = target.partition(":")
    live = spark.inspect(table, format)
    expected = find_expected_structure(lines, format, table)
    if expected is None or not _wanted(live, lines, asked):
        return ()
    if live is None:
        return (Drift(format, table, (), missing=True),)
    if run := _half_way(lines, live):
        context.console.warn(f"{table} is half-way: run {run} has not finished", f"schemaman resume {run}")
        return (Drift(format, table, ()),)
    return (Drift(format, table, drifted(live, expected)),)


def _half_way(lines: Sequence[MigrationEntry], live: LakeTable) -> str:
    """The run that has not finished, if the table stands where it left it: that was nobody else."""
    if not is_in_progress(lines):
        return ""
    last = next(line for line in reversed(lines) if line.state == "started")
    try:
        plan = from_text(last.statement)
        find_resume_point(plan, live, *count_progress([line for line in lines if line.plan == last.plan]))
    except (StalePlan, UsageError):
        return ""
    return last.run


def _noted(context: CommandContext, registry: Registry, marks: Sequence[MigrationEntry]) -> None:
    """Keep what was found; who may only read the store is told, and has his answer all the same."""
    try:
        registry.note(*marks)
    except StoreUnavailable as error:
        context.console.warn(f"`schemaman status` will not know of it: {error.message}", error.hint)


def _marks(lines: Mapping[str, Sequence[MigrationEntry]], found: Iterable[Drift]) -> Iterable[MigrationEntry]:
    """Lines for what the journal does not know yet, so that `status` tells of it, too."""
    for drift in found:
        target = target_id(drift.format, drift.table)
        told = "the table is gone" if drift.missing else "; ".join(map(describe_change, drift.changes))
        before, standing = read_drift(lines[target])
        if before or told != standing:
            yield MigrationEntry("drift", "", target, None, "drifted" if told else "settled", told)


def _wanted(live: LakeTable | None, lines: Sequence[MigrationEntry], asked: _Asked) -> bool:
    """Whether a table follows a source that is asked for, as it says or as its journal does; kept if it does.

    Whoever makes a table anew takes what it said along; one that is gone is always told of.
    """
    sources, looked = asked
    if sources is None:
        return True
    told = live.properties.get(SOURCE_PROPERTY) if live is not None else None
    follows = sources & {told or "", _followed(lines)}
    looked |= follows
    return live is None or bool(follows)


def _followed(lines: Sequence[MigrationEntry]) -> str:
    """The source that the last plan for a target was made for; empty where nobody can read it."""
    texts = [line.statement for line in lines if line.state == "started" and line.statement]
    try:
        return from_text(texts[-1]).source.table if texts else ""
    except (StalePlan, UsageError):
        return ""


COMMAND = drift
