"""A Spark Connect server on loopback, in a process of its own, with both formats and a Hive metastore."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark

from schemaman.spark.session import make_session_settings
from tests.live.process import Server, await_true, free_port, java, running
from tests.support.checkout import PROOF
from tests.support.small_session import SETTINGS

_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_SECONDS = 180
_KEYS = {"AWS_ACCESS_KEY_ID": "made", "AWS_SECRET_ACCESS_KEY": "up"}


@contextmanager
def connect_server(warehouse: Path, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Its address, `sc://host:port`; ended with the block. Raises `NotReady`."""
    warehouse.mkdir(parents=True, exist_ok=True)
    port = free_port()
    chosen = make_session_settings(warehouse, "ice", "local[2]") | _metastore(warehouse)
    chosen |= ({} if PROOF else SETTINGS) | dict(settings or {})
    chosen |= {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.memory": "1g",
    }
    words = [word for name, value in chosen.items() for word in ("--conf", f"{name}={value}")]
    home = Path(pyspark.__file__).parent
    command = java("256m", f"{home}/jars/*", "org.apache.spark.deploy.SparkSubmit", *words, "--class", _CLASS)
    command = [*command[:1], "-Xmx1g", *_OPENED, *command[2:], "spark-internal"]
    environment = {**os.environ, **_KEYS, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    server = Server("Spark Connect", command, warehouse / "connect.log", env=environment, cwd=warehouse)
    with running(server, signal.SIGTERM):
        await_true("listening", lambda: _listens(port), server, _SECONDS)
        yield f"sc://127.0.0.1:{port}"


# Source: Spark `JavaModuleOptions`, which its own launcher adds.
_OPENED = [
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in (
            "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio",
            "java.util", "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref",
            "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar",
        )
    ),
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
]  # fmt: skip


def _metastore(warehouse: Path) -> dict[str, str]:
    """A metastore in the server itself, its database a folder. Source: Hive "AdminManual Metastore"."""
    return {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={warehouse / 'metastore'};create=true"
        ),
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        # The pool that Hive asks for by default is not among Spark's jars.
        "spark.hadoop.datanucleus.connectionPoolingType": "NONE",
    }


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
