"""How commands reach the lake: a Spark session, an executor, and which table follows what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from schemaman.errors import UsageError
from schemaman.plan import Executor
from schemaman.registry import Registry
from schemaman.settings import TargetSetting
from schemaman.versions import TableHistory
from schemaman_cli.options import Door
from schemaman_cli.wiring import TARGETS, histories


@dataclass(frozen=True, slots=True)
class Follower:
    """A lake table that follows a source table."""

    history: TableHistory
    target: str
    format: str
    table: str


def executor(door: Door) -> Executor:
    """What runs statements, on a Spark session that lives as long as the command.

    Raises:
        EngineUnavailable: Java or the Spark package is missing, or Spark does not start.
    """
    from schemaman.spark.lake import SparkExecutor  # needs pyspark, which is an extra
    from schemaman.spark.session import session

    settings = door.settings
    door.console.progress("starting Spark")
    spark = session(
        warehouse=door.path(settings.warehouse),
        catalog=settings.catalog.value,
        master=settings.master.value,
        settings=dict(settings.spark.value),
    )
    door.open.callback(spark.stop)
    return SparkExecutor(spark)


def followers(
    door: Door, registry: Registry, tables: Sequence[str], target: str | None, lake_table: str | None
) -> tuple[Follower, ...]:
    """The lake tables that a command speaks of.

    Raises:
        UsageError: no target is named anywhere, or a format alone without the one table and its name.
    """
    settings = door.settings
    named = {t.name for t in settings.targets.value}
    if target is not None and target not in named and target in TARGETS.names():
        if len(tables) != 1 or lake_table is None:
            hint = f"schemaman plan TABLE --target {target} --table LAKE_TABLE"
            raise UsageError(f"{target} is a format: one TABLE and --table are needed with it", hint=hint)
        return (Follower(histories(door, registry, tables)[0], target, target, lake_table),)
    if lake_table is not None:
        raise UsageError("--table goes with --target delta or iceberg; a named target says its tables itself")
    chosen = settings.targets.value if target is None else (settings.target(target),)
    if not chosen:
        hint = "schemaman plan TABLE --target delta --table LAKE_TABLE, or a [[target]] in schemaman.toml"
        raise UsageError("there is no target to plan for", hint=hint)
    return tuple(f for one in chosen for f in _followers(door, registry, tables, one))


def _followers(
    door: Door, registry: Registry, tables: Sequence[str], target: TargetSetting
) -> Iterator[Follower]:
    for history in histories(door, registry, tables):
        if target.holds(history.table):
            yield Follower(history, target.name, target.format, target.address(history.table))
