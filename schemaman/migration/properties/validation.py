"""What the properties of a table must look like, which people may have edited.

Law: what cannot be read is refused, never taken for something else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from schemaman.errors import SchemamanError
from schemaman.migration.plan import Refusal
from schemaman.migration.properties.column_swaps import exchanges_in
from schemaman.migration.properties.names import (
    KEPT_PROPERTY,
    KEY_PROPERTY,
    METADATA_PROPERTY,
    NAMES_PROPERTY,
    RECIPE_PROPERTY,
    RETIRED_PROPERTY,
)
from schemaman.migration.target import Live


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a property looks, and when a table can do without it."""

    fits: Callable[[object], bool]
    words: str
    without: str


def _texts(told: object) -> bool:
    return isinstance(told, list) and all(isinstance(each, str) for each in told)


def _named(told: object) -> bool:
    return isinstance(told, dict) and all(isinstance(each, str) for each in told.values())


def _places(told: object) -> bool:
    paths = told if isinstance(told, list) else [None]
    return all(isinstance(path, str) or (_texts(path) and path) for path in paths)


def _moved(told: object) -> bool:
    """Of older versions a name, else an object of texts."""
    return isinstance(told, dict) and all(isinstance(e, str) or _named(e) for e in told.values())


def _recipe(told: object) -> bool:
    try:
        exchanges_in({RECIPE_PROPERTY: json.dumps(told)})
    except (SchemamanError, KeyError, TypeError, ValueError, AttributeError):
        return False
    return isinstance(told, dict)


_SHAPES: Mapping[str, _Shape] = {
    KEY_PROPERTY: _Shape(_texts, "a list of columns", "the next plan then tells the key of the source"),
    NAMES_PROPERTY: _Shape(_named, "names by names", "if no column is called otherwise than at the source"),
    METADATA_PROPERTY: _Shape(_named, "names by roles", "if the table has no metadata columns"),
    KEPT_PROPERTY: _Shape(_places, "a list of columns", "the next plan then tells what the source dropped"),
    RETIRED_PROPERTY: _Shape(_moved, "former names by names", "if no column was moved out of the way"),
    RECIPE_PROPERTY: _Shape(_recipe, "a phase and its exchanges", "if no column is being exchanged"),
}


def misread(live: Live) -> tuple[Refusal, ...]:
    """The properties of ours that a table has and nobody can read."""
    return tuple(
        Refusal(
            f"read the property {name} of {live.name}",
            f"it is no JSON of {shape.words}: {live.properties[name][:80]}",
            f"give it back the value that it had before somebody edited it, or unset it: {shape.without}",
        )
        for name, shape in _SHAPES.items()
        if name in live.properties and not _fits(live.properties[name], shape)
    )


def _fits(text: str, shape: _Shape) -> bool:
    try:
        return shape.fits(json.loads(text))
    except (ValueError, RecursionError):
        return False
