"""Builds the JSON of `impact`, and of the consumers that a finding concerns."""

from __future__ import annotations

from collections.abc import Iterable

from schemaman.compat.affected_consumers import AffectedConsumer
from schemaman.compat.consumers import Consumer
from schemaman.compat.impact.graph import ConsumerUse, ImpactGraph, Unread
from schemaman.compat.impact.impact import Impact
from schemaman.report.json.tables import SCHEMA_VERSION, Document


def build_impact(found: Impact) -> Document:
    """The document of `impact`: statements, declared consumers, what was not read, and the coverage."""
    return {
        "schema_version": SCHEMA_VERSION,
        "table": str(found.table),
        "path": list(found.path),
        "uses": [{"consumer": use.consumer, **_build_use(use)} for use in found.uses],
        "declared": [_build_consumer(consumer) for consumer in found.declared],
        "unread": [_build_unread(one) for one in found.unread],
        "coverage": {
            "consumers": found.consumers,
            "statements": found.coverage.statements,
            "unread": found.coverage.unread,
            "columns": found.coverage.columns,
            "unresolved": found.coverage.unresolved,
            "elsewhere": found.elsewhere,
        },
    }


def build_coverage(graph: ImpactGraph) -> Document:
    """How much of the SQL of all consumers was read, and what was not, as `check` says it."""
    coverage = graph.coverage
    return {
        "statements": coverage.statements,
        "columns": coverage.columns,
        "unread": [_build_unread(one) for one in graph.unread],
    }


def build_affected(affected: Iterable[AffectedConsumer]) -> list[Document]:
    """The consumers that a finding concerns, each with the worst verdict of its readers."""
    return [
        {
            **_build_consumer(one.consumer),
            "verdict": one.verdict,
            "certain": one.is_certain,
            "uses": [_build_use(use) for use in one.uses],
        }
        for one in affected
    ]


def _build_consumer(consumer: Consumer) -> Document:
    return {
        "name": consumer.name,
        "kind": consumer.kind,
        "owner": consumer.owner,
        "contact": consumer.contact,
    }


def _build_use(use: ConsumerUse) -> Document:
    return {
        "file": use.file,
        "line": use.line,
        "statement": use.name,
        "owner": use.owner,
        "contact": use.contact,
        "hops": use.hops,
        "through": list(use.through),
        "roles": list(use.roles),
    }


def _build_unread(one: Unread) -> Document:
    return {
        "consumer": one.place.consumer,
        "file": one.place.file,
        "line": one.place.line,
        "statement": one.place.name,
        "reason": one.reason,
        "owner": one.place.owner,
        "contact": one.place.contact,
    }
