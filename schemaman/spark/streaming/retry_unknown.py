"""Retries records that could not be decoded on arrival, once the history has more facts.

Law: an unknown record only moves to the quarantine of its own tables, from where it is written before newer
ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.registry import RegistryStore
from schemaman.sink.reread import hash_reading
from schemaman.spark.streaming.decoded import decode_batch
from schemaman.spark.streaming.micro_batch import copy_records
from schemaman.spark.streaming.progress import StreamProgress
from schemaman.spark.streaming.quarantine import UNKNOWN_TABLE, Quarantine, QuarantinedTable
from schemaman.spark.streaming.row_staging import ReadingContext, format_table
from schemaman.spark.streaming.sink_table import SinkTable

RETRY_REASON = "it could not be decoded when it arrived, and is to be written now"
"""The reason of a record on its way from the unknown records into its table."""

NO_TARGET_REASON = "it could not be decoded when it arrived, and no target of this job includes its table"
"""The reason of a record whose table no target of this job has."""

Histories = Mapping[TableId, TableHistory]


@dataclass(slots=True)
class UnknownRecords:
    """Retries the unknown records of a stream whenever the reading of a table of their topics changes."""

    store: RegistryStore
    quarantine: Quarantine
    stream: str
    small: int
    load_histories: Callable[[Iterable[TableId]], Histories]
    make_reading: Callable[[Histories], ReadingContext]
    list_sink_tables: Callable[[TableId], Sequence[SinkTable]]
    progress: StreamProgress
    last_attempt: object = field(default=None, init=False)

    def retry_records(
        self, spark: SparkSession, quarantined: Iterable[QuarantinedTable], attempt: str
    ) -> bool:
        """Hand records over to their tables; return whether any record was tried.

        Raises `StatementFailed`: the quarantine cannot be written.
        """
        unknown = next((each for each in quarantined if each.lake_table == UNKNOWN_TABLE), None)
        if unknown is None or not self.quarantine.keep_bytes:
            return False
        records = self.quarantine.read_records(spark, self.stream, unknown)
        histories = self.load_histories(self._find_tables(records))
        now = (unknown.records, {table: hash_reading(history) for table, history in histories.items()})
        if now == self.last_attempt:
            return False
        self._hand_over(spark, records, histories, attempt)
        self.quarantine.release_records(spark, self.stream, unknown)
        self.last_attempt = now
        return True

    def _find_tables(self, records: DataFrame) -> set[TableId]:
        topics = [row["topic"] for row in records.select("topic").distinct().collect()]
        tables = (table for topic in topics for table in self.store.find_by_alias(topic))
        return {table for table in tables if table.stream == self.stream}

    def _hand_over(self, spark: SparkSession, records: DataFrame, histories: Histories, attempt: str) -> None:
        """Quarantine readable records for their tables; the others stay, with the present reason."""
        rows = decode_batch(spark, copy_records(records, self.small), self.make_reading(histories))
        texts = {format_table(table): table for table in histories}
        try:
            self.progress.add_orders((texts[reach[0]], *reach[1:]) for reach in rows.find_progress())
            for text in rows.count_records():
                if text is None:
                    self.quarantine.add_records(
                        rows.select_rejected(), self.stream, UNKNOWN_TABLE, "", attempt
                    )
                    continue
                sink_tables = self.list_sink_tables(texts[text])
                for sink_table in sink_tables:
                    waiting = rows.select_table(text).give_reason(RETRY_REASON)
                    self.quarantine.add_records(waiting, self.stream, sink_table.lake_table, text, attempt)
                if not sink_tables:
                    others = rows.select_table(text).give_reason(NO_TARGET_REASON)
                    self.quarantine.add_records(others, self.stream, UNKNOWN_TABLE, "", attempt)
        finally:
            rows.release()
