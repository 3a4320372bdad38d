"""Recognises changes of the encoding alone: maps the schema of an event to the previous encoding.

Law: a schema that the connector's settings and release do not explain stays unchanged. A change that one
table alone cannot attribute also stays, until other tables decide it: one column with a likely name, types
under one release.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from schemaman.debezium.connector import find_connector
from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Coordinates
from schemaman.history.epochs import ChangeId, FormChange, FormRule, Verdicts
from schemaman.history.fold.ambiguity import describe_common_change
from schemaman.history.fold.event_match import find_loss
from schemaman.history.fold.naming_epochs import list_originals, restore_own_names
from schemaman.model.ddl import format_type
from schemaman.model.name_adjustment import Release
from schemaman.model.schema import TableSchema
from schemaman.model.types import (
    Array,
    Binary,
    Decimal,
    Floating,
    Interval,
    Json,
    Map,
    Numeric,
    String,
    Struct,
    Time,
    Timestamp,
    Type,
)

_VERSION = re.compile(r"(\d+)\.(\d+)")

NAMING_FORMS = ("names as they are", "names escaped", "names adjusted")
"""The forms of names: raw, of mode avro_unicode, and such as any mode may write."""


@dataclass(frozen=True, slots=True)
class RestoredSchema:
    """A structure as the table had it; `remarks` are (kind, message) of what the wire alone did to it."""

    schema: TableSchema
    remarks: tuple[tuple[str, str], ...] = ()


class Encoding:
    """How one table travels at present; it learns from each event that is read.

    `names` are all field names under which the table ever travelled, whenever that was; `verdicts` what other
    tables decided about its `changes` of form. A release explains no change that another table contradicts,
    and none of one column alone that no other table confirms.
    """

    def __init__(self, names: Iterable[str], verdicts: Verdicts, changes: Iterable[FormChange] = ()) -> None:
        self._original_names = {own for name in names for own in list_originals(name) if own != name}
        self._epoch_changes = {place for place, verdict in verdicts.items() if verdict == "epoch"}
        self._own_changes = {c.id for c in changes if verdicts.get(c.id, "open") == "own"}
        self._open_changes = {c.id for c in changes if verdicts.get(c.id, "open") == "open"}
        self._last: Observation | None = None
        self._types: dict[str, tuple[Type, Type]] = {}

    @property
    def has_changes(self) -> bool:
        """Whether a form changes anywhere, so that coordinates decide what a schema means."""
        return bool(self._epoch_changes or self._own_changes or self._open_changes)

    def is_plain(self, observation: Observation, schema: TableSchema) -> bool:
        """Whether the table had the schema of an event as it is, if the last one had the same schema."""
        return (
            not self._types
            and not has_no_facts(observation)
            and None not in [c.emitted_name for c in schema.columns]
        )

    def begin_table(self, observation: Observation) -> None:
        """The first structure of a table, or of a new one under an old name."""
        self._last, self._types = observation, {}

    def restore_schema(
        self, mark: Coordinates, observation: Observation, emitted: TableSchema, known: TableSchema
    ) -> RestoredSchema:
        """The structure in the words of the known one, as far as the wire alone made the difference."""
        last, self._last = self._last or observation, observation
        moved = last.connector != observation.connector
        upgraded = moved or last.connector_version not in ("", observation.connector_version)
        epoch_rules = _list_rules(self._epoch_changes, mark)
        own_rules, open_rules = (_list_rules(c, mark) for c in (self._own_changes, self._open_changes))
        remarks: list[tuple[str, str]] = []
        vouched = upgraded or any(was in NAMING_FORMS for was, _ in epoch_rules)
        schema = self._restore_names(
            last, _restore_key_columns(emitted, known, remarks), known, vouched, remarks
        )
        if not upgraded and last.schema_name == observation.schema_name:
            remarks += (
                describe_common_change("columns", *rule)
                for rule in sorted(epoch_rules)
                if rule[0] in NAMING_FORMS
            )
        schema = self._restore_types(schema, known, upgraded, epoch_rules, (own_rules, open_rules), remarks)
        return RestoredSchema(_restore_facts(observation, schema, known, remarks), tuple(remarks))

    def _restore_names(
        self,
        last: Observation,
        emitted: TableSchema,
        known: TableSchema,
        upgraded: bool,
        remarks: list[tuple[str, str]],
    ) -> TableSchema:
        if emitted.names == known.names:
            return emitted
        now = self._last or last
        names = set(emitted.names)
        oldest = min(parse_release(last.connector_version), parse_release(now.connector_version))
        schema = restore_own_names(
            known,
            emitted,
            vouched=upgraded
            or last.schema_name != now.schema_name
            or not self._original_names.isdisjoint(name for name in known.names if name not in names),
            misreading=oldest < find_connector(now.connector).correct_names_release
            and (upgraded or last.snapshot != now.snapshot),
        )
        if schema is emitted:
            return schema
        before = {c.name: c.emitted_name or c.name for c in known.columns}
        fresh = [
            f"{own.name} as {wire.name}"
            for own, wire in zip(schema.columns, emitted.columns, strict=True)
            if own.name != wire.name != before[own.name]
        ]
        if fresh:
            pairs = ", ".join(fresh)
            remarks.append(
                ("encoding-changed", f"events carry {pairs} from here on: the columns are the same")
            )
        return schema

    def _restore_types(
        self,
        emitted: TableSchema,
        known: TableSchema,
        upgraded: bool,
        epoch_rules: Collection[FormRule],
        other_rules: tuple[Collection[FormRule], Collection[FormRule]],
        remarks: list[tuple[str, str]],
    ) -> TableSchema:
        if not (upgraded or epoch_rules or self._types):
            return emitted
        before = {c.name: c.type for c in known.columns}
        both = {c.name: (before[c.name], c.type) for c in emitted.columns if c.name in before}
        fresh = {n: pair for n, pair in both.items() if pair[0] != pair[1] and self._types.get(n) != pair}
        same = [now for was, now in both.values() if was == now]
        shown = [c.type for c in (*known.columns, *emitted.columns)]
        if upgraded and all(
            is_encoding_change(*pair, same) and not is_own_double(*pair, shown) for pair in fresh.values()
        ):
            # one column alone may have been altered while the connector was away; several change by a setting
            refuted = {*other_rules[0], *(other_rules[1] if len(fresh) == 1 else ())}
            explained = {
                n: (was, now)
                for n, (was, now) in fresh.items()
                if (find_form(self._find_event_type(n, was)), find_form(now)) not in refuted
            }
        else:
            explained = {
                n: (was, now)
                for n, (was, now) in fresh.items()
                if (find_form(self._find_event_type(n, was)), find_form(now)) in epoch_rules
            }
        reformed = _group_by_form(
            {n: (self._find_event_type(n, was), now) for n, (was, now) in explained.items()}
        )
        why = "the table is the same" if upgraded else "so do other tables"
        remarks += (_describe_form_change(*forms, names, why) for forms, names in reformed.items())
        if not upgraded:
            remarks += (describe_common_change(names, *forms) for forms, names in reformed.items())
        remarks += _list_losses(explained)
        self._types.update(explained)
        kept = {n: (was, now) for n, (was, now) in self._types.items() if before.get(n) == was}
        if not kept:
            return emitted
        columns = tuple(
            replace(c, type=kept[c.name][0]) if c.name in kept and kept[c.name][1] == c.type else c
            for c in emitted.columns
        )
        return replace(emitted, columns=columns)

    def _find_event_type(self, name: str, own: Type) -> Type:
        """The type under which a column travelled so far."""
        known, carried = self._types.get(name, (own, own))
        return carried if known == own else own


def _list_rules(changes: Collection[ChangeId], mark: Coordinates) -> frozenset[FormRule]:
    """The changes of form at some coordinates."""
    if not changes:
        return frozenset()
    here = (mark.topic, mark.partition, mark.offset)
    return frozenset((was, now) for *place, was, now in changes if tuple(place) == here)


@lru_cache(1 << 10)
def parse_release(version: str) -> Release:
    """Parse major and minor version of a connector; (0, 0) for any other text."""
    found = _VERSION.match(version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def has_no_facts(observation: Observation) -> bool:
    """Whether the connector cannot have found the table of an event: no key, and every column is optional."""
    schema, table = observation.schema, observation.table
    return (
        not observation.snapshot
        and schema is not None
        and not (table.schema.isascii() and table.table.isascii())
        and _misreads_names(observation)
        and not schema.key
        and all(c.nullable for c in schema.columns)
    )


def is_misread(observation: Observation, name: str) -> bool:
    """Whether the connector asked the catalogue for a column under a misread name, and did not find it.

    Such a column is optional and falls out of the key. Names of a snapshot come from the catalogue itself.
    """
    return not observation.snapshot and not name.isascii() and _misreads_names(observation)


def _misreads_names(observation: Observation) -> bool:
    """Whether the release of the connector misreads names beyond ASCII in its stream."""
    correct = find_connector(observation.connector).correct_names_release
    return parse_release(observation.connector_version) < correct


def has_table_key_order(observation: Observation) -> bool:
    """Whether events have a composite key in the order of the table's columns, not in key order."""
    schema = observation.schema
    if observation.snapshot or schema is None or len(schema.key) < 2:
        return False
    ordered = find_connector(observation.connector).key_order_release
    return parse_release(observation.connector_version) < ordered


def _restore_facts(
    observation: Observation, schema: TableSchema, known: TableSchema, remarks: list[tuple[str, str]]
) -> TableSchema:
    if has_no_facts(observation):
        remarks.append(
            ("facts-not-told", "the table's name was misread: events contain neither key nor NOT NULL")
        )
        nullable = {c.name: c.nullable for c in known.columns}
        columns = tuple(replace(c, nullable=nullable.get(c.name, c.nullable)) for c in schema.columns)
        key = known.key if set(known.key) <= set(schema.names) else ()
        return replace(schema, columns=columns, key=key)
    if (
        has_table_key_order(observation)
        and schema.key != known.key
        and sorted(schema.key) == sorted(known.key)
        and schema.key == tuple(n for n in schema.names if n in schema.key)
    ):
        remarks.append(
            ("key-order-not-told", "events of this release list the key in the order of the columns")
        )
        return replace(schema, key=known.key)
    return schema


def _restore_key_columns(
    emitted: TableSchema, known: TableSchema, remarks: list[tuple[str, str]]
) -> TableSchema:
    """Insert columns that only the key has at their known positions."""
    key_only = [c for c in emitted.columns if c.emitted_name is None and known.column(c.name) is not None]
    if not key_only:
        return emitted
    remarks.append(
        (
            "column-excluded",
            f"only the key carries {', '.join(c.name for c in key_only)}: left out of the row",
        )
    )
    places = {name: place for place, name in enumerate(known.names)}
    rest = [c for c in emitted.columns if c not in key_only]
    for column in sorted(key_only, key=lambda c: places[c.name]):
        before = next(
            (i for i, c in enumerate(rest) if places.get(c.name, -1) > places[column.name]), len(rest)
        )
        rest.insert(before, column)
    return replace(emitted, columns=tuple(rest))


def _group_by_form(changed: Mapping[str, tuple[Type, Type]]) -> dict[FormRule, str]:
    """The columns of each change from one form to another, in words."""
    forms: dict[FormRule, list[str]] = {}
    for name, (was, now) in changed.items():
        rule = (find_form(was) or format_type(was), find_form(now) or format_type(now))
        forms.setdefault(rule, []).append(name)
    return {rule: ", ".join(names) for rule, names in forms.items()}


def _describe_form_change(was: str, now: str, names: str, why: str) -> tuple[str, str]:
    return "encoding-changed", f"events carry {names} as {now} from here on, no longer as {was}: {why}"


def _list_losses(changed: Mapping[str, tuple[Type, Type]]) -> Iterator[tuple[str, str]]:
    for name, (own, event_type) in changed.items():
        missed = find_loss(own, event_type)
        if missed is not None and event_type != String():
            types = f"{name} is {format_type(own)} and is sent as {format_type(event_type)}"
            yield "values-not-carried", f"{types}: it loses {missed}"


def find_form(type: Type) -> str | None:
    """The form that a setting gives to a type, without attributes of the column; None if there is none."""
    match type:
        case Decimal() | Numeric():
            return "DECIMAL"
        case Timestamp() | Time() | Floating(64) | Interval():
            return format_type(type)
        case String():
            return "STRING"
        case Binary():
            return "BINARY"
        case Json():
            return "JSON"
        case Map():
            return "MAP"
        case Array(element):
            inner = find_form(element)
            return None if inner is None else f"ARRAY<{inner}>"
        case _:
            return None


def is_of_one_setting(form: str) -> bool:
    """Whether a column of this form is proof of a setting, since no other one writes it for any column.

    Times of milliseconds are what columns of few digits have under each setting; doubles, texts and JSON
    may be what the table has.
    """
    form = form.removeprefix("ARRAY<").rstrip(">")
    if form.startswith("TIME"):
        return not form.endswith("(3)")
    return form in ("DECIMAL", "BINARY", "MAP") or form.startswith("INTERVAL")


def is_encoding_change(was: Type, now: Type, same: Collection[Type]) -> bool:
    """Whether a release may explain it: forms of one kind, and no column of that type kept its form."""
    if isinstance(was, Decimal) and isinstance(now, Decimal):
        return False  # precision and scale are the table's under each setting
    return any(a == b for a in _list_kinds(was) for b in _list_kinds(now)) and was not in same


def is_own_double(was: Type, now: Type, shown: Iterable[Type]) -> bool:
    """Whether a column of doubles and texts is the table's own, as types beside it show.

    Doubles or texts in place of decimals come from a mode under which no column is an exact decimal.
    Source: Debezium DecimalHandlingMode: `precise` alone writes Connect's Decimal and VariableScaleDecimal.
    """
    forms = {_find_element_form(was), _find_element_form(now)}
    return forms == {"DOUBLE", "STRING"} and any(_find_element_form(each) == "DECIMAL" for each in shown)


def _find_element_form(type: Type) -> str:
    return (find_form(type) or "").removeprefix("ARRAY<").rstrip(">")


def _list_kinds(type: Type) -> Iterator[str]:
    """The settings under which a column may have this form.

    Source: Debezium TemporalPrecisionMode, DecimalHandlingMode, BinaryHandlingMode, HStoreHandlingMode,
    IntervalHandlingMode; Geometry has one more field in version 2.
    """
    match type:
        case Timestamp(_, zoned) | Time(_, zoned):
            yield f"{type.__class__.__name__} {zoned}"
        case Decimal() | Numeric() | Floating(64):
            yield "decimal"
        case Binary():
            yield "binary"
        case Json() | Map():
            yield "hstore"
        case Interval():
            yield "interval"
        case Array(element):
            yield from (f"array of {kind}" for kind in _list_kinds(element))
        case String():
            yield from ("decimal", "binary")
        case Struct(fields) if {"wkb", "srid"} <= {f.name for f in fields}:
            yield "geometry"
        case _:
            return
