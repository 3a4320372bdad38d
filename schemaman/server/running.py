"""Run the server in this process: until a signal ends it, or in a thread beside other work."""

from __future__ import annotations

import errno
import gc
import ipaddress
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from schemaman.errors import CouldNotDo, UsageError
from schemaman.server.application import RegistryApplication, ServerOptions
from schemaman.server.deadlines import DeadlineProtocol
from schemaman.subjects.schema_registry import SchemaRegistry

_GRACE_SECONDS = 4
"""How long requests that have begun may take when the server stops; the lock of a store may last longer."""
_GARBAGE_COUNT = 10_000
"""After how many more objects garbage is looked for; some hundred requests."""
_BACKLOG = 2048
_START_SECONDS = 30
_PORT_FAULTS = (errno.EADDRINUSE, errno.EACCES)
_PEM = "name PEM files that belong together with --certificate and --key"


@dataclass(frozen=True, slots=True)
class Listener:
    """Where to listen, and the files of the certificate and its key for TLS."""

    host: str = "127.0.0.1"
    port: int = 8081
    certificate: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True)
class ServerEnd:
    """The number of the signal that stopped a server, 0 for none, and how many requests it cut off."""

    signal: int
    cut_off: int


def require_protected(listener: Listener, options: ServerOptions, insecure: bool) -> None:
    """Raises `UsageError` if others than this machine could reach a server without authentication."""
    if insecure or options.authenticator is not None or _is_loopback(listener.host):
        return
    raise UsageError(
        f"anyone who reaches {listener.host} could change what is registered",
        hint="name a file of users with --users, or add --insecure if the network itself is protected",
    )


def listen(listener: Listener) -> socket.socket:
    """Listen on the address; connections wait until a server accepts them.

    Raises:
        CouldNotDo: the address is taken, or the certificate cannot be used.
    """
    if listener.certificate is not None:
        _require_usable(listener.certificate, listener.key)
    return _bind(listener)


def run_server(
    registry: SchemaRegistry,
    listener: Listener,
    bound: socket.socket,
    options: ServerOptions,
    announce: Callable[[str], None],
) -> ServerEnd:
    """Serve a socket until SIGINT or SIGTERM; requests that have begun are answered before.

    `announce` takes the URL once connections are accepted.
    """
    application = RegistryApplication(registry, options)
    server = _make_server(application, listener)
    announce(_format_url(listener, bound))
    _look_for_garbage_less_often()
    with _collecting_signals() as received:
        server.run(sockets=[bound])
    return ServerEnd(received[0] if received else 0, application.cut_off)


def _look_for_garbage_less_often() -> None:
    """Leave what was made before the first request out of each search: it lives as long as the process.

    Few objects of a request refer to themselves. Source: docs.python.org/3/library/gc.html#gc.freeze.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE_COUNT, 20, 20)


@contextmanager
def _collecting_signals() -> Iterator[list[int]]:
    """Collect what ends the server: uvicorn raises the signal again when it has stopped."""
    received: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, _: received.append(number)) for number in numbers]
    try:
        yield received
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def serve_in_thread(
    registry: SchemaRegistry, listener: Listener | None = None, options: ServerOptions | None = None
) -> Iterator[str]:
    """Serve in a thread until the block ends; yields the URL. Without a listener, on a free loopback port."""
    listener = listener or Listener(port=0)
    with listen(listener) as bound:
        server = _make_server(RegistryApplication(registry, options), listener)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + _START_SECONDS
        while not server.started and thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        if not server.started:
            raise CouldNotDo("the server did not start")
        try:
            yield _format_url(listener, bound)
        finally:
            server.should_exit = True
            thread.join(_GRACE_SECONDS + 1)


def _format_url(listener: Listener, bound: socket.socket) -> str:
    host = f"[{listener.host}]" if ":" in listener.host else listener.host
    return f"{'https' if listener.certificate else 'http'}://{host}:{bound.getsockname()[1]}"


def _make_server(application: RegistryApplication, listener: Listener) -> uvicorn.Server:
    config = uvicorn.Config(
        application,
        http=DeadlineProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=_GRACE_SECONDS,
        ssl_certfile=listener.certificate,
        ssl_keyfile=listener.key,
    )
    config.load()
    return uvicorn.Server(config)


def _require_usable(certificate: Path, key: Path | None) -> None:
    """Raises `CouldNotDo` unless both files can be read, belong together, and need no pass phrase."""
    for path in (certificate, *(() if key is None else (key,))):
        try:
            path.read_bytes()
        except OSError as error:
            raise CouldNotDo(f"{path} cannot be read: {error.strerror}", hint=_PEM) from error
    if key is None and b"PRIVATE KEY-----" not in certificate.read_bytes():
        raise CouldNotDo(f"the certificate {certificate} comes without its key", hint=_PEM)

    def refuse_pass_phrase() -> str:
        raise CouldNotDo(
            f"the key in {key or certificate} is encrypted, and nobody is asked for its pass phrase",
            hint=f"write it without one: openssl pkey -in {key or certificate} -out FILE",
        )

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, refuse_pass_phrase)
    except (OSError, ssl.SSLError) as error:
        pair = certificate if key is None else f"{certificate} with the key {key}"
        raise CouldNotDo(f"the certificate {pair} cannot be used: {error}", hint=_PEM) from error


def _bind(listener: Listener) -> socket.socket:
    family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
    # Without the protocol, asyncio leaves Nagle's algorithm on, and each answer waits for an acknowledgement.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((listener.host, listener.port))
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        option = "port with --port" if error.errno in _PORT_FAULTS else "address with --host"
        raise CouldNotDo(
            f"{listener.host}:{listener.port} cannot be listened on: {error.strerror or error}",
            hint=f"name another {option}",
        ) from error
    return bound


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
