"""The type that takes the values of a lake column and those of its source: never a narrower one.

Law: where the live type holds the source's values, it is the merged one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.history.struct_fields import format_path
from schemaman.history.versions import AcceptedType
from schemaman.migration.policy_checks import refuse_blocked
from schemaman.migration.projection.match_columns import SPLIT_COLUMN, PlanNotes
from schemaman.migration.projection.match_fields import FieldFate
from schemaman.migration.type_mapping import holds_exactly, is_number, list_common_types
from schemaman.model.ddl import format_type, quote_name
from schemaman.model.schema import Path
from schemaman.model.types import Array, Field, Map, Struct, Type, widens


def remove_comments(type: Type) -> Type:
    """The type without the comments on its members."""
    match type:
        case Array(element, nullable):
            return Array(remove_comments(element), nullable)
        case Map(key, value, nullable):
            return Map(remove_comments(key), remove_comments(value), nullable)
        case Struct(fields):
            return Struct(tuple(replace(f, type=remove_comments(f.type), comment=None) for f in fields))
        case _:
            return type


IsInPlace = Callable[[Path, Type, Type], bool]
"""Whether the format changes the type of a column or nested field without rewriting data."""


def _is_never_in_place(path: Path, old: Type, new: Type) -> bool:
    return False


@dataclass(slots=True)
class TypeWidening:
    """Finds common types for one table's columns; columns have the source's names, nested fields the lake's.

    `fates` is what became of nested fields since the table's stamp; `dropped_before` are those that an
    earlier plan kept; `accepted_types` are differences that a person accepted. `is_in_place` decides between
    types that hold both; `former_types` are all that a column of the source ever had, and `former_comments`
    those of what has no comment now. The search gathers `renames` (see `diff.Renamed`), fields that this plan
    drops and that may have been `kept`, and dropped fields that are `staying`. `waiting`: a field waits for
    an answer.
    """

    comments: bool
    notes: PlanNotes
    fates: Mapping[Path, FieldFate] = field(default_factory=dict)
    dropped_before: Collection[Path] = ()
    accepted_types: Collection[AcceptedType] = ()
    is_in_place: IsInPlace = _is_never_in_place
    former_types: Mapping[str, Sequence[Type]] = field(default_factory=dict)
    former_comments: Mapping[Path, Sequence[str]] = field(default_factory=dict)
    united: Collection[str] = ()
    renames: dict[Path, str] = field(default_factory=dict)
    kept: set[Path] = field(default_factory=set)
    staying: set[Path] = field(default_factory=set)
    waiting: bool = False

    def find_common_type(self, path: Path, future_path: Path, lake: Type, held: Type, raw: Type) -> Type:
        """The type that takes the values of both sides: the live one wherever it is wide enough.

        `path` is where it is in the lake, `future_path` where it will be.
        """
        if self._is_accepted(path, future_path, lake, raw):
            return lake
        match lake, held, raw:
            case Struct(old), Struct(new), Struct(raw_type):
                return self._struct(path, future_path, old, new, raw_type)
            case Array(old, nullable), Array(new, _), Array(raw_type, raw_null):
                at = (*path, "element"), (*future_path, "element")
                return Array(self.find_common_type(*at, old, new, raw_type), nullable or raw_null)
            case Map(key, old, nullable), Map(new_key, new, _), Map(raw_key, raw_type, raw_null):
                at, inner = (
                    ((*path, "key"), (*future_path, "key")),
                    ((*path, "value"), (*future_path, "value")),
                )
                merged_key = self.find_common_type(*at, key, new_key, raw_key)
                return Map(
                    merged_key, self.find_common_type(*inner, old, new, raw_type), nullable or raw_null
                )
            case _:
                return self._widen_leaf(path, lake, held, raw)

    def _widen_leaf(self, path: Path, lake: Type, held: Type, raw: Type) -> Type:
        """The live type where it is wide enough, else one that holds both and that the format can make."""
        if held == lake:
            return lake
        if widens(held, lake) or widens(raw, lake) or (is_number(raw) and holds_exactly(held, lake)):
            _note_narrower(path, lake, raw, self.notes)
            return lake
        common = list_common_types(lake, held) if self._is_number(path, raw) else ()
        if not common:
            return held
        chosen = next((type for type in common if self.is_in_place(path, lake, type)), common[0])
        if chosen != held:
            text = f"{format_type(chosen)} holds the old values and those of {format_type(raw)}"
            self.notes.add_note(path, text)
        return chosen

    def _is_number(self, path: Path, raw: Type) -> bool:
        """Whether the values have always been numbers of the source, not what stands for others."""
        formers = self.former_types.get(path[0], ()) if len(path) == 1 else ()
        return all(is_number(type) for type in (raw, *formers))

    def follow_comment(self, path: Path, lake: str | None, raw: str | None) -> str | None:
        """The comment that the lake shall have; one that the source never had is the lake's own and stays."""
        if not self.comments:
            return lake
        return raw or (None if lake in self.former_comments.get(path, ()) else lake)

    def _is_accepted(self, path: Path, future_path: Path, lake: Type, raw: Type) -> bool:
        """Whether a person accepted that the lake keeps its type; the note says who."""
        types = format_type(raw), format_type(lake)
        found = next(
            (a for a in self.accepted_types if (a.path, a.source, a.lake) == (future_path, *types)), None
        )
        if found is None or raw == lake:
            return False
        text = f"the source has {types[0]}: the lake keeps {types[1]}; {found.why}"
        self.notes.add_note(path, text)
        return True

    def _struct(
        self,
        path: Path,
        future_path: Path,
        lake: Sequence[Field],
        held: Sequence[Field],
        raw: Sequence[Field],
    ) -> Struct:
        news = {f.name.lower(): (f, r) for f, r in zip(held, raw, strict=True)}
        renamed, frozen = self._renamed(path, lake, {name: f.name for name, (f, _) in news.items()})
        self.renames |= {(*future_path, old): new for old, new in renamed.items()}
        partners = {old: news.pop(new.lower()) for old, new in renamed.items()}
        news = {name: new for name, new in news.items() if name not in frozen}
        fields: list[Field] = []
        for old in lake:
            at = (*path, old.name)
            if old.name.lower() in frozen and old.name not in partners:
                fields.append(old)
                continue
            partner = partners.get(old.name) or news.pop(old.name.lower(), None)
            if partner is None and self._name(at) in frozen:
                fields.append(old)
                continue
            if partner is None:
                asked = self._asked(at, (*future_path, old.name), lake, [f.name for f, _ in news.values()])
                if asked is not None:
                    news.pop(asked.lower())
                fields += [old] if asked is not None else self._left(at, (*future_path, old.name), old)
                continue
            name = renamed.get(old.name, old.name)
            type = self.find_common_type(at, (*future_path, name), old.type, partner[0].type, partner[1].type)
            comment = self.follow_comment((*future_path, partner[0].name), old.comment, partner[0].comment)
            fields.append(Field(name, type, old.nullable or partner[1].nullable, comment))
        fields += (self._new(new) for new, _ in news.values())
        return Struct(tuple(fields))

    def _name(self, path: Path) -> str | None:
        """What a live member is called now, or may be: it has not left while that is not settled."""
        fate = self.fates.get(path)
        return None if fate is None or fate.became.name is None else fate.became.name.lower()

    def _new(self, field: Field) -> Field:
        comment = (field.comment or None) if self.comments else None
        type = field.type if self.comments else remove_comments(field.type)
        return Field(field.name, type, True, comment)

    def _renamed(
        self, path: Path, lake: Sequence[Field], news: Mapping[str, str]
    ) -> tuple[dict[str, str], set[str]]:
        """The members that have another name now, each with it; and names that must not be touched."""
        fates = {f.name: fate for f in lake if (fate := self.fates.get((*path, f.name)))}
        wanted = {
            old: fate.became.name
            for old, fate in fates.items()
            if fate.became.is_sure
            and fate.became.name
            and fate.became.name.lower() in news
            and fate.became.name.lower() != old.lower()
        }
        taken = _find_taken(wanted, fates, lake)
        renamed: dict[str, str] = {}
        frozen = self._unclear(path, fates) | self._doubted(path, fates, news)
        lowered = [name.lower() for name in wanted.values()]
        for old, name in wanted.items():
            at, new = (*path, old), (*path, name)
            change = f"rename {_format_path(at)} to {quote_name(name)}"
            if lowered.count(name.lower()) > 1:
                frozen |= {old.lower(), name.lower()}
                reason = "the same rename also led to another nested field of the table"
                instead = "rename the field that has its values by hand, and plan again"
                self.notes.add_refusal(change, reason, instead)
            elif old in taken:
                known = fates[old].exact or fates[old].is_younger
                if known or name.lower() in {other.lower() for other in wanted}:
                    frozen |= {old.lower(), name.lower()}
                    instead_start = (
                        f"rename one of the two, ALTER TABLE … RENAME COLUMN {_format_path(at)} TO …"
                    )
                    self.notes.add_refusal(
                        change, "the lake has a nested field of that name", f"{instead_start}, and plan again"
                    )
            elif old.lower() in news and not fates[old].exact:
                frozen |= {old.lower(), name.lower()}
                reason = (
                    "another nested field has the old name now, and the table does not show which of "
                    "the two it has"
                )
                self.notes.add_refusal(
                    change, reason, f"rename it by hand to {_format_path(new)}, and plan again"
                )
            else:
                renamed[old] = news[name.lower()]
        self.waiting = self.waiting or bool(frozen)
        return renamed, frozen

    def _unclear(self, path: Path, fates: Mapping[str, FieldFate]) -> set[str]:
        """Members that came after the table's stamp and may be one of several now: their names and those."""
        unclear = {old: fate.candidates for old, fate in fates.items() if fate.candidates}
        for old in unclear:
            change = f"follow {_format_path((*path, old))}"
            reason = "several nested fields had this name, and the table does not show which of them it has"
            instead = (
                "rename it by hand to the name that it has now, or to a free one if it was dropped; "
                "plan again"
            )
            self.notes.add_refusal(change, reason, instead)
        return {name.lower() for old, names in unclear.items() for name in (old, *names)}

    def _doubted(self, path: Path, fates: Mapping[str, FieldFate], news: Mapping[str, str]) -> set[str]:
        """Members that may be another one now, while their name is a third one's: all these names."""
        found: set[str] = set()
        for old, fate in fates.items():
            name = fate.became.name
            if name is not None and fate.exact and fate.became.is_sure and fate.became.question is not None:
                found |= self._came_back(path, old, fate.became.question[1][-1], fate, news)
            if fate.became.is_sure or name is None or name.lower() == old.lower() or old.lower() not in news:
                continue
            at = (*path, old)
            change = f"rename {_format_path(at)} to {quote_name(name)}"
            reason = "rename not decided, and another nested field has this name now"
            self.notes.add_refusal(change, reason, self._answer(at, (*path, name), fate))
            found |= {old.lower(), name.lower()}
        return found

    def _came_back(
        self, path: Path, old: str, new: str, fate: FieldFate, news: Mapping[str, str]
    ) -> set[str]:
        """What must wait, as nobody has said whether a name that came back means the same member."""
        at = (*path, old)
        change = f"rename {_format_path(at)} to {quote_name(new)}"
        ruling = self.notes.check.decide(change, (*path, new), "rename-suspected")
        reason = "rename not decided: the nested field of this name may be the same or another one"
        if ruling.level in ("ignore", "quarantine"):
            self.notes.add_note(at, f"{reason}; it counts as the same ({ruling.why})")
            return set()
        self.notes.add_refusal(change, reason, self._answer(at, (*path, new), fate))
        return {old.lower(), *(name for name in news if name == new.lower())}

    def _answer(self, path: Path, new: Path, fate: FieldFate) -> str:
        """The words that answer whether a member is another one, as the step said them that asks."""
        pair = fate.became.question or (path, new)
        asks = "" if fate.became.version is None else f"@{fate.became.version}"
        words = " ".join((self.notes.check.table + asks, *map(format_path, pair)))
        return f"use `schemaman decide rename {words}`, or not-rename"

    def _asked(self, path: Path, future_path: Path, lake: Sequence[Field], news: Sequence[str]) -> str | None:
        """The new member that nobody has said to be this one or another; neither is touched.

        The words that answer it are those of the step in which it became a question.
        """
        fate = self.fates.get(path)
        if fate is None or fate.became.is_sure:
            return None
        name = fate.became.name
        if name is None or name.lower() not in {n.lower() for n in news}:
            return None
        if name.lower() in {f.name.lower() for f in lake}:
            return None
        self.waiting = True
        new = (*future_path[:-1], name)
        change = f"rename {_format_path(path)} to {quote_name(name)}"
        ruling = self.notes.check.decide(change, new, "rename-suspected")
        reason = "rename not decided: the values may belong to one nested field or to two"
        if ruling.level in ("ignore", "quarantine"):
            self.notes.add_note(new, f"{reason}; it is not in the lake ({ruling.why})")
        else:
            self.notes.add_refusal(change, reason, self._answer(path, new, fate))
        return name

    def _left(self, path: Path, future_path: Path, lake: Field) -> list[Field]:
        """A live member that the source does not have: it left, or it was never of the source."""
        fate, notes = self.fates.get(path), self.notes
        if fate is None and path not in self.dropped_before:
            notes.add_note(path, "the source does not have it: it is kept")
            return [lake]
        if fate is not None and fate.split_into and _format_path(path) not in self.united:
            notes.add_note(path, SPLIT_COLUMN.format(quote_name(fate.split_into)))
            self.staying.add(future_path)
            return [replace(lake, nullable=True)]
        if notes.check.ask("drop-column").level in ("auto", "approve"):
            if fate is None or not fate.exact:
                self.kept.add(future_path)
            return []
        self.staying.add(future_path)
        change = f"drop {_format_path(path)}"
        ruling = notes.check.decide(change, path, "drop-column")
        if ruling.level == "block":
            notes.refusals.append(refuse_blocked(change, ruling))
            return [lake]
        notes.add_note(path, f"the source has dropped it: it is kept with its old values ({ruling.why})")
        return [replace(lake, nullable=True)]


def _find_taken(wanted: Mapping[str, str], fates: Mapping[str, FieldFate], lake: Sequence[Field]) -> set[str]:
    """The members whose new name another one has that stays, or that nothing says to be where it was."""
    taken: set[str] = set()
    while True:
        moving = {old.lower() for old in wanted if old not in taken and fates[old].exact}
        here = {f.name.lower() for f in lake} - moving
        more = {
            old
            for old, name in wanted.items()
            if name.lower() in here or (not fates[old].exact and name.lower() in moving)
        } - taken
        if not more:
            return taken
        taken |= more


def _format_path(path: Path) -> str:
    return ".".join(quote_name(part) for part in path)


def _note_narrower(path: Path, lake: Type, raw: Type, notes: PlanNotes) -> None:
    change = f"narrow {'.'.join(quote_name(p) for p in path)} to {format_type(raw)}"
    ruling = notes.check.decide(change, path, "narrow")
    if ruling.level == "block":
        notes.refusals.append(refuse_blocked(change, ruling))
    else:
        text = f"the source has {format_type(raw)}: the lake keeps {format_type(lake)}"
        notes.add_note(path, f"{text}, which is wide enough")
