"""Closes connections that send no whole request in time: otherwise a few slow clients keep all others out.

Uvicorn itself ends only connections that are silent between two requests. Its parser, httptools, bounds
neither the time nor the bytes of headers, and takes the body of a request that offers to change the protocol
for bytes of that protocol.
"""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 20.0
"""How long the line and the headers of a request may take."""
BODY_SECONDS = 60.0
"""How long the body of a request may take."""
_LARGEST_HEADERS = 64 << 10
"""Bytes of the line and the headers of a request, or of what follows its last chunk."""

_Base: Any = HttpToolsProtocol


class DeadlineProtocol(_Base):  # type: ignore[misc]
    """HTTP/1.1 of uvicorn, with a time and a size within which the headers of a request must be there.

    An offer to change the protocol is ignored, as RFC 9110, 7.8 allows; Java's own client adds it to bodies.
    """

    _timer: TimerHandle | None = None
    _unfinished = 0
    headers: list[tuple[bytes, bytes]]
    parser: Any

    def connection_made(self, transport: Transport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._follow_time()

    def data_received(self, data: bytes) -> None:
        """Read bytes, and go on waiting unless the headers are there."""
        self._unfinished += len(data)
        self._unset_keepalive_if_required()
        self._feed(data)
        if self._unfinished > _LARGEST_HEADERS and not self.transport.is_closing():
            self.send_400_response("The headers are too large.")
        self._follow_time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_time()
        super().connection_lost(exc)

    def on_headers_complete(self) -> None:
        """Begin to answer a request; fields behind its last chunk are none of its headers."""
        self._unfinished = 0
        if self.parser.get_method() == b"CONNECT":
            raise ValueError("this is no proxy")
        if not self.parser.should_upgrade():
            super().on_headers_complete()
            self.headers = []

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._unfinished = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Take the end of a request."""
        self._unfinished = 0
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def _feed(self, data: bytes) -> None:
        while data:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as offer:
                data = self._format_head_without_offer() + data[offer.args[0] :]
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn
            except httptools.HttpParserError:
                self.send_400_response("Invalid HTTP request received.")
                return

    def _format_head_without_offer(self) -> bytes:
        line = b"%s %s HTTP/%s\r\n" % (
            self.parser.get_method(),
            self.url,
            self.parser.get_http_version().encode("ascii"),
        )
        fields = (b"%s: %s\r\n" % (name, value) for name, value in self.headers if name != b"upgrade")
        return b"".join((line, *fields, b"\r\n"))

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
