"""JSON without schemas: each value as a text of the lake, where the policy lets it."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.migration.policy import Policy, PolicyRule
from schemaman.migration.properties.table_record import read_record
from schemaman.sink.values.json_text import format_json
from schemaman.sink.values.values import UnfitValue
from schemaman.store.sql.store import SqlStore
from tests.support.memory_sink import MemorySink
from tests.support.records import node, row_event, without_schemas

PLACEHOLDER = "__debezium_unavailable_value"


def sent(offset: int, op: str, **row: Any) -> Record:
    """An event without schemas, whose numbers are spelled as `row` spells them."""
    made = row_event({name: node("string") for name in row}, op, dict.fromkeys(row, ""), offset=offset)
    found = without_schemas(made)
    payload = json.loads(found.value or b"")
    image = "before" if op == "d" else "after"
    texts = ", ".join(f'"{name}": {text}' for name, text in row.items())
    value = json.dumps({**payload, image: "ROW"}).replace('"ROW"', f"{{{texts}}}")
    return replace(found, key=f'{{"id": {row["id"]}}}'.encode(), value=value.encode())


def rows(sink: MemorySink) -> list[dict[str, Any]]:
    (table,) = sink.lake()
    own = [{n: v for n, v in row.items() if not n.startswith("_row_")} for row in table.rows]
    return [row for row, whole in zip(own, table.rows, strict=True) if not whole["_row_deleted"]]


def autopilot(store: SqlStore, *rules: PolicyRule) -> MemorySink:
    return MemorySink(
        store, lambda _: None, "delta", Policy(profile="autopilot", rules=rules), lambda _: False
    )


@pytest.mark.parametrize("size", [1, 9])
def test_each_value_is_the_text_of_its_json_and_a_row_is_found_by_its_key(store: SqlStore, size: int) -> None:
    sink = autopilot(store)
    records = [
        sent(0, "c", id="7", price="12.50", ok="true", doc='{"b": [1, null, "é"]}', name='"Ada"'),
        sent(1, "c", id="8", price="1e400", ok="null", doc="[]", name='"00123"'),
        sent(2, "c", id="9", price="0", ok="false", doc="null", name='""'),
        sent(3, "u", id="7", price="9007199254740993", ok="true", doc="null", name=f'"{PLACEHOLDER}"'),
        sent(4, "d", id="8", price="0", ok="null", doc="null", name="null"),
    ]
    for start in range(0, len(records), size):
        sink.take(records[start : start + size])
    assert sink.withheld() == {}
    assert rows(sink) == [
        {"id": "7", "price": "9007199254740993", "ok": "true", "doc": None, "name": "Ada"},
        {"id": "9", "price": "0", "ok": "false", "doc": None, "name": ""},
    ]
    (table,) = sink.lake()
    assert table.live.schema.key == ("id",)
    assert any("no record contains the types" in note for note in sink.notes)


def test_a_field_that_comes_or_goes_is_a_column_as_it_is_with_types(store: SqlStore) -> None:
    sink = autopilot(store)
    sink.take([sent(0, "c", id="1", a='"x"', b="5")])
    sink.take([sent(1, "c", id="2", a='"y"', c="1.0")])
    assert sink.withheld() == {}
    assert rows(sink) == [
        {"id": "1", "a": "x", "b": "5", "c": None},
        {"id": "2", "a": "y", "b": None, "c": "1.0"},
    ]


def test_rows_wait_until_the_policy_lets_them_be_texts(store: SqlStore) -> None:
    sink = autopilot(store, PolicyRule("block", ("untyped-json",)))
    sink.take([sent(0, "c", id="1", a="1")])
    assert ["untyped-json" in reason for reason in sink.withheld().values()] == [True]
    sink.policy = Policy(profile="autopilot")
    sink.take([sent(1, "c", id="2", a="2")])
    assert (sink.withheld(), rows(sink)) == ({}, [{"id": "1", "a": "1"}, {"id": "2", "a": "2"}])


def test_rows_whose_types_are_known_later_go_into_a_successor(store: SqlStore) -> None:
    sink = autopilot(store)
    sink.take([sent(0, "c", id="1", a="5"), sent(1, "c", id="2", a="6")])
    typed = {"id": node("int32"), "a": node("int32")}
    for offset in (2, 3):
        sink.take([row_event(typed, "c", {"id": offset, "a": 7}, offset=offset)])
    sink.take([sent(4, "u", id="3", a="8")])
    assert sink.withheld() == {}
    first, second = sink.lake()
    assert [(row["id"], row["a"]) for row in first.rows] == [("1", "5"), ("2", "6")]
    assert [(row["id"], row["a"]) for row in second.rows] == [(2, 7), (3, 8)]
    assert second.live.name == read_record(first.live.properties).successor


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("1.10"), "1.10"), (True, "true"), (-3, "-3"), ("a\"b", 'a"b'),
        ({"k": ["a\"b", Decimal("0.5"), {}]}, '{"k":["a\\"b",0.5,{}]}'),
    ],
)  # fmt: skip
def test_a_value_of_json_is_spelled_without_loss(value: object, text: str) -> None:
    assert format_json(value) == text


def test_a_number_that_json_does_not_have_is_refused() -> None:
    with pytest.raises(UnfitValue):
        format_json(float("inf"))
