"""A Spark session as a user starts it, without anything of ours: `python -m tests.spark.own_session FOLDER`.

Prints what a migration would be told in it, a line each, and last whether a setting of it has changed.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from schemaman.errors import EngineUnavailable
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.session import start_session


def main(folder: str) -> None:
    """Ask for tables of both formats, with literals as they should be and otherwise."""
    own = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    before = own.conf.getAll
    assert (
        start_session(warehouse=f"{folder}/never made", settings={"spark.sql.ansi.enabled": "false"}) is own
    )
    executor = SparkExecutor(own)
    told = [
        _told(executor, *asked) for asked in (("/a/path", "delta"), ("a.b", "delta"), ("ice.a.b", "iceberg"))
    ]
    told.append("unchanged" if own.conf.getAll == before else "changed")
    own.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    told.append(_told(executor, "/a/path", "delta"))
    sys.stdout.write("\n".join(told))
    own.stop()


def _told(executor: SparkExecutor, table: str, format: str) -> str:
    try:
        return f"found {executor.inspect(table, format)}"
    except EngineUnavailable as error:
        return f"{error.message} | {error.hint}"


if __name__ == "__main__":
    main(*sys.argv[1:])
