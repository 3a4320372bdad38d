"""Counterexamples: a datum that a reader reads before a change, and not, or wrongly, after it.

Laws: a decoder with both schemas fails on a datum for Avro's readers. A break without a datum has a reason
of `REASONS`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from schemaman.compat.avro.datum import READABLE, find_unreadable
from schemaman.compat.avro.resolution import AmbiguousField
from schemaman.compat.avro.schema import AvroSchema
from schemaman.compat.avro.tables import make_key_schema, make_row_schema
from schemaman.compat.judge import Counterexample, Finding, Reader, Transition
from schemaman.model.diff import RenameColumn
from schemaman.model.schema import Column, Path, TableSchema
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
    Union,
    Unknown,
    Uuid,
    Xml,
    widens,
)

Reason = Literal["one-structure", "names-collide", "values-unknown", "outside-structures"]
REASONS: dict[Reason, str] = {
    "one-structure": "the table appears or ends, so no datum is read before and after",
    "names-collide": "no schema can have both names, so no datum can be written",
    "values-unknown": "the values of the type are not known",
    "outside-structures": "events are written in another form or come elsewhere, which no structure shows",
}
"""Why no datum shows a break."""

_COLLISIONS = frozenset(("avro-name-collision", "case-collision", "reserved-metadata-name"))
"""The rules about two things of one name."""

DATA_READERS: tuple[Reader, ...] = ("avro-backward", "avro-forward", "spark", "delta", "iceberg")
"""The readers whose breaks are shown; those of SQL and of merges need statements and several rows."""

_WITH_IDENTIFIER: tuple[Reader, ...] = ("iceberg",)
"""The readers of tables whose key is an identifier. Source: Iceberg specification, Identifier Field IDs."""


@dataclass(frozen=True, slots=True)
class BrokenDatum:
    """One datum: the fields that matter, with their values, as the structure `written` has them.

    `effect` is what the reader of the other structure makes of it. `part` is `row` or `key`.
    """

    reader: Reader
    written: Literal["old", "new"]
    datum: dict[str, object]
    effect: str
    part: Literal["row", "key"] = "row"

    def __str__(self) -> str:
        return f"the {self.part} {format_datum(self.datum)} of the {self.written} structure: {self.effect}"


def find_broken_datum(transition: Transition, finding: Finding, reader: Reader) -> BrokenDatum | Reason:
    """Find a datum that shows what a finding says of a reader, or the reason why there is none."""
    if transition.old is None or transition.new is None:
        return "one-structure"
    if reader == "avro-backward":
        return _find_for_avro(transition.new, transition.old, finding, reader)
    if reader == "avro-forward":
        return _find_for_avro(transition.old, transition.new, finding, reader)
    return _find_in_columns(transition, finding, reader)


def add_counterexamples(transition: Transition, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Add to each finding a counterexample for each break; the first with a datum is its `witness`."""
    return tuple(_add_counterexamples(transition, finding) for finding in findings)


def format_datum(datum: object) -> str:
    """Format a datum as JSON; bytes as hexadecimal digits."""
    return json.dumps(datum, ensure_ascii=False, default=lambda value: f"0x{bytes(value).hex()}")


def _add_counterexamples(transition: Transition, finding: Finding) -> Finding:
    broken = [reader for reader in DATA_READERS if finding.verdicts.get(reader) == "break"]
    if not broken:
        return finding
    facts: list[Counterexample] = []
    for reader in broken:
        found = find_broken_datum(transition, finding, reader)
        if isinstance(found, BrokenDatum):
            datum = format_datum(found.datum)
            facts.append(Counterexample(reader, found.written, datum, found.effect, str(found)))
        else:
            facts.append(Counterexample(reader, "", "", REASONS[found], REASONS[found]))
    shown = next((fact.sentence for fact in facts if fact.datum), None)
    return replace(finding, witness=finding.witness or shown, counterexamples=tuple(facts))


def _find_for_avro(
    reader: TableSchema, writer: TableSchema, finding: Finding, kind: Reader
) -> BrokenDatum | Reason:
    """Find a row or a key that the reader cannot read: of the columns of the finding, else any."""
    written: Literal["old", "new"] = "old" if kind == "avro-backward" else "new"
    names = _list_names(reader, writer, finding)
    other = "new" if written == "old" else "old"
    narrow = [_restrict(schema, names) for schema in (reader, writer)]
    pairs: list[tuple[Literal["row", "key"], AvroSchema | None, AvroSchema | None]] = [
        ("row", make_row_schema(narrow[0]), make_row_schema(narrow[1])),
        ("key", make_key_schema(reader), make_key_schema(writer)),
        ("row", make_row_schema(reader), make_row_schema(writer)),
    ]
    for part, reads, writes in pairs:
        if reads is None or writes is None:
            continue
        try:
            datum = find_unreadable(reads, writes)
        except AmbiguousField:
            return "names-collide"
        if datum is not READABLE and isinstance(datum, dict):
            shown: dict[str, object] = {k: v for k, v in datum.items() if len(datum) <= 8 or k in names}
            return BrokenDatum(
                kind, written, shown, f"a reader with the {other} schema cannot decode it", part
            )
    return _find_reason(finding)


def _find_reason(finding: Finding) -> Reason:
    """Find why no structure shows a break."""
    rules = {finding.rule, *(claimed.rule for claimed in finding.claimed)}
    return "outside-structures" if rules.isdisjoint(_COLLISIONS) else "names-collide"


def _list_names(reader: TableSchema, writer: TableSchema, finding: Finding) -> frozenset[str]:
    """List the columns of a finding, under each of their names."""
    names = {path[0] for path in (finding.path, *(path for _, path in finding.claims)) if path}
    ids = {c.id for s in (reader, writer) for c in s.columns if c.name in names and c.id is not None}
    return frozenset(names | {c.name for s in (reader, writer) for c in s.columns if c.id in ids})


def _restrict(schema: TableSchema, names: frozenset[str]) -> TableSchema:
    return TableSchema(tuple(c for c in schema.columns if c.name in names))


def _find_in_columns(transition: Transition, finding: Finding, reader: Reader) -> BrokenDatum | Reason:
    """Find a value that a reader with the old column gets wrong: a job, or a table of the lake."""
    old, new = transition.old, transition.new
    assert old is not None
    assert new is not None
    renames = [c for c in transition.changes if isinstance(c, RenameColumn)]
    moved = {name for c in renames for name in (c.path[-1], c.name)}
    for path in _list_paths(old, new, finding):
        before, after = _find_leaf(old, path), _find_leaf(new, path)
        if before is None:
            continue
        name = ".".join(path)
        if effect := _describe_absence(name, before, after, path[-1] in moved):
            value = make_sample(before.type)
            return (
                "values-unknown" if value is None else BrokenDatum(reader, "old", _nest(path, value), effect)
            )
        assert after is not None
        if after.type != before.type:
            return _find_misread_value(path, before.type, after.type, reader)
        if after.nullable and not before.nullable:
            effect = f"the old structure has {name} as NOT NULL"
            return BrokenDatum(reader, "new", _nest(path, None), effect)
        if reader in _WITH_IDENTIFIER and after.nullable and path[0] in new.key:
            return BrokenDatum(
                reader, "new", _nest(path, None), f"an identifier field as {name} may not be null"
            )
    return _find_in_facts(transition, new, reader) or _find_reason(finding)


def _find_in_facts(
    transition: Transition, schema: TableSchema, reader: Reader
) -> BrokenDatum | Reason | None:
    """Find a value of a column that events write in another form, or no longer at all."""
    for fact in transition.facts:
        is_lost = fact.kind in ("field-lost", "key-outside-row")
        for column in map(schema.column, fact.columns):
            if column is None or not (is_lost or fact.kind.endswith("encoding")):
                continue
            value = make_sample(column.type)
            if value is None:
                return "values-unknown"
            form = (
                f"events have {column.name} with {fact.after} now, no longer with {fact.before}: readers of "
            )
            effect = f"{form}the other form fail, or read another value"
            if is_lost:
                effect = f"the rows of events lack {column.name}, so its readers get no value"
            return BrokenDatum(reader, "new", {column.name: value}, effect)
    return None


def _describe_absence(name: str, before: Column, after: Column | None, is_moved: bool) -> str:
    """Describe why a reader finds no value of a column under its name; empty if it does."""
    if after is None:
        return f"the new structure lacks {name}, so its readers get no value"
    if is_moved or (before.id is not None and after.id is not None and before.id != after.id):
        return f"{name} is another column in the new structure, so its readers get another value"
    if before.emitted_name != after.emitted_name:
        return f"events have {name} as {after.emitted_name or after.name} now, so its readers get no value"
    return ""


def _find_misread_value(path: Path, old: Type, new: Type, reader: Reader) -> BrokenDatum | Reason:
    """Find a value of the new type that the old one does not hold, or else the other way round."""
    was, now = _list_branches(old), _list_branches(new)
    lost = [branch for branch in was if branch not in now]
    added = [branch for branch in now if branch not in was and not any(_holds(b, branch) for b in was)]
    written: Literal["old", "new"] = "new" if added else "old"
    value = make_sample((added or lost or now)[0])
    if value is None:
        return "values-unknown"
    pair = (new, old) if added else (old, new)
    effect = _describe_misreading(*pair, other="old" if added else "new")
    return BrokenDatum(reader, written, _nest(path, value), effect)


def _holds(type: Type, other: Type) -> bool:
    """Whether a reader of a type gets every value of another one; Spark reads whole decimals as integers."""
    match type, other:
        case Integer(bits), Decimal(precision, 0):
            return precision < len(str(2 ** (bits - 1)))
        case _:
            return widens(other, type)


def _list_branches(type: Type) -> tuple[Type, ...]:
    return type.members if isinstance(type, Union) else (type,)


def _list_paths(old: TableSchema, new: TableSchema, finding: Finding) -> Iterator[Path]:
    """List the paths of a finding, then those of the columns that changed with it."""
    if finding.path:
        yield finding.path
        yield from (path for _, path in finding.claims if path)
        return
    for schema in (old, new):
        yield from ((name,) for name in schema.key)
    yield from ((column.name,) for column in old.columns)


def _find_leaf(schema: TableSchema, path: Path) -> Column | None:
    """Find the column at a path, or a nested field as a column."""
    column = schema.column(path[0])
    for part in path[1:]:
        if column is None:
            return None
        column = _find_inside(column, part)
    return column


def _find_inside(column: Column, part: str) -> Column | None:
    match column.type:
        case Struct(fields):
            field = next((f for f in fields if f.name == part), None)
            return None if field is None else Column(field.name, field.type, field.nullable)
        case Array(element, nullable) if part == "element":
            return Column(part, element, nullable)
        case Map(key, _, _) if part == "key":
            return Column(part, key, False)
        case Map(_, value, nullable) if part == "value":
            return Column(part, value, nullable)
        case _:
            return None


def _nest(path: Path, value: object) -> dict[str, object]:
    for part in reversed(path[1:]):
        value = [value] if part == "element" else {part: value}
    return {path[0]: value}


def _describe_misreading(written: Type, read: Type, other: str) -> str:
    """Describe what a reader with the type of the `other` structure makes of a value."""
    match written, read:
        case (Time(digits), Time(taken)) | (Timestamp(digits), Timestamp(taken)) if digits != taken:
            units = {3: "milliseconds", 6: "microseconds", 9: "nanoseconds"}
            names = [units[3 if n <= 3 else 6 if n <= 6 else 9] for n in (digits, taken)]
            return f"its number counts {names[0]}, and a reader of the {other} one takes it for {names[1]}"
        case Decimal(_, digits), Decimal(_, taken) if digits != taken:
            return f"events have the number without its point, and the {other} one puts it {taken} digits in"
        case _:
            return f"a reader with the {other} column fails, or reads another value"


def make_sample(type: Type) -> object:
    """Make a value of a type that few other types can hold; None if its values are not known."""
    match type:
        case Boolean() | Bits(1):
            return True
        case Integer(bits, signed):
            return 2 ** (bits - signed) - 1
        case Floating():
            return 1.5
        case Decimal(precision, scale):
            digits = "9" * precision
            return f"{digits[: precision - scale] or '0'}{'.' if scale else ''}{digits[precision - scale :]}"
        case Numeric():
            return "1.5"
        case Binary() | Bits():
            return b"\xff\xfe"
        case Date():
            return "2024-01-01"
        case Time():
            return "12:00:00"
        case Timestamp():
            return "2024-01-01T12:00:00"
        case Interval():
            return "P1DT2H"
        case Uuid():
            return "6f1c2b1e-8f2f-4b1a-9a1d-0c2b7f3a5e4d"
        case Enum(values) | EnumSet(values):
            return values[0] if values else "a"
        case String() | Json() | Xml():
            return "a"
        case Array(element):
            value = make_sample(element)
            return None if value is None else [value]
        case Map(key, inner):
            name, value = make_sample(key), make_sample(inner)
            return None if name is None or value is None else {str(name): value}
        case Struct(fields):
            return {field.name: make_sample(field.type) for field in fields}
        case Union(branches):
            return make_sample(branches[0])
        case Unknown():
            return None
