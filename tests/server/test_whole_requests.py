"""Requests that are read as a whole mean what h11 reads, however their bytes arrive."""

from __future__ import annotations

import json
import random
import socket
from pathlib import Path
from urllib.parse import urlsplit

import h11
import pytest

import schemaman as sm
from schemaman.server.application import ServerOptions
from schemaman.server.http_messages import HttpRequest
from schemaman.server.running import serve_in_thread
from schemaman.server.users import Authenticator, User, hash_password
from schemaman.server.whole_requests import parse_request
from tests.server.conftest import Requests
from tests.support.checkout import PROOF

MUTATIONS = 20_000 if PROOF else 1_500
FIXED = '{"type":"fixed","name":"F","size":4}'
LOOK_UP = json.dumps({"schema": FIXED}).encode()


def write(method: str, path: str, body: bytes = b"", *more: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: here", *more, f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


SEEDS = (
    write(
        "GET", "/subjects/a%2Fb/versions/latest?deleted=true", b"", "Accept: */*", "Connection: keep-alive"
    ),
    write("POST", "/subjects/s", LOOK_UP, "Content-Type: application/json", "Authorization: Basic eDp5"),
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
)
PIECES = (
    *(b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b"\x00", b"\xff", b"chunked", b"0", b"9", b"#"),
    *(b"Transfer-Encoding: chunked\r\n", b"Content-Length: 3\r\n", b"Content-Length: 1\r\n"),
    *(b"Host: y\r\n", b"Expect: 100-continue\r\n", b"Connection: close\r\n", b" folded\r\n"),
    *(b"HTTP/1.0", b"HEAD", b"\r\n\r\n", b"GET / HTTP/1.1\r\n"),
)


def mutate(chance: random.Random) -> bytes:
    data = bytearray(chance.choice(SEEDS))
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(data) + 1)
        data[at : at + chance.choice((0, 0, 1, 5, 30))] = chance.choice(PIECES)
    return bytes(data)


def test_what_is_read_as_a_whole_is_one_request_for_h11() -> None:
    chance = random.Random(7)
    read = 0
    for data in (*SEEDS, *(mutate(chance) for _ in range(MUTATIONS))):
        found = parse_request(data, "")
        if not isinstance(found, HttpRequest):
            continue
        read += 1
        connection = h11.Connection(h11.SERVER)
        connection.receive_data(data)
        request, body = connection.next_event(), b""
        assert isinstance(request, h11.Request), data
        while isinstance(event := connection.next_event(), h11.Data):
            body += bytes(event.data)
        assert isinstance(event, h11.EndOfMessage)
        assert connection.next_event() in (h11.NEED_DATA, h11.PAUSED)
        assert connection.trailing_data == (b"", False)
        assert connection.their_state is h11.DONE  # and no connection that must be closed
        query = b"?" + found.query if b"?" in request.target else b""
        assert (found.method.encode(), found.path + query) == (request.method, request.target)
        assert dict(request.headers) == found.headers
        assert (body, bytes(request.http_version)) == (found.body, b"1.1")
    assert read > MUTATIONS // 20


def read_answers(stream: socket.socket, count: int) -> list[tuple[bytes, bytes]]:
    """Read the first line and the body of each answer."""
    file = stream.makefile("rb")
    answers = []
    for _ in range(count):
        line, length = file.readline(), 0
        while (header := file.readline()) not in (b"\r\n", b""):
            name, _, value = header.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        answers.append((line.strip(), file.read(length)))
    return answers


def test_answers_do_not_depend_on_how_the_bytes_arrive() -> None:
    registry = sm.open_schema_registry()
    registry.register("s", FIXED)
    asked = [
        write("GET", "/subjects/s/versions/latest"),
        write("POST", "/subjects/s", LOOK_UP),
        write("POST", "/subjects/s/versions", LOOK_UP),
        write("GET", "/subjects/none/versions"),
        write("GET", "/schemas/ids/1"),
    ]
    chance = random.Random(3)
    with serve_in_thread(registry) as url:
        place = urlsplit(url)
        outcomes = []
        for round in range(8):
            sent = b"".join(asked * 2)
            cuts = sorted(chance.sample(range(1, len(sent)), round * 2))
            with socket.create_connection((place.hostname, place.port), timeout=30) as stream:
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for first, end in zip([0, *cuts], [*cuts, len(sent)], strict=True):
                    stream.sendall(sent[first:end])
                outcomes.append(read_answers(stream, 2 * len(asked)))
    statuses = [int(line.split()[1]) for line, _ in outcomes[0]]
    assert statuses == [200, 200, 200, 404, 200] * 2
    assert all(outcome == outcomes[0] for outcome in outcomes)


def test_a_client_that_reads_nothing_is_answered_when_it_does() -> None:
    registry = sm.open_schema_registry()
    fields = ",".join(f'{{"name":"c{n}","type":"string"}}' for n in range(5_000))
    registry.register("s", f'{{"type":"record","name":"R","fields":[{fields}]}}')
    asked = write("GET", "/subjects/s/versions/latest")
    with serve_in_thread(registry) as url:
        place = urlsplit(url)
        with socket.create_connection((place.hostname, place.port), timeout=30) as stream:
            for _ in range(60):
                stream.sendall(asked)
            found = read_answers(stream, 60)
    assert len({body for _, body in found}) == 1
    assert len(found[0][1]) > 100_000


def test_an_answer_is_given_again_only_while_nothing_has_changed(tmp_path: Path) -> None:
    """Two servers share a file: each sees at once what the other one has written."""
    store = f"sqlite:///{tmp_path / 'a.db'}"
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
        assert ask_other("DELETE", "/subjects/s").body == [1]
        assert ask("GET", "/subjects/s/versions/latest").status == 404
        assert ask("POST", "/subjects/s", body).status == 404
        assert ask("POST", "/subjects/s/versions", body).body["version"] == 2
        assert ask_other("PUT", "/mode/s", {"mode": "READONLY"}).status == 200
        assert ask("POST", "/subjects/s/versions", body).body["error_code"] == 42205
        ask.connection.close()
        ask_other.connection.close()


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
