"""Requests and answers of HTTP as values: whole, since no body is streamed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request that has arrived; names of headers are in lower case.

    `path` is as it was sent, without the query. `body` is None for one that is too large.
    """

    method: str
    path: bytes
    query: bytes
    headers: Mapping[bytes, bytes]
    body: bytes | None
    client: str = ""

    def read_header(self, name: bytes) -> str:
        """The value of a header; empty for none."""
        return self.headers.get(name, b"").decode("latin-1")


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A status, headers without the length of the body, and the body."""

    status: int
    body: bytes = b""
    headers: Headers = ()

    def list_headers(self) -> list[tuple[bytes, bytes]]:
        """The headers with the length of the body, which an answer without content does not have."""
        if self.status == 204:
            return list(self.headers)
        return [(b"content-length", b"%d" % len(self.body)), *self.headers]


def find_headers(headers: Headers | list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """The first value of each header."""
    return dict(reversed(headers))
