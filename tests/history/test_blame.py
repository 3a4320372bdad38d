"""Blame: since when each fact is as it is, told of every version of the recordings, and by whom."""

from __future__ import annotations

from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator

from schemaman.debezium.observation import Observation
from schemaman.history.blame import Fact, blame
from schemaman.history.references import SourcePosition
from schemaman.history.versions import Revision, TableHistory
from schemaman.model.schema import Column
from schemaman.model.types import Integer, String
from schemaman.report.json import blame as documents
from schemaman.report.json import schemas
from schemaman.resolve import select_version
from tests.support import chain
from tests.support.all_schemas import runs
from tests.support.log_entries import ORDERS, fold, mark, said, schema


def facts(history: TableHistory, number: int, testimony: tuple[Observation, ...] = ()) -> tuple[Fact, ...]:
    version = history.versions[number - 1]
    return blame(history, version, version.revision, testimony)


def value(fact: Fact, revision: Revision) -> object:
    """What a fact is in a revision; columns are known by their ids."""
    schema = revision.schema
    names = {c.id: c for c in schema.columns}
    if fact.kind == "key":
        return tuple(c.id for name in schema.key if (c := schema.column(name)) is not None)
    if fact.column is None:
        return schema.comment
    column = names.get(fact.column_id)
    if column is None:
        return "there is no such column"
    return "" if fact.kind == "column" else (getattr(column, fact.kind),)


@pytest.mark.parametrize("run", runs())
def test_a_fact_holds_since_then_and_did_not_before(run: str) -> None:
    for history in chain.histories(run):
        for version in history.versions:
            life = [v for v in history.versions if v.incarnation == version.incarnation]
            stages = [(v, r) for v in life[: life.index(version) + 1] for r in v.revisions]
            told = facts(history, version.number)
            assert len(told) == 6 * len(version.schema.columns) + 2
            for fact in told:
                place = next(
                    i for i, (v, r) in enumerate(stages) if (v, r.number) == (fact.version, fact.revision)
                )
                now = value(fact, stages[-1][1])
                assert all(value(fact, r) == now for _, r in stages[place:])
                assert place == 0 or value(fact, stages[place - 1][1]) != now
                assert fact.at == stages[place][1].at


@pytest.mark.parametrize("run", runs())
def test_the_document_is_as_its_schema_says(run: str) -> None:
    check = Draft202012Validator(schemas.read_schema("blame"))
    for history in chain.histories(run):
        version = history.latest
        told = facts(history, version.number)
        check.validate(documents.build_blame("t@1", history.table, version, version.revision, told))


def test_the_witness_and_the_statement_are_those_of_the_record() -> None:
    first = replace(said(schema("id"), 0), evidence="declared", ddl="CREATE TABLE t (id INT)")
    second = replace(said(schema("id", "name"), 5), evidence="declared", ddl="ALTER TABLE t ADD name INT")
    later = said(schema("id", "name"), 9)
    history = fold([first, second, later], ORDERS)
    assert history is not None
    told = {(f.column, f.kind): f for f in facts(history, 2, (first, second, later))}
    assert told["id", "type"].statement == "CREATE TABLE t (id INT)"
    added = told["name", "column"]
    assert (added.version.number, added.statement) == (2, "ALTER TABLE t ADD name INT")
    assert (added.evidence, added.other_evidence) == ("declared", (("emitted", later.first),))
    assert added.after is not None
    assert told["id", "column"].after is None


def test_a_rename_keeps_the_column_and_changes_its_name() -> None:
    old = schema("id", "phone")
    history = fold([said(old, 0)], ORDERS)
    assert history is not None
    first = history.versions[0]
    renamed = replace(first.schema.columns[1], name="phone_number")
    after = replace(first.schema, columns=(first.schema.columns[0], renamed))
    second = replace(first, number=2, id="f" * 12, at=mark(7), revisions=(Revision(0, after, mark(7)),))
    history = replace(history, versions=(replace(first, until=mark(7)), second))
    told = {(f.column, f.kind): f.version.number for f in facts(history, 2)}
    assert told["phone_number", "column"] == 1
    assert told["phone_number", "name"] == 2
    assert told["phone_number", "type"] == 1


def test_a_column_that_came_back_is_younger_than_its_name() -> None:
    history = fold([said(schema("id", "a"), 0), said(schema("id"), 5), said(schema("id", "a"), 9)], ORDERS)
    assert history is not None
    told = {(f.column, f.kind): f.version.number for f in facts(history, 3)}
    assert told["id", "column"] == 1
    assert told["a", "column"] == 3
    assert {f.version.number for f in facts(history, 1)} == {1}


def test_provisional_is_what_the_version_cannot_tell_yet() -> None:
    history = chain.history("postgres/shop-json", "shop.orders")
    doubtful = {f"{f.kind}:{f.column}" for f in facts(history, history.latest.number) if f.is_provisional}
    assert doubtful == set(history.latest.unconfirmed)


def test_columns_of_other_types_are_told_in_words() -> None:
    columns = (Column("id", Integer(32, signed=False), nullable=False), Column("n", String(20), comment="c"))
    history = fold([said(replace(schema("id"), columns=columns, key=("id",)), 0)], ORDERS)
    assert history is not None
    told = {(f.column, f.kind): f.value for f in facts(history, 1)}
    assert told["id", "type"] == "INT UNSIGNED"
    assert told["n", "comment"] == "c"
    assert told[None, "key"] == ("id",)


def test_a_key_that_was_read_later_began_no_later_than_what_proves_it() -> None:
    carts = chain.history("postgres/shop-downtime", "shop.carts")
    told = {(f.column, f.kind): f for f in facts(carts, 2)}
    key = told[None, "key"]
    assert key.proven_from is not None
    assert (key.version.number, key.at.offset, key.proven_from.offset) == (2, 11, 14)
    assert told["id", "type"].proven_from == told["id", "type"].at


def test_the_default_of_a_new_column_is_as_certain_as_its_nullability() -> None:
    payments = chain.history("postgres/shop-downtime", "shop.payments")
    told = {(f.column, f.kind): f for f in facts(payments, 5)}
    assert told["currency", "default"].proven_from == told["currency", "nullable"].proven_from
    assert told["currency", "default"].proven_from != told["currency", "type"].proven_from
    assert {(f.column, f.kind): f for f in facts(payments, 3)}["currency", "default"].is_provisional


def test_a_default_that_went_is_as_doubtful_as_one_that_came() -> None:
    """`tier` lost its default before its row at LSN 0/1A64A78 was read, and perhaps behind that row."""
    customers = chain.history("postgres/shop-json", "shop.customers")
    went = {(f.column, f.kind): f for f in facts(customers, 10)}["tier", "default"]
    assert (went.value, went.version.number, went.is_provisional) == (None, 10, True)


def test_a_place_before_the_proof_knows_less() -> None:
    carts = chain.history("postgres/shop-downtime", "shop.carts")
    here = select_version(carts, SourcePosition("lsn", "32455080")).version
    assert here is not None
    told = {(f.column, f.kind): f for f in blame(carts, here, 0, ())}
    assert told[None, "key"].is_provisional
