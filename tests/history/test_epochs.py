"""Encoding epochs across tables: what a setting of the connector changed makes no version of any of them."""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine

from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Coordinates, Position
from schemaman.history.decisions import Confirmation, Decisions, apply_decisions
from schemaman.history.epochs import ConnectorSettingsShown, FormChange, FormInterval, decide_changes
from schemaman.history.versions import TableHistory
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import Decimal, Floating, Integer, String, Timestamp, Type
from schemaman.report.views.late_facts import build_provisional_notice
from schemaman.store.log import CoveredRange, ObservationEntry
from schemaman.store.memory import MemoryStore
from schemaman.store.sql import connector_settings as _forms
from schemaman.store.sql.store import SqlStore
from schemaman.store.sql.tables import METADATA
from schemaman_cli.main import main
from tests.live.database import schema_of_its_own
from tests.support.checkout import FIXTURES, PROOF

PRECISE, DOUBLE = Decimal(18, 2), Floating(64)
Said = tuple[str, Type, int]
"""A table, the type of its column `price`, and when the record was read."""


def named(table: str, server: str = "shop") -> TableId:
    return TableId(server, "app", "public", table)


def record(table: str, type: Type, at: int, column: str = "price", server: str = "shop") -> Observation:
    columns = (Column("id", Integer(64), False, emitted_name="id"), Column(column, type, emitted_name=column))
    mark = Coordinates(f"{server}.public.{table}", 0, at, Position("lsn", str(at), str(at)), at - 1, at, at)
    schema = TableSchema(columns, ("id",))
    return Observation(
        named(table, server), "emitted", "image", "postgresql", "3.4.1", mark, mark, 1, False, schema
    )


def stores(folder: Path) -> Iterator[MemoryStore | SqlStore]:
    folder.mkdir(exist_ok=True)
    yield MemoryStore()
    with SqlStore.open(str(folder / "store.db"), create=True) as store:
        yield store


def remembered(folder: Path, said: Sequence[Observation], at_once: int = 1) -> list[dict[str, TableHistory]]:
    """The histories in each kind of store, by table, after these were appended so many at once."""
    found = []
    for store in stores(folder):
        for begin in range(0, len(said), at_once):
            store.append([ObservationEntry(o) for o in said[begin : begin + at_once]], store.end())
        assert store.check() == ()
        found.append({t.table: h for t in store.tables() if (h := store.history(t)) is not None})
    return found


def types_of(history: TableHistory) -> list[Type]:
    return [v.schema.columns[1].type for v in history.versions]


@pytest.mark.case(14, 15)
def test_a_mode_that_two_tables_show_makes_a_version_of_neither(tmp_path: Path) -> None:
    said = [
        record("orders", PRECISE, 10), record("items", PRECISE, 11),
        record("orders", DOUBLE, 20), record("items", DOUBLE, 21), record("orders", DOUBLE, 22),
    ]  # fmt: skip
    for found in remembered(tmp_path, said):
        for history, first in ((found["orders"], 20), (found["items"], 21)):
            (version,) = history.versions
            assert (version.status, version.schema.columns[1].type) == ("confirmed", PRECISE)
            assert [(e.number, e.at.offset) for e in history.epochs][1:] == [(2, first)]
            assert version.find_event_schema().columns[1].type == DOUBLE
            told = {d.kind: d.message for d in history.disagreements}
            assert set(told) == {"encoding-changed", "perhaps-altered", "values-not-carried"}
            assert "if these tables were altered alike at that moment, or are one" in told["perhaps-altered"]
            assert "it loses digits after the fifteenth" in told["values-not-carried"]


def test_a_text_is_no_mode_of_decimals_beside_an_exact_decimal(tmp_path: Path) -> None:
    """Two tables give a double another type at once, and one has a decimal: no mode wrote its double."""

    def add_cost(one: Observation) -> Observation:
        assert one.schema is not None
        columns = (*one.schema.columns, Column("cost", PRECISE, emitted_name="cost"))
        return replace(one, schema=replace(one.schema, columns=columns))

    said = [
        add_cost(record("orders", DOUBLE, 10)), record("items", DOUBLE, 11),
        record("orders", String(), 20), record("items", String(), 21), record("orders", String(), 22),
    ]  # fmt: skip
    for found in remembered(tmp_path, said):
        types = [v.schema.columns[1].type for v in found["orders"].versions]
        assert types == [DOUBLE, String()]
        assert not [d for d in found["orders"].disagreements if d.kind == "encoding-changed"]


def test_another_release_leaves_no_doubt_that_it_was_the_connector(tmp_path: Path) -> None:
    said = [record("orders", PRECISE, 10), record("items", PRECISE, 11)]
    changed = [record("orders", DOUBLE, 20), record("items", DOUBLE, 21), record("orders", DOUBLE, 22)]
    said += (replace(o, connector_version="3.5.0") for o in changed)
    for found in remembered(tmp_path, said):
        kinds = {d.kind for d in found["orders"].disagreements}
        assert kinds == {"encoding-changed", "values-not-carried"}


def test_another_release_hides_no_change_of_a_table(tmp_path: Path) -> None:
    said = [record("orders", PRECISE, 10), record("items", PRECISE, 11)]
    changed = (record("orders", DOUBLE, 20), record("items", PRECISE, 21))
    said += (replace(o, connector_version="3.5.0") for o in changed)
    for found in remembered(tmp_path, said):
        assert types_of(found["orders"]) == [PRECISE, DOUBLE]
        assert types_of(found["items"]) == [PRECISE]
        assert found["orders"].latest.unconfirmed == ()


def test_one_column_under_another_release_is_in_doubt(tmp_path: Path) -> None:
    said = [record("orders", PRECISE, 10), replace(record("orders", DOUBLE, 20), connector_version="3.5.0")]
    for found in remembered(tmp_path, said):
        assert types_of(found["orders"]) == [PRECISE, DOUBLE]
        assert found["orders"].latest.unconfirmed == ("type:price",)


def test_names_that_two_tables_show_otherwise_leave_two_truths(tmp_path: Path) -> None:
    said = [
        record("orders", String(), 10, "unit-price"), record("items", String(), 11, "net-price"),
        record("orders", String(), 20, "unit_price"), record("items", String(), 21, "net_price"),
    ]  # fmt: skip
    for found in remembered(tmp_path, said):
        (doubt,) = (d for d in found["orders"].disagreements if d.kind == "perhaps-altered")
        assert doubt.message.startswith("columns changed from names as they are to names adjusted when other")


@pytest.mark.parametrize(
    ("was", "kinds"),
    [(PRECISE, ["perhaps-altered", "values-not-carried"]), (Decimal(9, 2), ["perhaps-altered"])],
)
def test_what_is_left_open_is_told_by_check_and_diff(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], was: Type, kinds: list[str]
) -> None:
    said = [
        record("orders", was, 10), record("items", was, 11),
        record("orders", DOUBLE, 20), record("items", DOUBLE, 21),
    ]  # fmt: skip
    with SqlStore.open(str(tmp_path / "s.db"), create=True) as store:
        read = [
            CoveredRange("main", f"shop.public.{table}", 0, 10, 21, "", "") for table in ("orders", "items")
        ]
        store.append([*read, *map(ObservationEntry, said)], 0)
    where = ("--store", f"sqlite:///{tmp_path / 's.db'}")

    def asked(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        return main([*words, *where]), capsys.readouterr().out

    check = ("check", "orders", "--against", "orders@1")
    code, out = asked(*check)
    assert code == 0
    assert "no findings" not in out
    assert f"{len(kinds)} remark" in out
    assert all(f"{kind}  " in out for kind in kinds)
    assert asked(*check, "--fail-on", "note")[0] == 1
    assert [r["kind"] for r in json.loads(asked(*check, "--format", "json")[1])["remarks"]] == kinds
    assert all(kind in asked("diff", "orders")[1] for kind in kinds)
    remarks = json.loads(asked("diff", "orders", "--format", "json")[1])["remarks"]
    assert [(r["kind"], r["versions"]) for r in remarks] == [(kind, [1]) for kind in kinds]
    assert all(kind in asked("history", "orders")[1] for kind in kinds)


def test_a_table_alone_is_provisional_until_another_one_tells(tmp_path: Path) -> None:
    alone = [record("orders", PRECISE, 10), record("orders", DOUBLE, 20), record("orders", DOUBLE, 22)]
    for found in remembered(tmp_path / "a", alone):
        assert types_of(found["orders"]) == [PRECISE, DOUBLE]
        assert found["orders"].latest.status == "provisional"
        assert found["orders"].latest.unconfirmed == ("type:price",)
        assert [d.kind for d in found["orders"].disagreements] == ["perhaps-another-mode"]
    # another table that goes on in the old form: then it was the table
    for found in remembered(tmp_path / "b", [*alone, record("items", PRECISE, 21)]):
        assert types_of(found["orders"]) == [PRECISE, DOUBLE]
        assert found["orders"].latest.status == "confirmed"
        assert found["orders"].disagreements == ()
    # one that was never seen before says nothing, nor does one of another server
    silent = [record("items", DOUBLE, 21), record("items", PRECISE, 21, server="else")]
    for found in remembered(tmp_path / "c", [*alone, silent[0]]):
        assert found["orders"].latest.status == "provisional"
    for store in stores(tmp_path / "d"):
        store.append([ObservationEntry(o) for o in (*alone, silent[1])], 0)
        history = store.history(named("orders"))
        assert history is not None
        assert history.latest.status == "provisional"


def test_what_changed_at_different_times_was_no_setting(tmp_path: Path) -> None:
    said = [
        record("orders", PRECISE, 10), record("items", PRECISE, 11), record("orders", DOUBLE, 20),
        record("items", PRECISE, 30), record("items", DOUBLE, 40),
    ]  # fmt: skip
    for found in remembered(tmp_path, said):
        assert types_of(found["orders"]) == types_of(found["items"]) == [PRECISE, DOUBLE]
        assert found["orders"].latest.status == "confirmed"


def test_a_setting_that_is_taken_back_returns_to_the_first_form(tmp_path: Path) -> None:
    said = [
        record(table, type, at + n)
        for at, type in ((10, PRECISE), (20, DOUBLE), (30, PRECISE))
        for n, table in enumerate(("orders", "items", "lines"))
    ]
    for found in remembered(tmp_path, said):
        for history in found.values():
            assert types_of(history) == [PRECISE]
            assert [e.number for e in history.epochs] == [1, 2, 3]
            assert [f.epoch for f in history.latest.event_schemas] == [2, 3]


RENAMED_BACK = (
    record("orders", PRECISE, 10), record("moved", PRECISE, 12),
    record("moved", DOUBLE, 15), record("orders", DOUBLE, 20), record("orders", DOUBLE, 22),
)  # fmt: skip
"""What a table's own change looks like that is called `moved` for a time."""


def test_a_table_that_gets_its_name_back_does_not_decide_its_own_change(tmp_path: Path) -> None:
    for found in remembered(tmp_path / "a", RENAMED_BACK):
        for history in found.values():
            assert types_of(history) == [PRECISE, DOUBLE]
            assert "type:price" in history.latest.unconfirmed
            assert len(history.epochs) == 1
    # nor where nothing tells the moments apart
    at_once = [replace(o, first=m, last=m) for o in RENAMED_BACK[:4] for m in [replace(o.first, read_ms=10)]]
    for found in remembered(tmp_path / "b", at_once):
        assert [types_of(history) for history in found.values()] == [[PRECISE, DOUBLE]] * 2
    # under two names at once it would be two tables
    for more in (record("moved", DOUBLE, 21), record("moved", PRECISE, 9)):
        for found in remembered(tmp_path / f"c{more.first.offset}", [*RENAMED_BACK, more]):
            assert [types_of(history) for history in found.values()] == [[PRECISE]] * 2
    # and a third one may be of the same moment as both
    others = [record("items", PRECISE, 11), record("items", PRECISE, 13), record("items", DOUBLE, 21)]
    for found in remembered(tmp_path / "d", [*RENAMED_BACK, *others]):
        assert [types_of(history) for history in found.values()] == [[PRECISE]] * 3


def test_the_table_goes_on_changing_in_another_epoch(tmp_path: Path) -> None:
    wider = record("orders", DOUBLE, 30)
    assert wider.schema is not None
    columns = (*wider.schema.columns, Column("n", String()))
    more = replace(wider, schema=replace(wider.schema, columns=columns))
    said = [
        record("orders", PRECISE, 10), record("items", PRECISE, 11),
        record("orders", DOUBLE, 20), record("items", DOUBLE, 21), more,
    ]  # fmt: skip
    for found in remembered(tmp_path, said):
        assert [v.schema.names for v in found["orders"].versions] == [("id", "price"), ("id", "price", "n")]
        assert types_of(found["orders"]) == [PRECISE, PRECISE]


def test_one_name_under_a_mode_is_an_epoch_once_another_table_shows_it(tmp_path: Path) -> None:
    said = [
        record("orders", String(), 10, "unit-price"), record("items", String(), 11, "net-price"),
        record("orders", String(), 20, "unit_price"), record("items", String(), 21, "net_price"),
    ]  # fmt: skip
    for found in remembered(tmp_path / "a", said):
        assert [v.schema.names[1] for v in found["orders"].versions] == ["unit-price"]
        assert found["orders"].latest.find_event_schema().names == ("id", "unit_price")
    for found in remembered(tmp_path / "b", [*said[:1], said[2]]):
        assert [v.schema.names[1] for v in found["orders"].versions] == ["unit-price", "unit_price"]


TYPES = (PRECISE, DOUBLE, String(), Timestamp(6, zoned=False), Timestamp(3, zoned=False))
RECORDS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(TYPES), st.integers(1, 12)), min_size=1, max_size=14
)


@settings(max_examples=150 if PROOF else 25)
@given(RECORDS, st.integers(1, 5), st.randoms(use_true_random=False))
def test_appends_in_any_order_and_pieces_decide_as_all_at_once(
    tmp_path_factory: pytest.TempPathFactory, said: list[Said], at_once: int, shuffle: random.Random
) -> None:
    once = {(table, at): record(table, type, at) for table, type, at in said}
    told = list(once.values())
    whole = remembered(tmp_path_factory.mktemp("whole"), told, len(told))
    shuffle.shuffle(told)
    pieces = remembered(tmp_path_factory.mktemp("pieces"), told, at_once)
    assert whole[0] == whole[1] == pieces[0] == pieces[1]


CHANGES = st.builds(
    lambda was, now, offset, times: FormChange((), was, now, Coordinates("t", 0, offset), *sorted(times)),
    st.sampled_from("xy"), st.sampled_from("yz"), st.integers(0, 9),
    st.lists(st.integers(0, 20), min_size=4, max_size=4),
)  # fmt: skip
SHOWN = st.builds(lambda form, a, b: FormInterval(form, min(a, b), max(a, b)), st.sampled_from("xyz"),
                  st.integers(0, 20), st.integers(0, 20))  # fmt: skip
FOOTPRINTS = st.dictionaries(
    st.sampled_from("abcd"),
    st.builds(
        ConnectorSettingsShown,
        st.lists(CHANGES, max_size=2, unique_by=lambda c: c.id).map(tuple),
        st.lists(SHOWN, max_size=2).map(tuple),
    ),
)


@given(FOOTPRINTS)
def test_a_change_is_decided_by_each_other_table(footprints: Mapping[str, ConnectorSettingsShown]) -> None:
    """The verdicts, table by table and without an index."""
    found = decide_changes(footprints)
    for table, footprint in footprints.items():
        for change in footprint.changes:
            own = refuted(table, change, footprints)
            seconded = any(
                other.rule == change.rule
                and other.after_ms <= change.at_ms
                and change.after_ms <= other.at_ms
                and not (change.after_ms <= other.since_ms and other.until_ms <= change.at_ms)
                and not (other.after_ms <= change.since_ms and change.until_ms <= other.at_ms)
                and not refuted(name, other, footprints)
                for name, others in footprints.items()
                for other in others.changes
                if name != table
            )
            assert found[table][change.id] == ("own" if own else "epoch" if seconded else "open")


IN_MEMORY = create_engine("sqlite://")
METADATA.create_all(IN_MEMORY)


def as_time_goes_on(connection: Connection, turns: Sequence[Mapping[str, ConnectorSettingsShown]]) -> None:
    """What is kept after each turn, in which some tables are seen anew, is what is decided of all of them."""
    known: dict[str, ConnectorSettingsShown] = {}
    tables = [named(table) for table in "abcd"]
    for turn in turns:
        known |= turn
        before = _forms.read_verdicts(connection, tables)
        others = _forms.update_settings(
            connection, {named(table): footprint for table, footprint in turn.items()}
        )
        after = _forms.read_verdicts(connection, tables)
        assert after == {named(table): found for table, found in decide_changes(known).items()}
        for table in tables:
            places = before.get(table, {}).keys() & after.get(table, {}).keys()
            flipped = any(before[table][place] != after[table][place] for place in places)
            assert not flipped or table in others
    connection.rollback()


def turns_of(chance: random.Random) -> list[dict[str, ConnectorSettingsShown]]:
    """A dozen turns of few tables with few rules at few moments, so that much depends on each."""

    def change() -> FormChange:
        times = sorted(chance.randrange(9) for _ in range(4))
        was, offset = chance.choice("xxxy"), chance.randrange(2)
        return FormChange((), was, "z", Coordinates("t", 0, offset), *times)

    def seen_otherwise(one: FormChange) -> FormChange:
        since, until = chance.randint(0, one.after_ms), chance.randint(one.at_ms, 9)
        return replace(one, since_ms=since, until_ms=until)

    def footprint(known: ConnectorSettingsShown) -> ConnectorSettingsShown:
        if known.changes and chance.random() < 0.5:
            return replace(known, changes=tuple(map(seen_otherwise, known.changes)))
        changes = {c.id: c for c in (change() for _ in range(chance.choice((0, 1, 1, 2))))}
        shown = [FormInterval(chance.choice("xz"), at, at) for at in range(9) if chance.random() < 0.02]
        return ConnectorSettingsShown((*changes.values(),), (*shown,))

    turns, known = [], dict.fromkeys("abcd", ConnectorSettingsShown())
    for _ in range(12):
        turn = {table: footprint(known[table]) for table in chance.sample("abcd", chance.randint(1, 2))}
        turns.append(turn)
        known |= turn
    return turns


@settings(max_examples=3000 if PROOF else 100)
@given(st.integers(0, 2**32))
def test_what_is_seen_anew_is_decided_as_if_it_had_always_been(seed: int) -> None:
    with IN_MEMORY.connect() as connection:
        as_time_goes_on(connection, turns_of(random.Random(seed)))


@settings(max_examples=1500 if PROOF else 150)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans(), st.integers(0, 3)), max_size=40))
def test_tables_that_are_seen_for_longer_decide_as_if_they_had_always_been(
    moments: list[tuple[str, bool, int]],
) -> None:
    """Time goes on, and what is seen for longer is mostly all that changes."""
    now, seen = 0, dict[str, tuple[int, int]]()
    changed = dict[str, FormChange]()
    turns: list[dict[str, ConnectorSettingsShown]] = []
    for table, changes, passed in moments:
        now += passed
        first, last = seen.get(table, (now, now))
        if table in changed:
            changed[table] = replace(changed[table], until_ms=now)
        elif changes and table in seen:
            changed[table] = FormChange((), "x", "y", Coordinates("t", 0, 0), first, last, now, now)
        seen[table] = (first, now)
        turns.append({table: ConnectorSettingsShown(tuple(c for t, c in changed.items() if t == table))})
    with IN_MEMORY.connect() as connection:
        as_time_goes_on(connection, turns)


def test_postgresql_decides_the_same(database: str) -> None:
    url = schema_of_its_own(database)
    SqlStore.open(url, create=True).close()
    path = {"options": f"-csearch_path={url.partition('schema=')[2]}"}
    engine = create_engine(f"{database.replace('://', '+psycopg://')}/postgres", connect_args=path)
    with engine.connect() as connection:
        for seed in range(300 if PROOF else 20):
            as_time_goes_on(connection, turns_of(random.Random(seed)))
    engine.dispose()


def refuted(table: str, change: FormChange, footprints: Mapping[str, ConnectorSettingsShown]) -> bool:
    return any(
        (s.form == change.was and meet(s, change.at_ms, change.until_ms))
        or (s.form == change.now and meet(s, change.since_ms, change.after_ms))
        for name, other in footprints.items()
        for s in other.form_intervals
        if name != table
    )


def meet(shown: FormInterval, first: int, last: int) -> bool:
    return shown.first_ms <= last and shown.last_ms >= first


def test_what_an_older_layout_decided_is_decided_again(tmp_path: Path) -> None:
    """In this store a table decides its own change (`RENAMED_BACK`), as was decided with layout 2."""
    path = tmp_path / "store.db"
    path.write_bytes(gzip.decompress((FIXTURES / "stores" / "renamed-back-layout-2.db.gz").read_bytes()))
    with sqlite3.connect(path) as connection:
        assert {row[0] for row in connection.execute("SELECT verdict FROM form_change")} == {"epoch"}
    connection.close()
    with SqlStore.open(str(path)) as store:
        assert store.upgraded_from == 2
        assert store.check() == ()
        for table in store.tables():
            history = store.history(table)
            assert history is not None
            assert types_of(history) == [PRECISE, DOUBLE]
            assert "type:price" in history.latest.unconfirmed


def test_what_is_decided_is_part_of_what_is_checked(tmp_path: Path) -> None:
    said: Iterable[Observation] = [
        record("orders", PRECISE, 10), record("items", PRECISE, 11),
        record("orders", DOUBLE, 20), record("items", DOUBLE, 21),
    ]  # fmt: skip
    with SqlStore.open(str(tmp_path / "store.db"), create=True) as store:
        store.append([ObservationEntry(o) for o in said], 0)
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("UPDATE form_change SET verdict = 'open' WHERE table_key LIKE '%items%'")
    connection.close()
    with SqlStore.open(str(tmp_path / "store.db")) as store:
        assert "the stored decisions about changed forms differ from the histories" in store.check()
        store.rebuild()
        assert store.check() == ()


def test_a_change_that_is_open_is_said_to_be_one(tmp_path: Path) -> None:
    alone = [record("orders", PRECISE, 10), record("orders", DOUBLE, 20)]
    for found in remembered(tmp_path, alone):
        notice = build_provisional_notice(found["orders"].latest, 0)
        assert notice.message == (
            "A setting of the connector, not the table, may have changed the type of price. "
            "Events of another table, or `schemaman decide confirm`, settle it."
        )
        answer = Confirmation(str(named("orders")), "type:price", found["orders"].latest.id, "")
        (_, settled) = apply_decisions(found["orders"], Decisions(confirmations=(answer,))).versions
        assert (settled.status, settled.unconfirmed) == ("confirmed", ())
