"""Rows that may have been written under another key than the one that their record shows.

PostgreSQL's connector reads keys late: by then the table may have its next key. What the row itself has
still tells in most cases which row of the lake it is.

Law: a row is written only if each key that the source may have had then names the same row of the lake, or
none. So no two live rows of the lake are one row of the source, unless a record of that row waits.

Nothing is known of a change while records of another partition may still show a key between. An update shows
the row as it was then. What is uncertain is which row it was before: one with the same
values in one possible key, and others in another one. Where the lake has none such, no row is left behind.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Literal

from schemaman.debezium.records import Position
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableSchema
from schemaman.sink.row_order import format_position

Claim = Literal["", "fresh", "alike", "first", "alone"]
"""What the lake must confirm of a row before it is written.

Two rows conflict if they are the same in the columns of one possible key, and not in those of all keys. For
an update, a row that lacks a column of a key may have any value there: all rows got the column at once.
`fresh`: it has no live row of the key. `alike`: it has one that is the same in all columns of keys. Where it
has no live row that conflicts, an update may be written without. `first`: only what holds of all: it has no
newer row that conflicts, live or deleted, as a change of this row that came before. Rows of earlier keys have
this claim, too. `alone`: as `first`, and no older record waits that may be of another row with the same key.
So is an update where each possible key has all columns of the lake's key. So is a change whose record has the
row before it: each row of the source with that key is in the lake, or a record of it waits. `alike` waits for
such records, too.

A newer row of the key supersedes a change only if it is the same in all columns of keys, and no older row is
left that the change may have been of. Otherwise the newer row may be another one of the source. For `first`
and `alone` that holds of a row from after the first record with another key.
"""


@dataclass(frozen=True, slots=True)
class KeyProof:
    """From where on the key of a version is certain: from the text of a position, or from a time of commit.

    `read_ms` is when the key was first read, in epoch milliseconds; None if unknown. Later commits have it.
    """

    position: str
    read_ms: int | None = None

    def is_certain(self, position: Position, committed_ms: int | None) -> bool:
        """Whether a record of the version has its key, by its position and its time of commit."""
        if format_position(position) >= self.position:
            return True
        if position.kind == "none" or committed_ms is None or self.read_ms is None:
            return False
        return committed_ms > self.read_ms


NEVER_PROVEN = KeyProof("~")
"""Its text follows that of every position: such a key is nowhere certain."""

_MADE_UP_TEXTS = ("{}", "[]", "00:00:00Z", "1970-01-01T00:00:00Z")
"""Texts for missing values of required columns. Source: Debezium JdbcValueConverters, its fallbacks."""


def is_key_open(history: TableHistory) -> bool:
    """Whether a record may still show that the rows of the newest version have another key.

    A table that surely lost its key is a log of changes, which takes its rows whatever key they have now.
    """
    own = (v for v in reversed(history.versions) if v.incarnation == history.latest.incarnation)
    if history.latest.schema.key:
        return "key" in history.latest.unconfirmed
    for version in own:
        if version.schema.key:
            return True
        if "key" not in version.unconfirmed:
            return False
    return "key" in history.latest.unconfirmed


def find_key_proofs(history: TableHistory) -> dict[int, KeyProof]:
    """Find the versions with rows of an earlier key, perhaps, and what makes their key certain.

    A key that nothing confirms in one version, and a record in the next one, may have come in the next one.
    """
    found: dict[int, KeyProof] = {}
    for before, version in pairwise(history.versions):
        if before.incarnation != version.incarnation:
            continue
        is_later = before.schema.key != version.schema.key or found.get(before.number) == NEVER_PROVEN
        if is_later and "key" in version.unconfirmed:
            found[version.number] = NEVER_PROVEN
        for proof in version.proofs if is_later else ():
            if proof.fact == "key" and proof.at is not None:
                found[version.number] = KeyProof(format_position(proof.at.position), proof.read_ms)
    return found


def read_sent_key(before: Mapping[str, object], key: Collection[str]) -> dict[str, object] | None:
    """Read the key of a lake table from the row before a change; None if it may be made up.

    Debezium fills the columns outside of the replica identity with NULL, or with the zero of their type.

    Source: Debezium PostgreSQL connector, "Replica identity"; `TableSchemaBuilder` fills required fields.
    """
    if not key or not all(_is_sent(before.get(name)) for name in key):
        return None
    return {name: before[name] for name in key}


def is_key_made_up(before: Mapping[str, object], schema: TableSchema) -> bool:
    """Whether the key in the row before a delete may be made up, since another index identifies the row.

    Such an index has only columns that forbid NULL: a value in a nullable column shows that all were sent.

    Source: PostgreSQL, "ALTER TABLE", REPLICA IDENTITY USING INDEX; for made-up values see `read_sent_key`.
    """
    if all(_is_sent(before.get(name)) for name in schema.key):
        return False
    others = [c for c in schema.columns if c.name not in schema.key and before.get(c.name) is not None]
    return not any(c.nullable for c in others) and any(
        _is_sent(before[c.name]) and before[c.name] not in _MADE_UP_TEXTS for c in others
    )


def _is_sent(value: object) -> bool:
    """Whether a value is none that Debezium makes up; of dates and structs that is not known."""
    return isinstance(value, int | float | Decimal | str | bytes) and value is not False and bool(value)
