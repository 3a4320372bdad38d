"""Online schema changes: the rows of a copy are those of its table once the copy has the name of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from schemaman.migration.policy import Policy
from schemaman.migration.row_columns import DELETED
from schemaman.store.sql.store import SqlStore
from tests.cases.connector import entry
from tests.streaming.test_split_and_moved import DAYS, NUMBERS, TEXTS, Source
from tests.support.memory_sink import MemorySink


@dataclass
class Copying(Source):
    """A server on which a tool changes the table `t` by way of the copy `_t_new`."""

    def swap(self) -> None:
        """Give the copy the name of its table, in one statement of two renames."""
        for old, new in (("t", "_t_old"), ("_t_new", "t")):
            self.types[new] = self.types.pop(old)
            told = entry("ALTER", f'"shop"."{new}"', self._image(new))
            ddl = f"RENAME TABLE `shop`.`{old}` TO `shop`.`{new}`"
            self.connector.change(told, table="_t_old,t", ddl=ddl)

    def take_last(self, count: int) -> dict[str, list[dict[str, Any]]]:
        """Write the records in two batches, the second one of so many."""
        self.lake.take(self.connector.records[:-count])
        del self.connector.records[:-count]
        found = self.take(count)
        self.lake.take([])
        return found


@pytest.fixture(params=["delta", "iceberg"])
def source(store: SqlStore, request: pytest.FixtureRequest) -> Copying:
    policy = Policy(profile="autopilot")
    return Copying(MemorySink(store, lambda _: None, request.param, policy, lambda _: False))


def copy_rows(source: Copying) -> None:
    """A table of three rows, and a copy of it that has one column more and a value that was never sent."""
    source.create("t", v=TEXTS)
    for id in (1, 2, 3):
        source.write("t", id=id, v=f"v{id}")
    source.create("_t_new", v=TEXTS)
    source.alter("_t_new", "ADD n", v=TEXTS, n=NUMBERS)
    for id in (1, 2, 3):
        source.write("_t_new", id=id, v=f"v{id}", n=7)
    source.write("_t_new", op="d", id=3)
    source.write("t", op="d", id=3)
    source.write("t", op="u", id=2, v="newer")


@pytest.mark.parametrize("is_early", [False, True])
def test_the_rows_of_a_copy_go_into_its_table_and_a_newer_row_stays(source: Copying, is_early: bool) -> None:
    """The copy begins in the batch in which it gets the name; a topic may be read ahead of another one."""
    copy_rows(source)
    if is_early:
        source.connector.records.insert(0, source.connector.records.pop())
    source.swap()
    source.write("t", id=4, v="v4", n=8)
    (rows,) = source.take_last(10 - is_early).values()
    assert [row for row in rows if row["id"] != 3] == [
        {"id": 1, "v": "v1", "n": 7},
        {"id": 2, "v": "newer"} | ({} if is_early else {"n": 7}),
        {"id": 4, "v": "v4", "n": 8},
    ]
    assert [row["id"] for table in source.lake.lake() for row in table.rows if row[DELETED]] == [3]


@pytest.mark.parametrize("reuses_name", [False, True])
@pytest.mark.parametrize("is_altered", [False, True])
def test_the_rows_of_a_copy_go_into_its_table_that_the_same_batch_makes(
    source: Copying, reuses_name: bool, is_altered: bool
) -> None:
    """The table may get another column after it, and the batch another table under a name that was used."""
    copy_rows(source)
    source.swap()
    if is_altered:
        source.alter("t", "ADD m INT", v=TEXTS, n=NUMBERS, m=NUMBERS)
    source.write("t", id=4, v="v4", n=8)
    if reuses_name:
        source.create("a", v=TEXTS)
        source.write("a", id=5, v="v5")
        source.rename("a", "b")
        source.create("a", v=TEXTS)
        source.write("a", id=6, v="v6")
    (rows,) = (rows for rows in source.take(99).values() if rows[0]["id"] < 5)
    assert sorted((row for row in rows if row["id"] != 3), key=lambda row: row["id"]) == [
        {"id": 1, "v": "v1", "n": 7},
        {"id": 2, "v": "newer"},
        {"id": 4, "v": "v4", "n": 8} | ({"m": 1} if is_altered else {}),
    ]


def test_a_copy_whose_table_has_not_its_names_keeps_its_rows_in_a_table_of_its_own(source: Copying) -> None:
    """`v` is a number and then a day: the table has two columns for it, and the copy has one."""
    source.create("t", v=NUMBERS)
    source.write("t", id=1, v=5)
    source.alter("t", "MODIFY v DATE", v=DAYS)
    source.write("t", id=2, v=1)
    source.create("_t_new", v=DAYS)
    for id in (1, 2):
        source.write("_t_new", id=id, v=1)
    source.swap()
    source.write("t", id=3, v=2)
    found = source.take_last(6)
    assert {n: [row["id"] for row in rows] for n, rows in found.items()} == {"t": [2, 1, 3], "_t_new": [1, 2]}


@pytest.mark.parametrize("size", [1, 99])
def test_the_log_of_a_copy_without_a_key_is_not_that_of_the_table(source: Copying, size: int) -> None:
    """No tool makes such a copy, and one log would have the rows of both tables."""
    source.key = ()
    for table in ("t", "_t_new"):
        source.create(table, v=TEXTS)
        for id in (1, 2):
            source.write(table, id=id, v=table)
    source.swap()
    source.write("t", id=3, v="newer")
    logs = [[(row["id"], row["v"]) for row in rows] for rows in source.take(size).values()]
    assert [(1, "_t_new"), (2, "_t_new"), (3, "newer")] in map(sorted, logs)
    assert [(1, "t"), (2, "t")] in map(sorted, logs)
