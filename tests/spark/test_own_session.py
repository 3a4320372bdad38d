"""A session of the user's own: taken as it is, left as it was, and told clearly what it lacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from schemaman.errors import EngineUnavailable
from schemaman.model.column_list import parse_columns
from schemaman.spark.executor import SparkExecutor
from tests.spark.lake_table_history import lived
from tests.spark.test_catalogs import known
from tests.support.checkout import ROOT

pytestmark = pytest.mark.spark


def test_a_session_without_the_extensions_says_what_it_lacks(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.own_session", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    by_path, by_name, iceberg, settings, literals = done.stdout.splitlines()
    for told in (by_path, by_name):
        assert told.startswith("this Spark session cannot migrate Delta tables: it was started without")
        assert "spark.sql.extensions = io.delta.sql.DeltaSparkSessionExtension" in told
    assert iceberg.startswith("this Spark session cannot migrate Iceberg tables")
    assert "IcebergSparkSessionExtensions" in iceberg
    assert settings == "unchanged"
    assert "spark.sql.parser.escapedStringLiterals = false" in literals
    assert list(tmp_path.iterdir()) == []


def test_a_catalogue_that_the_session_does_not_know_is_named(spark) -> None:
    with pytest.raises(EngineUnavailable, match="no catalogue 'nowhere'") as caught:
        SparkExecutor(spark).inspect("nowhere.a.b", "iceberg")
    assert "[catalogs.nowhere] in schemaman.toml" in (caught.value.hint or "")


def test_a_whole_life_changes_no_setting(spark, tmp_path: Path) -> None:
    other = spark.newSession()
    known(other, "own", "hadoop", ("warehouse", str(tmp_path)))
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    other.conf.set("spark.sql.caseSensitive", "true")
    before = other.conf.getAll
    lived(SparkExecutor(other), "iceberg", "own.shop.orders")
    # The engines themselves add settings of theirs, such as `spark.sql.parquet.fieldId.write.enabled`.
    assert before.items() <= other.conf.getAll.items()


@pytest.mark.parametrize("java", [True, False])
def test_a_catalogue_that_caches_shows_what_others_changed(spark, tmp_path: Path, java: bool) -> None:
    # A session remembers a catalogue by its name.
    fresh, caching = f"fresh_{java}", f"caching_{java}"
    known(spark, fresh, "hadoop", ("warehouse", str(tmp_path)))
    known(spark, caching, "hadoop", ("warehouse", str(tmp_path)), ("cache-enabled", "true"))
    executor = SparkExecutor(spark, java=java)
    executor.run(f"CREATE TABLE {caching}.a.t (id INT) USING iceberg")
    assert executor.inspect(f"{caching}.a.t", "iceberg") is not None
    executor.run(f"ALTER TABLE {fresh}.a.t ADD COLUMNS (b INT)")
    live = executor.inspect(f"{caching}.a.t", "iceberg")
    assert live is not None
    assert live.schema == parse_columns("id INT, b INT")
