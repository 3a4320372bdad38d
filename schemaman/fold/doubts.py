"""What else than the table may have made a new structure: doubts, where two truths fit the same records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemaman.epochs import FormChange
from schemaman.evidence import Observation
from schemaman.schema import TableSchema


def doubts(
    before: TableSchema, after: TableSchema, former: Sequence[Observation], observation: Observation
) -> Iterator[tuple[str, str]]:
    """(kind, message) of what else than the table may have made a new structure out of the former ones."""
    last = former[-1]
    former_one = (last.connector, last.connector_version)
    if former_one != (observation.connector, observation.connector_version):
        moved = last.connector != observation.connector
        words = (f"{last.connector} ", f"{observation.connector} ") if moved else ("", "")
        told = f"{words[0]}{last.connector_version} to {words[1]}{observation.connector_version}"
        yield (
            "connector-changed",
            f"the connector went from {told} here: what changed may be what it can read",
        )
    names = set(after.names)
    kept = tuple(n for n in before.names if n in names)
    gone = [n for n in before.names if n not in names]
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


def another_mode(change: FormChange) -> tuple[str, str]:
    """(kind, message) of a change of form that no other table has decided yet."""
    names = ", ".join(change.columns)
    return (
        "perhaps-another-mode",
        f"{names} changed from {change.was} to {change.now}, and nothing tells yet whether the table did or "
        "a handling mode of the connector: of the other tables none changed so then, and none kept that form",
    )
