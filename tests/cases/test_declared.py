"""Connectors that declare structures: what their schema changes mean, and what they do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from schemaman.model.diff import MoveColumn, RenameColumn
from tests.cases.connector import INT, LONG, NOTE, TEXT, Connector, entry, revised, shapes, steps
from tests.support import chain
from tests.support.records import Node, change, column, image

ID = column("id", "INT", 1, optional=False)
NAME = column("name", "VARCHAR", 2, length=20)
MEMO = column("memo", "VARCHAR", 2, length=20)
MYSQL = '"shop"."t"'


def table(*columns: Any, key: tuple[str, ...] = ("id",)) -> dict[str, object]:
    """An image of a table."""
    return dict(image(*columns, key=key))


@pytest.mark.case(6)
@pytest.mark.parametrize(("name", "id", "ddl"), [
    ("mysql", MYSQL, "ALTER TABLE t RENAME COLUMN name TO memo"),
    ("oracle", '"shop"."public"."t"', 'ALTER TABLE "public"."t" RENAME COLUMN "name" TO "memo"'),
])  # fmt: skip
def test_a_rename_that_the_statement_states_is_certain(name: str, id: str, ddl: str):
    connector = Connector(name)
    connector.change(entry("CREATE", id, table(ID, NAME)), ddl="CREATE TABLE t (id INT, name VARCHAR(20))")
    connector.change(entry("ALTER", id, table(ID, MEMO)), ddl=ddl)
    history = connector.told()["t"]
    first, second = history.versions
    assert [c.id for c in first.schema.columns] == [c.id for c in second.schema.columns]
    assert second.candidates == ()
    assert [type(c) for c in steps(history)[0]] == [RenameColumn]


@pytest.mark.case(29)
def test_a_unique_index_that_events_lose_as_key_is_reported():
    history = chain.history("db2/shop-3.4.1-json", "DB2INST1.UNIQ_ONLY")
    assert [v.schema.key for v in history.versions] == [("CODE",)]
    assert {d.kind for d in history.disagreements} == {"key-differs", "key-not-told"}


@pytest.mark.case(30)
def test_a_streamed_change_without_database_and_statement_is_of_the_same_table():
    connector = Connector("db2", database="TESTDB")
    id = '"public"."t"'
    connector.change(entry("CREATE", id, table(ID)), snapshot="true")
    connector.change(entry("ALTER", id, table(ID, NAME)), ddl="N/A", database="")
    found = connector.told()
    assert list(found.histories) == ["t"]
    assert found["t"].table.database == "TESTDB"
    assert len(found["t"].versions) == 2


@pytest.mark.case(31, 69)
@pytest.mark.parametrize("name", ["db2", "informix"])
def test_the_same_image_again_is_no_version(name: str):
    connector = Connector(name)
    for _ in range(3):
        connector.change(entry("ALTER", '"public"."t"', table(ID, NAME)), ddl="N/A", database="")
    history = connector.told()["t"]
    assert (len(history.versions), history.latest.revision) == (1, 0)


@pytest.mark.case(32)
def test_a_table_without_records_was_not_dropped():
    for history in chain.histories("db2/shop-3.4.1-json"):
        assert history.events == ()
        assert not history.is_dropped


@pytest.mark.case(33)
def test_events_without_a_new_column_are_of_the_old_version_until_the_change_is_declared():
    connector = Connector("db2")
    id = '"public"."t"'
    wire = {"id": INT, "name": NOTE}
    connector.change(entry("CREATE", id, table(ID, NAME)), snapshot="true")
    connector.rows(wire)
    connector.rows(wire)
    connector.change(
        entry("ALTER", id, table(ID, NAME, column("more", "INTEGER", 3))), ddl="N/A", database=""
    )
    connector.rows({**wire, "more": {**INT, "optional": True}})
    history = connector.told()["t"]
    assert [len(v.schema.columns) for v in history.versions] == [2, 3]
    assert history.versions[0].records == 7


@pytest.mark.case(34)
def test_events_keep_the_old_name_of_a_column_until_the_refresh():
    history = chain.history("db2/shop-3.4.1-json", "DB2INST1.ORDERS")
    assert "NOTE" in history.versions[0].schema.names
    assert "REMARK" in history.latest.schema.names
    assert "NOTE" not in history.latest.schema.names


@pytest.mark.case(34)
def test_rows_with_the_old_name_after_the_change_are_of_the_renamed_column():
    connector = Connector("db2")
    id = '"public"."t"'
    connector.change(entry("CREATE", id, table(ID, NAME)), snapshot="true")
    connector.rows({"id": INT, "name": NOTE})
    connector.change(entry("ALTER", id, table(ID, MEMO)), ddl="N/A", database="")
    connector.rows({"id": INT, "name": NOTE})
    connector.rows({"id": INT, "memo": NOTE})
    history = connector.told()["t"]
    assert shapes(history) == ["id INT!, name VARCHAR(20) KEY (id)", "id INT!, memo VARCHAR(20) KEY (id)"]
    assert [v.records for v in history.versions] == [7, 4]
    assert [d.kind for d in history.disagreements] == ["emitted-lags-declared"]


@pytest.mark.case(35)
def test_a_second_capture_instance_begins_a_version_where_it_starts():
    connector = Connector("sqlserver")
    id = '"shop"."public"."t"'
    connector.change(entry("CREATE", id, table(ID, NAME)), snapshot="true")
    connector.rows({"id": INT, "name": NOTE})
    connector.change(entry("ALTER", id, table(ID, NAME, column("more", "int", 3))), ddl="N/A")
    first = connector.row({"id": INT, "name": NOTE, "more": {**INT, "optional": True}})
    history = connector.told()["t"]
    assert len(history.versions) == 2
    new = history.latest
    assert new.status == "confirmed"
    assert max(e.last.offset for e in new.evidence if e.kind == "emitted") == first.offset
    assert new.after is not None
    assert (new.after.topic, new.after.offset) == (first.topic, first.offset - 1)
    assert new.after.position.rank < new.at.position.rank
    assert history.versions[0].records == new.after.offset + 2


@pytest.mark.case(36)
@pytest.mark.parametrize("dropped", [
    change(entry("DROP", MYSQL, None), ddl="DROP TABLE t"),
    change(entry("DROP", MYSQL, table(ID)), ddl="DROP TABLE t"),
    change(ddl="DROP TABLE t"),
], ids=["null table", "full table", "statement alone"])  # fmt: skip
def test_every_form_of_a_drop_ends_an_incarnation(dropped: dict[str, Any]):
    connector = Connector("mysql")
    connector.change(entry("CREATE", MYSQL, table(ID)), ddl="CREATE TABLE t (id INT)")
    last = connector.change(*dropped["tableChanges"], ddl=dropped["ddl"])
    history = connector.told()["t"]
    assert [(e.kind, e.at.offset) for e in history.events] == [("dropped", last.offset)]
    assert history.is_dropped


@pytest.mark.case(37)
def test_a_table_that_was_renamed_keeps_its_history():
    connector = Connector("mysql")
    connector.change(entry("CREATE", '"shop"."old"', table(ID)), ddl="CREATE TABLE old (id INT)", table="old")
    connector.change(entry("ALTER", '"shop"."t"', table(ID)), ddl="RENAME TABLE old TO t")
    found = connector.told()
    (event,) = found["old"].events
    assert (event.kind, event.other) == ("renamed", found["t"].table)
    assert [a.name for a in found["t"].aliases if a.kind == "table"] == ["srv.shop.old"]


@pytest.mark.case(38)
def test_a_copy_that_replaces_a_table_is_one_change_of_it():
    connector = Connector("mysql")
    connector.change(entry("CREATE", MYSQL, table(ID)), ddl="CREATE TABLE t (id INT)")
    connector.rows({"id": INT})
    shadow = '"shop"."_t_gho"'
    connector.change(entry("CREATE", shadow, table(ID)), ddl="CREATE TABLE _t_gho LIKE t", table="_t_gho")
    connector.change(
        entry("ALTER", shadow, table(ID, NAME)), ddl="ALTER TABLE _t_gho ADD name VARCHAR(20)", table="_t_gho"
    )
    both = "_t_del,t"
    old = entry("ALTER", '"shop"."_t_del"', table(ID))
    connector.change(old, ddl="RENAME TABLE `shop`.`t` TO `shop`.`_t_del`", table=both)
    connector.change(
        entry("ALTER", MYSQL, table(ID, NAME)), ddl="RENAME TABLE `shop`.`_t_gho` TO `shop`.`t`", table=both
    )
    connector.rows({"id": INT, "name": NOTE})
    history = connector.told()["t"]
    assert shapes(history) == ["id INT! KEY (id)", "id INT!, name VARCHAR(20) KEY (id)"]
    assert {v.incarnation for v in history.versions} == {1}
    assert history.versions[0].schema.columns[0].id == history.latest.schema.columns[0].id


@pytest.mark.case(39)
def test_a_table_of_an_unread_statement_is_known_when_its_structure_arrives():
    connector = Connector("mysql")
    connector.change(ddl="CREATE TABLE t LIKE other")
    assert connector.told().histories == {}
    assert [n.kind for n in connector.told().notes] == ["ddl-without-structure"]
    connector.change(entry("CREATE", MYSQL, table(ID)), ddl="CREATE TABLE t LIKE other")
    assert shapes(connector.told()["t"]) == ["id INT! KEY (id)"]


@pytest.mark.case(71)
def test_a_previous_id_that_is_the_tables_own_is_no_rename():
    connector = Connector("oracle")
    id = '"shop"."public"."t"'
    for columns in ((ID,), (ID, NAME)):
        told = {**entry("ALTER", id, table(*columns)), "previousId": id}
        connector.at += 8
        payload = {
            "source": {"server": "srv"},
            "position": {"scn": str(connector.at), "commit_scn": f"{connector.at}:1:"},
            "ts_ms": connector.now,
            "databaseName": "shop",
            "schemaName": "public",
            "ddl": "ALTER TABLE t …",
            "tableChanges": [told],
        }
        connector.write("history", None, payload)
    found = connector.told()
    assert found.rejects == ()
    history = found["t"]
    assert history.events == ()
    assert [a.kind for a in history.aliases if a.kind == "table"] == []
    assert [len(v.schema.columns) for v in history.versions] == [1, 2]


@pytest.mark.case(40)
def test_a_snapshot_taken_again_is_no_new_incarnation():
    connector = Connector("mysql")
    connector.change(entry("CREATE", MYSQL, table(ID)), ddl="CREATE TABLE t (id INT)")
    connector.rows({"id": INT})
    connector.change(entry("DROP", MYSQL, None), ddl="DROP TABLE IF EXISTS t", snapshot="true")
    connector.change(entry("CREATE", MYSQL, table(ID)), ddl="CREATE TABLE t (id INT)", snapshot="true")
    connector.rows({"id": INT}, op="r", snapshot="true")
    history = connector.told()["t"]
    assert (len(history.versions), history.events) == (1, ())
    assert history.latest.incarnation == 1


@pytest.mark.case(41)
def test_rows_of_an_incremental_snapshot_do_not_move_the_position_of_a_change():
    wide = {"id": INT, "name": TEXT}
    connector = Connector()
    connector.rows({"id": INT})
    connector.rows(wide)
    connector.rows(wide, op="r", snapshot="incremental", lsn=None, txId=None, sequence=None)
    connector.rows(wide)
    history = connector.told()["t"]
    assert [len(v.schema.columns) for v in history.versions] == [1, 2]
    assert history.latest.at.position.kind == "lsn"
    assert history.latest.records == 9


@pytest.mark.case(41)
@pytest.mark.parametrize("kind", ["ALTER", "CREATE"])
@pytest.mark.parametrize("wide", [{"id": INT, "name": NOTE}, {"id": LONG}])
def test_rows_that_were_read_after_a_statement_have_its_structure(kind: str, wide: Mapping[str, Node]):
    """Nothing was streamed between: they neither close the version before nor stand in it."""
    connector = Connector("mysql")
    connector.change(entry("CREATE", MYSQL, table(ID)), ddl="CREATE TABLE t (id INT)", snapshot="true")
    connector.rows({"id": INT})
    columns = [ID, NAME] if "name" in wide else [column("id", "BIGINT", 1, optional=False)]
    connector.change(entry(kind, MYSQL, table(*columns)), ddl=f"{kind} TABLE t …")
    connector.rows(wide, op="r", snapshot="incremental")
    history = connector.told()["t"]
    first, second = history.versions
    assert (first.records, second.records, second.status) == (4, 4, "confirmed")
    assert second.after is not None
    assert (second.after.offset, second.after.position.rank < second.at.position.rank) == (2, True)
    assert not [d for d in history.disagreements if not d.is_remark]


@pytest.mark.case(42)
def test_a_table_outside_the_include_list_is_known_by_its_declaration_alone():
    connector = Connector("mysql")
    connector.change(
        entry("CREATE", '"shop"."secret"', table(ID)), ddl="CREATE TABLE secret (id INT)", table="secret"
    )
    history = connector.told()["secret"]
    assert history.latest.status == "declared"
    assert {e.kind for e in history.latest.evidence} == {"declared"}


@pytest.mark.case(65)
def test_a_table_that_was_dropped_and_created_has_a_second_incarnation():
    connector = Connector("mysql")
    connector.change(entry("CREATE", MYSQL, table(ID)), ddl="CREATE TABLE t (id INT)")
    connector.change(entry("DROP", MYSQL, None), ddl="DROP TABLE t")
    connector.change(entry("CREATE", MYSQL, table(ID)), ddl="CREATE TABLE t (id INT)")
    history = connector.told()["t"]
    assert [v.incarnation for v in history.versions] == [1, 2]
    assert [e.kind for e in history.events] == ["dropped"]
    assert not history.is_dropped


@pytest.mark.case(65)
@pytest.mark.parametrize("again", ["CREATE TABLE IF NOT EXISTS t (id INT)", "SELECT 1"])
def test_a_drop_alone_separates_two_incarnations_whatever_the_next_statement_is(again: str):
    connector = Connector("mysql")
    for _ in range(10):
        connector.change(entry("CREATE", MYSQL, table(ID)), ddl=again)
        connector.rows({"id": INT})
        connector.change(ddl="TRUNCATE TABLE t")
        connector.change(entry("DROP", MYSQL, None), ddl="DROP TABLE t")
    history = connector.told()["t"]
    assert [v.incarnation for v in history.versions] == list(range(1, 11))
    assert [e.kind for e in history.events] == ["truncated", "dropped"] * 10
    ids = [v.schema.columns[0].id for v in history.versions]
    assert len(set(ids)) == 10
    assert history.is_dropped


@pytest.mark.case(66)
def test_another_order_of_columns_is_a_revision_where_columns_can_move():
    connector = Connector("mysql")
    first, second = column("a", "INT", 2), column("b", "INT", 3)
    connector.change(
        entry("CREATE", MYSQL, table(ID, first, second)), ddl="CREATE TABLE t (id INT, a INT, b INT)"
    )
    moved = table(ID, {**second, "position": 2}, {**first, "position": 3})
    connector.change(entry("ALTER", MYSQL, moved), ddl="ALTER TABLE t MODIFY b INT AFTER id")
    history = connector.told()["t"]
    assert len(history.versions) == 1
    ((moves),) = revised(history.latest)
    assert all(isinstance(c, MoveColumn) for c in moves)
    assert history.latest.schema.names == ("id", "b", "a")


@pytest.mark.case(70)
def test_a_statement_without_a_structure_leaves_that_to_the_events():
    connector = Connector("vitess")
    connector.rows({"id": INT})
    connector.change(ddl="ALTER TABLE t ADD name VARCHAR(20)")
    connector.rows({"id": INT, "name": NOTE})
    history = connector.told()["t"]
    assert shapes(history) == ["id INT! KEY (id)", "id INT!, name STRING KEY (id)"]
