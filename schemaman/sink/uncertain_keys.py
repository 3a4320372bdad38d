"""Rows that may have been written under another key than the one that their record shows.

PostgreSQL's connector reads keys late: by then the table may have its next key. What the row itself has
still tells in most cases which row of the lake it is.

Law: a row is written only if each key that the source may have had then names the same row of the lake.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Literal

Claim = Literal["", "fresh", "alike"]
"""What the lake must confirm of a row before it is written: it has no live row of its key, or it has one that
is the same in all columns of keys."""


def read_sent_key(before: Mapping[str, object], key: Collection[str]) -> dict[str, object] | None:
    """Read the key of a lake table from the row before a change; None if it may be made up.

    Debezium fills the columns outside of the replica identity with NULL, or with the zero of their type.

    Source: Debezium PostgreSQL connector, "Replica identity"; `TableSchemaBuilder` fills required fields.
    """
    if not key or not all(_is_sent(before.get(name)) for name in key):
        return None
    return {name: before[name] for name in key}


def _is_sent(value: object) -> bool:
    """Whether a value is none that Debezium makes up; of dates and structs that is not known."""
    return isinstance(value, int | float | Decimal | str | bytes) and value is not False and bool(value)
