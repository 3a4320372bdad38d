"""What is said when Spark cannot start: one line, and what to do."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException

from schemaman.errors import EngineUnavailable, StatementConflict
from schemaman.spark.session import require_java, select_launch_settings
from schemaman.spark.sql_errors import make_failure
from tests.support.checkout import ROOT


def java(folder: Path, script: str) -> Path:
    """A folder like JAVA_HOME, with a `java` that does what the script says."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return folder


def test_a_missing_java_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineUnavailable, match="no java on the PATH") as caught:
        require_java()
    assert "JAVA_HOME" in (caught.value.hint or "")
    assert "\n" not in caught.value.message


def test_a_wrong_java_home_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineUnavailable, match=f"JAVA_HOME={tmp_path} has no bin/java"):
        require_java()


@pytest.mark.parametrize(("told", "number"), [('version "1.8.0_292"', "8"), ('version "11.0.2"', "11")])
def test_an_old_java_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: str, number: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, f"echo 'openjdk {told}' >&2")))
    with pytest.raises(EngineUnavailable, match=rf"Java 17 or newer, but .* is {number}"):
        require_java()


def test_a_java_that_does_not_run_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, "exit 3")))
    with pytest.raises(EngineUnavailable, match="exit code 3"):
        require_java()


@pytest.mark.parametrize("version", ["17.0.15", "21", "25-ea"])
def test_a_java_that_is_new_enough_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    home = java(tmp_path, f"echo 'openjdk version \"{version}\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert require_java() == str(home / "bin" / "java")


def test_without_pyspark_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from schemaman.errors import EngineUnavailable\n"
        "try:\n    import schemaman.spark.session\n"
        "except EngineUnavailable as error:\n    sys.exit(error.message + ' / ' + error.hint)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "this needs Spark" in told.stderr
    assert told.stderr.rstrip().endswith("pip install 'schemaman-cdc[spark]'")


def test_a_jvm_that_dies_leaves_its_last_words(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom schemaman.errors import EngineUnavailable\n"
        "from schemaman.spark.session import start_session\n"
        f"try:\n    start_session(warehouse={str(tmp_path)!r}, settings={{'spark.driver.memory': '1k'}})\n"
        "except EngineUnavailable as error:\n    sys.exit(error.message)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Spark did not start" in told.stderr
    assert "heap" in told.stderr
    assert (told.returncode, told.stdout) == (1, "")


def test_no_secret_becomes_a_word_of_a_command_line() -> None:
    settings = {
        "spark.master": "local[2]",
        "spark.sql.catalog.lake.uri": "https://catalog.example",
        "spark.sql.catalog.lake.credential": "who:what",
        "spark.sql.catalog.lake.jdbc.password": "p",
        "spark.hadoop.fs.s3a.secret.key": "s",
    }
    assert list(select_launch_settings(settings)) == ["spark.master", "spark.sql.catalog.lake.uri"]


@pytest.mark.parametrize(
    "address", ["jdbc:postgresql://db/ice?user=me&password=%s&x=1", "jdbc:mysql://me:%s@db/ice"]
)
def test_what_a_catalogue_says_of_its_address_shows_no_password(address: str) -> None:
    told = f"Failed to connect: {address % 'hunter2'}, as me@example.org asked"
    message = make_failure(AnalysisException(told), "inspect ice.raw.t").message
    assert "hunter2" not in message
    assert message.startswith("inspect ice.raw.t: Failed to connect: jdbc:")
    assert message.endswith(", as me@example.org asked")


def test_ctrl_c_is_no_business_of_pyspark(spark) -> None:
    """Its handler talks to the JVM while the main thread does, which fails and hides the interruption."""
    assert getattr(signal.getsignal(signal.SIGINT), "__module__", "") != "pyspark.core.context"


@pytest.mark.parametrize(
    ("text", "may_try_again"),
    [
        ('because the return value of "org.apache.spark.sql.execution.SparkPlan.session()" is null', True),
        ("org.apache.iceberg.exceptions.CommitFailedException: Cannot commit", True),
        ('because the return value of "org.example.Reader.session()" is null', False),
    ],
)
def test_a_statement_whose_fault_passes_may_be_tried_again(text: str, may_try_again: bool) -> None:
    failure = make_failure(AnalysisException(f"Job aborted: java.lang.NullPointerException: {text}"), "MERGE")
    assert isinstance(failure, StatementConflict) is may_try_again
