"""The HTTP server of a schema registry, as an ASGI application.

Laws: a permanent fault is no 500, since clients repeat those; a fault has a code and a message only;
neither log nor metrics contain a header of credentials, a query or a body. Source: ASGI specification 3.0.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from schemaman.errors import SchemamanError
from schemaman.server import metrics
from schemaman.server.answers import build_fault, build_version
from schemaman.server.calls import NO_CONTENT, Call, Endpoint, ManyAnswers, RawText
from schemaman.server.deadlines import BODY_SECONDS
from schemaman.server.endpoints import find_plain_registration, register_schema
from schemaman.server.grouped_registrations import GroupedRegistrations
from schemaman.server.kept_answers import LASTING_SECONDS, KeptAnswer, KeptAnswers, Key, make_key
from schemaman.server.media_types import PRODUCED, choose_media_type, is_readable
from schemaman.server.routes import NoRoute, Route, find_route
from schemaman.server.threads import EndingThreads
from schemaman.server.users import Authenticator, User
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.schema_registry import SchemaRegistry

LARGEST_REQUEST = 4 << 20
"""Bytes of a body, unless the server is started with another limit."""
_DISCARDED = 4
"""How many times the largest body is read, and discarded, before the connection is closed."""
_STORE_FAULT = 50001
_THREADS = 40
_QUICK_BODY = 8 << 10
"""Bytes of a schema that is parsed while other requests wait."""
_SMALL_BODY = 64 << 10
"""Bytes of a registration that shares the commit of others."""
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
    503: "The server stops, and the request may have been carried out or not; send it again",
    415: f"This Content-Type of the body is not read; send {PRODUCED[0]} or application/json",
}


T = TypeVar("T")


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
    """What is known of a request while it is answered; the path is as it was sent, without the query.

    The body is None for one that is too large.
    """

    began: float
    path: bytes
    body: bytes | None = b""
    route: str = "none"
    user: User | None = None
    code: int = 0


class RegistryApplication:
    """Serves one registry; several servers may share its store."""

    def __init__(self, registry: SchemaRegistry, options: ServerOptions | None = None) -> None:
        self._registry = registry
        self._options = options or ServerOptions()
        self._kept = KeptAnswers()
        self._executor = EndingThreads(_THREADS, "schemaman-server")
        self._grouped = GroupedRegistrations(registry)
        self.metrics = metrics.Metrics()
        self.cut_off = 0
        """How many requests were given up because the server stops."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of ASGI."""
        if scope["type"] == "lifespan":
            await _follow_lifespan(receive, send)
            self._executor.shutdown()
            self._grouped.close()
            return
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        handled = _Handled(time.perf_counter(), raw_path.partition(b"?")[0])
        try:
            handled.body = await self._read_body(request)
        except ClientDisconnect:
            return
        except HttpFault as error:
            response = self._explain_fault(error, handled, PRODUCED[0])
        except asyncio.CancelledError:
            response = self._explain_end(handled)
        else:
            response = self._find_kept(request, handled) or await self._answer(request, handled)
        self._record(request, response.status_code, handled)
        await response(scope, receive, send)

    def _find_kept(self, request: Request, handled: _Handled) -> Response | None:
        """Find the answer that was given before and is still true, without any wait; None for none."""
        kept = self._kept.find(make_key(request.scope, handled.path, handled.body))
        if kept is None:
            return None
        try:
            revision = self._registry.find_revision()
        except SchemamanError:
            return None  # the request itself meets the fault, and explains it
        if not kept.is_true(revision, self._registry.last_change):
            return None
        user = None
        if self._options.authenticator is not None:
            user = self._options.authenticator.find_remembered(request.headers.get("authorization", ""))
            if user is None or (kept.endpoint.is_write and not user.may_write):
                return None
        handled.route, handled.user = kept.endpoint.path, user
        self._count(kept.endpoint)
        return kept.response

    async def _answer(self, request: Request, handled: _Handled) -> Response:
        """Answer a request that has arrived as a whole; a fault is an answer, too."""
        media_type = PRODUCED[0]
        try:
            path = handled.path.decode("ascii", "replace")
            handled.user = await self._authenticate(request, path)
            if path == _METRICS and request.method in ("GET", "HEAD"):
                handled.route = _METRICS
                return Response(self.metrics.format(), headers={"Content-Type": metrics.MEDIA_TYPE})
            media_type = _choose_media_type(request)
            return await self._answer_routed(request, handled, media_type)
        except (HttpFault, NoRoute, SchemamanError, RecursionError) as error:
            return self._explain_fault(error, handled, media_type)
        except asyncio.CancelledError:
            return self._explain_end(handled)

    def _explain_end(self, handled: _Handled) -> Response:
        """Answer a request that the stop of the server has cut off; clients repeat a 503."""
        self.cut_off += 1
        return self._explain_fault(HttpFault(503), handled, PRODUCED[0])

    async def _answer_routed(self, request: Request, handled: _Handled, media_type: str) -> Response:
        route = find_route(request.method, handled.path)
        endpoint = route.endpoint
        handled.route = endpoint.path
        if endpoint.is_write and handled.user is not None and not handled.user.may_write:
            raise HttpFault(403)
        call = self._read_call(request, route, handled)
        key = make_key(request.scope, handled.path, handled.body)
        change = self._registry.last_change
        wanted = find_plain_registration(call) if endpoint.answer is register_schema else None
        # A new schema makes a new revision: to read the former one is worth it for what was asked before.
        is_new = wanted is not None and self._kept.find(key) is None
        revision = self._registry.find_revision() if endpoint.is_kept and not is_new else None
        if revision is not None and self._is_quick(handled.body, endpoint, call):
            response = _make_response(endpoint.answer(call), media_type)
        elif wanted is not None and len(handled.body or b"") <= _SMALL_BODY:
            response = _make_response(build_version(await self._grouped.register(wanted)), media_type)
        else:
            response, revision = await self._run(
                lambda: self._answer_waiting(key, endpoint, call, media_type, revision)
            )
        self._count(endpoint)
        is_repeated = is_new and self._registry.last_change is change
        if endpoint.is_lasting or (endpoint.is_kept and (revision is not None or is_repeated)):
            until = time.monotonic() + LASTING_SECONDS
            self._kept.keep(key, KeptAnswer(endpoint, response, revision, change, until))
        return response

    def _answer_waiting(
        self, key: Key, endpoint: Endpoint, call: Call, media_type: str, revision: object | None
    ) -> tuple[Response, object]:
        """Answer in a thread that may wait; the answer and the revision from before it."""
        if endpoint.is_kept and revision is None:
            revision = self._registry.read_revision()
            kept = self._kept.find(key)
            if kept is not None and kept.revision == revision:
                return kept.response, revision
        return _make_response(endpoint.answer(call), media_type), revision

    def _is_quick(self, body: bytes | None, endpoint: Endpoint, call: Call) -> bool:
        """Whether to answer at once: a thread costs more than to read a few rows of a file.

        Resolving references may take long, and so may parsing a large schema.
        """
        return (
            endpoint.is_kept
            and not endpoint.is_write
            and self._registry.is_local
            and not call.read_text("format")
            and (not body or (len(body) <= _QUICK_BODY and b'"references"' not in body))
        )

    def _run(self, work: Callable[[], T]) -> Awaitable[T]:
        return asyncio.get_running_loop().run_in_executor(self._executor, work)

    def _count(self, endpoint: Endpoint) -> None:
        if endpoint.answer is register_schema:
            self.metrics.registrations.inc()

    def _explain_fault(self, error: Exception, handled: _Handled, media_type: str) -> Response:
        """Explain a fault as an answer."""
        headers: dict[str, str] = {}
        match error:
            case RefusedRequest():
                handled.code = self._options.conflict_code if error.code == 409 else error.code
                status, message = error.status, error.message
            case NoRoute():
                handled.code = status = error.status
                message = _WORDS[status]
            case HttpFault():
                handled.code = status = error.status
                message = str(error)
                if status in (408, 503):
                    headers["Connection"] = "close"  # the rest of the body is no next request
                elif status == 401:
                    headers["WWW-Authenticate"] = 'Basic realm="schemaman", charset="UTF-8"'
            case RecursionError():
                handled.code, status = 42201, 422
                message = "Invalid schema: it is nested too deeply"
            case SchemamanError():
                handled.code, status, message = _STORE_FAULT, 500, error.message
            case _:
                raise error
        response = _make_response(build_fault(handled.code, message), media_type, status)
        response.headers.update(headers)
        return response

    async def _authenticate(self, request: Request, path: str) -> User | None:
        authenticator = self._options.authenticator
        if authenticator is None or path in _OPEN:
            return None
        header = request.headers.get("authorization", "")
        user = authenticator.find_remembered(header)
        if user is None and header:
            user = await self._run(lambda: authenticator.find_user(header))
        if user is None:
            raise HttpFault(401)
        return user

    def _read_call(self, request: Request, route: Route, handled: _Handled) -> Call:
        body = self._parse_body(request, handled.body) if request.method in ("POST", "PUT") else None
        query = _read_query(request.scope.get("query_string", b""))
        registry = self._registry
        if route.context != registry.context:
            registry = registry.in_context(route.context)
        return Call(registry, route.parts, query, body, handled.user.name if handled.user else "")

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
            return _DECODER.decode(data.decode("utf-8"))
        except (ValueError, RecursionError):
            raise HttpFault(400) from None

    def _record(self, request: Request, status: int, handled: _Handled) -> None:
        seconds = time.perf_counter() - handled.began
        method = request.method if request.method in _METHODS else "other"
        self.metrics.count(handled.route, method, status, seconds)
        if handled.code:
            self.metrics.refusals.labels(str(handled.code)).inc()
        if self._options.write_log is not None:
            line = {
                "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "client": request.client.host if request.client else "",
                "user": handled.user.name if handled.user else "",
                "method": method,
                "path": handled.path.decode("ascii", "replace")[:500],
                "status": status,
                "code": handled.code or None,
                "ms": round(1000 * seconds, 3),
                "request_id": request.headers.get("x-request-id", "")[:100] or None,
            }
            self._options.write_log(json.dumps({name: v for name, v in line.items() if v is not None}))


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


def _choose_media_type(request: Request) -> str:
    chosen = choose_media_type(request.headers.get("accept", ""))
    if chosen is None:
        raise HttpFault(406)
    return chosen


def _make_response(answer: object, media_type: str, status: int = 200) -> Response:
    if answer is NO_CONTENT:
        return Response(status_code=204)
    if isinstance(answer, ManyAnswers):
        answer, status = answer.body, 207
    text = answer.text if isinstance(answer, RawText) else _ENCODER.encode(answer)
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


_DECODER = json.JSONDecoder(parse_constant=_refuse_number, parse_float=_read_double)
_ENCODER = json.JSONEncoder(separators=(",", ":"))


async def _follow_lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
