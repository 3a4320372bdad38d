"""The decisions of people in `schemaman.decisions.toml`: renames, facts, approvals.

Law: `parse(text + format_decision(d))` contains `d` and everything in `parse(text)`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Annotated, TypeVar, assert_never

import msgspec

from schemaman.debezium.records import Coordinates
from schemaman.errors import BadConfiguration
from schemaman.history import struct_fields as members
from schemaman.history.versions import (
    AcceptedType,
    Alias,
    NestedFieldAnswer,
    RenameCandidate,
    SchemaVersion,
    TableEvent,
    TableHistory,
    find_recreated_columns,
    replace_ids,
)
from schemaman.model.schema import TableSchema, walk_fields


@dataclass(frozen=True, slots=True)
class Rename:
    """`old` was renamed to `new` in the version whose id begins with `at`; nested fields are paths.

    A schema may occur again: `began`, the coordinates where that version began, identify it.
    """

    table: str
    old: str
    new: str
    at: str
    began: str = ""


@dataclass(frozen=True, slots=True)
class NotRename:
    """`new` is another column than `old`, whatever it looks like."""

    table: str
    old: str
    new: str
    at: str
    began: str = ""


ENDED = "ended"
"""The fact that the table of a version is gone."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A fact of a version (`key`, `nullable:<column>`, `type:<column>`) is true, whatever its evidence.

    `ended`: the table of the version is gone, and its rows that come late are left out.
    """

    table: str
    fact: str
    at: str
    began: str = ""


@dataclass(frozen=True, slots=True)
class TableRename:
    """The table `previous` got the name `table`; or it did not, if `is_renamed` is false."""

    table: str
    previous: str
    is_renamed: bool = True


@dataclass(frozen=True, slots=True)
class Approval:
    """A plan, named by its SHA-256, may be applied until the end of the day `expires` (UTC)."""

    plan: str
    by: str
    expires: date


@dataclass(frozen=True, slots=True)
class TypeAcceptance:
    """A lake may keep the type `lake` for a column or nested field that has the type `source` at the source.

    `column` is its path in the version whose id begins with `at`. `by`, `on` and `reason` say who accepted
    the difference, when and why. Another type of the source is another difference.
    """

    table: str
    column: str
    source: str
    lake: str
    at: str
    began: str
    by: str
    on: date
    reason: str = ""


Answer = Rename | NotRename | Confirmation
Decision = Answer | TableRename | Approval | TypeAcceptance


@dataclass(frozen=True, slots=True)
class Decisions:
    """Everything that was decided, in the order of the file."""

    renames: tuple[Rename, ...] = ()
    not_renames: tuple[NotRename, ...] = ()
    confirmations: tuple[Confirmation, ...] = ()
    approvals: tuple[Approval, ...] = ()
    accepted_types: tuple[TypeAcceptance, ...] = ()
    table_renames: tuple[TableRename, ...] = ()

    def list_tables(self) -> frozenset[str]:
        """The tables whose histories the decisions concern."""
        decided = (self.renames, self.not_renames, self.confirmations, self.accepted_types)
        found = {decision.table for some in decided for decision in some}
        return frozenset(found.union(*((each.table, each.previous) for each in self.table_renames)))

    def find_approval(self, plan: str, today: date) -> Approval | None:
        """The approval of a plan that has not expired; the one that lasts longest."""
        good = [a for a in self.approvals if a.plan == plan and a.expires >= today]
        return max(good, key=lambda a: a.expires, default=None)


def parse(text: str, where: str = "schemaman.decisions.toml") -> Decisions:
    """The decisions in the text of a file; `where` names it in errors.

    Raises:
        BadConfiguration: no TOML, an unknown section, or an entry that is incomplete.
    """
    try:
        document: Mapping[str, object] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadConfiguration(f"{where} is not valid TOML: {error}", hint="correct that line") from error
    for name in document:
        if name not in _SECTIONS:
            raise BadConfiguration(
                f"{where}: unknown section [[{name}]]", hint=f"sections are: {', '.join(_SECTIONS)}"
            )

    def read(section: str, kind: type[EntryT]) -> list[EntryT]:
        return _read_entries(document.get(section, []), f"{where}: [[{section}]]", kind)

    moves = tuple(TableRename(e.new, e.old) for e in read("rename-table", _TableEntry))
    if fault := find_table_rename_fault(moves):
        raise BadConfiguration(f"{where}: [[rename-table]]: {fault}", hint="remove the wrong entry")
    return Decisions(
        tuple(Rename(e.table, e.old, e.new, e.at, e.began) for e in read("rename", _PairEntry)),
        tuple(NotRename(e.table, e.old, e.new, e.at, e.began) for e in read("not-rename", _PairEntry)),
        tuple(Confirmation(e.table, e.fact, e.at, e.began) for e in read("confirm", _FactEntry)),
        tuple(Approval(e.plan, e.by, e.expires) for e in read("approve", _ApprovalEntry)),
        tuple(
            TypeAcceptance(
                e.table, e.column, e.source, e.lake, e.at, e.began, e.by, e.on, str(e.reason or "")
            )
            for e in read("accept-type", _TypeEntry)
        ),
        (
            *moves,
            *(TableRename(e.new, e.old, is_renamed=False) for e in read("not-rename-table", _TableEntry)),
        ),
    )


def find_table_rename_fault(answers: Iterable[TableRename]) -> str:
    """Find why answers about tables cannot all be right; empty if they can.

    A table becomes one other table, and never itself over others: else no table would be left.
    """
    next_names: dict[str, str] = {}
    for each in answers:
        if each.is_renamed and next_names.setdefault(each.previous, each.table) != each.table:
            return f"{each.previous} became {next_names[each.previous]} and {each.table}"
    for name in next_names:
        passed = [name]
        while (following := next_names.get(passed[-1])) is not None and following not in passed:
            passed.append(following)
        if following == name:
            return f"{' became '.join((*passed, name))}, so no table would be left"
    return ""


def format_decision(decision: Decision) -> str:
    """Format a decision as a block of TOML, to append to the file."""
    match decision:
        case Rename(table, old, new, at, began) | NotRename(table, old, new, at, began):
            pair = {"table": table, "from": old, "to": new, "at": at, "began": began}
            return _format_block("rename" if isinstance(decision, Rename) else "not-rename", pair)
        case Confirmation(table, fact, at, began):
            return _format_block("confirm", {"table": table, "fact": fact, "at": at, "began": began})
        case TableRename(table, previous, is_renamed):
            pair = {"from": previous, "to": table}
            return _format_block("rename-table" if is_renamed else "not-rename-table", pair)
        case Approval(plan, by, expires):
            return _format_block("approve", {"plan": plan, "by": by, "expires": expires})
        case TypeAcceptance():
            return _format_block("accept-type", asdict(decision))
        case _:
            assert_never(decision)


def format_coordinates(mark: Coordinates) -> str:
    """Format the coordinates of a record as decisions write them: `topic[partition]@offset`."""
    return f"{mark.topic}[{mark.partition}]@{mark.offset}"


def find_version(versions: Sequence[SchemaVersion], answer: Answer | TypeAcceptance) -> int | None:
    """Find the index of the version that an answer refers to; None if there is none or more than one.

    If a schema occurs again, the coordinates decide. Late evidence may have moved the beginning: then the id
    is enough if no other version has it.
    """
    matching = [i for i, v in enumerate(versions) if v.has_id(answer.at)]
    exact = [i for i in matching if format_coordinates(versions[i].at) == answer.began] or matching
    return exact[0] if len(exact) == 1 else None


def find_contradiction(history: TableHistory, decisions: Decisions, answer: Answer) -> Answer | None:
    """Find the earlier answer about the same version that contradicts this one; None if all agree."""
    table, at = str(history.table), find_version(history.versions, answer)
    earlier: tuple[Answer, ...] = (*decisions.renames, *decisions.not_renames)
    about = (other for other in earlier if other.table == table and _is_contradicting(other, answer))
    return next((other for other in about if find_version(history.versions, other) == at), None)


def _is_contradicting(one: Answer, other: Answer) -> bool:
    match one, other:
        case (Rename(_, a, b), NotRename(_, old, new)) | (NotRename(_, a, b), Rename(_, old, new)):
            return (a, b) == (old, new)
        case Rename(_, a, b), Rename(_, old, new):
            return (a == old) != (b == new)
        case _:
            return False


def apply_decisions(history: TableHistory, decisions: Decisions) -> TableHistory:
    """Apply the decisions of people to a history.

    A column that was renamed keeps its id from that version on, and is no candidate any more; so
    is a pair that is no rename. Confirmed facts are no longer open; the confirmed end of a table settles
    its late rows. An answer about a table, a
    version or columns that are not there changes nothing.
    """
    table = str(history.table)
    versions = list(history.versions)
    renames = [rename for rename in decisions.renames if rename.table == table]
    versions = _hand_on_names(versions, renames)
    for rename in renames:
        versions = _apply_rename(versions, rename)
    pairs = {(find_version(versions, d), d.old, d.new) for d in decisions.not_renames if d.table == table}
    facts = {(find_version(versions, d), d.fact) for d in decisions.confirmations if d.table == table}
    answered = (
        _apply_answers(
            version, {(a, b) for i, a, b in pairs if i == index}, {f for i, f in facts if i == index}
        )
        for index, version in enumerate(versions)
    )
    versions = list(_add_field_answers(tuple(answered), decisions, table))
    keyed = {i for i, fact in facts if fact == "key"}
    ended = {versions[i].incarnation for i, fact in facts if i is not None and fact == ENDED}
    events = tuple(
        replace(e, is_settled=True) if e.incarnation in ended and e.kind in ("dropped", "renamed") else e
        for e in history.events
    )
    history = _confirm_keys(replace(history, versions=tuple(versions), events=events), keyed)
    accepted = (_accept_type(history, each) for each in decisions.accepted_types if each.table == table)
    history = replace(history, accepted_types=tuple(each for each in accepted if each is not None))
    return _apply_table_renames(history, decisions.table_renames)


def _apply_table_renames(history: TableHistory, answers: Collection[TableRename]) -> TableHistory:
    """The history of a renamed table with its previous name; that of the previous name ends."""
    table = str(history.table)
    known = {alias.name for alias in history.aliases if alias.kind == "table"}
    made = [each for each in answers if each.is_renamed]
    previous = dict.fromkeys(each.previous for each in made if each.table == table)
    aliases = tuple(Alias("table", name, None) for name in previous if name not in known)
    events = history.events
    if history.versions and not history.has_ended and any(each.previous == table for each in made):
        events = (*events, TableEvent("renamed", history.last_record, history.latest.incarnation))
    if not aliases and events is history.events:
        return history
    return replace(history, aliases=(*history.aliases, *aliases), events=events)


def _accept_type(history: TableHistory, answer: TypeAcceptance) -> AcceptedType | None:
    """An accepted type, by what the newest version calls its column; None if that has no such column."""
    index = find_version(history.versions, answer)
    if index is None or history.versions[index].incarnation != history.latest.incarnation:
        return None
    schema = history.versions[index].schema
    path = next((p for p, _, _ in walk_fields(schema) if members.format_path(p) == answer.column), None)
    if path is None:
        return None
    name, *rest = path
    then = schema.column(name)
    now = next((c for c in history.latest.schema.columns if then is not None and c.id == then.id), None)
    if now is None:
        return None
    why = f"{answer.by} accepted it on {answer.on.isoformat()}" + (
        f": {answer.reason}" if answer.reason else ""
    )
    return AcceptedType((now.name, *rest), answer.source, answer.lake, why)


def _add_field_answers(
    versions: tuple[SchemaVersion, ...], decisions: Decisions, table: str
) -> tuple[SchemaVersion, ...]:
    """Add the answers about nested fields, which have no ids, to the versions."""
    answers_by_version: dict[int, list[Rename | NotRename]] = {}
    answers: tuple[Rename | NotRename, ...] = (*decisions.renames, *decisions.not_renames)
    for answer in (each for each in answers if each.table == table):
        index = find_version(versions, answer)
        if index and versions[index - 1].incarnation == versions[index].incarnation:
            answers_by_version.setdefault(index, []).append(answer)
    field_answers = {
        i: _match_field_answers(versions[i - 1].schema, versions[i].schema, each)
        for i, each in answers_by_version.items()
    }
    return tuple(
        replace(v, field_answers=field_answers[i]) if field_answers.get(i) else v
        for i, v in enumerate(versions)
    )


def _match_field_answers(
    before: TableSchema, after: TableSchema, step_answers: Sequence[Rename | NotRename]
) -> tuple[NestedFieldAnswer, ...]:
    """The answers about nested fields in one step; a field inside of a renamed one needs that answer, too."""
    known_answers: tuple[NestedFieldAnswer, ...] = ()
    while True:
        known = members.pair_changed_fields(before, after, known_answers)
        pairs = ((known.get((each.old, each.new)), isinstance(each, Rename)) for each in step_answers)
        found = tuple(NestedFieldAnswer(*pair, same) for pair, same in pairs if pair is not None)
        if len(found) <= len(known_answers):
            return known_answers
        known_answers = found


def list_proven_renames(history: TableHistory) -> tuple[Rename, ...]:
    """List the proven renames without an answer, each as the answer that confirms it."""
    table = str(history.table)
    return tuple(
        Rename(table, c.old, c.new, version.id, format_coordinates(version.at))
        for version in history.versions
        for c in version.candidates
        if c.grade == "proven"
    )


def _confirm_keys(history: TableHistory, confirmed: Collection[int | None]) -> TableHistory:
    """The history with its keys as certain as the answers about versions, by their index, make them."""
    keys = list(history.keys)
    for index, version in enumerate(history.versions):
        if index not in confirmed:
            continue
        began = _find_key_start(history, index)
        for i, key in enumerate(keys):
            if key.evidence == "emitted" and key.at == began and key.certain_from != key.at:
                proven = None if key.at == version.at else version.at
                keys[i] = replace(key, is_confirmed=True, proven_from=proven)
    return replace(history, keys=tuple(keys))


def _find_key_start(history: TableHistory, index: int) -> Coordinates:
    """Where the key of a version began: with the first version in a row that has it."""
    own = history.versions[index]
    for version in reversed(history.versions[:index]):
        if (version.incarnation, version.schema.key) != (own.incarnation, own.schema.key):
            break
        own = version
    return own.at


def _apply_rename(versions: list[SchemaVersion], decision: Rename) -> list[SchemaVersion]:
    index = find_version(versions, decision)
    if not index or (decision.old, decision.new) not in list_rename_pairs(
        versions[index - 1], versions[index]
    ):
        return versions
    before, version = versions[index - 1], versions[index]
    old, new = before.schema.column(decision.old), version.schema.column(decision.new)
    if old is None or new is None or old.id is None:
        return versions
    if old.id in {c.id for c in version.schema.columns} or new.id in {c.id for c in before.schema.columns}:
        return versions  # one of the two is already another column's past or future
    later = [v for v in versions[index:] if v.incarnation == version.incarnation]
    same = [replace_ids(v, {new.id: old.id}) for v in later]
    same[0] = replace(same[0], candidates=_drop_candidates(same[0], decision))
    return [*versions[:index], *same, *versions[index + len(same) :]]


def list_rename_pairs(before: SchemaVersion, version: SchemaVersion) -> frozenset[tuple[str, str]]:
    """List each pair of a dropped and an added name in this step; none between two incarnations of a table.

    Columns count if neither is known to have stayed, or if names may have been handed on. Nested fields are
    paths, such as `address.street`; inside of a renamed struct, the old path has its old name and the new
    path its new name.
    """
    if before.incarnation != version.incarnation:
        return frozenset()
    was, now = before.schema.names, version.schema.names
    columns = frozenset((a, b) for a in was if a not in now for b in now if b not in was)
    columns |= frozenset((c.old, c.new) for c in version.candidates)
    dropped, added = find_recreated_columns(before, version)
    columns |= frozenset((a, b) for a in dropped for b in added)
    return columns | members.pair_changed_fields(before.schema, version.schema, version.field_answers).keys()


def _hand_on_names(versions: list[SchemaVersion], renames: Sequence[Rename]) -> list[SchemaVersion]:
    """Apply renames that hand names on from column to column, all at once; only if no name of it is open.

    Each name needs the answer which column has it now, before the column that had it can have another one.
    """
    found: dict[int, dict[str, str]] = {}
    for rename in renames:
        index = find_version(versions, rename)
        if index and (rename.old, rename.new) in {(c.old, c.new) for c in versions[index].candidates}:
            found.setdefault(index, {})[rename.old] = rename.new
    for index, names in sorted(found.items()):
        before, version = versions[index - 1], versions[index]
        taken = {name for name in names if version.schema.column(name) is not None}
        handed_on = any(before.schema.column(name) is not None for name in names.values())
        if not (taken or handed_on) or not taken <= set(names.values()):
            continue
        old_ids = {new: column.id for old, new in names.items() if (column := before.schema.column(old))}
        ids = {c.id: old_ids[c.name] for c in version.schema.columns if c.name in old_ids}
        later = [v for v in versions[index:] if v.incarnation == version.incarnation]
        same = [replace_ids(v, ids) for v in later]
        left = tuple(c for c in version.candidates if names.get(c.old) != c.new)
        same[0] = replace(same[0], candidates=left)
        versions = [*versions[:index], *same, *versions[index + len(same) :]]
    return versions


def _drop_candidates(version: SchemaVersion, decision: Rename) -> tuple[RenameCandidate, ...]:
    return tuple(c for c in version.candidates if decision.old != c.old and decision.new != c.new)


def _apply_answers(
    version: SchemaVersion, pairs: Collection[tuple[str, str]], facts: Collection[str]
) -> SchemaVersion:
    candidates = tuple(c for c in version.candidates if (c.old, c.new) not in pairs)
    unconfirmed = tuple(f for f in version.unconfirmed if f not in facts)
    is_settled = version.status == "provisional" and not unconfirmed
    status = "confirmed" if is_settled else version.status
    # an answer is about the whole version: the fact is certain from its beginning on
    proofs = tuple(p for p in version.proofs if p.fact not in facts)
    return replace(version, candidates=candidates, unconfirmed=unconfirmed, status=status, proofs=proofs)


_SECTIONS = (
    "rename", "not-rename", "confirm", "approve", "accept-type", "rename-table", "not-rename-table",
)  # fmt: skip
_Text = Annotated[str, msgspec.Meta(min_length=1)]


class _Entry(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An entry of the file; only people read its `reason`."""

    reason: object = None


class _PairEntry(_Entry, rename={"old": "from", "new": "to"}):
    table: _Text
    old: _Text
    new: _Text
    at: _Text
    began: _Text = ""  # older answers do not have it


class _TableEntry(_Entry, rename={"old": "from", "new": "to"}):
    old: _Text
    new: _Text


class _FactEntry(_Entry):
    table: _Text
    fact: _Text
    at: _Text
    began: _Text = ""


class _ApprovalEntry(_Entry):
    plan: _Text
    by: _Text
    expires: date


class _TypeEntry(_Entry):
    table: _Text
    column: _Text
    source: _Text
    lake: _Text
    at: _Text
    by: _Text
    on: date
    began: str = ""


EntryT = TypeVar("EntryT", bound=_Entry)


def _read_entries(entries: object, where: str, kind: type[EntryT]) -> list[EntryT]:
    if not isinstance(entries, list):
        raise BadConfiguration(f"{where} is not a list of entries", hint=f"write {where.split(': ')[-1]}")
    found = []
    for number, entry in enumerate(entries, start=1):
        try:
            found.append(msgspec.convert(entry, kind))
        except (ValueError, RecursionError) as error:
            keys = ", ".join(sorted(set(kind.__struct_encode_fields__) - {"reason"}))
            raise BadConfiguration(f"{where} {number}: {error}", hint=f"its keys are {keys}") from error
    return found


def _format_block(section: str, entry: Mapping[str, str | date]) -> str:
    lines = [
        f"{key} = {value.isoformat() if isinstance(value, date) else _quote_text(value)}"
        for key, value in entry.items()
        if value
    ]
    return "\n".join(["", f"[[{section}]]", *lines, ""])


def _quote_text(text: str) -> str:
    """A TOML basic string. JSON's escapes are TOML's, but for the one character that only TOML escapes."""
    if any("\ud800" <= ch <= "\udfff" for ch in text):
        raise BadConfiguration(f"{text!r} contains bytes that are not text", hint="use UTF-8")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
