"""PostgreSQL tables change, and nothing but rows tells of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from schemaman.history.decisions import Decisions, NotRename, Rename, apply_decisions, format_coordinates
from schemaman.history.open_renames import treat_as_additions
from schemaman.history.versions import TableHistory
from schemaman.migration.plan import Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.source import migration_source
from schemaman.migration.targets import delta
from schemaman.model.diff import ChangeDefault, ChangeType, DropColumn
from schemaman.model.types import Decimal, Integer, Numeric, Timestamp
from tests.cases.connector import (
    INT,
    LONG,
    NOTE,
    TEXT,
    Connector,
    decimal,
    kinds,
    revised,
    shape,
    shapes,
    steps,
    time,
)
from tests.support import chain
from tests.support.memory_lake import MemoryTable
from tests.support.plans import migrated
from tests.support.records import Node, node
from tests.support.story import applied

NOW_TEXT = "1970-01-01T00:00:00.000000Z"


def changed(before: dict[str, Node], after: dict[str, Node]) -> Connector:
    """Three rows of one structure, then three of another."""
    connector = Connector()
    connector.rows(before)
    connector.rows(after)
    return connector


@pytest.mark.case(1)
def test_a_column_is_known_from_the_first_row_that_carries_it():
    history = changed({"id": INT}, {"id": INT, "note": NOTE}).told()["t"]
    assert shapes(history) == ["id INT! KEY (id)", "id INT!, note STRING KEY (id)"]
    second = history.versions[1]
    assert second.after is not None
    assert (second.after.offset, second.at.offset) == (2, 3)
    assert second.after.position.rank < second.at.position.rank


@pytest.mark.case(2)
def test_a_required_column_gets_its_default_at_once_or_later():
    connector = changed({"id": INT}, {"id": INT, "n": node("int32")})
    connector.rows({"id": INT, "n": node("int32", default=5)})
    history = connector.told()["t"]
    assert shapes(history) == ["id INT! KEY (id)", "id INT!, n INT! KEY (id)"]
    assert revised(history.versions[1]) == [(ChangeDefault(("n",), None, 5),)]
    plan = chain.plan(history, history.versions[1], None, "delta", "lake.t", Policy(), {})
    added = next(c for c in plan.wanted.columns if c.name == "n")
    assert (added.nullable, added.default) == (True, None)


@pytest.mark.case(3)
@pytest.mark.parametrize(
    ("at", "default"),
    [(time("MicroTimestamp"), 0), (node("string", "io.debezium.time.ZonedTimestamp"), NOW_TEXT)],
)
def test_a_default_that_is_a_placeholder_is_never_written_into_a_lake(at: Node, default: object):
    history = changed({"id": INT}, {"id": INT, "at": {**at, "default": default}}).told()["t"]
    assert history.latest.schema.columns[1].default == default
    for target in chain.TARGETS:
        plan = chain.plan(history, history.latest, None, target, "ice.lake.t", Policy(), {})
        assert all("DEFAULT" not in s.statement and "1970" not in s.statement for s in plan.steps)


@pytest.mark.case(4)
def test_a_dropped_column_stays_in_the_lake():
    history = changed({"id": INT, "sku": NOTE}, {"id": INT}).told()["t"]
    ((dropped,),) = steps(history)
    assert isinstance(dropped, DropColumn)
    assert dropped.path == ("sku",)
    first = chain.plan(history, history.versions[0], None, "delta", "lake.t", Policy(), {})
    live = applied(None, first)
    second = chain.plan(history, history.versions[1], live, "delta", "lake.t", Policy(), {})
    assert second.wanted.names == ("id", "sku")
    assert [step.kind for step in second.steps] == ["set-properties"], "it is marked as kept, no more"


@pytest.mark.case(5)
def test_a_suspected_rename_waits_for_a_decision():
    history = changed({"id": INT, "note": NOTE, "n": INT}, {"id": INT, "memo": NOTE, "n": INT}).told()["t"]
    (suspected,) = history.latest.candidates
    assert (suspected.old, suspected.new) == ("note", "memo")
    assert suspected.grade != "stated"
    assert kinds(steps(history)[0]) == ["DropColumn note", "AddColumn memo"]


@pytest.mark.case(7)
def test_a_longer_varchar_is_seen_only_where_its_length_travels():
    plain = changed({"id": INT, "s": TEXT}, {"id": INT, "s": TEXT}).told()["t"]
    assert (len(plain.versions), plain.latest.revision) == (1, 0)

    def long(length: int) -> Node:
        told = {"__debezium.source.column.type": "VARCHAR", "__debezium.source.column.length": str(length)}
        return node("string", parameters=told)

    told = changed({"id": INT, "s": long(50)}, {"id": INT, "s": long(100)}).told()["t"]
    assert len(told.versions) == 1
    ((change,),) = revised(told.latest)
    assert kinds((change,)) == ["ChangeAttribute s"]


@pytest.mark.case(8, 9)
@pytest.mark.parametrize(("before", "after", "bits"), [(INT, LONG, (32, 64)), (LONG, INT, (64, 32))])
def test_an_integer_gets_another_width(before: Node, after: Node, bits: tuple[int, int]):
    history = changed({"id": INT, "n": before}, {"id": INT, "n": after}).told()["t"]
    assert steps(history) == [(ChangeType(("n",), *(Integer(b) for b in bits)),)]
    found = "".join(chain.finding_lines(history, history.versions))
    assert ("integer-narrowed" in found) == (bits[1] < bits[0])


@pytest.mark.case(10)
def test_another_scale_is_another_version():
    history = changed({"id": INT, "p": decimal(10, 2)}, {"id": INT, "p": decimal(14, 4)}).told()["t"]
    assert steps(history) == [(ChangeType(("p",), Decimal(10, 2), Decimal(14, 4)),)]
    assert "decimal-scale-changed" in "".join(chain.finding_lines(history, history.versions))


@pytest.mark.case(11)
def test_a_decimal_that_loses_its_scale_is_another_type():
    scale = node("struct", "io.debezium.data.VariableScaleDecimal", fields=[
        {**INT, "field": "scale"}, {**node("bytes"), "field": "value"},
    ])  # fmt: skip
    history = changed({"id": INT, "p": decimal(10, 2)}, {"id": INT, "p": scale}).told()["t"]
    assert steps(history) == [(ChangeType(("p",), Decimal(10, 2), Numeric()),)]


@pytest.mark.case(12)
def test_another_unit_in_the_same_integer_type_breaks_readers():
    history = changed({"id": INT, "at": time("Timestamp")}, {"id": INT, "at": time("MicroTimestamp")}).told()[
        "t"
    ]
    assert steps(history) == [(ChangeType(("at",), Timestamp(3, zoned=False), Timestamp(6, zoned=False)),)]
    assert "temporal-unit-changed" in "".join(chain.finding_lines(history, history.versions))


@pytest.mark.case(13)
def test_a_timestamp_that_gets_a_zone_is_another_type():
    zoned = time("ZonedTimestamp", "string")
    history = changed({"id": INT, "at": time("MicroTimestamp")}, {"id": INT, "at": zoned}).told()["t"]
    assert steps(history) == [(ChangeType(("at",), Timestamp(6, zoned=False), Timestamp(6, zoned=True)),)]


@pytest.mark.case(20, 68)
def test_columns_that_a_connector_learns_to_read_are_new_in_the_history():
    connector = Connector(version="3.6.3.Final")
    connector.rows({"id": INT})
    connector.version = "3.7.0.Final"
    box = node("struct", "io.debezium.data.geometry.Line", optional=True, fields=[{**NOTE, "field": "wkb"}])
    connector.rows({"id": INT, "area": box, "other": node("bytes", optional=True)})
    history = connector.told()["t"]
    (step,) = steps(history)
    assert kinds(step) == ["AddColumn area", "AddColumn other"]
    assert all(c.nullable for c in history.latest.schema.columns[1:])


@pytest.mark.case(43)
def test_a_generated_column_is_read_by_the_snapshot_alone():
    history = chain.history("postgres/shop-json", "shop.order_lines")
    first, second = history.versions[:2]
    assert first.schema.column("net") is not None
    assert second.schema.column("net") is None
    assert shape(first.schema) != shape(second.schema)


@pytest.mark.case(44)
def test_a_label_that_rows_carry_before_the_schema_lists_it():
    allowed = node("string", "io.debezium.data.Enum", version=1, parameters={"allowed": "new,paid"})
    grown = {**allowed, "parameters": {"allowed": "new,paid,returned"}}
    connector = Connector()
    connector.row({"id": INT, "state": allowed}, values={"state": "paid"})
    connector.row({"id": INT, "state": allowed}, values={"state": "returned"})
    assert connector.told()["t"].latest.revision == 0
    connector.row({"id": INT, "state": grown}, values={"state": "returned"})
    history = connector.told()["t"]
    assert (len(history.versions), history.latest.revision) == (1, 1)


@pytest.mark.case(45)
def test_labels_that_grow_are_a_revision():
    def enum(*labels: str) -> Node:
        return node("string", "io.debezium.data.Enum", version=1, parameters={"allowed": ",".join(labels)})

    history = changed({"id": INT, "e": enum("a")}, {"id": INT, "e": enum("a", "b")}).told()["t"]
    assert len(history.versions) == 1
    assert kinds(revised(history.latest)[0]) == ["ChangeType e"]


@pytest.mark.case(46)
def test_a_large_value_that_was_not_sent_is_a_value():
    connector = Connector()
    connector.row({"id": INT, "doc": TEXT}, values={"doc": "x" * 9000})
    connector.row({"id": INT, "doc": TEXT}, op="u", values={"doc": "__debezium_unavailable_value"})
    history = connector.told()["t"]
    assert (len(history.versions), history.latest.records) == (1, 2)


@pytest.mark.case(54)
def test_a_default_that_changes_the_order_of_a_union_is_a_revision():
    history = changed({"id": INT, "n": NOTE}, {"id": INT, "n": {**NOTE, "default": "x"}}).told()["t"]
    assert revised(history.latest) == [(ChangeDefault(("n",), None, "x"),)]
    assert history.latest.schema.columns[1].nullable


@pytest.mark.case(67)
def test_a_comment_is_a_revision():
    history = changed({"id": INT, "n": NOTE}, {"id": INT, "n": {**NOTE, "doc": "What it is"}}).told()["t"]
    assert kinds(revised(history.latest)[0]) == ["ChangeComment n"]


@pytest.mark.parametrize(("before", "after", "same"), [
    ("id a b", "id x b a", "id b"),
    ("id a b c", "id x b y a", "id b"),
    ("id a b gone", "id x b a", "id b"),
])  # fmt: skip
def test_a_neighbour_of_a_name_that_was_handed_on_is_the_same_column(before: str, after: str, same: str):
    """`a` became `x`, and another column got its name: what stands behind `x` stood there before."""
    connector = Connector()
    connector.rows(dict.fromkeys(before.split(), INT))
    connector.rows(dict.fromkeys(after.split(), INT))
    history = connector.told()["t"]
    first, second = ({c.id: c.name for c in v.schema.columns} for v in history.versions)
    assert [name for id, name in second.items() if id in first] == same.split()
    assert [d.kind for d in history.disagreements] == ["perhaps-swapped"]


def test_names_that_were_handed_on_are_a_doubt_where_the_types_stayed_in_their_places():
    connector = Connector()
    connector.rows({"id": INT, "a": TEXT, "b": INT})
    connector.rows({"id": INT, "b": TEXT, "c": INT})
    (doubt,) = connector.told()["t"].disagreements
    assert (doubt.kind, "a to b, b to c" in doubt.message) == ("perhaps-swapped", True)


CHAIN = (("id", "a", "b"), ("id", "b", "c"))


def handed_on(*shapes: Sequence[str]) -> TableHistory:
    connector = Connector()
    for names in shapes:
        connector.rows(dict.fromkeys(names, INT))
    return connector.told()["t"]


@pytest.mark.parametrize(("before", "after", "pairs"), [
    ("id a b", "id b c", [("a", "b"), ("b", "c")]),
    ("id a b c", "id b c d", [("a", "b"), ("b", "c"), ("c", "d")]),
    ("id a b z", "id b c z", [("a", "b"), ("b", "c")]),
    ("id a b", "id b c d", []),  # a chain makes no column
    ("id a b c d e f", "id b c d e f g", []),  # nobody renames six columns between two rows
])  # fmt: skip
def test_names_of_one_type_that_may_have_been_handed_on_are_a_question(
    before: str, after: str, pairs: list[tuple[str, str]]
):
    history = handed_on(before.split(), after.split())
    assert [(c.old, c.new) for c in history.latest.candidates] == pairs
    assert {c.grade for c in history.latest.candidates} <= {"possible"}


def answered(history: TableHistory, same: bool, *pairs: tuple[str, str]) -> TableHistory:
    table, at = str(history.table), (history.latest.id, format_coordinates(history.latest.at))
    yes = tuple(Rename(table, *pair, *at) for pair in pairs if same)
    no = tuple(NotRename(table, *pair, *at) for pair in pairs if not same)
    return apply_decisions(history, Decisions(yes, no))


def test_an_answer_for_each_name_of_a_chain_decides_it():
    history = handed_on(*CHAIN)
    renamed = answered(history, True, ("a", "b"), ("b", "c")).latest
    assert ([(c.id, c.name) for c in renamed.schema.columns], renamed.candidates) == (
        [(1, "id"), (2, "b"), (3, "c")], ()
    )  # fmt: skip
    others = answered(history, False, ("a", "b"), ("b", "c")).latest
    assert ([c.id for c in others.schema.columns], others.candidates) == ([1, 3, 4], ())
    # `b` is gone, and `a` has its name
    first = answered(history, True, ("a", "b")).latest
    assert [(c.id, c.name) for c in first.schema.columns][:2] == [(1, "id"), (2, "b")]
    # `b` became `c`: nothing says yet which column `b` is now
    assert answered(history, True, ("b", "c")).latest == history.latest


def test_a_table_follows_a_chain_of_names_before_the_answer_only_with_autopilot():
    history = handed_on(*CHAIN)
    first = migration_source(replace(history, versions=history.versions[:1]))
    automatic = Policy(profile="autopilot")
    lake = migrated(MemoryTable("/lake/t"), make_plan(first, None, delta.TARGET, "/lake/t", automatic)).live
    separate = migration_source(treat_as_additions(history))
    plan = make_plan(separate, lake, delta.TARGET, "/lake/t", automatic)
    assert [s.statement.partition("COLUMN")[2] for s in plan.steps if "COLUMN" in s.statement] == [
        " `b` TO `b__old`", "S (`b` INT, `c` INT)"
    ]  # fmt: skip
    policy = Policy(drops="drop")
    plan = make_plan(migration_source(history), lake, delta.TARGET, "/lake/t", policy)
    assert [r.change for r in plan.refusals] == ["rename `a` to `b`", "rename `b` to `c`"]
    assert [s.statement for s in plan.steps if "COLUMN" in s.statement] == []
    done = answered(history, True, ("a", "b"), ("b", "c"))
    plan = make_plan(migration_source(done), lake, delta.TARGET, "/lake/t", policy)
    assert [s.statement.partition("COLUMN ")[2] for s in plan.steps if "COLUMN" in s.statement] == [
        "`a` TO `__schemaman_1`", "`b` TO `c`", "`__schemaman_1` TO `b`"
    ]  # fmt: skip
    other = answered(history, False, ("a", "b"), ("b", "c"))
    plan = make_plan(migration_source(other), lake, delta.TARGET, "/lake/t", policy)
    assert [s.kind for s in plan.steps if "COLUMN" in s.statement] == ["add-columns", "drop-columns"]
