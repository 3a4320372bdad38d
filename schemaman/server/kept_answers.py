"""Answers that are given again while nothing has changed: clients ask for the same few schemas.

Law: an answer is kept with the revision of the registry from before it was made. So an answer to a request
that has itself changed something is never given again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import Scope

from schemaman.server.calls import Endpoint

LASTING_SECONDS = 5.0
"""How old an answer may be that is told from the changes in this process alone."""
_LARGEST_COUNT = 20_000
_LARGEST_BYTES = 64 << 20
_LARGEST_BODY = 64 << 10
"""Bytes of a request that is worth remembering."""

Key = tuple[str, bytes, bytes, bytes, bytes, bytes | None]


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer; `change` was the last one in this process before it was made, and `until` ends it there.

    One without a revision only tells that it was asked for before.
    """

    endpoint: Endpoint
    response: Response
    revision: object
    change: object
    until: float

    def is_true(self, revision: object | None, change: object) -> bool:
        """Whether nothing has changed since.

        Without a known revision, an answer that is lasting is good for some seconds: only another server may
        have changed it.
        """
        if revision is not None:
            return self.revision == revision
        return self.endpoint.is_lasting and self.change is change and time.monotonic() < self.until


class KeptAnswers:
    """Answers by what was asked."""

    def __init__(self) -> None:
        self._kept: dict[Key, KeptAnswer] = {}
        self._size = 0

    def find(self, key: Key) -> KeptAnswer | None:
        """Find the answer to what was asked, which may be outdated."""
        return self._kept.get(key)

    def keep(self, key: Key, kept: KeptAnswer) -> None:
        """Keep an answer in place of an earlier one."""
        body = key[-1] or b""
        if len(body) > _LARGEST_BODY:
            return
        if len(self._kept) >= _LARGEST_COUNT or self._size > _LARGEST_BYTES:
            self._kept.clear()
            self._size = 0
        self._kept[key] = kept
        self._size += len(kept.response.body) + len(body)


def make_key(scope: Scope, path: bytes, body: bytes | None) -> Key:
    """All of a request that its answer depends on, but who asks."""
    accepted = sent = b""
    for name, value in reversed(scope["headers"]):  # the first one of a name counts
        if name == b"accept":
            accepted = value
        elif name == b"content-type":
            sent = value
    return scope["method"], path, scope["query_string"], accepted, sent, body
