"""Keys: of tables and of rows, of the moment of reading, and of the order in which records arrive."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemaman.compat.rules.key_column_removed import RULE
from schemaman.model.diff import ChangeKey
from tests.cases.connector import INT, NOTE, TEXT, Connector, later, shapes, steps, told
from tests.support import chain

ROW = {"id": INT, "email": TEXT, "name": TEXT}


@pytest.mark.case(22, 23)
@pytest.mark.parametrize("key", [("id",), ("name",)])
def test_another_key_is_another_version(key: tuple[str, ...]):
    connector = Connector()
    connector.rows(ROW, key=("email",))
    connector.rows(ROW, key=key)
    history = connector.told()["t"]
    assert steps(history) == [(ChangeKey(("email",), key),)]
    assert RULE.name.replace("_", "-") in "".join(chain.finding_lines(history, history.versions))


@pytest.mark.case(24)
def test_a_later_key_is_provisional_until_a_later_record_has_it():
    connector = Connector()
    connector.rows(ROW, key=("id",))
    connector.lag_ms = 60_000
    connector.rows(ROW, key=("id", "email"))
    history = connector.told()["t"]
    assert [v.status for v in history.versions] == ["confirmed", "provisional"]
    assert history.latest.unconfirmed == ("key",)
    connector.lag_ms = 5
    connector.at += 200_000
    connector.rows(ROW, key=("id", "email"))
    assert connector.told()["t"].latest.status == "confirmed"


@pytest.mark.case(24)
def test_keys_that_no_table_had_are_never_confirmed():
    partial = chain.history("postgres/shop-downtime", "shop.payments")
    wrong = [v for v in partial.versions if v.schema.key == ("currency",)]
    assert wrong
    assert all("key" in v.unconfirmed for v in wrong)


@pytest.mark.case(25)
def test_null_that_is_allowed_before_its_statement_is_provisional():
    connector = Connector()
    connector.rows({"id": INT, "n": TEXT})
    connector.lag_ms = 60_000
    connector.rows({"id": INT, "n": NOTE})
    history = connector.told()["t"]
    assert history.latest.unconfirmed == ("nullable:n",)
    assert history.latest.status == "provisional"


@pytest.mark.case(26, 28)
def test_a_row_that_changes_its_key_is_no_change_of_structure():
    connector = Connector()
    connector.rows(ROW)
    gone = connector.row(ROW, op="d")
    connector.records[-1] = replace(gone, headers=(("__debezium.newkey", b'{"id":2}'),))
    connector.write(gone.topic, gone.key, None)
    came = connector.row(ROW)
    connector.records[-1] = replace(came, headers=(("__debezium.oldkey", b'{"id":1}'),))
    found = connector.told()
    assert found.rejects == ()
    assert (len(found["t"].versions), found["t"].latest.records) == (1, 5)


@pytest.mark.case(27)
def test_a_truncate_without_a_key_is_an_event_of_the_table():
    connector = Connector()
    connector.rows(ROW)
    connector.row(ROW, op="t")
    connector.rows(ROW)
    history = connector.told()["t"]
    assert len(history.versions) == 1
    assert [e.kind for e in history.events] == ["truncated"]


@pytest.mark.case(63)
def test_an_old_structure_from_another_partition_begins_no_version():
    wide = {**ROW, "more": NOTE}
    connector = Connector()
    connector.rows(ROW, partition=0)
    connector.rows(ROW, partition=1)
    connector.rows(wide, partition=0)
    connector.rows(wide, partition=1)
    history = connector.told()["t"]
    assert len(history.versions) == 2
    second = history.versions[1]
    assert second.after is not None
    assert second.after.partition == 1
    assert (second.at.partition, second.at.offset) == (0, 3)


@pytest.mark.case(64)
def test_records_that_a_restart_repeats_begin_no_version():
    wide = {**ROW, "more": NOTE}
    connector = Connector()
    connector.rows(ROW)
    connector.rows(wide)
    again = [later(r, r.offset + 6) for r in connector.records]
    once = connector.told()["t"]
    twice = told([*connector.records, *again])["t"]
    assert shapes(once) == shapes(twice)
    assert [v.at for v in once.versions] == [v.at for v in twice.versions]


@pytest.mark.case(65)
def test_a_table_created_anew_under_its_name_shows_another_structure():
    connector = Connector()
    connector.rows({"id": INT, "a": TEXT})
    connector.rows({"code": TEXT, "b": INT, "c": INT}, key=("code",))
    old, new = connector.told()["t"].versions
    assert not {c.id for c in old.schema.columns} & {c.id for c in new.schema.columns}
