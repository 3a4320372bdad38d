"""The same life in every catalogue that a table can lie in, and read there by somebody else in the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.rest import RestCatalog

from schemaman.migration.settings import CatalogSetting, CatalogType, spark_settings
from schemaman.spark.executor import SparkExecutor
from tests.live.jars import JarsUnreachable
from tests.spark import second_reader
from tests.spark.lake_table_history import DELTA_COLUMNS, ICEBERG_COLUMNS, ROWS, lived
from tests.spark.rest_catalog import rest_catalog
from tests.support.checkout import PROOF

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def rest(spark, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a REST catalogue that the session knows as `rest`."""
    try:
        with rest_catalog(tmp_path_factory.mktemp("rest")) as address:
            yield address
    except JarsUnreachable as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


def known(spark: Any, name: str, type: CatalogType, *options: tuple[str, str]) -> None:
    """Let a session know a catalogue, as `schemaman.toml` would."""
    for key, value in spark_settings(CatalogSetting(name, type, options), {}).items():
        spark.conf.set(key, value)


def test_hadoop(spark, executor: SparkExecutor, tmp_path: Path) -> None:
    known(spark, "folder", "hadoop", ("warehouse", str(tmp_path)))
    lived(executor, "iceberg", "folder.shop.orders")
    confirmed(second_reader.hadoop_table(tmp_path / "shop" / "orders"))


def test_rest(spark, executor: SparkExecutor, rest: str) -> None:
    known(spark, "rest", "rest", ("uri", rest))
    live = lived(executor, "iceberg", "rest.shop.orders")
    table = RestCatalog("rest", uri=rest).load_table(("shop", "orders"))
    confirmed(table)
    assert live.identity == str(table.metadata.table_uuid)
    assert table.metadata_location.endswith(live.version)


def test_delta_by_path(executor: SparkExecutor, tmp_path: Path) -> None:
    lived(executor, "delta", str(tmp_path / "or ders"))
    assert second_reader.delta_log_columns(tmp_path / "or ders") == DELTA_COLUMNS


if PROOF:  # the stories are Delta tables by name and Iceberg tables of a catalogue of type jdbc, too

    def test_jdbc(executor: SparkExecutor, warehouse: Path) -> None:
        lived(executor, "iceberg", "ice.catalogs.orders")
        confirmed(second_reader.iceberg_table(warehouse, "ice.catalogs.orders"))

    def test_delta_by_name(executor: SparkExecutor, warehouse: Path) -> None:
        lived(executor, "delta", "catalogs.orders")
        assert second_reader.delta_columns(warehouse, "catalogs.orders") == DELTA_COLUMNS


def confirmed(table: Any) -> None:
    """What pyiceberg sees."""
    assert second_reader.columns_of(table) == ICEBERG_COLUMNS
    assert table.schema().identifier_field_names() == {"id"}
    read: Sequence[dict[str, Any]] = table.scan().to_arrow().to_pylist()
    assert sorted(read, key=lambda row: row["id"]) == list(ROWS)
