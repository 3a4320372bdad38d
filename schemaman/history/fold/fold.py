"""The fold: observations of one table → its versions, incarnations, aliases, disagreements.

Law: the history is a function of the set of observations. Their order, their repetition, and the cuts of runs
by several ingests do not matter.

If schema-change records declare the schemas, these make the versions, and events support or contradict them.
Without declarations (PostgreSQL), the schemas of events make the versions. Inferred schemas make versions
only without other evidence; otherwise only their records count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate

from schemaman.debezium.connector import Connector
from schemaman.debezium.observation import STATEMENT_KINDS, Observation
from schemaman.history.epochs import NO_SETTINGS_SHOWN, UNDECIDED, Verdicts
from schemaman.history.fold.aliases import collect_aliases
from schemaman.history.fold.ambiguity import (
    ALTERED_UNSEEN,
    ALTERED_UNSEEN_MESSAGE,
    UNSEEN_MESSAGES,
)
from schemaman.history.fold.confirmation import measure_clock_ahead
from schemaman.history.fold.connector_settings import find_shown_settings
from schemaman.history.fold.disagreements import (
    CHANGED_WHILE_READ,
    find_changes_while_read,
    find_concurrent_connectors,
)
from schemaman.history.fold.encoding import NAMING_FORMS, Encoding
from schemaman.history.fold.inferred_versions import (
    DocumentVersions,
    build_document_versions,
    count_records,
    split_by_weight,
)
from schemaman.history.fold.key_history import (
    build_key_spans,
    find_passing_keys,
)
from schemaman.history.fold.matched_events import settle_early_events
from schemaman.history.fold.open_versions import OpenVersions
from schemaman.history.fold.schema_history_check import is_schema_of, match_internal_schema
from schemaman.history.fold.table_walk import TableWalk, walk_points
from schemaman.history.fold.timeline import (
    Point,
    build_timeline,
    find_time,
    split_by_precedence,
)
from schemaman.history.fold.version_builder import (
    count_undivided,
    find_shared_runs,
)
from schemaman.history.fold.version_closing import close_versions
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId

FindConnector = Callable[[str], Connector]


@dataclass(frozen=True, slots=True)
class FoldTrace:
    """A history, and what a fold of its newest part has to know of the rest.

    `clock_leads` say, by version, how far it and those before show the database's clock ahead (ms, at least).
    `next_ids` are, by version, the first column id that it and those before it do not have. `shared_runs`
    have edges in two versions.
    """

    history: TableHistory
    clock_leads: tuple[int, ...]
    next_ids: tuple[int, ...]
    shared_runs: frozenset[Observation]

    @property
    def clock_ahead(self) -> int:
        """How far the database's clock is ahead at least (ms)."""
        return self.clock_leads[-1]


def fold(
    observations: Iterable[Observation],
    table: TableId,
    find_connector: FindConnector,
    verdicts: Verdicts = UNDECIDED,
) -> TableHistory | None:
    """The history of a table out of all observations that name it; None if none gives it a structure.

    `find_connector` gives the dialect of a connector by its name. `verdicts` are what the other tables of
    its server decide about the changes in its footprint (`epochs.decide`); without them each stays open.
    """
    trace = trace_fold(observations, table, find_connector, verdicts)
    return None if trace is None else trace.history


def trace_fold(
    observations: Iterable[Observation],
    table: TableId,
    find_connector: FindConnector,
    verdicts: Verdicts = UNDECIDED,
    clock_ahead: int = 0,
) -> FoldTrace | None:
    """As `fold`, with more about it. `clock_ahead` is what other records of the table show of the clock."""
    own = [o for o in observations if table in (o.table, o.previous)]
    public, internal = split_by_precedence(own)
    single, documents, others = split_by_weight(public)
    line = build_timeline(single)
    names = {n for o in own if o.schema is not None for n in o.schema.names}
    points = list(line.points)
    if any(o.table != table for o in own):
        # at one position, a table gives up its name before another table takes the name
        points.sort(key=lambda p: (p.order, p.observation.table == table))
    declared = any(o.evidence in STATEMENT_KINDS and o.schema is not None for o in public)
    settings = NO_SETTINGS_SHOWN if declared else find_shown_settings(points)
    open_changes = [
        c for c in settings.changes if verdicts.get(c.id, "open") == "open" and c.was not in NAMING_FORMS
    ]
    walk = TableWalk(table, find_connector, Encoding(names, verdicts, settings.changes), tuple(open_changes))
    early_events = walk_points(walk, points)
    settle_early_events(walk.versions, walk.events, early_events)
    for observation in line.repeated:
        _add_repeated(walk.versions, observation)
    for observation in internal:
        _check_internal(walk, observation)
    _flag_unseen_changes(walk)
    opened = walk.versions.in_order
    if documents:
        _add_document_versions(walk.versions, build_document_versions(documents))
    if not opened:
        return None
    count_records(opened, others)
    connector = max(public, key=lambda o: (find_time(o.last), o.connector)).connector
    spread = find_shared_runs(opened)
    leads = tuple(accumulate((measure_clock_ahead(v.points) for v in opened), max, initial=clock_ahead))[1:]
    versions = close_versions(opened, spread, find_connector, leads[-1])
    runs = (*dict.fromkeys(p.observation for p in points), *line.repeated)
    history = TableHistory(
        table=table,
        connector=connector,
        versions=versions,
        aliases=collect_aliases(own, table),
        disagreements=walk.versions.list_disagreements(
            (*find_passing_keys(versions), *find_concurrent_connectors(runs, versions))
        ),
        events=tuple(walk.incarnations.events),
        epochs=tuple(walk.events.epochs.epochs),
        settings_shown=settings,
        keys=build_key_spans(versions, opened, walk.events.keys),
        identity="weak" if all(o.weak for o in own) else "source",
        shared_records=sum(map(count_undivided, spread)),
    )
    next_ids = tuple(version.next_id for version in opened)
    return FoldTrace(history, leads, next_ids, spread)


def _add_document_versions(versions: OpenVersions, documents: DocumentVersions) -> None:
    """Take the versions of a collection, all at once."""
    versions.in_order += documents.versions
    for kind, message, marks in documents.remarks:
        versions.record_remark(kind, message, marks)
    count_records(versions.in_order, documents.repeated)


def _add_repeated(versions: OpenVersions, observation: Observation) -> None:
    """Records delivered again: support for the version that they show, or a contradiction."""
    if observation.schema is None or observation.action == "drop" or not versions.in_order:
        return
    rank = observation.first.position.rank
    for version in reversed(versions.in_order):
        if is_schema_of(version, observation.schema) or any(
            p.observation.schema == observation.schema for p in version.points
        ):
            version.repeats.append(observation)
            return
    begun = [v for v in versions.in_order if v.at.position.rank <= rank] or versions.in_order[:1]
    message = "the same records were delivered again with another structure"
    versions.record_disagreement("delivered-twice-differently", begun[-1], message, _make_point(observation))


def _check_internal(walk: TableWalk, observation: Observation) -> None:
    """Add the connector's own schema history: support for a version, or a contradiction."""
    opened = walk.versions.in_order
    if observation.schema is None or not opened:
        return
    version, kind, message = match_internal_schema(
        observation, observation.schema, walk.table, opened, walk.incarnations.events
    )
    if message is None:
        version.internal_observations.append(observation)
        return
    walk.versions.record_disagreement(kind, version, message, _make_point(observation))


def _make_point(observation: Observation) -> Point:
    """The point of an observation outside the timeline."""
    return Point((0, (), 0, 0, "", 0, 0), observation.first, observation)


def _flag_unseen_changes(walk: TableWalk) -> None:
    """Keep which versions began while rows were being read, and what was altered and not seen since."""
    versions, unseen = walk.versions, walk.statements.unseen
    is_there = walk.incarnations.is_unshown or not walk.incarnations.has_ended
    if unseen is not None and versions.in_order and is_there:
        message = UNSEEN_MESSAGES.get(unseen.observation.action, ALTERED_UNSEEN_MESSAGE)
        versions.record_disagreement(ALTERED_UNSEEN, versions.newest, message, unseen)
    points = [(v.incarnation, v.points) for v in versions.in_order]
    for index, message, point in find_changes_while_read(points):
        versions.record_disagreement(CHANGED_WHILE_READ, versions.in_order[index], message, point)
