"""The registry is the service for all callers; it uses a store through a port.

Law: `record` adds each new outcome once, also with concurrent writers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Protocol

from schemaman.debezium.observation import (
    Note,
    Observation,
    Outcome,
    Reject,
    merge_notes,
)
from schemaman.errors import Conflict, NoHistory, UsageError
from schemaman.history.recorded_table import RecordedTable as RecordedTable
from schemaman.model.schema import TableId, TableSchema
from schemaman.model.table_patterns import is_matched
from schemaman.plugins import Port, defer
from schemaman.store import offsets as coverage
from schemaman.store.edge_hashes import EdgeHashes, EdgesOnDemand, EdgeSource, collect_edges
from schemaman.store.file_proofs import FileProofs
from schemaman.store.log import (
    CoveredRange,
    Entry,
    Leases,
    LogEntry,
    MigrationEntry,
    NoteEntry,
    ObservationEntry,
    Projections,
    RegistrationEntry,
    RejectEntry,
    RenumberingEntry,
    Store,
    list_tables,
)
from schemaman.store.offsets import Partition, Ranges

if TYPE_CHECKING:  # reading needs no names, decisions, checks or plans; without new records, it adds nothing
    from schemaman.compat.check_result import CheckResult
    from schemaman.compat.impact.impact import Impact
    from schemaman.compat.verdicts import Severity
    from schemaman.debezium.payload import SchemaLookup
    from schemaman.history.decisions import Decisions, apply_decisions
    from schemaman.history.references import TableName
    from schemaman.history.versions import TableHistory
    from schemaman.migration.digest import Digest
    from schemaman.migration.plan import Plan
    from schemaman.migration.policy import Policy
    from schemaman.migration.since import Since, parse_since
    from schemaman.migration.target import Executor
    from schemaman.migration.target_id import canonicalize_target
    from schemaman.resolve import ReferenceReaders, ResolvedSchema, resolve_text
    from schemaman.settings import Settings
    from schemaman.store.dropped_databases import add_database_drops
    from schemaman.store.moved_between_databases import find_moved_databases
    from schemaman.store.renamed_tables import add_renamed_structures
    from schemaman.store.summary_json import StoredSummary, make_stored_summary
    from schemaman.store.table_names import find_table
    from schemaman.store.version_blocks import count_common_versions
else:
    Decisions = defer("schemaman.history.decisions:Decisions")
    apply_decisions = defer("schemaman.history.decisions:apply_decisions")
    parse_since = defer("schemaman.migration.since:parse_since")
    canonicalize_target = defer("schemaman.migration.target_id:canonicalize_target")
    resolve_text = defer("schemaman.resolve:resolve_text")
    add_database_drops = defer("schemaman.store.dropped_databases:add_database_drops")
    find_moved_databases = defer("schemaman.store.moved_between_databases:find_moved_databases")
    add_renamed_structures = defer("schemaman.store.renamed_tables:add_renamed_structures")
    make_stored_summary = defer("schemaman.store.summary_json:make_stored_summary")
    find_table = defer("schemaman.store.table_names:find_table")
    count_common_versions = defer("schemaman.store.version_blocks:count_common_versions")

_ATTEMPTS = 1000
"""A failed attempt means that another writer succeeded, so only a defect reaches this limit."""


INGEST: Port[Callable[..., Any]] = Port("ingest records")
"""The function of the API; its result is a `Summary`, which a package above defines."""

BUILD_DIGEST: Port[Callable[[Registry, int, int], Digest]] = Port("build a digest")
"""The function of `schemaman.digests`, which reads a registry."""


class RegistryStore(Store, Projections, Leases, FileProofs, Protocol):
    """A store with log, projections, leases and proofs of read files."""

    @property
    def id(self) -> str:
        """The id of the store, assigned at its creation; properties of lake tables contain it."""


class Services(Protocol):
    """The services of a registry beyond its store: settings, decisions, and work that needs files or clients.

    `schemaman.api` implements it; the methods of `Registry` document the arguments.
    """

    @property
    def settings(self) -> Settings:
        """The settings, each with its origin."""

    def read_decisions(self) -> Decisions:
        """Read the current decisions file. Raises `BadConfiguration`."""

    def show(self, registry: Registry, ref: str) -> ResolvedSchema:
        """Resolve any REF to its schema."""

    def check(
        self,
        registry: Registry,
        tables: Sequence[str],
        *,
        since: int | str | None,
        level: str | None,
        fail_on: Severity | None,
    ) -> CheckResult:
        """Check tables since a baseline."""

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
        """Make the plan for one lake table."""

    def report(self, registry: Registry, tables: Sequence[str], plans: Sequence[Plan], format: str) -> str:
        """Render the compatibility report."""

    def impact(self, registry: Registry, name: str) -> Impact:
        """Find who depends on a table or a column."""

    def open_schema_registry(self) -> SchemaLookup | None:
        """Open the schema registry of the settings; None without one."""

    def close(self) -> None:
        """Close the resources of this registry."""


@dataclass(frozen=True, slots=True)
class RecordResult:
    """The result of one recording: the log's `end`, counts, and each table of the outcomes, in order.

    `known_outcomes` counts outcomes that were recorded before. `entries` are the new entries of the log.
    `shifts` are the changed numbers of versions, as the log keeps them.
    """

    end: int
    tables: tuple[RecordedTable, ...] = ()
    observations: int = 0
    rejects: int = 0
    known_outcomes: int = 0
    entries: tuple[Entry, ...] = ()
    notes: int = 0
    shifts: tuple[RenumberingEntry, ...] = ()


class Registry:
    """Reads and extends the recorded histories. `clock` returns epoch milliseconds."""

    def __init__(
        self, store: RegistryStore, clock: Callable[[], int], services: Services | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._services = services

    def __repr__(self) -> str:
        return f"<Registry of {getattr(self._store, 'where', 'a store in memory')}>"

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store and the other resources of `schemaman.open`."""
        if self._services is not None:
            self._services.close()

    @property
    def store(self) -> RegistryStore:
        """The store with the log and the data derived from it."""
        return self._store

    @property
    def clock(self) -> Callable[[], int]:
        """The function that returns the time in epoch milliseconds."""
        return self._clock

    @property
    def services(self) -> Services | None:
        """The services that `schemaman.open` added; None for a registry with only a store."""
        return self._services

    def decisions(self) -> Decisions:
        """Read the decisions; empty without services. Raises `BadConfiguration`."""
        return Decisions() if self._services is None else self._services.read_decisions()

    def show(self, ref: str) -> ResolvedSchema:
        """Resolve a REF to its schema: a version (`orders@3`), a file, a git revision, a lake table.

        Raises:
            UsageError: the REF is malformed, unknown or ambiguous, or its time is in an uncertain interval.
            CouldNotDo: the source that the REF names cannot be read.
        """
        return self.resolve(ref) if self._services is None else self._services.show(self, ref)

    def ingest(self, source: object, **options: Any) -> Any:
        """Read records into the history, and return a `Summary`; see `schemaman.ingest` for all arguments.

        `source` is a path, an address, records, or a Spark DataFrame with the columns of its Kafka source.
        """
        return INGEST.load()(source, self, **options)

    def check(
        self,
        *tables: str,
        since: int | str | None = None,
        level: str | None = None,
        fail_on: Severity | None = None,
    ) -> CheckResult:
        """Check every revision of tables since a baseline, with rules, readers and waivers of the settings.

        Args:
            tables: table names; without names, all tables.
            since: the baseline of a single table: a version of it (`3`, `-1`, `latest`, a time), or a REF; by
                default the snapshot files at git's merge base.
            level: one of Avro's compatibility levels.
            fail_on: the lowest severity that fails; by default that of the settings.

        Raises:
            UsageError: there is no baseline, or one baseline for several tables.
            NoHistory: a table has no history.
        """
        return self._require_services().check(self, tables, since=since, level=level, fail_on=fail_on)

    def plan(
        self,
        source: str,
        *,
        target: str | None = None,
        table: str | None = None,
        executor: Executor | None = None,
        policy: Policy | None = None,
        expires: str | None = None,
    ) -> Plan:
        """Plan the steps that migrate one lake table to the schema of its source; change nothing.

        Args:
            source: the table of the source; `orders@3` plans for that version.
            target: a target of the settings; or a format, `delta` or `iceberg`, together with `table`.
            table: the lake table or its path, if `target` is a format.
            executor: reads the lake table; by default a Spark session from the settings.
            policy: the policy of the plan; by default that of the settings.
            expires: the expiry of the plan: `30d`, `12h`, a date, or `never`.

        Raises:
            UsageError: the target is unknown, or several lake tables follow the source.
            NoHistory: the source table has no history.
            StatementFailed: the lake table cannot be read.
        """
        services = self._require_services()
        return services.plan(
            self, source, target=target, table=table, executor=executor, policy=policy, expires=expires
        )

    def report(self, *tables: str, plans: Sequence[Plan] = (), format: str = "html") -> str:
        """Render the compatibility report: history, changes, findings, and the given plans.

        Args:
            tables: table names; without names, all tables.
            plans: plans for lake tables of these tables.
            format: `html`, `markdown`, `text` or `json`.
        """
        return self._require_services().report(self, tables, plans, format)

    def impact(self, name: str) -> Impact:
        """Find the consumers of the settings that depend on a table or a column.

        Args:
            name: a table, or a column of one: `orders`, `orders.total`, `orders.address.city`.

        Raises:
            NoHistory: there is no such table.
            UnknownName: the table never had such a column.
            BadConfiguration: a pattern of SQL files matches nothing.
        """
        return self._require_services().impact(self, name)

    def _require_services(self) -> Services:
        if self._services is None:
            raise UsageError("this registry has only a store", hint="open it with schemaman.open(URL)")
        return self._services

    def record(self, outcomes: Iterable[Outcome], covered: Iterable[CoveredRange]) -> RecordResult:
        """Adds outcomes in one transaction, without those that were recorded before.

        Raises:
            Conflict: another writer recorded a part of a range meanwhile; read the missing part again.
            UsageError: a record differs from the known record at its offset.
            StoreUnavailable: the store cannot be written; nothing was added.
        """
        all_outcomes, read = tuple(outcomes), tuple(covered)
        strays = coverage.find_stray_rejects(all_outcomes, read)
        for _ in range(_ATTEMPTS):
            end = self._store.end()
            known = self._known(read, strays)
            edges = {one.stream: self.edges(one.stream) for one in coverage.find_read_again(read, known)}
            admitted = coverage.admit_outcomes(
                all_outcomes, read, known, self._rejected() if strays else (), edges
            )
            if not admitted.entries:
                return RecordResult(end, known_outcomes=admitted.known_count)
            placed = find_moved_databases(admitted.entries, self._store)
            shown = add_renamed_structures(placed, self._store.load, lambda table: self.notes(table=table))
            entries = add_database_drops(shown, self._store)
            tables = sorted({t for entry in entries for t in list_tables(entry) if t.table})
            before = self._store.read_histories(tables)
            try:
                last = self._store.append(entries, end)
            except Conflict:
                continue
            after = self._store.read_histories(tables)
            return RecordResult(
                last,
                tuple(RecordedTable(table, before, after, count_common_versions) for table in tables),
                _count_entries(entries, ObservationEntry),
                _count_entries(entries, RejectEntry),
                admitted.known_count,
                entries,
                _count_entries(entries, NoteEntry),
                self._shifts(end + len(entries), last),
            )
        raise Conflict("other writers keep changing the store", hint="run the command again")

    def tables(self, decisions: Decisions | None = None) -> tuple[TableHistory, ...]:
        """Returns the history of every table, in order of stream and name, with decisions applied."""
        answers = self.decisions() if decisions is None else decisions
        return self.read_histories(self._store.tables(), answers)

    def read_histories(
        self, tables: Iterable[TableId], decisions: Decisions | None = None
    ) -> tuple[TableHistory, ...]:
        """Returns the histories of the tables that have one, in the order of `tables()`, with decisions."""
        answers = self.decisions() if decisions is None else decisions
        names = tuple(tables)
        found = map(self._store.read_histories(names), names)
        histories = (_apply_decisions(history, answers) for history in found if history is not None)
        return tuple(sorted(histories, key=lambda h: (h.table.stream, h.table)))

    def select(self, *names: str, decisions: Decisions | None = None) -> tuple[TableHistory, ...]:
        """Returns the history of each named table once; without names all, or all of the chosen stream.

        Raises as `history`.
        """
        answers = self.decisions() if decisions is None else decisions
        named = dict.fromkeys(self.find(name) for name in names)
        if named:
            return tuple(self.history(table, answers) for table in named)
        chosen = self.find_chosen_stream()
        return tuple(h for h in self.tables(answers) if chosen in (None, h.table.stream))

    def summaries(
        self, decisions: Decisions | None = None, *, tables: Iterable[TableId] | None = None
    ) -> tuple[StoredSummary, ...]:
        """Returns the summary of every table, of some, or of the chosen stream, as `select` orders them.

        The store keeps summaries, so only histories that decisions concern are read.
        """
        answers = self.decisions() if decisions is None else decisions
        decided, chosen = answers.list_tables(), self.find_chosen_stream()
        found = [
            make_stored_summary(self.history(stored.summary.table, answers))
            if str(stored.summary.table) in decided
            else stored
            for stored in self._store.read_summaries(tables)
            if chosen in (None, stored.summary.table.stream)
        ]
        return tuple(sorted(found, key=lambda s: (s.summary.table.stream, s.summary.table)))

    def select_summaries(self, *patterns: str) -> tuple[tuple[StoredSummary, ...], tuple[StoredSummary, ...]]:
        """Returns the summaries of the tables that match a pattern, and of those that may share their topics.

        Without wildcards and quotes the store finds the tables by their names, and reads no other summary.
        """
        if not patterns or any(_SPECIAL.intersection(pattern) for pattern in patterns):
            every = self.summaries()
            chosen = [s for s in every if _is_matched_by_any(s.summary.table, patterns)]
            return (tuple(chosen) if patterns else every), every
        ends = {p.split(".", cut)[-1] for p in patterns for cut in range(p.count(".") + 1)}
        candidates = (table for end in sorted(ends) for table in self._store.find_by_name(end))
        found = self.summaries(tables={t for t in candidates if _is_matched_by_any(t, patterns)})
        topics = {topic for stored in found for topic in stored.summary.current_topics}
        near = {table for topic in sorted(topics) for table in self._store.find_by_alias(topic)}
        return found, self.summaries(tables=near.union(stored.summary.table for stored in found))

    def find(self, name: str | TableName) -> TableId:
        """Finds a table by its whole name, its last parts, or an alias such as its topic.

        A name with control characters is also found with the escapes that reports print.

        A name without a stream means the stream of the settings, or else the stream `main` first.

        Raises:
            BadReference: the text is not a name.
            AmbiguousName: several tables have the name; the message lists them.
            NoHistory: no table has the name; the hint lists similar names.
        """
        return find_table(name, self._store, self.find_chosen_stream())

    def history(self, table: TableId | str, decisions: Decisions | None = None) -> TableHistory:
        """Returns the history of a table, with decisions applied.

        Args:
            table: the table, or a name for `find`.
            decisions: the decisions to apply; by default those of the decisions file, if there is one.

        Raises:
            UsageError: the text is not a name, or the name of several tables.
            NoHistory: the table has no history.
        """
        id = table if isinstance(table, TableId) else self.find(table)
        found = self._store.history(id)
        if found is None:
            raise NoHistory(f"{id} has no history", hint="run `schemaman ingest SOURCE` first")
        return _apply_decisions(found, self.decisions() if decisions is None else decisions)

    def find_chosen_stream(self) -> str | None:
        """Returns the stream that the user chose; None for the default stream."""
        if self._services is None or self._services.settings.stream.origin == "default":
            return None
        return self._services.settings.stream.value

    def observations(self, table: TableId) -> tuple[Observation, ...]:
        """Returns the observations of a table, in the order of the log; empty for an unknown table."""
        return tuple(self._store.load(table))

    def schema(self, ref: str, readers: ReferenceReaders | None = None) -> TableSchema:
        """Returns the schema of a REF. Raises the errors of `resolve`."""
        return self.resolve(ref, readers).schema

    def resolve(self, ref: str, readers: ReferenceReaders | None = None) -> ResolvedSchema:
        """Resolves a REF: schema, version, revision; `readers` read files, git, lake and registry.

        Without readers, only REFs to tables of the history are resolved.

        Raises:
            UsageError: the REF is malformed, unknown or ambiguous, or its time is in an uncertain interval.
            NoHistory: the table has no history, or none that early.
        """
        return resolve_text(ref, self, readers)

    def offsets(self, stream: str, topics: Iterable[str] | None = None) -> Mapping[Partition, Ranges]:
        """Returns the recorded offsets by topic and partition, as inclusive pairs in order.

        `topics` restricts them to some topics.
        """
        return coverage.group_ranges(self._store.read_ranges(stream, topics))

    def edges(self, stream: str) -> EdgeHashes:
        """Returns the hashes of records at the edges of recorded runs."""
        entries = (stamped.entry for stamped in self._store.read(kinds=[CoveredRange]))
        return collect_edges(
            entry for entry in entries if isinstance(entry, CoveredRange) and entry.stream == stream
        )

    def known_offsets(self, stream: str) -> tuple[Mapping[Partition, Ranges], EdgeSource]:
        """Returns `offsets`, and `edges`, which are read on first use."""
        return self.offsets(stream), EdgesOnDemand(partial(self.edges, stream))

    def rejects(self, stream: str | None = None) -> tuple[Reject, ...]:
        """Returns the rejects of one stream or of all, in the order of the log.

        A record that was decoded later, when the registry had its schema, is no longer a reject.
        """
        found = [r for r in self._rejected() if stream in (None, r.stream)]
        known = (c for s in sorted({r.stream for r in found}) for c in self._store.read_ranges(s))
        return coverage.select_open_rejects(found, known)

    def notes(self, stream: str | None = None, table: TableId | None = None) -> tuple[Note, ...]:
        """Returns the notes of a stream, a table, or all, in the order of the log."""
        entries = (stamped.entry for stamped in self._store.read(kinds=[NoteEntry]))
        notes = merge_notes(entry.note for entry in entries if isinstance(entry, NoteEntry))
        return tuple(n for n in notes if stream in (None, n.stream) and table in (None, n.table))

    def renumberings(self, table: TableId) -> tuple[tuple[int, RenumberingEntry], ...]:
        """Returns when late evidence renumbered versions of a table (epoch ms), and which, in order."""
        found = ((s.at_ms, s.entry) for s in self._store.read(kinds=[RenumberingEntry]))
        return tuple(
            (at_ms, entry)
            for at_ms, entry in found
            if isinstance(entry, RenumberingEntry) and entry.table == table
        )

    def registrations(self, history: TableHistory) -> tuple[tuple[int, RegistrationEntry], ...]:
        """Returns the registrations of event schemas under names of a table (epoch ms), in order."""
        names = {alias.name for alias in history.aliases if alias.kind != "table"}
        found = ((s.at_ms, s.entry) for s in self._store.read(kinds=[RegistrationEntry]))
        return tuple(
            (at_ms, entry)
            for at_ms, entry in found
            if isinstance(entry, RegistrationEntry) and not names.isdisjoint(entry.names)
        )

    def journal(
        self, *, run: str | None = None, plan: str | None = None, target: str | None = None
    ) -> tuple[MigrationEntry, ...]:
        """Returns the journal of migrations, or of one run, plan or target, in the order of the log."""
        return tuple(line for _, line in self.dated_journal(run=run, plan=plan, target=target))

    def dated_journal(
        self, *, run: str | None = None, plan: str | None = None, target: str | None = None
    ) -> tuple[tuple[int, MigrationEntry], ...]:
        """Returns the journal with the time of each line (epoch ms)."""
        dated = (date_line(stamped) for stamped in self._store.read(kinds=[MigrationEntry]))
        return tuple(
            (at_ms, line)
            for at_ms, line in dated
            if run in (None, line.run)
            and plan in (None, line.plan)
            and (target is None or canonicalize_target(target) == line.target)
        )

    def digest(self, since: Since = "yesterday") -> Digest:
        """Tell what happened since a time, and what waits now, from the log alone.

        Args:
            since: `yesterday`, `today`, `36h`, `7d`, a day, a moment with its zone, or a value of `datetime`.

        Raises:
            UsageError: the time cannot be read, or is in the future.
        """
        since_ms = parse_since(since, self._clock())
        return self.digest_after(self._store.find_position(since_ms), since_ms)

    def digest_after(self, position: int, since_ms: int) -> Digest:
        """As `digest`, of what the log has after a position; `since_ms` is shown alone."""
        return BUILD_DIGEST.load()(self, position, since_ms)

    def note(self, *lines: MigrationEntry | RegistrationEntry) -> int:
        """Writes lines of the journal, or registrations, all or none; returns the new end of the log."""
        for _ in range(_ATTEMPTS):
            try:
                return self._store.append(lines, self._store.end())
            except Conflict:
                continue
        raise Conflict("other writers keep changing the store", hint="run the command again")

    def acquire(self, target: str, owner: str, ttl_ms: int) -> str:
        """Acquires the lease of a target; returns its token. Raises `Locked` with holder and expiry."""
        return self._store.acquire(target, owner, self._clock(), ttl_ms)

    def renew(self, target: str, token: str, ttl_ms: int) -> None:
        """Extends the lease. Raises `Locked` if the lease was lost."""
        self._store.renew(target, token, self._clock(), ttl_ms)

    def release(self, target: str, token: str) -> None:
        """Releases the lease."""
        self._store.release(target, token)

    def _known(self, read: Iterable[CoveredRange], strays: Iterable[Reject]) -> list[CoveredRange]:
        """Reads the recorded ranges of the topics of ranges and rejects."""
        topics: dict[str, set[str]] = {}
        for stream, topic in chain(
            ((c.stream, c.topic) for c in read), ((r.stream, r.topic) for r in strays)
        ):
            topics.setdefault(stream, set()).add(topic)
        return [c for stream in sorted(topics) for c in self._store.read_ranges(stream, topics[stream])]

    def _shifts(self, after: int, last: int) -> tuple[RenumberingEntry, ...]:
        """Reads the renumberings of the log after one entry, up to another."""
        if after == last:
            return ()
        later = islice(self._store.read(after), last - after)
        return tuple(s.entry for s in later if isinstance(s.entry, RenumberingEntry))

    def _rejected(self) -> tuple[Reject, ...]:
        """Reads all rejects of the log."""
        entries = (stamped.entry for stamped in self._store.read(kinds=[RejectEntry]))
        return tuple(entry.reject for entry in entries if isinstance(entry, RejectEntry))


_SPECIAL = frozenset('*?[]":')


def _is_matched_by_any(table: TableId, patterns: Iterable[str]) -> bool:
    return any(is_matched(table, pattern) for pattern in patterns)


def _apply_decisions(history: TableHistory, decisions: Decisions) -> TableHistory:
    return history if decisions == Decisions() else apply_decisions(history, decisions)


def date_line(stamped: LogEntry) -> tuple[int, MigrationEntry]:
    """Returns a line of the journal with its time and the current address of its target."""
    assert isinstance(stamped.entry, MigrationEntry)
    return stamped.at_ms, replace(stamped.entry, target=canonicalize_target(stamped.entry.target))


def _count_entries(entries: Iterable[Entry], kind: type[Entry]) -> int:
    return sum(isinstance(entry, kind) for entry in entries)
