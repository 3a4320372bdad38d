"""A worker or the driver dies amid a reading: another reading gives the history of an undisturbed one."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemaman.errors import CouldNotDo
from schemaman.ingest.ingest import ingest
from schemaman.io import files
from schemaman.io.schema_registry import load_export
from schemaman.registry import Registry
from schemaman.spark import ingest as pipeline
from schemaman.store.memory import MemoryStore
from schemaman.store.sql.store import SqlStore
from tests.spark import appliers
from tests.spark.killing_schemas import KillingSchemas
from tests.support.checkout import CAPTURES, PROOF

pytestmark = pytest.mark.spark
FOLDER = CAPTURES / "postgres/shop-avro"
ROUNDS = 10 if PROOF else 1
CHUNK = 100
_RANDOM = random.Random(31)
LOOKUPS_OF_TASKS = [_RANDOM.randrange(1, 500) for _ in range(ROUNDS)]
LOOKUPS_OF_THE_DRIVER = [_RANDOM.randrange(2, 80) for _ in range(ROUNDS)]


def read(spark: Any, url: str, schemas: KillingSchemas) -> None:
    """Read the recording into a store, chunk by chunk."""
    schemas.driver = os.getpid()
    with SqlStore.open(url, create=True) as store:
        destination = pipeline.Destination(Registry(store, lambda: 0), "main", schemas)
        pipeline.ingest(spark, [files.find_file(str(FOLDER))], destination, size=CHUNK)


def read_history(url: str) -> tuple[object, ...]:
    """Read the history of a store, whose log must be whole."""
    with SqlStore.open(url, create=True) as store:
        assert store.check() == ()
        registry = Registry(store, lambda: 0)
        return registry.tables(), registry.offsets("main")


@pytest.fixture(scope="module")
def undisturbed() -> tuple[object, ...]:
    """The history of one reading without Spark."""
    registry = Registry(MemoryStore(lambda: 0), lambda: 0)
    records = files.read_records(files.find_file(str(FOLDER)))
    ingest(records, registry, "main", load_export(str(FOLDER / "registry.json")), size=CHUNK)
    return registry.tables(), registry.offsets("main")


def test_a_worker_that_is_killed_changes_nothing(
    spark: Any, tmp_path: Path, undisturbed: tuple[object, ...], figure: Callable[[str, object], None]
) -> None:
    for number, lookup in enumerate(LOOKUPS_OF_TASKS):
        url = f"sqlite:///{tmp_path}/worker-{number}.db"
        schemas = KillingSchemas(load_export(str(FOLDER / "registry.json")), tmp_path / "armed", lookup)
        with pytest.raises(CouldNotDo, match="Python worker exited"):
            read(spark, url, schemas)
        assert not schemas.armed.exists()
        assert read_history(url) == ((), {})
        read(spark, url, schemas)
        assert read_history(url) == undisturbed
    figure("kills of a Python worker amid a reading", ROUNDS)


def test_a_driver_that_is_killed_loses_one_chunk_at_most(
    spark: Any, tmp_path: Path, undisturbed: tuple[object, ...], figure: Callable[[str, object], None]
) -> None:
    for number, lookup in enumerate(LOOKUPS_OF_THE_DRIVER):
        url = f"sqlite:///{tmp_path}/driver-{number}.db"
        export = load_export(str(FOLDER / "registry.json"))
        schemas = KillingSchemas(export, tmp_path / "armed", lookup, in_driver=True)
        driver = appliers.start_work(appliers.driver_of(spark), read, (url, schemas))
        assert appliers.ended(driver) == -9
        assert read_history(url) != undisturbed
        read(spark, url, schemas)
        assert read_history(url) == undisturbed
    figure("kills of the driver amid a reading", ROUNDS)
