"""The connector's own schema history: told apart, read as a third witness, weighed behind the others."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schemaman.debezium.connectors import mariadb, mysql, postgresql
from schemaman.debezium.decode import decode
from schemaman.debezium.observation import (
    Observation,
    Outcome,
    Reject,
    Skipped,
)
from schemaman.debezium.records import Position, Record
from schemaman.errors import SchemamanError
from schemaman.history.fold.fold import fold
from schemaman.history.references import SourcePosition
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.report.json import schemas, tables
from schemaman.resolve import select_version
from tests.history.test_simulated_mysql import witnesses
from tests.ingest.test_order import Desk
from tests.support.checkout import CAPTURES
from tests.support.records import alone, column, image, outcomes
from tests.support.simulated_mysql import Attribute, Database, State

RUNS = sorted(p.parent for p in CAPTURES.glob("*/*/schema_history_internal.ndjson.gz"))
DIALECTS = {"mysql": mysql.CONNECTOR, "mariadb": mariadb.CONNECTOR, "postgresql": postgresql.CONNECTOR}


def entry(payload: object, offset: int = 0) -> Record:
    return Record("schema-history.srv", 0, offset, 1, None, json.dumps(payload).encode())


def kept(*changes: object, position: object = None, server: object = "srv", **more: object) -> dict[str, Any]:
    place = {"file": "b.000001", "pos": 100, "server_id": 7} if position is None else position
    return {"source": {"server": server}, "position": place, "ts_ms": 9, "databaseName": "shop",
            "ddl": None, "tableChanges": list(changes), **more}  # fmt: skip


def read(payload: object) -> tuple[Outcome, ...]:
    return decode(alone(entry(payload)), "main", lambda id: None)


def internal(run: Path) -> list[Outcome]:
    with gzip.open(run / "schema_history_internal.ndjson.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    return [o for n, row in enumerate(rows) for o in decode(
        alone(Record(row["topic"], 0, n, row["ts"], None, row["payload"].encode())), "main", lambda id: None
    )]  # fmt: skip


def said(run: Path) -> list[Observation]:
    public = [o for _, o in outcomes(run) if isinstance(o, Observation)]
    return [*public, *(o for o in internal(run) if isinstance(o, Observation))]


@pytest.mark.parametrize("run", RUNS, ids=lambda p: p.name)
def test_every_recorded_entry_is_understood(run):
    found = internal(run)
    assert found
    assert not [o for o in found if isinstance(o, Reject)]
    assert {o.evidence for o in found if isinstance(o, Observation)} <= {"internal"}
    assert {o.kind for o in found if isinstance(o, Skipped)} <= {
        "internal-record", "internal-record-without-database", "snapshot-drop",
    }  # fmt: skip


def test_an_entry():
    change = {"type": "CREATE", "id": '"shop"."t"', "comment": "things",
              "table": {"primaryKeyColumnNames": ["id"], "attributes": [], "columns": [
                  {"name": "id", "jdbcType": 4, "typeName": "INT", "position": 1, "optional": False,
                   "hasDefaultValue": False, "enumValues": []}]}}  # fmt: skip
    (found,) = read(kept(change))
    assert isinstance(found, Observation)
    assert (found.evidence, found.action) == ("internal", "image")
    assert found.table == TableId("srv", "shop", "", "t")
    assert found.first.position == Position("binlog", "b.000001:100:0")
    assert found.schema is not None
    assert (found.schema.comment, found.schema.key) == ("things", ("id",))
    assert "default" not in found.unstated_attributes


@pytest.mark.parametrize(("position", "id", "connector"), [
    ({"file": "b.1", "pos": 4, "gtids": "0-7-16"}, '"d"."t"', "mariadb"),
    ({"file": "b.1", "pos": 4, "gtids": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"}, '"d"."t"', "mysql"),
    ({"scn": "12", "commit_scn": "11:1:tx"}, '"ORCL"."S"."T"', "oracle"),
    ({"snapshot_scn": "12"}, '"ORCL"."S"."T"', "oracle"),
    ({"commit_lsn": "0000002c:000005d8:0012"}, '"d"."dbo"."t"', "sqlserver"),
    ({"commit_lsn": "00000000:04a1b390:0000000000000001"}, '"S"."T"', "db2"),
    ({"commit_lsn": "90194313640", "change_lsn": "-1"}, '"d"."s"."t"', "informix"),
])  # fmt: skip
def test_the_position_tells_the_connector(position, id, connector):
    (found,) = read(kept({"type": "ALTER", "id": id, "table": image(column("a"))}, position=position))
    assert isinstance(found, Observation)
    assert found.connector == connector


def test_a_previous_id_that_is_the_same_is_no_rename():
    """Oracle tells one with every ALTER."""
    same = {"type": "ALTER", "id": '"O"."S"."T"', "previousId": '"O"."S"."T"', "table": image(column("A"))}
    other = {**same, "previousId": '"O"."S"."OLD"'}
    (plain,), (renamed,) = (read(kept(c, position={"scn": "7"})) for c in (same, other))
    assert isinstance(plain, Observation)
    assert isinstance(renamed, Observation)
    assert (plain.action, plain.previous) == ("image", None)
    assert (renamed.action, renamed.previous) == ("rename", TableId("srv", "O", "S", "OLD"))


def test_a_statement_of_old_releases_is_evidence_as_well():
    (found,) = read(kept(ddl="DROP TABLE `t`"))
    assert isinstance(found, Observation)
    assert (found.action, found.table.table) == ("drop", "t")


@pytest.mark.parametrize(("payload", "reason"), [
    (kept({"type": "ALTER", "id": '"a"."t"', "table": image(column("a"))}, position={"offset": 1}),
     "names no connector"),
    (kept({"type": "DROP", "id": '"a"."t"'}, position={"file": "b.1", "scn": "1"}),
     "names no connector"),
    (kept({"type": "ALTER", "id": '"a"."t"', "table": image(column("a"))}, server=None), "names no server"),
    (kept({"type": "ALTER", "id": '"', "table": image(column("a"))}), "table id"),
    (kept({"type": "FOO", "id": '"a"."t"'}), "CREATE, ALTER and DROP"),
])  # fmt: skip
def test_what_is_refused_says_why(payload, reason):
    (found,) = read(payload)
    assert isinstance(found, Reject)
    assert reason in found.reason


def history(observations: list[Observation], table: TableId) -> TableHistory:
    found = fold(observations, table, DIALECTS.__getitem__)
    assert found is not None
    return found


BOOKS = CAPTURES / "mariadb/bookshop-mysql-1.9.8-json"
BOOK = TableId("books", "bookshop", "", "book")


def test_it_supports_what_is_declared_and_changes_nothing():
    public = [o for o in said(BOOKS) if o.evidence != "internal"]
    alone_, with_it = history(public, BOOK), history(said(BOOKS), BOOK)
    assert [(v.id, v.at, v.revisions) for v in with_it.versions] == [
        (v.id, v.at, v.revisions) for v in alone_.versions
    ]
    assert {e.kind for v in with_it.versions for e in v.evidence} == {"declared", "emitted", "internal"}
    assert with_it.disagreements == alone_.disagreements
    Draft202012Validator(schemas.read_schema("history")).validate(tables.build_history(with_it))


def test_alone_it_tells_the_same_structures():
    public = [o for o in said(BOOKS) if o.evidence != "internal"]
    own = [o for o in said(BOOKS) if o.evidence == "internal"]
    assert [v.id for v in history(own, BOOK).versions] == [v.id for v in history(public, BOOK).versions]
    assert [e.kind for e in history(own, BOOK).events] == [e.kind for e in history(public, BOOK).events]


def test_beside_events_alone_it_still_ends_tables():
    events = [o for o in said(BOOKS) if o.evidence == "emitted"]
    own = [o for o in said(BOOKS) if o.evidence == "internal"]
    assert not history(events, BOOK).events
    found = history([*events, *own], BOOK)
    assert [(e.kind, e.other and str(e.other)) for e in found.events] == [
        ("renamed", "books.bookshop.book_old"), ("created", None),
    ]  # fmt: skip


def test_what_it_contradicts_is_kept():
    public = [o for o in said(BOOKS) if o.evidence != "internal"]
    (change,) = read(kept({"type": "ALTER", "id": '"bookshop"."book"', "table": image(column("other"))},
                          server="books"))  # fmt: skip
    assert isinstance(change, Observation)
    found = history([*public, change], BOOK)
    assert [(d.kind, d.coordinates) for d in found.disagreements if d.kind == "internal-differs"] == [
        ("internal-differs", (change.first,))
    ]
    assert [v.id for v in found.versions] == [v.id for v in history(public, BOOK).versions]


def test_the_public_topic_is_not_taken_for_it():
    kinds = {o.evidence for _, o in outcomes(BOOKS) if isinstance(o, Observation)}
    assert kinds == {"declared", "emitted"}


ID, A = Attribute(1, "id", 0, False), Attribute(2, "a", 1, True)
Z, Y = Attribute(3, "z", 1, True), Attribute(4, "y", 0, True)


def rows_and_own(*steps: tuple[str, State]) -> TableHistory:
    """What rows and the connector's own history tell: a step each 8 bytes, from 1008 on."""
    made = Database(Random(0))
    for word, state in steps:
        if word == "row":
            made._row("t", state)
        else:
            made._declare(word, "t", state, f"{word} TABLE t")
    desk = Desk()
    for records in witnesses(made)[1:]:
        desk.read(records)
    return next(h for h in desk.histories if h.table.table == "t")


def told(history: TableHistory, place: int) -> str:
    """The version at a place, or why none is told."""
    try:
        return select_version(history, SourcePosition("binlog", f"binlog.000003:{place}:0")).ref.partition(
            "@"
        )[2]
    except SchemamanError as error:
        return error.message.partition(": ")[2]


OLD, NEW = (ID, A), (replace(ID, number=9), Z)
ENDED = (("CREATE", OLD), ("row", OLD), ("row", OLD), ("DROP", ()))
GONE = "the table was dropped by then"
ANEW = "the table was dropped and another one had its name by then, which no record shows there"


def test_a_table_that_is_made_anew_is_not_dropped_before_its_first_row():
    found = rows_and_own(*ENDED, ("CREATE", NEW), ("ALTER", (*NEW, Y)))
    assert [(e.kind, e.incarnation) for e in found.events] == [("dropped", 1), ("created", 2)]
    assert (found.has_ended, found.is_dropped) == (True, False)
    assert [told(found, at) for at in (1024, 1032, 1036, 1040, 1044, 1048, 1099)] == [
        "1", GONE, GONE, ANEW, ANEW, ANEW, ANEW,
    ]  # fmt: skip
    assert {d.kind for d in found.disagreements} == {"internal-differs"}


def test_a_table_that_is_made_anew_is_told_from_its_first_row_on():
    found = rows_and_own(*ENDED, ("CREATE", NEW), ("ALTER", (*NEW, Y)), ("row", (*NEW, Y)))
    assert [v.incarnation for v in found.versions] == [1, 2]
    assert not found.has_ended
    assert [told(found, at) for at in (1032, 1040, 1044, 1048, 1052, 1056, 1099)] == [
        GONE, ANEW, ANEW, "2", ANEW, "2", "2",
    ]  # fmt: skip


def test_one_that_no_row_ever_showed_may_be_dropped_again():
    steps = (*ENDED, ("CREATE", NEW), ("DROP", ()))
    gone, back = rows_and_own(*steps), rows_and_own(*steps, ("CREATE", OLD), ("row", OLD))
    assert (gone.has_ended, gone.is_dropped) == (True, True)
    assert [told(gone, at) for at in (1036, 1044, 1048, 1099)] == [GONE, ANEW, GONE, GONE]
    assert [(e.kind, e.incarnation) for e in back.events] == [
        ("dropped", 1), ("created", 2), ("dropped", 2), ("created", 3),
    ]  # fmt: skip
    assert [v.incarnation for v in back.versions] == [1, 3]
    assert [told(back, at) for at in (1044, 1052, 1056, 1060, 1064)] == [ANEW, GONE, "2", ANEW, "2"]


def test_what_is_said_of_one_life_supports_no_version_of_another():
    """The same structure before and behind the DROP: each CREATE stands for its own."""
    same = rows_and_own(*ENDED, ("CREATE", OLD))
    assert [(e.kind, e.last.position.value) for v in same.versions for e in v.evidence] == [
        ("emitted", "binlog.000003:1024:0"), ("internal", "binlog.000003:1008:0"),
    ]  # fmt: skip
    assert told(same, 1040) == ANEW
    both = rows_and_own(*ENDED, ("CREATE", OLD), ("row", OLD))
    assert [told(both, at) for at in (1036, 1040, 1044, 1048)] == [GONE, "2", ANEW, "2"]


def test_a_column_that_took_no_nulls_between_two_rows_is_told():
    """Rows have the same structure on both sides, and the connector's own history another one between."""
    strict = (ID, replace(A, nullable=False))
    found = rows_and_own(("CREATE", OLD), ("row", OLD), ("ALTER", strict), ("ALTER", OLD), ("row", OLD))
    assert [(d.kind, d.message, [m.position.value for m in d.coordinates]) for d in found.disagreements] == [
        ("internal-nullability-differs", "the connector's own schema history has a NOT NULL",
         ["binlog.000003:1024:0"]),
    ]  # fmt: skip
    refused = "records around it show version 1, but the connector's own schema history has a NOT NULL"
    assert [told(found, at) for at in (1016, 1020, 1024, 1028, 1032, 1036, 1040)] == [
        "1", "1", refused, refused, "1", "1", "1",
    ]  # fmt: skip


def test_a_column_that_takes_no_nulls_any_more_is_no_contradiction_once_rows_show_it():
    strict = (ID, replace(A, nullable=False))
    found = rows_and_own(("CREATE", OLD), ("row", OLD), ("ALTER", strict), ("row", strict))
    assert not found.disagreements
    assert [told(found, at) for at in (1016, 1024, 1032)] == ["1", "2", "2"]
