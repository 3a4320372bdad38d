"""Files as sources: every kind gives the same records, and damage hides nothing around it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
import zstandard

from schemaman.debezium.records import Record
from schemaman.errors import BadReference, UnreadableInput
from schemaman.ingest.chunks import UnreadableItem
from schemaman.ingest.line_batches import parse_items
from schemaman.io import files, schema_registry
from tests.support.checkout import CAPTURES

SHOP = CAPTURES / "postgres/shop-json/records.ndjson.gz"
AVRO = CAPTURES / "postgres/shop-avro"
LINE = {"topic": "t", "partition": 1, "offset": 7, "ts": 5, "key": "k", "payload": "v"}


def read(path: Path | str, **how: Any) -> list[Record | UnreadableItem]:
    return list(files.read_records(files.find_file(str(path)), **how))


def lines(*documents: object) -> bytes:
    return b"".join(json.dumps(d).encode() + b"\n" for d in documents)


@pytest.fixture(scope="module")
def text() -> bytes:
    return gzip.decompress(SHOP.read_bytes())


def test_a_recording_is_read_whole(text):
    found = read(SHOP)
    assert len(found) == text.count(b"\n")
    first = json.loads(text[: text.index(b"\n")])
    assert found[0] == Record(
        first["topic"],
        first["partition"],
        first["offset"],
        first["ts"],
        first["key"].encode(),
        first["payload"].encode(),
        tuple((n, v.encode()) for n, v in zip(*[iter(first.get("headers", []))] * 2, strict=True)),
    )


@pytest.mark.parametrize("name", ["r.jsonl", "r.ndjson", "r.json", "r.ndjson.gz", "r.jsonl.zst"])
def test_packing_changes_nothing(tmp_path, text, name):
    packed = {".gz": gzip.compress(text), ".zst": zstandard.compress(text)}
    (tmp_path / name).write_bytes(packed.get(Path(name).suffix, text))
    assert read(tmp_path / name) == read(SHOP)


def test_packed_pieces_that_follow_one_another(tmp_path, text):
    middle = len(text) // 2
    for name, pack in (("a.jsonl.gz", gzip.compress), ("a.jsonl.zst", zstandard.compress)):
        (tmp_path / name).write_bytes(pack(text[:middle]) + pack(text[middle:]))
        assert read(tmp_path / name) == read(SHOP)


def test_standard_input(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert read("-") == read(SHOP)


def test_parquet_holds_the_same_as_lines(tmp_path):
    wanted = [r for r in read(SHOP) if isinstance(r, Record)]
    rows = {
        "key": [r.key for r in wanted],
        "value": [r.value for r in wanted],
        "topic": [r.topic for r in wanted],
        "partition": arrow.array([r.partition for r in wanted], arrow.int32()),
        "offset": [r.offset for r in wanted],
        "headers": [[{"key": n, "value": v} for n, v in r.headers] or None for r in wanted],
    }
    times = [r.timestamp_ms or 0 for r in wanted]
    for unit, factor in (("ms", 1), ("us", 1000), ("ns", 1_000_000)):
        column = arrow.array([t * factor for t in times], arrow.timestamp(unit, tz="UTC"))
        parquet.write_table(
            arrow.table(rows | {"timestamp": column}), tmp_path / "r.parquet", row_group_size=100
        )
        assert read(tmp_path / "r.parquet") == wanted
    file = files.find_file(str(tmp_path / "r.parquet"))
    assert sum(rows for rows, _ in files.measure_row_groups(file)) == len(wanted)
    assert list(parse_items(files.read_row_groups(file, [1, 2]))) == wanted[100:300]


def test_rows_of_parquet_that_lie_nowhere_hide_nothing_around_them(tmp_path):
    size = 7
    rows = {
        "key": [None] * size,
        "value": [b"v"] * size,
        "topic": ["t", "t", None, "t", "t", "t", "t"],
        "partition": [0, 0, 0, None, 2**31, -1, 0],
        "offset": arrow.array([0, 2**63, 1, 2, 3, 4, 5], arrow.uint64()),
    }
    parquet.write_table(arrow.table(rows), tmp_path / "r.parquet", row_group_size=3)
    found = read(tmp_path / "r.parquet")
    assert [r.offset for r in found if isinstance(r, Record)] == [0, 5]
    bad = [r for r in found if isinstance(r, UnreadableItem)]
    assert [r.line for r in bad] == [2, 3, 4, 5, 6]
    assert "2^63-1" in bad[0].reason
    assert bad[1].reason == "topic must be a text"
    assert (
        list(parse_items(files.read_row_groups(files.find_file(str(tmp_path / "r.parquet")), [1, 2])))
        == found[3:]
    )


@pytest.mark.parametrize("repeated", ["value", "offset", "timestamp"])
def test_parquet_with_a_column_twice_is_refused(tmp_path, repeated):
    columns = {
        "key": arrow.array([b"k"]),
        "value": arrow.array([b"v"]),
        "topic": arrow.array(["t"]),
        "partition": arrow.array([0]),
        "offset": arrow.array([0]),
        "timestamp": arrow.array([0]),
    }
    names, arrays = [*columns, repeated], [*columns.values(), columns[repeated]]
    parquet.write_table(arrow.Table.from_arrays(arrays, names=names), tmp_path / "r.parquet")
    with pytest.raises(UnreadableInput, match=f"has the column {repeated} more than once"):
        read(tmp_path / "r.parquet")


@pytest.mark.parametrize("times", [["then"], [1.5], [[1]]])
def test_parquet_whose_times_are_none_is_refused(tmp_path, times):
    columns = {"key": [b"k"], "value": [b"v"], "topic": ["t"], "partition": [0], "offset": [0]}
    parquet.write_table(arrow.table(columns | {"timestamp": times}), tmp_path / "r.parquet")
    with pytest.raises(UnreadableInput, match="the column timestamp has no times"):
        read(tmp_path / "r.parquet")


def test_recorded_parquet():
    found = read(AVRO)
    assert len(found) == 575
    assert all(isinstance(r, Record) and r.timestamp_ms and r.timestamp_ms > 1.7e12 for r in found)
    assert files.find_file(str(AVRO)).registry == str(AVRO / "registry.json")


def test_headers_are_names_and_values_in_turn(tmp_path):
    (tmp_path / "r.jsonl").write_bytes(lines(LINE | {"headers": ["a", "1", "b", None]}))
    assert read(tmp_path / "r.jsonl") == [Record("t", 1, 7, 5, b"k", b"v", (("a", b"1"), ("b", None)))]


def test_bare_values_of_a_topic(tmp_path):
    (tmp_path / "r.jsonl").write_bytes(b'{"a":1}\n\n{"a":2}')
    first, second = read(tmp_path / "r.jsonl", topic="t")
    assert first == Record("t", 0, 0, None, None, b'{"a":1}', is_key_known=False)
    assert second == Record("t", 0, 2, None, None, b'{"a":2}', is_key_known=False)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"oops", "not JSON: Expecting value at character 0"),
        (b'{"topic":"t","partition":0,"off', "not JSON: Unterminated string starting at character 27"),
        (b'{"topic":"\t"}', "not JSON: Invalid control character at character 10"),
        (b"[1]", "no record as kcat -J writes it"),
        (b'{"topic":"t","partition":0,"offset":1}', "no record as kcat -J writes it"),
        (b'{"topic":"t","partition":"0","offset":1,"payload":null}', "must be whole numbers"),
        (b'{"topic":"t","partition":0,"offset":9223372036854775808,"payload":""}', "between 0 and 2^63-1"),
        (b'{"topic":"t","partition":0,"offset":1%b,"payload":""}' % (b"0" * 400), "between 0 and 2^63-1"),
        (b'{"topic":"t","partition":0,"offset":-1,"payload":""}', "between 0 and 2^63-1"),
        (b'{"topic":"t","partition":2147483648,"offset":0,"payload":""}', "between 0 and 2^31-1"),
        (b'{"topic":"t","partition":-1,"offset":0,"payload":""}', "between 0 and 2^31-1"),
        (b'{"topic":"t","partition":0,"offset":1,"payload":"","headers":["a",7]}', "header must be a text"),
        (b'{"topic":"t","partition":0,"offset":1,"payload":"","headers":["a"]}', "in turn"),
        (b'{"topic":"t","partition":0,"offset":1,"payload":"\\ud800"}', "half a character"),
        (b"\xff\xff", "not UTF-8: byte 0"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_line_that_is_no_record_hides_nothing_around_it(tmp_path, line, reason):
    good = Record("t", 1, 7, 5, b"k", b"v")
    (tmp_path / "r.jsonl").write_bytes(lines(LINE) + line + b"\n" + lines(LINE | {"offset": 8}))
    before, bad, after = read(tmp_path / "r.jsonl")
    assert before == good
    assert isinstance(bad, UnreadableItem)
    assert (bad.source, bad.line) == (str(tmp_path / "r.jsonl"), 2)
    assert reason in bad.reason
    assert isinstance(after, Record)
    assert after.offset == 8


def test_a_truncated_last_line(tmp_path, text):
    (tmp_path / "r.jsonl").write_bytes(text[:-100])
    *good, bad = read(tmp_path / "r.jsonl")
    assert good == read(SHOP)[:-1]
    assert isinstance(bad, UnreadableItem)
    assert bad.line == len(good) + 1
    assert "not JSON" in bad.reason


@pytest.mark.parametrize(
    ("name", "pack"), [("r.jsonl.gz", gzip.compress), ("r.jsonl.zst", zstandard.compress)]
)
def test_packed_data_that_ends_too_early(tmp_path, name, pack):
    many = lines(*(LINE | {"offset": i, "payload": "x" * (i % 1000)} for i in range(20_000)))
    packed = pack(many)
    (tmp_path / name).write_bytes(packed[: len(packed) // 2])
    *good, bad = read(tmp_path / name)
    assert len(good) > 1000
    assert [r.offset for r in good if isinstance(r, Record)] == list(range(len(good)))
    assert isinstance(bad, UnreadableItem)
    assert "ends too early" in bad.reason
    assert bad.line == len(good) + 1


def noisy(count: int) -> bytes:
    """Lines that cannot be packed well."""
    payloads = (hashlib.sha256(b"%d" % i).hexdigest() * 4 for i in range(count))
    return lines(*(LINE | {"offset": i, "payload": payload} for i, payload in enumerate(payloads)))


@pytest.mark.parametrize("place", [0.3, 0.9])
def test_damage_in_gzip_takes_nothing_of_what_stands_before_it(tmp_path, place):
    text = noisy(2000)
    packed = bytearray(gzip.compress(text))
    at = int(len(packed) * place)
    before = zlib.decompressobj(wbits=31).decompress(bytes(packed[:at]))
    packed[at : at + 64] = b"\xff" * 64
    (tmp_path / "r.jsonl.gz").write_bytes(packed)
    found = read(tmp_path / "r.jsonl.gz")
    good = before.count(b"\n")
    assert good > 400
    assert [r.offset for r in found[:good] if isinstance(r, Record)] == list(range(good))
    assert isinstance(found[-1], UnreadableItem)
    assert "damaged" in found[-1].reason


def test_a_wrong_checksum_is_told_behind_all_lines(tmp_path):
    packed = bytearray(gzip.compress(noisy(50)))
    packed[-8] ^= 1
    (tmp_path / "r.jsonl.gz").write_bytes(packed)
    *good, bad = read(tmp_path / "r.jsonl.gz")
    assert len(good) == 50
    assert isinstance(bad, UnreadableItem)
    assert "damaged" in bad.reason


def test_damage_in_zstd_takes_one_piece_at_most(tmp_path):
    packed = bytearray(zstandard.compress(noisy(20_000)))
    packed[-100_000:] = b"\xff" * 100_000
    (tmp_path / "r.jsonl.zst").write_bytes(packed)
    *good, bad = read(tmp_path / "r.jsonl.zst")
    assert len(good) > 10_000
    assert isinstance(bad, UnreadableItem)
    assert "damaged" in bad.reason


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (gzip.compress(b"{}", mtime=0), ("gzip", ".jsonl.gz")),
        (zstandard.compress(b"{}"), ("zstd", ".jsonl.zst")),
        (b"PAR1\n\n\nPAR1", ("Parquet", ".parquet")),
    ],
)
def test_other_data_under_the_name_of_lines(tmp_path, monkeypatch, data, told):
    (tmp_path / "r.jsonl").write_bytes(data)
    with pytest.raises(UnreadableInput, match=rf"r\.jsonl: contains {told[0]} data") as error:
        read(tmp_path / "r.jsonl")
    assert told[1] in (error.value.hint or "")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with pytest.raises(UnreadableInput, match=rf"-: contains {told[0]} data"):
        read("-")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_mark_before_a_text_is_none_of_it(tmp_path, text, pack):
    name = "r.jsonl" if pack is bytes else "r.jsonl.gz"
    (tmp_path / name).write_bytes(pack(b"\xef\xbb\xbf" + text))
    assert read(tmp_path / name) == read(SHOP)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_text_in_another_encoding(tmp_path, encoding):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / "r.jsonl").write_bytes((mark + '{"a": 1}\n').encode(encoding))
    with pytest.raises(UnreadableInput, match="the text is UTF-16") as error:
        read(tmp_path / "r.jsonl")
    assert "iconv" in (error.value.hint or "")


def test_a_source_without_a_name():
    with pytest.raises(BadReference, match="the name of a SOURCE is empty"):
        files.find_file("")


@pytest.mark.parametrize("name", ["r.jsonl.gz", "r.jsonl.zst"])
def test_what_is_not_packed_at_all(tmp_path, name):
    (tmp_path / name).write_bytes(lines(LINE))
    (bad,) = read(tmp_path / name)
    assert isinstance(bad, UnreadableItem)
    assert "damaged" in bad.reason


@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz"])
def test_an_empty_file_has_no_records(tmp_path, name):
    (tmp_path / name).write_bytes(b"" if name.endswith("l") else gzip.compress(b""))
    assert read(tmp_path / name) == []


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UnreadableInput, match="no such file"):
        files.find_file(str(tmp_path / "missing.jsonl"))


@pytest.mark.parametrize("source", ["x.csv", "kafka://broker/topic"])
def test_a_source_of_an_unknown_kind(tmp_path, source, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.csv").touch()
    with pytest.raises(BadReference):
        files.find_file(source)


def test_parquet_of_another_kind(tmp_path):
    parquet.write_table(arrow.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(UnreadableInput, match="no column topic, partition, offset, key, value"):
        read(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes((AVRO / "records.parquet").read_bytes()[:5000])
    with pytest.raises(UnreadableInput, match="not a complete Parquet file"):
        read(tmp_path / "b.parquet")


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["records.ndjson.gz"], "records.ndjson.gz"),
        (["records.plain.ndjson.gz"], "records.plain.ndjson.gz"),
        (["records.ndjson.gz", "records.plain.ndjson.gz", "meta.json"], "records.ndjson.gz"),
        (["records.parquet", "records.txt"], "records.parquet"),
    ],
)
def test_the_one_file_of_a_folder(tmp_path, names, found):
    for name in names:
        (tmp_path / name).touch()
    assert files.find_file(str(tmp_path)).path == str(tmp_path / found)


@pytest.mark.parametrize(
    "names",
    [["records.jsonl", "records.parquet"], ["records.a.jsonl", "records.b.jsonl"], ["other.jsonl"], []],
)
def test_a_folder_with_no_such_file_or_several(tmp_path, names):
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(BadReference) as error:
        files.find_file(str(tmp_path))
    assert all(name in str(error.value) for name in names if name.startswith("records."))


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        (["a/records.jsonl", "b/records.parquet", "c/other.txt"], "name one of: {0}/a, {0}/b"),
        (["a/b/records.jsonl", "registry.json"], "name {0}/a/b"),
        (["orders.jsonl.gz", "a/records.a.jsonl"], "name one of: {0}/a, {0}/orders.jsonl.gz"),
        ([f"{n:02}.jsonl" for n in range(12)], "{0}/09.jsonl, …"),
        (["notes.txt"], "known endings: .jsonl "),
    ],
)
def test_what_a_folder_holds_is_named(tmp_path, names, hint):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(BadReference, match=r"no records\.\* in this folder") as error:
        files.find_file(str(tmp_path))
    assert hint.format(tmp_path) in (error.value.hint or "")


@pytest.mark.parametrize("name", ["x" * 300 + ".jsonl", "a\0b.jsonl", "missing.jsonl"])
def test_a_name_that_no_file_has_is_told(name):
    with pytest.raises(UnreadableInput) as error:
        files.find_file(name)
    assert error.value.hint


def test_an_export_of_a_registry():
    export = schema_registry.load_export(str(AVRO / "registry.json"))
    ids = [entry["id"] for entry in json.loads((AVRO / "registry.json").read_bytes())]
    assert all(json.loads(export(i) or "")["type"] == "record" for i in ids)
    assert export(max(ids) + 1) is None


@pytest.mark.parametrize("content", [b"{}", b"[{}]", b"not json", b'[{"id":"1","schema":"x"}]'])
def test_what_is_no_export(tmp_path, content):
    (tmp_path / "registry.json").write_bytes(content)
    with pytest.raises(UnreadableInput, match=r"registry\.json"):
        schema_registry.load_export(str(tmp_path / "registry.json"))


def test_an_export_that_is_not_there(tmp_path):
    with pytest.raises(UnreadableInput, match="No such file"):
        schema_registry.load_export(str(tmp_path / "registry.json"))


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst"])
@pytest.mark.parametrize("last", [False, True])
def test_a_record_over_the_limit_is_named_and_the_next_one_is_read(
    tmp_path: Path, ending: str, last: bool
) -> None:
    long = {**LINE, "topic": "big.one", "offset": 3, "payload": "x" * 5000}
    text = lines(LINE, long) if last else lines(long, LINE)
    packed = {".jsonl": text, ".jsonl.gz": gzip.compress(text), ".jsonl.zst": zstandard.compress(text)}[
        ending
    ]
    path = tmp_path / f"r{ending}"
    path.write_bytes(packed)
    assert [type(r) for r in read(path)] == [Record, Record]
    found = read(path, limit=1000)
    (bad,) = (r for r in found if isinstance(r, UnreadableItem))
    assert bad.line == (2 if last else 1)
    size = len(lines(long)) - 1
    assert bad.reason == (
        f"a record of {size} bytes is over the limit of 1000: topic big.one partition 1 offset 3"
    )
    assert bad.sha256 == hashlib.sha256(lines(long)[:-1]).hexdigest()
    assert [r.offset for r in found if isinstance(r, Record)] == [7]


def test_a_bomb_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", 6) as out:
        for _ in range(256):
            out.write(b"a" * (1 << 20))
        out.write(b"\n" + lines(LINE))
    tracemalloc.start()
    found = read(path, limit=1 << 20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [type(r) for r in found] == [UnreadableItem, Record]
    assert peak < 64 << 20


def test_a_body_that_kcat_has_decoded_is_json_text_again(tmp_path):
    """With `-s avro`, kcat -J writes keys and payloads as JSON values, not as texts."""
    made = LINE | {"key": {"nr": 4}, "payload": {"after": {"a.b.Value": {"nr": 4}}, "op": "c"}}
    bare = LINE | {"key": 4, "offset": 8}
    (tmp_path / "r.jsonl").write_bytes(lines(made, bare))
    whole, number = read(tmp_path / "r.jsonl")
    assert isinstance(whole, Record)
    assert isinstance(number, Record)
    assert [json.loads(body or b"") for body in (whole.key, whole.value)] == [made["key"], made["payload"]]
    assert number.key == b"4"


@pytest.mark.parametrize("topic", [None, "srv.public.t"])
def test_a_file_that_ends_inside_a_line_says_so(tmp_path, topic):
    line = {"id": 1} if topic else LINE
    data = lines(line, line, line)
    (tmp_path / "r.jsonl").write_bytes(data[:-4])
    *before, last = files.read_records(files.find_file(str(tmp_path / "r.jsonl")), topic=topic)
    assert [type(item) for item in before] == [Record, Record]
    assert isinstance(last, UnreadableItem)
    assert last.is_end
    assert "ends inside this line" in last.reason
    (tmp_path / "r.jsonl").write_bytes(data[:-1])
    assert isinstance(read(tmp_path / "r.jsonl")[-1] if topic is None else before[0], Record)


@pytest.mark.parametrize("line", [b"no record", b'{"topic":"t"}'])
def test_a_bad_line_is_no_end_of_a_file(tmp_path, line):
    (tmp_path / "r.jsonl").write_bytes(line + b"\n" + lines(LINE))
    bad, _ = read(tmp_path / "r.jsonl")
    (tmp_path / "r.jsonl").write_bytes(b'{"topic":"t"}')
    (last,) = read(tmp_path / "r.jsonl")
    for item in (bad, last):
        assert isinstance(item, UnreadableItem)
        assert not item.is_end


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_cut_gzip_file_says_that_it_ends_early(tmp_path, cut):
    rows = [LINE | {"offset": n, "payload": f"{n * 7919}"} for n in range(500)]
    (tmp_path / "r.jsonl.gz").write_bytes(gzip.compress(lines(*rows))[:-cut])
    *before, last = read(tmp_path / "r.jsonl.gz")
    assert len(before) > 300
    assert all(isinstance(item, Record) for item in before[:-1])
    assert isinstance(last, UnreadableItem)
    assert last.is_end
