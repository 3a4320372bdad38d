"""What a lake table records of itself in its properties, parsed in one place into one value.

Law: a property that cannot be read is named as unreadable, and never read as something else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

import msgspec

from schemaman.errors import SchemamanError
from schemaman.migration.properties.names import (
    ADDED_PROPERTY,
    BEGAN_PROPERTY,
    DISPLACED_PROPERTY,
    FENCE_PROPERTY,
    FILLED_PROPERTY,
    FOREIGN_PROPERTY,
    KEPT_PROPERTY,
    KEY_PROPERTY,
    METADATA_PROPERTY,
    NAMES_PROPERTY,
    PLAN_PROPERTY,
    PREDECESSOR_PROPERTY,
    RECIPE_PROPERTY,
    SOURCE_PROPERTY,
    SPLIT_PROPERTY,
    STORE_PROPERTY,
    SUCCESSOR_PROPERTY,
    TAKEN_PROPERTY,
    TRUNCATED_PROPERTY,
    UNITED_PROPERTY,
    UNTYPED_PROPERTY,
    VERSION_PROPERTY,
)
from schemaman.model.ddl import parse_type
from schemaman.model.schema import Path
from schemaman.model.types import Type

Value = TypeVar("Value")
Shape = TypeVar("Shape")

_RECORDED = (
    ADDED_PROPERTY, BEGAN_PROPERTY, DISPLACED_PROPERTY, FENCE_PROPERTY, FOREIGN_PROPERTY, KEPT_PROPERTY,
    KEY_PROPERTY, METADATA_PROPERTY, NAMES_PROPERTY, PLAN_PROPERTY, RECIPE_PROPERTY, SOURCE_PROPERTY,
    STORE_PROPERTY, TRUNCATED_PROPERTY, VERSION_PROPERTY, SPLIT_PROPERTY, SUCCESSOR_PROPERTY,
    PREDECESSOR_PROPERTY, UNITED_PROPERTY, TAKEN_PROPERTY, UNTYPED_PROPERTY, FILLED_PROPERTY,
)  # fmt: skip
_NestedPath = Annotated[list[str], msgspec.Meta(min_length=1)]


@dataclass(frozen=True, slots=True)
class ColumnSwap:
    """A column whose values move to another one: `new` takes the name of `column`, which is kept as `old`."""

    column: str
    new: str
    old: str
    old_type: Type
    new_type: Type


@dataclass(frozen=True, slots=True)
class DisplacedColumn:
    """A column of a table that gave its name away: it `was` called so in the lake.

    One that left, and still has its name while the source has called others so since, `was` called so too.
    `column` is its name at the source in the version of this id that began there, or in the last one before
    that had a column of this name; all empty where nothing tells which column it is.
    """

    was: str
    column: str = ""
    version: str = ""
    began: str = ""


@dataclass(frozen=True, slots=True)
class SplitColumn:
    """A column beside an earlier one of the same source column, since no format makes its type in place.

    `column` is the source's name in the version of this id that began there: the first whose values it holds.
    `holds` is `text` for a column that has, as text, the values that the types of the other parts cannot
    hold; then the version is the newest one of when it was added, and rows of every version use it. `holds`
    is `former` for a column with values from before the source table got its name: no version here shows it.
    `gathered`: the values of the parts before it are in this one, too, where they are exact (`yes`).
    `beside` is the part before it where that one has another name than `column`: a rename came with the type.
    """

    column: str
    version: str
    began: str
    holds: str = ""
    beside: str = ""
    gathered: str = ""


@dataclass(frozen=True, slots=True)
class Predecessor:
    """The table that has the older rows of the same source table, by its address.

    The rows here begin with the version of this id that began there.
    """

    table: str
    version: str
    began: str


@dataclass(frozen=True, slots=True)
class FilledRows:
    """The table before this one, by its address, whose rows of this version of it are here, too.

    With a `reason` they are not here, and it says why. `late` says why those are not here that came into the
    table after this one was filled.
    """

    table: str
    version: str
    reason: str = ""
    late: str = ""


@dataclass(frozen=True, slots=True)
class TableRecord:
    """What a lake table records of itself; names are those of its columns, also of dropped ones.

    `version` and `began` are the stamp: the id of the version that the table follows, and where that version
    began, as the property has it. `names` maps names in the lake to those at the source where they differ,
    `metadata` roles to metadata columns, and `displaced` names to what these columns were. `kept` are paths
    that the source dropped. `foreign` columns are filled by others, `added` ones are newer than the stamp.
    `split` has columns beside others of the same source column. `successor` is the address of the table that
    takes the newer rows, empty for none; `predecessor` is the one with the older rows. `united` maps columns
    whose values are in the renamed column, too, to the order of the rename. `taken` are addresses of lake
    tables of earlier names, whose rows it took over. `filled`: the rows of the predecessor are here, too, or
    the reason why they are not; None before that was tried. `untyped`: its values are texts, since nothing
    showed their types.
    `key` is None without that property. `run` is the run that last changed the table, `phase` the newest
    phase of its `swaps`; empty texts for none. `unreadable` are the properties whose values are not of their
    form; what they record is missing here.
    """

    source: str | None = None
    version: str | None = None
    began: str | None = None
    key: tuple[str, ...] | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    kept: tuple[Path, ...] = ()
    foreign: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    displaced: Mapping[str, DisplacedColumn] = field(default_factory=dict)
    swaps: tuple[ColumnSwap, ...] = ()
    phase: str = ""
    store: str = ""
    plan: str = ""
    run: str = ""
    truncated: str = ""
    split: Mapping[str, SplitColumn] = field(default_factory=dict)
    successor: str = ""
    predecessor: Predecessor | None = None
    united: Mapping[str, str] = field(default_factory=dict)
    taken: tuple[str, ...] = ()
    filled: FilledRows | None = None
    untyped: bool = False
    unreadable: tuple[str, ...] = ()

    @property
    def is_filled(self) -> bool:
        """Whether the rows of the predecessor are here, too, so that this table alone has all rows."""
        return self.filled is not None and not self.filled.reason


def read_record(properties: Mapping[str, str]) -> TableRecord:
    """Read what the properties of a lake table record; equal properties are parsed once."""
    return _parse_record(tuple(properties.get(name) for name in _RECORDED))


@lru_cache(1 << 10)
def _parse_record(texts: tuple[str | None, ...]) -> TableRecord:
    """Parse the texts of `_RECORDED`, None for missing ones."""
    found = {name: text for name, text in zip(_RECORDED, texts, strict=True) if text is not None}
    unreadable: list[str] = []

    def parse(name: str, shape: Any, make: Callable[[Any], Value], missing: Value) -> Value:
        if name not in found:
            return missing
        try:
            return make(msgspec.convert(json.loads(found[name]), shape))
        except (SchemamanError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
            unreadable.append(name)
            return missing

    no_names: tuple[str, ...] = ()
    no_map: Mapping[str, str] = MappingProxyType({})
    return TableRecord(
        source=found.get(SOURCE_PROPERTY),
        version=found.get(VERSION_PROPERTY),
        began=found.get(BEGAN_PROPERTY),
        key=parse(KEY_PROPERTY, list[str], tuple, None),
        names=parse(NAMES_PROPERTY, dict[str, str], MappingProxyType, no_map),
        metadata=parse(METADATA_PROPERTY, dict[str, str], MappingProxyType, no_map),
        kept=parse(KEPT_PROPERTY, list[str | _NestedPath], make_paths, ()),
        foreign=parse(FOREIGN_PROPERTY, list[str], tuple, no_names),
        added=parse(ADDED_PROPERTY, list[str], tuple, no_names),
        displaced=parse(
            DISPLACED_PROPERTY, dict[str, str | dict[str, str]], _make_displaced, MappingProxyType({})
        ),
        swaps=parse(RECIPE_PROPERTY, dict[str, Any], _make_swaps, ()),
        phase=_parse_phase(found.get(RECIPE_PROPERTY, "{}")),
        store=found.get(STORE_PROPERTY, ""),
        plan=found.get(PLAN_PROPERTY, ""),
        run=found.get(FENCE_PROPERTY, "").partition(" ")[2],
        truncated=found.get(TRUNCATED_PROPERTY, ""),
        split=parse(SPLIT_PROPERTY, dict[str, SplitColumn], MappingProxyType, MappingProxyType({})),
        successor=found.get(SUCCESSOR_PROPERTY, ""),
        predecessor=parse(PREDECESSOR_PROPERTY, Predecessor, lambda one: one, None),
        taken=parse(TAKEN_PROPERTY, list[str], tuple, no_names),
        filled=parse(FILLED_PROPERTY, FilledRows, lambda one: one, None),
        untyped=bool(parse(UNTYPED_PROPERTY, list[str], tuple, no_names)),
        united=parse(UNITED_PROPERTY, dict[str, str], MappingProxyType, no_map),
        unreadable=tuple(unreadable),
    )


def make_paths(kept: Sequence[str | Sequence[str]]) -> tuple[Path, ...]:
    """The paths of kept columns and nested fields; the property has a column as its name alone."""
    return tuple((each,) if isinstance(each, str) else tuple(each) for each in kept)


def format_predecessor(predecessor: Predecessor) -> str:
    """A predecessor as the property keeps it."""
    return json.dumps(asdict(predecessor), ensure_ascii=False, sort_keys=True)


def format_split(columns: Mapping[str, SplitColumn]) -> str:
    """Split columns as the property keeps them."""
    document = {name: {k: v for k, v in asdict(each).items() if v} for name, each in columns.items()}
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def find_newest_part(parts: Mapping[str, SplitColumn], name: str) -> str | None:
    """Find the part that has the newer values of a split column; None if `name` is the newest, or not split.

    Columns of texts are no parts here: they have values of every version.
    """
    own = parts[name].column if name in parts else name
    typed = {n: part for n, part in parts.items() if not part.holds}
    found = [n for n, part in typed.items() if part.column == own or part.beside == name]
    newest = max(found, key=lambda n: (len(n), n), default=name)
    return None if newest == name else newest


def _make_displaced(entries: Mapping[str, str | Mapping[str, str]]) -> Mapping[str, DisplacedColumn]:
    return MappingProxyType({name: _parse_displaced(entry) for name, entry in entries.items()})


def _parse_displaced(entry: object) -> DisplacedColumn:
    match entry:
        case {"was": str(was), "column": str(column), "version": str(version), "began": str(began)}:
            return DisplacedColumn(was, column, version, began)
        case _:
            return DisplacedColumn(str(entry))


def _make_swaps(document: Mapping[str, Any]) -> tuple[ColumnSwap, ...]:
    return tuple(
        ColumnSwap(
            each["column"], each["new"], each["old"], parse_type(each["was"]), parse_type(each["type"])
        )
        for each in document.get("exchanges", ())
    )


def _parse_phase(text: str) -> str:
    """The phase of the property of column swaps, also where its swaps cannot be read."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return str(document.get("phase") or "") if isinstance(document, dict) else ""
