"""HTTP/1.1 of requests that arrive as a whole, without a state machine for each of their parts.

A request in one or two segments, with a length and without options of HTTP that change its framing, is read
here. Every other one, also a malformed one, goes to h11 with all of its bytes. Source: RFC 9112.
"""

from __future__ import annotations

import asyncio
import re
from asyncio import TimerHandle
from http import HTTPStatus
from typing import Any

import h11

from schemaman.server.deadlines import DeadlineProtocol
from schemaman.server.http_messages import HttpAnswer, HttpRequest

_LARGEST = 64 << 10
_PART_SECONDS = 0.5
"""How long the rest of a request may take until h11 waits for it."""

_HEAD = re.compile(
    rb"(GET|POST|PUT|DELETE) (/[!-~]*) HTTP/1\.1\r\n((?:[!#$%&'*+.^_`|~0-9A-Za-z-]+: ?[\x20-\x7e]*\r\n)+)\r\n"
)
_USUAL_CONNECTION = frozenset({b"keep-alive", b""})
_FRAMING = (b"transfer-encoding", b"expect", b"upgrade", b"te", b"trailer")
_REASONS = {status.value: status.phrase.encode("ascii") for status in HTTPStatus}


def parse_request(data: bytes, client: str) -> HttpRequest | int | None:
    """Read the bytes of a request.

    Returns:
        The request if the bytes are exactly one, the number of bytes that its body lacks, or None if it is to
        be read in another way.
    """
    found = _HEAD.match(data)
    if found is None:
        return None
    method, target, block = found.groups()
    lines = block.split(b"\r\n")
    headers: dict[bytes, bytes] = {}
    for line in lines[:-1]:
        name, _, value = line.partition(b":")
        headers[name.lower()] = value.strip()
    length = headers.get(b"content-length", b"0")
    if (
        len(headers) < len(lines) - 1  # one of them is there twice
        or b"host" not in headers
        or not length.isdigit()
        or len(length) > 5
        or headers.get(b"connection", b"").lower() not in _USUAL_CONNECTION
        or any(name in headers for name in _FRAMING)
    ):
        return None
    body = data[found.end() :]
    lacking = int(length) - len(body)
    if lacking < 0:
        return None
    if lacking:
        return lacking
    path, _, query = target.partition(b"?")
    return HttpRequest(method.decode("ascii"), path, query, headers, body, client)


def format_answer(answer: HttpAnswer, usual: list[tuple[bytes, bytes]]) -> bytes:
    """Write an answer to a request that was no HEAD; `usual` are headers of every answer."""
    head = [b"HTTP/1.1 %d %s\r\n" % (answer.status, _REASONS[answer.status])]
    head += [b"%s: %s\r\n" % pair for pair in (*usual, *answer.list_headers())]
    return b"".join((*head, b"\r\n", answer.body))


class _WholeCycle:
    """What uvicorn asks of a request that is answered: whether it is complete, and to close behind it."""

    def __init__(self) -> None:
        self.response_complete = False
        self.disconnected = False
        self.keep_alive = True
        self.message_event = asyncio.Event()


class WholeRequestProtocol(DeadlineProtocol):
    """HTTP/1.1 of uvicorn; requests that arrive as a whole are answered without it."""

    _part = b""
    _part_timer: TimerHandle | None = None
    _later = b""
    _quiet_since = 0.0

    def data_received(self, data: bytes) -> None:
        """Read bytes."""
        if isinstance(self.cycle, _WholeCycle) and not self.cycle.response_complete:
            self._later += data
            if len(self._later) > _LARGEST:
                self.flow.pause_reading()
            return
        if self._part:
            data, self._part = self._part + data, b""
            self._stop_part_timer()
        elif not self._is_between_requests():
            super().data_received(data)
            return
        request = parse_request(data, self._find_client())
        if isinstance(request, HttpRequest):
            self._answer(request)
        elif request is not None and len(data) + request <= _LARGEST:
            self._part = data
            self._stop_time()
            self._part_timer = self.loop.call_later(_PART_SECONDS, self._give_part_away)
        else:
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_part_timer()
        super().connection_lost(exc)

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that was silent for long enough."""
        self.timeout_keep_alive_task = None
        rest = self._quiet_since + self.timeout_keep_alive - self.loop.time()
        if rest > 0.001 and not self.transport.is_closing():
            self.timeout_keep_alive_task = self.loop.call_later(rest, self.timeout_keep_alive_handler)
        elif not self._part and (self.cycle is None or self.cycle.response_complete):
            super().timeout_keep_alive_handler()

    def _is_between_requests(self) -> bool:
        conn = self.conn
        is_idle = conn.our_state is h11.IDLE and conn.their_state is h11.IDLE
        return is_idle and not conn.trailing_data[0] and (self.cycle is None or self.cycle.response_complete)

    def _find_client(self) -> str:
        return self.client[0] if self.client else ""

    def _answer(self, request: HttpRequest) -> None:
        application: Any = self.app
        kept = None if self.flow.write_paused else application.find_kept(request)
        if kept is not None:
            self._stop_time()
            self._write(kept)
            self._stay()
            return
        self._unset_keepalive_if_required()
        self._stop_time()
        cycle = _WholeCycle()
        self.cycle = cycle
        task = self.loop.create_task(self._answer_later(application, request, cycle))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _answer_later(self, application: Any, request: HttpRequest, cycle: _WholeCycle) -> None:
        try:
            answer = await application.answer(request)
        except BaseException as error:
            self.logger.error("Exception in the application\n", exc_info=error)
            answer = HttpAnswer(500, b"Internal Server Error", ((b"connection", b"close"),))
            cycle.keep_alive = False
        if self.flow.write_paused:  # the client does not read its answers: none is added in memory
            await self.flow.drain()
        cycle.response_complete = True
        if self.transport.is_closing():
            return
        if not cycle.keep_alive and (b"connection", b"close") not in answer.headers:
            answer = HttpAnswer(answer.status, answer.body, (*answer.headers, (b"connection", b"close")))
        self._write(answer)
        if not cycle.keep_alive:
            self.transport.close()
            return
        self._stay()
        self.flow.resume_reading()
        if self._later:
            data, self._later = self._later, b""
            self.data_received(data)

    def _write(self, answer: HttpAnswer) -> None:
        self.server_state.total_requests += 1
        self.transport.write(format_answer(answer, self.server_state.default_headers))

    def _stay(self) -> None:
        """Keep the connection for some seconds."""
        self._quiet_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _give_part_away(self) -> None:
        """Let h11 wait for the rest of a request."""
        self._part_timer = None
        data, self._part = self._part, b""
        super().data_received(data)

    def _stop_part_timer(self) -> None:
        if self._part_timer is not None:
            self._part_timer.cancel()
            self._part_timer = None
