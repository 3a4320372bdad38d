"""Plan the steps that bring lake tables to the source's structure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from schemaman.counterparts import source_of
from schemaman.plan import Executor, Plan
from schemaman.planfile import document, expiry, to_sql, to_text
from schemaman.planner import make_plan
from schemaman.summary.moves import plan_report
from schemaman_cli.group import verb
from schemaman_cli.lake import Follower, followers
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.sessions import executor, require_lasting
from schemaman_cli.wiring import TARGETS, now_ms, open_registry, write_file


@verb(
    "plan",
    "schemaman plan orders --target delta --table /lake/orders -o orders.plan.json",
    "schemaman plan --target raw --format sql",
)
@click.argument("tables", nargs=-1, metavar="[TABLE]...")
@click.option(
    "--target", metavar="NAME", help="A target of schemaman.toml; or delta or iceberg, with --table."
)
@click.option("--table", "lake_table", metavar="LAKE_TABLE|PATH", help="The lake table, for a single TABLE.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write the plan file; for several plans a folder."
)
@click.option(
    "--expires", metavar="WHEN", help="Until when it may be applied: 30d, 12h, a day, never. Default 30d."
)
@format_option("text", "json", "markdown", "html", "sql")
@door
def plan(
    door: Door,
    tables: tuple[str, ...],
    target: str | None,
    lake_table: str | None,
    output: Path | None,
    expires: str | None,
    format: str,
) -> int:
    """Plan steps and refusals for the lake tables that follow each TABLE, or all; nothing is changed.

    The exit code is 1 if anything is refused.
    """
    chosen = followers(door, open_registry(door), tables, target, lake_table)
    spark = executor(door) if chosen else None
    until = expiry(expires or door.settings.plan_expires.value, now_ms())
    plans = [_planned(door, spark, follower, until) for follower in chosen] if spark is not None else []
    if output is not None:
        _write(door, plans, output)
    if format == "sql":
        door.console.write("\n".join(to_sql(p) for p in plans))
    else:
        documents = [document(p) for p in plans]
        data = documents[0] if len(plans) == 1 else {"schema_version": 1, "plans": documents}
        door.console.show(plan_report(plans, data), format)
    return 1 if any(p.refusals for p in plans) else 0


def _planned(door: Door, spark: Executor, follower: Follower, expires_ms: int | None) -> Plan:
    door.console.progress(f"looking at {follower.table}")
    require_lasting(spark, follower.format, follower.table)
    live = spark.inspect(follower.table, follower.format)
    return make_plan(
        source_of(follower.history),
        live,
        TARGETS.get(follower.format),
        follower.table,
        door.settings.policy,
        target_name=follower.target,
        expires_ms=expires_ms,
    )


def _write(door: Door, plans: Sequence[Plan], output: Path) -> None:
    if len(plans) == 1 and not output.is_dir():
        _write_one(output, plans[0])
        door.console.say(f"written to {output}; next: schemaman apply {output}")
        return
    for one in plans:
        name = "".join(ch if ch.isalnum() or ch in "-_." else "_" for ch in f"{one.target}.{one.table}")
        _write_one(output / f"{name}.plan.json", one)
    door.console.say(f"{len(plans)} plans written to {output}")


def _write_one(path: Path, plan: Plan) -> None:
    """The plan file, and beside it what people read."""
    write_file(path, to_text(plan))
    write_file(path.with_suffix(".sql"), to_sql(plan))


COMMAND = plan
