"""Asks lake tables how far partitions had been read, where neither this process nor the history knows it.

Law: a record that tells no place stands behind each row of the lake that its partition had brought before it;
where nobody can tell which these are, it waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as arrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemaman.errors import StatementFailed
from schemaman.migration.row_columns import ORDER
from schemaman.migration.spark_sql import literal
from schemaman.model.schema import TableId
from schemaman.sink.progress import Doubts
from schemaman.sink.row_order import BEHIND, offset_in, place_in
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.streaming.decoded import Decoded, Doubted, decoded
from schemaman.spark.streaming.micro_batch import gathered
from schemaman.spark.streaming.progress import Reached
from schemaman.spark.streaming.quarantine import Held, Quarantine
from schemaman.spark.streaming.row_staging import Reading, RecordDecoder, table_named, table_text
from schemaman.spark.streaming.table_migration import Follower


@dataclass(frozen=True, slots=True)
class Question:
    """Which orders a table has of a partition: the greatest before each of some offsets, which go up.

    None that is not greater than `floor` is asked for. And whether rows behind a delete without a place were
    written there already, before a crash: those of this very batch may have overwritten all that came before.
    """

    table: TableId
    topic: str
    partition: int
    offsets: tuple[int, ...]
    floor: str

    @property
    def behind(self) -> str:
        """How orders begin that stand behind a delete at the place of the floor; empty if there is none."""
        return f"{place_in(self.floor)[0]}/{BEHIND}/{self.partition:06d}." if self.floor else ""

    def taken(self, told: Iterable[str]) -> Iterator[str]:
        """The orders before the offsets, of those that were told."""
        for order in told:
            if offset_in(order) < self.offsets[-1]:
                yield order
            elif self.behind and order.startswith(self.behind):
                yield f"{self.behind}{max(self.offsets[0] - 1, 0):020d}"


def answered(
    reading: Reading, found: Sequence[Doubted], ask: Callable[[Question], Iterable[str] | None]
) -> Reading:
    """How records are read once it was asked what is doubted of some; `ask` gives None if nobody can tell."""
    here: dict[tuple[str, str, int], list[int]] = {}
    for text, topic, partition, offset in found:
        here.setdefault((text, topic, partition), []).append(offset)
    past, asked = dict(reading.past), set()
    for (text, topic, partition), those in here.items():
        offsets = tuple(sorted(those))
        table = table_named(text)
        if table is None or len(reading.histories[table].topics) > 1:
            continue  # orders of rows do not tell topics
        known = past.get((table, topic, partition), ())
        floor = max((order for order in known if offset_in(order) < offsets[0]), default="")
        question = Question(table, topic, partition, offsets, floor)
        told = ask(question)
        if told is not None:
            past[table, topic, partition] = sorted({*known, *question.taken(told)}, key=offset_in)
            asked |= {(topic, partition, offset) for offset in offsets}
    return replace(reading, past=past, doubts=replace(reading.doubts or Doubts(), asked=frozenset(asked)))


@dataclass(frozen=True, slots=True)
class Asking:
    """Decodes records, and asks the lake what is doubted of them."""

    quarantine: Quarantine
    stream: str
    small: int
    followers: Callable[[TableId], Sequence[Follower]]
    reached: Reached

    def decoded(
        self,
        spark: SparkSession,
        raw: DataFrame | arrow.Table,
        reading: Reading,
        waiting: Mapping[tuple[str, str], Held] | None,
    ) -> Decoded:
        """The records of a batch, before which those of `waiting` came; None: they are such themselves."""
        doubts = self.reached.doubts(reading.histories, gaps=waiting is None)
        rows = decoded(spark, raw, replace(reading, doubts=doubts))
        found = rows.doubted()
        if not found:
            return rows
        rows.done()

        def ask(question: Question) -> Iterable[str] | None:
            try:
                return self._lake(spark, question, reading, waiting or {})
            except StatementFailed:
                return None  # a table that cannot be read stops, or its doubted records wait

        return decoded(spark, raw, answered(replace(reading, doubts=doubts), found, ask))

    def _lake(
        self,
        spark: SparkSession,
        question: Question,
        reading: Reading,
        waiting: Mapping[tuple[str, str], Held],
    ) -> list[str] | None:
        """The orders that lake tables and the quarantine have. Raises `StatementFailed`."""
        executor, orders = SparkExecutor(spark), list[str]()
        for follower in self.followers(question.table):
            live = executor.inspect(follower.lake_table, follower.target.format)
            if live is not None and ORDER in live.schema.names:
                found = executor.query(greatest(follower.name, question))
                orders += (str(order) for (order,) in found if order is not None)
            held = waiting.get((follower.lake_table, table_text(question.table)))
            if held is not None and self.quarantine.keep_bytes:
                told = self._waiting(spark, question, reading, held)
                if told is None:
                    return None
                orders += told
        return orders

    def _waiting(
        self, spark: SparkSession, question: Question, reading: Reading, held: Held
    ) -> list[str] | None:
        """The orders of records in quarantine before the last of the offsets; None if there are too many."""
        mine = (F.col("topic") == question.topic) & (F.col("partition") == question.partition)
        records = self.quarantine.records(spark, self.stream, held)
        few = gathered(records.where(mine & (F.col("offset") < question.offsets[-1])), self.small)
        if few is None:
            return None
        rows = RecordDecoder(reading)(few.sort_by("offset").to_batches())
        return [order for batch in rows for order in batch["row_order"].to_pylist() if order is not None]


def greatest(name: str, question: Question) -> str:
    """The statement that asks a table, named as SQL writes it, for orders."""
    partition = f"CAST(substring_index(substring_index(`{ORDER}`, '/', -1), '.', 1) AS INT)"
    offset = f"CAST(substring_index(`{ORDER}`, '.', -1) AS BIGINT)"
    before = f"size(filter(array({', '.join(f'{n}L' for n in question.offsets)}), n -> n <= {offset}))"
    newer = f"SELECT max(`{ORDER}`) FROM {name} WHERE `{ORDER}` > {literal(question.floor)} AND"
    mine = f"{partition} = {question.partition} AND {offset} < {question.offsets[-1]} GROUP BY {before}"
    behind = f" UNION ALL {newer} startswith(`{ORDER}`, {literal(question.behind)})"
    return f"{newer} {mine}" + (behind if question.floor else "")
