"""The file of a store: one that can only be read, and one that goes away or is replaced."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemaman.debezium.observation import Reject
from schemaman.errors import StoreUnavailable
from schemaman.store.log import RejectEntry
from schemaman.store.sql.store import SqlStore
from schemaman_cli.main import main
from tests.support.checkout import CAPTURES

SOURCE = CAPTURES / "postgres" / "shop-json"
READING = (
    ["history", "orders"],
    ["show", "orders@2"],
    ["diff", "orders@1..3"],
    ["check", "orders", "--against", "1", "--fail-on", "off"],
)
UNPRIVILEGED = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
"""Root may write everything; without these capabilities permissions bind it, too."""

ENTRY = RejectEntry(Reject("main", "t", 0, 1, 1, "no JSON", "ab" * 32))


def run_unprivileged(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, as a user whom permissions bind."""
    program = [*UNPRIVILEGED, sys.executable, "-m", "schemaman_cli.main", *words]
    return subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store, made once."""
    path = tmp_path_factory.mktemp("recorded") / "schemaman.db"
    assert main(["ingest", str(SOURCE), "--store", f"sqlite:///{path}", "-q"]) == 0
    return path


@pytest.fixture(params=["folder", "file", "both"])
def read_only(request: pytest.FixtureRequest, recorded: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder with a store that cannot be written: the file, or nothing beside it, or both."""
    folder = tmp_path / "store"
    folder.mkdir()
    shutil.copy(recorded, folder / "schemaman.db")
    if request.param != "folder":
        (folder / "schemaman.db").chmod(0o444)
    if request.param != "file":
        folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)


def test_a_store_that_cannot_be_written_is_read(read_only: Path) -> None:
    before = (read_only / "schemaman.db").read_bytes()
    for words in READING:
        done = run_unprivileged(read_only, *words)
        assert (done.returncode, done.stderr) == (0, ""), words
        assert done.stdout
    assert (read_only / "schemaman.db").read_bytes() == before
    assert [p.name for p in read_only.iterdir()] == ["schemaman.db"]


def test_writing_to_it_is_refused_in_a_line(read_only: Path) -> None:
    done = run_unprivileged(read_only, "ingest", str(SOURCE), "--stream", "other")
    assert done.returncode == 3
    error, hint = done.stderr.splitlines()
    assert "schemaman.db cannot be opened for writing" in error
    assert "write permission" in hint


def test_records_that_are_still_in_the_log_are_read(tmp_path: Path, recorded: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    path = folder / "schemaman.db"
    shutil.copy(recorded, path)
    keeper = sqlite3.connect(path)  # an open connection keeps the write-ahead log
    keeper.execute("SELECT count(*) FROM log").fetchone()
    with SqlStore.open(str(path)) as store:
        end = store.append([ENTRY], store.end())
    folder.chmod(0o555)
    try:
        done = run_unprivileged(folder, "rejects")
    finally:
        folder.chmod(0o755)
        keeper.close()
    assert (done.returncode, done.stderr) == (0, "")
    assert end > 0
    assert "no JSON" in done.stdout


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize(("fate", "word"), [("deleted", "moved or deleted"), ("replaced", "replaced")])
def test_a_store_that_goes_away_is_noticed(
    tmp_path: Path, recorded: Path, fate: str, word: str, write: bool
) -> None:
    path = tmp_path / "schemaman.db"
    shutil.copy(recorded, path)
    with SqlStore.open(str(path)) as store:
        end = store.end()
        path.rename(tmp_path / "away.db")
        if fate == "replaced":
            shutil.copy(recorded, path)
        with pytest.raises(StoreUnavailable, match=word) as caught:
            store.append([ENTRY], end) if write else store.end()
        assert caught.value.hint
        if fate == "replaced":
            path.unlink()
        (tmp_path / "away.db").rename(path)
        assert store.append([ENTRY], end) == end + 1


def test_a_log_without_its_store_is_not_given_to_a_new_one(tmp_path: Path) -> None:
    log = tmp_path / "schemaman.db-wal"
    log.write_bytes(b"x" * 4096)
    with pytest.raises(StoreUnavailable, match=r"moved or deleted there, but not its schemaman\.db-wal"):
        SqlStore.open(str(tmp_path / "schemaman.db"), create=True)
    assert not (tmp_path / "schemaman.db").exists()
    log.write_bytes(b"")
    SqlStore.open(str(tmp_path / "schemaman.db"), create=True).close()


@pytest.mark.parametrize("store", ["data/own.db", "sqlite:///data/own.db"])
def test_a_path_in_the_settings_begins_at_their_file(
    tmp_path: Path, recorded: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    for name in [n for n in os.environ if n.startswith("SCHEMAMAN_")]:
        monkeypatch.delenv(name)
    (tmp_path / ".git").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "below").mkdir()
    (tmp_path / "schemaman.toml").write_text(f'store = "{store}"')
    shutil.copy(recorded, tmp_path / "data" / "own.db")
    monkeypatch.chdir(tmp_path / "below")
    assert main(["tables"]) == 0
    assert main(["tables", "--store", store]) == 3
