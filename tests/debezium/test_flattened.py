"""Flattened rows: what flattening added is no column, and tells table, place and kind; a column stays one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.decode import decode
from schemaman.debezium.flattened_fields import NO_KEY_NAMES, read_additions
from schemaman.debezium.observation import Observation, Outcome, Skipped
from schemaman.debezium.records import Position, Record
from schemaman.debezium.table_identity import identify_parts
from schemaman.debezium.wire_format import Forms
from schemaman.errors import BadConfiguration
from schemaman.ingest.chunks import build_reading
from schemaman.ingest.scan import merge, scan
from schemaman.model.schema import TableId
from schemaman.sink.reader import RowReader
from schemaman.sink.row_change import RowChange
from tests.support import chain
from tests.support.checkout import CAPTURES
from tests.support.records import alone, node, record, records, registry, struct
from tests.truth.recording import facts
from tests.truth.truth import read_truth

TOPIC = "srv.public.t"
TEXT, NUMBER = node("string", optional=True), node("int64", optional=True)


def row(name: str = "srv.public.t.Value", /, **added: tuple[Any, object]) -> dict[str, Any]:
    """A flattened row of `id` and `note` with fields added: node and value."""
    fields = {f: n for f, (n, _) in added.items()}
    payload = {"id": 1, "note": "x"} | {f: v for f, (_, v) in added.items()}
    return {"schema": struct(name, id=node("int32"), note=TEXT, **fields), "payload": payload}


def key(**more: object) -> dict[str, Any]:
    fields = {"id": node("int32"), **dict.fromkeys(more, node("string"))}
    return {"schema": struct("srv.public.t.Key", **fields), "payload": {"id": 1, **more}}


def one(record: Record) -> Any:
    (outcome,) = decode(alone(record), "main", lambda id: None)
    return outcome


def observed(value: object, of: object = None, topic: str = TOPIC, headers: Any = ()) -> Observation:
    made = record(value, of, topic)
    outcome: Outcome = one(Record(made.topic, 0, 0, 1, made.key, made.value, headers))
    assert isinstance(outcome, Observation), outcome
    return outcome


def names(seen: Observation) -> tuple[str, ...]:
    assert seen.schema is not None
    return seen.schema.names


def keyed(seen: Observation) -> tuple[str, ...]:
    assert seen.schema is not None
    return seen.schema.key


def test_a_row_that_tells_nothing_goes_by_its_topic():
    seen = observed(row(), key())
    assert seen.table == TableId("srv", "", "public", "t")
    assert (seen.weak, seen.connector, seen.evidence, seen.snapshot) == (True, "unknown", "emitted", False)
    assert names(seen) == ("id", "note")
    assert keyed(seen) == ("id",)


@pytest.mark.case(56)
def test_fields_that_flattening_adds_are_never_columns():
    """The topic gained `__deleted`, `__op` and more, the table did not change."""
    added = {"__deleted": (TEXT, "false"), "__op": (TEXT, "u"), "__table": (TEXT, "t"), "__lsn": (NUMBER, 7),
             "__source_ts_ms": (NUMBER, 9), "__ts_ms": (NUMBER, 10), "__source_txId": (NUMBER, 3),
             "__source_snapshot": (TEXT, None), "__transaction_id": (TEXT, None)}  # fmt: skip
    plain, flat = observed(row(), key()), observed(row(**added), key())
    assert flat.schema == plain.schema
    assert flat.table == plain.table
    assert flat.connector == "postgresql"


@pytest.mark.parametrize(("added", "columns"), [
    ({"__mine": (TEXT, "c")}, ("__mine",)),
    ({"__op": (NUMBER, 7)}, ("__op",)),
    ({"__op": (TEXT, "x")}, ("__op",)),
    ({"__deleted": (TEXT, "mine")}, ("__deleted",)),
    ({"__deleted": (TEXT, None)}, ("__deleted",)),
    ({"__op": (node("string"), "c")}, ("__op",)),
    ({"__lsn": (TEXT, "c")}, ("__lsn",)),
    ({"__op": (TEXT, "c"), "last": (TEXT, None)}, ("__op", "last")),
    ({"__deleted": (TEXT, "mine"), "__op": (NUMBER, 7), "__table": (TEXT, "t"), "__lsn": (NUMBER, 7)},
     ("__deleted", "__op")),
])  # fmt: skip
def test_a_column_stays_one_whatever_it_is_called(added, columns):
    assert names(observed(row(**added), key())) == ("id", "note", *columns)


def test_another_prefix_has_to_be_said():
    added = {"meta_op": (TEXT, "c"), "meta_source_lsn": (NUMBER, 7), "meta_table": (TEXT, "u")}
    assert names(observed(row(**added), key())) == ("id", "note", *added)
    made = record(row(**added, __deleted=(TEXT, "false")), key())
    reading = build_reading(lambda id: None, Forms(added="meta_"))
    (run,) = scan([made], reading)
    assert (run.table, run.first.position) == (("srv", "", "public", "u"), Position("lsn", "7"))
    (seen,) = decode(run, "main", lambda id: None, reading.forms)
    assert isinstance(seen, Observation)
    assert (names(seen), seen.table.table) == (("id", "note"), "u")


def test_no_prefix_makes_columns_of_any_table_added_fields():
    with pytest.raises(BadConfiguration, match="columns of a table, such as `name`"):
        Forms(added="")
    assert Forms(added="_").added == "_"


def test_a_connector_that_nobody_knows_is_no_fault():
    seen = observed(row(**told(connector="cassandra", name="srv", db="shop", table="t")), key())
    assert seen.connector == "unknown"


def test_a_delete_that_was_rewritten_shows_the_structure():
    added = {"__deleted": (TEXT, "true"), "__op": (TEXT, "d")}
    assert observed(row(**added), key()).schema == observed(row(), key()).schema


@pytest.mark.case(57)
@pytest.mark.parametrize("value", [None, {"schema": row()["schema"], "payload": None}])
def test_a_delete_that_became_a_tombstone(value):
    """JsonConverter keeps the schema beside a null, the Avro converter writes a real null."""
    outcome = one(record(value, key()))
    assert isinstance(outcome, Skipped)
    assert outcome.kind == "tombstone"


@pytest.mark.parametrize("whole", [True, False])
def test_columns_called_source_and_position_are_columns(whole):
    """A table without a key can have them; records of a connector's own history have objects there."""
    told = {"source": (TEXT, "shop"), "position": (TEXT, "7"), "__op": (TEXT, "c"), "__table": (TEXT, "t")}
    made = row(**told)
    seen = observed(made if whole else made["payload"])
    assert names(seen) == ("id", "note", "source", "position")
    found = RowReader().read(record(made))
    assert isinstance(found, RowChange)
    assert found.after == {"id": 1, "note": "x", "source": "shop", "position": "7"}


def test_columns_called_source_and_position_of_points_are_columns():
    """PostgreSQL's points are structs."""
    point = struct("io.debezium.data.geometry.Point", x=node("double"), y=node("double"))
    where = {"x": 1.5, "y": 2.5}
    made = row(source=(point, where), position=(point, where), __op=(TEXT, "c"))
    assert names(observed(made)) == ("id", "note", "source", "position")


@pytest.mark.case(62)
def test_routing_wrote_the_table_into_the_key():
    """The physical identifier tells the table and is no column of the key."""
    seen = observed(
        row("srv.public.all.Value"), key(__dbz__physicalTableIdentifier="srv.public.t_eu"), "srv.public.all"
    )
    assert seen.table == TableId("srv", "", "public", "t_eu")
    assert keyed(seen) == ("id",)


def told(**source: str) -> dict[str, tuple[Any, object]]:
    return {f"__{name}": (TEXT, value) for name, value in source.items()}


@pytest.mark.parametrize(("topic", "name", "source", "table", "weak"), [
    ("srv.public.t", "srv.public.t.Value", {}, ("srv", "", "public", "t"), True),
    ("srv.public.t", "", {}, ("srv", "", "public", "t"), True),
    ("t", "t.Value", {}, ("", "", "", "t"), True),
    ("all", "srv.public.t.Value", {}, ("srv", "", "public", "t"), True),
    ("my-srv.public.t-u", "my_srv.public.t_u.Value", {}, ("my-srv", "", "public", "t-u"), True),
    ("all", "srv.public.t.Value", {"table": "u"}, ("srv", "", "public", "u"), True),
    ("all", "", {"schema": "s", "table": "u"}, ("", "", "s", "u"), True),
    ("srv.shop.t", "srv.shop.t.Value", {"db": "shop"}, ("srv", "shop", "", "t"), True),
    ("srv.shop.dbo.t", "srv.shop.dbo.t.Value", {"db": "shop"}, ("srv", "shop", "dbo", "t"), True),
    ("a.b.shop.t", "a.b.shop.t.Value", {"name": "a.b", "db": "shop", "table": "t"},
     ("a.b", "shop", "", "t"), False),
    ("x", "y.Value", {"name": "srv", "db": "shop", "schema": "s", "table": "t"},
     ("srv", "shop", "s", "t"), False),
    ("x", "y.Value", {"name": "srv", "db": "shop", "table": "t", "connector": "mysql"},
     ("srv", "shop", "", "t"), False),
    ("x.s.t", "", {"name": "srv", "db": "shop", "table": "t"}, ("srv", "shop", "s", "t"), True),
])  # fmt: skip
def test_whose_row_it_is(topic, name, source, table, weak):
    added = read_additions({f: v for f, (_, v) in told(**source).items()})
    assert identify_parts(topic, name, added, NO_KEY_NAMES) == (table, not weak)


def test_headers_tell_as_fields_do():
    headers = (("__op", b"r"), ("__source_lsn", b"77"), ("__debezium.newkey", b"{}"), ("__table", None))
    seen = observed(row(), key(), headers=headers)
    assert (seen.snapshot, seen.connector) == (True, "postgresql")
    (run,) = scan([Record(TOPIC, 0, 0, 1, *_bytes(row(), key()), headers)], build_reading(lambda id: None))
    assert run.first.position == Position("lsn", "77")


def _bytes(value: object, of: object) -> tuple[bytes | None, bytes | None]:
    made = record(value, of)
    return made.key, made.value


@pytest.mark.parametrize(("fields", "connector", "kind"), [
    ({"lsn": 7}, "postgresql", "lsn"),
    ({"commit_lsn": "00000027:00000ac0:0002", "change_lsn": "00000027:00000ac0:0001"},
     "sqlserver", "commit_lsn"),
    ({"commit_lsn": "00000000:00000000:000000000088ca07"}, "db2", "commit_lsn"),
    ({"scn": "1", "commit_scn": "2"}, "oracle", "scn"),
    ({"file": "bin.1", "pos": 4, "row": 0}, "unknown", "binlog"),
    ({"ts_ms": 4}, "unknown", "none"),
])  # fmt: skip
def test_whose_log_it_is(fields, connector, kind):
    added = {f"__source_{n}": (NUMBER if isinstance(v, int) else TEXT, v) for n, v in fields.items()}
    assert observed(row(**added), key()).connector == connector
    (run,) = scan([record(row(**added), key())], build_reading(lambda id: None))
    assert run.first.position.kind == kind


# Recordings: two shards in one topic, told apart by what was added.


@pytest.mark.case(62)
def test_shards_in_one_topic_are_tables_of_their_own():
    eu, us = (chain.history("postgres/shop-flat-routed", f"shop.sales_{s}") for s in ("eu", "us"))
    assert [h.identity for h in (eu, us)] == ["weak", "weak"]
    assert [str(h.table) for h in (eu, us)] == ["shopdb.shop.sales_eu", "shopdb.shop.sales_us"]
    assert [sum(v.records for v in h.versions) for h in (eu, us)] == [32, 31]
    assert all("vat" in v.schema.names for v in (*eu.versions[1:], *us.versions[1:]))
    assert not any(n.startswith("__") for h in (eu, us) for v in h.versions for n in v.schema.names)
    assert {v.schema.key for h in (eu, us) for v in h.versions} == {("id",)}


@pytest.mark.parametrize("run", ["postgres/shop-flat-routed", "postgres/shop-flat-plain"])
def test_names_and_keys_are_those_of_the_database(run):
    """Also of rows without schemas, whose columns called `__deleted` and `__op` are the table's own."""
    truth = read_truth(CAPTURES / run)
    known = {
        (h.table.schema, h.table.table, v.schema.names) for h in chain.histories(run) for v in h.versions
    }
    shown = set()
    for fact in facts(CAPTURES / run).values():
        table = (fact.source["schema"], fact.source["table"])
        step = None if fact.snapshot else truth.at(fact)
        if step is not None and table in step.tables:
            shown.add((*table, tuple(c.name for c in step.tables[table].columns)))
    assert len(shown) > 5
    assert shown - known == set()
    assert {v.schema.key for h in chain.histories(run) for v in h.versions} == {("id",), ("code",)}


@pytest.mark.parametrize("run", ["postgres/shop-flat-routed", "postgres/shop-flat-plain"])
def test_parts_of_a_topic_with_shards_merge_to_the_whole(run):
    reading = build_reading(registry(CAPTURES / run))
    found = sorted(records(CAPTURES / run), key=lambda r: (r.topic, r.offset))
    whole = scan(found, reading)
    assert whole == scan(found, reading, quick=False)
    for cut in range(0, len(found), 7):
        assert merge((*scan(found[:cut], reading), *scan(found[cut:], reading)), reading) == whole


VALUES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["c", "d", "true", "t", ""])
FIELDS = st.sampled_from(
    ["id", "__op", "__deleted", "__table", "__lsn", "__source_lsn", "__ts_ms", "__x", "__id"]
)


@given(st.dictionaries(FIELDS, VALUES, max_size=9))
def test_only_what_stands_last_was_added(payload):
    found = read_additions(payload).names
    assert found == tuple(payload)[len(payload) - len(found) :]
    kept = {f: v for f, v in payload.items() if f not in found}
    assert read_additions(kept).names == ()
