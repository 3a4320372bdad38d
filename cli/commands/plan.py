"""Plan the steps that bring lake tables to the source's structure."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from schemaman.errors import SchemamanError, SessionLost, UsageError
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import parse_expiry, to_document, to_sql
from schemaman.registry import Registry
from schemaman.report.views.migrations import build_plan_report
from schemaman_cli.faults import report_of, unforeseen
from schemaman_cli.group import verb
from schemaman_cli.lake import Follower, followers, tell_of_other_streams
from schemaman_cli.main import FAILED, exit_code
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.paths import is_folder
from schemaman_cli.plan_files import plan_file, write_plan
from schemaman_cli.planning import lookout, planned
from schemaman_cli.sessions import executor
from schemaman_cli.ways import phases, way_back
from schemaman_cli.wiring import now_ms, open_store

PHASES = ("expand", "backfill", "swap", "contract", "abandon", "rekey", "fill")


@verb(
    "plan",
    "schemaman plan orders --target delta --table /lake/orders -o orders.plan.json",
    "schemaman plan orders --target raw --recipe -o plans/",
)
@click.argument("tables", nargs=-1, metavar="[TABLE]...")
@click.option(
    "--target", metavar="NAME", help="A target of schemaman.toml; or delta or iceberg, with --table."
)
@click.option("--table", "lake_table", metavar="LAKE_TABLE|PATH", help="The lake table, for a single TABLE.")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="Write the plan file; for several tables or phases a folder, which may also be said as plans/.",
)
@click.option(
    "--expires", metavar="WHEN", help="Until when it may be applied: 30d, 12h, a day, never. Default 30d."
)
@click.option("--recipe", is_flag=True, help="Plan in phases what no format changes in place.")
@click.option("--phase", type=click.Choice(PHASES), help="With --recipe: this phase alone.")
@click.option("--into", metavar="LAKE_TABLE|PATH", help="With --recipe: a new table, to be filled.")
@click.option(
    "--exact", multiple=True, metavar="COLUMN", help="With --recipe: give COLUMN the source's narrower type."
)
@click.option("--rollback", metavar="PLAN|RUN", help="Plan the way back from a plan that was applied.")
@format_option("text", "json", "markdown", "html", "sql")
@door
def plan(
    door: Door,
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
    """Plan steps and refusals for the lake tables that follow each TABLE, or all; nothing is changed.

    All are those of --stream; a TABLE may be of another one, dev:orders. A table that cannot be planned for
    is told of, and hides no other. The exit code is 1 if anything is refused, and the gravest of what could
    not be done: 3 if a lake table could not be looked at.
    """
    if (phase or into or exact) and not recipe:
        raise UsageError("--phase, --into and --exact go with --recipe")
    if output is not None and output.endswith(".sql"):
        hint = f"-o {output.removesuffix('.sql')}.plan.json; the statements are written beside it"
        raise UsageError(f"{output} would hold the statements alone, and apply reads the plan", hint=hint)
    if rollback is not None:
        if recipe or tables or target or lake_table:
            raise UsageError("--rollback goes alone: the plan says which table it was for")
        return _told(door, [way_back(door, rollback)], output, format)
    store = open_store(door)
    chosen = followers(door, Registry(store, now_ms), tables, target, lake_table)
    if not tables:
        tell_of_other_streams(door, store.tables(), target)
    if into and len(chosen) != 1:
        raise UsageError("--into goes with a single TABLE")
    around = lookout(store, executor(door)) if chosen else None
    lasts = expires or door.settings.plan_expires.value
    until = parse_expiry(lasts, now_ms())
    if until is not None and until <= now_ms():
        raise UsageError(f"{lasts} is over already", hint="say 30d, 12h, a day to come, or never")

    def plans_of(follower: Follower) -> Sequence[Plan]:
        assert around is not None
        if recipe:
            return phases(door, around, follower, phase, into, exact, until)
        door.console.progress(f"looking at {follower.table}")
        return [planned(door, around, follower, until)]

    plans, codes = _each(door, chosen, plans_of)
    several = len(chosen) > 1 or len(plans) != 1
    code = _told(door, plans, output if plans or not codes else None, format, len(codes), several)
    return max(code, *codes, 0)


def _each(
    door: Door, chosen: Sequence[Follower], plans_of: Callable[[Follower], Sequence[Plan]]
) -> tuple[list[Plan], list[int]]:
    """The plans of lake tables, and an exit code for each that has none: it stops no other one."""
    plans: list[Plan] = []
    codes: list[int] = []
    for follower in chosen:
        what = f"{follower.table} cannot be planned for"
        try:
            plans += plans_of(follower)
        except SchemamanError as error:
            if len(chosen) == 1 or isinstance(error, SessionLost):
                raise
            codes.append(exit_code(error))
            door.console.warn(f"{what}: {error.message}", error.hint)
        except Exception as error:  # nobody foresaw it
            if len(chosen) == 1:
                raise
            codes.append(FAILED)
            door.console.warn(f"{what}: {unforeseen(error)}", report_of(str(follower.history.table)))
    return plans, codes


def _told(
    door: Door, plans: Sequence[Plan], output: str | None, format: str, failed: int = 0, several: bool = False
) -> int:
    """Several tables are told alike however many plans they have."""
    if output is not None:
        _write(door, plans, output, several)
    if format == "sql":
        door.console.write("\n".join(to_sql(p) for p in plans))
    else:
        documents = [to_document(p) for p in plans]
        data = {"schema_version": 1, "plans": documents} if several else documents[0]
        door.console.show(build_plan_report(plans, data, failed), format)
    return 1 if any(p.refusals for p in plans) else 0


def _write(door: Door, plans: Sequence[Plan], output: str, several: bool) -> None:
    path = Path(output)
    if not several and not is_folder(path) and not output.endswith(("/", os.sep)):
        write_plan(path, plans[0])
        door.console.say(f"written to {path}; next: schemaman apply {path}")
        return
    written: list[Path] = []
    for one in plans:
        file = plan_file(path, one.target, one.table, one.phase)
        again = written.count(file)
        written.append(file)
        name = file.name.removesuffix(".plan.json")
        write_plan(file.with_name(f"{name}-{again + 1}.plan.json") if again else file, one)
    told = "1 plan" if len(plans) == 1 else f"{len(plans)} plans"
    door.console.say(f"{told} written to {path}; next: schemaman apply {path}")


COMMAND = plan
