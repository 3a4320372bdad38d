"""The Spark session of a small run: what it saves over ten rows. A proof has the session that users have."""

from __future__ import annotations

from typing import Any

SETTINGS = {
    # To compile a query costs more than to run it over ten rows.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    # Spark describes each plan for a page that nobody opens.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "0",
    "spark.databricks.delta.snapshotPartitions": "1",
    # A checksum beside each commit saves a large log from being read.
    "spark.databricks.delta.writeChecksumFile.enabled": "false",
    # Statistics help to skip files: each table here has a few.
    "spark.databricks.delta.stats.collect": "false",
    # Delta's default asks the program `readlink` about each file, in a process of its own.
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
}

JAVA_OPTIONS = " ".join((
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    # The jars are trusted.
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
    # One compiler alone gets 48 MB, fills them and compiles everything again.
    "-XX:ReservedCodeCacheSize=240m",
    "-Xms768m",
    "-Xmn384m",
))  # fmt: skip

_CLASSES = ("PythonUtils", "PythonSQLUtils", "PythonErrorUtils", "SerDeUtil", "functions", "java", "org")


def keep_classes(spark: Any) -> None:
    """Keep what PySpark asks the JVM for with each statement: it looks for each name in hundreds of jars."""
    for name in _CLASSES:
        setattr(spark._jvm, name, getattr(spark._jvm, name))
