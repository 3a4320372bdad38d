"""A name of the lake or of a sink is taken by a column.

What happened: A column is called like a column that a sink, Delta, Iceberg or schemaman adds by itself, such
as `__op` or `_change_type`.

Why it hurts: The table cannot have both, or one hides the other. A reader of the change feed of Delta takes
the column for the kind of change.

What to do: Use another name at the source. If a transform adds the column, as `ExtractNewRecordState` does,
leave it out of `add.fields`.

Sources: Debezium documentation, ExtractNewRecordState (add.fields); Delta Lake documentation, change data
feed and _metadata; Iceberg specification, Reserved Field IDs.
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

NAME = "reserved-metadata-name"
VERDICTS = parse_verdicts("N N D B D D ·")
DELETED = "__deleted"
"""The field of rewritten deletes, which has its own rule."""
OF_LAKES = frozenset(
    {
        "_change_type", "_commit_timestamp", "_commit_version", "_deleted", "_file",
        "_last_updated_sequence_number", "_metadata", "_partition", "_pos", "_row_id", "_spec_id",
    }
)  # fmt: skip
"""The names of metadata columns of Delta and Iceberg."""
OF_SINKS = frozenset(
    {
        "__db", "__lsn", "__op", "__schema", "__source_db", "__source_lsn", "__source_schema",
        "__source_table", "__source_ts_ms", "__table", "__ts_ms",
    }
)  # fmt: skip
"""The names that ExtractNewRecordState adds to rows."""


def check(transition: Transition) -> Iterator[Finding]:
    """Finds reserved names that a new table, a new column or a rename brought."""
    if transition.new is None:
        return
    fresh = _words.find_new_names(transition)
    for name in transition.new.names:
        reserved = name.lower() in OF_LAKES
        users = "lake formats" if reserved else "sinks and transforms"
        if name in fresh and name != DELETED and (reserved or name.lower() in OF_SINKS):
            yield Finding(
                NAME,
                transition.table,
                (name,),
                "",
                name,
                f"{name} is a name that {users} use themselves",
                VERDICTS if reserved else cap_verdicts("danger", VERDICTS),
                fixes=("use another name at the source, or leave it out of add.fields of the transform",),
                claims=_words.claim_new_column((name,)),
            )


RULE = Rule(
    name=NAME,
    title="a name of the lake or of a sink is taken by a column",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="names",
    examples=(
        Example("id INT", "id INT, _change_type STRING", fires=(("_change_type",),)),
        Example("id INT", "id INT, __op STRING", fires=(("__op",),)),
        Example("id INT", "id INT, op STRING", why="no reserved name: column-added-nullable"),
        Example("id INT", "id INT, __deleted STRING", why="it tells of deletes: delete-handling-changed"),
    ),
)
