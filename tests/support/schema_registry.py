"""A loopback server that gives registered schemas by the REST paths of Confluent and of Apicurio."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

GLOBAL, CONTENT = 1000, 2000
"""What the ids of Apicurio add to those of the recording."""

Entry = Mapping[str, Any]
Answer = tuple[int, Any]


def guid(id: int) -> str:
    """The GUID that the server gives a schema."""
    return f"00000000-0000-0000-{id:04x}-0000000000ff"


@dataclass
class Served:
    """A server with its address; `asked` are the paths that were asked for, `down` makes it fail.

    With a `page` it answers nothing else, of that `status`; `pause` are the seconds before each byte.
    """

    url: str
    asked: list[str] = field(default_factory=list)
    down: bool = False
    page: str = ""
    status: int = 200
    pause: float = 0.0


@contextmanager
def serving(
    entries: Sequence[Entry], user: str | None = None, certificate: Path | None = None
) -> Iterator[Served]:
    """A registry with these entries, as in an export; only `user`, a `name:password`, is let in if given.

    With `certificate`, a PEM file that holds its key too, it speaks TLS.
    """
    served = Served("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            served.asked.append(path)
            wanted = None if user is None else "Basic " + base64.b64encode(user.encode()).decode()
            if served.page:
                self.answer(served.status, served.page)
            elif served.down:
                self.answer(500, {"error_code": 50001, "message": "store down"})
            elif wanted is not None and self.headers.get("Authorization") != wanted:
                self.answer(401, {"error_code": 401, "message": "Unauthorized"})
            else:
                self.answer(*answer([unquote(part) for part in path.split("/")[1:]], entries))

        def answer(self, status: int, told: Any) -> None:
            data = told.encode() if isinstance(told, str) else json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            for byte in data if served.pause else ():
                time.sleep(served.pause)
                self.wfile.write(bytes((byte,)))
            self.wfile.write(b"" if served.pause else data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    served.url = f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_address[1]}"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(path: Sequence[str], entries: Sequence[Entry]) -> Answer:
    """What a registry answers to a path."""
    match path:
        case ["schemas", "ids", id]:
            return _confluent([e for e in entries if str(e["id"]) == id], 40403)
        case ["schemas", "guids", text]:
            return _confluent([e for e in entries if guid(e["id"]) == text], 40403)
        case ["subjects", subject, "versions", version]:
            mine = [e for e in entries if e["subject"] == subject]
            latest = str(max((e["version"] for e in mine), default=0))
            number = latest if version == "latest" else version
            return _confluent([e for e in mine if str(e["version"]) == number], 40402 if mine else 40401)
        case ["apis", "registry", ("v2" | "v3") as version, *rest]:
            return _apicurio(rest, entries, version)
        case _:
            return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}


def _confluent(found: Sequence[Entry], code: int) -> Answer:
    if not found:
        return 404, {"error_code": code, "message": "not found"}
    entry = found[0]
    told = {k: entry[k] for k in ("subject", "version", "id", "schema", "schemaType") if k in entry}
    return 200, told | ({"references": entry["references"]} if entry.get("references") else {})


def _apicurio(path: Sequence[str], entries: Sequence[Entry], version: str) -> Answer:
    found: list[Entry] = []
    match path:
        case ["ids", "globalIds", id, *_]:
            found = [e for e in entries if str(e["id"] + GLOBAL) == id]
        case ["ids", "contentIds", id, *_]:
            found = [e for e in entries if str(e["id"] + CONTENT) == id]
        case ["groups", "default", "artifacts", artifact, "versions", number, *last]:
            content = last[-1:] == ["content"] or last[-1:] == ["references"]
            mine = [e for e in entries if e["subject"] == artifact]
            newest = max((e["version"] for e in mine), default=0)
            latest = "branch=latest" if version == "v3" else "latest"
            if version == "v2" or content:
                found = [
                    e
                    for e in mine
                    if str(e["version"]) == number or (number, e["version"]) == (latest, newest)
                ]
    if not found:
        return 404, {"error_code": 404, "message": "none", "name": "ArtifactNotFoundException"}
    if path[-1] == "references":
        return 200, [_reference(told) for told in found[0].get("references") or ()]
    return 200, found[0]["schema"]


def _reference(told: Mapping[str, Any]) -> dict[str, object]:
    place = {"groupId": None, "artifactId": told["subject"], "version": str(told["version"])}
    return {**place, "name": told["name"]}
