"""Which version a row is of: the columns that it had then, under the names that they have at the source."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import fastavro
import pytest

from schemaman.debezium.observation import Reject
from schemaman.debezium.raw_record import parse_json
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import Forms
from schemaman.history.versions import TableHistory
from schemaman.ingest.ingest import ingest
from schemaman.model.schema import TableId
from schemaman.registry import Registry
from schemaman.sink.reader import RowReader
from schemaman.sink.row_change import RowChange, RowOutcome
from schemaman.sink.values.connector_modes import ConnectorModes
from schemaman.store.memory import MemoryStore
from tests.support.connect_cells import C, node, text64
from tests.support.log_entries import fold
from tests.support.records import change, column, event, image, record, struct

INT, TEXT = node("int32"), node("string")


def streamed(
    offset: int, row: Mapping[str, Any], fields: Mapping[str, Any] | None = None, **source: Any
) -> Record:
    """An event of a row; fields that are not told are of whole numbers."""
    nodes = {name: (fields or {}).get(name, INT) for name in row}
    told = {"lsn": 100 + offset, "sequence": f'["{100 + offset}","{100 + offset}"]', "ts_ms": 1000 + offset}
    value = event(struct("srv.public.t.Value", **nodes), **{**told, **source})
    value["payload"]["after"] = dict(row)
    value["payload"]["ts_ms"] = 2000 + offset
    made = record(value, {"schema": struct("srv.public.t.Key", id=INT), "payload": {"id": 1}})
    return Record(made.topic, 0, offset, 3000 + offset, made.key, made.value)


def histories(records: Sequence[Record]) -> Mapping[TableId, TableHistory]:
    registry = Registry(MemoryStore(fold=fold), lambda: 0)
    summary = ingest(records, registry, "main", lambda id: None)
    assert summary.rejects == 0
    return {history.table: history for history in registry.tables()}


def changes(found: Sequence[RowOutcome]) -> list[RowChange]:
    told = [one for one in found if isinstance(one, RowChange)]
    assert len(told) == len(found), [one for one in found if not isinstance(one, RowChange)]
    return told


def ids(found: RowChange) -> dict[str, int | None]:
    return {c.name: c.id for c in found.schema.columns}


def test_a_column_that_left_and_one_that_came_under_its_name_are_two() -> None:
    told = [streamed(0, {"id": 1, "a": 1}), streamed(1, {"id": 1}), streamed(2, {"id": 1, "a": 2})]
    reader = RowReader(histories(told))
    first, gone, again = changes([reader.read(r) for r in told])
    assert [c.version for c in (first, gone, again)] == [1, 2, 3]
    assert ids(first)["id"] == ids(again)["id"]
    assert ids(first)["a"] != ids(again)["a"]
    # what is delivered again, or comes late in another partition, is of the version that it was of
    late = Record(told[0].topic, 0, 7, 9999, told[0].key, told[0].value)
    (found,) = changes([reader.read(late)])
    assert (found.version, found.order > first.order, found.order < gone.order) == (1, True, True)


def test_a_type_that_changed_and_changed_back_is_decoded_by_the_record() -> None:
    scaled = {"id": INT, "n": node("bytes", f"{C}Decimal", parameters={"scale": "2"})}
    told = [
        streamed(0, {"id": 1, "n": 5}),
        streamed(1, {"id": 1, "n": text64(b"\x01\xf4")}, fields=scaled),
        streamed(2, {"id": 1, "n": 6}),
    ]
    reader = RowReader(histories(told))
    found = changes([reader.read(r) for r in told])
    assert [c.after for c in found] == [{"id": 1, "n": 5}, {"id": 1, "n": Decimal("5.00")}, {"id": 1, "n": 6}]
    assert [c.version for c in found] == [1, 2, 3]


def test_a_structure_that_nobody_has_read_in_is_refused() -> None:
    reader = RowReader(histories([streamed(0, {"id": 1, "a": 1})]))
    found = reader.read(streamed(1, {"id": 1, "b": 1}))
    assert isinstance(found, Reject)
    assert "no version of srv.shop.public.t has exactly the fields id, b" in found.reason
    other = reader.read(streamed(2, {"id": 1}, table="u"))
    assert isinstance(other, Reject)
    assert "the history has no table srv.shop.public.u" in other.reason


def mysql(offset: int, row: Mapping[str, Any], fields: Mapping[str, Any] | None = None) -> Record:
    """An event of a row of MySQL in JSON; without schemas if no fields are told."""
    block: dict[str, Any] = {
        "connector": "mysql",
        "schema": None,
        "file": "binlog.000001",
        "pos": 500 + offset,
        "lsn": None,
    }
    source = {**block, "sequence": None}
    if fields is not None:
        return streamed(offset, row, fields=fields, **source)
    full = streamed(offset, row, **source)
    value: Any = parse_json(full.value or b"")
    made = record(value["payload"], {"id": 1})
    return Record(full.topic, 0, offset, 1, made.key, made.value)


def declared(*columns: Mapping[str, object], key: tuple[str, ...] = ("id",)) -> Record:
    """The record of a CREATE TABLE."""
    table = {"type": "CREATE", "id": '"shop"."t"', "table": image(*columns, key=key)}
    told: dict[str, Any] = {"file": "binlog.000001", "pos": 4, "row": 0, "schema": "", "table": "t"}
    made = record(change(table, ddl="CREATE TABLE t (…)", **told), topic="srv")
    return Record("srv", 0, 0, 1, None, made.value)


COLUMNS = (
    column("id", "INT"),
    column("order-no", "BIGINT UNSIGNED"),
    column("price", "DECIMAL", length=20, scale=2),
    column("at", "DATETIME", length=6),
)


def test_a_declared_column_has_its_own_name_and_type_whatever_carries_it() -> None:
    at = node("int64", "io.debezium.time.MicroTimestamp")
    fields = {"order_no": node("int64"), "price": node("string"), "at": at}
    told = mysql(1, {"id": 1, "order_no": -1, "price": "1.5", "at": 1}, fields)
    known = histories([declared(*COLUMNS), told])
    (found,) = changes([RowReader(known).read(told)])
    assert found.after is not None
    assert {name: str(value) for name, value in found.after.items()} == {
        "id": "1",
        "order-no": "18446744073709551615",
        "price": "1.50",
        "at": "1970-01-01 00:00:00.000001",
    }
    # a double does not tell twenty digits
    row = {"id": 1, "order_no": 1, "price": 12345678901234567.0, "at": None}
    lossy = mysql(2, row, {**fields, "price": node("double")})
    refused = RowReader(known).read(lossy)
    assert isinstance(refused, Reject)
    assert refused.reason.startswith("price: a double cannot hold")


def test_rows_without_schemas_are_typed_by_what_is_declared() -> None:
    plain = mysql(1, {"id": 1, "order-no": 7, "price": text64(b"\x01\xf4"), "at": 1_000_000})
    known = histories([declared(*COLUMNS), plain])
    modes = ConnectorModes(decimal="precise", time="adaptive_time_microseconds", unsigned="long")
    (found,) = changes([RowReader(known, modes=modes).read(plain)])
    assert found.after is not None
    assert found.after["price"] == Decimal("5.00")
    assert str(found.after["at"]) == "1970-01-01 00:00:01"
    assert found.key == {"id": 1}
    # the same bytes under another mode are another value, so that nobody may guess
    text = RowReader(known, modes=ConnectorModes(decimal="string", time="connect", unsigned="long")).read(
        plain
    )
    assert isinstance(text, Reject)
    assert text.reason == "price: 'AfQ=' is no decimal number"
    untold = RowReader(known).read(plain)
    assert isinstance(untold, Reject)
    assert "bigint.unsigned.handling.mode is not configured" in untold.reason


def test_a_negative_number_of_mysql_whose_sign_nobody_declares_is_refused() -> None:
    fields = {"n": node("int64")}
    good, bad = mysql(1, {"id": 1, "n": 5}, fields), mysql(2, {"id": 1, "n": -5}, fields)
    known = histories([good, bad])
    (found,) = changes([RowReader(known).read(good)])
    assert found.after == {"id": 1, "n": 5}
    refused = RowReader(known).read(bad)
    assert isinstance(refused, Reject)
    assert refused.reason.startswith("n: -5 may be 18446744073709551611 of a BIGINT UNSIGNED")
    # in the mode that writes such numbers as decimals it is what it is; and so it is where it is declared
    (told,) = changes([RowReader(known, modes=ConnectorModes(unsigned="precise")).read(bad)])
    assert told.after == {"id": 1, "n": -5}
    declares = declared(column("id", "INT"), column("n", "BIGINT"))
    (sure,) = changes([RowReader(histories([declares, bad])).read(bad)])
    assert sure.after == {"id": 1, "n": -5}


def test_a_sign_that_nobody_declares_is_doubted_in_rows_without_schemas_too() -> None:
    fields = {"n": node("int64")}
    known = histories([mysql(1, {"id": 1, "n": 5}, fields)])
    for modes in (ConnectorModes(unsigned="long"), ConnectorModes()):
        refused = RowReader(known, modes=modes).read(mysql(2, {"id": 1, "n": -5}))
        assert isinstance(refused, Reject)
        assert refused.reason.startswith("n: -5 may be 18446744073709551611 of a BIGINT UNSIGNED")
    (told,) = changes(
        [RowReader(known, modes=ConnectorModes(unsigned="precise")).read(mysql(2, {"id": 1, "n": -5}))]
    )
    assert told.after == {"id": 1, "n": -5}
    (fits,) = changes([RowReader(known).read(mysql(2, {"id": 1, "n": 6}))])
    assert fits.after == {"id": 1, "n": 6}


@pytest.mark.parametrize("told", [{"connector": "mysql"}, {"file": "binlog.000001", "pos": 503}, {}])
def test_a_sign_that_nobody_declares_is_doubted_in_flattened_rows_that_tell_no_connector(
    told: dict[str, object],
) -> None:
    """Where the row tells nothing of its connector, its table does."""
    known = histories([mysql(1, {"id": 1, "n": 5}, {"n": node("int64")})])
    added = {f"__{name}": value for name, value in {"db": "shop", "table": "t", **told}.items()}
    fields = {"id": INT, "n": node("int64")}
    fields |= {n: node("string" if isinstance(v, str) else "int64", optional=True) for n, v in added.items()}
    key = {"schema": struct("srv.shop.t.Key", id=INT), "payload": {"id": 1}}

    def flat(n: int) -> Record:
        schema = struct("srv.shop.t.Value", **fields)
        return record({"schema": schema, "payload": {"id": 1, "n": n, **added}}, key, "srv.shop.t")

    refused = RowReader(known).read(flat(-5))
    assert isinstance(refused, Reject)
    assert refused.reason.startswith("n: -5 may be 18446744073709551611 of a BIGINT UNSIGNED")
    (fits,) = changes([RowReader(known).read(flat(7))])
    assert fits.after == {"id": 1, "n": 7}


SCALED = {"connect.name": f"{C}Decimal", "connect.parameters": {"scale": "2"}, "logicalType": "decimal"}
MICROS = {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}
VALUE = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "price", "type": ["null", {"type": "bytes", "scale": 2, "precision": 10, **SCALED}]},
        {"name": "at", "type": ["null", MICROS]},
        {"name": "tags", "type": ["null", {"type": "array", "items": ["null", "string"]}]},
    ],
}
TOLD = ("version", "connector", "name", "db", "schema", "table")
BLOCK = {"type": "record", "name": "Source", "fields": [{"name": n, "type": "string"} for n in TOLD]}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "namespace": "srv.public.t",
    "fields": [
        {"name": "before", "type": ["null", VALUE], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "source", "type": BLOCK},
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"], "default": None},
    ],
}
GUID = UUID("89791762-2336-4186-9674-299b90a802e2")


@pytest.mark.parametrize(
    ("start", "headers", "forms"),
    [
        (b"\0\0\0\0\x07", (), Forms()),
        (b"\0\0\0\0\x07", (), Forms(value="confluent")),
        (b"\1" + GUID.bytes, (), Forms()),
        (b"", (("__value_schema_id", b"\1" + GUID.bytes),), Forms()),
        (b"\0" + (7).to_bytes(8, "big"), (), Forms(value="apicurio-global-8")),
        (b"\0" + (7).to_bytes(4, "big"), (), Forms(value="apicurio-content-4")),
        (b"", (("apicurio.value.globalId", (7).to_bytes(8, "big")),), Forms()),
    ],
)
def test_each_framing_of_avro_gives_the_same_row(
    start: bytes, headers: tuple[tuple[str, bytes | None], ...], forms: Forms
) -> None:
    plain: Any = json.loads(json.dumps(ENVELOPE).replace('"logicalType": "decimal"', '"told": "decimal"'))
    row = {"id": 1, "price": b"\x01\xf4", "at": -1, "tags": ["a", None]}
    source = {"version": "3.4.1.Final", "connector": "postgresql", "name": "srv", "db": "shop",
              "schema": "public", "table": "t"}  # fmt: skip
    body = io.BytesIO()
    fastavro.schemaless_writer(body, plain, {"after": row, "source": source, "op": "c", "ts_ms": 5})
    known = {7: ENVELOPE, "globalId:7": ENVELOPE, "contentId:7": ENVELOPE, f"guid:{GUID}": ENVELOPE}
    reader = RowReader(schemas=lambda id: json.dumps(known[id]) if id in known else None, forms=forms)
    (found,) = changes([reader.read(Record("srv.public.t", 0, 0, 1, None, start + body.getvalue(), headers))])
    assert found.after is not None
    assert {name: repr(value) for name, value in found.after.items()} == {
        "id": "1",
        "price": "Decimal('5.00')",
        "at": "datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)",
        "tags": "('a', None)",
    }
    assert (found.key, found.table.levels) == (None, ("srv", "shop", "public", "t"))
