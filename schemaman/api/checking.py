"""The gate: checks every change of tables since a baseline, under the settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from schemaman.api.accepted_snapshots import (
    Baseline,
    find_unchanged,
    parse_snapshots,
    read_named_snapshots,
    read_snapshot_texts,
)
from schemaman.api.finding_places import place_in_snapshots
from schemaman.api.gate_settings import add_waivers, is_outside_history, make_policy, order_arguments
from schemaman.api.readership import RegistryRelations
from schemaman.api.references import resolve_reference
from schemaman.api.settings_files import resolve_path
from schemaman.api.shared_topics import list_shared_topics
from schemaman.api.target_tables import cut_history
from schemaman.api.unread_records import TopicRejects, find_unread, group_rejects
from schemaman.api.workspace import Workspace
from schemaman.compat import gate
from schemaman.compat.gate import CheckResult, GatePolicy
from schemaman.compat.judge import RULES, Severity
from schemaman.compat.snapshots import Snapshot, take_snapshot
from schemaman.errors import BadReference, UsageError
from schemaman.history.references import TableRef, VersionsBack, name_table, parse, parse_pair
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId, TableSchema
from schemaman.model.shell import quote_word
from schemaman.registry import Registry
from schemaman.resolve import ResolvedSchema, select_version
from schemaman.store.summary_json import StoredSummary


def check_tables(
    workspace: Workspace,
    registry: Registry,
    tables: Sequence[str],
    *,
    against: str | None = None,
    level: str | None = None,
    fail_on: Severity | None = None,
) -> CheckResult:
    """Check every revision since the baseline, for the named tables or for all.

    The baseline is the REF `against`, or the snapshot files at git's merge base. `orders@3` is checked up to
    that version, and `orders@1..3` since version 1. `against` may be only a version: `1`, `latest`.

    Raises:
        UsageError: there is no baseline, or one baseline for several tables.
        NoHistory: a table has no history.
    """
    tables, against = _split_baseline(tables, against)
    policy = make_policy(
        workspace, level, fail_on, RegistryRelations(workspace, registry), named=bool(tables)
    )
    unchanged: frozenset[TableId] = frozenset()
    if tables or against is not None:
        found, baseline = select_baseline(workspace, registry, tables, against)
    else:
        found, baseline, unchanged = _select_changed(workspace, registry, policy)
    unread = find_unread(registry, found, group_rejects(registry))
    shared = () if tables or against is not None else list_shared_topics(registry)
    result = gate.check(found, baseline, RULES.load_each(), policy, unread, shared)
    result = replace(result, tables=tuple(sorted({*result.tables, *unchanged})))
    if against is None:
        folder = resolve_path(workspace.settings.snapshots)
        placed = place_in_snapshots((finding for finding, _ in result.findings), folder)
        rated = tuple((f, s) for f, (_, s) in zip(placed, result.findings, strict=True))
        result = replace(result, findings=rated)
    elif is_outside_history(against):
        # The store alone does not show these findings, since the baseline is not in it.
        again = order_arguments(tables, "--against", against)
        rated = tuple((replace(finding, arguments=again), s) for finding, s in result.findings)
        result = replace(result, findings=rated)
    if tables:
        return add_waivers(workspace, result)
    schemas = {t: partial(_read_schemas, registry, baseline, t) for t in result.tables}
    return add_waivers(workspace, result, whole="source", schemas=schemas)


def _read_schemas(registry: Registry, baseline: Baseline, table: TableId) -> tuple[TableSchema, ...]:
    """Read the newest schema of a table and the accepted one; those of an unchanged table are equal."""
    latest = registry.history(table).latest.revisions[-1].schema
    return (latest, baseline[table].schema) if table in baseline else (latest,)


def _select_changed(
    workspace: Workspace, registry: Registry, policy: GatePolicy
) -> tuple[tuple[TableHistory, ...], Baseline, frozenset[TableId]]:
    """Select the histories and the snapshots of all tables, without those of tables that did not change.

    Returns also the tables that did not change. A transitive level compares them with earlier versions.
    """
    texts, summaries = read_snapshot_texts(workspace), registry.summaries()
    level = policy.find_level()
    is_transitive = level is not None and level.transitive
    unchanged = frozenset[TableId]() if is_transitive else find_unchanged(summaries, texts)
    if rejects := group_rejects(registry):
        unchanged -= _find_rejected(summaries, rejects)
    baseline = parse_snapshots(workspace, texts, unchanged)
    if twice := unchanged & baseline.keys():
        unchanged -= twice
        baseline = parse_snapshots(workspace, texts, unchanged)
    known = (stored.summary.table for stored in summaries)
    found = registry.read_histories(table for table in known if table not in unchanged)
    return found, baseline, unchanged


def _find_rejected(summaries: Iterable[StoredSummary], rejects: TopicRejects) -> frozenset[TableId]:
    """Find the tables with rejects in a topic; a table without topics may have them in any."""
    tables = (stored.summary for stored in summaries)
    return frozenset(
        s.table
        for s in tables
        if not s.topics or any((s.table.stream, topic) in rejects for topic in s.topics)
    )


def select_baseline(
    workspace: Workspace, registry: Registry, tables: Sequence[str], against: str | None
) -> tuple[tuple[TableHistory, ...], Baseline]:
    """Select the histories to check and their baseline. Raises as `check_tables`."""
    tables, against = _split_baseline(tables, against)
    found = _select_histories(registry, tables)
    if against is not None:
        return found, _take_baseline(workspace, registry, found, against)
    if tables:
        return found, read_named_snapshots(workspace, [history.table for history in found])
    return found, parse_snapshots(workspace, read_snapshot_texts(workspace))


def _take_baseline(
    workspace: Workspace, registry: Registry, found: Sequence[TableHistory], against: str
) -> Mapping[TableId, Snapshot]:
    """Build the baseline from a REF, for the one table that is checked."""
    if len(found) != 1:
        hint = "schemaman check TABLE --against REF; in Python check(TABLE, since=…)"
        raise UsageError("a baseline that is named belongs to exactly one table", hint=hint)
    table = found[0].table
    reference = parse_pair([str(name_table(table)), against])[-1]
    resolved = resolve_reference(workspace, registry, str(reference))
    if resolved.version is None:
        return {table: Snapshot(table, resolved.schema)}
    if resolved.table != table:
        raise BadReference(
            f"{against} is not a version of {table}", hint=f"--against {quote_word(f'{table}@1')}"
        )
    number = resolved.version.number
    # a question of time limits what is certain of its version, which is the same one otherwise
    version = next((v for v in found[0].versions if v.number == number), None)
    if version is None:
        raise UsageError(
            f"{against} is newer than {table}@{found[0].latest.number}", hint="the baseline is the older one"
        )
    return {table: take_snapshot(found[0], version, resolved.revision)}


def _split_baseline(tables: Sequence[str], against: str | None) -> tuple[Sequence[str], str | None]:
    """Split `A..B` of a single table into the table and its baseline."""
    if len(tables) != 1 or len(pair := parse_pair(tables)) != 2:
        return tables, against
    if against is not None:
        raise UsageError(f"{tables[0]} has a baseline already", hint="omit --against, or name one version")
    return [str(pair[1])], str(pair[0])


def _select_histories(registry: Registry, tables: Sequence[str]) -> tuple[TableHistory, ...]:
    """Select the histories of the named tables, each up to the version that its name gives, or all."""
    if not tables:
        return registry.select()
    found: dict[TableId, TableHistory] = {}
    for text in tables:
        reference = parse(text)
        if not isinstance(reference, TableRef):
            raise BadReference(f"{text} is not a table of the history", hint="schemaman tables lists them")
        history = registry.history(registry.find(reference.name))
        if reference.selector != VersionsBack(0):
            selected = select_version(history, reference.selector)
            history = _cut_history(history, selected)
        if found.setdefault(history.table, history) != history:
            raise UsageError(f"{history.table} is named with two versions", hint="name one of them")
    return tuple(found.values())


def _cut_history(history: TableHistory, selected: ResolvedSchema) -> TableHistory:
    """Cut a history after a selected version and revision."""
    if selected.version is None:
        return history
    cut = cut_history(history, selected.version)
    last = cut.versions[-1]
    revisions = tuple(
        r
        for r in last.revisions
        if selected.revision in (None, last.revision) or r.number <= (selected.revision or 0)
    )
    return replace(cut, versions=(*cut.versions[:-1], replace(last, revisions=revisions)))
