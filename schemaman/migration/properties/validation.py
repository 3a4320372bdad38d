"""Checks of the properties of a table, which people may have edited.

Law: a property that cannot be read is refused, never read as something else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from schemaman.errors import SchemamanError
from schemaman.migration.plan import Refusal
from schemaman.migration.properties.column_swaps import parse_swaps
from schemaman.migration.properties.names import (
    ADDED_PROPERTY,
    DISPLACED_PROPERTY,
    FOREIGN_PROPERTY,
    KEPT_PROPERTY,
    KEY_PROPERTY,
    METADATA_PROPERTY,
    NAMES_PROPERTY,
    RECIPE_PROPERTY,
)
from schemaman.migration.target import LakeTable


@dataclass(frozen=True, slots=True)
class _PropertyShape:
    """The form of a property, and when it can be unset."""

    type: Any
    words: str
    without: str


_TextMap = dict[str, str]
_Path = Annotated[list[str], msgspec.Meta(min_length=1)]


_SHAPES: Mapping[str, _PropertyShape] = {
    KEY_PROPERTY: _PropertyShape(
        list[str], "a list of columns", "the next plan then sets the key of the source"
    ),
    NAMES_PROPERTY: _PropertyShape(
        _TextMap, "names by names", "if every column has the same name as at the source"
    ),
    METADATA_PROPERTY: _PropertyShape(_TextMap, "names by roles", "if the table has no metadata columns"),
    KEPT_PROPERTY: _PropertyShape(
        list[str | _Path], "a list of columns", "the next plan then lists the dropped columns"
    ),
    FOREIGN_PROPERTY: _PropertyShape(
        list[str], "a list of columns", "the next plan then lists the columns that the source never had"
    ),
    ADDED_PROPERTY: _PropertyShape(
        list[str], "a list of columns", "if no plan was applied in part since the table was stamped"
    ),
    DISPLACED_PROPERTY: _PropertyShape(
        dict[str, str | _TextMap], "previous names by names", "if no column was displaced"
    ),
    RECIPE_PROPERTY: _PropertyShape(
        dict[str, Any], "a phase and its column swaps", "if no column swap is in progress"
    ),
}


def refuse_unreadable(lake: LakeTable) -> tuple[Refusal, ...]:
    """Refuse the properties of schemaman that cannot be read."""
    return tuple(
        Refusal(
            f"read the property {name} of {lake.name}",
            f"its value is no JSON of {shape.words}: {lake.properties[name][:80]}",
            f"restore the value that it had before it was edited, or unset it: {shape.without}",
        )
        for name, shape in _SHAPES.items()
        if name in lake.properties and not _is_readable(name, lake.properties[name], shape)
    )


def _is_readable(name: str, text: str, shape: _PropertyShape) -> bool:
    try:
        msgspec.convert(json.loads(text), shape.type)
        if name == RECIPE_PROPERTY:
            parse_swaps({name: text})
    except (SchemamanError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return False
    return True
