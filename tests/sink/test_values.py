"""Values of rows: what connectors wrote is what comes out, and what a lake gets is that or nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal as Number
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.observation import Reject
from schemaman.migration.target import LakeType
from schemaman.migration.targets import delta, iceberg
from schemaman.model.schema import Column
from schemaman.model.types import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Field,
    Floating,
    Integer,
    Interval,
    Json,
    Map,
    Numeric,
    String,
    Struct,
    Time,
    Timestamp,
    Type,
)
from schemaman.sink.reader import RowReader
from schemaman.sink.row_change import RowChange
from schemaman.sink.values import temporal
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, BinaryMode, ConnectorModes, DecimalMode
from schemaman.sink.values.from_connect import CellEncoding
from schemaman.sink.values.row_decoder import (
    UnreadableCell,
    make_cell,
    make_cell_by_modes,
    make_decoder,
    make_lenient_decoder,
)
from schemaman.sink.values.to_lake import fit_column, fit_value, make_fitter
from schemaman.sink.values.to_lake_options import choose_converter
from schemaman.sink.values.unavailable import parse_placeholder
from schemaman.sink.values.values import OutOfRange, UnfitColumn, UnfitValue, Value
from tests.support.connect_cells import CELLS, SCALARS, C, Cell, D, T, node, text64, two_complement
from tests.support.records import event, record, struct


def local(*parts: int) -> datetime:
    """A timestamp without a zone."""
    return datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


def decoded(told: Cell, written: CellEncoding) -> Value:
    """What a cell is after the road that it takes through JSON, or as Avro's decoder gives it."""
    wire = told.avro if written == "avro" else json.loads(json.dumps(told.json))
    made = make_cell({**told.node, "field": "c"}, Column("c", told.type), written, told.modes)
    return make_decoder([made])({"c": wire}).row["c"]


def read(type: Type, told: dict[str, object], wire: object, modes: ConnectorModes = UNKNOWN_MODES) -> Value:
    made = make_cell({**told, "field": "c"}, Column("c", type), "json", modes)
    return make_decoder([made])({"c": wire}).row["c"]


@given(CELLS)
def test_a_cell_is_the_value_that_was_written_in_json_and_in_avro(told: Cell) -> None:
    for written in ("json", "avro"):
        found = decoded(told, written)
        # as they print: NaN is NaN, 1.50 is not 1.5, and -0.0 is not 0.0
        assert repr(found) == repr(told.value), written


@given(st.lists(CELLS.filter(lambda told: told.modes == UNKNOWN_MODES), min_size=1, max_size=5))
def test_a_record_gives_its_row(cells: list[Cell]) -> None:
    row = struct("srv.public.t.Value", **{f"c{i}": dict(told.node) for i, told in enumerate(cells)})
    value = event(row)
    value["payload"]["after"] = {f"c{i}": told.json for i, told in enumerate(cells)}
    found = RowReader().read(record(value))
    assert isinstance(found, RowChange)
    # without a history the types are those of the wire
    wires = {c.name: c.type for c in found.schema.columns}
    own = {f"c{i}": told for i, told in enumerate(cells) if wires[f"c{i}"] == told.type}
    assert found.after is not None
    assert {n: repr(found.after[n]) for n in own} == {n: repr(told.value) for n, told in own.items()}


@given(SCALARS)
def test_a_damaged_cell_is_refused_with_its_column(told: Cell) -> None:
    made = make_cell({**told.node, "field": "c"}, Column("amount", told.type), "json", told.modes)
    for damaged in ({"a": 1}, [1], "\ud800 no value"):
        if isinstance(told.json, str) and isinstance(damaged, str):
            continue
        if type(damaged) is type(told.json):
            continue
        with pytest.raises(UnreadableCell, match=r"amount: "):
            make_decoder([made])({"c": damaged})


@given(CELLS, st.sampled_from([delta.TARGET, iceberg.TARGET]))
def test_what_a_lake_gets_is_the_value(told: Cell, target: delta.DeltaTarget | iceberg.IcebergTarget) -> None:
    held = target.hold_type(told.type)
    assert isinstance(held, LakeType)
    found = fit_value(told.value, told.type, held.type, "c")
    if isinstance(found, UnfitColumn):
        # what no type of a lake holds
        assert "no" in found.reason
        assert not _plain(told.value)
    else:
        assert _equal(found, told.value), (found, told.value)


NARROW: list[Type] = [
    *(Integer(8), Integer(16), Integer(32), Integer(64), Decimal(10, 2), Decimal(38, 0)),
    *(Floating(32), Floating(64), Boolean(), String(), String(3), Binary(2)),
]


@given(SCALARS, st.sampled_from(NARROW))
def test_a_narrow_column_holds_the_very_value_or_refuses(told: Cell, lake: Type) -> None:
    found = fit_value(told.value, told.type, lake, "c")
    if choose_converter(told.type, lake) is not None:
        return  # another form of the value, as somebody asked for
    assert isinstance(found, UnfitColumn) or _equal(found, told.value), (found, told.value)


def _plain(value: Value) -> bool:
    match value:
        case OutOfRange():
            return False
        case Number():
            return value.is_finite()
        case tuple():
            return all(map(_plain, value))
        case dict():
            return all(map(_plain, value.values()))
        case _:
            return True


def _equal(found: object, value: object) -> bool:
    match value:
        case tuple():
            pairs = zip(found, value, strict=True) if isinstance(found, list) else ()
            return isinstance(found, list) and all(_equal(a, b) for a, b in pairs)
        case dict():
            assert isinstance(found, dict)
            return found.keys() == value.keys() and all(_equal(found[k], value[k]) for k in value)
        case float() if math.isnan(value):
            return found == "nan" or (isinstance(found, float) and math.isnan(found))
        case Number() if value.is_nan():
            return found == "NaN" or (isinstance(found, float) and math.isnan(found))
        case bool() if isinstance(found, str):
            return found == str(value).lower()
        case float() if isinstance(found, str):
            return float(found) == value
        case int() | Number() if isinstance(found, str):
            return Number(found) == value
        case date() if isinstance(found, str):
            return found.replace(" ", "T").startswith(value.isoformat()[:10])
        case _:
            return found == value


@pytest.mark.parametrize(
    ("type", "value", "lake", "reason"),
    [
        (Integer(64), 128, Integer(8), "128 does not fit TINYINT"),
        (Integer(64, signed=False), 2**64 - 1, Integer(64), "does not fit BIGINT"),
        (Numeric(), Number("1.005"), Decimal(10, 2), "1.005 has more than 2 digits after the point"),
        (Decimal(12, 2), Number("1234567890.12"), Decimal(10, 2), "has too many digits for DECIMAL(10,2)"),
        (Numeric(), Number("NaN"), Decimal(10, 2), "DECIMAL(10,2) has no NaN"),
        (Date(), OutOfRange("infinity"), Date(), "infinity is no DATE of a lake"),
        (Timestamp(9), OutOfRange("2024-01-01T00:00:00.000000001Z"), Timestamp(6),
         'is finer than the microseconds of TIMESTAMP; `nanoseconds = "string"` keeps such values in a'),
        (Timestamp(7, zoned=False), OutOfRange("2024-01-01T00:00:00.0000001"), Timestamp(6, zoned=False),
         ".0000001 is finer than the microseconds of TIMESTAMP_NTZ; `nanoseconds"),
        (Timestamp(6), OutOfRange("+10000-01-01T00:00:00Z"), Timestamp(6),
         "00Z is no TIMESTAMP of a lake: the "),
        (Timestamp(6), OutOfRange("+10000-01-01T00:00:00.000001Z"), Timestamp(6), "the years 1 to 9999"),
        (String(5), "grüße!", String(5), "a text of 6 characters is longer than 5"),
        (String(), "\ud800", String(), "half a surrogate pair"),
        (Floating(64), 0.1, Floating(32), "0.1 is not exactly a number of FLOAT"),
        (Decimal(10, 2), Number("0.10"), Floating(64), "is not exactly a number of DOUBLE"),
        (Integer(64), 2**53 + 1, Floating(64), "9007199254740993"),
        (Timestamp(6), local(2024, 1, 1), Timestamp(6), "is no TIMESTAMP"),
        (Array(Integer(32)), (1, 2**31), Array(Integer(32)), "does not fit INT"),
        (Time(6), "12:00:00", Integer(32), "INT holds no values of TIME(6)"),
    ],
)  # fmt: skip
def test_what_does_not_fit_says_why(type: Type, value: Value, lake: Type, reason: str) -> None:
    found = fit_value(value, type, lake, "amount")
    assert isinstance(found, UnfitColumn)
    assert found.column == "amount"
    assert reason in found.reason


def test_a_value_that_fits_is_of_the_type_that_a_writer_needs() -> None:
    assert fit_value(5, Integer(64, signed=False), Decimal(20, 0), "c") == Number(5)
    assert repr(fit_value(Number("1.5"), Numeric(), Decimal(10, 3), "c")) == "Decimal('1.500')"
    assert fit_value("12:00:00.5", Time(3), String(), "c") == "12:00:00.5"
    whole = datetime(2024, 3, 10, 2, 30, tzinfo=UTC)
    assert fit_value(whole, Timestamp(9), String(), "c") == "2024-03-10T02:30:00Z"
    finer = datetime(2024, 3, 10, 2, 30, 0, 120_000, UTC)
    assert fit_value(finer, Timestamp(9), String(), "c") == "2024-03-10T02:30:00.12Z"
    assert (
        fit_value(local(2024, 3, 10, 2, 30), Timestamp(9, zoned=False), String(), "c")
        == "2024-03-10T02:30:00"
    )
    early = local(1, 1, 1, 0, 0, 10, 10)
    assert fit_value(early, Timestamp(6, zoned=False), String(), "c") == "0001-01-01T00:00:10.00001"
    assert fit_value((1, None), Array(Integer(8)), Array(Integer(32)), "c") == [1, None]
    assert fit_value(date(1, 1, 1), Date(), Timestamp(6, zoned=False), "c") == local(1, 1, 1)
    assert fit_value({"a": 1}, Map(String(), Integer(32)), Map(String(), Integer(64)), "c") == {"a": 1}
    assert fit_value(Number("1.50"), Numeric(), String(), "c") == "1.50"
    assert fit_value(None, Integer(8), Integer(8), "c") is None
    with pytest.raises(UnfitValue):
        make_fitter(Integer(64), Integer(8))(300)


SCALE_30 = node("bytes", f"{C}Decimal", parameters={"scale": "30"})
VARIABLE = node(
    "struct",
    f"{D}VariableScaleDecimal",
    fields=[{**node("int32"), "field": "scale"}, {**node("bytes"), "field": "value"}],
)
SCALE_4 = node("bytes", f"{C}Decimal", parameters={"scale": "4"})
ZONED = node("string", f"{T}ZonedTimestamp")
WORD = "__debezium_unavailable_value"
RAW = WORD.encode()
EACH = list(RAW)
MADE = str(UUID(bytes=hashlib.md5(RAW).digest(), version=3))
OTHER_WORD = "not-here"
GEOMETRY = node(
    "struct",
    f"{D}geometry.Geometry",
    fields=[{**node("bytes"), "field": "wkb"}, {**node("int32"), "field": "srid"}],
)
FAR = bytes.fromhex("0101000020e6100000000000fc83d797c1000000fc83d797c1")
"""The point (-99999999, -99999999) of the earth."""


@pytest.mark.parametrize(
    ("told", "wire", "avro"),
    [
        (node("string"), WORD, WORD),
        (node("string", f"{D}Json"), WORD, WORD),
        (node("string", f"{D}Json"), f'{{"{WORD}":"{WORD}"}}', f'{{"{WORD}":"{WORD}"}}'),
        (node("string", f"{D}Xml"), WORD, WORD),
        (node("bytes"), text64(RAW), RAW),
        (node("string"), base64.b64encode(RAW).decode(), base64.b64encode(RAW).decode()),
        (node("string"), RAW.hex(), RAW.hex()),
        (node("array", items=node("string")), [WORD], [WORD]),
        (node("array", items=node("string", f"{D}Uuid")), [MADE], [MADE]),
        (node("array", items=node("bytes")), [text64(RAW)], [RAW]),
        (node("array", items=node("int32")), EACH, EACH),
        (node("array", items=node("int64")), EACH, EACH),
        (node("array", items=node("int32", f"{T}Date")), EACH, EACH),
        (node("array", items=node("int64", f"{T}MicroTimestamp")), EACH, EACH),
        (node("map", keys=node("string"), values=node("string")), {WORD: WORD}, {WORD: WORD}),
        (GEOMETRY, {"wkb": text64(FAR), "srid": 4326}, {"wkb": FAR, "srid": 4326}),
    ],
)  # fmt: skip
def test_a_placeholder_is_no_value_whatever_its_type(
    told: dict[str, object], wire: object, avro: object
) -> None:
    row = struct("srv.public.t.Value", id=node("int32"), big=told)
    value = event(row, op="u")
    value["payload"]["after"] = {"id": 1, "big": wire}
    found = RowReader().read(record(value))
    assert isinstance(found, RowChange)
    assert (found.after, found.unavailable) == ({"id": 1}, frozenset({"big"}))
    made = make_cell({**told, "field": "big"}, Column("big", found.schema.columns[1].type), "avro")
    assert make_decoder([made])({"big": avro}).unavailable == {"big"}
    # another word is a value where that one is configured
    reader = RowReader(placeholder=parse_placeholder(OTHER_WORD))
    again = reader.read(record(value))
    assert isinstance(again, RowChange | Reject)
    assert told == GEOMETRY or not isinstance(again, RowChange) or again.unavailable == frozenset()


@pytest.mark.parametrize(
    ("element", "wire"),
    [
        (node("boolean"), [True] * len(RAW)),
        (node("int16"), EACH),
        (node("double"), [float(b) for b in RAW]),
        (node("bytes", f"{C}Decimal", parameters={"scale": "2"}), [text64(bytes([b])) for b in RAW]),
    ],
)
def test_an_array_of_a_type_that_has_no_placeholder_is_a_value(
    element: dict[str, object], wire: list[object]
) -> None:
    value = event(struct("srv.public.t.Value", id=node("int32"), big=node("array", items=element)), op="u")
    value["payload"]["after"] = {"id": 1, "big": wire}
    found = RowReader().read(record(value))
    assert isinstance(found, RowChange)
    assert found.unavailable == frozenset()
    held = (found.after or {})["big"]
    assert isinstance(held, list | tuple)
    assert len(held) == len(RAW)


def test_a_row_that_was_read_has_all_its_values_whatever_they_look_like() -> None:
    value = event(struct("srv.public.t.Value", big=node("string")), op="r", snapshot="true")
    value["payload"]["after"] = {"big": WORD}
    found = RowReader().read(record(value))
    assert isinstance(found, RowChange)
    assert (found.after, found.unavailable) == ({"big": WORD}, frozenset())


def test_of_a_deleted_row_it_is_said_which_values_were_not_sent() -> None:
    """A table without a key keeps that row: what it has not got must not become NULL there."""
    value = event(struct("srv.public.t.Value", id=node("int32"), big=node("string")), op="d")
    value["payload"] |= {"before": {"id": 1, "big": WORD}, "after": None}
    found = RowReader().read(record(value))
    assert isinstance(found, RowChange)
    assert (found.before, found.unread_reasons) == ({"id": 1}, {"big": "the value was not sent"})


def test_two_fields_of_one_name_are_refused() -> None:
    value = event(struct("srv.public.t.Value", a=node("string"), b=node("string")))
    value["payload"]["after"] = {"a": "1", "b": "2"}
    twice = json.dumps(value).replace('"field": "b"', '"field": "a"')
    found = RowReader().read(record(twice.encode()))
    assert isinstance(found, Reject)
    assert "has two fields 'a'" in found.reason


def test_another_placeholder_may_be_configured_in_hexadecimal_digits() -> None:
    word = parse_placeholder("hex:" + OTHER_WORD.encode().hex())
    assert word == OTHER_WORD.encode()
    value = event(
        struct("srv.public.t.Value", a=node("string"), b=node("array", items=node("int32"))), op="u"
    )
    value["payload"]["after"] = {"a": OTHER_WORD, "b": list(word)}
    found = RowReader(placeholder=word).read(record(value))
    assert isinstance(found, RowChange)
    assert found.unavailable == {"a", "b"}


@pytest.mark.parametrize(
    ("days", "value"),
    [
        (-719162, date(1, 1, 1)),
        (2932896, date(9999, 12, 31)),
        (2932897, OutOfRange("+10000-01-01")),
        (-719163, OutOfRange("0000-12-31")),
        (-719529, OutOfRange("-0001-12-31")),
        (-622191234, OutOfRange("infinity")),
    ],
)
def test_days_of_all_years(days: int, value: Value) -> None:
    assert read(Date(), node("int32", f"{T}Date"), days) == value


@pytest.mark.parametrize(
    ("form", "count", "value"),
    [
        ("Timestamp", -1, local(1969, 12, 31, 23, 59, 59, 999_000)),
        ("MicroTimestamp", -1, local(1969, 12, 31, 23, 59, 59, 999_999)),
        ("NanoTimestamp", 1, OutOfRange("1970-01-01T00:00:00.000000001")),
        ("NanoTimestamp", -1, OutOfRange("1969-12-31T23:59:59.999999999")),
        ("MicroTimestamp", 9_223_372_036_825_200_000, OutOfRange("infinity")),
        ("Timestamp", -9_223_372_036_832_400_000, OutOfRange("-infinity")),
        ("NanoTimestamp", 9_223_372_036_825_200_000, OutOfRange("infinity")),
        ("NanoTimestamp", -9_223_372_036_832_400_000, OutOfRange("-infinity")),
        ("NanoTimestamp", (1 << 63) - 1, OutOfRange("infinity")),
        ("NanoTimestamp", -(1 << 63), OutOfRange("-infinity")),
        ("NanoTimestamp", 9_223_372_036_825_199_000, local(2262, 4, 11, 23, 47, 16, 825_199)),
        ("MicroTimestamp", 253_402_300_800_000_000, OutOfRange("+10000-01-01T00:00:00")),
    ],
)  # fmt: skip
def test_timestamps_at_the_edges(form: str, count: int, value: Value) -> None:
    assert read(Timestamp(6, zoned=False), node("int64", f"{T}{form}"), count) == value


def test_an_infinite_instant_is_no_day_of_the_year_2262_whatever_the_unit() -> None:
    for instant in (temporal.read_instant_ms, temporal.read_instant_us, temporal.read_instant_ns):
        assert instant(9_223_372_036_825_200_000) == OutOfRange("infinity")
        assert instant(-9_223_372_036_832_400_000) == OutOfRange("-infinity")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("infinity", OutOfRange("infinity")),
        ("-infinity", OutOfRange("-infinity")),
        ("-292275055-05-16T23:00:00Z", OutOfRange("-infinity")),
        ("2024-01-01T00:00:00.1234567Z", OutOfRange("2024-01-01T00:00:00.1234567Z")),
        ("9999-12-31T23:59:59-05:00", OutOfRange("9999-12-31T23:59:59-05:00")),
        ("-0043-03-15T00:00:00Z", OutOfRange("-0043-03-15T00:00:00Z")),
    ],
)
def test_instants_at_the_edges(text: str, value: Value) -> None:
    assert read(Timestamp(6), node("string", f"{T}ZonedTimestamp"), text) == value


@pytest.mark.parametrize(
    ("type", "told", "wire", "reason"),
    [
        (Decimal(20, 2), node("double"), 12345678901234567.0, "a double cannot hold a number of 19 digits"),
        (Decimal(10, 2), node("double"), 0.125, "0.125 has more than 2 digits after the point"),
        (Numeric(), node("double"), 0.5, "a double does not hold the digits"),
        (Integer(8), node("boolean"), True, "only that the number is not 0"),
        (Binary(), node("string"), "AAAA", "is not configured"),
        (Boolean(), node("int16"), 5, "5 is neither 0 nor 1"),
        (Decimal(10, 2), SCALE_4, text64(two_complement(12345)), "1.2345 has more than 2 digits"),
        (Timestamp(6), ZONED, "2024-01-01T00:00:00", "has no offset"),
        (Timestamp(6), ZONED, "2024-02-30T00:00:00Z", "no date of the calendar"),
        (Time(6), node("string"), "25 o'clock", "is no time of day"),
        (Integer(32), node("int32"), 2**31, "is no int32"),
        (Integer(32), node("int32"), True, "True is no int32"),
        (Array(Integer(32)), node("array", items=node("int32")), ["1"], "'1' is no int32"),
        (Numeric(), VARIABLE, {"scale": 50_000_000, "value": "AQ=="}, "no decimal number has a scale of"),
        (Numeric(), node("string"), "0E-50000000", "greater or finer than the numbers of any database"),
        (Numeric(), node("string"), "1E+50000000", "greater or finer than the numbers of any database"),
        (Floating(64), SCALE_30, text64(two_complement(10**30 + 1)), "more digits than a float"),
    ],
)  # fmt: skip
def test_what_a_mode_has_lost_is_not_made_good(
    type: Type, told: dict[str, object], wire: object, reason: str
) -> None:
    with pytest.raises(UnreadableCell) as caught:
        read(type, told, wire)
    assert reason in str(caught.value)


def test_other_forms_of_the_same_values() -> None:
    assert read(Decimal(10, 2), node("bytes", f"{C}Decimal", parameters={"scale": "2"}), 5) == Number("5.00")
    assert read(Map(String(), String()), node("string", f"{D}Json"), '{"a":null}') == {"a": None}
    assert read(Json(), node("map", keys=node("string"), values=node("string")), {"a": "é"}) == '{"a":"é"}'
    pairs = node("map", keys=node("int16"), values=node("double"))
    assert read(Map(Integer(16), Floating(64)), pairs, [[1, 0.5]]) == {1: 0.5}
    assert read(Interval(), node("int64", f"{T}MicroDuration"), -1) == "-PT0.000001S"
    assert read(Interval(), node("int64", f"{T}MicroDuration"), 0) == "PT0S"
    assert read(Time(6, zoned=True), node("string", f"{T}ZonedTime"), "10:00:01.50Z") == "10:00:01.5Z"
    assert read(Boolean(), node("bytes", f"{D}Bits", parameters={"length": "1"}), "AQ==") is True


def test_decimals_that_are_json_numbers_keep_their_digits() -> None:
    told = node("bytes", f"{C}Decimal", parameters={"scale": "20"})
    value = event(struct("srv.public.t.Value", a=told, b=node("double")))
    value["payload"]["after"] = {"a": 0, "b": 0.1}
    text = json.dumps(value).replace('"a": 0,', '"a": 12345678901234567890.12345678901234567890,')
    found = RowReader().read(record(text.encode()))
    assert isinstance(found, RowChange)
    assert found.after == {"a": Number("12345678901234567890.12345678901234567890"), "b": 0.1}
    assert type(found.after["b"]) is float


@pytest.mark.parametrize(
    ("type", "value"), [(String(), "1.5000"), (Floating(64), 1.5)], ids=["from string", "from double"]
)
def test_a_column_that_travelled_otherwise_keeps_its_type_and_its_values(type: Type, value: Value) -> None:
    """`decimal.handling.mode` became `precise`: an epoch, which changes no value."""
    assert read(type, SCALE_4, text64(two_complement(15000))) == value


@pytest.mark.parametrize("decimal", ["precise", "string", "double"])
def test_a_decimal_without_a_fraction_may_come_as_a_whole_number_in_any_mode(decimal: DecimalMode) -> None:
    modes = ConnectorModes(decimal=decimal)
    made = make_cell_by_modes("c", Column("c", Decimal(9, 0)), modes, "json", RAW)
    assert make_decoder([made])({"c": 7}).row == {"c": 7}
    with pytest.raises(UnreadableCell):
        make_decoder([made])({"c": True})


@pytest.mark.parametrize("binary", ["bytes", "base64", "base64-url-safe", "hex"])
def test_no_mode_changes_what_is_written_inside_of_a_geometry(binary: BinaryMode) -> None:
    shape = Struct((Field("wkb", Binary()), Field("srid", Integer(32))))
    made = make_cell_by_modes("c", Column("c", shape), ConnectorModes(binary=binary), "json", RAW)
    told = make_decoder([made])({"c": {"wkb": text64(b"\xfb\xff\x01"), "srid": None}})
    assert told.row == {"c": {"wkb": b"\xfb\xff\x01", "srid": None}}


@pytest.mark.parametrize("ms", [10**18, -1, True, "x"])
def test_a_time_that_no_calendar_has_is_none(ms: object) -> None:
    value = event(struct("srv.public.t.Value", id=node("int32")))
    value["payload"]["source"]["ts_ms"] = ms
    value["payload"]["after"] = {"id": 1}
    found = RowReader().read(record(value))
    assert isinstance(found, RowChange)
    assert found.ts_ms is None


@pytest.mark.parametrize("scale", ["1.5", "x", "99999999999"])
def test_a_scale_that_is_no_number_rejects_its_record_alone(scale: str) -> None:
    value = event(struct("srv.public.t.Value", id=node("bytes", f"{C}Decimal", parameters={"scale": scale})))
    value["payload"]["after"] = {"id": "AQ=="}
    found = RowReader().read(record(value))
    assert isinstance(found, Reject)
    assert f"a decimal with a scale of {scale}" in found.reason


@pytest.mark.parametrize("op", [[], {}, 1])
def test_an_operation_that_is_no_text_rejects_its_record_alone(op: object) -> None:
    value = event(struct("srv.public.t.Value", id=node("int32")))
    value["payload"] |= {"after": {"id": 1}, "op": op}
    assert not isinstance(RowReader().read(record(value)), RowChange)


NUMBER, TEXT = {"type": "int32", "optional": True}, String()


@pytest.mark.parametrize(
    ("wire", "column"),
    [
        (NUMBER, TEXT),
        ({"type": "array", "items": NUMBER}, Array(TEXT)),
        ({"type": "map", "keys": {"type": "string"}, "values": NUMBER}, Map(TEXT, TEXT)),
        ({"type": "struct", "fields": [{**NUMBER, "field": "m"}]}, Struct((Field("m", TEXT),))),
    ],
    ids=["value", "element", "member of a map", "member of a struct"],
)
def test_null_of_a_type_that_a_column_cannot_have_is_not_its_null(
    wire: dict[str, object], column: Type
) -> None:
    cells = [
        make_cell({**wire, "optional": True, "field": "a"}, Column("a", column), "json"),
        make_cell({**NUMBER, "field": "b"}, Column("b", Integer(32)), "json"),
    ]
    with pytest.raises(UnreadableCell, match=r"^a: INT does not carry STRING$"):
        make_decoder(cells)({"a": None, "b": 1})
    partly = make_lenient_decoder(cells)({"a": None, "b": 1})
    assert (partly.row, partly.unread_reasons) == ({"b": 1}, {"a": "INT does not carry STRING"})


PLAIN_TYPES = st.sampled_from(
    [Integer(8), Integer(64), Floating(32), Floating(64), String(), String(2), Boolean(), Date(), Json()]
)
PLAIN_VALUES = st.sampled_from(
    [None, True, 0, 1, -128, 128, 2**63, 1.0, 1e300, math.inf, "", "ü", "abc", "\ud800", date(2026, 1, 1)]
)


@given(st.lists(PLAIN_VALUES, max_size=3), PLAIN_TYPES, PLAIN_TYPES)
def test_a_column_is_converted_as_its_values_are(values: list[Value], source: Type, lake: Type) -> None:
    fit = make_fitter(source, lake)
    try:
        wanted = [None if value is None else fit(value) for value in values]
    except UnfitValue:
        with pytest.raises(UnfitValue):
            fit_column(values, source, lake)
    else:
        assert repr(list(fit_column(values, source, lake))) == repr(wanted)
