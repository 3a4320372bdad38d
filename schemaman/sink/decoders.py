"""The tables of records, and the decoders of their rows and keys, made once for each structure.

Law: a row is decoded by the schema of its own record, to the types of the version that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.debezium.connector import find_connector
from schemaman.debezium.converters.connect import Node, read_columns, read_fields
from schemaman.debezium.key import ROUTING_FIELDS
from schemaman.debezium.records import Coordinates
from schemaman.errors import UnreadableInput
from schemaman.history.untyped_columns import is_read_as_texts
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.sink.payloads import BodySchema
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, ConnectorModes
from schemaman.sink.values.from_connect import CellEncoding
from schemaman.sink.values.json_text import make_text_cell
from schemaman.sink.values.row_decoder import (
    Cell,
    Decoder,
    is_sign_unknown,
    make_cell,
    make_cell_by_modes,
    make_decoder,
    make_lenient_decoder,
    refuse_unknown_sign,
)
from schemaman.sink.values.unavailable import PLACEHOLDER
from schemaman.sink.version_lookup import (
    CarriedVersion,
    PositionBounds,
    choose_version,
    choose_version_by_bounds,
    choose_version_by_own_key,
    find_versions,
    find_versions_by_key,
    is_same_structure,
)

Histories = Mapping[TableId, TableHistory]
NO_SCHEMA = "JSON without a schema does not contain the types of its values"


@dataclass(frozen=True, slots=True)
class KeyDecoder:
    """The decoder of the keys of one form; `cells` are those of `decode`."""

    decode: Decoder
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TableDecoder:
    """The decoder of one structure, and the column of each field of its rows.

    Each one equals only itself, so that it identifies decoders of keys, and two tables never share one.
    `decode_read` is for rows that were read from the table, which have no unavailable values. `decode_before`
    is for rows before a change, where some values may be missing. `has_texts`: nothing shows the types of its
    values, and each is read as text. `cells` are those of `decode`.
    """

    schema: TableSchema
    version: int | None
    decode: Decoder
    decode_read: Decoder
    decode_before: Decoder
    columns: Mapping[str, Column]
    has_texts: bool = False
    cells: tuple[Cell, ...] = ()


_EMPTY_DECODER = make_decoder(())


@dataclass(eq=False, slots=True)
class RecordTable:
    """A table in records of one body schema.

    `nodes` are the fields of its rows, None without a schema. `candidates` are the possible versions of rows;
    `single` is the decoder of all rows if their version does not matter. `connector` is that of the record,
    else that of the table's history.
    """

    id: TableId
    encoding: CellEncoding
    nodes: Sequence[Node] | None
    connector: str = ""
    candidates: tuple[CarriedVersion, ...] = ()
    single: TableDecoder | None = None
    decoders: dict[int, TableDecoder] = field(default_factory=dict)


class RecordTables:
    """The tables of a stream; without histories (None) each record has its own structure."""

    def __init__(
        self,
        histories: Histories | None,
        *,
        placeholder: bytes = PLACEHOLDER,
        modes: ConnectorModes = UNKNOWN_MODES,
    ) -> None:
        self.histories = histories
        self._topics: dict[str, tuple[TableHistory, ...]] | None = None
        self._keyed: dict[tuple[TableId, tuple[str, ...]], RecordTable] = {}
        self._newest: dict[TableId, TableDecoder] = {}
        self._placeholder = placeholder
        self._modes = modes

    def find_by_schema(
        self,
        id: TableId,
        nodes: Sequence[Node],
        written: CellEncoding,
        connector: str = "",
        read_name: Callable[[str], str] = str,
    ) -> RecordTable:
        """Find the table of rows with these fields; `read_name` turns names into the source's names.

        Raises:
            UnreadableInput: the history has no such table, or two fields belong to one column.
            UnknownVersion: no version of the table has these fields.
        """
        wire = read_columns({"type": "struct", "fields": list(nodes)})
        if self.histories is None:
            columns = {
                str(c.emitted_name): Column(
                    read_name(c.name), c.type, c.nullable, emitted_name=c.emitted_name
                )
                for c in wire
            }
            table = RecordTable(id, written, nodes, connector)
            table.single = self._make_decoder(table, columns, TableSchema(tuple(columns.values())), None)
            return table
        history = self.require_history(id)
        candidates = find_versions(history, {str(c.emitted_name): c.type for c in wire})
        return self._settle_version(
            RecordTable(id, written, nodes, connector or history.connector, candidates)
        )

    def find_by_names(self, id: TableId, names: Sequence[str], connector: str = "") -> RecordTable:
        """Find the table of rows with these field names and without a schema. Raises as `find_by_schema`."""
        if self.histories is None:
            raise UnreadableInput(NO_SCHEMA)
        history = self.require_history(id)
        if not any(_has_types(version) for version in history.versions):
            raise UnreadableInput(f"{NO_SCHEMA}, and no version of {id} has other types than those of JSON")
        source_connector = connector or history.connector
        return self._settle_version(
            RecordTable(id, "json", None, source_connector, find_versions(history, dict.fromkeys(names)))
        )

    def require_history(self, id: TableId) -> TableHistory:
        """Return the history of a table. Raises UnreadableInput if there is none."""
        history = None if self.histories is None else self.histories.get(id)
        if history is None or not history.versions:
            raise UnreadableInput(
                f"the history has no table {id}: run `schemaman ingest` first; `schemaman rejects` lists "
                "what it could not read"
            )
        return history

    def list_histories(self, topic: str) -> tuple[TableHistory, ...]:
        """List the histories of the tables whose rows came in a topic."""
        if self._topics is None:
            self._topics = {}
            for history in (self.histories or {}).values():
                for name in history.topics:
                    self._topics[name] = (*self._topics.get(name, ()), history)
        return self._topics.get(topic, ())

    def has_rows(self, topic: str) -> bool:
        """Whether a topic is known to have rows of tables, and no documents."""
        known = self.list_histories(topic)
        return bool(known) and not any(find_connector(h.connector).is_document_store for h in known)

    def find_table_of_delete(self, named: TableId, topic: str) -> TableId:
        """Find the table of a delete that has only the names of its record and its topic.

        Raises:
            UnreadableInput: several tables have their rows in the topic.
        """
        known = [history.table for history in self.list_histories(topic)]
        if named in known or not known:
            return named
        if len(known) > 1:
            raise UnreadableInput("a delete without a row in a topic of several tables: its table is unknown")
        return known[0]

    def has_positions(self, id: TableId) -> bool:
        """Whether the records of a table have positions in the source's log."""
        history = None if self.histories is None else self.histories.get(id)
        return history is not None and any(v.at.position.kind != "none" for v in history.versions)

    def choose_decoder(self, table: RecordTable, coordinates: Coordinates, key: object) -> TableDecoder:
        """Choose the decoder of a row at its coordinates, whose record has a key."""
        fields = tuple(key) if isinstance(key, dict) else ()
        return self._find_decoder(table, choose_version_by_own_key(table.candidates, coordinates, fields))

    def find_newest_decoder(self, id: TableId) -> TableDecoder:
        """Find the newest structure of a table for a record without a row.

        Raises:
            UnreadableInput: the history has no such table, or there is no history.
        """
        known = self._newest.get(id)
        if known is None:
            known = self._newest[id] = self._make_newest_decoder(id)
        return known

    def find_decoder_at(self, id: TableId, coordinates: Coordinates) -> TableDecoder:
        """Find the structure at the coordinates of a record without any field. Raises as the newest one."""
        newest = self.find_newest_decoder(id)
        if self.histories is None or coordinates.position.kind == "none":
            return newest
        versions = self.require_history(id).versions
        carried = [CarriedVersion(v.number, v.schema, {}, v) for v in versions]
        found = choose_version(carried, coordinates)
        return replace(newest, schema=found.schema, version=found.number)

    def _make_newest_decoder(self, id: TableId) -> TableDecoder:
        if self.histories is None:
            return TableDecoder(TableSchema(()), None, _EMPTY_DECODER, _EMPTY_DECODER, _EMPTY_DECODER, {})
        version = self.require_history(id).latest
        columns = {column.emitted_name or column.name: column for column in version.schema.columns}
        empty = (_EMPTY_DECODER, _EMPTY_DECODER, _EMPTY_DECODER)
        return TableDecoder(version.schema, version.number, *empty, columns, is_read_as_texts(version))

    def find_decoder_by_key(
        self, id: TableId, key: object, coordinates: Coordinates, between: PositionBounds
    ) -> TableDecoder:
        """Find the structure for the key of a record without a row: the one at its position.

        A record without a position is `between` two.

        Raises:
            UnreadableInput: the history has no such table.
            UnknownVersion: the columns of the key's fields are ambiguous.
        """
        if self.histories is None or not isinstance(key, dict):
            return self.find_newest_decoder(id)
        names = tuple(key)
        known = self._keyed.get((id, names))
        if known is None:
            newest = self.find_newest_decoder(id)
            fields = [n for n in names if not _is_routing(n, key, newest, id)]
            candidates = find_versions_by_key(self.require_history(id), fields)
            known = self._keyed[id, names] = RecordTable(id, "json", None, candidates=candidates)
        placed = coordinates.position.kind != "none"
        candidate = (
            choose_version(known.candidates, coordinates)
            if placed
            else choose_version_by_bounds(known.candidates, names, coordinates, between)
        )
        made = known.decoders.get(candidate.number)
        if made is None:
            made = TableDecoder(
                candidate.schema,
                candidate.number,
                _EMPTY_DECODER,
                _EMPTY_DECODER,
                _EMPTY_DECODER,
                candidate.columns,
                is_read_as_texts(candidate.version),
            )
            known.decoders[candidate.number] = made
        return made

    def make_key_decoder(
        self, form: BodySchema, made: TableDecoder, id: TableId, payload: Mapping[str, object]
    ) -> KeyDecoder:
        """Make the decoder of keys of one form; a column that only the key has gets the key's type.

        Raises:
            UnreadableInput: the types of the key are unknown.
        """
        if form.schema is None:
            names = [n for n in payload if not _is_routing(n, payload, made, id)]
            unknown = [n for n in names if n not in made.columns]
            if unknown:
                raise UnreadableInput(f"{NO_SCHEMA}: {', '.join(unknown)}")
            cells = [self._make_plain_cell(n, made.columns[n], made.has_texts) for n in names]
            return KeyDecoder(make_decoder(cells), tuple(cells))
        cells = []
        for node, key_column in zip(read_fields(form.schema), read_columns(form.schema), strict=True):
            name = node["field"]
            if not _is_routing(name, payload, made, id):
                column = made.columns.get(name) or made.schema.column(key_column.name) or key_column
                cells.append(make_cell(node, column, form.encoding, self._modes, whole=True))
        return KeyDecoder(make_decoder(cells), tuple(cells))

    def _settle_version(self, table: RecordTable) -> RecordTable:
        if (
            is_same_structure(table.candidates)
            and len({candidate.number for candidate in table.candidates}) == 1
        ):
            table.single = self._find_decoder(table, table.candidates[0])
        return table

    def _find_decoder(self, table: RecordTable, candidate: CarriedVersion) -> TableDecoder:
        known = table.decoders.get(candidate.number)
        if known is None:
            has_texts = table.nodes is None and is_read_as_texts(candidate.version)
            structure = (candidate.columns, candidate.schema, candidate.number)
            known = self._make_decoder(table, *structure, has_texts)
            table.decoders[candidate.number] = known
        return known

    def _make_decoder(
        self,
        table: RecordTable,
        columns: Mapping[str, Column],
        schema: TableSchema,
        version: int | None,
        has_texts: bool = False,
    ) -> TableDecoder:
        _check_names(columns)
        if table.nodes is None:
            cells = [
                self._check_sign(self._make_plain_cell(n, column, has_texts), column, table)
                for n, column in columns.items()
            ]
        else:
            cells = [self._make_cell(node, columns[node["field"]], table) for node in table.nodes]
        sure: list[Cell] = [(field, name, (), expected, read) for field, name, _, expected, read in cells]
        decoders = (make_decoder(cells), make_decoder(sure), make_lenient_decoder(cells))
        return TableDecoder(schema, version, *decoders, columns, has_texts, tuple(cells))

    def _make_cell(self, node: Node, column: Column, table: RecordTable) -> Cell:
        made = make_cell(node, column, table.encoding, self._modes, placeholder=self._placeholder)
        return self._check_sign(made, column, table)

    def _check_sign(self, made: Cell, column: Column, table: RecordTable) -> Cell:
        """Add a check of the sign to a cell whose column is not declared."""
        is_long = self._modes.unsigned != "precise"
        is_long = is_long and find_connector(table.connector).has_unsigned_integers
        return refuse_unknown_sign(made) if is_long and is_sign_unknown(column) else made

    def _make_plain_cell(self, name: str, column: Column, has_texts: bool) -> Cell:
        """Make the cell of a field without a schema."""
        if has_texts:
            return make_text_cell(name, column, self._placeholder)
        return make_cell_by_modes(name, column, self._modes, "json", self._placeholder)


def _has_types(version: SchemaVersion) -> bool:
    return version.status != "inferred" or is_read_as_texts(version)


def _check_names(columns: Mapping[str, Column]) -> None:
    fields: dict[str, str] = {}
    for name, column in columns.items():
        other = fields.setdefault(column.name, name)
        if other != name:
            raise UnreadableInput(f"the fields {other!r} and {name!r} both belong to column {column.name!r}")


def _is_routing(name: str, payload: Mapping[str, object], made: TableDecoder, id: TableId) -> bool:
    """Whether a field of a key is no column: routing adds the topic of the table, under any name."""
    if name in ROUTING_FIELDS:
        return True
    value = payload.get(name)
    return name not in made.columns and isinstance(value, str) and value.startswith(f"{id.server}.")
