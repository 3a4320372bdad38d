"""A stand-in for a schema registry: what Apicurio's converter asks for, and what readers ask.

It keeps texts and gives ids, nothing else: no compatibility, no references, no deletions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread

PATH = "/apis/registry/v2"


class Registered:
    """Texts by id, beginning with 1; an equal text keeps its id."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self.url = ""
        self._lock = Lock()

    def id_of(self, text: str) -> int:
        """The id of a schema's text, a new one for a new text."""
        with self._lock:
            return self.ids.setdefault(text, len(self.ids) + 1)

    def text(self, id: int) -> str | None:
        """The text that has this id, if any."""
        return next((text for text, known in self.ids.items() if known == id), None)

    def export(self, path: Path) -> None:
        """Write what is registered as an export that schemaman reads."""
        entries = [{"globalId": id, "schemaType": "AVRO", "schema": text} for text, id in self.ids.items()]
        path.write_text(json.dumps(entries), encoding="utf-8")


@contextmanager
def registry_server() -> Iterator[Registered]:
    """An empty registry; its `url` is what a converter is given."""
    registered = Registered()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(registered))
    registered.url = f"http://127.0.0.1:{server.server_port}{PATH}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield registered
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(registered: Registered) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Source: Apicurio Registry, Core API v2, "Create artifact" (`ArtifactMetaData`)."""

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            id = registered.id_of(text)
            name = self.headers.get("X-Registry-ArtifactId", "")
            answer = {
                "id": name,
                "version": "1",
                "type": "AVRO",
                "state": "ENABLED",
                "globalId": id,
                "contentId": id,
            }
            self._answer(200, answer)

        def do_GET(self) -> None:
            """Source: the same, "Get artifact by global ID" and its references."""
            match self.path.removeprefix(PATH).split("/"):
                case ["", "ids", "globalIds", id] if (text := registered.text(int(id))) is not None:
                    self._answer(200, json.loads(text))
                case ["", "ids", "globalIds", _, "references"]:
                    self._answer(200, [])
                case _:
                    self._answer(404, {"error_code": 404, "name": "ArtifactNotFoundException"})

        def _answer(self, code: int, body: object) -> None:
            data = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the output belongs to the tests."""

    return Handler
