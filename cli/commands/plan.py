"""Plan the steps that migrate lake tables to the source schema."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from schemaman.api.exit_codes import FAILED, exit_code, exit_code_of_plan
from schemaman.api.files import is_folder
from schemaman.api.plan_files import plan_file, read_plan_key, write_plan
from schemaman.api.planning import LakePlanner, make_preflight, read_expiry
from schemaman.api.recipe_plans import plan_phases, plan_way_back
from schemaman.api.spark_session import open_executor
from schemaman.api.syncing import describe_report_hint
from schemaman.api.target_tables import TargetTable, list_target_tables, warn_of_idle_targets
from schemaman.errors import SchemamanError, SessionLost, UsageError, message_of
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import to_document, to_sql
from schemaman.registry import Registry
from schemaman.report.views.migrations import build_plan_report
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_one_stream

PHASES = ("expand", "backfill", "swap", "contract", "abandon", "rekey", "fill", "unite")


@command(
    "plan",
    "schemaman plan orders --target delta --table /lake/orders -o orders.plan.json",
    "schemaman plan orders --target raw --recipe -o plans/",
)
@click.argument("tables", nargs=-1, metavar="[TABLE]...", shell_complete=offer("references"))
@click.option(
    "--target",
    shell_complete=offer("targets"),
    metavar="NAME",
    help="Target of schemaman.toml; with --table, delta or iceberg.",
)
@click.option("--table", "lake_table", metavar="LAKE_TABLE|PATH", help="Lake table of a single TABLE.")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="Plan file to write; a folder, such as plans/, for several tables or phases.",
)
@click.option(
    "--expires", metavar="WHEN", help="Expiry of the plan: 30d, 12h, a date, or never (default: 30d)."
)
@click.option("--recipe", is_flag=True, help="Plan, in phases, changes that no format makes in place.")
@click.option("--phase", type=click.Choice(PHASES), help="With --recipe: plan only this phase.")
@click.option("--into", metavar="LAKE_TABLE|PATH", help="With --recipe: new table to fill.")
@click.option(
    "--exact", multiple=True, metavar="COLUMN", help="With --recipe: give COLUMN the source's narrower type."
)
@click.option("--rollback", metavar="PLAN|RUN", help="Plan the rollback of an applied plan.")
@format_option("text", "json", "markdown", "html", "sql")
@with_one_stream
def plan(
    context: CommandContext,
    tables: tuple[str, ...],
    target: str | None,
    lake_table: str | None,
    output: str | None,
    expires: str | None,
    recipe: bool,
    phase: str | None,
    into: str | None,
    exact: tuple[str, ...],
    rollback: str | None,
    format: str,
) -> int:
    """Plan steps and refusals for the lake tables that follow each TABLE, or all; change nothing.

    Without TABLE, plan all tables of --stream; a TABLE may name another stream, such as dev:orders. A table
    that cannot be planned does not stop the others. The exit code is 1 if a change is refused, 3 if a lake
    table cannot be read; the highest code counts.
    """
    if (phase or into or exact) and not recipe:
        raise UsageError("--phase, --into and --exact need --recipe")
    if output is not None and output.endswith(".sql"):
        hint = f"-o {output.removesuffix('.sql')}.plan.json also writes the statements, to a file beside it"
        raise UsageError(f"{output} is an SQL file, but apply needs a plan file", hint=hint)
    if rollback is not None:
        if recipe or tables or target or lake_table:
            raise UsageError("--rollback takes no table or target: the plan names its table")
        registry = open_registry(context)
        back = plan_way_back(_make_planner(context, registry), registry, rollback)
        return _show(context, [back], output, format)
    workspace, registry = make_workspace(context), open_registry(context)
    chosen = list_target_tables(workspace, registry, tables, target, lake_table)
    if not tables:
        warn_of_idle_targets(workspace, registry.store.tables(), target)
    if into and len(chosen) != 1:
        raise UsageError("--into takes exactly one TABLE")
    planner = _make_planner(context, registry) if chosen else None
    until = read_expiry(workspace, expires)

    def plan_one(table: TargetTable) -> Sequence[Plan]:
        assert planner is not None
        if recipe:
            return plan_phases(planner, table, phase, into, exact, until)
        context.console.progress(f"reading {table.table}")
        return [planner.plan_table(table, until)]

    plans, codes = _plan_each(context, chosen, plan_one)
    several = len(chosen) > 1 or len(plans) != 1
    code = _show(context, plans, output if plans or not codes else None, format, len(codes), several)
    return max(code, *codes, 0)


def _make_planner(context: CommandContext, registry: Registry) -> LakePlanner:
    executor = open_executor(make_workspace(context))
    return LakePlanner(make_preflight(registry.store, registry, executor), context.settings.policy)


def _plan_each(
    context: CommandContext, chosen: Sequence[TargetTable], plan_one: Callable[[TargetTable], Sequence[Plan]]
) -> tuple[list[Plan], list[int]]:
    """Plan each lake table; return the plans, and an exit code for each table that failed."""
    plans: list[Plan] = []
    codes: list[int] = []
    for table in chosen:
        what = f"cannot plan {table.table}"
        try:
            plans += plan_one(table)
        except SchemamanError as error:
            if len(chosen) == 1 or isinstance(error, SessionLost):
                raise
            codes.append(exit_code(error))
            context.console.warn(f"{what}: {error.message}", error.hint)
        except Exception as error:  # unexpected
            if len(chosen) == 1:
                raise
            codes.append(FAILED)
            hint = describe_report_hint(str(table.history.table))
            context.console.warn(f"{what}: {message_of(error)}", hint)
    return plans, codes


def _show(
    context: CommandContext,
    plans: Sequence[Plan],
    output: str | None,
    format: str,
    failed: int = 0,
    several: bool = False,
) -> int:
    """Print and write the plans; `several` tables share one document, with any number of plans."""
    if output is not None:
        _write(context, plans, output, several)
    if format == "sql":
        context.console.write("\n".join(to_sql(p) for p in plans))
    else:
        documents = [to_document(p) for p in plans]
        data = {"schema_version": 1, "plans": documents} if several else documents[0]
        context.console.show(build_plan_report(plans, data, failed), format)
    return max((exit_code_of_plan(p.refusals) for p in plans), default=0)


def _write(context: CommandContext, plans: Sequence[Plan], output: str, several: bool) -> None:
    path, key = Path(output), read_plan_key(context.settings)
    if not several and not is_folder(path) and not output.endswith(("/", os.sep)):
        write_plan(path, plans[0], key)
        following = f"; next: schemaman apply {path}" if plans[0].steps else ""
        context.console.inform(f"written to {path}{following}")
        return
    written: list[Path] = []
    for one in plans:
        file = plan_file(path, one.target, one.table, one.phase)
        again = written.count(file)
        written.append(file)
        name = file.name.removesuffix(".plan.json")
        write_plan(file.with_name(f"{name}-{again + 1}.plan.json") if again else file, one, key)
    counted = "1 plan" if len(plans) == 1 else f"{len(plans)} plans"
    context.console.inform(f"{counted} written to {path}; next: schemaman apply {path}")


COMMAND = plan
