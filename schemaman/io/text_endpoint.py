"""An HTTP endpoint in a thread that answers with a text, as Prometheus scrapes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from schemaman.errors import CouldNotDo


@contextmanager
def serve_text(host: str, port: int, media_type: str, render: Callable[[], str]) -> Iterator[int]:
    """Answer `GET /metrics` with the rendered text while the context is open; returns the port.

    Raises:
        CouldNotDo: the address cannot be listened on.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer a request."""
            is_known = self.path.partition("?")[0] in ("/metrics", "/")
            body = render().encode() if is_known else b"see /metrics\n"
            self.send_response(200 if is_known else 404)
            self.send_header("Content-Type", media_type if is_known else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *_: object) -> None:
            """Log nothing: stderr is for the command."""

    try:
        server = ThreadingHTTPServer((host, port), Handler)
    except OSError as error:
        raise CouldNotDo(
            f"metrics cannot be served at {host}:{port}: {error.strerror or error}",
            hint="choose another port",
        ) from error
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
