"""What the endpoints of `/schemaman/v1` answer, as JSON; each member is always there, null for nothing."""

from __future__ import annotations

from schemaman.compat.judge import Finding, Severity
from schemaman.debezium.records import Coordinates
from schemaman.history.versions import SchemaVersion
from schemaman.model.schema import TableId
from schemaman.server.answers import Json, build_version
from schemaman.store.subjects import QuarantinedVersion
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.policies import Judgement
from schemaman.subjects.source_tables import FittingVersion
from schemaman.subjects.table_subjects import HeldSchema, SubjectSource, SubjectStep


def build_source(source: SubjectSource) -> Json:
    """Build the answer for the tables and columns of a subject."""
    meaning = source.meaning
    return {
        "subject": str(source.subject),
        "part": meaning.part,
        "strategy": meaning.strategy,
        "topic": meaning.topic or None,
        "record": meaning.record or None,
        "tables": [_build_table(table) for table in source.tables],
        "table": None if source.table is None else str(source.table),
        "history_version": None if source.version is None else _build_history_version(source.version),
        "belongs": source.is_fitting,
        "columns": [
            {"column": one.column, "field": one.field, "type": one.type, "key": one.is_key}
            for one in source.columns
        ],
        "collisions": [list(names) for names in source.collisions],
    }


def build_step(step: SubjectStep) -> Json:
    """Build the answer for a version of a subject and where it belongs."""
    version = step.version
    return {
        "subject": str(version.subject),
        "version": version.number,
        "id": version.schema_id,
        "registered_ms": version.at_ms,
        "belongs": [_build_fit(table, one) for table, one in step.belongs],
        "quarantine": None if step.quarantine is None else _build_mark(step.quarantine),
    }


def build_held(held: HeldSchema) -> Json:
    """Build the answer for a position or a time."""
    return {
        "table": _build_table(held.table),
        "history_version": _build_history_version(held.version),
        "versions": [build_step(step) for step in held.steps],
    }


def build_judgement(judgement: Judgement) -> Json:
    """Build the answer for a verdict: what each reader may expect, and each finding."""
    return {
        "passes": judgement.passes,
        "is_judged": judgement.is_judged,
        "table": str(judgement.table),
        "readers": dict(judgement.verdicts),
        "findings": [
            _build_finding(finding, severity, finding in judgement.failing)
            for finding, severity in judgement.findings
        ],
    }


def build_pair(topic: str, key: VersionedSchema | None, value: VersionedSchema | None) -> Json:
    """Build the answer for the key and the value of a topic."""
    return {
        "topic": topic,
        "key": None if key is None else build_version(key),
        "value": None if value is None else build_version(value),
    }


def _build_table(table: TableId) -> Json:
    return {
        "id": str(table),
        "stream": table.stream,
        "server": table.server,
        "database": table.database,
        "schema": table.schema,
        "name": table.table,
    }


def _build_history_version(version: SchemaVersion) -> Json:
    return {
        "version": version.number,
        "id": version.id,
        "status": version.status,
        "from": _build_coordinates(version.at),
        "after": None if version.after is None else _build_coordinates(version.after),
        "until": None if version.until is None else _build_coordinates(version.until),
    }


def _build_coordinates(at: Coordinates) -> Json:
    position = at.position
    return {
        "topic": at.topic,
        "partition": at.partition,
        "offset": at.offset,
        "position": f"{position.kind}:{position.value}" if position.value else None,
        "ts_ms": at.ts_ms,
    }


def _build_fit(table: TableId, one: FittingVersion) -> Json:
    return {"table": str(table), "fit": one.fit, "history_version": _build_history_version(one.version)}


def _build_mark(mark: QuarantinedVersion) -> Json:
    return {"since_ms": mark.at_ms, "failures": [dict(failure) for failure in mark.failures]}


def _build_finding(finding: Finding, severity: Severity, fails: bool) -> Json:
    return {
        "rule": finding.rule,
        "severity": severity,
        "fails": fails,
        "path": list(finding.path),
        "before": finding.before,
        "after": finding.after,
        "message": finding.message,
        "fixes": list(finding.fixes),
        "readers": dict(finding.verdicts),
        "witness": finding.witness,
        "fingerprint": finding.fingerprint,
    }
