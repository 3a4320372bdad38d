"""Builds the JSON documents of `diff`, `check`, `explain` and `rules`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from schemaman.compat.affected_consumers import AffectedConsumer
from schemaman.compat.gate import UNREAD, GateVerdict
from schemaman.compat.judge import READERS, Finding, Rule, Severity
from schemaman.compat.waivers import Waiver
from schemaman.history.versions import Disagreement, RenameCandidate
from schemaman.model.ddl import format_type
from schemaman.model.diff import (
    AddColumn,
    Change,
    ChangeAttribute,
    ChangeComment,
    ChangeDefault,
    ChangeKey,
    ChangeNullable,
    ChangeType,
    ColumnOrField,
    Diff,
    DropColumn,
    MoveColumn,
    RenameColumn,
)
from schemaman.model.schema import Column, Path, TableId
from schemaman.report.json.impact import build_affected
from schemaman.report.json.tables import SCHEMA_VERSION, Document, Json, build_candidate
from schemaman.report.json.tables import build_column as column_document


def build_diff(
    old: str,
    new: str,
    changes: Diff,
    candidates: Iterable[RenameCandidate] = (),
    remarks: Iterable[Disagreement] = (),
    unconfirmed: Sequence[Sequence[str]] = ((), ()),
    repeats: int | None = None,
) -> Document:
    """The document of `diff A B`; `old` and `new` are the two REFs.

    `remarks` are what the records do not decide or do not carry; `unconfirmed` are the facts of each side
    that are not certain; `repeats` is the number of the earlier version that the new side equals.
    """
    known = tuple(candidates)
    before, after = unconfirmed
    return {
        "schema_version": SCHEMA_VERSION,
        "old": old,
        "new": new,
        "changes": [build_change(c, known) for c in changes],
        "candidates": [build_candidate(c) for c in known],
        "repeats": repeats,
        "remarks": [_build_remark(r) for r in remarks],
        "unconfirmed": {"old": list(before), "new": list(after)},
    }


def build_change(found: Change, candidates: Iterable[RenameCandidate] = ()) -> Document:
    """One change; a rename carries the grade and the evidence that the history has for it."""
    path, old, new = _split_change(found)
    grade: Json = None
    evidence: list[Json] = []
    if isinstance(found, RenameColumn):
        known = next((c for c in candidates if (c.old, c.new) == (found.path[-1], found.name)), None)
        grade = "stated" if known is None else known.grade
        evidence = [] if known is None else list(known.evidence)
    return {
        "change": name_change(found),
        "path": list(path),
        "old": old,
        "new": new,
        "grade": grade,
        "evidence": evidence,
    }


def name_change(found: Change) -> str:
    """Names a change: `add-column`, `change-type` and so on."""
    match found:
        case AddColumn():
            return "add-column"
        case DropColumn():
            return "drop-column"
        case RenameColumn():
            return "rename-column"
        case MoveColumn():
            return "move-column"
        case ChangeType():
            return "change-type"
        case ChangeNullable():
            return "change-nullable"
        case ChangeDefault():
            return "change-default"
        case ChangeComment():
            return "change-comment"
        case ChangeAttribute(_, attribute, _, _):
            return f"change-{attribute.replace('_', '-')}"
        case ChangeKey():
            return "change-key"
        case _:
            assert_never(found)


def build_check(
    findings: Iterable[tuple[Finding, Severity]],
    verdict: GateVerdict,
    *,
    tables: Iterable[str] = (),
    unaccepted: Iterable[str] = (),
    remarks: Iterable[tuple[TableId, Disagreement]] = (),
    waiver_remarks: Iterable[str] = (),
    waivers: Mapping[str, Waiver] | None = None,
    affected: Mapping[str, tuple[AffectedConsumer, ...]] | None = None,
) -> Document:
    """The document of `check`: every finding with the severity that the declared readers give it.

    `tables` were checked; `unaccepted` are those without a baseline. `remarks` are what the records do not
    decide or do not carry; `waivers` and `affected` are keyed by fingerprint. `unjudged` repeats the findings
    of `not-judged`, for readers of earlier releases. `unread` lists the tables with records that could not be
    read; without another failure the verdict is then `unknown`.
    """
    judged = tuple(findings)
    return {
        "schema_version": SCHEMA_VERSION,
        "verdict": verdict,
        "findings": [
            build_finding(
                f, severity, (waivers or {}).get(f.fingerprint), (affected or {}).get(f.fingerprint, ())
            )
            for f, severity in judged
        ],
        "tables": list(tables),
        "unaccepted": list(unaccepted),
        "unjudged": [
            {
                "table": str(f.table),
                "path": list(f.path),
                "before": f.before,
                "after": f.after,
                "old": f.old_ref,
                "new": f.new_ref,
            }
            for f, _ in judged
            if f.rule == "not-judged"
        ],
        "unread": [
            {"table": str(f.table), "first": f.after, "finding": f.fingerprint, "message": f.message}
            for f, _ in judged
            if f.rule == UNREAD
        ],
        "waiver_remarks": list(waiver_remarks),
        "remarks": [{"table": str(table), **_build_remark(found)} for table, found in remarks],
    }


def _build_remark(found: Disagreement) -> Document:
    return {"kind": found.kind, "versions": list(found.versions), "message": found.message}


def _build_waiver(waiver: Waiver) -> Document:
    return {"reason": waiver.reason, "owner": waiver.owner, "expires": waiver.expires.isoformat()}


def build_finding(
    found: Finding,
    severity: Severity,
    waiver: Waiver | None = None,
    affected: Iterable[AffectedConsumer] = (),
) -> Document:
    """One finding; `verdicts` in the order of the seven readers, `affected` are consumers."""
    return {
        "fingerprint": found.fingerprint,
        "rule": found.rule,
        "table": str(found.table),
        "path": list(found.path),
        "before": found.before,
        "after": found.after,
        "old": found.old_ref,
        "new": found.new_ref,
        "message": found.message,
        "file": found.file or None,
        "line": found.line or None,
        "verdicts": {reader: found.verdicts[reader] for reader in READERS if reader in found.verdicts},
        "severity": severity,
        "status": "open" if waiver is None else "waived",
        "waiver": None if waiver is None else _build_waiver(waiver),
        "evidence": list(found.evidence),
        "witness": found.witness,
        "witnesses": [
            {"reader": w.reader, "written": w.written or None, "datum": w.datum or None, "effect": w.effect}
            for w in found.counterexamples
        ],
        "fixes": list(found.fixes),
        "commands": list(found.commands),
        "consumers": [*build_affected(affected)],
    }


def build_explain(
    found: Finding,
    severity: Severity,
    rule: Rule,
    affected: Iterable[AffectedConsumer] = (),
    waiver: Waiver | None = None,
) -> Document:
    """The document of `explain FINDING`: the finding and the page of its rule."""
    return {
        "schema_version": SCHEMA_VERSION,
        "finding": build_finding(found, severity, waiver, affected),
        "rule": _build_rule(rule),
    }


def build_rules(catalogue: Iterable[Rule]) -> Document:
    """The document of `rules`."""
    return {"schema_version": SCHEMA_VERSION, "rules": [_build_rule(r) for r in catalogue]}


def _build_rule(rule: Rule) -> Document:
    verdicts: Mapping[str, str] = {r: rule.verdicts[r] for r in READERS if r in rule.verdicts}
    return {"name": rule.name, "title": rule.title, "verdicts": dict(verdicts), "page": rule.page}


def _split_change(found: Change) -> tuple[Path, Json, Json]:
    match found:
        case AddColumn(path, column, after):
            return path, None, _build_field(column) | {"after": after}
        case DropColumn(path, column):
            return path, _build_field(column), None
        case RenameColumn(path, name):
            return path, path[-1], name
        case MoveColumn(path, after):
            return path, None, {"after": after}
        case ChangeType(path, old, new):
            return path, format_type(old), format_type(new)
        case ChangeKey(old, new):
            return (), list(old), list(new)
        case ChangeNullable(path, old, new):
            return path, old, new
        case ChangeDefault(path, old, new):
            return path, old, new
        case ChangeComment(path, old, new):
            return path, old, new
        case ChangeAttribute(path, _, old, new):
            return path, old, new
        case _:
            assert_never(found)


def _build_field(found: ColumnOrField) -> Document:
    if isinstance(found, Column):
        return column_document(found)
    return {
        "name": found.name,
        "type": format_type(found.type),
        "nullable": found.nullable,
        "comment": found.comment,
    }
