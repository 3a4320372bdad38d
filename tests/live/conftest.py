"""The servers of the live lane, started when the first test asks for them, one of each for a whole run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live.broker import broker_in
from tests.live.jars import JarsUnreachable
from tests.live.process import NotReady


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`host:port` of an empty Kafka broker on loopback."""
    try:
        with broker_in(tmp_path_factory.mktemp("broker")) as address:
            yield address
    except (JarsUnreachable, NotReady) as error:
        pytest.fail(str(error), pytrace=False)
