"""Types that change, or only seem to: what arrives, and what the history makes of it.

Events and schema-change records are made up, the fields in them are those that Debezium itself made (the
sheets in `fixtures/dialects`). They take the whole way, through reading and a store, into a history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from schemaman.compat.judge import Transition
from schemaman.debezium.records import Record
from schemaman.history.versions import TableHistory
from schemaman.ingest.ingest import ingest
from schemaman.model.ddl import format_type
from schemaman.model.diff import AddColumn, Change, ChangeType, diff
from schemaman.model.types import Array, Binary, Enum, Integer, String, widens
from schemaman.registry import Registry
from schemaman.store.memory import MemoryStore
from tests.support import type_sheets as sheets
from tests.support.chain import judged
from tests.support.records import change, column, event, image, node, record, struct

Node = Mapping[str, Any]
DECIMAL = "org.apache.kafka.connect.data.Decimal"
TIME = "io.debezium.time."
DATA = "io.debezium.data."
SHAPES = DATA + "geometry."
COLUMN = "__debezium.source.column."


def told(*values: object, topic: str = "srv.public.t") -> list[Record]:
    """Records of these values in one partition."""
    return [replace(record(value, topic=topic), offset=offset) for offset, value in enumerate(values)]


def history(records: Iterable[Record]) -> TableHistory:
    """What the records teach of the one table that they speak of."""
    registry = Registry(MemoryStore(), lambda: 0)
    summary = ingest(records, registry, "main", lambda id: None)
    assert summary.rejects == 0
    (found,) = registry.tables()
    return found


def streamed(*fields: Node | None, releases: Sequence[str] = ()) -> TableHistory:
    """A PostgreSQL table whose column `v` is first one field, then the next; None where it is not there."""
    records: list[object] = []
    for place, field in enumerate(fields):
        row = {"id": node("int32")} | ({} if field is None else {"v": {**field, "optional": True}})
        source: dict[str, Any] = {"lsn": 100 + place, "sequence": f'[null,"{100 + place}"]', "ts_ms": place}
        release = releases[place] if releases else "3.4.1.Final"
        records.append(event(struct("srv.public.t.Value", **row), **source, version=release))
    return history(told(*records))


def types(found: TableHistory, name: str = "v") -> list[str]:
    """The type of a column in each version."""
    columns = [version.schema.column(name) for version in found.versions]
    return ["" if c is None else format_type(c.type) for c in columns]


def steps(found: TableHistory) -> list[tuple[Change, ...]]:
    """The changes from each version to the next."""
    return [diff(a.schema, b.schema) for a, b in zip(found.versions, found.versions[1:], strict=False)]


def rules(found: TableHistory) -> set[str]:
    """The rules that say something about the step from the first version to the second."""
    old, new = found.versions[:2]
    step = Transition(found.table, old.schema, new.schema, diff(old.schema, new.schema))
    return {judgement.finding.rule for judgement in judged(step)}


def widened(found: TableHistory) -> bool:
    """Whether every old value of the column is one of its new type."""
    ((only,),) = steps(found)
    assert isinstance(only, ChangeType)
    return widens(only.old, only.new)


def decimal(precision: int, scale: int) -> Node:
    """A field of a decimal number in the mode `precise`."""
    return node(
        "bytes", DECIMAL, parameters={"scale": str(scale), "connect.decimal.precision": str(precision)}
    )


def propagated(type: str, length: int, **more: str) -> dict[str, str]:
    """The parameters of `column.propagate.source.type`."""
    return {COLUMN + "type": type, COLUMN + "length": str(length), **more}


@pytest.mark.case(7)
def test_a_longer_varchar_is_no_version():
    assert types(streamed(node("string"), node("string"))) == ["STRING"]
    found = streamed(
        node("string", parameters=propagated("VARCHAR", 50)),
        node("string", parameters=propagated("VARCHAR", 100)),
    )
    assert types(found) == ["STRING"]
    told = [r.schema.column("v") for r in found.versions[0].revisions]
    assert [c.source_type for c in told if c is not None] == ["VARCHAR(50)", "VARCHAR(100)"]


@pytest.mark.case(8)
def test_int_to_bigint_widens():
    found = streamed(node("int32"), node("int64"))
    assert types(found) == ["INT", "BIGINT"]
    assert widened(found)


@pytest.mark.case(9)
def test_bigint_to_int_narrows():
    found = streamed(node("int64"), node("int32"))
    assert types(found) == ["BIGINT", "INT"]
    assert not widened(found)
    assert "integer-narrowed" in rules(found)


@pytest.mark.case(10)
def test_another_scale_is_a_version():
    found = streamed(decimal(10, 2), decimal(14, 4))
    assert types(found) == ["DECIMAL(10,2)", "DECIMAL(14,4)"]
    assert "decimal-scale-changed" in rules(found)


@pytest.mark.case(11)
def test_a_decimal_that_loses_its_precision_is_another_type():
    scaled = struct(DATA + "VariableScaleDecimal", scale=node("int32"), value=node("bytes"))
    assert types(streamed(decimal(10, 2), scaled)) == ["DECIMAL(10,2)", "NUMERIC"]
    assert not widened(streamed(scaled, decimal(10, 2)))


@pytest.mark.case(12)
def test_milliseconds_to_microseconds_in_one_integer_type():
    found = streamed(node("int64", TIME + "Timestamp"), node("int64", TIME + "MicroTimestamp"))
    assert types(found) == ["TIMESTAMP_NTZ(3)", "TIMESTAMP_NTZ(6)"]
    assert "temporal-unit-changed" in rules(found)


@pytest.mark.case(13)
def test_a_zone_that_appears_breaks():
    found = streamed(node("int64", TIME + "MicroTimestamp"), node("string", TIME + "ZonedTimestamp"))
    assert types(found) == ["TIMESTAMP_NTZ(6)", "TIMESTAMP(6)"]
    assert not widened(found)


GEOMETRY = struct(SHAPES + "Geometry", wkb=node("bytes"), srid=node("int32", optional=True))
EXTENDED = struct(
    SHAPES + "Geometry",
    wkb=node("bytes"),
    srid=node("int32", optional=True),
    extensions=node("map", optional=True, keys=node("string"), values=node("string")),
)


@pytest.mark.case(19)
def test_a_geometry_gains_extensions():
    """Since an upgrade it does; without one, somebody gave the column another type."""
    old, new = {**GEOMETRY, "version": 1}, {**EXTENDED, "version": 2}
    upgraded = streamed(old, new, releases=("3.6.1.Final", "3.7.0.Final"))
    assert len(upgraded.versions) == 1
    assert [d.kind for d in upgraded.disagreements] == ["encoding-changed"]
    assert len(streamed(old, new).versions) == 2
    declared = declaring({"v": column("v", "GEOMETRY", 2)}, {"v": GEOMETRY}, {"v": EXTENDED})
    assert len(declared.versions) == 1
    assert not declared.disagreements


@pytest.mark.case(20)
def test_a_column_that_only_a_newer_connector_reads_appears():
    box = {**EXTENDED, "version": 2}
    ((only,),) = steps(streamed(None, box))
    assert isinstance(only, AddColumn)


@pytest.mark.case(21)
def test_a_tinyint_in_eight_bits_is_no_version():
    found = declaring({"v": column("v", "TINYINT", 2)}, {"v": node("int16")}, {"v": node("int8")})
    assert types(found) == ["TINYINT"]
    assert not found.disagreements


@pytest.mark.case(44)
def test_labels_grow_where_nothing_is_declared():
    """First a value arrives that the schema does not know yet: nothing to see. Then the schema knows it."""
    stale = node("string", DATA + "Enum", parameters={"allowed": "new,paid"})
    fresh = node("string", DATA + "Enum", parameters={"allowed": "new,paid,lost"})
    found = streamed(stale, stale, fresh)
    assert len(found.versions) == 1
    columns = [r.schema.column("v") for r in found.versions[0].revisions]
    assert [c.type for c in columns if c is not None] == [
        Enum(("new", "paid")),
        Enum(("new", "paid", "lost")),
    ]


@pytest.mark.case(45)
def test_labels_grow_where_they_are_declared():
    before, after = ("'a'", "'b'"), ("'a'", "'b'", "'c,d'")
    found = declaring(
        {"v": column("v", "ENUM", 2, enumValues=list(before))},
        {"v": node("string", DATA + "Enum", parameters={"allowed": "a,b"})},
        {"v": column("v", "ENUM", 2, enumValues=list(after))},
        {"v": node("string", DATA + "Enum", parameters={"allowed": r"a,b,c\,d"})},
    )
    assert len(found.versions) == 1
    assert not found.disagreements
    last = found.versions[0].schema.column("v")
    assert last is not None
    assert last.type == Enum(("a", "b", "c,d"))
    assert widens(last.type, String())


@pytest.mark.case(68)
def test_an_unknown_type_appears_as_bytes():
    found = streamed(None, node("bytes"))
    ((only,),) = steps(found)
    assert isinstance(only, AddColumn)
    assert only.column.type == Binary()


def declaring(*parts: Mapping[str, Node], connector: str = "mysql") -> TableHistory:
    """A table of a connector that declares: columns as declared, or the fields of an event, in turn."""
    records: list[Record] = []
    schema = None if connector in ("mysql", "mariadb") else "s"
    source: dict[str, Any] = {
        "connector": connector,
        "db": "shop",
        "schema": schema,
        "table": "t",
        "file": "f.1",
    }
    for place, part in enumerate(parts):
        at = {**source, "pos": 4 * place + 4, "ts_ms": place}
        at |= dict.fromkeys(("commit_lsn", "change_lsn", "scn", "commit_scn"), f"{place:08}")
        offset = len(records)
        if "typeName" in next(iter(part.values())):
            columns = [column("id", "INT", 1, **_ID[connector]), *part.values()]
            name = '"shop"."s"."t"' if schema else '"shop"."t"'
            entry = {
                "type": "ALTER" if offset else "CREATE",
                "id": name,
                "table": image(*columns, key=("id",)),
            }
            records.append(replace(record(change(entry, **at), topic="srv"), offset=offset))
        else:
            row = {"id": node("int32")} | {n: {**f, "optional": True} for n, f in part.items()}
            value = event(struct("srv.shop.t.Value", **row), **at)
            key = {"schema": struct("srv.shop.t.Key", id=node("int32")), "payload": {"id": 1}}
            records.append(replace(record(value, key, topic="srv.shop.t"), offset=offset))
    return history(records)


_ID: Mapping[str, Node] = {
    "db2": {"typeName": "INTEGER", "optional": False},
    "informix": {"typeName": "int", "optional": False},
    "mysql": {"optional": False},
    "mariadb": {"optional": False},
    "oracle": {"typeName": "NUMBER", "length": 9, "scale": 0, "optional": False},
    "sqlserver": {"typeName": "int", "optional": False},
}


def pairs(connector: str) -> Sequence[tuple[str, Node, Mapping[str, Node]]]:
    """Of each declared row: a column's name, the column, and the field that it becomes in each setting."""
    rows = sheets.rows(connector)
    found: list[tuple[str, Node, Mapping[str, Node]]] = []
    for row in rows:
        below = [r for r in rows if r.witness == "emitted" and r.declared == row.number and r.attributes]
        if row.witness == "declared" and below:
            name, parts = f"c{row.number}", row.attributes
            labels = parts.get("enum_values")
            more = {
                "jdbcType": parts.get("jdbc_type"),
                "length": parts.get("length"),
                "scale": parts.get("scale"),
                "enumValues": labels,
            }
            declared = column(name, parts["type_name"], len(found) + 2, **more)
            fields = {setting: r.attributes for r in below for setting in r.told.split() or [""]}
            found.append((name, declared, fields))
    return found


@pytest.mark.case(14, 15)
@pytest.mark.parametrize("connector", sorted(_ID))
def test_a_mode_is_no_version_where_structures_are_declared(connector: str):
    """Every type of a connector in one table, declared once, then sent in one mode after the other."""
    columns = pairs(connector)
    settings = sorted({setting for _, _, fields in columns for setting in fields})
    assert len(settings) > 6
    assert settings[0] == ""
    rows = [
        {name: fields.get(s, fields.get("", node("string"))) for name, _, fields in columns} for s in settings
    ]
    found = declaring({name: declared for name, declared, _ in columns}, *rows, connector=connector)
    assert len(found.versions) == 1
    assert found.versions[0].records == len(settings) + 1
    assert [d for d in found.disagreements if not d.is_remark] == []


@pytest.mark.parametrize(("type_name", "field", "remarks"), [
    ("BIGINT UNSIGNED", node("int64"), ["numbers from 2^63 on"]),
    ("BIGINT UNSIGNED", decimal(20, 0), []),
    ("INTEGER UNSIGNED", node("int32"), ["numbers from 2^31 on"]),
    ("MEDIUMINT UNSIGNED", node("int32"), []),
    ("DECIMAL", node("double"), ["digits after the fifteenth"]),
    ("DECIMAL", node("string"), []),
    ("DATETIME", node("int64", "org.apache.kafka.connect.data.Timestamp"), ["after digit 3"]),
    ("DATETIME", node("int64", TIME + "MicroTimestamp"), []),
])  # fmt: skip
def test_what_the_wire_does_not_carry_is_remarked(type_name: str, field: Node, remarks: list[str]):
    """A remark, as the table has not changed and nobody contradicts."""
    length = {"DECIMAL": 20, "DATETIME": 6}.get(type_name)
    scale = 2 if type_name == "DECIMAL" else None
    found = declaring(
        {"v": column("v", type_name, 2, length=length, scale=scale)}, {"v": field}, {"v": field}
    )
    assert len(found.versions) == 1
    assert [d.kind for d in found.disagreements] == ["values-not-carried"] * len(remarks)
    assert all(told in d.message for told, d in zip(remarks, found.disagreements, strict=True))
    assert all(d.is_remark for d in found.disagreements)


def test_a_shape_that_may_not_be_null_is_optional_on_the_wire_all_the_same():
    shape, number = column("v", "GEOMETRY", 2, optional=False), column("v", "INT", 2, optional=False)
    assert not declaring({"v": shape}, {"v": GEOMETRY}).disagreements
    (contradiction,) = declaring({"v": number}, {"v": node("int32")}).disagreements
    assert contradiction.kind == "nullability-differs"


def test_arrays_are_compared_by_their_elements():
    found = streamed(*(node("array", items=node(item, optional=True)) for item in ("int32", "int64")))
    assert types(found) == ["ARRAY<INT>", "ARRAY<BIGINT>"]
    first = found.versions[0].schema.column("v")
    assert first is not None
    assert first.type == Array(Integer(32))
