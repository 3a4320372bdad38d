"""The gate: every step since the baseline is judged, and what cannot be checked is no pass."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.compat.gate import (
    CheckResult,
    GatePolicy,
    build_total,
    check,
    compare_with_earlier,
    list_steps,
    list_transitions,
)
from schemaman.compat.judge import LEVELS, RULES, Finding, Reader, Severity
from schemaman.compat.snapshots import Snapshot, remove_ids, take_snapshot
from schemaman.errors import NoHistory, UnknownName
from schemaman.history.versions import Disagreement, TableEvent, TableHistory
from schemaman.model.column_list import format_columns
from schemaman.model.diff import patch
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import Integer, Uuid
from tests.support.histories import ORDERS, mark, told
from tests.support.strategies import schemas

ALL_RULES = RULES.load_all()
KEYED = "id INT NOT NULL, PRIMARY KEY (id)"


def gate(history: TableHistory, since: int = 1, policy: GatePolicy | None = None) -> CheckResult:
    return check((history,), {ORDERS: take_snapshot(history, history.versions[since - 1])}, ALL_RULES, policy)


def gate_from_start(history: TableHistory) -> CheckResult:
    """Judge every revision, too: other attributes make no version."""
    return check((history,), {ORDERS: take_snapshot(history, history.versions[0], revision=0)}, ALL_RULES)


def told_by(result: CheckResult) -> list[tuple[str, str, str]]:
    return [(f.rule, ".".join(f.path), severity) for f, severity in result.findings]


def test_nothing_changed_nothing_found() -> None:
    result = gate(told("id INT, n INT"))
    assert (result.verdict, result.findings, result.steps) == ("pass", (), 0)
    assert result.tables == (ORDERS,)


@pytest.mark.parametrize(
    ("fail_on", "verdict"), [("break", "pass"), ("danger", "fail"), ("note", "fail"), ("off", "pass")]
)
def test_a_table_that_was_asked_for_and_has_no_baseline_is_a_danger(fail_on: Severity, verdict: str) -> None:
    other = told("id INT", table=replace(ORDERS, table="other"))
    baseline = {other.table: take_snapshot(other, other.latest)}
    histories = (told(KEYED), other)
    asked = check(histories, baseline, ALL_RULES, GatePolicy(fail_on=fail_on, named=True))
    assert (asked.verdict, asked.unaccepted, asked.without_baseline) == (verdict, (ORDERS,), (ORDERS,))
    met = check(histories, baseline, ALL_RULES, GatePolicy(fail_on=fail_on))
    assert (met.verdict, met.unaccepted, met.without_baseline) == ("pass", (ORDERS,), ())


def test_what_records_lose_or_leave_open_is_told_since_the_baseline() -> None:
    history = told("id INT", "id INT, a INT", "id INT, a INT, b INT")
    open_ones = [
        Disagreement(kind, (number,), f"{kind} {number}", ())
        for number, kind in ((1, "perhaps-altered"), (2, "values-not-carried"), (3, "encoding-changed"))
    ]
    history = replace(history, disagreements=(*open_ones, replace(open_ones[1], versions=(3,))))
    result = gate(history)
    assert [(d.kind, d.versions) for _, d in result.remarks] == [
        ("perhaps-altered", (1,)), ("values-not-carried", (3,)),
    ]  # fmt: skip
    assert [d.kind for _, d in gate(history, since=2).remarks] == ["values-not-carried"]
    assert gate(history, since=3, policy=GatePolicy(fail_on="note")).verdict == "fail"
    assert (
        gate(replace(history, disagreements=()), since=3, policy=GatePolicy(fail_on="note")).verdict == "pass"
    )


def test_every_step_since_the_baseline_is_judged() -> None:
    history = told("id INT, a INT", "id INT", "id INT, n INT NOT NULL", "id INT, n SMALLINT NOT NULL")
    assert told_by(gate(history)) == [
        ("column-dropped", "a", "break"),
        ("column-added-required", "n", "break"),
        ("integer-narrowed", "n", "danger"),
    ]
    assert told_by(gate(history, since=3)) == [("integer-narrowed", "n", "danger")]
    assert gate(history, since=3).verdict == "pass"


def test_a_step_shows_even_if_a_later_one_undoes_it() -> None:
    history = told("id INT, n BIGINT", "id INT, n INT", "id INT, n BIGINT")
    assert told_by(gate(history)) == [("integer-narrowed", "n", "break"), ("integer-widened", "n", "break")]
    assert gate(history).verdict == "fail"


def test_a_step_tells_between_what_it_lies() -> None:
    history = told("id INT", "id INT DEFAULT 1", "id INT DEFAULT 1, n INT NOT NULL")
    (finding,) = (f for f, _ in gate(history).findings)
    assert (finding.old_ref, finding.new_ref) == ("shop.app.public.orders@1.1", "shop.app.public.orders@2")
    first, second = list_steps(history, take_snapshot(history, history.versions[0], revision=0))
    assert (first.old_ref, first.new_ref) == ("shop.app.public.orders@1.0", "shop.app.public.orders@1.1")
    assert second.at == mark(2)


def test_what_only_the_total_shows_is_told_once() -> None:
    history = told(
        "id INT, n BIGINT",
        "id INT, n DECIMAL(20,0)",
        "id INT, n INT",
        "id INT, n INT, b INT",
        "id INT, n SMALLINT, b INT",
    )
    assert told_by(gate(history)) == [
        ("integer-to-decimal", "n", "break"),
        ("decimal-to-integer", "n", "break"),
        ("column-added-nullable", "b", "note"),
        ("integer-narrowed", "n", "danger"),
    ]
    through_decimal = told("n BIGINT", "n DECIMAL(20,0)", "n INT")
    whole = build_total(through_decimal, take_snapshot(through_decimal, through_decimal.versions[0]))
    assert whole is not None
    assert told_by(gate(through_decimal)) == [
        ("integer-to-decimal", "n", "break"),
        ("decimal-to-integer", "n", "break"),
        ("integer-narrowed", "n", "break"),
    ]


def test_the_total_repeats_nothing_that_a_step_claims_under_another_name() -> None:
    first, second, third = (
        f"id INT NOT NULL, {name} STRING NOT NULL, c INT" for name in ("nick", "alias", "handle")
    )
    renamed_twice = told(first, second, third)
    assert build_total(renamed_twice, take_snapshot(renamed_twice, renamed_twice.versions[0])) is not None
    assert told_by(gate(renamed_twice)) == [
        ("column-rename-suspected", "nick", "break"),
        ("column-rename-suspected", "alias", "break"),
    ]
    stated = told(first, second, third, stated={"nick": "alias", "alias": "handle"})
    assert told_by(gate(stated)) == [
        ("column-renamed", "nick", "break"),
        ("column-renamed", "alias", "break"),
    ]
    retyped = told("n INT, c INT", "n BIGINT, c INT", "m BIGINT, c INT", stated={"n": "m"})
    assert told_by(gate(retyped)) == [("integer-widened", "n", "break"), ("column-renamed", "n", "break")]


def test_a_key_that_changes_is_one_finding() -> None:
    columns = "a INT NOT NULL, b INT NOT NULL, c INT NOT NULL"
    for old, new, rule, path in [
        ("a", "b", "key-column-removed", "a"),
        ("a, b", "c", "key-column-removed", "a"),
        ("a", "a, b, c", "key-column-added", "b"),
        ("a, b", "b, a", "key-columns-reordered", ""),
    ]:
        history = told(f"{columns}, PRIMARY KEY ({old})", f"{columns}, PRIMARY KEY ({new})")
        assert [(r, p) for r, p, _ in told_by(gate(history))] == [(rule, path)]
    dropped = told("a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b)", "a INT NOT NULL, PRIMARY KEY (a)")
    assert told_by(gate(dropped)) == [("key-column-removed", "b", "break")]
    joined = told("a INT NOT NULL, PRIMARY KEY (a)", "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b)")
    assert told_by(gate(joined)) == [("key-column-added", "b", "break")]
    through = told(*(f"{columns}, PRIMARY KEY ({key})" for key in ("a", "b", "c")))
    assert told_by(gate(through)) == [
        ("key-column-removed", "a", "break"), ("key-column-removed", "b", "break"),
    ]  # fmt: skip


def test_swapped_columns_are_one_finding() -> None:
    history = told("net INT, gross INT", "gross INT, net INT", stated={"net": "gross", "gross": "net"})
    assert told_by(gate_from_start(history)) == [("columns-swapped", "net", "break")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("id INT", "id INT, note STRING"),
        ("n VARCHAR(10)", "n VARCHAR(20)"),
        ("n VARCHAR(20)", "n VARCHAR(10)"),
        ("n BINARY(8)", "n BINARY(16)"),
        ("n SMALLINT", "n INT"),
        ("n INT", "n INT DEFAULT 5"),
        ("n INT DEFAULT 5", "n INT"),
        ("n INT", "n INT COMMENT 'net'"),
        ("n INT", "n INT, COMMENT 'orders'"),
        ("n INT SOURCE 'int4'", "n INT SOURCE 'integer'"),
        ("at TIMESTAMP_NTZ(4)", "at TIMESTAMP_NTZ(6)"),
        ("e ENUM('a')", "e ENUM('a', 'b')"),
    ],
)
def test_a_harmless_change_is_told_and_passes(old: str, new: str) -> None:
    result = gate_from_start(told(old, new))
    assert result.verdict == "pass"
    assert len(result.findings) == 1


def test_a_table_that_was_dropped_is_found() -> None:
    history = told(KEYED, None)
    assert told_by(gate(history)) == [("table-dropped", "", "break")]
    (step,) = list_steps(history, take_snapshot(history, history.versions[0]))
    assert step.event is not None
    assert step.at == mark(1)


def test_a_table_that_exists_again_without_a_structure_was_made_anew() -> None:
    history = told(KEYED, None)
    again = TableEvent("created", mark(2), 2)
    assert told_by(gate(replace(history, events=(*history.events, again)))) == [
        ("table-recreated", "", "break")
    ]


def test_a_table_made_again_shares_nothing_with_the_one_before() -> None:
    history = told(
        KEYED, None, "id BIGINT NOT NULL, a INT, `b-` INT, b_ INT", "id INT NOT NULL, a INT, `b-` INT, b_ INT"
    )
    assert told_by(gate(history)) == [
        ("table-recreated", "", "break"),
        ("avro-incompatible", "id", "break"),
        ("avro-name-collision", "b_", "break"),
        ("integer-narrowed", "id", "break"),
    ]
    assert build_total(history, take_snapshot(history, history.versions[0])) is None
    assert told_by(gate(history, since=2)) == [("integer-narrowed", "id", "break")]


def test_a_table_without_baseline_is_judged_as_it_is() -> None:
    result = check((told("`a-` INT", "`a-` INT, a_ INT"),), {}, ALL_RULES)
    assert told_by(result) == [("avro-name-collision", "a_", "break")]
    assert result.unaccepted == (ORDERS,)
    assert not check((told("id INT", "id INT NOT NULL"),), {}, ALL_RULES).findings
    assert not list_steps(told("id INT", None), None)


def test_a_baseline_without_history_is_an_error_and_no_pass() -> None:
    history = told("id INT")
    other = TableId("shop", "app", "public", "gone")
    kept = take_snapshot(history, history.latest)
    with pytest.raises(NoHistory, match=r"shop\.app\.public\.gone"):
        check((history,), {ORDERS: kept, other: replace(kept, table=other)}, ALL_RULES)


def test_a_baseline_is_found_by_shape_and_beginning_though_numbers_shift() -> None:
    history = told("a INT, b INT", "a INT", "a INT, b INT", "a INT, b INT, c INT NOT NULL")
    assert history.versions[0].id == history.versions[2].id
    assert told_by(gate(history, since=3)) == [("column-added-required", "c", "break")]
    assert told_by(gate(history, since=1)) == [
        ("column-dropped", "b", "break"),
        ("column-readded", "b", "danger"),
        ("column-added-required", "c", "break"),
    ]
    elsewhere = replace(take_snapshot(history, history.versions[0]), at=mark(77))
    assert len(check((history,), {ORDERS: elsewhere}, ALL_RULES).findings) == 1


def test_a_baseline_of_another_store_is_compared_by_names() -> None:
    history = told("id INT, price INT", "id INT, list_price INT NOT NULL")
    foreign = Snapshot(ORDERS, remove_ids(told("id INT, price INT, x INT").latest.schema), "0" * 12, mark(5))
    found = check((history,), {ORDERS: foreign}, ALL_RULES)
    assert told_by(found) == [("column-dropped", "x", "break"), ("column-rename-suspected", "price", "break")]
    assert {f.old_ref for f, _ in found.findings} == {"baseline"}
    same = Snapshot(ORDERS, remove_ids(history.latest.schema))
    assert check((history,), {ORDERS: same}, ALL_RULES).steps == 0


def test_attributes_that_were_refined_since_are_a_step() -> None:
    history = told("id INT, n INT DEFAULT 5")
    kept = take_snapshot(history, history.latest)
    columns = tuple(replace(c, default=None) for c in kept.schema.columns)
    (step,) = list_steps(history, replace(kept, schema=replace(kept.schema, columns=columns)))
    assert [type(c).__name__ for c in step.changes] == ["ChangeDefault"]


def test_readers_overrides_and_fail_on_decide() -> None:
    history = told("id INT, n BIGINT", "id INT, n INT")
    assert gate(history).verdict == "fail"
    assert gate(history, policy=GatePolicy(readers=("spark",))).verdict == "pass"
    assert gate(history, policy=GatePolicy(readers=("spark",), fail_on="danger")).verdict == "fail"
    assert gate(history, policy=GatePolicy(readers=("avro-forward",), fail_on="note")).verdict == "fail"
    assert gate(history, policy=GatePolicy(overrides={"integer-narrowed": "note"})).verdict == "pass"
    assert gate(history, policy=GatePolicy(fail_on="off")).verdict == "pass"
    assert told_by(gate(history, policy=GatePolicy(overrides={"integer-narrowed": "off"}))) == [
        ("integer-narrowed", "n", "off")
    ]


def test_the_level_says_which_avro_readers_must_not_break() -> None:
    history = told("id INT, n BIGINT NOT NULL", "id INT, n INT NOT NULL")
    only_avro: tuple[Reader, ...] = ("avro-backward", "avro-forward")
    verdicts = {level: gate(history, policy=GatePolicy(only_avro, level=level)).verdict for level in LEVELS}
    assert verdicts == {
        "NONE": "pass",
        "BACKWARD": "fail",
        "BACKWARD_TRANSITIVE": "fail",
        "FORWARD": "pass",
        "FORWARD_TRANSITIVE": "pass",
        "FULL": "fail",
        "FULL_TRANSITIVE": "fail",
    }
    with pytest.raises(UnknownName, match="FULL_TRANSITIVE"):
        gate(history, policy=GatePolicy(level="full"))


def test_a_transitive_level_looks_at_every_version() -> None:
    history = told("id INT, n BIGINT", "id INT, n INT", "id INT, n INT, c INT")
    assert gate(history, since=3, policy=GatePolicy(level="BACKWARD")).findings == ()
    found = gate(history, since=3, policy=GatePolicy(level="BACKWARD_TRANSITIVE"))
    assert told_by(found) == [("integer-narrowed", "n", "break")]
    (finding,) = (f for f, _ in found.findings)
    assert finding.old_ref == "shop.app.public.orders@1"
    assert set(finding.verdicts) <= {"avro-backward", "avro-forward"}
    assert [t.old_ref[-1] for t in compare_with_earlier(history)] == ["2", "1"]


def test_provisional_facts_do_not_fail_a_build() -> None:
    history = told(
        "id INT, n INT",
        "id INT NOT NULL, n INT, m INT NOT NULL, PRIMARY KEY (id)",
        unconfirmed=("key", "nullable:id", "nullable:m"),
    )
    result = gate(history)
    assert result.verdict == "pass"
    assert {rule: severity for rule, _, severity in told_by(result)} == {
        "column-added-required": "note",
        "primary-key-gained": "danger",
    }


@given(st.lists(schemas().filter(lambda s: s.columns), min_size=1, max_size=5), st.data())
def test_steps_lead_from_the_baseline_to_the_present(
    structures: list[TableSchema], data: st.DataObject
) -> None:
    history = told(*(format_columns(s) for s in structures))
    version = data.draw(st.sampled_from(history.versions))
    revision = data.draw(st.sampled_from(version.revisions))
    kept = take_snapshot(history, version, revision.number)
    walked = list_steps(history, kept)
    for before, after in pairwise(walked):
        assert before.new == after.old
    for step in list_transitions(history, kept):
        assert step.old is not None
        assert patch(step.old, step.changes) == step.new
    if walked:
        assert walked[0].old is not None
        assert remove_ids(walked[0].old) == kept.schema
        assert walked[-1].new == history.latest.schema
    findings: list[Finding] = [f for f, _ in check((history,), {ORDERS: kept}, ALL_RULES).findings]
    assert len({(f.fingerprint, f.new_ref) for f in findings}) == len(findings)


def test_a_change_that_no_rule_covers_fails_and_can_be_waived() -> None:
    history = told("id INT, a INTERVAL", "id INT, a BOOLEAN")
    result = gate(history)
    assert told_by(result) == [("not-judged", "a", "break")]
    assert result.verdict == "fail"
    ((finding, _),) = result.findings
    assert gate(history, policy=GatePolicy(waived={finding.fingerprint})).verdict == "pass"


def test_a_finding_about_the_key_does_not_hide_another_type() -> None:
    history = told("id INTERVAL NOT NULL, n INT, PRIMARY KEY (id)")
    before = Snapshot(ORDERS, TableSchema((Column("id", Uuid(), nullable=False), Column("n", Integer(32)))))
    result = check((history,), {ORDERS: before}, ALL_RULES)
    assert {("primary-key-gained", "id"), ("interval-encoding-changed", "id")} <= {
        each[:2] for each in told_by(result)
    }
