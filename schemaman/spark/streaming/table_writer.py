"""Write the changes of one table in one commit; records that do not fit are returned with reasons.

Law: a batch that was written already is not written again; a table's batch is one commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as arrow
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemaman.errors import SchemamanError
from schemaman.history.versions import TableHistory
from schemaman.migration.properties.names import TRUNCATED_PROPERTY
from schemaman.migration.spark_sql import set_properties
from schemaman.model.ddl import quote_name
from schemaman.model.schema import Column
from schemaman.sink.progress import ReadOrders
from schemaman.sink.row_mapping import RowMap, fill_truncate_metadata
from schemaman.sink.upsert import TopicOffset
from schemaman.sink.written_rows import list_key_sets
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.sql_errors import RAISED
from schemaman.spark.statements import run_statement
from schemaman.spark.streaming.batch_commits import BatchCommits, CommitState, StreamBatch
from schemaman.spark.streaming.decoded import DecodedBatch, StagedRows
from schemaman.spark.streaming.merge_sql import (
    format_append,
    format_merge,
    format_missing_row_query,
    format_newer_row_query,
    format_other_row_query,
    format_written_query,
)
from schemaman.spark.streaming.quarantine import NO_PREVIOUS_ROW
from schemaman.spark.streaming.row_staging import CAME_LATE, OTHER_ROW, VALUE_LOST, WAITS_FOR_OLDER
from schemaman.spark.streaming.sink_table import Ready, SinkTable
from schemaman.spark.streaming.staged_columns import list_staged_columns, make_staged_helpers
from schemaman.spark.streaming.unread_records import NO_UNREAD, UnreadRecords
from schemaman.spark.temp_view import create_view

_VIEW, _SOURCE = "schemaman_staged", "schemaman_rows"


QuarantineRecords = Callable[[Mapping[TopicOffset, str]], None]
"""Puts the records at some offsets into quarantine, with a reason for each."""

TopicOffsets = tuple[TopicOffset, ...]
"""The records that a row was made of."""

FindWaiting = Callable[[RowMap], arrow.Table | None]
"""The rows of a table whose records wait in quarantine (`DecodedBatch.map_waiting`); None if unknown."""


TakeTurn = Callable[[], AbstractContextManager[object]]
"""Keeps other jobs from adding rows to the table; raises `Locked` if one does so all the time."""

FindUnread = Callable[[], UnreadRecords]
"""Finds the records that could not be read; queried once."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result for one table: rows merged, records of an earlier incarnation, records in quarantine.

    `truncated` records are from before a TRUNCATE that deleted their rows. `is_number_reused`: the number of
    the batch was used before, by other records.
    """

    rows: int
    ended_incarnation: int
    quarantined: int
    truncated: int
    is_number_reused: bool = False


@dataclass(frozen=True, slots=True)
class TableChanges:
    """Decoded changes of one table: how many, and what they are (see `decoded.RecordCount`)."""

    rows: DecodedBatch
    count: int
    truncated: str | None
    versions: frozenset[int] = frozenset()


class StagingFailed(Exception):
    """The changes of a table cannot be staged as its rows, unexpectedly; the message is the reason."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class TableWriter:
    """Writes into one lake table that has the needed structure."""

    def __init__(
        self,
        spark: SparkSession,
        sink_table: SinkTable,
        ready: Ready,
        history: TableHistory,
        stamps: BatchCommits,
        take_turn: TakeTurn,
        read_orders: ReadOrders,
    ) -> None:
        self._spark = spark
        self._take_turn = take_turn
        self._executor = SparkExecutor(spark)
        self._follower = sink_table
        self._stamps = stamps
        self.lake = ready.lake
        self._row_map = ready.map_rows(history, read_orders)
        self._key_sets = list_key_sets(history, self._row_map.names, self._row_map.key)
        self._has_one_topic = len(history.topics) < 2

    @property
    def sink_table(self) -> SinkTable:
        """The lake table that takes the rows: that of the source, or its successor."""
        return self._follower

    @property
    def partition_ends(self) -> Mapping[tuple[str, int], str]:
        """How far each partition was read, where rows wait for that."""
        return self._row_map.partition_ends

    @property
    def has_key(self) -> bool:
        """Whether rows are merged by a key; without a key each record is appended, also a TRUNCATE."""
        return bool(self._row_map.key)

    def list_later_versions(self, versions: Collection[int]) -> frozenset[int]:
        """List the versions, of these, whose rows go into a later lake table of the source."""
        own = self._row_map.versions
        return frozenset() if own is None else frozenset(v for v in versions if v >= own.stop)

    def write_changes(
        self,
        changes: TableChanges,
        batch: StreamBatch | None,
        quarantine: QuarantineRecords,
        waiting: FindWaiting | None = None,
        unread: FindUnread | None = None,
        *,
        waited: bool = False,
    ) -> WriteResult:
        """Write the changes; first, the records that cannot be written go to `quarantine`.

        `waiting` finds the records in quarantine for this table, `unread` the records that could not be read.
        Without `batch` the batch is not recorded. `waited`: the changes come out of quarantine themselves.

        Raises:
            StatementFailed: the table refused the rows; nothing was written.
            StagingFailed: no rows can be made of the changes; nothing was written.
        """
        keyed = bool(self._row_map.key)
        if keyed:
            self._record_truncate(changes.truncated)
        found, known = self._stage_after_waiting(changes, waiting, unread() if unread else NO_UNREAD)
        good, lacking = self._split_rows(found, changes.truncated, known=known)
        written = self._find_written(found, waited=waited)
        unwritable = {
            **{p: reason for p, reason in found.unwritable.items() if p not in written},
            **{p: reason for records, reason in lacking.items() for p in records},
        }
        if unwritable:
            quarantine(unwritable)
        rows = found.count - len(lacking)
        again = False
        if rows or (keyed and changes.truncated):
            again = self._merge_rows(replace(found, rows=good), changes, batch) == "used"
        return WriteResult(rows, found.ended_incarnation, len(unwritable), found.truncated, again)

    def _stage_after_waiting(
        self,
        changes: TableChanges,
        waiting: FindWaiting | None,
        unread: UnreadRecords,
    ) -> tuple[StagedRows, bool]:
        """The changes as rows, and whether the records waiting before them are known.

        The quarantine is queried only where a row needs a value.
        """
        found = self._stage_changes(changes, None, unread)
        if not found.needing_probe or waiting is None:
            return found, True
        others = waiting(self._row_map)
        if others is not None and others.num_rows:
            found = self._stage_changes(changes, others, unread)
        return found, others is not None

    def _stage_changes(
        self, changes: TableChanges, waiting: arrow.Table | None, unread: UnreadRecords
    ) -> StagedRows:
        """The changes as rows. Nothing is written yet, so a fault concerns this table alone."""
        try:
            return changes.rows.stage_rows(self._row_map, changes.count, waiting, unread)
        except PythonException as error:  # what a task raised, with its trace
            raise StagingFailed(
                f"its records cannot be converted to rows: {_find_last_line(str(error))}"
            ) from error
        except (SchemamanError, *RAISED):
            raise
        except Exception as error:  # an unforeseen fault has no known class
            message = f"{type(error).__name__}: {error}"
            raise StagingFailed(
                f"its records cannot be converted to rows: {_find_last_line(message)}"
            ) from error

    def _record_truncate(self, truncated: str | None) -> None:
        """Record a TRUNCATE in the table before a row is written."""
        if truncated is not None and truncated > self._row_map.truncated:
            self._executor.run(set_properties(self._follower.name, {TRUNCATED_PROPERTY: truncated}))
            self._row_map = replace(self._row_map, truncated=truncated)

    def follow_truncate(self, other: TableWriter) -> None:
        """Take over the newest TRUNCATE that another writer has recorded, if it is in this table."""
        if other.sink_table.lake_table == self.sink_table.lake_table:
            self._row_map = replace(self._row_map, truncated=other._row_map.truncated)

    def _split_rows(
        self, found: StagedRows, truncated: str | None, *, known: bool
    ) -> tuple[DataFrame, dict[TopicOffsets, str]]:
        """The rows that can be written, and the records of rows whose needed value is missing or newer.

        `known`: whether it is known which rows wait; if not, each row that needs a value waits.
        """
        if not found.needing_probe:
            return found.rows, {}
        unwritable = self._find_other_rows(found.rows, truncated, known=known) | self._find_late(found.rows)
        unwritable |= self._find_lacking(found.rows, truncated, known=known)
        if not unwritable:
            return found.rows, {}
        records_column = make_staged_helpers(self._row_map).places
        missing = found.rows.sparkSession.createDataFrame(
            [(list(p),) for p in unwritable], found.rows.select(records_column).schema
        )
        return found.rows.join(missing, records_column, "left_anti"), unwritable

    def _find_lacking(
        self, rows: DataFrame, truncated: str | None, *, known: bool
    ) -> dict[TopicOffsets, str]:
        """The rows that need a value which the table does not have, or not yet."""
        helpers = make_staged_helpers(self._row_map)
        needing = F.col(helpers.needs_row) | F.col(helpers.unsent).isNotNull()
        columns = (helpers.places, helpers.behind, helpers.unread, helpers.anew)
        with create_view(rows.where(needing), _SOURCE, self._spark) as source:
            query = f"SELECT * FROM {source} WHERE {quote_name(helpers.needs_row)}"
            if known:
                query = format_missing_row_query(
                    self._follower.name, source, self._row_map.key, helpers, truncated
                )
            found = run_statement(self._spark, query).select(*columns).collect()
        return {
            _read_records(row[0]): WAITS_FOR_OLDER
            if row[1] or row[2] or not known
            else VALUE_LOST
            if row[3]
            else NO_PREVIOUS_ROW
            for row in found
        }

    def _find_late(self, rows: DataFrame) -> dict[TopicOffsets, str]:
        """The rows with a value of a dropped column for which the table may have a newer value."""
        helpers = make_staged_helpers(self._row_map)
        dropped = [(i, c) for i, c in enumerate(self._row_map.columns) if c.name in self._row_map.dropped]
        if not dropped:
            return {}
        with create_view(rows.where(F.col(helpers.since).isNotNull()), _SOURCE, self._spark) as source:
            query = format_newer_row_query(self._follower.name, source, self._row_map.key, dropped, helpers)
            found = run_statement(self._spark, query).select(helpers.places).collect()
        return {_read_records(row[0]): CAME_LATE for row in found}

    def _find_other_rows(
        self, rows: DataFrame, truncated: str | None, *, known: bool
    ) -> dict[TopicOffsets, str]:
        """The rows whose key is uncertain, and may be that of another row, also of one that waits."""
        helpers, parts = make_staged_helpers(self._row_map), sorted(self._row_map.key_parts)
        if not parts:
            return {}
        key, keys, name = self._row_map.key, self._row_map.possible_keys, self._follower.name
        with create_view(rows.where(F.col(helpers.last).isNotNull()), _SOURCE, self._spark) as source:
            at = self._row_map.other_key_from
            query = format_other_row_query(name, source, key, parts, keys, helpers, truncated, at)
            found = run_statement(self._spark, query).select(helpers.places).collect()
        if not known:
            found += rows.where(F.col(helpers.alone)).select(helpers.places).collect()
        return {_read_records(row[0]): OTHER_ROW for row in found}

    def _find_written(self, found: StagedRows, *, waited: bool) -> set[TopicOffset]:
        """The records that name no row of the table, and whose change it has already."""
        if found.unnamed is None:
            return set()
        helpers, is_alone = make_staged_helpers(self._row_map), self._has_one_topic and not waited
        with create_view(found.unnamed, _SOURCE, self._spark) as source:
            query = format_written_query(
                self._follower.name, source, self._key_sets, helpers, is_alone=is_alone
            )
            rows = run_statement(self._spark, query).select(helpers.places).collect()
        return {record for row in rows for record in _read_records(row[0])}

    def _merge_rows(
        self, staged: StagedRows, changes: TableChanges, batch: StreamBatch | None
    ) -> CommitState:
        if not self._row_map.key:
            # Of two appends at once, neither sees the records of the other, and both are committed.
            with self._take_turn():
                return self._commit_rows(staged, changes, batch)
        return self._commit_rows(staged, changes, batch)

    def _commit_rows(
        self, staged: StagedRows, changes: TableChanges, batch: StreamBatch | None
    ) -> CommitState:
        columns: tuple[Column, ...] = list_staged_columns(self._row_map)
        needs = {"keeps": staged.keeping > 0, "has_null_keys": staged.null_keys > 0}
        name, format = self._follower.name, self._follower.target.format
        state = self._stamps.find_state(self._spark, format, name, batch) if batch else "new"
        if state == "written":
            return state
        at, metadata = changes.truncated if self._row_map.key else None, {}
        if at and self._row_map.metadata_columns:
            metadata = fill_truncate_metadata(changes.rows.find_truncate(at), self._row_map)
        with (
            create_view(staged.rows, _VIEW, self._spark) as view,
            self._stamps.set_commit_metadata(self._spark, format, name, batch, state),
        ):
            self._executor.run(
                format_merge(name, view, columns, self._row_map.key, at, metadata, **needs)
                if self._row_map.key
                else format_append(name, view, columns)
            )
        return state


def _find_last_line(text: str) -> str:
    return [line.strip() for line in text.splitlines() if line.strip()][-1]


def _read_records(rows: Iterable[Iterable[Any]]) -> TopicOffsets:
    """The records of a staged row."""
    records = []
    for topic, partition, offset in rows:
        records.append((topic, partition, offset))
    return tuple(records)
