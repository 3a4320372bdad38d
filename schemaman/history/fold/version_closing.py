"""Closes the versions of a fold as values: numbered, with their evidence and their certain facts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from schemaman.debezium.connector import Connector
from schemaman.debezium.observation import Observation
from schemaman.history.fold.confirmation import VersionCertainty, assess_certainty
from schemaman.history.fold.connector_settings import find_key_required
from schemaman.history.fold.event_match import fit_columns
from schemaman.history.fold.inferred_versions import uncover_types
from schemaman.history.fold.late_defaults import LateDefaults, find_late_defaults
from schemaman.history.fold.version_builder import (
    OpenVersion,
    collect_evidence,
    find_status,
    list_event_schemas,
    set_emitted_names,
)
from schemaman.history.rename_detection import (
    find_displaced_names,
    find_handed_on_names,
    find_rename_candidates,
    find_taken_names,
)
from schemaman.history.versions import Evidence, Proof, RenameCandidate, SchemaVersion
from schemaman.model.schema import KEPT_SCHEMAS, TableSchema, fingerprint


def close_versions(
    versions: Sequence[OpenVersion],
    spread: Collection[Observation],
    find_connector: Callable[[str], Connector],
    clock_ahead: int,
) -> tuple[SchemaVersion, ...]:
    """Close the versions, in order; `spread` are the runs that two versions share.

    `clock_ahead` is how far the database's clock is ahead at least (ms).
    """
    uncover_types(versions)
    points = [(v.schema, v.incarnation, v.points) for v in versions]
    facts = assess_certainty(points, find_connector, clock_ahead)
    defaults = find_late_defaults(
        [(*t, v.shape.revisions) for t, v in zip(points, versions, strict=True)], find_connector, clock_ahead
    )
    certainties = [
        _add_uncertain(confirmation, required, late)
        for confirmation, required, late in zip(facts, find_key_required(points), defaults, strict=True)
    ]
    result: list[SchemaVersion] = []
    open_columns: set[int | None] = set()
    for number, (version, confirmation) in enumerate(zip(versions, certainties, strict=True), start=1):
        new_defaults = _prove_new_defaults(
            versions[number - 2] if number > 1 else None, version, confirmation, open_columns
        )
        if new_defaults:
            confirmation = replace(confirmation, proofs=(*new_defaults, *confirmation.proofs))
        suspects = _find_candidates(result[-1] if result else None, version, find_connector)
        result.append(
            _close_version(number, version, collect_evidence(version, spread), confirmation, suspects)
        )
    return tuple(result)


def _add_uncertain(
    confirmation: VersionCertainty, required: Sequence[str], defaults: LateDefaults
) -> VersionCertainty:
    """What is certain of a version, with columns that only seem to be required, and its defaults."""
    if not (required or defaults.unconfirmed or defaults.proofs):
        return confirmation
    made = tuple(f"nullable:{name}" for name in required)
    others = (*made, *(f"default:{name}" for name in defaults.unconfirmed))
    proofs = (*confirmation.proofs, *(Proof(fact, 0, None) for fact in made), *defaults.proofs)
    proven = None if made else confirmation.proven_from
    return VersionCertainty((*confirmation.unconfirmed, *others), proven, proofs)


def _prove_new_defaults(
    previous: OpenVersion | None,
    version: OpenVersion,
    confirmation: VersionCertainty,
    open_columns: set[int | None],
) -> tuple[Proof, ...]:
    """The defaults of new columns: as certain as the nullability of the same columns.

    `open_columns` are the columns whose default is not certain yet; this function updates it.
    """
    columns = version.shape.revisions[0].schema.columns
    if not open_columns and {c.default for c in columns} <= {None}:
        return ()
    same = previous is not None and previous.incarnation == version.incarnation
    older = {c.id for c in previous.schema.columns} if previous is not None and same else set()
    proofs = {p.fact: p for p in confirmation.proofs}
    result = []
    for column in columns:
        with_it = proofs.get(f"nullable:{column.name}")
        fresh = column.default is not None and (column.id not in older or column.id in open_columns)
        open_columns.discard(column.id)
        if fresh and with_it is not None:
            result.append(Proof(f"default:{column.name}", 0, with_it.at))
            if with_it.at is None:
                open_columns.add(column.id)
    return tuple(result)


def _find_candidates(
    before: SchemaVersion | None, version: OpenVersion, find_connector: Callable[[str], Connector]
) -> tuple[RenameCandidate, ...]:
    opened = version.points[0].observation
    # A parsed statement names its renames: no rename has to be suspected.
    stated = opened.ddl is not None or version.caveats.has_statement
    if before is None or before.incarnation != version.incarnation or stated:
        return ()
    first = set_emitted_names(version.shape.revisions[0], version.event_forms.names)
    return _suggest_renames(before.schema, first.schema, find_connector(opened.connector).append_only)


@lru_cache(KEPT_SCHEMAS)
def _suggest_renames(
    before: TableSchema, after: TableSchema, append_only: bool
) -> tuple[RenameCandidate, ...]:
    """Suspect renames between two schemas with column ids."""
    chain = find_handed_on_names(before, after) if append_only else ()
    found = chain or find_rename_candidates(before, after, append_only)
    displaced = find_displaced_names(before, after) if append_only and not chain else ()
    suspected = (
        *_list_others(displaced, [c for c in found if c.grade == "proven"]),
        *_list_others(found, displaced),
    )
    taken = find_taken_names(before, after) if append_only else ()
    return (*suspected, *_list_others(taken, suspected))


def _list_others(
    candidates: Sequence[RenameCandidate], known: Sequence[RenameCandidate]
) -> Iterator[RenameCandidate]:
    """List candidates that share no name with those that are known."""
    old, new = {c.old for c in known}, {c.new for c in known}
    return (c for c in candidates if c.old not in old and c.new not in new)


def _close_version(
    number: int,
    version: OpenVersion,
    evidence: tuple[Evidence, ...],
    confirmation: VersionCertainty,
    suspects: tuple[RenameCandidate, ...],
) -> SchemaVersion:
    revisions = tuple(set_emitted_names(r, version.event_forms.names) for r in version.shape.revisions)
    doubted = ("key",) if version.caveats.is_key_doubted and "key" not in confirmation.unconfirmed else ()
    types = (f"type:{name}" for name in version.caveats.uncertain_types)
    unconfirmed = (*doubted, *confirmation.unconfirmed, *types)
    return SchemaVersion(
        number=number,
        id=version.id,
        incarnation=version.incarnation,
        status=find_status(version, unconfirmed),
        revisions=revisions,
        after=version.after,
        at=version.at,
        until=version.until,
        records=sum(e.records for e in evidence),
        evidence=evidence,
        unconfirmed=unconfirmed,
        candidates=suspects,
        proven_from=confirmation.proven_from,
        proofs=confirmation.proofs,
        event_schemas=list_event_schemas(version, revisions[-1].schema),
        previous_ids=_list_undeclared_ids(version),
    )


def _list_undeclared_ids(version: OpenVersion) -> tuple[str, ...]:
    """The ids that its events alone give a version: it had one of them if they were read first."""
    if not version.is_declared:
        return version.shape.previous_ids
    observations = (p.observation for p in version.points)
    shown = dict.fromkeys(o.schema for o in observations if o.evidence == "emitted" and o.schema is not None)
    ids = (fingerprint(schema) for schema in shown if fit_columns(version.schema, schema).is_exact)
    return tuple(id for id in dict.fromkeys(ids) if id != version.id)
