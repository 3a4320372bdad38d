"""What the database was when an event's row was written: its own word, step by step.

A column is known by an identity that survives its name: PostgreSQL's attribute number; for MariaDB, which
shows none, a number that this module gives and carries through the renames of the statements.
"""

from __future__ import annotations

import gzip
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.lake_state.recording import Event


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `id` is what it is, `name` what it is called, `type` the database's own spelling."""

    id: int
    name: str
    type: str
    nullable: bool = True
    generated: bool = False


@dataclass(frozen=True, slots=True)
class Structure:
    """A table at one step: `id` survives renames; `space` is its schema (PostgreSQL) or database (MariaDB).

    `old`: the columns whose old values an update or a delete carries (PostgreSQL's replica identity).
    """

    id: int
    space: str
    name: str
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    old: tuple[int, ...] = ()

    def called(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The names of columns."""
        names = {c.id: c.name for c in self.columns}
        return tuple(names[id] for id in ids)


@dataclass(frozen=True, slots=True)
class Placed:
    """An event in the truth: its table as it was, field name → column, its place in the source's order."""

    structure: Structure
    fields: Mapping[str, Column]
    order: tuple[int, ...]


class Unplaced(LookupError):
    """The truth knows no table for an event: a shape that nobody made."""


State = Mapping[int, Structure]


class Truth(ABC):
    """What the tables of a run were after each of its steps."""

    renames_are_stated = False
    """Whether the stream itself says that a table got another name."""

    def __init__(self, folder: Path) -> None:
        self.steps = list(_lines(folder))
        self.states: list[State] = []

    @abstractmethod
    def place(self, event: Event) -> Placed:
        """Where an event belongs.

        Raises:
            Unplaced: no table of that name ever had such columns.
        """

    @property
    def last(self) -> State:
        """The tables at the end."""
        return self.states[-1]


def truth_of(folder: Path) -> Truth:
    """The truth of a recording, read as its source database wrote it."""
    return MariaDbTruth(folder) if folder.parent.name == "mariadb" else PostgresTruth(folder)


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    plain = folder / "truth.jsonl"
    opened = plain.open(encoding="utf-8") if plain.exists() else None
    with opened or gzip.open(folder / "truth.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


class PostgresTruth(Truth):
    """The catalogue after each step; a streamed event is placed by its transaction."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        state: dict[int, Structure] = {}
        self._of_transaction: dict[int, list[int]] = {}
        self._times: list[int] = []
        for number, step in enumerate(self.steps):
            if "tables" in step and not isinstance(step["tables"], int):
                state = {t["oid"]: _postgres_structure(t) for t in step["tables"]}
            for table in step.get("dropped") or ():
                state.pop(table["oid"], None)
            for table in step.get("affected") or ():
                state[table["oid"]] = _postgres_structure(table)
            self.states.append(dict(state))
            self._times.append(_millis(step["time"]))
            if step.get("txid"):
                self._of_transaction.setdefault(int(step["txid"]) % 2**32, []).append(number)
        self._streamed = 0

    def place(self, event: Event) -> Placed:
        transaction = event.source.get("txId")
        steps = self._of_transaction.get(transaction or -1)
        if steps:
            candidates = [*steps, steps[0] - 1]
            at = steps[-1]
            self._streamed = max(at, self._streamed)
        else:
            # Read from the table itself: the newest step that had begun when the row was read.
            begun = [n for n, time in enumerate(self._times) if time <= event.read_ms]
            at = begun[-1] if begun else 0
            if transaction is not None:
                older = [t for t in self._of_transaction if t < transaction]
                at = max((self._of_transaction[t][-1] for t in older), default=0)
            candidates = [*range(at, -1, -1)]
        structure, fields = self._fitting(event, candidates)
        snapshot_last = 1 if event.snapshot else 0
        lsn = event.source.get("lsn") or 0
        if event.snapshot and transaction is None:
            return Placed(structure, fields, (max(at, self._streamed), 1, event.arrival))
        return Placed(structure, fields, (at, snapshot_last, 0 if event.snapshot else lsn))

    def _fitting(self, event: Event, candidates: Sequence[int]) -> tuple[Structure, dict[str, Column]]:
        """The table as the event shows it: all names known, and of such states the one that misses fewest."""
        best: tuple[int, Structure, dict[str, Column]] | None = None
        for step in candidates:
            for structure in self._called(event, step):
                fields = _fields(event, structure)
                if fields is None:
                    continue
                missing = sum(not c.generated for c in structure.columns) - len(fields)
                if best is None or abs(missing) < best[0]:
                    best = abs(missing), structure, fields
            if best is not None and best[0] == 0:
                break
        if best is None:
            raise Unplaced(f"{event.place}: {event.source.get('schema')}.{event.source.get('table')}")
        return best[1], best[2]

    def _called(self, event: Event, step: int) -> list[Structure]:
        """The tables that an event may mean: by schema and name, or by name where a schema was renamed."""
        space, name = event.source.get("schema"), event.source.get("table")
        tables = [t for t in self.states[step].values() if _is_called(t.name, name)]
        return [t for t in tables if t.space == space] or tables


def _postgres_structure(table: Mapping[str, Any]) -> Structure:
    columns = tuple(
        Column(
            c["attnum"], c["name"], (c["domain"] or {}).get("base") or c["type"],
            not c["not_null"], bool(c["generated"]),
        )
        for c in table["columns"]
    )  # fmt: skip
    ids = {c.name: c.id for c in columns}
    key = (table["primary_key"] or {}).get("columns") or ()
    if not key:
        unique = sorted(table["unique_indexes"] or (), key=lambda index: str(index["name"]))
        key = next((i["columns"] for i in unique if i["columns"] and not i["expressions"]), ())
    indexes = table["unique_indexes"] or ()
    old = {
        "f": list(ids),
        "d": (table["primary_key"] or {}).get("columns") or (),
        "i": next((i["columns"] for i in indexes if i["name"] == table["replica_identity_index"]), ()),
    }.get(table["replica_identity"], ())
    return Structure(
        table["oid"], table["schema"], table["name"], columns,
        tuple(ids[n] for n in key), tuple(ids[n] for n in old),
    )  # fmt: skip


def _millis(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def misread(name: str) -> str:
    """A name as Debezium up to 3.4 reads it from the log: each byte above 7F by itself, its sign spread."""
    return "".join(chr(b if b < 0x80 else 0xFF00 | b) for b in name.encode())


def _legal(name: str) -> str:
    """A field name as the mode `avro` writes it."""
    text = "".join(c if re.match(r"[A-Za-z0-9_]", c) else "_" for c in name)
    return f"_{text}" if re.match(r"[0-9]", text) else text


def _escaped(name: str) -> str:
    """A field name as the mode `avro_unicode` writes it."""

    def escape(at: int, unit: str) -> str:
        legal = re.match(r"[A-Za-z]" if at == 0 else r"[A-Za-z0-9]", unit)
        digits = f"{ord(unit):x}"
        return unit if legal else f"_u{'00' if len(digits) <= 2 else ''}{digits}"

    return "".join(escape(at, unit) for at, unit in enumerate(name))


_SPELLINGS: tuple[Callable[[str], str], ...] = (
    str,
    misread,
    _legal,
    lambda name: _legal(misread(name)),
    _escaped,
    lambda name: _escaped(misread(name)),
)
"""How a connector may have written a name. Source: Debezium `SchemaNameAdjuster`, `FieldNameSelector`."""


def _is_called(name: str, told: str | None) -> bool:
    return told in (name, misread(name))


def _fields(event: Event, structure: Structure) -> dict[str, Column] | None:
    """Field name → column, if one spelling explains all names of the event."""
    if event.op == "t" or not event.names:
        return {}
    for spelling in _SPELLINGS:
        known = {spelling(c.name): c for c in structure.columns}
        if len(known) == len(structure.columns) and all(name in known for name in event.names):
            return {name: known[name] for name in event.names}
    return None


class MariaDbTruth(Truth):
    """The tables after each step; an event is placed by its position, or by how far its topic had come."""

    renames_are_stated = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._numbers = 0
        state: dict[int, Structure] = {}
        for step in self.steps:
            renamed: dict[tuple[int, str], str] = {}
            for statement in step["sql"]:
                renamed |= _renamed_columns(statement, state)
                self._name_tables(statement, state)
            for dropped in step["dropped_tables"]:
                space, name = dropped.split(".", 1)
                for id in [t.id for t in state.values() if (t.space, t.name) == (space, name)]:
                    del state[id]
            for table in step["changed_tables"]:
                self._describe(table, state, renamed)
            self.states.append(dict(state))

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _name_tables(self, statement: str, state: dict[int, Structure]) -> None:
        for old, new in list_renamed_tables(statement):
            found = next((t for t in state.values() if (t.space, t.name) == old), None)
            if found is not None:
                state[found.id] = replace(found, space=new[0], name=new[1])

    def _describe(
        self, table: Mapping[str, Any], state: dict[int, Structure], renamed: Mapping[tuple[int, str], str]
    ) -> None:
        called = table["db"], table["table"]
        old = next((t for t in state.values() if (t.space, t.name) == called), None)
        id = old.id if old else self._number()
        known = {renamed.get((id, c.name), c.name): c.id for c in (old.columns if old else ())}
        columns = tuple(
            Column(
                known[c["name"]] if c["name"] in known else self._number(),
                c["name"], c["type"], c["nullable"], c["generated"],
            )
            for c in table["columns"]
        )  # fmt: skip
        ids = {c.name: c.id for c in columns}
        key = table["primary_key"] or next(iter((table["unique_indexes"] or {}).values()), ())
        state[id] = Structure(id, *called, columns, tuple(ids[n] for n in key), tuple(ids.values()))

    def place(self, event: Event) -> Placed:
        number = self._find_step(event)
        called = event.source.get("db"), event.source.get("table")
        for at in range(number, -1, -1):
            for table in self.states[at].values():
                fields = _fields(event, table)
                if (table.space, table.name) == called and fields is not None:
                    order = (number, event.source.get("pos") or 0, event.source.get("row") or 0)
                    return Placed(table, fields, (*order, event.arrival))
        raise Unplaced(f"{event.place}: {called}")

    def _find_step(self, event: Event) -> int:
        topic, _, offset = event.place
        if "next_offsets" in self.steps[0]:
            offsets = (step["next_offsets"].get(topic, 0) for step in self.steps)
            return next(n for n, following in enumerate(offsets) if following > offset)
        # A row is logged before the step's end; a snapshot reads at the end of a step.
        at = (event.source["file"], event.source["pos"], not event.snapshot)
        ends = ((step["binlog"]["file"], step["binlog"]["pos"], False) for step in self.steps)
        return next(n for n, end in enumerate(ends) if end >= at)


_PART = r"(?:`[^`]+`|\w+)"
_NAME = rf"{_PART}(?:\.{_PART})?"


def _qualified(name: str) -> tuple[str, str]:
    parts = [part.strip("`") for part in re.findall(_PART, name)]
    return parts[0], parts[1] if len(parts) > 1 else ""


def list_renamed_tables(statement: str) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    if found := re.match(r"RENAME TABLE (.*)", statement):
        pairs = re.findall(rf"({_NAME}) TO ({_NAME})", found[1])
        return [(_qualified(old), _qualified(new)) for old, new in pairs]
    if found := re.match(rf"ALTER TABLE ({_NAME}) (?:.*, )?RENAME TO ({_NAME})", statement):
        return [(_qualified(found[1]), _qualified(found[2]))]
    return []


def _renamed_columns(statement: str, state: State) -> dict[tuple[int, str], str]:
    altered = re.match(rf"ALTER TABLE ({_NAME}) ", statement)
    if not altered:
        return {}
    table = next((t for t in state.values() if (t.space, t.name) == _qualified(altered[1])), None)
    change, rename = rf"CHANGE (?:COLUMN )?({_PART}) ({_PART})", rf"RENAME COLUMN ({_PART}) TO ({_PART})"
    pairs = re.findall(rf"(?:{change})|(?:{rename})", statement)
    dropped = re.findall(rf"DROP COLUMN ({_PART})", statement)
    # A column that one statement drops and adds is another one.
    names = [(a or c, b or d) for a, b, c, d in pairs] + [(name, "") for name in dropped]
    return {(table.id, old.strip("`")): new.strip("`") for old, new in names} if table else {}
