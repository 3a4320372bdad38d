"""One contract for every store, and what a database has to stand besides: other files, other hands, kills."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemaman.debezium.observation import Observation, Reject
from schemaman.errors import Conflict, Locked, StoreUnavailable, UnreadableInput, UsageError
from schemaman.history.epochs import Verdicts
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId, TableSchema
from schemaman.store.hash_chain import SealedEntry, seal_entries
from schemaman.store.log import (
    CoveredRange,
    Entry,
    Leases,
    LogEntry,
    MigrationEntry,
    ObservationEntry,
    Projections,
    RejectEntry,
    Store,
)
from schemaman.store.memory import MemoryStore
from schemaman.store.sql import sqlite as _sqlite
from schemaman.store.sql.store import SqlStore
from schemaman.store.sql.tables import LAYOUT
from tests.live.database import schema_of_its_own
from tests.store.test_entry_json import ENTRIES
from tests.support import log_entries as orders
from tests.support.checkout import PROOF, ROOT
from tests.support.log_entries import ITEMS, ORDERS, batch, covered, renamed, said, schema
from tests.support.random_histories import history as made

NOW = 1_700_000_000_000
EMPTY = TableSchema(())


class AnyStore(Store, Projections, Leases, Protocol):
    @property
    def id(self) -> str: ...
    def restore(self, log: Iterable[SealedEntry], identity: str = "") -> int: ...
    def sealed(self) -> Iterator[SealedEntry]: ...
    def check(self) -> tuple[str, ...]: ...
    def rebuild(self) -> None: ...
    def close(self) -> None: ...


Fold = Callable[[Iterable[Observation], TableId, Verdicts], TableHistory | None]


def last_shape(observations: Iterable[Observation], table: TableId, _: Verdicts) -> TableHistory | None:
    """A fold for made-up entries, which the true one may refuse: only that something was said."""
    told = list(observations)
    return replace(made([EMPTY]), table=table, connector=f"{len(told)} times") if told else None


def opened(kind: str, folder: Path, fold: Fold = orders.fold) -> AnyStore:
    """A new store of a kind: `memory`, `sqlite`, or the address of a PostgreSQL server."""
    clock = itertools.count(NOW).__next__
    if kind == "memory":
        return MemoryStore(clock, fold)
    url = str(folder / "store.db") if kind == "sqlite" else schema_of_its_own(kind)
    return SqlStore.open(url, create=True, clock=clock, fold=fold)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("database") if request.param == "postgresql" else str(request.param)


@pytest.fixture
def store(kind: str, tmp_path: Path) -> Iterator[AnyStore]:
    made = opened(kind, tmp_path)
    yield made
    made.close()


def state(store: AnyStore) -> object:
    """Everything that a store answers."""
    return (
        store.end(),
        list(store.read()),
        [(store.history(t), list(store.load(t))) for t in store.tables()],
        [(n, store.find_by_name(n), store.find_by_alias(n)) for n in names_of(store)],
        [store.read_ranges(s) for s in ("main", "dev")],
    )


def names_of(store: AnyStore) -> list[str]:
    """Every name by which a table may be found."""
    aliases = [a.name for t in store.tables() if (h := store.history(t)) for a in h.aliases]
    return sorted({part for t in store.tables() for part in t.parts} | set(aliases))


# The contract


def test_a_new_store_is_empty(store: AnyStore):
    assert store.end() == 0
    assert list(store.read()) == []
    assert store.tables() == ()
    assert store.history(ORDERS) is None
    assert store.read_ranges("main") == ()
    assert store.check() == ()


def test_what_was_appended_is_read_in_order_with_its_time(store: AnyStore):
    assert store.append(batch(0), expect=0) == 4
    assert store.append(batch(1), expect=4) == 8
    read = list(store.read())
    assert [s.sequence for s in read] == list(range(1, 9))
    assert [s.at_ms for s in read] == [NOW] * 4 + [NOW + 1] * 4
    assert [s.entry for s in read] == [*batch(0), *batch(1)]
    assert list(store.read(after=6)) == read[6:]
    assert [s.sequence for s in store.read(kinds=[CoveredRange])] == [3, 4, 7, 8]
    assert [s.sequence for s in store.read(after=3, kinds=[CoveredRange, ObservationEntry])] == [
        4,
        5,
        6,
        7,
        8,
    ]


def test_an_append_that_expected_another_end_changes_nothing(store: AnyStore):
    store.append(batch(0), expect=0)
    before = state(store)
    for expected in (0, 3, 5):
        with pytest.raises(Conflict, match=r"ends at 4, not at"):
            store.append(batch(1), expect=expected)
    assert state(store) == before
    assert store.append((), expect=4) == 4


def test_an_append_whose_fold_fails_changes_nothing(kind: str, tmp_path: Path):
    def failing(observations: Iterable[Observation], table: TableId, _: Verdicts) -> TableHistory | None:
        if table == ORDERS:
            raise RuntimeError("no")
        return orders.fold(observations, table)

    store = opened(kind, tmp_path, failing)
    entries: list[Entry] = [covered(0, 0, ITEMS), ObservationEntry(said(schema("id"), 0, table=ITEMS))]
    store.append(entries, expect=0)
    before = state(store)
    with pytest.raises(RuntimeError):
        store.append([covered(1, 1, ITEMS), ObservationEntry(said(schema("id"), 1))], expect=2)
    assert state(store) == before
    store.close()


def test_a_history_is_the_fold_of_what_was_said(store: AnyStore):
    for number in range(12):
        store.append(batch(number), expect=4 * number)
    assert store.tables() == (ITEMS, ORDERS)
    for table in store.tables():
        assert store.history(table) == orders.fold(store.load(table), table)
    history = store.history(ORDERS)
    assert history is not None
    assert [v.schema.names for v in history.versions] == [("id",), ("id", "c0"), ("id", "c0", "c1")]
    assert store.check() == ()


def test_a_table_is_found_by_its_last_name_and_its_aliases(store: AnyStore):
    twin = TableId("shop", "app", "archive", "orders")
    store.append(
        [ObservationEntry(said(schema("id"), 0)), ObservationEntry(said(schema("id"), 0, table=twin))],
        expect=0,
    )
    assert store.find_by_name("orders") == (twin, ORDERS)
    assert store.find_by_name("public") == store.find_by_name("") == ()
    assert store.find_by_alias("shop.public.orders") == (ORDERS,)
    assert store.find_by_alias("orders") == ()


def test_a_table_without_a_history_has_no_name(store: AnyStore):
    store.append(
        [ObservationEntry(said(schema("id"), 0, table=ITEMS)), ObservationEntry(said(None, 0))], expect=0
    )
    assert store.find_by_name("orders") == ()
    assert store.find_by_name("items") == (ITEMS,)


def test_what_was_held_does_not_change(store: AnyStore):
    store.append(batch(0), expect=0)
    held, before = store.read_histories([ORDERS]), store.history(ORDERS)
    store.append([ObservationEntry(said(schema("id", "more"), 5))], expect=4)
    assert held(ORDERS) == before != store.history(ORDERS)
    assert store.read_histories([])(ORDERS) is None


def test_what_is_read_of_some_topics_is_theirs_alone(store: AnyStore):
    store.append([covered(0, 4), covered(0, 3, ITEMS)], expect=0)
    assert store.read_ranges("main", ["shop.public.items", "elsewhere"]) == (covered(0, 3, ITEMS),)
    assert store.read_ranges("main", []) == store.read_ranges("dev", ["shop.public.items"]) == ()


def test_what_a_failed_append_said_is_not_known(store: AnyStore):
    store.append(batch(0), expect=0)
    with pytest.raises(Conflict):
        store.append([ObservationEntry(said(schema("id", "lost"), 1)), covered(0, 0)], expect=4)
    store.append([ObservationEntry(said(schema("id", "kept"), 1))], expect=4)
    history = store.history(ORDERS)
    assert history is not None
    assert [v.schema.names for v in history.versions] == [("id",), ("id", "kept")]
    assert store.check() == ()


def test_a_rename_speaks_of_both_tables(store: AnyStore):
    store.append([ObservationEntry(said(schema("id"), 0))], expect=0)
    rename = renamed(ORDERS, ITEMS, schema("id"), 1)
    store.append([ObservationEntry(rename)], expect=1)
    assert rename in store.load(ORDERS)
    assert rename in store.load(ITEMS)
    old = store.history(ORDERS)
    assert old is not None
    assert [e.kind for e in old.events] == ["renamed"]
    assert store.history(ITEMS) is not None


def test_neighbouring_ranges_become_one(store: AnyStore):
    store.append([covered(0, 4, skipped_counts=(("tombstone", 2),)), covered(10, 12)], expect=0)
    store.append([covered(5, 9, skipped_counts=(("heartbeat", 1), ("tombstone", 1)))], expect=2)
    whole = covered(0, 12, skipped_counts=(("heartbeat", 1), ("tombstone", 3)))
    assert store.read_ranges("main") == (whole,)
    assert store.read_ranges("dev") == ()


def test_no_offset_is_covered_twice(store: AnyStore):
    store.append([covered(5, 9)], expect=0)
    for first, last in ((0, 5), (9, 12), (6, 7), (0, 20), (5, 9)):
        with pytest.raises(Conflict, match="overlaps the known range"):
            store.append([covered(first, last)], expect=1)
    with pytest.raises(Conflict):
        store.append([covered(10, 12), covered(11, 11)], expect=1)
    assert store.read_ranges("main") == (covered(5, 9),)
    assert store.check() == ()


def test_a_target_has_one_owner_until_the_lease_ends(store: AnyStore):
    token = store.acquire("ice.orders", "anna@host:1", NOW, 60_000)
    with pytest.raises(Locked, match=r"ice\.orders is held by anna@host:1 until 2023-11-14T22:14:20Z"):
        store.acquire("ice.orders", "ben@host:2", NOW + 59_999, 60_000)
    store.acquire("ice.items", "ben@host:2", NOW, 60_000)
    store.renew("ice.orders", token, NOW + 50_000, 60_000)
    with pytest.raises(Locked):
        store.acquire("ice.orders", "ben@host:2", NOW + 60_001, 60_000)
    other = store.acquire("ice.orders", "ben@host:2", NOW + 110_000, 60_000)
    with pytest.raises(Locked, match="has expired"):
        store.renew("ice.orders", token, NOW + 110_001, 60_000)
    store.release("ice.orders", token)
    store.renew("ice.orders", other, NOW + 110_001, 60_000)
    store.release("ice.orders", other)
    store.acquire("ice.orders", "anna@host:1", NOW, 60_000)


def test_every_kind_of_entry_is_kept(store: AnyStore):
    entries: list[Entry] = [
        RejectEntry(Reject("main", "t", 0, 3, 1, "not JSON", "ab" * 32, b"\x00{")),
        MigrationEntry("run", "plan", "ice", None, "started"),
        MigrationEntry("run", "plan", "ice", 0, "done", "ALTER TABLE …", "7"),
        covered(0, 3),
        ObservationEntry(said(schema("id"), 0)),
    ]
    store.append(entries, expect=0)
    assert [s.entry for s in store.read()] == entries
    assert [s.entry for s in store.read(kinds=[MigrationEntry])] == entries[1:3]
    assert [s.entry for s in store.read(kinds=[RejectEntry])] == entries[:1]


def test_folding_again_changes_nothing(store: AnyStore):
    for number in range(7):
        store.append(batch(number), expect=4 * number)
    before = state(store)
    store.rebuild()
    assert state(store) == before
    assert store.check() == ()


def test_a_copy_restores_the_same_store(store: AnyStore, kind: str, tmp_path: Path):
    for number in range(3):
        store.append(batch(number), expect=4 * number)
    log = list(store.sealed())
    assert [s.open_entry() for s in log] == list(store.read())
    (tmp_path / "other").mkdir()
    other = opened(kind, tmp_path / "other")
    assert other.restore(log, store.id) == 12
    assert other.id == store.id
    assert state(other) == state(store)
    assert list(other.sealed()) == log
    assert other.check() == ()
    for one in (store, other):
        one.append(batch(3), expect=12)
    assert [s.open_entry().entry for s in other.sealed()] == [s.open_entry().entry for s in store.sealed()]
    assert other.check() == ()
    with pytest.raises(UsageError, match="not empty"):
        other.restore(log)
    other.close()


def test_a_log_that_is_not_whole_restores_nothing(store: AnyStore):
    log = list(seal_entries(LogEntry(n, NOW, entry) for n, entry in enumerate(batch(0), 1)))
    identity = store.id
    for wrong, says in (
        (log[1:], "log entry 2 is at position 1"),
        ([*log[:2], log[3]], "log entry 4 is at position 3"),
        ([*log[:3], replace(log[3], at_ms=0)], "log entry 4 was altered"),
        (
            [log[0], replace(log[1], body=log[1].body.replace("price", "prize")), *log[2:]],
            "entry 2 was altered",
        ),
        ([log[0], log[0]], "log entry 1 is at position 2"),
    ):
        with pytest.raises(UnreadableInput, match=says):
            store.restore(wrong, "another")
    assert (store.end(), list(store.read()), store.id) == (0, [], identity)
    assert store.check() == ()
    assert store.restore(log) == 4


def not_overlapping(entries: Iterable[Entry]) -> list[Entry]:
    """One range per stream: made-up ranges would overlap."""
    kept: dict[str, Entry] = {}
    plain: list[Entry] = []
    for entry in entries:
        if isinstance(entry, CoveredRange):
            if entry.first <= entry.last:
                kept.setdefault(entry.stream, entry)
        else:
            plain.append(entry)
    return [*plain, *kept.values()]


BATCHES = st.lists(st.lists(ENTRIES, max_size=4), max_size=4)


@given(BATCHES, st.data())
def test_all_stores_give_the_same_answers(batches: list[list[Entry]], data: st.DataObject):
    answer_alike(["memory", "sqlite"], batches, data)


@settings(max_examples=200 if PROOF else 10)
@given(BATCHES, st.data())
def test_postgresql_gives_the_same_answers(database: str, batches: list[list[Entry]], data: st.DataObject):
    answer_alike(["memory", database], batches, data)


def answer_alike(kinds: list[str], batches: list[list[Entry]], data: st.DataObject) -> None:
    """New stores of these kinds, the first of which is in memory, are told the same, and tell the same."""
    everything = not_overlapping(e for b in batches for e in b)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(everything)), max_size=3)))
    parts = [everything[a:b] for a, b in itertools.pairwise([0, *cuts, len(everything)])]
    with tempfile.TemporaryDirectory() as folder:
        stores = [opened(kind, Path(folder), last_shape) for kind in kinds]
        for store in stores:
            for part in parts:
                store.append(part, store.end())
        streams = {e.stream for e in everything if isinstance(e, CoveredRange)}
        memory, *others = stores
        for sql in others:
            assert state(memory) == state(sql)
            assert [memory.read_ranges(s) for s in streams] == [sql.read_ranges(s) for s in streams]
            assert [s.entry for s in sql.read()] == everything
            assert sql.check() == ()
            sql.rebuild()
            assert state(memory) == state(sql)
            sql.close()


@given(st.permutations(range(8)), st.lists(st.booleans(), min_size=8, max_size=8))
def test_coverage_does_not_depend_on_who_read_what_when(order: list[int], present: list[bool]):
    read = [covered(n * 3, n * 3 + 2) for n in order if present[n]]
    store = MemoryStore(lambda: NOW, last_shape)
    for one in read:
        store.append([one], store.end())
    other = MemoryStore(lambda: NOW, last_shape)
    other.append(read, 0)
    assert store.read_ranges("main") == other.read_ranges("main")
    offsets = {o for c in read for o in range(c.first, c.last + 1)}
    assert {o for c in store.read_ranges("main") for o in range(c.first, c.last + 1)} == offsets


def test_writers_at_once_lose_nothing(store: AnyStore):
    numbers = iter(range(40))
    lock = threading.Lock()
    failures: list[BaseException] = []

    def write() -> None:
        try:
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                while True:
                    try:
                        store.append([MigrationEntry(str(number), "p", "t", None, "started")], store.end())
                        break
                    except Conflict:
                        continue
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    runs = [s.entry.run for s in store.read() if isinstance(s.entry, MigrationEntry)]
    assert sorted(runs, key=int) == [str(n) for n in range(40)]
    assert store.check() == ()


# A database


def reopened(path: Path, **options: object) -> SqlStore:
    return SqlStore.open(str(path), clock=lambda: NOW, fold=orders.fold, **options)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a little history, closed again."""
    path = tmp_path / "store.db"
    with reopened(path, create=True) as store:
        for number in range(7):
            store.append(batch(number), expect=4 * number)
    return path


def test_a_store_is_there_again_after_closing(path: Path):
    with reopened(path) as first:
        before, identity = state(first), first.id
    for url in (str(path), f"sqlite:///{path}"):
        with SqlStore.open(url, fold=orders.fold) as again:
            assert state(again) == before
            assert again.id == identity
    assert sorted(p.name for p in path.parent.iterdir()) == ["store.db"]


def test_a_store_is_made_once_however_many_make_it(tmp_path: Path):
    for attempt in range(20 if PROOF else 3):
        path = tmp_path / f"store{attempt}.db"
        gate = threading.Barrier(6)

        def identity(path: Path = path, gate: threading.Barrier = gate) -> str:
            gate.wait()
            with SqlStore.open(str(path), create=True, fold=orders.fold) as store:
                return store.id

        with ThreadPoolExecutor(6) as pool:
            made = [pool.submit(identity) for _ in range(6)]
            assert len({one.result() for one in made}) == 1


def test_a_commit_is_on_the_disk_before_it_is_told(path: Path):
    engine = _sqlite.make_engine(_sqlite.OpenedFile(path), create=False, busy_ms=10)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2, "FULL"
    engine.dispose()


def test_a_relative_url_is_of_the_working_folder(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(path.parent)
    with SqlStore.open("sqlite:///store.db", fold=orders.fold) as store:
        assert store.end() == 28


@pytest.mark.parametrize("name", ["with space.db", "50%25?x=1#y.db", "größe.db"])
def test_any_file_name_will_do(tmp_path: Path, name: str):
    with reopened(tmp_path / name, create=True) as store:
        store.append(batch(0), 0)
    assert (tmp_path / name).exists()
    with reopened(tmp_path / name) as store:
        assert store.end() == 4


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://host/db", "no store of kind 'mysql'"),
        ("sqlite://", "no path"),
        ("sqlite:///", "no path"),
        ("sqlite:///a\0b", "no path"),
        ("sqlite:///:memory:", "no path"),
        ("", "no path"),
        ("mysql://me:hush@host/db", "no store of kind 'mysql'"),
        ("postgresql:/me:hush@host/db", "seems to contain a password"),
        ("postgresql//me:hush@host/db", "seems to contain a password"),
        ("me:hush@host/db", "seems to contain a password"),
        ("sqlite://me:hush@host/db", "seems to contain a password"),
        ("sqlite:///store.db?password=hush", "seems to contain a password"),
        ("host=there user=me password=hush", "seems to contain a password"),
    ],
)
def test_a_url_that_names_no_file_is_refused(
    url: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=says) as caught:
        SqlStore.open(url, create=True)
    assert caught.value.hint
    assert "hush" not in caught.value.message
    assert list(tmp_path.iterdir()) == []


def test_a_missing_store_is_not_made_by_reading(tmp_path: Path):
    with pytest.raises(StoreUnavailable, match="no store at") as caught:
        reopened(tmp_path / "store.db")
    assert "schemaman ingest" in (caught.value.hint or "")
    assert list(tmp_path.iterdir()) == []


def test_a_store_in_a_missing_folder_is_refused(tmp_path: Path):
    with pytest.raises(StoreUnavailable, match="no such folder"):
        reopened(tmp_path / "none" / "store.db", create=True)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnavailable):
        reopened(tmp_path / "file" / "store.db", create=True)
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        reopened(tmp_path, create=True)


def foreign_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE log(a)")
        connection.execute("INSERT INTO log VALUES (1)")
    connection.close()


def other_layout(path: Path) -> None:
    reopened(path, create=True).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value='99' WHERE name='layout'")
    connection.close()


def cut_short(path: Path) -> None:
    reopened(path, create=True).close()
    path.write_bytes(path.read_bytes()[:5000])


def no_tables(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA application_id=1935895905")
        connection.execute("CREATE TABLE other(a)")
    connection.close()


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda path: path.write_text("id,name\n1,anna\n" * 100),
            "is not a store: it is not a SQLite database",
        ),
        (lambda path: path.write_bytes(b"SQLite"), "is not a store: it is not a SQLite database"),
        (lambda path: path.write_bytes(b"SQLite format 3\x00"), "of another program"),
        (foreign_database, "is a database of another program"),
        (other_layout, f"has layout 99; this schemaman reads layout {LAYOUT}"),
        (cut_short, "malformed|not a database"),
    ],
)
def test_a_file_that_is_no_store_of_ours_keeps_its_bytes(
    tmp_path: Path, make: Callable[[Path], object], says: str, create: bool
):
    path = tmp_path / "store.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match=says) as caught:
        reopened(path, create=create)
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["store.db"]


@pytest.mark.parametrize("create", [False, True])
def test_a_pipe_is_no_store_and_is_not_waited_for(tmp_path: Path, create: bool):
    os.mkfifo(tmp_path / "store.db")
    with pytest.raises(StoreUnavailable, match="it is a pipe"):
        reopened(tmp_path / "store.db", create=create)


def test_a_marked_database_without_our_tables_is_no_store_to_read(tmp_path: Path):
    path = tmp_path / "store.db"
    no_tables(path)
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match="is not a store"):
        reopened(path)
    assert path.read_bytes() == before


def test_an_empty_file_is_filled_by_writing_only(tmp_path: Path):
    path = tmp_path / "store.db"
    path.touch()
    with pytest.raises(StoreUnavailable, match="is empty"):
        reopened(path)
    assert path.read_bytes() == b""
    with reopened(path, create=True) as store:
        assert store.append(batch(0), 0) == 4


def test_a_store_in_use_is_not_waited_for_without_end(path: Path):
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with reopened(path, busy_ms=50) as store:
        assert store.end() == 28
        with pytest.raises(StoreUnavailable, match="in use by another process"):
            store.append(batch(7), 28)
        holder.execute("ROLLBACK")
        assert store.append(batch(7), 28) == 32
    holder.close()


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A folder with a store in which this process may not write: root steps down for it."""
    folder = Path(tempfile.mkdtemp())
    reopened(folder / "store.db", create=True).close()
    folder.chmod(0o555)
    (folder / "store.db").chmod(0o444)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    yield folder
    if root:
        os.seteuid(0)
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_folder_that_cannot_be_written_is_named(read_only: Path):
    before = (read_only / "store.db").read_bytes()
    for name, create in (("store.db", True), ("store.db", False), ("new.db", True)):
        with pytest.raises(StoreUnavailable, match="cannot be opened for writing") as caught:
            reopened(read_only / name, create=create).append(batch(0), 0)
        assert "write permission" in (caught.value.hint or "")
    assert (read_only / "store.db").read_bytes() == before


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (
            "UPDATE log SET body=replace(body, 'price', 'prize') WHERE sequence=2",
            "log entry 2 was altered",
        ),
        ("UPDATE log SET at_ms=at_ms+1 WHERE sequence=3", "log entry 3 was altered"),
        ("DELETE FROM log WHERE sequence=5", "log entries 5 to 5 are missing"),
        ("DELETE FROM log WHERE sequence=28", "the log ends at 27, and should end at 28"),
        ("UPDATE log SET body='{}' WHERE sequence=4", "log entry 4: layout version None"),
        ("UPDATE log SET kind='covered' WHERE sequence=1", "log entry 1 is filed under another"),
        ("UPDATE log SET table_key=NULL WHERE sequence=1", "log entry 1 is filed under another"),
        (
            "UPDATE history SET body=replace(body, 'price', 'prize')",
            "history of shop.app.public.items is not",
        ),
        ("DELETE FROM history", "history of shop.app.public.orders is not the fold"),
        ("DELETE FROM covered", "the offsets that count as read"),
        ("DELETE FROM named", "the names by which shop.app.public.items is found"),
        ("UPDATE named SET name='order'", "the names by which shop.app.public.orders is found"),
        ("UPDATE log SET table_key='x'", "log entry 1 is filed under another kind or table"),
        ("UPDATE meta SET value='3' WHERE name='end'", "should end at 3"),
    ],
)
def test_what_was_altered_by_hand_is_found(path: Path, damage: str, says: str):
    with sqlite3.connect(path) as connection:
        connection.execute(damage)
    connection.close()
    with reopened(path) as store:
        faults = store.check()
    assert any(says in fault for fault in faults), faults


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM history",
        "UPDATE history SET body=replace(body, 'price', 'prize')",
        "DELETE FROM covered",
        "DELETE FROM named",
        "UPDATE log SET kind='covered', table_key=NULL",
    ],
)
def test_projections_are_folded_again_from_the_log(path: Path, damage: str):
    with reopened(path) as store:
        before = state(store)
    with sqlite3.connect(path) as connection:
        connection.execute(damage)
    connection.close()
    with reopened(path) as store:
        assert store.check() != ()
        store.rebuild()
        assert store.check() == ()
        assert state(store) == before


def test_nothing_is_folded_from_a_log_that_was_altered(path: Path):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE log SET body=replace(body, 'price', 'prize') WHERE sequence=2")
    connection.close()
    with reopened(path) as store:
        before = [store.history(table) for table in store.tables()]
        with pytest.raises(StoreUnavailable, match="log entry 2 was altered") as caught:
            store.rebuild()
        assert "restore a copy" in (caught.value.hint or "")
        assert [store.history(table) for table in store.tables()] == before


def test_a_log_of_many_pages_is_read_whole(tmp_path: Path):
    with reopened(tmp_path / "store.db", create=True) as store:
        entries = [MigrationEntry(str(n), "p", "t", None, "started") for n in range(2500)]
        store.append(entries, 0)
        assert [s.entry for s in store.read()] == entries
        assert [s.sequence for s in store.read(after=999)] == list(range(1000, 2501))


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_the_dialects_on_the_shelf_are_asked_by_default(kind: str, tmp_path: Path):
    store = MemoryStore() if kind == "memory" else SqlStore.open(str(tmp_path / "store.db"), create=True)
    before = time.time_ns() // 1_000_000
    store.append([ObservationEntry(said(schema("id"), 0))], 0)
    (stamped,) = store.read()
    assert before <= stamped.at_ms <= time.time_ns() // 1_000_000
    history = store.history(ORDERS)
    assert history is not None
    assert history.latest.schema.names == ("id",)
    store.close()


def test_names_that_utf_8_cannot_carry_are_kept(tmp_path: Path):
    odd = TableId("shop", "\ud800", "", 'a"b\x00', "st\udc00")
    with reopened(tmp_path / "store.db", create=True) as store:
        read = covered(0, 0, odd)
        store.append([ObservationEntry(said(schema("id"), 0, table=odd)), read], 0)
        assert store.tables() == (odd,)
        assert store.read_ranges("st\udc00") == (read,)
        assert store.check() == ()


def test_a_store_survives_kills_at_any_moment(tmp_path: Path):
    rounds, seeds = (20 if PROOF else 3), random.Random(7)
    path = tmp_path / "store.db"
    end = 0
    for number in range(10 * rounds):
        if number >= rounds and end:
            break
        # On a busy machine the first kills may all come too early.
        known = _written_until_killed(path, seeds.uniform(0.0, 0.6) * (1 + number // rounds))
        if not path.exists():
            continue
        with reopened(path, create=True) as store:
            end = store.end()
            assert store.check() == ()
            assert end % 4 == 0, "a part of a transaction was kept"
            assert end >= known, "what was said to be written is gone"
            read = [s.entry for s in store.read()]
            assert read == [e for n in range(end // 4) for e in batch(n)]
    assert end > 0


def _written_until_killed(path: Path, seconds: float) -> int:
    """Let a child append until it is killed; the end that it said it had reached, 0 for none."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.support.append_forever", str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    said = child.stdout.read().split("\n")
    child.stdout.close()
    child.wait()
    # Behind the last line break stands what the kill cut off.
    return max((int(line) for line in said[:-1]), default=0)
