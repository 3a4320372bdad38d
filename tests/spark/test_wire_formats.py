"""Two engines, one log: also where forms are configured, headers name schemas, and the registry is live."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import Form, Forms
from schemaman.errors import RegistryUnavailable
from schemaman.ingest import ingest as local
from schemaman.io import files
from schemaman.io.schema_registry import open_registry
from schemaman.registry import Registry
from schemaman.spark import ingest as pipeline
from schemaman.store.memory import MemoryStore
from tests.debezium.test_wire_format import FRAMES, RUN, reframed
from tests.support.checkout import CAPTURES
from tests.support.recordings import recorded
from tests.support.schema_registry import serving

pytestmark = pytest.mark.spark
ENTRIES = json.loads((CAPTURES / "postgres/shop-avro/registry.json").read_bytes())
SCHEMA = arrow.schema(
    {
        "topic": arrow.string(),
        "partition": arrow.int32(),
        "offset": arrow.int64(),
        "timestamp": arrow.int64(),
        "key": arrow.binary(),
        "value": arrow.binary(),
        "headers": arrow.list_(arrow.struct({"key": arrow.string(), "value": arrow.binary()})),
    }
)


def written(records: Iterable[Record], path: Path) -> files.File:
    """The records as Spark's Kafka source tells them, in several row groups."""
    rows = [
        {
            "topic": r.topic, "partition": r.partition, "offset": r.offset, "timestamp": r.timestamp_ms,
            "key": r.key, "value": r.value, "headers": [{"key": k, "value": v} for k, v in r.headers],
        }
        for r in records
    ]  # fmt: skip
    parquet.write_table(arrow.Table.from_pylist(rows, SCHEMA), path, row_group_size=200)
    return files.find_file(str(path))


@pytest.mark.parametrize(
    ("frame", "form", "path"),
    [
        ("apicurio content header", "auto", "apis/registry/v3"),
        ("guid header", "confluent", ""),
    ],
)
def test_the_log_is_the_same_in_every_framing(
    spark: Any, tmp_path: Path, frame: str, form: Form, path: str
) -> None:
    file = written([reframed(r, FRAMES[frame][1]) for r in recorded(RUN)], tmp_path / "r.parquet")
    forms, told = Forms(form, form), []
    with serving(ENTRIES) as served:
        for engine in ("local", "spark"):
            store, schemas = MemoryStore(lambda: 0), open_registry(f"{served.url}/{path}", {})
            desk = Registry(store, lambda: 0)
            if engine == "local":
                summary = local.ingest(files.read_records(file), desk, "main", schemas, forms=forms)
            else:
                summary = pipeline.ingest(
                    spark, [file], pipeline.Destination(desk, "main", schemas, forms=forms)
                )
            told.append((summary, list(store.read())))
    assert told[0] == told[1]
    assert told[0][0].observations > 20


def test_a_registry_that_does_not_answer_stops_executors_too(spark: Any, tmp_path: Path) -> None:
    file = written(recorded(RUN), tmp_path / "r.parquet")
    with serving(ENTRIES) as served:
        served.down = True
        schemas = open_registry(served.url, {"max.retries": "0"})
        destination = pipeline.Destination(Registry(MemoryStore(lambda: 0), lambda: 0), "main", schemas)
        with pytest.raises(RegistryUnavailable, match="answers 500"):
            pipeline.ingest(spark, [file], destination)
