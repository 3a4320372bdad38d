"""Requests mean the same however their bytes arrive, and none of them may grow without bound."""

from __future__ import annotations

import json
import random
import socket
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

import schemaman as sm
from schemaman.server.application import ServerOptions
from schemaman.server.running import serve_in_thread
from schemaman.server.users import Authenticator, User, hash_password

FIXED = '{"type":"fixed","name":"F","size":4}'
LOOK_UP = json.dumps({"schema": FIXED}).encode()


def write(method: str, path: str, body: bytes = b"", *more: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: here", *more, f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


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


CHUNKED = b"POST /subjects/s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
KINDS = {
    "a line": b"GET /",
    "a header": b"GET / HTTP/1.1\r\nA: ",
    "a field behind the last chunk": CHUNKED + b"\r\n0\r\nA: ",
}


@pytest.mark.parametrize("begin", KINDS.values(), ids=KINDS)
def test_what_is_no_body_has_a_largest_size(begin: bytes) -> None:
    answer = b""
    with serve_in_thread(sm.open_schema_registry()) as url:
        place = urlsplit(url)
        with socket.create_connection((place.hostname, place.port), timeout=10) as stream:
            with suppress(ConnectionError):  # what the server no longer reads may reset the connection
                stream.sendall(begin)
                for _ in range(8):
                    stream.sendall(b"a" * 50_000)
                answer = stream.recv(100)
            assert answer[:13] in (b"", b"HTTP/1.1 400 ")


def test_fields_behind_the_last_chunk_are_no_headers() -> None:
    """Otherwise what a proxy adds for a body could name another user or content. Source: RFC 9110, 6.5.1."""
    options = ServerOptions(Authenticator((User("u", "read", hash_password("word")),)))
    with serve_in_thread(sm.open_schema_registry(), options=options) as url:
        place = urlsplit(url)
        with socket.create_connection((place.hostname, place.port), timeout=30) as stream:
            stream.sendall(CHUNKED + b"\r\n2\r\n{}\r\n0\r\nAuthorization: Basic dTp3b3Jk\r\n\r\n")
            assert read_answers(stream, 1)[0][0] == b"HTTP/1.1 401 Unauthorized"


def test_a_client_that_offers_another_protocol_is_answered_in_this_one() -> None:
    """The client of Java's own library offers HTTP/2 with its first request."""
    offer = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAEAAEAA")
    registry = sm.open_schema_registry()
    registry.register("s", FIXED)
    with serve_in_thread(registry) as url:
        place = urlsplit(url)
        with socket.create_connection((place.hostname, place.port), timeout=30) as stream:
            asked = write("POST", "/subjects/s", LOOK_UP, *offer, "Content-Type: application/json")
            other = write("GET", "/schemas/ids/1", b"", *offer)
            stream.sendall(asked[:-9])
            stream.sendall(asked[-9:] + other * 2 + write("GET", "/subjects") + asked)
            assert {line for line, _ in read_answers(stream, 5)} == {b"HTTP/1.1 200 OK"}
            stream.sendall(b"CONNECT here:1 HTTP/1.1\r\nHost: x\r\n\r\n")
            assert read_answers(stream, 1)[0][0].startswith(b"HTTP/1.1 400 ")
