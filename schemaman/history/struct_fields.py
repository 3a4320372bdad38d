"""Nested fields through the versions of a table: dropped, added, and renamed by a person's answer.

A nested field has no id, so its name identifies it. A field that returns under its name is the same field.
Whether a field took over the values of another one is a question for people, as with columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.history.past_versions import CurrentField
from schemaman.history.rename_detection import find_rename_candidates
from schemaman.history.versions import NestedFieldAnswer, SchemaVersion
from schemaman.model.schema import Column, Path, TableSchema, quote_part, walk_fields
from schemaman.model.types import Array, Field, Map, Struct, Type

Fields = tuple[Field, ...]
Ids = Mapping[int | None, int | None]
Question = tuple[Path, Path]
"""A dropped and an added nested field of one step that may be the same field; no answer exists yet."""


@dataclass(frozen=True, slots=True)
class _FieldEnd:
    """The current path of a nested field (None: dropped), whether that is certain, and its open question.

    A field whose own name came back is certain, although an open question asks for it. `dropped_at`: the
    version before which it was finally dropped, and its path there; two dropped fields with the same value
    are one field. `question_version`: the index of the version whose step raised the question.
    """

    path: Path | None
    is_sure: bool = True
    question: Question | None = None
    dropped_at: tuple[int, Path] | None = None
    question_version: int | None = None

    def has_question(self, name: str) -> bool:
        """Whether a field of that name may be another field now, also if its own name came back."""
        if self.is_sure and self.question is not None and self.path is not None:
            return self.path[-1].lower() == name.lower() == self.question[0][-1].lower()
        return not self.is_sure


@dataclass(frozen=True, slots=True)
class UnsettledFields:
    """The nested fields of a version whose current path depends on an open question, named as in `became`.

    Fields whose own name came back are included: the name may belong to another field. `lost` are dropped
    fields with a name of another dropped field; `new_names` are dropped fields with a known other name.
    """

    questions: dict[Path, Question]
    lost: set[Path]
    new_names: dict[Path, str]


@dataclass(frozen=True, slots=True)
class _StructPair:
    """A struct before and after a step, with its paths; `partners` are the nested fields of both sides."""

    old_path: Path
    new_path: Path
    old: Fields
    new: Fields
    partners: Mapping[str, Field]

    @property
    def dropped_fields(self) -> Fields:
        return tuple(f for f in self.old if f.name not in self.partners)

    @property
    def added_fields(self) -> Fields:
        taken = {f.name for f in self.partners.values()}
        return tuple(f for f in self.new if f.name not in taken)


@dataclass(frozen=True, slots=True)
class _ColumnStep:
    """A column after a step: paths of the previous fields, the dropped ones, and those that decisions add.

    `questions` are added fields that may be a dropped one.
    """

    after: Column
    partners: Mapping[Path, Path]
    renamed_paths: frozenset[Path]
    dropped_paths: frozenset[Path]
    questions: Mapping[Path, Question]


@dataclass(slots=True)
class _FieldTrace:
    """A column through its versions, from the newest back: the final paths of its nested fields.

    `ends` are the final paths for the fields of each version. `taken_paths` are paths of dropped fields that
    a lake may still have, and whose name a decision later gave to another field.
    """

    steps: dict[int, _ColumnStep] = field(default_factory=dict)
    ends: dict[int, dict[Path, _FieldEnd]] = field(default_factory=dict)
    taken_paths: dict[int, set[Path]] = field(default_factory=dict)

    def add_step(self, at: int, before: Column, after: Column, answers: Sequence[NestedFieldAnswer]) -> None:
        """One step further back: from version number `at` to the next one."""
        pairs = list(_pair_structs(before.type, after.type, (before.name,), (after.name,), answers))
        partners = {
            (*pair.old_path, old): (*pair.new_path, new.name)
            for pair in pairs
            for old, new in pair.partners.items()
        }
        called = {new for old, new in partners.items() if old[-1].lower() != new[-1].lower()}
        dropped = {(*pair.old_path, old.name) for pair in pairs for old in pair.dropped_fields}
        questions = {old: (old, new) for pair in pairs for old, new in _list_questions(pair, answers)}
        asked_fields = {question[1]: question for question in questions.values()}
        self.steps[at] = _ColumnStep(after, partners, frozenset(called), frozenset(dropped), asked_fields)
        fates = self.ends[at] = {}
        for pair in pairs:
            for old in pair.old:
                path = (*pair.old_path, old.name)
                if path in partners:
                    fates[path] = self._find_end(at + 1, partners[path])
                else:
                    fates[path] = self._trace_dropped(at + 1, (*pair.new_path, old.name), questions.get(path))
                    fates |= self._trace_nested(at, path, old.type, (*pair.new_path, old.name))

    def list_changes(self) -> dict[int, dict[Path, CurrentField]]:
        """List the nested fields of each version that no longer have their name."""
        found: dict[int, dict[Path, CurrentField]] = {}
        for at in sorted(self.ends.keys() | self.taken_paths.keys()):
            found[at] = dict.fromkeys(self.taken_paths.get(at, ()), CurrentField(None))
            for path, end in self.ends.get(at, {}).items():
                is_open = end.has_question(path[-1])
                if end.path is None or is_open or end.path[-1].lower() != path[-1].lower():
                    name = None if end.path is None else end.path[-1]
                    question = end.question if is_open else None
                    found[at][path] = CurrentField(
                        name, end.is_sure, question, None if question is None else end.question_version
                    )
        return found

    def _find_end(self, at: int, path: Path) -> _FieldEnd:
        return self.ends.get(at, {}).get(path, _FieldEnd(path))

    def _trace_dropped(self, at: int, path: Path, question: Question | None) -> _FieldEnd:
        """Where one is that left `path` before version `at`, if the `question` does not keep it open."""
        returned = self._find_return(at, path)
        own_end = (
            _FieldEnd(None, dropped_at=(at, path)) if returned is None else self._trace_return(*returned)
        )
        if question is None:
            return own_end
        other = self._find_end(at, question[1])
        if own_end.path == other.path:
            if other.path is None or own_end.question is not None:
                return own_end
            return replace(own_end, question=other.question, question_version=other.question_version)
        same = own_end.path is not None and own_end.path[-1].lower() == path[-1].lower()
        if other.path is None or same:
            return replace(own_end, question=question, question_version=at)
        return _FieldEnd(other.path, False, question, question_version=at)

    def _trace_return(self, at: int, path: Path) -> _FieldEnd:
        """The path of a field that came back in version `at`, unless an answer may make it another field."""
        end, question = self._find_end(at, path), self.steps[at - 1].questions.get(path)
        return end if question is None else replace(end, question=question, question_version=at)

    def _trace_nested(self, at: int, old_path: Path, type: Type, path: Path) -> dict[Path, _FieldEnd]:
        """The paths inside of a field that was dropped before the next version, and came back."""
        returned = self._find_return(at + 1, path)
        if returned is None:
            return {}
        back, returned_path = returned
        other = _find_type(self.steps[back - 1].after, returned_path)
        found: dict[Path, _FieldEnd] = {}
        for pair in _pair_structs(type, other, old_path, returned_path, ()):
            for old in pair.old:
                to = pair.partners.get(old.name)
                end = (back, (*pair.new_path, old.name if to is None else to.name))
                found[*pair.old_path, old.name] = (
                    self._trace_dropped(*end, None) if to is None else self._find_end(*end)
                )
        return found

    def _find_return(self, at: int, place: Path) -> tuple[int, Path] | None:
        """The version and the path in which the field at `place`, dropped before version `at`, came back."""
        empty: list[tuple[int, Path]] = []
        while at - 1 in self.steps:
            step = self.steps[at - 1]
            found = next((p for p in _list_paths(step.after) if _is_same_path(p, place)), None)
            if found is not None and found not in step.renamed_paths:
                return at, found
            if found is not None:
                for version, path in empty:
                    self.taken_paths.setdefault(version, set()).add(path)
                return None
            empty.append((at, place))
            moved = self._follow_path(at, place[:-1])
            if moved is None:
                return None
            at, place = moved[0], (*moved[1], place[-1])
        return None

    def _follow_path(self, at: int, path: Path) -> tuple[int, Path] | None:
        """The path of version `at` in the next one, or in the version in which its parent came back.

        An element, a key or a value stays with its parent.
        """
        if at not in self.steps:
            return at + 1, path
        step = self.steps[at]
        dropped = next((n for n in range(2, len(path) + 1) if path[:n] in step.dropped_paths), None)
        if dropped is not None:
            up = self._follow_path(at, path[: dropped - 1])
            returned = None if up is None else self._find_return(up[0], (*up[1], path[dropped - 1]))
            return None if returned is None else (returned[0], (*returned[1], *path[dropped:]))
        known = next((n for n in range(len(path), 1, -1) if path[:n] in step.partners), 1)
        start = step.partners[path[:known]] if known > 1 else (step.after.name,)
        return at + 1, (*start, *path[known:])


def _list_paths(column: Column) -> tuple[Path, ...]:
    return tuple(path for path, _, _ in walk_fields(TableSchema((column,))))


def _find_type(column: Column, path: Path) -> Type:
    return next(type for at, type, _ in walk_fields(TableSchema((column,))) if at == path)


def _is_same_path(path: Path, other: Path) -> bool:
    return lower_path(path) == lower_path(other)


def format_path(path: Path) -> str:
    """Format a nested field as decisions name it: `address.street`, `lines.element.qty`."""
    return ".".join(quote_part(part) for part in path)


def lower_path(path: Path) -> Path:
    """Lower the case of a path, since a lake compares paths without regard to case."""
    return tuple(part.lower() for part in path)


def rename_parents(path: Path, outcomes: Mapping[Path, CurrentField]) -> Path:
    """The path of a field of a version in current names, as far as its parents have one.

    `outcomes` are the current paths of the fields of that version.
    """
    above = (outcomes.get(path[:n]) for n in range(2, len(path)))
    between = zip(above, path[1:-1], strict=True)
    return (path[0], *(now.name if now and now.name else part for now, part in between), path[-1])


def pair_changed_fields(
    before: TableSchema, after: TableSchema, answers: Sequence[NestedFieldAnswer]
) -> Mapping[tuple[str, str], Question]:
    """List each pair of a dropped and an added field of the same struct, named as in decisions.

    `answers` decide which structs are the same; pairs that are already answered are included.
    """
    found: dict[tuple[str, str], Question] = {}
    for column in before.columns:
        same = (c for c in after.columns if c.id == column.id and (c.id is not None or c.name == column.name))
        for other in same:
            for pair in _pair_structs(column.type, other.type, (column.name,), (other.name,), answers):
                names = replace(
                    pair, partners=_match_fields(pair.old, pair.new, pair.old_path, pair.new_path, ())
                )
                for a, b in ((a, b) for a in names.dropped_fields for b in names.added_fields):
                    old, new = (*pair.old_path, a.name), (*pair.new_path, b.name)
                    found[format_path(old), format_path(new)] = old, new
    return found


def list_field_questions(before: SchemaVersion, after: SchemaVersion) -> tuple[Question, ...]:
    """List the nested fields that one step dropped and added, and that may be the same; without answers."""
    return tuple(
        question
        for column in before.schema.columns
        for other in after.schema.columns
        if other.id == column.id and (column.id is not None or other.name == column.name)
        for pair in _pair_structs(column.type, other.type, (column.name,), (other.name,), after.field_answers)
        for question in _list_questions(pair, after.field_answers)
    )


def trace_fields(versions: Sequence[SchemaVersion], ids: Ids) -> list[dict[Path, CurrentField]]:
    """Return, for each version, the current paths of its changed fields; see `PastVersion.nested_fields`.

    An unchanged field is listed only if a field of that name in another version has changed.

    `ids` maps column ids to the id that the same column had before, by decisions.
    """
    newest = versions[-1].schema
    now = {ids.get(c.id, c.id): c for c in newest.columns if isinstance(c.type, Array | Map | Struct)}
    outcomes: list[dict[Path, CurrentField]] = [{} for _ in versions]
    for id, column in now.items():
        for at, found in _trace_column(versions, id, ids).list_changes().items():
            outcomes[at] |= {
                (column.name, *path[1:]): _set_version_number(now, versions) for path, now in found.items()
            }
    changed = {lower_path(rename_parents(path, each)) for each in outcomes for path in each}
    for version, found in zip(versions, outcomes, strict=True):
        same = (path for path in _list_current_paths(version, now, ids) - found.keys())
        same = (path for path in same if lower_path(rename_parents(path, found)) in changed)
        found |= {path: CurrentField(path[-1]) for path in list(same)}
    return outcomes


def _set_version_number(now: CurrentField, versions: Sequence[SchemaVersion]) -> CurrentField:
    """The same, with the version that asks by its number, as people call it."""
    return now if now.version is None else replace(now, version=versions[now.version].number)


def find_unsettled_fields(versions: Sequence[SchemaVersion]) -> list[UnsettledFields]:
    """Return, for each version, the fields whose values have no certain path in `became`."""
    found = [UnsettledFields({}, set(), {}) for _ in versions]
    for column in versions[-1].schema.columns:
        if not isinstance(column.type, Array | Map | Struct):
            continue
        trace = _trace_column(versions, column.id, {})
        changes = trace.list_changes()
        ends_by_path: dict[Path, dict[tuple[int, Path] | None, list[tuple[int, Path]]]] = {}
        for at, ends in trace.ends.items():
            for path, end in ends.items():
                current_path = (column.name, *path[1:])
                last = path[-1] if end.dropped_at is None else end.dropped_at[1][-1]
                if not _is_same_path((last,), path[-1:]):
                    found[at].new_names[current_path] = last
                above = (column.name, *rename_parents(path, changes[at])[1:-1])
                own, last_path = lower_path((*above, path[-1])), lower_path((*above, last))
                if end.question is not None:
                    found[at].questions[current_path] = end.question
                    # It may have left too, and then under that name.
                    ends_by_path.setdefault(own, {}).setdefault(None, [])
                    ends_by_path.setdefault(last_path, {}).setdefault(None, [])
                elif end.path is None:
                    ends_by_path.setdefault(last_path, {}).setdefault(end.dropped_at, []).append(
                        (at, current_path)
                    )
                    # A table that did not follow has it under that name yet.
                    ends_by_path.setdefault(own, {}).setdefault(end.dropped_at, [])
        for several in (each for each in ends_by_path.values() if len(each) > 1):
            for at, current_path in (one for same in several.values() for one in same):
                found[at].lost.add(current_path)
    return found


def _trace_column(versions: Sequence[SchemaVersion], id: int | None, ids: Ids) -> _FieldTrace:
    """A column of the newest version, through the versions since it was added."""
    trace = _FieldTrace()
    for at in reversed(range(len(versions) - 1)):
        before, next = (_find_column(v, id, ids) for v in versions[at : at + 2])
        if before is None or next is None:
            break
        trace.add_step(at, before, next, versions[at + 1].field_answers)
    return trace


def _pair_structs(
    old: Type, new: Type, old_path: Path, new_path: Path, answers: Sequence[NestedFieldAnswer]
) -> Iterator[_StructPair]:
    match old, new:
        case Struct(a), Struct(b):
            pair = _StructPair(old_path, new_path, a, b, _match_fields(a, b, old_path, new_path, answers))
            yield pair
            for field in a:
                other = pair.partners.get(field.name)
                if other is not None:
                    inner = (*old_path, field.name), (*new_path, other.name)
                    yield from _pair_structs(field.type, other.type, *inner, answers)
        case Array(a), Array(b):
            yield from _pair_structs(a, b, (*old_path, "element"), (*new_path, "element"), answers)
        case Map(key, a), Map(other_key, b):
            yield from _pair_structs(key, other_key, (*old_path, "key"), (*new_path, "key"), answers)
            yield from _pair_structs(a, b, (*old_path, "value"), (*new_path, "value"), answers)
        case _:
            return


def _match_fields(
    old: Fields, new: Fields, old_path: Path, new_path: Path, answers: Sequence[NestedFieldAnswer]
) -> dict[str, Field]:
    answered = {
        a.old[-1]: a.new[-1] for a in answers if a.same and (a.old[:-1], a.new[:-1]) == (old_path, new_path)
    }
    names = {f.name.lower(): f for f in new}
    own = {name: f for name, f in names.items() if f.name not in answered.values()}
    found = {f.name: own[f.name.lower()] for f in old if f.name not in answered and f.name.lower() in own}
    return found | {a: names[b.lower()] for a, b in answered.items() if b.lower() in names}


def _list_questions(pair: _StructPair, answers: Sequence[NestedFieldAnswer]) -> list[Question]:
    """List each dropped nested field with an added one that may be the same, unless an answer exists."""
    answered = {(a.old, a.new) for a in answers}
    old, new = (
        TableSchema(tuple(map(_make_column, fields))) for fields in (pair.dropped_fields, pair.added_fields)
    )
    pairs = (
        ((*pair.old_path, c.old), (*pair.new_path, c.new))
        for c in find_rename_candidates(old, new, append_only=False)
    )
    return [each for each in pairs if each not in answered]


def _make_column(field: Field) -> Column:
    return Column(field.name, field.type, field.nullable, comment=field.comment)


def _list_current_paths(version: SchemaVersion, now: Mapping[int | None, Column], ids: Ids) -> set[Path]:
    """The nested fields of a version, under the current names of their columns."""
    columns = (
        replace(c, name=now[ids.get(c.id, c.id)].name)
        for c in version.schema.columns
        if ids.get(c.id, c.id) in now
    )
    return {path for path, _, _ in walk_fields(TableSchema(tuple(columns)))}


def _find_column(version: SchemaVersion, id: int | None, ids: Ids) -> Column | None:
    return next((c for c in version.schema.columns if ids.get(c.id, c.id) == id), None)
