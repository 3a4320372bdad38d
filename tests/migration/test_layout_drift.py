"""What others change besides columns: the journal keeps the layout that a migration left."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from schemaman.migration.apply.apply import Migration, apply
from schemaman.migration.apply.journal import find_expected_table, read_drift
from schemaman.migration.layout import (
    LayoutChange,
    describe_layout_change,
    find_layout_changes,
    record_layout,
)
from schemaman.migration.plan import Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.target import LakeTable, LayoutField, Target
from schemaman.migration.targets import delta, iceberg
from schemaman.report.formats.text import TextFormat
from schemaman.report.json.migrations import Drift, build_drift
from schemaman.report.views.migrations import build_apply_report, build_drift_report
from schemaman.store.log import MigrationEntry
from tests.support.memory_lake import MemoryJournal, MemoryTable
from tests.support.plans import source

FIRST = "id INT NOT NULL, qty INT, PRIMARY KEY (id)"
LATER = "id INT NOT NULL, qty INT, note STRING, PRIMARY KEY (id)"
ADDRESSES = {"delta": "/lake/t", "iceberg": "ice.raw.t"}
TARGETS: dict[str, Target] = {"delta": delta.TARGET, "iceberg": iceberg.TARGET}

Alter = Callable[[LakeTable], LakeTable]


def facts(**new: Any) -> Alter:
    return lambda lake: replace(lake, **new)


def properties(**new: str) -> Alter:
    renamed = {name.replace("__", "."): value for name, value in new.items()}
    return lambda lake: replace(lake, properties={**lake.properties, **renamed})


ALTERED: list[tuple[str, Alter, str]] = [
    ("delta", facts(partitions=(LayoutField(("qty",)),)), "partitions were none, and are `qty` identity now"),
    ("iceberg", facts(partitions=(LayoutField(("qty",), "bucket[4]"),)),
     "partitions were none, and are `qty` bucket[4] now"),
    ("iceberg", facts(sort=(LayoutField(("qty",), "identity asc nulls-first"),)),
     "sort fields were none, and are `qty` identity asc nulls-first now"),
    ("delta", facts(clustering=(("qty",),)), "clustering was none, and is `qty` now"),
    ("iceberg", facts(identifiers=()), "identifier fields were `id`, and are none now"),
    ("delta", facts(generated={"g": "qty + 1"}), "generated columns were none, and are `g`: qty + 1 now"),
    ("delta", properties(delta__constraints__big="qty < 5"),
     "CHECK constraints were none, and are `big`: qty < 5 now"),
    ("iceberg", facts(format_version=3), "format version was 2, and is 3 now"),
    ("delta", facts(features=frozenset({"clustering"})), "table features were none, and are clustering now"),
    ("delta", properties(delta__appendOnly="true"), "delta.appendOnly was none, and is true now"),
    ("delta", properties(delta__columnMapping__mode="id"),
     "delta.columnMapping.mode was name, and is id now"),
    ("iceberg", properties(write__spark__accept_any="true"),
     "write.spark.accept_any was none, and is true now"),
]  # fmt: skip


def migrate(lake: MemoryTable, journal: MemoryJournal, format: str, ddl: str, run: str) -> Migration:
    plan = make_plan(source(ddl), lake.live, TARGETS[format], ADDRESSES[format], Policy())
    return apply(plan, lake, journal, lambda: 0, run=run, approved=True)


def made(format: str) -> tuple[MemoryTable, MemoryJournal]:
    lake, journal = MemoryTable(ADDRESSES[format]), MemoryJournal()
    assert migrate(lake, journal, format, FIRST, "r1").state == "applied"
    assert lake.live is not None
    if format == "iceberg":
        lake.live = replace(lake.live, format_version=2)
        # The lake in memory does not know the version by itself, so the line of the journal gets it here.
        layout = tuple(record_layout(iceberg.TARGET, lake.live).items())
        journal.lines[-1] = replace(journal.lines[-1], layout=layout)
    return lake, journal


def drift_of(lake: MemoryTable, journal: MemoryJournal, format: str) -> tuple[LayoutChange, ...]:
    assert lake.live is not None
    expected = find_expected_table(journal.lines, format, ADDRESSES[format])
    assert expected is not None
    assert expected.layout
    return find_layout_changes(expected.layout, record_layout(TARGETS[format], lake.live))


@pytest.mark.parametrize(("format", "alter", "words"), ALTERED, ids=[words for _, _, words in ALTERED])
def test_each_change_of_the_layout_is_told_with_both_of_its_states(
    format: str, alter: Alter, words: str
) -> None:
    lake, journal = made(format)
    assert drift_of(lake, journal, format) == ()
    assert lake.live is not None
    lake.live = alter(lake.live)
    (change,) = drift_of(lake, journal, format)
    assert describe_layout_change(change) == words
    # The next run tells it, goes on, and what it leaves is the new state.
    done = migrate(lake, journal, format, LATER, "r3")
    assert (done.state, done.foreign_layout) == ("applied", (change,))
    shown = TextFormat().render(build_apply_report([done]))
    assert change.label in shown
    assert read_drift(journal.lines)[0] == words
    assert drift_of(lake, journal, format) == ()


@pytest.mark.parametrize(
    ("format", "alter"),
    [
        ("delta", properties(schemaman__store="s", owner="ada", delta__columnMapping__maxColumnId="7")),
        ("delta", properties(delta__feature__clustering="supported")),
        ("iceberg", properties(comment="c", schema__name_mapping="[]")),
        ("iceberg", facts(former_layout=(("qty",),))),
    ],
)
def test_what_engines_and_schemaman_write_themselves_is_no_drift(format: str, alter: Alter) -> None:
    lake, journal = made(format)
    assert lake.live is not None
    lake.live = alter(lake.live)
    assert drift_of(lake, journal, format) == ()


def test_a_journal_without_a_layout_tells_of_none() -> None:
    line = MigrationEntry("r", "p", "delta:/lake/t", None, "finished", FIRST)
    expected = find_expected_table([line], "delta", "/lake/t")
    assert expected is not None
    lake = LakeTable("/lake/t", source(FIRST).schema, "i", "0", {"delta.appendOnly": "true"})
    assert find_layout_changes(expected.layout, record_layout(delta.TARGET, lake)) == ()


def test_drift_shows_the_layout_in_text_and_json() -> None:
    change = LayoutChange("delta.appendOnly", "", "true")
    drift = Drift("delta", "/lake/t", (), layout=(LayoutChange("clustering", "`a`", ""), change))
    assert drift.is_drifted
    shown = TextFormat().render(build_drift_report((drift,)))
    assert "clustering" in shown
    assert "→ none" in shown
    assert "none → true" in shown
    document = json.loads(json.dumps(build_drift((drift,))))
    assert document["tables"][0]["layout"] == [
        {"name": "clustering", "before": "`a`", "after": None},
        {"name": "delta.appendOnly", "before": None, "after": "true"},
    ]
    assert document["tables"][0]["drift"]
