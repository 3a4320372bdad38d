"""Decisions: what is written is read back, and answers change the history as asked, nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.compat.gate import check
from schemaman.compat.judge import RULES
from schemaman.compat.snapshots import take_snapshot
from schemaman.errors import BadConfiguration
from schemaman.history.decisions import (
    Approval,
    Confirmation,
    Decision,
    Decisions,
    NotRename,
    Rename,
    TableRename,
    TypeAcceptance,
    apply_decisions,
    find_contradiction,
    format_coordinates,
    format_decision,
    parse,
)
from schemaman.history.versions import TableHistory
from tests.support.histories import ORDERS, told

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)
PAIRS = (WORDS, WORDS, WORDS, WORDS)
PLACES = st.one_of(st.just(""), WORDS)
DECISIONS: st.SearchStrategy[Decision] = st.one_of(
    st.builds(Rename, *PAIRS, PLACES),
    st.builds(NotRename, *PAIRS, PLACES),
    st.builds(Confirmation, WORDS, WORDS, WORDS, PLACES),
    st.builds(Approval, WORDS, WORDS, st.dates()),
    st.builds(TypeAcceptance, *PAIRS, WORDS, PLACES, WORDS, st.dates(), PLACES),
)


@given(st.lists(DECISIONS, max_size=6))
def test_decisions_are_read_as_they_were_appended(decisions: list[Decision]) -> None:
    text = "# who decided what\n" + "".join(map(format_decision, decisions))
    found = parse(text)
    assert found.renames == tuple(d for d in decisions if isinstance(d, Rename))
    assert found.not_renames == tuple(d for d in decisions if isinstance(d, NotRename))
    assert found.confirmations == tuple(d for d in decisions if isinstance(d, Confirmation))
    assert found.approvals == tuple(d for d in decisions if isinstance(d, Approval))
    assert found.accepted_types == tuple(d for d in decisions if isinstance(d, TypeAcceptance))


def test_a_file_as_people_write_it() -> None:
    text = """
        [[rename]]
        table = "shop.app.public.orders"
        from = "name"
        to = "full_name"
        at = "9f2c4e01aa37"
        reason = "ticket 12"

        [[approve]]
        plan = "ab"
        by = "alex"
        expires = "2027-01-31"
    """
    assert parse(text) == Decisions(
        renames=(Rename("shop.app.public.orders", "name", "full_name", "9f2c4e01aa37"),),
        approvals=(Approval("ab", "alex", date(2027, 1, 31)),),
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[[rename]", "not valid TOML"),
        ("a = " + "[" * 5000, "not valid TOML"),
        ("[[renames]]", "unknown section"),
        ("rename = 1", "not a list"),
        ('[[rename]]\ntable = "t"\nfrom = "a"\nto = "b"', r"\[\[rename\]\] 1: .*missing required field `at`"),
        (
            '[[rename]]\ntable = "t"\nfrom = 5\nto = "b"\nat = "c"',
            r"Expected `str`, got `int` - at `\$.from`",
        ),
        ('[[rename]]\ntabel = "t"', "unknown field `tabel`"),
        (
            '[[approve]]\nplan = "p"\nby = "b"\nexpires = 2027-01-31T12:00:00Z',
            "Expected `date`, got `datetime`",
        ),
        ('[[approve]]\nplan = "p"\nby = "b"\nexpires = "soon"', r"date - at `\$.expires`"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place(text: str, fault: str) -> None:
    with pytest.raises(BadConfiguration, match=fault) as error:
        parse(text, "d.toml")
    assert "d.toml" in error.value.message


def renamed() -> TableHistory:
    return told(
        "id INT NOT NULL, name STRING, c INT",
        "id INT NOT NULL, full_name STRING, c INT",
        "id INT NOT NULL, full_name VARCHAR(9), c INT",
    )


def test_a_decided_rename_keeps_the_id_from_then_on() -> None:
    history = renamed()
    answer = Rename(str(ORDERS), "name", "full_name", history.versions[1].id)
    after = apply_decisions(history, Decisions(renames=(answer,)))
    ids = [next(c.id for c in v.schema.columns if "name" in c.name) for v in after.versions]
    assert ids == [2, 2, 2]
    assert [v.id for v in after.versions] == [v.id for v in history.versions]
    assert not after.versions[1].candidates
    found = check((after,), {ORDERS: take_snapshot(history, history.versions[0])}, RULES.load_all()).findings
    assert [f.rule for f, _ in found] == ["column-renamed", "string-length-decreased"]


def there_and_back() -> TableHistory:
    """The same two shapes twice: versions 2 and 4 have one id."""
    a, b = "id INT NOT NULL, name STRING, c INT", "id INT NOT NULL, full_name STRING, c INT"
    history = told(a, b, a, b)
    assert history.versions[1].id == history.versions[3].id
    assert history.versions[1].candidates
    assert history.versions[3].candidates
    return history


def test_an_answer_counts_where_its_version_began_and_not_where_the_shape_comes_back() -> None:
    history = there_and_back()
    pair = (str(ORDERS), "name", "full_name", history.versions[3].id)
    at2, at4 = format_coordinates(history.versions[1].at), format_coordinates(history.versions[3].at)
    assert at4 == "shop.public.orders[0]@3"
    after = apply_decisions(history, Decisions(renames=(Rename(*pair, at4),)))
    assert after.versions[:3] == history.versions[:3]
    assert after.versions[3].schema.columns[1].id == history.versions[2].schema.columns[1].id
    after = apply_decisions(history, Decisions(not_renames=(NotRename(*pair, at2),)))
    assert not after.versions[1].candidates
    assert after.versions[2:] == history.versions[2:]


def test_a_confirmation_counts_for_its_version_alone() -> None:
    history = told("n INT", "n INT NOT NULL", "n INT", "n INT NOT NULL", unconfirmed=("nullable:n",))
    answer = Confirmation(
        str(ORDERS), "nullable:n", history.versions[1].id, format_coordinates(history.versions[1].at)
    )
    after = apply_decisions(history, Decisions(confirmations=(answer,)))
    assert [v.status for v in after.versions] == ["provisional", "confirmed", "provisional", "provisional"]


def test_an_id_alone_is_enough_only_if_no_other_version_has_it() -> None:
    twice, once = there_and_back(), renamed()
    assert apply_decisions(twice, Decisions(renames=(answer_of(twice),))) == twice
    for began in ("", "moved[0]@5"):
        after = apply_decisions(once, Decisions(renames=(answer_of(once, began),)))
        assert after.versions[1].schema.columns[1].id == 2


def answer_of(history: TableHistory, began: str = "") -> Rename:
    return Rename(str(ORDERS), "name", "full_name", history.versions[1].id, began)


def test_one_column_does_not_become_two() -> None:
    history = told("id INT, name STRING", "id INT, a STRING, b STRING")
    at = history.versions[1].id
    answers = tuple(Rename(str(ORDERS), "name", new, at) for new in ("a", "b"))
    ids = [c.id for c in apply_decisions(history, Decisions(renames=answers)).versions[1].schema.columns]
    assert len(set(ids)) == 3


def test_an_answer_that_says_the_contrary_is_found() -> None:
    history = there_and_back()
    pair = (str(ORDERS), "name", "full_name", history.versions[1].id)
    at2, at4 = format_coordinates(history.versions[1].at), format_coordinates(history.versions[3].at)
    known = Decisions(not_renames=(NotRename(*pair, at2),))
    assert find_contradiction(history, known, Rename(*pair, at2)) == known.not_renames[0]
    assert find_contradiction(history, known, Rename(*pair, at4)) is None
    assert find_contradiction(history, known, NotRename(*pair, at2)) is None
    other = Rename(str(ORDERS), "name", "c2", pair[3], at2)
    assert find_contradiction(history, Decisions(renames=(other,)), Rename(*pair, at2)) == other


def test_a_pair_that_is_no_rename_is_a_drop() -> None:
    history = renamed()
    answer = NotRename(str(ORDERS), "name", "full_name", history.versions[1].id[:6])
    after = apply_decisions(history, Decisions(not_renames=(answer,)))
    baseline = {ORDERS: take_snapshot(history, history.versions[0])}
    assert [f.rule for f, _ in check((history,), baseline, RULES.load_all()).findings] == [
        "column-rename-suspected",
        "string-length-decreased",
    ]
    assert [f.rule for f, _ in check((after,), baseline, RULES.load_all()).findings] == [
        "column-added-nullable",
        "column-dropped",
        "string-length-decreased",
    ]


def test_a_confirmed_fact_breaks_again() -> None:
    history = told("n INT", "n INT NOT NULL", unconfirmed=("nullable:n",))
    answer = Confirmation(str(ORDERS), "nullable:n", history.versions[1].id)
    after = apply_decisions(history, Decisions(confirmations=(answer,)))
    assert [v.status for v in after.versions] == ["provisional", "confirmed"]
    baseline = {ORDERS: take_snapshot(history, history.versions[0])}
    assert [s for _, s in check((history,), baseline, RULES.load_all()).findings] == ["danger"]
    assert [s for _, s in check((after,), baseline, RULES.load_all()).findings] == ["break"]


def test_answers_about_something_else_change_nothing() -> None:
    history = renamed()
    at = history.versions[1].id
    others = Decisions(
        renames=(
            Rename("shop.app.public.other", "name", "full_name", at),
            Rename(str(ORDERS), "name", "full_name", history.versions[2].id),
            Rename(str(ORDERS), "name", "nope", at),
            Rename(str(ORDERS), "id", "full_name", at),
        ),
        not_renames=(NotRename(str(ORDERS), "a", "b", at),),
        confirmations=(Confirmation(str(ORDERS), "key", at),),
    )
    assert apply_decisions(history, others) == history


def test_an_approval_holds_for_its_plan_until_the_end_of_its_day() -> None:
    decisions = Decisions(
        approvals=(Approval("p", "a", date(2027, 1, 1)), Approval("p", "b", date(2027, 1, 31)))
    )
    assert decisions.find_approval("p", date(2027, 1, 31)) == decisions.approvals[1]
    assert decisions.find_approval("p", date(2027, 2, 1)) is None
    assert decisions.find_approval("q", date(2026, 1, 1)) is None


@pytest.mark.parametrize(
    ("renames", "fault"),
    [
        (["ab", "bc", "dc"], ""),
        (["aa"], "a became a, so no table would be left"),
        (["ab", "bc", "ca"], "a became b became c became a, so no table would be left"),
        (["da", "ab", "ba"], "a became b became a, so no table would be left"),
        (["ab", "ac"], "a became b and c"),
    ],
)
def test_tables_become_one_other_table_and_never_themselves(renames: list[str], fault: str) -> None:
    answers = [TableRename(pair[1], pair[0]) for pair in renames]
    text = "".join(map(format_decision, answers))
    if not fault:
        assert parse(text).table_renames == tuple(answers)
        return
    with pytest.raises(BadConfiguration, match=fault):
        parse(text)
    answers[-1] = replace(answers[-1], is_renamed=False)
    parse("".join(map(format_decision, answers)))
