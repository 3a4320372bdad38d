"""The faults of requests to a schema registry, with the codes that clients know.

Source: Confluent Schema Registry, REST API, "Errors".
"""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.errors import CouldNotDo
from schemaman.store.subjects import SubjectName

FAULTS: Mapping[int, str] = {
    40401: "subject not found",
    40402: "version not found",
    40403: "schema not found",
    40404: "subject is soft-deleted already",
    40405: "subject must be soft-deleted before it is deleted permanently",
    40406: "version is soft-deleted already",
    40407: "version must be soft-deleted before it is deleted permanently",
    40408: "subject has no compatibility level of its own",
    40409: "subject has no mode of its own",
    40410: "association not found",
    40471: "no table, or no version that early, in the history",
    40472: "version is not quarantined",
    409: "incompatible schema",
    40903: "the resource has another association of this kind",
    40904: "the subject has an association",
    40905: "the subject has a strong association",
    40907: "the subject of an association has no version",
    40908: "the association is frozen",
    42201: "invalid schema",
    42202: "invalid version",
    42203: "invalid compatibility level",
    42204: "invalid mode",
    42205: "operation not permitted",
    42206: "a schema still refers to it",
    42207: "the content has another id",
    42208: "invalid subject",
    42209: "request too large",
    42210: "invalid rule set",
    42211: "context is not empty",
    42212: "invalid association",
    42271: "invalid or uncertain position or time",
    42272: "invalid policy",
    42273: "invalid mark of quarantine",
    50001: "the store cannot be read or written",
}
"""Code → meaning. The first three digits are the HTTP status. Codes that end in 71 to 79 are our own."""


class RefusedRequest(CouldNotDo):
    """A schema registry refuses a request; `code` says why, and `status` is the HTTP status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    @property
    def status(self) -> int:
        """The HTTP status: the first three digits of the code."""
        return int(str(self.code)[:3])


def make_subject_missing(subject: SubjectName) -> RefusedRequest:
    """Make the fault for a subject without a version."""
    return RefusedRequest(40401, f"Subject '{subject}' not found.")


def make_version_missing(number: object) -> RefusedRequest:
    """Make the fault for a version that the subject does not have."""
    return RefusedRequest(40402, f"Version {number} not found.")


def make_schema_missing() -> RefusedRequest:
    """Make the fault for a content or an id that is not registered."""
    return RefusedRequest(40403, "Schema not found")
