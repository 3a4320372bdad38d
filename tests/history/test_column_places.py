"""Names that moved between the places of a table that only appends columns: which of them are asked about."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from schemaman.debezium.records import Record
from schemaman.history.decisions import Decisions, Rename, apply_decisions, format_coordinates
from schemaman.history.open_questions import list_open_questions
from schemaman.history.versions import TableHistory
from tests.history.test_postgresql import event, remember
from tests.support.records import Node, node

TYPES: dict[str, Node] = {
    letter: node(type, optional=True)
    for letter, type in zip("ISBDF", ("int32", "string", "boolean", "double", "float"), strict=True)
} | {
    "L": node("int64", optional=True),
    "N": node("int32"),
    "Z": node("int32", optional=True, default=7),
    "M": node("int32", default=3),
    "T": {**node("int64", optional=True), "name": "io.debezium.time.Timestamp", "version": 1},
}
"""A letter each: types, then NOT NULL, a default, both, and a Connect name."""


def shown(offset: int, columns: str) -> Record:
    """A row of columns as `name:letter`, behind the id."""
    pairs = (each.split(":") for each in columns.split())
    row = {"id": node("int32"), **{name: TYPES[letter] for name, letter in pairs}}
    return event(offset, row, key=("id",))


def told(before: str, after: str) -> TableHistory:
    found = remember(shown(0, before), shown(1, after))
    assert len({v.incarnation for v in found.versions}) == 1
    return found


def asked(history: TableHistory) -> list[str]:
    """The pairs of names that the questions suggest, each as `old>new`; those of one question together."""
    return [
        " ".join(">".join(command.split()[-2:]) for command in question.commands)
        for question in list_open_questions(history)
    ]


CHAINS = {
    "the old name came again at the end": ("a:I b:S z:B", "n:I b:S z:B a:S", ["a>n"]),
    "a new name, and the old ones one place on": ("a:I b:S c:B", "b:I c:S d:B", ["a>b", "b>c", "c>d"]),
    "amid others": ("k:F a:I y:D b:S z:B", "k:F b:I y:D d:S z:B n:I", ["a>b", "b>d"]),
    "the place of a dropped name is taken": ("x:S a:I y:D b:B z:S", "x:S b:I y:D z:S", ["a>b"]),
    "only NOT NULL tells": ("a:N b:I z:S", "b:N d:I z:S", ["a>b", "b>d"]),
    "a column was dropped, and one before it has its name and no other type": ("a:S b:I", "b:S", ["a>b"]),
    "amid columns that stayed": ("x:B a:S b:I c:B", "x:B b:S c:B", ["a>b"]),
    "the columns behind it stayed": ("a:S b:I c:B z:L", "b:S c:B z:L", ["a>b"]),
    "the name is taken by the column in front of it, of a wider type": ("a:L b:I c:B", "b:L c:B", ["a>b"]),
    "by the column behind it": ("a:I b:L c:B", "a:L c:B", ["b>a"]),
    "by one behind it at the end": ("z:B a:I b:L", "z:B a:L", ["b>a"]),
    "by one behind dropped columns": ("a:I x:B b:L z:B", "a:L z:B", ["b>a"]),
    "and a circle beside it": ("a:I b:S c:D d:F z:B", "b:I a:S n:D d:F z:B c:I", ["c>n", "a>b b>a"]),
}


def answered(history: TableHistory, pairs: Iterable[str]) -> TableHistory:
    version = history.latest
    answers = (
        Rename(str(history.table), old, new, version.id, format_coordinates(version.at))
        for old, new in (pair.split(">") for pair in pairs)
    )
    return apply_decisions(history, Decisions(tuple(answers)))


CIRCLES = {
    "two that kept their types": ("a:I b:S z:B", "b:I a:S z:B", ["a>b b>a"]),
    "three": ("a:I b:S c:B z:B", "c:I a:S b:B z:B", ["a>c b>a c>b"]),
    "three at the end": ("z:B a:I b:S c:B", "z:B b:I c:S a:B", ["a>b b>c c>a"]),
    "two pairs, which are two questions": ("a:I b:S c:B d:F", "b:I a:S d:B c:F", ["a>b b>a", "c>d d>c"]),
    "far apart: what is between them stayed": ("a:I m:I n:S b:S z:I", "b:I m:I n:S a:S z:I", ["a>b b>a"]),
    "one was dropped meanwhile": ("x:I a:S y:B b:D z:I", "b:S y:B a:D z:I", ["a>b b>a"]),
    "one was added and another one retyped": ("a:S y:B b:D", "b:S y:I a:D n:I", ["a>b b>a"]),
    "another one was renamed": ("k:F a:S y:B b:D", "t:F b:S y:B a:D", ["a>b b>a"]),
    "a place became wider": ("a:I b:S z:I", "b:L a:S z:I", ["a>b b>a"]),
    "a place of three got another type": ("a:I b:S c:B z:B", "c:I a:S b:D z:B", ["a>c b>a c>b"]),
    "only NOT NULL tells them apart": ("a:N b:I z:S", "b:N a:I z:S", ["a>b b>a"]),
    "only a default tells them apart": ("a:Z b:I c:I z:S", "c:Z a:I b:I z:S", ["a>c b>a c>b"]),
    "only the Connect name tells them apart": ("a:T b:L z:S", "b:T a:L z:S", ["a>b b>a"]),
    "NOT NULL was read later, by name": ("a:N b:I z:S", "b:I a:N z:S", ["a>b b>a"]),
    "so were two of three defaults": ("a:Z b:I c:M z:S", "c:M a:Z b:I z:S", ["a>c b>a c>b"]),
    "all of it at the end": ("z:S a:M b:I", "z:S b:I a:M", ["a>b b>a"]),
}
ORDINARY = {
    "a column was dropped, and one behind it became wider than it": ("a:I b:I c:B", "b:L c:B"),
    "a column was dropped, and one that is not next to it got its type": ("a:L b:I c:B", "b:I c:L"),
    "a column was dropped, and one of its type next to it stayed": ("a:I b:I c:B", "b:I c:B"),
    "a column was dropped, one behind it became NOT NULL, and one was added": ("a:N b:I", "b:N c:I"),
    "a column was dropped and added again": ("a:I b:I c:I", "b:I c:I a:I"),
    "with another type": ("a:S b:I", "b:I a:L"),
    "types changed, and the names stayed": ("a:I b:S", "a:S b:I"),
    "the table was rebuilt: types moved with the names": ("a:S b:I c:B z:D", "c:B a:S b:I z:D"),
    "two moved with their types": ("a:I b:S z:B", "b:S a:I z:B"),
}


@pytest.mark.parametrize(("before", "after", "questions"), CIRCLES.values(), ids=CIRCLES)
def test_names_that_moved_in_a_circle_are_asked_about_and_can_be_answered(
    before: str, after: str, questions: list[str]
) -> None:
    history = told(before, after)
    circles = [each for each in asked(history) if " " in each]
    assert circles == questions
    pairs = " ".join(circles).split()
    done = answered(history, pairs)
    assert not {*asked(done)} & {*circles}
    was, now = ({c.name: c.id for c in v.schema.columns} for v in done.versions)
    assert all(was[old] == now[new] for old, new in (pair.split(">") for pair in pairs))
    stayed = {name.split(":")[0] for name in before.split()} & set("mnyz")
    assert all(was[name] == now.get(name, was[name]) for name in stayed)


@pytest.mark.parametrize(("before", "after", "questions"), CHAINS.values(), ids=CHAINS)
def test_names_that_were_handed_on_are_asked_about_one_by_one(
    before: str, after: str, questions: list[str]
) -> None:
    history = told(before, after)
    assert asked(history) == questions
    pairs = " ".join(questions).split()
    done = answered(history, pairs)
    assert asked(done) == []
    was, now = ({c.name: c.id for c in v.schema.columns} for v in done.versions)
    assert all(was[old] == now[new] for old, new in (pair.split(">") for pair in pairs))
    assert "perhaps-made-anew" not in {d.kind for d in history.disagreements}


def test_a_key_that_was_read_later_is_that_of_the_name_and_no_proof_against_an_exchange() -> None:
    rows = ({name: TYPES[letter] for name, letter in pairs} for pairs in (("aM", "bI"), ("bI", "aM")))
    found = remember(*(event(offset, row, key=("a",)) for offset, row in enumerate(rows)))
    assert asked(found) == ["a>b b>a"]


@pytest.mark.parametrize(("before", "after"), ORDINARY.values(), ids=ORDINARY)
def test_what_no_exchange_explains_better_is_no_question(before: str, after: str) -> None:
    assert asked(told(before, after)) == []


@pytest.mark.parametrize(("key", "questions"), [("int64", ["b>a"]), ("string", [])])
def test_no_name_is_taken_where_the_key_got_another_type(key: str, questions: list[str]) -> None:
    """Older and newer rows then share no table. A wider key goes on."""
    before = event(0, {"id": node("int32"), "a": TYPES["I"], "b": TYPES["L"]}, key=("id",))
    after = event(1, {"id": node(key), "a": TYPES["L"]}, key=("id",))
    assert asked(remember(before, after)) == questions


def test_a_circle_is_asked_about_until_each_name_is_answered() -> None:
    history = told(*CIRCLES["three"][:2])
    assert asked(answered(history, ["a>c"])) == ["b>a c>b"]
    assert asked(answered(history, ["a>a"])) == ["b>c c>b"]


def test_more_columns_than_can_be_aligned_are_matched_place_by_place() -> None:
    wide = " ".join(f"w{number}:I" for number in range(210))
    assert asked(told(f"a:S {wide} b:B z:I", f"b:S {wide} a:B z:I")) == ["a>b b>a"]
