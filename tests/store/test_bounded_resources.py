"""Many requests leave neither files open nor memory behind that grows with their number."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from starlette.responses import Response

import schemaman as sm
from schemaman.server import kept_answers
from schemaman.server.endpoints import ENDPOINTS
from schemaman.server.kept_answers import KeptAnswer, KeptAnswers
from schemaman.server.running import serve_in_thread
from tests.live.database import schema_of_its_own
from tests.server.conftest import Requests


def count_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_many_requests_leave_no_file_and_no_thread_behind(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Each round has connections of its own, registers, is refused, and asks what was never asked before."""
    store = f"sqlite:///{tmp_path / 'a.db'}"
    if kind == "postgresql":
        store = schema_of_its_own(request.getfixturevalue("database"))
    registry = sm.open_schema_registry(store, create=True)
    counts: list[tuple[int, int]] = []
    with serve_in_thread(registry) as url:
        for number in range(12):
            for client in range(3):
                ask, body = Requests(url), {"schema": f'{{"type":"fixed","name":"F","size":{number + 1}}}'}
                assert ask("POST", f"/subjects/s{number}-{client}/versions", body).status == 200
                assert ask("GET", f"/schemas/ids/{number + 1}?n={client}").status == 200
                assert ask("POST", f"/subjects/none?n={number}", body).status == 404
                assert ask("POST", "/subjects/s/versions", b"{").status == 400
                ask.connection.close()
            counts.append((count_files(), threading.active_count()))
    # Pools have grown to their sizes after some rounds; a file a request would be 36 more.
    assert counts[-1][0] <= counts[5][0] + 6, counts
    assert counts[-1][1] <= counts[5][1] + 6, counts


def test_kept_answers_have_a_largest_number_and_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "_LARGEST_COUNT", 10)
    monkeypatch.setattr(kept_answers, "_LARGEST_BYTES", 1000)
    kept = KeptAnswers()
    for size, largest in ((1, 10), (300, 5)):
        for number in range(40):
            answer = KeptAnswer(ENDPOINTS[0], Response(b"x" * size), number, None, 0.0)
            key = ("GET", b"/", b"%d" % number, b"", b"", None)
            kept.keep(key, answer)
            assert kept.find(key) is answer
            assert len(kept._kept) <= 10
        assert len(kept._kept) <= largest
