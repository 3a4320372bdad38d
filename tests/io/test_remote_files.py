"""Addresses of object stores as sources: the log of the same files on disk."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

import schemaman as sm
from schemaman.debezium.records import Record
from schemaman.errors import BadReference, EngineUnavailable, UnreadableInput
from schemaman.io.files import find_files, read_records
from tests.support.checkout import CAPTURES

LINES = gzip.decompress((CAPTURES / "postgres/shop-json/records.ndjson.gz").read_bytes()).splitlines(True)
FILES = {
    "a/one.jsonl": b"".join(LINES[:200]),
    "a/two.jsonl.gz": gzip.compress(b"".join(LINES[200:])),
    "a/_SUCCESS": b"",
    "a/.hidden.jsonl": b"none",
    "a/notes.txt": b"none",
    "sink/t+0+10.json": b'{"id": 2}\n',
    "sink/t+0+9.json": b'{"id": 1}\n',
    "sink/t+0+9.keys.json": b'"k"\n',
    "rows/records.parquet": (CAPTURES / "postgres/shop-avro/records.parquet").read_bytes(),
}


@pytest.fixture(params=["memory", "file"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a folder with the files."""
    address = "memory://bucket" if request.param == "memory" else tmp_path.as_uri()
    system, name = fsspec.core.url_to_fs(address)
    for path, data in FILES.items():
        system.makedirs(f"{name}/{path}".rpartition("/")[0], exist_ok=True)
        system.pipe_file(f"{name}/{path}", data)
    yield address
    system.rm(name, recursive=True)


def test_a_folder_a_pattern_and_a_file_are_sources(root: str, tmp_path: Path) -> None:
    assert [f.path for f in find_files(f"{root}/a")] == [f"{root}/a/one.jsonl", f"{root}/a/two.jsonl.gz"]
    assert find_files(f"{root}/a/*.jsonl*") == find_files(f"{root}/a")
    assert [file.bytes for file in find_files(f"{root}/a/one.jsonl")] == [len(FILES["a/one.jsonl"])]
    with (
        sm.open(tmp_path / "there.db", create=True) as there,
        sm.open(tmp_path / "here.db", create=True) as here,
    ):
        assert sm.ingest(f"{root}/a", there).new == len(LINES)
        sm.ingest(str(CAPTURES / "postgres/shop-json"), here)
        assert there.tables() == here.tables()
        assert sm.ingest(f"{root}/a", there).new == 0


def test_parquet_and_files_of_sinks_are_read(root: str) -> None:
    rows = [*read_records(*find_files(f"{root}/rows"))]
    assert rows == [*read_records(*find_files(str(CAPTURES / "postgres/shop-avro/records.parquet")))]
    first, second = find_files(f"{root}/sink")
    records = [*read_records(first), *read_records(second)]
    assert records == [
        Record("t", 0, 9, None, b'"k"', b'{"id": 1}'),
        Record("t", 0, 10, None, None, b'{"id": 2}', is_key_known=False),
    ]


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        ("memory://nowhere/x.jsonl", UnreadableInput, "no such file"),
        ("memory://nowhere/*.jsonl", UnreadableInput, "no such file"),
        ("memory://*/x.jsonl", BadReference, "name of a bucket"),
        ("nonsense://bucket/x.jsonl", BadReference, "not supported"),
        ("sftp://me:secret@host/x.jsonl", BadReference, "sftp://host/x.jsonl: the address has a password"),
    ],
)
def test_what_is_not_there_is_refused(address: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as refusal:
        find_files(address)
    assert "secret" not in str(refusal.value)


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(EngineUnavailable, match="needs fsspec") as refusal:
        find_files("s3://bucket/x.jsonl")
    assert "[remote]" in (refusal.value.hint or "")
