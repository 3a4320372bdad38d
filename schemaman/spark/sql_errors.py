"""Classify a failed statement: table absent, commit conflict, or refused; for both kinds of sessions.

A classic session raises Java's exception, Spark Connect an error of its own whose text has the Java class.
Delta and Spark give a condition, Iceberg only a class and a text.
"""

from __future__ import annotations

import re

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from schemaman.errors import CouldNotDo, SessionLost, StatementConflict, StatementFailed
from schemaman.spark.versions import read_condition
from schemaman.store.urls import without_secrets

RAISED = (PySparkException, Py4JError, ConnectionError)
"""The errors of a session for a failed statement; once the JVM has stopped, py4j raises a socket error."""
_UNAVAILABLE = "StatusCode.UNAVAILABLE"
"""The status that Spark Connect gives for a server that does not answer. Source: gRPC's status codes."""

_DETAILS = re.compile(r'^<\w*Rendezvous.*?^\s*details = "(.*?)"$', re.MULTILINE | re.DOTALL)
_ABSENT = frozenset({
    "TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE",
    "PATH_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST",
})  # fmt: skip
# Iceberg's JDBC catalogue of layout V0 answers so once the table is known to be missing.
_ABSENT_WORDS = ("JDBC catalog is initialized without view support",)
_CONFLICTS = (
    "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED", "DELTA_CONCURRENT_", "CommitFailedException",
    "Found conflicting files", "Found new conflicting delete files", "[SQLITE_BUSY]",
)  # fmt: skip
"""What a failed commit says. Sources: Iceberg 1.11 `MergingSnapshotProducer`; SQLite's result codes."""
_LOST_METRICS = '"org.apache.spark.sql.execution.SparkPlan.session()" is null'
"""What a wide MERGE says now and then on Spark 4.1, which makes its metrics in a task; nothing is committed.

Source: SPARK-52403, which gave `MergeRowsExec` metrics that are made when they are first asked for.
"""


def is_absent(error: Exception) -> bool:
    """Whether the table, or the namespace that it should be in, is not there."""
    if isinstance(error, PySparkException) and read_condition(error) in _ABSENT:
        return True
    return any(words in str(error) for words in _ABSENT_WORDS)


def find_condition(error: Exception) -> str:
    """The error's condition without its second part; empty where it has none."""
    condition = read_condition(error) if isinstance(error, PySparkException) else None
    return (condition or "").split(".")[0]


def make_failure(error: Exception, statement: str) -> StatementFailed:
    """The error as one line: its condition, or the Java class where the format gives none."""
    condition = read_condition(error) if isinstance(error, PySparkException) else None
    text = _find_text(error)
    line = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    if condition and condition.split(".")[0] not in line:
        line = f"[{condition}] {line}"
    if isinstance(error, Py4JNetworkError | ConnectionError) or _UNAVAILABLE in str(error):
        message = f"{_abbreviate_statement(statement)}: Spark has stopped: {without_secrets(line)}"
        return SessionLost(message, hint="start again: completed steps are known and are not repeated")
    passing = (*_CONFLICTS, _LOST_METRICS)
    kind = StatementConflict if any(word in f"{condition} {text}" for word in passing) else StatementFailed
    # An unreachable catalogue is named by its address, which may contain secrets.
    return kind(f"{_abbreviate_statement(statement)}: {without_secrets(line)}")


def make_job_failure(error: Exception, work: str, hint: str | None = None) -> CouldNotDo:
    """The error of a job: the text of Spark, or the first line of a Java error, as of a killed worker."""
    java = isinstance(error, Py4JJavaError)
    text = next(iter(_find_text(error).splitlines()), "") if java else str(error)
    return CouldNotDo(f"the Spark job that {work} failed: {without_secrets(text)}", hint=hint)


def _find_text(error: Exception) -> str:
    if isinstance(error, Py4JJavaError):
        java = error.java_exception
        return f"{java.getClass().getSimpleName()}: {java.getMessage()}"
    # Spark Connect gives the whole call for an unknown error; its details are the message of the server.
    details = _DETAILS.search(str(error))
    return details[1] if details else str(error)


def _abbreviate_statement(statement: str) -> str:
    line = statement.splitlines()[0]
    return line if len(line) <= 200 else f"{line[:197]}..."
