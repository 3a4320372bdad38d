"""The API of the package `schemaman`, as a program uses it."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import schemaman as sm
from schemaman.io.files import find_file, read_records
from schemaman.plugins import DISTRIBUTION, install_hint
from schemaman_cli.commands.demo import describe_command
from tests.support.checkout import CAPTURES, ROOT

SHOP = CAPTURES / "postgres" / "shop-crash"


class NoLake:
    """An executor without any table."""

    def inspect(self, table: str, format: str) -> None:
        """No table is there."""

    def run(self, statement: str) -> None:
        """Run nothing."""

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """No rows."""
        return ()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sm.Registry]:
    monkeypatch.chdir(tmp_path)
    with sm.open("sqlite:///schemaman.db", create=True) as opened:
        assert sm.ingest(SHOP, opened).new == 91
        yield opened


def test_dir_shows_the_api_and_every_name_is_there() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", "import schemaman; print(*dir(schemaman))"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert {"open", "ingest", "diff", "check", "apply", "sync", "Registry", "TableHistory", "Plan"} <= set(
        shown
    )
    for name in shown:
        assert getattr(sm, name) is not None


def test_the_stub_has_the_names_of_the_package() -> None:
    stub = (ROOT / "schemaman" / "__init__.pyi").read_text(encoding="utf-8")
    assert set(re.findall(r" as (\w+)$", stub, re.MULTILINE)) == set(sm.__all__)


def test_a_store_is_made_only_when_asked(tmp_path: Path) -> None:
    with pytest.raises(sm.errors.StoreUnavailable):
        sm.open(f"sqlite:///{tmp_path / 'none.db'}")


def test_records_enter_once_from_a_path_or_as_values(registry: sm.Registry) -> None:
    assert sm.ingest(SHOP, registry).new == 0
    records = [r for r in read_records(find_file(str(SHOP))) if isinstance(r, sm.Record)]
    assert sm.ingest(records, registry).new == 0
    assert sm.ingest(iter(records), registry, stream="other").new == 91
    assert "registry" in inspect.signature(sm.ingest).parameters


def test_a_history_is_read_by_number_and_by_time(registry: sm.Registry) -> None:
    history = registry.history("returns")
    assert [version.number for version in history] == [1, 2, 3, 4]
    assert (len(history), history[3].number, history.latest.number) == (4, 3, 4)
    assert history.at("2026-11-21T07:45:24Z").number == 3
    with pytest.raises(sm.errors.UnknownName):
        history[9]
    with pytest.raises(sm.UsageError):
        history.at("2026-11-21T07:45:22.900Z")


def test_a_wrong_argument_is_named(registry: sm.Registry, tmp_path: Path) -> None:
    history = registry.history("returns")
    untyped: Any = sm
    calls: dict[str, Callable[[], object]] = {
        "url is of type int": lambda: untyped.open(3),
        "stream: expected a string": lambda: untyped.ingest(SHOP, registry, stream=5),
        "stream: a stream needs a name": lambda: sm.open(tmp_path / "new.db", create=True, stream=" "),
        "registry is of type str": lambda: untyped.ingest(registry, "records.jsonl"),
        "cannot be of type NoneType": lambda: untyped.ingest(None, registry),
        "cannot be of type Record": lambda: untyped.ingest(sm.Record("t", 0, 0, None, None, b""), registry),
        "item 1 of the source is of type dict": lambda: untyped.ingest([{"id": 1}], registry),
        "not of type int": lambda: untyped.Registry.history(registry, 3),
        "ref is of type SchemaVersion": lambda: untyped.Registry.show(registry, history[3]),
        "a TableHistory is not a schema": lambda: untyped.diff(history, history),
        "since is of type SchemaVersion": lambda: untyped.check(registry, "returns", since=history[3]),
        "fail_on is 'worst'": lambda: untyped.check(registry, "returns", since=1, fail_on="worst"),
        "registry is of type SchemaVersion": lambda: untyped.check(history[3], history[4]),
        "executor is of type object": lambda: untyped.Registry.plan(
            registry, "returns", target="delta", table="t", executor=object()
        ),
        "policy is of type dict": lambda: untyped.Registry.plan(
            registry, "returns", target="delta", table="t", executor=NoLake(), policy={"widen": "auto"}
        ),
        "plan is of type str": lambda: untyped.apply("returns.plan.json", registry),
    }
    for message, call in calls.items():
        with pytest.raises(sm.UsageError, match=re.escape(message)) as caught:
            call()
        assert caught.value.hint or "must be one of" in caught.value.message
    assert [table.table.stream for table in registry.tables()] == ["main"] * 3
    with pytest.raises(sm.errors.UnknownName, match="no version '1'"):
        untyped.TableHistory.__getitem__(history, "1")


def test_a_policy_of_unknown_words_is_refused(registry: sm.Registry) -> None:
    wrong: Any = (("yes", ("widen",)), ("auto", ("widden",)), ("auto", "widen"))
    for level, changes in wrong:
        policy = sm.Policy(rules=(sm.PolicyRule(level, changes),))
        with pytest.raises(sm.errors.BadConfiguration):
            registry.plan("returns", target="delta", table="t", executor=NoLake(), policy=policy)


def test_a_closed_registry_says_so(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    with sm.open(path, create=True) as registry:
        sm.ingest(SHOP, registry)
    for call in (registry.tables, lambda: registry.history("returns"), lambda: sm.ingest(SHOP, registry)):
        with pytest.raises(sm.errors.StoreUnavailable, match=r"own\.db was closed"):
            call()
    registry.close()


def test_the_help_of_ingest_is_that_of_the_function() -> None:
    assert "source: a path" in str(inspect.getdoc(sm.ingest))


def test_a_diff_is_a_tuple_of_changes(registry: sm.Registry) -> None:
    history = registry.history("returns")
    changes = sm.diff(history[3], history[4])
    assert [type(change) for change in changes] == [sm.DropColumn, sm.AddColumn]
    assert changes == sm.diff("returns@3", "returns@4", registry=registry)
    assert str(changes).splitlines()[1:] == ["    - photo  STRING", "    + note  STRING NOT NULL DEFAULT '-'"]


def test_the_gate_judges_since_a_version(registry: sm.Registry) -> None:
    result = registry.check("returns", since=1)
    assert not result.passed
    assert {finding.rule: severity for finding, severity in result.findings} == {
        "column-added-nullable": "note",
        "column-rename-suspected": "break",
    }


@pytest.mark.parametrize("since", [1, "1", "v1", "@1", "1.0", "returns@1"])
def test_the_baseline_is_any_reference_to_a_version(registry: sm.Registry, since: int | str) -> None:
    assert registry.check("returns", since=since).findings == registry.check("returns@1..4").findings
    assert registry.check("returns@3", since=since).findings == registry.check("returns@1..3").findings


def test_the_baseline_may_be_a_time(registry: sm.Registry) -> None:
    now = registry.check("returns", since="2026-11-21T07:45:24Z")
    assert now.findings == registry.check("returns@3..4").findings
    for wrong in ("", " ", True):
        with pytest.raises(sm.UsageError, match="since is"):
            registry.check("returns", since=wrong)


def test_values_show_themselves_as_html_without_script(registry: sm.Registry) -> None:
    history = registry.history("returns")
    shown = (
        history,
        sm.diff(history[1], history[4]),
        registry.check("returns", since=1),
        registry.show("returns"),
    )
    assert repr(history[2]) == "<SchemaVersion 2, id 316cf36bb3bb, provisional: 4 columns, 1 record>"
    for value in shown:
        html = value._repr_html_()
        assert html.startswith('<div class="schemaman">')
        assert "<script" not in html
        assert len(repr(value)) < 120


def test_names_in_html_are_escaped() -> None:
    old = sm.TableSchema((sm.Column("<script>alert(1)</script>", sm.types.Integer(32)),))
    html = sm.diff(old, sm.TableSchema(()))._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_hints_name_the_distribution_and_no_other_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == DISTRIBUTION
    assert install_hint("spark") == f"pip install '{DISTRIBUTION}[spark]'"
    pages = [ROOT / "README.md", ROOT / "pyproject.toml", *(ROOT / "docs").rglob("*.md")]
    for folder in ("schemaman", "cli", "examples"):
        pages += [p for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".md")]
    assert [str(p) for p in pages if re.search(r"\bschemaman\[", p.read_text(encoding="utf-8"))] == []


def test_the_demo_says_how_to_go_on_typing_the_command(tmp_path: Path) -> None:
    scripts = tmp_path / ".venv" / "bin"
    scripts.mkdir(parents=True)
    for name in ("python", "schemaman", "activate"):
        (scripts / name).touch()
    told = describe_command(scripts / "python", tmp_path, None)
    assert told == "To continue, type `. .venv/bin/activate`, then `schemaman …`; or .venv/bin/schemaman …"
    assert describe_command(scripts / "python", tmp_path / "x", None).endswith(f"or {scripts}/schemaman …")
    assert describe_command(scripts / "python", tmp_path, str(scripts / "schemaman")) == ""
