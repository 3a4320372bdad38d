"""The services of a registry from `schemaman.open`: an implementation of `schemaman.registry.Services`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from schemaman.api.arguments import require_executor, require_known, require_text
from schemaman.api.workspace import Workspace
from schemaman.compat.check_result import CheckResult
from schemaman.compat.impact.impact import Impact
from schemaman.compat.verdicts import SEVERITIES, Severity
from schemaman.debezium.payload import SchemaLookup
from schemaman.errors import UsageError
from schemaman.history.decisions import Decisions
from schemaman.migration.plan import Plan
from schemaman.migration.policy import Policy
from schemaman.migration.setting_checks import require_policy
from schemaman.migration.target import Executor
from schemaman.registry import Registry
from schemaman.report.document import FORMATS, Report
from schemaman.resolve import ResolvedSchema
from schemaman.settings import Settings, read_settings


def open_registry(workspace: Workspace, *, create: bool = False) -> Registry:
    """Open the registry of the store that the settings name. Raises as `Workspace.open_store`."""
    return Registry(workspace.open_store(create=create), workspace.clock, RegistryServices(workspace))


def workspace_of(registry: Registry) -> Workspace:
    """Return the workspace of a registry; one with default settings for a registry without services."""
    services = registry.services
    if isinstance(services, RegistryServices):
        return services.workspace
    return Workspace(read_settings({}, {}, None), clock=registry.clock)


class RegistryServices:
    """The services of one workspace; see the methods of `Registry` for their arguments."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    @property
    def settings(self) -> Settings:
        """The settings of the workspace."""
        return self.workspace.settings

    def read_decisions(self) -> Decisions:
        """Read the current decisions file. Raises `BadConfiguration`."""
        return self.workspace.read_decisions()

    def show(self, registry: Registry, ref: str) -> ResolvedSchema:
        """Resolve a REF to its schema. Raises as `resolve_reference`."""
        require_text("ref", ref, "registry.show('orders@3'); history[3] has a schema of its own")
        references = import_module("schemaman.api.references")  # reading records resolves no REF
        found: ResolvedSchema = references.resolve_reference(self.workspace, registry, ref)
        return found

    def check(
        self,
        registry: Registry,
        tables: Sequence[str],
        *,
        since: int | str | None,
        level: str | None,
        fail_on: Severity | None,
    ) -> CheckResult:
        """Check tables since a version or a REF. Raises as `check_tables`."""
        require_known("fail_on", fail_on, SEVERITIES)
        hint = "use the number of a version, or a REF: since=3, since='latest', since='orders@3'"
        if isinstance(since, bool) or not isinstance(since, int | None):
            require_text("since", since, hint)
        against = None if since is None else str(since)
        if against is not None and not against.strip():
            raise UsageError("since is empty", hint=hint)
        checking = import_module("schemaman.api.checking")  # reading records needs no gate
        found: CheckResult = checking.check_tables(
            self.workspace, registry, tables, against=against, level=level, fail_on=fail_on
        )
        return found

    def plan(
        self,
        registry: Registry,
        source: str,
        *,
        target: str | None,
        table: str | None,
        executor: Executor | None,
        policy: Policy | None,
        expires: str | None,
    ) -> Plan:
        """Make the plan for the one lake table that follows a source. Raises as `list_target_tables`."""
        require_text("source", source, "registry.plan('orders@3', …)")
        require_executor(executor)
        if policy is not None:
            require_policy(policy)
        planning = import_module("schemaman.api.planning")  # a check needs no planner
        found: Plan = planning.plan_source(
            self.workspace, registry, source,
            target=target, table=table, executor=executor, policy=policy, expires=expires,
        )  # fmt: skip
        return found

    def report(self, registry: Registry, tables: Sequence[str], plans: Sequence[Plan], format: str) -> str:
        """Render the compatibility report."""
        reporting = import_module("schemaman.api.reporting")  # a check needs no report of the history
        report: Report = reporting.build_whole_report(self.workspace, registry, tables, plans)
        return FORMATS.get(format).render(report)

    def impact(self, registry: Registry, name: str) -> Impact:
        """Find who depends on a table or a column. Raises as `find_impact`."""
        require_text("name", name, "registry.impact('orders.total')")
        readership = import_module("schemaman.api.readership")  # reading records asks for no consumers
        found: Impact = readership.find_impact(self.workspace, registry, name)
        return found

    def open_schema_registry(self) -> SchemaLookup | None:
        """Open the schema registry or the export of the settings; None without one."""
        return self.workspace.open_schema_registry()

    def close(self) -> None:
        """Close the workspace."""
        self.workspace.close()
