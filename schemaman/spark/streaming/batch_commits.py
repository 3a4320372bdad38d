"""Which batches a lake table already contains, by the metadata of its commits.

Law: a batch is left out only where the table records a batch of this number with these very offsets. A batch
whose number was used before by other records is written by the order of its rows alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from pyspark.sql import SparkSession

from schemaman.migration.properties.names import BATCH_PROPERTY
from schemaman.spark.spark_format import SPARK_FORMATS, SparkFormat
from schemaman.store.edge_hashes import Extents

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
    """The batches of one query in a table, and their highest number."""

    batches: set[tuple[int, str]]
    highest: int = -1


class BatchCommits:
    """The batches that tables contain; the commits of a table are read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _KnownBatches] = {}

    def find_state(self, spark: SparkSession, format: str, table: str, batch: StreamBatch) -> CommitState:
        """Whether a table (named as in SQL) contains a batch. Raises `StatementFailed`."""
        on_spark = SPARK_FORMATS.get(format)
        known = self._known.get((table, batch.app)) or self._read_known(spark, on_spark, table, batch.app)
        if (batch.number, batch.offsets) in known.batches:
            return "written"
        return "used" if on_spark.numbers_rise and batch.number <= known.highest else "new"

    @contextmanager
    def set_commit_metadata(
        self, spark: SparkSession, format: str, table: str, batch: StreamBatch | None, state: CommitState
    ) -> Iterator[None]:
        """Set the settings under which a commit records its batch; `batch` None records none."""
        if batch is None:
            yield
            return
        # Cached again only after the write has succeeded: a failed write may have committed.
        known = self._known.pop((table, batch.app), None)
        highest = max(batch.number, -1 if known is None else known.highest)
        on_spark = SPARK_FORMATS.get(format)
        settings = on_spark.make_commit_settings(batch.commit_metadata, highest, state == "used")
        with _set_settings(spark, settings):
            yield
        if known is not None:
            known.batches.add((batch.number, batch.offsets))
            known.highest = highest
            self._known[table, batch.app] = known

    def _read_known(self, spark: SparkSession, on_spark: SparkFormat, table: str, app: str) -> _KnownBatches:
        recorded = on_spark.read_batches(spark, table, app)
        found = _KnownBatches(
            {(batch.number, batch.offsets) for batch in recorded},
            max((batch.highest for batch in recorded), default=-1),
        )
        self._known[table, app] = found
        return found


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
