"""The servers of the live lane, started when the first test asks for them, one of each for a whole run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.live.broker import broker_in
from tests.live.connect import Worker, connect_in
from tests.live.jars import JarsUnreachable
from tests.live.process import NotReady, free_port
from tests.live.schema_registry import Registered, registry_server
from tests.live.secured import Secured
from tests.support.certificates import self_signed


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Secured:
    """The door of the broker with TLS and a password; it opens with `broker`."""
    return Secured(f"127.0.0.1:{free_port()}", self_signed(tmp_path_factory.mktemp("certificate")))


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory, secured: Secured) -> Iterator[str]:
    """`host:port` of a Kafka broker on loopback; topics are made by writing to them."""
    with _said_in_one_line(), broker_in(tmp_path_factory.mktemp("broker"), secured) as address:
        yield address


@pytest.fixture(scope="session")
def worker(tmp_path_factory: pytest.TempPathFactory, broker: str) -> Iterator[Worker]:
    """A Kafka Connect worker that knows Debezium's PostgreSQL connector."""
    with _said_in_one_line(), connect_in(tmp_path_factory.mktemp("connect"), broker) as worker:
        yield worker


@pytest.fixture(scope="session")
def registered() -> Iterator[Registered]:
    """A schema registry on loopback that Apicurio's converter can write to."""
    with registry_server() as registered, pytest.MonkeyPatch.context() as environment:
        environment.setenv("NO_PROXY", "127.0.0.1")
        yield registered


@contextmanager
def _said_in_one_line() -> Iterator[None]:
    try:
        yield
    except (JarsUnreachable, NotReady) as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
