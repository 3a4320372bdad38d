"""The connector's own schema history: told apart, read as a third witness, weighed behind the others."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schemaman.decode.decode import decode
from schemaman.dialects import mariadb, mysql, postgresql
from schemaman.documents import schemas, tables
from schemaman.evidence import Aside, Observation, Outcome, Position, Record, Reject
from schemaman.history import fold
from schemaman.schema import TableId
from schemaman.versions import TableHistory
from tests.house import CAPTURES
from tests.records import alone, column, image, outcomes

RUNS = sorted(p.parent for p in CAPTURES.glob("*/*/schema_history_internal.ndjson.gz"))
DIALECTS = {"mysql": mysql.DIALECT, "mariadb": mariadb.DIALECT, "postgresql": postgresql.DIALECT}


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
    assert {o.witness for o in found if isinstance(o, Observation)} <= {"internal"}
    assert {o.kind for o in found if isinstance(o, Aside)} <= {
        "internal-record", "internal-record-without-database", "snapshot-drop",
    }  # fmt: skip


def test_an_entry():
    change = {"type": "CREATE", "id": '"shop"."t"', "comment": "things",
              "table": {"primaryKeyColumnNames": ["id"], "attributes": [], "columns": [
                  {"name": "id", "jdbcType": 4, "typeName": "INT", "position": 1, "optional": False,
                   "hasDefaultValue": False, "enumValues": []}]}}  # fmt: skip
    (found,) = read(kept(change))
    assert isinstance(found, Observation)
    assert (found.witness, found.action) == ("internal", "image")
    assert found.table == TableId("srv", "shop", "", "t")
    assert found.first.position == Position("binlog", "b.000001:100:0")
    assert found.schema is not None
    assert (found.schema.comment, found.schema.key) == ("things", ("id",))
    assert "default" not in found.silent


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
    public = [o for o in said(BOOKS) if o.witness != "internal"]
    alone_, with_it = history(public, BOOK), history(said(BOOKS), BOOK)
    assert [(v.id, v.at, v.revisions) for v in with_it.versions] == [
        (v.id, v.at, v.revisions) for v in alone_.versions
    ]
    assert {e.witness for v in with_it.versions for e in v.evidence} == {"declared", "emitted", "internal"}
    assert with_it.disagreements == alone_.disagreements
    Draft202012Validator(schemas.get("history")).validate(tables.history(with_it))


def test_alone_it_tells_the_same_structures():
    public = [o for o in said(BOOKS) if o.witness != "internal"]
    own = [o for o in said(BOOKS) if o.witness == "internal"]
    assert [v.id for v in history(own, BOOK).versions] == [v.id for v in history(public, BOOK).versions]
    assert [e.kind for e in history(own, BOOK).events] == [e.kind for e in history(public, BOOK).events]


def test_beside_events_alone_it_still_ends_tables():
    events = [o for o in said(BOOKS) if o.witness == "emitted"]
    own = [o for o in said(BOOKS) if o.witness == "internal"]
    assert not history(events, BOOK).events
    found = history([*events, *own], BOOK)
    assert [(e.kind, str(e.other)) for e in found.events] == [("renamed", "books.bookshop.book_old")]


def test_what_it_contradicts_is_kept():
    public = [o for o in said(BOOKS) if o.witness != "internal"]
    (change,) = read(kept({"type": "ALTER", "id": '"bookshop"."book"', "table": image(column("other"))},
                          server="books"))  # fmt: skip
    assert isinstance(change, Observation)
    found = history([*public, change], BOOK)
    assert [(d.kind, d.marks) for d in found.disagreements if d.kind == "internal-differs"] == [
        ("internal-differs", (change.first,))
    ]
    assert [v.id for v in found.versions] == [v.id for v in history(public, BOOK).versions]


def test_the_public_topic_is_not_taken_for_it():
    kinds = {o.witness for _, o in outcomes(BOOKS) if isinstance(o, Observation)}
    assert kinds == {"declared", "emitted"}
