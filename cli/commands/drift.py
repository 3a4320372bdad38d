"""Find changes to lake tables that no plan made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import click

from schemaman.api.spark_session import open_executor
from schemaman.api.syncing import describe_report_hint
from schemaman.errors import CouldNotDo, NoHistory, StalePlan, StoreUnavailable, UsageError, message_of
from schemaman.migration.apply.apply import find_drift as drifted
from schemaman.migration.apply.apply import target_id
from schemaman.migration.apply.journal import (
    count_progress,
    find_expected_table,
    forget_target,
    is_forgotten,
    is_in_progress,
    read_drift,
)
from schemaman.migration.apply.resume import resume_plan
from schemaman.migration.exchanged_names import accept_names
from schemaman.migration.layout import describe_layout_change, find_layout_changes, record_layout
from schemaman.migration.plan import describe_change
from schemaman.migration.plan_file import from_text
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.target import TARGETS, Executor, LakeTable
from schemaman.model.shell import quote_word
from schemaman.registry import Registry
from schemaman.report.json.migrations import Drift
from schemaman.report.views.migrations import build_drift_report
from schemaman.store.log import MigrationEntry
from schemaman_cli.asking import confirm
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context

_Selection = tuple[set[str] | None, set[str]]
"""The requested sources (None: all), and those of them that have an inspected table."""


@command("drift", "schemaman drift", "schemaman drift orders --format json")
@click.argument("tables", nargs=-1, metavar="[TABLE]...", shell_complete=offer("tables"))
@click.option(
    "--forget",
    "dropped",
    multiple=True,
    metavar="LAKE_TABLE",
    help="Stop checking LAKE_TABLE, because it was dropped on purpose. Repeatable.",
)
@click.option(
    "--accept-names",
    "accepted",
    multiple=True,
    metavar="LAKE_TABLE",
    help="Accept the names that the columns of LAKE_TABLE have, though others exchanged them. Repeatable.",
)
@click.option("-y", "--yes", is_flag=True, help="With --forget or --accept-names: ask no question.")
@format_option("text", "json", "markdown", "html", "github")
@with_context
def drift(
    context: CommandContext,
    tables: tuple[str, ...],
    dropped: tuple[str, ...],
    accepted: tuple[str, ...],
    yes: bool,
    format: str,
) -> int:
    """Compare lake tables with the result of their last migration: those that follow TABLE, or all.

    Columns count, and so do partitions, clustering, sort order, identifier fields, constraints, the format
    version, table features and the format's own table properties.

    Drift that an earlier run found and accepted is reported once. The exit code is 1 if a table has changed,
    and 3 if a table cannot be read or TABLE has no known lake table. A table given to --forget is checked
    again after the next plan for it is applied. Where others exchanged names of columns, no plan is made
    until the names are as before, or accepted with --accept-names.
    """
    registry = open_registry(context)
    if dropped:
        if tables:
            raise UsageError(
                "--forget takes no other TABLE", hint=f"schemaman drift --forget {quote_word(dropped[0])}"
            )
        return _forget_targets(context, registry, dropped, yes)
    if accepted:
        if tables:
            raise UsageError(
                "--accept-names takes no other TABLE",
                hint=f"schemaman drift --accept-names {quote_word(accepted[0])}",
            )
        return _accept_names(context, registry, accepted, yes)
    sources = {str(h.table) for h in registry.select(*tables)} if tables else None
    journal: dict[str, list[MigrationEntry]] = {}
    for line in registry.journal():
        journal.setdefault(line.target, []).append(line)
    every = {target: ls for target, ls in journal.items() if any(line.state == "finished" for line in ls)}
    if not every:
        raise NoHistory("the journal contains no migration yet", hint="schemaman apply PLAN makes one")
    migrated = {target: lines for target, lines in every.items() if not is_forgotten(lines)}
    unread: list[str] = []
    inspected: set[str] = set()
    drifts = _find_drifts(
        context, open_executor(make_workspace(context)), migrated, (sources, inspected), unread
    )
    found = tuple(
        replace(d, earlier_drift=read_drift(journal[target_id(d.format, d.table)])[0]) for d in drifts
    )
    if entries := tuple(_make_entries(journal, found)):
        _record_drift(context, registry, entries)
    context.console.show(build_drift_report(found), format)
    missed = sorted((sources or set()) - inspected) if not unread else []
    for source in missed:
        context.console.warn(f"no lake table of {source} is known", "schemaman status lists the lake tables")
    return 3 if unread or missed else 1 if any(d.is_drifted for d in found) else 0


def _forget_targets(context: CommandContext, registry: Registry, tables: Sequence[str], yes: bool) -> int:
    """Forget targets that no longer exist, all or none.

    Raises:
        UsageError: no migration of such a target is known, or the target exists.
    """
    targets = _find_targets(registry, tables)
    spark = open_executor(make_workspace(context))
    for target in targets:
        _require_dropped(context, spark, target)
    named = [target.partition(":")[2] for target in targets]
    example = f"schemaman drift {' '.join(f'--forget {quote_word(table)}' for table in tables)}"
    if confirm(f"Stop checking {', '.join(named)}?", yes, example):
        registry.note(*map(forget_target, targets))
        context.console.inform(f"{', '.join(named)} is not checked until a plan for it is applied")
    return 0


def _accept_names(context: CommandContext, registry: Registry, tables: Sequence[str], yes: bool) -> int:
    """Accept the names of the columns of lake tables, all or none.

    Raises:
        UsageError: no migration of such a target is known, or the table does not exist.
    """
    spark = open_executor(make_workspace(context))
    entries: list[MigrationEntry] = []
    for target in _find_targets(registry, tables):
        format, _, table = target.partition(":")
        lake = spark.inspect(table, format)
        if lake is None:
            raise UsageError(f"{table} does not exist", hint="schemaman status lists the targets")
        entries.append(accept_names(target, lake))
    example = f"schemaman drift {' '.join(f'--accept-names {quote_word(table)}' for table in tables)}"
    question = f"Does each column of {', '.join(tables)} contain the values that its name says?"
    if confirm(question, yes, example):
        registry.note(*entries)
        context.console.inform(f"the names of {', '.join(tables)} are accepted")
    return 0


def _find_targets(registry: Registry, tables: Sequence[str]) -> list[str]:
    """Find the migrated targets that have these names. Raises `UsageError` for an unknown one."""
    known = dict.fromkeys(line.target for line in registry.journal() if line.state == "finished")
    targets: list[str] = []
    for table in tables:
        named = [t for format in TARGETS.names() if (t := target_id(format, table)) in known]
        if not named:
            raise UsageError(f"no migration of {table} is known", hint="schemaman status lists the targets")
        targets += named
    return targets


def _require_dropped(context: CommandContext, spark: Executor, target: str) -> None:
    """Raises `UsageError` for a table that exists; warns about a table that cannot be read."""
    format, _, table = target.partition(":")
    try:
        lake = spark.inspect(table, format)
    except CouldNotDo as error:
        context.console.warn(f"{table} cannot be read: {error.message}", error.hint)
        return
    if lake is not None:
        hint = "to forget it, drop the table first"
        raise UsageError(f"{table} exists: drift in it would no longer be found", hint=hint)


def _find_drifts(
    context: CommandContext,
    spark: Executor,
    migrated: Mapping[str, Sequence[MigrationEntry]],
    selection: _Selection,
    unread: list[str],
) -> Iterable[Drift]:
    """Compare each target with its journal lines; targets that cannot be read are added to `unread`."""
    for target, lines in migrated.items():
        what = f"{target.partition(':')[2]} cannot be read"
        try:
            yield from _find_drift(context, spark, lines, target, selection)
        except CouldNotDo as error:
            if _is_of_others(lines, selection):
                continue
            unread.append(target)
            context.console.warn(f"{what}: {error.message}", error.hint)
        except Exception as error:  # unexpected
            if _is_of_others(lines, selection):
                continue
            if len(migrated) == 1:
                raise
            unread.append(target)
            context.console.warn(f"{what}: {message_of(error)}", describe_report_hint("TABLE"))


def _find_drift(
    context: CommandContext,
    spark: Executor,
    lines: Sequence[MigrationEntry],
    target: str,
    selection: _Selection,
) -> Sequence[Drift]:
    """Compare one target with its journal lines; empty if its source is not requested."""
    format, _, table = target.partition(":")
    lake = spark.inspect(table, format)
    expected = find_expected_table(lines, format, table)
    if expected is None or not _is_requested(lake, lines, selection):
        return ()
    if lake is None:
        return (Drift(format, table, (), missing=True),)
    if run := _find_unfinished_run(lines, lake):
        context.console.warn(
            f"{table} is partly migrated: run {run} has not finished", f"schemaman resume {run}"
        )
        return (Drift(format, table, ()),)
    layout = find_layout_changes(expected.layout, record_layout(TARGETS.get(format), lake))
    return (Drift(format, table, drifted(lake, expected.structure), layout=layout),)


def _find_unfinished_run(lines: Sequence[MigrationEntry], lake: LakeTable) -> str:
    """Find the unfinished run that left the table in this state; empty if there is none."""
    if not is_in_progress(lines):
        return ""
    last = next(line for line in reversed(lines) if line.state == "started")
    try:
        plan = from_text(last.statement)
        resume_plan(plan, lake, *count_progress([line for line in lines if line.plan == last.plan]))
    except (StalePlan, UsageError):
        return ""
    return last.run


def _record_drift(context: CommandContext, registry: Registry, entries: Sequence[MigrationEntry]) -> None:
    """Write the drift into the journal; only warn if the store is read-only, so that the report is shown."""
    try:
        registry.note(*entries)
    except StoreUnavailable as error:
        context.console.warn(f"`schemaman status` will not show this drift: {error.message}", error.hint)


def _make_entries(
    lines: Mapping[str, Sequence[MigrationEntry]], found: Iterable[Drift]
) -> Iterable[MigrationEntry]:
    """Make journal lines for drift that is not in the journal yet, so that `status` shows it."""
    for drift in found:
        target = target_id(drift.format, drift.table)
        changes = (*map(describe_change, drift.changes), *map(describe_layout_change, drift.layout))
        text = "the table is gone" if drift.missing else "; ".join(changes)
        earlier, current = read_drift(lines[target])
        if earlier or text != current:
            yield MigrationEntry("drift", "", target, None, "drifted" if text else "settled", text)


def _is_requested(lake: LakeTable | None, lines: Sequence[MigrationEntry], selection: _Selection) -> bool:
    """Whether a table follows a requested source by its property or its journal; records that source.

    Both count because recreating a table removes its properties. A missing table without a readable plan may
    follow any source, so it is always reported.
    """
    sources, inspected = selection
    if sources is None:
        return True
    source = read_record(lake.properties).source if lake is not None else None
    planned = _find_source(lines)
    follows = sources & {source or "", planned}
    inspected |= follows
    return bool(follows) or (lake is None and not planned)


def _is_of_others(lines: Sequence[MigrationEntry], selection: _Selection) -> bool:
    """Whether the last plan for a target follows a source that is not requested."""
    sources, source = selection[0], _find_source(lines)
    return sources is not None and bool(source) and source not in sources


def _find_source(lines: Sequence[MigrationEntry]) -> str:
    """Return the source of the last plan for a target; empty if that plan cannot be read."""
    texts = [line.statement for line in lines if line.state == "started" and line.statement]
    try:
        return from_text(texts[-1]).source.table if texts else ""
    except (StalePlan, UsageError):
        return ""


COMMAND = drift
