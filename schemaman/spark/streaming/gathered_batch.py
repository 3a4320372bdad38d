"""Gathers the records of a batch in this process, or leaves them on the executors.

Law: the records are those of the batch, byte for byte, wherever they are.

Most bytes of a record with an inline schema are the schema, which all records of a table share. So leading
bytes that are known travel as a number, and are put back where the records arrive. Any leading bytes serve:
nothing follows from them but how many bytes travel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from operator import add

import pyarrow as arrow
import pyarrow.compute as compute
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemaman.spark.record_columns import COLUMNS
from schemaman.spark.sql_errors import RAISED
from schemaman.spark.streaming.micro_batch import cached_records, spread_records
from schemaman.spark.versions import collect_arrow

_BODIES = ("key", "value")
_PAYLOAD = b'"payload":'
_SHORTEST = 100
"""Leading bytes of fewer are not worth a number."""

_MOST_PREFIXES = 32
"""The number of leading bytes that are compared with each record, for keys and for values."""

_TO_END = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Leading bytes of the keys and of the values of records."""

    key: tuple[bytes, ...] = ()
    value: tuple[bytes, ...] = ()

    def learn(self, records: arrow.Table) -> Prefixes:
        """Add the leading bytes of some records: those before a payload that follows its schema."""
        rows = _select_few(records)
        key, value = (_add_prefixes(getattr(self, name), rows[name].to_pylist()) for name in _BODIES)
        return Prefixes(key, value)

    def strip(self, batch: DataFrame) -> DataFrame:
        """Replace known leading bytes by numbers from 0, in `key_prefix` and `value_prefix`.

        These are null where a record begins otherwise.
        """
        numbers = {name: _number_prefix(F.col(name), getattr(self, name)) for name in _BODIES}
        numbered = batch.select("*", *(number.alias(f"{name}_prefix") for name, number in numbers.items()))
        bodies = {name: _cut_prefix(name, getattr(self, name)) for name in _BODIES}
        return numbered.select(
            *(bodies.get(name, F.col(name)).alias(name) for name in COLUMNS),
            *(F.col(f"{name}_prefix") for name in _BODIES),
        )

    def restore(self, stripped: DataFrame) -> DataFrame:
        """Restore the records of `strip` on the executors."""
        whole = {name: _put_prefix(name, getattr(self, name)) for name in _BODIES}
        return stripped.select(*(whole.get(name, F.col(name)).alias(name) for name in COLUMNS))

    def restore_table(self, stripped: arrow.Table) -> arrow.Table:
        """Restore the records of `strip` in this process."""
        restored = [self._restore_part(part) for part in stripped.to_batches()]
        return arrow.Table.from_batches(restored, stripped.select(list(COLUMNS)).schema)

    def _restore_part(self, part: arrow.RecordBatch) -> arrow.RecordBatch:
        columns = {name: part.column(part.schema.get_field_index(name)) for name in part.schema.names}
        for name in _BODIES:
            prefixes = arrow.array(getattr(self, name), columns[name].type)
            numbers = columns[f"{name}_prefix"]
            if len(prefixes) and numbers.null_count < len(numbers):
                first = compute.fill_null(prefixes.take(numbers), b"")
                columns[name] = compute.binary_join_element_wise(first, columns[name], b"")
        fields = [part.schema.field(name) for name in COLUMNS]
        return arrow.RecordBatch.from_arrays([columns[n] for n in COLUMNS], schema=arrow.schema(fields))


@dataclass(slots=True)
class BatchGatherer:
    """Gathers batches; it remembers the leading bytes of records, and how large the batch before was.

    Up to `small` records are gathered whatever their size, and up to `most` if their keys and values have at
    most `most_bytes`. `is_measured`: a batch of more than `small` records is measured before it is gathered.
    After one that was gathered, the next one is measured when it is here.
    """

    small: int
    most: int
    most_bytes: int
    prefixes: Prefixes = field(default_factory=Prefixes)
    was_large: bool = False
    is_measured: bool = True

    @contextmanager
    def gather(self, batch: DataFrame) -> Iterator[arrow.Table | DataFrame]:
        """Yield the records here, or on the executors as `spread_records` does while the block lasts."""
        few = self._gather_unmeasured(batch) if self.was_large else self._gather_few(batch)
        if few is None:
            with cached_records(self.prefixes.strip(batch)) as cached:
                few = self._gather_light(cached)
                if few is None:
                    with cached_records(spread_records(cached)) as spread:
                        yield self.prefixes.restore(spread)
        if few is not None:
            yield few

    def _gather_few(self, batch: DataFrame) -> arrow.Table | None:
        few = collect_arrow(batch.limit(self.small + 1))
        if few.num_rows <= self.small:
            return few
        self.was_large = True
        self.prefixes = self.prefixes.learn(few)
        return None

    def _gather_unmeasured(self, batch: DataFrame) -> arrow.Table | None:
        """Collect a batch that is expected to be as light as the one before; None if it is not.

        The engine ends the job if the results are too large. Source: Spark `spark.driver.maxResultSize`.
        """
        if self.is_measured:
            return None
        self.is_measured = True
        try:
            found = collect_arrow(self.prefixes.strip(batch))
        except RAISED:
            return None  # the batch is measured first, and another error comes again
        size = sum(_measure_bodies(found, name, getattr(self.prefixes, name)) for name in _BODIES)
        return self._take(found) if self._is_light(found.num_rows, size) else None

    def _gather_light(self, cached: DataFrame) -> arrow.Table | None:
        """Collect a stripped batch; None if it has too many records, or too many bytes."""
        sizes = (_measure_body(name, getattr(self.prefixes, name)) for name in _BODIES)
        records, size = cached.agg(F.count("*"), F.sum(reduce(add, sizes))).collect()[0]
        self.was_large = records > self.small
        return self._take(collect_arrow(cached)) if self._is_light(records, size or 0) else None

    def _is_light(self, records: int, size: int) -> bool:
        return records <= self.small or (records <= self.most and size <= self.most_bytes)

    def _take(self, stripped: arrow.Table) -> arrow.Table:
        """Restore records that are here."""
        self.was_large, self.is_measured = stripped.num_rows > self.small, False
        found = self.prefixes.restore_table(stripped)
        self.prefixes = self.prefixes.learn(found)
        return found


def _select_few(records: arrow.Table) -> arrow.Table:
    """Select the first and the last record with a value of each topic."""
    at = arrow.array(range(records.num_rows), arrow.int64())
    placed = arrow.table({"topic": records["topic"], "at": at}).filter(compute.is_valid(records["value"]))
    found = placed.group_by("topic").aggregate([("at", "min"), ("at", "max")])
    few = sorted({*found["at_min"].to_pylist(), *found["at_max"].to_pylist()})
    return arrow.concat_tables([records.slice(index, 1) for index in few] or [records.slice(0, 0)])


def _add_prefixes(known: tuple[bytes, ...], bodies: Iterable[bytes | None]) -> tuple[bytes, ...]:
    """Add the leading bytes of some bodies; those that none of them has are dropped first.

    The result stays the same while no body shows others: another one costs the engine a compilation.
    """
    found = dict.fromkeys(prefix for body in bodies if (prefix := _find_prefix(body)) is not None)
    new = [prefix for prefix in found if prefix not in known]
    if not new:
        return known
    kept, others = [p for p in known if p in found], [p for p in known if p not in found]
    return (*kept, *new, *others)[:_MOST_PREFIXES]


def _find_prefix(body: bytes | None) -> bytes | None:
    """Find the leading bytes up to the payload; None if they are few."""
    end = -1 if body is None else body.find(_PAYLOAD)
    return None if body is None or end < _SHORTEST else body[: end + len(_PAYLOAD)]


def _number_prefix(body: Column, prefixes: Sequence[bytes]) -> Column:
    """The number of the leading bytes of a body; null if none is known."""
    return _choose((F.startswith(body, F.lit(p)), F.lit(i)) for i, p in enumerate(prefixes)).cast("int")


def _cut_prefix(name: str, prefixes: Sequence[bytes]) -> Column:
    """A body without its numbered leading bytes."""
    cut = [F.substring(name, len(prefix) + 1, _TO_END) for prefix in prefixes]
    return _choose(_match_numbers(name, cut), F.col(name))


def _put_prefix(name: str, prefixes: Sequence[bytes]) -> Column:
    """A body with its numbered leading bytes before it."""
    return F.concat(_choose(_match_numbers(name, map(F.lit, prefixes)), F.lit(b"")), F.col(name))


def _measure_body(name: str, prefixes: Sequence[bytes]) -> Column:
    """The number of bytes of a body with its leading bytes; 0 if there is none."""
    before = _choose(_match_numbers(name, (F.lit(len(prefix)) for prefix in prefixes)), F.lit(0))
    return F.coalesce(F.octet_length(name) + before, F.lit(0)).cast("long")


def _measure_bodies(stripped: arrow.Table, name: str, prefixes: Sequence[bytes]) -> int:
    """The number of bytes of stripped bodies with their leading bytes."""
    numbers = compute.value_counts(stripped[f"{name}_prefix"].combine_chunks().drop_null()).to_pylist()
    before: int = sum(len(prefixes[found["values"]]) * found["counts"] for found in numbers)
    bodies: int = compute.sum(compute.binary_length(stripped[name])).as_py() or 0
    return before + bodies


def _match_numbers(name: str, choices: Iterable[Column]) -> Iterator[tuple[Column, Column]]:
    """Pair each choice with the condition that the leading bytes of a body have its number."""
    return ((F.col(f"{name}_prefix") == i, choice) for i, choice in enumerate(choices))


def _choose(cases: Iterable[tuple[Column, Column]], otherwise: Column | None = None) -> Column:
    """The column of the first condition that is true."""
    chosen: Column | None = None
    for condition, column in cases:
        chosen = F.when(condition, column) if chosen is None else chosen.when(condition, column)
    other = F.lit(None) if otherwise is None else otherwise
    return other if chosen is None else chosen.otherwise(other)
