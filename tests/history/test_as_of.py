"""What a table looked like at a place of the source's log, or at a moment: right, or refused.

Every place is one at which the database wrote down its tables while a recording was made; its word is the
truth. What came behind the last record of a table no record can tell: the answer says so; it is not compared.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from schemaman.debezium.records import Coordinates, Rank
from schemaman.errors import NoHistory, UsageError
from schemaman.history.as_of import limit_certainty
from schemaman.history.references import AsOf, Selector, SourcePosition
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.name_adjustment import adjust_field
from schemaman.model.schema import TableSchema
from schemaman.resolve import ResolvedSchema, select_version
from tests.cases.connector import INT, NOON, NOTE, Connector, entry
from tests.support import chain
from tests.support.checkout import CAPTURES, PROOF
from tests.support.records import column, image, node
from tests.truth.commit_times import Moments
from tests.truth.compare import name_of, true_table
from tests.truth.facts import reviewed
from tests.truth.inferred import DECIMALS
from tests.truth.positions import claimed
from tests.truth.recording import facts
from tests.truth.scoreboard import ADJUSTED, listed_in, type_of
from tests.truth.tables import TrueTable
from tests.truth.truth import OffsetTruth, PostgresTruth, Step, Truth, read_truth, spelled, truth_lines

RUNS = tuple(
    sorted(
        str(folder.relative_to(CAPTURES))
        for source in ("db2/[is]*", "mariadb/*", "postgres/*")
        for folder in CAPTURES.glob(source)
        if "defaults-fail" not in folder.name
    )
)
FEW = ("db2/shop-3.4.1-json", "mariadb/bookshop-mariadb-3.5.0-json", "postgres/shop-json")
UNTOLD = {
    # It is another table from step 186 on, and no record between tells that the first one has gone.
    "inventory.suppliers": {184, 185},
    # Rows go on under the old name of their schema until the connector reads the relation anew.
    "Inventory-2.Stock 1": {44, 45},
}
UNTOLD_IN: dict[str, dict[str, set[int]]] = {
    # No change is captured of an ALTER: the newest place is that of the row before it.
    **{run: {"DB2INST1.ORDERS": {32}} for run in RUNS if run.startswith("db2/shop-") and "1.9.8" not in run},
    # The source has the column already, the table of its changes does not.
    "db2/shop-3.4.1-synchpoint": {"DB2INST1.CUSTOMERS": {17}, "DB2INST1.ORDERS": {32}},
    # Plain rows of many modes: what is renamed there and back between two records leaves no trace.
    "postgres/shop-modes": {"inventory.stock": {64, 65}, "shop.orders": {61}},
}


@cache
def true_steps(run: str) -> Truth:
    """What the database said, names as they travel."""
    mode = ADJUSTED.get(run, "none")
    return spelled(read_truth(CAPTURES / run), lambda name: adjust_field(name, mode))


def places(run: str) -> Iterator[tuple[Step, Selector]]:
    """Each step of the truth with the places at which its tables stood; none inside a transaction."""
    truth = true_steps(run)
    lines = [json.loads(line) for line in truth_lines(CAPTURES / run)]
    if isinstance(truth, PostgresTruth):
        for step, line, end, time in zip(truth.steps, lines, truth.ends, truth.times, strict=True):
            if step.place >= truth.start and not line.get("in_tx"):
                yield step, SourcePosition("lsn", str(end))
                yield step, AsOf(time)
        return
    for step, line, following in zip(truth.steps, lines, [*lines[1:], {}], strict=True):
        place = _place(line)
        if line.get("connector_running") and place is not None and place != _place(following):
            yield step, place


def _place(line: dict[str, object]) -> SourcePosition | None:
    match line:
        case {"binlog": {"file": file, "pos": pos}}:
            return SourcePosition("binlog", f"{file}:{pos}:0")
        case {"synchpoint": str(commit)} if commit:
            return SourcePosition("commit_lsn", commit)
        case _:
            return None


def answer(run: str, history: TableHistory, step: Step, place: Selector) -> str:
    """How the answer compares with what the database said."""
    try:
        found = select_version(history, place)
    except NoHistory:
        return "unknown"
    except UsageError as error:
        return "refused" if "valid then" in error.message else error.message
    if found.last_seen is not None:
        return "behind the last record"
    return judged(run, history, found, step)


def judged(run: str, history: TableHistory, found: ResolvedSchema, step: Step) -> str:
    """Whether an answer is what the database said."""
    table = true_table(step, history.table)
    if table is None or found.version is None:
        return "wrong"
    known = {(fact[:2], number) for fact, number in reviewed(listed_in(run))}
    wrong = [
        fact
        for fact in differing(run, found.version, found.schema, table)
        if ((name_of(history.table), fact), found.version.number) not in known
    ]
    return "wrong" if wrong else "right"


def differing(run: str, version: SchemaVersion, schema: TableSchema, table: TrueTable) -> Iterator[str]:
    """What the answer claims and was not so: columns, types, key, nullability, defaults."""
    for fact, _ in claimed(version, schema, table, type_of(run)):
        if not (run in DECIMALS and fact.startswith("type:")):
            yield fact


Answers = tuple[Counter[str], frozenset[tuple[str, int]]]


@cache
def answers(run: str) -> Answers:
    """How many answers are of which kind, and the tables and steps of the wrong ones."""
    counts: Counter[str] = Counter()
    wrong: set[tuple[str, int]] = set()
    for history in chain.histories(run):
        for step, place in places(run):
            said = answer(run, history, step, place)
            counts[said] += 1
            if said == "wrong":
                wrong.add((name_of(history.table), step.number))
    return counts, frozenset(wrong)


def told_at(run: str, history: TableHistory, time: int, steps: tuple[Step, ...]) -> str:
    """How the answer for a moment compares with all that the database may have said then."""
    try:
        found = select_version(history, AsOf(time))
    except NoHistory as error:
        gone = "was dropped by then" in error.message
        return "wrong" if gone and any(true_table(s, history.table) for s in steps) else "unknown"
    except UsageError as error:
        return "refused" if "valid then" in error.message else error.message
    if found.last_seen is not None:
        return "behind the last record"
    return "wrong" if "wrong" in {judged(run, history, found, step) for step in steps} else "right"


@cache
def timed(run: str) -> tuple[Counter[str], tuple[str, ...]]:
    """How many answers for moments are of which kind, and the wrong ones in words."""
    truth = true_steps(run)
    assert isinstance(truth, OffsetTruth)
    moments = Moments.read(truth, facts(CAPTURES / run).values())
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for history in chain.histories(run):
        for time in moments.asked():
            steps = moments.at(time)
            said = told_at(run, history, time, steps)
            counts[said] += 1
            if said == "wrong":
                wrong.append(f"{name_of(history.table)} @{AsOf(time)}: steps {[s.number for s in steps]}")
    return counts, tuple(wrong)


ASKED = RUNS if PROOF else FEW
TIMED = tuple(run for run in ASKED if run.startswith("mariadb/"))


@pytest.mark.parametrize("run", ASKED)
def test_the_answer_is_right_or_refused(run: str) -> None:
    counts, wrong = answers(run)
    assert set(counts) <= {"right", "wrong", "refused", "unknown", "behind the last record"}
    untold = UNTOLD | UNTOLD_IN.get(run, {})
    assert [w for w in sorted(wrong) if w[1] not in untold.get(w[0], ())] == []
    assert counts["right"] > 10
    assert counts["refused"] < counts["right"] * 2


def test_what_leaves_no_trace_is_listed_only_where_it_happens(figure: Callable[[str, object], None]) -> None:
    found = {run: answers(run)[1] for run in ASKED}
    listed = {(table, step) for table, steps in UNTOLD.items() for step in steps}
    every = {each for wrong in found.values() for each in wrong}
    assert not PROOF or listed <= every
    for run, tables in UNTOLD_IN.items():
        own = {(table, step) for table, steps in tables.items() for step in steps}
        assert own <= found.get(run, own)
    whole = sum((answers(run)[0] for run in ASKED), Counter[str]())
    whole["of changes that no record shows, each listed"] = whole.pop("wrong", 0)
    told = ", ".join(f"{number} {kind}" for kind, number in whole.most_common())
    figure(f"answers as of a position, {len(ASKED)} recordings", told)


@pytest.mark.parametrize("run", TIMED)
def test_a_moment_in_whole_seconds_is_told_right_or_refused(run: str) -> None:
    """The answer is right wherever inside the seconds that the records tell the statements were made."""
    counts, wrong = timed(run)
    assert wrong == ()
    assert set(counts) <= {"right", "refused", "unknown", "behind the last record"}
    assert counts["right"] > 30
    assert counts["refused"] > 0


def test_how_many_moments_are_told(figure: Callable[[str, object], None]) -> None:
    whole = sum((timed(run)[0] for run in TIMED), Counter[str]())
    told = ", ".join(f"{number} {kind}" for kind, number in whole.most_common())
    figure(f"answers as of a moment in whole seconds, {len(TIMED)} recordings", told)
    assert whole["wrong"] == 0


@pytest.mark.parametrize("run", RUNS if PROOF else FEW)
def test_what_is_proven_is_certain_from_there_on_and_not_before(run: str) -> None:
    for history in chain.histories(run):
        for version in history.versions:
            for proof in version.proofs:
                rank = None if proof.at is None else rank_of(proof.at)
                if rank is None:
                    continue
                there = limit_certainty(version, proof.revision, rank_of, rank).unconfirmed
                before = limit_certainty(version, proof.revision, rank_of, (-1,)).unconfirmed
                assert proof.fact in before
                assert proof.fact not in there


def rank_of(mark: Coordinates) -> Rank | None:
    """The place of a record of PostgreSQL's log."""
    return (int(mark.position.value),) if mark.position.kind == "lsn" else None


def test_a_default_that_was_read_later_is_not_certain_of_the_rows_before() -> None:
    """The default of `method` was set behind the row at 32461736, and read with it."""
    payments = chain.history("postgres/shop-downtime", "shop.payments")
    here = select_version(payments, SourcePosition("lsn", "32461736")).version
    assert here is not None
    assert (here.number, here.unconfirmed) == (2, ("nullable:order_no", "default:method"))


def test_a_key_that_came_while_the_connector_was_away_is_not_told_of_the_rows_before_it() -> None:
    """The key of `carts` was dropped and made anew behind the row at 32455080, and read with it."""
    (carts,) = (h for h in chain.histories("postgres/shop-downtime") if h.table.table == "carts")
    here = select_version(carts, SourcePosition("lsn", "32455080")).version
    later = select_version(carts, SourcePosition("lsn", "32504832")).version
    assert here is not None
    assert later is not None
    assert (here.number, here.status, here.unconfirmed) == (2, "provisional", ("key",))
    assert (later.number, later.status, later.unconfirmed) == (2, "confirmed", ())


def test_what_is_read_beside_the_stream_stands_from_the_next_record_that_has_a_place() -> None:
    """Incremental reads tell no place; what they show first is so at the places of the rows behind them."""
    number = {**INT, "optional": True}
    for wider in ({"id": INT, "n": {**number, "default": 7}}, {"id": INT, "n": number, "a": NOTE}):
        connector = Connector()
        connector.rows({"id": INT, "n": number})
        connector.rows(wider, op="r", snapshot="incremental", lsn=None, txId=None, sequence=None)
        connector.rows(wider)
        history = connector.told()["t"]
        for place in (connector.at, connector.at + 1000):
            found = select_version(history, SourcePosition("lsn", str(place)))
            assert found.schema == history.latest.schema
            assert found.version is not None
            assert "default:n" not in found.version.unconfirmed
        with pytest.raises(NoHistory):
            select_version(history, SourcePosition("lsn", "1"))


BESIDE: dict[str, Any] = {"op": "r", "snapshot": "incremental", "lsn": None, "txId": None, "sequence": None}
"""What makes a record one of an incremental snapshot, which tells no place."""


def at_lsn(history: TableHistory, lsn: int) -> int:
    """The number of the version that stood at a place of PostgreSQL's log."""
    version = select_version(history, SourcePosition("lsn", str(lsn))).version
    assert version is not None
    return version.number


def test_places_are_told_from_the_first_record_that_has_one() -> None:
    """A table that was not snapshotted and is read beside the stream: its first record has no place."""
    connector = Connector()
    connector.rows({"id": INT}, **BESIDE)
    first = connector.at + 8
    connector.rows({"id": INT}, 4)
    history = connector.told()["t"]
    assert history.latest.at.position.kind == "none"
    for lsn in (first, first + 1, first + 8, connector.at - 1, connector.at, connector.at + 1000):
        assert at_lsn(history, lsn) == 1
    with pytest.raises(NoHistory, match="the history begins later"):
        at_lsn(history, first - 1)


def test_places_are_told_between_rows_that_are_read_beside_the_stream() -> None:
    """Such rows stand first and last of both versions: what was streamed of each between has places."""
    connector = Connector()
    edges = []
    for columns in ({"id": INT}, {"id": INT, "note": NOTE}):
        connector.rows(columns, **BESIDE)
        edges.append(connector.at + 8)
        connector.rows(columns)
        edges.append(connector.at)
        connector.rows(columns, **BESIDE)
    history = connector.told()["t"]
    assert len(history.versions) == 2
    for version, first, last in ((1, *edges[:2]), (2, *edges[2:])):
        assert {at_lsn(history, lsn) for lsn in (first, first + 9, last)} == {version}
    seen = select_version(history, SourcePosition("lsn", str(edges[3] + 1))).last_seen
    assert seen is not None
    assert seen.position.value == str(edges[3])
    for lsn in (edges[1] + 1, edges[2] - 1):
        with pytest.raises(UsageError, match="version 1 or version 2 was valid then"):
            at_lsn(history, lsn)


def facts_at(history: TableHistory, lsn: int) -> tuple[str, ...]:
    """Open questions of the version at a place of PostgreSQL's log."""
    version = select_version(history, SourcePosition("lsn", str(lsn))).version
    assert version is not None
    return version.unconfirmed


def lagging(
    connector: Connector, columns: dict[str, Any], committed: int, read: int, lsn: int | None
) -> None:
    """A row, committed and read so many milliseconds after noon; without an lsn, read beside the stream."""
    connector.at, connector.lag_ms = read - 8, 0
    streamed = {"lsn": lsn, "txId": lsn, "sequence": json.dumps([str((lsn or 0) - 1), str(lsn)])}
    connector.row(columns, ts_ms=NOON + committed, **(BESIDE if lsn is None else streamed))


@pytest.mark.parametrize("opens", [False, True])
def test_what_is_read_beside_the_stream_proves_nothing_of_rows_committed_before(opens: bool) -> None:
    """The connector lags: the rows behind the reading were committed before it, and so before NOT NULL.

    The reading is the first of the version, or comes after a row of it.
    """
    connector, late = Connector(), {"id": INT, "c": node("string")}
    lagging(connector, {"id": INT}, 10, 10, 1000)
    lagging(connector, {"id": INT}, 20, 20, 1008)
    if not opens:
        lagging(connector, late, 100, 105, 1100)
    lagging(connector, late, 110, 110, None)
    lagging(connector, late, 101, 117, 1108)
    lagging(connector, late, 102, 118, 1116)
    history = connector.told()["t"]
    assert ["nullable:c" in facts_at(history, lsn) for lsn in (1108, 1112, 1116)] == [True] * 3
    lagging(connector, late, 120, 121, 1124)
    history = connector.told()["t"]
    assert ["nullable:c" in facts_at(history, lsn) for lsn in (1108, 1112, 1116)] == [True] * 3
    assert facts_at(history, 1124) == ()


def test_a_column_that_the_catalogue_has_lost_is_not_surely_nullable() -> None:
    """NOT NULL, a row, another name, and only then a reading: the connector tells its default of the row."""
    connector, nullable = Connector(), node("string", optional=True)
    lagging(connector, {"id": INT, "a": nullable}, 10, 10, 1000)
    lagging(connector, {"id": INT, "a": nullable}, 40, 90, 1108)
    assert facts_at(connector.told()["t"], 1108) == ()
    lagging(connector, {"id": INT, "b": node("string")}, 60, 91, 1200)
    lagging(connector, {"id": INT, "b": node("string")}, 95, 96, 1300)
    history = connector.told()["t"]
    assert history.versions[0].unconfirmed == ("nullable:a",)
    assert facts_at(history, 1108) == ("nullable:a",)
    assert facts_at(history, 1300) == ()


def test_a_key_that_may_have_been_cut_leaves_what_is_nullable_open() -> None:
    """A table that had a key tells none: perhaps columns of its key had other names when it was read."""
    connector, nullable = Connector(), node("string", optional=True)
    lagging(connector, {"id": INT, "a": nullable}, 10, 10, 1000)
    lagging(connector, {"id": INT, "a": nullable}, 11, 11, 1008)
    connector.at, connector.lag_ms = 82, 0
    place: dict[str, Any] = {"lsn": 1108, "txId": 2, "sequence": json.dumps(["1107", "1108"])}
    connector.row({"id": INT, "a": nullable}, (), ts_ms=NOON + 40, **place)
    assert facts_at(connector.told()["t"], 1108) == ("key", "nullable:a")


@pytest.mark.parametrize("read", ["true", "false"])
def test_a_structure_that_was_declared_may_have_stood_before_its_position(read: str) -> None:
    """Read anew after a pause, or behind a missing statement, it is older than the record that tells it.

    Nothing in the history tells such a record from that of the statement itself.
    """
    connector = Connector("mysql")
    bare, wider = column("id", "INT", 1, optional=False), column("note", "TEXT", 2)
    made = entry("CREATE", '"shop"."t"', image(bare, key=("id",)))
    connector.change(made, ddl="CREATE TABLE t (id INT PRIMARY KEY)")
    connector.rows({"id": INT})
    last = connector.at
    connector.rows({"id": INT}, table="other")
    told = image(bare, wider, key=("id",))
    if read == "true":
        again = entry("CREATE", '"shop"."t"', told)
        connector.change(again, ddl="CREATE TABLE t (id INT PRIMARY KEY, note TEXT)", snapshot="true")
    else:
        connector.change(entry("ALTER", '"shop"."t"', told), ddl="ALTER TABLE t ADD note TEXT")
    declared = connector.at
    connector.rows({"id": INT, "note": NOTE})
    history = connector.told()["t"]
    with pytest.raises(UsageError, match="version 1 or version 2 was valid then"):
        select_version(history, SourcePosition("binlog", f"binlog.000003:{last + 8}:0"))
    for at, number in ((last, 1), (declared, 2)):
        version = select_version(history, SourcePosition("binlog", f"binlog.000003:{at}:0")).version
        assert version is not None
        assert version.number == number
