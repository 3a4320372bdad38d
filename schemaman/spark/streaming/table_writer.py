"""Writes the changes of one table: what fits in one commit, what does not given back with its reasons.

Law: a batch that was written already is not written again; a table's batch is one commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
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
from schemaman.sink.row_mapping import RowMap, emptied
from schemaman.sink.upsert import Place
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.sql_errors import RAISED
from schemaman.spark.streaming.batch_commits import Batch, Stamps, Standing
from schemaman.spark.streaming.decoded import Decoded, Staged
from schemaman.spark.streaming.merge_sql import append_rows, merge_rows, with_newer_row, without_old_row
from schemaman.spark.streaming.quarantine import NO_OLD_ROW
from schemaman.spark.streaming.row_staging import LATE, LOST, WAITS
from schemaman.spark.streaming.staged_columns import staged_columns, staged_helpers
from schemaman.spark.streaming.table_migration import Brought, Follower
from schemaman.spark.streaming.unread_records import NONE_UNREAD, Unread
from schemaman.spark.temp_view import view

_VIEW, _SOURCE = "schemaman_staged", "schemaman_rows"


SetAside = Callable[[Mapping[Place, str]], None]
"""Keeps the records at some places, with a reason for each."""

Places = tuple[Place, ...]
"""The records that a row was made of."""

Waiting = Callable[[RowMap], arrow.Table | None]
"""The rows of a table of which records wait in quarantine (`Decoded.waiting`); None if nobody knows which."""


NotUnderstood = Callable[[], Unread]
"""The records that nobody understood, asked for once."""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of the changes of one table: rows merged, records of an earlier life, records set aside.

    `again`: the number of the batch was used before, by other records.
    """

    rows: int
    ended: int
    aside: int
    again: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """Decoded changes of one table: how many, and what they are (see `decoded.Count`)."""

    rows: Decoded
    count: int
    truncated: str | None
    versions: frozenset[int] = frozenset()


class Unstaged(Exception):
    """The changes of a table cannot be made rows of it, which nobody foresaw; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Writer:
    """Writes into one lake table that was brought up to date."""

    def __init__(
        self,
        spark: SparkSession,
        follower: Follower,
        brought: Brought,
        history: TableHistory,
        stamps: Stamps,
    ) -> None:
        self._spark = spark
        self._executor = SparkExecutor(spark)
        self._follower = follower
        self._stamps = stamps
        self.live = brought.live
        self._to = brought.rows(history)
        # The position before which no row lives: that of the newest TRUNCATE, as far as the table knows.
        self.floor = brought.live.properties.get(TRUNCATED_PROPERTY, "")

    @property
    def keyed(self) -> bool:
        """Whether rows are merged by a key; without one each record is appended, a TRUNCATE's, too."""
        return bool(self._to.key)

    def write(
        self,
        changes: Changes,
        batch: Batch | None,
        set_aside: SetAside,
        waiting: Waiting | None = None,
        unread: NotUnderstood | None = None,
    ) -> Written:
        """Write the changes; first, the records that cannot be written go to `set_aside`.

        `waiting` tells what waits in quarantine for this table, if anything does, `unread` what nobody
        understood, if there is such. Without `batch` they come out of quarantine themselves.

        Raises:
            StatementFailed: the table refused the rows; nothing was written.
            Unstaged: no rows can be made of the changes; nothing was written.
        """
        keyed = bool(self._to.key)
        if keyed:
            self._know(changes.truncated)
        floor = self.floor if keyed else ""
        found, known = self._behind(changes, floor, waiting, unread() if unread else NONE_UNREAD)
        good, lacking = self._parted(found, changes.truncated, known=known)
        aside = {**found.aside, **{p: reason for places, reason in lacking.items() for p in places}}
        if aside:
            set_aside(aside)
        rows = found.count - len(lacking)
        again = False
        if rows or (keyed and changes.truncated):
            again = self._merge(good, changes, batch) == "used"
        return Written(rows, found.ended, len(aside), again)

    def _behind(
        self,
        changes: Changes,
        floor: str,
        waiting: Waiting | None,
        unread: Unread,
    ) -> tuple[Staged, bool]:
        """The changes as rows, those that lack a value behind what may have it; whether that is known.

        What waits for this table is asked for only where a row needs a value.
        """
        found = self._staged(changes, floor, None, unread)
        if not found.needing or waiting is None:
            return found, True
        others = waiting(self._to)
        if others is not None and others.num_rows:
            found = self._staged(changes, floor, others, unread)
        return found, others is not None

    def _staged(self, changes: Changes, floor: str, waiting: arrow.Table | None, unread: Unread) -> Staged:
        """The changes as rows. Nothing is written yet, so what goes wrong concerns this table alone."""
        try:
            return changes.rows.staged(self._to, changes.count, floor, waiting, unread)
        except PythonException as error:  # what a task raised, with its trace
            raise Unstaged(f"no rows can be made of its records: {_last_line(str(error))}") from error
        except (SchemamanError, *RAISED):
            raise
        except Exception as error:  # nobody foresaw it, so its kind is not known
            told = f"{type(error).__name__}: {error}"
            raise Unstaged(f"no rows can be made of its records: {_last_line(told)}") from error

    def _know(self, truncated: str | None) -> None:
        """Take up a TRUNCATE; the table remembers it before a row is touched."""
        if truncated is not None and truncated > self.floor:
            self._executor.run(set_properties(self._follower.name, {TRUNCATED_PROPERTY: truncated}))
            self.floor = truncated

    def _parted(
        self, found: Staged, truncated: str | None, *, known: bool
    ) -> tuple[DataFrame, dict[Places, str]]:
        """The rows that can be written, and the records of others: what they need is not there, or is newer.

        `known`: which rows wait; if nobody knows, each that needs one does.
        """
        if not found.needing:
            return found.rows, {}
        left = self._late(found.rows) | self._lacking(found.rows, truncated, known=known)
        if not left:
            return found.rows, {}
        places = staged_helpers(self._to).places
        missing = self._spark.createDataFrame([(list(p),) for p in left], found.rows.select(places).schema)
        return found.rows.join(missing, places, "left_anti"), left

    def _lacking(self, rows: DataFrame, truncated: str | None, *, known: bool) -> dict[Places, str]:
        """The rows that need a value which the table has not, or not yet."""
        helpers = staged_helpers(self._to)
        query = f"SELECT * FROM {_SOURCE} WHERE {quote_name(helpers.needs_row)}"
        if known:
            query = without_old_row(self._follower.name, _SOURCE, self._to.key, helpers, truncated)
        asked = F.col(helpers.needs_row) | F.col(helpers.unsent).isNotNull()
        told = (helpers.places, helpers.behind, helpers.unread, helpers.anew)
        with view(rows.where(asked), _SOURCE):
            found = self._spark.sql(query).select(*told).collect()
        return {
            _places(row[0]): WAITS if row[1] or row[2] or not known else LOST if row[3] else NO_OLD_ROW
            for row in found
        }

    def _late(self, rows: DataFrame) -> dict[Places, str]:
        """The rows with a value of a column that left the source, which the table may have a newer one of."""
        helpers = staged_helpers(self._to)
        left = [(i, c) for i, c in enumerate(self._to.columns) if c.name in self._to.left]
        if not left:
            return {}
        query = with_newer_row(self._follower.name, _SOURCE, self._to.key, left, helpers)
        with view(rows.where(F.col(helpers.since).isNotNull()), _SOURCE):
            found = self._spark.sql(query).select(helpers.places).collect()
        return {_places(row[0]): LATE for row in found}

    def _merge(self, rows: DataFrame, changes: Changes, batch: Batch | None) -> Standing:
        columns: tuple[Column, ...] = staged_columns(self._to)
        name, format = self._follower.name, self._follower.target.format
        standing = self._stamps.standing(self._spark, format, name, batch) if batch else "new"
        if standing == "written":
            return standing
        if self._to.key:
            at = changes.truncated
            beside = emptied(changes.rows.truncate(at), self._to) if at and self._to.beside else {}
            statement = merge_rows(name, _VIEW, columns, self._to.key, at, beside)
        else:
            statement = append_rows(name, _VIEW, columns)
        with view(rows, _VIEW), self._stamps.stamped(self._spark, format, name, batch, standing):
            self._executor.run(statement)
        return standing


def _last_line(text: str) -> str:
    return [line.strip() for line in text.splitlines() if line.strip()][-1]


def _places(told: Iterable[Iterable[Any]]) -> Places:
    """The records of a staged row."""
    places = []
    for topic, partition, offset in told:
        places.append((topic, partition, offset))
    return tuple(places)
