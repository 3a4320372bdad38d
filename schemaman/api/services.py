"""The services of a registry from `schemaman.open`: an implementation of `schemaman.registry.Services`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from schemaman.api.workspace import Workspace
from schemaman.compat.verdicts import SEVERITIES, Severity
from schemaman.errors import UsageError
from schemaman.plugins import defer
from schemaman.registry import Registry
from schemaman.report.document import FORMATS
from schemaman.settings import Settings, read_settings

if TYPE_CHECKING:  # reading records needs no gate, planner or report, and resolves no REF
    from schemaman.api.arguments import require_executor, require_known, require_text
    from schemaman.api.checking import check_tables
    from schemaman.api.planning import plan_source
    from schemaman.api.readership import find_impact
    from schemaman.api.references import resolve_reference
    from schemaman.api.reporting import build_whole_report
    from schemaman.compat.check_result import CheckResult
    from schemaman.compat.impact.impact import Impact
    from schemaman.debezium.payload import SchemaLookup
    from schemaman.history.decisions import Decisions
    from schemaman.migration.plan import Plan
    from schemaman.migration.policy import Policy
    from schemaman.migration.setting_checks import require_policy
    from schemaman.migration.target import Executor
    from schemaman.resolve import ResolvedSchema
else:
    require_executor = defer("schemaman.api.arguments:require_executor")
    require_known = defer("schemaman.api.arguments:require_known")
    require_text = defer("schemaman.api.arguments:require_text")
    check_tables = defer("schemaman.api.checking:check_tables")
    plan_source = defer("schemaman.api.planning:plan_source")
    find_impact = defer("schemaman.api.readership:find_impact")
    resolve_reference = defer("schemaman.api.references:resolve_reference")
    build_whole_report = defer("schemaman.api.reporting:build_whole_report")
    require_policy = defer("schemaman.migration.setting_checks:require_policy")


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
        return resolve_reference(self.workspace, registry, ref)

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
        return check_tables(self.workspace, registry, tables, against=against, level=level, fail_on=fail_on)

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
        return plan_source(
            self.workspace, registry, source,
            target=target, table=table, executor=executor, policy=policy, expires=expires,
        )  # fmt: skip

    def report(self, registry: Registry, tables: Sequence[str], plans: Sequence[Plan], format: str) -> str:
        """Render the compatibility report."""
        return FORMATS.get(format).render(build_whole_report(self.workspace, registry, tables, plans))

    def impact(self, registry: Registry, name: str) -> Impact:
        """Find who depends on a table or a column. Raises as `find_impact`."""
        require_text("name", name, "registry.impact('orders.total')")
        return find_impact(self.workspace, registry, name)

    def open_schema_registry(self) -> SchemaLookup | None:
        """Open the schema registry or the export of the settings; None without one."""
        return self.workspace.open_schema_registry()

    def close(self) -> None:
        """Close the workspace."""
        self.workspace.close()
