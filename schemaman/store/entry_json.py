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
from schemaman.store.log import (
    CoveredRange,
    Entry,
    MigrationEntry,
    NoteEntry,
    ObservationEntry,
    RegistrationEntry,
    RejectEntry,
    RenumberingEntry,
    VersionMove,
)
from schemaman.store.schema_json import (
    UPGRADE,
    VERSION,
    Json,
    Parsed,
    convert_optional,
    coordinates_from_json,
    coordinates_to_json,
    drop_nones,
    encode_canonical,
    loads,
    read_object,
    require_version,
    schema_from_json,
    schema_to_json,
    table_from_json,
    table_to_json,
)


def to_bytes(entry: Entry) -> bytes:
    """A log entry as canonical bytes."""
    return encode_canonical(to_json(entry))


def from_bytes(body: bytes | str, where: str = "log entry") -> Entry:
    """The log entry that `to_bytes` wrote.

    Raises:
        StoreUnavailable: the bytes are no such entry, or of another layout; `where` is named.
    """
    return from_json(loads(body, where), where)


def to_json(entry: Entry) -> Json:
    """A log entry as JSON with its layout version `v` and its `kind`."""
    match entry:
        case ObservationEntry(observation):
            return {"v": VERSION, "kind": "observed", **observation_to_json(observation)}
        case RejectEntry(reject):
            return {"v": VERSION, "kind": "rejected", **reject_to_json(reject)}
        case NoteEntry(note):
            return {"v": VERSION, "kind": "noted", **note_to_json(note)}
        case CoveredRange():
            return {"v": VERSION, "kind": "covered", **_covered_to_json(entry)}
        case RenumberingEntry(table, moved):
            rows = [[one.id, one.was, one.now] for one in moved]
            return {"v": VERSION, "kind": "renumbered", "table": table_to_json(table), "moved": rows}
        case MigrationEntry():
            return {"v": VERSION, "kind": "migrated", **_migrated_to_json(entry)}
        case RegistrationEntry():
            return {"v": VERSION, "kind": "registered", **_registered_to_json(entry)}
        case _:
            assert_never(entry)


def from_json(value: object, where: str = "log entry") -> Entry:
    """Decode the output of `to_json`.

    Raises:
        StoreUnavailable: the layout version or kind is unknown, or a field is missing or wrong.
    """
    body = require_version(value, where)
    kind = body.get("kind")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise StoreUnavailable(f"{where}: unknown kind of entry {kind!r}", hint=UPGRADE)
    return read_object(read, body, f"{where} ({kind})")


def find_kind(kind: type[Entry]) -> str:
    """The name of a class of entries in `kind`."""
    return _KINDS[kind]


def observation_to_json(observation: Observation) -> Json:
    """Encode an observation."""
    o = observation
    return {
        "table": table_to_json(o.table),
        "witness": o.evidence,
        "action": o.action,
        "connector": o.connector,
        "connector_version": o.connector_version,
        "first": coordinates_to_json(o.first),
        "last": coordinates_to_json(o.last),
        "count": o.count,
        "snapshot": o.snapshot,
        **drop_nones(
            schema=convert_optional(schema_to_json, o.schema),
            previous=convert_optional(table_to_json, o.previous),
            ddl=o.ddl,
            renames=[list(pair) for pair in o.renames] or None,
            schema_name=o.schema_name,
            interrupted=o.interrupted or None,
            weak=o.weak or None,
            stated=[list(stated) for stated in o.stated_attributes] or None,
            silent=list(o.unstated_attributes) or None,
            seen=convert_optional(_inferred_to_json, o.inferred),
            writer=o.writer or None,
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
        coordinates_from_json(value["first"]),
        coordinates_from_json(value["last"]),
        value["count"],
        value["snapshot"],
        convert_optional(schema_from_json, value.get("schema")),
        convert_optional(table_from_json, value.get("previous")),
        value.get("ddl"),
        tuple((old, new) for old, new in value.get("renames", ())),
        value.get("schema_name"),
        value.get("interrupted", False),
        value.get("weak", False),
        stated_attributes=tuple(
            (column, attribute, text) for column, attribute, text in value.get("stated", ())
        ),
        unstated_attributes=tuple(value.get("silent", ())),
        inferred=convert_optional(_inferred_from_json, value.get("seen")),
        writer=value.get("writer", ""),
    )


def _inferred_to_json(inferred: InferredFields) -> Json:
    """Encode inferred fields; a field count refers to coordinates by index in `marks`: many are equal."""
    marks = dict.fromkeys(mark for tally in inferred.counts for mark in (*tally.early, tally.last))
    indexes = {mark: index for index, mark in enumerate(marks)}
    hashes = [""] * len(marks)
    for tally in inferred.counts:
        for mark, hash in zip(tally.early, tally.hashes, strict=False):
            hashes[indexes[mark]] = hash
    return {
        "documents": inferred.documents,
        "marks": [coordinates_to_json(mark) for mark in marks],
        "tallies": [
            [list(t.path), t.kind, t.documents, [indexes[m] for m in t.early], indexes[t.last]]
            for t in inferred.counts
        ],
        **drop_nones(
            cut=[list(path) for path in inferred.truncated_paths] or None,
            hashes=hashes if any(hashes) else None,
        ),
    }


def _inferred_from_json(value: Parsed) -> InferredFields:
    marks = [coordinates_from_json(mark) for mark in value["marks"]]
    hashes = value.get("hashes") or [""] * len(marks)
    tallies = tuple(
        FieldCount(
            tuple(path),
            kind,
            documents,
            tuple(marks[index] for index in early),
            marks[last],
            found if any(found := tuple(hashes[index] for index in early)) else (),
        )
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
        **drop_nones(payload=convert_optional(bytes.hex, reject.payload)),
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
        convert_optional(bytes.fromhex, value.get("payload")),
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
        **drop_nones(table=convert_optional(table_to_json, note.table)),
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
        convert_optional(table_from_json, value.get("table")),
        value["count"],
    )


def _covered_to_json(covered: CoveredRange) -> Json:
    return {
        "stream": covered.stream,
        "topic": covered.topic,
        "partition": covered.partition,
        "first": covered.first,
        "last": covered.last,
        "first_hash": covered.first_hash,
        "last_hash": covered.last_hash,
        **drop_nones(
            asides=[list(pair) for pair in covered.skipped_counts] or None,
            gaps=_gaps_to_json(covered) or None,
            edges=[list(edge) for edge in covered.edges] or None,
        ),
    }


def _covered_from_json(value: Parsed) -> CoveredRange:
    return CoveredRange(
        value["stream"],
        value["topic"],
        value["partition"],
        value["first"],
        value["last"],
        value["first_hash"],
        value["last_hash"],
        tuple((kind, count) for kind, count in value.get("asides", ())),
        _gaps_from_json(value["first"], value.get("gaps", ())),
        tuple((offset, hash) for offset, hash in value.get("edges", ())),
    )


def _gaps_to_json(covered: CoveredRange) -> list[int]:
    """The gaps as numbers of offsets, read and not read in turns: a compacted topic has thousands of them."""
    steps, at = list[int](), covered.first
    for start, end in covered.gaps:
        steps += [start - at, end - start + 1]
        at = end + 1
    return steps


def _gaps_from_json(at: int, steps: Sequence[int]) -> tuple[tuple[int, int], ...]:
    gaps = []
    for read, lacking in zip(steps[::2], steps[1::2], strict=True):
        gaps.append((at + read, at + read + lacking - 1))
        at += read + lacking
    return tuple(gaps)


def _migrated_to_json(migrated: MigrationEntry) -> Json:
    return {
        "run": migrated.run,
        "plan": migrated.plan,
        "target": migrated.target,
        "state": migrated.state,
        **drop_nones(
            step=migrated.step,
            statement=migrated.statement or None,
            version=migrated.version or None,
            error=migrated.error or None,
            layout=[list(pair) for pair in migrated.layout] or None,
            details=[list(pair) for pair in migrated.details] or None,
        ),
    }


def _migrated_from_json(value: Parsed) -> MigrationEntry:
    return MigrationEntry(
        value["run"],
        value["plan"],
        value["target"],
        value.get("step"),
        value["state"],
        value.get("statement", ""),
        value.get("version", ""),
        value.get("error", ""),
        tuple((name, text) for name, text in value.get("layout", ())),
        tuple((name, text) for name, text in value.get("details", ())),
    )


def _registered_to_json(registered: RegistrationEntry) -> Json:
    return {
        "subject": registered.subject,
        "version": registered.version,
        "id": registered.schema_id,
        "guid": registered.guid,
        "names": list(registered.names),
        "part": registered.part,
        "schema": schema_to_json(registered.schema),
    }


def _registered_from_json(value: Parsed) -> RegistrationEntry:
    return RegistrationEntry(
        value["subject"],
        value["version"],
        value["id"],
        value["guid"],
        tuple(value["names"]),
        value["part"],
        schema_from_json(value["schema"]),
    )


_READERS: dict[str, Callable[[Parsed], Entry]] = {
    "observed": lambda value: ObservationEntry(observation_from_json(value)),
    "rejected": lambda value: RejectEntry(reject_from_json(value)),
    "noted": lambda value: NoteEntry(note_from_json(value)),
    "covered": _covered_from_json,
    "renumbered": lambda value: RenumberingEntry(
        table_from_json(value["table"]), tuple(VersionMove(id, was, now) for id, was, now in value["moved"])
    ),
    "migrated": _migrated_from_json,
    "registered": _registered_from_json,
}

_KINDS: dict[type[Entry], str] = {
    ObservationEntry: "observed",
    RejectEntry: "rejected",
    NoteEntry: "noted",
    CoveredRange: "covered",
    RenumberingEntry: "renumbered",
    MigrationEntry: "migrated",
    RegistrationEntry: "registered",
}
"""The values of `kind` in every log, whatever the classes are called."""
