"""Checkpoints of folds as JSON, with their place in the log.

Law: `from_text(to_text(c), …) == c` for every checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemaman.history.fold.checkpoint import FoldCheckpoint, PartitionEnd
from schemaman.store.entry_json import observation_from_json, observation_to_json
from schemaman.store.schema_json import (
    VERSION,
    Json,
    Parsed,
    encode_canonical,
    loads,
    position_from_json,
    position_to_json,
    read_object,
    require_version,
)
from schemaman.store.version_blocks import hash_text, make_altered_error


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A checkpoint that has all observations of its table in the log up to the entry `until`."""

    until: int
    checkpoint: FoldCheckpoint


def to_text(stored: StoredCheckpoint) -> str:
    """Format a checkpoint as canonical JSON behind its SHA-256."""
    text = encode_canonical(_to_json(stored)).decode()
    return f"{hash_text(text)} {text}"


def from_text(body: object, where: str) -> StoredCheckpoint:
    """Read what `to_text` wrote. Raises `StoreUnavailable` for anything else; `where` names it."""
    seal, _, text = body.partition(" ") if isinstance(body, str) else ("", "", "")
    if seal != hash_text(text):
        raise make_altered_error(where)
    return read_object(_from_json, require_version(loads(text, where), where), where)


def _to_json(stored: StoredCheckpoint) -> Json:
    c = stored.checkpoint
    return {
        "v": VERSION,
        "until": stored.until,
        "first": c.first,
        "settled": c.settled,
        "observations": [observation_to_json(one) for one in c.observations],
        "next_id": c.next_id,
        "position": position_to_json(c.position),
        "latest_ms": c.latest_ms,
        "clock_ahead": c.clock_ahead,
        "shared": c.shared_records,
        "key_spans": c.key_spans,
        "shapes": "".join(sorted(c.shapes)),
        "partitions": [[e.topic, e.partition, e.offset, e.runs, e.is_collapsed] for e in c.partitions],
    }


_SHAPE = 12
"""Hexadecimal digits of a fingerprint."""


def _from_json(value: Parsed) -> StoredCheckpoint:
    shapes = value["shapes"]
    checkpoint = FoldCheckpoint(
        value["first"],
        value["settled"],
        tuple(observation_from_json(one) for one in value["observations"]),
        value["next_id"],
        position_from_json(value["position"]),
        value["latest_ms"],
        value["clock_ahead"],
        value["shared"],
        value["key_spans"],
        frozenset(shapes[n : n + _SHAPE] for n in range(0, len(shapes), _SHAPE)),
        tuple(PartitionEnd(*end) for end in value["partitions"]),
    )
    return StoredCheckpoint(value["until"], checkpoint)
