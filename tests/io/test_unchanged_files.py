"""Law: a file is left out only if another reading of it would record nothing."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import fsspec
import pyarrow as arrow
import pytest
from pyarrow import parquet

import schemaman as sm
from schemaman.api.services import workspace_of
from schemaman.api.sources import find_sources, read_sources
from schemaman.errors import UnreadableInput
from schemaman.ingest.ingest import Summary
from schemaman.io.file_identity import identify_file
from schemaman.registry import Registry
from schemaman.settings import Setting
from schemaman.store.file_proofs import FileProof
from schemaman.store.memory import MemoryStore
from schemaman.store.sql.store import SqlStore
from tests.support.checkout import CAPTURES

LINES = gzip.decompress((CAPTURES / "postgres/shop-json/records.ndjson.gz").read_bytes()).splitlines(True)
EVENT = next(line for line in map(json.loads, LINES) if '"before"' in (line["payload"] or ""))
VALUE = EVENT["payload"].encode() + b"\n"


def format_line(offset: int) -> bytes:
    return json.dumps({**EVENT, "offset": offset}, separators=(",", ":")).encode() + b"\n"


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with sm.open(tmp_path / "store.db", create=True) as opened:
        yield opened


def read(registry: Registry, source: str | Path, settled_ns: int = 0, **options: object) -> Summary:
    workspace = workspace_of(registry)
    found = find_sources(workspace, (str(source),), **options)  # type: ignore[arg-type]
    return read_sources(workspace, registry, replace(found, settled_ns=settled_ns))


def test_an_unchanged_file_is_left_out(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"".join(map(format_line, range(5))))
    assert (read(registry, path).new, read(registry, path).unchanged_files) == (5, 1)
    again = read(registry, path)
    assert (again.read, again.known, again.new, again.unchanged_files) == (5, 5, 0, 1)
    assert 0 < again.unchanged_since_ms <= registry.clock()
    forced = read(registry, path, again=True)
    assert (forced.read, forced.new, forced.unchanged_files) == (5, 0, 0)


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(format_line(5))


def replace_by_equal_size(path: Path) -> None:
    """Another file of the same size and time, as `rsync -t` or `mv` puts it there."""
    facts, other = path.stat(), path.with_name("other")
    other.write_bytes(path.read_bytes().replace(b'"offset":4', b'"offset":5'))
    os.utime(other, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    other.replace(path)


def write_in_place(path: Path) -> None:
    """The same inode, size and time of the last write."""
    facts = path.stat()
    with path.open("r+b") as file:
        content = file.read().replace(b'"offset":4', b'"offset":5')
        file.seek(0)
        file.write(content)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


@pytest.mark.parametrize("change", [append, replace_by_equal_size, write_in_place])
def test_a_changed_file_is_read_as_a_whole(
    registry: Registry, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"".join(map(format_line, range(5))))
    read(registry, path)
    change(path)
    done = read(registry, path)
    assert (done.new, done.unchanged_files) == (1, 0)
    assert read(registry, path).unchanged_files == 1


GROWN = [
    (b"".join(map(format_line, (50, 60))), 2, 0),
    (b"\n" + format_line(50) + b"no record\n" + format_line(90), 2, 1),
    (format_line(50)[:40], 0, 1),
]


@pytest.mark.parametrize(("more", "new", "rejects"), GROWN)
def test_a_grown_file_is_read_from_its_earlier_end(
    registry: Registry, tmp_path: Path, more: bytes, new: int, rejects: int
) -> None:
    """The lines before are not looked at: one in the middle was damaged, which nothing tells."""
    path = tmp_path / "records.jsonl"
    lines = b"\n".join([b"", *(format_line(offset).strip() for offset in range(50)), b""])
    path.write_bytes(lines)
    read(registry, path)
    at = len(lines) // 2
    path.write_bytes(lines[:at] + lines[at:].replace(b"{", b"[", 1) + more)
    done = read(registry, path)
    assert (done.read, done.known, done.new, done.rejects) == (50 + new, 50, new, rejects)
    with sm.open(tmp_path / "whole.db", create=True) as whole:
        path.write_bytes(lines + more)
        expected = read(whole, path)
        assert (expected.read, expected.first_rejects) == (done.read, done.first_rejects)
        assert whole.offsets("main") == registry.offsets("main")
        assert whole.tables() == registry.tables()


def test_a_grown_file_that_goes_back_is_refused(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"".join(map(format_line, range(5))))
    read(registry, path)
    append(path)
    path.write_bytes(path.read_bytes() + format_line(3))
    with pytest.raises(UnreadableInput, match="offset 3 comes after 5"):
        read(registry, path)


def test_a_file_that_has_just_changed_is_read_again(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(format_line(0))
    for _ in range(2):
        assert read(registry, path, settled_ns=3600 * 10**9).unchanged_files == 0


@pytest.mark.parametrize("bad", [b"no record\n", b'{"topic":"shop.a","partition":0,"off'])
def test_a_file_with_rejected_lines_says_so_each_time(registry: Registry, tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(format_line(0) + bad)
    for _ in range(3):
        assert (read(registry, path).rejects, read(registry, path).unchanged_files) == (1, 0)


def test_what_decides_how_a_file_is_read_is_part_of_the_proof(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "values.jsonl"
    path.write_bytes(VALUE)
    assert read(registry, path, topic="a").new == read(registry, path, topic="b").new == 1
    assert read(registry, path, topic="a").unchanged_files == 1
    workspace = workspace_of(registry)
    for changed in (
        {"stream": Setting("other", "test")},
        {"format_value": Setting("json", "test")},
        {"record_limit": Setting(1 << 20, "test")},
    ):
        settings = replace(workspace.settings, **changed)
        found = find_sources(workspace, (str(path),), topic="a")
        assert not read_sources(replace(workspace, settings=settings), registry, found).unchanged_files


def test_a_folder_reads_only_what_is_new_in_it(registry: Registry, tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.jsonl").write_bytes(format_line(number))
    row = {"topic": "other", "partition": 0, "offset": 0, "key": None, "value": VALUE}
    parquet.write_table(arrow.Table.from_pylist([row]), folder / "rows.parquet")
    first = read(registry, folder)
    (folder / "3.jsonl").write_bytes(format_line(3))
    done = read(registry, folder)
    assert (done.new, done.known, done.unchanged_files) == (1, first.new, 4)
    assert read(registry, f"{folder}/*.jsonl").unchanged_files == 4


def test_keys_beside_a_file_belong_to_it(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "t+0+9.json").write_bytes(VALUE)
    keys = tmp_path / "t+0+9.keys.json"
    keys.write_bytes(b'"k"\n')
    read(registry, tmp_path / "t+0+9.json")
    assert read(registry, tmp_path / "t+0+9.json").unchanged_files == 1
    keys.write_bytes(b'"j"\n')
    with pytest.raises(sm.UsageError, match="differs from the known record"):
        read(registry, tmp_path / "t+0+9.json")


def test_a_pipe_has_no_identity(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert identify_file(str(tmp_path / "pipe.jsonl")) is None


@pytest.mark.parametrize("scheme", ["memory", "file"])
def test_a_remote_file_is_left_out_until_it_changes(registry: Registry, tmp_path: Path, scheme: str) -> None:
    address = f"memory://{tmp_path.name}/r.jsonl" if scheme == "memory" else f"{tmp_path.as_uri()}/r.jsonl"
    system, name = fsspec.core.url_to_fs(address)
    system.pipe_file(name, format_line(0))
    read(registry, address)
    assert read(registry, address).unchanged_files == 1
    system.pipe_file(name, format_line(1))
    assert (read(registry, address).new, read(registry, address).unchanged_files) == (1, 1)


def test_both_stores_keep_the_last_proof_of_a_key(tmp_path: Path) -> None:
    old, new = FileProof("k", "1 a", 3, 10), FileProof("k", "2 \ud800 é", 4, 20)
    with SqlStore.open(f"sqlite:///{tmp_path}/s.db", create=True) as stored:
        for store in (MemoryStore(), stored):
            store.put_file_proofs([old, FileProof("other", "b", 1, 10)])
            store.put_file_proofs([new])
            assert store.find_file_proofs(["k", "unknown"]) == {"k": new}
        assert stored.check() == ()
        stored.rebuild()
        assert stored.find_file_proofs(["k"]) == {"k": new}
