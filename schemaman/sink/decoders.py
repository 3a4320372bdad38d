"""The tables that records are of, and the decoders of their rows and keys, made once for each structure.

Law: a row is decoded by the schema that it brought itself, to the types of the version that it is of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from schemaman.debezium.converters.connect import Node, columns_of, fields_of
from schemaman.debezium.ddl.online import BY_DATABASE
from schemaman.debezium.key import ROUTING_FIELDS
from schemaman.debezium.records import Mark
from schemaman.errors import UnreadableInput
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.sink.payloads import Form
from schemaman.sink.values.connector_modes import UNTOLD, Modes
from schemaman.sink.values.from_connect import Written
from schemaman.sink.values.row_decoder import (
    Cell,
    Decoder,
    cell,
    decoder,
    lenient,
    of_untold_sign,
    sign_is_untold,
    untold,
)
from schemaman.sink.values.unavailable import PLACEHOLDER
from schemaman.sink.version_lookup import Between, Face, at, behind, faces, keyed, same

Histories = Mapping[TableId, TableHistory]
NO_SCHEMA = "JSON without a schema: nobody tells the types of the values"


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """The decoder of one structure, and the column of each field that rows of it have.

    Each is equal to itself alone: decoders of keys are found by it, and two tables never share one.
    `decode_read` is for rows that were read from the table: there nothing is unavailable, whatever it looks
    like. `decode_old` is for rows of before of which only a part is asked.
    """

    schema: TableSchema
    version: int | None
    decode: Decoder
    decode_read: Decoder
    decode_old: Decoder
    columns: Mapping[str, Column]


_NOTHING = decoder(())


@dataclass(eq=False, slots=True)
class Table:
    """A table as records of one form tell it.

    `nodes` are the fields of its rows, None where no schema tells them. `candidates` are the versions that
    rows can be of; `single` is what all rows are read by where they need not be asked which. `connector` is
    what the record tells, else the history of the table.
    """

    id: TableId
    written: Written
    nodes: Sequence[Node] | None
    connector: str = ""
    candidates: tuple[Face, ...] = ()
    single: Made | None = None
    made: dict[int, Made] = field(default_factory=dict)


class Tables:
    """Knows the tables of a stream; without histories (None) each record has the structure that it brings."""

    def __init__(
        self, histories: Histories | None, *, placeholder: bytes = PLACEHOLDER, modes: Modes = UNTOLD
    ) -> None:
        self.histories = histories
        self._topics: dict[str, tuple[TableHistory, ...]] | None = None
        self._keyed: dict[tuple[TableId, tuple[str, ...]], Table] = {}
        self._alone: dict[TableId, Made] = {}
        self._placeholder = placeholder
        self._modes = modes

    def with_rows(
        self,
        id: TableId,
        nodes: Sequence[Node],
        written: Written,
        connector: str = "",
        read_name: Callable[[str], str] = str,
    ) -> Table:
        """The table of rows with those fields; `read_name` gives names as the source has them.

        Raises:
            UnreadableInput: the history knows no such table, or two fields are of one column.
            UnknownFace: no version of it has these fields.
        """
        wire = columns_of({"type": "struct", "fields": list(nodes)})
        if self.histories is None:
            columns = {
                str(c.emitted_name): Column(
                    read_name(c.name), c.type, c.nullable, emitted_name=c.emitted_name
                )
                for c in wire
            }
            table = Table(id, written, nodes, connector)
            table.single = self._decoders(table, columns, TableSchema(tuple(columns.values())), None)
            return table
        history = self.history(id)
        candidates = faces(history, {str(c.emitted_name): c.type for c in wire})
        return self._settled(Table(id, written, nodes, connector or history.connector, candidates))

    def with_names(self, id: TableId, names: Sequence[str], connector: str = "") -> Table:
        """The table of rows with fields of those names, and no schema. Raises as `with_rows` does."""
        if self.histories is None:
            raise UnreadableInput(NO_SCHEMA)
        history = self.history(id)
        if not any(_typed(version) for version in history.versions):
            raise UnreadableInput(f"{NO_SCHEMA}, and no version of {id} has any but those of JSON")
        told = connector or history.connector
        return self._settled(Table(id, "json", None, told, faces(history, dict.fromkeys(names))))

    def history(self, id: TableId) -> TableHistory:
        """What is known of a table. Raises UnreadableInput."""
        history = None if self.histories is None else self.histories.get(id)
        if history is None or not history.versions:
            raise UnreadableInput(
                f"the history knows no table {id}: read it in first (schemaman ingest; schemaman rejects "
                "tells what it could not read)"
            )
        return history

    def in_topic(self, topic: str) -> tuple[TableHistory, ...]:
        """The tables whose rows came in a topic."""
        if self._topics is None:
            self._topics = {}
            for history in (self.histories or {}).values():
                for name in history.topics:
                    self._topics[name] = (*self._topics.get(name, ()), history)
        return self._topics.get(topic, ())

    def rows_in(self, topic: str) -> bool:
        """Whether rows of tables are known to come in a topic, none of which are documents."""
        known = self.in_topic(topic)
        return bool(known) and all(history.connector != "mongodb" for history in known)

    def of_delete(self, named: TableId, topic: str) -> TableId:
        """The table of a delete that only names and its topic tell.

        Raises:
            UnreadableInput: several tables have their rows in the topic.
        """
        known = [history.table for history in self.in_topic(topic)]
        if named in known or not known:
            return named
        if len(known) > 1:
            raise UnreadableInput(
                "a delete without a row in a topic of several tables: nobody tells of which it is"
            )
        return known[0]

    def has_places(self, id: TableId) -> bool:
        """Whether the records of a table tell their places in the source's log."""
        history = None if self.histories is None else self.histories.get(id)
        return history is not None and any(v.at.position.kind != "none" for v in history.versions)

    def at(self, table: Table, mark: Mark) -> Made:
        """How a row at a mark is read."""
        return table.single or self._made(table, at(table.candidates, mark))

    def of_key_alone(self, id: TableId) -> Made:
        """The newest structure of a table of which no row is at hand.

        Raises:
            UnreadableInput: the history knows no such table, or there is none.
        """
        known = self._alone.get(id)
        if known is None:
            known = self._alone[id] = self._without_rows(id)
        return known

    def _without_rows(self, id: TableId) -> Made:
        if self.histories is None:
            return Made(TableSchema(()), None, _NOTHING, _NOTHING, _NOTHING, {})
        version = self.history(id).latest
        columns = {column.emitted_name or column.name: column for column in version.schema.columns}
        return Made(version.schema, version.number, _NOTHING, _NOTHING, _NOTHING, columns)

    def of_key(self, id: TableId, key: object, mark: Mark, between: Between) -> Made:
        """The structure by which a key is read whose row is not at hand: the one of its place.

        A record without a place of its own stands `between` two.

        Raises:
            UnreadableInput: the history knows no such table.
            UnknownFace: which columns the fields of the key are cannot be told.
        """
        if self.histories is None or not isinstance(key, dict):
            return self.of_key_alone(id)
        names = tuple(key)
        known = self._keyed.get((id, names))
        if known is None:
            newest = self.of_key_alone(id)
            fields = [n for n in names if not _is_routing(n, key, newest, id)]
            candidates = keyed(self.history(id), fields)
            known = self._keyed[id, names] = Table(id, "json", None, candidates=candidates)
        placed = mark.position.kind != "none"
        face = at(known.candidates, mark) if placed else behind(known.candidates, names, mark, between)
        made = known.made.get(face.number)
        if made is None:
            made = Made(face.schema, face.number, _NOTHING, _NOTHING, _NOTHING, face.columns)
            known.made[face.number] = made
        return made

    def keys(self, form: Form, made: Made, id: TableId, payload: Mapping[str, object]) -> Decoder:
        """The decoder of keys of a form; a column that only the key carries is what the key says it is.

        Raises:
            UnreadableInput: nobody tells the types.
        """
        if form.schema is None:
            names = [n for n in payload if not _is_routing(n, payload, made, id)]
            unknown = [n for n in names if n not in made.columns]
            if unknown:
                raise UnreadableInput(f"{NO_SCHEMA}: {', '.join(unknown)}")
            return decoder([self._untold(n, made.columns[n]) for n in names])
        cells = []
        for node, told in zip(fields_of(form.schema), columns_of(form.schema), strict=True):
            name = node["field"]
            if not _is_routing(name, payload, made, id):
                column = made.columns.get(name) or made.schema.column(told.name) or told
                cells.append(cell(node, column, form.written, self._modes, whole=True))
        return decoder(cells)

    def _settled(self, table: Table) -> Table:
        if same(table.candidates) and len({face.number for face in table.candidates}) == 1:
            table.single = self._made(table, table.candidates[0])
        return table

    def _made(self, table: Table, face: Face) -> Made:
        known = table.made.get(face.number)
        if known is None:
            known = self._decoders(table, face.columns, face.schema, face.number)
            table.made[face.number] = known
        return known

    def _decoders(
        self, table: Table, columns: Mapping[str, Column], schema: TableSchema, version: int | None
    ) -> Made:
        _check_names(columns)
        if table.nodes is None:
            cells = [self._signed(self._untold(n, column), column, table) for n, column in columns.items()]
        else:
            cells = [self._cell(node, columns[node["field"]], table) for node in table.nodes]
        sure: list[Cell] = [(field, name, (), expected, read) for field, name, _, expected, read in cells]
        return Made(schema, version, decoder(cells), decoder(sure), lenient(cells), columns)

    def _cell(self, node: Node, column: Column, table: Table) -> Cell:
        made = cell(node, column, table.written, self._modes, placeholder=self._placeholder)
        return self._signed(made, column, table)

    def _signed(self, made: Cell, column: Column, table: Table) -> Cell:
        """The cell, with doubt in a sign that nobody declares."""
        doubted = table.connector in BY_DATABASE and self._modes.unsigned != "precise"
        return of_untold_sign(made) if doubted and sign_is_untold(column) else made

    def _untold(self, name: str, column: Column) -> Cell:
        return untold(name, column, self._modes, "json", self._placeholder)


def _typed(version: SchemaVersion) -> bool:
    return version.status != "inferred"


def _check_names(columns: Mapping[str, Column]) -> None:
    fields: dict[str, str] = {}
    for name, column in columns.items():
        other = fields.setdefault(column.name, name)
        if other != name:
            raise UnreadableInput(f"the fields {other!r} and {name!r} are both of column {column.name!r}")


def _is_routing(name: str, payload: Mapping[str, object], made: Made, id: TableId) -> bool:
    """Whether a field of a key is no column: routing adds the topic of the table, under any name."""
    if name in ROUTING_FIELDS:
        return True
    value = payload.get(name)
    return name not in made.columns and isinstance(value, str) and value.startswith(f"{id.server}.")
