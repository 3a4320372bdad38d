"""Tables with columns of another type beside others, which then get another name: a row has one value."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import pytest

from schemaman.migration.policy import Policy
from schemaman.migration.row_columns import list_row_columns
from schemaman.store.sql.store import SqlStore
from tests.cases.connector import INT, TEXT, Connector, entry
from tests.streaming.test_autopilot import alive_in, told
from tests.streaming.test_readers_of_autopilot import require_readable_views
from tests.support.memory_sink import MemorySink
from tests.support.records import Node, column, image, node

DAY = node("int32", "io.debezium.time.Date", version=1)
DAYS = ("DATE", 91)
TEXTS = ("VARCHAR", 12)
NUMBERS = ("INT", 4)
NODES = {"DATE": DAY, "VARCHAR": TEXT, "INT": INT}


@dataclass
class Source:
    """A server whose tables have `id` and other columns, each with its type."""

    lake: MemorySink
    connector: Connector = field(default_factory=lambda: Connector("mysql"))
    types: dict[str, dict[str, tuple[str, int]]] = field(default_factory=dict)
    key: tuple[str, ...] = ("id",)

    def _image(self, table: str) -> Node:
        columns = [column(n, *each, length=10) for n, each in self.types[table].items()]
        return image(column("id", optional=False), *columns, key=self.key)

    def create(self, table: str, **types: tuple[str, int]) -> None:
        self.types[table] = types
        told = entry("CREATE", f'"shop"."{table}"', self._image(table))
        self.connector.change(told, table=table, ddl=f"CREATE TABLE {table} (id INT PRIMARY KEY)")

    def alter(self, table: str, ddl: str, **types: tuple[str, int]) -> None:
        self.types[table] = types
        told = entry("ALTER", f'"shop"."{table}"', self._image(table))
        self.connector.change(told, table=table, ddl=f"ALTER TABLE {table} {ddl}")

    def rename(self, old: str, new: str) -> None:
        self.types[new] = self.types.pop(old)
        told = entry("ALTER", f'"shop"."{new}"', self._image(new))
        self.connector.change(told, table=new, ddl=f"RENAME TABLE {old} TO {new}")

    def write(self, table: str, op: str = "c", **values: Any) -> None:
        columns = {"id": INT} | {name: NODES[each[0]] for name, each in self.types[table].items()}
        record = self.connector.row(columns, self.key, table=table, values={"id": 1, **values}, op=op)
        if not self.key:
            return
        key = {**json.loads(record.key or b""), "payload": {"id": values.get("id", 1)}}
        self.connector.records[-1] = replace(record, key=json.dumps(key).encode())

    def take(self, size: int = 1) -> dict[str, list[dict[str, Any]]]:
        """The values of each row of each lake table, without NULLs and row columns."""
        records = self.connector.records
        for start in range(0, len(records), size):
            self.lake.take(records[start : start + size])
        assert (self.lake.withheld(), self.lake.stopped, self.lake.quiet) == ({}, set(), {})
        own = {c.name for key in (("id",), ()) for c in list_row_columns(key)}
        return {
            address.rpartition(".")[2].strip("`"): [
                {n: v for n, v in row.items() if v is not None and n not in own} for row in table.read()
            ]
            for address, table in self.lake.tables.items()
            if table.live is not None
        }


@pytest.fixture(params=["iceberg"])
def source(store: SqlStore, request: pytest.FixtureRequest) -> Source:
    policy = Policy(profile="autopilot")
    return Source(MemorySink(store, lambda _: None, request.param, policy, lambda _: False))


def _split_table(source: Source, *, between: bool) -> None:
    source.create("a", d=DAYS)
    source.write("a", d=19000)
    source.alter("a", "MODIFY d VARCHAR(10)", d=TEXTS)
    if between:
        source.write("a", id=2, d="2022-01-08")
    if between:
        source.alter("a", "ADD n INT", d=TEXTS, n=NUMBERS)


@pytest.mark.parametrize("between", [False, True], ids=["at once", "after a version"])
@pytest.mark.parametrize("size", [1, 99])
def test_a_row_of_a_renamed_table_has_one_value_of_a_split_column(
    source: Source, size: int, between: bool
) -> None:
    _split_table(source, between=between)
    source.rename("a", "b")
    if size == 1:
        source.write("b", "u", d="2022-01-09")
    source.alter("b", "ADD m INT", **source.types["b"], m=NUMBERS)
    source.write("b", "u", d="2022-01-10")
    ((row, *_),) = source.take(size).values()
    assert [v for n, v in row.items() if n in ("d", "d__2")] == ["2022-01-10"]


def test_a_row_has_one_value_where_the_column_was_renamed_before_its_table(source: Source) -> None:
    _split_table(source, between=True)
    source.alter("a", "CHANGE d e VARCHAR(10)", e=TEXTS, n=NUMBERS)
    source.write("a", id=3, e="x", n=1)
    source.rename("a", "b")
    source.write("b", "u", e="y", n=1)
    assert source.take()["b"][0] == {"id": 1, "e": "y", "n": 1}


def test_a_column_that_is_split_again_under_another_name_of_its_table_has_one_value(source: Source) -> None:
    _split_table(source, between=True)
    source.rename("a", "b")
    source.write("b", "u", d="2022-01-09", n=1)
    source.alter("b", "MODIFY d INT", d=NUMBERS, n=NUMBERS)
    source.write("b", "u", d=5, n=1)
    source.rename("b", "c")
    source.write("c", "u", d=6, n=1)
    rows = source.take()["c"]
    assert rows[0] == {"id": 1, "d__3": 6, "n": 1}


def test_a_row_that_was_not_written_since_keeps_its_value(source: Source) -> None:
    _split_table(source, between=False)
    source.rename("a", "b")
    source.write("b", id=2, d="2022-01-09")
    assert source.take() == {"b": [{"id": 1, "d": date(2022, 1, 8)}, {"id": 2, "d__2": "2022-01-09"}]}


@pytest.mark.parametrize(("old", "new"), [(7, "seven"), (7, 2.5), ("x", 7)])
def test_a_row_has_one_value_where_the_part_has_another_name_in_later_versions(
    store: SqlStore, old: object, new: object
) -> None:
    lake = MemorySink(store, lambda _: None, "iceberg", Policy(profile="autopilot"), lambda _: False)
    lake.take([told(0, {"id": 1, "a": old, "z": 1}), told(1, {"id": 2, "a": old, "z": 1})])
    logged = [replace(told(at, {"id": 9, "b": new, "z": 2}, key=()), key=None) for at in (4, 5, 6)]
    lake.take([told(2, {"id": 1, "a": new, "z": 1}, "u"), *logged])
    assert lake.withheld() == {}
    first, second = sorted(lake.lake(), key=lambda table: len(table.live.name))
    assert [sorted(map(str, row.values())) for row in alive_in(first)] == [
        sorted(map(str, (1, new, 1))),
        sorted(map(str, (2, old, 1))),
    ]
    assert [row["b"] for row in alive_in(second)] == [new] * 3


@pytest.mark.parametrize("size", [1, 3, 9])
@pytest.mark.parametrize("names", [("b", "a"), ("b", "c", "a"), ("b", "a", "b", "a")])
def test_a_part_is_found_where_its_column_has_its_first_name_again(
    store: SqlStore, names: tuple[str, ...], size: int
) -> None:
    lake = MemorySink(store, lambda _: None, "iceberg", Policy(profile="autopilot"), lambda _: False)
    rows = [told(0, {"id": 0, "a": "x", "z": 1}), told(1, {"id": 1, "a": 11, "z": 1})]
    rows += [told(at, {"id": at, name: at * 11, "z": 1}) for at, name in enumerate(names, 2)]
    last = len(rows)
    rows += [
        told(last, {"id": last, names[-1]: last * 11, "z": 1}),
        told(last + 1, {"id": 0, "a": 9, "z": 1}, "u"),
    ]
    for start in range(0, len(rows), size):
        lake.take(rows[start : start + size])
    assert lake.withheld() == {}
    (table,) = lake.lake()
    values = {row["id"]: [v for n, v in row.items() if n not in ("id", "z")] for row in alive_in(table)}
    assert values == {0: [9], **{at: [at * 11] for at in range(1, last + 1)}}


RENAMED = {
    "a free name": ("RENAME COLUMN v TO x", {"x": TEXTS, "w": NUMBERS}),
    "the name of another column": (
        "RENAME COLUMN w TO x, RENAME COLUMN v TO w",
        {"w": TEXTS, "x": NUMBERS},
    ),
}


@pytest.mark.parametrize("source", ["delta", "iceberg"], indirect=True)
@pytest.mark.parametrize("name", RENAMED)
@pytest.mark.parametrize("is_written_between", [False, True])
def test_a_column_that_got_another_type_and_then_another_name_in_one_batch_goes_on(
    source: Source, name: str, is_written_between: bool
) -> None:
    """No lake column has the older name with the newer type: the table must not stop for that."""
    ddl, types = RENAMED[name]
    texts, numbers = types
    source.create("a", v=DAYS, w=NUMBERS)
    source.write("a", id=1, v=3, w=7)
    source.take()
    begun = len(source.connector.records)
    source.alter("a", "MODIFY v VARCHAR(10)", v=TEXTS, w=NUMBERS)
    if is_written_between:
        source.write("a", id=2, v="two", w=8)
    source.alter("a", ddl, **types)
    last: dict[str, Any] = {"id": 3, texts: "three", numbers: 9}
    source.write("a", **last)
    source.lake.take(source.connector.records[begun:])
    assert (source.lake.withheld(), source.lake.stopped) == ({}, set())
    (table,) = source.lake.lake()
    own = {c.name for key in (("id",), ()) for c in list_row_columns(key)}
    rows = {row["id"]: {n: v for n, v in row.items() if v is not None} for row in table.rows}
    values = {id: sorted(str(v) for n, v in row.items() if n not in own) for id, row in rows.items()}
    expected = {1: ["1", "1970-01-04", "7"], 3: ["3", "9", "three"]}
    assert values == expected | ({2: ["2", "8", "two"]} if is_written_between else {})
    assert {row[numbers] for row in rows.values()} == {7, 9} | ({8} if is_written_between else set())


def test_a_view_shows_the_values_of_a_split_column_whose_name_another_one_has_now(source: Source) -> None:
    source.lake.view = "ice.read.{table}"
    source.create("a", v=NUMBERS)
    source.write("a", id=1, v=5)
    source.alter("a", "MODIFY v DATE", v=DAYS)
    source.write("a", id=2, v=1)
    source.alter("a", "DROP v")
    source.alter("a", "ADD v DATE", v=DAYS)
    source.write("a", id=3, v=2)
    source.take()
    assert source.lake.views
    require_readable_views(source.lake)


@pytest.mark.parametrize("is_late", [False, True])
def test_a_view_shows_all_values_of_a_column_whose_former_name_another_column_got(
    source: Source, is_late: bool
) -> None:
    """Rows of dropped columns are written in the same batch: no column is added for values that have one."""
    kept = {"price": NUMBERS, "s": NUMBERS}
    source.lake.view = "ice.read.{table}"
    source.create("a", price=NUMBERS, qty=NUMBERS)
    source.write("a", id=1, price=10, qty=11)
    source.take()
    begun = len(source.connector.records)
    source.alter("a", "ADD s INT", **kept, qty=NUMBERS)
    source.write("a", id=2, price=20, qty=21, s=1)
    source.alter("a", "CHANGE qty note VARCHAR(10)", **kept, note=TEXTS)
    source.write("a", id=3, price=30, note="x", s=1)
    source.alter("a", "MODIFY note DATE", **kept, note=DAYS)
    source.alter("a", "CHANGE price qty INT", qty=NUMBERS, note=DAYS, s=NUMBERS)
    source.alter("a", "DROP s", qty=NUMBERS, note=DAYS)
    source.write("a", id=4, qty=40, note=19000)
    new = source.connector.records[begun:]
    late = [record for record in new if is_late and record.offset in (1, 2) and record.topic == "srv.shop.a"]
    source.lake.take([record for record in new if record not in late])
    source.lake.take([replace(record, partition=1) for record in late])
    assert (source.lake.withheld(), source.lake.stopped) == ({}, set())
    (table,) = source.lake.lake()
    rows = {
        row["id"]: {n: v for n, v in row.items() if n.startswith(("note", "qty")) and v is not None}
        for row in table.rows
    }
    assert rows == {
        1: {"qty": 10, "qty__old": 11},
        2: {"qty": 20, "qty__old": 21},
        3: {"qty": 30, "note__3": "x"},
        4: {"qty": 40, "note__2": date(2022, 1, 8)},
    }
    (view,) = source.lake.views.values()
    assert re.search(r"coalesce\(.*`qty__old`.*, `note__3`\) AS `note`", view)
