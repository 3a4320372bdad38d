"""Stores of older layouts: they are upgraded where they lie, in one transaction, and their log stays."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from schemaman.debezium.observation import Observation
from schemaman.errors import StoreUnavailable
from schemaman.history.epochs import Verdicts
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.store.folding import fold
from schemaman.store.sql.store import SqlStore
from schemaman.store.sql.tables import LAYOUT
from schemaman.store.sql.upgrades import STEPS
from schemaman_cli.main import main
from tests.live.database import schema_of_its_own
from tests.support.checkout import CAPTURES, FIXTURES, ROOT
from tests.support.log_entries import batch

SOURCES = ("db2/documented", "postgres/shop-names-unicode", "postgres/shop-crash")
OLD = sorted((FIXTURES / "stores").glob("layout-*.db.gz"), key=lambda path: (len(path.name), path.name))


def run(*words: object) -> int:
    return main([str(word) for word in words])


@pytest.fixture(params=OLD, ids=lambda path: path.name.partition(".")[0])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A store as an older schemaman wrote it."""
    path = tmp_path / "old.db"
    path.write_bytes(gzip.decompress(request.param.read_bytes()))
    return path


@pytest.fixture
def new(tmp_path: Path) -> SqlStore:
    """What is remembered today of the same recordings."""
    path = tmp_path / "new.db"
    sources = [CAPTURES / source for source in SOURCES]
    assert run("ingest", *sources, "--quiet", "--store", f"sqlite:///{path}") == 0
    return SqlStore.open(str(path))


def asked(path: Path, query: str) -> list[tuple[object, ...]]:
    """What SQLite itself answers."""
    with sqlite3.connect(path) as connection:
        found = connection.execute(query).fetchall()
    connection.close()
    return found


def log(path: Path) -> list[tuple[object, ...]]:
    """The rows of the log, as SQLite has them."""
    return asked(path, "SELECT sequence, at_ms, body, chain FROM log ORDER BY sequence")


def layout(path: Path) -> int:
    """The layout that stands in a file."""
    ((value,),) = asked(path, "SELECT value FROM meta WHERE name = 'layout'")
    return int(str(value))


def test_there_is_a_store_of_every_older_layout() -> None:
    assert [path.name for path in OLD] == [f"layout-{n}.db.gz" for n in range(1, LAYOUT)]
    assert sorted(STEPS) == list(range(1, LAYOUT))


def test_an_old_store_is_upgraded_by_whoever_opens_it(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, was = log(old), layout(old)
    assert run("history", "returns", "--store", f"sqlite:///{old}") == 0
    said = capsys.readouterr()
    assert f"{old} had layout {was} and was upgraded; its log is unchanged" in said.err
    assert "4 versions" in said.out
    assert log(old) == before
    assert layout(old) == LAYOUT
    assert run("store", "check", "--store", f"sqlite:///{old}") == 0
    assert "upgraded" not in capsys.readouterr().err


def test_an_upgraded_store_has_the_tables_of_a_new_one(old: Path, tmp_path: Path) -> None:
    SqlStore.open(str(old)).close()
    SqlStore.open(str(tmp_path / "fresh.db"), create=True).close()
    query = "SELECT name, sql FROM sqlite_master ORDER BY name"
    assert asked(old, query) == asked(tmp_path / "fresh.db", query)


def test_an_upgraded_store_knows_what_a_new_one_knows(old: Path, new: SqlStore) -> None:
    with new, SqlStore.open(str(old)) as upgraded:
        assert upgraded.upgraded_from is not None
        assert upgraded.check() == ()
        for table in new.tables():
            known, expected = upgraded.history(table), new.history(table)
            assert known is not None
            assert expected is not None
            assert [v.id for v in known.versions] == [v.id for v in expected.versions]
            assert [v.schema for v in known.versions] == [v.schema for v in expected.versions]
        assert upgraded.tables() == new.tables()
        assert upgraded.read_ranges("main") == new.read_ranges("main")


def test_an_upgraded_store_goes_on(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--store", f"sqlite:///{old}")
    assert run("ingest", CAPTURES / "postgres" / "shop-crash", *where) == 0
    assert "none of them new" in capsys.readouterr().out.replace("0 of them", "none of them")
    assert run("ingest", CAPTURES / "mongodb" / "inventory-1.9.8-update-full", *where) == 0
    assert run("store", "check", *where) == 0


def test_an_upgrade_that_fails_leaves_the_old_store(old: Path) -> None:
    def failing(
        observations: Iterable[Observation], table: TableId, verdicts: Verdicts
    ) -> TableHistory | None:
        if table.table == "returns":
            raise RuntimeError("no")
        return fold(observations, table, verdicts)

    before = old.read_bytes()
    with pytest.raises(RuntimeError):
        SqlStore.open(str(old), fold=failing)
    assert old.read_bytes() == before
    with SqlStore.open(str(old)) as store:
        assert store.check() == ()


KILLED_IN_BETWEEN = """
import os, signal, sys
from schemaman.store.folding import fold
from schemaman.history.epochs import NO_SETTINGS_SHOWN, ConnectorSettingsShown, Verdicts, decide_changes
from schemaman.store.sql.store import SqlStore
seen = []
def dying(observations, table, verdicts):
    seen.append(table)
    if len(seen) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
        signal.pause()  # a loaded machine may let the process run on for a moment
    return fold(observations, table, verdicts)
SqlStore.open(sys.argv[1], fold=dying)
"""


@pytest.mark.parametrize("tables", [1, 8])
def test_an_upgrade_that_is_killed_leaves_the_old_store(old: Path, tables: int) -> None:
    before, was = log(old), layout(old)
    done = subprocess.run([sys.executable, "-c", KILLED_IN_BETWEEN, old, str(tables)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (log(old), layout(old)) == (before, was)
    with SqlStore.open(str(old)) as store:
        assert store.upgraded_from == was
        assert store.check() == ()
    assert log(old) == before


def test_a_damaged_log_is_not_upgraded(old: Path) -> None:
    with sqlite3.connect(old) as connection:
        connection.execute("UPDATE log SET at_ms = at_ms + 1 WHERE sequence = 5")
    connection.close()
    before = old.read_bytes()
    with pytest.raises(StoreUnavailable, match=r"was not upgraded.*log entry 5 was altered") as caught:
        SqlStore.open(str(old))
    assert caught.value.hint
    assert old.read_bytes() == before


def test_an_old_store_that_cannot_be_written_is_said_to_need_it(old: Path) -> None:
    folder = Path(tempfile.mkdtemp())
    path = folder / "store.db"
    shutil.copy(old, path)
    path.chmod(0o444)
    folder.chmod(0o555)
    root = os.geteuid() == 0
    try:
        if root:
            os.seteuid(65534)
        with pytest.raises(StoreUnavailable, match="cannot be opened for writing"):
            SqlStore.open(str(path))
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_writer_of_an_older_layout_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with SqlStore.open(str(path), create=True) as store:
        store.append(batch(0), 0)
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'layout'")
        connection.close()
        with pytest.raises(StoreUnavailable, match="upgraded meanwhile by a newer schemaman"):
            store.append(batch(1), 4)
    with pytest.raises(StoreUnavailable, match=f"this schemaman reads layout {LAYOUT}"):
        SqlStore.open(str(path))


def as_layout_1(server: psycopg.Connection, schema: str) -> None:
    """Take a PostgreSQL store back to the first layout."""
    place = sql.Identifier(schema)
    for table in ("named", "form", "form_change", "summary"):
        server.execute(sql.SQL("DROP TABLE {}.{}").format(place, sql.Identifier(table)))
    server.execute(sql.SQL("UPDATE {}.meta SET value = '1' WHERE name = 'layout'").format(place))


def test_a_store_in_postgresql_is_upgraded_once_however_many_open_it(database: str, new: SqlStore) -> None:
    url = schema_of_its_own(database)
    with new, SqlStore.open(url, create=True) as store:
        store.restore(new.sealed())
        expected = [store.history(table) for table in store.tables()]
    with psycopg.connect(f"{database}/postgres", autocommit=True) as server:
        as_layout_1(server, url.partition("schema=")[2])
    words = [str(Path(sys.executable).with_name("schemaman")), "tables", "--store", url]
    crowd = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(3)]
    said = [process.communicate()[1] for process in crowd]
    assert [process.returncode for process in crowd] == [0] * len(crowd)
    assert sum(b"had layout 1 and was upgraded" in text for text in said) == 1
    with SqlStore.open(url) as store:
        assert [store.history(table) for table in store.tables()] == expected
        assert store.check() == ()


def test_a_postgresql_user_who_only_reads_is_told_that_an_upgrade_is_needed(
    database: str, new: SqlStore
) -> None:
    url = schema_of_its_own(database)
    schema = url.partition("schema=")[2]
    with new, SqlStore.open(url, create=True) as store:
        store.append(batch(0), 0)
    with psycopg.connect(f"{database}/postgres", autocommit=True) as server:
        as_layout_1(server, schema)
        server.execute(
            f"CREATE ROLE only_{schema} LOGIN; GRANT USAGE ON SCHEMA {schema} TO only_{schema}; "
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO only_{schema}".encode()
        )
    with pytest.raises(StoreUnavailable, match=r"has layout 1 and was not upgraded.*permission denied"):
        SqlStore.open(url.replace("postgres@", f"only_{schema}@"))
