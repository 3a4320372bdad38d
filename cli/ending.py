"""Ends a reading command at SIGTERM, after the chunk that is being read."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

GRACE_SECONDS = 10
"""The longest time to the end of a chunk: a source that waits for records may never reach it."""

Handler = Callable[[int, FrameType | None], object]


class ChunkEnd:
    """Postpones SIGTERM while a chunk has records; `pass_chunk` is called after each chunk."""

    def __init__(self, terminate: Handler) -> None:
        self._terminate = terminate
        self._is_asked = False
        self._has_records = False

    def count_record(self) -> None:
        """Note that a chunk has begun."""
        self._has_records = True

    def pass_chunk(self) -> None:
        """Note that a chunk is recorded. Terminates if that was asked for."""
        self._has_records = False
        if self._is_asked:
            self._terminate(signal.SIGTERM, None)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: the first SIGTERM waits for the end of the chunk, at most `GRACE_SECONDS`."""
        if self._is_asked or not self._has_records:
            self._terminate(number, frame)
        self._is_asked = True
        signal.signal(signal.SIGALRM, self._terminate)
        signal.alarm(GRACE_SECONDS)


@contextmanager
def end_after_chunk() -> Iterator[ChunkEnd]:
    """Postpone SIGTERM to the ends of chunks while the context is open; Python has set its handler."""
    before = signal.getsignal(signal.SIGTERM)
    if not callable(before) or not hasattr(signal, "SIGALRM"):
        yield ChunkEnd(lambda *_: None)
        return
    end = ChunkEnd(before)
    signal.signal(signal.SIGTERM, end.handle)
    try:
        yield end
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGTERM, before)
