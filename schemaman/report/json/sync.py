"""Builds the JSON document of a round of `sync`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from schemaman.ingest.ingest import Summary
from schemaman.report.json.tables import SCHEMA_VERSION, Document

State = Literal["current", "applied", "waiting", "refused", "failed"]
"""`current`: nothing was to be done. `waiting`: for a person's approval. `failed`: tried again later."""


@dataclass(frozen=True, slots=True)
class FollowedTable:
    """The result of one lake table in a round of `sync`.

    `plan` is the hash of the plan and `file` its path; `statements` are those that ran.
    `reasons` are sentences about refusals, approvals, errors, or changes by someone else;
    `code` is its exit code. `bounds` are the reasons among them by which a bound of the policy keeps a table
    that is current from a change.
    """

    table: str
    target: str
    lake_table: str
    state: State
    code: int = 0
    plan: str = ""
    file: str = ""
    statements: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        """Whether the lake table follows the newest version."""
        return self.state in ("current", "applied")


def build_sync(read: Summary, followed: Sequence[FollowedTable]) -> Document:
    """The document of a round of `sync`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "records": {"read": read.read, "new": read.new, "known": read.known, "rejected": read.rejects},
        "tables": [
            {
                "table": f.table,
                "target": f.target,
                "lake_table": f.lake_table,
                "state": f.state,
                "plan": f.plan or None,
                "file": f.file or None,
                "statements": list(f.statements),
                "reasons": list(f.reasons),
            }
            for f in followed
        ],
    }
