"""An answer is given again only while nothing has changed, and only to those who may have it."""

from __future__ import annotations

from pathlib import Path

import pytest

import schemaman as sm
from schemaman.server.application import ServerOptions
from schemaman.server.running import serve_in_thread
from schemaman.server.users import Authenticator, User, hash_password
from tests.live.database import schema_of_its_own
from tests.server.conftest import Requests

FIXED = '{"type":"fixed","name":"F","size":4}'
LARGER = '{"type":"fixed","name":"F","size":5}'
REFUSED = {"is_compatible": False}


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'a.db'}"
    return schema_of_its_own(request.getfixturevalue("database"))


def test_an_answer_is_given_again_only_while_nothing_has_changed(store: str) -> None:
    """Two servers share a store: each sees at once what the other one has written."""
    here, there = sm.open_schema_registry(store, create=True), sm.open_schema_registry(store)
    with serve_in_thread(here) as url, serve_in_thread(there) as other:
        ask, ask_other = Requests(url), Requests(other)
        body = {"schema": FIXED}

        assert ask("GET", "/subjects/s/versions/latest").status == 404
        assert ask_other("POST", "/subjects/s/versions", body).body["version"] == 1
        for _ in range(3):
            assert ask("GET", "/subjects/s/versions/latest").body["version"] == 1
            assert ask("POST", "/subjects/s", body).body["version"] == 1
            assert ask("POST", "/subjects/s/versions", body).body["id"] == 1
            assert ask("GET", "/schemas/ids/1").body["schema"] == FIXED
            assert ask("GET", "/subjects").body == ["s"]
            assert ask("GET", "/config").body == {"compatibilityLevel": "BACKWARD"}
            assert ask("GET", "/mode").body == {"mode": "READWRITE"}
            assert ask("POST", "/compatibility/subjects/s/versions", {"schema": LARGER}).body == REFUSED
        assert ask_other("PUT", "/config", {"compatibility": "NONE"}).status == 200
        assert ask("GET", "/config").body == {"compatibilityLevel": "NONE"}
        assert ask("POST", "/compatibility/subjects/s/versions", {"schema": LARGER}).body != REFUSED
        assert ask_other("POST", "/subjects/s/versions", {"schema": LARGER}).body["version"] == 2
        assert ask("GET", "/subjects/s/versions/latest").body["schema"] == LARGER
        assert ask("GET", "/subjects/s/versions").body == [1, 2]
        assert ask_other("DELETE", "/subjects/s").body == [1, 2]
        assert ask("GET", "/subjects/s/versions/latest").status == 404
        assert ask("POST", "/subjects/s", body).status == 404
        assert ask("GET", "/subjects").body == []
        assert ask("POST", "/subjects/s/versions", body).body["version"] == 3
        assert ask_other("GET", "/subjects/s/versions").body == [3]
        assert ask_other("PUT", "/mode/s", {"mode": "READONLY"}).status == 200
        assert ask("GET", "/mode/s").body == {"mode": "READONLY"}
        assert ask("POST", "/subjects/s/versions", body).body["error_code"] == 42205
        ask.connection.close()
        ask_other.connection.close()


def test_what_another_server_deletes_from_a_file_is_gone_at_once(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'a.db'}"
    here, there = sm.open_schema_registry(store, create=True), sm.open_schema_registry(store)
    here.register("s", FIXED)
    with serve_in_thread(here) as url:
        ask = Requests(url)
        for _ in range(2):
            assert ask("GET", "/schemas/ids/1").status == 200
        there.delete_subject("s")
        there.delete_subject("s", permanent=True)
        assert ask("GET", "/schemas/ids/1").status == 404
        ask.connection.close()


@pytest.mark.parametrize("times", [1, 2])
def test_who_may_only_read_is_never_given_the_answer_to_a_writer(times: int) -> None:
    users = tuple(User(name, name, hash_password("word")) for name in ("read", "write"))
    registry = sm.open_schema_registry()
    registry.register("s", FIXED)
    with serve_in_thread(registry, options=ServerOptions(Authenticator(users))) as url:
        ask = Requests(url)
        credentials = {"write": "Basic d3JpdGU6d29yZA==", "read": "Basic cmVhZDp3b3Jk"}

        def register(**headers: str) -> int:
            return ask("POST", "/subjects/s/versions", {"schema": FIXED}, **headers).status

        for _ in range(times):
            assert register(Authorization=credentials["write"]) == 200
            assert register(Authorization=credentials["read"]) == 403
            assert register() == 401
        ask.connection.close()
