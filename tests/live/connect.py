"""Kafka Connect with one worker and the Debezium connector as its plugin; connectors come and go by REST."""

from __future__ import annotations

import json
import signal
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

from tests.live.broker import log4j_option
from tests.live.jars import classpath, jars
from tests.live.process import NotReady, Server, await_true, free_port, java, running

AVRO_CONVERTER = "io.apicurio.registry.utils.converter.AvroConverter"
_LOOPBACK = build_opener(ProxyHandler({}))
"""A proxy of the environment is for the jars, not for a server of our own."""
_READY = 60.0
_STEP = 30.0


class Worker:
    """A Connect worker in standalone mode. Source: Kafka Connect, "REST API"."""

    def __init__(self, url: str, server: Server) -> None:
        self._url = url
        self.server = server

    def create(self, name: str, settings: Mapping[str, str]) -> None:
        """A connector, awaited until its task runs."""
        self._call("PUT", f"/connectors/{name}/config", dict(settings))
        self._until(name, "RUNNING")

    def knows(self, name: str) -> bool:
        """Whether the worker lives and has a connector of that name."""
        return self.answers() and name in self._call("GET", "/connectors")

    def delete(self, name: str) -> None:
        """The connector is gone, as is its task."""
        self._call("DELETE", f"/connectors/{name}")

    def stop(self, name: str) -> None:
        """The connector has no task any more; its offsets stay. Its last records may still come."""
        self._call("PUT", f"/connectors/{name}/stop")
        self._until(name, "STOPPED")

    def resume(self, name: str) -> None:
        self._call("PUT", f"/connectors/{name}/resume")
        self._until(name, "RUNNING")

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The whole worker stands still in this block, in the middle of whatever it was doing."""
        self.server.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.server.signal(signal.SIGCONT)

    def check(self, name: str) -> None:
        """Raises `NotReady` with the connector's own words when its task has failed."""
        for task in self._status(name)["tasks"]:
            if task["state"] == "FAILED":
                raise NotReady(f"connector {name} has failed: {task['trace']}")

    def _until(self, name: str, state: str) -> None:
        def reached() -> bool:
            self.check(name)
            status = self._status(name)
            tasks = [task["state"] for task in status["tasks"]]
            return status["connector"]["state"] == state and (
                tasks == [] if state == "STOPPED" else tasks == [state]
            )

        await_true(f"connector {name} {state}", reached, self.server, _STEP)

    def _status(self, name: str) -> dict[str, Any]:
        return self._call("GET", f"/connectors/{name}/status")

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with _LOOPBACK.open(request, timeout=_STEP) as answer:
                text = answer.read()
        except HTTPError as error:
            told = error.read().decode(errors="replace")
            raise NotReady(f"Kafka Connect refuses {method} {path}: {told}") from None
        return json.loads(text) if text else None

    def answers(self) -> bool:
        """Whether the REST interface is up."""
        try:
            self._call("GET", "/connectors")
        except (NotReady, URLError, ConnectionError):
            return False
        return True


@contextmanager
def connect_in(
    folder: Path,
    broker: str,
    flush_ms: int = 500,
    converter: tuple[str, Sequence[Path]] | None = None,
    connectors: Sequence[str] = ("debezium",),
) -> Iterator[Worker]:
    """A worker whose offsets, plugins and log lie in `folder`; it is killed, and can be started there again.

    It stores offsets each `flush_ms` milliseconds and when a connector is stopped. `converter` is the class
    and the jars of one that takes the place of Apicurio's. `connectors` are sets of jars.

    Raises:
        JarsUnreachable: the jars of Kafka or Debezium could not be fetched.
        NotReady: it did not come up.
    """
    _plugins(folder / "plugins", connectors, *(converter or (AVRO_CONVERTER, jars("avro"))))
    url = f"http://127.0.0.1:{free_port()}"
    settings = folder / "worker.properties"
    settings.write_text(_settings(folder, broker, url, flush_ms), encoding="utf-8")
    command = java(
        "384m",
        classpath("kafka"),
        log4j_option(folder),
        "org.apache.kafka.connect.cli.ConnectStandalone",
        settings,
    )
    server = Server("Kafka Connect", command, folder / "connect.log")
    # Its way to end in good order takes five seconds, and nobody needs what it would write.
    with running(server, signal.SIGKILL):
        worker = Worker(url, server)
        await_true("an answer", worker.answers, server, _READY)
        yield worker


def _plugins(folder: Path, connectors: Sequence[str], converter: str, converter_jars: Sequence[Path]) -> None:
    if folder.exists():
        return
    for name, found in (*((each, jars(each)) for each in connectors), ("avro", converter_jars)):
        (folder / name).mkdir(parents=True)
        for jar in found:
            (folder / name / jar.name).symlink_to(jar)
    # Connect finds plugins by their service files, and these converters have none.
    with zipfile.ZipFile(folder / "avro" / "service.jar", "w") as service:
        service.writestr("META-INF/services/org.apache.kafka.connect.storage.Converter", converter)


def _settings(folder: Path, broker: str, url: str, flush_ms: int) -> str:
    """Source: Kafka documentation, "Kafka Connect Configs"."""
    settings = {
        "bootstrap.servers": broker,
        "listeners": url,
        "plugin.path": folder / "plugins",
        "plugin.discovery": "service_load",
        "offset.storage.file.filename": folder / "offsets",
        "offset.flush.interval.ms": flush_ms,
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "true",
        "value.converter.schemas.enable": "true",
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())
