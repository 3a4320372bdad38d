"""On a terminal: lines of its width, a pager for long text, progress; in a pipe nothing of it."""

from __future__ import annotations

import os
import pty
import struct as binary
import subprocess
import sys
import termios
from collections.abc import Mapping
from fcntl import ioctl
from pathlib import Path

import pytest

from schemaman.api.reading_progress import ReadingProgress
from schemaman.io.files import find_file, read_records
from schemaman_cli.console import Progress
from schemaman_cli.main import main
from schemaman_cli.paging import choose_pager, find_width, is_paged
from tests.support.checkout import CAPTURES
from tests.support.command_line import Run

SOURCE = CAPTURES / "postgres" / "shop-json"


def run_on_terminal(
    folder: Path, words: list[str], rows: int = 24, columns: int = 70, **environment: str
) -> str:
    """Run a command on a terminal of that size; return what it shows."""
    screen, terminal = pty.openpty()
    ioctl(terminal, termios.TIOCSWINSZ, binary.pack("HHHH", rows, columns, 0, 0))
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "PAGER", "NO_PAGER", "LESS", "TERM")}
    process = subprocess.Popen(
        [sys.executable, "-m", "schemaman_cli.main", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=subprocess.DEVNULL,
        env={**kept, "TERM": "xterm", "NO_COLOR": "1", **environment},
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(screen, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(screen)
    assert process.wait() == 0
    return shown.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with a store, made once."""
    place = tmp_path_factory.mktemp("terminal")
    assert main(["ingest", str(SOURCE), "--store", f"sqlite:///{place}/schemaman.db", "-q"]) == 0
    return place


def test_a_long_text_goes_through_the_pager_in_lines_that_fit(folder: Path) -> None:
    pager = "sed s/^/>/"
    shown = run_on_terminal(folder, ["history", "orders"], PAGER=pager).splitlines()
    assert len(shown) > 24
    assert all(line.startswith(">") and len(line) <= 71 for line in shown)
    for refusal in ({"NO_PAGER": "1"}, {"TERM": "dumb"}, {"PAGER": "cat"}, {"PAGER": "no-such-program"}):
        plain = run_on_terminal(folder, ["history", "orders"], 24, 70, **{"PAGER": pager, **refusal})
        assert plain.splitlines() == [line[1:] for line in shown]
    assert not run_on_terminal(folder, ["history", "orders", "--no-pager"], PAGER=pager).startswith(">")
    assert not run_on_terminal(folder, ["diff", "orders"], PAGER=pager).startswith(">")
    assert run_on_terminal(folder, ["history", "orders", "--format", "json"], PAGER=pager).startswith("{")


def test_a_reader_who_leaves_the_pager_is_no_error(folder: Path) -> None:
    assert len(run_on_terminal(folder, ["history", "orders"], PAGER="head -n 1").splitlines()) == 1


def test_a_pipe_gets_whole_lines(
    run: Run, place: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("PAGER", "sed s/^/>/")
    whole = run("history", "orders", "--store", f"sqlite:///{folder}/schemaman.db").out
    assert max(map(len, whole.splitlines())) > 100
    assert not whole.startswith(">")


@pytest.mark.parametrize("columns", [50, 80])
def test_columns_of_the_user_are_the_width(folder: Path, columns: int) -> None:
    words = ["history", "orders", "--no-pager"]
    shown = run_on_terminal(folder, words, 24, 70, COLUMNS=str(columns)).splitlines()
    assert columns - 5 < max(map(len, shown)) <= columns


@pytest.mark.parametrize(
    ("environment", "pager"),
    [
        ({"PAGER": "sed -n p"}, ["sed", "-n", "p"]),
        ({"PAGER": ""}, None),
        ({"PAGER": "cat"}, None),
        ({"PAGER": "'"}, None),
        ({"PAGER": "there-is-no-such-pager"}, None),
    ],
)
def test_the_pager_is_the_one_of_the_user(environment: Mapping[str, str], pager: list[str] | None) -> None:
    assert choose_pager(environment) == pager


def test_a_file_has_no_width_and_no_pager(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as file:
        assert find_width(file, {}) is None
        assert find_width(file, {"COLUMNS": "90"}) is None
        assert not is_paged("x\n" * 1000, file, {"PAGER": "sed -n p"})


def test_progress_has_rate_share_and_time_left() -> None:
    now = [100.0]
    told: list[str] = []
    progress = ReadingProgress(1000, told.append, lambda: now[0])
    records = progress.count_records(iter(range(2000)))
    next(records)
    assert told == ["1 records read · 0 %"]
    progress.count_bytes(250)
    now[0] += 1.0
    for _ in range(500):
        next(records)
    assert told[-1] == "501 records read · 501/s · 25 % · 3 s left"
    now[0] += 999.0
    for _ in range(500):
        next(records)
    assert told[-1] == "1\u202f001 records read · 1/s · 25 % · 50 min 0 s left"


def test_without_a_size_there_is_a_rate() -> None:
    now = iter([0.0, 2.0])
    progress = ReadingProgress(0, print, lambda: next(now))
    progress.records = 5000
    assert progress.describe() == "5\u202f000 records read · 2\u202f500/s"


def test_all_bytes_of_a_file_are_counted(tmp_path: Path) -> None:
    for path in (*SOURCE.glob("records.*"), CAPTURES / "postgres" / "shop-avro"):
        file = find_file(str(path))
        counted: list[int] = []
        assert list(read_records(file, count_bytes=counted.append))
        assert abs(sum(counted) - file.bytes) <= len(counted)


def test_a_terminal_shows_progress_at_once_and_a_pipe_every_ten_seconds(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [5.0]
    monkeypatch.setattr("schemaman_cli.console.time.monotonic", lambda: now[0])
    shown, piped = Progress(True), Progress(False)
    for progress in (shown, piped):
        progress.update("first")
    assert capfd.readouterr().err == "\r\x1b[2Kfirst"
    now[0] += 10.0
    piped.update("sec\x1b[2Jond")
    assert capfd.readouterr().err == "sec\\x1b[2Jond\n"
