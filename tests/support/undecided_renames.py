"""Tables whose last column becomes another one again and again, and no record says whether it was renamed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from schemaman.debezium.records import Record
from schemaman.history.decisions import Decisions, NotRename, Rename, format_coordinates
from schemaman.model.schema import TableId
from schemaman.store.sql.store import SqlStore
from tests.support.records import node, row_event

INT, TEXT = node("int32", optional=True), node("string", optional=True)
ROWS = 6


@dataclass(slots=True)
class UndecidedRenames:
    """Tables of a PostgreSQL server; `renamed` has the true answer to each pair of names."""

    random: Random
    tables: int
    changes: int
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

    def touch(self) -> Iterator[Record]:
        """One more record of each table."""
        yield from (self._write(name, ROWS) for name in self.rows)

    def answer(self, store: SqlStore, known: Decisions, share: float = 1.0) -> Decisions:
        """The decisions of a person who answers a share of the questions, each with the truth."""
        done = {(d.old, d.new) for d in known.renames} | {(d.old, d.new) for d in known.not_renames}
        for history in filter(None, map(store.history, store.tables())):
            for version in history.versions:
                for c in version.candidates:
                    if (c.old, c.new) in done or self.random.random() >= share:
                        continue
                    pair = str(history.table), c.old, c.new, version.id, format_coordinates(version.at)
                    if self.renamed[c.old, c.new]:
                        known = replace(known, renames=(*known.renames, Rename(*pair)))
                    else:
                        known = replace(known, not_renames=(*known.not_renames, NotRename(*pair)))
        return known

    def expected(self, table: TableId) -> list[dict[str, Any]]:
        """The rows of a table in the order of their ids."""
        return [row for _, row in sorted(self.rows[table.table].items())]

    def _alter(self, name: str, new: str, *, is_rename: bool) -> None:
        old, self.column[name] = self.column[name], new
        self.renamed[old, new] = is_rename
        for row in self.rows[name].values():
            value = row.pop(old)
            row[new] = value if is_rename else None

    def _change(self, name: str) -> Record:
        id = self.random.randrange(ROWS)
        return self._write(name, id) if self.random.random() < 0.8 else self._delete(name, id)

    def _write(self, name: str, id: int) -> Record:
        column, op = self.column[name], "u" if id in self.rows[name] else "c"
        self.offset += 1
        value = None if self.random.random() < 0.3 else f"{column}-{self.offset}"
        row = {"id": id, "z": self.offset, column: value}
        self.rows[name][id] = row
        return row_event(self._fields(column), op, row, offset=self.offset, table=name)

    def _delete(self, name: str, id: int) -> Record:
        if id not in self.rows[name]:
            return self._write(name, id)
        self.offset += 1
        row = self.rows[name].pop(id)
        return row_event(self._fields(self.column[name]), "d", row, offset=self.offset, table=name)

    @staticmethod
    def _fields(column: str) -> dict[str, Any]:
        return {"id": node("int32"), "z": INT, column: TEXT}
