"""Summaries of histories as JSON, each with the digest of the snapshot of its newest version.

Law: `from_text(to_text(h), …)` is the summary of `h` and the digest of the text of its snapshot.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from schemaman.errors import StoreUnavailable
from schemaman.history.summary import TableSummary, summarize_history
from schemaman.history.versions import TableHistory
from schemaman.store.history_json import event_from_json, event_to_json
from schemaman.store.schema_json import (
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
    table_from_json,
    table_to_json,
)
from schemaman.store.snapshot_text import digest_text, take_snapshot
from schemaman.store.snapshot_text import to_text as format_snapshot
from schemaman.store.version_blocks import BlockedVersions, make_record_order


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """A summary, and the digest of the text that `schemaman snapshot` writes for the table."""

    summary: TableSummary
    snapshot_digest: str


def make_stored_summary(history: TableHistory) -> StoredSummary:
    """Summarize a history, and digest its snapshot."""
    text = format_snapshot(take_snapshot(history, history.latest))
    return StoredSummary(_summarize_blocks(history), digest_text(text))


def _summarize_blocks(history: TableHistory) -> TableSummary:
    """Summarize a history without decoding its blocks: their totals are known."""
    versions = history.versions
    if not isinstance(versions, BlockedVersions) or not versions.blocks:
        return summarize_history(history)
    newest = summarize_history(replace(history, versions=versions.newest))
    totals = [block.totals for block in versions.blocks]
    return replace(
        newest,
        versions=len(versions),
        records=newest.records + sum(one.records for one in totals),
        last_record=max((*(one.last for one in totals), newest.last_record), key=make_record_order),
    )


def to_text(history: TableHistory) -> str:
    """Format the summary of a history as canonical JSON behind its SHA-256."""
    stored = make_stored_summary(history)
    text = encode_canonical(_to_json(stored)).decode()
    return f"{_hash_text(text)} {text}"


def from_text(body: object, where: str) -> StoredSummary:
    """Read what `to_text` wrote. Raises `StoreUnavailable` for anything else; `where` names the store."""
    seal, _, text = body.partition(" ") if isinstance(body, str) else ("", "", "")
    if seal != _hash_text(text):
        raise StoreUnavailable(
            f"the store is damaged: a summary in {where} was altered",
            hint="run `schemaman store check`; `schemaman store rebuild` repairs it from an undamaged log",
        )
    place = f"{where}: summary"
    return read_object(_from_json, require_version(loads(text, place), place), place)


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _to_json(stored: StoredSummary) -> Json:
    s = stored.summary
    return {
        "v": VERSION,
        "table": table_to_json(s.table),
        "connector": s.connector,
        "identity": s.identity,
        "versions": s.versions,
        "number": s.number,
        "id": s.id,
        "status": s.status,
        "columns": s.columns,
        "key": list(s.key),
        "at": coordinates_to_json(s.at),
        "records": s.records,
        "last": coordinates_to_json(s.last_record),
        "settled": s.is_settled,
        "snapshot": stored.snapshot_digest,
        **drop_nones(
            revision=s.revision or None,
            unconfirmed=list(s.unconfirmed) or None,
            after=convert_optional(coordinates_to_json, s.after),
            disagreements=s.disagreements or None,
            disputes=s.disputes or None,
            keyless=s.is_key_unknown or None,
            dropped=s.is_dropped or None,
            end=convert_optional(event_to_json, s.end),
            topics=list(s.topics) or None,
            now=list(s.current_topics) or None,
        ),
    }


def _from_json(value: Parsed) -> StoredSummary:
    get = value.get
    found = TableSummary(
        table_from_json(value["table"]),
        value["connector"],
        value["identity"],
        value["versions"],
        value["number"],
        get("revision", 0),
        value["id"],
        value["status"],
        value["columns"],
        tuple(value["key"]),
        tuple(get("unconfirmed", ())),
        convert_optional(coordinates_from_json, get("after")),
        coordinates_from_json(value["at"]),
        value["records"],
        coordinates_from_json(value["last"]),
        get("disagreements", 0),
        get("disputes", 0),
        get("keyless", False),
        value["settled"],
        get("dropped", False),
        convert_optional(event_from_json, get("end")),
        tuple(get("topics", ())),
        tuple(get("now", ())),
    )
    return StoredSummary(found, value["snapshot"])
