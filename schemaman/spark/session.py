"""One Spark session for both formats: Delta has `spark_catalog`, Iceberg a named catalogue."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from schemaman.errors import EngineUnavailable
from schemaman.plugins import install_hint
from schemaman.store.urls import is_secret, without_password

try:
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    from schemaman.spark.versions import find_packages, silence_logger
except ImportError as error:
    raise EngineUnavailable(
        f"this needs Spark, but its Python package is not installed ({error})",
        hint=install_hint("spark"),
    ) from error

DEFAULT_CATALOG = "ice"
_OLDEST_JAVA = 17
_CONNECT_PORT = 15002
_CONNECT_SECONDS = 10
_JAVA_HINT = f"install Java {_OLDEST_JAVA} or 21 (Debian: openjdk-17-jre-headless) and set JAVA_HOME"


def start_session(
    *,
    warehouse: str | Path,
    catalog: str = DEFAULT_CATALOG,
    master: str = "local[2]",
    settings: Mapping[str, str] | None = None,
    packages: Sequence[str] = (),
    log: IO[bytes] | None = None,
) -> SparkSession:
    """Return the Spark session of this process; the first call starts it.

    `warehouse` is a folder: Delta tables by name are in `spark/`, Iceberg tables in `<catalog>/`, and the
    Iceberg catalogue is the SQLite file `<catalog>.db`. `settings` are Spark's own and override the defaults,
    for example for another kind of catalogue; `packages` are Maven coordinates of the jars that it needs.
    `master` may be the address of a Spark Connect server, `sc://host:port`; then warehouse and jars are those
    of the server. `log` receives the output of the JVM. Without `log`, the output is not printed, and an
    error contains its last lines. An already active session is the user's: it is returned unchanged.

    Raises:
        EngineUnavailable: Java is missing or too old, jars are unavailable, or Spark did not start.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if master.startswith("sc://"):
        return _connect(master, dict(settings or {}))
    folder = Path(warehouse).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        require_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    ours = make_session_settings(folder, catalog, master)
    ours["spark.jars.packages"] = ",".join((*find_packages(), *packages))
    chosen = ours | dict(settings or {})
    _silence_loggers()
    spark = _start(SparkConf(loadDefaults=False).setAll(list(chosen.items())), log)
    spark.sparkContext.setLogLevel("ERROR")
    return spark


@contextmanager
def open_session(
    *,
    warehouse: str | Path,
    catalog: str = DEFAULT_CATALOG,
    master: str,
    settings: Mapping[str, str],
    packages: Sequence[str] = (),
) -> Iterator[SparkSession]:
    """Open a session as `start_session`, and stop it at the end unless it existed before. Raises likewise."""
    before = SparkSession.getActiveSession()
    spark = start_session(
        warehouse=warehouse, catalog=catalog, master=master, settings=settings, packages=packages
    )
    try:
        yield spark
    finally:
        if before is None:
            spark.stop()


def make_session_settings(warehouse: Path, catalog: str, master: str) -> dict[str, str]:
    """Make Spark's settings for both formats in one application.

    Source: Delta "Set up Apache Spark with Delta Lake" (extension and catalogue), Iceberg "Spark
    configuration" (catalogue of type jdbc, `cache-enabled`). A migration must see foreign changes at once,
    so the catalogue does not cache.
    """
    ice = f"spark.sql.catalog.{catalog}"
    return {
        "spark.app.name": "schemaman",
        "spark.master": master,
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.jars.packages": ",".join(find_packages()),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Spark redacts some secrets by itself; this adds Iceberg's. Source: Spark `REDACTION` settings.
        "spark.redaction.regex": "(?i)secret|password|token|access[.]?key|credential|authorization",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(warehouse / "spark"),
        "spark.databricks.delta.snapshotPartitions": "2",
        # Delta's default caches 10,000 tables (`DeltaSQLConf`), with 3 MB for each even with few columns.
        "spark.databricks.delta.delta.log.cacheSize": "50",
        ice: "org.apache.iceberg.spark.SparkCatalog",
        f"{ice}.type": "jdbc",
        f"{ice}.uri": f"jdbc:sqlite:{warehouse / f'{catalog}.db'}",
        # Without the layout for views, a missing table raises an UnsupportedOperationException.
        f"{ice}.jdbc.schema-version": "V1",
        f"{ice}.warehouse": str(warehouse / catalog),
        f"{ice}.cache-enabled": "false",
    }


def select_launch_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Select the settings for the JVM's command line, which all users of the machine can read.

    Secrets are passed to the JVM later, with the context.
    """
    return {name: value for name, value in settings.items() if not is_secret(name)}


def is_classic(spark: SparkSession) -> bool:
    """Whether the session has a JVM for this process; a Spark Connect session has none."""
    # For this attribute, Spark Connect raises an error that `hasattr` treats as missing.
    return hasattr(spark, "_jsparkSession")


def is_stopped(spark: SparkSession) -> bool:
    """Whether a classic session was stopped. Source: PySpark 4.1, `SparkContext.stop` clears `_jsc`."""
    return is_classic(spark) and spark.sparkContext._jsc is None


def require_java() -> str:
    """Find the `java` that Spark will start.

    Raises:
        EngineUnavailable: there is no `java`, or it is too old for Spark 4.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if found is None:
        where = f"JAVA_HOME={home} has no bin/java" if home else "there is no java on the PATH"
        raise EngineUnavailable(f"Spark needs Java, but {where}", hint=_JAVA_HINT)
    result = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r'version "(?:1\.)?(\d+)', result.stderr + result.stdout)
    if result.returncode != 0 or version is None:
        raise EngineUnavailable(
            f"{found} -version failed with exit code {result.returncode}", hint=_JAVA_HINT
        )
    if int(version[1]) < _OLDEST_JAVA:
        raise EngineUnavailable(
            f"Spark needs Java {_OLDEST_JAVA} or newer, but {found} is {version[1]}", hint=_JAVA_HINT
        )
    return found


def _silence_loggers() -> None:
    """Silence what prints kilobytes for each failed statement, and a traceback for Ctrl-C.

    py4j logs Ctrl-C by the root logger. Source: py4j 0.10.9.9, GatewayClient.send_command.
    """
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        silence_logger(name)
    logging.getLogger().addFilter(_is_no_interrupt)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], KeyboardInterrupt))


def require_server(address: str) -> None:
    """Check that a Spark Connect server accepts connections: its client would retry for minutes.

    Raises:
        EngineUnavailable: no server answers, or the address is invalid.

    Source of the default port: Spark Connect.
    """
    shown = without_password(address)
    try:
        url = urlsplit(address.partition(";")[0])
        with socket.create_connection((url.hostname or "", url.port or _CONNECT_PORT), _CONNECT_SECONDS):
            pass
    except (OSError, ValueError) as error:
        raise EngineUnavailable(
            f"no Spark Connect server answers at {shown}: {error}",
            hint="check master = 'sc://HOST:PORT' in schemaman.toml; start-connect-server.sh starts a server",
        ) from error


def _connect(address: str, settings: Mapping[str, str]) -> SparkSession:
    """Start a session on a server; settings of the server's start cannot be set here."""
    require_server(address)
    shown = without_password(address)
    try:
        spark: SparkSession = SparkSession.builder.remote(address).getOrCreate()
        for name, value in settings.items():
            spark.conf.set(name, value)
    except ImportError as error:
        hint = install_hint("connect")
        raise EngineUnavailable(
            f"Spark Connect needs a package: {find_first_line(error)}", hint=hint
        ) from error
    except PySparkException as error:
        raise EngineUnavailable(
            f"the Spark Connect server {shown} refused the session: {find_first_line(error)}",
            hint="the server must run Spark 4.1; settings of its start must be set on the server",
        ) from error
    _silence_loggers()
    return spark


def find_first_line(error: Exception) -> str:
    """Find the first line of an error with text; the name of its class if there is none."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _start(conf: SparkConf, log: IO[bytes] | None) -> SparkSession:
    with tempfile.TemporaryFile() as silent:
        output = log or silent
        start = output.tell()
        try:
            public = SparkConf(loadDefaults=False).setAll(
                list(select_launch_settings(dict(conf.getAll())).items())
            )
            # The JVM and the jar resolver talk on both streams; results of a command go to stdout alone.
            # `launch_gateway` has no annotations, though PySpark is typed.
            gateway = launch_gateway(public, {"stdout": output, "stderr": output})  # type: ignore[no-untyped-call]
            with _keep_interrupt_handler():
                context = SparkContext(conf=conf, gateway=gateway)
            _exclude_jars(context)
            return SparkSession(context)
        except (PySparkException, OSError) as error:
            raise EngineUnavailable(
                f"Spark did not start: {_find_last_line(output, start) or error}",
                hint=_find_start_hint(output, start),
            ) from error


def _exclude_jars(context: SparkContext) -> None:
    """Keep the jars of `spark.jars.packages` off the path of Python workers, since they hold no Python.

    Each task reads the directory of every archive on that path again: a third of a second for the jar of
    Iceberg. Source: pyspark 4.1, `worker_util.setup_spark_files`; SparkSubmit adds the jars to `pyFiles`.
    """
    includes = context._python_includes or []
    context._python_includes = [name for name in includes if not name.endswith(".jar")]


@contextmanager
def _keep_interrupt_handler() -> Iterator[None]:
    """Keep this process's handler of Ctrl-C: PySpark's own talks to the JVM while the main thread does.

    Source: pyspark 4.1, SparkContext._do_init: its handler cancels all jobs through py4j.
    """
    handler = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


def _read_output(output: IO[bytes], start: int) -> str:
    if not output.readable():
        return ""
    output.seek(start)
    return output.read().decode(errors="replace")


def _find_last_line(output: IO[bytes], start: int) -> str:
    lines = [line.strip() for line in _read_output(output, start).splitlines() if line.strip()]
    telling = [line for line in lines if "Exception" in line or "rror:" in line or "not found" in line]
    return (telling or lines or [""])[-1]


def _find_start_hint(output: IO[bytes], start: int) -> str | None:
    if "unresolved dependency" in _read_output(output, start):
        return "the jars of Delta and Iceberg come from Maven Central once: check the network or its proxy"
    return None
