"""Resolves a REF to a schema: the version of a table, or the schema of a file or a lake table.

Law: a time or a position inside the interval in which a version began is refused, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, assert_never

from schemaman.debezium.records import Coordinates, Position, PositionKind, Rank
from schemaman.errors import AmbiguousName, NoHistory, SchemamanError, UnknownName, UsageError
from schemaman.history.as_of import (
    RankOf,
    explain_end,
    find_contradiction,
    find_first_event,
    find_log_name,
    find_rank,
    format_first_event,
    is_behind,
    is_noticed_late,
    is_position,
    limit_certainty,
    list_coordinates,
    list_evidence_coordinates,
    make_earliest_rank,
    make_latest_rank,
    rank_position,
)
from schemaman.history.references import (
    AsOf,
    FileRef,
    GitRef,
    LakeRef,
    Reference,
    RegistryRef,
    Selector,
    ShapeId,
    SourcePosition,
    TableName,
    TableRef,
    VersionNumber,
    VersionsBack,
    name_table,
    parse,
)
from schemaman.history.versions import Revision, SchemaVersion, TableHistory
from schemaman.languages.language import SCHEMA_LANGUAGES, write_schema
from schemaman.languages.read import read_schema
from schemaman.model.display import DisplayedValue, count_noun
from schemaman.model.schema import TableId, TableSchema
from schemaman.model.shell import quote_word


class HistorySource(Protocol):
    """Finds tables and their histories: the registry."""

    def find(self, name: str | TableName) -> TableId:
        """Finds the only table with that name."""

    def history(self, table: TableId) -> TableHistory:
        """Returns the history of the table."""


def _refuse_outside(*_: object) -> str:
    raise UsageError("only the history can be read here", hint="name a table: orders@3")


def _refuse_lake(_: str) -> TableSchema:
    raise UsageError("the lake cannot be read here", hint="name a table: orders@3")


@dataclass(frozen=True, slots=True)
class ReferenceReaders:
    """The functions that read outside the history; callers pass them, because this module uses no clients.

    `file(path)`, `git(revision, path)` and `registry(subject, version)` (None for the latest) return
    text, `lake(table)` the schema of a lake table.
    """

    file: Callable[[str], str] = _refuse_outside
    git: Callable[[str, str], str] = _refuse_outside
    registry: Callable[[str, int | None], str] = _refuse_outside
    lake: Callable[[str], TableSchema] = _refuse_lake


HISTORY_ONLY = ReferenceReaders()


@dataclass(frozen=True, slots=True)
class ResolvedSchema(DisplayedValue):
    """The result of a reference: a schema, and for a table in the history its version and revision.

    `ref` is the reference with the full name of its table and the number of its version. It has the number of
    the revision if there are several. `last_seen` are the coordinates of the last record of the table, if the
    reference is after that record: later changes are unknown.
    """

    ref: str
    schema: TableSchema
    table: TableId | None = None
    version: SchemaVersion | None = None
    revision: int | None = None
    last_seen: Coordinates | None = None

    def __repr__(self) -> str:
        return f"<ResolvedSchema {self.ref}: {count_noun(len(self.schema.columns), 'column')}>"

    def to_text(self, language: str) -> str:
        """Write the schema in a language: `ddl`, `spark`, `delta`, `iceberg`, `avro`, `connect` or `columns`.

        Raises:
            UnknownName: there is no such language.
            UsageError: the language cannot express a column.
        """
        name = "row" if self.table is None else ".".join(self.table.parts)
        return write_schema(SCHEMA_LANGUAGES.get(language), self.schema, f"{name}.Value", self.ref).text


def find_version(history: TableHistory, text: str) -> SchemaVersion:
    """Find the version for the part of a REF after the `@`. Raises as `select_version`."""
    reference = parse(f"{name_table(history.table)}@{text}")
    found = select_version(history, reference.selector) if isinstance(reference, TableRef) else None
    if found is None or found.version is None:
        raise NoHistory(f"{history.table}@{text} has no history")
    return found.version


def resolve_text(
    text: str, histories: HistorySource, readers: ReferenceReaders | None = None
) -> ResolvedSchema:
    """Resolve a REF; without readers, only one to a table of the history. Raises as `resolve`."""
    return resolve(parse(text), histories, readers or HISTORY_ONLY)


def resolve(
    reference: Reference, histories: HistorySource, readers: ReferenceReaders = HISTORY_ONLY
) -> ResolvedSchema:
    """Resolves a reference.

    Raises:
        UsageError: the reference is unknown or ambiguous, or two versions may have been valid at that time.
        NoHistory: the table has no history, or none that early.
        UnreadableInput: a file contains no schema. Errors of the readers are raised, too.
    """
    match reference:
        case TableRef(name, selector):
            return select_version(histories.history(histories.find(name)), selector)
        case FileRef(path):
            return _read_text(reference, readers.file(path))
        case GitRef(revision, path):
            return _read_text(reference, readers.git(revision, path))
        case RegistryRef(subject, version):
            return _read_text(reference, readers.registry(subject, version))
        case LakeRef(table):
            return ResolvedSchema(str(reference), readers.lake(table))
        case _:
            assert_never(reference)


def select_version(history: TableHistory, selector: Selector) -> ResolvedSchema:
    """Selects the version of a table.

    Raises:
        UnknownName: there is no such version, revision or id.
        AmbiguousName: several ids start with the digits.
        UsageError: the table has no positions of that kind, or two versions may have been valid there.
        NoHistory: the history has no record that early.
    """
    match selector:
        case VersionNumber(number, revision):
            return _find_number(history, number, revision)
        case VersionsBack(steps):
            if steps >= len(history.versions):
                raise UnknownName(
                    f"{history.table}@{selector}: {_describe_versions(history)}", hint=_hint_history(history)
                )
            return _build_result(history, history.versions[-1 - steps])
        case ShapeId(digits):
            return _find_shape(history, digits)
        case AsOf(ts_ms):
            return _find_at_time(_remove_phantoms(history), selector, ts_ms)
        case SourcePosition(kind, value):
            return _find_at_position(_remove_phantoms(history), selector, kind, value)
        case _:
            assert_never(selector)


def _remove_phantoms(history: TableHistory) -> TableHistory:
    """Removes phantoms: versions that the table never had."""
    return replace(history, versions=tuple(v for v in history.versions if v.status != "phantom"))


def _read_text(reference: Reference, text: str) -> ResolvedSchema:
    return ResolvedSchema(str(reference), read_schema(text, str(reference)))


def _find_number(history: TableHistory, number: int, revision: int | None) -> ResolvedSchema:
    version = next((v for v in history.versions if v.number == number), None)
    if version is None:
        raise UnknownName(
            f"{history.table}@{number}: {_describe_versions(history)}", hint=_hint_history(history)
        )
    if revision is None:
        return _build_result(history, version)
    found = next((r for r in version.revisions if r.number == revision), None)
    if found is None:
        numbers = ", ".join(f"{number}.{r.number}" for r in version.revisions)
        existing = f"there {'are' if len(version.revisions) > 1 else 'is only'} {numbers}"
        raise UnknownName(f"{history.table}@{number}.{revision}: {existing}", hint=_hint_history(history))
    return _build_result(history, version, found)


def _find_shape(history: TableHistory, digits: str) -> ResolvedSchema:
    found = [v for v in history.versions if v.has_id(digits)]
    if not found:
        ids = ", ".join(dict.fromkeys(v.id for v in history.versions))
        message = f"{history.table}@id:{digits}: no version has that id; ids are: {ids}"
        raise UnknownName(message, hint=_hint_history(history))
    # A version that was declared later keeps the id of its events beside its own.
    meant = [v for v in found if v.id == digits] or [v for v in found if digits in v.previous_ids] or found
    if len({v.id for v in meant}) > 1:
        ids = ", ".join(sorted({v.id for v in meant}))
        raise AmbiguousName(
            f"{history.table}@id:{digits}: several ids start with these digits: {ids}",
            hint="give more digits",
        )
    return _build_result(history, meant[-1])


def _find_at_position(
    history: TableHistory, selector: SourcePosition, kind: PositionKind, value: str
) -> ResolvedSchema:
    kinds = {at.position.kind for at in _list_coordinates(history)} - {"none"}
    if kind not in kinds:
        reason = f"its positions are of kind {', '.join(sorted(kinds))}" if kinds else "it has no positions"
        raise UsageError(f"{history.table}@{selector}: {reason}", hint="use a position of that kind")
    logs = {find_log_name(m.position) for m in _list_coordinates(history) if m.position.kind == kind}
    if find_log_name(Position(kind, value)) not in logs:
        raise UsageError(
            f"{history.table}@{selector}: the files of its binary log have other names: "
            f"{' or '.join(sorted(log for log in logs if log))}",
            hint="write binlog:FILE:POSITION as the connector prints it",
        )
    named = [
        v
        for v in history.versions
        if any(is_position(m.position, kind, value) for m in list_evidence_coordinates(v))
    ]
    if len(named) > 1:
        raise _refuse_uncertain(history, selector, named[0], named[-1], "both have records there")
    if named:
        here = [
            find_rank(m, kind) for m in list_coordinates(named[0]) if is_position(m.position, kind, value)
        ]
        ranks = [rank for rank in here if rank is not None]
        if not ranks:
            return _build_result(history, named[0])
        return _select_revision(history, named[0], lambda at: find_rank(at, kind), max(ranks))
    wanted = rank_position(Position(kind, value, value))
    if wanted is None or len(logs) > 1:
        what = f"those of {' and '.join(sorted(logs))}" if len(logs) > 1 else f"{kind} positions"
        raise UsageError(
            f"{history.table}@{selector}: there is no record at this position, and {what} have no order",
            hint="name a version or a time",
        )
    return _find_certain(history, selector, lambda at: find_rank(at, kind), wanted)


def _find_at_time(history: TableHistory, selector: AsOf, ts_ms: int) -> ResolvedSchema:
    """Finds the version at a time; refuses the time if it is so inexact that another version is possible."""
    wanted, versions = (ts_ms,), history.versions
    early_rank, late_rank = make_earliest_rank(history), make_latest_rank(history)
    surely, perhaps = _list_begun(history, late_rank, wanted), _list_begun(history, early_rank, wanted)
    if surely and surely[-1] != perhaps[-1]:
        one, first, other = versions[surely[-1]], versions[surely[-1] + 1], versions[perhaps[-1]]
        raise _refuse_uncertain(history, selector, one, other, _describe_begin(history, first, other))
    late = _find_certain(history, selector, late_rank, wanted)
    try:
        early = _find_certain(history, selector, early_rank, wanted)
    except NoHistory as error:
        number = versions[surely[-1]].number
        raise UsageError(
            f"{history.table}@{selector}: version {number} was valid then, or the table no longer existed: "
            "the time of its end is not exact enough",
            hint=f"name the version: {history.table}@{number}",
        ) from error
    if early.ref != late.ref:
        raise UsageError(
            f"{history.table}@{selector}: {late.ref} or {early.ref} was valid then: "
            "the time of the change is not exact enough",
            hint=f"name the version: {late.ref} or {early.ref}",
        )
    return replace(early, version=_merge_uncertainty(early.version, late.version))


def _merge_uncertainty(one: SchemaVersion | None, other: SchemaVersion | None) -> SchemaVersion | None:
    """Returns a version with the unconfirmed facts of both versions."""
    if one is None or other is None:
        return one or other
    unconfirmed = tuple(dict.fromkeys((*one.unconfirmed, *other.unconfirmed)))
    status = other.status if one.status == "confirmed" else one.status
    return replace(one, status=status, unconfirmed=unconfirmed)


def _describe_begin(history: TableHistory, first: SchemaVersion, last: SchemaVersion) -> str:
    """Describes the interval in which the versions from `first` to `last` began."""
    since, until = make_earliest_rank(history)(first.at), make_latest_rank(history)(last.at)
    if since is None or until is None:
        return "one ended and the other began around it"
    return f"one ended and the other began between {AsOf(int(since[0]))} and {AsOf(int(until[0]))}"


def _list_begun(history: TableHistory, rank: RankOf, wanted: Rank) -> list[int]:
    """Lists the indexes of the versions that began no later than `wanted`."""
    return [i for i, v in enumerate(history.versions) if _is_begun(v, rank, wanted)]


def _find_certain(history: TableHistory, selector: Selector, rank: RankOf, wanted: Rank) -> ResolvedSchema:
    """Finds the version at `wanted`; refuses it if the records around it are not certain."""
    began = _list_begun(history, rank, wanted)
    if not began:
        raise NoHistory(
            f"{history.table}@{selector}: the history begins later",
            hint=_hint_first(history),
        )
    version = history.versions[began[-1]]
    over = explain_end(history, version, lambda at: _is_reached(rank(at), wanted))
    if over is not None:
        raise NoHistory(
            f"{history.table}@{selector}: {over}",
            hint=f"the last version before that is {history.table}@{version.number}",
        )
    shown = find_first_event(version, rank) if is_noticed_late(version) else None
    if shown is not None and wanted < shown:
        raise _refuse_unshown(history, selector, began[-1], rank, wanted)
    if began[-1] + 1 < len(history.versions):
        following = history.versions[began[-1] + 1]
        seen = [rank(m) for m in (*list_coordinates(version), following.after) if m is not None]
        if max((r for r in seen if r is not None), default=()) < wanted:
            raise _refuse_uncertain(history, selector, version, following, _describe_change(following))
    otherwise = find_contradiction(history, version, rank, wanted)
    if otherwise is not None:
        message = (
            f"{history.table}@{selector}: records around it show version {version.number}, but {otherwise}"
        )
        raise UsageError(message, hint=f"name the version: {history.table}@{version.number}")
    found = _select_revision(history, version, rank, wanted)
    return replace(found, last_seen=_find_last_seen(history, rank, wanted))


def _refuse_unshown(
    history: TableHistory, selector: Selector, index: int, rank: RankOf, wanted: Rank
) -> SchemamanError:
    """Builds the error for a time after the notice of a version and before its first event."""
    version, previous = history.versions[index], history.versions[index - 1] if index else None
    if previous is None:
        return NoHistory(f"{history.table}@{selector}: the history begins later", hint=_hint_first(history))
    if previous.incarnation != version.incarnation:
        for event in history.events:
            # A table whose end was noticed only with the next incarnation also ended after that position.
            ended = event.kind in ("dropped", "renamed") and event.at != version.at
            if ended and event.incarnation == previous.incarnation and _is_reached(rank(event.at), wanted):
                return NoHistory(
                    f"{history.table}@{selector}: the table was {event.kind} by then, and the first event of "
                    f"the recreated table is at {format_first_event(version)}",
                    hint=f"the last version before that is {history.table}@{previous.number}, "
                    f"the first version of the new table is {history.table}@{version.number}",
                )
    return _refuse_uncertain(history, selector, previous, version, _describe_change(version))


def _select_revision(
    history: TableHistory, version: SchemaVersion, rank: RankOf, wanted: Rank
) -> ResolvedSchema:
    """Selects the attributes of a version at `wanted`; facts that are proven later are unconfirmed."""
    revisions = [r for r in version.revisions if r.number == 0 or _is_revised(version, r, rank, wanted)]
    result = _build_result(history, version, revisions[-1])
    return replace(result, version=limit_certainty(version, revisions[-1].number, rank, wanted))


def _is_revised(version: SchemaVersion, revision: Revision, rank: RankOf, wanted: Rank) -> bool:
    at = rank(revision.at)
    if at is None:
        later = (rank(at) for at in list_coordinates(version) if is_behind(at, revision.at))
        return any(_is_reached(found, wanted) for found in later)
    return at <= wanted


def _is_begun(version: SchemaVersion, rank: RankOf, wanted: Rank) -> bool:
    at = rank(version.at)
    if at is None:
        # Rows that are read outside the stream have no position in it; later events have one.
        return any(_is_reached(rank(each), wanted) for each in list_coordinates(version))
    if at != wanted or not is_noticed_late(version):
        return _is_reached(at, wanted)
    shown = find_first_event(version, rank)
    return shown is not None and shown <= wanted


def _hint_first(history: TableHistory) -> str | None:
    number = next((v.number for v in history.versions), None)
    return None if number is None else f"its first version is {history.table}@{number}"


def _find_last_seen(history: TableHistory, rank: RankOf, wanted: Rank) -> Coordinates | None:
    """Finds the last record of the table, if all of its records are before `wanted`."""
    ranked = [(found, at) for at in _list_coordinates(history) if (found := rank(at)) is not None]
    last, newest = max(ranked, key=lambda pair: (pair[0], pair[1].offset))
    return newest if last < wanted else None


def _is_reached(rank: Rank | None, wanted: Rank) -> bool:
    return rank is not None and rank <= wanted


def _list_coordinates(history: TableHistory) -> Iterator[Coordinates]:
    for version in history.versions:
        yield from list_coordinates(version)


def _build_result(
    history: TableHistory, version: SchemaVersion, revision: Revision | None = None
) -> ResolvedSchema:
    chosen = version.revisions[-1] if revision is None else revision
    number = VersionNumber(version.number, chosen.number if len(version.revisions) > 1 else None)
    ref = str(TableRef(name_table(history.table), number))
    return ResolvedSchema(ref, chosen.schema, history.table, version, chosen.number)


def _refuse_uncertain(
    history: TableHistory, selector: Selector, one: SchemaVersion, other: SchemaVersion, reason: str
) -> UsageError:
    table = history.table
    return UsageError(
        f"{table}@{selector}: it is not certain whether version {one.number} or version {other.number} "
        f"was valid then: {reason}",
        hint=f"name the version: {table}@{one.number} or {table}@{other.number}",
    )


def _describe_change(following: SchemaVersion) -> str:
    """Describes the source's interval in which one version ended and the following began."""
    late = is_noticed_late(following)
    shown = [e.first.ts_ms for e in following.evidence if e.kind == "emitted" or not late]
    times = [t for t in shown if t is not None]
    after = following.after.ts_ms if following.after is not None else None
    if after is None or not times or min(times) < after:
        return "one ended and the other began around it"
    return f"one ended and the other began between {AsOf(after)} and {AsOf(min(times))}"


def _hint_history(history: TableHistory) -> str:
    return f"schemaman history {quote_word(str(history.table))} lists the versions"


def _describe_versions(history: TableHistory) -> str:
    numbers = [v.number for v in history.versions]
    return (
        f"there is only version {numbers[0]}"
        if len(numbers) == 1
        else (f"there are versions {numbers[0]} to {numbers[-1]}")
    )
