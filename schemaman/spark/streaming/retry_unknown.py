"""Finds the tables of records that nobody understood when they came, once a history tells more.

Law: a record leaves those that nobody understood only for the quarantine of its own tables, from where it is
written before newer ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.registry import Memory
from schemaman.sink.reread import reading_of
from schemaman.spark.streaming.decoded import decoded
from schemaman.spark.streaming.micro_batch import apart
from schemaman.spark.streaming.progress import Reached
from schemaman.spark.streaming.quarantine import UNPLACED, Held, Quarantine
from schemaman.spark.streaming.row_staging import Reading, table_text
from schemaman.spark.streaming.table_migration import Follower

PLACED = "it was not understood when it came, and is to be written now"
"""The reason of a record on its way from those that nobody understood into its table."""

UNFOLLOWED = "it was not understood when it came, and no target of this job follows its table"
"""The reason of a record that is left for whoever follows its table."""

Histories = Mapping[TableId, TableHistory]


@dataclass(slots=True)
class Placing:
    """Tries records of a stream again whenever a table of their topics is read otherwise than before."""

    store: Memory
    quarantine: Quarantine
    stream: str
    small: int
    histories: Callable[[Iterable[TableId]], Histories]
    reading: Callable[[Histories], Reading]
    followers: Callable[[TableId], Sequence[Follower]]
    reached: Reached
    tried: object = field(default=None, init=False)

    def place(self, spark: SparkSession, held: Iterable[Held], attempt: str) -> bool:
        """Hand records over to the tables that they are of; whether there was anything to try.

        Raises `StatementFailed`: the quarantine cannot be written.
        """
        unplaced = next((each for each in held if each.lake_table == UNPLACED), None)
        if unplaced is None or not self.quarantine.keep_bytes:
            return False
        records = self.quarantine.records(spark, self.stream, unplaced)
        histories = self.histories(self._tables(records))
        now = (unplaced.records, {table: reading_of(history) for table, history in histories.items()})
        if now == self.tried:
            return False
        self._hand_over(spark, records, histories, attempt)
        self.quarantine.release(spark, self.stream, unplaced, attempt)
        self.tried = now
        return True

    def _tables(self, records: DataFrame) -> set[TableId]:
        topics = [row["topic"] for row in records.select("topic").distinct().collect()]
        told = (table for topic in topics for table in self.store.aliased(topic))
        return {table for table in told if table.stream == self.stream}

    def _hand_over(self, spark: SparkSession, records: DataFrame, histories: Histories, attempt: str) -> None:
        """What is understood now waits for its tables; what is not stays, with the reason of today."""
        rows = decoded(spark, apart(records, self.small), self.reading(histories))
        texts = {table_text(table): table for table in histories}
        try:
            self.reached.understood((texts[told[0]], *told[1:]) for told in rows.reached())
            for text in rows.counted():
                if text is None:
                    self.quarantine.add(rows.rejected(), self.stream, UNPLACED, "", attempt)
                    continue
                followers = self.followers(texts[text])
                for follower in followers:
                    waiting = rows.of(text).whole(PLACED)
                    self.quarantine.add(waiting, self.stream, follower.lake_table, text, attempt)
                if not followers:
                    others = rows.of(text).whole(UNFOLLOWED)
                    self.quarantine.add(others, self.stream, UNPLACED, "", attempt)
        finally:
            rows.done()
