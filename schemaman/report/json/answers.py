"""Builds the JSON documents of commands that write files or change the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from schemaman.compat.waivers import Waiver
from schemaman.history.decisions import Approval
from schemaman.model.schema import TableId
from schemaman.report.json.tables import SCHEMA_VERSION
from schemaman.store.log import Lease

Answer = dict[str, object]
"""A document; it may be printed as it is."""


@dataclass(frozen=True, slots=True)
class WrittenSnapshot:
    """The snapshot file of a version of a table."""

    table: TableId
    version: int
    file: str


@dataclass(frozen=True, slots=True)
class PlanApproval:
    """What `approve` did about a plan, and its approval if there is one now."""

    plan: str
    table: str
    state: Literal["written", "known", "not-needed", "declined"]
    approval: Approval | None = None


def build_snapshots(written: Iterable[WrittenSnapshot], differing: Iterable[str] = ()) -> Answer:
    """The document of `snapshot` and `accept`; `differing` tables have changed since their snapshot."""
    return {
        "schema_version": SCHEMA_VERSION,
        "written": [{"table": str(w.table), "version": w.version, "file": w.file} for w in written],
        "differing": list(differing),
    }


def build_lines(file: str, lines: Iterable[str]) -> Answer:
    """The document of `textconv` and `git-diff`: what they print of a file."""
    return {"schema_version": SCHEMA_VERSION, "file": file, "lines": list(lines)}


def build_decision(answer: str, table: TableId, words: Sequence[str], file: str, *, written: bool) -> Answer:
    """The document of `decide`; without `written` the file contained the answer already."""
    return {
        "schema_version": SCHEMA_VERSION,
        "answer": answer,
        "table": str(table),
        "words": list(words),
        "file": file,
        "written": written,
    }


def build_written_waiver(waiver: Waiver, file: str, *, written: bool) -> Answer:
    """The document of `waive`; without `written` the file contained the waiver already."""
    return {
        "schema_version": SCHEMA_VERSION,
        "fingerprint": waiver.finding,
        "rule": waiver.rule,
        "table": waiver.table,
        "reason": waiver.reason,
        "owner": waiver.owner,
        "expires": waiver.expires.isoformat(),
        "file": file,
        "written": written,
    }


def build_approvals(file: str, approvals: Iterable[PlanApproval]) -> Answer:
    """The document of `approve`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "file": file,
        "plans": [
            {
                "plan": one.plan,
                "table": one.table,
                "state": one.state,
                "by": None if one.approval is None else one.approval.by,
                "expires": None if one.approval is None else one.approval.expires.isoformat(),
            }
            for one in approvals
        ],
    }


def build_release(lease: Lease, released: bool) -> Answer:
    """The document of `unlock`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "lease": lease.token,
        "target": lease.target,
        "owner": lease.owner,
        "released": released,
    }


def build_store(
    action: str,
    where: str,
    *,
    faults: Iterable[str] = (),
    file: str | None = None,
    entries: int | None = None,
) -> Answer:
    """The document of `store`; `file` and `entries` are those of a copy, `faults` those of the store."""
    return {
        "schema_version": SCHEMA_VERSION,
        "action": action,
        "store": where,
        "faults": list(faults),
        "file": file,
        "entries": entries,
    }


def build_registry(
    action: str,
    store: str,
    place: str,
    subjects: int,
    versions: int,
    schemas: int,
    not_kept: Iterable[str] = (),
) -> Answer:
    """The document of `registry`: what was copied between the store and a file or a server."""
    return {
        "schema_version": SCHEMA_VERSION,
        "action": action,
        "store": store,
        "place": place,
        "subjects": subjects,
        "versions": versions,
        "schemas": schemas,
        "not_kept": list(not_kept),
    }


def build_served(url: str | None, user: str | None, role: str | None) -> Answer:
    """The document of `serve`: where the server listens, or the user who was added."""
    return {"schema_version": SCHEMA_VERSION, "url": url, "user": user, "role": role}


def build_error(message: str, hint: str | None, code: int) -> Answer:
    """The error that ends a command, with its exit code."""
    error = {"message": message, "hint": hint or None, "exit_code": code}
    return {"schema_version": SCHEMA_VERSION, "error": error}


def build_outputs(names: Iterable[str]) -> Answer:
    """The document of `schema` without a name."""
    return {"schema_version": SCHEMA_VERSION, "outputs": list(names)}


def build_completion(shell: str, script: str) -> Answer:
    """The document of `completion`."""
    return {"schema_version": SCHEMA_VERSION, "shell": shell, "script": script}


def build_demo(folder: str, report: str, steps: int) -> Answer:
    """The document of `demo`: the folder with all files, the report in it, and the number of steps."""
    return {"schema_version": SCHEMA_VERSION, "folder": folder, "report": report, "steps": steps}
