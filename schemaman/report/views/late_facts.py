"""Describes facts that were read later than their rows: from which record on they are certain.

Law: no sentence states a fact at a position where no record proves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from schemaman.debezium.records import Coordinates
from schemaman.history.versions import KeySpan, Proof, Revision, SchemaVersion
from schemaman.model.diff import Change, ChangeDefault, ChangeKey, ChangeNullable
from schemaman.report.document import Inline, Notice, Text
from schemaman.report.views import words

_MOST_NAMED = 3
"""The largest number of columns that are named for one kind of fact; beyond it, only the number is given."""


def list_proofs(version: SchemaVersion, revision: int) -> tuple[Proof, ...]:
    """List the facts of a revision that were read late, without those of earlier revisions."""
    return tuple(p for p in version.find_proofs(revision) if p.revision == revision)


def build_lines(version: SchemaVersion, revision: int) -> Iterator[Inline]:
    """Build a line for each record that makes facts of a revision certain; unconfirmed facts come last."""
    proofs = sorted(list_proofs(version, revision), key=lambda p: p.at is None)
    for at, same in groupby(proofs, key=lambda p: p.at):
        facts = enumerate_facts(p.fact for p in same)
        since = "" if at is None else words.format_coordinates(at)
        certain = f"{facts}: certain from {since} on, not confirmed before that"
        yield (Text(f"not confirmed: {facts}" if at is None else certain, "muted"),)


def enumerate_facts(facts: Iterable[str]) -> str:
    """Describe facts; many facts of one kind are given as a number."""
    kinds: dict[str, list[str]] = {}
    for fact in facts:
        kinds.setdefault(fact.partition(":")[0], []).append(fact)
    many = {"nullable": "whether {} may be NULL", "default": "the defaults of {}", "type": "the types of {}"}
    names = []
    for kind, same in kinds.items():
        if kind in many and len(same) > _MOST_NAMED:
            names.append(many[kind].format(words.format_count(len(same), "column")))
        else:
            names += [words.describe_fact(fact) for fact in same]
    return ", ".join(names)


def describe_begin(version: SchemaVersion, changes: Sequence[Change]) -> str:
    """Describe the interval in which a version began; it ends later if only late facts make the version."""
    proven = _find_proofs(version, 0, changes)
    if proven is None or version.after is None:
        return words.describe_begin(version)
    return _describe_interval(version.after, version.at, proven)


def describe_revision(version: SchemaVersion, revision: Revision, changes: Sequence[Change]) -> str:
    """Describe the interval in which attributes changed, or the position of the statement."""
    if revision.after is None or any(e.kind == "declared" for e in version.evidence):
        return words.format_coordinates(revision.at)
    proven = _find_proofs(version, revision.number, changes)
    return _describe_interval(revision.after, revision.at, (revision.at,) if proven is None else proven)


def _find_proofs(
    version: SchemaVersion, revision: int, changes: Sequence[Change]
) -> tuple[Coordinates, ...] | None:
    """Find the records that prove the changes.

    Empty if one change is unconfirmed; None if one change is certain from the beginning.
    """
    facts = {name for change in changes for name in _name_fact(change)}
    late = {p.fact: p.at for p in list_proofs(version, revision)}
    if not facts or not facts <= late.keys():
        return None
    coordinates = [at for fact in facts if (at := late[fact]) is not None]
    return tuple(coordinates) if len(coordinates) == len(facts) else ()


def _describe_interval(after: Coordinates, first: Coordinates, proven: Sequence[Coordinates]) -> str:
    """Describe when a fact began that `first` shows first, and that the last of `proven` makes certain."""
    text = f"after {words.format_coordinates(after)}"
    known = max(proven, key=lambda m: (m.position.rank, m.ts_ms or 0, m.offset), default=None)
    if known is None:
        return f"{text}, first seen in the record at {words.format_coordinates(first)}"
    late = "" if known == first else f"; first seen in the record at {words.format_coordinates(first)}"
    return f"{text}, no later than {words.format_coordinates(known)}{late}"


def _name_fact(change: Change) -> Iterator[str]:
    """Name the fact of a change as in `unconfirmed`; empty for changes that are certain with their record."""
    match change:
        case ChangeKey():
            yield "key"
        case ChangeNullable(path):
            yield f"nullable:{path[0]}"
        case ChangeDefault(path):
            yield f"default:{path[0]}"
        case _:
            yield ""


def describe_since(key: KeySpan) -> str:
    """Describe since when a key is certain, and since when it was seen if that is earlier."""
    first = (
        f"first seen {words.format_coordinates(key.at)}"
        if key.after is None
        else words.format_coordinates(key.at)
    )
    if key.certain_from == key.at:
        return first
    text = f"first seen {words.format_coordinates(key.at)}"
    if key.certain_from is None:
        return f"{text}; not confirmed"
    return f"{words.format_coordinates(key.certain_from)}; {text}, not confirmed before that"


def build_provisional_notice(version: SchemaVersion, revision: int, title: str = "") -> Notice:
    """Build the notice of facts that may hold only later, or may come from a setting of the connector."""
    proofs = {proof.fact: proof.at for proof in version.find_proofs(revision)}
    read: list[str] = []
    changing: list[str] = []
    forms: list[str] = []
    sentences: list[str] = []
    for fact in version.unconfirmed:
        if (at := proofs.get(fact)) is not None:
            sentences.append(
                f"Not confirmed at this position, but from {words.format_coordinates(at)} on: "
                f"{enumerate_facts((fact,))}."
            )
        elif fact.startswith("type:"):
            forms.append(fact)
        else:
            (changing if fact.startswith("default:") and fact not in proofs else read).append(fact)
    if read:
        sentences.append(
            f"The connector read this from the database later than the rows: {enumerate_facts(read)}. "
            "A later record, a declared schema or `schemaman decide confirm` confirms it."
        )
    if changing:
        sentences.append(
            f"Changed between the records before and after this position: {enumerate_facts(changing)}."
        )
    if forms:
        sentences.append(
            f"A setting of the connector, not the table, may have changed {enumerate_facts(forms)}. "
            "Events of another table, or `schemaman decide confirm`, settle it."
        )
    return Notice("provisional", "note", title or f"version {version.number}", " ".join(sentences))
