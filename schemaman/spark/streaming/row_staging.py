"""Decode the records of a batch into changes of rows, and fold these row by row.

Law: each record of the batch becomes exactly one of these: part of a staged row, a skipped record that is no
row, or a quarantined record with its reason. An unsent value never comes from before a waiting record.
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
from schemaman.sink.progress import OrderAmbiguity, ReadOrders
from schemaman.sink.reader import LastRecord, RowReader
from schemaman.sink.row_change import RowChange, RowOutcome
from schemaman.sink.row_mapping import EndedIncarnation, RowMap, TruncatedRow, map_change, read_mapped_key
from schemaman.sink.row_order import NO_POSITION_TEXT, is_same_position, parse_order
from schemaman.sink.upsert import (
    LakeChange,
    TopicOffset,
    Upsert,
    fold_changes,
)
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, ConnectorModes
from schemaman.sink.values.unavailable import PLACEHOLDER
from schemaman.sink.values.values import BESIDE, UnfitColumn
from schemaman.sink.written_rows import UnnamedRow
from schemaman.spark.arrow_types import encode_key, explain_misfit, fits_all, make_batch
from schemaman.spark.record_columns import COLUMNS, RAW, read_records
from schemaman.spark.streaming.staged_columns import HelperColumns, make_staged_helpers, make_staged_schema
from schemaman.spark.streaming.unread_records import NO_UNREAD, UnreadRecords, format_span


@dataclass(frozen=True, slots=True)
class ReadingContext:
    """What executors need to read records: the histories of their tables, and how records are written.

    `modes` are settings of the connector, `placeholder` is what it writes for values that did not change,
    `read_orders` is what was read before, `ambiguity` is what is not known of it (`rows.horizon`), `last` the
    records that ended it.
    """

    histories: Mapping[TableId, TableHistory]
    schemas: SchemaLookup
    stream: str
    forms: Forms
    modes: ConnectorModes = UNKNOWN_MODES
    placeholder: bytes = PLACEHOLDER
    read_orders: ReadOrders = field(default_factory=dict)
    last: Mapping[tuple[str, int], LastRecord] = field(default_factory=dict)
    ambiguity: OrderAmbiguity | None = None

    def make_reader(self) -> RowReader:
        """Make the reader of records; it remembers facts of earlier records."""
        return RowReader(
            self.histories,
            self.schemas,
            stream=self.stream,
            forms=self.forms,
            modes=self.modes,
            placeholder=self.placeholder,
            past=self.read_orders,
            last=self.last,
            ambiguity=self.ambiguity,
        )


DECODED = (
    f"{RAW}, source_table string, row_order string, op string, change binary, reason string, version int"
)
"""A decoded record with its outcome. Without `source_table`, it is not a row, or its table is unknown.

The `reason` of a row describes the ambiguity of its order (`rows.horizon`)."""

DECODED_COLUMNS = (("source_table", arrow.string()), ("row_order", arrow.string()), ("op", arrow.string()),
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
VALUE_LOST = (
    "a value was not sent because it did not change, and its row was created again before: the value "
    "is not known"
)
WAITS_FOR_OLDER = (
    "a value was not sent because it did not change, and an older record of the row, which may have "
    "it, is in quarantine: this record waits for that one"
)
WAITS_FOR_TEXT = (
    "an older record of the row has a value that only a text holds: both are written once the table has the "
    "column for it"
)
CAME_LATE = (
    "it arrived after a newer record of its row, and has a value of a dropped column, or of a column "
    "that later rows lack: it is not known whether the newer record still had that column"
)
DELETE_WAITS = (
    "a delete without a position, and an older record of its partition, which may be of its row and "
    "newer than the delete, could not be decoded: the delete waits until that record is decoded, or "
    "deleted from the quarantine (lake_table = '')"
)
OTHER_ROW = (
    "its key is uncertain: the connector reads keys late, and the row of the lake with the key of this "
    "record may be another one; it waits for `schemaman decide confirm TABLE key`, or for a snapshot of the "
    "table (signal `execute-snapshot`)"
)
WAITING = "waiting"
"""The reason of a record that is already in quarantine, and only shows which rows have to wait for it."""
ENDED_INCARNATION = "ended"
"""The reason of a row of an earlier incarnation of its table that may be left out: it is only reported."""
TRUNCATED_ROW = "truncated"
"""The reason of a change from before a TRUNCATE that the table took: it is only reported."""
NOT_WAITING = (ENDED_INCARNATION, TRUNCATED_ROW)
"""The reasons of records that are done with, though no row is written: they do not go into quarantine."""


def format_table(table: TableId) -> str:
    """A table as a batch names it: with all its levels, in one way."""
    return repr((table.stream, *table.levels))


def parse_table(text: str) -> TableId | None:
    """The table that a text of `format_table` names; None for an empty one."""
    if not text:
        return None
    stream, server, database, schema, table = ast.literal_eval(text)
    return TableId(server, database, schema, table, stream)


@dataclass(frozen=True, slots=True)
class RecordDecoder:
    """The task that decodes records."""

    reading: ReadingContext

    def __call__(self, batches: Iterable[arrow.RecordBatch]) -> Iterator[arrow.RecordBatch]:
        """Each record with its decoded outcome."""
        read = self.reading.make_reader().read
        for batch in batches:
            outcomes = [describe_outcome(read_record(read, record)) for record in read_records(batch)]
            added = [arrow.array([row.get(name) for row in outcomes], type) for name, type in DECODED_COLUMNS]
            columns = [batch.column(batch.schema.get_field_index(name)) for name in COLUMNS]
            names = [*COLUMNS, *(name for name, _ in DECODED_COLUMNS)]
            yield arrow.RecordBatch.from_arrays([*columns, *added], names=names)


_MappedRow = tuple[dict[str, object], LakeChange | None]
"""A row of `CHANGE`, and the change in it whose values are to be checked."""


@dataclass(frozen=True, slots=True)
class ChangeMapper:
    """The function of tasks: it maps changes of the source to changes of one lake table.

    `waiting`: the changes are in quarantine, and only their keys and orders are needed. `unread` are
    undecodable records. A change that lacks a value refers to the unread record that may have it. A delete
    without a position waits for earlier unread records, because its position is still unknown.
    """

    to: RowMap
    waiting: bool = False
    unread: UnreadRecords = NO_UNREAD

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of decoded records that it reads, in their order."""
        return ("change", "key") if self.unread.offsets else ("change",)

    def __call__(self, batches: Iterable[arrow.RecordBatch]) -> Iterator[arrow.RecordBatch]:
        """Each change with the key by which it is folded; what cannot be written with its reason."""
        for batch in batches:
            columns = [batch.column(i).to_pylist() for i in range(len(self.columns))]
            mapped = [
                self._map_row(pickle.loads(change), *key) for change, *key in zip(*columns, strict=True)
            ]
            found = self._check_values(mapped)
            if self.waiting:
                keyed = (row for row in found if row.get("row_key") is not None)
                found = [row | {"reason": WAITING, "change": None} for row in keyed]
            yield arrow.RecordBatch.from_pylist(found, CHANGE_ARROW)

    def _check_values(self, mapped: Sequence[_MappedRow]) -> list[dict[str, object]]:
        """The rows with a reason in each whose values do not fit; values are tried column by column first."""
        changes = [change for _, change in mapped if change is not None]
        doubtful = [
            c for c in self.to.columns
            if not fits_all(c, [v.values[c.name] for v in changes if c.name in v.values])
        ]  # fmt: skip
        for row, change in mapped if doubtful else ():
            if change is not None:
                faults = (
                    explain_misfit(c, change.values[c.name]) for c in doubtful if c.name in change.values
                )
                row["reason"] = next((fault for fault in faults if fault), row["reason"])
        return [row for row, _ in mapped]

    def _map_row(self, change: RowChange, kafka_key: bytes | None = None) -> _MappedRow:
        row: dict[str, object] = {
            "row_order": change.order,
            "topic": change.record.topic,
            "partition": change.record.partition,
            "offset": change.record.offset,
        }
        mapped = map_change(change, self.to)
        match mapped:
            case EndedIncarnation(reason):
                return row | {"reason": reason or ENDED_INCARNATION}, None
            case TruncatedRow():
                return row | {"reason": TRUNCATED_ROW}, None
            case UnfitColumn(column, reason):
                key = read_mapped_key(change, self.to)
                known = None if key is None else encode_key(self.to.key_columns, key)
                row |= {"reason": f"{column}: {reason}", "row_key": known}
                if isinstance(mapped, UnnamedRow) and mapped.names:
                    came_before = change.redelivered or self.to.supersedes
                    row["change"] = pickle.dumps((mapped.names, came_before, change.op == "d"))
                return row, None
            case LakeChange():
                fault = None
                if mapped.unavailable or self._is_unpositioned_delete(change):
                    row["unread"] = self.unread.find_before(mapped.record, kafka_key)
                if row.get("unread") is not None and not mapped.unavailable:
                    fault = DELETE_WAITS
                return row | {
                    "reason": fault,
                    "row_key": self._encode_key(mapped),
                    "change": pickle.dumps(mapped),
                }, mapped

    def _is_unpositioned_delete(self, change: RowChange) -> bool:
        """Whether it is a delete without a position in a table whose other records have one.

        It does not wait for records without kept bytes: its own bytes would be lost as well.
        """
        behind = change.op == "d" and change.position.kind == "none" and not self.unread.is_lost
        return behind and bool(self.to.key) and parse_order(change.order)[0] != NO_POSITION_TEXT

    def _encode_key(self, change: LakeChange) -> bytes:
        if self.to.key:
            return encode_key(self.to.key_columns, change.values)
        return repr(change.record).encode()


@dataclass(frozen=True, slots=True)
class ChangeFolder:
    """The function that tasks run: changes sorted by key and order in, staged rows out."""

    to: RowMap

    def __call__(self, batches: Iterable[arrow.RecordBatch]) -> Iterator[arrow.RecordBatch]:
        """A row for each key, and one for each record that cannot be written."""
        schema, helpers = make_staged_schema(self.to), make_staged_helpers(self.to)
        ready: list[Mapping[str, object]] = []
        records = (record for batch in batches for record in batch.to_pylist())
        for _, group in groupby(records, key=lambda r: r["row_key"]):
            ready += self._fold_group(list(group), helpers)
            if len(ready) >= _ROWS_AT_ONCE:
                yield make_batch(ready, schema)
                ready = []
        yield make_batch(ready, schema)

    def _fold_group(
        self, records: Sequence[Mapping[str, object]], helpers: HelperColumns
    ) -> Iterator[Mapping[str, object]]:
        good: list[LakeChange] = []
        behind: object = None  # the order of the newest waiting record so far
        earlier: object = None  # that of the newest one that may be of another row with the key
        since: object = None  # that of the newest one before the first that does not
        cut = False  # whether it waits behind others that do not
        unread: dict[TopicOffset, int] = {}  # of those that lack a value: see `ChangeMapper`
        needs_text = False  # whether one before is read again, and would come late behind newer ones
        for record in records:
            reason, change = record["reason"], _unpickle_change(record)
            at = record["unread"]
            if (
                change is not None
                and change.unavailable
                and ((behind is not None and cut) or (good and _are_older(good, at, change.record)))
            ):
                reason, change = WAITS_FOR_OLDER, None
            is_behind = change is not None and change.claim in ("alone", "alike") and earlier is not None
            if change is not None and (is_behind or (good and not self._is_confirmed(change, good))):
                reason, change = OTHER_ROW, None
            if needs_text and change is not None:
                reason, change = WAITS_FOR_TEXT, None
            if change is None:
                needs_text |= self._is_read_again(reason)
                if reason != WAITING:
                    lost = {helpers.reason: reason, helpers.places: [_select_key(record)]}
                    yield from ({**lost, **name} for name in _list_names(record, helpers) or ({},))
                if reason not in NOT_WAITING:
                    behind, cut = record["row_order"], bool(good)
                    earlier = behind
                continue
            if not change.unavailable:
                behind = None
            if not change.claim:
                earlier = None
            since = since if good else behind
            good.append(change)
            unread |= {change.record: at} if isinstance(at, int) else {}
        if not good:
            return
        if self.to.key:
            yield from self._fold_changes(good, helpers, since, _format_span(good[0].record, unread))
        else:
            yield dict(good[-1].values) | {helpers.places: [_make_key(good[-1].record)]}

    def _is_read_again(self, reason: object) -> bool:
        """Whether a record that has values of dropped columns is read again with this batch."""
        return self.to.adds_texts and bool(self.to.dropped) and str(reason).endswith(BESIDE)

    def _is_confirmed(self, change: LakeChange, good: Sequence[LakeChange]) -> bool:
        """Whether the changes before confirm what one with an uncertain key claims of its row.

        Where the first one claims the row of the table, the later ones claim the same columns of keys.
        """
        before = good[-1]
        if change.claim == "alike" and before.op != "d":
            return all(_has_same_part(before, change, name) for name in self.to.key_parts)
        is_claimed = good[0].claim == "alike" and _needs_rows(change)
        if is_claimed and not all(_has_same_part(good[0], change, name) for name in self.to.key_parts):
            return False
        is_absent = change.claim == "fresh" and (
            before.op == "d" or is_same_position(before.order, change.order)
        )
        return change.claim in ("", "first", "alone") or is_absent

    def _fold_changes(
        self, changes: Sequence[LakeChange], helpers: HelperColumns, behind: object, unread: str | None
    ) -> Iterator[Mapping[str, object]]:
        names = [c.name for c in self.to.columns]
        numbers = {name: number for number, name in enumerate(names)}
        row = fold_changes(changes, names, self.to.truncated)
        if row is None:
            return
        records = [_make_key(record) for record in row.records]
        first = next((change for change in changes if change.claim == "first"), None)
        claimed = next((change for change in reversed(changes) if _needs_rows(change)), None)
        yield dict(row.values) | {
            ORDER: row.order,
            DELETED: row.deleted,
            helpers.kept: [i for i, name in enumerate(names) if name in row.kept],
            helpers.words: {numbers[name]: order for name, order in row.value_orders.items()} or None,
            helpers.needs_row: row.needs_row,
            helpers.behind: behind if row.needs_row else None,
            helpers.anew: row.restart_order,
            helpers.unread: unread if row.needs_row else None,
            helpers.unsent: row.unsent_order,
            helpers.since: self._find_oldest_dropped(changes, row),
            helpers.fresh: changes[0].order if changes[0].claim == "fresh" else None,
            helpers.alike: changes[0].order if changes[0].claim == "alike" else None,
            helpers.first: None if first is None else first.order,
            helpers.last: None if claimed is None else claimed.order,
            helpers.alone: any(change.claim == "alone" for change in changes),
            # Later changes of the row, which are certain, may have other values.
            helpers.parts: claimed and {name: claimed.values.get(name) for name in self.to.key_parts},
            helpers.places: records,
        }

    def _find_oldest_dropped(self, changes: Sequence[LakeChange], row: Upsert) -> str | None:
        """The order of the oldest value without a column in newer versions of the row."""
        found = []
        for name in self.to.dropped & row.values.keys():
            teller = next(change for change in reversed(changes) if name in change.values)
            if not teller.redelivered:
                found.append(teller.order)
        return min(found, default=None)


def read_record(read: Callable[[Record], RowOutcome], record: Record) -> RowOutcome:
    """Read the outcome of a record; an unforeseen fault of the reader rejects this record alone."""
    try:
        return read(record)
    except SchemamanError:
        raise  # an unavailable registry proves nothing about the record
    except Exception as error:
        reason = f"it cannot be read: {type(error).__name__}: {error}"
        return Reject("", record.topic, record.partition, record.offset, count=1, reason=reason, sha256="")


def describe_outcome(read: RowOutcome) -> dict[str, object]:
    """Describe an outcome in the columns of `DECODED_COLUMNS`."""
    match read:
        case RowChange():
            return {
                "source_table": _escape_text(format_table(read.table)),
                "row_order": _escape_text(read.order),
                "op": read.op,
                "change": pickle.dumps(read),
                "version": read.version,
                "reason": read.ambiguity or None,
            }
        case Reject():
            return {"reason": _escape_text(read.reason)}
        case _:
            return {}


def _escape_text(text: str) -> str:
    """Escape lone surrogates of a text, which JSON may contain and a column cannot store."""
    return text.encode(errors="backslashreplace").decode()


def _needs_rows(change: LakeChange) -> bool:
    """Whether the rows of the lake must confirm what a change claims."""
    return bool(change.claim) and (change.claim, change.op) != ("alone", "d")


def _has_same_part(before: LakeChange, change: LakeChange, name: str) -> bool:
    """Whether a column of a possible key is the same in two changes of one key, the second one uncertain.

    Where the source had no such column at both times, no key had it then: it tells no two rows apart.
    """
    if name in before.values:
        return before.values[name] == change.values.get(name)
    return name not in change.values and name not in before.unavailable | change.unavailable


def _unpickle_change(record: Mapping[str, object]) -> LakeChange | None:
    """The change of a record that can be written."""
    change = record["change"] if record["reason"] is None else None
    return pickle.loads(change) if isinstance(change, bytes) else None


def _list_names(record: Mapping[str, object], helpers: HelperColumns) -> Sequence[Mapping[str, object]]:
    """The ways to find the row of a change that names none by its key; `needs_row` has `redelivered`.

    It counts as deleted if the change is a delete.
    """
    if record["reason"] is None or not isinstance(record["change"], bytes):
        return ()
    found = pickle.loads(record["change"])
    if isinstance(found, LakeChange):
        return ()
    names, redelivered, is_delete = found
    others = {ORDER: record["row_order"], DELETED: is_delete, helpers.needs_row: redelivered}
    return [{**name, **others} for name in names]


def _are_older(good: Sequence[LakeChange], unread: object, record: TopicOffset) -> bool:
    """Whether all changes before that of a record are older than an undecodable record."""
    if not isinstance(unread, int):
        return False
    since = (*record[:2], unread)
    return not any(since <= change.record < record for change in reversed(good))


def _format_span(first: TopicOffset, unread: Mapping[TopicOffset, int]) -> str | None:
    """The span from the undecodable record before the first change to the last change after it."""
    at = unread.get(first)
    if at is None:
        return None
    last = max(record[2] for record, behind in unread.items() if record[:2] == first[:2] and behind == at)
    return format_span(first[1], at, last)


def _select_key(record: Mapping[str, object]) -> dict[str, object]:
    return {name: record[name] for name in ("topic", "partition", "offset")}


def _make_key(record: tuple[str, int, int]) -> dict[str, object]:
    return dict(zip(("topic", "partition", "offset"), record, strict=True))
