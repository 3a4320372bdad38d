"""Records whose key names no row of a table any more: whether the table has what they say already.

A batch that comes again after its table got another key has such records, and so has a topic into which the
connector wrote changes once more.

Law: a record counts as written only if the table has its very change, or a newer one of its row which came
after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemaman.history.versions import TableHistory
from schemaman.sink.row_order import is_same_position
from schemaman.sink.values.values import UnfitColumn


@dataclass(frozen=True, slots=True)
class UnnamedRow(UnfitColumn):
    """A change that names no row of the table by its key; `names` are other ways to find its row.

    Each has the values of columns of the table that were a key of the source, or are the table's key.
    """

    names: tuple[Mapping[str, object], ...] = ()


def list_key_sets(
    history: TableHistory, names: Mapping[int, str], key: tuple[str, ...]
) -> tuple[tuple[str, ...], ...]:
    """List the columns of each key that the source had, and those of the lake table's key.

    `names` maps ids of source columns to columns of the lake table.
    """
    keys = [
        [names.get(c.id or 0, "") for c in v.schema.columns if c.name in v.schema.key]
        for v in history.versions
    ]
    found = (tuple(sorted(columns)) for columns in (*keys, key) if columns and all(columns))
    return tuple(dict.fromkeys(found))


def is_written(there: str, order: str, *, came_before: bool, is_alone: bool, revives: bool) -> bool:
    """Whether a row of the table with the order `there` has a change of that row with `order`.

    `revives`: the table's row is deleted, and the change is no delete. At one position they are both halves
    of an update that changed the key, which Debezium sends as a delete and a new row: the latter is missing.
    `came_before`: later records of the partition of the change were read before it. `is_alone`: the change is
    in no quarantine, and its table has one topic. Then a row from a later record of the partition shows that
    the change was handled before.
    """
    came, own_came = (text.rpartition("/")[2] for text in (there, order))
    if there == order or (is_same_position(there, order) and not revives):
        return True
    is_same_partition = came.partition(".")[0] == own_came.partition(".")[0]
    return there > order and (came_before or (is_alone and is_same_partition and came >= own_came))
