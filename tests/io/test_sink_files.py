"""Files as sinks of Kafka Connect write them give the history of the records that they were written from."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from schemaman.debezium.records import Record
from schemaman.errors import BadReference, UnreadableInput
from schemaman.ingest.chunks import UnreadableItem
from schemaman.ingest.ingest import ingest
from schemaman.io import files
from schemaman.io.schema_registry import NO_REGISTRY, FileSchemas
from schemaman.io.sink_files import SinkPlace, find_place
from schemaman.model.schema import TableSchema
from schemaman.registry import Registry
from schemaman.store.memory import MemoryStore
from tests.support.recordings import recorded, registry

RUN = "postgres/shop-avro"
TOPIC = "shopdb.shop.orders"


def read(source: Path | str, schemas: FileSchemas | None = None) -> list[Record | UnreadableItem]:
    note = (schemas or FileSchemas(NO_REGISTRY)).note
    return [r for file in files.find_files(str(source)) for r in files.read_records(file, note_schema=note)]


def read_history(items: Iterable[Record | UnreadableItem], schemas: FileSchemas) -> list[TableSchema | None]:
    known = Registry(MemoryStore(), lambda: 0)
    assert not ingest(items, known, "main", schemas).rejects
    return [version.schema for history in known.tables() for version in history.versions]


def orders() -> list[Record]:
    """The rows of one table whose keys and values have one schema each."""
    rows = [(r, r.key, r.value) for r in recorded(RUN) if r.topic == TOPIC]
    ids = {(key[:5], value[:5]) for _, key, value in rows if key and value}
    first = min(ids)
    return [r for r, key, value in rows if key and value and (key[:5], value[:5]) == first]


def parse(data: bytes | None) -> tuple[Any, Any]:
    """The schema of a body, and its datum."""
    assert data is not None
    text = registry(RUN)(int.from_bytes(data[1:5], "big"))
    schema = fastavro.parse_schema(json.loads(text or ""))
    return schema, fastavro.schemaless_reader(io.BytesIO(data[5:]), schema, None)


def write_avro(path: Path, bodies: Iterable[bytes | None]) -> None:
    parsed = [parse(body) for body in bodies]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        fastavro.writer(
            file, parsed[0][0], [datum for _, datum in parsed], codec="deflate", sync_interval=500
        )


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("shop.orders+3+0000000120.avro", SinkPlace("shop.orders", 3, 120)),
        ("o+0+5.json.gz", SinkPlace("o", 0, 5)),
        ("o+0+5+9.avro", SinkPlace("o", 0, 5, 9)),
        ("o+0+5.snappy.parquet", SinkPlace("o", 0, 5)),
        ("o+0+5.keys.json", None),
        ("o+0.json", None),
        ("o+0+5.jsonl", None),
        ("o+x+5.json", None),
    ],
)
def test_the_place_stands_in_the_name(name: str, place: SinkPlace | None) -> None:
    assert find_place(Path(name)) == place


def test_avro_files_with_and_without_keys(tmp_path: Path) -> None:
    rows = orders()
    folder = tmp_path / "topics" / TOPIC / "partition=0"
    write_avro(folder / f"{TOPIC}+0+0000000100.avro", [r.value for r in rows[:2]])
    write_avro(folder / f"{TOPIC}+0+0000000102.avro", [r.value for r in rows[2:]])
    schemas = FileSchemas(NO_REGISTRY)
    found = [r for r in read(tmp_path, schemas) if isinstance(r, Record)]
    assert [(r.topic, r.partition, r.offset) for r in found] == [
        (TOPIC, 0, 100 + i) for i in range(len(rows))
    ]
    assert [r.value for r in found] == [(r.value or b"")[5:] for r in rows]
    assert not any(r.is_key_known for r in found)
    write_avro(folder / f"{TOPIC}+0+0000000100.keys.avro", [r.key for r in rows[:2]])
    write_avro(folder / f"{TOPIC}+0+0000000102.keys.avro", [r.key for r in rows[2:]])
    (tmp_path / "_SUCCESS.avro").touch()
    keyed = read(tmp_path / "topics" / "**" / "*.avro", schemas)
    assert read_history(keyed, schemas) == read_history(rows, FileSchemas(registry(RUN)))
    write_avro(folder / f"{TOPIC}+0+0000000102.keys.avro", [r.key for r in rows[3:]])
    with pytest.raises(UnreadableInput, match="fewer keys"):
        read(tmp_path, schemas)


def test_rows_in_parquet(tmp_path: Path) -> None:
    rows = orders()[:5]
    schema, _ = parse(rows[0].value)
    table = arrow.Table.from_pylist([parse(r.value)[1] for r in rows])
    text = json.dumps(schema).encode()
    path = tmp_path / f"{TOPIC}+0+0000000007.snappy.parquet"
    parquet.write_table(table.replace_schema_metadata({b"parquet.avro.schema": text}), path)
    schemas = FileSchemas(NO_REGISTRY)
    found = [r for r in read(tmp_path, schemas) if isinstance(r, Record)]
    assert [(r.offset, r.value) for r in found] == [(7 + i, (r.value or b"")[5:]) for i, r in enumerate(rows)]
    parquet.write_table(table, path)
    with pytest.raises(UnreadableInput, match="has no column topic"):
        read(path)


def test_lines_of_json(tmp_path: Path) -> None:
    rows = [r for r in recorded("postgres/shop-json") if r.topic == TOPIC]
    values = b"".join((r.value or b"null") + b"\n" for r in rows)
    (tmp_path / f"{TOPIC}+2+0000000009.json.gz").write_bytes(gzip.compress(values))
    found = [r for r in read(tmp_path) if isinstance(r, Record)]
    assert [(r.partition, r.offset, r.value) for r in found] == [
        (2, 9 + i, r.value or b"null") for i, r in enumerate(rows)
    ]
    keys = b"".join((r.key or b"null") + b"\n" for r in rows)
    (tmp_path / f"{TOPIC}+2+0000000009.keys.json.gz").write_bytes(gzip.compress(keys))
    schemas = FileSchemas(NO_REGISTRY)
    assert read_history(read(tmp_path), schemas) == read_history(rows, schemas)


def test_records_in_avro(tmp_path: Path) -> None:
    schema = {
        "type": "record",
        "name": "Row",
        "fields": [
            {"name": "key", "type": ["null", "bytes"]},
            {"name": "value", "type": ["null", "bytes"]},
            {"name": "topic", "type": "string"},
            {"name": "partition", "type": "int"},
            {"name": "offset", "type": "long"},
        ],
    }
    rows = [{"key": b"k", "value": None, "topic": "t", "partition": 1, "offset": n} for n in (5, -1)]
    with (tmp_path / "dump.avro").open("wb") as file:
        fastavro.writer(file, schema, rows)
    good, bad = read(tmp_path)
    assert good == Record("t", 1, 5, None, b"k", None)
    assert isinstance(bad, UnreadableItem)
    (tmp_path / "dump.avro").write_bytes(b"Obj\1no container")
    with pytest.raises(UnreadableInput, match="not a complete Avro container"):
        read(tmp_path)


def test_patterns_and_folders(tmp_path: Path) -> None:
    for name in ("b/2.jsonl", "a/1.jsonl", "a/x.txt", ".hidden/3.parquet", "_delta_log/4.parquet", "d/x.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [Path(f.path).name for f in files.find_files(f"{tmp_path}/**/*.*")] == ["1.jsonl", "2.jsonl"]
    with pytest.raises(UnreadableInput, match="no file of records matches"):
        files.find_files(f"{tmp_path}/*.avro")
    with pytest.raises(BadReference, match="no records"):
        files.find_files(str(tmp_path / "d"))
    for name in ("part-1.parquet", "part-0.parquet", "3.ndjson.gz", "package.json", "c/records.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [str(Path(f.path).relative_to(tmp_path)) for f in files.find_files(str(tmp_path))] == [
        "3.ndjson.gz",
        "part-0.parquet",
        "part-1.parquet",
        "a/1.jsonl",
        "b/2.jsonl",
    ]
