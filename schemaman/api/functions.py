"""The functions of the package `schemaman`: open a registry, ingest records, compare, check, apply, sync.

import schemaman as sm

registry = sm.open("sqlite:///schemaman.db", create=True)
sm.ingest("records.jsonl.gz", registry)
plan = registry.plan("public.orders", target="delta", table="/lake/orders", executor=sm.spark.Executor(spark))
sm.apply(plan, registry, sm.spark.Executor(spark))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from schemaman.api.applying import ApplyRequest, PlanApplier, new_run
from schemaman.api.arguments import (
    make_stream_setting,
    read_path,
    require_executor,
    require_plan,
    require_registry,
)
from schemaman.api.messages import LogMessages
from schemaman.api.schema_diff import SchemaDiff
from schemaman.api.services import open_registry, workspace_of
from schemaman.api.settings_files import load_settings, open_settings_file
from schemaman.api.sources import find_sources, read_sources
from schemaman.api.sync_result import SyncResult
from schemaman.api.syncing import LakeSync
from schemaman.api.workspace import Workspace, now_ms
from schemaman.compat.gate import CheckResult
from schemaman.compat.judge import Severity
from schemaman.compat.snapshots import remove_ids
from schemaman.debezium.records import Record
from schemaman.errors import UsageError
from schemaman.history.versions import SchemaVersion
from schemaman.ingest.ingest import Summary
from schemaman.ingest.ingest import ingest as ingest_records
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.migration.apply.apply import Migration, MigrationProgress
from schemaman.migration.plan import Plan
from schemaman.migration.target import Executor
from schemaman.model.diff import diff as diff_schemas
from schemaman.model.schema import TableSchema
from schemaman.registry import Registry
from schemaman.resolve import ResolvedSchema
from schemaman.settings import Setting, Settings

RecordSource = str | PathLike[str] | Iterable[Record] | Any
"""A path, an address, records, or a Spark DataFrame with the columns of Spark's Kafka source."""
SchemaLike = TableSchema | SchemaVersion | ResolvedSchema | str


def open(
    url: str | PathLike[str] | None = None,
    *,
    create: bool = False,
    stream: str | None = None,
    settings: Settings | str | PathLike[str] | None = None,
    clock: Callable[[], int] = now_ms,
) -> Registry:
    """Open a registry; close it with `Registry.close` or a `with` statement.

    Settings come from the same sources as in the command line: `SCHEMAMAN_*` variables, then the nearest
    `schemaman.toml`. They name the registry's decisions file, waivers, rules, policy and targets.

    Args:
        url: `sqlite:///PATH`, the path of a file, or `postgresql://…`; by default the store of the settings.
        create: make the store if there is none.
        stream: the stream for new records, and for tables that are named without a stream.
        settings: another settings file, or settings as a value.
        clock: gives the time in epoch milliseconds.

    Raises:
        UsageError: the address or the name of the stream is malformed.
        StoreUnavailable: there is no store and `create` is false, or the store cannot be opened.
        BadConfiguration: a setting or a settings file is wrong.
    """
    if isinstance(settings, Settings):
        chosen = settings
    else:
        file = None if settings is None else open_settings_file(Path(read_path("settings", settings)))
        chosen = load_settings({}, file)
    if url is not None:
        chosen = replace(chosen, store=Setting(read_path("url", url), "schemaman.open"))
    if stream is not None:
        chosen = replace(chosen, stream=make_stream_setting(stream, "schemaman.open"))
    workspace = Workspace(chosen, LogMessages(), clock)
    try:
        return open_registry(workspace, create=create)
    except BaseException:
        workspace.close()
        raise


def ingest(
    source: RecordSource,
    registry: Registry,
    *,
    stream: str | None = None,
    schema_registry: str | None = None,
    topic: str | None = None,
    since: str | None = None,
    keep_payload: bool = False,
    again: bool = False,
) -> Summary:
    """Read records into the history; records that were already read change nothing.

    Args:
        source: a path, a folder or a URL of recorded records, `kafka://BROKERS/TOPIC[,TOPIC…|*]`, an iterable
            of `Record`, `table:NAME` for a table of Spark, or a Spark DataFrame with the columns of Spark's
            Kafka source.
        registry: the registry that keeps the history.
        stream: the name of the stream; by default that of the settings.
        schema_registry: the address or the export of the schema registry that Avro needs.
        topic: the topic of a file with bare values, one per line.
        since: read topics from this time on (`2026-11-01T12:00Z`).
        keep_payload: keep the bytes of rejected records; they may contain personal data.
        again: read also files that are unchanged since they were read to their end.

    Raises:
        UnreadableInput: the source cannot be read, or its offsets decrease.
        UsageError: an argument is of the wrong type; or a record differs from the known record at its
            offset: this is another stream.
        StoreUnavailable: the store cannot be written.
    """
    require_registry(registry)
    workspace = workspace_of(registry)
    settings = workspace.settings
    if stream is not None:
        settings = replace(settings, stream=make_stream_setting(stream, "schemaman.ingest"))
    if schema_registry is not None:
        settings = replace(settings, registry=Setting(schema_registry, "schemaman.ingest"))
    workspace = replace(workspace, settings=settings)
    if isinstance(source, str | PathLike):
        found = find_sources(
            workspace, (str(source),), topic=topic, keep_payload=keep_payload, since=since, again=again
        )
        return read_sources(workspace, registry, found)
    if topic is not None or since is not None:
        raise UsageError("topic and since belong to a path or an address as the source", hint="omit them")
    schemas = workspace.open_schema_registry() or NO_REGISTRY
    if type(source).__module__.partition(".")[0] == "pyspark":
        from schemaman.spark.frame_ingest import ingest_frame  # pyspark is an extra
        from schemaman.spark.ingest import Destination

        frame: Any = source
        return ingest_frame(
            frame,
            Destination(registry, settings.stream.value, schemas, keep_payload, settings.forms),
        )
    return ingest_records(
        _require_records(source), registry, settings.stream.value, schemas, keep_payload, forms=settings.forms
    )


def diff(
    old: SchemaLike,
    new: SchemaLike,
    *,
    registry: Registry | None = None,
    renames: Mapping[str, str] | None = None,
) -> SchemaDiff:
    """Return the changes from one schema to another.

    Columns are matched by id inside the history of one table, otherwise by name.

    Args:
        old: a schema, a version, or a REF such as `orders@3` or `file:orders.avsc`.
        new: a schema, a version, or a REF.
        registry: resolves REFs.
        renames: old to new column names, for columns that are matched by name.

    Raises:
        UsageError: a REF is given without a registry or cannot be resolved, or an argument is no schema.
    """
    before, after = _resolve_schema(old, registry), _resolve_schema(new, registry)
    if not _shares_ids(before, after):
        before, after = (replace(r, schema=remove_ids(r.schema)) for r in (before, after))
    return SchemaDiff(diff_schemas(before.schema, after.schema, renames), before.ref, after.ref)


def check(
    registry: Registry,
    *tables: str,
    since: int | str | None = None,
    level: str | None = None,
    fail_on: Severity | None = None,
) -> CheckResult:
    """Check every revision of the named tables, or all, since a baseline. Arguments as `Registry.check`."""
    require_registry(registry)
    return registry.check(*tables, since=since, level=level, fail_on=fail_on)


def apply(
    plan: Plan,
    registry: Registry,
    executor: Executor | None = None,
    *,
    approved: bool | None = None,
    partial: bool = False,
    dry_run: bool = False,
    clone: bool = False,
    take_over: bool = False,
    run: str | None = None,
    report: Callable[[MigrationProgress], None] | None = None,
) -> Migration:
    """Run the steps of a plan that its table still needs, with a journal and a lease.

    After a crash, apply the same plan again: completed steps are not repeated.

    Args:
        plan: a plan of `Registry.plan`.
        registry: the registry that keeps the journal.
        executor: runs the statements; by default a Spark session from the settings.
        approved: whether the plan is approved; by default read from the decisions file.
        partial: run the steps although the plan has refusals.
        dry_run: check everything on the table and run nothing.
        clone: try the plan on an empty clone of the table first.
        take_over: apply even if another store maintains the table.
        run: a name for the run.
        report: a function that is called with the progress.

    Raises:
        UsageError: an argument is of the wrong type.
        Stale: the table has changed, the plan has expired, or another process migrates the table.
        StatementFailed: the first step failed; the table is unchanged.
        PartlyApplied: a later step failed; the journal lists the completed steps.
    """
    require_plan(plan)
    require_registry(registry)
    require_executor(executor)
    request = ApplyRequest(partial, dry_run, clone, take_over, approved, is_lasting=executor is None)
    applier = PlanApplier(workspace_of(registry), registry, request, executor=executor, report=report)
    return applier.apply_plan(run or new_run(), plan)


def sync(
    source: RecordSource,
    registry: Registry,
    executor: Executor | None = None,
    *,
    plans: str | PathLike[str] = "plans",
    partial: bool = False,
) -> SyncResult:
    """Read the new records of a source, and migrate the lake tables of all targets once, under the policy.

    Args:
        source: as in `ingest`.
        registry: a registry whose settings name the targets and the policy.
        executor: runs the statements; by default a Spark session from the settings.
        plans: the folder for plans that need an approval.
        partial: run the steps although a plan has refusals.

    Raises:
        UsageError: the settings name no target, or an argument is wrong.
        CouldNotDo: the source, the store or Spark is unavailable. Errors of one table are in its result.
    """
    require_registry(registry)
    require_executor(executor)
    workspace = workspace_of(registry)
    if not workspace.settings.targets.value:
        raise UsageError("the settings have no target to migrate", hint="add a [[target]] to schemaman.toml")
    folder = Path(read_path("plans", plans))
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder for plans", hint="name a folder: plans='plans'")
    read = ingest(source, registry)
    lake = LakeSync(workspace, registry, folder, partial=partial, executor=executor)
    lake.note_records(read)
    return SyncResult(read, lake.run_round(registry.decisions()))


def _require_records(source: Iterable[Record]) -> Iterator[Record]:
    """The records of an iterable. Raises `UsageError` for anything else."""
    hint = "use a path, an address, an iterable of schemaman.Record, or a Spark DataFrame"
    if not isinstance(source, Iterable):
        raise UsageError(f"a source cannot be of type {type(source).__name__}", hint=hint)
    return _check_records(source, hint)


def _check_records(source: Iterable[Any], hint: str) -> Iterator[Record]:
    for number, record in enumerate(source, 1):
        if not isinstance(record, Record):
            found = f"item {number} of the source is of type {type(record).__name__}, not a Record"
            raise UsageError(found, hint=hint)
        yield record


def _resolve_schema(schema: SchemaLike, registry: Registry | None) -> ResolvedSchema:
    match schema:
        case str():
            if registry is None:
                raise UsageError(
                    f"{schema!r} is a REF, and needs a registry", hint="diff(old, new, registry=…)"
                )
            return registry.show(schema)
        case ResolvedSchema():
            return schema
        case SchemaVersion():
            return ResolvedSchema(f"version {schema.number}", schema.schema, version=schema)
        case TableSchema():
            return ResolvedSchema("", schema)
        case _:
            raise UsageError(
                f"a {type(schema).__name__} is not a schema", hint="use history[3], its schema, or a REF"
            )


def _shares_ids(old: ResolvedSchema, new: ResolvedSchema) -> bool:
    """Whether equal column ids mean equal columns: only inside one incarnation of one table."""
    if old.version is None or new.version is None:
        return old.table == new.table
    return old.table == new.table and old.version.incarnation == new.version.incarnation
