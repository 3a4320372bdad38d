"""Starting is quick: what a command does not need is not imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "sqlalchemy",
    "jinja2",
    "pyspark",
    "sqlglot",
    "fastavro",
    "pyarrow",
    "pandas",
    "zstandard",
    "jsonschema",
)
ENTRY = "from schemaman_cli.main import main; raise SystemExit(main({arguments!r}))"


def modules_after(code: str) -> set[str]:
    ending = "except SystemExit as exit: assert not exit.code\nprint(*sys.modules, file=sys.stderr)"
    probe = f"import sys\ntry:\n    {code}\n{ending}"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["config", "show"], ["schema", "history"], ["completion", "bash"]],
)
def test_a_start_loads_no_client_library(arguments: list[str]) -> None:
    loaded = modules_after(ENTRY.format(arguments=arguments))
    assert "click" in loaded
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.parametrize("verb", ["apply", "drift", "ingest", "plan", "report"])
def test_help_of_a_command_loads_no_engine(verb: str) -> None:
    loaded = modules_after(ENTRY.format(arguments=[verb, "--help"]))
    assert loaded.isdisjoint(["pyspark", "py4j", "pyarrow", "pandas", "jinja2", "zstandard"])
    if verb == "ingest":
        judging = ("gate", "counterexample", "avro.resolution", "rules")
        assert loaded.isdisjoint(["http.server", *(f"schemaman.compat.{name}" for name in judging)])


def test_a_check_of_tables_loads_no_planner_and_no_parser() -> None:
    loaded = modules_after(ENTRY.format(arguments=["check", "--help"]))
    parts = (
        "sink",
        "ingest",
        "migration.planner",
        "history.fold.fold",
        "io.registry_client",
        "api.checking_branch",
    )
    assert loaded.isdisjoint(f"schemaman.{part}" for part in parts)
    assert loaded.isdisjoint(["sqlglot", "jinja2", "httpx2", "pyspark"])


def test_import_schemaman_loads_no_third_party_package() -> None:
    bare, loaded = modules_after("pass"), modules_after("import schemaman")
    news = {name.partition(".")[0] for name in loaded - bare}
    assert news <= set(sys.stdlib_module_names) | {"schemaman"}
