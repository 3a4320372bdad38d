"""What the properties of a table must look like, which people may have edited.

Law: what cannot be read is refused, never taken for something else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from schemaman.errors import SchemamanError
from schemaman.migration.plan import Refusal
from schemaman.migration.properties.column_swaps import parse_swaps
from schemaman.migration.properties.names import (
    DISPLACED_PROPERTY,
    KEPT_PROPERTY,
    KEY_PROPERTY,
    METADATA_PROPERTY,
    NAMES_PROPERTY,
    RECIPE_PROPERTY,
)
from schemaman.migration.target import LakeTable


@dataclass(frozen=True, slots=True)
class _PropertyShape:
    """How a property looks, and when a table can do without it."""

    is_valid: Callable[[object], bool]
    words: str
    without: str


def _is_text_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_text_map(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _is_path_list(value: object) -> bool:
    paths = value if isinstance(value, list) else [None]
    return all(isinstance(path, str) or (_is_text_list(path) and path) for path in paths)


def _is_displaced_map(value: object) -> bool:
    """Of older versions a name, else an object of texts."""
    return isinstance(value, dict) and all(isinstance(e, str) or _is_text_map(e) for e in value.values())


def _is_recipe(value: object) -> bool:
    try:
        parse_swaps({RECIPE_PROPERTY: json.dumps(value)})
    except (SchemamanError, KeyError, TypeError, ValueError, AttributeError):
        return False
    return isinstance(value, dict)


_SHAPES: Mapping[str, _PropertyShape] = {
    KEY_PROPERTY: _PropertyShape(
        _is_text_list, "a list of columns", "the next plan then tells the key of the source"
    ),
    NAMES_PROPERTY: _PropertyShape(
        _is_text_map, "names by names", "if no column is called otherwise than at the source"
    ),
    METADATA_PROPERTY: _PropertyShape(_is_text_map, "names by roles", "if the table has no metadata columns"),
    KEPT_PROPERTY: _PropertyShape(
        _is_path_list, "a list of columns", "the next plan then tells what the source dropped"
    ),
    DISPLACED_PROPERTY: _PropertyShape(
        _is_displaced_map, "former names by names", "if no column was moved out of the way"
    ),
    RECIPE_PROPERTY: _PropertyShape(
        _is_recipe, "a phase and its exchanges", "if no column is being exchanged"
    ),
}


def refuse_unreadable(lake: LakeTable) -> tuple[Refusal, ...]:
    """The properties of ours that a table has and nobody can read."""
    return tuple(
        Refusal(
            f"read the property {name} of {lake.name}",
            f"it is no JSON of {shape.words}: {lake.properties[name][:80]}",
            f"give it back the value that it had before somebody edited it, or unset it: {shape.without}",
        )
        for name, shape in _SHAPES.items()
        if name in lake.properties and not _is_readable(lake.properties[name], shape)
    )


def _is_readable(text: str, shape: _PropertyShape) -> bool:
    try:
        return shape.is_valid(json.loads(text))
    except (ValueError, RecursionError):
        return False
