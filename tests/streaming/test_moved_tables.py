"""Tables that are renamed, exchanged or made anew at the source: their lake tables follow with all rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from schemaman.debezium.records import Record
from schemaman.history.decisions import Confirmation, Decisions, TableRename, format_coordinates
from schemaman.history.table_renames import list_table_questions
from schemaman.migration.policy import Level, Policy, PolicyRule, Profile
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.row_columns import DELETED
from schemaman.model.schema import TableId
from schemaman.sink.waiting_records import find_command
from schemaman.store.sql.store import SqlStore
from tests.cases.connector import INT, TEXT, Connector, entry
from tests.support.checkout import PROOF
from tests.support.memory_sink import MemorySink
from tests.support.records import column, image, node, row_event

COLUMNS = {"id": INT, "v": TEXT}
IMAGE = image(column("id", optional=False), column("v", "VARCHAR", 2, length=9), key=("id",))


@dataclass
class Source:
    """A MySQL server that states what it does; `take` hands each record over as a batch of its own."""

    lake: MemorySink
    connector: Connector = field(default_factory=lambda: Connector("mysql"))

    def create(self, table: str, *ids: int) -> None:
        self.connector.change(entry("CREATE", f'"shop"."{table}"', IMAGE), table=table, ddl="CREATE TABLE")
        for id in ids:
            self.write(table, id)

    def write(self, table: str, id: int, value: str = "", op: str = "c") -> None:
        values = {"id": id, "v": value or f"{table}{id}"}
        record = self.connector.row(COLUMNS, table=table, values=values, op=op)
        key = json.loads(record.key or b"")
        self.connector.records[-1] = replace(record, key=json.dumps({**key, "payload": {"id": id}}).encode())

    def rename(self, old: str, new: str) -> None:
        told = {**entry("ALTER", f'"shop"."{new}"', IMAGE), "previousId": f'"shop"."{old}"'}
        self.connector.change(told, table=new, ddl=f"RENAME TABLE {old} TO {new}")

    def drop(self, table: str) -> None:
        told = {**entry("DROP", f'"shop"."{table}"', IMAGE), "table": None}
        self.connector.change(told, table=table, ddl=f"DROP TABLE {table}")

    def take(self, size: int = 1) -> dict[str, dict[int, str]]:
        """The live rows of each lake table, once all records are written in batches of a size."""
        records = self.connector.records
        for start in range(0, len(records), size):
            self.lake.take(records[start : start + size])
        assert (self.lake.withheld(), self.lake.stopped) == ({}, set())
        return {
            address.rpartition(".")[2].strip("`").rpartition(".")[2]: _read(table.read())
            for address, table in self.lake.tables.items()
            if table.live is not None
        }


def _read(rows: Iterable[dict[str, object]]) -> dict[int, str]:
    return {int(str(row["id"])): str(row["v"]) for row in rows if not row[DELETED]}


@pytest.fixture
def source(store: SqlStore) -> Source:
    policy = Policy(profile="autopilot")
    return Source(MemorySink(store, lambda _: None, "iceberg", policy, lambda _: False))


def test_a_renamed_table_takes_its_rows_along(source: Source) -> None:
    source.create("a", 1, 2)
    source.rename("a", "b")
    source.write("b", 2, "new", "u")
    source.rename("b", "c")
    source.write("c", 3)
    assert source.take() == {"c": {1: "a1", 2: "new", 3: "c3"}}
    (table,) = source.lake.lake()
    assert table.live.properties["schemaman.source"] == "srv.shop.c"


def test_a_table_takes_its_rows_along_whose_last_version_left_the_lake_as_it_was(source: Source) -> None:
    source.create("a", 1, 2)
    longer = image(column("id", optional=False), column("v", "VARCHAR", 2, length=20), key=("id",))
    for kind, table, ddl in (("ALTER", "a", "ALTER TABLE a MODIFY v"), ("ALTER", "b", "RENAME TABLE a TO b")):
        source.connector.change(entry(kind, f'"shop"."{table}"', longer), table=table, ddl=ddl)
    source.write("b", 2, "new", "u")
    assert source.take() == {"b": {1: "a1", 2: "new"}}


def test_two_tables_that_exchange_names_keep_their_rows(source: Source) -> None:
    source.create("a", 1)
    source.create("b", 2)
    for old, new in (("a", "x"), ("b", "a"), ("x", "b")):
        source.rename(old, new)
    source.write("a", 3)
    source.write("b", 4)
    assert source.take() == {"a": {2: "b2", 3: "a3"}, "b": {1: "a1", 4: "b4"}}


def _exchange(source: Source, one: str, other: str, aside: str) -> None:
    for old, new in ((one, aside), (other, one), (aside, other)):
        source.rename(old, new)


def test_tables_that_exchange_names_twice_in_one_batch_keep_their_rows(source: Source) -> None:
    """Of the tables that made room for one name, the first has moved on when the second is looked for."""
    for number, table in enumerate(("a", "b", "c")):
        source.create(table, number)
    for number, (one, other, aside) in enumerate((("b", "a", "x"), ("c", "a", "y")), 3):
        _exchange(source, one, other, aside)
        source.write("a", number)
    for number, table in enumerate(("a", "b", "c"), 5):
        source.write(table, number)
    assert source.take(100) == {
        "a": {2: "c2", 4: "a4", 5: "a5"},
        "b": {0: "a0", 6: "b6"},
        "c": {1: "b1", 3: "a3", 7: "c7"},
    }


@pytest.mark.parametrize("size", [3, 7, 100])
@pytest.mark.parametrize("second", ["x", "y"])
def test_tables_that_exchange_names_by_way_of_one_name_keep_their_rows(
    source: Source, second: str, size: int
) -> None:
    """The name in between is that of two tables after each other; each lake table knows of which it is."""
    for number, table in enumerate(("a", "b", "c")):
        source.create(table, number)
    for number, (one, other, aside) in enumerate((("a", "b", "x"), ("c", "b", second)), 3):
        _exchange(source, one, other, aside)
        source.write("a", number)
    for number, table in enumerate(("a", "b", "c"), 5):
        source.write(table, number)
    assert source.take(size) == {
        "a": {1: "b1", 3: "a3", 4: "a4", 5: "a5"},
        "b": {2: "c2", 6: "b6"},
        "c": {0: "a0", 7: "c7"},
    }


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_table_keeps_its_rows_that_has_had_one_name_twice(source: Source, size: int) -> None:
    """No row came between the two, so that its lake table still has the first of them."""
    for number, table in enumerate(("a", "b", "c"), 1):
        source.create(table, number)
    _exchange(source, "b", "c", "x")
    source.write("b", 4)
    _exchange(source, "c", "a", "x")
    for number, table in enumerate(("a", "b", "c"), 5):
        source.write(table, number)
    assert source.take(size) == {
        "a": {2: "b2", 5: "a5"},
        "b": {3: "c3", 4: "b4", 6: "b6"},
        "c": {1: "a1", 7: "c7"},
    }


@pytest.mark.parametrize("format", ["delta", "iceberg"])
@pytest.mark.parametrize("size", [1, 3, 6, 100])
@pytest.mark.parametrize(
    "exchanges", [("cbx:ac", "bax:bc", "acx:"), ("cax:", "acy:")], ids=["three exchanges", "back at once"]
)
def test_a_table_that_gets_its_first_name_back_has_the_rows_of_both_stays(
    store: SqlStore, exchanges: tuple[str, ...], size: int, format: str
) -> None:
    """No row came under its names in between, so that its lake table still shows the first stay.

    Paths keep their names: there the rows of the first stay are in the table before, with a note.
    """
    source = Source(MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False))
    rows: dict[str, dict[int, str]] = {}

    def write(table: str) -> None:
        id = sum(map(len, rows.values())) + 1
        rows.setdefault(table, {})[id] = f"{table}{id}"
        source.write(table, id)

    for table in "abc":
        source.create(table)
        write(table)
    for exchange in exchanges:
        _exchange(source, *exchange[:3])
        rows[exchange[0]], rows[exchange[1]] = rows[exchange[1]], rows[exchange[0]]
        for table in exchange[4:]:
            write(table)
    for table in "abc":
        write(table)
    source.take(size)
    found = [(str(t.source), _read(t.rows)) for t in source.lake.lake()]
    if format == "iceberg":
        assert sorted(found) == [(f"srv.shop.{table}", rows[table]) for table in "abc"]
    else:
        assert {id for _, mine in found for id in mine} == {id for mine in rows.values() for id in mine}


def test_a_table_that_was_rebuilt_beside_the_old_one_takes_its_place(source: Source) -> None:
    source.create("t", 1, 2)
    source.create("t_copy", 1, 2)
    source.rename("t", "t_old")
    source.rename("t_copy", "t")
    source.write("t", 2, "new", "u")
    assert source.take() == {"t": {1: "t_copy1", 2: "new"}, "t_old": {1: "t1", 2: "t2"}}


def test_a_table_that_was_made_anew_begins_beside_the_old_one(source: Source) -> None:
    for number in range(3):
        source.create("t", number, 10 + number)
        source.drop("t")
    source.create("t", 9)
    assert source.take() == {
        "t": {9: "t9"},
        "t__dropped_1": {0: "t0", 10: "t10"},
        "t__dropped_2": {1: "t1", 11: "t11"},
        "t__dropped_3": {2: "t2", 12: "t12"},
    }


@pytest.mark.parametrize(("move", "moved"), [("drop", "t__dropped_1"), ("rename", "u")])
def test_late_rows_of_a_table_that_has_moved_go_where_its_rows_are(
    source: Source, move: str, moved: str
) -> None:
    """A newer row than the moved table has, one that it lacks, and one that it has already."""
    source.create("t", 1, 2)
    source.write("t", 2, "newer", "u")
    source.write("t", 3)
    source.rename("t", "u") if move == "rename" else source.drop("t")
    source.create("t", 9)
    records, lake = source.connector.records, source.lake
    rows = [record for record in records if record.topic.endswith(".t")]
    lake.take([record for record in records if record not in rows[2:4]])
    lake.take(rows[1:4])
    assert (lake.withheld(), lake.stopped, lake.ended) == ({}, set(), set())
    found = {name.rpartition(".")[2].strip("`"): table for name, table in lake.tables.items()}
    assert _read(found[moved].read()) == {1: "t1", 2: "newer", 3: "t3"}
    assert _read(found["t"].read()) == {9: "t9"}


def test_a_table_that_was_dropped_keeps_its_lake_table_and_is_said_to_be_dropped(source: Source) -> None:
    source.create("t", 1, 2)
    source.drop("t")
    source.create("other", 3)
    assert source.take() == {"t": {1: "t1", 2: "t2"}, "other": {3: "other3"}}
    dropped = [
        h.table.table for h in map(source.lake.store.history, source.lake.store.tables()) if h and h.has_ended
    ]
    assert dropped == ["t"]
    assert source.lake.withheld() == {}


def test_a_path_whose_source_was_made_anew_gets_a_successor_and_a_renamed_one_its_rows(
    store: SqlStore,
) -> None:
    lake = MemorySink(store, lambda _: None, "delta", Policy(profile="autopilot"), lambda _: False)
    source = Source(lake)
    source.create("t", 1, 2)
    source.rename("t", "t_old")
    source.create("t", 7)
    source.drop("t")
    source.create("t", 8)
    source.write("t_old", 2, "new", "u")
    assert source.take() == {
        "t": {1: "t1", 2: "t2"},
        "t__2": {7: "t7"},
        "t__3": {8: "t8"},
        "t_old": {1: "t1", 2: "new"},
    }
    assert {table.live.properties["schemaman.source"] for table in lake.lake()} == {
        "srv.shop.t",
        "srv.shop.t_old",
    }


def _event(table: str, offset: int, id: int, value: str, op: str = "c", schema: str = "public") -> Record:
    fields, row = {"id": node("int32"), "v": node("string")}, {"id": id, "v": value}
    return row_event(fields, op, row, offset=offset, table=table, schema=schema)


def test_rows_of_two_tables_come_together_once_a_person_says_that_they_are_one(source: Source) -> None:
    lake = source.lake
    lake.take([_event("a", n, n, f"a{n}") for n in range(1, 5)])
    lake.take([_event("b", 5, 2, "new", "u"), _event("b", 6, 3, "b3", "d"), _event("b", 7, 9, "b9")])
    tables = {table.table: str(table) for table in lake.store.tables()}
    lake.decisions = Decisions(table_renames=(TableRename(tables["b"], tables["a"]),))
    lake.take([_event("b", 8, 8, "b8")])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    assert _read(lake.tables["ice.raw.`shop.public.b`"].read()) == {
        1: "a1", 2: "new", 4: "a4", 8: "b8", 9: "b9",
    }  # fmt: skip
    assert _read(lake.tables["ice.raw.`shop.public.a`"].read()).keys() == {1, 2, 3, 4}
    lake.take([_event("b", 9, 1, "b1", "d")])
    assert 1 not in _read(lake.tables["ice.raw.`shop.public.b`"].read())
    assert sum(step.startswith("INSERT") for step in lake.steps) == 1


@pytest.mark.parametrize(("name", "is_asked"), [("on_hand", True), ("at_hand", False)])
def test_a_renamed_table_is_asked_about_whose_names_are_adjusted_since(
    source: Source, name: str, is_asked: bool
) -> None:
    """The connector was started again in between, with `field.name.adjustment.mode=avro`."""
    for offset, text in ((1, "on hand"), (2, name)):
        fields = {"id": node("int32"), text: node("string")}
        row = {"id": offset, text: "x"}
        source.lake.take([row_event(fields, "c", row, offset=offset, table=f"t{offset}", schema="public")])
    store = source.lake.store
    found = list_table_questions([h for h in map(store.history, store.tables()) if h is not None])
    assert [question.table.rpartition(".")[2] for question in found] == (["t2"] if is_asked else [])


def test_a_table_that_went_on_beside_the_other_one_is_not_taken_over(source: Source) -> None:
    lake = source.lake
    lake.take([_event("a", 1, 1, "a1"), _event("b", 2, 2, "b2"), _event("a", 3, 3, "a3")])
    tables = {table.table: str(table) for table in lake.store.tables()}
    lake.decisions = Decisions(table_renames=(TableRename(tables["b"], tables["a"]),))
    lake.take([_event("b", 8, 8, "b8")])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    assert any("gives 1, not 0" in note for note in lake.notes)
    assert _read(lake.tables["ice.raw.`shop.public.b`"].read()).keys() == {2, 8}


def _stay(*there: Record) -> list[Record]:
    """A table that has another schema for a time."""
    return [*(_event("t", n, n, f"t{n}") for n in (1, 2, 3)), *there, _event("t", 9, 9, "t9")]


@pytest.mark.parametrize("size", [1, 20])
def test_a_table_that_was_in_another_schema_for_a_time_takes_its_rows_of_then(
    source: Source, size: int
) -> None:
    lake = source.lake
    records = _stay(_event("t", 4, 4, "t4", schema="aside"), _event("t", 5, 5, "t5", schema="aside"))
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    histories = [h for h in map(lake.store.history, lake.store.tables()) if h is not None]
    (asked,) = list_table_questions(histories)
    assert asked.text == "whether the table srv.shop.public.t was srv.shop.aside.t for a time"
    assert asked.commands == ("schemaman decide rename-table srv.shop.aside.t srv.shop.public.t",)
    lake.decisions = Decisions(table_renames=(TableRename("srv.shop.public.t", "srv.shop.aside.t"),))
    assert list_table_questions(histories, lake.decisions.table_renames) == ()
    lake.take([_event("t", 10, 2, "t2", "d")])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    assert _read(lake.tables["ice.raw.`shop.public.t`"].read()).keys() == {1, 3, 4, 5, 9}


def test_rows_of_a_stay_in_another_schema_are_not_mixed_with_older_ones(source: Source) -> None:
    lake = source.lake
    for record in _stay(_event("t", 4, 1, "new", "u", schema="aside")):
        lake.take([record])
    lake.decisions = Decisions(table_renames=(TableRename("srv.shop.public.t", "srv.shop.aside.t"),))
    lake.take([_event("t", 10, 10, "t10")])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    assert any("gives 1, not 0" in note for note in lake.notes)
    assert _read(lake.tables["ice.raw.`shop.public.t`"].read())[1] == "t1"


@pytest.mark.parametrize(
    "records",
    [
        [_event("t", 1, 1, "a"), _event("u", 2, 1, "a", schema="aside"), _event("t", 3, 1, "a")],
        [_event("t", 1, 1, "a"), _event("t", 2, 1, "a", schema="aside"), _event("t", 3, 1, "a"),
         _event("t", 4, 1, "a", schema="aside")],
        [_event("t", 1, 1, "a"), row_event({"id": node("int32")}, "c", {"id": 1}, offset=2, schema="aside"),
         _event("t", 3, 1, "a")],
    ],
    ids=["another name", "lives on", "other columns"],
)  # fmt: skip
def test_no_question_is_asked_of_a_table_that_is_another_one(source: Source, records: list[Record]) -> None:
    source.lake.take(records)
    store = source.lake.store
    assert list_table_questions([h for h in map(store.history, store.tables()) if h is not None]) == ()


def _exchange_twice(source: Source) -> None:
    source.create("a", 1)
    source.create("b", 2)
    for aside, number in (("x", 3), ("y", 5)):
        for old, new in (("a", aside), ("b", "a"), (aside, "b")):
            source.rename(old, new)
        source.write("a", number)
        source.write("b", number + 1)


def _rebuild_twice(source: Source) -> None:
    source.create("t", 1, 2)
    for number in (3, 4):
        source.create("t_copy", 1, number)
        source.rename("t", "t_old")
        source.rename("t_copy", "t")
        source.write("t", 1, f"new{number}", "u")
        source.drop("t_old")


def _make_anew_three_times(source: Source) -> None:
    source.create("other", 1)
    for number in range(3):
        source.create("t", number, 10 + number)
        source.write("other", 1, f"o{number}", "u")
        source.drop("t")
    source.create("t", 9)


def _rename_twice_and_make_anew(source: Source) -> None:
    source.create("z", 1)
    for old, new, id in (("z", "y", 2), ("y", "x", 3)):
        source.rename(old, new)
        source.write(new, id)
    source.create("z", 4)
    source.drop("x")
    source.create("x", 5)


def _turn_three_names(source: Source) -> None:
    """One statement of which each part is a record, without structures."""
    for number, table in enumerate("abc", 1):
        source.create(table, number)
    at = source.connector.at
    for old, new in (("a", "tmp"), ("b", "a"), ("c", "b"), ("tmp", "c")):
        source.connector.at = at
        source.connector.change(table="a,b,c,tmp", ddl=f"RENAME TABLE {old} TO {new}")
    for number, table in enumerate("abc", 4):
        source.write(table, number)


MOVES = (
    _exchange_twice, _rebuild_twice, _make_anew_three_times, _rename_twice_and_make_anew, _turn_three_names,
)  # fmt: skip
SIZES = (*range(1, 14), 1000) if PROOF else (1, 3, 1000)


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__.strip("_"))
@pytest.mark.parametrize("format", ["iceberg", *(["delta"] if PROOF else [])])
def test_rows_do_not_depend_on_where_batches_end(
    format: str, move: Callable[[Source], None], tmp_path: Path
) -> None:
    found = []
    for size in SIZES:
        with SqlStore.open(f"sqlite:///{tmp_path}/{size}.db", create=True) as store:
            lake = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
            source = Source(lake)
            move(source)
            found.append(source.take(size))
    assert found[1:] == found[:1] * (len(SIZES) - 1)
    written = {f"{row['id']}" for record in source.connector.records if (row := _read_row(record))}
    assert {str(id) for rows in found[0].values() for id in rows} == written


def test_a_table_made_anew_takes_no_rows_of_a_rename_that_an_earlier_one_had(source: Source) -> None:
    """All statements come at once, after rows under the names that the table had at first."""
    _rename_twice_and_make_anew(source)
    records, lake = source.connector.records, source.lake
    statements = [record for record in records if record.topic == "srv"]
    rows = [record for record in records if record.topic != "srv"]
    for batch in (statements[:1], rows[:2], statements[1:], rows[2:]):
        lake.take(batch)
    assert lake.withheld() == {}
    assert {
        name.rpartition(".")[2].strip("`"): _read(t.read()) for name, t in lake.tables.items() if t.live
    } == {
        "x": {5: "x5"},
        "x__dropped_1": {1: "z1", 2: "y2", 3: "x3"},
        "z": {4: "z4"},
        "z__dropped_1": {1: "z1"},
    }
    assert lake.stopped == set()


def _read_row(record: Record) -> dict[str, object]:
    """The row of a record after it; empty for a statement."""
    payload = json.loads(record.value or b"{}").get("payload", {})
    return payload.get("after") or {}


def _wait_through_an_end(source: Source, end: str) -> dict[str, dict[int, str]]:
    """Rows that wait while their table loses its name, which another one gets; what is where at last."""
    lake = source.lake
    lake.policy = Policy(rules=(PolicyRule("block", ("new-table",)),), profile="autopilot")
    source.create("t", 1, 2)
    lake.take(source.connector.records)
    assert len(lake.withheld()) == 2
    begun = len(source.connector.records)
    source.drop("t") if end == "dropped" else source.rename("t", "u")
    source.create("t", 9)
    lake.policy = Policy(profile="autopilot")
    lake.take(source.connector.records[begun:])
    lake.take([])
    return {
        name.rpartition(".")[2].strip("`"): _read(table.read())
        for name, table in lake.tables.items()
        if table.live is not None
    }


def test_rows_that_waited_while_their_table_was_dropped_get_a_table_of_their_own(source: Source) -> None:
    assert _wait_through_an_end(source, "dropped") == {"t": {9: "t9"}, "t__dropped_1": {1: "t1", 2: "t2"}}
    assert source.lake.withheld() == {}


def test_rows_that_waited_while_their_table_was_renamed_wait_until_its_lake_table_is_there(
    source: Source,
) -> None:
    assert _wait_through_an_end(source, "renamed") == {"t": {9: "t9"}}
    assert {place[2] for place in source.lake.withheld()} == {0, 1}
    source.write("u", 3)
    source.lake.take(source.connector.records[-1:])
    source.lake.take([])
    tables = {name.rpartition(".")[2].strip("`"): t for name, t in source.lake.tables.items()}
    assert _read(tables["shop..u" if "shop..u" in tables else "u"].read()) == {1: "t1", 2: "t2", 3: "u3"}
    assert source.lake.withheld() == {}


@pytest.mark.parametrize("rule", ["block", "ignore"])
def test_late_rows_of_a_table_that_no_lake_table_keeps_wait_until_a_person_leaves_them_out(
    source: Source, rule: Level
) -> None:
    lake = source.lake
    lake.policy = Policy(rules=(PolicyRule(rule, ("drop-table",)),), profile="autopilot")
    source.create("t", 1, 2)
    source.drop("t")
    source.create("t", 9)
    lake.take(source.connector.records)
    assert lake.ended == set()
    reasons = set(lake.withheld().values())
    (reason,) = reasons
    assert find_command(reason) == "schemaman decide confirm srv.shop.t@1 ended"
    (history,) = filter(None, map(lake.store.history, lake.store.tables()))
    first = history.versions[0]
    lake.decisions = Decisions(
        confirmations=(Confirmation("srv.shop.t", "ended", first.id, format_coordinates(first.at)),)
    )
    lake.take([])
    assert {place[2] for place in lake.ended} == {0, 1}
    assert set(lake.withheld().values()) == {"ended"}
    assert _read(next(iter(lake.tables.values())).read()) == {9: "t9"}


PAIRS = (("a", "tmp"), ("b", "a"), ("tmp", "b"))


@pytest.mark.parametrize("form", ["a record a table", "a record a table, and no structures", "one record"])
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_two_tables_that_exchange_names_in_one_statement_keep_their_rows(
    source: Source, form: str, size: int
) -> None:
    """Debezium writes a record a table, all of one position; releases up to 1.4 without structures."""
    connector = source.connector
    for table, id in (("a", 1), ("b", 2)):
        if form == "a record a table":
            source.create(table, id)
        else:
            connector.change(table=table, ddl=f"CREATE TABLE {table} (id INT PRIMARY KEY, v VARCHAR(9))")
            source.write(table, id)
    at = connector.at
    for old, new in PAIRS if form != "one record" else ():
        connector.at = at
        told = [entry("ALTER", f'"shop"."{new}"', IMAGE)] if form == "a record a table" else []
        connector.change(*told, table="a,b,tmp", ddl=f"RENAME TABLE {old} TO {new}")
    if form == "one record":
        pairs = ", ".join(f"{old} TO {new}" for old, new in PAIRS)
        connector.change(table="a,b,tmp", ddl=f"RENAME TABLE {pairs}")
    source.write("a", 3)
    source.write("b", 4)
    assert source.take(size) == {"a": {2: "b2", 3: "a3"}, "b": {1: "a1", 4: "b4"}}


@pytest.mark.parametrize("format", ["delta", "iceberg"])
@pytest.mark.parametrize("size", [1, 1000])
def test_columns_that_exchange_names_after_their_table_did_keep_the_values_of_earlier_rows(
    store: SqlStore, format: str, size: int
) -> None:
    """Between both exchanges no row comes, so that the lake table begins with the later columns."""
    source = Source(MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False))
    connector, wide = source.connector, ("id", "v", "w")

    def show(*names: str) -> Mapping[str, object]:
        texts = (column(n, "VARCHAR", at, length=9) for at, n in enumerate(names[1:], 2))
        return image(column("id", optional=False), *texts, key=("id",))

    def write(table: str, id: int, **values: str) -> None:
        connector.row(
            dict(zip(wide, (INT, TEXT, TEXT), strict=True)), table=table, values={"id": id, **values}
        )
        key = json.loads(connector.records[-1].key or b"")
        text = json.dumps({**key, "payload": {"id": id}}).encode()
        connector.records[-1] = replace(connector.records[-1], key=text)

    for table, id in (("a", 1), ("b", 2)):
        created = entry("CREATE", f'"shop"."{table}"', show(*wide))
        connector.change(created, table=table, ddl="CREATE TABLE")
        write(table, id, v=f"v{id}", w=f"w{id}")
    at = connector.at
    for old, new in PAIRS:
        connector.at = at
        renamed = entry("ALTER", f'"shop"."{new}"', show(*wide))
        connector.change(renamed, table="a,b,tmp", ddl=f"RENAME TABLE {old} TO {new}")
    for old, new, names in (("v", "x", "xw"), ("w", "v", "xv"), ("x", "w", "wv")):
        ddl = f"ALTER TABLE b RENAME COLUMN {old} TO {new}"
        connector.change(entry("ALTER", '"shop"."b"', show("id", *names)), table="b", ddl=ddl)
    write("a", 3, v="v3", w="w3")
    write("b", 4, v="v4", w="w4")
    for start in range(0, len(connector.records), size):
        source.lake.take(connector.records[start : start + size])
    rows = {t.source.table: {(r["id"], r["v"], r["w"]) for r in t.rows} for t in source.lake.lake()}
    assert source.lake.withheld() == {}
    assert rows == {"a": {(2, "v2", "w2"), (3, "v3", "w3")}, "b": {(1, "w1", "v1"), (4, "v4", "w4")}}


OTHER = image(column("id", optional=False), column("v", "TEXT", 2), column("w", "INT", 3), key=("id",))
BARE = {
    "in one record": ("RENAME TABLE a TO tmp, b TO a, tmp TO b",),
    "a record a table": tuple(f"RENAME TABLE {old} TO {new}" for old, new in PAIRS),
    "of ALTER TABLE": tuple(f"ALTER TABLE {old} RENAME TO {new}" for old, new in PAIRS),
}


@pytest.mark.parametrize("form", BARE)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_renames_without_structures_go_on_with_the_ones_before_them(
    source: Source, form: str, size: int
) -> None:
    """Releases up to 1.4 publish the statement alone, and the tables had their structures from before."""
    source.create("a", 1)
    connector = source.connector
    connector.change(entry("CREATE", '"shop"."b"', OTHER), table="b", ddl="CREATE TABLE")
    source.write("b", 2)
    for ddl in BARE[form]:
        connector.change(table="a,b,tmp", ddl=ddl)
    source.write("a", 3)
    source.write("b", 4)
    assert source.take(size) == {"a": {2: "b2", 3: "a3"}, "b": {1: "a1", 4: "b4"}}
    widths = {table.source.table: "w" in table.live.schema.names for table in source.lake.lake()}
    assert widths == {"a": True, "b": False}


@pytest.mark.parametrize(
    "before",
    [["ALTER TABLE a ADD x INT", "RENAME TABLE a TO b"], ["ALTER TABLE a RENAME TO b, ADD x INT"]],
    ids=["a statement before", "the same statement"],
)
def test_a_rename_takes_no_structure_that_another_statement_may_have_changed(
    source: Source, before: list[str]
) -> None:
    source.create("a", 1)
    for ddl in before:
        source.connector.change(table="b", ddl=ddl)
    source.write("b", 3)
    for record in source.connector.records:
        source.lake.take([record])
    assert [_read(table.rows) for table in source.lake.lake()] == [{1: "a1"}]
    (reason,) = source.lake.withheld().values()
    assert reason.startswith("the source renamed srv.shop.a to srv.shop.b")


WIDE = image(
    column("id", optional=False), column("v", "VARCHAR", 2, length=9), column("w", "INT", 3), key=("id",)
)


@pytest.mark.parametrize(("profile", "format"), [("careful", "delta"), ("autopilot", "iceberg")])
@pytest.mark.parametrize("grows", [False, True])
def test_rows_under_a_former_name_go_into_the_table_that_was_made_under_the_next_one(
    source: Source, profile: Profile, format: str, grows: bool
) -> None:
    source.lake.policy, source.lake.format = Policy(profile=profile), format
    source.create("a", 1, 2)
    source.rename("a", "b")
    if grows:
        source.connector.change(entry("ALTER", '"shop"."b"', WIDE), table="b", ddl="ALTER TABLE b ADD w INT")
    source.write("b", 2, "new", "u")
    source.write("b", 3)
    # the topic of schema changes is ahead, and that of the former name comes last
    source.connector.records.sort(key=lambda record: (record.topic != "srv", -ord(record.topic[-1])))
    assert source.take() == {"b": {1: "a1", 2: "new", 3: "b3"}}


def test_rows_under_a_former_name_wait_where_their_columns_have_changed_since(source: Source) -> None:
    source.create("a", 1)
    source.rename("a", "b")
    other = image(column("id", optional=False), column("x", "INT", 2), key=("id",))
    source.connector.change(entry("ALTER", '"shop"."b"', other), table="b", ddl="ALTER TABLE b …")
    values = {"id": 3, "x": 7}
    source.connector.row({"id": INT, "x": INT}, table="b", values=values)
    key = json.loads(source.connector.records[-1].key or b"")
    source.connector.records[-1] = replace(
        source.connector.records[-1], key=json.dumps({**key, "payload": {"id": 3}}).encode()
    )
    source.connector.records.sort(key=lambda record: (record.topic != "srv", -ord(record.topic[-1])))
    for record in source.connector.records:
        source.lake.take([record])
    ((place, reason),) = source.lake.withheld().items()
    assert place == ("srv.shop.a", 0, 0)
    assert "the source has renamed srv.shop.a, its lake table is ice.raw.`shop..b`" in reason
    assert [table.source.table for table in source.lake.lake()] == ["b"]


@pytest.mark.parametrize("change", ["made anew", "exchanged"])
def test_a_table_with_rows_of_the_next_one_of_its_name_is_not_moved(source: Source, change: str) -> None:
    source.create("t", 1)
    if change == "made anew":
        source.drop("t")
        source.create("t", 2, 3)
    else:
        source.create("n", 7)
        source.rename("t", "o")
        source.rename("n", "t")
        source.write("t", 2)
        source.write("t", 3)
    records = source.connector.records
    early = next(each for each in records if each.topic == "srv.shop.t" and each.offset == 1)
    # one row of the new table comes before the statements that made it
    source.lake.take([*records[:2], early])
    for record in records[2:]:
        if record is not early:
            source.lake.take([record])
    (table,) = (each for each in source.lake.lake() if each.source.table == "t")
    assert _read(table.rows) == {1: "t1", 2: "t2"}
    reason = source.lake.withheld()["srv.shop.t", 0, 2]
    assert reason.startswith("1 of its rows were written before an earlier change of the source")
    assert "DELETE FROM" in reason
    assert source.lake.stopped


@pytest.mark.parametrize("size", [1, 100])
@pytest.mark.parametrize("again", [False, True])
def test_a_table_that_got_another_key_before_its_rename_goes_on_in_its_newest_table(
    source: Source, again: bool, size: int
) -> None:
    """The rows of the earlier key stay in their table, and newer ones are in that of the new name."""
    lake, connector = source.lake, source.connector
    source.create("a", 1, 2)
    source.write("a", 3, "a2")
    keyed = image(column("id", optional=False), column("v", "VARCHAR", 2, length=9), key=("v",))

    def write(table: str, value: str) -> None:
        record = connector.row(COLUMNS, ("v",), table=table, values={"id": 7, "v": value})
        key = json.dumps({**json.loads(record.key or b""), "payload": {"v": value}}).encode()
        connector.records[-1] = replace(record, key=key)

    connector.change(entry("ALTER", '"shop"."a"', keyed), table="a", ddl="ALTER TABLE a ADD PRIMARY KEY (v)")
    write("a", "x")
    connector.change(entry("ALTER", '"shop"."b"', keyed), table="b", ddl="RENAME TABLE a TO b")
    write("b", "y")
    if again:
        source.create("a", 9)
    connector.change(entry("ALTER", '"shop"."c"', keyed), table="c", ddl="RENAME TABLE b TO c")
    write("c", "z")
    records = connector.records
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    found = {
        address.rpartition(".")[2].strip("`"): sorted(r["v"] for r in table.read())
        for address, table in lake.tables.items()
        if table.live is not None
    }
    former = {"a__dropped_1": ["a1", "a2", "a2"], "a": ["a9"]} if again else {"a": ["a1", "a2", "a2"]}
    assert found == {**former, "c": ["x", "y", "z"]}
    tables = [table.live for table in lake.tables.values() if table.live is not None]
    links = [read_record(table.properties).successor for table in tables]
    assert [link.rpartition(".")[2].strip("`") for link in links if link] == ["c"]


def move_to_archive(source: Source, old: str) -> None:
    """Move a table of the session: the record has the database of the new name alone."""
    entry_of_move = entry("ALTER", '"archive"."t_old"', IMAGE)
    ddl = f"RENAME TABLE {old} TO archive.t_old"
    source.connector.change(entry_of_move, table="t_old", ddl=ddl, database="archive")


@pytest.mark.parametrize("size", [1, 100])
def test_a_table_that_was_moved_to_another_database_takes_its_rows_along(source: Source, size: int) -> None:
    source.create("t", 1)
    move_to_archive(source, "t")
    source.create("t", 9)
    assert source.take(size) == {"t_old": {1: "t1"}, "t": {9: "t9"}}
    moved = source.lake.store.history(TableId("srv", "archive", "", "t_old"))
    assert moved is not None
    assert [alias.name for alias in moved.aliases if alias.kind == "table"] == ["srv.shop.t"]


@pytest.mark.parametrize("old", ["archive.t", "other"])
def test_a_table_that_may_be_another_one_is_not_moved_between_databases(source: Source, old: str) -> None:
    """The statement names the database, or a table of which no record tells."""
    source.create("t", 1)
    move_to_archive(source, old)
    assert source.take() == {"t": {1: "t1"}}


def _pass_on(source: Source) -> None:
    """A table that has two new names one after the other, and no row under the first of them."""
    source.create("a", 1, 2)
    source.rename("a", "m")
    source.rename("m", "b")
    source.write("b", 3)


def _take_in_order(source: Source, *numbers: int) -> None:
    for number in numbers:
        source.lake.take([source.connector.records[number]])


def test_rows_beside_those_of_a_former_name_are_stated_also_where_names_lie_in_between(
    source: Source,
) -> None:
    _pass_on(source)
    _take_in_order(source, 0, 1, 5, 2, 3, 4)
    (reason,) = source.lake.quiet.values()
    assert "its rows were written before the rename of srv.shop.a to srv.shop.b was read" in reason


def test_a_table_that_still_has_the_rows_of_the_former_one_of_its_name_is_not_to_be_dropped(
    source: Source,
) -> None:
    source.create("t", 1)
    source.create("n", 7)
    source.rename("t", "o")
    source.rename("n", "t")
    source.write("t", 2)
    _take_in_order(source, 0, 1, 2, 3, 4, 5)
    assert not any("drop it" in reason.lower() for reason in source.lake.quiet.values())
    _take_in_order(source, 6)
    assert (source.lake.withheld(), source.lake.stopped) == ({}, set())


@pytest.mark.parametrize("is_keyed", [True, False])
def test_late_rows_of_a_table_whose_rows_another_one_has_taken_go_there(
    source: Source, is_keyed: bool
) -> None:
    """A table at a path is not renamed: the one under the next name takes its rows over, and later ones."""
    source.lake.format = "delta"
    _pass_on(source)
    records = source.connector.records
    if not is_keyed:
        records[:] = [each if each.topic == "srv" else replace(each, key=None) for each in records]
        records[:] = [
            each
            if each.topic != "srv"
            else replace(each, value=(each.value or b"").replace(b'["id"]', b"[]"))
            for each in records
        ]
    _take_in_order(source, 0, 1, 3, 4, 5, 2)
    assert (source.lake.withheld(), source.lake.stopped) == ({}, set())
    (table,) = source.lake.lake()
    assert sorted(row["id"] for row in table.rows) == [1, 2, 3]


def test_late_rows_go_into_the_successor_that_has_the_rows_of_their_next_name(source: Source) -> None:
    source.lake.format = "delta"
    source.create("t", 1)
    source.create("n", 7)
    source.rename("t", "o")
    source.rename("n", "t")
    source.write("t", 2)
    _take_in_order(source, 0, 1, 2, 4, 5, 6, 3)
    assert (source.lake.withheld(), source.lake.stopped - {"/lake/shop..t"}) == ({}, set())
    assert [sorted(_read(table.rows)) for table in source.lake.lake() if "t" in table.source.table] == [
        [1],
        [2, 7],
    ]


@pytest.mark.parametrize("profile", ["careful", "autopilot"])
def test_two_tables_of_one_name_and_structure_are_two_also_if_their_statements_come_late(
    source: Source, profile: Profile
) -> None:
    source.lake.policy = Policy(profile=profile)
    source.create("t", 1)
    source.drop("t")
    source.create("t", 2)
    _take_in_order(source, 1, 0, 2, 3, 4)
    for table in source.lake.lake():
        assert len(_read(table.rows)) < 2
    assert all(source.lake.withheld().values())


def test_a_table_of_rows_ahead_of_their_statements_makes_room_for_later_ones_of_its_name(
    source: Source,
) -> None:
    """Its version was read from a row, and the statements of three tables of one structure came later."""
    for number in range(3):
        source.create("t", number, 10 + number)
        source.drop("t")
    source.create("t", 9)
    told = [record for record in source.connector.records if record.topic == "srv"]
    rows = [record for record in source.connector.records if record.topic != "srv"]
    for records in (told[:2], rows[:3], told[2:], rows[3:]):
        source.lake.take(records)
    found = {table.live.name: _read(table.read()) for table in source.lake.tables.values() if table.live}
    assert sorted(map(sorted, found.values())) == [[0, 10], [1, 11], [2, 12], [9]]
    assert source.lake.withheld() == {}


@pytest.mark.parametrize("format", ["iceberg", "delta"])
def test_a_table_whose_rows_were_taken_is_no_place_of_rows_any_more(source: Source, format: str) -> None:
    """Both earlier names had a table when their renames came; a row of the first one comes last."""
    source.lake.format = format
    source.create("a", 1, 6)
    source.rename("a", "b")
    source.write("b", 2)
    source.rename("b", "c")
    source.create("a", 4)
    source.write("c", 3)
    records, lake = source.connector.records, source.lake
    _take_in_order(source, 0, 1, 4)
    lake.take([records[number] for number in (3, 5, 6)])
    assert lake.stopped  # the table of the second name, which has none of the rows of the first one
    lake.take(records[7:])
    _take_in_order(source, 2)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    rows = {name: _read(table.read()) for name, table in lake.tables.items() if table.live}
    at = next(name for name in rows if name.strip("`").endswith("shop..c"))
    assert rows[at] == {1: "a1", 2: "b2", 3: "c3", 6: "a6"}
    taken = next(read_record(t.live.properties).taken for n, t in lake.tables.items() if n == at and t.live)
    assert {name for name, ids in rows.items() if ids.keys() < rows[at].keys()} == {*taken}
    assert [ids for name, ids in rows.items() if name not in (at, *taken)] == [{4: "a4"}]
    copies = [name for name in taken if "dropped" in name]
    assert all(any(name in note and "it may be dropped" in note for note in lake.notes) for name in copies)
