"""The traps of change streams: a small recording of each, and where it lies in the real ones."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from tests.lake_state.cells import PLACEHOLDER, UNTOLD
from tests.lake_state.compare import Shape, compare
from tests.lake_state.fold import State, Table, fold
from tests.lake_state.made_recordings import Made
from tests.lake_state.recording import read
from tests.lake_state.truth import list_renamed_tables
from tests.support.checkout import CAPTURES

REAL = CAPTURES / "postgres"


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def rows_of(state: State, name: str, life: int | None = None) -> list[dict[str, object]]:
    return [row.cells for row in state.table("public", name, life).rows]


def test_a_placeholder_of_a_big_value_is_no_value(made: Made) -> None:
    made.table("doc", {"id": "integer", "rev": "integer", "body": "text"}, ["id"])
    made.event("c", "doc", {"id": 1, "rev": 1, "body": "long"})
    made.event("u", "doc", {"id": 1, "rev": 2, "body": PLACEHOLDER})
    made.event("u", "doc", {"id": 2, "rev": 2, "body": PLACEHOLDER})
    table = fold(made.written()).table("public", "doc")
    assert [row.cells for row in table.rows] == [
        {"id": 1, "rev": 2, "body": "long"},
        {"id": 2, "rev": 2, "body": UNTOLD},
    ]
    shape = Shape({"id": "INT", "rev": "INT", "body": "STRING"}, ("id",))
    fooled: list[dict[str, object]] = [
        {"id": 1, "rev": 2, "body": PLACEHOLDER},
        {"id": 2, "rev": 2, "body": None},
    ]
    assert [d.what for d in compare(table, fooled, shape)] == ["cell", "cell"]


def test_it_is_in_real_recordings_in_texts_and_in_arrays() -> None:
    for name in ("shop-json", "shop-avro"):
        raw = [e.after for e in read(REAL / name) if e.place[0].endswith("documents") and e.op == "u"]
        assert any(image and image["body"] == PLACEHOLDER for image in raw)
        assert any(image and image["pages"] == [PLACEHOLDER] for image in raw)
        rows = fold(REAL / name).table("shop", "documents").rows
        assert {row.cells["pages"] for row in rows} == {("p" * 4000,)}
        assert {row.cells["body"] for row in rows} == {None, "abc " * 1000}


def test_a_row_whose_key_changes_takes_its_big_value_along(made: Made) -> None:
    made.table("doc", {"id": "integer", "body": "text"}, ["id"])
    made.event("c", "doc", {"id": 1, "body": "long"})
    gone = made.event("d", "doc", None, {"id": 1, "body": None}, headers=["__debezium.newkey", '{"id": 7}'])
    made.event(
        "c", "doc", {"id": 7, "body": PLACEHOLDER}, again=gone, headers=["__debezium.oldkey", '{"id": 1}']
    )
    assert rows_of(fold(made.written()), "doc") == [{"id": 7, "body": "long"}]


def test_a_column_of_the_key_that_is_renamed_stays_the_key(made: Made) -> None:
    made.table("person", {"id": "integer", "name": "text"}, ["id"])
    made.event("c", "person", {"id": 1, "name": "a"})
    made.table("person", {"no": "integer", "name": "text"}, ["no"], no=1)
    made.event("u", "person", {"no": 1, "name": "b"})
    table = fold(made.written()).table("public", "person")
    assert (table.key, [row.cells for row in table.rows]) == (("no",), [{"no": 1, "name": "b"}])


def test_it_is_in_the_recording_of_a_downtime() -> None:
    state = fold(REAL / "shop-downtime")
    payments = state.table("shop", "payments")
    assert payments.key == ("currency", "id")
    assert len(payments.rows) == 25
    keys = {tuple(e.key or ()) for e in read(REAL / "shop-downtime") if e.place[0].endswith("payments")}
    assert ("currency",) in keys  # the half of a key that no table ever had


def test_another_key_finds_the_rows_of_before(made: Made) -> None:
    made.table("line", {"a": "integer", "b": "integer", "n": "integer"}, ["a"])
    made.event("c", "line", {"a": 1, "b": 1, "n": 1})
    made.event("c", "line", {"a": 2, "b": 1, "n": 2})
    made.table("line", {"a": "integer", "b": "integer", "n": "integer"}, ["b", "a"])
    made.event("u", "line", {"a": 2, "b": 1, "n": 3})
    assert rows_of(fold(made.written()), "line") == [{"a": 1, "b": 1, "n": 1}, {"a": 2, "b": 1, "n": 3}]
    assert len(fold(REAL / "shop-json").table("shop", "order_lines").rows) == 48


def test_a_number_keeps_its_digits_when_its_column_gets_some(made: Made) -> None:
    made.settings["decimal.handling.mode"] = "string"
    made.table("bill", {"id": "integer", "total": "integer"}, ["id"])
    made.event("c", "bill", {"id": 1, "total": 3})
    made.table("bill", {"id": "integer", "total": "numeric(12,2)"}, ["id"])
    made.event("c", "bill", {"id": 2, "total": "1.25"})
    table = fold(made.written()).table("public", "bill")
    shape = Shape({"id": "INT", "total": "INT"}, ("id",))
    rounded = compare(table, [{"id": 1, "total": 3}, {"id": 2, "total": 1}], shape)
    assert [d.what for d in rounded] == ["type", "cell"]


def test_it_is_in_the_recording_of_a_crash() -> None:
    refunds = fold(REAL / "shop-crash").table("shop", "refunds")
    assert {row.cells["cents"] for row in refunds.rows} == {Decimal(4), Decimal("0.04")}
    told = [e.after for e in read(REAL / "shop-crash") if e.place[0].endswith("refunds") and e.after]
    assert "fQ==" in {image["cents"] for image in told}  # 1.25, in a column that held whole cents before


def test_a_table_made_again_under_its_name_is_another(made: Made) -> None:
    made.table("move", {"id": "integer", "n": "integer"}, ["id"])
    made.event("c", "move", {"id": 1, "n": 1})
    made.drop("move")
    made.table("move", {"id": "integer", "qty": "text"}, ["id"])
    made.event("c", "move", {"id": 1, "qty": "x"})
    state = fold(made.written())
    assert (rows_of(state, "move", 1), rows_of(state, "move", 2)) == (
        [{"id": 1, "n": 1}],
        [{"id": 1, "qty": "x"}],
    )
    assert [state.table("public", "move", life).ended for life in (1, 2)] == [True, False]
    movements = [t for t in fold(REAL / "shop-json").tables.values() if t.name[1] == "movements"]
    assert [(t.ended, t.key, len(t.rows)) for t in movements] == [(True, (), 1), (False, ("id",), 2)]


def test_a_renamed_column_keeps_its_old_values(made: Made) -> None:
    made.table("man", {"id": "integer", "phone": "text", "x": "text", "y": "text"}, ["id"])
    made.event("c", "man", {"id": 1, "phone": "1", "x": "x", "y": "y"})
    columns = {"id": "integer", "call": "text", "y": "text", "x": "text"}
    made.table("man", columns, ["id"], call=2, y=3, x=4)
    made.event("c", "man", {"id": 2, "call": "2", "y": "x", "x": "y"})
    assert rows_of(fold(made.written()), "man") == [
        {"id": 1, "call": "1", "y": "x", "x": "y"},
        {"id": 2, "call": "2", "y": "x", "x": "y"},
    ]
    stock = fold(REAL / "shop-json").table("inventory", "stock")  # on_hand and reserved swapped their names
    assert {row.cells["on_hand"] for row in stock.rows} == {1, 3, None}
    assert {row.cells["reserved"] for row in stock.rows} == {10 * n for n in range(1, 13)}


def test_a_dropped_column_made_again_has_no_old_values(made: Made) -> None:
    made.table("order", {"id": "integer", "note": "text"}, ["id"])
    made.event("c", "order", {"id": 1, "note": "old"})
    made.table("order", {"id": "integer", "note": "text"}, ["id"], note=3)
    made.event("c", "order", {"id": 2, "note": "new"})
    table = fold(made.written()).table("public", "order")
    assert [(row.cells, row.left) for row in table.rows] == [
        ({"id": 1}, {"note": "old"}),
        ({"id": 2, "note": "new"}, {}),
    ]


def test_a_table_that_is_renamed_goes_on_under_the_new_name_alone(made: Made) -> None:
    made.table("old", {"id": "integer"}, ["id"])
    made.event("c", "old", {"id": 1})
    made.rename("old", "new")
    made.event("c", "new", {"id": 2})
    state = fold(made.written())
    assert (rows_of(state, "old"), rows_of(state, "new")) == ([{"id": 1}], [{"id": 2}])
    assert state.table("public", "old").ended
    bookshop = fold(CAPTURES / "mariadb" / "bookshop-mariadb-3.5.0-json")  # where a statement tells it
    assert len(bookshop.table("bookshop", "writer_list").rows) == 6
    assert {row.cells["isbn"] for row in bookshop.table("bookshop", "book").rows} == {"c", "n1"}


def test_a_truncate_leaves_what_came_after_it(made: Made) -> None:
    made.table("log", {"id": "integer"}, ["id"])
    first = made.event("c", "log", {"id": 1})
    made.event("t", "log", key={})
    made.event("c", "log", {"id": 2})
    made.event("c", "log", {"id": 1}, again=first)  # delivered once more, and older than the truncate
    assert rows_of(fold(made.written()), "log") == [{"id": 2}]
    assert len(fold(REAL / "shop-json").table("inventory", "movements", 1).rows) == 1
    assert len(fold(REAL / "shop-oldest").table("inventory", "movements", 1).rows) == 8  # never sent by 1.4


def test_what_comes_twice_happens_once_and_in_its_own_time(made: Made) -> None:
    made.table("back", {"id": "integer", "n": "integer"}, ["id"])
    first = made.event("c", "back", {"id": 1, "n": 1})
    second = made.event("u", "back", {"id": 1, "n": 2})
    gone = made.event("c", "back", {"id": 2, "n": 1})
    made.event("d", "back", None, {"id": 2, "n": 0})
    made.event("u", "back", {"id": 1, "n": 2}, again=second)
    made.event("c", "back", {"id": 1, "n": 1}, again=first)
    made.event("c", "back", {"id": 2, "n": 1}, again=gone)
    assert rows_of(fold(made.written()), "back") == [{"id": 1, "n": 2}]
    events = read(REAL / "shop-crash")
    changes = [(e.source["lsn"], e.op, str(e.key)) for e in events if not e.snapshot]
    assert len(changes) > len(set(changes))


def test_a_table_without_a_key_counts_a_repetition_once(made: Made) -> None:
    made.table("hit", {"page": "text"}, identity="f")
    first = made.event("c", "hit", {"page": "/"})
    made.event("c", "hit", {"page": "/"})
    made.event("c", "hit", {"page": "/"}, again=first)
    made.event("d", "hit", None, {"page": "/"})
    table = fold(made.written()).table("public", "hit")
    assert [row.cells for row in table.rows] == [{"page": "/"}]
    assert [change.op for change in table.appended] == ["c", "c", "d"]


def test_a_rename_names_anew_what_was_appended_before(made: Made) -> None:
    """A name that another column had before is that of the column that has it at the end."""
    made.table("hit", {"page": "text", "old": "text"}, identity="f")
    made.event("c", "hit", {"page": "/", "old": "gone"})
    made.table("hit", {"old": "text"}, identity="f", old=1)
    made.event("c", "hit", {"old": "/b"})
    table = fold(made.written()).table("public", "hit")
    assert [change.after for change in table.appended] == [{"old": "/"}, {"old": "/b"}]
    assert table.appended[0].sent == {"page": "/", "old": "gone"}
    shape = Shape(
        {"old": "STRING", "t": "STRING", "p": "INT", "o": "INT"}, (), frozenset("tpo"), None, ("t", "p", "o")
    )
    first, last = (
        {"old": change.after["old"], **dict(zip("tpo", change.place, strict=True))}
        for change in table.appended
        if change.after
    )
    assert not compare(table, [first, last], shape)
    assert not compare(table, [{**first, "old": "gone"}, last], shape)
    assert [d.what for d in compare(table, [{**first, "old": "/x"}, last], shape)] == ["cell"]


def test_a_withheld_event_may_still_tell_the_structure(made: Made) -> None:
    made.table("man", {"id": "integer", "phone": "text"}, ["id"])
    made.event("c", "man", {"id": 1, "phone": "1"})
    made.table("man", {"id": "integer", "call": "text"}, ["id"], call=2)
    made.event("u", "man", {"id": 1, "call": "2"})
    folder = made.written()
    withheld = [list(read(folder))[-1].place]
    assert rows_of(fold(folder, withheld), "man") == [{"id": 1, "phone": "1"}]
    assert rows_of(fold(folder, withheld, keep_structures=True), "man") == [{"id": 1, "call": "1"}]
    (row,) = fold(folder).table("public", "man").rows
    assert row.spelled[2] == {"phone": "1", "call": "2"}


def test_the_source_orders_rows_and_not_their_partitions(made: Made) -> None:
    made.table("busy", {"id": "integer", "n": "integer"}, ["id"])
    made.event("c", "busy", {"id": 1, "n": 1}, partition=1)
    late = made.event("u", "busy", {"id": 1, "n": 2}, partition=0)
    newest = made.event("u", "busy", {"id": 1, "n": 3}, partition=1)
    made.event("u", "busy", {"id": 1, "n": 3}, partition=0, again=newest)
    made.event("u", "busy", {"id": 1, "n": 2}, partition=1, again=late)
    assert rows_of(fold(made.written()), "busy") == [{"id": 1, "n": 3}]
    places = {e.place[1] for e in read(REAL / "shop-busy")}
    lsns = [e.source["lsn"] for e in read(REAL / "shop-busy") if e.place[1] == 0 and not e.snapshot]
    assert places == {0, 1, 2, 3}
    assert lsns != sorted(lsns)


def test_a_row_that_is_read_beside_the_stream_is_as_new_as_its_reading(made: Made) -> None:
    made.table("cat", {"id": "integer", "n": "integer"}, ["id"])
    made.event("c", "cat", {"id": 1, "n": 1})
    made.event("r", "cat", {"id": 1, "n": 1}, snapshot="incremental")
    made.event("u", "cat", {"id": 1, "n": 2})
    made.event("r", "cat", {"id": 2, "n": 5}, snapshot="incremental")
    made.event("d", "cat", None, {"id": 2, "n": 5})
    assert rows_of(fold(made.written()), "cat") == [{"id": 1, "n": 2}]
    incremental = [e for e in read(REAL / "shop-incremental") if e.source.get("snapshot") == "incremental"]
    assert len(incremental) > 60
    assert len(fold(REAL / "shop-incremental").table("shop", "catalog").rows) == 120


def test_a_snapshot_that_is_taken_again_doubles_nothing(made: Made) -> None:
    made.table("wish", {"id": "integer", "n": "integer"}, ["id"])
    made.event("r", "wish", {"id": 1, "n": 1}, snapshot="true")
    made.event("u", "wish", {"id": 1, "n": 2})
    made.event("r", "wish", {"id": 1, "n": 2}, snapshot="true")
    assert rows_of(fold(made.written()), "wish") == [{"id": 1, "n": 2}]
    assert len(fold(REAL / "shop-incremental").table("shop", "wishlist").rows) == 61


def test_flattened_rows_keep_to_their_own_table(made: Made) -> None:
    unwrap = "transforms.unwrap."
    made.settings[f"{unwrap}type"] = "io.debezium.transforms.ExtractNewRecordState"
    made.settings[f"{unwrap}add.fields"] = "op,table,source.schema,source.txId"
    made.settings[f"{unwrap}delete.tombstone.handling.mode"] = "rewrite"
    for name in ("eu", "us"):
        made.table(name, {"id": "integer", "n": "integer", "__mine": "text"}, ["id"])
    for step, name, op in ((1, "eu", "c"), (2, "us", "c"), (2, "us", "d")):
        told = {"id": 1, "n": 0, "__mine": "m", "__op": op, "__table": name, "__source_schema": "public"}
        deleted = "true" if op == "d" else "false"
        made.raw("made.all", {"id": 1}, {**told, "__source_txId": step, "__deleted": deleted})
    state = fold(made.written())
    assert rows_of(state, "eu") == [{"id": 1, "n": 0, "__mine": "m"}]
    assert rows_of(state, "us") == []


def test_it_is_in_two_real_recordings() -> None:
    state = fold(REAL / "shop-flat-routed")
    assert {len(state.table("shop", name).rows) for name in ("sales_eu", "sales_us")} == {20, 19}
    topics = {event.place[0] for event in read(REAL / "shop-flat-routed")}
    assert topics == {"shopdb.inventory.parts", "shopdb.shop.sales"}


def test_records_without_schemas_are_read_by_the_modes_that_were_set(made: Made) -> None:
    made.settings |= {"decimal.handling.mode": "double", "time.precision.mode": "connect"}
    columns = {"id": "integer", "n": "numeric(20,10)", "at": "timestamp(6) without time zone"}
    made.table("mode", columns, ["id"])
    made.event("c", "mode", {"id": 1, "n": 0.1, "at": 1704067200123})
    at = datetime(2024, 1, 1, 0, 0, 0, 123000)  # noqa: DTZ001 – the wall clock of the source
    assert rows_of(fold(made.written()), "mode") == [{"id": 1, "n": 0.1, "at": at}]
    types = fold(REAL / "shop-modes").table("shop", "all_types").rows
    assert any(row.cells["c_num_ps"] == 1234567890.0123458 for row in types)


def test_an_event_that_was_withheld_did_not_happen(made: Made) -> None:
    made.table("t", {"id": "integer", "n": "integer"}, ["id"])
    made.event("c", "t", {"id": 1, "n": 1})
    made.event("u", "t", {"id": 1, "n": 2})
    folder = made.written()
    state = fold(folder, withheld={("made.public.t", 0, 1)})
    assert rows_of(state, "t") == [{"id": 1, "n": 1}]
    assert isinstance(state.table("public", "t"), Table)


def test_a_column_that_had_two_names_may_be_known_by_each_of_them(made: Made) -> None:
    """Who was not told of the rename has two columns, each with the last value under its name."""
    made.table("t", {"id": "integer", "note": "text"}, ["id"])
    made.event("c", "t", {"id": 1, "note": "old"})
    made.table("t", {"id": "integer", "remark": "text"}, ["id"], remark=2)
    made.event("u", "t", {"id": 1, "remark": "new"})
    made.table("t", {"id": "integer"}, ["id"])
    made.event("c", "t", {"id": 2})
    table = fold(made.written()).table("public", "t")
    assert [(row.left, row.left_as) for row in table.rows] == [
        ({"remark": "new"}, {"remark": {"note": "old", "remark": "new"}}),
        ({}, {}),
    ]
    shape = Shape({"id": "INT", "note": "STRING"}, ("id",))
    for value, differences in (("old", []), ("new", []), ("other", ["cell"]), (None, ["cell"])):
        there: list[dict[str, object]] = [{"id": 1, "note": value}, {"id": 2, "note": None}]
        assert [d.what for d in compare(table, there, shape)] == differences


def test_names_that_were_misread_are_no_other_tables_or_columns() -> None:
    state = fold(REAL / "shop-names-avro")
    names = [name for _, name, _ in state.tables]
    assert names.count("Ünïcode") == 1
    stock = state.table("Inventory-2", "Stock#1")
    assert (stock.spellings["αβ"], stock.spellings["é"]) == (("____", "__"), ("__", "_"))
    types = {"SKU_": "STRING", "On_Hand": "INT", "__": "STRING", "_": "STRING"}
    rows = [
        {"SKU_": r.cells["SKU#"], "On_Hand": r.cells["On Hand"], "__": r.cells["αβ"], "_": r.cells["é"]}
        for r in stock.rows
    ]
    assert compare(stock, rows, Shape(types, ("SKU_",))) == []


def test_the_names_of_statements_are_read_with_and_without_quotes() -> None:
    assert list_renamed_tables("RENAME TABLE p.`Betten Belegung` TO p.belegung, `p`.`x.y` TO q.ä") == [
        (("p", "Betten Belegung"), ("p", "belegung")),
        (("p", "x.y"), ("q", "ä")),
    ]
