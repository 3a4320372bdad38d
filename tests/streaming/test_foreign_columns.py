"""Columns of a lake table that others fill: rows leave them as they are, whatever their names are."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from schemaman.history.decisions import Decisions, TypeAcceptance, format_coordinates
from schemaman.migration.properties.names import FOREIGN_PROPERTY
from schemaman.migration.row_columns import DELETED
from schemaman.migration.target import TARGETS, LakeTable
from schemaman.model.column_list import parse_columns
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_policy import INT, alive, told
from tests.support.memory_lake import MemoryTable
from tests.support.memory_sink import MemorySink
from tests.support.records import node, row_event

ADDRESSES = {"delta": "/lake/shop.public.t", "iceberg": "ice.raw.`shop.public.t`"}


def sink(store: SqlStore, format: str = "delta") -> MemorySink:
    return MemorySink(store, lambda _: None, format)


def standing(lake: MemorySink, columns: str, *rows: dict[str, Any]) -> MemoryTable:
    """A table that somebody else made, with rows by their key `id`."""
    address = ADDRESSES[lake.format]
    table = MemoryTable(address)
    schema = parse_columns(columns)
    table.run(TARGETS.get(lake.format).create_table(address, schema, {}).statement)
    for row in rows:
        values = {table.fields[name]: value for name, value in row.items()}
        table.rows[(repr(row["id"]),)] = {**values, "_row_order": None, DELETED: None}
    lake.tables[address] = table
    return table


def name_of(format: str) -> str:
    return TARGETS.get(format).table_name(ADDRESSES[format])


def live(table: MemoryTable) -> LakeTable:
    assert table.live is not None
    return table.live


@pytest.mark.parametrize("format", ADDRESSES)
@pytest.mark.parametrize("op", ["c", "r", "u"])
def test_no_operation_empties_a_column_that_others_fill(store: SqlStore, format: str, op: str) -> None:
    lake = sink(store, format)
    table = standing(lake, "id INT NOT NULL, n INT, segment STRING", {"id": 1, "n": 1, "segment": "silver"})
    lake.take([told(0, op, {"id": 1, "n": 2}), told(1, "c", {"id": 2, "n": 2})])
    assert lake.withheld() == {}
    assert alive(lake) == [{"id": 1, "n": 2, "segment": "silver"}, {"id": 2, "n": 2, "segment": None}]
    # another job fills it in between, and the row is deleted and made again
    table.rows[("2",)][table.fields["segment"]] = "gold"
    lake.take([told(2, "d", {"id": 2, "n": 2})])
    lake.take([told(3, "c", {"id": 2, "n": 3})])
    assert alive(lake)[1] == {"id": 2, "n": 3, "segment": "gold"}
    # and in one batch
    lake.take([told(4, "d", {"id": 2, "n": 3}), told(5, "c", {"id": 2, "n": 4})])
    assert alive(lake)[1] == {"id": 2, "n": 4, "segment": "gold"}
    assert live(table).properties[FOREIGN_PROPERTY] == '["segment"]'


def test_a_row_that_is_made_again_keeps_nothing_of_the_source_s_own_columns(store: SqlStore) -> None:
    """A column that the source dropped is its own: a new row has no value in it."""
    lake = sink(store)
    lake.take([told(0, "c", {"id": 1, "n": 1, "m": 5})])
    lake.take([told(1, "d", {"id": 1, "n": 1}), told(2, "c", {"id": 1, "n": 2})])
    assert alive(lake) == [{"id": 1, "n": 2, "m": None}]


@pytest.mark.parametrize("format", ADDRESSES)
def test_a_column_that_nothing_fills_is_refused_before_any_step(store: SqlStore, format: str) -> None:
    lake = sink(store, format)
    table = standing(lake, "id INT NOT NULL, n INT, load_id STRING NOT NULL")
    lake.take([told(0, "c", {"id": 1, "n": 2})])
    (reason,) = set(lake.withheld().values())
    assert "write rows without `load_id`: the table forbids NULL in `load_id`" in reason
    assert "DROP NOT NULL" in reason
    assert live(table).schema.names == ("id", "n", "load_id")
    table.run(f"ALTER TABLE {name_of(format)} ALTER COLUMN `load_id` DROP NOT NULL")
    lake.take([])
    assert alive(lake) == [{"id": 1, "n": 2, "load_id": None}]


def test_a_column_that_the_source_has_is_nullable_where_rows_are_soft_deleted(store: SqlStore) -> None:
    """A delete of a row that is not there writes its key alone."""
    lake = sink(store)
    table = standing(lake, "id INT NOT NULL, n INT NOT NULL")
    lake.take([told(0, "d", {"id": 1, "n": 2})])
    assert lake.withheld() == {}
    assert [c.nullable for c in live(table).schema.columns] == [False, True, True, True]


@pytest.mark.parametrize("format", ADDRESSES)
def test_a_name_that_the_source_takes_later_does_not_make_it_the_source_s(
    store: SqlStore, format: str
) -> None:
    lake = sink(store, format)
    lake.approve = lambda _: False
    table = standing(lake, "id INT NOT NULL, n INT, region STRING", {"id": 1, "n": 1, "region": "EU-load"})
    lake.take([told(0, "u", {"id": 1, "n": 2})])
    lake.take([told(1, "u", {"id": 1, "n": 3, "region": "north"})])
    (reason,) = set(lake.withheld().values())
    assert "reuse-name = approve" in reason
    assert alive(lake) == [{"id": 1, "n": 2, "region": "EU-load"}]
    lake.approve = lambda _: True
    lake.take([])
    assert alive(lake) == [{"id": 1, "n": 3, "region__old": "EU-load", "region": "north"}]
    assert live(table).properties[FOREIGN_PROPERTY] == '["region__old"]'
    lake.take([told(2, "c", {"id": 1, "n": 4, "region": "south"})])
    assert alive(lake) == [{"id": 1, "n": 4, "region__old": "EU-load", "region": "south"}]


@pytest.mark.parametrize("format", ADDRESSES)
def test_a_column_that_another_writer_added_first_is_adopted_with_a_word(
    store: SqlStore, format: str
) -> None:
    lake = sink(store, format)
    lake.take([told(0, "c", {"id": 1, "n": 2})])
    (table,) = lake.tables.values()
    table.run(f"ALTER TABLE {name_of(format)} ADD COLUMNS (`note` STRING)")
    lake.take([told(1, "u", {"id": 1, "n": 3, "note": "x"})])
    assert alive(lake) == [{"id": 1, "n": 3, "note": "x"}]
    assert any(note.startswith("`note`: another writer added it") for note in lake.notes)


def test_a_type_that_a_person_accepted_takes_the_nearest_number(store: SqlStore) -> None:
    lake = sink(store)
    standing(lake, "id INT NOT NULL, amount DOUBLE")
    scale = {"scale": "2", "connect.decimal.precision": "10"}
    amount = node("bytes", "org.apache.kafka.connect.data.Decimal", parameters=scale)
    row = row_event({"id": INT, "amount": amount}, "c", {"id": 1, "amount": "BNI="}, offset=0)
    lake.take([row])
    (reason,) = set(lake.withheld().values())
    assert "accept-type" in reason
    (table,) = lake.store.tables()
    history = lake.store.history(table)
    assert history is not None
    at = history.latest.id, format_coordinates(history.latest.at)
    said = TypeAcceptance(str(table), "amount", "DECIMAL(10,2)", "DOUBLE", *at, "kim", date(2026, 1, 2))
    lake.decisions = Decisions(accepted_types=(said,))
    lake.take([])
    assert lake.withheld() == {}
    assert alive(lake) == [{"id": 1, "amount": 12.34}]


def test_a_column_that_others_renamed_is_not_made_a_second_time(store: SqlStore) -> None:
    lake = sink(store)
    lake.take([told(0, "c", {"id": 1, "n": 1})])
    table = lake.tables[ADDRESSES["delta"]]
    table.run(f"ALTER TABLE {name_of('delta')} RENAME COLUMN `n` TO `other`")
    lake.take([told(1, "c", {"id": 2, "n": 2})])
    (reason,) = lake.withheld().values()
    assert "others renamed `n` to `other` since the last migration" in reason
    table.run(f"ALTER TABLE {name_of('delta')} RENAME COLUMN `other` TO `n`")
    lake.take([])
    assert alive(lake) == [{"id": 1, "n": 1}, {"id": 2, "n": 2}]
