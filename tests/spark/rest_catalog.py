"""Iceberg's own REST server, as its tests have it, in a process of its own that listens on loopback alone.

Its `main` would listen on every address, so its parts are put together from here, over py4j.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from tests.live.jars import classpath
from tests.live.process import free_port


@contextmanager
def rest_catalog(warehouse: Path) -> Iterator[str]:
    """The URL of a catalogue whose tables lie in a folder; ended with the block. Raises `JarsUnreachable`."""
    warehouse.mkdir(parents=True, exist_ok=True)
    # Hadoop's file system and the Java side of py4j come with PySpark.
    spark = Path(pyspark.__file__).parent / "jars"
    jars = [
        *spark.glob("hadoop-client-*.jar"),
        *spark.glob("py4j-*.jar"),
        *spark.glob("commons-logging*.jar"),
    ]
    path = os.pathsep.join([classpath("rest"), *map(str, jars)])
    with (warehouse / "rest.log").open("ab") as log:
        port, process = launch_gateway(
            classpath=path,
            jarpath=str(next(spark.glob("py4j-*.jar"))),
            javaopts=["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
            die_on_exit=True,
            redirect_stdout=log,
            redirect_stderr=log,
            return_proc=True,
        )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    try:
        yield _served(gateway.jvm, warehouse)
    finally:
        gateway.close()
        process.terminate()
        process.wait()


def _served(jvm: Any, warehouse: Path) -> str:
    """Source: Iceberg `RESTCatalogServer.start`."""
    iceberg, jetty = jvm.org.apache.iceberg, jvm.org.eclipse.jetty
    options = jvm.java.util.HashMap()
    options.put("catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog")
    options.put("uri", f"jdbc:sqlite:{warehouse / 'rest.db'}")
    options.put("jdbc.schema-version", "V1")
    options.put("warehouse", str(warehouse / "rest"))
    backend = iceberg.CatalogUtil.buildIcebergCatalog(
        "backend", options, jvm.org.apache.hadoop.conf.Configuration()
    )
    servlet = iceberg.rest.RESTCatalogServlet(iceberg.rest.RESTCatalogAdapter(backend))
    context = jetty.ee10.servlet.ServletContextHandler(0)
    context.addServlet(jetty.ee10.servlet.ServletHolder(servlet), "/*")
    port = free_port()
    server = jetty.server.Server(jvm.java.net.InetSocketAddress("127.0.0.1", port))
    server.setHandler(context)
    server.start()
    return f"http://127.0.0.1:{port}"
