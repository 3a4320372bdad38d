"""The HTTP server of a schema registry, as an ASGI application.

Laws: a permanent fault is no 500, since clients repeat those; a fault has a code and a message only;
neither log nor metrics contain a header of credentials, a query or a body. Source: ASGI specification 3.0.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from schemaman.errors import SchemamanError
from schemaman.server import metrics
from schemaman.server.answers import build_fault
from schemaman.server.calls import NO_CONTENT, Call, ManyAnswers, RawText
from schemaman.server.deadlines import BODY_SECONDS
from schemaman.server.endpoints import register_schema
from schemaman.server.kept_answers import KeptAnswers
from schemaman.server.media_types import PRODUCED, choose_media_type, is_readable
from schemaman.server.routes import NoRoute, Route, find_route
from schemaman.server.users import Authenticator, User
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.schema_registry import SchemaRegistry

LARGEST_REQUEST = 4 << 20
"""Bytes of a body, unless the server is started with another limit."""
_DISCARDED = 4
"""How many times the largest body is read, and discarded, before the connection is closed."""
_STORE_FAULT = 50001
_METRICS = "/metrics"
_OPEN = frozenset({"/", "/health"})
"""Paths for probes, which have no password."""
_WORDS = {
    400: "The body is no JSON",
    401: "Authentication is required",
    403: "This user may only read",
    404: "No such path",
    405: "The path does not have this method",
    406: "None of the accepted types is served",
    408: "The body did not arrive in time",
    415: f"This Content-Type of the body is not read; send {PRODUCED[0]} or application/json",
}


class HttpFault(Exception):
    """A fault of HTTP itself; its code is its status."""

    def __init__(self, status: int, words: str = "") -> None:
        super().__init__(words or _WORDS[status])
        self.status = status


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How to serve; without an authenticator every client may do everything.

    `conflict_code` is the code of an incompatible schema: 409, or 40901 as newer releases of Confluent send.
    `write_log` takes a line for each request.
    """

    authenticator: Authenticator | None = None
    largest_request: int = LARGEST_REQUEST
    conflict_code: int = 409
    write_log: Callable[[str], None] | None = None


@dataclass(slots=True)
class _Handled:
    """What is known of a request while it is answered."""

    path: str = ""
    route: str = "none"
    user: User | None = None
    code: int = 0

    @property
    def actor(self) -> str:
        return "" if self.user is None else self.user.name


class RegistryApplication:
    """Serves one registry; several servers may share its store."""

    def __init__(self, registry: SchemaRegistry, options: ServerOptions | None = None) -> None:
        self._registry = registry
        self._options = options or ServerOptions()
        self._kept = KeptAnswers()
        self.metrics = metrics.Metrics()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await _follow_lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        began = time.perf_counter()
        request, handled = Request(scope, receive), _Handled()
        try:
            response = await self._respond(request, handled)
        except ClientDisconnect:
            return
        seconds = time.perf_counter() - began
        await response(scope, receive, send)
        self._record(request, response, handled, seconds)

    async def _respond(self, request: Request, handled: _Handled) -> Response:
        media_type = PRODUCED[0]
        try:
            data = await self._read_body(request)
            raw_path: bytes = request.scope.get("raw_path") or request.url.path.encode()
            raw_path = raw_path.partition(b"?")[0]
            handled.path = raw_path.decode("ascii", "replace")
            await self._authenticate(request, handled)
            if handled.path == _METRICS and request.method in ("GET", "HEAD"):
                handled.route = _METRICS
                return Response(self.metrics.format(), media_type=metrics.MEDIA_TYPE)
            chosen = choose_media_type(request.headers.get("accept", ""))
            if chosen is None:
                raise HttpFault(406)
            media_type = chosen
            route = find_route(request.method, raw_path)
            handled.route = route.endpoint.path
            if route.endpoint.is_write and handled.user is not None and not handled.user.may_write:
                raise HttpFault(403)
            asked = raw_path, request.scope.get("query_string", b""), media_type
            change = self._registry.last_change
            if route.endpoint.is_kept and (kept := self._kept.find(asked, change)) is not None:
                return Response(kept, headers={"Content-Type": media_type})
            call = self._read_call(request, route, handled, data)
            # A thread costs more than to read one row of a file; resolving references may take long.
            is_quick = route.endpoint.is_kept and self._registry.is_local and not call.read_text("format")
            answer = (
                route.endpoint.answer(call)
                if is_quick
                else await run_in_threadpool(route.endpoint.answer, call)
            )
            if route.endpoint.answer is register_schema:
                self.metrics.registrations.inc()
            response = _make_response(answer, media_type)
            if route.endpoint.is_kept:
                self._kept.keep(asked, change, bytes(response.body))
            return response
        except RefusedRequest as error:
            handled.code = self._options.conflict_code if error.code == 409 else error.code
            return _make_response(build_fault(handled.code, error.message), media_type, error.status)
        except NoRoute as error:
            handled.code = error.status
            return _make_response(build_fault(error.status, _WORDS[error.status]), media_type, error.status)
        except HttpFault as error:
            handled.code = error.status
            answer = build_fault(error.status, str(error))
            response = _make_response(answer, media_type, error.status)
            if error.status == 408:
                response.headers["Connection"] = "close"  # the rest of the body is no next request
            if error.status == 401:
                response.headers["WWW-Authenticate"] = 'Basic realm="schemaman", charset="UTF-8"'
            return response
        except RecursionError:
            handled.code = 42201
            return _make_response(
                build_fault(42201, "Invalid schema: it is nested too deeply"), media_type, 422
            )
        except SchemamanError as error:
            handled.code = _STORE_FAULT
            return _make_response(build_fault(_STORE_FAULT, error.message), media_type, 500)

    async def _authenticate(self, request: Request, handled: _Handled) -> None:
        authenticator = self._options.authenticator
        if authenticator is None or handled.path in _OPEN:
            return
        header = request.headers.get("authorization", "")
        handled.user = await run_in_threadpool(authenticator.find_user, header) if header else None
        if handled.user is None:
            raise HttpFault(401)

    def _read_call(self, request: Request, route: Route, handled: _Handled, data: bytes | None) -> Call:
        body = self._parse_body(request, data) if request.method in ("POST", "PUT") else None
        query = _read_query(request.scope.get("query_string", b""))
        registry = self._registry
        if route.context != registry.context:
            registry = registry.in_context(route.context)
        return Call(registry, route.parts, query, body, handled.actor)

    async def _read_body(self, request: Request) -> bytes | None:
        """Read a body; None for one that is too large.

        A body that is answered before its end resets the connection, and the client loses the answer.
        """
        data, size = bytearray(), 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size <= self._options.largest_request:
                        data += chunk
                    elif size > _DISCARDED * self._options.largest_request:
                        break
        except TimeoutError:
            raise HttpFault(408) from None
        return bytes(data) if size <= self._options.largest_request else None

    def _parse_body(self, request: Request, data: bytes | None) -> object:
        if not is_readable(request.headers.get("content-type", "")):
            raise HttpFault(415)
        if data is None:
            largest = self._options.largest_request
            raise RefusedRequest(42209, f"The request has more than {largest} bytes")
        if not data.strip():
            return None
        try:
            return json.loads(data.decode("utf-8"), parse_constant=_refuse_number, parse_float=_read_double)
        except (ValueError, RecursionError):
            raise HttpFault(400) from None

    def _record(self, request: Request, response: Response, handled: _Handled, seconds: float) -> None:
        method = request.method if request.method in _METHODS else "other"
        status = str(response.status_code)
        self.metrics.requests.labels(handled.route, method, status).inc()
        self.metrics.seconds.labels(handled.route, method).observe(seconds)
        if handled.code:
            self.metrics.refusals.labels(str(handled.code)).inc()
        if self._options.write_log is not None:
            line = {
                "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "client": request.client.host if request.client else "",
                "user": handled.actor,
                "method": method,
                "path": handled.path[:500],
                "status": response.status_code,
                "code": handled.code or None,
                "ms": round(1000 * seconds, 3),
                "request_id": request.headers.get("x-request-id", "")[:100] or None,
            }
            self._options.write_log(json.dumps({name: v for name, v in line.items() if v is not None}))


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


def _make_response(answer: object, media_type: str, status: int = 200) -> Response:
    if answer is NO_CONTENT:
        return Response(status_code=204)
    if isinstance(answer, ManyAnswers):
        answer, status = answer.body, 207
    text = answer.text if isinstance(answer, RawText) else json.dumps(answer, separators=(",", ":"))
    return Response(text.encode("utf-8"), status, {"Content-Type": media_type})


def _read_query(query: bytes) -> Mapping[str, list[str]]:
    text = query.decode("latin-1")
    try:
        return parse_qs(text, keep_blank_values=True, errors="replace", max_num_fields=100)
    except ValueError:
        raise HttpFault(400, "The query has too many parameters") from None


def _refuse_number(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")


def _read_double(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return value


async def _follow_lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
