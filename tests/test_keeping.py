"""`sync` round after round over lakes on paper: what a round tells, and what stops it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from schemaman.adapters import files, kafka
from schemaman_cli import sources
from tests.done import Done
from tests.paper_commands import Commands, commands

WAS = (("id", "INT"), ("price", "INT"))
MORE = (*WAS, ("q", "INT"))
MOST = (*MORE, ("r", "INT"))
DECISIONS = Path("schemaman.decisions.toml")


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Commands:
    return commands(tmp_path, monkeypatch, capfdbinary)


@pytest.fixture
def rounds(run: Commands, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """`sync` on a topic that a file stands for: something happens between rounds, then somebody ends it."""

    def followed(*happens: Callable[[], object], words: tuple[str, ...] = ()) -> Done:
        left = list(happens)

        def sleep(_: float) -> None:
            if not left:
                raise KeyboardInterrupt
            left.pop(0)()

        monkeypatch.setattr(kafka, "records", lambda *_: files.records(files.find("r.jsonl")))
        monkeypatch.setattr(sources, "time", SimpleNamespace(sleep=sleep))
        return run("sync", "kafka://broker:9092/srv", *words)

    return followed


def test_answers_in_mid_edit_stop_no_sync(run: Commands, rounds: Callable[..., Done]) -> None:
    run.says(run.table(WAS, type="CREATE"))

    def spoil() -> None:
        DECISIONS.write_text('[[rename]]\ntable = "srv.app.ord')
        run.says(run.table(MORE))

    seen: list[tuple[str, ...]] = []

    def look() -> None:
        seen.append(run.live().schema.names)

    done = rounds(spoil, look, look, lambda: DECISIONS.write_text(""), look)
    assert done.code == 130
    assert seen == [("id", "price"), ("id", "price"), ("id", "price", "q")]
    told = " ".join(done.err.split())
    assert told.count("schemaman.decisions.toml is not valid TOML") == 1
    assert "no lake table is moved until it is mended" in told
    assert "hint: mend that line" in told


def test_another_fault_in_the_answers_is_told_again(run: Commands, rounds: Callable[..., Done]) -> None:
    run.says(run.table(WAS, type="CREATE"))

    def write(text: str) -> Callable[[], object]:
        return lambda: DECISIONS.write_bytes(text.encode("latin-1"))

    texts = ("[[rename", "[[rename]]\n", "# \xe9", "", "[[rename")
    done = rounds(*map(write, texts), lambda: None)
    told = " ".join(done.err.split())
    assert done.code == 130
    assert told.count("no lake table is moved until it is mended") == 4
    assert told.count("not valid TOML") == 2
    assert "not UTF-8 text" in told


@pytest.mark.parametrize("words", [("sync", "r.jsonl", "--once"), ("plan",), ("sync", "kafka://b:9092/srv")])
def test_a_command_does_not_begin_with_answers_that_are_spoilt(
    run: Commands, rounds: Callable[..., Done], words: tuple[str, ...]
) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    DECISIONS.write_text("[[rename")
    done = run(*words) if "kafka" not in words[-1] else rounds()
    assert done.code == 2
    assert "schemaman.decisions.toml is not valid TOML" in done.err
