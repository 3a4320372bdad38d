"""What is done with the records of a batch: decoded into changes of rows, and these folded row by row.

Law: each record of the batch ends in exactly one place: a staged row, an aside that is no row, or a record
set aside with its reason. A value that was not sent is never taken from before a record that waits.
"""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import pyarrow as arrow

from schemaman.debezium.observation import Reject
from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import Forms
from schemaman.errors import SchemamanError
from schemaman.history.versions import TableHistory
from schemaman.migration.row_columns import DELETED, ORDER
from schemaman.model.schema import TableId
from schemaman.sink.progress import Doubts, Past
from schemaman.sink.reader import Last, RowReader
from schemaman.sink.row_change import RowChange, RowOutcome
from schemaman.sink.row_mapping import Ended, RowMap, key_told, lake_change
from schemaman.sink.row_order import NOWHERE, place_in
from schemaman.sink.upsert import (
    LakeChange,
    Place,
    Upsert,
    folded,
)
from schemaman.sink.values.connector_modes import UNTOLD, Modes
from schemaman.sink.values.unavailable import PLACEHOLDER
from schemaman.sink.values.values import Unfit
from schemaman.spark.arrow_types import key_bytes, misfit, rows
from schemaman.spark.streaming.micro_batch import COLUMNS, RAW, records_of
from schemaman.spark.streaming.staged_columns import HelperColumns, staged_helpers, staged_schema
from schemaman.spark.streaming.unread_records import NONE_UNREAD, Unread, span


@dataclass(frozen=True, slots=True)
class Reading:
    """What executors need to read records: the histories of their tables, and how records are written.

    `modes` are settings of the connector, `placeholder` is what it writes for values that did not change,
    `past` is what was read before, `doubts` is what is not known of it (`rows.horizon`), `last` the records
    that ended it.
    """

    histories: Mapping[TableId, TableHistory]
    schemas: SchemaLookup
    stream: str
    forms: Forms
    modes: Modes = UNTOLD
    placeholder: bytes = PLACEHOLDER
    past: Past = field(default_factory=dict)
    last: Mapping[tuple[str, int], Last] = field(default_factory=dict)
    doubts: Doubts | None = None

    def reader(self) -> Callable[[Record], RowOutcome]:
        """The outcome of a record; it remembers what it has learnt of them."""
        return RowReader(
            self.histories,
            self.schemas,
            stream=self.stream,
            forms=self.forms,
            modes=self.modes,
            placeholder=self.placeholder,
            past=self.past,
            last=self.last,
            doubts=self.doubts,
        ).read


DECODED = (
    f"{RAW}, source_table string, row_order string, op string, change binary, reason string, version int"
)
"""A decoded record: itself, and what it says. No `source_table`: it is no row, or nobody knows of which.

The `reason` of a row is what of its order cannot be told for sure (`rows.horizon`)."""

_ADDED = (("source_table", arrow.string()), ("row_order", arrow.string()), ("op", arrow.string()),
          ("change", arrow.binary()), ("reason", arrow.string()),
          ("version", arrow.int32()))  # fmt: skip
CHANGE = (
    "row_key binary, row_order string, topic string, partition int, offset bigint, change binary, "
    "reason string, unread bigint"
)
CHANGE_ARROW = arrow.schema([
    ("row_key", arrow.binary()), ("row_order", arrow.string()), ("topic", arrow.string()),
    ("partition", arrow.int32()), ("offset", arrow.int64()), ("change", arrow.binary()),
    ("reason", arrow.string()), ("unread", arrow.int64()),
])  # fmt: skip
_ROWS_AT_ONCE = 2_000
LOST = "a value was not sent since it did not change, and the row began anew before: nobody knows it"
WAITS = (
    "a value was not sent since it did not change, and an older record of the row, which may have it, waits "
    "in quarantine: this one waits behind it"
)
LATE = (
    "it came later than a newer one of its row, and has a value of a column that has left the source, or "
    "that later rows lack: nobody can tell whether that one still had the column"
)
GONE_BEHIND = (
    "a delete that tells no place, and nobody understood an older record of its partition, which may be of "
    "its row and newer than where the delete would stand: it waits behind that one, or until somebody "
    "deletes that one from the quarantine (lake_table = '')"
)
WAITING = "waiting"
"""The reason of a record that is in quarantine already, and only shows what has to wait behind it."""
ENDED = "ended"
"""The reason of a row that went with an earlier life of its table: nothing to do, and said in the report."""


def table_text(table: TableId) -> str:
    """A table as a batch names it: whole, and in one way."""
    return repr((table.stream, *table.levels))


def table_named(text: str) -> TableId | None:
    """The table that a text of `table_text` names; None for an empty one."""
    if not text:
        return None
    stream, server, database, schema, table = ast.literal_eval(text)
    return TableId(server, database, schema, table, stream)


@dataclass(frozen=True, slots=True)
class RecordDecoder:
    """The function that tasks run: records in, decoded records out."""

    reading: Reading

    def __call__(self, batches: Iterable[arrow.RecordBatch]) -> Iterator[arrow.RecordBatch]:
        """Each record with what it says."""
        read = self.reading.reader()
        for batch in batches:
            told = [_said(read, record) for record in records_of(batch)]
            added = [arrow.array([row.get(name) for row in told], type) for name, type in _ADDED]
            columns = [batch.column(batch.schema.get_field_index(name)) for name in COLUMNS]
            names = [*COLUMNS, *(name for name, _ in _ADDED)]
            yield arrow.RecordBatch.from_arrays([*columns, *added], names=names)


@dataclass(frozen=True, slots=True)
class ChangeMapper:
    """The function that tasks run: changes of the source in, changes of one lake table out.

    `waiting`: they are in quarantine, and only their keys and orders are asked for. `unread` are records that
    nobody understood: what lacks a value is told of the one that may have it, and a delete that stands where
    its partition stood waits behind it, as nobody knows yet where that is.
    """

    to: RowMap
    waiting: bool = False
    unread: Unread = NONE_UNREAD

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of decoded records that it reads, in their order."""
        return ("change", "key") if self.unread.offsets else ("change",)

    def __call__(self, batches: Iterable[arrow.RecordBatch]) -> Iterator[arrow.RecordBatch]:
        """Each change with the key by which it is folded; what cannot be written with its reason."""
        for batch in batches:
            columns = [batch.column(i).to_pylist() for i in range(len(self.columns))]
            found = [self._row(pickle.loads(change), *key) for change, *key in zip(*columns, strict=True)]
            if self.waiting:
                keyed = (row for row in found if row.get("row_key") is not None)
                found = [row | {"reason": WAITING, "change": None} for row in keyed]
            yield arrow.RecordBatch.from_pylist(found, CHANGE_ARROW)

    def _row(self, change: RowChange, kafka_key: bytes | None = None) -> dict[str, object]:
        row: dict[str, object] = {
            "row_order": change.order,
            "topic": change.place.topic,
            "partition": change.place.partition,
            "offset": change.place.offset,
        }
        told = lake_change(change, self.to)
        match told:
            case Ended():
                return row | {"reason": ENDED}
            case Unfit(column, reason):
                key = key_told(change, self.to)
                known = None if key is None else key_bytes(self.to.key_columns, key)
                return row | {"reason": f"{column}: {reason}", "row_key": known}
            case LakeChange():
                faults = (misfit(c, told.values[c.name]) for c in self.to.columns if c.name in told.values)
                fault = next((fault for fault in faults if fault), None)
                if told.unavailable or self._stands_behind(change):
                    row["unread"] = self.unread.before(told.place, kafka_key)
                if row.get("unread") is not None and not told.unavailable:
                    fault = fault or GONE_BEHIND
                return row | {"reason": fault, "row_key": self._key(told), "change": pickle.dumps(told)}

    def _stands_behind(self, change: RowChange) -> bool:
        """Whether it is a delete without a place in a table whose other records tell theirs.

        It does not wait for what nobody will ever understand from here: its own bytes would be lost as well.
        """
        behind = change.op == "d" and change.position.kind == "none" and not self.unread.lost
        return behind and bool(self.to.key) and place_in(change.order)[0] != NOWHERE

    def _key(self, change: LakeChange) -> bytes:
        if self.to.key:
            return key_bytes(self.to.key_columns, change.values)
        return repr(change.place).encode()


@dataclass(frozen=True, slots=True)
class ChangeFolder:
    """The function that tasks run: changes sorted by key and order in, staged rows out."""

    to: RowMap
    floor: str

    def __call__(self, batches: Iterable[arrow.RecordBatch]) -> Iterator[arrow.RecordBatch]:
        """A row for each key, and one for each record that cannot be written."""
        schema, helpers = staged_schema(self.to), staged_helpers(self.to)
        ready: list[Mapping[str, object]] = []
        records = (record for batch in batches for record in batch.to_pylist())
        for _, group in groupby(records, key=lambda r: r["row_key"]):
            ready += self._rows(list(group), helpers)
            if len(ready) >= _ROWS_AT_ONCE:
                yield rows(ready, schema)
                ready = []
        yield rows(ready, schema)

    def _rows(
        self, records: Sequence[Mapping[str, object]], helpers: HelperColumns
    ) -> Iterator[Mapping[str, object]]:
        good: list[LakeChange] = []
        behind: object = None  # the order of the newest record so far that waits
        since: object = None  # that of the newest one before the first that does not
        cut = False  # whether it waits behind others that do not
        unread: dict[Place, int] = {}  # of those that lack a value: see `ChangeMapper`
        for record in records:
            reason, change = record["reason"], _change(record)
            at = record["unread"]
            if (
                change is not None
                and change.unavailable
                and ((behind is not None and cut) or (good and _older(good, at, change.place)))
            ):
                reason, change = WAITS, None
            if change is None:
                if reason != WAITING:
                    yield {helpers.reason: reason, helpers.places: [_place_of(record)]}
                if reason != ENDED:
                    behind, cut = record["row_order"], bool(good)
                continue
            if not change.unavailable:
                behind = None
            since = since if good else behind
            good.append(change)
            unread |= {change.place: at} if isinstance(at, int) else {}
        if not good:
            return
        if self.to.key:
            yield from self._folded(good, helpers, since, _span(good[0].place, unread))
        else:
            yield dict(good[-1].values) | {helpers.places: [_place(good[-1].place)]}

    def _folded(
        self, changes: Sequence[LakeChange], helpers: HelperColumns, behind: object, unread: str | None
    ) -> Iterator[Mapping[str, object]]:
        names = [c.name for c in self.to.columns]
        numbers = {name: number for number, name in enumerate(names)}
        row = folded(changes, names, self.floor)
        if row is None:
            return
        places = [_place(place) for place in row.places]
        yield dict(row.values) | {
            ORDER: row.order,
            DELETED: row.deleted,
            helpers.kept: [i for i, name in enumerate(names) if name in row.kept],
            helpers.words: {numbers[name]: order for name, order in row.words.items()} or None,
            helpers.needs_row: row.needs_row,
            helpers.behind: behind if row.needs_row else None,
            helpers.anew: row.anew,
            helpers.unread: unread if row.needs_row else None,
            helpers.unsent: row.unsent,
            helpers.since: self._since(changes, row),
            helpers.places: places,
        }

    def _since(self, changes: Sequence[LakeChange], row: Upsert) -> str | None:
        """Where the oldest value stands that newer versions of the row have no column for."""
        found = []
        for name in self.to.left & row.values.keys():
            teller = next(change for change in reversed(changes) if name in change.values)
            if not teller.again:
                found.append(teller.order)
        return min(found, default=None)


def _said(read: Callable[[Record], RowOutcome], record: Record) -> dict[str, object]:
    """What a record says; one that breaks the reader in a way that nobody foresaw is set aside alone."""
    try:
        return _told(read(record))
    except SchemamanError:
        raise  # a registry that does not answer says nothing of the record
    except Exception as error:
        return {"reason": _text(f"it cannot be read: {type(error).__name__}: {error}")}


def _told(read: RowOutcome) -> dict[str, object]:
    match read:
        case RowChange():
            return {
                "source_table": _text(table_text(read.table)),
                "row_order": _text(read.order),
                "op": read.op,
                "change": pickle.dumps(read),
                "version": read.version,
                "reason": read.doubt or None,
            }
        case Reject():
            return {"reason": _text(read.reason)}
        case _:
            return {}


def _text(told: str) -> str:
    """A text that a column can hold: half a surrogate pair, which JSON may bring, as it is escaped."""
    return told.encode(errors="backslashreplace").decode()


def _change(record: Mapping[str, object]) -> LakeChange | None:
    """The change of a record that can be written."""
    change = record["change"] if record["reason"] is None else None
    return pickle.loads(change) if isinstance(change, bytes) else None


def _older(good: Sequence[LakeChange], unread: object, place: Place) -> bool:
    """Whether the changes before that of a place are all older than a record that nobody understood."""
    if not isinstance(unread, int):
        return False
    since = (*place[:2], unread)
    return not any(since <= change.place < place for change in reversed(good))


def _span(first: Place, unread: Mapping[Place, int]) -> str | None:
    """From the record that nobody understood before the first change, to the last one that is behind it."""
    at = unread.get(first)
    if at is None:
        return None
    last = max(place[2] for place, behind in unread.items() if place[:2] == first[:2] and behind == at)
    return span(first[1], at, last)


def _place_of(record: Mapping[str, object]) -> dict[str, object]:
    return {name: record[name] for name in ("topic", "partition", "offset")}


def _place(place: tuple[str, int, int]) -> dict[str, object]:
    return dict(zip(("topic", "partition", "offset"), place, strict=True))
