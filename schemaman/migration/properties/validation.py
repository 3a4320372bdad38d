"""Checks of the properties of a table, which people may have edited.

Law: a property that cannot be read is refused, never read as something else.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.migration.plan import Refusal
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
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.target import LakeTable

_SHAPES: Mapping[str, tuple[str, str]] = {
    KEY_PROPERTY: ("a list of columns", "the next plan then sets the key of the source"),
    NAMES_PROPERTY: ("names by names", "if every column has the same name as at the source"),
    METADATA_PROPERTY: ("names by roles", "if the table has no metadata columns"),
    KEPT_PROPERTY: ("a list of columns", "the next plan then lists the dropped columns"),
    FOREIGN_PROPERTY: (
        "a list of columns", "the next plan then lists the columns that the source never had"
    ),
    ADDED_PROPERTY: ("a list of columns", "if no plan was applied in part since the table was stamped"),
    DISPLACED_PROPERTY: ("previous names by names", "if no column was displaced"),
    RECIPE_PROPERTY: ("a phase and its column swaps", "if no column swap is in progress"),
}  # fmt: skip
"""The form of each property in words, and when it can be unset."""


def refuse_unreadable(lake: LakeTable) -> tuple[Refusal, ...]:
    """Refuse the properties of schemaman that cannot be read."""
    unreadable = read_record(lake.properties).unreadable
    return tuple(
        Refusal(
            f"read the property {name} of {lake.name}",
            f"its value is no JSON of {words}: {lake.properties[name][:80]}",
            f"restore the value that it had before it was edited, or unset it: {without}",
        )
        for name, (words, without) in _SHAPES.items()
        if name in unreadable
    )
