"""One Kafka broker of one node, controller and broker at once (KRaft), on loopback."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.live.jars import classpath
from tests.live.process import NotReady, Server, await_true, free_port, java, running
from tests.live.secured import Secured

_CLUSTER = "c2NoZW1hbWFuLWxpdmUtMQ"
_READY = 60.0
_LOG4J = """\
status: error
Configuration:
  Appenders: {Console: {name: out, PatternLayout: {pattern: "%d{ISO8601} %p %c{1} %m%n"}}}
  Loggers: {Root: {level: warn, AppenderRef: {ref: out}}}
"""


@contextmanager
def broker_in(folder: Path, secured: Secured) -> Iterator[str]:
    """A broker whose data and log lie in `folder`; gives the `host:port` of its open door.

    Topics are made when somebody writes to them, with one partition.

    Raises:
        JarsUnreachable: Kafka's jars could not be fetched.
        NotReady: it did not come up.
    """
    broker = settled_in(folder, secured)
    with broker.up():
        yield broker.address


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker with a folder and a port of its own, which may go and come again with what it holds."""

    address: str
    folder: Path

    @contextmanager
    def up(self) -> Iterator[Server]:
        """The broker, ready until the end of the block. Raises as `broker_in`."""
        path, settings = classpath("kafka"), self.folder / "broker.properties"
        command = java("384m", path, log4j_option(self.folder), "kafka.Kafka", settings)
        with running(Server("Kafka", command, self.folder / "broker.log"), signal.SIGKILL) as server:
            _await_answer(self.address, server)
            yield server


def settled_in(folder: Path, secured: Secured) -> Broker:
    """A broker that has not been started yet. Raises as `broker_in`."""
    address = f"127.0.0.1:{free_port()}"
    settings = folder / "broker.properties"
    told = _settings(folder / "data", address, f"127.0.0.1:{free_port()}", secured)
    settings.write_text(told, encoding="utf-8")
    logging = log4j_option(folder)
    format = ("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", settings)
    _run(java("128m", classpath("kafka"), logging, *format))
    return Broker(address, folder)


def log4j_option(folder: Path) -> str:
    """A JVM option: warnings and worse to the standard output, which is the server's log file."""
    place = folder / "log4j2.yaml"
    place.write_text(_LOG4J, encoding="utf-8")
    return f"-Dlog4j2.configurationFile={place}"


def _await_answer(address: str, server: Server) -> None:
    # A client that was refused waits longer and longer before it asks again, unless it is told not to.
    backoff = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 100}
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0, **backoff})
    await_true("an answer", lambda: _answers(admin), server, _READY)


def _answers(admin: AdminClient) -> bool:
    try:
        return bool(admin.list_topics(timeout=1).brokers)
    except KafkaException:
        return False


def _run(command: list[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotReady(f"Kafka could not format its folder: {done.stdout}{done.stderr}")


def _settings(data: Path, address: str, controller: str, secured: Secured) -> str:
    """Source: Kafka documentation, "Broker Configs" and "KRaft"."""
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{controller}",
        "listeners": f"PLAINTEXT://{address},SECURED://{secured.address},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{address},SECURED://{secured.address}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECURED:SASL_SSL,CONTROLLER:PLAINTEXT",
        "log.dirs": data,
        "num.partitions": 1,
        "auto.create.topics.enable": "true",
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 1,
        "group.initial.rebalance.delay.ms": 0,
        "num.network.threads": 1,
        "num.io.threads": 2,
        "log.cleaner.dedupe.buffer.size": 4_000_000,
        "log.cleaner.backoff.ms": 200,
        "controlled.shutdown.enable": "false",
        **secured.settings,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())
