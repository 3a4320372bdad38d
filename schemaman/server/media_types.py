"""The media types that clients send and accept.

Source: Confluent Schema Registry, REST API, "Content types".
"""

from __future__ import annotations

PRODUCED = (
    "application/vnd.schemaregistry.v1+json",
    "application/vnd.schemaregistry+json",
    "application/json",
)
"""In order of precedence."""
_CONSUMED = frozenset({*PRODUCED, "application/octet-stream"})


def choose_media_type(accept: str) -> str | None:
    """The type of an answer for an `Accept` header; the first for none, None if no type is accepted."""
    if not accept.strip():
        return PRODUCED[0]
    best: tuple[float, float] = (0.0, 0.0)
    chosen = None
    for part in accept.split(","):
        name, *parameters = (word.strip().lower() for word in part.split(";"))
        weight = _read_weight(parameters)
        for rank, produced in zip((1, 0.9, 0.5), PRODUCED, strict=True):
            if name in (produced, "*/*", "application/*") and (weight, rank) > best and weight > 0:
                best, chosen = (weight, rank), produced
    return chosen


def is_readable(content_type: str) -> bool:
    """Whether a body of this `Content-Type` is read; one without a type is."""
    name = content_type.partition(";")[0].strip().lower()
    return not name or name in _CONSUMED


def _read_weight(parameters: list[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0
