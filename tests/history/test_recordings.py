"""What connectors do to a history, recording by recording: the part that no other test shows."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest

from schemaman.debezium.observation import Observation
from schemaman.history.versions import TableHistory
from schemaman.model.name_adjustment import adjust_field
from tests.support import chain
from tests.support.checkout import CAPTURES, ROOT
from tests.support.records import outcomes
from tests.truth.recording import facts


def shapes(found: TableHistory) -> list[tuple[str, ...]]:
    return [v.schema.names for v in found.versions]


def kinds(found: TableHistory) -> list[str]:
    return [d.kind for d in found.disagreements]


def names(run: str) -> set[str]:
    return {".".join(h.table.parts[2:]) for h in chain.histories(run)}


def test_one_place_of_the_log_that_came_twice_with_two_structures_opens_nothing() -> None:
    found = chain.history("postgres/shop-crash", "shop.returns")
    assert [n for v in found.versions for n in v.schema.names if n not in ("id", "reason")] == [
        *("order_no", "order_no", "photo"),
        *("order_ref", "photo", "order_ref", "note"),
    ]
    assert kinds(found) == ["delivered-twice-differently"] * 2
    # required as it first came: what came again with the catalogue of later is told and not taken
    order_no = found.versions[0].schema.column("order_no")
    assert order_no is not None
    assert not order_no.nullable


def test_the_log_goes_back_inside_a_partition_and_versions_do_not() -> None:
    places: dict[tuple[str, int], list[tuple[int, int, int]]] = {}
    for (topic, partition, offset), fact in facts(CAPTURES / "postgres/shop-busy").items():
        if fact.source["snapshot"] in (None, "false"):
            commit = int(json.loads(fact.source["sequence"])[0] or 0)
            places.setdefault((topic, partition), []).append((offset, fact.source["lsn"], commit))
    told = [pair for found in places.values() for pair in pairwise(sorted(found))]
    backwards = [(before, after) for before, after in told if after[1] < before[1]]
    # the later commit comes later, whatever place the row itself has in the log
    assert len(backwards) == 4
    assert all(before[2] < after[2] for before, after in backwards)
    told_of = chain.histories("postgres/shop-busy")
    assert [d for h in told_of for d in h.disagreements] == []
    # as many as the catalogue had, whatever two sessions wrote at once
    assert sum(len(h.versions) for h in told_of) == 10


def test_a_generated_column_is_read_and_not_streamed() -> None:
    found = chain.history("postgres/shop-json", "shop.order_lines")
    assert ("net" in shapes(found)[0], "net" in shapes(found)[1]) == (True, False)
    assert kinds(found)[0] == "column-not-streamed"


def test_a_change_that_was_rolled_back_leaves_no_trace_and_a_parent_of_partitions_never_appears() -> None:
    told = {n for h in chain.histories("postgres/shop-json") for v in h.versions for n in v.schema.names}
    assert "unseen" not in told
    assert {"shop.page_views_2024", "shop.page_views_2025"} < names("postgres/shop-json")
    assert "shop.page_views" not in names("postgres/shop-json")


def test_two_columns_that_exchange_their_names_are_neither_known_to_have_stayed() -> None:
    before, after = (
        {c.name: c.id for c in v.schema.columns}
        for v in chain.history("postgres/shop-json", "inventory.stock").versions[1:3]
    )
    stayed = {n for n in before if before[n] == after[n]}
    assert before.keys() - stayed == {"on_hand", "reserved"}


def test_a_column_that_will_be_another_one_is_in_doubt_as_long_as_it_was_this_one() -> None:
    rewritten = chain.history("postgres/shop-json", "shop.customers").versions[9]
    assert (rewritten.records, rewritten.status) == (30, "provisional")
    assert "nullable:tier" in rewritten.unconfirmed


def test_a_schema_that_was_renamed_is_known_under_its_new_name_when_the_stream_says_it() -> None:
    """One row comes under the old name after the rename: it is of the old name, and opens nothing there."""
    for run, old in (("postgres/shop-names-none", 2), ("postgres/shop-names-unicode", 2)):
        late = chain.history(run, "Inventory-2.Stock#1")
        assert (len(late.versions), late.versions[0].records) == (1, old)
    moved = chain.history("postgres/shop-names-none", "inventory.Stock 1")
    assert (len(moved.versions), moved.versions[0].records) == (1, 2)


def test_only_what_was_altered_is_a_version_where_settings_changed_in_between() -> None:
    found = chain.history("postgres/shop-names-none", "shop.Order Items")
    steps = [set(after) ^ set(before) for before, after in pairwise(shapes(found))]
    assert steps == [
        {"line total"},
        {"2nd choice", "second choice"},
        {"unit-price", "unit_price"},
        {"größe", "Größe"},
        {"naïve.dot"},
    ]
    assert len(found.epochs) == 5
    plain = chain.history("postgres/shop-names-unicode", "shop.Order Items")
    wire = [tuple(adjust_field(n, "avro_unicode") for n in shape) for shape in shapes(found)]
    assert (shapes(plain), len(plain.epochs)) == (wire, 1)


def test_a_snapshot_that_a_change_ended_without_a_word_is_flagged() -> None:
    found = chain.history("postgres/shop-incremental", "shop.catalog")
    assert kinds(found) == ["changed-while-read"]
    assert len(found.versions) == len(set(shapes(found))) == 4
    wish = chain.history("postgres/shop-incremental", "shop.wishlist")
    # what nobody streamed comes with the blocking snapshot: another column and another order of the key
    assert [(v.schema.names[-1], v.schema.key) for v in wish.versions] == [
        ("added", ("customer", "product")),
        ("prio", ("product", "customer")),
    ]


def test_a_table_that_was_renamed_away_ends_in_doubt_and_goes_on_under_its_name() -> None:
    old = chain.history("postgres/shop-downtime", "inventory.carriers")
    assert old.latest.status == "provisional"
    assert set(old.latest.unconfirmed) == {"key", "nullable:id", "nullable:name"}
    new = chain.history("postgres/shop-downtime", "inventory.hauliers")
    assert [(v.status, v.schema.key) for v in new.versions] == [("confirmed", ("id",))]


def test_a_table_made_anew_is_suspected_where_key_and_columns_jump() -> None:
    assert "perhaps-made-anew" in kinds(chain.history("postgres/shop-downtime", "inventory.pallets"))
    assert "perhaps-made-anew" in kinds(chain.history("postgres/shop-json", "inventory.movements"))


@pytest.mark.parametrize(
    "run", ["shop-2.5.4-json", "shop-3.4.1-json", "shop-3.4.1-synchpoint", "shop-3.4.1-transactions"]
)
def test_db2_repeats_images_and_mixes_in_columns_of_others(run: str) -> None:
    told = chain.histories(f"db2/{run}")
    said = [o for _, o in outcomes(CAPTURES / "db2" / run) if isinstance(o, Observation)]
    changes = [o for o in said if o.evidence == "declared"]
    declared = [v for h in told for v in h.versions if v.status != "phantom"]
    assert len(changes) > len(declared)
    for history in told:
        for before, after in pairwise(history.versions):
            assert before.id != after.id
    mixed = chain.history(f"db2/{run}", "DB2INST1.AUDIT_LOG")
    assert "foreign-columns" in kinds(mixed)
    assert mixed.latest.status == "phantom"


def test_an_image_that_is_newer_than_the_rows_waits_for_them() -> None:
    found = chain.history("db2/shop-3.4.1-json", "DB2INST1.ORDERS")
    assert [v.status for v in found.versions] == ["confirmed"] * len(found.versions)
    assert all(e.kind != "dropped" for h in chain.histories("db2/shop-3.4.1-json") for e in h.events)


MARIADB = [
    "bookshop-mariadb-2.7.0-json",
    "bookshop-mariadb-3.5.0-json",
    "bookshop-mysql-1.9.8-json",
    "bookshop-mysql-2.5.4-avro",
]


@pytest.mark.parametrize("run", MARIADB)
def test_a_snapshot_that_drops_what_it_creates_ends_nothing(run: str) -> None:
    for history in chain.histories(f"mariadb/{run}"):
        assert history.versions[0].incarnation == 1
        began = history.versions[0].at
        assert all(e.at.offset > began.offset for e in history.events if e.at.topic == began.topic)
    assert not {n for n in names(f"mariadb/{run}") if "never" in n}


@pytest.mark.parametrize("run", MARIADB)
def test_a_renamed_table_takes_its_history_along_by_name(run: str) -> None:
    book = chain.history(f"mariadb/{run}", "bookshop.book")
    assert ("books.bookshop.book_new", None) in {(a.name, a.first) for a in book.aliases}
    gone = chain.history(f"mariadb/{run}", "bookshop.book_new")
    assert [(e.kind, e.other and e.other.table) for e in gone.events] == [("renamed", "book")]


def test_old_releases_tell_the_key_in_another_order_and_no_version_comes_of_it() -> None:
    stock = chain.history("postgres/shop-oldest", "inventory.stock")
    assert [v.schema.key for v in stock.versions] == [("warehouse", "sku")] * len(stock.versions)
    assert "key-order-not-told" in kinds(stock)


def test_the_oldest_release_tells_no_defaults_and_the_same_structures() -> None:
    for table in ("shop.defaults", "shop.default_values", "inventory.stock"):
        old, new = (chain.history(f"postgres/{run}", table) for run in ("shop-oldest", "shop-json"))
        assert all(c.default is None for v in old.versions for c in v.schema.columns)
        assert old.versions[0].id == new.versions[0].id
    assert any(
        c.default is not None
        for c in chain.history("postgres/shop-json", "shop.defaults").latest.schema.columns
    )


def test_columns_that_a_release_cannot_carry_are_declared_and_their_absence_is_told() -> None:
    for run, missing in (("shop-1.9.8-json", True), ("shop-2.5.4-json", True), ("shop-3.4.1-json", False)):
        found = chain.history(f"db2/{run}", "DB2INST1.TYPES_ALL")
        assert ("column-not-emitted" in kinds(found)) == missing
        carried = found.versions[0].find_event_schema().names
        assert (set(found.versions[0].schema.names) - set(carried) != set()) == missing


def test_the_page_of_the_recordings_names_tests_that_there_are() -> None:
    page = (ROOT / "docs" / "recordings.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and "held by" not in line]
    for row in rows:
        tests = re.findall(r"`([\w/]+\.py)::(test_\w+)`", row)
        assert tests, row
        for place, name in tests:
            assert f"\ndef {name}(" in (ROOT / "tests" / place).read_text(encoding="utf-8"), (place, name)
