"""Builds the digest of a registry: what happened since a position of the log, and what waits now."""

from __future__ import annotations

from collections import Counter

from schemaman.history.decisions import Decisions, apply_decisions
from schemaman.history.epochs import UNDECIDED
from schemaman.history.recorded_table import RecordedTable
from schemaman.history.table_renames import list_questions
from schemaman.history.versions import TableHistory
from schemaman.migration.apply.waiting import fold_waiting
from schemaman.migration.digest import (
    Digest,
    WaitingDigest,
    digest_foreign,
    digest_runs,
    digest_sources,
)
from schemaman.model.schema import TableId
from schemaman.registry import Registry, date_line
from schemaman.store.folding import fold
from schemaman.store.log import MigrationEntry, ObservationEntry, list_tables


def build_digest(registry: Registry, position: int, since_ms: int) -> Digest:
    """Build the digest of what the log has after a position; `since_ms` is shown alone."""
    store, now_ms, decisions = registry.store, registry.clock(), registry.decisions()
    lines = [(stamped.sequence, *date_line(stamped)) for stamped in store.read(kinds=[MigrationEntry])]
    counts = Counter(
        table for stamped in store.read(position, [ObservationEntry]) for table in list_tables(stamped.entry)
    )
    chosen = registry.find_chosen_stream()
    recorded = (
        RecordedTable(
            table,
            lambda name: _fold_before(registry, name, counts[name], decisions),
            lambda name: next(iter(registry.read_histories([name], decisions)), None),
        )
        for table in sorted(counts)
        if table.table and chosen in (None, table.stream)
    )
    held = {lease.target for lease in store.leases() if lease.expires_ms > now_ms}
    waiting = fold_waiting((at_ms, line) for _, at_ms, line in lines)
    return Digest(
        since_ms,
        now_ms,
        digest_sources(recorded),
        digest_runs(lines, position, held),
        digest_foreign(lines, position),
        tuple(WaitingDigest(each.oldest_ms or at_ms, each) for at_ms, each in waiting),
        list_questions(registry.select(decisions=decisions), decisions.table_renames),
    )


def _fold_before(
    registry: Registry, table: TableId, newest: int, decisions: Decisions
) -> TableHistory | None:
    """Fold the history of a table without its newest observations, of which the number is given."""
    earlier = registry.store.load(table)[:-newest]
    found = fold(earlier, table, UNDECIDED) if earlier else None
    return found if found is None or decisions == Decisions() else apply_decisions(found, decisions)
