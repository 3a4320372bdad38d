"""Changes of types for the rules: pairs of kinds of types, and the finding about one change.

Law: the pairs of kinds of two rules have nothing in common, so one change of a type has one finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from schemaman.compat.judge import Finding, Transition, Verdict, Verdicts
from schemaman.compat.rules import _words
from schemaman.model.ddl import format_type
from schemaman.model.diff import ChangeType
from schemaman.model.schema import Path
from schemaman.model.types import (
    Array,
    Binary,
    Bits,
    Boolean,
    Date,
    Decimal,
    Enum,
    EnumSet,
    Floating,
    Integer,
    Interval,
    Json,
    Map,
    Numeric,
    String,
    Struct,
    Time,
    Timestamp,
    Type,
    Unknown,
    Uuid,
    Xml,
)

Number = Integer | Floating | Decimal | Numeric
Text = String | Enum | EnumSet | Uuid | Json | Xml
Temporal = Date | Time | Timestamp
Scalar = Boolean | Number | String | Enum | EnumSet | Uuid | Xml | Binary | Bits | Temporal | Interval

NUMBERS: tuple[type[Number], ...] = (Integer, Floating, Decimal, Numeric)
DECIMALS: tuple[type[Decimal | Numeric], ...] = (Decimal, Numeric)
TEXTS: tuple[type[Text], ...] = (String, Enum, EnumSet, Uuid, Json, Xml)
"""The types that are texts in events."""
TEMPORALS: tuple[type[Temporal], ...] = (Date, Time, Timestamp)
SCALARS: tuple[type[Scalar], ...] = (
    Boolean, Integer, Floating, Decimal, Numeric, String, Enum, EnumSet, Uuid, Xml, Binary, Bits, Date, Time,
    Timestamp, Interval,
)  # fmt: skip
"""Types of one value. A JSON document is none, since it may hold an array or an object."""

TYPE_RULES = (
    "array-shape-changed",
    "binary-encoding-changed",
    "bit-length-changed",
    "boolean-to-integer",
    "bytes-to-string",
    "date-to-timestamp",
    "decimal-precision-decreased",
    "decimal-precision-increased",
    "decimal-representation-changed",
    "decimal-scale-changed",
    "decimal-to-integer",
    "enum-reordered",
    "enum-value-added",
    "enum-value-removed",
    "enum-value-renamed",
    "field-type-conflict",
    "field-type-drift",
    "float-narrowed",
    "float-widened",
    "floating-to-integer",
    "fraction-digits-changed",
    "geometry-encoding-changed",
    "id-type-changed",
    "integer-narrowed",
    "integer-to-decimal",
    "integer-to-floating",
    "integer-widened",
    "interval-encoding-changed",
    "json-and-struct-exchanged",
    "map-key-type-changed",
    "mixed-array-elements",
    "nested-shape-changed",
    "number-to-string",
    "numeric-kind-widened",
    "scalar-array-flip",
    "scalar-object-flip",
    "semantic-name-gained",
    "semantic-name-lost",
    "set-member-changed",
    "signedness-changed",
    "string-length-decreased",
    "string-length-increased",
    "string-to-number",
    "temporal-encoding-changed",
    "temporal-unit-changed",
    "text-semantic-changed",
    "timestamp-to-date",
    "uuid-or-network-retyped",
    "zone-awareness-changed",
)
"""The rules about one change of a type. A test compares them with the rules that fire."""

A = TypeVar("A", bound=Type)
B = TypeVar("B", bound=Type)
Before = TypeVar("Before", bound=Type, covariant=True)
After = TypeVar("After", bound=Type, covariant=True)


@dataclass(frozen=True, slots=True)
class TypeChange(Generic[Before, After]):
    """A column, nested field, element or map value went from one kind of type to another."""

    path: Path
    old: Before
    new: After


def find_type_changes(
    transition: Transition,
    old_kinds: tuple[type[A], ...],
    new_kinds: tuple[type[B], ...],
    *,
    of_documents: bool = False,
) -> Iterator[TypeChange[A, B]]:
    """Finds the changes from one kind of type to another; keys of maps have their own rule.

    `of_documents` selects numbers of documents, which have a rule for all kinds of them; ids have one, too.
    """
    documents = transition.has_fact("documents")
    for change in transition.changes:
        match change:
            case ChangeType(path, old, new):
                if not isinstance(old, old_kinds) or not isinstance(new, new_kinds):
                    continue
                numbers = documents and isinstance(old, NUMBERS) and isinstance(new, NUMBERS)
                if numbers != of_documents or (documents and path == ("_id",)):
                    continue
                if not is_in_map_key(transition, path):
                    yield TypeChange(path, old, new)
            case _:
                continue


def find_conversions(
    rule: str,
    verdicts: Verdicts,
    transition: Transition,
    old_kinds: tuple[type[A], ...],
    new_kinds: tuple[type[B], ...],
    effect: str,
) -> Iterator[Finding]:
    """Finds numbers that became texts, or the reverse; only the encoding of a decimal may have changed."""
    for change in find_type_changes(transition, old_kinds, new_kinds):
        is_decimal = isinstance(change.old, DECIMALS) or isinstance(change.new, DECIMALS)
        if not is_decimal or not _words.keeps_source_type(transition, change.path):
            yield build_finding(
                rule,
                verdicts,
                transition,
                change,
                effect,
                "add a second column at the target and fill it from both",
                "or keep the old column at the source beside the new one until all readers have changed",
            )


def find_exchanges(
    transition: Transition, kinds: tuple[type[A], ...], others: tuple[type[B], ...]
) -> Iterator[TypeChange[A | B, A | B]]:
    """Finds the changes from one kind of type to the other, and back."""
    both: tuple[type[A | B], ...] = (*kinds, *others)
    for change in find_type_changes(transition, both, both):
        if isinstance(change.old, kinds) != isinstance(change.new, kinds):
            yield change


def is_in_map_key(transition: Transition, path: Path) -> bool:
    """Returns whether a path of the new structure leads into the key of a map."""
    if "key" not in path[1:] or transition.new is None:
        return False
    column = transition.new.column(path[0])
    type: Type | None = None if column is None else column.type
    for part in path[1:]:
        match type:
            case Map() if part == "key":
                return True
            case Map():
                type = type.value
            case Array():
                type = type.element
            case Struct(fields):
                type = next((f.type for f in fields if f.name == part), None)
            case _:
                return False
    return False


def build_finding(
    rule: str,
    verdicts: Verdicts,
    transition: Transition,
    change: TypeChange[Type, Type],
    effect: str,
    *fixes: str,
    milder: Verdict = "danger",
    example: str | None = None,
    resolution: tuple[bool, bool] | None = None,
) -> Finding:
    """Builds the finding about one change of a type; the message ends in `effect`.

    Avro's verdicts come from schema resolution of the two types, or from `resolution`: whether it fails
    backward and forward. A verdict that breaks only in the catalogue becomes `milder`. The verdict of merges
    counts only for key columns. `example` is a value that the readers misread.
    """
    path, before, after = change.path, format_type(change.old), format_type(change.new)
    backward, forward = resolution or _words.check_resolution(transition, path, change.old, change.new)
    row = _words.restrict_to_column(verdicts, transition, path[0])
    return Finding(
        rule,
        transition.table,
        path,
        before,
        after,
        f"{_words.join_path(path)} went from {before} to {after}: {effect}",
        _words.apply_resolution(row, backward=backward, forward=forward, milder=milder),
        fixes=fixes,
        witness=example,
        claims=() if keeps_values(change.old, change.new) else _words.claim_default(path),
    )


def choose_unit(type: Time | Timestamp) -> int:
    """Returns the unit in digits after the second, as Debezium's adaptive modes choose it."""
    return 3 if type.precision <= 3 else 6 if type.precision <= 6 else 9


def keeps_unit(old: Type, new: Type) -> bool:
    """Returns whether two times or timestamps have the same encoding, so that only their digits differ."""
    match old, new:
        case (Time() as a, Time() as b) | (Timestamp() as a, Timestamp() as b):
            return a.zoned == b.zoned and (a.zoned or choose_unit(a) == choose_unit(b))
        case _:
            return False


def is_kind_of_value(type: Type) -> bool:
    """Returns whether a type names the kind of values in rows or documents without a schema."""
    return isinstance(type, Unknown) and type.name.startswith(("json:", "bson:"))


def is_null_only(type: Type) -> bool:
    """Returns whether rows or documents without a schema have shown no value but null."""
    return type in (Unknown("json:null"), Unknown("bson:null"), Unknown("bson:unknown"))


def find_parent(transition: Transition, path: Path) -> Type | None:
    """Finds the type of the new structure that a path leads into with its last part; None for a column."""
    column = transition.new.column(path[0]) if transition.new is not None else None
    parent: Type | None = None
    type: Type | None = None if column is None else column.type
    for part in path[1:]:
        parent = type
        match type:
            case Map(key, value, _):
                type = key if part == "key" else value
            case Array(element, _):
                type = element
            case Struct(fields):
                type = next((f.type for f in fields if f.name == part), None)
            case _:
                return None
    return parent


def is_part_of_collection(transition: Transition, path: Path) -> bool:
    """Returns whether a path leads to the element of an array, or to a key or value of a map."""
    return isinstance(find_parent(transition, path), Array | Map)


def is_geometry(type: Type) -> bool:
    """Returns whether a type is the struct in which Debezium carries geometries."""
    return isinstance(type, Struct) and {"wkb", "srid"} <= {field.name for field in type.fields}


def keeps_number(old: Type, new: Type) -> bool:
    """Returns whether one type is a plain integer and the other one a time that events carry as such."""
    for time, number in ((old, new), (new, old)):
        match time, number:
            case Date(), Integer(bits, _):
                return bits == 32
            case ((Time(zoned=False) | Timestamp(zoned=False)), Integer(bits, _)):
                return bits == (32 if isinstance(time, Time) and choose_unit(time) == 3 else 64)
            case _:
                continue
    return False


def keeps_values(old: Type, new: Type) -> bool:
    """Returns whether only a limit changed: a length, the digits of a time, or the labels of an enum."""
    match old, new:
        case String(_, fixed), String(_, still_fixed):
            return fixed == still_fixed
        case (Binary(), Binary()) | (Enum(), Enum()) | (EnumSet(), EnumSet()):
            return True
        case _:
            return keeps_unit(old, new)


def is_unsigned_long(type: Type) -> bool:
    """Returns whether the lake holds the type as DECIMAL(20,0), which no integer column can become."""
    return type == Integer(64, signed=False)
