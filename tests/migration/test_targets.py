"""What the targets hold, accept and refuse, against a matrix that was executed on real tables."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.errors import BadReference
from schemaman.migration import spark_sql as sql
from schemaman.migration.plan import Refusal
from schemaman.migration.target import Draft, LakeTable, LakeType
from schemaman.migration.targets import delta, iceberg
from schemaman.model.column_list import parse_columns
from schemaman.model.ddl import format_type, parse_type
from schemaman.model.diff import (
    AddColumn,
    ChangeKey,
    ChangeNullable,
    ChangeType,
    DropColumn,
    MoveColumn,
    RenameColumn,
)
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import (
    Array,
    Decimal,
    Field,
    Integer,
    Map,
    String,
    Struct,
    Timestamp,
    Type,
    Unknown,
    widens,
)
from schemaman.spark.formats._iceberg_metadata import read_description, read_metadata
from tests.support.checkout import FIXTURES
from tests.support.strategies import NAMES, TEXTS, TYPES

MATRIX = json.loads((FIXTURES / "targets" / "type-changes.json").read_text(encoding="utf-8"))
CELLS = {(c["from"], c["to"]): c for c in MATRIX["changes"]}
TARGETS = (delta.TARGET, iceberg.TARGET)
REFUSED = {"delta": "spark", "delta_plain": "spark", "iceberg": "spark"}


def live(ddl: str, **properties: str) -> LakeTable:
    mapped = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
    ntz = {"delta.feature.timestampNtz": "supported"}
    return LakeTable("ice.db.t", parse_columns(ddl), "id", "1", mapped | ntz | properties)


def hold(target, type: Type) -> Type:
    held = target.hold_type(type)
    assert isinstance(held, LakeType)
    return held.type


@pytest.mark.parametrize("old", MATRIX["types"])
def test_delta_changes_types_in_place_as_measured(old: str) -> None:
    a = parse_type(old)
    for new in (t for t in MATRIX["types"] if t != old):
        cell, b = CELLS.get((old, new), REFUSED), parse_type(new)
        assert delta.widens_in_place(a, b) == (cell["delta"] == "ok"), new
        if cell["delta"] == "ok":
            plain = LakeTable("/t", TableSchema((Column("c", a),)), "id", "1")
            needed = delta.TARGET.find_missing_properties(plain, ChangeType(("c",), a, b))
            assert (not needed) == (cell["delta_plain"] == "ok"), new


@pytest.mark.parametrize("old", MATRIX["types"])
def test_iceberg_changes_types_in_place_as_measured(old: str) -> None:
    a = hold(iceberg.TARGET, parse_type(old))
    for new in (t for t in MATRIX["types"] if t != old):
        cell, b = CELLS.get((old, new), REFUSED), hold(iceberg.TARGET, parse_type(new))
        if a == b:
            assert cell["iceberg"] in ("same", "spark"), new
        else:
            assert iceberg.widens_in_place(a, b) == (cell["iceberg"] == "ok"), new


# Constraints, generated columns and features are no matter of types; a varchar inside a struct reads as text.
_OTHERS = ("source of", "table with", "column in", "varchar")
NESTED = [
    (target, cell)
    for target in TARGETS
    for cell in MATRIX["nested"]
    if cell[target.name] is not None and not cell["place"].startswith(_OTHERS)
]


@pytest.mark.parametrize(("target", "cell"), NESTED, ids=lambda p: getattr(p, "name", None) or p["path"])
def test_parts_of_columns_change_as_measured(target, cell) -> None:
    path = tuple(cell["path"].split("."))
    old = parse_type(cell["from"]) if cell["from"] != "void" else Unknown("void")
    column = Column(path[0], _around(path[1:], old))
    table = LakeTable("ice.db.t", TableSchema((column,)), "id", "1", live("a INT").properties)
    answer = target.draft_change(table, ChangeType(path, old, parse_type(cell["to"])))
    assert isinstance(answer, Draft) == (cell[target.name] == "ok")


def _around(path: tuple[str, ...], type: Type) -> Type:
    """A type that has `type` at the place that `path` names."""
    if not path:
        return type
    inner = _around(path[1:], type)
    match path[0]:
        case "element":
            return Array(inner)
        case "key":
            return Map(inner, String())
        case "value":
            return Map(String(), inner)
        case name:
            return Struct((Field(name, inner),))


@pytest.mark.parametrize(
    ("source", "delta_type", "iceberg_type"),
    [
        ("TINYINT", "TINYINT", "INT"),
        ("TINYINT UNSIGNED", "SMALLINT", "INT"),
        ("SMALLINT UNSIGNED", "INT", "INT"),
        ("INT UNSIGNED", "BIGINT", "BIGINT"),
        ("BIGINT UNSIGNED", "DECIMAL(20,0)", "DECIMAL(20,0)"),
        ("DECIMAL(38,10)", "DECIMAL(38,10)", "DECIMAL(38,10)"),
        ("DECIMAL(39,10)", "STRING", "STRING"),
        ("NUMERIC", "STRING", "STRING"),
        ("VARCHAR(20)", "STRING", "STRING"),
        ("TIME(6)", "STRING", "STRING"),
        ("TIMETZ(6)", "STRING", "STRING"),
        ("TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(6)"),
        ("TIMESTAMP_NTZ(9)", "TIMESTAMP_NTZ(6)", "TIMESTAMP_NTZ(6)"),
        ("INTERVAL", "STRING", "STRING"),
        ("INTERVAL DAY TO SECOND", "STRING", "STRING"),
        ("UUID", "STRING", "STRING"),
        ("ENUM('a','b')", "STRING", "STRING"),
        ("BITS(8)", "BINARY", "BINARY"),
        ("ARRAY<TINYINT NOT NULL>", "ARRAY<TINYINT>", "ARRAY<INT>"),
        ("STRUCT<a: UUID NOT NULL>", "STRUCT<a: STRING>", "STRUCT<a: STRING>"),
        ("MAP<STRING, BIGINT UNSIGNED>", "MAP<STRING, DECIMAL(20,0)>", "MAP<STRING, DECIMAL(20,0)>"),
    ],
)
def test_types_are_held_without_loss(source: str, delta_type: str, iceberg_type: str) -> None:
    assert format_type(hold(delta.TARGET, parse_type(source))) == delta_type
    assert format_type(hold(iceberg.TARGET, parse_type(source))) == iceberg_type


@pytest.mark.parametrize(("precision", "scale", "held"), [(3, -2, Decimal(5, 0)), (2, 5, Decimal(5, 5))])
def test_a_scale_outside_the_precision_keeps_every_value(precision: int, scale: int, held: Type) -> None:
    assert hold(delta.TARGET, Decimal(precision, scale)) == held


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_lost_nanoseconds_are_said(target) -> None:
    held = target.hold_type(Timestamp(9))
    assert isinstance(held, LakeType)
    assert "nanoseconds" in (held.note or "")


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize(
    "type", ["UNKNOWN('geometry')", "ARRAY<UNKNOWN('geometry')>", "STRUCT<>", "STRUCT<a: INT, A: INT>"]
)
def test_what_nobody_knows_is_refused(target, type: str) -> None:
    answer = target.hold_type(parse_type(type))
    assert isinstance(answer, Refusal)
    assert any(word in answer.reason for word in ("geometry", "struct", "by case"))


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize("type", ["MAP<MAP<STRING, INT>, INT>", "ARRAY<MAP<STRUCT<a: MAP<INT, INT>>, INT>>"])
def test_a_map_that_no_value_can_be_written_into_is_refused(target, type: str) -> None:
    answer = target.hold_type(parse_type(type))
    assert isinstance(answer, Refusal)
    assert "the key of a map" in answer.reason


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@given(type=TYPES)
def test_holding_twice_is_holding_once_and_loses_nothing(target, type: Type) -> None:
    held = target.hold_type(type)
    if isinstance(held, Refusal):
        return
    again = target.hold_type(held.type)
    assert isinstance(again, LakeType)
    assert again.type == held.type
    assert sql.type_name(held.type)
    if isinstance(type, Integer):
        assert widens(type, held.type)


@given(text=TEXTS)
def test_a_literal_ends_where_it_should_and_hides_variables(text: str) -> None:
    literal = sql.literal(text)
    assert literal[0] == literal[-1] == "'"
    inside = literal[1:-1]
    assert "'" not in inside.replace("\\\\", "").replace("\\'", "")
    assert "${" not in inside
    assert "\n" not in inside


@given(parts=st.lists(NAMES.filter(lambda n: "." not in n and n), min_size=1, max_size=3))
def test_a_dotted_name_is_read_back_part_by_part(parts: list[str]) -> None:
    assert sql.split_table_name(sql.quote_table_name(parts)) == tuple(parts)


@pytest.mark.parametrize("name", ["", "a..b", ".a", "a.", "`a", "a`b`"])
def test_a_table_name_that_cannot_be_read_is_an_error(name: str) -> None:
    with pytest.raises(BadReference):
        sql.split_table_name(name)


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("/lake/orders", "`delta`.`/lake/orders`"),
        ("/lake/or`ders/", "`delta`.`/lake/or``ders`"),
        ("s3://bucket/orders", "`delta`.`s3://bucket/orders`"),
        ("delta.`/lake/orders`", "`delta`.`/lake/orders`"),
        ("raw.orders", "`raw`.`orders`"),
        ("unity.raw.`odd name`", "`unity`.`raw`.`odd name`"),
    ],
)
def test_delta_tables_are_named_by_path_or_name(table: str, name: str) -> None:
    assert delta.TARGET.table_name(table) == name


@pytest.mark.parametrize("table", ["raw.`odd name`", "raw.größe", "or-ders"])
def test_names_that_the_session_catalogue_refuses_are_refused_before(table: str) -> None:
    with pytest.raises(BadReference, match="letters, digits"):
        delta.TARGET.table_name(table)


def test_iceberg_tables_need_a_catalogue() -> None:
    assert iceberg.TARGET.table_name("ice.raw.`odd name`") == "`ice`.`raw`.`odd name`"
    with pytest.raises(BadReference):
        iceberg.TARGET.table_name("raw.orders")


def test_iceberg_refuses_names_that_ruin_a_table() -> None:
    schema = parse_columns("_file STRING, `_POS` INT, `a.b` INT, a STRUCT<b: INT>, `c.d` INT")
    assert set(iceberg.TARGET.refuse_names(schema)) == {"_file", "_POS", "a.b"}
    assert delta.TARGET.refuse_names(schema) == {}


REQUIRED = ChangeNullable(("a",), True, False)
ELEMENT = ChangeNullable(("l", "element"), False, True)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize(
    "change",
    [
        REQUIRED,
        ELEMENT,
        ChangeKey(("a",), ("b",)),
        MoveColumn(("a",), None),
        DropColumn(("s", "x"), Column("x", Integer(32))),
        DropColumn(("k",), Column("k", Integer(32))),
        DropColumn(("p",), Column("p", Integer(32))),
        ChangeType(("a",), Integer(64), Integer(32)),
        ChangeType(("a",), String(), Integer(32)),
    ],
    ids=lambda c: f"{type(c).__name__}-{'-'.join(getattr(c, 'path', ()))}",
)
def test_changes_that_no_format_takes_are_refused_with_a_way_out(target, change) -> None:
    schema = parse_columns(
        "a INT, s STRUCT<x: INT>, l ARRAY<INT NOT NULL>, k INT NOT NULL, p INT, PRIMARY KEY (k)"
    )
    table = LakeTable("ice.db.t", schema, "id", "1", live("a INT").properties, layout=("p",))
    answer = target.draft_change(table, change)
    assert isinstance(answer, Refusal)
    assert answer.reason
    assert answer.instead


def test_the_last_column_cannot_be_dropped() -> None:
    answer = iceberg.TARGET.draft_change(live("a INT"), DropColumn(("a",), Column("a", Integer(32))))
    assert isinstance(answer, Refusal)


def test_a_change_of_type_that_is_refused_names_the_recipe() -> None:
    answer = iceberg.TARGET.draft_change(live("a INT"), ChangeType(("a",), Integer(32), String()))
    assert isinstance(answer, Refusal)
    assert "`a__new`" in answer.instead
    assert "backfill" in answer.instead


@pytest.mark.parametrize(
    "change",
    [
        RenameColumn(("price",), "cost"),
        DropColumn(("price",), Column("price", Integer(32))),
        ChangeType(("price",), Integer(32), Integer(64)),
    ],
    ids=lambda c: type(c).__name__,
)
def test_delta_refuses_to_touch_what_a_constraint_uses(change) -> None:
    table = live("price INT, list_price INT", **{"delta.constraints.positive": "PRICE > 0"})
    answer = delta.TARGET.draft_change(table, change)
    assert isinstance(answer, Refusal)
    assert "positive" in answer.reason
    spared = ChangeType(("list_price",), Integer(32), Integer(64))
    assert isinstance(delta.TARGET.draft_change(table, spared), Draft)


@pytest.mark.parametrize(
    ("change", "needed"),
    [
        (RenameColumn(("a",), "b"), {"delta.columnMapping.mode": "name"}),
        (DropColumn(("a",), Column("a", Integer(32))), {"delta.columnMapping.mode": "name"}),
        (ChangeType(("a",), Integer(32), Integer(64)), {"delta.enableTypeWidening": "true"}),
        (AddColumn(("b",), Column("b", Integer(32)), "a"), {}),
        (AddColumn(("b c",), Column("b c", Integer(32)), "a"), {"delta.columnMapping.mode": "name"}),
        (
            AddColumn(("b",), Column("b", parse_type("ARRAY<TIMESTAMP_NTZ>")), "a"),
            {"delta.feature.timestampNtz": "supported"},
        ),
        (ChangeType(("a",), String(10), String(20)), {}),
    ],
)
def test_delta_says_which_features_a_plain_table_lacks(change, needed) -> None:
    plain = LakeTable("/t", parse_columns("a INT"), "id", "1")
    assert dict(delta.TARGET.find_missing_properties(plain, change)) == needed
    assert dict(delta.TARGET.find_missing_properties(live("a INT"), change)) == {}


def test_the_schema_that_spark_prints_is_read_back() -> None:
    text = json.dumps({
        "type": "struct",
        "fields": [
            {"name": "id", "type": "long", "nullable": False, "metadata": {"comment": "it's"}},
            {"name": "v", "type": "string", "nullable": True,
             "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(10)"}},
            {"name": "d", "type": "decimal(10,2)", "nullable": True, "metadata": {}},
            {"name": "n", "type": "timestamp_ntz", "nullable": True, "metadata": {}},
            {"name": "a", "nullable": True, "metadata": {},
             "type": {"type": "array", "elementType": "byte", "containsNull": False}},
            {"name": "m", "nullable": True, "metadata": {},
             "type": {"type": "map", "keyType": "string", "valueType": "date", "valueContainsNull": True}},
            {"name": "s", "nullable": True, "metadata": {}, "type": {"type": "struct", "fields": [
                {"name": "x", "type": "binary", "nullable": False, "metadata": {"comment": "inner"}}]}},
            {"name": "q", "type": "variant", "nullable": True, "metadata": {}},
        ],
    })  # fmt: skip
    assert (
        sql.read_columns(text)
        == parse_columns(
            "id BIGINT NOT NULL COMMENT 'it\\'s', v VARCHAR(10), d DECIMAL(10,2), n TIMESTAMP_NTZ, "
            "a ARRAY<TINYINT NOT NULL>, m MAP<STRING, DATE>, "
            "s STRUCT<x: BINARY NOT NULL COMMENT 'inner'>, q UNKNOWN('variant')"
        ).columns
    )


SPECS = {
    "table-uuid": "u",
    "properties": {},
    "format-version": 2,
    "current-schema-id": 0,
    "schemas": [
        {
            "schema-id": 0,
            "fields": [
                {"id": 1, "name": "id", "type": "int"},
                {"id": 2, "name": "area", "type": "string"},
                {"id": 3, "name": "ts", "type": "timestamptz"},
                {"id": 4, "name": "s", "type": {"fields": [{"id": 5, "name": "y", "type": "int"}]}},
            ],
        }
    ],
    "default-spec-id": 1,
    "partition-specs": [
        {
            "spec-id": 0,
            "fields": [
                {"source-id": 2, "transform": "identity", "name": "region"},
                {"source-id": 3, "transform": "day", "name": "ts_day"},
                {"source-id": 5, "transform": "identity", "name": "s.x"},
                {"source-id": 9, "transform": "identity", "name": "gone"},
            ],
        },
        {"spec-id": 1, "fields": []},
    ],
}


def parted() -> LakeTable:
    columns = parse_columns("id INT, area STRING, ts TIMESTAMP, s STRUCT<y: INT>").columns
    return read_metadata("ice.raw.t", columns, "1.metadata.json", SPECS)


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (AddColumn(("ts_day",), Column("ts_day", Integer(32)), None), True),
        (AddColumn(("region",), Column("region", Integer(32)), None), True),
        (AddColumn(("gone",), Column("gone", Integer(32)), None), True),
        (AddColumn(("s", "x"), Column("x", Integer(32)), None), True),
        (AddColumn(("s.x",), Column("s.x", Integer(32)), None), True),
        (AddColumn(("TS_DAY",), Column("TS_DAY", Integer(32)), None), False),
        (AddColumn(("s", "ts_day"), Column("ts_day", Integer(32)), None), False),
        (RenameColumn(("id",), "region"), True),
        (RenameColumn(("area",), "region"), False),
        (RenameColumn(("area",), "ts_day"), True),
        (RenameColumn(("ts",), "ts_day"), False),
        (RenameColumn(("s", "y"), "x"), False),
        (RenameColumn(("s",), "r"), False),
    ],
)
def test_names_of_partition_fields_are_for_no_other_column(change, refused: bool) -> None:
    """As measured: also where the field was dropped or replaced since."""
    answer = iceberg.TARGET.draft_change(parted(), change)
    assert isinstance(answer, Refusal) is refused
    if isinstance(answer, Refusal):
        assert "partition field" in answer.reason
        assert "--into" in answer.instead


def test_names_of_partition_fields_are_known_where_nobody_can_read_the_metadata() -> None:
    columns = parse_columns("id INT, area STRING").columns
    described = [
        ("id", "int"),
        ("_partition", "struct<region:string,ts_day:date,s.x:decimal(10,2),id_bucket:int>"),
        ("# Detailed Table Information", ""),
        ("Location", "/w"),
    ]
    found = read_description("ice.raw.t", columns, "1.metadata.json", {"format-version": "2"}, described)
    assert set(found.partition_names) == {"region", "ts_day", "s.x", "id_bucket"}
    assert isinstance(iceberg.TARGET.draft_change(found, RenameColumn(("area",), "ts_day")), Refusal)
