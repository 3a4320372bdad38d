"""Every version of every history against what the database itself said at that place of its log.

What differs is listed in `tests/truth/<run>.toml`, each entry with the reason why it is legitimate. An
entry that no longer happens is as wrong as a difference that nobody explained.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from schemaman.ddl import format_type
from schemaman.evidence import Observation
from schemaman.names import Mode, adjust_field
from schemaman.schema import Column
from schemaman.types import without_labels
from tests import chain
from tests.house import CAPTURES, ROOT
from tests.records import outcomes
from tests.truth.compare import Difference, TypeOf, bless_reviewed, differences, reviewed
from tests.truth.declared import declared_by
from tests.truth.recording import facts
from tests.truth.truth import read_truth, spelled, truth_lines
from tests.truth.wire import as_mysql_emits, on_the_wire

RUNS = (
    *(f"postgres/shop-{run}" for run in ("json", "avro", "avro-old", "oldest", "upgrade", "upgrade-avro")),
    *(f"postgres/shop-{run}" for run in ("downtime", "downtime-newest", "crash", "busy", "incremental")),
    *(f"postgres/shop-{run}" for run in ("names-none", "names-avro", "names-unicode", "flat-routed")),
    *(f"db2/shop-{run}-json" for run in ("1.9.8", "2.5.4", "3.4.1")),
    *(f"db2/shop-{run}" for run in ("1.9.8-defaults-fail", "2.5.4-avro", "3.4.1-avro-unicode")),
    *(f"db2/shop-3.4.1-{run}" for run in ("synchpoint", "transactions")),
    *(f"db2/incremental-{run}-json" for run in ("2.5.4", "3.4.1")),
    *(
        f"mariadb/bookshop-{run}-json"
        for run in ("mariadb-2.7.0", "mariadb-3.5.0", "mysql-1.4.2", "mysql-1.9.8")
    ),
    "mariadb/bookshop-mysql-2.5.4-avro",
    *("db2/shop-3.4.1-plain", "mariadb/bookshop-mariadb-3.5.0-plain"),
)
LIVELY = [
    run
    for run in RUNS
    if re.fullmatch("postgres/shop-(json|avro|upgrade|down.*|crash|busy|incremental)", run)
]
"""Recordings of PostgreSQL in which tables change and nothing else, such as the form of names."""
_WITHOUT_STRUCTURE = re.compile(",|never_was|secret|book_old|[\uff80-\uffff]")
"""Names without a structure: several tables in one, one that never was, those left out, misread ones."""
ADJUSTED: dict[str, Mode] = {
    "postgres/shop-names-avro": "avro",
    "postgres/shop-names-unicode": "avro_unicode",
    "postgres/shop-upgrade-avro": "avro",
}
"""Recordings in which the names of columns travel only as `field.name.adjustment.mode` makes them."""


def word(column: Column) -> str:
    """The type of a column as the oracle of types writes it."""
    return format_type(without_labels(column.type))


def type_of(run: str) -> TypeOf:
    """The oracle of types: what the wire can carry, or what a schema change declares."""
    source = run.split("/")[0]
    if run.endswith("mysql-1.4.2-json"):
        return as_mysql_emits(declared_by(source))
    return on_the_wire if source == "postgres" else declared_by(source)


def compared(run: str) -> list[Difference]:
    """What the histories of a recording say otherwise than the database."""
    folder = CAPTURES / run
    mode = ADJUSTED.get(run, "none")
    truth = spelled(read_truth(folder), lambda name: adjust_field(name, mode))
    return list(differences(chain.histories(run), truth, facts(folder), type_of(run)))


@pytest.mark.parametrize("run", RUNS)
def test_every_version_is_true_or_explained(
    run: str, bless: bool, figure: Callable[[str, object], None]
) -> None:
    listed = ROOT / "tests" / "truth" / f"{run.replace('/', '-')}.toml"
    found = compared(run)
    if bless:
        bless_reviewed(listed, found)
    known = reviewed(listed)
    assert [str(d) for d in found if not known.get((d.listed, d.version))] == []
    assert known.keys() - {(d.listed, d.version) for d in found} == set()
    told = [len(v.schema.columns) * 3 + 1 for h in chain.histories(run) for v in h.versions]
    score = f"{len(told)} versions, {sum(told)} facts, {len(found)} of them differ and are explained"
    figure(f"compared with the truth, {run}", score)


@pytest.mark.parametrize("run", LIVELY)
def test_columns_and_types_are_never_of_another_moment(run: str) -> None:
    """A PostgreSQL record has the columns and types of its own log position: only keys and NULLs may lag."""
    lagging = ("key", "nullable:")
    assert [str(d) for d in compared(run) if not d.fact.startswith(lagging) and d.truth != "generated"] == []


@pytest.mark.parametrize("run", LIVELY)
def test_a_fact_that_was_wrong_to_the_end_is_marked_as_unconfirmed(run: str) -> None:
    assert [str(d) for d in compared(run) if d.sure and d.where != "begin" and d.truth != "generated"] == []


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


@pytest.mark.parametrize("run", ["db2/documented", "db2/documented-plain"])
def test_documented_records_say_what_the_documentation_says(run: str) -> None:
    told = [json.loads(line) for line in truth_lines(CAPTURES / run)]
    said = [o for r, o in outcomes(CAPTURES / run) if isinstance(o, Observation) and r.topic == "db2"]
    assert [(o.action, o.schema and [*o.schema.names], o.schema and [*o.schema.key]) for o in said] == [
        ("drop" if t["type"] == "DROP" else "image", t["columns"], t["primary_key"]) for t in told
    ]


@pytest.mark.parametrize("run", RUNS)
def test_every_table_that_spoke_has_a_history(run: str) -> None:
    spoke = {
        (f.source.get("schema") or f.source["db"], f.source["table"])
        for f in facts(CAPTURES / run).values()
        if f.source.get("table") and "op" not in f.source
    }
    known = {(h.table.schema or h.table.database, h.table.table) for h in chain.histories(run)}
    assert {name for name in spoke - known if not _WITHOUT_STRUCTURE.search(name[1])} == set()
