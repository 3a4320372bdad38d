"""Starting is quick: what a command does not need is not imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

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


def is_loaded(loaded: set[str], package: str) -> bool:
    return any(f"{name}.".startswith(f"{package}.") for name in loaded)


RECORDING = ROOT / "fixtures" / "captures" / "postgres" / "shop-crash"
NOT_READ = (
    "schemaman.api.checking", "schemaman.api.client_options", "schemaman.api.planning",
    "schemaman.compat.judge", "schemaman.compat.impact", "schemaman.compat.consumers",
    "schemaman.debezium.ddl.event_facts", "schemaman.debezium.ddl.migrations",
    "schemaman.debezium.foreign_formats", "schemaman.debezium.schema_change", "schemaman.digests",
    "schemaman.history.decisions", "schemaman.history.fold.continuation", "schemaman.history.references",
    "schemaman.io.file_parts", "schemaman.io.kafka",
    "schemaman.io.http_client", "schemaman.languages", "schemaman.migration", "schemaman.model.diff",
    "schemaman.resolve", "schemaman.store.sql.postgresql", "schemaman.store.subjects", "schemaman.subjects",
    "fastavro", "sqlglot", "jinja2", "multiprocessing", "tomllib", "httpx2", "confluent_kafka",
)  # fmt: skip
"""What `ingest` of a file of JSON has no use for."""
READ = (
    "msgspec", "schemaman.api.local_reading", "schemaman.debezium.decode", "schemaman.history.fold.fold",
    "schemaman.history.step_facts", "schemaman.ingest.ingest", "schemaman.ingest.chunks",
    "schemaman.store.summary_json",
)  # fmt: skip
"""What only new records need."""


def test_an_ingest_loads_what_it_uses(tmp_path: Path) -> None:
    arguments = ["ingest", str(RECORDING), "--store", f"sqlite:///{tmp_path / 'store.db'}"]
    first, again = (modules_after(ENTRY.format(arguments=arguments)) for _ in range(2))
    assert [name for name in NOT_READ if is_loaded(first | again, name)] == []
    assert [name for name in READ if not is_loaded(first, name) or is_loaded(again, name)] == []


def test_the_version_loads_no_metadata_and_no_values() -> None:
    loaded = modules_after(ENTRY.format(arguments=["--version"]))
    assert loaded.isdisjoint(["importlib.metadata", "dataclasses", "schemaman.settings"])


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
