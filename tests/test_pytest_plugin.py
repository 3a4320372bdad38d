"""The fixture `assert_compatible`, as a project uses it; loading its module costs nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from schemaman.api.pytest_plugin import _assert_compatible as assert_compatible
from tests.cli.test_check_branch import CHANGES, make_repository


def test_it_loads_nothing_until_a_test_uses_it() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import schemaman.api.pytest_plugin\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in told.stdout.split() if name.partition(".")[0] not in sys.stdlib_module_names}
    assert loaded == {
        "schemaman", "schemaman.api", "schemaman.api.pytest_plugin", "schemaman.errors", "schemaman.plugins"
    }  # fmt: skip


def test_a_branch_and_a_pair_of_files_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_repository(tmp_path, "", CHANGES["drop"][0]))
    with pytest.raises(pytest.fail.Exception, match="column-dropped"):
        assert_compatible()
    assert_compatible(against="git:pr")
    assert_compatible("schemas", base="pr")
    assert_compatible(fail_on="off")
    Path("a.ddl").write_text("id INT")
    Path("b.ddl").write_text("id BIGINT")
    assert_compatible("a.ddl", against="file:a.ddl")
    with pytest.raises(pytest.fail.Exception, match="integer-narrowed"):
        assert_compatible("a.ddl", against="file:b.ddl")


def test_a_run_of_pytest_reports_what_breaks(tmp_path: Path) -> None:
    folder = make_repository(tmp_path, "", CHANGES["drop"][0])
    (folder / "test_schemas.py").write_text(
        "def test_branch(assert_compatible):\n    assert_compatible('schemas')\n"
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "schemaman.api.pytest_plugin"]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(words, cwd=folder, env=alone, capture_output=True, text=True)
    assert done.returncode == 1
    assert "✗ break: column-dropped  shop.public.orders.name" in done.stdout
