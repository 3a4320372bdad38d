"""Columns whose type at the source is another one, which the lake holds as it held the old one, or wider.

Law: only a choice of the projection can hide it so: by default the two are two types of the lake.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from schemaman.history.past_versions import PreviousVersion
from schemaman.migration.plan import MigrationSource, Refusal
from schemaman.migration.policy_checks import refuse_blocked
from schemaman.migration.projection.match_columns import PlanNotes
from schemaman.migration.properties.stamped_version import find_stamped_version
from schemaman.migration.target import LakeTable, Target, find_column
from schemaman.migration.type_mapping import DEFAULT, Representation
from schemaman.model.ddl import format_type, quote_name
from schemaman.model.schema import Column, Path
from schemaman.model.types import (
    Array,
    Decimal,
    Floating,
    Integer,
    Json,
    Map,
    Numeric,
    Struct,
    Type,
    widens,
)

_NUMBERS = (Integer, Decimal, Numeric, Floating)


def check_reinterpretation(
    source: MigrationSource,
    lake: LakeTable,
    target: Target,
    representation: Representation,
    partners: Mapping[str, str],
    notes: PlanNotes,
) -> tuple[str, bool]:
    """Why a person has to approve the stamp, which tells the values from then on; and whether it may be set.

    `partners` maps live names to those of the source.
    """
    reasons: list[str] = []
    is_settled = True
    for now, ways in _list_former_types(source, lake, partners):
        hidden = (
            part
            for way in ways
            for part in _find_hidden_changes((now.name,), *way, now.type, target, representation)
        )
        for path, old, new in {part[0]: part for part in hidden}.values():
            change = f"fill {'.'.join(map(quote_name, path))} with {format_type(new)}"
            ruling = notes.check.decide(change, path, "change-representation")
            reason = (
                f"it was {format_type(old)} at the source and is {format_type(new)}, and "
                "[[projection]] writes both in one lake type: old and new values cannot be "
                "distinguished"
            )
            notes.add_note(path, f"{reason} ({ruling.why})")
            if ruling.level == "block":
                notes.refusals.append(refuse_blocked(change, ruling, reason))
                is_settled = False
            elif ruling.level == "quarantine":
                # The rows are set aside for as long as the stamp tells of the type of before.
                is_settled = False
            elif ruling.level == "approve":
                reasons.append(f"{change}: {reason} ({ruling.why})")
    return "; ".join(reasons), is_settled


FormerTypes = tuple[Type | None, tuple[Type, ...]]
"""The type of the lake that a column had values in, and its own, of which the first one counts that fits."""


def _list_former_types(
    source: MigrationSource, lake: LakeTable, partners: Mapping[str, str]
) -> Iterator[tuple[Column, list[FormerTypes]]]:
    """Each column that had another type, with what its values may have been by now.

    Up to the version of the table's stamp those that the lake took on, the newest first; since then any, as
    their rows may be on their way.
    """
    stamped = find_stamped_version(source, lake)
    if stamped is None:
        return
    lake_columns = {source_name: find_column(lake.schema, name) for name, source_name in partners.items()}
    before_stamp = _list_types(source, reversed(source.past[: stamped + 1]))
    since = _list_types(source, source.past[stamped + 1 :])
    for now in source.schema.columns:
        column, before, later = (
            lake_columns.get(now.name),
            before_stamp.get(now.name, {}),
            since.get(now.name, {}),
        )
        if column is not None and {*before, *later} - {now.type}:
            known: list[FormerTypes] = [(column.type, tuple(before))] if before else []
            yield now, [*known, *((None, (type,)) for type in later)]


def _list_types(source: MigrationSource, versions: Iterable[PreviousVersion]) -> dict[str, dict[Type, None]]:
    """The types that columns had in these versions, in their order, by what the columns are called now."""
    found: dict[str, dict[Type, None]] = {}
    for past in versions:
        for then, name in past.names.items():
            now = source.schema.column(name) if name else None
            if now is not None:
                type = past.find_current_type(then) if then in past.types else now.type
                found.setdefault(now.name, {})[type] = None
    return found


def _find_hidden_changes(
    path: Path,
    lake_type: Type | None,
    former_types: Sequence[Type],
    new: Type,
    target: Target,
    representation: Representation,
) -> Iterator[tuple[Path, Type, Type]]:
    """The parts of a column that are other types of the lake by default, and one type as it is told.

    `lake_type` is the lake's type, None where the part is unknown. Of the types that a part had, the newest
    one counts that the lake took on: a partial plan may have left an earlier one.
    """
    held = _hold_type(target, new, representation)
    old = former_types[0]
    match old, new, held:
        case Struct(), Struct(b), Struct():
            for field in b:
                yield from _find_hidden_in_part(
                    path, field.name, lake_type, former_types, field.type, target, representation
                )
        case Array(), Array(b), Array():
            yield from _find_hidden_in_part(
                path, "element", lake_type, former_types, b, target, representation
            )
        case Map(), Map(k, b), Map():
            yield from _find_hidden_in_part(path, "key", lake_type, former_types, k, target, representation)
            yield from _find_hidden_in_part(path, "value", lake_type, former_types, b, target, representation)
        case ((Struct() | Array() | Map() | Json()), (Struct() | Array() | Map() | Json()), _):
            return  # a text that tells its own structure
        case _:
            old = next(
                (each for each in former_types if _is_taken(target, each, representation, lake_type)), old
            )
            numbers = isinstance(old, _NUMBERS) and isinstance(new, _NUMBERS)
            alike = _is_wide_enough(_hold_type(target, old, DEFAULT), _hold_type(target, new, DEFAULT))
            was = _hold_type(target, old, representation)
            # A wider type takes the values of both, whichever of the two it is.
            if not numbers and not alike and (_is_wide_enough(was, held) or _is_wide_enough(held, was)):
                yield path, old, new


def _find_hidden_in_part(
    path: Path,
    part: str,
    lake_type: Type | None,
    former_types: Sequence[Type],
    new: Type,
    target: Target,
    representation: Representation,
) -> Iterator[tuple[Path, Type, Type]]:
    """The same of one part of a type."""
    were = tuple(type for each in former_types if (type := _find_part(each, part)) is not None)
    if were:
        yield from _find_hidden_changes(
            (*path, part), _find_part(lake_type, part), were, new, target, representation
        )


def _find_part(type: Type | None, part: str) -> Type | None:
    """A member of a struct by its name, whose case no lake heeds, or `element`, `key` or `value`."""
    match type:
        case Struct(fields):
            return next((f.type for f in fields if f.name.lower() == part.lower()), None)
        case Array(element) if part == "element":
            return element
        case Map(key, value):
            return {"key": key, "value": value}.get(part)
        case _:
            return None


def _is_taken(target: Target, type: Type, representation: Representation, lake_type: Type | None) -> bool:
    """Whether the lake's type took on values of a source's: a number goes where there is room for it."""
    numbers = isinstance(type, _NUMBERS) and isinstance(lake_type, _NUMBERS)
    return numbers or _is_wide_enough(_hold_type(target, type, representation), lake_type)


def _is_wide_enough(one: Type | None, other: Type | None) -> bool:
    return one is not None and other is not None and widens(one, other)


def _hold_type(target: Target, type: Type, representation: Representation) -> Type | None:
    answer = target.hold_type(type, representation)
    return None if isinstance(answer, Refusal) else answer.type
