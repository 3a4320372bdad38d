"""Deletes come in another way.

What happened: Rows got or lost the field `__deleted`: the transform that flattens events rewrites deletes
now, or no longer.

Why it hurts: A reader that waits for tombstones keeps deleted rows. One that reads `__deleted` gets no
deletes, or fails.

What to do: Set `delete.tombstone.handling.mode` of the transform as it was, or let sinks delete by the new
sign.

Sources: Debezium documentation, ExtractNewRecordState (delete.tombstone.handling.mode, delete.handling.mode).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    Transition,
    cap_verdicts,
    parse_verdicts,
)
from schemaman.compat.rules import _words
from schemaman.model.diff import (
    AddColumn,
    DropColumn,
)

NAME = "delete-handling-changed"
VERDICTS = parse_verdicts("· · D D D D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds the field of rewritten deletes that came or went."""
    for change in transition.changes:
        match change:
            case AddColumn(("__deleted",) as path, _, _):
                before, after = "", "__deleted"
            case DropColumn(("__deleted",) as path, _):
                before, after = "__deleted", ""
            case _:
                continue
        yield Finding(
            NAME,
            transition.table,
            path,
            before,
            after,
            f"rows {'have' if after else 'no longer have'} the field __deleted: deletes come in another way",
            cap_verdicts("danger", VERDICTS) if after else VERDICTS,
            fixes=(
                "set delete.tombstone.handling.mode of the transform as it was, or delete by the new sign",
            ),
            claims=(*_words.claim_new_column(path), ("column-dropped", path), ("column-readded", path)),
        )


RULE = Rule(
    name=NAME,
    title="deletes come in another way",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="connector",
    examples=(
        Example("id INT", "id INT, __deleted STRING", fires=(("__deleted",),)),
        Example("id INT, __deleted STRING", "id INT", fires=(("__deleted",),)),
        Example("id INT", "id INT, deleted STRING", why="a column of the table: column-added-nullable"),
        Example("id INT", "id INT, __op STRING", why="it tells of no deletes: reserved-metadata-name"),
    ),
)
