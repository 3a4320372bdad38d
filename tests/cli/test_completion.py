"""A shell offers what there is: tables, versions, targets, rules, outputs; and it is silent about errors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from schemaman_cli.main import main
from tests.support.checkout import CAPTURES
from tests.support.command_line import Run

SOURCE = CAPTURES / "postgres" / "shop-json"
PROGRAM = f"{sys.executable} -m schemaman_cli.main"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store, made once."""
    path = tmp_path_factory.mktemp("completion") / "schemaman.db"
    assert main(["ingest", str(SOURCE), "--store", f"sqlite:///{path}", "-q"]) == 0
    return path


@pytest.fixture
def offered(run: Run, place: Path, recorded: Path, monkeypatch: pytest.MonkeyPatch):
    """The words that zsh or fish is offered behind a command line."""
    shutil.copy(recorded, place / "schemaman.db")
    (place / "schemaman.toml").write_text(
        '[[target]]\nname = "bronze"\nformat = "delta"\ntables = "*"\npath = "/lake/{table}"\n'
    )

    def offer(*words: str) -> list[str]:
        monkeypatch.setenv("_SCHEMAMAN_COMPLETE", "zsh_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(("schemaman", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        done = run()
        assert (done.code, done.err) == (0, "")
        return done.out.splitlines()[1::3]

    return offer


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("history", "or"), ["order_lines", "orders"]),
        (("show", "orders@1"), ["orders@14", "orders@13", "orders@12", "orders@11", "orders@10", "orders@1"]),
        (("show", "orders@l"), ["orders@latest"]),
        (("diff", "stock@1..stock@4"), ["stock@1..stock@4"]),
        (("diff", "stock@1", "stock@3"), ["stock@3"]),
        (("check", "--against", "stock@2"), ["stock@2"]),
        (("plan", "--target", "br"), ["bronze"]),
        (("rules", "column-renamed"), ["column-renamed"]),
        (("schema", "his"), ["history"]),
        (("history", "shopdb.shop.shop.orders"), ["shopdb.shop.shop.orders"]),
    ],
)
def test_there_is_something_to_choose(offered, words: tuple[str, ...], first: list[str]) -> None:
    assert offered(*words)[: len(first)] == first


@pytest.mark.parametrize("words", [("show", "nothing@"), ("resume", ""), ("unlock", "")])
def test_where_there_is_nothing_there_is_silence(offered, words: tuple[str, ...]) -> None:
    assert offered(*words) == []


@pytest.mark.parametrize("fault", ["", "no store", "[["])
def test_a_fault_is_silent(offered, place: Path, fault: str) -> None:
    (place / "schemaman.db").unlink()
    if fault == "[[":
        (place / "schemaman.toml").write_text(fault)
    elif fault:
        (place / "schemaman.db").write_text(fault)
    assert offered("history", "or") == []


@pytest.mark.parametrize(
    ("line", "current", "replies"),
    [
        ("schemaman show orders@1", "1", ["14", "13", "12", "11", "10", "1"]),
        ("schemaman show orders@", "@", ["latest", "14"]),
        ("schemaman show order_l", "order_l", ["order_lines"]),
        ("schemaman show main:shopdb.shop.shop.orders@1", "1", ["14"]),
        ("schemaman tab", "tab", ["tables"]),
    ],
)
def test_bash_completes_behind_its_word_breaks(
    place: Path, recorded: Path, line: str, current: str, replies: list[str]
) -> None:
    shutil.copy(recorded, place / "schemaman.db")
    script = subprocess.run(
        [*PROGRAM.split(), "completion", "bash"], capture_output=True, text=True, check=True
    ).stdout
    ask = f'COMP_LINE="{line}"; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=(x "{current}"); COMP_CWORD=1'
    call = f"schemaman() {{ :; }}; {script}\n{ask}\n_schemaman_completion ./schemaman\n"
    (place / "schemaman").write_text(f'#!/bin/sh\nexec {PROGRAM} "$@"\n')
    (place / "schemaman").chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", call + 'printf "%s\\n" "${COMPREPLY[@]}"'],
        capture_output=True, text=True, check=True, cwd=place, env=os.environ,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines()[: len(replies)] == replies
