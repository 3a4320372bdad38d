"""Folded histories as JSON: what a store keeps so that reading needs no folding.

Law: `from_json(to_json(h)) == h` for every history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from schemaman.debezium.records import Coordinates
from schemaman.history.epochs import (
    ConnectorSettingsShown,
    Epoch,
    EventField,
    EventSchema,
    FormChange,
    FormInterval,
)
from schemaman.history.versions import (
    Alias,
    Disagreement,
    Evidence,
    KeySpan,
    NestedFieldAnswer,
    Proof,
    RenameCandidate,
    Revision,
    SchemaVersion,
    TableEvent,
    TableHistory,
)
from schemaman.model.ddl import format_type, parse_type
from schemaman.store.schema_json import (
    VERSION,
    Json,
    Parsed,
    convert_optional,
    coordinates_from_json,
    coordinates_to_json,
    drop_nones,
    loads,
    read_object,
    require_version,
    schema_from_json,
    schema_to_json,
    table_from_json,
    table_to_json,
)


def to_json(history: TableHistory) -> Json:
    """A history as JSON with its layout version `v`."""
    return {
        "v": VERSION,
        "table": table_to_json(history.table),
        "connector": history.connector,
        "identity": history.identity,
        "versions": [version_to_json(v) for v in history.versions],
        **drop_nones(
            aliases=[_alias_to_json(a) for a in history.aliases] or None,
            disagreements=[_disagreement_to_json(d) for d in history.disagreements] or None,
            events=[event_to_json(e) for e in history.events] or None,
            epochs=[epoch_to_json(e) for e in history.epochs] or None,
            footprint=settings_shown_to_json(history.settings_shown) or None,
            keys=[_key_to_json(k) for k in history.keys] or None,
            shared=history.shared_records or None,
        ),
    }


def from_json(value: object, where: str = "history") -> TableHistory:
    """Decode the output of `to_json`.

    Raises:
        StoreUnavailable: the layout version differs, or a field is missing or wrong.
    """
    return read_object(_history_from_json, require_version(value, where), where)


_VERSION_ID = re.compile(r'"id":"([^"\\]*)"')


def read_ids(body: str) -> tuple[str, ...]:
    """The ids of the versions in what `to_bytes` wrote, in order, without reading the rest of it.

    A quote inside of a text is escaped there: only a version has a text as its `id`.
    """
    return tuple(_VERSION_ID.findall(body))


def from_bytes(body: bytes | str, where: str = "history") -> TableHistory:
    """The history whose canonical JSON these bytes are. Raises `StoreUnavailable` as above."""
    return from_json(loads(body, where), where)


def version_to_json(version: SchemaVersion) -> Json:
    """One version of a table with its interval, evidence and suspected renames."""
    return {
        "number": version.number,
        "id": version.id,
        "incarnation": version.incarnation,
        "status": version.status,
        "revisions": [_revision_to_json(r) for r in version.revisions],
        "at": coordinates_to_json(version.at),
        "records": version.records,
        "evidence": [_evidence_to_json(e) for e in version.evidence],
        **drop_nones(
            after=convert_optional(coordinates_to_json, version.after),
            until=convert_optional(coordinates_to_json, version.until),
            unconfirmed=list(version.unconfirmed) or None,
            candidates=[_candidate_to_json(c) for c in version.candidates] or None,
            proven=convert_optional(coordinates_to_json, version.proven_from),
            carried=[event_schema_to_json(f) for f in version.event_schemas] or None,
            known_as=list(version.previous_ids) or None,
            members=[[list(m.old), list(m.new), m.same] for m in version.field_answers] or None,
            proofs=_proofs_to_json(version.proofs) or None,
        ),
    }


def version_from_json(value: Parsed) -> SchemaVersion:
    """The version that `version_to_json` wrote."""
    return SchemaVersion(
        value["number"],
        value["id"],
        value["incarnation"],
        value["status"],
        tuple(_revision_from_json(r) for r in value["revisions"]),
        convert_optional(coordinates_from_json, value.get("after")),
        coordinates_from_json(value["at"]),
        convert_optional(coordinates_from_json, value.get("until")),
        value["records"],
        tuple(_evidence_from_json(e) for e in value["evidence"]),
        tuple(value.get("unconfirmed", ())),
        tuple(_candidate_from_json(c) for c in value.get("candidates", ())),
        convert_optional(coordinates_from_json, value.get("proven")),
        tuple(event_schema_from_json(f) for f in value.get("carried", ())),
        tuple(value.get("known_as", ())),
        tuple(NestedFieldAnswer(tuple(a), tuple(b), same) for a, b, same in value.get("members", ())),
        tuple(_proofs_from_json(value.get("proofs", ()))),
    )


def _revision_to_json(revision: Revision) -> Json:
    return {
        "number": revision.number,
        "schema": schema_to_json(revision.schema),
        "at": coordinates_to_json(revision.at),
        **drop_nones(after=convert_optional(coordinates_to_json, revision.after)),
    }


def _revision_from_json(value: Parsed) -> Revision:
    schema, at = schema_from_json(value["schema"]), coordinates_from_json(value["at"])
    return Revision(value["number"], schema, at, convert_optional(coordinates_from_json, value.get("after")))


def _proofs_to_json(proofs: tuple[Proof, ...]) -> list[Json]:
    """Encode each coordinates once: the same record proves most facts of a version."""
    result: list[Json] = []
    for (revision, at, read_ms), same in groupby(proofs, key=lambda p: (p.revision, p.at, p.read_ms)):
        facts = [proof.fact for proof in same]
        result.append(
            {
                "facts": facts,
                **drop_nones(
                    revision=revision or None, at=convert_optional(coordinates_to_json, at), read_ms=read_ms
                ),
            }
        )
    return result


def _proofs_from_json(value: Iterable[Parsed]) -> Iterator[Proof]:
    for proof in value:
        at = convert_optional(coordinates_from_json, proof.get("at"))
        revision, read_ms = proof.get("revision", 0), proof.get("read_ms")
        yield from (Proof(fact, revision, at, read_ms) for fact in proof["facts"])


def _history_from_json(value: Parsed) -> TableHistory:
    return TableHistory(
        table_from_json(value["table"]),
        value["connector"],
        tuple(version_from_json(v) for v in value["versions"]),
        tuple(_alias_from_json(a) for a in value.get("aliases", ())),
        tuple(_disagreement_from_json(d) for d in value.get("disagreements", ())),
        tuple(event_from_json(e) for e in value.get("events", ())),
        value["identity"],
        tuple(epoch_from_json(e) for e in value.get("epochs", ())),
        settings_shown_from_json(value.get("footprint", {})),
        tuple(_key_from_json(k) for k in value.get("keys", ())),
        value.get("shared", 0),
    )


def _evidence_to_json(evidence: Evidence) -> Json:
    return {
        "witness": evidence.kind,
        "records": evidence.records,
        "first": coordinates_to_json(evidence.first),
        "last": coordinates_to_json(evidence.last),
        **drop_nones(
            shared=evidence.shared_records or None,
            placed=None
            if evidence.positioned_edges is None
            else [coordinates_to_json(m) for m in evidence.positioned_edges],
        ),
    }


def _evidence_from_json(value: Parsed) -> Evidence:
    first, last = coordinates_from_json(value["first"]), coordinates_from_json(value["last"])
    positioned_edges = convert_optional(_pair_from_json, value.get("placed"))
    return Evidence(value["witness"], value["records"], first, last, value.get("shared", 0), positioned_edges)


def _pair_from_json(value: list[Parsed]) -> tuple[Coordinates, Coordinates]:
    first, last = value
    return coordinates_from_json(first), coordinates_from_json(last)


def _candidate_to_json(candidate: RenameCandidate) -> Json:
    c = candidate
    return {"old": c.old, "new": c.new, "grade": c.grade, "evidence": list(c.evidence)}


def _candidate_from_json(value: Parsed) -> RenameCandidate:
    return RenameCandidate(value["old"], value["new"], value["grade"], tuple(value["evidence"]))


def _key_to_json(key: KeySpan) -> Json:
    after, until = (
        convert_optional(coordinates_to_json, key.after),
        convert_optional(coordinates_to_json, key.until),
    )
    return {
        "columns": list(key.columns),
        "told": key.evidence,
        "origins": list(key.origins),
        "at": coordinates_to_json(key.at),
        **drop_nones(
            after=after,
            until=until,
            unconfirmed=None if key.is_confirmed else True,
            proven=convert_optional(coordinates_to_json, key.proven_from),
        ),
    }


def _key_from_json(value: Parsed) -> KeySpan:
    after, until = (
        convert_optional(coordinates_from_json, value.get("after")),
        convert_optional(coordinates_from_json, value.get("until")),
    )
    columns, origins = tuple(value["columns"]), tuple(value["origins"])
    at, confirmed = coordinates_from_json(value["at"]), "unconfirmed" not in value
    proven = convert_optional(coordinates_from_json, value.get("proven"))
    return KeySpan(columns, value["told"], origins, after, at, until, confirmed, proven)


def _alias_to_json(alias: Alias) -> Json:
    first, until = (
        convert_optional(coordinates_to_json, alias.first),
        convert_optional(coordinates_to_json, alias.until),
    )
    return {"kind": alias.kind, "name": alias.name, **drop_nones(first=first, until=until)}


def _alias_from_json(value: Parsed) -> Alias:
    first, until = (
        convert_optional(coordinates_from_json, value.get("first")),
        convert_optional(coordinates_from_json, value.get("until")),
    )
    return Alias(value["kind"], value["name"], first, until)


def _disagreement_to_json(disagreement: Disagreement) -> Json:
    return {
        "kind": disagreement.kind,
        "versions": list(disagreement.versions),
        "message": disagreement.message,
        "marks": [coordinates_to_json(m) for m in disagreement.coordinates],
    }


def _disagreement_from_json(value: Parsed) -> Disagreement:
    marks = tuple(coordinates_from_json(m) for m in value["marks"])
    return Disagreement(value["kind"], tuple(value["versions"]), value["message"], marks)


def event_to_json(event: TableEvent) -> Json:
    """Encode an event of a table."""
    other = convert_optional(table_to_json, event.other)
    at = coordinates_to_json(event.at)
    return {"kind": event.kind, "at": at, "incarnation": event.incarnation, **drop_nones(other=other)}


def event_from_json(value: Parsed) -> TableEvent:
    """The event that `event_to_json` wrote."""
    other = convert_optional(table_from_json, value.get("other"))
    return TableEvent(value["kind"], coordinates_from_json(value["at"]), value["incarnation"], other)


def epoch_to_json(epoch: Epoch) -> Json:
    """Encode an epoch."""
    return {
        "number": epoch.number,
        "connector": epoch.connector,
        "connector_version": epoch.connector_version,
        "at": coordinates_to_json(epoch.at),
        **drop_nones(
            after=convert_optional(coordinates_to_json, epoch.after), changes=list(epoch.changes) or None
        ),
    }


def epoch_from_json(value: Parsed) -> Epoch:
    """The epoch that `epoch_to_json` wrote."""
    after, at = (
        convert_optional(coordinates_from_json, value.get("after")),
        coordinates_from_json(value["at"]),
    )
    release = value["connector"], value["connector_version"]
    return Epoch(value["number"], *release, after, at, tuple(value.get("changes", ())))


def event_schema_to_json(event_schema: EventSchema) -> Json:
    """Encode an event schema of a version."""
    fields = [
        {"column": f.column, **drop_nones(name=f.name, type=convert_optional(format_type, f.type))}
        for f in event_schema.fields
    ]
    return {"epoch": event_schema.epoch, "at": coordinates_to_json(event_schema.at), "fields": fields}


def event_schema_from_json(value: Parsed) -> EventSchema:
    """Decode the output of `event_schema_to_json`."""
    fields = (
        EventField(f["column"], f.get("name"), convert_optional(parse_type, f.get("type")))
        for f in value["fields"]
    )
    return EventSchema(value["epoch"], coordinates_from_json(value["at"]), tuple(fields))


def settings_shown_to_json(settings: ConnectorSettingsShown) -> Json:
    """Encode the connector settings that a table shows; empty if there are none."""
    return drop_nones(
        changes=[_change_to_json(c) for c in settings.changes] or None,
        shown=[[s.form, s.first_ms, s.last_ms] for s in settings.form_intervals] or None,
    )


def settings_shown_from_json(value: Parsed) -> ConnectorSettingsShown:
    """The footprint that `settings_shown_to_json` wrote."""
    shown = (FormInterval(form, first, last) for form, first, last in value.get("shown", ()))
    return ConnectorSettingsShown(tuple(_change_from_json(c) for c in value.get("changes", ())), tuple(shown))


def _change_to_json(change: FormChange) -> Json:
    c = change
    times = [c.since_ms, c.after_ms, c.at_ms, c.until_ms]
    return {
        "columns": list(c.columns),
        "was": c.was,
        "now": c.now,
        "at": coordinates_to_json(c.at),
        "ms": times,
    }


def _change_from_json(value: Parsed) -> FormChange:
    at = coordinates_from_json(value["at"])
    return FormChange(tuple(value["columns"]), value["was"], value["now"], at, *value["ms"])
