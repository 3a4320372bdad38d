"""The versions of a walk as values: numbered, with what supports them and what is certain of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from schemaman.debezium.connector import Connector
from schemaman.debezium.observation import Observation
from schemaman.history.fold.confirmation import Confirmation, confirmations
from schemaman.history.fold.connector_settings import made_required
from schemaman.history.fold.event_match import match
from schemaman.history.fold.inferred_versions import uncover
from schemaman.history.fold.late_defaults import LateDefaults, late_defaults
from schemaman.history.fold.version_builder import Open, evidence_of, faces_of, status_of, with_emitted
from schemaman.history.rename_detection import candidates
from schemaman.history.versions import Evidence, Proof, RenameCandidate, SchemaVersion
from schemaman.model.schema import fingerprint


def closed(
    versions: Sequence[Open], spread: Collection[Observation], dialect_of: Callable[[str], Connector]
) -> tuple[SchemaVersion, ...]:
    """The versions, in order; `spread` are the runs that two of them hold."""
    uncover(versions)
    told = [(v.schema, v.incarnation, v.points) for v in versions]
    facts = confirmations(told, dialect_of)
    defaults = late_defaults([(*t, v.revisions) for t, v in zip(told, versions, strict=True)], dialect_of)
    doubted = [
        _with_others(confirmation, required, late)
        for confirmation, required, late in zip(facts, made_required(told), defaults, strict=True)
    ]
    result: list[SchemaVersion] = []
    open_ones: set[int | None] = set()
    for number, (version, confirmation) in enumerate(zip(versions, doubted, strict=True), start=1):
        came = _new_defaults(versions[number - 2] if number > 1 else None, version, confirmation, open_ones)
        confirmation = replace(confirmation, proofs=(*came, *confirmation.proofs))
        suspects = _suspects(result[-1] if result else None, version, dialect_of)
        result.append(_closed(number, version, evidence_of(version, spread), confirmation, suspects))
    return tuple(result)


def _with_others(confirmation: Confirmation, required: Sequence[str], defaults: LateDefaults) -> Confirmation:
    """What is certain of a version, with columns that only seem to be required, and its defaults."""
    made = tuple(f"nullable:{name}" for name in required)
    others = (*made, *(f"default:{name}" for name in defaults.unconfirmed))
    proofs = (*confirmation.proofs, *(Proof(fact, 0, None) for fact in made), *defaults.proofs)
    proven = None if made else confirmation.proven
    return Confirmation((*confirmation.unconfirmed, *others), proven, proofs)


def _new_defaults(
    former: Open | None, version: Open, confirmation: Confirmation, open_ones: set[int | None]
) -> tuple[Proof, ...]:
    """The defaults that came with their columns: as certain as the nullability that came with them.

    `open_ones` are the columns whose default waits for that; it is kept up to date.
    """
    same = former is not None and former.incarnation == version.incarnation
    older = {c.id for c in former.schema.columns} if former is not None and same else set()
    proofs = {p.fact: p for p in confirmation.proofs}
    result = []
    for column in version.revisions[0].schema.columns:
        with_it = proofs.get(f"nullable:{column.name}")
        fresh = column.default is not None and (column.id not in older or column.id in open_ones)
        open_ones.discard(column.id)
        if fresh and with_it is not None:
            result.append(Proof(f"default:{column.name}", 0, with_it.at))
            if with_it.at is None:
                open_ones.add(column.id)
    return tuple(result)


def _suspects(
    before: SchemaVersion | None, version: Open, dialect_of: Callable[[str], Connector]
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
        proofs=confirmation.proofs,
        carried=faces_of(version, revisions[-1].schema),
        known_as=_undeclared(version),
    )


def _undeclared(version: Open) -> tuple[str, ...]:
    """The ids that its events alone give a version: it had one of them if they were read first."""
    if not version.declared:
        return ()
    said = (p.observation for p in version.points)
    shown = dict.fromkeys(o.schema for o in said if o.evidence == "emitted" and o.schema is not None)
    ids = (fingerprint(schema) for schema in shown if match(version.schema, schema).exact)
    return tuple(id for id in dict.fromkeys(ids) if id != version.id)
