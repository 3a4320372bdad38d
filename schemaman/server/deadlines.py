"""Closes connections that send no whole request in time: otherwise a few slow clients keep all others out.

Uvicorn itself ends only connections that are silent between two requests.
"""

from __future__ import annotations

from asyncio import TimerHandle
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 20.0
"""How long the line and the headers of a request may take."""
BODY_SECONDS = 60.0
"""How long the body of a request may take."""

_Base: Any = H11Protocol


class DeadlineProtocol(_Base):  # type: ignore[misc]
    """HTTP/1.1 of uvicorn, with a time in which the headers of a request must be there."""

    _timer: TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._follow_time()

    def data_received(self, data: bytes) -> None:
        """Read bytes, and go on waiting unless the headers are there."""
        super().data_received(data)
        self._follow_time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_time()
        super().connection_lost(exc)

    def _follow_time(self) -> None:
        if not self._is_waiting():
            self._stop_time()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEADER_SECONDS, self._close_waiting)

    def _is_waiting(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _stop_time(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_waiting(self) -> None:
        self._timer = None
        if self._is_waiting() and not self.transport.is_closing():
            self.transport.close()
