"""The judge: severity follows from the readers, claims hide nothing, provisional facts break nobody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.compat.judge import (
    EXAMPLE_TABLE,
    READERS,
    RULES,
    SEVERITIES,
    Example,
    Finding,
    Reader,
    Rule,
    Severity,
    Transition,
    Verdict,
    cap_verdicts,
    judge_transition,
    parse_verdicts,
    rate_finding,
)
from schemaman.compat.rules._keys import KEY_RULES
from schemaman.debezium.records import Coordinates
from schemaman.history.rename_detection import find_rename_candidates
from schemaman.history.versions import RenameCandidate, TableEvent
from schemaman.model.column_list import parse_columns
from schemaman.model.diff import (
    AddColumn,
    Change,
    ChangeAttribute,
    ChangeComment,
    ChangeDefault,
    ChangeKey,
    ChangeNullable,
    ChangeType,
    DropColumn,
    MoveColumn,
    RenameColumn,
    diff,
)
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import Decimal, Integer, Struct, Timestamp, without_labels
from tests.support.findings import find_repeated
from tests.support.strategies import related

ALL_RULES = RULES.load_all()
VERDICTS: st.SearchStrategy[Verdict] = st.sampled_from(["break", "danger", "note"])
ROWS: st.SearchStrategy[dict[Reader, Verdict]] = st.dictionaries(st.sampled_from(READERS), VERDICTS)


def found(example: Example) -> dict[str, Finding]:
    return {f.rule: f for f in judge_transition(example.build_transition(), ALL_RULES)}


def step(pair: tuple[TableSchema, TableSchema], unconfirmed: tuple[str, ...] = ()) -> Transition:
    old, new = pair
    suspects = find_rename_candidates(old, new, append_only=True)
    return Transition(EXAMPLE_TABLE, old, new, diff(old, new), suspects, unconfirmed)


def made_up(row: dict[Reader, Verdict]) -> Finding:
    return Finding("some-rule", EXAMPLE_TABLE, ("a",), "x", "y", "a changed", row)


@given(ROWS, st.sets(st.sampled_from(READERS)))
def test_severity_is_the_worst_verdict_among_the_declared_readers(
    row: dict[Reader, Verdict], readers: set[Reader]
) -> None:
    given = rate_finding(made_up(row), readers)
    mine = [row[r] for r in readers if r in row]
    assert given == ("off" if not mine else max(mine, key=SEVERITIES.index))


@given(ROWS, st.sampled_from(SEVERITIES))
def test_settings_override_a_severity_by_rule_name(row: dict[Reader, Verdict], wanted: Severity) -> None:
    assert rate_finding(made_up(row), overrides={"some-rule": wanted}) == wanted
    assert rate_finding(made_up(row), overrides={"other-rule": wanted}) == rate_finding(made_up(row))


@given(ROWS, VERDICTS)
def test_at_most_never_raises_and_never_forgets(row: dict[Reader, Verdict], top: Verdict) -> None:
    lowered = cap_verdicts(top, row)
    assert lowered.keys() == row.keys()
    for reader, verdict in row.items():
        assert SEVERITIES.index(lowered[reader]) == min(SEVERITIES.index(verdict), SEVERITIES.index(top))


def test_a_row_of_the_catalogue_as_letters() -> None:
    assert parse_verdicts("B D N · · · ·") == {
        "avro-backward": "break",
        "avro-forward": "danger",
        "spark": "note",
    }
    with pytest.raises(ValueError, match="argument"):
        parse_verdicts("B D")


@given(related(), st.booleans())
def test_no_change_no_finding_and_no_finding_is_lost(
    pair: tuple[TableSchema, TableSchema], provisional: bool
) -> None:
    unconfirmed = ("key", *(f"nullable:{n}" for n in pair[1].names)) if provisional else ()
    transition = step(pair, unconfirmed)
    judged = judge_transition(transition, ALL_RULES)
    told = " ".join(" ".join(f.evidence) for f in judged)
    kept = {(f.rule, f.path) for f in judged}
    for rule in ALL_RULES:
        for finding in rule.check(transition) if rule.last_resort is None else ():
            assert (finding.rule, finding.path) in kept or finding.message in told
    if not transition.changes:
        assert not judged


EXISTENCE = {rule.name for rule in ALL_RULES if rule.family == "columns"} - {"column-reordered"}
"""The rules about columns that come and go."""


def is_silent(change: Change) -> bool:
    """Whether a change concerns no reader: what became known of a column, its id, or a spelling."""
    match change:
        case ChangeAttribute(_, "id"):
            return True
        case ChangeAttribute(_, _, old, new):
            return old is None or new is None or str(old).casefold() == str(new).casefold()
        case ChangeType(_, old, new):
            return without_labels(old) == without_labels(new)
        case ChangeDefault(_, old, new):
            return old is not None and new is not None
        case _:
            return False


@given(related())
def test_no_change_is_without_a_word_and_none_is_told_twice(pair: tuple[TableSchema, TableSchema]) -> None:
    for transition in (step(pair), step(pair[::-1])):
        judged = judge_transition(transition, ALL_RULES)
        assert find_repeated(transition, judged) == set()
        told = [f for owner in judged for f in (owner, *owner.claimed)]
        paths = {f.path for f in told}
        for change in transition.changes:
            match change:
                case _ if is_silent(change):
                    continue
                case MoveColumn(path):
                    assert path[:-1] in paths
                case ChangeKey():
                    assert sum(f.rule in KEY_RULES for f in judged) <= 1
                    assert any(f.rule in KEY_RULES for f in told)
                case ChangeAttribute((name,), "source_type"):
                    assert any(f.path[:1] == (name,) for f in told)
                case ChangeComment(path) | RenameColumn(path) | AddColumn(path) | DropColumn(path):
                    assert path in paths
                    assert sum(f.path == path and f.rule in EXISTENCE for f in judged) <= 1
                case ChangeType(path) | ChangeNullable(path) | ChangeDefault(path) | ChangeAttribute(path):
                    assert path in paths


@given(related())
def test_provisional_facts_break_nobody(pair: tuple[TableSchema, TableSchema]) -> None:
    old, new = pair
    facts = ("key", *(f"nullable:{n}" for n in new.names))
    only = replace(new, columns=tuple(replace(c, nullable=False) for c in old.columns), key=new.key)
    only = replace(only, key=tuple(k for k in new.key if k in only.names), comment=old.comment)
    relaxed = replace(old, columns=tuple(replace(c, nullable=True) for c in old.columns))
    for finding in judge_transition(
        step((relaxed, only), (*facts, *(f"nullable:{n}" for n in only.names))), ALL_RULES
    ):
        assert "break" not in finding.verdicts.values()
        assert "not confirmed" in finding.message


def test_provisional_nullability_never_blocks_an_added_column() -> None:
    example = Example("id INT NOT NULL", "id INT NOT NULL, n INT NOT NULL", unconfirmed=("nullable:n",))
    finding = found(example)["column-added-required"]
    assert rate_finding(finding) == "note"
    assert "not confirmed" in finding.message


@given(related())
def test_a_fingerprint_stays_when_the_words_change(pair: tuple[TableSchema, TableSchema]) -> None:
    for finding in judge_transition(step(pair), ALL_RULES):
        other = replace(finding, message="other words", evidence=("more",), fixes=(), new_ref="x@9")
        assert other.fingerprint == finding.fingerprint
        assert replace(finding, before=finding.before + "!").fingerprint != finding.fingerprint


def test_a_suspected_rename_speaks_for_the_drop_and_the_addition() -> None:
    pair = RenameCandidate("name", "full_name", "proven", ("by its place",))
    example = Example(
        "id INT NOT NULL, name INT NOT NULL, c INT, PRIMARY KEY (id, name)",
        "id INT NOT NULL, full_name INT NOT NULL, c INT, PRIMARY KEY (id, full_name)",
        candidates=(pair,),
    )
    findings = judge_transition(example.build_transition(), ALL_RULES)
    assert [f.rule for f in findings] == ["column-rename-suspected"]
    rules = {told.split(" at ")[0] for told in findings[0].evidence if " at " in told}
    assert rules == {"column-dropped", "column-added-required", "key-column-added", "key-column-removed"}


def test_another_drop_in_the_same_step_still_speaks() -> None:
    pair = RenameCandidate("name", "full_name", "likely", ())
    example = Example("name INT, city INT", "full_name INT", candidates=(pair,))
    assert [(f.rule, f.path) for f in judge_transition(example.build_transition(), ALL_RULES)] == [
        ("column-dropped", ("city",)),
        ("column-rename-suspected", ("name",)),
    ]


def test_required_by_the_key_alone_is_told_with_the_key() -> None:
    example = Example(
        "a INT NOT NULL, b INT, PRIMARY KEY (a)", "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b)"
    )
    assert list(found(example)) == ["key-column-added"]
    unsure = replace(example, unconfirmed=("key",))
    assert list(found(unsure)) == ["key-column-added"]


def test_a_first_key_that_makes_its_column_required_still_stops_new_readers() -> None:
    example = Example("a INT", "a INT NOT NULL, PRIMARY KEY (a)")
    assert found(example)["primary-key-gained"].verdicts["avro-backward"] == "break"


def test_merges_are_touched_only_by_columns_of_the_key() -> None:
    free = found(Example("id INT NOT NULL, a INT", "id INT NOT NULL"))["column-dropped"]
    keyed = found(Example("id INT NOT NULL, a INT, PRIMARY KEY (id, a)", "id INT NOT NULL, PRIMARY KEY (id)"))
    assert "merge-key" not in free.verdicts
    assert keyed["key-column-removed"].verdicts["merge-key"] == "break"
    assert [f.rule for f in keyed["key-column-removed"].claimed] == ["column-dropped"]


def test_a_column_dropped_and_added_again_is_told_as_such() -> None:
    old = TableSchema((Column("a", Integer(32), id=1), Column("b", Integer(32), False, id=2)))
    new = TableSchema((Column("a", Integer(32), id=1), Column("b", Integer(32), False, id=3)))
    finding = {f.rule: f for f in judge_transition(step((old, new)), ALL_RULES)}["column-dropped"]
    assert "dropped and added again" in finding.message
    assert finding.verdicts["avro-forward"] == "danger"


def test_a_renamed_table_is_gone_under_its_old_name() -> None:
    other = TableId("shop", "app", "public", "sales")
    event = TableEvent("renamed", Coordinates("t", 0, 7), 1, other)
    gone = Transition(EXAMPLE_TABLE, parse_columns("id INT"), None, event=event)
    (finding,) = judge_transition(gone, ALL_RULES)
    assert finding.rule == "table-renamed"
    assert finding.after == "shop.app.public.sales"
    assert finding.verdicts["delta"] == "danger"


def test_claims_that_go_in_circles_lose_nothing() -> None:
    def claiming(name: str, *claims: str) -> Rule:
        def check(transition: Transition) -> Iterator[Finding]:
            paths = tuple((claim, ("a",)) for claim in claims)
            yield Finding(
                name, transition.table, ("a",), "", "", f"{name} speaks", {"sql": "note"}, claims=paths
            )

        return Rule(name, "", {}, check, ())

    rules = (claiming("one", "two"), claiming("two", "one", "three"), claiming("three", "three"))
    (finding,) = judge_transition(Example("a INT", "b INT").build_transition(), rules)
    assert finding.rule == "one"
    assert finding.evidence == ("two at a: two speaks", "three at a: three speaks")
    assert [f.rule for f in finding.claimed] == ["two", "three"]


@given(ROWS, ROWS)
def test_a_finding_takes_over_the_worse_verdicts_of_those_that_it_claims(
    own: dict[Reader, Verdict], other: dict[Reader, Verdict]
) -> None:
    def check(transition: Transition) -> Iterator[Finding]:
        yield replace(made_up(own), claims=(("other", ("a",)),))
        yield replace(made_up(other), rule="other")

    example = Example("a INT", "b INT").build_transition()
    (finding,) = judge_transition(example, (Rule("some-rule", "", {}, check, ()),))
    severities = [rate_finding(made_up(row), (r,)) for r in READERS for row in (own, other)]
    worst = [max(pair, key=SEVERITIES.index) for pair in zip(severities[::2], severities[1::2], strict=True)]
    assert [rate_finding(finding, (r,)) for r in READERS] == worst


def test_wide_tables_are_judged_in_time() -> None:
    wide = tuple(Column(f"c{i}", Integer(64), nullable=False) for i in range(1000))
    narrow = tuple(replace(c, type=Integer(32)) for c in wide)
    findings = judge_transition(step((TableSchema(wide), TableSchema(narrow))), ALL_RULES)
    assert len(findings) == 1000


def test_witnesses_are_computed_from_the_types_at_hand() -> None:
    old = TableSchema(
        (Column("p", Decimal(7, 3)), Column("t", Timestamp(0, zoned=False)), Column("s", Struct(())))
    )
    new = TableSchema(
        (Column("p", Decimal(7, 1)), Column("t", Timestamp(6, zoned=False)), Column("s", Struct(())))
    )
    told = {f.rule: f.witness for f in judge_transition(step((old, new)), ALL_RULES)}
    assert (
        told["decimal-scale-changed"]
        == "the bytes 30 39 are 12.345 to the old schema and 1234.5 to the new one"
    )
    assert told["temporal-unit-changed"] == (
        "the number 1715941800000 is 2024-05-17 10:30:00 to the old schema "
        "and 1970-01-20 20:39:01.8 to the new one"
    )
