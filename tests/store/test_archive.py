"""Copies of a log: as lines, as files, and through the command line from one kind of store to another."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.errors import CouldNotDo, UnreadableInput
from schemaman.io import archive_files as archives
from schemaman.store import archive
from schemaman.store.hash_chain import check_chain, seal_entries
from schemaman.store.log import Entry, LogEntry
from schemaman.store.sql.store import SqlStore
from schemaman_cli.main import main
from tests.live.database import schema_of_its_own
from tests.store.test_entry_json import ENTRIES
from tests.support.checkout import CAPTURES, PROOF
from tests.support.log_entries import batch

NOW = 1_700_000_000_000
STREAMS = (
    "postgres/shop-crash",
    "mariadb/bookshop-mariadb-3.5.0-json",
    "mongodb/inventory-1.9.8-update-full",
)
LOG = list(seal_entries(LogEntry(n, NOW + n, entry) for n, entry in enumerate(batch(0), 1)))
LINES = list(archive.write_copy(LOG, "the store"))
PROGRAM = str(Path(sys.executable).with_name("schemaman"))


@given(st.lists(ENTRIES, max_size=4))
def test_a_log_is_read_back_from_its_copy(entries: list[Entry]):
    stamped = [LogEntry(n, NOW + n, entry) for n, entry in enumerate(entries, 1)]
    copy = archive.read_copy(line + "\n" for line in archive.write_copy(seal_entries(stamped), "me"))
    assert copy.store == "me"
    assert [s.open_entry() for s in check_chain(copy.log)] == stamped


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (LINES[:-1], "incomplete: its last line"),
        ([], "incomplete: it is empty"),
        ([line.replace("price", "prize") for line in LINES], "entry 2 was altered"),
        ([*LINES[:2], *LINES[3:]], "entry 3 is at position 2"),
        ([*LINES[:2], LINES[3], LINES[2], *LINES[4:]], "entry 3 is at position 2"),
        ([*LINES[:4], LINES[5]], "was altered"),
        ([LINES[0].replace("the", "my"), *LINES[1:]], "was altered"),
        (LINES[1:], "archive:1: not a copy"),
        ([*LINES, LINES[1]], "archive:7: not a copy"),
        ([*LINES[:3], *LINES], "archive:4: not a copy"),
        ([LINES[0].replace('"schemaman_log":1', '"schemaman_log":2'), *LINES[1:]], "layout 2, not 1"),
        ([*LINES[:2], LINES[2][:50]], "archive:3: not JSON"),
        (["[]"], "archive:1: not a copy"),
        ([LINES[0], "{}"], "archive:2: not a log entry"),
        (
            [LINES[0], LINES[1].replace("1700000000001", "true").replace('"body":"', '"body":7,"b":"')],
            "not a log entry",
        ),
        ([*LINES[:-1], LINES[-1].replace('"entries":4', '"entries":5')], "was altered"),
        (list(archive.write_copy(LOG[1:])), "log entry 2 is at position 1"),
    ],
)
def test_a_copy_that_is_not_whole_is_refused(wrong: list[str], says: str):
    with pytest.raises(UnreadableInput, match=says):
        list(check_chain(archive.read_copy(wrong).log))


# As a file


def test_equal_logs_give_equal_files(tmp_path: Path):
    for name in ("one.gz", "other.gz"):
        assert archives.save_copy(tmp_path / name, iter(LINES)) == 6
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "other.gz").read_bytes()
    assert list(archives.load_copy(tmp_path / "one.gz").log) == LOG


def unpacked(data: bytes) -> bytes | None:
    """The text of a gzip file; None for what is none."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return None


def test_no_byte_of_a_copy_can_be_altered(tmp_path: Path):
    path = tmp_path / "copy.gz"
    archives.save_copy(path, LINES)
    whole = path.read_bytes()
    text, chance = unpacked(whole), random.Random(3)
    # Of a gzip header, the flags of time and system say nothing. Source: RFC 1952 §2.3.
    places = range(10, len(whole)) if PROOF else sorted(chance.sample(range(10, len(whole)), 120))
    for place in places:
        altered = bytearray(whole)
        altered[place] ^= 1 << chance.randrange(8)
        path.write_bytes(altered)
        if unpacked(bytes(altered)) == text:
            # Deflate fills its last byte up with bits that say nothing. Source: RFC 1951 §3.2.3.
            assert list(check_chain(archives.load_copy(path).log, "copy.gz")) == LOG
            continue
        with pytest.raises(UnreadableInput, match=r"copy\.gz"):
            list(check_chain(archives.load_copy(path).log, "copy.gz"))


def test_a_copy_that_is_cut_short_is_refused(tmp_path: Path):
    path = tmp_path / "copy.gz"
    archives.save_copy(path, LINES)
    whole = path.read_bytes()
    for length in range(0, len(whole), 1 if PROOF else 23):
        path.write_bytes(whole[:length])
        with pytest.raises(UnreadableInput, match=r"copy\.gz"):
            list(archives.load_copy(path).log)


@pytest.mark.parametrize("make", [lambda p: p.write_text("x"), lambda p: p.mkdir(), lambda p: None])
def test_what_is_no_copy_is_said(tmp_path: Path, make):
    make(tmp_path / "it")
    with pytest.raises(UnreadableInput, match="it"):
        archives.load_copy(tmp_path / "it")


def test_a_copy_that_fails_leaves_what_was_there(tmp_path: Path):
    def failing():
        yield LINES[0]
        raise RuntimeError("no")

    path = tmp_path / "copy.gz"
    path.write_bytes(b"before")
    with pytest.raises(RuntimeError):
        archives.save_copy(path, failing())
    with pytest.raises(CouldNotDo, match="cannot be written"):
        archives.save_copy(tmp_path / "none" / "copy.gz", LINES)
    assert [p.name for p in tmp_path.iterdir()] == ["copy.gz"]
    assert path.read_bytes() == b"before"


# Through the command line


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that has read recorded streams."""
    path = tmp_path_factory.mktemp("source") / "store.db"
    sources = [str(CAPTURES / stream) for stream in STREAMS]
    subprocess.run([PROGRAM, "ingest", *sources, "--store", f"sqlite:///{path}"], check=True)
    return path


def answers(store: SqlStore) -> object:
    """All that a store knows."""
    histories = [(table, store.history(table)) for table in store.tables()]
    return store.id, store.end(), list(store.sealed()), histories, store.read_ranges("main"), store.check()


def run(*words: object) -> int:
    return main([str(word) for word in words])


def test_a_store_goes_from_sqlite_to_postgresql_and_back(
    source: Path, tmp_path: Path, database: str, capsys: pytest.CaptureFixture[str]
):
    there, back = schema_of_its_own(database), f"sqlite:///{tmp_path}/back.db"
    first, second = tmp_path / "first.gz", tmp_path / "second.gz"
    assert run("store", "export", first, "--store", f"sqlite:///{source}") == 0
    assert run("store", "import", first, "--store", there) == 0
    assert run("store", "export", second, "--store", there) == 0
    assert run("store", "import", second, "--store", back) == 0
    assert "log entries" in capsys.readouterr().out
    assert first.read_bytes() == second.read_bytes()
    with SqlStore.open(str(source)) as a, SqlStore.open(there) as b, SqlStore.open(back) as c:
        assert answers(a) == answers(b) == answers(c)
        assert a.check() == ()
        assert a.end() > 50


def piped(*words: object, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """A command between two pipes."""
    command = [PROGRAM, *(str(word) for word in words)]
    return subprocess.run(command, input=given, capture_output=True, check=False)


def test_a_copy_goes_through_pipes(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    first, second = f"sqlite:///{source}", "sqlite:///other.db"
    assert run("store", "export", "copy.gz", "--store", first) == 0
    sent = piped("store", "export", "-", "--store", first)
    assert (sent.returncode, sent.stdout) == (0, (tmp_path / "copy.gz").read_bytes())
    taken = piped("store", "import", "-", "--store", second, given=sent.stdout)
    assert taken.returncode == 0
    assert b"log entries of standard input imported into" in taken.stdout
    with SqlStore.open(str(source)) as a, SqlStore.open("other.db") as b:
        assert answers(a) == answers(b)
    assert sorted(path.name for path in tmp_path.iterdir() if "other" not in path.name) == ["copy.gz"]


def test_what_can_be_read_once_is_a_copy_too(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert run("store", "export", "copy.gz", "--store", f"sqlite:///{source}") == 0
    os.mkfifo("pipe")
    with subprocess.Popen(["sh", "-c", "cat copy.gz > pipe"]):
        assert run("store", "import", "pipe", "--store", "sqlite:///other.db") == 0
    with SqlStore.open(str(source)) as a, SqlStore.open("other.db") as b:
        assert answers(a) == answers(b)


def test_a_copy_takes_the_place_of_no_link(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("nowhere")
    assert run("store", "export", "link", "--store", f"sqlite:///{source}") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["link"]
    assert run("store", "export", "x" * 300, "--store", f"sqlite:///{source}") == 3
    assert run("store", "export", "x" * 250, "--store", f"sqlite:///{source}") == 0


def test_a_pipe_that_breaks_is_told(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    sent = piped("store", "export", "-", "--store", f"sqlite:///{source}")
    for cut, says in (
        (sent.stdout[:-200], b"standard input is damaged or incomplete"),
        (b"", b"standard input is not a copy of a store"),
    ):
        taken = piped("store", "import", "-", "--store", "sqlite:///none.db", given=cut)
        assert (taken.returncode, taken.stdout) == (3, b"")
        assert says in taken.stderr
    assert list(tmp_path.iterdir()) == []
    with Path("/dev/full").open("wb") as full:
        command = [PROGRAM, "store", "export", "-", "--store", f"sqlite:///{source}"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith(b"error: standard output cannot be written: No space left")
    assert piped("store", "export", "-", "--replace", "--store", f"sqlite:///{source}").returncode == 2


def test_import_puts_nothing_beside_what_is_there(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    copy, other = tmp_path / "copy.gz", tmp_path / "other.db"
    assert run("store", "export", copy, "--store", f"sqlite:///{source}") == 0
    shutil.copy(source, other)
    before = other.read_bytes()
    assert run("store", "import", copy, "--store", f"sqlite:///{other}") == 2
    assert "is not empty" in capsys.readouterr().err
    assert other.read_bytes() == before


def test_import_of_half_a_copy_leaves_no_store(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    copy, other = tmp_path / "copy.gz", tmp_path / "other.db"
    assert run("store", "export", copy, "--store", f"sqlite:///{source}") == 0
    copy.write_bytes(copy.read_bytes()[:-200])
    assert run("store", "import", copy, "--store", f"sqlite:///{other}") == 3
    assert "damaged or incomplete" in capsys.readouterr().err
    assert not other.exists()
    assert run("store", "import", tmp_path / "none.gz", "--store", f"sqlite:///{other}") == 3
    assert not other.exists()


def test_export_takes_the_place_of_copies_only_and_only_when_told(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    store = tmp_path / "store.db"
    shutil.copy(source, store)
    copy = tmp_path / "copy.gz"
    where = ("--store", f"sqlite:///{store}")
    assert run("store", "export", copy, *where) == 0
    assert run("store", "export", copy, *where) == 2
    assert "--replace" in capsys.readouterr().err
    assert run("store", "export", copy, "--replace", *where) == 0
    before = store.read_bytes()
    assert run("store", "export", store, "--replace", *where) == 2
    assert "not a copy of a store" in capsys.readouterr().err
    assert store.read_bytes() == before


def test_export_of_a_store_that_was_altered_writes_nothing(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    store = tmp_path / "store.db"
    shutil.copy(source, store)
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE log SET at_ms = at_ms + 1 WHERE sequence = 20")
    connection.close()
    assert run("store", "export", tmp_path / "copy.gz", "--store", f"sqlite:///{store}") == 3
    assert "log entry 20 was altered" in capsys.readouterr().err
    assert not list(tmp_path.glob("*copy.gz*"))


@pytest.mark.parametrize(
    "words",
    [
        ["export"],
        ["import"],
        ["check", "copy.gz"],
        ["rebuild", "copy.gz"],
        ["import", "copy.gz", "--replace"],
        ["export", ""],
        ["import", "a\0b"],
    ],
)
def test_words_that_make_no_sense_are_refused(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert run("store", *words) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_leaves_no_half_copy(tmp_path: Path):
    copy = tmp_path / "copy.gz"
    copy.write_bytes(b"before")
    code = (
        "import resource, secrets, sys; from pathlib import Path\n"
        "from schemaman.io import archive_files as archives\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "archives.save_copy(Path(sys.argv[1]), (secrets.token_hex(50) for _ in range(2000)))"
    )
    done = subprocess.run([sys.executable, "-c", code, copy], capture_output=True, text=True, check=False)
    assert "CouldNotDo" in done.stderr
    assert f"{copy} cannot be written: File too large" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["copy.gz"]
    assert copy.read_bytes() == b"before"


def test_a_copy_is_lines_that_other_tools_read(source: Path, tmp_path: Path):
    copy = tmp_path / "copy.gz"
    assert run("store", "export", copy, "--store", f"sqlite:///{source}") == 0
    with gzip.open(copy, "rt") as lines:
        assert '"schemaman_log":1' in next(lines)
