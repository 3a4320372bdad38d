"""Decodes runs; what runs of one shape have in common is decoded once."""

from __future__ import annotations

from dataclasses import replace

from schemaman.debezium.decode import decode
from schemaman.debezium.observation import Observation, Outcome, SchemaRun
from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.wire_format import AUTO, Forms

_KEPT_IMAGES = 4_096


class RunDecoder:
    """Decodes the runs of a stream as `decode` does.

    The runs of a topic with one table and shape differ in their coordinates and counts alone if they show no
    more than an event schema. So partitions and chunks of a topic cost one decoding.
    """

    def __init__(self, stream: str, schemas: SchemaLookup, forms: Forms = AUTO) -> None:
        self._stream = stream
        self._schemas = schemas
        self._forms = forms
        self._images: dict[tuple[str, tuple[str, ...], str], Observation] = {}

    def decode(self, run: SchemaRun) -> tuple[Outcome, ...]:
        """Decodes a run; a run that cannot be read gives one `Reject` with the reason."""
        if run.fault is not None or run.inferred is not None or not run.table:
            return decode(run, self._stream, self._schemas, self._forms)
        shown = (run.first.topic, run.table, run.shape)
        image = self._images.get(shown)
        if image is not None:
            return (
                replace(image, first=run.first, last=run.last, count=run.count, interrupted=run.interrupted),
            )
        outcomes = decode(run, self._stream, self._schemas, self._forms)
        match outcomes:
            case (Observation(evidence="emitted", action="image") as image,):
                if len(self._images) >= _KEPT_IMAGES:
                    self._images.clear()
                self._images[shown] = image
        return outcomes
