"""The history of every table behind a Debezium stream, verdicts on its changes, and plans for lake tables.

    import schemaman as sm

    registry = sm.open("sqlite:///schemaman.db", create=True)
    sm.ingest("records.jsonl.gz", registry)
    history = registry.history("public.orders")

Names are loaded when they are used; `docs/python.md` is the tutorial.
"""

from __future__ import annotations

from importlib import import_module

from schemaman.plugins import Port

__version__ = "0.1.0"  # the distribution reads it here: the metadata of a package takes as long as a start

Port.connect(
    {
        "build a digest": "schemaman.digests:build_digest",
        "find a version": "schemaman.resolve:find_version",
        "ingest records": "schemaman.api.functions:ingest",
        "render a report": "schemaman.report.display:render",
    }
)

_HOMES = {
    # functions
    "apply": "api.functions:apply",
    "check": "api.functions:check",
    "check_avro": "api.avro_checks:check_avro",
    "diff": "api.functions:diff",
    "ingest": "ingest:",  # the package, which can be called
    "open": "api.functions:open",
    "open_schema_registry": "api.schema_registries:open_schema_registry",
    "sync": "api.functions:sync",
    # what they give
    "CheckResult": "compat.gate:CheckResult",
    "Digest": "migration.digest:Digest",
    "Impact": "compat.impact.impact:Impact",
    "Migration": "migration.apply.run:Migration",
    "Registry": "registry:Registry",
    "RefusedRequest": "subjects.faults:RefusedRequest",
    "SchemaDiff": "api.schema_diff:SchemaDiff",
    "SchemaRegistry": "subjects.schema_registry:SchemaRegistry",
    "SchemaRequest": "subjects.requests:SchemaRequest",
    "Summary": "ingest.ingest:Summary",
    "SyncResult": "api.sync_result:SyncResult",
    # tables and their history
    "Column": "model.schema:Column",
    "SchemaVersion": "history.versions:SchemaVersion",
    "TableHistory": "history.versions:TableHistory",
    "TableId": "model.schema:TableId",
    "TableSchema": "model.schema:TableSchema",
    "Position": "debezium.records:Position",
    "Record": "debezium.records:Record",
    "types": "model.types:",
    # changes
    "Change": "model.diff:Change",
    "AddColumn": "model.diff:AddColumn",
    "ChangeAttribute": "model.diff:ChangeAttribute",
    "ChangeComment": "model.diff:ChangeComment",
    "ChangeDefault": "model.diff:ChangeDefault",
    "ChangeKey": "model.diff:ChangeKey",
    "ChangeNullable": "model.diff:ChangeNullable",
    "ChangeType": "model.diff:ChangeType",
    "DropColumn": "model.diff:DropColumn",
    "MoveColumn": "model.diff:MoveColumn",
    "RenameColumn": "model.diff:RenameColumn",
    # verdicts
    "Finding": "compat.judge:Finding",
    "Level": "compat.judge:Level",
    "Rule": "compat.judge:Rule",
    # plans
    "Executor": "migration.target:Executor",
    "Plan": "migration.plan:Plan",
    "Policy": "migration.policy:Policy",
    "PolicyRule": "migration.policy:PolicyRule",
    "Refusal": "migration.plan:Refusal",
    "Step": "migration.plan:Step",
    "Target": "migration.target:Target",
    "TargetSetting": "migration.settings:TargetSetting",
    # packages, and the roots of the error family
    "errors": "errors:",
    "spark": "spark:",
    "CouldNotDo": "errors:CouldNotDo",
    "PartlyApplied": "errors:PartlyApplied",
    "SchemamanError": "errors:SchemamanError",
    "Stale": "errors:Stale",
    "UsageError": "errors:UsageError",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    found = import_module(f"{__name__}.{module}")
    found = getattr(found, attribute) if attribute else found
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
