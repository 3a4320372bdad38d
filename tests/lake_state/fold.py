"""The last state of every table, as the data events of a recording tell it: the independent judge's own fold.

The format, agreed with whoever compares a lake with it:

* `State.tables`: `Table` by name and life. A table is called as its events call it: `(space, name)`, where
  the space is PostgreSQL's schema or MariaDB's database. `life` counts the tables that had this name one
  after the other, from 1. Renames that the stream states (MariaDB) carry the rows along; where it does not
  (PostgreSQL), the rows stay under the name by which they were told.
* `Table.columns`: name and source type when the last event of the table was written, in order; `Table.key`:
  its key at that moment. `Table.ended`: the database had no such table any more at the end of the recording.
* `Table.told_key`: where the stream states structures, the key that its last event had; the same, but where
  the connector has not understood what became of an index.
* `Table.spellings`: the field names under which the events told a column, the last one first;
  `Table.left_spellings` the same of columns that are gone.
* `Table.rows`: `Row.cells` holds a canonical cell (see `cells`) for each column. A column that the row's last
  event did not know yet has no cell: the lake must hold NULL there. `Row.left` holds the last value of
  columns that are gone, by name; `Row.touched` names those of them after whose end the row was written
  again, so that a lake may have NULL there as well. `Row.left_as` holds the last value under each name that
  such a column had: who knows nothing of the rename has another column in each. `Row.ids` and `Row.spelled`
  hold the same of every column, by its identity. `Row.idle` holds the last
  value of columns that are still there and that events leave out (generated ones): old, or NULL.
* `Row.place`: topic, partition and offset of the event that wrote it last.
* A table without a key is also told as it was appended: `Table.appended`, every image of every event that
  was not a repetition, with its place and `op`. Its cells are called as the table calls its columns at the
  end; a column that is gone by then has none. `Appended.sent` has the names of its time.
* `State.unplaced`: events that tell no table (a flattened delete in a topic of several tables).

`fold(folder, withheld)` leaves out the events at those places: what a stream put into quarantine. Their
rows are then expected as they were before, under the names that the columns had before;
with `keep_structures` under those of the last event, withheld or not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.lake_state.cells import UNAVAILABLE, UNTOLD, Cell, Wire, cell
from tests.lake_state.recording import Event, Place, read
from tests.lake_state.truth import Column, Placed, Structure, Truth, Unplaced, misread, truth_of
from tests.lake_state.without_schemas import spell_as_sent, untold_wire

TableName = tuple[str, str]
Cells = Mapping[int, Cell]


@dataclass(slots=True)
class Row:
    """A row of a last state; see the module for what the parts mean."""

    cells: dict[str, Cell]
    place: Place
    left: dict[str, Cell] = field(default_factory=dict)
    touched: frozenset[str] = frozenset()
    left_as: dict[str, dict[str, Cell]] = field(default_factory=dict)
    idle: dict[str, Cell] = field(default_factory=dict)
    ids: dict[int, Cell] = field(default_factory=dict, repr=False)
    spelled: dict[int, dict[str, Cell]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Appended:
    """One change of a table without a key, as it was told."""

    place: Place
    op: str
    before: Mapping[str, Cell] | None
    after: Mapping[str, Cell] | None
    sent: Mapping[str, Cell] = field(default_factory=dict)
    """The image under the names that the columns had when the event was written."""


@dataclass(slots=True)
class Table:
    """A table of a last state; see the module for what the parts mean."""

    name: TableName
    life: int
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    rows: list[Row]
    ended: bool = False
    id: int = 0
    appended: list[Appended] = field(default_factory=list)
    told_key: tuple[str, ...] = ()
    spellings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    events: int = 0
    left_spellings: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def cells(self) -> int:
        """How many cells there are to compare."""
        return sum(len(row.cells) + len(row.left) for row in self.rows)


@dataclass(slots=True)
class State:
    """The last state of every table of a recording."""

    tables: dict[tuple[str, str, int], Table]
    unplaced: list[Event] = field(default_factory=list)

    def table(self, space: str, name: str, life: int | None = None) -> Table:
        """A table by name; the last that had the name, if no life is said."""
        lives = [t for t in self.tables.values() if t.name == (space, name)]
        return lives[-1] if life is None else next(t for t in lives if t.life == life)


def fold(
    folder: Path, withheld: Collection[Place] = (), *, as_sent: bool = False, keep_structures: bool = False
) -> State:
    """The last state of every table of a recording; `as_sent`: each value as the text of its JSON.

    `keep_structures`: an event that is withheld still tells the structure of its table.
    """
    settings = json.loads((folder / "meta.json").read_text("utf-8")).get("settings") or [{}]
    events = map(spell_as_sent, read(folder)) if as_sent else read(folder)
    return fold_events(
        events, truth_of(folder), settings[0], withheld, as_sent=as_sent, keep_structures=keep_structures
    )


def fold_events(
    events: Iterable[Event],
    truth: Truth,
    settings: Mapping[str, str],
    withheld: Collection[Place] = (),
    *,
    as_sent: bool = False,
    keep_structures: bool = False,
) -> State:
    """The last state that events tell, each one placed by the truth."""
    kept = set(withheld)
    placed: list[tuple[Placed, Event]] = []
    unplaced: list[Event] = []
    for event in _of_their_topic(list(events)):
        try:
            placed.append((truth.place(event), event))
        except Unplaced:
            unplaced.append(event)
    placed.sort(key=lambda pair: (pair[0].order, pair[1].arrival))
    books: dict[tuple[Any, ...], _Book] = {}
    for at, event in placed:
        told = _told_name(event, at.structure)
        called = told if not truth.renames_are_stated else ()
        new = _Book(at.structure.id, told, truth.renames_are_stated)
        book = books.setdefault((at.structure.id, called), new)
        if event.place not in kept:
            book.apply(at, event, _say_text if as_sent else lambda column: untold_wire(column.type, settings))
        elif keep_structures and book.structure is not None:
            book.describe(at)
    return State(_named(books.values(), truth), unplaced)


def _say_text(column: Column) -> Wire:
    return Wire("string")


def _told_name(event: Event, structure: Structure) -> TableName:
    """The name by which an event calls its table; one that the connector misread is the one that it has."""
    source = event.source
    name = source.get("table") or ""
    space = source.get("schema") or source.get("db") or ""
    return space, structure.name if name == misread(structure.name) else name


def _of_their_topic(events: Sequence[Event]) -> Iterator[Event]:
    """The events; one that tells no table is of the only table of its topic, after the event before it."""
    tables: dict[str, set[object]] = {}
    for event in events:
        if event.source.get("table"):
            tables.setdefault(event.place[0], set()).add(event.source["table"])
    before: dict[str, Event] = {}
    for event in events:
        topic = event.place[0]
        if event.source.get("table"):
            before[topic] = event
            yield event
        elif len(tables[topic]) == 1 and topic in before:
            yield replace(event, source=before[topic].source)
        else:
            yield event


def _named(books: Iterable[_Book], truth: Truth) -> dict[tuple[str, str, int], Table]:
    """Books by name and life, in the order of their first event."""
    tables: dict[tuple[str, str, int], Table] = {}
    lives: dict[TableName, int] = {}
    for book in books:
        if book.structure is None:
            continue
        now = truth.last.get(book.id)
        name = book.told
        if truth.renames_are_stated:
            named = now or _last_seen(truth, book.id)
            name = (named.space, named.name)
        ended = now is None or (now.space, now.name) != name
        lives[name] = lives.get(name, 0) + 1
        tables[(*name, lives[name])] = book.table(name, lives[name], ended)
    return tables


def _last_seen(truth: Truth, id: int) -> Structure:
    return next(state[id] for state in reversed(truth.states) if id in state)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A row while events go by: cells by column, and what it had of columns that later events left out."""

    cells: dict[int, Cell]
    left: dict[int, Cell]
    place: Place
    spelled: dict[int, dict[str, Cell]]


def _spelled(cells: Cells, ids: Sequence[int]) -> tuple[str, ...]:
    return tuple(repr(cells.get(id)) for id in ids)


class _Book:
    """The rows of one table while events go by; cells are kept by the identity of their column."""

    def __init__(self, id: int, told: TableName, stated: bool) -> None:
        self.id, self.told, self.stated = id, told, stated
        self.structure: Structure | None = None
        self.events = 0
        self._rows: dict[int, _Entry] = {}
        self._added = 0
        self._by_key: dict[tuple[int, ...], dict[tuple[str, ...], list[int]]] = {}
        self._names: dict[int, str] = {}
        self._appended: list[tuple[Place, str, Cells | None, Cells | None, Mapping[str, Cell]]] = []
        self._seen: set[tuple[Any, ...]] = set()
        self._spelled: dict[int, dict[str, None]] = {}
        self._gone: dict[str, dict[int, Cell]] = {}
        self._wire_key: tuple[str, ...] = ()

    def describe(self, at: Placed) -> None:
        """Take the structure that the table has when an event is written."""
        self.structure = at.structure
        self._names |= {c.id: c.name for c in at.structure.columns}
        for spelling, column in at.fields.items():
            self._spelled.setdefault(column.id, {})[spelling] = None

    def apply(self, at: Placed, event: Event, untold: Callable[[Column], Wire]) -> None:
        """Let one event happen."""
        self.describe(at)
        self.events += 1
        if event.op == "t":
            self._rows.clear()
            self._by_key.clear()
            self._appended.append((event.place, "t", None, None, {}))
            return
        wires = event.wires or {name: untold(column) for name, column in at.fields.items()}
        before, after = (
            _image(image, wires, at.fields) if image is not None else None
            for image in (event.before, event.after)
        )
        key = self._key(at, event, before, after)
        self._wire_key = tuple(at.fields[n].name if n in at.fields else n for n in event.key or ())
        if not at.structure.key and not self._first_time(event, before, after):
            return
        image = (before if event.op == "d" else after) or {}
        sent = {self._names[id]: value for id, value in image.items()}
        self._appended.append((event.place, event.op, before, after, sent))
        old = self._take(key, before, at.structure)
        if event.op == "d":
            if old is not None and (newer := event.headers.get("__debezium.newkey")):
                self._gone[newer] = old.cells
            return
        assert after is not None, event
        self._put(event, at, after, old)

    def _first_time(self, event: Event, before: Cells | None, after: Cells | None) -> bool:
        """Whether a change of a table without a key was not told before: by its place in the source's log."""
        source = event.source
        mark = (source.get("lsn"), source.get("file"), source.get("pos"), source.get("row"), event.op)
        if event.snapshot or (mark[0] is None and mark[1] is None):
            return True
        new = mark not in self._seen
        self._seen.add(mark)
        return new

    def _key(self, at: Placed, event: Event, before: Cells | None, after: Cells | None) -> dict[int, Cell]:
        """The identity of the row that the event changes, by the key that the table really had then."""
        wanted = at.structure.key
        for image in (before, after):
            if image and wanted and all(_is_told(image.get(id)) for id in wanted):
                key = {id: image[id] for id in wanted}
                if image is after or self._find(key):
                    return key
        if event.key and not before and not after:
            return self._key_of_record(at, event)
        return {}

    def _key_of_record(self, at: Placed, event: Event) -> dict[int, Cell]:
        columns = {c.name: c for c in at.structure.columns} | dict(at.fields)
        assert event.key is not None
        wires = event.key_wires or {}
        return {
            columns[name].id: cell(wires.get(name) or Wire("string" if isinstance(raw, str) else "int"), raw)
            for name, raw in event.key.items()
            if name in columns
        }

    def _find(self, key: Cells) -> list[int]:
        """The rows that certainly have a key."""
        ids = tuple(key)
        if ids not in self._by_key:
            self._by_key[ids] = {}
            for number, entry in self._rows.items():
                self._by_key[ids].setdefault(_spelled(entry.cells, ids), []).append(number)
        return list(self._by_key[ids].get(_spelled(key, ids), ()))

    def _take(self, key: Cells, before: Cells | None, structure: Structure) -> _Entry | None:
        """Remove and give the row that an event is about: by the key, else by what it says of the old row."""
        found = self._find(key) if key else []
        if not found and before and structure.old:
            old = {id: before[id] for id in structure.old if id in before}
            found = [n for n, entry in self._rows.items() if _agrees(entry.cells, old)][:1]
        taken = None
        for number in found:
            taken = self._rows.pop(number)
            for ids, rows in self._by_key.items():
                rows[_spelled(taken.cells, ids)].remove(number)
        return taken

    def _put(self, event: Event, at: Placed, after: dict[int, Cell], old: _Entry | None) -> None:
        known = old.cells if old else self._gone.get(json.dumps(event.key), {})
        for id, value in after.items():
            if value is UNAVAILABLE:
                after[id] = known.get(id, UNTOLD)
        left = {**old.left, **{id: v for id, v in old.cells.items() if id not in after}} if old else {}
        self._added += 1
        spelled = {id: dict(told) for id, told in old.spelled.items()} if old else {}
        for spelling, column in at.fields.items():
            if column.id in after:
                spelled.setdefault(column.id, {})[spelling] = after[column.id]
        self._rows[self._added] = _Entry(after, left, event.place, spelled)
        for ids, rows in self._by_key.items():
            rows.setdefault(_spelled(after, ids), []).append(self._added)

    def table(self, name: TableName, life: int, ended: bool) -> Table:
        """What there is at the end."""
        assert self.structure is not None
        names = {c.id: c.name for c in self.structure.columns}
        rows = []
        for entry in self._rows.values():
            gone_cells = {id: value for id, value in entry.cells.items() if id not in names}
            left = {id: value for id, value in entry.left.items() if id not in names} | gone_cells
            rows.append(
                Row(
                    {names[id]: value for id, value in entry.cells.items() if id in names},
                    entry.place,
                    {self._names[id]: value for id, value in left.items()},
                    frozenset(self._names[id] for id in entry.left if id not in names),
                    {self._names[id]: told for id, told in entry.spelled.items() if id not in names},
                    {names[id]: value for id, value in entry.left.items() if id in names},
                    {**entry.left, **entry.cells},
                    entry.spelled,
                )
            )
        columns = self.structure.columns
        spelled = {id: tuple(reversed(told)) for id, told in self._spelled.items()}
        spellings = {self._names[id]: told for id, told in spelled.items() if id in names}
        gone = {self._names[id]: told for id, told in spelled.items() if id not in names}
        told_key = self._wire_key if self.stated else ()
        return Table(
            name, life, columns, self.structure.called(self.structure.key), rows, ended, self.id,
            self._list_appended(names), told_key, spellings, self.events, gone,
        )  # fmt: skip

    def _list_appended(self, names: Mapping[int, str]) -> list[Appended]:
        """Each change with its cells by the last name of their column: a rename names old rows anew."""

        def name_cells(image: Cells | None) -> dict[str, Cell] | None:
            return None if image is None else {names[id]: v for id, v in image.items() if id in names}

        return [
            Appended(place, op, name_cells(before), name_cells(after), sent)
            for place, op, before, after, sent in self._appended
        ]


def _is_told(value: Cell) -> bool:
    return value is not None and value is not UNAVAILABLE


def _agrees(row: Cells, wanted: Cells) -> bool:
    """Whether a row has these values; what it does not have, or nobody sent, agrees with anything."""
    return all(
        id not in row or value is UNAVAILABLE or row[id] is UNTOLD or row[id] == value
        for id, value in wanted.items()
    )


def _image(
    raw: Mapping[str, Any], wires: Mapping[str, Wire], fields: Mapping[str, Column]
) -> dict[int, Cell]:
    return {fields[name].id: _exact(cell(wires[name], value), fields[name]) for name, value in raw.items()}


def _exact(value: Cell, column: Column) -> Cell:
    """The number that the database has where a BIGINT UNSIGNED travels as a signed one.

    Source: Debezium MySQL connector, `bigint.unsigned.handling.mode=long`.
    """
    if isinstance(value, int) and value < 0 and re.fullmatch(r"bigint.*unsigned", column.type):
        return value + 2**64
    return value
