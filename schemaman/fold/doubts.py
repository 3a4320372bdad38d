"""What else than the table may have made a new structure: doubts, where two truths fit the same records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemaman.evidence import Observation
from schemaman.fold.encoding import may_be_encoded
from schemaman.schema import TableSchema


def doubts(
    before: TableSchema, after: TableSchema, former: Sequence[Observation], observation: Observation
) -> Iterator[tuple[str, str]]:
    """(kind, message) of what else than the table may have made a new structure out of the former ones."""
    last = former[-1]
    if last.connector == observation.connector and last.connector_version != observation.connector_version:
        told = f"{last.connector_version} to {observation.connector_version}"
        yield (
            "connector-changed",
            f"the connector went from {told} here: what changed may be what it can read",
        )
    yield from _another_mode(before, after)
    kept = tuple(n for n in before.names if n in after.names)
    gone = [n for n in before.names if n not in after.names]
    if _perhaps_made_anew(before, after):
        yield (
            "perhaps-made-anew",
            "key and columns changed at once: the table may have been dropped and created again under its "
            "name, which the stream of this database does not tell",
        )
    if gone and kept == after.names and not observation.snapshot and all(o.snapshot for o in former):
        yield (
            "column-not-streamed",
            f"{', '.join(gone)} was read from the table and is not in the stream: generated columns are not "
            "streamed, or it was dropped before the first change of a row",
        )


def _perhaps_made_anew(before: TableSchema, after: TableSchema) -> bool:
    """Whether less than half of the columns stayed, and of the key nothing."""
    stayed = {c.id for c in before.columns} & {c.id for c in after.columns}
    keys = {before.column(k) for k in before.key}, {after.column(k) for k in after.key}
    ids = [{c.id for c in key if c is not None} for key in keys]
    return 2 * len(stayed) < len(before.columns) and not ids[0] & ids[1]


def _another_mode(before: TableSchema, after: TableSchema) -> Iterator[tuple[str, str]]:
    """Several columns that changed their form at once, and no column of their types kept it.

    Source: Debezium, `time.precision.mode`, `decimal.handling.mode`, `binary.handling.mode` and
    `hstore.handling.mode` change all columns of their kind, in every table.
    """
    if before.names != after.names:
        return
    pairs = [(old.type, new.type) for old, new in zip(before.columns, after.columns, strict=True)]
    changed, same = [p for p in pairs if p[0] != p[1]], [new for old, new in pairs if old == new]
    if len(changed) > 1 and all(may_be_encoded(old, new, same) for old, new in changed):
        yield (
            "perhaps-another-mode",
            f"{len(changed)} columns changed their form at once, and none of their types kept it: a handling "
            "mode of the connector may have been changed, and not the table",
        )
