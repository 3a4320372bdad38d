"""What schema changes make of a history, case by case, from records to versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from schemaman.compat.gate import list_all_steps
from schemaman.compat.judge import RULES, judge_transition
from schemaman.debezium.connector import CONNECTORS
from schemaman.debezium.decode import decode
from schemaman.debezium.observation import (
    Note,
    Observation,
    Outcome,
    Skipped,
    merge_notes,
)
from schemaman.debezium.records import Record
from schemaman.errors import NoHistory, UsageError
from schemaman.history.fold.fold import fold
from schemaman.history.references import AsOf, SourcePosition
from schemaman.history.versions import TableHistory
from schemaman.ingest.chunks import build_reading
from schemaman.ingest.scan import scan
from schemaman.migration.apply.apply import apply
from schemaman.migration.plan import Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.source import migration_source
from schemaman.migration.targets import delta
from schemaman.model.schema import TableId
from schemaman.resolve import select_version
from tests.support import chain
from tests.support.memory_lake import MemoryJournal, MemoryTable
from tests.support.records import change, column, event, image, node, record, struct

Payload = dict[str, Any]


def col(name: str, position: int, type_name: str = "INT", **more: object) -> Any:
    return column(name, type_name, position, **more)


def columns(*names: str) -> tuple[Any, ...]:
    return tuple(col(name, at) for at, name in enumerate(names, 1))


def entry(kind: str, id: str, *names: str, key: tuple[str, ...] = ()) -> Payload:
    table = image(*columns(*names), key=key) if names else None
    return {"type": kind, "id": id, "table": table}


def mysql(at: int, *entries: object, ddl: str | None = None, **source: object) -> Payload:
    block = {"file": "b.000001", "pos": at, "row": 0, "snapshot": "false", **source}
    return {**change(*entries, ddl=ddl, **block), "ts_ms": at}  # type: ignore[arg-type]


def db2(at: int, *entries: object, snapshot: str = "false", **source: object) -> Payload:
    block = {"connector": "db2", "commit_lsn": f"00000000:{at:08x}", "change_lsn": None, **source}
    told = {"ddl": None, "database": "LIVE"} if snapshot == "true" else {"ddl": "N/A", "database": ""}
    return {**change(*entries, db="LIVE", schema="S", snapshot=snapshot, **told, **block),  # type: ignore[arg-type]
            "ts_ms": at}  # fmt: skip


def row(at: int, *names: str, connector: str = "mysql", **source: object) -> Payload:
    fields = {name: node("int32", optional=True) for name in names}
    place = (
        {"file": "b.000001", "pos": at, "row": 0, "schema": None}
        if connector == "mysql"
        else {"commit_lsn": f"00000000:{at:08x}", "change_lsn": "00000000:00000001", "db": "LIVE"}
    )
    told = event(struct("srv.t.Value", **fields), connector=connector)
    told["payload"]["source"].update({**place, **source})
    told["payload"]["ts_ms"] = at
    return told


def said(*payloads: Payload) -> list[Outcome]:
    """Schema changes in one topic, events in another, each in the order given."""
    found: list[Record] = []
    count: Counter[str] = Counter()
    for payload in payloads:
        topic = "srv" if "tableChanges" in payload or "ddl" in payload else "srv.t"
        told = record(payload, topic=topic)
        found.append(Record(topic, 0, count[topic], 1, None, told.value))
        count[topic] += 1
    runs = scan(found, build_reading(lambda id: None))
    return [o for run in runs for o in decode(run, "main", lambda id: None)]


def observed(outcomes: Iterable[Outcome]) -> list[Observation]:
    return [o for o in outcomes if isinstance(o, Observation)]


def notes(outcomes: Iterable[Outcome]) -> list[tuple[str, str | None]]:
    return [(o.kind, o.table.table if o.table else None) for o in outcomes if isinstance(o, Note)]


def history(table: str, *payloads: Payload, schema: str = "", database: str = "shop") -> TableHistory:
    found = fold(observed(said(*payloads)), TableId("srv", database, schema, table), CONNECTORS.get)
    assert found is not None
    return found


def names(found: TableHistory) -> list[tuple[str, ...]]:
    return [v.schema.names for v in found.versions]


def live(table: str, *payloads: Payload) -> TableHistory:
    return history(table, *payloads, schema="S", database="LIVE")


def test_a_key_from_a_unique_index_outlives_what_db2_does_not_ask_while_streaming():
    found = live(
        "T",
        db2(1, entry("CREATE", '"S"."T"', "a", "b", key=("a",)), snapshot="true"),
        db2(5, entry("ALTER", '"S"."T"', "a", "b")),
        db2(9, entry("ALTER", '"S"."T"', "a", "b", "c")),
    )
    assert [(v.schema.names, v.schema.key) for v in found.versions] == [
        (("a", "b"), ("a",)), (("a", "b", "c"), ("a",)),
    ]  # fmt: skip
    assert {d.kind for d in found.disagreements} == {"key-not-told"}
    assert all(d.is_remark for d in found.disagreements)


def test_a_primary_key_that_was_told_while_streaming_can_be_dropped():
    found = live(
        "T",
        db2(1, entry("CREATE", '"S"."T"', "a", key=("a",)), snapshot="true"),
        db2(5, entry("ALTER", '"S"."T"', "a", "b", key=("b",))),
        db2(9, entry("ALTER", '"S"."T"', "a", "b")),
    )
    assert [v.schema.key for v in found.versions] == [("a",), ("b",), ()]
    assert not found.disagreements


@pytest.mark.parametrize("times", [1, 2, 5])
def test_registering_a_table_again_changes_nothing(times):
    again = [db2(5 + n, entry("ALTER", '"S"."T"', "a", "b")) for n in range(times)]
    found = live("T", db2(1, entry("CREATE", '"S"."T"', "a", "b"), snapshot="true"), *again)
    assert (names(found), found.latest.revision) == ([("a", "b")], 0)


def test_informix_tells_the_same_structure_at_each_start():
    def told(at: int) -> Payload:
        source = {
            "connector": "informix",
            "db": "d",
            "schema": "s",
            "commit_lsn": str(at),
            "change_lsn": "-1",
        }
        return {**change(entry("ALTER", '"d"."s"."t"', "a"), ddl="n/a", **source), "ts_ms": at}

    found = history("t", told(9), told(10), told(100), schema="s", database="d")
    assert (names(found), found.latest.records) == ([("a",)], 3)


def test_events_of_a_structure_that_is_declared_behind_them_are_of_it():
    """Db2 writes a schema change at the position of the event before it, and incremental reads run ahead."""
    found = live(
        "T",
        db2(1, entry("CREATE", '"S"."T"', "a"), snapshot="true"),
        row(3, "a", connector="db2", schema="S", table="T"),
        row(7, "a", "b", connector="db2", schema="S", table="T"),
        db2(7, entry("ALTER", '"S"."T"', "a", "b"), change_lsn="00000000:00000001"),
        row(9, "a", "b", connector="db2", schema="S", table="T"),
    )
    assert [(v.schema.names, v.status) for v in found.versions] == [
        (("a",), "confirmed"), (("a", "b"), "confirmed"),
    ]  # fmt: skip
    assert not found.disagreements


def test_events_far_ahead_of_what_is_declared_are_remarked_upon():
    found = live(
        "T",
        db2(1, entry("CREATE", '"S"."T"', "a"), snapshot="true"),
        row(3, "a", "b", connector="db2", schema="S", table="T"),
        db2(7, entry("ALTER", '"S"."T"', "a", "b")),
    )
    assert [(d.kind, d.versions, d.is_remark) for d in found.disagreements] == [
        ("emitted-leads-declared", (2,), True)
    ]


def test_columns_of_another_table_are_never_taken_for_the_tables_own():
    found = live(
        "A_B",
        db2(1, entry("CREATE", '"S"."A_B"', "a", "b"), snapshot="true"),
        db2(5, entry("ALTER", '"S"."A_B"', "a", "x", "b", "y")),
    )
    first, second = found.versions
    assert (second.status, [d.kind for d in found.disagreements]) == ("phantom", ["foreign-columns"])
    assert "underscore" in found.disagreements[0].message
    refusal, *_ = make_plan(migration_source(found), None, delta.TARGET, "lake/t", Policy()).refusals
    assert "this table cannot have got the newest structure" in refusal.reason
    ids = {c.name: c.id for c in second.schema.columns}
    assert {c.name: c.id for c in first.schema.columns}.items() <= ids.items()


def test_a_structure_that_events_show_is_no_phantom():
    found = live(
        "T",
        db2(1, entry("CREATE", '"S"."T"', "a", "b"), snapshot="true"),
        db2(5, entry("ALTER", '"S"."T"', "x", "a", "b")),
        row(7, "x", "a", "b", connector="db2", schema="S", table="T"),
    )
    assert found.latest.status == "confirmed"
    assert "recreated" in found.disagreements[0].message


@pytest.mark.parametrize(
    ("rows", "ids"),
    [
        ((), {"a": 1, "b": 2, "x": 3}),
        ((("a", "x", "b"),), {"a": 1, "x": 3, "b": 4}),
        ((("a", "b", "x"),), {"a": 1, "b": 2, "x": 3}),
        ((("a", "b"),), {"a": 1, "b": 2, "x": 3}),
    ],
)
def test_a_column_behind_new_ones_is_another_once_rows_show_it(rows, ids):
    payloads = (
        db2(1, entry("CREATE", '"S"."T"', "a", "b"), snapshot="true"),
        row(3, "a", "b", connector="db2", schema="S", table="T"),
        db2(5, entry("ALTER", '"S"."T"', "a", "x", "b")),
        *(row(7, *names, connector="db2", schema="S", table="T") for names in rows),
    )
    found = live("T", *payloads)
    assert [{c.name: c.id for c in v.schema.columns} for v in found.versions] == [{"a": 1, "b": 2}, ids]
    later = live("T", *payloads, db2(9, entry("ALTER", '"S"."T"', "a", "x", "b", "y")))
    assert {c.name: c.id for c in later.latest.schema.columns}.items() > ids.items()
    numbers = [c.id for v in later.versions for c in v.schema.columns]
    assert len(set(numbers)) == (5 if ids["b"] == 4 else 4)


CREATE = mysql(10, entry("CREATE", '"shop"."t"', "a", "b"), ddl="CREATE TABLE t (a INT, b INT)")


def test_dropped_and_created_is_another_table():
    found = history(
        "t", CREATE,
        mysql(20, entry("DROP", '"shop"."t"'), ddl="DROP TABLE t"),
        mysql(30, entry("CREATE", '"shop"."t"', "a", "b"), ddl="CREATE TABLE t (a INT, b INT)"),
    )  # fmt: skip
    assert [v.incarnation for v in found.versions] == [1, 2]
    ids = [{c.id for c in v.schema.columns} for v in found.versions]
    assert not ids[0] & ids[1]


def test_created_while_it_was_there_it_is_another_table():
    """DROP DATABASE tells nothing of its tables."""
    gone = mysql(20, ddl="DROP DATABASE shop")
    again = mysql(30, entry("CREATE", '"shop"."t"', "a"), ddl="CREATE TABLE shop.t (a INT)")
    found = history("t", CREATE, gone, again)
    assert [v.incarnation for v in found.versions] == [1, 2]
    assert [e.kind for e in found.events] == ["dropped"]
    assert notes(said(CREATE, gone, again)) == [("database-dropped", None)]


@pytest.mark.parametrize("again", [
    mysql(30, entry("CREATE", '"shop"."t"', "a", "b"), ddl="CREATE TABLE IF NOT EXISTS t (a INT, b INT)"),
    mysql(30, entry("CREATE", '"shop"."t"', "a", "b"), ddl="CREATE TABLE t (a INT, b INT)", snapshot="true"),
    CREATE,
])  # fmt: skip
def test_created_for_form_or_read_or_delivered_again_it_is_the_same(again):
    found = history("t", CREATE, again)
    assert ([v.incarnation for v in found.versions], found.events) == ([1], ())


def test_a_snapshot_clears_its_way_and_ends_nothing():
    clearing = mysql(20, entry("DROP", '"shop"."t"'), ddl="DROP TABLE IF EXISTS `t`", snapshot="true")
    again = mysql(20, entry("CREATE", '"shop"."t"', "a", "b"), ddl="CREATE TABLE t (a INT)", snapshot="true")
    found = history("t", CREATE, clearing, again)
    assert ([v.incarnation for v in found.versions], found.events) == ([1], ())


def test_the_drop_of_a_table_that_never_was_makes_no_history():
    told = observed(said(mysql(20, entry("DROP", '"shop"."t"'), ddl="DROP TABLE IF EXISTS t")))
    assert fold(told, TableId("srv", "shop", "", "t"), CONNECTORS.get) is None


@pytest.mark.parametrize(("copy", "left", "shadow"), [
    ("_t_gho", "_t_del", True), ("_t_gho", "_t_20260101120000_del", True), ("_t_new", "_t_old", False),
    ("__t_new", "__t_old", False),
])  # fmt: skip
def test_an_online_schema_change_is_one_version_of_its_table(copy, left, shadow):
    payloads = swap_in(copy, left, key=("a",))
    found = history("t", *payloads)
    assert (names(found), found.events) == ([("a", "b"), ("a", "b", "c")], ())
    assert [v.incarnation for v in found.versions] == [1, 1]
    assert {c.id for c in found.versions[0].schema.columns} < {c.id for c in found.versions[1].schema.columns}
    assert ("online-migration", "t") in notes(said(*payloads))
    told = observed(said(*payloads))
    own = fold(told, TableId("srv", "shop", "", copy), CONNECTORS.get)
    assert (own is None) == shadow
    assert own is None or [e.kind for e in own.events] == ["renamed"]
    assert fold(told, TableId("srv", "shop", "", left), CONNECTORS.get) is None


def test_a_copy_without_a_key_is_another_table():
    """No tool makes one, and its rows are not known as those of the table."""
    payloads = swap_in("_t_new", "_t_old", key=())
    found = history("t", *payloads)
    assert [(v.incarnation, *v.schema.names) for v in found.versions] == [(1, "a", "b"), (2, "a", "b", "c")]
    assert [(e.kind, str(e.other)) for e in found.events] == [("renamed", "srv.shop._t_old")]
    assert [(a.kind, a.name) for a in found.aliases if a.kind == "table"] == [("table", "srv.shop._t_new")]
    assert ("online-migration", "t") not in notes(said(*payloads))


def swap_in(copy: str, left: str, *, key: tuple[str, ...]) -> tuple[Payload, ...]:
    """A table, and a copy of it that gets one more column and then the name of the table."""
    touched = {"table": f"{left},t"}

    def told(kind: str, table: str, *names: str) -> Payload:
        return entry(kind, f'"shop"."{table}"', *names, key=key)

    return (
        mysql(10, told("CREATE", "t", "a", "b"), ddl="CREATE TABLE t (a INT, b INT)"),
        row(15, "a", "b"),
        mysql(20, told("CREATE", copy, "a", "b"), ddl=f"CREATE TABLE {copy} LIKE t"),
        mysql(30, told("ALTER", copy, "a", "b", "c"), ddl=f"ALTER TABLE {copy} ADD c INT"),
        mysql(40, told("ALTER", left, "a", "b"), ddl=f"RENAME TABLE t TO {left}", **touched),
        mysql(40, told("ALTER", "t", "a", "b", "c"), ddl=f"RENAME TABLE {copy} TO t", **touched),
        row(35, "a", "b", "c", table=copy),
        row(45, "a", "b", "c"),
        mysql(50, entry("DROP", f'"shop"."{left}"'), ddl=f"DROP TABLE {left}"),
    )


def test_what_the_copy_renames_the_table_renames():
    touched = {"table": "_t_del,t"}
    found = history(
        "t", CREATE,
        mysql(30, entry("ALTER", '"shop"."_t_gho"', "a", "z"), ddl="ALTER TABLE _t_gho RENAME COLUMN b TO z"),
        mysql(40, entry("ALTER", '"shop"."_t_del"', "a", "b"), ddl="RENAME TABLE t TO _t_del", **touched),
        mysql(40, entry("ALTER", '"shop"."t"', "a", "z"), ddl="RENAME TABLE _t_gho TO t", **touched),
    )  # fmt: skip
    first, second = found.versions
    assert [c.id for c in first.schema.columns] == [c.id for c in second.schema.columns]


def test_a_table_put_aside_by_hand_is_renamed():
    aside = mysql(
        40, entry("ALTER", '"shop"."_t_old"', "a", "b"), ddl="RENAME TABLE t TO _t_old", table="_t_old"
    )
    assert [(e.kind, str(e.other)) for e in history("t", CREATE, aside).events] == [
        ("renamed", "srv.shop._t_old")
    ]


def test_a_statement_without_a_structure_is_known_and_its_renames_count():
    """Vitess never tells one, MySQL's connector did not up to 1.4; then events make the versions."""

    def told(at: int, ddl: str) -> Payload:
        found = mysql(at, ddl=ddl)
        del found["tableChanges"]
        return found

    payloads = (
        row(10, "a", "b"),
        told(20, "ALTER TABLE t RENAME COLUMN b TO z, ADD y INT"),
        row(30, "a", "z", "y"),
    )
    found = history("t", *payloads)
    first, second = found.versions
    assert {c.name: c.id for c in second.schema.columns}["z"] == first.schema.columns[1].id
    assert second.candidates == ()
    assert notes(said(*payloads)) == [("ddl-without-structure", "t")]


def test_a_statement_shows_no_structure_and_narrows_no_interval():
    found = history(
        "t",
        row(10, "a", "b"),
        {k: v for k, v in mysql(20, ddl="ALTER TABLE t ADD y INT").items() if k != "tableChanges"},
        row(30, "a", "b", "y"),
    )
    first, second = found.versions
    assert (second.after, second.at.position.value) == (first.evidence[0].last, "b.000001:30:0")
    assert found.disagreements == ()


def test_a_table_that_was_altered_and_not_seen_since_says_so():
    found = chain.history("mariadb/bookshop-mysql-1.4.2-json", "bookshop.kinds")
    (told,) = found.disagreements
    assert (told.kind, told.versions, told.coordinates[0].position.value) == (
        "altered-unseen",
        (1,),
        "binlog.000001:15889:0",
    )
    assert not found.is_disputed


@pytest.mark.parametrize(("run", "doubted"), [("mysql-1.4.2-json", True), ("mysql-1.9.8-json", True),
                                              ("mysql-2.5.4-avro", False)])  # fmt: skip
def test_what_only_a_key_made_required_is_in_doubt(run: str, doubted: bool):
    """A unique index that takes nulls serves old releases as key, and they call its columns NOT NULL."""
    keyed = chain.history(f"mariadb/bookshop-{run}", "bookshop.click").versions[1]
    assert keyed.unconfirmed == (("nullable:who",) if doubted else ())


def test_a_primary_key_makes_its_columns_required():
    def told(at: int, ddl: str, nullable: bool, *key: str) -> Payload:
        table = image(column("a", optional=nullable), key=key)
        entry = {"type": "ALTER", "id": '"shop"."t"', "table": table}
        return mysql(at, entry, ddl=ddl, version="1.9.8.Final")

    create = told(10, "CREATE TABLE t (a INT)", True)
    for ddl, unconfirmed in (("ADD PRIMARY KEY (a)", ()), ("ADD UNIQUE KEY u (a)", ("nullable:a",))):
        found = history("t", create, told(20, f"ALTER TABLE t {ddl}", False, "a"))
        assert found.latest.unconfirmed == unconfirmed


def test_vitess_is_ordered_by_its_records_and_named_by_its_keyspace():
    source = {"connector": "vitess", "db": "", "keyspace": "shop", "vgtid": "[]"}
    ddl = change(ddl="ALTER TABLE t ADD c INT", database="shop", **source)
    told = said(event(struct("v", a=node("int32")), **source, schema=None), dict(ddl))
    assert {str(o.table) for o in observed(told)} == {"srv.shop.t"}
    assert [o.message for o in told if isinstance(o, Note)] == [
        "ALTER TABLE t ADD c INT: this connector publishes statements without structures; "
        "only events have the new structure"
    ]


def test_renamed_tables_leave_and_arrive_in_the_order_of_the_statement():
    old = {**mysql(20, ddl="shop.t TO shop.u;shop.v TO shop.t;", table="u,t"), "tableChanges": []}
    found = history("t", row(10, "a"), old, row(30, "b"))
    assert [(e.kind, str(e.other)) for e in found.events] == [("renamed", "srv.shop.u")]
    assert [v.incarnation for v in found.versions] == [1, 2]


def test_order_alone_is_an_attribute():
    moved = mysql(20, entry("ALTER", '"shop"."t"', "b", "a"), ddl="ALTER TABLE t MODIFY b INT FIRST")
    found = history("t", CREATE, moved)
    assert (len(found.versions), found.latest.revision) == (1, 1)
    assert found.latest.schema.names == ("b", "a")


def test_a_comment_alone_is_an_attribute_even_where_only_the_statement_tells_it():
    ddl = "ALTER TABLE t MODIFY b INT COMMENT 'how many'"
    found = history(
        "t", CREATE, mysql(20, entry("ALTER", '"shop"."t"', "a", "b"), ddl=ddl),
        mysql(30, entry("ALTER", '"shop"."t"', "a", "b"), ddl="ALTER TABLE t ENGINE=InnoDB"),
    )  # fmt: skip
    assert (len(found.versions), found.latest.revision) == (1, 1)
    assert found.latest.schema.columns[1].comment == "how many"


def test_a_default_that_old_releases_cannot_tell_is_that_of_the_statement():
    found = history(
        "t", mysql(10, entry("CREATE", '"shop"."t"', "a"), ddl="CREATE TABLE t (a INT DEFAULT 7)"),
        mysql(20, entry("ALTER", '"shop"."t"', "a", "b"), ddl="ALTER TABLE t ADD b INT DEFAULT 8"),
        mysql(30, entry("ALTER", '"shop"."t"', "z", "b"), ddl="ALTER TABLE t RENAME COLUMN a TO z"),
        mysql(40, entry("ALTER", '"shop"."t"', "z", "b"), ddl="ALTER TABLE t ALTER COLUMN z DROP DEFAULT"),
    )  # fmt: skip
    assert [[c.default for c in r.schema.columns] for v in found.versions for r in v.revisions] == [
        ["7"], ["7", "8"], ["7", "8"], [None, "8"],
    ]  # fmt: skip


def test_several_tables_of_one_record_share_no_attributes():
    told = said(mysql(10, entry("ALTER", '"shop"."t"', "a"), entry("ALTER", '"shop"."u"', "a"),
                      ddl="ALTER TABLE t ALTER a SET DEFAULT 1; ALTER TABLE u ADD x INT"))  # fmt: skip
    assert [(o.table.table, o.stated_attributes) for o in observed(told)] == [("t", ()), ("u", ())]


def test_what_is_declared_stands_above_the_statement():
    told = {"type": "CREATE", "id": '"shop"."t"',
            "table": image(col("a", 1, defaultValueExpression="1", comment="declared"))}  # fmt: skip
    found = history("t", mysql(10, told, ddl="CREATE TABLE t (a INT DEFAULT 7 COMMENT 'stated')"))
    assert [(c.default, c.comment) for c in found.latest.schema.columns] == [("1", "declared")]


def test_a_statement_that_cannot_be_read_is_known():
    told = said(mysql(10, entry("ALTER", '"shop"."t"', "a"), ddl="ALTER TABLE t CHANGE ' a b INT"))
    assert notes(told) == [("ddl-not-parsed", None)]


@pytest.mark.parametrize(("ddl", "kind", "table"), [
    ("CREATE TABLE x.y LIKE z", "ddl-without-structure", "y"),
    ("CREATE UNIQUE INDEX i ON shop.t(a)", "ddl-without-structure", "t"),
    ("DROP INDEX i ON t", "ddl-without-structure", "t"),
    ("DROP DATABASE shop", "database-dropped", None),
])  # fmt: skip
def test_a_change_without_structure_is_known(ddl, kind, table):
    told = said(mysql(10, ddl=ddl))
    assert notes(told) == [(kind, table)]
    assert [o.kind for o in told if isinstance(o, Skipped)] in (["ddl-without-structure"], [])


def test_schema_changes_outside_the_first_partition_have_lost_their_order():
    told = record(mysql(10, entry("CREATE", '"shop"."t"', "a"), ddl="CREATE TABLE t (a INT)"), topic="srv")
    runs = scan([Record("srv", 2, 0, 1, None, told.value)], build_reading(lambda id: None))
    found = [o for run in runs for o in decode(run, "main", lambda id: None)]
    assert [type(o) for o in found] == [Observation, Note]
    assert notes(found) == [("schema-changes-unordered", None)]


def test_that_is_told_once_of_a_topic():
    def told(partition: int, offset: int, kind: str = "schema-changes-unordered", topic: str = "srv") -> Note:
        return Note("main", topic, partition, offset, kind, "m")

    one, two = told(1, 4), told(1, 2)
    assert merge_notes([one, told(0, 1, "other"), two, told(3, 0, topic="b")]) == (
        replace(two, count=2), told(0, 1, "other"), told(3, 0, topic="b"),
    )  # fmt: skip
    signals = [told(0, at, "signal-table") for at in (3, 9)]
    assert merge_notes(signals) == (replace(signals[0], count=2),)
    assert merge_notes([signals[0], replace(signals[1], message="another")]) == (
        signals[0], replace(signals[1], message="another"),
    )  # fmt: skip


def test_the_time_of_old_releases_is_that_of_their_source_block():
    told = mysql(10, entry("CREATE", '"shop"."t"', "a"), ddl="CREATE TABLE t (a INT)")
    told["source"] = {**told["source"], "ts_ms": 77}
    del told["ts_ms"]
    (found,) = observed(said(told))
    assert (found.first.ts_ms, found.first.read_ms) == (77, 77)


@pytest.mark.parametrize(("run", "table", "phantom"), [
    ("db2/shop-3.4.1-json", "DB2INST1.AUDIT_LOG", True),
    ("db2/shop-2.5.4-avro", "DB2INST1.AUDIT_LOG", True),
    ("db2/shop-3.4.1-json", "DB2INST1.ORDERS", False),
])  # fmt: skip
def test_phantoms_of_the_recordings(run, table, phantom):
    found = chain.history(run, table)
    assert any(v.status == "phantom" for v in found.versions) == phantom


@pytest.mark.parametrize("run", ["db2/incremental-2.5.4-json", "db2/incremental-3.4.1-json"])
def test_incremental_reads_of_a_recording_contradict_nobody(run):
    assert [d for h in chain.histories(run) for d in h.disagreements if not d.is_remark] == []


def test_the_oldest_release_tells_renames_by_statements_alone():
    book = chain.history("mariadb/bookshop-mysql-1.4.2-json", "bookshop.book")
    first, second, third, *_ = book.versions
    kept = {c.id: c.name for c in first.schema.columns}
    assert [kept[c.id] for c in second.schema.columns if c.name == "list_price" and c.id in kept] == ["price"]
    kept = {c.id: c.name for c in second.schema.columns}
    assert [kept[c.id] for c in third.schema.columns if c.name == "page_count" and c.id in kept] == ["pages"]
    assert not any(v.candidates for v in book.versions)
    assert [(e.kind, str(e.other)) for e in book.events] == [("renamed", "books.bookshop.book_old")]


def oracle(scn: int, *entries: object, ddl: str | None = None, **source: object) -> Payload:
    block = {
        "connector": "oracle",
        "db": "ORCL",
        "schema": "S",
        "scn": str(scn),
        "commit_scn": None,
        **source,
    }
    return {**change(*entries, ddl=ddl, database="ORCL", **block), "ts_ms": scn}  # type: ignore[arg-type]


OF_ORACLE = oracle(90, entry("CREATE", '"ORCL"."S"."T"', "A", "B"), ddl='CREATE TABLE "S"."T" (A INT, B INT)')


@pytest.mark.parametrize(
    "ddl", ["ALTER TABLE T RENAME TO U", 'ALTER TABLE s.t RENAME TO "U"', "RENAME T TO U"]
)
def test_oracle_renames_a_table_in_the_schema_of_the_record(ddl):
    renamed = oracle(100, entry("ALTER", '"ORCL"."S"."U"', "A", "B"), ddl=ddl, table="T,U")
    found = history("T", OF_ORACLE, renamed, schema="S", database="ORCL")
    assert [(e.kind, str(e.other)) for e in found.events] == [("renamed", "srv.ORCL.S.U")]
    assert history("U", OF_ORACLE, renamed, schema="S", database="ORCL").latest.incarnation == 1


def test_oracle_is_ordered_by_numbers_and_renames_columns_by_statement():
    found = history(
        "T", OF_ORACLE,
        oracle(100, entry("ALTER", '"ORCL"."S"."T"', "A", "C"), ddl="ALTER TABLE T RENAME COLUMN b TO c"),
        oracle(1000, entry("DROP", '"ORCL"."S"."T"', "A", "C"), ddl="DROP TABLE T"),
        schema="S", database="ORCL",
    )  # fmt: skip
    assert [[c.id for c in v.schema.columns] for v in found.versions] == [[1, 2], [1, 2]]
    assert [(e.kind, e.at.position.value) for e in found.events] == [("dropped", "1000")]


def noticed(at: int, kind: str, *names: str, connector: str = "db2") -> Payload:
    """A change of the table that is told at the place of the change that was read last."""
    told = entry(kind, '"S"."T"' if connector == "db2" else '"LIVE"."S"."T"', *names)
    return db2(at, told, connector=connector, change_lsn=f"00000000:{at:08x}", ts_ms=at)


def made_anew(drop: int, create: int, *rows: int, connector: str = "db2") -> TableHistory:
    """A table that had a row at 3, was dropped, and made anew with another column."""
    place: dict[str, Any] = {"connector": connector, "schema": "S", "table": "T"}
    return live(
        "T",
        row(3, "a", **place, ts_ms=3),
        noticed(drop, "DROP", "a", connector=connector),
        noticed(create, "CREATE", "a", "b", connector=connector),
        *(row(at, "a", "b", **place, ts_ms=at) for at in rows),
    )


@pytest.mark.parametrize("connector", ["db2", "sqlserver"])
@pytest.mark.parametrize("place", [AsOf, lambda at: SourcePosition("commit_lsn", f"00000000:{at:08x}")])
@pytest.mark.parametrize("created", [8, 12])
def test_between_a_drop_and_the_first_row_of_the_next_table_there_is_none(connector, place, created):
    found = made_anew(8, created, 20, connector=connector)
    assert [v.incarnation for v in found.versions] == [1, 2]
    assert [select_version(found, place(at)).schema.names for at in (7, 20, 21)] == [
        ("a",),
        ("a", "b"),
        ("a", "b"),
    ]
    for at in range(8, 20):
        with pytest.raises(NoHistory, match="the table was dropped by then") as caught:
            select_version(found, place(at))
        assert str(caught.value.hint).startswith("the last version before that is srv.LIVE.S.T@1")
        anew = "the first event of the recreated table is at 1970-01-01T00:00:00.020Z"
        assert (anew in str(caught.value)) == (at > created)


def test_a_table_made_anew_of_which_no_row_came_stands_as_it_was_declared():
    found = made_anew(8, 12)
    assert select_version(found, AsOf(13)).schema.names == ("a", "b")
    with pytest.raises(NoHistory, match="the table was dropped by then"):
        select_version(found, AsOf(12))


def test_where_only_the_next_create_tells_that_a_table_has_gone_either_may_have_stood():
    found = made_anew(8, 12, 20)
    gone = replace(found.events[0], at=found.versions[1].at)
    with pytest.raises(UsageError, match="version 1 or version 2 was valid then"):
        select_version(replace(found, events=(gone,)), AsOf(15))


@pytest.mark.case(35)
def test_sql_server_begins_a_version_where_a_second_capture_instance_starts():
    def told(kind: str, commit: str, *names: str, ddl: str | None = "N/A", **source: object) -> Payload:
        block = {"connector": "sqlserver", "db": "d", "schema": "dbo", "commit_lsn": commit, **source}
        found = entry(kind, '"d"."dbo"."t"', *names, key=("a",))
        return {**change(found, ddl=ddl, database="d", change_lsn=None, **block), "ts_ms": 1}

    found = history(
        "t", told("CREATE", "00000026:00000001:0001", "a", ddl=None, snapshot="true"),
        told("ALTER", "00000027:00000758:0005", "a", "b"), schema="dbo", database="d",
    )  # fmt: skip
    assert names(found) == [("a",), ("a", "b")]
    assert found.latest.at.position.commit == "00000027:00000758:0005"
    assert {e.kind for v in found.versions for e in v.evidence} == {"declared"}


SWAPS = ("RENAME COLUMN a TO b, RENAME COLUMN b TO a", "CHANGE a b INT, CHANGE b a INT")


@pytest.mark.parametrize("order", [("b", "a"), ("a", "b")])
@pytest.mark.parametrize("statement", SWAPS)
def test_columns_of_one_type_that_exchange_their_names_begin_a_version(statement, order):
    found = history(
        "t",
        mysql(10, entry("CREATE", '"shop"."t"', "a", "b", "c")),
        row(11, "a", "b", "c"),
        mysql(20, entry("ALTER", '"shop"."t"', *order, "c"), ddl=f"ALTER TABLE t {statement}"),
        row(21, *order, "c"),
    )
    ids = [{c.name: c.id for c in v.schema.columns} for v in found.versions]
    assert ids == [{"a": 1, "b": 2, "c": 3}, {"a": 2, "b": 1, "c": 3}]
    assert [v.revision for v in found.versions] == [0, 0]
    assert found.versions[0].id == found.versions[1].id
    (step,) = list_all_steps(found)
    assert [f.rule for f in judge_transition(step, RULES.load_all()) if f.path in {("a",), ("b",)}] == [
        "columns-swapped"
    ]


def test_columns_that_only_move_are_a_revision():
    found = history(
        "t", mysql(10, entry("CREATE", '"shop"."t"', "a", "b")),
        mysql(20, entry("ALTER", '"shop"."t"', "b", "a"), ddl="ALTER TABLE t MODIFY a INT AFTER b"),
    )  # fmt: skip
    assert [(v.revision, v.schema.names) for v in found.versions] == [(1, ("b", "a"))]


def counts(found: TableHistory) -> list[tuple[int, int]]:
    return [
        (sum(e.records for e in v.evidence if e.kind == "emitted"), v.shared_records) for v in found.versions
    ]


def test_rows_on_both_sides_of_a_drop_and_a_create_count_for_both_tables():
    create = entry("CREATE", '"shop"."t"', "a")
    found = history(
        "t",
        mysql(10, create, ddl="CREATE TABLE t (a INT)"),
        *(row(at, "a") for at in (11, 12, 13)),
        mysql(20, {"type": "DROP", "id": '"shop"."t"', "table": None}, ddl="DROP TABLE t"),
        mysql(21, create, ddl="CREATE TABLE t (a INT)"),
        *(row(at, "a") for at in (22, 23, 24)),
    )
    # of equal rows in a run only the first and the last tell where they stand
    assert counts(found) == [(1, 4), (1, 4)]
    assert [v.incarnation for v in found.versions] == [1, 2]
    assert [v.records for v in found.versions] == [2, 2]
    assert (found.shared_records, found.records) == (4, 8)


def test_two_rows_around_a_change_that_no_event_shows_are_one_for_each():
    def told(length: int) -> Any:
        return {"type": "ALTER", "id": '"shop"."t"', "table": image(col("a", 1, "VARCHAR", length=length))}

    def text(at: int) -> Payload:
        made = event(struct("srv.t.Value", a=node("string", optional=True)), connector="mysql")
        made["payload"]["source"].update({"file": "b.000001", "pos": at, "row": 0, "schema": None})
        return {**made, "payload": {**made["payload"], "ts_ms": at}}

    found = history("t", mysql(10, told(10)), text(11), mysql(20, told(20)), text(21))
    assert counts(found) == [(1, 0), (1, 0)]
    assert (found.shared_records, found.records) == (0, 4)


def test_how_many_rows_are_shared_does_not_depend_on_who_read_them():
    payloads = [
        mysql(10, entry("CREATE", '"shop"."t"', "a"), ddl="CREATE TABLE t (a INT)"),
        *(row(at, "a") for at in (11, 12, 13)),
        mysql(21, entry("CREATE", '"shop"."t"', "a"), ddl="CREATE OR REPLACE TABLE t (a INT)"),
        *(row(at, "a") for at in (22, 23, 24)),
    ]
    whole = history("t", *payloads)
    parts: list[Observation] = []
    for one in observed(said(*payloads)):
        if one.count == 1:
            parts.append(one)
            continue
        middle = replace(one.first, offset=one.first.offset + 2)
        after = replace(one.first, offset=one.first.offset + 3)
        parts += [replace(one, last=middle, count=3), replace(one, first=after, count=one.count - 3)]
    assert fold(parts, whole.table, CONNECTORS.get) == whole


@pytest.mark.parametrize(
    ("statement", "now", "ids"),
    [
        ("RENAME COLUMN a TO b, RENAME COLUMN b TO a", ("a", "b"), [2, 1]),
        ("RENAME COLUMN a TO b, RENAME COLUMN b TO c", ("b", "c"), [1, 2]),
        ("RENAME COLUMN a TO b, RENAME COLUMN b TO c", ("a", "b"), [1, 2]),
    ],
)
def test_names_handed_on_by_a_statement_without_a_structure_go_with_their_columns(statement, now, ids):
    found = history(
        "t",
        mysql(10, entry("CREATE", '"shop"."t"', "a", "b")),
        mysql(20, ddl=f"ALTER TABLE t {statement}", table="t"),
        mysql(30, entry("ALTER", '"shop"."t"', *now), ddl="ALTER TABLE t COMMENT 'later'"),
    )
    assert [c.id for c in found.latest.schema.columns] == ids


def test_an_exchange_of_names_refines_nothing_that_events_showed_before():
    statement = "ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a"
    found = history("t", row(11, "a", "b"), mysql(20, entry("ALTER", '"shop"."t"', "a", "b"), ddl=statement))
    assert [[c.id for c in v.schema.columns] for v in found.versions] == [[1, 2], [2, 1]]


ANEW = "ALTER TABLE t DROP COLUMN b, ADD COLUMN b INT"


def one_after_the_other(*payloads: Payload) -> list[dict[str, int | None]]:
    return [{c.name: c.id for c in v.schema.columns} for v in history("t", *payloads).versions]


@pytest.mark.parametrize("connector", ["mysql", "mariadb"])
@pytest.mark.parametrize(
    ("statement", "now", "ids"),
    [
        ("DROP COLUMN b, ADD COLUMN b INT", ("a", "b"), [1, 3]),
        ("DROP `B`, ADD b INT FIRST, ALGORITHM=COPY", ("b", "a"), [3, 1]),
        ("ADD COLUMN (c INT, b INT), DROP b", ("a", "c", "b"), [1, 3, 4]),
        ("DROP b, DROP a, ADD a INT, ADD b INT", ("a", "b"), [3, 4]),
        ("DROP b, CHANGE a b INT", ("b",), [1]),
        ("DROP b, CHANGE a b INT, ADD a INT", ("b", "a"), [1, 3]),
        ("CHANGE b c INT, ADD b INT", ("a", "c", "b"), [1, 2, 3]),
        ("DROP b, ADD b INT; ALTER TABLE t CHANGE b c INT", ("a", "c"), [1, 3]),
        ("DROP KEY b, ADD KEY b (a)", ("a", "b"), [1, 2]),
        ("MODIFY b INT COMMENT 'DROP b, ADD b'", ("a", "b"), [1, 2]),
    ],
)
def test_a_column_dropped_and_added_in_one_statement_is_another(connector, statement, now, ids):
    told = (
        mysql(10, entry("CREATE", '"shop"."t"', "a", "b"), connector=connector),
        mysql(20, entry("ALTER", '"shop"."t"', *now), ddl=f"ALTER TABLE t {statement}", connector=connector),
    )
    found = one_after_the_other(*told)
    assert found[-1] == dict(zip(now, ids, strict=True))
    assert len(found) == 1 + (found[-1] != found[0])


def test_rows_tell_the_column_before_from_the_one_made_anew():
    found = history(
        "t",
        mysql(10, entry("CREATE", '"shop"."t"', "a", "b")),
        *(row(at, "a", "b") for at in (11, 12)),
        mysql(20, entry("ALTER", '"shop"."t"', "a", "b"), ddl=ANEW),
        *(row(at, "a", "b") for at in (21, 22)),
    )
    assert [(v.number, v.status, v.candidates) for v in found.versions] == [
        (1, "confirmed", ()), (2, "confirmed", ()),
    ]  # fmt: skip
    assert found.versions[0].id == found.versions[1].id
    assert counts(found) == [(1, 2), (1, 2)]
    (step,) = list_all_steps(found)
    assert [f.rule for f in judge_transition(step, RULES.load_all())] == ["column-dropped"]


@pytest.mark.parametrize("first", [True, False])
def test_a_statement_told_again_makes_no_column_a_second_time(first):
    """A connector that starts again tells the last change again, at its old position."""
    made = mysql(20, entry("ALTER", '"shop"."t"', "a", "b"), ddl=ANEW)
    created = () if first else (mysql(10, entry("CREATE", '"shop"."t"', "a", "b")),)
    again = ({**made, "ts_ms": 40}, mysql(20, entry("ALTER", '"shop"."t"', "a", "b"), ddl=ANEW))
    once = one_after_the_other(*created, made, row(21, "a", "b"))
    assert once[-1] == ({"a": 1, "b": 2} if first else {"a": 1, "b": 3})
    assert one_after_the_other(*created, made, row(21, "a", "b"), *again, row(23, "a", "b")) == once
    later = mysql(30, entry("ALTER", '"shop"."t"', "a", "b"), ddl=ANEW)
    assert len(one_after_the_other(*created, made, row(21, "a", "b"), later)) == len(once) + 1


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("statement", SWAPS)
def test_an_exchange_of_names_told_again_exchanges_nothing(statement, first):
    """A connector that starts again tells the last change again, at its old position."""
    text = f"ALTER TABLE t {statement}"
    made = mysql(20, entry("ALTER", '"shop"."t"', "b", "a"), ddl=text)
    created = () if first else (mysql(10, entry("CREATE", '"shop"."t"', "a", "b")), row(11, "a", "b"))
    once = one_after_the_other(*created, made, row(21, "b", "a"))
    assert once[-1] == ({"b": 1, "a": 2} if first else {"a": 2, "b": 1})
    for again in ((made, made), ({**made, "ts_ms": 40},)):
        assert one_after_the_other(*created, made, *again, row(21, "b", "a")) == once
        assert one_after_the_other(*created, made, row(21, "b", "a"), *again, row(23, "b", "a")) == once
    back = mysql(30, entry("ALTER", '"shop"."t"', "a", "b"), ddl=text)
    assert len(one_after_the_other(*created, made, row(21, "b", "a"), back)) == len(once) + 1


@pytest.mark.parametrize("structure", [True, False])
def test_what_events_showed_before_is_not_the_column_made_anew(structure):
    told = (entry("ALTER", '"shop"."t"', "a", "b"),) if structure else ()
    rows = [row(at, "a", "b") for at in (11, 21, 22)]
    ids = one_after_the_other(rows[0], mysql(20, *told, ddl=ANEW), *rows[1:])
    assert ids == [{"a": 1, "b": 2}, {"a": 1, "b": 3}]


def test_a_statement_without_a_structure_makes_a_column_anew_for_the_next_one():
    later = mysql(30, entry("ALTER", '"shop"."t"', "a", "z"), ddl="ALTER TABLE t RENAME COLUMN b TO z")
    whole = mysql(10, entry("CREATE", '"shop"."t"', "a", "b"))
    assert one_after_the_other(whole, mysql(20, ddl=ANEW), later)[-1] == {"a": 1, "z": 3}
    first = (mysql(5, ddl=ANEW), whole, row(11, "a", "b"), mysql(20, entry("ALTER", '"shop"."t"', "a", "b")))
    assert one_after_the_other(*first) == [{"a": 1, "b": 2}]


def test_a_tool_that_copies_the_table_keeps_the_values_of_equal_names():
    touched = {"table": "_t_del,t"}
    ids = one_after_the_other(
        mysql(10, entry("CREATE", '"shop"."t"', "a", "b")),
        mysql(30, entry("ALTER", '"shop"."_t_gho"', "a", "b"),
              ddl="ALTER TABLE _t_gho DROP b, CHANGE a a BIGINT, ADD b INT"),
        mysql(40, entry("ALTER", '"shop"."_t_del"', "a", "b"), ddl="RENAME TABLE t TO _t_del", **touched),
        mysql(40, entry("ALTER", '"shop"."t"', "a", "b"), ddl="RENAME TABLE _t_gho TO t", **touched),
    )  # fmt: skip
    assert ids == [{"a": 1, "b": 2}]


def test_a_column_made_anew_has_the_default_of_its_own_definition_or_none():
    ddl = "ALTER TABLE t DROP b, ADD (b INT)"
    first = "CREATE TABLE t (a INT, b INT DEFAULT 7)"
    found = history(
        "t", mysql(10, entry("CREATE", '"shop"."t"', "a", "b"), ddl=first),
        mysql(20, entry("ALTER", '"shop"."t"', "a", "b"), ddl=ddl),
    )  # fmt: skip
    assert [v.schema.columns[1].default for v in found.versions] == ["7", None]


def test_the_lake_puts_the_values_before_aside_and_asks():
    payloads = (
        mysql(10, entry("CREATE", '"shop"."t"', "a", "b", key=("a",))),
        row(11, "a", "b"),
        mysql(20, entry("ALTER", '"shop"."t"', "a", "b", key=("a",)), ddl=ANEW),
        row(21, "a", "b"),
    )
    lake = MemoryTable("/lake/t")
    before = make_plan(migration_source(history("t", *payloads[:2])), None, delta.TARGET, "/lake/t", Policy())
    apply(before, lake, MemoryJournal(), lambda: 0, run="r", approved=True)
    drawn = make_plan(migration_source(history("t", *payloads)), lake.live, delta.TARGET, "/lake/t", Policy())
    assert [s.kind for s in drawn.steps if s.kind != "set-properties"] == ["rename-column", "add-columns"]
    assert any("reuse-name" in approval for approval in drawn.approvals_needed)
