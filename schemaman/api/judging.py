"""Judges changes as the settings of a workspace say: rules, severities, readers, waivers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from schemaman.api.files import read_text_if_present
from schemaman.api.settings_files import resolve_path
from schemaman.api.workspace import Workspace
from schemaman.compat.affected_consumers import Readership
from schemaman.compat.counterexample import add_counterexamples
from schemaman.compat.gate import GatePolicy
from schemaman.compat.judge import RULES, Reader, Severity, Transition, judge_transition
from schemaman.compat.waivers import Waiver, parse_waivers, select_unexpired
from schemaman.report.views.table_changes import JudgedFinding, TransitionJudge


def read_waivers(workspace: Workspace) -> Mapping[str, Waiver]:
    """Read the unexpired waivers by fingerprint. Raises `BadConfiguration`."""
    return select_unexpired(read_all_waivers(workspace), workspace.today())


def read_all_waivers(workspace: Workspace) -> tuple[Waiver, ...]:
    """Read all waivers, expired ones too. Raises `BadConfiguration`."""
    path = resolve_path(workspace.settings.waivers)
    return parse_waivers(read_text_if_present(path), str(path))


def read_rule_overrides(workspace: Workspace) -> dict[str, Severity]:
    """Read the severities that the settings give to rules. Raises `UnknownName` for an unknown rule."""
    overrides = dict(workspace.settings.rules.value)
    for name in overrides:
        RULES.get(name)
    return overrides


def list_readers(workspace: Workspace, level: str | None = None) -> tuple[Reader, ...]:
    """List the readers that count for every table.

    Declared consumers count for what they read, and a level decides about Avro alone. With either, other
    readers count only if the settings list them.
    """
    setting = workspace.settings.readers
    is_narrowed = level is not None or bool(workspace.settings.consumers.value)
    return () if is_narrowed and setting.origin == "default" else setting.value


def build_judge(workspace: Workspace, readership: Readership | None = None) -> TransitionJudge:
    """Build a judge of transitions: it applies rules and waivers, and rates for readers and consumers.

    Without a `readership` no SQL is read, and a consumer with SQL counts for every table.

    Raises:
        UnknownName: an override names an unknown rule.
    """
    declared = (
        replace(c, tables=("*",), columns=("*",)) if c.sql else c for c in workspace.settings.consumers.value
    )
    known = readership or Readership(tuple(declared))
    policy = GatePolicy(list_readers(workspace), read_rule_overrides(workspace), readership=known)
    rules, waivers = RULES.load_all(), read_waivers(workspace)

    def judge(transition: Transition) -> tuple[JudgedFinding, ...]:
        found = add_counterexamples(transition, judge_transition(transition, rules))
        return tuple(
            JudgedFinding(f, policy.rate(f), known.list_affected(f), waivers.get(f.fingerprint))
            for f in found
        )

    return judge
