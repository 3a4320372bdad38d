"""Reads records of a Debezium stream as changes of rows, with exactly the values of the source.

Law: every record has one outcome: a change of a row, a reject with its reason, or a skipped record that is no
row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from schemaman.debezium.connector import Connector, find_connector
from schemaman.debezium.converters.connect import Node, read_fields
from schemaman.debezium.ddl.online import find_ghost_original
from schemaman.debezium.decode import classify_record, classify_without_value
from schemaman.debezium.document import is_document_schema
from schemaman.debezium.event_shapes import (
    is_known_connector,
    names_table,
    restore_event,
    unwrap_cell_schemas,
)
from schemaman.debezium.flattened_fields import NO_KEY_NAMES, KeyNames, read_physical_table
from schemaman.debezium.key import explain_key
from schemaman.debezium.observation import Reject, Skipped
from schemaman.debezium.payload import Body, SchemaLookup
from schemaman.debezium.raw_record import TOMBSTONE, is_snapshot_read, read_epoch_ms
from schemaman.debezium.records import (
    Coordinates,
    Position,
    Rank,
    Record,
)
from schemaman.debezium.source_block import Origin, read_origin
from schemaman.debezium.wire_format import AUTO, Forms
from schemaman.errors import UnreadableInput
from schemaman.model.schema import DEFAULT_STREAM, TableId
from schemaman.sink.decoders import Histories, KeyDecoder, RecordTable, RecordTables, TableDecoder
from schemaman.sink.flattened import FlattenedRow, is_flattened_delete, read_flattened, read_flattened_delete
from schemaman.sink.payloads import BodyReader, BodySchema
from schemaman.sink.plain_events import PlainForm, make_plain_form
from schemaman.sink.progress import GreatestOrders, OrderAmbiguity, ReadOrders, ReadProgress, lacks_commit
from schemaman.sink.record_columns import RecordColumns
from schemaman.sink.row_change import Op, RecordOffset, Row, RowChange, RowOutcome
from schemaman.sink.row_order import POSITION_LIMIT, format_rank, format_ranks
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, ConnectorModes
from schemaman.sink.values.row_decoder import DecodedRow, Decoder, UnreadableCell
from schemaman.sink.values.unavailable import PLACEHOLDER
from schemaman.sink.version_lookup import UnknownVersion

LastRecord = tuple[int, bytes | None]
"""The offset of the last record read in a partition, and its key if it was a delete with a value."""

_OPS = tuple("cudrt")  # no set: the value in a record may be unhashable
_SHADOW_TABLE = "shadow-table"


class RowReader:
    """Reads the records of one stream; one reader for each process, since it keeps its progress.

    Records of one partition come in order of offsets.

    Args:
        histories: the histories that type the records; with None each record has its own structure.
        schemas: returns the Avro text of a registry id.
        stream: the name of the stream.
        forms: the configured forms of keys and values.
        modes: the settings of the connector.
        placeholder: the connector's text for unavailable values.
        horizons: the greatest orders where an earlier reader of the same partitions ended.
        past: the orders that were read before in the same partitions.
        last: the record that was read last in each partition.
        ambiguity: where the order of records is uncertain (`progress`).
    """

    def __init__(
        self,
        histories: Histories | None = None,
        schemas: SchemaLookup = lambda id: None,
        *,
        stream: str = DEFAULT_STREAM,
        forms: Forms = AUTO,
        modes: ConnectorModes = UNKNOWN_MODES,
        placeholder: bytes = PLACEHOLDER,
        horizons: GreatestOrders | None = None,
        past: ReadOrders | None = None,
        last: Mapping[tuple[str, int], LastRecord] | None = None,
        ambiguity: OrderAmbiguity | None = None,
    ) -> None:
        self._bodies = BodyReader(schemas, forms)
        self._tables = RecordTables(histories, placeholder=placeholder, modes=modes)
        self._stream = stream
        self._forms = forms
        self._progress = ReadProgress(horizons or {}, past or {}, ambiguity)
        self._flattened_topics: set[str] = set()
        self._last: dict[tuple[str, int], LastRecord] = dict(last or {})
        self._is_delete_record = False
        """Whether the present record is a delete, also one of unknown order."""

    @property
    def greatest_orders(self) -> GreatestOrders:
        """The greatest order of each table in each partition, for the next reader of the same partitions."""
        return self._progress.greatest_orders

    def read_all(self, records: Iterable[Record]) -> Iterator[RowOutcome]:
        """Read the outcome of each record, in order."""
        return map(self.read, records)

    def read(self, record: Record) -> RowOutcome:
        """Read the outcome of a record."""
        self._is_delete_record = False
        found = self._read_or_reject(record)
        deleted_key = record.key if self._is_delete_record else None
        self._last[record.topic, record.partition] = (record.offset, deleted_key)
        return found

    def find_plain_form(self, record: Record, change: RowChange) -> PlainForm | None:
        """Find the form of events like a record that was read as a change; None if they are read in full."""
        if record.value is None or record.key is None or not isinstance(change.after, Mapping):
            return None
        payload, form = self._bodies.read(record, record.value, "value")
        key, key_form = self._bodies.read(record, record.key, "key")
        if form.schema is None or key_form.schema is None or not _is_event(payload):
            return None
        table = self._find_table(payload, form)
        made = None if table is None else table.single
        key_decoder = None if made is None else key_form.decoders.get((made, ()))
        if made is None or key_decoder is None:
            return None
        names = {name: value for name, value in payload["source"].items() if name in _NAMES}
        bodies = (form, key_form)
        return make_plain_form((payload, key), bodies, names, made, cast(KeyDecoder, key_decoder), change)

    def order_plain_events(
        self,
        table: TableId,
        connector: object,
        records: RecordColumns,
        sources: Mapping[str, Sequence[object]],
    ) -> list[str]:
        """Find the orders of the first of some plain events that follow each other in a partition.

        `connector` is the name in all their source blocks, which `sources` has column by column. The orders
        are beyond doubt. Nothing is remembered of the other events, and `read` has to read the next one.
        """
        positions = _format_positions(connector, sources)
        partition = table, records.topics[0], records.partitions[0]
        return self._progress.order_run(partition, records.offsets, positions)

    def remember_last(self, records: RecordColumns, index: int, *, is_delete: bool) -> None:
        """Remember the last record of a partition, which another reader has read."""
        last = records.offsets[index], records.keys[index] if is_delete else None
        self._last[records.topics[index], records.partitions[index]] = last

    def _read_or_reject(self, record: Record) -> RowOutcome:
        try:
            return self._read(record)
        except (UnreadableInput, UnknownVersion, UnreadableCell) as fault:
            return self._make_reject(record, str(fault))
        except RecursionError:
            return self._make_reject(record, "nested too deeply to be read")

    def _read(self, record: Record) -> RowOutcome:
        kind = classify_without_value(record)
        if kind == TOMBSTONE or record.value is None:
            return self._read_without_value(record, None)
        if kind is not None:
            return _skip_record(record, kind)
        payload, form = self._bodies.read(record, record.value, "value")
        if payload is None:
            return self._read_without_value(record, form)
        schema = form.schema
        if schema is None or not _is_event(payload):
            payload, schema = self._restore(record, payload, form)
        if not _is_event(payload):
            names = self._read_key_names(record)
            kind = classify_record(record, Body(payload, schema), self._forms, names)
            if kind == "flattened":
                return self._read_flattened(record, payload, form)
            if kind != "event":
                return _skip_record(record, kind)
        return self._read_event(record, payload, form)

    def _restore(self, record: Record, payload: object, form: BodySchema) -> tuple[Any, Node | None]:
        """Restore the payload and the schema of an event of another shape than Debezium's envelope.

        Raises:
            UnreadableInput: the shape does not contain the exact values of the row.
        """
        name = None if form.schema is None else form.name
        found = restore_event(payload, record.topic, name, lambda: self._read_key_names(record))
        if found is None:
            return payload, form.schema
        if found.avro_json:
            raise UnreadableInput(
                "Avro in its JSON encoding does not contain the exact values of a row: read the bytes of the "
                "topic with the schema registry"
            )
        if found.cells:
            raise UnreadableInput(CELLS)
        return found.payload, found.restore_schema(form.schema)

    def _read_key_names(self, record: Record) -> KeyNames:
        if record.key is None:
            return NO_KEY_NAMES
        try:
            payload, form = self._bodies.read(record, record.key, "key")
        except UnreadableInput:
            return NO_KEY_NAMES
        return KeyNames(read_physical_table(payload), form.name)

    def _read_event(self, record: Record, payload: Mapping[str, Any], form: BodySchema) -> RowOutcome:
        source, op = payload["source"], payload["op"]
        if op not in _OPS:
            raise UnreadableInput(f"an event with the unknown operation {op!r}")
        self._is_delete_record = op == "d"
        position = _read_position(source.get("connector"), source)
        coordinates = _make_coordinates(record, position, source, payload.get("ts_ms"))
        if op == "t":
            return self._read_truncate(record, payload, coordinates)
        try:
            table = self._find_table(payload, form)
        except UnknownVersion:
            if op != "d" or record.key is None:
                raise
            return self._read_delete_by_key(record, payload, coordinates)
        if table is None:
            return _skip_record(record, _SHADOW_TABLE)
        made = table.single or self._tables.choose_decoder(table, coordinates, self._read_key_payload(record))
        before, after = _read_images(payload, op)
        decode = made.decode_read if op == "r" else made.decode
        old = _choose_before_decoder(made, record)
        images = (None if before is None else old(before), None if after is None else decode(after))
        key = self._read_key(record, table.id, made)
        return self._make_change(record, table.id, made, op, key, images, coordinates, source)

    def _read_truncate(
        self, record: Record, payload: Mapping[str, Any], coordinates: Coordinates
    ) -> RowOutcome:
        """Read a TRUNCATE, which concerns the whole table and needs no structure of its rows."""
        origin = read_origin(payload)
        table = origin.table_id(self._stream)
        if origin.connector_plugin.has_online_copies and find_ghost_original(table.table) is not None:
            return _skip_record(record, _SHADOW_TABLE)
        made = self._tables.find_decoder_at(table, coordinates)
        return self._make_change(record, table, made, "t", None, (None, None), coordinates, payload["source"])

    def _read_delete_by_key(
        self, record: Record, payload: Mapping[str, Any], coordinates: Coordinates
    ) -> RowChange:
        """Read a delete whose row no version explains by its key, if the table has one.

        Raises UnknownVersion.
        """
        table = read_origin(payload).table_id(self._stream)
        made = self._tables.find_decoder_by_key(
            table, self._read_key_payload(record), coordinates, self._progress.find_bounds(table, coordinates)
        )
        if not made.schema.key:
            raise UnknownVersion(
                f"no version of {table} has exactly the fields of the row, and the table has no key"
            )
        key = self._read_key(record, table, made)
        return self._make_change(record, table, made, "d", key, (None, None), coordinates, payload["source"])

    def _read_flattened(self, record: Record, payload: Mapping[str, Any], form: BodySchema) -> RowOutcome:
        row = read_flattened(
            record.topic,
            payload,
            record.headers,
            form,
            self._read_key_payload(record),
            self._read_key_names(record),
            self._stream,
            self._forms.added,
        )
        self._flattened_topics.add(record.topic)
        self._is_delete_record = row.op == "d"
        names = tuple(name for name in payload if name not in row.additions.names)
        table = self._find_flattened_table(row, names, form)
        position = _read_position(row.additions.position_connector, row.additions.source)
        coordinates = _make_coordinates(record, position, row.additions.source, row.additions.read_ms)
        made = table.single or self._tables.choose_decoder(table, coordinates, self._read_key_payload(record))
        decode_before = _choose_before_decoder(made, record) if row.op == "d" else made.decode
        cells = (made.decode_read if row.op == "r" else decode_before)(payload)
        images = (cells, None) if row.op == "d" else (None, cells)
        key = self._read_key(record, table.id, made)
        source = {**row.additions.source, "connector": row.additions.connector}
        change = self._make_change(record, table.id, made, row.op, key, images, coordinates, source)
        return replace(change, is_flattened=True)

    def _read_without_value(self, record: Record, form: BodySchema | None) -> RowOutcome:
        """Read the tombstone of a delete that was read, or a delete that has only its key."""
        if record.key is None or not self._is_delete(record, form):
            return _skip_record(record, TOMBSTONE)
        key, names = self._read_key_payload(record), self._read_key_names(record)
        row = read_flattened_delete(
            record.topic, record.headers, form, names, self._stream, self._forms.added
        )
        table = self._tables.find_table_of_delete(row.table, record.topic)
        source = {**row.additions.source, "connector": row.additions.connector}
        position = _read_position(row.additions.position_connector, row.additions.source)
        coordinates = _make_coordinates(record, position, row.additions.source, row.additions.read_ms)
        if (
            position.kind == "none"
            and not self._progress.has_read(table, coordinates)
            and self._tables.has_positions(table)
        ):
            raise UnreadableInput(
                "a delete without a row or a position: it is unknown how far its partition was read before"
            )
        made = self._tables.find_decoder_by_key(
            table, key, coordinates, self._progress.find_bounds(table, coordinates)
        )
        row_key = self._read_key(record, table, made)
        return self._make_change(record, table, made, "d", row_key, (None, None), coordinates, source)

    def _is_delete(self, record: Record, form: BodySchema | None) -> bool:
        """Whether a record without a value is a delete, and not the tombstone that follows one.

        For flattened rows the record is the delete itself. For others its event no longer exists, since
        compaction keeps only the tombstone. In both cases the row is deleted at the record's position.
        Source: Debezium ExtractNewRecordState, `delete.tombstone.handling.mode`; Kafka, log compaction.
        """
        if is_flattened_delete(record.headers, form, self._forms.added):
            return True
        rows = record.topic in self._flattened_topics or self._tables.has_rows(record.topic)
        return rows and not self._follows_delete(record)

    def _follows_delete(self, record: Record) -> bool:
        """Whether the record directly before is its delete: connectors write the two together."""
        last = self._last.get((record.topic, record.partition))
        return last == (record.offset - 1, record.key)

    def _make_change(
        self,
        record: Record,
        table: TableId,
        made: TableDecoder,
        op: str,
        key: Row | None,
        images: tuple[DecodedRow | None, DecodedRow | None],
        coordinates: Coordinates,
        source: Mapping[str, Any],
    ) -> RowChange:
        before, after = images
        read = op == "r" or is_snapshot_read(cast(Any, source))
        order, redelivered, ambiguity = self._progress.order_change(table, coordinates, source, read=read)
        return RowChange(
            record=RecordOffset(self._stream, record.topic, record.partition, record.offset),
            table=table,
            op=cast(Op, op),
            key=key,
            before=None if before is None else before.row,
            unread_reasons={} if before is None else before.missing_reasons,
            after=None if after is None else after.row,
            unavailable=frozenset() if after is None else after.unavailable,
            order=order,
            ts_ms=coordinates.ts_ms,
            deleted=op == "d",
            schema=made.schema,
            version=made.version,
            position=coordinates.position,
            redelivered=redelivered,
            ambiguity=ambiguity,
        )

    def _find_table(self, payload: Mapping[str, Any], form: BodySchema) -> RecordTable | None:
        """Find the table of an event; None for the working copy of a migration tool."""
        source = payload["source"]
        names_in_source = _read_table_names(source)
        row = None if form.schema is not None else next((r for r in map(payload.get, _IMAGES) if r), None)
        names = None if row is None else tuple(row)
        try:
            return cast("RecordTable | None", form.decoders[names_in_source, names])
        except KeyError:
            pass
        except TypeError:
            raise UnreadableInput("the source block does not name its table as text") from None
        found = form.decoders[names_in_source, names] = self._make_table(read_origin(payload), form, names)
        return found

    def _make_table(
        self, origin: Origin, form: BodySchema, names: tuple[str, ...] | None
    ) -> RecordTable | None:
        id = origin.table_id(self._stream)
        if origin.connector_plugin.has_online_copies and find_ghost_original(id.table) is not None:
            return None
        is_document = form.schema is not None and is_document_schema(form.schema)
        if is_document or origin.connector_plugin.is_document_store:
            raise UnreadableInput("a MongoDB document, which cannot be read as a row of a table")
        if form.schema is not None:
            row = _find_row_node(form.schema)
            if not is_known_connector(origin.stated_connector) and unwrap_cell_schemas(row) != row:
                raise UnreadableInput(CELLS)
            nodes = read_fields(row)
            return self._tables.find_by_schema(id, nodes, form.encoding, origin.connector, origin.read_name)
        if names is None:
            made = self._tables.find_newest_decoder(id)
            return RecordTable(id, "json", None, single=made)
        return self._tables.find_by_names(id, names, origin.connector)

    def _find_flattened_table(
        self, row: FlattenedRow, names: tuple[str, ...], form: BodySchema
    ) -> RecordTable:
        known = form.decoders.get((row.table, names))
        if known is None:
            connector = row.additions.position_connector
            if form.schema is None:
                known = self._tables.find_by_names(row.table, names, connector)
            else:
                nodes = [f for f in read_fields(form.schema) if f["field"] in names]
                known = self._tables.find_by_schema(
                    row.table, nodes, form.encoding, connector, row.restore_name
                )
            form.decoders[row.table, names] = known
        return cast(RecordTable, known)

    def _read_key_payload(self, record: Record) -> object:
        if record.key is None:
            return None
        try:
            return self._bodies.read(record, record.key, "key")[0]
        except UnreadableInput as fault:
            raise UnreadableInput(f"key: {explain_key(record.key, fault.message)}") from None

    def _read_key(self, record: Record, table: TableId, made: TableDecoder) -> Row | None:
        if record.key is None:
            return None
        try:
            payload, form = self._bodies.read(record, record.key, "key")
            if payload is None:
                return None
            if not isinstance(payload, dict):
                raise UnreadableInput(
                    "a bare value, whose column is unknown: keep keys as structs (without the transformation "
                    "ExtractField$Key)"
                )
            names = tuple(payload) if form.schema is None else ()
            known = form.decoders.get((made, names))
            if known is None:
                known = self._tables.make_key_decoder(form, made, table, payload)
                form.decoders[made, names] = known
            return cast(KeyDecoder, known).decode(payload).row
        except UnreadableInput as fault:
            raise UnreadableInput(f"key: {explain_key(record.key, fault.message)}") from None
        except UnreadableCell as fault:
            raise UnreadableInput(f"key: {fault}") from None

    def _make_reject(self, record: Record, reason: str) -> Reject:
        data = record.value if record.value is not None else record.key or b""
        record_offset = (self._stream, record.topic, record.partition, record.offset)
        return Reject(*record_offset, count=1, reason=reason, sha256=hashlib.sha256(data).hexdigest())


CELLS = (
    "each value of the row is wrapped in a cell, and a column without one has not changed: such rows are not "
    "written; their table is known by `schemaman ingest`"
)
_NAMES = ("connector", "name", "db", "keyspace", "schema", "table", "collection")
"""The fields of a source block that name a table."""
_IMAGES = ("after", "before")


def _read_table_names(source: Mapping[str, Any]) -> tuple[object, ...]:
    """Read the fields of a source block that name its table."""
    return tuple(map(source.get, _NAMES))


def _is_event(payload: object) -> bool:
    """Whether a payload is an event of a row; nearly all are, so this check comes first."""
    if type(payload) is not dict:
        return False
    source = payload.get("source")
    known = type(source) is dict and names_table(source) and payload.get("op") in _OPS
    return known and "message" not in payload


def _choose_before_decoder(made: TableDecoder, record: Record) -> Decoder:
    """Choose the decoder of the row before an event; with a key, other values may be missing."""
    return made.decode_before if made.schema.key and record.key is not None else made.decode


def _read_images(payload: Mapping[str, Any], op: str) -> tuple[Any, Any]:
    before, after = payload.get("before"), payload.get("after")
    if op in ("c", "u", "r") and not isinstance(after, dict):
        raise UnreadableInput(f"an event {op!r} without the row after it")
    if before is not None and not isinstance(before, dict):
        raise UnreadableInput("the row before the event is no struct")
    return before, after if op != "d" else None


def _find_row_node(schema: Node) -> Node:
    rows = {f["field"]: f for f in read_fields(schema) if f["field"] in _IMAGES}
    row = rows.get("after", rows.get("before"))
    if row is None or row.get("type") != "struct":
        raise UnreadableInput("the event has no row: neither `after` nor `before` is a struct")
    return row


def _read_position(connector: object, source: Mapping[str, Any]) -> Position:
    try:
        position = find_connector(connector).position(source)
        is_great = _is_too_great(_rank_position(position))
    except (ValueError, TypeError) as fault:
        raise UnreadableInput(f"a position that cannot be read: {fault}") from None
    if is_great:
        raise UnreadableInput(f"a position that cannot be read: {position.kind} {position.value[:40]!r}")
    return position


def _rank_position(position: Position) -> Rank:
    """The rank of a position. Raises ValueError for one that has none, or has half a surrogate pair."""
    f"{position.value}{position.commit}".encode()
    return position.rank


def _is_too_great(rank: Rank) -> bool:
    return any(isinstance(part, int) and part >= POSITION_LIMIT for part in rank)


def _format_positions(connector: object, sources: Mapping[str, Sequence[object]]) -> Sequence[str | None]:
    """Format the positions of streamed changes; None for one without a position or its commit."""
    plugin = find_connector(connector)
    ranked = plugin.read_committed_ranks(sources)
    if ranked is not None and max(map(max, ranked[1])) < POSITION_LIMIT:
        return format_ranks(*ranked)
    blocks = (dict(zip(sources, block, strict=True)) for block in zip(*sources.values(), strict=True))
    return [_format_position(plugin, source) for source in blocks]


def _format_position(connector: Connector, source: Mapping[str, Any]) -> str | None:
    try:
        position = connector.position(source)
        rank = _rank_position(position)
    except (ValueError, TypeError):
        return None
    if position.kind == "none" or lacks_commit(position, source) or _is_too_great(rank):
        return None
    return format_rank(position.kind, rank)


def _make_coordinates(
    record: Record, position: Position, source: Mapping[str, Any], read_ms: object
) -> Coordinates:
    return Coordinates(
        record.topic,
        record.partition,
        record.offset,
        position,
        read_epoch_ms(source.get("ts_ms")),
        read_epoch_ms(read_ms),
        record.timestamp_ms,
    )


def _skip_record(record: Record, kind: str) -> Skipped:
    coordinates = Coordinates(record.topic, record.partition, record.offset, timestamp_ms=record.timestamp_ms)
    return Skipped(kind, coordinates, 1)
