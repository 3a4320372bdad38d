"""A reader of real lake tables in a thread of its own, while a sink changes them, and streams for it.

A reading has the values of each living row by the lake table of its source, whatever column or successor has
them, as `tests.support.lake_reader` says.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from schemaman.debezium.records import Record
from schemaman.history.decisions import Decisions
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.store.sql.store import SqlStore
from tests.support.killed_sink import Batch, Way
from tests.support.lake_reader import Reading

_CHANGED = "INCOMPATIBLE_TABLE_CHANGE_AFTER_ANALYSIS"
"""What Spark 4.1 says where a table changes between the analysis of a query and its execution: ask again."""

Rows = dict[tuple[str, Any], Counter[tuple[str, ...]]]


@dataclass(frozen=True)
class LakeFolder:
    """The lake tables of one test: a namespace of Iceberg, or a folder of Delta tables.

    `moves`: rows may come under another name, so that all tables are read as one. `tables` are those that
    are read; without any, all.
    """

    format: str
    place: str
    views: str = ""
    moves: bool = False
    tables: tuple[str, ...] = ()

    def list_tables(self, spark: SparkSession) -> dict[str, str]:
        """The tables by their names in SQL, with the name of the source table."""
        if self.format == "delta":
            logs = Path(self.place).glob("*/_delta_log/00000000000000000000.json")
            return {f"delta.`{log.parents[1]}`": log.parents[1].name.partition("__")[0] for log in logs}
        listed = spark.sql(f"SHOW TABLES IN {self.place}").collect()
        names = [row.tableName for row in listed if not self.tables or row.tableName in self.tables]
        return {f"{self.place}.`{name}`": name.partition("__")[0] for name in names}

    def list_views(self, spark: SparkSession) -> dict[str, str]:
        """The views by their names in SQL, with the name of the source table."""
        listed = spark.sql(f"SHOW VIEWS IN {self.views}").collect() if self.views else []
        return {f"{self.views}.`{row.viewName}`": row.viewName for row in listed}

    def read(self, spark: SparkSession, moment: str) -> Reading:
        """Read the tables of each source; all as one where rows move. Raises `PySparkException`."""
        rows, tables = Rows(), self.list_tables(spark)
        for name, source in tables.items():
            _add_rows(rows, "" if self.moves else source, spark.sql(f"SELECT * FROM {name}").collect())
        return Reading(moment, rows, frozenset(tables.values()))

    def read_views(self, spark: SparkSession, moment: str) -> Reading:
        """Read the views that can be read: others are about to be made again."""
        rows, names = Rows(), set[str]()
        for name, source in self.list_views(spark).items():
            try:
                _add_rows(rows, source, spark.sql(f"SELECT * FROM {name}").collect())
            except PySparkException:
                continue
            names.add(source)
        return Reading(moment, rows, frozenset(names))


def _add_rows(rows: Rows, where: str, found: Sequence[Row]) -> None:
    for row in found:
        named = row.asDict(recursive=True)
        if not named.get("_row_deleted"):
            values = tuple(sorted(_list_values(named)))
            rows.setdefault((where, named["id"]), Counter())[values] += 1


def _list_values(row: Mapping[str, Any]) -> Iterator[str]:
    """The values of a row as text, also those of nested fields, without those of the sink's own columns."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _list_values(value)
        elif value is not None and not name.startswith("_row_"):
            yield str(value)


@dataclass
class MeanwhileReader:
    """Reads again and again in a thread, between `with` and its end.

    `is_expected` tells which faults of a query a reader has to expect: it reads again then.
    """

    spark: SparkSession
    lake: LakeFolder
    is_expected: Callable[[str], bool] = lambda _: False
    readings: list[Reading] = field(default_factory=list)
    views: list[Reading] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def __enter__(self) -> MeanwhileReader:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(self.spark.newSession(),), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _read(self, session: SparkSession) -> None:
        while True:
            is_last, moment = self._over.is_set(), f"reading {len(self.readings)}"
            try:
                self.readings.append(self.lake.read(session, moment))
                self.views.append(self.lake.read_views(session, moment))
            except PySparkException as error:
                if _CHANGED not in str(error) and not self.is_expected(str(error)):
                    self.faults.append(str(error))
                    return
                continue
            if is_last:
                return


def merge_ways(ways: Mapping[str, Way]) -> tuple[Batch, ...]:
    """Streams of one table `t` as one stream, in which each has a table of its own: w0, w1 and so on."""
    batches = [way.batches for way in ways.values()]
    count = max(map(len, batches))
    merged = (_merge_batches(batches, number) for number in range(count))
    return tuple(batch for batch in merged if batch.records)


def _merge_batches(ways: Sequence[Sequence[Batch]], number: int) -> Batch:
    current = [batches[min(number, len(batches) - 1)] for batches in ways]
    records = [
        _rename_table(record, f"w{at}")
        for at, (batches, batch) in enumerate(zip(ways, current, strict=True))
        if number < len(batches)
        for record in batch.records
    ]

    def decide(store: SqlStore) -> Decisions:
        found = Decisions()
        for at, batch in enumerate(current):
            own = _OneTable(store, f"w{at}")
            made = batch.decide(own) if own.tables() else Decisions()  # type: ignore[arg-type]
            found = replace(found, renames=(*found.renames, *made.renames))
        return found

    return Batch(records, decide)


def _rename_table(record: Record, name: str) -> Record:
    """A record of the table t as one of another table."""

    def rename(text: bytes | None) -> bytes | None:
        if text is None:
            return None
        text = text.replace(b"srv.public.t.", f"srv.public.{name}.".encode())
        return text.replace(b'"table": "t"', f'"table": "{name}"'.encode())

    return replace(record, topic=f"srv.public.{name}", key=rename(record.key), value=rename(record.value))


@dataclass(frozen=True)
class _OneTable:
    """A store in which there is one table alone."""

    store: SqlStore
    name: str

    def tables(self) -> tuple[TableId, ...]:
        return tuple(table for table in self.store.tables() if table.table == self.name)

    def history(self, table: TableId) -> TableHistory | None:
        return self.store.history(table)
