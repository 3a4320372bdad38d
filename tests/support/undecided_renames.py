"""Tables whose last column becomes another one again and again, and no record says whether it was renamed.

In some the column is a nested field of a struct, and in some two columns have each other's names at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from schemaman.debezium.records import Record
from schemaman.history.decisions import Decisions, NotRename, Rename, format_coordinates
from schemaman.history.struct_fields import list_field_questions
from schemaman.history.versions import SchemaVersion, TableHistory, find_recreated_columns
from schemaman.model.schema import TableId
from schemaman.store.sql.store import SqlStore
from tests.support.records import node, row_event, struct

INT, TEXT = node("int32", optional=True), node("string", optional=True)
ROWS = 6


@dataclass(slots=True)
class UndecidedRenames:
    """Tables of a PostgreSQL server; `renamed` has the true answer to each pair of names.

    `members` are changes of a nested field, all in one table, and `exchanges` are of two columns, each in a
    table of its own. Every second one of each sort is what it looks like.
    """

    random: Random
    tables: int
    changes: int
    members: int = 0
    exchanges: int = 0
    rows: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    column: dict[str, str] = field(default_factory=dict)
    renamed: dict[tuple[str, str], bool] = field(default_factory=dict)
    offset: int = 0

    def stream(self) -> Iterator[Record]:
        """The records of all changes, with as many renames as drops followed by an addition."""
        names = [f"t{number}" for number in range(self.tables)]
        for name in names:
            self.rows[name], self.column[name] = {}, f"{name}c0"
            yield from (self._write(name, id) for id in range(ROWS))
        answers = [number % 2 == 0 for number in range(self.changes)]
        self.random.shuffle(answers)
        for number, is_rename in enumerate(answers, 1):
            name = self.random.choice(names)
            self._alter(name, f"{name}c{number}", is_rename=is_rename)
            yield self._write(name, self.random.randrange(ROWS))
            yield from (self._change(self.random.choice(names)) for _ in range(self.random.randrange(6)))

    def stream_others(self) -> Iterator[Record]:
        """The records of nested fields and of exchanges; rows of both are there before."""
        for number in range(self.exchanges):
            name = f"x{number}"
            self.rows[name], self.column[name] = {}, "ab"
            yield from (self._write(name, id) for id in range(ROWS))
        if self.members:
            self.rows["s"], self.column["s"] = {}, "sc0"
            yield from (self._write("s", id) for id in range(ROWS))
        for number in range(1, self.members + 1):
            self._alter("s", f"sc{number}", is_rename=number % 2 == 1)
            yield self._write("s", self.random.randrange(ROWS))
        for number in range(self.exchanges):
            self._exchange(f"x{number}", is_exchange=number % 2 == 0)
            yield self._write(f"x{number}", self.random.randrange(ROWS))

    def touch(self) -> Iterator[Record]:
        """One more record of each table."""
        yield from (self._write(name, ROWS) for name in self.rows)

    def answer(self, store: SqlStore, known: Decisions, share: float = 1.0) -> Decisions:
        """The decisions of a person who answers a share of the questions, each with the truth."""
        done = {(d.table, d.old, d.new) for d in known.renames}
        done |= {(d.table, d.old, d.new) for d in known.not_renames}
        for history in filter(None, map(store.history, store.tables())):
            for version in history.versions:
                for old, new, is_rename in self._list_questions(history, version):
                    if (str(history.table), old, new) in done or self.random.random() >= share:
                        continue
                    pair = str(history.table), old, new, version.id, format_coordinates(version.at)
                    if is_rename:
                        known = replace(known, renames=(*known.renames, Rename(*pair)))
                    else:
                        known = replace(known, not_renames=(*known.not_renames, NotRename(*pair)))
        return known

    def expected(self, table: TableId) -> list[dict[str, Any]]:
        """The rows of a table in the order of their ids."""
        return [row for _, row in sorted(self.rows[table.table].items())]

    def _list_questions(
        self, history: TableHistory, version: SchemaVersion
    ) -> Iterator[tuple[str, str, bool]]:
        yield from ((c.old, c.new, self.renamed[c.old, c.new]) for c in version.candidates)
        before = next((v for v in history.versions if v.number == version.number - 1), None)
        if before is not None:
            for old, new in (map(".".join, pair) for pair in list_field_questions(before, version)):
                yield old, new, self.renamed[old, new]
            dropped, _ = find_recreated_columns(before, version)
            if dropped and self.renamed[history.table.table, ""]:
                yield from (("a", "b", True), ("b", "a", True))

    def _exchange(self, name: str, *, is_exchange: bool) -> None:
        """Let the columns a and b change places."""
        self.column[name] = "ba"
        self.renamed[name, ""] = is_exchange
        for row in self.rows[name].values():
            row["a"], row["b"] = (row["b"], row["a"]) if is_exchange else (None, None)

    def _alter(self, name: str, new: str, *, is_rename: bool) -> None:
        old, self.column[name] = self.column[name], new
        is_member = name == "s"
        self.renamed[(f"s.{old}", f"s.{new}") if is_member else (old, new)] = is_rename
        for row in self.rows[name].values():
            place = row["s"] if is_member else row
            value = place.pop(old)
            place[new] = value if is_rename else None

    def _change(self, name: str) -> Record:
        id = self.random.randrange(ROWS)
        return self._write(name, id) if self.random.random() < 0.8 else self._delete(name, id)

    def _write(self, name: str, id: int) -> Record:
        column, op = self.column[name], "u" if id in self.rows[name] else "c"
        self.offset += 1
        value = None if self.random.random() < 0.3 else f"{column}-{self.offset}"
        row: dict[str, Any] = {"id": id, "z": self.offset, column: value}
        if name == "s":
            row = {"id": id, "z": self.offset, "s": {"k": self.offset, column: value}}
        elif name.startswith("x"):
            row = {"id": id, "z": self.offset, **{each: f"{each}-{self.offset}" for each in column}}
        self.rows[name][id] = row
        return row_event(self._fields(name, column), op, row, offset=self.offset, table=name)

    def _delete(self, name: str, id: int) -> Record:
        if id not in self.rows[name]:
            return self._write(name, id)
        self.offset += 1
        row = self.rows[name].pop(id)
        return row_event(self._fields(name, self.column[name]), "d", row, offset=self.offset, table=name)

    @staticmethod
    def _fields(name: str, column: str) -> dict[str, Any]:
        fields = {"id": node("int32"), "z": INT}
        if name == "s":
            return {**fields, "s": {**struct(None, k=INT, **{column: TEXT}), "optional": True}}
        return {**fields, **dict.fromkeys(column if name.startswith("x") else (column,), TEXT)}


def select_alike(row: Any, wanted: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row, and the nested fields, that another one has."""
    return {
        name: select_alike(row[name], value) if isinstance(value, dict) else row.get(name)
        for name, value in wanted.items()
    }
