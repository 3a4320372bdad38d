"""Each type of a source becomes each other one under autopilot: the table goes on, and no value is lost."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.migration.policy import Policy
from schemaman.migration.properties.table_record import read_record
from schemaman.store.sql.store import SqlStore
from tests.cases.connector import Connector
from tests.support.memory_sink import MemorySink
from tests.support.records import Node, node, row_event, struct

INT = node("int32")


def _decimal(precision: int, scale: int) -> Node:
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    return node("bytes", "org.apache.kafka.connect.data.Decimal", version=1, parameters=parameters)


def _unscaled(number: int) -> str:
    return base64.b64encode(number.to_bytes(17, "big", signed=True)).decode()


def _array(element: Node) -> Node:
    return node("array", items={**element, "optional": True})


def _map(value: Node) -> Node:
    return node("map", keys=node("string"), values={**value, "optional": True})


MIDNIGHT, LATE = datetime(2024, 3, 10), datetime(9999, 12, 31, 23, 59, 59)  # noqa: DTZ001 - without a zone
TYPES: dict[str, tuple[Node, dict[Any, Any]]] = {
    "smallint": (node("int16"), {7: 7, -32768: -32768}),
    "int": (INT, {8: 8, 2**31 - 1: 2**31 - 1}),
    "bigint": (node("int64"), {9: 9, -(2**63): -(2**63)}),
    "float": (node("float"), {1.5: 1.5, 3.0000000054977558e38: 3.0000000054977558e38}),
    "double": (node("double"), {2.5: 2.5, 1e300: 1e300}),
    "decimal(5,2)": (
        _decimal(5, 2),
        {_unscaled(150): Decimal("1.50"), _unscaled(-99999): Decimal("-999.99")},
    ),
    "decimal(10,4)": (_decimal(10, 4), {_unscaled(25001): Decimal("2.5001")}),
    "decimal(20,0)": (_decimal(20, 0), {_unscaled(10**20 - 1): Decimal(10**20 - 1)}),
    "decimal(38,10)": (_decimal(38, 10), {_unscaled(10**38 - 1): Decimal("9" * 28 + "." + "9" * 10)}),
    "numeric": (
        struct("io.debezium.data.VariableScaleDecimal", scale=INT, value=node("bytes")),
        {(("scale", 2), ("value", _unscaled(350))): Decimal("3.50")},
    ),
    "string": (node("string"), {"five": "five", "": ""}),
    "boolean": (node("boolean"), {True: True, False: False}),
    "binary": (node("bytes"), {base64.b64encode(b"\xff\x00").decode(): b"\xff\x00"}),
    "date": (node("int32", "io.debezium.time.Date"), {19792: date(2024, 3, 10), 2932896: date(9999, 12, 31)}),
    "timestamp": (
        node("string", "io.debezium.time.ZonedTimestamp"),
        {"2024-03-10T00:00:00Z": MIDNIGHT.replace(tzinfo=UTC)},
    ),
    "timestamp_ntz": (
        node("int64", "io.debezium.time.Timestamp"),
        {1710028800000: MIDNIGHT, 253402300799000: LATE},
    ),
    "array<int>": (_array(INT), {(1, 2): [1, 2]}),
    "array<bigint>": (_array(node("int64")), {(2**62,): [2**62]}),
    "map<string,int>": (_map(INT), {(("k", 1),): {"k": 1}}),
    "struct<a:int>": (struct("s", a={**INT, "optional": True}), {(("a", 1),): {"a": 1}}),
    "struct<a:int,b:string>": (
        struct("s", a={**INT, "optional": True}, b=node("string", optional=True)),
        {(("a", 2), ("b", "x")): {"a": 2, "b": "x"}},
    ),
}  # fmt: skip


def _payload(type: str, value: Any) -> Any:
    if type.startswith(("map", "struct", "numeric")):
        return dict(value)
    return list(value) if type.startswith("array") else value


def _row(table: str, id: int, types: dict[str, str], number: int, offset: int) -> Record:
    """A row with the value of this number of each column's type, or the last one that the type has."""
    nodes, values = {"id": INT}, dict[str, Any](id=id)
    for place, (name, type) in enumerate(types.items()):
        told = list(TYPES[type][1])
        nodes |= {name: {**TYPES[type][0], "optional": True}, f"z{place}": INT}
        values |= {name: _payload(type, told[min(number, len(told) - 1)]), f"z{place}": 0}
    return row_event(nodes, "c", values, offset=offset, table=table)


def _is_same(told: Any, there: Any) -> bool:
    """Whether a lake's value is exactly what was told, in its own type or as text."""
    if isinstance(there, str) and not isinstance(told, str):
        if isinstance(told, bool):
            return there == str(told).lower()
        if isinstance(told, int | float | Decimal):
            return Decimal(there) == Decimal(str(told))
        if isinstance(told, datetime):
            return datetime.fromisoformat(there) == told
        if isinstance(told, date):
            return there == told.isoformat()
        return bool(json.loads(there) == told)
    if isinstance(told, date) and isinstance(there, datetime) and not isinstance(told, datetime):
        return there == datetime.combine(told, datetime.min.time())
    if isinstance(told, dict) and isinstance(there, dict | list):
        # Arrow gives a map as pairs, and a struct with all of its fields.
        return {k: v for k, v in dict(there).items() if v is not None} == told
    if isinstance(told, bool) is not isinstance(there, bool):
        return False
    return bool(there == told)


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_table_goes_on_after_each_change_of_a_type_and_has_each_value_once(
    store: SqlStore, format: str
) -> None:
    sink = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    names = {type: f"c{number}" for number, type in enumerate(TYPES)}
    tables = {type: f"t{number}" for number, type in enumerate(TYPES)}
    new_types = {name: type for type, name in names.items()}
    for first in (0, 2):
        sink.take([
            _row(table, first + number, new_types if first else dict.fromkeys(names.values(), old), number,
                 first + number)
            for old, table in tables.items()
            for number in (0, 1)
        ])  # fmt: skip
    assert set(sink.withheld().values()) == set()
    lost = find_lost(sink, tables, new_types)
    assert not lost, "\n".join(lost)


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_table_goes_on_after_a_change_of_the_type_and_of_the_name_at_once(
    store: SqlStore, format: str, size: int
) -> None:
    """The order of the columns proves the new names where the types are akin, and suggests them elsewhere."""
    sink = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    new_types = {f"c{number}": type for number, type in enumerate(TYPES)}
    tables = {"int": "t0", "numeric": "t1", "decimal(10,4)": "t2", "date": "t3"}
    for old, table in tables.items():
        types = dict.fromkeys(new_types, old), {f"new_{name}": type for name, type in new_types.items()}
        records = [_row(table, id, types[id // 2], id % 2, id) for id in range(4)]
        for start in range(0, len(records), size):
            sink.take(records[start : start + size])
    assert set(sink.withheld().values()) == set()
    lost = find_lost(sink, tables, new_types)
    assert not lost, "\n".join(lost)


def find_lost(sink: MemorySink, tables: dict[str, str], new_types: dict[str, str]) -> list[str]:
    """The values that are not once in the lake; rows from `id` 2 on have the new types."""
    lost = []
    for (old, table), name in [(t, n) for t in tables.items() for n in new_types]:
        lake = next(each for each in sink.lake() if each.source.table == table)
        splits = read_record(lake.live.properties).split
        own = {name, f"new_{name}"}
        parts = {*(part for part, split in splits.items() if split.column in own), *own}
        for row in lake.rows:
            type = new_types[name] if row["id"] > 1 else old
            told = list(TYPES[type][1].values())[min(row["id"] % 2, len(TYPES[type][1]) - 1)]
            there = [row[part] for part in parts if row.get(part) is not None]
            if len(there) != 1 or not _is_same(told, there[0]):
                lost.append(f"{old} -> {new_types[name]}: told {told!r}, there {there!r}")
    return lost


@pytest.mark.parametrize("size", [1, 3, 9])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_bytes_are_in_the_column_of_their_own_version_wherever_batches_end(
    store: SqlStore, format: str, size: int
) -> None:
    """No text holds bytes, so that no column of texts can be beside."""
    sink = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    new_types = {f"c{number}": type for number, type in enumerate(TYPES)}
    types = [dict.fromkeys(new_types, "binary"), new_types]
    records = [_row("t", id, types[id // 2], id % 2, id) for id in range(4)]
    for start in range(0, len(records), size):
        sink.take(records[start : start + size])
    assert sink.withheld() == {}
    assert len(sink.lake()[0].rows) == len(records)
    lost = find_lost(sink, {"binary": "t"}, new_types)
    assert not lost, "\n".join(lost)


@pytest.mark.parametrize("size", [1, 9])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_bytes_of_a_column_that_got_another_name_are_in_its_column_wherever_batches_end(
    store: SqlStore, format: str, size: int
) -> None:
    sink = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    before = {"id": INT, "raw": node("bytes", optional=True), "z": INT}
    after = {"id": INT, "text": node("string", optional=True), "z": INT}
    records = [row_event(before, "c", {"id": n, "raw": "/wA=", "z": n}, offset=n) for n in (0, 1)]
    records += [row_event(after, "c", {"id": n, "text": "x", "z": n}, offset=n) for n in (2, 3)]
    for start in range(0, len(records), size):
        sink.take(records[start : start + size])
    assert sink.withheld() == {}
    (lake,) = sink.lake()
    found = {row["id"]: [v for n, v in row.items() if n.startswith(("raw", "text")) and v is not None]
             for row in lake.rows}  # fmt: skip
    assert found == {0: [b"\xff\x00"], 1: [b"\xff\x00"], 2: ["x"], 3: ["x"]}


def _confirm(offset: int, fields: dict[str, Node], row: dict[str, Any]) -> Record:
    """A new row, read at once, so that the next one confirms its key; the first two have none."""
    found = row_event(fields, "c", row, offset=offset, keyed=offset > 1, ts_ms=10_000 * offset)
    value = json.loads(found.value or b"")
    value["payload"]["ts_ms"] = 10_000 * offset + 1
    return replace(found, value=json.dumps(value).encode())


@pytest.mark.parametrize("size", [1, 3, 9])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_bytes_of_a_successor_are_in_the_column_of_their_own_version_wherever_batches_end(
    store: SqlStore, format: str, size: int
) -> None:
    """The source gets a key, and then a text: no text holds the bytes of the first rows with the key."""
    sink = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    before = {"id": INT, "raw": node("bytes", optional=True), "z": INT}
    after = {"id": INT, "raw": node("string", optional=True), "z": INT}
    rows: list[dict[str, Any]] = [{"id": n, "raw": "/wA=", "z": n} for n in range(4)]
    rows += [{"id": n, "raw": "x", "z": n} for n in (4, 5)]
    records = [_confirm(row["id"], after if row["raw"] == "x" else before, row) for row in rows]
    for start in range(0, len(records), size):
        sink.take(records[start : start + size])
    sink.take([])
    assert (sink.withheld(), sink.stopped) == ({}, set())
    found = [
        {row["id"]: [v for n, v in row.items() if n.startswith("raw") and v is not None]
         for row in lake.rows}
        for lake in sink.lake()
    ]  # fmt: skip
    raw, text = [b"\xff\x00"], ["x"]
    assert found == [{0: raw, 1: raw}, {2: raw, 3: raw, 4: text, 5: text}]


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_value_of_another_meaning_goes_beside_the_column_in_one_batch(store: SqlStore, format: str) -> None:
    seen, opens = node("int64", "io.debezium.time.Timestamp"), node("int64", "io.debezium.time.MicroTime")
    before = {"id": INT, "seen": seen, "opens": opens}
    after = {"id": INT, "seen": TYPES["timestamp"][0], "opens": node("int64")}
    sink = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    sink.take([
        row_event(before, "c", {"id": 1, "seen": 1710028800000, "opens": 60_000_000}, offset=1),
        row_event(after, "c", {"id": 2, "seen": "2024-03-10T00:00:00Z", "opens": 9}, offset=2),
    ])  # fmt: skip
    assert sink.withheld() == {}
    (lake,) = sink.lake()
    rows = [[row[name] for name in ("seen", "seen__2", "opens", "opens__2")] for row in lake.rows]
    assert sorted(rows, key=str) == [
        [None, "2024-03-10T00:00:00", None, "00:01:00"],
        [MIDNIGHT.replace(tzinfo=UTC), None, 9, None],
    ]


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
@pytest.mark.parametrize("last", ["price", "total"])
def test_a_column_that_gets_another_name_and_type_twice_has_each_value_once(
    store: SqlStore, format: str, last: str, size: int
) -> None:
    sink = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    types = [{"price": "numeric"}, {"cost": "decimal(10,4)"}, {last: "numeric"}]
    records = [_row("t", id, types[id // 2], 0, id) for id in range(6)]
    for start in range(0, len(records), size):
        sink.take(records[start : start + size])
    assert sink.withheld() == {}
    (lake,) = sink.lake()
    names = [name for name in lake.live.schema.names if name.startswith(("price", "cost", last))]
    found = {row["id"]: [Decimal(row[name]) for name in names if row[name] is not None] for row in lake.rows}
    told = [Decimal("3.5"), Decimal("2.5001"), Decimal("3.5")]
    assert found == {id: [told[id // 2]] for id in range(6)}


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
@pytest.mark.parametrize("renewed", [{}, {"raw": "binary"}])
def test_a_column_that_gets_another_type_and_then_two_names_has_each_value_once(
    store: SqlStore, format: str, renewed: dict[str, str], size: int
) -> None:
    """Another column may get the first name then, with the first type."""
    sink = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    types = [{"raw": "binary"}, {"raw": "string"}, {"note": "string"}, {"rank": "string", **renewed}]
    records = [_row("t", id, types[max(id - 1, 0)], 0, id) for id in range(5)]
    for start in range(0, len(records), size):
        sink.take(records[start : start + size])
    assert (sink.withheld(), sink.stopped) == ({}, set())
    (lake,) = sink.lake()
    names = [name for name in lake.live.schema.names if name.startswith(("raw", "note", "rank"))]
    found = {row["id"]: [row[name] for name in names if row[name] is not None] for row in lake.rows}
    raw, new = b"\xff\x00", [b"\xff\x00"] if renewed else []
    assert found == {0: [raw], 1: [raw], 2: ["five"], 3: ["five"], 4: sorted([*new, "five"], key=repr)}


@pytest.mark.parametrize("sizes", [[9], [1, 9], [1, 2, 9], [1, 1, 1, 9]], ids=str)
@pytest.mark.parametrize("format", ["delta", "iceberg"])
@pytest.mark.parametrize(
    "versions",
    [
        [{"raw": "binary"}, {"raw": "string"}, {"note": "string"}, {"rank": "string", "raw": "binary"}],
        [{"raw": "decimal(10,4)"}, {"raw": "numeric"}, {"note": "numeric"}, {"rank": "numeric"}],
        [{"raw": "numeric"}, {"note": "decimal(10,4)"}, {"rank": "decimal(10,4)"}],
        [{"raw": "numeric"}, {"note": "decimal(10,4)"}, {"note": "date"}, {"raw": "date"}],
    ],
    ids=lambda versions: " ".join(name for types in versions for name in types),
)
def test_a_row_that_is_written_again_has_no_value_in_the_former_parts_of_a_renamed_column(
    store: SqlStore, format: str, versions: list[dict[str, str]], sizes: list[int]
) -> None:
    sink = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    records = [_row("t", 0, types, 0, offset) for offset, types in enumerate(versions)]
    for size in sizes:
        sink.take(records[:size])
        records = records[size:]
    assert (sink.withheld(), sink.stopped) == ({}, set())
    ((row,),) = (lake.rows for lake in sink.lake())
    found = [row[name] for name in row if name.startswith(("raw", "note", "rank")) and row[name] is not None]
    told = [next(iter(TYPES[type][1].values())) for type in versions[-1].values()]
    assert len(found) == len(told)
    assert all(value in found or _is_same(value, found[0]) for value in told)


@pytest.mark.parametrize("format", ["delta", "iceberg"])
@pytest.mark.parametrize("ends", [(5,), (2, 5), (1, 3, 5), (1, 2, 3, 4, 5)], ids=str)
def test_a_key_column_that_gets_another_type_and_then_another_name_has_a_successor(
    store: SqlStore, format: str, ends: tuple[int, ...]
) -> None:
    """No record tells the rename: columns in the same place, of the same type, prove it."""
    day = node("int32", "io.debezium.time.Date", version=1)
    names, types = ("line", "line", "line", "note", "note"), (INT, INT, day, day, day)
    connector = Connector("postgresql")
    for at, (name, type, key) in enumerate(zip(names, types, (1, 2, 3, 4, 3), strict=True)):
        columns, values = {"id": INT, name: type, "n": INT}, {"id": at, name: key, "n": at}
        made = connector.row(columns, (name,), values=values)
        own = {**json.loads(made.key or b""), "payload": {name: key}}
        connector.records[-1] = replace(made, key=json.dumps(own).encode())
    sink = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"))
    for begin, end in pairwise((0, *ends)):
        sink.take(connector.records[begin:end])
    assert (sink.withheld(), sink.stopped) == ({}, set())
    rows = [
        {n: v for n, v in row.items() if n in ("line", "note", "n")}
        for table in sink.lake()
        for row in table.rows
    ]
    first = [{"line": at, "n": at - 1} for at in (1, 2)]
    later = [{"note": date(1970, 1, at), "n": n} for at, n in ((4, 4), (5, 3))]
    assert sorted(rows, key=str) == sorted((*first, *later), key=str)
