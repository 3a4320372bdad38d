"""Where a history tells of rows that were read before that their structure is another one.

Law: only what changes a row counts: another column under a field's name, other values of the same bytes, or
another life of the table; a version that was merely learnt of later retells nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from schemaman.ddl import format_type
from schemaman.evidence import Mark
from schemaman.languages.connect import Node
from schemaman.rows.cells import sign_is_untold
from schemaman.rows.faces import Face, UnknownFace, at, faces
from schemaman.rows.modes import Modes, UntoldMode, node_of
from schemaman.rows.order import place
from schemaman.schema import Column
from schemaman.types import Integer
from schemaman.versions import SchemaVersion, TableHistory


@dataclass(frozen=True, slots=True)
class Retold:
    """A stretch of the source's log, in the words of `rows.order`, in which rows are read otherwise now.

    It goes from the place `since` up to `until`, None if it has no end; `mark` is where it begins.
    """

    since: str
    until: str | None
    mark: Mark
    why: str


def reading_of(history: TableHistory) -> str:
    """A digest of all in a history that decides how rows are read: 16 hexadecimal digits."""
    told = [
        (v.id, v.incarnation, v.at, v.schema.columns, v.carried, v.candidates, v.members)
        for v in history.versions
    ]
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


def retold(before: TableHistory, after: TableHistory, modes: Modes) -> tuple[Retold, ...]:
    """Where rows that were read by the history `before` are read otherwise by `after`, in order of the log.

    `modes` are those of the connector, which decide how records without schemas are read. Only places count
    that the source's own log tells: without them nothing can be said.
    """
    plain = any(e.witness == "inferred" for v in after.versions for e in v.evidence)
    found: dict[tuple[str, str | None], Retold] = {}
    for names in dict.fromkeys(n for v in before.versions for n in _namings(v)):
        try:
            then, now = (faces(h, dict.fromkeys(sorted(names))) for h in (before, after))
        except UnknownFace:
            continue
        for told in _differences(then, now, modes if plain else None):
            found.setdefault((told.since, told.until), told)
    return tuple(found[key] for key in sorted(found, key=lambda key: key[0]))


def _namings(version: SchemaVersion) -> Iterator[frozenset[str]]:
    """The names of the fields in which events carry a version."""
    yield frozenset(c.emitted_name or c.name for c in version.schema.columns)
    for face in version.carried:
        yield frozenset(version.wire(face).names)


def _differences(then: Sequence[Face], now: Sequence[Face], modes: Modes | None) -> Iterator[Retold]:
    """Between two neighbouring beginnings all rows of a naming are read alike: so one of each is asked."""
    marks = {place(f.version.at.position): f.version.at for f in (*then, *now)}
    # what is read beside the stream begins versions, too, and has no place
    kinds = [f.version.at.position.kind for f in (*then, *now) if f.version.at.position.kind != "none"]
    placed = [(text, m) for text, m in sorted(marks.items()) if m.position.kind in kinds[-1:]]
    for number, (since, mark) in enumerate(placed, 1):
        until = placed[number][0] if number < len(placed) else None
        why = _difference(at(then, mark), at(now, mark), now, modes)
        if why is not None:
            yield Retold(since, until, mark, why)


def _difference(was: Face, is_: Face, now: Sequence[Face], modes: Modes | None) -> str | None:
    """How a row that was read as `was` is read by now; None where that is the same."""
    # what the version's own first record is of says what its columns were taken for
    taken = at(now, was.version.at)
    if taken.version.incarnation != is_.version.incarnation:
        return "the table had been dropped or renamed away, and they are of the one made anew under its name"
    for name in was.columns:
        if taken.columns[name].id != is_.columns[name].id:
            return f"`{name}` was another column by then"
        before, after = was.columns[name], is_.columns[name]
        if not _alike(before, after, modes):
            types = format_type(before.type), format_type(after.type)
            return f"`{name}` was read as {types[0]}, and was {types[1]} by then"
    return None


def _alike(one: Column, other: Column, modes: Modes | None) -> bool:
    """Whether two columns read the same values; `modes` where no record tells its types.

    Where a record tells them, its values are what it says, but for the sign of 64 bits (`rows.cells`).
    """
    if isinstance(one.type, Integer) and isinstance(other.type, Integer) and not sign_is_untold(one):
        unsigned = {c.type == Integer(64, signed=False) for c in (one, other)}
        if len(unsigned) > 1:
            return False
    if modes is None or one.type == other.type:
        return True
    try:
        return _plain(node_of(one.type, modes)) == _plain(node_of(other.type, modes))
    except UntoldMode:
        return True  # of one that nobody can read no row was written


def _plain(node: Node) -> Mapping[str, object]:
    """A node without a name that is for its readers alone: the value is the same without it."""
    named = str(node.get("name", ""))
    return {k: v for k, v in node.items() if k != "name"} if named.startswith("io.debezium.data.") else node


def told_once(found: Sequence[Retold]) -> tuple[Retold, ...]:
    """Stretches that lie side by side as one, with the reason of the first."""
    joined: list[Retold] = []
    for one in found:
        if joined and (joined[-1].until is None or one.since <= joined[-1].until):
            ends = (joined[-1].until, one.until)
            joined[-1] = replace(joined[-1], until=None if None in ends else max(e for e in ends if e))
        else:
            joined.append(one)
    return tuple(joined)
