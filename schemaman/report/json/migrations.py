"""Builds the JSON documents of `apply` and `drift`.

The document of `plan` is the plan file itself, see `schemaman.migration.plan_file`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from schemaman.migration.apply.run import Migration
from schemaman.migration.layout import LayoutChange
from schemaman.model.diff import Diff
from schemaman.report.json.changes import build_change
from schemaman.report.json.tables import SCHEMA_VERSION, Document, Json


@dataclass(frozen=True, slots=True)
class FailedPlan:
    """A plan that could not be applied, one of several: the message, and a hint."""

    run: str
    plan: str
    table: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Drift:
    """The changes that someone else made to one target table; `missing` if the table does not exist.

    `layout` are changes of the layout and settings of the table. `earlier_drift` describes changes by someone
    else that earlier runs found and accepted.
    """

    format: str
    table: str
    changes: Diff
    missing: bool = False
    earlier_drift: str = ""
    layout: tuple[LayoutChange, ...] = ()

    @property
    def is_drifted(self) -> bool:
        """Returns whether the table differs from the last migration's result, or did when a run began."""
        return self.missing or bool(self.changes) or bool(self.layout) or bool(self.earlier_drift)


def build_apply(done: Migration) -> Document:
    """The document of `apply` and `resume`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": done.run,
        "plan": done.plan,
        "table": done.table,
        "state": done.state,
        "steps": [
            {"step": o.number, "state": o.state, "statement": o.statement, "version": o.version}
            for o in done.outcomes
        ],
        "reasons": list(done.reasons),
        "differences": [build_change(c) for c in done.differences],
        "foreign": [build_change(c) for c in done.foreign],
        "foreign_layout": _build_layout(done.foreign_layout),
        "notes": list(done.notes),
        "took_ms": done.took_ms,
    }


def build_failed(fault: FailedPlan) -> Document:
    """The document of a plan that could not be applied, among those of others."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": fault.run,
        "plan": fault.plan,
        "table": fault.table,
        "state": "failed",
        "steps": [],
        "reasons": [text for text in (fault.message, fault.hint) if text],
        "differences": [],
        "foreign": [],
        "foreign_layout": [],
        "notes": [],
        "took_ms": 0,
    }


def build_drift(found: Iterable[Drift]) -> Document:
    """Builds the document of `drift`: every checked table."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tables": [
            {
                "format": d.format,
                "table": d.table,
                "drift": d.is_drifted,
                "gone": d.missing,
                "changes": [build_change(c) for c in d.changes],
                "layout": _build_layout(d.layout),
                "before": d.earlier_drift or None,
            }
            for d in found
        ],
    }


def _build_layout(changes: Iterable[LayoutChange]) -> list[Json]:
    """Builds the changes of a layout; an absent entry or property is null."""
    return [{"name": c.name, "before": c.before or None, "after": c.after or None} for c in changes]
