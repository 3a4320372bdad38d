"""Records of a Debezium stream as changes of rows, with values that are exactly those of the source.

Law: every record gives one outcome: a change of a row, a reject with its reason, or what it is instead of a
row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from schemaman.debezium.connector import DIALECTS
from schemaman.debezium.converters.connect import Node, fields_of
from schemaman.debezium.ddl.online import BY_DATABASE, worked_on
from schemaman.debezium.decode import kind_of
from schemaman.debezium.document import is_document_schema
from schemaman.debezium.observation import Aside, Reject
from schemaman.debezium.payload import Body, SchemaLookup
from schemaman.debezium.raw_record import OUTBOX, TOMBSTONE, epoch_ms, from_table, is_outbox
from schemaman.debezium.records import (
    NOWHERE,
    Mark,
    Position,
    Record,
)
from schemaman.debezium.signal import SIGNAL, is_signal
from schemaman.debezium.source_block import UNKNOWN, Origin, origin_of
from schemaman.debezium.wire_format import AUTO, Forms
from schemaman.errors import UnknownName, UnreadableInput
from schemaman.model.schema import DEFAULT_STREAM, TableId
from schemaman.sink.decoders import Histories, Made, Table, Tables
from schemaman.sink.flattened import Flat, deleted, flat, says_deleted
from schemaman.sink.payloads import Bodies, Form
from schemaman.sink.progress import Doubts, Horizon, Horizons, Past
from schemaman.sink.row_change import Op, Place, Row, RowChange, RowOutcome
from schemaman.sink.row_order import BEYOND
from schemaman.sink.values.connector_modes import UNTOLD, Modes
from schemaman.sink.values.row_decoder import Decoded, Decoder, UnreadableCell
from schemaman.sink.values.unavailable import PLACEHOLDER
from schemaman.sink.version_lookup import UnknownFace

Last = tuple[int, bytes | None]
"""The offset of the record that was read last in a partition, and its key if it was a delete with a value."""

_OPS = tuple("cudrt")  # no set: what stands there may be unhashable
_SHADOW = "shadow-table"


class RowReader:
    """Reads the records of one stream; one for each process, as it remembers what it has learned of them.

    `histories` types the records: without any (None), each is of the structure that it brings itself.
    `schemas` is the registry of Avro schemas; `forms` are those that are configured, `modes` the settings of
    the connector; `placeholder` is what it writes for unavailable values. Records of one partition come in
    order of offsets; `horizons` is where an earlier reader of them ended, `past` what was read before of the
    same partitions, `doubts` what is not known of them (`rows.horizon`), `last` the record that was read last
    in each.
    """

    def __init__(
        self,
        histories: Histories | None = None,
        schemas: SchemaLookup = lambda id: None,
        *,
        stream: str = DEFAULT_STREAM,
        forms: Forms = AUTO,
        modes: Modes = UNTOLD,
        placeholder: bytes = PLACEHOLDER,
        horizons: Horizons | None = None,
        past: Past | None = None,
        last: Mapping[tuple[str, int], Last] | None = None,
        doubts: Doubts | None = None,
    ) -> None:
        self._bodies = Bodies(schemas, forms)
        self._tables = Tables(histories, placeholder=placeholder, modes=modes)
        self._stream = stream
        self._forms = forms
        self._horizon = Horizon(horizons or {}, past or {}, doubts)
        self._flat: set[str] = set()
        self._last: dict[tuple[str, int], Last] = dict(last or {})
        self._deletes = False
        """Whether the record that is being read tells a delete, also one that nobody can place yet."""

    @property
    def horizons(self) -> Horizons:
        """How far each table has been read in each partition: for the next reader of the same partitions."""
        return self._horizon.reached

    def read_all(self, records: Iterable[Record]) -> Iterator[RowOutcome]:
        """The outcome of each record, in order."""
        return map(self.read, records)

    def read(self, record: Record) -> RowOutcome:
        """The outcome of a record."""
        self._deletes = False
        found = self._outcome(record)
        told = record.key if self._deletes else None
        self._last[record.topic, record.partition] = (record.offset, told)
        return found

    def _outcome(self, record: Record) -> RowOutcome:
        try:
            return self._read(record)
        except (UnreadableInput, UnknownFace, UnreadableCell) as fault:
            return self._reject(record, str(fault))
        except RecursionError:
            return self._reject(record, "nested too deeply to be read")

    def _read(self, record: Record) -> RowOutcome:
        if record.value is None:
            return self._without_row(record, None)
        if is_outbox(record):
            return _aside(record, OUTBOX)
        if is_signal(record):
            return _aside(record, SIGNAL)
        payload, form = self._bodies.read(record, record.value, "value")
        if payload is None:
            return self._without_row(record, form)
        if not _is_event(payload):
            kind = kind_of(record, Body(payload, form.schema), self._forms.added)
            if kind == "flattened":
                return self._flattened(record, payload, form)
            if kind != "event":
                return _aside(record, kind)
        return self._event(record, payload, form)

    def _event(self, record: Record, payload: Mapping[str, Any], form: Form) -> RowOutcome:
        source, op = payload["source"], payload["op"]
        if op not in _OPS:
            raise UnreadableInput(f"an event with the operation {op!r}")
        self._deletes = op == "d"
        position = _position(str(source.get("connector") or UNKNOWN), source)
        mark = _mark(record, position, source, payload.get("ts_ms"))
        if op == "t":
            return self._truncate(record, payload, mark)
        try:
            table = self._table(payload, form)
        except UnknownFace:
            if op != "d" or record.key is None:
                raise
            return self._of_its_key(record, payload, mark)
        if table is None:
            return _aside(record, _SHADOW)
        made = table.single or self._tables.at(table, mark)
        before, after = _images(payload, op)
        decode = made.decode_read if op == "r" else made.decode
        old = _of_old_rows(made, record)
        images = (None if before is None else old(before), None if after is None else decode(after))
        key = self._key(record, table.id, made)
        return self._change(record, table.id, made, op, key, images, mark, source)

    def _truncate(self, record: Record, payload: Mapping[str, Any], mark: Mark) -> RowOutcome:
        """Of a whole table: whatever its rows look like by then, it says nothing of one."""
        origin = origin_of(payload)
        table = origin.table_id(self._stream)
        if origin.connector in BY_DATABASE and worked_on(table.table) is not None:
            return _aside(record, _SHADOW)
        made = self._tables.of_key_alone(table)
        return self._change(record, table, made, "t", None, (None, None), mark, payload["source"])

    def _of_its_key(self, record: Record, payload: Mapping[str, Any], mark: Mark) -> RowChange:
        """A delete of a row that no version explains: its key tells which row, where the table has one.

        Raises UnknownFace.
        """
        table = origin_of(payload).table_id(self._stream)
        made = self._tables.of_key(table, self._key_payload(record), mark, self._horizon.between(table, mark))
        if not made.schema.key:
            raise UnknownFace(f"no version of {table} has just the fields of the row, and it has no key")
        key = self._key(record, table, made)
        return self._change(record, table, made, "d", key, (None, None), mark, payload["source"])

    def _flattened(self, record: Record, payload: Mapping[str, Any], form: Form) -> RowOutcome:
        told_key = self._key_payload(record)
        row = flat(record.topic, payload, record.headers, form, told_key, self._stream, self._forms.added)
        self._flat.add(record.topic)
        self._deletes = row.op == "d"
        names = tuple(name for name in payload if name not in row.added.names)
        table = self._flat_table(row, names, form)
        position = _position(row.added.position_connector, row.added.source)
        mark = _mark(record, position, row.added.source, row.added.read_ms)
        made = table.single or self._tables.at(table, mark)
        gone = _of_old_rows(made, record) if row.op == "d" else made.decode
        cells = (made.decode_read if row.op == "r" else gone)(payload)
        images = (cells, None) if row.op == "d" else (None, cells)
        key = self._key(record, table.id, made)
        source = {**row.added.source, "connector": row.added.connector}
        return self._change(record, table.id, made, row.op, key, images, mark, source)

    def _without_row(self, record: Record, form: Form | None) -> RowOutcome:
        """The tombstone of a delete that was read; or a delete of which only the key is left."""
        if record.key is None or not self._is_delete(record, form):
            return _aside(record, TOMBSTONE)
        key = self._key_payload(record)
        row = deleted(record.topic, record.headers, form, key, self._stream, self._forms.added)
        table = self._tables.of_delete(row.table, record.topic)
        source = {**row.added.source, "connector": row.added.connector}
        position = _position(row.added.position_connector, row.added.source)
        mark = _mark(record, position, row.added.source, row.added.read_ms)
        if (
            position.kind == "none"
            and not self._horizon.knows(table, mark)
            and self._tables.has_places(table)
        ):
            raise UnreadableInput(
                "a delete without a row or a place: nobody told how far its partition had been read before"
            )
        made = self._tables.of_key(table, key, mark, self._horizon.between(table, mark))
        told_key = self._key(record, table, made)
        return self._change(record, table, made, "d", told_key, (None, None), mark, source)

    def _is_delete(self, record: Record, form: Form | None) -> bool:
        """Whether a record without a value is a delete, and not the tombstone that follows one.

        Of flattened rows it is the delete itself; of others, one whose event is not there any more, for
        compaction keeps the tombstone alone. Either way its row is gone where it stands.
        Source: Debezium ExtractNewRecordState, `delete.tombstone.handling.mode`; Kafka, log compaction.
        """
        if says_deleted(record.headers, form, self._forms.added):
            return True
        rows = record.topic in self._flat or self._tables.rows_in(record.topic)
        return rows and not self._follows_delete(record)

    def _follows_delete(self, record: Record) -> bool:
        """Whether the record right before it tells the delete already: connectors write them together."""
        last = self._last.get((record.topic, record.partition))
        return last == (record.offset - 1, record.key)

    def _change(
        self,
        record: Record,
        table: TableId,
        made: Made,
        op: str,
        key: Row | None,
        images: tuple[Decoded | None, Decoded | None],
        mark: Mark,
        source: Mapping[str, Any],
    ) -> RowChange:
        before, after = images
        read = op == "r" or from_table(cast(Any, source))
        order, again, doubt = self._horizon.order(table, mark, source, read=read)
        return RowChange(
            place=Place(self._stream, record.topic, record.partition, record.offset),
            table=table,
            op=cast(Op, op),
            key=key,
            before=None if before is None else before.row,
            unread={} if before is None else before.missing,
            after=None if after is None else after.row,
            unavailable=frozenset() if after is None else after.unavailable,
            order=order,
            ts_ms=mark.ts_ms,
            deleted=op == "d",
            schema=made.schema,
            version=made.version,
            position=mark.position,
            again=again,
            doubt=doubt,
        )

    def _table(self, payload: Mapping[str, Any], form: Form) -> Table | None:
        """The table of an event; None for what a tool works on in its stead."""
        source = payload["source"]
        told = tuple([source.get(name) for name in _NAMES])
        row = None if form.schema is not None else next((r for r in map(payload.get, _IMAGES) if r), None)
        names = None if row is None else tuple(row)
        try:
            return cast("Table | None", form.decoders[told, names])
        except KeyError:
            pass
        except TypeError:
            raise UnreadableInput("the source block does not name its table in words") from None
        found = form.decoders[told, names] = self._found(origin_of(payload), form, names)
        return found

    def _found(self, origin: Origin, form: Form, names: tuple[str, ...] | None) -> Table | None:
        id = origin.table_id(self._stream)
        if origin.connector in BY_DATABASE and worked_on(id.table) is not None:
            return None
        if origin.connector == "mongodb" or (form.schema is not None and is_document_schema(form.schema)):
            raise UnreadableInput("a document of MongoDB: its values are not read as those of a table")
        if form.schema is not None:
            nodes = fields_of(_row_node(form.schema))
            return self._tables.with_rows(id, nodes, form.written, origin.connector, origin.read_name)
        if names is None:
            made = self._tables.of_key_alone(id)
            return Table(id, "json", None, single=made)
        return self._tables.with_names(id, names, origin.connector)

    def _flat_table(self, row: Flat, names: tuple[str, ...], form: Form) -> Table:
        known = form.decoders.get((row.table, names))
        if known is None:
            connector = row.added.position_connector
            if form.schema is None:
                known = self._tables.with_names(row.table, names, connector)
            else:
                nodes = [f for f in fields_of(form.schema) if f["field"] in names]
                known = self._tables.with_rows(row.table, nodes, form.written, connector, row.read_name)
            form.decoders[row.table, names] = known
        return cast(Table, known)

    def _key_payload(self, record: Record) -> object:
        if record.key is None:
            return None
        try:
            return self._bodies.read(record, record.key, "key")[0]
        except UnreadableInput as fault:
            raise UnreadableInput(f"key: {fault}") from None

    def _key(self, record: Record, table: TableId, made: Made) -> Row | None:
        if record.key is None:
            return None
        try:
            payload, form = self._bodies.read(record, record.key, "key")
            if payload is None:
                return None
            if not isinstance(payload, dict):
                raise UnreadableInput(
                    "a bare value; which column it is of cannot be told: let keys be structs (without the "
                    "transformation ExtractField$Key)"
                )
            names = tuple(payload) if form.schema is None else ()
            decode = form.decoders.get((made, names))
            if decode is None:
                decode = self._tables.keys(form, made, table, payload)
                form.decoders[made, names] = decode
            return cast(Decoder, decode)(payload).row
        except (UnreadableInput, UnreadableCell) as fault:
            raise UnreadableInput(f"key: {fault}") from None

    def _reject(self, record: Record, reason: str) -> Reject:
        data = record.value if record.value is not None else record.key or b""
        place = (self._stream, record.topic, record.partition, record.offset)
        return Reject(*place, count=1, reason=reason, sha256=hashlib.sha256(data).hexdigest())


_NAMES = ("connector", "name", "db", "keyspace", "schema", "table", "collection")
"""What of a source block names a table."""
_IMAGES = ("after", "before")


def _is_event(payload: object) -> bool:
    """Whether a payload is an event of a row, as nearly all are, so that nothing else has to be asked."""
    if type(payload) is not dict:
        return False
    source = payload.get("source")
    known = type(source) is dict and "connector" in source and payload.get("op") in _OPS
    return known and "message" not in payload


def _of_old_rows(made: Made, record: Record) -> Decoder:
    """How the row before an event is read: where a key tells which row it was, little else is asked of it."""
    return made.decode_old if made.schema.key and record.key is not None else made.decode


def _images(payload: Mapping[str, Any], op: str) -> tuple[Any, Any]:
    before, after = payload.get("before"), payload.get("after")
    if op in ("c", "u", "r") and not isinstance(after, dict):
        raise UnreadableInput(f"an event {op!r} without the row after it")
    if before is not None and not isinstance(before, dict):
        raise UnreadableInput("the row before the event is no struct")
    return before, after if op != "d" else None


def _row_node(schema: Node) -> Node:
    rows = {f["field"]: f for f in fields_of(schema) if f["field"] in _IMAGES}
    row = rows.get("after", rows.get("before"))
    if row is None or row.get("type") != "struct":
        raise UnreadableInput("the event has no row: neither `after` nor `before` is a struct")
    return row


def _position(connector: str, source: Mapping[str, Any]) -> Position:
    try:
        position = DIALECTS.get(connector or UNKNOWN).position(source)
        rank = position.rank
        f"{position.value}{position.commit}".encode()  # half a character is a place in no log
    except UnknownName:
        return NOWHERE
    except (ValueError, TypeError) as fault:
        raise UnreadableInput(f"a position that cannot be read: {fault}") from None
    if any(isinstance(part, int) and part >= BEYOND for part in rank):
        raise UnreadableInput(f"a position that cannot be read: {position.kind} {position.value[:40]!r}")
    return position


def _mark(record: Record, position: Position, source: Mapping[str, Any], read_ms: object) -> Mark:
    return Mark(
        record.topic,
        record.partition,
        record.offset,
        position,
        epoch_ms(source.get("ts_ms")),
        epoch_ms(read_ms),
        record.timestamp_ms,
    )


def _aside(record: Record, kind: str) -> Aside:
    place = Mark(record.topic, record.partition, record.offset, timestamp_ms=record.timestamp_ms)
    return Aside(kind, place, 1)
