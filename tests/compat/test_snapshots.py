"""Snapshots: what is written is read back, byte by byte the same, and readable in a review."""

from __future__ import annotations

import difflib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.compat.snapshots import (
    Snapshot,
    build_file_name,
    from_text,
    remove_ids,
    take_snapshot,
    to_text,
)
from schemaman.debezium.records import Coordinates, Position
from schemaman.errors import BadConfiguration
from schemaman.model.schema import TableId, TableSchema
from tests.support.histories import ORDERS, told
from tests.support.strategies import NAMES, schemas

MARKS = st.one_of(st.none(), st.builds(Coordinates, st.just("t"), st.integers(0, 3), st.integers(0, 99)))
TABLES = st.builds(
    TableId, NAMES, NAMES, st.one_of(st.just(""), NAMES), NAMES, st.one_of(st.just("main"), NAMES)
)


@given(TABLES, schemas(ids=True), st.text("0123456789abcdef", max_size=12), MARKS)
def test_a_snapshot_is_read_as_it_was_written(
    table: TableId, schema: TableSchema, version: str, at: Coordinates | None
) -> None:
    kept = Snapshot(table, remove_ids(schema), version, at)
    assert from_text(to_text(kept)) == kept
    assert to_text(from_text(to_text(kept))) == to_text(kept)
    assert to_text(replace(kept, schema=schema)) == to_text(kept)
    assert json.loads(to_text(kept))["schemaman_snapshot"] == 1


def test_a_changed_column_is_one_changed_line() -> None:
    texts = [
        to_text(Snapshot(ORDERS, told(f"id INT NOT NULL, n {type}, c STRING").latest.schema)).splitlines()
        for type in ("INT", "BIGINT")
    ]
    changed = [line for line in difflib.ndiff(texts[0], texts[1]) if line[0] in "+-"]
    assert len(changed) == 2
    assert all('"n"' in line for line in changed)


def test_a_snapshot_of_a_history_knows_its_version_and_where_it_began() -> None:
    history = told("id INT", "id INT, n INT", "id INT, n INT DEFAULT 5", "id INT")
    old = take_snapshot(history, history.versions[1])
    assert (old.version, old.at) == (history.versions[1].id, history.versions[1].at)
    assert old.schema.columns[1].default == 5
    assert take_snapshot(history, history.versions[1], revision=0).schema.columns[1].default is None
    assert old.at is not None
    assert old.at.position == Position("lsn", "1001", "1001")


@given(TABLES, TABLES)
def test_two_tables_never_share_a_file(a: TableId, b: TableId) -> None:
    assert (build_file_name(a) == build_file_name(b)) == (a == b)
    assert all(part not in ("", ".", "..") for part in build_file_name(a).split("/"))


def test_a_file_is_called_as_its_table() -> None:
    assert build_file_name(ORDERS) == "shop.app.public.orders.json"
    assert build_file_name(TableId("shop", "app", "", "a/b.c", "dev")) == "dev/shop.app.a%2Fb%2Ec.json"


@pytest.mark.parametrize("letter", ["a", "ü", "漢"])
def test_a_long_name_is_cut_and_stays_its_own(letter: str) -> None:
    long = [TableId("s", "d", "", letter * 299 + last, "s" * 300) for last in "xy"]
    names = [build_file_name(table) for table in long]
    assert len(set(names)) == 2
    assert all(len(part) < 200 and part.isascii() for name in names for part in name.split("/"))
    assert names == [build_file_name(table) for table in long]
    assert "~" not in build_file_name(TableId("s", "d", "", "~"))


GOOD = json.loads(to_text(Snapshot(ORDERS, told("id INT NOT NULL, PRIMARY KEY (id)").latest.schema)))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "not JSON"),
        ("[]", "no snapshot"),
        ('{"columns": []}', "no snapshot"),
        (json.dumps(GOOD | {"schemaman_snapshot": 2}), "layout 2"),
        (json.dumps({k: v for k, v in GOOD.items() if k != "columns"}), "the field 'columns' is missing"),
        (json.dumps(GOOD | {"columns": [{"name": "id", "nullable": True}]}), "the field 'type' is missing"),
        (json.dumps(GOOD | {"columns": [{"name": "id", "type": "INTT", "nullable": True}]}), "INTT"),
        (json.dumps(GOOD | {"columns": [{"name": 5, "type": "INT", "nullable": True}]}), "must be text"),
        (json.dumps(GOOD | {"columns": GOOD["columns"] * 2}), "twice"),
        (json.dumps(GOOD | {"key": ["nope"]}), "does not exist"),
        (json.dumps(GOOD | {"columns": 5}), "not iterable"),
        (json.dumps(GOOD | {"table": "orders"}), "orders.json"),
        (json.dumps(GOOD | {"version": 3}), "is not text"),
    ],
)
def test_a_file_that_is_no_snapshot_is_refused_by_name(text: str, fault: str) -> None:
    with pytest.raises(BadConfiguration, match=fault) as error:
        from_text(text, "schemas/orders.json")
    assert error.value.message.startswith("schemas/orders.json: ")
    assert error.value.hint
