"""Folded histories as JSON: what a store keeps so that reading needs no folding.

Law: `from_json(to_json(h)) == h` for every history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from schemaman.debezium.records import Coordinates
from schemaman.history.epochs import Epoch, Footprint, FormChange, Shown, WireFace, WireField
from schemaman.history.versions import (
    Alias,
    Disagreement,
    Evidence,
    KeySpan,
    MemberAnswer,
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


def to_json(history: TableHistory) -> Json:
    """A history as JSON with its layout version `v`."""
    return {
        "v": VERSION,
        "table": table_to_json(history.table),
        "connector": history.connector,
        "identity": history.identity,
        "versions": [version_to_json(v) for v in history.versions],
        **given(
            aliases=[_alias_to_json(a) for a in history.aliases] or None,
            disagreements=[_disagreement_to_json(d) for d in history.disagreements] or None,
            events=[_event_to_json(e) for e in history.events] or None,
            epochs=[epoch_to_json(e) for e in history.epochs] or None,
            footprint=footprint_to_json(history.footprint) or None,
            keys=[_key_to_json(k) for k in history.keys] or None,
            shared=history.shared or None,
        ),
    }


def from_json(value: object, where: str = "history") -> TableHistory:
    """The history that `to_json` wrote.

    Raises:
        StoreUnavailable: another layout version, or a member that is missing or wrong.
    """
    return reading(_history, versioned(value, where), where)


_VERSION_ID = re.compile(r'"id":"([^"\\]*)"')


def ids_of(body: str) -> tuple[str, ...]:
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
        "at": mark_to_json(version.at),
        "records": version.records,
        "evidence": [_evidence_to_json(e) for e in version.evidence],
        **given(
            after=maybe(mark_to_json, version.after),
            until=maybe(mark_to_json, version.until),
            unconfirmed=list(version.unconfirmed) or None,
            candidates=[_candidate_to_json(c) for c in version.candidates] or None,
            proven=maybe(mark_to_json, version.proven),
            carried=[face_to_json(f) for f in version.carried] or None,
            known_as=list(version.known_as) or None,
            members=[[list(m.old), list(m.new), m.same] for m in version.members] or None,
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
        tuple(_revision(r) for r in value["revisions"]),
        maybe(mark_from_json, value.get("after")),
        mark_from_json(value["at"]),
        maybe(mark_from_json, value.get("until")),
        value["records"],
        tuple(_evidence(e) for e in value["evidence"]),
        tuple(value.get("unconfirmed", ())),
        tuple(_candidate(c) for c in value.get("candidates", ())),
        maybe(mark_from_json, value.get("proven")),
        tuple(face_from_json(f) for f in value.get("carried", ())),
        tuple(value.get("known_as", ())),
        tuple(MemberAnswer(tuple(a), tuple(b), same) for a, b, same in value.get("members", ())),
        tuple(_proofs(value.get("proofs", ()))),
    )


def _revision_to_json(revision: Revision) -> Json:
    return {
        "number": revision.number,
        "schema": schema_to_json(revision.schema),
        "at": mark_to_json(revision.at),
        **given(after=maybe(mark_to_json, revision.after)),
    }


def _revision(value: Parsed) -> Revision:
    schema, at = schema_from_json(value["schema"]), mark_from_json(value["at"])
    return Revision(value["number"], schema, at, maybe(mark_from_json, value.get("after")))


def _proofs_to_json(proofs: tuple[Proof, ...]) -> list[Json]:
    """Each mark once: most facts of a version are proven by the same record."""
    result: list[Json] = []
    for (revision, at), same in groupby(proofs, key=lambda p: (p.revision, p.at)):
        facts = [proof.fact for proof in same]
        result.append({"facts": facts, **given(revision=revision or None, at=maybe(mark_to_json, at))})
    return result


def _proofs(value: Iterable[Parsed]) -> Iterator[Proof]:
    for told in value:
        at = maybe(mark_from_json, told.get("at"))
        yield from (Proof(fact, told.get("revision", 0), at) for fact in told["facts"])


def _history(value: Parsed) -> TableHistory:
    return TableHistory(
        table_from_json(value["table"]),
        value["connector"],
        tuple(version_from_json(v) for v in value["versions"]),
        tuple(_alias(a) for a in value.get("aliases", ())),
        tuple(_disagreement(d) for d in value.get("disagreements", ())),
        tuple(_event(e) for e in value.get("events", ())),
        value["identity"],
        tuple(epoch_from_json(e) for e in value.get("epochs", ())),
        footprint_from_json(value.get("footprint", {})),
        tuple(_key(k) for k in value.get("keys", ())),
        value.get("shared", 0),
    )


def _evidence_to_json(evidence: Evidence) -> Json:
    return {
        "witness": evidence.witness,
        "records": evidence.records,
        "first": mark_to_json(evidence.first),
        "last": mark_to_json(evidence.last),
        **given(
            shared=evidence.shared or None,
            placed=None if evidence.placed is None else [mark_to_json(m) for m in evidence.placed],
        ),
    }


def _evidence(value: Parsed) -> Evidence:
    first, last = mark_from_json(value["first"]), mark_from_json(value["last"])
    placed = maybe(_pair, value.get("placed"))
    return Evidence(value["witness"], value["records"], first, last, value.get("shared", 0), placed)


def _pair(value: list[Parsed]) -> tuple[Coordinates, Coordinates]:
    first, last = value
    return mark_from_json(first), mark_from_json(last)


def _candidate_to_json(candidate: RenameCandidate) -> Json:
    c = candidate
    return {"old": c.old, "new": c.new, "grade": c.grade, "evidence": list(c.evidence)}


def _candidate(value: Parsed) -> RenameCandidate:
    return RenameCandidate(value["old"], value["new"], value["grade"], tuple(value["evidence"]))


def _key_to_json(key: KeySpan) -> Json:
    after, until = maybe(mark_to_json, key.after), maybe(mark_to_json, key.until)
    return {
        "columns": list(key.columns),
        "told": key.told,
        "origins": list(key.origins),
        "at": mark_to_json(key.at),
        **given(
            after=after,
            until=until,
            unconfirmed=None if key.confirmed else True,
            proven=maybe(mark_to_json, key.proven),
        ),
    }


def _key(value: Parsed) -> KeySpan:
    after, until = maybe(mark_from_json, value.get("after")), maybe(mark_from_json, value.get("until"))
    columns, origins = tuple(value["columns"]), tuple(value["origins"])
    at, confirmed = mark_from_json(value["at"]), "unconfirmed" not in value
    proven = maybe(mark_from_json, value.get("proven"))
    return KeySpan(columns, value["told"], origins, after, at, until, confirmed, proven)


def _alias_to_json(alias: Alias) -> Json:
    first, until = maybe(mark_to_json, alias.first), maybe(mark_to_json, alias.until)
    return {"kind": alias.kind, "name": alias.name, **given(first=first, until=until)}


def _alias(value: Parsed) -> Alias:
    first, until = maybe(mark_from_json, value.get("first")), maybe(mark_from_json, value.get("until"))
    return Alias(value["kind"], value["name"], first, until)


def _disagreement_to_json(disagreement: Disagreement) -> Json:
    return {
        "kind": disagreement.kind,
        "versions": list(disagreement.versions),
        "message": disagreement.message,
        "marks": [mark_to_json(m) for m in disagreement.marks],
    }


def _disagreement(value: Parsed) -> Disagreement:
    marks = tuple(mark_from_json(m) for m in value["marks"])
    return Disagreement(value["kind"], tuple(value["versions"]), value["message"], marks)


def _event_to_json(event: TableEvent) -> Json:
    other = maybe(table_to_json, event.other)
    at = mark_to_json(event.at)
    return {"kind": event.kind, "at": at, "incarnation": event.incarnation, **given(other=other)}


def _event(value: Parsed) -> TableEvent:
    other = maybe(table_from_json, value.get("other"))
    return TableEvent(value["kind"], mark_from_json(value["at"]), value["incarnation"], other)


def epoch_to_json(epoch: Epoch) -> Json:
    """How a connector wrote the events of a table from a mark on."""
    return {
        "number": epoch.number,
        "connector": epoch.connector,
        "connector_version": epoch.connector_version,
        "at": mark_to_json(epoch.at),
        **given(after=maybe(mark_to_json, epoch.after), changes=list(epoch.changes) or None),
    }


def epoch_from_json(value: Parsed) -> Epoch:
    """The epoch that `epoch_to_json` wrote."""
    after, at = maybe(mark_from_json, value.get("after")), mark_from_json(value["at"])
    release = value["connector"], value["connector_version"]
    return Epoch(value["number"], *release, after, at, tuple(value.get("changes", ())))


def face_to_json(face: WireFace) -> Json:
    """How events carried a version from a mark on."""
    fields = [
        {"column": f.column, **given(name=f.name, type=maybe(format_type, f.type))} for f in face.fields
    ]
    return {"epoch": face.epoch, "at": mark_to_json(face.at), "fields": fields}


def face_from_json(value: Parsed) -> WireFace:
    """The face that `face_to_json` wrote."""
    fields = (
        WireField(f["column"], f.get("name"), maybe(parse_type, f.get("type"))) for f in value["fields"]
    )
    return WireFace(value["epoch"], mark_from_json(value["at"]), tuple(fields))


def footprint_to_json(footprint: Footprint) -> Json:
    """What a table shows of its connector's settings; empty if that is nothing."""
    return given(
        changes=[_change_to_json(c) for c in footprint.changes] or None,
        shown=[[s.form, s.first_ms, s.last_ms] for s in footprint.shown] or None,
    )


def footprint_from_json(value: Parsed) -> Footprint:
    """The footprint that `footprint_to_json` wrote."""
    shown = (Shown(form, first, last) for form, first, last in value.get("shown", ()))
    return Footprint(tuple(_change(c) for c in value.get("changes", ())), tuple(shown))


def _change_to_json(change: FormChange) -> Json:
    c = change
    times = [c.since_ms, c.after_ms, c.at_ms, c.until_ms]
    return {
        "columns": list(c.columns),
        "was": c.was,
        "now": c.now,
        "at": mark_to_json(c.at),
        "ms": times,
    }


def _change(value: Parsed) -> FormChange:
    at = mark_from_json(value["at"])
    return FormChange(tuple(value["columns"]), value["was"], value["now"], at, *value["ms"])
