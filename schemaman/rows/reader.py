"""Records of a Debezium stream as changes of rows, with values that are exactly those of the source.

Law: every record gives one outcome: a change of a row, a reject with its reason, or what it is instead of a
row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from schemaman.decode.body import Body, SchemaLookup
from schemaman.decode.decode import kind_of
from schemaman.decode.document import is_document_schema
from schemaman.decode.framing import AUTO, Forms
from schemaman.decode.key import ROUTING_FIELDS
from schemaman.decode.origin import DIALECTS, UNKNOWN, Origin, origin_of
from schemaman.decode.shadow import BY_DATABASE, worked_on
from schemaman.decode.signal import SIGNAL, is_signal
from schemaman.decode.wire import OUTBOX, TOMBSTONE, from_table, is_outbox
from schemaman.errors import UnknownName, UnreadableInput
from schemaman.evidence import NOWHERE, Aside, Mark, Position, Record, Reject
from schemaman.languages.connect import Node, columns_of, fields_of
from schemaman.rows.cells import Decoder, UnreadableCell, cell, decoder
from schemaman.rows.change import Op, Place, Row, RowChange, RowOutcome
from schemaman.rows.faces import Face, UnknownFace, at, faces, same
from schemaman.rows.forms import Bodies, Form
from schemaman.rows.order import beside_the_stream, order
from schemaman.rows.unavailable import PLACEHOLDER
from schemaman.schema import DEFAULT_STREAM, Column, TableId, TableSchema
from schemaman.versions import TableHistory

Histories = Mapping[TableId, TableHistory]
_SNAPSHOT, _STREAM, _BESIDE = 0, 1, 2
_OPS = frozenset("cudrt")


@dataclass(frozen=True, slots=True)
class _Made:
    """The decoders of one structure: of rows, and of the names of fields alone where there is no row."""

    schema: TableSchema
    version: int | None
    decode: Decoder
    columns: Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class _Table:
    """A table as the records of one form and one source block name it; `shadow`: a tool's working copy."""

    id: TableId
    shadow: bool
    candidates: tuple[Face, ...]
    made: Mapping[int, _Made]
    single: _Made | None


class RowReader:
    """Reads the records of one stream; one for each process, as it remembers what it has learned of them.

    `histories` types the records: without any (None), each is of the structure that it brings itself.
    `schemas` is the registry of Avro schemas; `forms` are those that are configured; `placeholder` is what
    the connector writes for unavailable values.
    """

    def __init__(
        self,
        histories: Histories | None = None,
        schemas: SchemaLookup = lambda id: None,
        *,
        stream: str = DEFAULT_STREAM,
        forms: Forms = AUTO,
        placeholder: bytes = PLACEHOLDER,
    ) -> None:
        self._histories = histories
        self._bodies = Bodies(schemas, forms)
        self._stream = stream
        self._forms = forms
        self._placeholder = placeholder

    def read_all(self, records: Iterable[Record]) -> Iterator[RowOutcome]:
        """The outcome of each record, in order."""
        return map(self.read, records)

    def read(self, record: Record) -> RowOutcome:
        """The outcome of a record."""
        try:
            return self._read(record)
        except (UnreadableInput, UnknownFace, UnreadableCell) as fault:
            return self._reject(record, str(fault))
        except RecursionError:
            return self._reject(record, "nested too deeply to be read")

    def _read(self, record: Record) -> RowOutcome:
        if record.value is None:
            return _aside(record, TOMBSTONE)
        if is_outbox(record):
            return _aside(record, OUTBOX)
        if is_signal(record):
            return _aside(record, SIGNAL)
        payload, form = self._bodies.read(record, record.value, "value")
        if payload is None:
            return _aside(record, TOMBSTONE)
        if not _is_event(payload):
            kind = kind_of(record, Body(payload, form.schema), self._forms.added)
            if kind == "flattened":
                raise UnreadableInput("a flattened row: its values are not read yet")
            if kind != "event":
                return _aside(record, kind)
        return self._event(record, payload, form)

    def _event(self, record: Record, payload: Mapping[str, Any], form: Form) -> RowOutcome:
        source, op = payload["source"], payload["op"]
        if op not in _OPS:
            raise UnreadableInput(f"an event with the operation {op!r}")
        table = self._table(payload, form)
        if table.shadow:
            return _aside(record, "shadow-table")
        position = _position(source)
        mark = _mark(record, position, payload)
        if op == "t":
            key = before = after = None
            made = table.single or _newest(table)
        else:
            made = table.single or self._made(table, at(table.candidates, mark), form)
            key = self._key(record, table, made)
            before, after = (None if row is None else made.decode(row) for row in _images(payload, op))
        return RowChange(
            place=Place(self._stream, record.topic, record.partition, record.offset),
            table=table.id,
            op=cast(Op, op),
            key=key,
            before=None if before is None else before.row,
            after=None if after is None else after.row,
            unavailable=frozenset() if after is None else after.unavailable,
            order=_order(record, position, source, op),
            ts_ms=mark.ts_ms,
            deleted=op == "d",
            schema=made.schema,
            version=made.version,
            position=position,
        )

    def _table(self, payload: Mapping[str, Any], form: Form) -> _Table:
        source = payload["source"]
        names = ("connector", "name", "db", "keyspace", "schema", "table", "collection")
        told = tuple([source.get(name) for name in names])
        fields = tuple(_row(payload) or ()) if form.schema is None else ()
        try:
            return cast(_Table, form.decoders[told, fields])
        except KeyError:
            pass
        except TypeError:
            raise UnreadableInput("the source block does not name its table in words") from None
        found = form.decoders[told, fields] = self._found(origin_of(payload), form, payload)
        return found

    def _found(self, origin: Origin, form: Form, payload: Mapping[str, Any]) -> _Table:
        id = origin.table_id(self._stream)
        shadow = origin.connector in BY_DATABASE and worked_on(id.table) is not None
        if shadow:
            return _Table(id, True, (), {}, None)
        if origin.connector == "mongodb" or (form.schema is not None and is_document_schema(form.schema)):
            raise UnreadableInput("a document of MongoDB: its values are not read as those of a table")
        if form.schema is None:
            raise UnreadableInput("JSON without a schema: nobody tells the types of the values")
        row = _row_node(form.schema)
        if self._histories is None:
            columns = {
                f: Column(origin.read_name(c.name), c.type, c.nullable, emitted_name=f)
                for f, c in zip((n["field"] for n in fields_of(row)), columns_of(row), strict=True)
            }
            alone = self._decoders(row, form, columns, TableSchema(tuple(columns.values())), None)
            return _Table(id, False, (), {}, alone)
        history = self._histories.get(id)
        if history is None:
            raise UnreadableInput(f"the history knows no table {id}: read it in first (schemaman ingest)")
        candidates = faces(history, {str(c.emitted_name): c.type for c in columns_of(row)})
        made: dict[int, _Made] = {}
        found = _Table(id, False, candidates, made, None)
        if same(candidates) and len({f.number for f in candidates}) == 1:
            return _Table(id, False, candidates, made, self._made(found, candidates[0], form))
        return found

    def _made(self, table: _Table, face: Face, form: Form) -> _Made:
        known = table.made.get(face.number)
        if known is None:
            row = _row_node(form.schema or {})
            known = self._decoders(row, form, face.columns, face.schema, face.number)
            cast(dict[int, _Made], table.made)[face.number] = known
        return known

    def _decoders(
        self, row: Node, form: Form, columns: Mapping[str, Column], schema: TableSchema, version: int | None
    ) -> _Made:
        _check_names(columns)
        nodes = fields_of(row)
        cells = [
            cell(node, columns[node["field"]], form.written, placeholder=self._placeholder) for node in nodes
        ]
        return _Made(schema, version, decoder(cells), columns)

    def _key(self, record: Record, table: _Table, made: _Made) -> Row | None:
        if record.key is None:
            return None
        try:
            payload, form = self._bodies.read(record, record.key, "key")
            if payload is None:
                return None
            if not isinstance(payload, dict):
                raise UnreadableInput("a bare value; which column it is of cannot be told")
            place = (table.id, made.version, id(made))
            decode = form.decoders.get(place)
            if decode is None:
                decode = form.decoders[place] = _key_decoder(form, made, table.id, payload)
            return cast(Decoder, decode)(payload).row
        except (UnreadableInput, UnreadableCell) as fault:
            raise UnreadableInput(f"key: {fault}") from None

    def _reject(self, record: Record, reason: str) -> Reject:
        data = record.value if record.value is not None else record.key or b""
        place = (self._stream, record.topic, record.partition, record.offset)
        return Reject(*place, count=1, reason=reason, sha256=hashlib.sha256(data).hexdigest())


def _key_decoder(form: Form, made: _Made, table: TableId, payload: Mapping[str, object]) -> Decoder:
    """The decoder of keys of a form; a column that only the key carries has the key's own word for it."""
    if form.schema is None:
        raise UnreadableInput("JSON without a schema: nobody tells the types of the values")
    by_field = dict(made.columns)
    cells = []
    for node, told in zip(fields_of(form.schema), columns_of(form.schema), strict=True):
        field = node["field"]
        if field in ROUTING_FIELDS or (field not in by_field and _is_topic(payload.get(field), table)):
            continue
        column = by_field.get(field) or made.schema.column(told.name) or told
        cells.append(cell(node, column, form.written, whole=True))
    return decoder(cells)


def _is_topic(value: object, table: TableId) -> bool:
    """Whether a field of a key holds the topic of the table, as routing adds it under any name."""
    return isinstance(value, str) and value.startswith(f"{table.server}.")


def _is_event(payload: object) -> bool:
    """Whether a payload is an event of a row, as nearly all are, so that nothing else has to be asked."""
    if type(payload) is not dict:
        return False
    source = payload.get("source")
    known = type(source) is dict and "connector" in source and payload.get("op") in _OPS
    return known and "message" not in payload


def _images(payload: Mapping[str, Any], op: str) -> tuple[Any, Any]:
    before, after = payload.get("before"), payload.get("after")
    if op in ("c", "u", "r") and not isinstance(after, dict):
        raise UnreadableInput(f"an event {op!r} without the row after it")
    if before is not None and not isinstance(before, dict):
        raise UnreadableInput("the row before the event is no struct")
    return before, after if op != "d" else None


def _row(payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((r for r in (payload.get("after"), payload.get("before")) if isinstance(r, dict)), None)


def _row_node(schema: Node) -> Node:
    rows = {f["field"]: f for f in fields_of(schema) if f["field"] in ("before", "after")}
    row = rows.get("after", rows.get("before"))
    if row is None or row.get("type") != "struct":
        raise UnreadableInput("the event has no row: neither `after` nor `before` is a struct")
    return row


def _check_names(columns: Mapping[str, Column]) -> None:
    fields: dict[str, str] = {}
    for field, column in columns.items():
        other = fields.setdefault(column.name, field)
        if other != field:
            raise UnreadableInput(f"the fields {other!r} and {field!r} are both of column {column.name!r}")


def _newest(table: _Table) -> _Made:
    face = table.candidates[-1]
    return _Made(face.schema, face.number, decoder(()), face.columns)


def _position(source: Mapping[str, Any]) -> Position:
    try:
        return DIALECTS.get(str(source.get("connector") or UNKNOWN)).position(source)
    except UnknownName:
        return NOWHERE
    except ValueError as fault:
        raise UnreadableInput(str(fault)) from None


def _mark(record: Record, position: Position, payload: Mapping[str, Any]) -> Mark:
    ts_ms, read_ms = payload["source"].get("ts_ms"), payload.get("ts_ms")
    return Mark(
        record.topic,
        record.partition,
        record.offset,
        position,
        ts_ms if type(ts_ms) is int else None,
        read_ms if type(read_ms) is int else None,
        record.timestamp_ms,
    )


def _order(record: Record, position: Position, source: Mapping[str, Any], op: str) -> str:
    """A read without a place of its own stands where the stream stood."""
    if not (op == "r" or from_table(cast(Any, source))):
        return order(position, _STREAM, record.partition, record.offset)
    if position.kind != "none" and source.get("snapshot") != "incremental":
        return order(position, _SNAPSHOT, record.partition, record.offset)
    return order(beside_the_stream(source) or position, _BESIDE, record.partition, record.offset)


def _aside(record: Record, kind: str) -> Aside:
    place = Mark(record.topic, record.partition, record.offset, timestamp_ms=record.timestamp_ms)
    return Aside(kind, place, 1)
