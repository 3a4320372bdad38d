"""Answers that are given again for a moment: consumers ask for the same few schemas by id.

An answer is dropped with the next change in this process. A change by another server shows a few seconds
later.
"""

from __future__ import annotations

import time

_FRESH_SECONDS = 5.0
_LARGEST_COUNT = 10_000
_LARGEST_BYTES = 64 << 20


class KeptAnswers:
    """Bodies by what was asked; `change` stands for the last change that an answer has seen."""

    def __init__(self) -> None:
        self._kept: dict[object, tuple[object, float, bytes]] = {}
        self._size = 0

    def find(self, asked: object, change: object) -> bytes | None:
        """Find a body that is still true."""
        kept = self._kept.get(asked)
        if kept is None or kept[0] is not change or kept[1] < time.monotonic():
            return None
        return kept[2]

    def keep(self, asked: object, change: object, body: bytes) -> None:
        """Keep a body; `change` was the last one before the body was made."""
        if len(self._kept) >= _LARGEST_COUNT or self._size > _LARGEST_BYTES:
            self._kept.clear()
            self._size = 0
        self._kept[asked] = change, time.monotonic() + _FRESH_SECONDS, body
        self._size += len(body)
