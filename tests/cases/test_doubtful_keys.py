"""Keys and nullability that could be otherwise: statements count beside images."""

from __future__ import annotations

from typing import Any

import pytest

from schemaman.compat.gate import list_all_steps
from schemaman.compat.judge import RULES, judge_transition
from schemaman.history.versions import TableHistory
from schemaman.report.views.table_changes import build_chapter
from schemaman.report.views.table_chapter import build_timeline
from tests.cases.connector import INT, NOTE, TEXT, Connector, entry, shapes
from tests.support.records import Node

ROW: dict[str, Node] = {"who": TEXT, "day": INT, "hrs": NOTE}


def image(*key: str, more: tuple[str, ...] = ()) -> dict[str, Any]:
    """The structure of the table with a key."""
    names = ("who", "day", "hrs", *more)
    columns = [
        {"name": n, "jdbcType": 4, "typeName": "INT", "position": i, "optional": n not in ("who", "day")}
        for i, n in enumerate(names, start=1)
    ]
    return {"primaryKeyColumnNames": [*key], "columns": columns}


def mariadb(*statements: tuple[str, Node | None], row: bool = True) -> TableHistory:
    """What statements with their structures teach, the first of which creates the table."""
    connector = Connector(name="mariadb")
    for n, (ddl, structure) in enumerate(statements):
        kind = "ALTER" if n else "CREATE"
        entries = () if structure is None else (entry(kind, '"shop"."t"', structure),)
        connector.change(*entries, ddl=ddl, table="t" if structure else "")
    if row:
        connector.rows(dict.fromkeys(ROW, INT), key=())
    return connector.told()["t"]


CREATE = "CREATE TABLE t (who INT NOT NULL, day INT NOT NULL, hrs INT, KEY k1 (hrs))"
UNIQUE = "ALTER TABLE t ADD UNIQUE ux (who, day)"


@pytest.mark.parametrize(
    "drop",
    [
        "ALTER TABLE t DROP INDEX ux",
        "DROP INDEX `ux` ON t",
        "ALTER TABLE t drop key UX, COMMENT 'DROP INDEX k1'",
    ],
)
@pytest.mark.parametrize(
    "add",
    [UNIQUE, "CREATE UNIQUE INDEX ux ON t (who, day)", "ALTER TABLE t ADD UNIQUE KEY `ux` (`who`, `day`)"],
)
def test_the_key_of_a_dropped_index_is_in_doubt(add: str, drop: str):
    history = mariadb((CREATE, image()), (add, image("who", "day")), (drop, image("who", "day")), row=False)
    assert history.latest.unconfirmed == ("key",)
    assert [d.kind for d in history.disagreements] == ["key-index-dropped"]
    assert [k.is_confirmed for k in history.keys] == [True, False]


def test_the_doubt_about_a_key_stays_until_something_settles_it():
    keyed = image("who", "day")
    lost = [(CREATE, image()), (UNIQUE, keyed), ("ALTER TABLE t DROP INDEX ux", keyed)]
    more = ("ALTER TABLE t ADD more INT", image("who", "day", more=("more",)))
    again = ("ALTER TABLE t ADD UNIQUE (who, day)", image("who", "day", more=("more",)))
    assert mariadb(*lost, more, row=False).latest.unconfirmed == ("key",)
    assert mariadb(*lost, more, again, row=False).latest.unconfirmed == ()


@pytest.mark.parametrize(
    ("create", "drop"),
    [
        (CREATE, "ALTER TABLE t DROP INDEX k1"),
        ("CREATE TABLE t (who INT, day INT, hrs INT, PRIMARY KEY (who, day))", "ALTER TABLE t DROP INDEX i"),
        ("CREATE TABLE t (who INT, day INT, hrs INT, UNIQUE a (hrs))", "ALTER TABLE t DROP INDEX a"),
        ("CREATE TABLE t (who INT, day INT, hrs INT, UNIQUE a (who, day), UNIQUE b (who, day))",
         "ALTER TABLE t DROP INDEX a"),
    ],
)  # fmt: skip
def test_an_index_that_made_no_key_leaves_no_doubt(create: str, drop: str):
    keyed = image("who", "day")
    assert mariadb((create, keyed), (UNIQUE, keyed), (drop, keyed), row=False).latest.unconfirmed == ()


def end_of_timeline(history: TableHistory) -> str:
    return build_timeline(build_chapter(history, lambda _: ())).events[-1].label


def test_a_table_that_a_statement_replaced_is_not_dropped():
    history = mariadb(
        (CREATE, image()), ("CREATE OR REPLACE TABLE t (x BIGINT PRIMARY KEY)", None), row=False
    )
    assert not history.is_dropped
    assert [e.kind for e in history.events] == ["dropped", "created"]
    assert [d.kind for d in history.disagreements] == ["altered-unseen"]
    (step,) = list_all_steps(history)
    assert [f.rule for f in judge_transition(step, RULES.load_all())] == ["table-recreated"]
    assert end_of_timeline(history) == "Dropped and created again"


def test_a_table_that_is_dropped_after_it_was_replaced_is_dropped():
    replaced = ("CREATE OR REPLACE TABLE t (x BIGINT)", None)
    history = mariadb((CREATE, image()), replaced, ("DROP TABLE t", None), row=False)
    assert history.is_dropped
    assert history.disagreements == ()
    assert end_of_timeline(history) == "Dropped"


def test_names_that_a_statement_exchanges_keep_their_columns():
    swap = "ALTER TABLE t CHANGE who day INT NOT NULL, CHANGE day who INT NOT NULL"
    columns = image()["columns"]
    swapped = {
        **image(),
        "columns": [{**columns[1], "position": 1}, {**columns[0], "position": 2}, columns[2]],
    }
    history = mariadb((CREATE, image()), (swap, swapped), row=False)
    first, last = ({c.name: c.id for c in s.schema.columns} for s in
                   (history.versions[0].revisions[0], history.versions[-1].revisions[-1]))  # fmt: skip
    assert (last["who"], last["day"]) == (first["day"], first["who"])


def test_a_key_that_only_a_snapshot_of_db2_tells_is_in_doubt():
    connector = Connector(name="db2")
    id = '"public"."t"'
    connector.change(entry("CREATE", id, image("who", "day")), snapshot="true")
    connector.rows(dict.fromkeys(ROW, INT), key=("who", "day"), snapshot="true", op="r")
    connector.change(entry("ALTER", id, image()), ddl="N/A")
    connector.rows(dict.fromkeys(ROW, INT), key=())
    history = connector.told()["t"]
    assert history.latest.unconfirmed == ("key",)
    assert history.latest.status == "provisional"
    assert history.keys[0].origins == ("primary-key", "unique-index")
    connector.change(entry("ALTER", id, image("who", "day")), ddl="N/A")
    assert connector.told()["t"].latest.unconfirmed == ()


@pytest.mark.parametrize(("version", "open"), [("3.4.1.Final", True), ("3.5.0.Final", False)])
def test_facts_of_a_column_whose_name_was_misread_are_not_certain(version: str, open: bool):
    connector = Connector(version=version)
    misread = "größe".encode().decode("latin-1").translate({b: 0xFF00 + b for b in range(128, 256)})
    connector.rows({"id": INT, misread if open else "größe": NOTE, "name": NOTE}, key=("id",), count=6)
    history = connector.told()["t"]
    assert shapes(history) == ["id INT!, größe STRING, name STRING KEY (id)"]
    assert history.latest.unconfirmed == (("key", "nullable:größe") if open else ())
