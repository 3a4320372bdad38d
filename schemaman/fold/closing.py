"""The versions of a walk as values: numbered, with what supports them and what is certain of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from schemaman.evidence import Dialect, Observation
from schemaman.fold.confirmation import Confirmation, confirmations
from schemaman.fold.faces import match
from schemaman.fold.inferred_versions import uncover
from schemaman.fold.late_defaults import late_defaults
from schemaman.fold.open_version import Open, evidence_of, faces_of, status_of, with_emitted
from schemaman.fold.required import made_required
from schemaman.renames import candidates
from schemaman.schema import fingerprint
from schemaman.versions import Evidence, RenameCandidate, SchemaVersion


def closed(
    versions: Sequence[Open], spread: Collection[Observation], dialect_of: Callable[[str], Dialect]
) -> tuple[SchemaVersion, ...]:
    """The versions, in order; `spread` are the runs that two of them hold."""
    uncover(versions)
    told = [(v.schema, v.incarnation, v.points) for v in versions]
    facts = confirmations(told, dialect_of)
    doubted = [
        (*(f"nullable:{name}" for name in required), *(f"default:{name}" for name in defaults))
        for required, defaults in zip(made_required(told), late_defaults(told, dialect_of), strict=True)
    ]
    result: list[SchemaVersion] = []
    for number, (version, confirmation) in enumerate(zip(versions, facts, strict=True), start=1):
        if others := doubted[number - 1]:
            late = any(fact.startswith("nullable:") for fact in others)
            proven = None if late else confirmation.proven
            confirmation = Confirmation((*confirmation.unconfirmed, *others), proven)
        suspects = _suspects(result[-1] if result else None, version, dialect_of)
        result.append(_closed(number, version, evidence_of(version, spread), confirmation, suspects))
    return tuple(result)


def _suspects(
    before: SchemaVersion | None, version: Open, dialect_of: Callable[[str], Dialect]
) -> tuple[RenameCandidate, ...]:
    opened = version.points[0].observation
    # A statement that was read says itself what it renames: there is nothing to suspect.
    stated = opened.ddl is not None or version.statement
    if before is None or before.incarnation != version.incarnation or stated:
        return ()
    first = with_emitted(version.revisions[0], version.emitted)
    return candidates(before.schema, first.schema, dialect_of(opened.connector).append_only)


def _closed(
    number: int,
    version: Open,
    evidence: tuple[Evidence, ...],
    confirmation: Confirmation,
    suspects: tuple[RenameCandidate, ...],
) -> SchemaVersion:
    revisions = tuple(with_emitted(r, version.emitted) for r in version.revisions)
    unconfirmed = (*confirmation.unconfirmed, *(f"type:{name}" for name in version.doubtful))
    return SchemaVersion(
        number=number,
        id=version.id,
        incarnation=version.incarnation,
        status=status_of(version, unconfirmed),
        revisions=revisions,
        after=version.after,
        at=version.at,
        until=version.until,
        records=sum(e.records for e in evidence),
        evidence=evidence,
        unconfirmed=unconfirmed,
        candidates=suspects,
        proven=confirmation.proven,
        carried=faces_of(version, revisions[-1].schema),
        known_as=_undeclared(version),
    )


def _undeclared(version: Open) -> tuple[str, ...]:
    """The ids that its events alone give a version: it had one of them if they were read first."""
    if not version.declared:
        return ()
    said = (p.observation for p in version.points)
    shown = dict.fromkeys(o.schema for o in said if o.witness == "emitted" and o.schema is not None)
    ids = (fingerprint(schema) for schema in shown if match(version.schema, schema).exact)
    return tuple(id for id in dict.fromkeys(ids) if id != version.id)
