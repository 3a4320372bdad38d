"""What the server counts, for Prometheus.

Routes are templates, so that names of subjects make no new series.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counters of one server."""

    def __init__(self) -> None:
        self._collected = CollectorRegistry()
        self.requests = Counter(
            "schemaman_registry_requests",
            "Requests by route, method and status",
            ("route", "method", "status"),
            registry=self._collected,
        )
        self.seconds = Histogram(
            "schemaman_registry_request_seconds",
            "Seconds until an answer, by route and method",
            ("route", "method"),
            buckets=_SECONDS,
            registry=self._collected,
        )
        self.registrations = Counter(
            "schemaman_registry_registrations",
            "Requests to register a schema that were answered with its id",
            registry=self._collected,
        )
        self.refusals = Counter(
            "schemaman_registry_refusals", "Refused requests by code", ("code",), registry=self._collected
        )

    def format(self) -> bytes:
        """Format all counters in the text format of Prometheus."""
        return generate_latest(self._collected)
