"""Names of columns that others exchanged in the lake: no value goes into another column."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from schemaman.migration.exchanged_names import accept_names, check_names, refuse_exchanged_names
from schemaman.migration.layout import (
    describe_layout_changes,
    find_layout_changes,
    record_columns,
)
from schemaman.migration.plan import Refusal
from schemaman.migration.properties.names import PLAN_PROPERTY
from schemaman.migration.target import LakeTable
from schemaman.migration.targets import iceberg
from schemaman.model.column_list import parse_columns
from schemaman.model.schema import Path
from schemaman.spark.formats._delta_log import read_field_ids
from schemaman.spark.formats._iceberg_metadata import read_metadata
from schemaman.store.log import MigrationEntry
from tests.migration.test_existing_tables import metadata
from tests.support.command_line import place
from tests.support.memory_commands import Commands, commands

__all__ = ["commands", "place"]

IDS = {"id": "1", "net": "2", "gross": "3", "at": "4", "at.x": "5", "at.y": "6"}


def lake(ids: dict[str, str], **facts: Any) -> LakeTable:
    made = LakeTable("ice.raw.t", parse_columns("id INT"), "u", "0", {PLAN_PROPERTY: "p"})
    by_path = {tuple(path.split(".")): id for path, id in ids.items()}
    return replace(made, **{"field_ids": by_path, "column_ids": " ".join(ids.values()), **facts})


def finished(table: LakeTable, plan: str = "p") -> MigrationEntry:
    return MigrationEntry(
        "r", plan, "iceberg:ice.raw.t", None, "finished", layout=tuple(record_columns(table).items())
    )


def path(text: str) -> Path:
    return tuple(text.split("."))


@pytest.mark.parametrize(
    ("moved", "exchanged", "again"),
    [
        ({}, {}, []),
        ({"net": "3", "gross": "2"}, {"net": "gross", "gross": "net"}, []),
        ({"gross": "2", "net": None}, {"gross": "net"}, []),
        ({"at.x": "6", "at.y": "5"}, {"at.x": "at.y", "at.y": "at.x"}, []),
        # A struct brings its nested fields along, and a new one has new ones.
        ({"at": "2", "net": "4"}, {"at": "net", "net": "at"}, []),
        ({"at": "7", "at.x": "8", "at.y": "9"}, {}, ["at"]),
        ({"net": "7"}, {}, ["net"]),
        ({"price": "2", "net": None}, {}, []),
        ({"more": "7"}, {}, []),
    ],
    ids=["same", "exchanged", "taken over", "nested", "struct", "struct again", "again", "renamed", "new"],
)  # fmt: skip
def test_an_id_under_another_name_is_found(moved, exchanged, again) -> None:
    now = {name: id for name, id in {**IDS, **moved}.items() if id is not None}
    check = check_names([finished(lake(IDS))], lake(now))
    assert check.exchanged == {path(new): path(was) for new, was in exchanged.items()}
    assert check.created_again == tuple(map(path, again))
    assert len(check.notes) == len(again)


def test_only_what_the_named_plan_left_counts() -> None:
    swapped = lake(IDS | {"net": "3", "gross": "2"})
    lines = [finished(lake(IDS))]
    assert check_names([*lines, finished(swapped)], swapped).exchanged == {}
    # Another store migrated the table, or a version before the last plan was restored.
    assert check_names(lines, replace(swapped, properties={PLAN_PROPERTY: "q"})).exchanged == {}
    assert check_names([*lines, finished(swapped, "q")], lake(IDS)).exchanged == {}
    # A line of an older release has no ids, and neither has a session that cannot show them.
    assert check_names([replace(lines[0], layout=(("partitions", ""),))], swapped).exchanged == {}
    assert check_names(lines, lake({})).exchanged == {}
    assert check_names([*lines, accept_names("iceberg:ice.raw.t", swapped)], swapped).exchanged == {}


def test_a_table_that_was_made_anew_is_said_to_be() -> None:
    before = lake(IDS, snapshots=(1, 4))
    for now, anew in (
        (replace(before, snapshots=(1, 9)), False),
        (replace(before, snapshots=(0, 9)), False),  # the first snapshot has expired
        (replace(before, snapshots=(5, 6)), True),
        (replace(before, identity="v", field_ids={}, properties={}), True),
        (replace(before, identity="v", field_ids=lake({"id": "2", "net": "1"}).field_ids), True),
    ):
        check = check_names([finished(before)], now)
        assert (check.is_made_anew, check.exchanged) == (anew, {})
    assert not check_names([finished(lake(IDS, snapshots=(0, 0)))], before).is_made_anew


def test_a_refusal_gives_the_names_back() -> None:
    before, name = lake(IDS), "ALTER TABLE `ice`.`raw`.`t` RENAME COLUMN"
    swapped = lake(IDS | {"net": "3", "gross": "2"})
    refusal = refuse_exchanged_names(check_names([finished(before)], swapped), iceberg.TARGET, swapped)
    assert isinstance(refusal, Refusal)
    assert "`net` is the column that was `gross`" in refusal.reason
    assert (
        f"{name} `gross` TO `gross__back`; {name} `net` TO `net__back`; "
        f"{name} `gross__back` TO `net`; {name} `net__back` TO `gross`;" in refusal.instead
    )
    taken = lake({"id": "1", "gross": "2"})
    refusal = refuse_exchanged_names(check_names([finished(before)], taken), iceberg.TARGET, taken)
    assert isinstance(refusal, Refusal)
    assert f"back: {name} `gross` TO `net`; or" in refusal.instead


def test_drift_shows_ids_of_columns_and_of_the_table() -> None:
    before = record_columns(lake(IDS))
    assert find_layout_changes(before, before) == ()
    assert find_layout_changes({}, before) == ()
    swapped = record_columns(lake(IDS | {"net": "3", "gross": "2"}))
    words = "ids of columns were `gross` 3, `net` 2, and are `gross` 2, `net` 3 now"
    assert describe_layout_changes(before, swapped) == words
    other = record_columns(lake(IDS, identity="v"))
    assert describe_layout_changes(before, other) == "id of the table was u, and is v now"


def test_a_plan_is_refused_until_the_names_are_as_before_or_accepted(commands: Commands) -> None:
    commands.learns(commands.table((("id", "INT"), ("net", "INT"), ("gross", "INT")), type="CREATE"))
    assert commands.moved().code == 0
    for new, old in (("between", "net"), ("net", "gross"), ("gross", "between")):
        commands.change(f"RENAME COLUMN `{old}` TO `{new}`")
    refused = commands("plan", "orders", "--format", "json")
    assert refused.code == 1
    (refusal,) = refused.json["refusals"]
    assert "`gross` is the column that was `net`" in refusal["reason"]
    assert commands("drift").code == 1
    assert commands("drift", "--accept-names", "ice.raw.nothing", "--yes").code == 2
    assert commands("drift", "--accept-names", "ice.raw.orders", "--yes").code == 0
    assert commands("plan", "orders").code == 0
    assert "ids of columns" not in commands("drift").out
    # The names of the next exchange are not accepted.
    for new, old in (("between", "net"), ("net", "gross"), ("gross", "between")):
        commands.change(f"RENAME COLUMN `{old}` TO `{new}`")
    assert commands("plan", "orders").code == 1


def test_a_column_that_others_renamed_is_not_added_beside_its_values(commands: Commands) -> None:
    columns = (("id", "INT"), ("net", "INT"))
    commands.learns(commands.table(columns, type="CREATE"))
    assert commands.moved().code == 0
    commands.change("RENAME COLUMN `net` TO `amount`")
    refused = commands("plan", "orders", "--format", "json")
    assert refused.code == 1
    (refusal,) = refused.json["refusals"]
    assert "others renamed `net` to `amount`" in refusal["reason"]
    assert "RENAME COLUMN `amount` TO `net`" in refusal["instead"]
    # The source has the same name by now: the rename was made at both ends.
    commands.learns(
        commands.table((("id", "INT"), ("amount", "INT")), ddl="ALTER TABLE orders CHANGE net amount INT")
    )
    assert commands("plan", "orders").code == 0
    commands.learns(commands.table(columns, ddl="ALTER TABLE orders CHANGE amount net INT"))
    assert commands("drift", "--accept-names", "ice.raw.orders", "--yes").code == 0
    assert commands.moved().code == 0


def test_a_plan_that_waits_is_stale_once_names_are_exchanged(commands: Commands) -> None:
    columns = (("id", "INT"), ("net", "INT"), ("gross", "INT"))
    commands.learns(commands.table(columns, type="CREATE"))
    assert commands.moved().code == 0
    commands.learns(commands.table((*columns, ("note", "TEXT"))))
    assert commands("plan", "orders", "-o", "p.plan.json").code == 0
    for new, old in (("between", "net"), ("net", "gross"), ("gross", "between")):
        commands.change(f"RENAME COLUMN `{old}` TO `{new}`")
    assert commands("apply", "p.plan.json").code == 4


def test_the_first_snapshot_of_a_replaced_table_is_younger() -> None:
    found: dict[str, Any] = metadata([[]], [[]]) | {
        "last-sequence-number": 3, "current-snapshot-id": 30,
        "snapshots": [
            {"snapshot-id": 10, "sequence-number": 1},
            {"snapshot-id": 20, "sequence-number": 2},
            {"snapshot-id": 30, "sequence-number": 3, "parent-snapshot-id": 20},
        ],
    }  # fmt: skip

    def read(facts: Any) -> tuple[int, int]:
        return read_metadata("ice.db.t", parse_columns("id INT").columns, "m.json", facts).snapshots

    assert read(found) == (2, 3)
    assert read(found | {"snapshots": found["snapshots"][2:]}) == (0, 3)
    assert read(metadata([[]], [[]])) == (0, 0)


def test_ids_of_a_delta_table_are_read_with_physical_names() -> None:
    def field(name: str, id: int, type: str) -> str:
        ids = f'"delta.columnMapping.id":{id},"delta.columnMapping.physicalName":"c{id}"'
        return f'{{"name":"{name}","type":{type},"nullable":true,"metadata":{{{ids}}}}}'

    inner = f'{{"type":"struct","fields":[{field("x", 3, chr(34) + "integer" + chr(34))}]}}'
    listed = f'{{"type":"array","elementType":{inner},"containsNull":true}}'
    schema = f'{{"type":"struct","fields":[{field("a", 1, inner)},{field("b", 2, listed)}]}}'
    assert read_field_ids(schema) == {
        ("a",): "1 c1", ("a", "x"): "3 c3", ("b",): "2 c2", ("b", "element", "x"): "3 c3",
    }  # fmt: skip
