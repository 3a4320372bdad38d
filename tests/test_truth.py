"""Every version of every history against what the database itself said at that place of its log.

What differs is listed in `tests/truth/<run>.toml`, each entry with the reason why it is legitimate. An
entry that no longer happens is as wrong as a difference that nobody explained.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from schemaman.ddl import format_type
from schemaman.schema import Column
from schemaman.types import without_labels
from tests import chain
from tests.house import CAPTURES, ROOT
from tests.truth.compare import TypeOf, bless_reviewed, differences, reviewed
from tests.truth.declared import declared_by
from tests.truth.recording import facts
from tests.truth.truth import read_truth
from tests.truth.wire import on_the_wire

RUNS = (
    "postgres/shop-json",
    "postgres/shop-avro",
    "postgres/shop-upgrade",
    "postgres/shop-downtime",
    "postgres/shop-crash",
    "db2/shop-3.4.1-json",
    "mariadb/bookshop-mariadb-3.5.0-json",
)


def word(column: Column) -> str:
    """The type of a column as the oracle of types writes it."""
    return format_type(without_labels(column.type))


def type_of(run: str) -> TypeOf:
    """The oracle of types: what the wire can carry, or what a schema change declares."""
    source = run.split("/")[0]
    return on_the_wire if source == "postgres" else declared_by(source)


@pytest.mark.parametrize("run", RUNS)
def test_every_version_is_true_or_explained(
    run: str, bless: bool, figure: Callable[[str, object], None]
) -> None:
    listed = ROOT / "tests" / "truth" / f"{run.replace('/', '-')}.toml"
    histories = chain.histories(run)
    folder = CAPTURES / run
    found = list(differences(histories, read_truth(folder), facts(folder), type_of(run)))
    if bless:
        bless_reviewed(listed, found)
    known = reviewed(listed)
    assert [str(d) for d in found if not known.get((d.listed, d.version))] == []
    assert known.keys() - {(d.listed, d.version) for d in found} == set()
    versions = sum(len(h.versions) for h in histories)
    figure(
        f"versions compared with the truth, {run}", f"{versions}, {len(found)} facts differ, each explained"
    )


@pytest.mark.parametrize("run", [r for r in RUNS if r.startswith("postgres")])
def test_columns_and_types_are_never_of_another_moment(run: str) -> None:
    """A PostgreSQL record has the columns and types of its own log position: only keys and NULLs may lag."""
    folder = CAPTURES / run
    found = differences(chain.histories(run), read_truth(folder), facts(folder), type_of(run))
    lagging = ("key", "nullable:")
    assert [str(d) for d in found if not d.fact.startswith(lagging) and d.truth != "generated"] == []


@pytest.mark.parametrize("run", [r for r in RUNS if r.startswith("postgres")])
def test_a_fact_that_was_wrong_to_the_end_is_marked_as_unconfirmed(run: str) -> None:
    folder = CAPTURES / run
    found = differences(chain.histories(run), read_truth(folder), facts(folder), type_of(run))
    assert [str(d) for d in found if d.sure and d.where != "begin" and d.truth != "generated"] == []


@pytest.mark.parametrize("run", [r for r in RUNS if r.startswith("postgres")])
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


@pytest.mark.parametrize("run", RUNS)
def test_every_table_that_spoke_has_a_history(run: str) -> None:
    spoke = {
        (f.source.get("schema") or f.source["db"], f.source["table"])
        for f in facts(CAPTURES / run).values()
        if f.source.get("table") and "op" not in f.source
    }
    events = {name for name in spoke if "," not in name[1]}
    known = {(h.table.schema or h.table.database, h.table.table) for h in chain.histories(run)}
    assert events - known <= {("bookshop", "never_was")}
