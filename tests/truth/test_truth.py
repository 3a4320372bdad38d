"""Every version of every history against what the database itself said at that place of its log.

What no record can tell is listed in `tests/truth/<run>.toml`, each entry with the reason why both truths
fit, and in `docs/scoreboard.md`. An entry that no longer happens is as wrong as an unexplained difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from schemaman.model.ddl import format_type
from schemaman.model.schema import Column
from schemaman.model.types import without_labels
from tests.support import chain
from tests.support.checkout import CAPTURES, ROOT
from tests.truth.compare import LATE
from tests.truth.facts import Judged, bless_reviewed, reviewed
from tests.truth.recording import facts
from tests.truth.scoreboard import (
    Line,
    all_lines,
    board,
    judged,
    listed_in,
    page,
    recordings,
    scored,
    to_review,
    type_of,
)
from tests.truth.truth import read_truth

RUNS = recordings()
LIVELY = [
    run
    for run in RUNS
    if re.fullmatch("postgres/shop-(json|avro|upgrade|down.*|crash|busy|incremental)", run)
]
"""Recordings of PostgreSQL in which tables change and nothing else, such as the form of names."""
_WITHOUT_STRUCTURE = re.compile(",|never_was|secret|book_old|[\uff80-\uffff]")
"""Names without a structure: several tables in one, one that never was, those left out, misread ones."""


def word(column: Column) -> str:
    """The type of a column as the oracle of types writes it."""
    return format_type(without_labels(column.type))


def structure_of(run: str) -> list[Judged]:
    """The columns, types, keys and NULLs that differ, generated columns left out."""
    parts = ("table", "column:", "type:", *LATE)
    found = (f for f, _ in judged(run, chain.histories(run)) if not f.agrees and f.truth != "generated")
    return [f for f in found if f.fact.startswith(parts) and f.fact != "table:same"]


@pytest.mark.parametrize("run", RUNS)
def test_nothing_is_wrong_and_what_no_record_tells_is_reviewed(
    run: str, bless: bool, figure: Callable[[str, object], None]
) -> None:
    found, review = scored(run), to_review(run, chain.histories(run))
    if bless:
        bless_reviewed(listed_in(run), review)
    assert [str(line.fact) for line in found if line.verdict == "wrong"] == []
    asked = {(f.listed, f.version) for f in review}
    assert reviewed(listed_in(run)).keys() == asked
    assert all(reviewed(listed_in(run)).values())
    versions = sum(len(h.versions) for h in chain.histories(run))
    unknowable = sum(line.verdict == "unknowable" for line in found)
    score = f"{versions} versions, {len(found)} facts, none wrong, {unknowable} unknowable"
    figure(f"compared with the truth, {run}", score)


def test_the_page_shows_the_board(bless: bool) -> None:
    path = ROOT / "docs" / "scoreboard.md"
    if bless:
        path.write_text(page(all_lines()), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == page(all_lines()), "docs/scoreboard.md is stale: `make bless`"


def test_the_board_counts_every_line_once() -> None:
    fact = Judged("shop.orders", 1, "key", "both", "id", "id")
    place = replace(fact, fact="at lsn:5")
    told = {
        "a/b": [Line(fact, "right"), Line(place, "right"), Line(place, "refused"), Line(fact, "wrong")],
        "a/c": [Line(fact, "unknowable", "why"), Line(place, "unknowable", "why")],
    }
    assert board(told).splitlines()[2:] == [
        "| a/b | 1 | 2 | 1 | 1 | 0 | 2 | 1 | 0 | 1 |",
        "| a/c | 1 | 1 | 0 | 0 | 1 | 1 | 0 | 1 | 0 |",
        "| 2 recordings | 2 | 3 | 1 | 1 | 1 | 3 | 1 | 1 | 1 |",
    ]


@pytest.mark.parametrize("run", LIVELY)
def test_columns_and_types_are_never_of_another_moment(run: str) -> None:
    """A PostgreSQL record has the columns and types of its own log position: only keys and NULLs may lag."""
    assert [str(f) for f in structure_of(run) if not f.fact.startswith(LATE)] == []


@pytest.mark.parametrize("run", LIVELY)
def test_a_fact_that_was_wrong_to_the_end_is_marked_as_unconfirmed(run: str) -> None:
    assert [str(f) for f in structure_of(run) if f.sure and f.where != "begin"] == []


@pytest.mark.parametrize("run", LIVELY)
def test_no_structure_that_a_row_showed_is_missing(run: str) -> None:
    """The other way round: a row's true columns and types, generated ones aside, are those of a version."""
    truth, oracle = read_truth(CAPTURES / run), type_of(run)
    known = {
        (h.table.schema, h.table.table, frozenset((c.name, word(c)) for c in v.schema.columns))
        for h in chain.histories(run)
        for v in h.versions
    }
    missing = set()
    for fact in facts(CAPTURES / run).values():
        name = (fact.source["schema"], fact.source["table"])
        step = None if fact.snapshot else truth.at(fact)
        if step is not None and name in step.tables:
            columns = frozenset((c.name, oracle(c)) for c in step.tables[name].columns if not c.generated)
            missing |= {(*name, columns)} - known
    assert missing == set()


@pytest.mark.parametrize("run", [r for r in RUNS if r.startswith(("postgres/", "db2/shop", "mariadb/"))])
def test_every_table_that_spoke_has_a_history(run: str) -> None:
    spoke = {
        (f.source.get("schema") or f.source["db"], f.source["table"])
        for f in facts(CAPTURES / run).values()
        if f.source.get("table") and "op" not in f.source
    }
    known = {(h.table.schema or h.table.database, h.table.table) for h in chain.histories(run)}
    assert {name for name in spoke - known if not _WITHOUT_STRUCTURE.search(name[1])} == set()
