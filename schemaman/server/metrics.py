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
        self._counted: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
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

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        counted = self._counted.get((route, method, status))
        if counted is None:
            labels = route, method, str(status)
            counted = self.requests.labels(*labels), self.seconds.labels(route, method)
            self._counted[route, method, status] = counted
        counted[0].inc()
        counted[1].observe(seconds)

    def format(self) -> bytes:
        """Format all counters in the text format of Prometheus."""
        return generate_latest(self._collected)
