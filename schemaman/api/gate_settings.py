"""The settings of the gate, its waivers, and its arguments; every gate needs them, and they load quickly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from schemaman.api.files import is_present
from schemaman.api.judging import list_readers, read_all_waivers, read_rule_overrides, read_waivers
from schemaman.api.readership import RelationFinder, build_readership
from schemaman.api.workspace import Workspace
from schemaman.compat.affected_consumers import SchemaReader
from schemaman.compat.gate import CheckResult, GatePolicy
from schemaman.compat.judge import Severity
from schemaman.compat.waivers import Scope, list_remarks
from schemaman.model.schema import SCHEMES, TableId


def is_outside_history(text: str) -> bool:
    """Whether a text is a REF to a file, git, a schema registry or the lake; a time has a colon, too."""
    scheme, colon, _ = text.partition(":")
    return bool(colon) and scheme in SCHEMES


def is_table(text: str) -> bool:
    """Whether a text names a table of the history: no path that exists, and none with a separator."""
    return "/" not in text and not is_present(Path(text))


def is_branch(text: str) -> bool:
    """Whether a text is `git:REV` without a path."""
    return text.startswith("git:") and ":" not in text.removeprefix("git:")


def order_arguments(names: Sequence[str], *options: str) -> tuple[str, ...]:
    """Order the arguments of a command: options come first if a name looks like one."""
    if any(name.startswith("-") for name in names):
        return (*options, "--", *names)
    return (*names, *options)


def make_policy(
    workspace: Workspace,
    level: str | None,
    fail_on: Severity | None,
    find_relations: RelationFinder,
    *,
    named: bool = False,
) -> GatePolicy:
    """Make the settings of the gate. A level alone decides about Avro; other readers must be declared.

    `find_relations` finds the tables that the SQL of consumers names. `named`: the user named the tables.
    """
    settings = workspace.settings
    return GatePolicy(
        list_readers(workspace, level),
        read_rule_overrides(workspace),
        fail_on or settings.fail_on.value,
        level and level.upper(),
        named=named,
        waived=read_waivers(workspace).keys(),
        readership=build_readership(workspace, find_relations, level),
    )


def add_waivers(
    workspace: Workspace,
    result: CheckResult,
    *,
    whole: Scope | None = None,
    schemas: Mapping[TableId, SchemaReader] | None = None,
) -> CheckResult:
    """Add the valid waivers to a result, and the remarks on the others and on consumers.

    `whole`: what was checked wholly. `schemas` are all tables then, with a reader of their schemas each.
    """
    fingerprints = {finding.fingerprint for finding, _ in result.findings}
    remarks = list_remarks(read_all_waivers(workspace), fingerprints, workspace.today(), whole=whole)
    return replace(
        result,
        waivers=read_waivers(workspace),
        waiver_remarks=remarks,
        consumer_remarks=result.readership.list_remarks(schemas or {}),
    )
