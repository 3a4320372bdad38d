"""Log entries as JSON, written by hand and versioned, so that a store outlives the code.

Law: `from_json(to_json(e)) == e` for every entry.
What equals its default is left out; types are written in the words of `ddl`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from schemaman.debezium.observation import (
    FieldCount,
    InferredFields,
    Note,
    Observation,
    Reject,
)
from schemaman.errors import StoreUnavailable
from schemaman.store.log import Covered, Entry, Migrated, Moved, Noted, Observed, Rejected, Renumbered
from schemaman.store.schema_json import (
    UPGRADE,
    VERSION,
    Json,
    Parsed,
    canonical,
    given,
    loads,
    mark_from_json,
    mark_to_json,
    maybe,
    reading,
    schema_from_json,
    schema_to_json,
    table_from_json,
    table_to_json,
    versioned,
)


def to_bytes(entry: Entry) -> bytes:
    """A log entry as canonical bytes."""
    return canonical(to_json(entry))


def from_bytes(body: bytes | str, where: str = "log entry") -> Entry:
    """The log entry that `to_bytes` wrote.

    Raises:
        StoreUnavailable: the bytes are no such entry, or of another layout; `where` is named.
    """
    return from_json(loads(body, where), where)


def to_json(entry: Entry) -> Json:
    """A log entry as JSON with its layout version `v` and its `kind`."""
    match entry:
        case Observed(observation):
            return {"v": VERSION, "kind": "observed", **observation_to_json(observation)}
        case Rejected(reject):
            return {"v": VERSION, "kind": "rejected", **reject_to_json(reject)}
        case Noted(note):
            return {"v": VERSION, "kind": "noted", **note_to_json(note)}
        case Covered():
            return {"v": VERSION, "kind": "covered", **_covered_to_json(entry)}
        case Renumbered(table, moved):
            told = [[one.id, one.was, one.now] for one in moved]
            return {"v": VERSION, "kind": "renumbered", "table": table_to_json(table), "moved": told}
        case Migrated():
            return {"v": VERSION, "kind": "migrated", **_migrated_to_json(entry)}
        case _:
            assert_never(entry)


def from_json(value: object, where: str = "log entry") -> Entry:
    """The entry that `to_json` wrote.

    Raises:
        StoreUnavailable: an unknown layout version or kind, or a member that is missing or wrong.
    """
    body = versioned(value, where)
    kind = body.get("kind")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise StoreUnavailable(f"{where}: unknown kind of entry {kind!r}", hint=UPGRADE)
    return reading(read, body, f"{where} ({kind})")


def kind_of(kind: type[Entry]) -> str:
    """The word that stands for a class of entries in `kind`."""
    return kind.__name__.lower()


def observation_to_json(observation: Observation) -> Json:
    """What was said about a table."""
    o = observation
    return {
        "table": table_to_json(o.table),
        "witness": o.evidence,
        "action": o.action,
        "connector": o.connector,
        "connector_version": o.connector_version,
        "first": mark_to_json(o.first),
        "last": mark_to_json(o.last),
        "count": o.count,
        "snapshot": o.snapshot,
        **given(
            schema=maybe(schema_to_json, o.schema),
            previous=maybe(table_to_json, o.previous),
            ddl=o.ddl,
            renames=[list(pair) for pair in o.renames] or None,
            schema_name=o.schema_name,
            interrupted=o.interrupted or None,
            weak=o.weak or None,
            stated=[list(said) for said in o.stated_attributes] or None,
            silent=list(o.unstated_attributes) or None,
            seen=maybe(_seen_to_json, o.inferred),
        ),
    }


def observation_from_json(value: Parsed) -> Observation:
    """The observation that `observation_to_json` wrote."""
    return Observation(
        table_from_json(value["table"]),
        value["witness"],
        value["action"],
        value["connector"],
        value["connector_version"],
        mark_from_json(value["first"]),
        mark_from_json(value["last"]),
        value["count"],
        value["snapshot"],
        maybe(schema_from_json, value.get("schema")),
        maybe(table_from_json, value.get("previous")),
        value.get("ddl"),
        tuple((old, new) for old, new in value.get("renames", ())),
        value.get("schema_name"),
        value.get("interrupted", False),
        value.get("weak", False),
        stated_attributes=tuple(
            (column, attribute, text) for column, attribute, text in value.get("stated", ())
        ),
        unstated_attributes=tuple(value.get("silent", ())),
        inferred=maybe(_seen, value.get("seen")),
    )


def _seen_to_json(seen: InferredFields) -> Json:
    """What was seen; a tally names its marks by their places in `marks`, since many have the same."""
    marks = dict.fromkeys(mark for tally in seen.counts for mark in (*tally.early, tally.last))
    places = {mark: place for place, mark in enumerate(marks)}
    return {
        "documents": seen.documents,
        "marks": [mark_to_json(mark) for mark in marks],
        "tallies": [
            [list(t.path), t.kind, t.documents, [places[m] for m in t.early], places[t.last]]
            for t in seen.counts
        ],
        **given(cut=[list(path) for path in seen.truncated_paths] or None),
    }


def _seen(value: Parsed) -> InferredFields:
    marks = [mark_from_json(mark) for mark in value["marks"]]
    tallies = tuple(
        FieldCount(tuple(path), kind, documents, tuple(marks[place] for place in early), marks[last])
        for path, kind, documents, early, last in value["tallies"]
    )
    return InferredFields(value["documents"], tallies, tuple(tuple(path) for path in value.get("cut", ())))


def reject_to_json(reject: Reject) -> Json:
    """Records that were not understood; `payload` in hexadecimal digits where it was kept."""
    return {
        "stream": reject.stream,
        "topic": reject.topic,
        "partition": reject.partition,
        "offset": reject.offset,
        "count": reject.count,
        "reason": reject.reason,
        "sha256": reject.sha256,
        **given(payload=maybe(bytes.hex, reject.payload)),
    }


def reject_from_json(value: Parsed) -> Reject:
    """The reject that `reject_to_json` wrote."""
    return Reject(
        value["stream"],
        value["topic"],
        value["partition"],
        value["offset"],
        value["count"],
        value["reason"],
        value["sha256"],
        maybe(bytes.fromhex, value.get("payload")),
    )


def note_to_json(note: Note) -> Json:
    """A note, with the table that it is about."""
    return {
        "stream": note.stream,
        "topic": note.topic,
        "partition": note.partition,
        "offset": note.offset,
        "note": note.kind,
        "message": note.message,
        "count": note.count,
        **given(table=maybe(table_to_json, note.table)),
    }


def note_from_json(value: Parsed) -> Note:
    """The note that `note_to_json` wrote."""
    return Note(
        value["stream"],
        value["topic"],
        value["partition"],
        value["offset"],
        value["note"],
        value["message"],
        maybe(table_from_json, value.get("table")),
        value["count"],
    )


def _covered_to_json(covered: Covered) -> Json:
    return {
        "stream": covered.stream,
        "topic": covered.topic,
        "partition": covered.partition,
        "first": covered.first,
        "last": covered.last,
        "first_hash": covered.first_hash,
        "last_hash": covered.last_hash,
        **given(
            asides=[list(pair) for pair in covered.asides] or None,
            gaps=_steps(covered) or None,
            edges=[list(edge) for edge in covered.edges] or None,
        ),
    }


def _covered(value: Parsed) -> Covered:
    return Covered(
        value["stream"],
        value["topic"],
        value["partition"],
        value["first"],
        value["last"],
        value["first_hash"],
        value["last_hash"],
        tuple((kind, count) for kind, count in value.get("asides", ())),
        _gaps(value["first"], value.get("gaps", ())),
        tuple((offset, hash) for offset, hash in value.get("edges", ())),
    )


def _steps(covered: Covered) -> list[int]:
    """The gaps as numbers of offsets, read and not read in turns: a compacted topic has thousands of them."""
    steps, at = list[int](), covered.first
    for start, end in covered.gaps:
        steps += [start - at, end - start + 1]
        at = end + 1
    return steps


def _gaps(at: int, steps: Sequence[int]) -> tuple[tuple[int, int], ...]:
    gaps = []
    for read, lacking in zip(steps[::2], steps[1::2], strict=True):
        gaps.append((at + read, at + read + lacking - 1))
        at += read + lacking
    return tuple(gaps)


def _migrated_to_json(migrated: Migrated) -> Json:
    return {
        "run": migrated.run,
        "plan": migrated.plan,
        "target": migrated.target,
        "state": migrated.state,
        **given(
            step=migrated.step,
            statement=migrated.statement or None,
            version=migrated.version or None,
            error=migrated.error or None,
        ),
    }


def _migrated(value: Parsed) -> Migrated:
    return Migrated(
        value["run"],
        value["plan"],
        value["target"],
        value.get("step"),
        value["state"],
        value.get("statement", ""),
        value.get("version", ""),
        value.get("error", ""),
    )


_READERS: dict[str, Callable[[Parsed], Entry]] = {
    "observed": lambda value: Observed(observation_from_json(value)),
    "rejected": lambda value: Rejected(reject_from_json(value)),
    "noted": lambda value: Noted(note_from_json(value)),
    "covered": _covered,
    "renumbered": lambda value: Renumbered(
        table_from_json(value["table"]), tuple(Moved(id, was, now) for id, was, now in value["moved"])
    ),
    "migrated": _migrated,
}
