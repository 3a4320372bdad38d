"""Renames that two structures suggest, with grade and evidence.

`proven` is the anchored segment rule. Where a table can only append columns, no column is gained
in front of one that stayed; each new name there is an old column. Where as many names vanished as
appeared, the pairs follow from the order if no type became one of another kind. Everything weaker
is a question for people.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise, takewhile

from schemaman.history.column_places import match_places
from schemaman.history.versions import Grade, RenameCandidate
from schemaman.model.ddl import format_type
from schemaman.model.increasing import find_longest_increasing
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Type, widens

SIMILARITY_THRESHOLD = 0.5
"""Names that share at least this part of their letters count as similar."""

_MAX_HANDED_ON = 4
"""More columns than this are not renamed in one step without any row in between."""

_MAX_LETTER_PAIRS = 4_000
"""More pairs than this are not compared letter by letter."""


def find_rename_candidates(
    old: TableSchema, new: TableSchema, append_only: bool
) -> tuple[RenameCandidate, ...]:
    """Find pairs of a dropped and an added column that may be one column, in the order of the old columns.

    Columns are matched by id if all have an id, otherwise by name. `append_only`: the source never inserts a
    column before an existing one. If the order contradicts that, no rename is proven; causes are a rebuilt
    table, another column filter, or a transform that reorders.
    """
    pairs = _match_columns(old, new)
    if len(pairs) in (len(old.columns), len(new.columns)):
        return ()
    segments = _split_segments(old, new, pairs)
    ordered = append_only and _is_trustworthy(old, new, pairs, segments)
    single = sum(len(s.dropped_columns) for s in segments) == 1 == sum(len(s.added_columns) for s in segments)
    if not ordered:
        segments = [_join_segments(segments)]
    found: list[RenameCandidate] = []
    for segment in segments:
        if ordered and segment.after is not None:
            found += _pair_between_anchors(segment)
        else:
            found += _suggest_pairs(segment, prefix=ordered, single=single)
    positions = {name: i for i, name in enumerate(old.names)}
    return tuple(sorted(found, key=lambda c: positions[c.old]))


def find_handed_on_names(old: TableSchema, new: TableSchema) -> tuple[RenameCandidate, ...]:
    """Find a chain of names that may have been handed on, each to the column in the next place.

    `a, b` becomes `b, c`: `a` was dropped and `c` appended, or both were renamed. Where all places have the
    types that they had, both fit, and the values of `b` are one column's or two columns'.
    """
    if len(old.columns) != len(new.columns):
        return ()
    moved = [(a, b) for a, b in zip(old.columns, new.columns, strict=True) if a.name != b.name]
    names = {a.name: b.name for a, b in moved}
    heads = names.keys() - names.values()
    chained = {name for head in heads for name in _follow_names(names, head)}
    same = all(a.type == b.type for a, b in moved)
    kept = all(old.column(b.name) == b for _, b in moved if b.name in names)
    if not 1 < len(moved) <= _MAX_HANDED_ON or len(heads) == len(moved) or chained != names.keys():
        return ()
    reason = "each place has the type that it had, so that the names may have been handed on"
    return tuple(_make_candidate(a, b, "possible", reason) for a, b in moved) if same and kept else ()


def find_displaced_names(old: TableSchema, new: TableSchema) -> tuple[RenameCandidate, ...]:
    """Find columns whose names others have now, and those that took such a name, where places never move.

    Both have ids. None of the columns that are found is known to have stayed.
    """
    was, now = {c.id for c in old.columns}, {c.id for c in new.columns}
    return tuple(
        _make_candidate(a, b, "likely", "at the same place, and another column has the old or the new name")
        for a, b in match_places(old, new).handed_on
        if a.id not in now and b.id not in was and widens(a.type, b.type)
    )


def find_taken_names(old: TableSchema, new: TableSchema) -> tuple[RenameCandidate, ...]:
    """Find vanished columns whose name may now be that of the column next to them, where places never move.

    `a INT, b NUMERIC` becomes `a NUMERIC`: `a` got the type and `b` was dropped, or `a` was dropped and `b`
    has its name. Both fit, and the values of `a` are one column's or two columns'. Both schemas have ids.
    Where the key got another type, older and newer rows share no table, and no value changes its column.
    """
    names = {*new.names}
    if names.issuperset(old.names):
        return ()
    now = {c.id: c for c in new.columns}
    if not all(widens(c.type, now[c.id].type) for c in old.columns if c.name in old.key and c.id in now):
        return ()
    stayed = {i for i, c in enumerate(old.columns) if (b := now.get(c.id)) is not None and b.name == c.name}
    found: list[RenameCandidate] = []
    for i, column in enumerate(old.columns):
        if i not in stayed or (after := now[column.id]).type == column.type:
            continue
        for other in _list_vanished_neighbours(old, i, names):
            if other.type == after.type:
                reason = f"next to {column.name}, which has the type of {other.name} now"
                found.append(_make_candidate(other, after, "possible", reason))
                break
    return tuple(found)


def _list_vanished_neighbours(old: TableSchema, index: int, names: Collection[str]) -> Iterator[Column]:
    """List the columns behind and in front of one, up to the next one whose name is still there."""
    for side in (old.columns[index + 1 :], old.columns[:index][::-1]):
        yield from takewhile(lambda c: c.name not in names, side)


def is_handed_on(candidate: RenameCandidate, before: TableSchema, after: TableSchema) -> bool:
    """Whether the column with the new name of a suspected rename counts as the one that had it before."""
    was, now = before.column(candidate.new), after.column(candidate.new)
    return was is not None and now is not None and was.id == now.id


def _follow_names(names: Mapping[str, str], name: str) -> Iterator[str]:
    while name in names:
        yield name
        name = names[name]


@dataclass(frozen=True, slots=True)
class _Segment:
    """The columns between two unchanged columns; `after` is the next unchanged column, None at the end.

    `is_mixed`: a column that exists on both sides left or entered the segment. Its name was dropped and used
    again, so that counting proves nothing.
    """

    before: str | None
    after: str | None
    dropped_columns: tuple[Column, ...]
    added_columns: tuple[Column, ...]
    is_mixed: bool = False


def _match_columns(old: TableSchema, new: TableSchema) -> dict[int, int]:
    """Old index → new index of each column that is on both sides."""
    if all(c.id is not None for c in (*old.columns, *new.columns)):
        positions = {c.id: i for i, c in enumerate(new.columns)}
        return {i: positions[c.id] for i, c in enumerate(old.columns) if c.id in positions}
    names = {c.name: i for i, c in enumerate(new.columns)}
    return {i: names[c.name] for i, c in enumerate(old.columns) if c.name in names}


def _split_segments(old: TableSchema, new: TableSchema, pairs: dict[int, int]) -> list[_Segment]:
    stay = find_longest_increasing(list(pairs.values()))
    ends = (-1, -1), (len(old.columns), len(new.columns))
    anchors = [ends[0], *((i, j) for i, j in pairs.items() if j in stay), ends[1]]
    # A column on both sides that is no anchor has moved, or its name was given up and used again.
    before, now, kept = set(old.names), set(new.names), set(pairs.values())
    dropped = {c.name for i, c in enumerate(old.columns) if i not in pairs} - now
    added = {c.name for j, c in enumerate(new.columns) if j not in kept} - before
    result: list[_Segment] = []
    for (a, b), (c, d) in pairwise(anchors):
        old_columns, new_columns = old.columns[a + 1 : c], new.columns[b + 1 : d]
        if not old_columns and not new_columns:
            continue  # most segments are empty
        left_anchor = new.columns[b].name if b >= 0 else None
        right_anchor = new.columns[d].name if d < len(new.columns) else None
        vanished = tuple(x for x in old_columns if x.name in dropped)
        fresh = tuple(x for x in new_columns if x.name in added)
        mixed = len(vanished) < len(old_columns) or len(fresh) < len(new_columns)
        result.append(_Segment(left_anchor, right_anchor, vanished, fresh, mixed))
    return result


def _join_segments(segments: Sequence[_Segment]) -> _Segment:
    vanished = tuple(c for s in segments for c in s.dropped_columns)
    fresh = tuple(c for s in segments for c in s.added_columns)
    return _Segment(None, None, vanished, fresh, any(s.is_mixed for s in segments))


def _is_trustworthy(
    old: TableSchema, new: TableSchema, pairs: dict[int, int], segments: Sequence[_Segment]
) -> bool:
    """Whether the order of the columns is one that an append-only table can show."""
    common = set(old.names) & set(new.names)
    anchors = len(find_longest_increasing(list(pairs.values())))
    if 2 * (len(common) - anchors) > len(common):
        return False
    if 3 * anchors < max(len(old.columns), len(new.columns)):
        # most columns are others: the table was dropped and created again under its name
        return False
    return all(
        s.is_mixed or s.after is None or len(s.added_columns) <= len(s.dropped_columns) for s in segments
    )


def _pair_between_anchors(segment: _Segment) -> Iterator[RenameCandidate]:
    """Every fresh name is one of the vanished columns; which one is sure if their counts agree.

    Where a type of another kind came with a name, it may as well be the column of another table.
    """
    description = _describe_place(segment)
    if len(segment.added_columns) == len(segment.dropped_columns):
        pairs = list(zip(segment.dropped_columns, segment.added_columns, strict=True))
        is_sure = not segment.is_mixed and all(_are_akin(a.type, b.type) for a, b in pairs)
        grade: Grade = "proven" if is_sure else "likely"
        for a, b in pairs:
            yield _make_candidate(a, b, grade, description)
        return
    vanished, new = len(segment.dropped_columns), len(segment.added_columns)
    reason = f"{description}, but {vanished} columns vanished there and {new} are new"
    for a, b in _align_columns(segment.dropped_columns, segment.added_columns, prefix=False):
        alone = sum(c.type == b.type for c in segment.dropped_columns) == 1
        sure = a.type == b.type and (alone or _measure_likeness(a.name, b.name) >= SIMILARITY_THRESHOLD)
        yield _make_candidate(a, b, "likely" if sure and not segment.is_mixed else "possible", reason)


def _are_akin(old: Type, new: Type) -> bool:
    return old == new or widens(old, new) or widens(new, old)


def _suggest_pairs(segment: _Segment, *, prefix: bool, single: bool) -> Iterator[RenameCandidate]:
    """Pairs of one type and similar names; of a single drop and add whatever they are.

    In a table that only appends columns, also pairs of one type: the table may have changed several times.
    """
    for a, b in _align_columns(segment.dropped_columns, segment.added_columns, prefix=prefix):
        if a.type == b.type and _measure_likeness(a.name, b.name) >= SIMILARITY_THRESHOLD:
            yield _make_candidate(a, b, "likely", "one vanished and the other appeared in one step")
        elif single:
            yield _make_candidate(
                a, b, "possible", "the only column that vanished and the only one that appeared"
            )
        elif prefix and a.type == b.type:
            yield _make_candidate(a, b, "possible", "one vanished and the other was appended")


def _describe_place(segment: _Segment) -> str:
    edge = f"before {segment.after}"
    where = edge if segment.before is None else f"between {segment.before} and {segment.after}"
    return f"{where}, where a table that only appends columns cannot gain one"


def _make_candidate(a: Column, b: Column, grade: Grade, reason: str) -> RenameCandidate:
    evidence = [reason]
    if a.type == b.type:
        evidence.append(f"same type {format_type(a.type)}")
    else:
        evidence.append(f"type {format_type(a.type)} became {format_type(b.type)}")
    if a.nullable == b.nullable and a.default == b.default and (a.default is not None or not a.nullable):
        evidence.append("same nullability and default")
    if (likeness := _measure_likeness(a.name, b.name)) >= SIMILARITY_THRESHOLD:
        evidence.append(f"the names are {likeness:.0%} alike")
    return RenameCandidate(a.name, b.name, grade, tuple(evidence))


def _measure_likeness(a: str, b: str) -> float:
    return SequenceMatcher(None, a.casefold(), b.casefold(), autojunk=False).ratio()


def _score_pair(a: Column, b: Column, letters: bool) -> float:
    """How well two columns go together; nothing below 1 is more than a guess."""
    kin = 1.0 if a.type == b.type else 0.5 if _are_akin(a.type, b.type) else 0.0
    rest = 0.1 * (a.nullable == b.nullable) + 0.1 * (a.default == b.default) + 0.1 * (a.comment == b.comment)
    return kin + rest + (_measure_likeness(a.name, b.name) if letters else 0.0)


def _align_columns(
    old: Sequence[Column], new: Sequence[Column], *, prefix: bool
) -> list[tuple[Column, Column]]:
    """Find the order-preserving pairs with the highest total score.

    With `prefix` only the first of the new columns can be old ones: an append-only table adds columns after
    all kept ones.
    """
    letters = len(old) * len(new) <= _MAX_LETTER_PAIRS
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    paired = [[False] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            both = _score_pair(old[i], new[j], letters) + best[i + 1][j + 1]
            apart = best[i + 1][j] if prefix else max(best[i + 1][j], best[i][j + 1])
            paired[i][j] = both > apart
            best[i][j] = max(both, apart)
    pairs: list[tuple[Column, Column]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if paired[i][j]:
            pairs.append((old[i], new[j]))
            i, j = i + 1, j + 1
        elif prefix or best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs
