"""Query lake tables for how far partitions had been read, where neither process nor history knows it.

Law: a record without a position comes after each row of the lake that its partition had brought before it;
where these rows are unknown, it waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as arrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemaman.errors import StatementFailed
from schemaman.migration.row_columns import ORDER
from schemaman.migration.spark_sql import literal
from schemaman.migration.successor import list_successors
from schemaman.migration.target import TARGETS
from schemaman.model.schema import TableId
from schemaman.sink.progress import OrderAmbiguity
from schemaman.sink.row_order import UNPOSITIONED, parse_offset, parse_order
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.streaming.decoded import AmbiguousRecord, DecodedBatch, decode_batch
from schemaman.spark.streaming.micro_batch import gather_rows
from schemaman.spark.streaming.progress import StreamProgress
from schemaman.spark.streaming.quarantine import Quarantine, QuarantinedTable
from schemaman.spark.streaming.row_staging import ReadingContext, RecordDecoder, format_table, parse_table
from schemaman.spark.streaming.sink_table import SinkTable


@dataclass(frozen=True, slots=True)
class OrderQuery:
    """A query for a table's orders of a partition: the greatest before each of some increasing offsets.

    Only orders greater than `least` are queried. The query also finds whether rows after a delete without a
    position were already written before a crash: rows of this batch may have overwritten all earlier ones.
    """

    table: TableId
    topic: str
    partition: int
    offsets: tuple[int, ...]
    least: str

    @property
    def unpositioned_prefix(self) -> str:
        """The prefix of orders after a delete at the position of `least`; empty if there is no delete."""
        return f"{parse_order(self.least)[0]}/{UNPOSITIONED}/{self.partition:06d}." if self.least else ""

    def select_orders(self, orders: Iterable[str]) -> Iterator[str]:
        """Select the orders before the offsets among the found ones."""
        for order in orders:
            if parse_offset(order) < self.offsets[-1]:
                yield order
            elif self.unpositioned_prefix and order.startswith(self.unpositioned_prefix):
                yield f"{self.unpositioned_prefix}{max(self.offsets[0] - 1, 0):020d}"


def resolve_ambiguity(
    reading: ReadingContext,
    found: Sequence[AmbiguousRecord],
    ask: Callable[[OrderQuery], Iterable[str] | None],
) -> ReadingContext:
    """Resolve ambiguous orders by queries; `ask` gives None for an unknown answer."""
    offsets_by_partition: dict[tuple[str, str, int], list[int]] = {}
    for text, topic, partition, offset in found:
        offsets_by_partition.setdefault((text, topic, partition), []).append(offset)
    read_orders, asked = dict(reading.read_orders), set()
    for (text, topic, partition), those in offsets_by_partition.items():
        offsets = tuple(sorted(those))
        table = parse_table(text)
        if table is None or len(reading.histories[table].topics) > 1:
            continue  # orders of rows do not contain topics
        known = read_orders.get((table, topic, partition), ())
        least = max((order for order in known if parse_offset(order) < offsets[0]), default="")
        question = OrderQuery(table, topic, partition, offsets, least)
        orders = ask(question)
        if orders is not None:
            read_orders[table, topic, partition] = sorted(
                {*known, *question.select_orders(orders)}, key=parse_offset
            )
            asked |= {(topic, partition, offset) for offset in offsets}
    return replace(
        reading,
        read_orders=read_orders,
        ambiguity=replace(reading.ambiguity or OrderAmbiguity(), queried_offsets=frozenset(asked)),
    )


@dataclass(frozen=True, slots=True)
class LakeDecoder:
    """Decodes records, and queries the lake for those with an ambiguous order."""

    quarantine: Quarantine
    stream: str
    small: int
    list_sink_tables: Callable[[TableId], Sequence[SinkTable]]
    progress: StreamProgress

    def decode_batch(
        self,
        spark: SparkSession,
        raw: DataFrame | arrow.Table,
        reading: ReadingContext,
        waiting: Mapping[tuple[str, str], QuarantinedTable] | None,
    ) -> DecodedBatch:
        """Decode the records of a batch, after those of `waiting`; None if these records are waiting ones."""
        ambiguity = self.progress.find_ambiguity(reading.histories, gaps=waiting is None)
        rows = decode_batch(spark, raw, replace(reading, ambiguity=ambiguity))
        found = rows.find_ambiguous()
        if not found:
            return rows
        rows.release()

        def ask(question: OrderQuery) -> Iterable[str] | None:
            try:
                return self._query_lake(spark, question, reading, waiting or {})
            except StatementFailed:
                return None  # a table that cannot be read stops, or its doubted records wait

        return decode_batch(spark, raw, resolve_ambiguity(replace(reading, ambiguity=ambiguity), found, ask))

    def _query_lake(
        self,
        spark: SparkSession,
        question: OrderQuery,
        reading: ReadingContext,
        waiting: Mapping[tuple[str, str], QuarantinedTable],
    ) -> list[str] | None:
        """The orders that lake tables and the quarantine have. Raises `StatementFailed`."""
        executor, orders = SparkExecutor(spark), list[str]()
        for sink_table in self.list_sink_tables(question.table):
            format = sink_table.target.format
            inspect, source = partial(executor.inspect, format=format), str(sink_table.table)
            for each in list_successors(inspect, sink_table.lake_table, source):
                if ORDER in each.lake.schema.names:
                    name = TARGETS.get(format).table_name(each.address)
                    found = executor.query(format_order_query(name, question))
                    orders += (str(order) for (order,) in found if order is not None)
            quarantined = waiting.get((sink_table.lake_table, format_table(question.table)))
            if quarantined is not None and self.quarantine.keep_bytes:
                waiting_orders = self._query_quarantine(spark, question, reading, quarantined)
                if waiting_orders is None:
                    return None
                orders += waiting_orders
        return orders

    def _query_quarantine(
        self,
        spark: SparkSession,
        question: OrderQuery,
        reading: ReadingContext,
        quarantined: QuarantinedTable,
    ) -> list[str] | None:
        """The orders of records in quarantine before the last of the offsets; None if there are too many."""
        mine = (F.col("topic") == question.topic) & (F.col("partition") == question.partition)
        records = self.quarantine.read_records(spark, self.stream, quarantined)
        few = gather_rows(records.where(mine & (F.col("offset") < question.offsets[-1])), self.small)
        if few is None:
            return None
        rows = RecordDecoder(reading)(few.sort_by("offset").to_batches())
        return [order for batch in rows for order in batch["row_order"].to_pylist() if order is not None]


def format_order_query(name: str, question: OrderQuery) -> str:
    """The statement that asks a table, named as SQL writes it, for orders."""
    partition = f"CAST(substring_index(substring_index(`{ORDER}`, '/', -1), '.', 1) AS INT)"
    offset = f"CAST(substring_index(`{ORDER}`, '.', -1) AS BIGINT)"
    before = f"size(filter(array({', '.join(f'{n}L' for n in question.offsets)}), n -> n <= {offset}))"
    newer = f"SELECT max(`{ORDER}`) FROM {name} WHERE `{ORDER}` > {literal(question.least)} AND"
    mine = f"{partition} = {question.partition} AND {offset} < {question.offsets[-1]} GROUP BY {before}"
    behind = f" UNION ALL {newer} startswith(`{ORDER}`, {literal(question.unpositioned_prefix)})"
    return f"{newer} {mine}" + (behind if question.least else "")
