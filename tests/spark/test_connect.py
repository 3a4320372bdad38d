"""The whole story through Spark Connect: no JVM on this side, other errors, the same tables and answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from pyspark.sql.connect.session import SparkSession as RemoteSession

from schemaman.errors import EngineUnavailable, StatementConflict, StatementFailed
from schemaman.ingest.ingest import ingest
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.registry import Registry
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.frame_ingest import ingest_frame, pack_partitions
from schemaman.spark.ingest import Destination
from schemaman.spark.record_columns import RAW
from schemaman.spark.session import is_classic, require_server
from schemaman.store.memory import MemoryStore
from tests.live.jars import JarsUnreachable, classpath
from tests.live.process import NotReady, free_port
from tests.spark import second_reader
from tests.spark.connect_server import connect_server
from tests.spark.lake_table_history import DELTA_COLUMNS, lived
from tests.spark.test_catalogs import confirmed, known
from tests.support.checkout import CAPTURES, PROOF
from tests.support.recordings import recorded

if PROOF:
    from moto.server import ThreadedMotoServer
    from pyiceberg.catalog.glue import GlueCatalog

pytestmark = pytest.mark.spark
REGION = "us-east-1"
DB2 = CAPTURES / "db2" / "shop-3.4.1-json"


@dataclass(frozen=True, slots=True)
class Far:
    """A server and a session on it."""

    address: str
    warehouse: Path
    spark: Any

    @property
    def executor(self) -> SparkExecutor:
        return SparkExecutor(self.spark)


@contextmanager
def glue() -> Iterator[str]:
    """AWS Glue and S3 as moto plays them, with a bucket `lake`."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    urlopen(Request(f"http://{host}:{port}/lake", method="PUT")).close()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Far]:
    """One server for all of these tests."""
    warehouse = tmp_path_factory.mktemp("far")
    try:
        settings = {"spark.jars": classpath("glue")} if PROOF else {}
        with connect_server(warehouse, settings) as address:
            spark = RemoteSession.builder.remote(address).create()
            yield Far(address, warehouse, spark)
            spark.stop()
    except (JarsUnreachable, NotReady) as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


def test_there_is_no_jvm_here(far: Far) -> None:
    assert not is_classic(far.spark)


def test_iceberg_in_a_catalogue_of_type_jdbc(far: Far) -> None:
    lived(far.executor, "iceberg", "ice.shop.orders")
    confirmed(second_reader.iceberg_table(far.warehouse, "ice.shop.orders"))


if PROOF:  # a small run has one story: Iceberg in a catalogue of type jdbc

    def test_delta_in_a_hive_metastore(far: Far) -> None:
        lived(far.executor, "delta", "shop_delta.orders")
        assert second_reader.delta_columns(far.warehouse, "shop_delta.orders") == DELTA_COLUMNS

    def test_iceberg_in_glue(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
        with glue() as address:
            options = {"glue.endpoint": address, "s3.endpoint": address, "s3.path-style-access": "true"}
            keys = {"s3.access-key-id": "made", "s3.secret-access-key": "up", "client.region": REGION}
            told = {"warehouse": "s3://lake/warehouse", **options, **keys}
            known(far.spark, "glue", "glue", *told.items())
            live = lived(far.executor, "iceberg", "glue.shop.orders")
            # Spark's own reader knows no s3:// here: the metadata file stays closed.
            assert live.identity == "s3://lake/warehouse/shop.db/orders"
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made")
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "up")
            seen = GlueCatalog("glue", **options, **keys, **{"glue.region": REGION, "s3.region": REGION})
            confirmed(seen.load_table(("shop", "orders")))

    def test_delta_by_path(far: Far) -> None:
        lived(far.executor, "delta", str(far.warehouse / "or ders"))
        assert second_reader.delta_log_columns(far.warehouse / "or ders") == DELTA_COLUMNS


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELEC 1", "PARSE_SYNTAX_ERROR"),
        ("ALTER TABLE ice.failing.t ALTER COLUMN id TYPE STRING", "Cannot change column type"),
        ("ALTER TABLE ice.failing.t ADD COLUMNS (ID INT)", "FIELD_ALREADY_EXISTS"),
        ("ALTER TABLE ice.failing.nothing ADD COLUMNS (a INT)", "TABLE_OR_VIEW_NOT_FOUND"),
    ],
)
def test_a_refused_statement_is_one_line(far: Far, statement: str, words: str) -> None:
    far.executor.run("CREATE NAMESPACE IF NOT EXISTS ice.failing")
    far.executor.run("CREATE TABLE IF NOT EXISTS ice.failing.t (id INT) USING iceberg")
    with pytest.raises(StatementFailed, match=words) as caught:
        far.executor.run(statement)
    assert "\n" not in caught.value.message
    assert not isinstance(caught.value, StatementConflict)


RACERS = "abcd"


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_lost_race_is_told_from_other_failures(far: Far, format: str) -> None:
    name = "ice.raced.t" if format == "iceberg" else f"delta.`{far.warehouse / 'raced'}`"
    far.executor.run("CREATE NAMESPACE IF NOT EXISTS ice.raced")
    far.executor.run(f"CREATE TABLE {name} (id INT) USING {format}")
    others = [RemoteSession.builder.remote(far.address).create() for _ in RACERS]
    lost: list[StatementFailed] = []
    for turn in range(100):
        ready = threading.Barrier(len(RACERS))

        def alter(spark: Any, column: str, ready: threading.Barrier = ready) -> None:
            ready.wait()
            try:
                SparkExecutor(spark).run(f"ALTER TABLE {name} ADD COLUMNS ({column} INT)")
            except StatementFailed as error:
                lost.append(error)

        racers = [
            threading.Thread(target=alter, args=(spark, f"{side}{turn}"))
            for side, spark in zip(RACERS, others, strict=True)
        ]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        if lost:
            break
    for spark in others:
        spark.stop()
    assert lost
    assert [error.message for error in lost if not isinstance(error, StatementConflict)] == []


def test_the_command_line_works_on_a_server(far: Far, tmp_path: Path) -> None:
    """In a process that never starts a JVM: `master` names the server."""
    table = str(far.warehouse / "by command")

    def run(*words: object) -> dict[str, Any]:
        command = [sys.executable, "-c", "import sys; from schemaman_cli.main import main; sys.exit(main())"]
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("SCHEMAMAN_", "JAVA", "SPARK"))}
        told = subprocess.run(
            [*command, *map(str, words), "--format", "json"],
            cwd=tmp_path,
            env=variables | {"SCHEMAMAN_MASTER": far.address},
            capture_output=True,
            text=True,
            check=False,
        )
        assert told.returncode == 0, told.stderr
        found: dict[str, Any] = json.loads(told.stdout)
        return found

    run("ingest", DB2)
    planned = run("plan", "CUSTOMERS", "--target", "delta", "--table", table, "-o", "made.plan.json")
    assert planned["steps"] != []
    assert run("apply", "made.plan.json")["state"] == "applied"
    assert second_reader.delta_log_columns(Path(table)) != []


def test_a_server_migrates_tables_side_by_side(far: Far) -> None:
    executor = far.executor
    slots = "spark.sql.leafNodeDefaultParallelism"  # a small server has one by its settings
    far.spark.conf.set(slots, "2")
    assert executor.slots == 2
    far.spark.conf.unset(slots)
    executor.run("CREATE NAMESPACE IF NOT EXISTS ice.beside")
    both = threading.Barrier(executor.slots, timeout=60)

    def alter(name: str) -> tuple[str, ...]:
        both.wait()
        executor.run(f"CREATE TABLE {name} (id INT) USING iceberg")
        executor.run(f"ALTER TABLE {name} ADD COLUMNS (a INT)")
        found = executor.inspect(name, "iceberg")
        return found.schema.names if found else ()

    with ThreadPoolExecutor(executor.slots) as pool:
        names = [f"ice.beside.t{number}" for number in range(4)]
        assert list(pool.map(alter, names)) == [("id", "a")] * 4


def test_a_server_that_is_not_there_is_said_so_at_once() -> None:
    with pytest.raises(EngineUnavailable) as caught:
        require_server(f"sc://127.0.0.1:{free_port()}/;token=hidden")
    assert "no Spark Connect server answers at sc://127.0.0.1" in caught.value.message
    assert "hidden" not in caught.value.message


def test_a_frame_on_the_server_is_read(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    # as `SparkSession.builder.remote` sets it; functions of columns ask it. Source: PySpark `is_remote`
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    records = sorted(recorded("postgres/shop-json"), key=lambda r: (r.topic, r.partition, r.offset))
    rows: list[tuple[object, ...]] = [
        (r.topic, r.partition, r.offset, None, r.key, r.value, []) for r in records
    ]
    frame = far.spark.createDataFrame(rows, RAW)
    assert pack_partitions(frame) is frame
    found, expected = Registry(MemoryStore(lambda: 0), lambda: 0), Registry(MemoryStore(lambda: 0), lambda: 0)
    assert ingest_frame(frame.repartition(3), Destination(found, "main", NO_REGISTRY)).new == len(records)
    plain = [replace(r, timestamp_ms=None, headers=()) for r in records]
    ingest(plain, expected, "main", NO_REGISTRY)
    assert found.tables() == expected.tables()
    assert ingest_frame(frame, Destination(found, "main", NO_REGISTRY)).new == 0
