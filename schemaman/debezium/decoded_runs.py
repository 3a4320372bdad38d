"""Runs of one shape are decoded once: topics have many partitions, and each has the same schemas."""

from __future__ import annotations

from dataclasses import replace

from schemaman.debezium.decode import decode
from schemaman.debezium.observation import Observation, Outcome, SchemaRun
from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.wire_format import AUTO, Forms

_KEPT = 1024


class RunDecoder:
    """Decodes runs of one stream; what depends on the shape alone is kept.

    Law: the outcomes are those of `decode`. Only a single image with a schema is kept. The text of a struct
    as a key is compared with the row of each run, so that such runs are decoded one by one.
    """

    def __init__(self, stream: str, schemas: SchemaLookup, forms: Forms = AUTO) -> None:
        self._stream = stream
        self._schemas = schemas
        self._forms = forms
        self._known: dict[tuple[str, tuple[str, ...], str], Observation] = {}

    def decode(self, run: SchemaRun) -> tuple[Outcome, ...]:
        """Decodes a run, as `decode` does."""
        if run.fault is not None or run.inferred is not None or not run.table:
            return decode(run, self._stream, self._schemas, self._forms)
        if not _is_structured(run.sample.key):
            return decode(run, self._stream, self._schemas, self._forms)
        shape = (run.first.topic, run.table, run.shape)
        known = self._known.get(shape)
        if known is not None:
            return (
                replace(known, first=run.first, last=run.last, count=run.count, interrupted=run.interrupted),
            )
        outcomes = decode(run, self._stream, self._schemas, self._forms)
        match outcomes:
            case (Observation(evidence="emitted", action="image", inferred=None) as observed,):
                if len(self._known) >= _KEPT:
                    self._known.clear()
                self._known[shape] = observed
        return outcomes


def _is_structured(key: bytes | None) -> bool:
    """Returns whether a key is null, JSON, or framed bytes."""
    return key is None or key[:1] in (b"{", b"\0")
