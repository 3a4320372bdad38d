"""Deletes of which a mirror gets the key alone: flattened ones, and tombstones that compaction has left."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.migration.policy import Policy
from schemaman.migration.row_columns import DELETED
from schemaman.spark.streaming.row_staging import DELETE_WAITS
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_late_schema_changes import at
from tests.streaming.test_policy import DEFAULTS, KEY, alive, mirror, told
from tests.support.batches import cut
from tests.support.memory_sink import EMPTYING, MemorySink
from tests.support.records import change, column, event, image, node, record, row_event, struct

INT = node("int32")
SOURCE = {"name": "srv", "db": "shop", "schema": "public", "table": "t", "connector": "postgresql"}


def key(id: int) -> dict[str, Any]:
    return {"schema": KEY, "payload": {"id": id}}


def flat(offset: int, id: int, n: int, lsn: int, *, deleted: str | None = None, named: str = "id") -> Record:
    """A flattened row that tells its table in full: `add.fields=op,name,db,schema,table,connector,lsn`."""
    added: dict[str, Any] = {"__deleted": deleted} if deleted else {}
    added |= {"__op": "d" if deleted == "true" else "u", **{f"__{k}": v for k, v in SOURCE.items()}}
    added["__lsn"] = lsn
    extra = {k: node("int64" if k == "__lsn" else "string", optional=True) for k in added}
    schema = struct("srv.public.t.Value", **{named: INT}, n=INT, **extra)
    told = {"schema": struct("srv.public.t.Key", **{named: INT}), "payload": {named: id}}
    made = record({"schema": schema, "payload": {named: id, "n": n, **added}}, told)
    return Record(made.topic, 0, offset, 1, made.key, made.value)


def bare(offset: int, id: int) -> Record:
    """A record without a value."""
    return Record("srv.public.t", 0, offset, 1, record(None, key(id)).key, None)


def known(store: SqlStore) -> MemorySink:
    """A mirror of tables whose schema changes are told, and are approved."""
    lake = MemorySink(store, lambda _: None, "delta", EMPTYING, modes=DEFAULTS)
    lake.approve = lambda _: True
    return lake


def graves(lake: MemorySink) -> int:
    (table,) = lake.lake()
    return sum(bool(row["_row_deleted"]) for row in table.rows)


def test_a_flattened_delete_finds_its_table_after_a_restart(store: SqlStore) -> None:
    first = mirror(store)
    first.take([flat(0, 1, 1, 100), flat(1, 2, 1, 110)])
    later = mirror(store)
    later.tables, later.sources = first.tables, first.sources
    later.take([bare(2, 1)])
    assert alive(later) == [{"id": 2, "n": 1}]
    later.take([flat(3, 1, 5, 120)])
    assert sorted(alive(later), key=repr) == [{"id": 1, "n": 5}, {"id": 2, "n": 1}]


def test_what_is_delivered_again_after_a_flattened_delete_is_not_lost(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([flat(0, 1, 1, 100), bare(1, 1), flat(2, 1, 2, 120), flat(3, 2, 1, 130)])
    for again in (bare(4, 1), flat(5, 1, 2, 120), flat(6, 2, 1, 130)):
        lake.take([again])
    assert sorted(alive(lake), key=repr) == [{"id": 1, "n": 2}, {"id": 2, "n": 1}]


@pytest.mark.parametrize("cut", [1, 2])
def test_a_tombstone_behind_a_rewritten_delete_brings_nothing_back_and_takes_nothing_away(
    store: SqlStore, cut: int
) -> None:
    records = [flat(0, 1, 1, 100, deleted="false"), flat(1, 1, 1, 110, deleted="true"), bare(2, 1)]
    lake = mirror(store)
    lake.take(records[:cut])
    lake.take(records[cut:])
    assert alive(lake) == []
    lake.take([flat(3, 1, 7, 120, deleted="false")])
    assert alive(lake) == [{"id": 1, "n": 7}]


def test_a_delete_from_before_its_key_column_was_renamed_is_read_as_of_then(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([flat(0, 1, 1, 100), flat(1, 2, 1, 110)])
    # the rename is known by then: both come in one batch
    lake.take([bare(2, 1), flat(3, 2, 5, 200, named="pid"), flat(4, 3, 1, 210, named="pid")])
    assert sorted(alive(lake), key=repr) == [{"pid": 2, "n": 5}, {"pid": 3, "n": 1}]
    assert lake.withheld() == {}


def paired(offset: int, pos: int, n: int = 0, **key: int) -> Record:
    """An event of a row with a key of two columns, and a third column."""
    value = event(struct("srv.shop.t.Value", **dict.fromkeys(key, INT), n=INT), "c")
    value["payload"]["source"] |= at(pos)
    value["payload"] |= {"after": {**key, "n": n}, "ts_ms": 1005 + pos}
    return replace(gone_pair(offset, **key), value=record(value).value)


def gone_pair(offset: int, **key: int) -> Record:
    """The tombstone of a delete that compaction has taken away."""
    told = {"schema": struct("srv.shop.t.Key", **dict.fromkeys(key, INT)), "payload": key}
    return replace(record(None, told, "srv.shop.t"), offset=offset)


def pair_changed(offset: int, pos: int, text: str, *key: str) -> Record:
    """A schema-change record of the table with that key, or of one that is gone."""
    columns = (
        {"name": n, "jdbcType": 4, "typeName": "INT", "position": i, "optional": False}
        for i, n in enumerate((*key, "n"), 1)
    )
    entry = {"type": text.split()[0], "id": '"shop"."t"', "table": image(*columns, key=key) if key else None}
    return replace(record(change(entry, ddl=text, **at(pos)), {"databaseName": "shop"}, "srv"), offset=offset)


CREATED = pair_changed(0, 100, "CREATE TABLE t (a INT, b INT, n INT, PRIMARY KEY (a, b))", "a", "b")
SWAPPED = pair_changed(1, 300, "ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a", "b", "a")
PAIRS = [CREATED, paired(0, 200, a=1, b=2), paired(1, 210, a=2, b=1)]


def test_a_delete_from_before_its_key_columns_exchanged_names_takes_its_own_row(store: SqlStore) -> None:
    lake = known(store)
    lake.take([*PAIRS, gone_pair(2, a=1, b=2), paired(3, 220, a=5, b=5), SWAPPED, paired(4, 400, b=7, a=8)])
    assert lake.withheld() == {}
    rows = [(row["b"], row["a"]) for row in alive(lake)]
    assert sorted(rows) == [(2, 1), (5, 5), (7, 8)]


def test_a_delete_of_which_nobody_knows_whether_its_columns_had_exchanged_names_is_withheld(
    store: SqlStore,
) -> None:
    lake = known(store)
    lake.take([*PAIRS, gone_pair(2, a=1, b=2), SWAPPED, paired(3, 400, b=7, a=8)])
    (reason,) = lake.withheld().values()
    assert "it is unknown whether the delete came before or after that. Delete its row" in reason
    assert len(alive(lake)) == 3


def test_a_delete_from_an_earlier_life_of_its_table_deletes_no_row_of_the_next_one(store: SqlStore) -> None:
    lake = known(store)
    anew = [pair_changed(1, 300, "DROP TABLE t"), pair_changed(2, 310, "CREATE TABLE t (a INT)", "a", "b")]
    old = [paired(0, 200, a=1, b=2), gone_pair(1, a=1, b=2)]
    lake.take([CREATED, *old, *anew, paired(2, 400, a=1, b=2, n=1)])
    assert set(lake.withheld()) == {("srv.shop.t", 0, 0), ("srv.shop.t", 0, 1)}
    assert all("decide confirm srv.shop.t@1 ended" in reason for reason in lake.withheld().values())
    assert alive(lake) == [{"a": 1, "b": 2, "n": 1}]


# Tombstones of events.


@pytest.mark.parametrize("cut", [1, 2])
def test_the_tombstone_of_an_event_says_nothing_in_whatever_batch_it_comes(store: SqlStore, cut: int) -> None:
    gone = told(1, "d", {"id": 1, "n": 1})
    records = [told(0, row={"id": 1, "n": 1}), gone, bare(2, 1), told(3, row={"id": 1, "n": 2})]
    lake = mirror(store)
    for batch in (records[:cut], records[cut:3]):
        lake.take(batch)
    (table,) = lake.lake()
    assert ["/1/" in row["_row_order"] for row in table.rows] == [True]
    lake.take(records[3:])
    # what a crash lets come again
    lake.take([Record("srv.public.t", 0, 4, 1, gone.key, gone.value)])
    lake.take([Record("srv.public.t", 0, 5, 1, gone.key, None)])
    assert (alive(lake), lake.withheld()) == ([{"id": 1, "n": 2}], {})


def test_the_tombstone_of_a_delete_that_nobody_can_read_makes_no_table(store: SqlStore) -> None:
    gone = told(0, "d", {"id": 1, "n": 1})
    payload = json.loads(gone.value or b"")["payload"]
    plain = json.dumps({**payload, "before": {"id": 1}, "after": None}).encode()
    lake = mirror(store)
    lake.take([replace(gone, value=plain), bare(1, 1)])
    assert len(lake.withheld()) == 1
    assert lake.lake() == []


def test_a_tombstone_whose_event_was_compacted_away_is_the_delete(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([told(0, row={"id": 1, "n": 1}), told(1, row={"id": 2, "n": 1})])
    lake.take([bare(5, 1)])
    assert (alive(lake), graves(lake), lake.withheld()) == ([{"id": 2, "n": 1}], 1, {})
    lake.take([told(6, row={"id": 1, "n": 3})])
    assert sorted(alive(lake), key=repr) == [{"id": 1, "n": 3}, {"id": 2, "n": 1}]


def test_a_tombstone_of_which_nobody_can_tell_where_it_stands_is_withheld(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([told(0, row={"id": 1, "n": 1})])
    beside = bare(0, 1)
    lake.take([Record(beside.topic, 7, 3, 1, beside.key, None)])
    (reason,) = lake.withheld().values()
    assert "it is unknown how far its partition was read" in reason
    assert alive(lake) == [{"id": 1, "n": 1}]


# Behind records of which nobody knew the place.

OTHER = told(0, row={"id": 2, "n": 1})
OLD, NEW = told(1, row={"id": 1, "n": 1}), told(2, "u", {"id": 1, "n": 2})
DAMAGED = replace(NEW, value=(NEW.value or b"").replace(b'"n": 2', b'"n": "?"'))


def repaired(lake: MemorySink) -> None:
    """Say that a registry tells its schema by now."""
    lake.unplaced["srv.public.t", 0, 2] |= {"value": NEW.value}


@pytest.mark.parametrize("cuts", [(), (2,), (3,), (2, 3)])
def test_a_delete_of_a_row_of_which_nobody_understood_a_record_waits_behind_that(
    store: SqlStore, cuts: tuple[int, ...]
) -> None:
    lake = mirror(store)
    records = [OTHER, OLD, DAMAGED, bare(3, 1)]
    for batch in cut(records, cuts):
        lake.take(batch)
    lake.take([bare(4, 2), told(5, row={"id": 3, "n": 1})])
    # that of another row has nothing to wait for
    assert lake.withheld()["srv.public.t", 0, 3] == DELETE_WAITS
    assert alive(lake) == [{"id": 1, "n": 1}, {"id": 3, "n": 1}]
    repaired(lake)
    lake.take([told(6, row={"id": 4, "n": 1})])
    lake.take([])
    assert lake.withheld() == {}
    assert alive(lake) == [{"id": 3, "n": 1}, {"id": 4, "n": 1}]


def test_what_comes_after_a_delete_that_waits_is_newer_than_it(store: SqlStore) -> None:
    lake = mirror(store)
    for batch in ([OTHER, OLD, DAMAGED], [bare(3, 1)], [told(4, row={"id": 1, "n": 3})]):
        lake.take(batch)
    repaired(lake)
    for _ in range(2):
        lake.take([])
    assert sorted(alive(lake), key=repr) == [{"id": 1, "n": 3}, {"id": 2, "n": 1}]
    assert lake.withheld() == {}


def test_what_comes_again_behind_a_delete_that_waits_is_newer_than_it(store: SqlStore) -> None:
    lake = mirror(store)
    for batch in ([OTHER, OLD], [DAMAGED], [bare(3, 1)], [replace(NEW, offset=4)]):
        lake.take(batch)
    repaired(lake)
    for _ in range(2):
        lake.take([])
    assert sorted(alive(lake), key=repr) == [{"id": 1, "n": 2}, {"id": 2, "n": 1}]
    assert lake.withheld() == {}


@pytest.mark.parametrize("together", [False, True])
def test_a_delete_stands_behind_what_was_understood_late(store: SqlStore, together: bool) -> None:
    lake = mirror(store)
    for batch in ([OTHER, OLD], [DAMAGED]):
        lake.take(batch)
    repaired(lake)
    if not together:
        lake.take([])
    lake.take([bare(3, 1)])
    assert (alive(lake), lake.withheld()) == ([{"id": 2, "n": 1}], {})


def test_a_delete_does_not_wait_behind_what_nobody_will_ever_understand(store: SqlStore) -> None:
    lake = mirror(store)
    lake.keep_bytes = False
    for batch in ([OTHER, OLD], [DAMAGED], [bare(3, 1)]):
        lake.take(batch)
    assert alive(lake) == [{"id": 2, "n": 1}]
    assert [reason == DELETE_WAITS for reason in lake.withheld().values()] == [False]


def schemaless(table: str, n: int, id: object, *, gone: bool = False) -> Record:
    """A row of MySQL without schemas, or its tombstone, whose event compaction has taken away."""
    source = {**SOURCE, "connector": "mysql", "schema": None, "table": table, "ts_ms": 1200 + n}
    source |= {"file": "binlog.000001", "pos": 200 + n, "row": 0, "server_id": 1, "snapshot": "false"}
    told = {"before": None, "after": {"id": id, "n": n}, "source": source, "op": "c", "ts_ms": 1205 + n}
    value = None if gone else json.dumps(told).encode()
    return Record(f"srv.shop.{table}", 0, 9 if gone else n, 1, json.dumps({"id": id}).encode(), value)


def created(table: str, pos: int, id: dict[str, Any]) -> Record:
    n = {**column("n", "INT", 2), "jdbcType": 4}
    told = {"type": "CREATE", "id": f'"shop"."{table}"', "table": image(id, n, key=("id",))}
    where: dict[str, Any] = {**SOURCE, "connector": "mysql", "schema": None}
    where |= {"file": "binlog.000001", "pos": pos, "row": 0}
    made = record(change(told, ddl=f"CREATE TABLE {table} (x)", **where), {"databaseName": "shop"}, "srv")
    return replace(made, offset=pos)


def typed(name: str, jdbc: int, **more: int) -> dict[str, Any]:
    return {**column("id", name), "jdbcType": jdbc, "optional": False, **more}


def digits(unscaled: int) -> str:
    return base64.b64encode(unscaled.to_bytes(4, "big")).decode()


ALIKE = {
    "decimals": (
        (typed("DECIMAL", 3, length=10, scale=2), digits(700)),
        (typed("DECIMAL", 3, length=10, scale=0), digits(5), digits(500)),
    ),
    "texts": ((typed("INT", 4), 7), (typed("VARCHAR", 12, length=20), "x", "y")),
    "moments": (
        (typed("DATETIME", 93, length=6), 1_600_000_000_000_000),
        (typed("DATETIME", 93, length=3), 1_600_000_000_000, 1_600_000_000),
    ),
}


@pytest.mark.parametrize("pair", ALIKE)
@pytest.mark.parametrize("turned", [False, True])
def test_a_delete_is_read_by_the_key_of_its_own_table(store: SqlStore, pair: str, turned: bool) -> None:
    """Two tables, one name of a key column: no field of JSON without schemas says which type it is of."""
    tables = dict(zip("ab", ALIKE[pair][:: -1 if turned else 1], strict=True))
    lake = known(store)
    lake.take([created(table, at, told[0]) for at, (table, told) in enumerate(tables.items(), 100)])
    rows = [(table, *row) for table, (_, *ids) in tables.items() for row in enumerate(ids)]
    lake.take([schemaless(*row) for row in rows])
    lake.take([schemaless(*row, gone=True) for row in rows if row[1] == 0])
    left = {t.source.table: {r["n"] for r in t.rows if not r["_row_deleted"]} for t in lake.lake()}
    assert (left, lake.withheld()) == ({"a": set(), "b": set()} | {t: {n} for t, n, _ in rows if n}, {})


@pytest.mark.parametrize(
    ("before", "is_written"),
    [
        ({"id": 0, "code": "b", "name": None}, False),
        ({"id": None, "code": "b", "name": None}, False),
        ({"id": 0, "code": "", "name": None}, True),
        ({"id": 0, "code": "a", "name": "n"}, True),
    ],
    ids=["index of a replica identity", "the same as NULL", "default identity", "full identity"],
)
def test_a_delete_whose_key_is_made_up_deletes_no_row(
    store: SqlStore, before: dict[str, Any], is_written: bool
) -> None:
    sink = MemorySink(store, lambda _: None, "delta", Policy(profile="autopilot"), lambda _: False)
    fields = {"id": node("int32"), "code": node("string"), "name": node("string", optional=True)}
    rows = ({"id": n, "code": code, "name": "n"} for n, code in enumerate("ab"))
    sink.take([row_event(fields, "c", row, offset=n) for n, row in enumerate(rows)])
    sink.take([row_event(fields, "d", before, offset=2)])
    (table,) = sink.lake()
    assert [row["id"] for row in table.rows if not row[DELETED]] == ([1] if is_written else [0, 1])
    assert ["REPLICA IDENTITY USING INDEX" in reason for reason in sink.withheld().values()] == (
        [] if is_written else [True]
    )
