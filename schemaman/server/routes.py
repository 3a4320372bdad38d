"""Find the endpoint of a request by its raw path, so that `%2F` in the name of a subject stays part of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from urllib.parse import unquote

from schemaman.server.calls import Endpoint
from schemaman.server.endpoints import ENDPOINTS
from schemaman.server.openapi import DOCUMENT_ENDPOINTS
from schemaman.server.table_endpoints import TABLE_ENDPOINTS
from schemaman.store.subjects import DEFAULT_CONTEXT
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.requests import parse_name

_IN_CONTEXT = frozenset({"subjects", "config", "mode", "schemas", "compatibility", "schemaman"})
"""What may follow `/contexts/{context}`. Source: Confluent documentation, "Schema contexts"."""

ROUTED: tuple[Endpoint, ...] = (*ENDPOINTS, *TABLE_ENDPOINTS, *DOCUMENT_ENDPOINTS)
"""Every endpoint of the server."""


@dataclass(frozen=True, slots=True)
class Route:
    """An endpoint with the parts of its path, and the context that the path begins with."""

    endpoint: Endpoint
    parts: dict[str, str]
    context: str = DEFAULT_CONTEXT


class NoRoute(Exception):
    """No endpoint has the path (404), or none has the method (405)."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


_Pattern = tuple[str, ...]


def _split_pattern(endpoint: Endpoint) -> _Pattern:
    return tuple(endpoint.path.strip("/").split("/"))


_BY_LENGTH: dict[int, dict[_Pattern, dict[str, Endpoint]]] = defaultdict(lambda: defaultdict(dict))
for _endpoint in ROUTED:
    _BY_LENGTH[len(_split_pattern(_endpoint))][_split_pattern(_endpoint)][_endpoint.method] = _endpoint


def find_route(method: str, raw_path: bytes) -> Route:
    """Find the endpoint of a request; HEAD is answered as GET.

    Raises:
        NoRoute: there is no such path, or it does not have the method.
        RefusedRequest: 42208 for a part of the path that is not UTF-8, or a context that is none.
    """
    words = raw_path.decode("ascii", "replace").removeprefix("/").split("/")
    if len(words) > 1 and not words[-1]:
        words.pop()  # a trailing slash
    context = DEFAULT_CONTEXT
    if words[0] == "contexts" and len(words) > 1:
        context = _parse_context(_decode(words[1]))
        if len(words) > 2 and words[2] in _IN_CONTEXT:
            words = words[2:]
    wanted = "GET" if method == "HEAD" else method
    is_path = False
    for pattern, by_method in _BY_LENGTH[len(words)].items() if len(words) in _BY_LENGTH else ():
        if all(p.startswith("{") or p == w for p, w in zip(pattern, words, strict=True)):
            is_path = True
            if wanted in by_method:
                parts = {
                    p[1:-1]: _decode(w) for p, w in zip(pattern, words, strict=True) if p.startswith("{")
                }
                return Route(by_method[wanted], parts, context)
    raise NoRoute(405 if is_path else 404)


def _decode(word: str) -> str:
    try:
        return unquote(word, errors="strict")
    except UnicodeDecodeError:
        raise RefusedRequest(42208, "The path is not UTF-8") from None


def _parse_context(text: str) -> str:
    name = text.strip(":")
    context = name if name.startswith(".") else f".{name}"
    parse_name(f":{context}:", DEFAULT_CONTEXT, may_be_global=True)
    return context
