"""DROP DATABASE ends every table of the database, though no record names them.

Source: MySQL and MariaDB manuals, DROP DATABASE (DROP SCHEMA is a synonym), CREATE OR REPLACE DATABASE.
"""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from schemaman.debezium.records import Record
from schemaman.ingest.ingest import ingest
from schemaman.registry import Registry
from schemaman.store.sql.store import SqlStore
from tests.cases.connector import INT, TEXT, Connector, Told, entry, told, told_in_parts
from tests.support.records import column, image

ID = image(column("id", "INT", 1, optional=False), key=("id",))
TABLES = {"orders": "shop", "stock": "shop", "ship": "depot"}


def create(connector: Connector) -> None:
    """Three tables in two databases; events show another table that no statement declares."""
    for table, database in TABLES.items():
        ddl = f"CREATE TABLE {database}.{table} (id INT PRIMARY KEY)"
        connector.change(
            entry("CREATE", f'"{database}"."{table}"', ID), ddl=ddl, table=table, database=database
        )
    connector.rows({"id": INT, "note": TEXT}, 1, table="log")


def endings(found: Told) -> dict[str, list[tuple[str, object]]]:
    """How the incarnations of each table ended, and where."""
    return {
        name: [(e.kind, e.at.position.value) for e in history.events]
        for name, history in found.histories.items()
    }


@pytest.mark.parametrize(("name", "ddl"), [
    ("mysql", "DROP DATABASE shop"),
    ("mysql", "/* nightly */ drop schema if exists `shop`"),
    ("mariadb", "CREATE OR REPLACE DATABASE shop"),
])  # fmt: skip
def test_all_tables_of_the_database_end(name: str, ddl: str):
    connector = Connector(name)
    create(connector)
    connector.change(ddl=ddl, table="")
    at = [("dropped", f"binlog.000003:{connector.at}:0")]
    assert endings(connector.told()) == {"orders": at, "stock": at, "log": at, "ship": []}
    assert [n.kind for n in connector.told().notes] == ["database-dropped"]


@pytest.mark.parametrize(("ddl", "snapshot"), [
    ("DROP DATABASE shop", "true"),
    ("CREATE DATABASE IF NOT EXISTS shop", "false"),
    ("ALTER DATABASE shop CHARACTER SET utf8mb4", "false"),
    ("DROP DATABASE other", "false"),
    ("DROP VIEW shop", "false"),
])  # fmt: skip
def test_other_statements_end_no_table(ddl: str, snapshot: str):
    connector = Connector("mysql")
    create(connector)
    connector.change(ddl=ddl, table="", snapshot=snapshot)
    assert not any(endings(connector.told()).values())


def dropped_and_made_again() -> list[Record]:
    """A database that was dropped twice; one of its tables was created again before the second time."""
    connector = Connector("mysql")
    create(connector)
    connector.change(ddl="DROP DATABASE shop", table="")
    connector.change(ddl="CREATE DATABASE shop", table="")
    connector.change(entry("CREATE", '"shop"."orders"', ID), ddl="CREATE TABLE shop.orders (id INT)")
    connector.rows({"id": INT}, 1, table="orders")
    connector.change(ddl="DROP DATABASE shop", table="")
    connector.change(entry("CREATE", '"shop"."orders"', ID), ddl="CREATE TABLE shop.orders (id INT)")
    return connector.records


def test_a_table_that_is_created_again_is_another_one():
    found = told(dropped_and_made_again())
    assert [v.incarnation for v in found["orders"].versions] == [1, 2, 3]
    assert [(len(found[t].versions), len(found[t].events)) for t in ("stock", "ship", "log")] == [
        (1, 1), (1, 0), (1, 1),
    ]  # fmt: skip


def test_the_order_in_which_topics_arrive_makes_no_difference():
    records = dropped_and_made_again()
    topics = sorted({r.topic for r in records})
    parts = [[r for r in records if r.topic == topic] for topic in topics]
    whole = told(records).histories
    for order in permutations(parts):
        assert told_in_parts(order).histories == whole
    changes = next(part for part in parts if part[0].topic == "srv")
    rest = [r for r in records if r.topic != "srv"]
    assert told_in_parts([*([r] for r in changes), rest]).histories == whole
    assert told_in_parts([rest, *([r] for r in reversed(changes))]).histories == whole


def test_a_store_keeps_the_drops_once(tmp_path: Path):
    records = sorted(dropped_and_made_again(), key=lambda r: (r.topic, r.partition, r.offset))
    with SqlStore.open(f"sqlite:///{tmp_path}/s.db", create=True) as store:
        registry = Registry(store, lambda: 0)
        for _ in range(2):
            ingest(records, registry, "main", lambda id: None)
        kept = {h.table.table: h for h in registry.tables()}
        assert kept == told(records).histories
        drops = [o for o in registry.observations(kept["stock"].table) if o.action == "drop"]
        assert len(drops) == 2


def test_a_database_that_is_spelled_in_another_case_is_a_doubt_until_a_record_shows_the_table():
    connector = Connector("mysql")
    create(connector)
    connector.change(ddl="DROP DATABASE IF EXISTS `Shop`", table="", database="Shop")
    connector.rows({"id": INT}, 1, table="stock")
    whole = connector.told().histories
    assert not any(endings(connector.told()).values())
    assert {name: [d.kind for d in history.disagreements] for name, history in whole.items()} == {
        "orders": ["altered-unseen"], "stock": [], "log": ["altered-unseen"], "ship": [],
    }  # fmt: skip
    assert "if the server ignores case" in whole["orders"].disagreements[0].message
    topics = sorted({r.topic for r in connector.records})
    for order in permutations([[r for r in connector.records if r.topic == topic] for topic in topics]):
        assert told_in_parts(order).histories == whole


def test_the_own_spelling_of_a_database_decides():
    connector = Connector("mysql")
    create(connector)
    connector.change(ddl="DROP DATABASE SHOP", table="", database="SHOP")
    connector.change(ddl="DROP DATABASE shop", table="")
    at = [("dropped", f"binlog.000003:{connector.at}:0")]
    assert endings(connector.told()) == {"orders": at, "stock": at, "log": at, "ship": []}
    assert not any(history.disagreements for history in connector.told().histories.values())
