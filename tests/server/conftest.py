"""A server in a thread of the test process, over memory, and plain requests to it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

import schemaman as sm
from schemaman.server.running import serve_in_thread


class Answer(NamedTuple):
    """A status, a body (JSON, or text that is none), and the headers in lower case."""

    status: int
    body: Any
    headers: dict[str, str]


class Requests:
    """Plain requests, whose paths are sent as they are."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)

    def __call__(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request(method, path, data, sent)
        response = self.connection.getresponse()
        text = response.read().decode()
        found = {name.lower(): value for name, value in response.getheaders()}
        try:
            return Answer(response.status, json.loads(text), found)
        except ValueError:
            return Answer(response.status, text, found)


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, list[sm.SchemaRegistry]]]:
    """A server whose registry each test replaces."""
    registries = [sm.open_schema_registry()]
    with serve_in_thread(Replaceable(registries)) as url:  # type: ignore[arg-type]
        yield url, registries


class Replaceable:
    """A registry that stands for the newest one of a list."""

    def __init__(self, registries: list[sm.SchemaRegistry]) -> None:
        self._registries = registries

    def __getattr__(self, name: str) -> Any:
        return getattr(self._registries[-1], name)


@pytest.fixture
def registry(server: tuple[str, list[sm.SchemaRegistry]]) -> sm.SchemaRegistry:
    """An empty registry, which the server serves."""
    server[1][:] = [sm.open_schema_registry()]
    return server[1][0]


@pytest.fixture
def url(server: tuple[str, list[sm.SchemaRegistry]], registry: sm.SchemaRegistry) -> str:
    return server[0]


@pytest.fixture
def ask(url: str) -> Iterator[Callable[..., Answer]]:
    requests = Requests(url)
    yield requests
    requests.connection.close()
