"""Stores that were damaged: what is wrong is said, nothing false is told, and nothing is written over."""

from __future__ import annotations

import gzip
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from schemaman.errors import SchemamanError, StoreUnavailable
from schemaman.store.log import MigrationEntry
from schemaman.store.sql.store import SqlStore
from schemaman_cli.main import main
from tests.live.database import schema_of_its_own
from tests.support import log_entries as orders
from tests.support.checkout import CAPTURES, PROOF
from tests.support.log_entries import batch

SOURCE = CAPTURES / "db2" / "documented"
CRASH = CAPTURES / "postgres" / "shop-crash"
PROGRAM = str(Path(sys.executable).with_name("schemaman"))
PAGE = 4096
CASES = 3000 if PROOF else 60
SIZES = 20 if PROOF else 2


def run(*words: object) -> int:
    return main([str(word) for word in words])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small store of real records."""
    path = tmp_path_factory.mktemp("whole") / "store.db"
    assert run("ingest", SOURCE, "--quiet", "--store", f"sqlite:///{path}") == 0
    return path.read_bytes()


def answers(store: SqlStore) -> object:
    """All that a store tells of what was read."""
    histories = [(table, store.history(table), list(store.load(table))) for table in store.tables()]
    return store.end(), list(store.sealed()), list(store.read()), histories, store.read_ranges("main")


def damaged(whole: bytes, chance: random.Random) -> tuple[str, bytes]:
    """The bytes of a store with one damage, and its name."""
    data, place = bytearray(whole), chance.randrange(len(whole))
    page = place // PAGE * PAGE
    kind = chance.choice(["bit", "byte", "zeros", "page of noise", "another page", "cut"])
    match kind:
        case "bit":
            data[place] ^= 1 << chance.randrange(8)
        case "byte":
            data[place] = chance.randrange(256)
        case "zeros":
            data[place : place + 64] = bytes(len(data[place : place + 64]))
        case "page of noise":
            data[page : page + PAGE] = chance.randbytes(PAGE)
        case "another page":
            other = chance.randrange(len(whole) // PAGE) * PAGE
            data[page : page + PAGE] = whole[other : other + PAGE]
        case _:
            del data[place:]
    return f"{kind} at {place}", bytes(data)


def test_a_damaged_file_tells_nothing_false(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(whole)
    with SqlStore.open(str(path)) as store:
        expected = answers(store)
    seed = random.SystemRandom().randrange(2**32) if PROOF else 7
    chance = random.Random(seed)
    found = 0
    for _ in range(CASES):
        told, data = damaged(whole, chance)
        for beside in tmp_path.iterdir():
            beside.unlink()
        path.write_bytes(data)
        faults: tuple[str, ...] = ("refused",)
        try:
            with SqlStore.open(str(path)) as store:
                faults = store.check()
                assert faults or answers(store) == expected, f"{told}, seed {seed}"
                answers(store)
        except SchemamanError:
            pass
        assert path.read_bytes() == data, f"{told}, seed {seed}"
        found += bool(faults)
    assert found > CASES / 10


@pytest.mark.parametrize("place", ["log", "history", "summary", "named"])
def test_a_table_that_is_named_by_what_is_no_text_is_found(whole: bytes, tmp_path: Path, place: str) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(whole)
    with sqlite3.connect(path) as connection:
        rows = f"rowid IN (SELECT rowid FROM {place} WHERE table_key IS NOT NULL LIMIT 1)"
        connection.execute(f"UPDATE {place} SET table_key = CAST(table_key AS BLOB) WHERE {rows}")
    connection.close()
    with SqlStore.open(str(path)) as store:
        assert any("not text" in fault or "not the key" in fault for fault in store.check())


@pytest.mark.parametrize("made", [str, bytes])
def test_a_history_that_is_not_as_it_was_written_is_never_told(
    whole: bytes, tmp_path: Path, made: type[str] | type[bytes]
) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(whole)
    chance = random.Random(5)
    with sqlite3.connect(path) as connection:
        for key, body in connection.execute("SELECT table_key, body FROM history").fetchall():
            place = chance.randrange(len(body))
            other = chance.choice([c for c in "0az" if c != body[place]])
            altered = body[:place] + other + body[place + 1 :] if made is str else body.encode()
            connection.execute("UPDATE history SET body = ? WHERE table_key = ?", (altered, key))
    connection.close()
    with SqlStore.open(str(path)) as store:
        tables = store.tables()
        assert tables
        for table in tables:
            with pytest.raises(StoreUnavailable, match="was altered") as caught:
                store.history(table)
            assert "rebuild" in (caught.value.hint or "")
        store.rebuild()
        assert store.check() == ()
        assert all(store.history(table) for table in tables)


def test_what_cannot_be_appended_changes_nothing(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    chance = random.Random(11)
    refused = 0
    for _ in range(CASES // 3):
        told, data = damaged(whole, chance)
        for beside in tmp_path.iterdir():
            beside.unlink()
        path.write_bytes(data)
        try:
            with SqlStore.open(str(path), create=True) as store:
                store.append([MigrationEntry("r", "p", "t", None, "started")], store.end())
        except SchemamanError:
            refused += 1
            # An empty file is that of a first run which was killed: it may be filled.
            assert path.read_bytes() == data or not data, told
    assert refused > 0


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, tuple[str, ...]]:
    """A store of the first two thirds of a recording, and the bodies of its log."""
    folder = tmp_path_factory.mktemp("begun")
    lines = gzip.decompress((CRASH / "records.ndjson.gz").read_bytes()).splitlines(keepends=True)
    (folder / "part.ndjson").write_bytes(b"".join(lines[: len(lines) * 2 // 3]))
    path = folder / "store.db"
    assert run("ingest", folder / "part.ndjson", "--quiet", "--store", f"sqlite:///{path}") == 0
    with SqlStore.open(str(path)) as store:
        return path.read_bytes(), tuple(sealed.body for sealed in store.sealed())


def flipped(begun: tuple[bytes, tuple[str, ...]], number: int) -> bytes:
    """The store with one bit flipped in the last text of an entry, which still is JSON."""
    data, body = bytearray(begun[0]), begun[1][number - 1].encode()
    assert data.count(body) == 1
    data[data.index(body) + body.rindex(b'"') - 1] ^= 1
    return bytes(data)


@pytest.mark.parametrize("place", range(1, 20) if PROOF else (1, 9, 17, 19))
def test_an_ingest_that_reads_an_altered_entry_writes_nothing(
    begun: tuple[bytes, tuple[str, ...]], tmp_path: Path, capsys: pytest.CaptureFixture[str], place: int
) -> None:
    """Each entry of a log of 19: of a table that is spoken of again, or of offsets that were read."""
    path = tmp_path / "store.db"
    assert len(begun[1]) == 19
    data = flipped(begun, place)
    path.write_bytes(data)
    assert run("ingest", CRASH, "--store", f"sqlite:///{path}") == 3
    said = capsys.readouterr().err
    assert f"the store is damaged: {path}: log entry {place} was altered" in said
    assert "hint: run `schemaman store check`, and restore a copy" in said
    assert path.read_bytes() == data


def test_nothing_is_put_behind_an_entry_that_was_altered(
    begun: tuple[bytes, tuple[str, ...]], tmp_path: Path
) -> None:
    """Only the last one is read by who speaks of no table, and what follows would hold its hash."""
    path, end = tmp_path / "store.db", len(begun[1])
    line = MigrationEntry("r", "p", "t", None, "started")
    for place in (end, 1):
        data = flipped(begun, place)
        path.write_bytes(data)
        with SqlStore.open(str(path)) as store:
            if place < end:
                assert store.append([line], end) == end + 1
                continue
            with pytest.raises(StoreUnavailable, match=f"log entry {end} was altered") as caught:
                store.append([line], end)
            with pytest.raises(StoreUnavailable, match=f"log entry {end} was altered"):
                list(store.read())
        assert "store check" in (caught.value.hint or "")
        assert path.read_bytes() == data


@pytest.mark.parametrize(
    "words", [["tables"], ["history", "customers"], ["store", "check"], ["ingest", SOURCE]]
)
def test_a_command_over_a_damaged_store_ends_with_3(
    whole: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[object]
) -> None:
    path = tmp_path / "store.db"
    data = bytearray(whole)
    data[PAGE : PAGE * 12] = random.Random(1).randbytes(PAGE * 11)
    for cut in (len(whole), len(whole) - 5000, 4096, 300):
        path.write_bytes(data[:cut])
        before = path.read_bytes()
        assert run(*words, "--store", f"sqlite:///{path}") == 3
        said = capsys.readouterr()
        assert str(path) in said.err + said.out or "SQLite:" in said.out
        assert "fault of its own" not in said.err
        assert path.read_bytes() == before


def test_a_store_without_its_write_ahead_log_is_an_earlier_one(tmp_path: Path) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    with SqlStore.open(str(path), create=True, fold=orders.fold) as store:
        for number in range(12):
            store.append(batch(number), 4 * number)
        assert (tmp_path / "store.db-wal").stat().st_size > 0
        shutil.copy(path, copy)
        log = list(store.read())
    with SqlStore.open(str(copy), create=True, fold=orders.fold) as lost:
        assert lost.check() == ()
        end = lost.end()
        assert [s.entry for s in lost.read()] == [s.entry for s in log[:end]]
        for number in range(end // 4, 12):
            lost.append(batch(number), 4 * number)
        assert [s.entry for s in lost.read()] == [s.entry for s in log]
        assert lost.check() == ()


def test_a_disk_that_is_full_keeps_what_was_stored(tmp_path: Path) -> None:
    source, expected = CAPTURES / "postgres" / "shop-crash", tmp_path / "expected.db"
    assert run("ingest", source, "--quiet", "--store", f"sqlite:///{expected}") == 0
    with SqlStore.open(str(expected)) as store:
        histories = [(table, store.history(table)) for table in store.tables()]
    size, refused = expected.stat().st_size, 0
    for number in range(SIZES):
        path = tmp_path / f"{number}.db"
        room = 4096 + (number + 1) * size // (SIZES + 1)
        words = [PROGRAM, "ingest", str(source), "--quiet", "--store", f"sqlite:///{path}"]
        little = partial(limited, room)
        done = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=little)
        if done.returncode:
            refused += 1
            assert done.returncode == 3, done.stderr
            assert str(path) in done.stderr
            assert "free disk space" in done.stderr
        assert run("ingest", source, "--quiet", "--store", f"sqlite:///{path}") == 0
        with SqlStore.open(str(path)) as store:
            assert store.check() == ()
            assert [(table, store.history(table)) for table in store.tables()] == histories
    assert refused > 0


def limited(room: int) -> None:
    """No file of this process may grow beyond `room` bytes: what a full disk does."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))


LOST_IDENTITY = {
    "DELETE FROM meta WHERE name = 'id'": "it has lost its 'id'",
    "UPDATE meta SET name = 'idx' WHERE name = 'id'": "it has lost its 'id'",
    "UPDATE meta SET value = '' WHERE name = 'id'": "its 'id' is '', which no store was given",
    "UPDATE meta SET value = 'z' || substr(value, 2) WHERE name = 'id'": "which no store was given",
    "UPDATE meta SET value = replace(value, '-', '_') WHERE name = 'id'": "which no store was given",
}


@pytest.mark.parametrize("damage", LOST_IDENTITY)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_an_identity_that_is_gone_or_was_altered_is_found(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, damage: str
) -> None:
    """Lake tables bear it, and a copy would take on what no store was given."""
    path = tmp_path / "store.db"
    url = f"sqlite:///{path}" if kind == "sqlite" else schema_of_its_own(database)
    with SqlStore.open(url, create=True, fold=orders.fold) as store:
        store.append([MigrationEntry("r", "p", "t", None, "started")], 0)
        assert store.check() == ()
    if kind == "sqlite":
        with sqlite3.connect(path) as file:
            file.execute(damage)
        file.close()
    else:
        with psycopg.connect(f"{database}/postgres", autocommit=True) as server:
            server.execute(
                sql.SQL("SET search_path = {}").format(sql.Identifier(url.partition("schema=")[2]))
            )
            server.execute(damage.encode())
    with SqlStore.open(url) as store:
        assert [LOST_IDENTITY[damage] in fault for fault in store.check()] == [True]
    assert run("store", "check", "--store", url) == 3
    assert LOST_IDENTITY[damage] in capsys.readouterr().out
    assert run("store", "export", tmp_path / "copy.gz", "--store", url) == 3
    said = capsys.readouterr().err
    assert LOST_IDENTITY[damage] in said
    assert "store check" in said
    assert not (tmp_path / "copy.gz").exists()


# PostgreSQL, altered by hand


@pytest.fixture
def server(database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(f"{database}/postgres", autocommit=True) as connection:
        yield connection


def rows(server: psycopg.Connection, schema: str) -> set[tuple[object, ...]]:
    """All that lies in the tables of a schema, each row behind the name of its table."""
    found = server.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = %s", [schema]
    ).fetchall()
    query = sql.SQL("SELECT * FROM {}")
    return {
        (name, *row)
        for (name,) in found
        for row in server.execute(query.format(sql.Identifier(schema, name))).fetchall()
    }


BY_HAND = (
    "ALTER TABLE log DROP COLUMN chain",
    "ALTER TABLE log RENAME COLUMN body TO text",
    "ALTER TABLE log ALTER COLUMN sequence TYPE text",
    "ALTER TABLE history ALTER COLUMN body DROP NOT NULL; UPDATE history SET body = NULL",
    "UPDATE history SET table_key = 'nothing'",
    """UPDATE history SET table_key = '["main"]'""",
    "UPDATE history SET body = '{}'",
    "DROP TABLE log",
    "DROP TABLE covered",
    "DROP TABLE history",
    "UPDATE covered SET body = '[]'",
    "UPDATE covered SET topic = E'\\\\x'",
    "DELETE FROM meta",
    "DELETE FROM meta WHERE name = 'head'",
    "UPDATE meta SET value = 'many' WHERE name = 'end'",
    "UPDATE meta SET value = '3' WHERE name = 'end'",
    "UPDATE meta SET value = '99999' WHERE name = 'end'",
    "UPDATE log SET body = replace(body, 'first', 'fürst')",
    "UPDATE log SET sequence = -sequence",
    "DELETE FROM log WHERE sequence = 2",
)


@pytest.mark.parametrize("damage", BY_HAND if PROOF else BY_HAND[2::3])
def test_tables_that_were_altered_by_hand_are_found_and_left_as_they_are(
    database: str, server: psycopg.Connection, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    url = schema_of_its_own(database)
    schema = url.partition("schema=")[2]
    assert run("ingest", SOURCE, "--quiet", "--store", url) == 0
    server.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(schema)))
    server.execute(damage.encode())
    before = rows(server, schema)
    other = CAPTURES / "postgres" / "shop-names-unicode"
    codes = {}
    for words in (["store", "check"], ["history", "customers"], ["ingest", other]):
        codes[str(words[0])] = run(*words, "--store", url)
        said = capsys.readouterr()
        assert "fault of its own" not in said.err
        assert codes[str(words[0])] in (0, 3), said.err
        if codes[str(words[0])] == 3:
            assert "hint:" in said.err
        lost = before - rows(server, schema)
        assert not [row for row in lost if words[0] != "ingest" or row[0] == "log"]
    assert codes["store"] == 3


@pytest.mark.parametrize(
    ("state", "hint"),
    [
        ("53100", "free space on the server's disk"),
        ("53200", "wait until other processes have finished"),
        ("57014", "statement_timeout"),
        ("XX001", "store check"),
    ],
)
def test_what_the_server_refuses_changes_nothing(
    database: str, server: psycopg.Connection, state: str, hint: str
) -> None:
    url = schema_of_its_own(database)
    schema = url.partition("schema=")[2]
    with SqlStore.open(url, create=True, fold=orders.fold) as store:
        store.append(batch(0), 0)
        server.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(schema)))
        server.execute(
            f"""CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                RAISE EXCEPTION 'no' USING ERRCODE = '{state}'; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON history EXECUTE FUNCTION refuse()""".encode()
        )
        with pytest.raises(StoreUnavailable, match=r"postgresql://.*: no") as caught:
            store.append(batch(1), 4)
        assert hint in (caught.value.hint or "")
        server.execute("DROP TRIGGER refuse ON history")
        assert store.end() == 4
        assert store.check() == ()
        assert store.append(batch(1), 4) == 8
