"""The scoreboard can fail: a history that is changed in one place has at least one wrong fact more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.types import Binary
from tests.support import chain
from tests.truth.scoreboard import lines, main

Change = Callable[[TableHistory], TableHistory]


def wrong(run: str, history: TableHistory) -> set[str]:
    """The wrong facts, as table@version and fact."""
    found = lines(run, [history])
    return {f"{x.fact.table}@{x.fact.version} {x.fact.fact}" for x in found if x.verdict == "wrong"}


def of_version(number: int, change: Callable[[SchemaVersion], SchemaVersion]) -> Change:
    """A history in which one version is changed."""
    return lambda h: replace(h, versions=tuple(change(v) if v.number == number else v for v in h.versions))


def with_schema(number: int, **changes: object) -> Change:
    """A version that says something else of its structure: `key`, or a column's name and its new values."""

    def changed(version: SchemaVersion) -> SchemaVersion:
        revisions = []
        for revision in version.revisions:
            schema = revision.schema
            columns = tuple(replace(c, **changes.get(c.name, {})) for c in schema.columns)  # type: ignore[arg-type]
            key = changes.get("key", schema.key)
            revisions.append(replace(revision, schema=replace(schema, columns=columns, key=key)))  # type: ignore[arg-type]
        return replace(version, revisions=tuple(revisions))

    return of_version(number, changed)


def without(number: int, name: str) -> Change:
    """A version that has lost a column."""

    def changed(version: SchemaVersion) -> SchemaVersion:
        revisions = (
            replace(r, schema=replace(r.schema, columns=tuple(c for c in r.schema.columns if c.name != name)))
            for r in version.revisions
        )
        return replace(version, revisions=tuple(revisions))

    return of_version(number, changed)


def later(number: int) -> Change:
    """A version that begins where the following one does."""

    def changed(history: TableHistory) -> TableHistory:
        following = next(v for v in history.versions if v.number == number + 1)
        return of_version(number, lambda v: replace(v, at=following.at, proven_from=following.at))(history)

    return changed


def narrowed(number: int) -> Change:
    """A version that is said to have begun after its own first record, and by it."""
    return of_version(number, lambda v: replace(v, after=v.at))


def sure(number: int) -> Change:
    """A version of which everything is claimed."""
    return of_version(number, lambda v: replace(v, unconfirmed=(), status="confirmed", proven_from=v.at))


def doubted(number: int, fact: str) -> Change:
    """A version of which a fact is not claimed."""
    return of_version(
        number, lambda v: replace(v, unconfirmed=(fact,), status="provisional", proven_from=None)
    )


def one_incarnation(history: TableHistory) -> TableHistory:
    """A table that was never made anew."""
    return replace(history, versions=tuple(replace(v, incarnation=1) for v in history.versions))


def merged(number: int) -> Change:
    """A version that has swallowed the one behind it."""

    def changed(history: TableHistory) -> TableHistory:
        first, second = (next(v for v in history.versions if v.number == n) for n in (number, number + 1))
        one = replace(first, until=second.until, evidence=(*first.evidence, *second.evidence))
        rest = (v for v in history.versions if v not in (first, second))
        return replace(history, versions=tuple(sorted([one, *rest], key=lambda v: v.number)))

    return changed


MUTANTS = [
    ("postgres/shop-json", "shop.customers", with_schema(1, email={"type": Binary()}), "@1 type:email"),
    ("postgres/shop-json", "shop.customers", with_schema(1, email={"nullable": True}), "@1 nullable:email"),
    ("postgres/shop-json", "shop.customers", with_schema(1, email={"name": "mail"}), "@1 column:mail"),
    ("postgres/shop-json", "shop.customers", without(1, "vip"), "@1 column:vip"),
    ("postgres/shop-json", "inventory.stock", with_schema(1, key=("sku",)), "@1 key"),
    ("postgres/shop-json", "inventory.stock", with_schema(1, key=("sku", "warehouse")), "@1 key"),
    ("postgres/shop-json", "shop.customers", with_schema(2, email={"id": 99}), "@2 same:email"),
    ("postgres/shop-json", "shop.orders", with_schema(4, total={"default": "1.00"}), "@4 default:total"),
    ("postgres/shop-json", "shop.customers", with_schema(1, email={"default": "a@b"}), "@1 default:email"),
    ("postgres/shop-json", "shop.customers", narrowed(2), "@2 began"),
    ("postgres/shop-json", "shop.customers", later(4), "@4 column:phone_number"),
    ("postgres/shop-json", "shop.customers", doubted(2, "key"), "@2 key"),
    ("postgres/shop-json", "shop.customers", merged(1), "@1 column:loyalty_points"),
    ("postgres/shop-downtime", "shop.payments", sure(3), ""),
    ("postgres/shop-downtime", "inventory.pallets", sure(2), ""),
    ("mariadb/bookshop-mariadb-3.5.0-json", "bookshop.book", one_incarnation, "@5 table:same"),
    (
        "mariadb/bookshop-mariadb-3.5.0-json",
        "bookshop.book",
        with_schema(3, page_count={"id": 99}),
        "@3 same:",
    ),
    ("mariadb/bookshop-mariadb-3.5.0-json", "bookshop.book", later(3), "@3 key"),
    ("db2/shop-3.4.1-json", "DB2INST1.AUDIT_LOG", sure(2), "@2 column:X1"),
    ("db2/documented", "DB2INST1.CUSTOMERS", without(2, "PHONE"), "@2 columns"),
    (
        "mongodb/inventory-2.5.4-update-full",
        "inventory.feed",
        with_schema(1, kind={"type": Binary()}),
        "@1 member",
    ),
    ("postgres/shop-modes", "shop.customers", with_schema(1, email={"name": "mail"}), "@1 column:mail"),
]


@pytest.mark.parametrize(("run", "table", "change", "fact"), MUTANTS)
def test_a_changed_history_is_wrong(run: str, table: str, change: Change, fact: str) -> None:
    history = chain.history(run, table)
    assert wrong(run, history) == set()
    found = wrong(run, change(history))
    assert any(fact in told for told in found), found


def test_the_command_fails_when_a_fact_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    run = "postgres/shop-json"
    history = chain.history(run, "shop.customers")
    changed = with_schema(1, email={"type": Binary()})(history)
    assert main({run: list(lines(run, [changed]))}) == 1
    assert "shop.customers@1 type:email at both: says BINARY, truth STRING" in capsys.readouterr().out
    assert main({run: list(lines(run, [history]))}) == 0
