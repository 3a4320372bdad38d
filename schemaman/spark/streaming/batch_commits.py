"""Which batches a lake table already contains, by the metadata of its commits.

Law: a batch is left out only where the table records a batch of this number with these very offsets. A batch
whose number was used before by other records is written by the order of its rows alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from pyspark.sql import SparkSession

from schemaman.migration.properties.names import BATCH_PROPERTY
from schemaman.migration.spark_sql import literal
from schemaman.spark.sql_errors import RAISED, make_failure
from schemaman.store.edge_hashes import Extents

_ICEBERG_PROPERTY = f"spark.sql.iceberg.snapshot-property.{BATCH_PROPERTY}"
_DELTA_APP = "spark.databricks.delta.write.txnAppId"
_DELTA_VERSION = "spark.databricks.delta.write.txnVersion"
_DELTA_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_COMMITS = 1_000
"""How many commits of a Delta table are read; each of ours records the highest number before it."""

CommitState = Literal["new", "written", "used"]
"""Of a batch in a table: `written` is this very batch, `used` its number, or a higher one, by another."""


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """A batch of a query, identified by the query `app` and its number.

    `offsets` is a hash of its first and last offsets: a restored or edited checkpoint gives the same number
    to other records.
    """

    app: str
    number: int
    offsets: str = ""

    @property
    def commit_metadata(self) -> dict[str, object]:
        """The metadata of its commit, by name."""
        return {BATCH_PROPERTY: self.number, "app": self.app, "offsets": self.offsets}


def hash_offsets(extents: Extents) -> str:
    """The first and last offsets of the partitions of a batch, as a hash of them."""
    return sha256(repr(sorted(extents.items())).encode()).hexdigest()[:16]


@dataclass(slots=True)
class _KnownBatches:
    """The batches of one query in a Delta table, and their highest number."""

    batches: set[tuple[int, str]]
    highest: int = -1


class BatchCommits:
    """The batches that tables contain; the log of a Delta table is read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _KnownBatches] = {}

    def find_state(self, spark: SparkSession, format: str, table: str, batch: StreamBatch) -> CommitState:
        """Whether a table (named as in SQL) contains a batch. Raises `StatementFailed`."""
        if format == "iceberg":
            query = (
                f"SELECT 1 FROM {table}.snapshots "
                f"WHERE summary[{literal(BATCH_PROPERTY)}] = "
                f"{literal(_format_json(batch.commit_metadata))} LIMIT 1"
            )
            return "written" if _read_column(spark, query, "1") else "new"
        known = self._known.get((table, batch.app)) or self._read_known(spark, table, batch.app)
        if (batch.number, batch.offsets) in known.batches:
            return "written"
        return "used" if batch.number <= known.highest else "new"

    @contextmanager
    def set_commit_metadata(
        self, spark: SparkSession, format: str, table: str, batch: StreamBatch | None, state: CommitState
    ) -> Iterator[None]:
        """Settings under which a commit records its batch; Delta then refuses to write a batch twice.

        Delta refuses each number that is not greater than the last one, so a `used` one is not passed to it.
        Source: Delta "Idempotent table writes in foreachBatch"; Iceberg "Spark writes", snapshot properties.
        """
        # Cached again only after the write has succeeded: a failed write may have committed.
        known = None if batch is None else self._known.pop((table, batch.app), None)
        with _set_settings(spark, {} if batch is None else _make_settings(format, batch, state, known)):
            yield
        if batch is not None and known is not None:
            known.batches.add((batch.number, batch.offsets))
            known.highest = max(known.highest, batch.number)
            self._known[table, batch.app] = known

    def _read_known(self, spark: SparkSession, table: str, app: str) -> _KnownBatches:
        found = _KnownBatches(set())
        for text in _read_column(spark, f"DESCRIBE HISTORY {table} LIMIT {_COMMITS}", "userMetadata"):
            words = _parse_metadata(text)
            if words.get("app") == app:
                number = int(str(words[BATCH_PROPERTY]))
                found.batches.add((number, str(words.get("offsets"))))
                found.highest = max(found.highest, number, int(str(words.get("highest", -1))))
        self._known[table, app] = found
        return found


def _make_settings(
    format: str, batch: StreamBatch, state: CommitState, known: _KnownBatches | None
) -> dict[str, str]:
    if format == "iceberg":
        return {_ICEBERG_PROPERTY: _format_json(batch.commit_metadata)}
    highest = max(batch.number, known.highest if known is not None else -1)
    words = {_DELTA_METADATA: _format_json({**batch.commit_metadata, "highest": highest})}
    once = {_DELTA_APP: batch.app, _DELTA_VERSION: str(batch.number)}
    return words if state == "used" else {**once, **words}


@contextmanager
def _set_settings(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def _read_column(spark: SparkSession, statement: str, column: str) -> list[str]:
    """A column of the result of a statement, without nulls."""
    try:
        return [str(row[column]) for row in spark.sql(statement).collect() if row[column] is not None]
    except RAISED as error:
        raise make_failure(error, statement) from error


def _parse_metadata(text: str) -> dict[str, object]:
    """The metadata of a commit; empty where the commit is not ours."""
    try:
        words = json.loads(text)
    except ValueError:
        return {}
    return words if isinstance(words, dict) and BATCH_PROPERTY in words else {}


def _format_json(words: dict[str, object]) -> str:
    return json.dumps(words, sort_keys=True)
