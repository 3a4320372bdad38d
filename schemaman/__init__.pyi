from schemaman import errors as errors
from schemaman import spark as spark
from schemaman.api.avro_checks import check_avro as check_avro
from schemaman.api.functions import apply as apply
from schemaman.api.functions import check as check
from schemaman.api.functions import diff as diff
from schemaman.api.functions import ingest as ingest
from schemaman.api.functions import open as open
from schemaman.api.functions import sync as sync
from schemaman.api.schema_diff import SchemaDiff as SchemaDiff
from schemaman.api.schema_registries import open_schema_registry as open_schema_registry
from schemaman.api.sync_result import SyncResult as SyncResult
from schemaman.compat.gate import CheckResult as CheckResult
from schemaman.compat.impact.impact import Impact as Impact
from schemaman.compat.judge import Finding as Finding
from schemaman.compat.judge import Level as Level
from schemaman.compat.judge import Rule as Rule
from schemaman.debezium.records import Position as Position
from schemaman.debezium.records import Record as Record
from schemaman.errors import CouldNotDo as CouldNotDo
from schemaman.errors import PartlyApplied as PartlyApplied
from schemaman.errors import SchemamanError as SchemamanError
from schemaman.errors import Stale as Stale
from schemaman.errors import UsageError as UsageError
from schemaman.history.versions import SchemaVersion as SchemaVersion
from schemaman.history.versions import TableHistory as TableHistory
from schemaman.ingest.ingest import Summary as Summary
from schemaman.migration.apply.run import Migration as Migration
from schemaman.migration.digest import Digest as Digest
from schemaman.migration.plan import Plan as Plan
from schemaman.migration.plan import Refusal as Refusal
from schemaman.migration.plan import Step as Step
from schemaman.migration.policy import Policy as Policy
from schemaman.migration.policy import PolicyRule as PolicyRule
from schemaman.migration.settings import TargetSetting as TargetSetting
from schemaman.migration.target import Executor as Executor
from schemaman.migration.target import Target as Target
from schemaman.model import types as types
from schemaman.model.diff import AddColumn as AddColumn
from schemaman.model.diff import Change as Change
from schemaman.model.diff import ChangeAttribute as ChangeAttribute
from schemaman.model.diff import ChangeComment as ChangeComment
from schemaman.model.diff import ChangeDefault as ChangeDefault
from schemaman.model.diff import ChangeKey as ChangeKey
from schemaman.model.diff import ChangeNullable as ChangeNullable
from schemaman.model.diff import ChangeType as ChangeType
from schemaman.model.diff import DropColumn as DropColumn
from schemaman.model.diff import MoveColumn as MoveColumn
from schemaman.model.diff import RenameColumn as RenameColumn
from schemaman.model.schema import Column as Column
from schemaman.model.schema import TableId as TableId
from schemaman.model.schema import TableSchema as TableSchema
from schemaman.registry import Registry as Registry
from schemaman.subjects.faults import RefusedRequest as RefusedRequest
from schemaman.subjects.requests import SchemaRequest as SchemaRequest
from schemaman.subjects.schema_registry import SchemaRegistry as SchemaRegistry

__version__: str
__all__ = [
    "AddColumn",
    "Change",
    "ChangeAttribute",
    "ChangeComment",
    "ChangeDefault",
    "ChangeKey",
    "ChangeNullable",
    "ChangeType",
    "CheckResult",
    "Column",
    "CouldNotDo",
    "DropColumn",
    "Executor",
    "Finding",
    "Level",
    "Migration",
    "MoveColumn",
    "PartlyApplied",
    "Plan",
    "Policy",
    "PolicyRule",
    "Position",
    "Record",
    "Refusal",
    "Registry",
    "RenameColumn",
    "Rule",
    "SchemaDiff",
    "SchemaVersion",
    "SchemamanError",
    "Stale",
    "Step",
    "Summary",
    "SyncResult",
    "TableHistory",
    "TableId",
    "TableSchema",
    "Target",
    "TargetSetting",
    "UsageError",
    "apply",
    "check",
    "check_avro",
    "diff",
    "errors",
    "ingest",
    "open",
    "spark",
    "sync",
    "types",
]
