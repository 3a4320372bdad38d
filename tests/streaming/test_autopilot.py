"""The profile `autopilot`: what stops a careful sink goes on, and each value stays readable."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from bench.autopilot import FORMATS, Figures, is_reviewed, list_recordings, list_tables, measure
from schemaman.debezium.records import Record
from schemaman.migration.apply.apply import StoreJournal, target_id
from schemaman.migration.plan_file import from_text
from schemaman.migration.policy import Policy, PolicyRule
from schemaman.migration.properties.column_swaps import format_swaps
from schemaman.migration.properties.names import RECIPE_PROPERTY, SPLIT_PROPERTY
from schemaman.migration.properties.table_record import ColumnSwap, read_record
from schemaman.migration.rollback import plan_rollback
from schemaman.migration.row_columns import DELETED
from schemaman.migration.spark_sql import set_properties, type_name
from schemaman.migration.target import TARGETS
from schemaman.model.types import Integer, String
from schemaman.sink.row_mapping import OTHER_TABLE, goes_elsewhere
from schemaman.store.sql.store import SqlStore
from tests.lake_state.compare import Held
from tests.lake_state.lake_comparison import ComparedTable
from tests.support.checkout import PROOF
from tests.support.memory_sink import MemorySink
from tests.support.records import node, row_event, struct

INT, TEXT, DOUBLE = node("int32"), node("string"), node("double")


class Moment(int):
    """Milliseconds since 1970."""


_NODES = {
    int: INT,
    str: TEXT,
    float: DOUBLE,
    type(None): INT,
    Moment: node("int64", name="io.debezium.time.Timestamp"),
}


@pytest.fixture(params=["delta", "iceberg"])
def lake(store: SqlStore, request: pytest.FixtureRequest) -> MemorySink:
    """A sink of autopilot, and nobody who answers."""
    return MemorySink(store, lambda _: None, request.param, Policy(profile="autopilot"), lambda _: False)


def told(
    offset: int, row: dict[str, Any], op: str = "c", key: tuple[str, ...] = ("id",), read: int = 1
) -> Record:
    """A change that is committed every ten seconds, and read `read` milliseconds later."""
    fields = {name: _NODES[type(value)] for name, value in row.items()}
    schema = struct("srv.public.t.Key", **{name: fields[name] for name in key})
    payload = {"schema": schema, "payload": {name: row[name] for name in key}}
    # Each is read at once, so that the next one confirms its key.
    found = row_event(fields, op, row, offset=offset, keyed=False, ts_ms=10_000 * offset)
    value = json.loads(found.value or b"")
    value["payload"]["ts_ms"] = 10_000 * offset + read
    return replace(found, key=json.dumps(payload).encode(), value=json.dumps(value).encode())


def alive(lake: MemorySink) -> list[dict[str, Any]]:
    (table,) = lake.lake()
    return alive_in(table)


def alive_in(table: ComparedTable) -> list[dict[str, Any]]:
    rows = [row for row in table.rows if not row.get(DELETED)]
    return [{n: v for n, v in row.items() if not n.startswith("_row_") and v is not None} for row in rows]


@pytest.mark.parametrize("size", [1, 9])
def test_a_table_takes_its_keys_one_after_the_other_wherever_batches_end(lake: MemorySink, size: int) -> None:
    records = [
        told(0, {"id": 1, "n": 1}),
        told(1, {"id": 1, "n": 2}, "u"),
        told(2, {"id": 2, "n": 2}),
        told(3, {"id": 1, "n": 3}, key=("id", "n")),
        told(4, {"id": 2, "n": 9}, key=("id", "n")),
        told(5, {"id": 2, "n": 2}, "u", key=("id", "n")),
    ]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    lake.take([])
    assert lake.withheld() == {}
    assert sorted(alive(lake), key=repr) == [
        {"id": 1, "n": 2}, {"id": 1, "n": 3}, {"id": 2, "n": 2}, {"id": 2, "n": 9},
    ]  # fmt: skip
    (table,) = lake.lake()
    assert set(table.live.schema.key) == {"id", "n"}


@pytest.mark.parametrize(
    "rows", [({"id": 1, "n": 1}, {"id": 2, "n": 1}), ({"id": 1, "n": 1}, {"id": 2, "n": None})],
    ids=["two rows share it", "a row lacks it"],
)  # fmt: skip
def test_a_key_that_rows_do_not_prove_begins_a_successor(
    lake: MemorySink, rows: tuple[dict[str, Any], ...]
) -> None:
    lake.take([told(offset, row) for offset, row in enumerate(rows)])
    lake.take([told(2, {"id": 3, "n": 7}, key=("n",)), told(3, {"id": 4, "n": 8}, key=("n",))])
    lake.take([told(4, {"id": 5, "n": 7}, "u", key=("n",))])
    assert lake.withheld() == {}
    first, second = lake.lake()
    assert (first.live.schema.key, second.live.schema.key) == (("id",), ("n",))
    assert [row["id"] for row in alive_in(first)] == [1, 2]
    assert alive_in(second) == [{"id": 5, "n": 7}, {"id": 4, "n": 8}]
    assert second.live.name == read_record(first.live.properties).successor
    assert any("newer rows go into" in note for note in lake.notes)


@pytest.mark.parametrize("size", [1, 9])
def test_a_table_that_was_surely_another_one_gets_a_successor_wherever_batches_end(
    lake: MemorySink, size: int
) -> None:
    records = [
        told(0, {"id": 1, "code": "a", "w": 1}),
        told(1, {"id": 2, "code": "b", "w": 2}),
        told(2, {"code": "a", "id": 2, "m": 1.5}, key=("code",)),
        told(3, {"code": "c", "id": 2, "m": 2.5}, key=("code",)),
    ]
    records += [told(4, {"code": "d", "id": 4, "m": 1.0}, key=("code",))]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    lake.take([])
    values = [row for table in lake.lake() for row in alive_in(table)]
    assert lake.withheld() == {}
    assert len(values) == 5
    assert [row["w"] for row in values if "w" in row] == [1, 2]


THREE_TABLES: dict[str, list[tuple[dict[str, Any], tuple[str, ...]]]] = {
    "another key each time": [({"id": 0, "n": 0}, ("id",)), ({"a": 0, "b": 0}, ("a",)), ({"c": 0}, ("c",))],
    "a log at last": [({"id": 0, "n": 0}, ("id",)), ({"a": 0, "b": 0}, ("a",)), ({"id": 0, "d": 0}, ())],
    "a larger key amid": [({"id": 0}, ("id",)), ({"a": 0, "b": 0}, ("a", "b")), ({"a": 0, "c": 0}, ("a",))],
}


@pytest.mark.parametrize("size", [1, 3, 9])
@pytest.mark.parametrize("tables", THREE_TABLES.values(), ids=THREE_TABLES)
def test_each_of_three_tables_of_one_name_has_its_rows_wherever_batches_end(
    lake: MemorySink, tables: list[tuple[dict[str, Any], tuple[str, ...]]], size: int
) -> None:
    records = []
    for offset in range(9):
        row, key = tables[offset // 3]
        values = dict.fromkeys(row, offset)
        records.append(told(offset, values, key=key) if key else keyless(offset, values))
    for start in range(0, 9, size):
        lake.take(records[start : start + size])
    lake.take([])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    found = lake.lake()
    assert [set(table.live.schema.key) for table in found] == [set(key) for _, key in tables]
    columns = [table.live.schema.names for table in found]
    assert [set(row) <= set(names) for (row, _), names in zip(tables, columns, strict=True)] == [True] * 3
    rows = [
        sorted(row[next(iter(first))] for row in alive_in(t))
        for t, (first, _) in zip(found, tables, strict=True)
    ]
    assert rows == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def rename_field(record: Record, old: bytes, new: bytes) -> Record:
    """The record whose field has another name."""
    names = b'"%s"' % old, b'"%s"' % new
    key = None if record.key is None else record.key.replace(*names)
    return replace(record, key=key, value=(record.value or b"").replace(*names))


@pytest.mark.parametrize("size", [1, 9])
def test_a_key_that_no_record_confirms_does_not_end_a_new_table(lake: MemorySink, size: int) -> None:
    before = [told(0, {"id": 1, "n": 1}), replace(told(1, {"id": 2, "n": 2}, read=9_000), key=None)]
    records = [rename_field(r, b"id", b"old_id") for r in before]
    records += [told(2, {"id": 3, "n": 3}), told(3, {"id": 4, "n": 4})]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    lake.take([])
    assert lake.withheld() == {}
    (table,) = lake.lake()
    assert (table.live.schema.key, sorted(row["n"] for row in alive_in(table))) == (("id",), [1, 2, 3, 4])


def test_a_rule_keeps_the_table_that_a_key_would_end(lake: MemorySink) -> None:
    lake.policy = Policy(profile="autopilot", rules=(PolicyRule("block", ("on-key-*",)),))
    lake.take([told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 1})])
    lake.take([told(2, {"id": 3, "n": 7}, key=("n",)), told(3, {"id": 4, "n": 8}, key=("n",))])
    assert len(alive(lake)) == 2
    assert all("gives 1, not 0" in reason for reason in lake.withheld().values())


def keyless(offset: int, row: dict[str, Any], op: str = "c") -> Record:
    """A change of a table without a key."""
    return replace(told(offset, row, op), key=None)


@pytest.mark.parametrize("size", [1, 9])
def test_a_record_says_why_its_own_table_left_it(lake: MemorySink, size: int) -> None:
    """The tables before and after a log leave its records to it, which is no reason that they wait."""
    records = [
        told(0, {"id": 1, "n": "a"}),
        keyless(1, {"id": 2, "n": "b"}),
        keyless(2, {"id": 2, "n": "__debezium_unavailable_value"}, "u"),
        keyless(3, {"id": 3, "n": "c"}),
    ]
    records += [told(n, {"k": n, "n": "d"}, key=("k",)) for n in range(4, 7)]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    lake.take([])
    assert {place[2]: reason for place, reason in lake.withheld().items()} == {
        2: "n: the value was not sent, and a table without a key has no old row"
    }
    assert goes_elsewhere(f"n: {OTHER_TABLE}")


@pytest.mark.parametrize("size", [1, 9])
def test_a_table_that_loses_its_key_goes_on_as_a_log(lake: MemorySink, size: int) -> None:
    records = [
        told(0, {"id": 1, "n": 1}),
        told(1, {"id": 1, "n": 2}, "u"),
        keyless(2, {"id": 7, "n": 1}),
        keyless(3, {"id": 7, "n": 1}),
        keyless(4, {"id": 7, "n": 2}),
    ]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    lake.take([])
    assert lake.withheld() == {}
    first, second = lake.lake()
    assert (alive_in(first), second.live.schema.key) == ([{"id": 1, "n": 2}], ())
    assert [row["n"] for row in second.rows] == [1, 1, 2]


@pytest.mark.parametrize("size", [1, 9])
def test_a_log_that_gets_a_key_keeps_its_records_beside_a_keyed_successor(
    lake: MemorySink, size: int
) -> None:
    records = [
        keyless(0, {"id": 1, "n": 1}),
        keyless(1, {"id": 1, "n": 2}, "u"),
        told(2, {"id": 1, "n": 3}),
        told(3, {"id": 2, "n": 3}),
        told(4, {"id": 1, "n": 4}, "u"),
    ]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    lake.take([])
    assert lake.withheld() == {}
    first, second = lake.lake()
    assert [row["n"] for row in first.rows] == [1, 2]
    assert sorted(alive_in(second), key=repr) == [{"id": 1, "n": 4}, {"id": 2, "n": 3}]


@pytest.mark.parametrize("size", [2, 9])
def test_a_log_that_got_a_key_comes_before_the_table_that_was_made_anew(lake: MemorySink, size: int) -> None:
    anew = told(4, {"id": "x", "qty": 2})
    key, value = (text.replace(b'"id"', b'"code"') for text in (anew.key or b"", anew.value or b""))
    records = [
        keyless(0, {"id": 1, "n": 1}),
        keyless(1, {"id": 2, "n": 1}),
        told(2, {"id": 3, "n": 1}),
        told(3, {"id": 4, "n": 1}),
        replace(anew, key=key, value=value),
    ]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    lake.take([])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    tables = [(table.live.schema.key, sorted(map(str, alive_in(table)))) for table in lake.lake()]
    assert [(key, len(rows)) for key, rows in tables] == [((), 2), (("id",), 2), (("code",), 1)]


def test_a_new_row_is_written_although_its_key_came_back_and_is_not_confirmed(lake: MemorySink) -> None:
    lake.take([told(0, {"id": 1, "n": 5}), told(1, {"id": 2, "n": 5})])
    lake.take([keyless(2, {"id": 3, "n": 5}), told(3, {"id": 4, "n": 5})])
    assert [row["id"] for row in alive(lake)] == [1, 2, 3, 4]
    lake.take([told(4, {"id": 1, "n": 6}, "u")])
    assert lake.withheld() == {}
    assert sorted(row["id"] for row in alive(lake)) == [1, 2, 3, 4]


def test_late_rows_go_into_the_table_of_their_time(lake: MemorySink) -> None:
    lake.take([told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 1})])
    lake.take([told(3, {"id": 3, "n": 7}, key=("n",)), told(4, {"id": 4, "n": 8}, key=("n",))])
    lake.take([told(2, {"id": 1, "n": 5}, "u"), told(5, {"id": 9, "n": 8}, "u", key=("n",))])
    lake.take([])
    assert lake.withheld() == {}
    first, second = lake.lake()
    assert alive_in(first) == [{"id": 1, "n": 5}, {"id": 2, "n": 1}]
    assert {"id": 9, "n": 8} in alive_in(second)


def test_a_lost_successor_stops_the_table(lake: MemorySink) -> None:
    lake.take([told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 1})])
    lake.take([told(2, {"id": 3, "n": 7}, key=("n",)), told(3, {"id": 4, "n": 8}, key=("n",))])
    del lake.tables[lake.lake()[1].live.name]
    lake.take([told(4, {"id": 5, "n": 9}, key=("n",))])
    assert all("does not exist: restore it" in reason for reason in lake.withheld().values())


def test_a_suspected_rename_keeps_both_columns_and_stays_a_question(lake: MemorySink) -> None:
    lake.take([told(0, {"id": 1, "z": 1, "title": "a"}), told(1, {"id": 2, "z": 1, "title": "b"})])
    lake.take([told(2, {"id": 1, "z": 2, "name": "c"}, "u")])
    assert lake.withheld() == {}
    assert alive(lake)[1] == {"id": 2, "title": "b", "z": 1}
    assert alive(lake)[0]["name"] == "c"
    (table,) = lake.sources.values()
    history = lake.store.history(table)
    assert history is not None
    assert [(c.old, c.new) for c in history.latest.candidates] == [("title", "name")]
    assert any("it is not decided whether title became name" in note for note in lake.notes)


def test_a_new_type_goes_beside_the_old_one(lake: MemorySink) -> None:
    lake.take([told(0, {"id": 1, "price": 5}), told(1, {"id": 2, "price": 6})])
    lake.take([told(2, {"id": 1, "price": "five"}, "u"), told(3, {"id": 3, "price": "three"})])
    assert lake.withheld() == {}
    assert alive(lake) == [
        {"id": 1, "price__2": "five"},
        {"id": 2, "price": 6},
        {"id": 3, "price__2": "three"},
    ]
    (table,) = lake.lake()
    assert SPLIT_PROPERTY in table.live.properties
    (view,) = list_tables(lake)
    assert [row["price"] for row in view.rows][1] == Held(6, "INT")
    # a third type has a column of its own, and the first part gives its value up
    lake.take([told(5, {"id": 2, "price": 2.5}, "u")])
    assert lake.withheld() == {}
    assert next(row for row in alive(lake) if row["id"] == 2) == {"id": 2, "price__3": 2.5}


def test_a_deleted_table_is_emptied_by_soft_deletes(lake: MemorySink) -> None:
    lake.take([told(0, {"id": 1, "n": 1}), row_event({"id": INT, "n": INT}, "t", None, offset=1)])
    lake.take([told(2, {"id": 2, "n": 2})])
    assert alive(lake) == [{"id": 2, "n": 2}]
    assert lake.withheld() == {}


def test_the_measuring_script_counts_what_a_recording_shows() -> None:
    name, format = "mariadb/bookshop-mysql-1.4.2-json", "iceberg"
    careful = measure(name, format, Policy(), 1_000_000)
    autopilot = measure(name, format, Policy(profile="autopilot"), 1_000_000)
    assert careful.tables == autopilot.tables > 5
    assert autopilot.stopped + autopilot.waiting <= careful.stopped + careful.waiting
    assert autopilot.wrong <= careful.wrong


@pytest.mark.parametrize("batches", [1, 2])
def test_a_new_table_has_the_types_that_it_would_have_had_before(lake: MemorySink, batches: int) -> None:
    records = [told(0, {"id": 1, "rate": 1.5}), told(1, {"id": 2, "rate": 3})]
    lake.take(records[:1] if batches == 2 else records)
    lake.take(records[1:])
    assert lake.withheld() == {}
    assert alive(lake) == [{"id": 1, "rate": 1.5}, {"id": 2, "rate": 3.0}]
    (table,) = lake.lake()
    assert table.live.schema.names[:2] == ("id", "rate")


def test_an_update_whose_key_the_connector_may_have_read_late_names_its_row_by_the_earlier_key(
    lake: MemorySink,
) -> None:
    """Under the later key the row would be another one, which no record inserted."""
    lake.take([told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 2})])
    # Both were committed before the connector read the new key; the third one confirms it.
    late = [
        told(2, {"id": 1, "n": 7}, "u", ("id", "n"), read=90_000),
        told(3, {"id": 3, "n": 3}, "c", ("id", "n"), read=90_000),
    ]
    lake.take([*late, told(20, {"id": 2, "n": 2}, "u", ("id", "n"))])
    lake.take([])
    assert lake.withheld() == {}
    assert sorted(alive(lake), key=repr) == [{"id": 1, "n": 7}, {"id": 2, "n": 2}, {"id": 3, "n": 3}]


@pytest.mark.parametrize("size", [1, 9])
def test_a_value_that_no_type_holds_is_text_beside_its_column(lake: MemorySink, size: int) -> None:
    """An infinite date: the other rows of the column keep their type, and each row has its value once."""
    when = node("int32", name="io.debezium.time.Date")

    def dated(offset: int, id: int, day: int | None, op: str = "c") -> Record:
        return row_event({"id": INT, "day": when}, op, {"id": id, "day": day}, offset=offset)

    infinity, long_ago = -622_191_234, 622_191_233  # as Debezium counts the days of infinite dates
    records = [
        dated(0, 1, 19_000),
        dated(1, 2, infinity),
        dated(2, 1, long_ago, "u"),
        dated(3, 2, 19_001, "u"),
        dated(4, 3, None),
        dated(5, 4, 10_000_000),
    ]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    assert lake.withheld() == {}
    assert alive(lake) == [
        {"id": 1, "day__2": "-infinity"},
        {"id": 2, "day": date(2022, 1, 9)},
        {"id": 3},
        {"id": 4, "day__2": "+29349-01-26"},
    ]
    (table,) = lake.lake()
    types = {c.name: type_name(c.type) for c in table.live.schema.columns}
    assert (types["day"], types["day__2"]) == ("DATE", "STRING")
    # The journal has the split as a run of its own, which a plan takes back.
    (name,) = lake.tables
    lines = StoreJournal(lake.store).read_target_lines(target_id(lake.format, name))
    plans = [from_text(line.statement) for line in lines if line.state == "started" and line.statement]
    (plan,) = (plan for plan in plans if plan.phase is not None and plan.phase.name == "split")
    assert [step.kind for step in plan.steps] == ["set-properties", "add-columns"]
    back = plan_rollback(plan, table.live, len(plan.steps))
    assert [step.kind for step in back.steps] == ["drop-columns", "set-properties"]
    assert not back.refusals


@pytest.mark.parametrize("size", [1, 2, 9])
def test_each_table_of_a_source_has_its_own_texts_beside_wherever_batches_end(
    lake: MemorySink, size: int
) -> None:
    long_ago, day = Moment(-210_866_803_200_000), Moment(1_700_000_000_000)  # PostgreSQL begins in 4713 BC
    records = [
        told(0, {"id": 1, "n": 5, "at": day}),
        told(1, {"id": 2, "n": 5, "at": long_ago}),
        told(2, {"id": 3, "n": 5, "at": long_ago}),
        told(3, {"id": 4, "n": 7, "at": long_ago}, key=("n",)),
        told(4, {"id": 6, "n": 8, "at": day}, key=("n",)),
        told(5, {"id": 5, "n": 9, "at": long_ago}, key=("n",)),
    ]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    assert lake.withheld() == {}
    texts = [{row["id"]: row.get("at__2") for row in alive_in(table)} for table in lake.lake()]
    ancient = "-4713-11-24T00:00:00"
    assert texts == [{1: None, 2: ancient, 3: ancient}, {4: ancient, 5: ancient, 6: None}]


def test_a_column_that_is_being_swapped_is_not_split_and_its_rows_wait(lake: MemorySink) -> None:
    lake.take([told(0, {"id": 1, "price": 5})])
    (table,) = lake.tables.values()
    swap = ColumnSwap("price", "price__new", "price__old", Integer(32), String())
    name = TARGETS.get(lake.format).table_name(table.table)
    table.run(f"ALTER TABLE {name} ADD COLUMNS (`price__new` STRING)")
    table.run(set_properties(name, {RECIPE_PROPERTY: format_swaps("expand", (swap,))}))
    lake.take([told(1, {"id": 2, "price": "six"})])
    assert all("being replaced in phases" in reason for reason in lake.withheld().values())
    assert len(lake.withheld()) == 1
    assert table.live is not None
    assert SPLIT_PROPERTY not in table.live.properties


def late(offset: int, row: dict[str, Any], key: tuple[str, ...], op: str = "c") -> Record:
    """A change that the connector read much later, so that its key confirms nothing."""
    return told(offset, row, op, key, read=60_000_000)


def test_a_new_row_under_a_key_that_nothing_confirms_is_written_if_no_row_has_its_key(
    lake: MemorySink,
) -> None:
    lake.take([told(0, {"id": 1, "n": 1})])
    lake.take([late(1, {"id": 2, "n": 2}, ("n",)), late(2, {"id": 1, "n": 9}, ("n",))])
    lake.take([told(3, {"id": 3, "n": 3}), told(4, {"id": 4, "n": 4})])
    assert [row["n"] for row in alive(lake)] == [1, 2, 3, 4]
    assert list(lake.withheld()) == [("srv.public.t", 0, 2)]
    assert "may be another one" in next(iter(lake.withheld().values()))


def test_a_delete_that_has_the_key_of_the_table_is_written_whatever_its_own_key_was(lake: MemorySink) -> None:
    lake.take([told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 2})])
    lake.take([late(2, {"id": 3, "n": 3}, ("n",)), late(3, {"id": 1, "n": 1}, ("n",), "d")])
    lake.take([told(4, {"id": 4, "n": 4}), told(5, {"id": 5, "n": 5})])
    assert lake.withheld() == {}
    assert [row["id"] for row in alive(lake)] == [2, 3, 4, 5]


@pytest.mark.parametrize(("n", "is_same"), [(1, True), (9, False)])
def test_an_update_whose_key_is_uncertain_needs_a_row_that_is_the_same_in_all_keys(
    lake: MemorySink, n: int, is_same: bool
) -> None:
    lake.take([told(0, {"id": 1, "n": 1, "v": 1}), told(1, {"id": 2, "n": 2, "v": 1})])
    # It was committed before the one that confirms the key, which the connector had read by then.
    update = told(2, {"id": 1, "n": n, "v": 2}, "u", ("n",), read=5_000)
    lake.take(
        [
            update,
            told(3, {"id": 3, "n": 3, "v": 3}, key=("n",)),
            told(4, {"id": 4, "n": 4, "v": 4}, key=("n",)),
        ]
    )
    assert (lake.withheld() == {}) == is_same
    assert sum(row["v"] == 2 for row in alive(lake)) == is_same


@pytest.mark.parametrize("size", [2, 9])
def test_a_table_made_anew_under_a_key_that_nothing_confirms_begins_a_successor(
    lake: MemorySink, size: int
) -> None:
    records = [told(n, {"id": n, "code": f"c{n}"}, key=("code",)) for n in range(2)]
    records += [late(2, {"id": 1, "m": 5}, ("id",)), late(3, {"id": 8, "m": 6}, ("id",))]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    assert lake.withheld() == {}
    first, second = lake.lake()
    assert (len(alive_in(first)), alive_in(second)) == (2, [{"id": 1, "m": 5}, {"id": 8, "m": 6}])
    assert second.live.schema.key == ("id",)


@pytest.mark.parametrize("size", [2, 9])
def test_new_rows_under_keys_that_nothing_confirms_are_written_wherever_batches_end(
    lake: MemorySink, size: int
) -> None:
    records = [told(n, {"id": n, "n": n}) for n in range(2)]
    records += [late(2, {"id": 5, "n": 5}, ("n",)), late(3, {"id": 6, "n": 6}, ("id",))]
    records += [late(4, {"id": 6, "n": 6}, ("id",), "d")]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    assert lake.withheld() == {}
    (table,) = lake.lake()
    assert (table.live.schema.key, [row["id"] for row in alive_in(table)]) == (("id",), [0, 1, 5])


RECORDED = ("mariadb/bookshop-mysql-1.4.2-json", "postgres/shop-crash")
"""Small recordings; `make proof` reads all of them."""


@pytest.mark.parametrize("format", FORMATS)
def test_tables_wait_only_for_reviewed_reasons_and_no_value_is_wrong(format: str) -> None:
    total = Figures()
    for name in list_recordings("") if PROOF else RECORDED:
        total.add(measure(name, format, Policy(profile="autopilot"), 20))
    assert [total.examples[text] for text in total.reasons if not is_reviewed(text)] == []
    assert total.wrong == 0
    assert total.stopped + total.waiting <= (8 if PROOF else 2)


@pytest.mark.parametrize("size", [1, 9])
def test_a_key_whose_type_the_format_does_not_change_begins_a_successor_wherever_batches_end(
    lake: MemorySink, size: int
) -> None:
    records = [told(0, {"id": "a", "n": 1}), told(1, {"id": "7", "n": 2})]
    records += [told(2, {"id": 7, "n": 3}, "u"), told(3, {"id": 8, "n": 4}), told(4, {"id": 9, "n": 4}, "d")]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    lake.take([])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    first, second = lake.lake()
    assert {row["id"] for row in alive_in(first)} == {"a", "7"}
    assert sorted(alive_in(second), key=repr) == [{"id": 7, "n": 3}, {"id": 8, "n": 4}]
    assert any("gets another type, which the format does not make in place" in note for note in lake.notes)
    # A wider type of the key is made in place.
    wide = row_event({"id": node("int64"), "n": INT}, "c", {"id": 2**40, "n": 5}, offset=9, ts_ms=90_000)
    lake.take([wide])
    assert len(lake.lake()) == 2
    assert alive_in(lake.lake()[1])[-1] == {"id": 2**40, "n": 5}


def test_a_key_of_another_type_waits_where_no_successor_is_begun(lake: MemorySink) -> None:
    lake.policy = Policy(profile="autopilot", rules=(PolicyRule("block", ("on-key-changed",)),))
    lake.take([told(0, {"id": 1, "n": 1})])
    lake.take([told(1, {"id": "x", "n": 2})])
    (reason,) = lake.withheld().values()
    assert "change `id` from INT to STRING" in reason


@pytest.mark.parametrize("level", ["auto", "approve"])
def test_a_rule_that_drops_columns_drops_none_that_the_source_has_or_may_have(
    lake: MemorySink, level: Any
) -> None:
    lake.policy = Policy(profile="autopilot", rules=(PolicyRule(level, ("drop-column",)),))
    lake.take([told(0, {"id": 1, "p": 5, "q": 1}), told(1, {"id": 2, "p": 6, "q": 2})])
    lake.take([told(2, {"id": 2, "p": "six", "q": 3}, "u")])
    assert alive(lake) == [{"id": 1, "p": 5, "q": 1}, {"id": 2, "p__2": "six", "q": 3}]
    assert lake.notes == ["`p`: newer values have another type and go into `p__2`"]
    # An open question is no drop: the table waits for its answer.
    lake.take([told(3, {"id": 2, "p": "six", "r": 4}, "u")])
    assert alive(lake)[0] == {"id": 1, "p": 5, "q": 1}
    (reason,) = lake.withheld().values()
    assert "use `schemaman decide` to state whether `q` became `r`" in reason


def test_a_split_column_that_the_source_drops_is_dropped_with_its_parts(lake: MemorySink) -> None:
    lake.policy = Policy(profile="autopilot", rules=(PolicyRule("auto", ("drop-column",)),))
    lake.take([told(0, {"id": 1, "p": 5, "q": 1})])
    lake.take([told(1, {"id": 2, "p": "six", "q": 3})])
    lake.take([told(2, {"id": 1, "q": 4}, "u")])
    assert lake.withheld() == {}
    assert alive(lake) == [{"id": 1, "q": 4}, {"id": 2, "q": 3}]


def test_a_split_column_that_is_renamed_on_proof_takes_its_newest_part_along(lake: MemorySink) -> None:
    lake.take([told(0, {"id": 1, "p": 5, "z": "z"}), told(1, {"id": 2, "p": 6, "z": "z"})])
    lake.take([told(2, {"id": 2, "p": "six", "z": "z"}, "u")])
    lake.take([told(3, {"id": 3, "cost": "three", "z": "z"})])
    assert lake.withheld() == {}
    assert alive(lake) == [
        {"id": 1, "p": 5, "z": "z"}, {"id": 2, "cost": "six", "z": "z"}, {"id": 3, "cost": "three", "z": "z"},
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize(("at", "expected"), [(2, ([], [7, 8])), (3, ([1, 2], [7, None, 8]))])
def test_a_truncate_is_in_the_table_of_its_time_wherever_batches_end(
    lake: MemorySink, size: int, at: int, expected: tuple[list[int], list[int | None]]
) -> None:
    records = [told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 1})]
    records += [keyless(3 if at == 2 else 2, {"id": 7, "n": 1}), keyless(4, {"id": 8, "n": 2})]
    records.insert(at, row_event({"id": INT, "n": INT}, "t", None, offset=at))
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    lake.take([])
    keyed, log = lake.lake()
    assert ([row["id"] for row in alive_in(keyed)], [row["id"] for row in log.rows]) == expected
    assert lake.withheld() == {}


@pytest.mark.parametrize("size", [1, 9])
def test_a_value_that_only_a_text_holds_is_beside_its_dropped_column(lake: MemorySink, size: int) -> None:
    """The column was of fractions, then of whole numbers, and is gone; its name has another column by now."""
    records = [
        told(0, {"id": 1, "n": 1.5}),
        told(1, {"id": 2, "n": 7}),
        told(2, {"id": 3}),
        told(3, {"id": 4, "n": "x"}),
    ]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    lake.take([])
    assert lake.withheld() == {}
    rows = {row.pop("id"): row for row in alive(lake)}
    assert (rows[3], rows[4]) == ({}, {"n": "x"})
    assert [{float(value) for value in rows[id].values()} for id in (1, 2)] == [{1.5}, {7.0}]
    (table,) = list_tables(lake)
    assert [row["id"] for row in table.rows if row["n"] is not None] == [4]
