"""Requests that no client sends: only documented answers, and the server goes on."""

from __future__ import annotations

import http.client
import random
from collections import Counter
from collections.abc import Callable
from urllib.parse import urlsplit

from schemaman.server.routes import ROUTED
from schemaman.subjects.faults import FAULTS
from tests.server.conftest import Answer
from tests.support.checkout import PROOF

COUNT = 20_000 if PROOF else 600
HTTP = {400, 404, 405, 406, 415}
PARTS = (
    *[
        "s",
        "t",
        "1",
        "-1",
        "latest",
        "0",
        "99999999999999999999",
        "%2F",
        "%00",
        "%FF",
        "%ED%A0%80",
        ":.c:s",
        ":*:s",
        "::",
        "__GLOBAL",
        ".",
        "..",
    ],
    "%F0%9F%98%80",
    "a%20b",
    "²",
    "1e3",
    "{id}",
    "x" * 2_000,
    "",
)
TEXTS = r"""{
[]
null
1
"x"
{}
{"schema":"\"int\""}
{"schema":"[\"int\"]"}
{"schema":"\"long\"","schemaType":"JSON"}
{"schema":null}
{"schema":"\ud800"}
{"schema":"\u0000"}
{"schema":"{\"type\":\"record\",\"name\":\"A\",\"fields\":[]}"}
{"mode":"IMPORT"}
{"mode":[]}
{"compatibility":"NONE"}
{"compatibility":{}}
{"id":1e400,"schema":"\"int\""}
{"schema":"\"int\"","id":9007199254740993}
{"schema":"\"int\"","version":-7}
{"schema":"\"int\"","references":[{"name":"a","subject":"\u0000","version":1}]}
{"schema":"\"int\"","references":"x"}
{"schema":"\"int\"","metadata":{"properties":{"a":1}}}
{"schema":"true","schemaType":"JSON"}
{"schema":"syntax = \"proto3\";","schemaType":"PROTOBUF"}
{"alias":"s"}
{"policy":"QUARANTINE"}
{"policy":["CDC"]}
{"key":{"schema":"\"int\""},"value":{"schema":"[]"}}
{"old":{"schema":"\"int\""},"new":{"schema":"\"long\"","schemaType":"JSON"}}
{"alias":"\u0000"}
{"normalize":null,"compatibilityGroup":"\ud800"}"""
DEEP = b"[" * 900 + b"]" * 900
BODIES = (
    *(line.encode() for line in TEXTS.split("\n")),
    b"",
    b"\xff\xfe{}",
    b"[" * 50_000,
    b'{"schema":' + b'{"a":' * 30_000,
    b'{"schema":"' + b"[" * 5_000 + b'"}',
    b'{"schema":"' + b"1" * 5_000 + b'"}',
    b'{"schema":"\\"int\\"","ruleSet":{"domainRules":[{"name":"a","x":' + DEEP + b"}]}}",
    b'{"schema":"{\\"type\\":\\"int\\",\\"x\\":' + DEEP + b'}"}',
    b'{"schema":"' + b"x" * (5 << 20) + b'"}',
)
QUERIES = (
    *[
        "",
        "?deleted=true",
        "?permanent=true",
        "?limit=-1&offset=-1",
        "?limit=99999999999999999999",
        "?offset=².",
    ],
    *[
        "?subjectPrefix=%00",
        "?subject=%FF",
        "?format=resolved",
        "?normalize=x",
        "?force=true",
        "?%",
        "?latestOnly=true",
    ],
    "?subject=:.c:s&fetchMaxId=true",
    "?subjectPrefix=:*:",
    "?key=a&key=b&value=c",
    "?" + "a=1&" * 200,
)
HEADERS: tuple[dict[str, str], ...] = (
    {},
    {"Accept": "application/json"},
    {"Accept": "text/html"},
    {"Accept": ";q=x,,*/*;q=nan"},
    {"Accept": "*/*;q=0"},
    {"Content-Type": "application/octet-stream"},
    {"Content-Type": "application/x-www-form-urlencoded"},
    {"Content-Type": ";"},
    {"Authorization": "Basic \xff"},
    {"X-Request-ID": "\xe9" * 300},
)


def make_path(chance: random.Random) -> str:
    """The path of an endpoint with odd parts, cut or lengthened now and then."""
    words = chance.choice(ROUTED).path.split("/")
    words = [chance.choice(PARTS) if word.startswith("{") else word for word in words]
    if chance.random() < 0.1:
        words.insert(chance.randrange(1, len(words) + 1), chance.choice(PARTS))
    if chance.random() < 0.1:
        words = ["", "contexts", chance.choice(PARTS), *words[1:]]
    return "/".join(words).encode().decode("latin-1") + chance.choice(QUERIES)


def test_only_documented_answers(url: str, ask: Callable[..., Answer]) -> None:
    chance = random.Random(7)
    parts = urlsplit(url)
    counts: Counter[int] = Counter()
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    for _ in range(COUNT):
        method = chance.choice(("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "POST"))
        path, data, headers = make_path(chance), chance.choice(BODIES), chance.choice(HEADERS)
        if not path.isascii():
            data = b""  # such a line is refused before any body is read
        connection.putrequest(method, "/x", skip_accept_encoding=True)
        connection._buffer[0] = f"{method} {path} HTTP/1.1".encode("latin-1")  # type: ignore[attr-defined]
        for name, value in headers.items():
            connection.putheader(name, value.encode("latin-1"))
        connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        response = connection.getresponse()
        text = response.read().decode()
        counts[response.status] += 1
        shown = (method, path[:200], data[:80], headers, text[:200])
        assert response.status < 500, shown
        if response.status >= 400 and text.startswith("{"):
            code = int(text.partition('"error_code":')[2].partition(",")[0])
            assert code in FAULTS or code in HTTP, shown
            assert str(response.status) == str(code)[:3], shown
        elif response.status >= 400:
            assert response.status == 400 or method == "HEAD", (
                shown
            )  # the line of the request itself is invalid
            connection.close()
    assert counts[200] > COUNT / 20
    assert ask("GET", "/health").status == 200
