"""Writes rows between the demo's migrations, and checks that earlier rows are still read correctly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemaman.migration.target import Executor
from schemaman.model.ddl import parse_type, quote_name
from schemaman.model.types import Boolean, Date, Decimal, Floating, Integer, Timestamp, Type

Columns = Sequence[Mapping[str, Any]]
"""Columns with `name` and `type`, as in a plan document."""


@dataclass(slots=True)
class Rows:
    """The written rows of one lake table: the value of each column as SQL, for each row."""

    executor: Executor
    table: str
    written: list[dict[str, str]] = field(default_factory=list)

    def insert(self, columns: Columns) -> None:
        """Insert one row with a value in every column."""
        number = len(self.written) + 1
        row = {c["name"]: literal(parse_type(c["type"]), number) for c in columns}
        names = ", ".join(quote_name(name) for name in row)
        self.executor.run(f"INSERT INTO {self.table} ({names}) VALUES ({', '.join(row.values())})")
        self.written.append(row)

    def rename(self, old: str, new: str) -> None:
        """Rename a column in the expected rows."""
        self.written = [{new if name == old else name: v for name, v in row.items()} for row in self.written]

    def read_right(self, columns: Columns) -> bool:
        """Whether every row is read as it was written, with NULL in columns that were added later."""
        names = [str(c["name"]) for c in columns]
        tests = [
            " AND ".join(f"{quote_name(n)} <=> {row.get(n, 'NULL')}" for n in names) for row in self.written
        ]
        counts = ", ".join(["COUNT(*)", *(f"COUNT_IF({test})" for test in tests)])
        found, *matches = self.executor.query(f"SELECT {counts} FROM {self.table}")[0]
        return found == len(self.written) and all(n == 1 for n in matches)


def literal(type: Type, number: int) -> str:
    """Return a value of a type as SQL; different numbers give different values, except for booleans."""
    match type:
        case Boolean():
            return str(number % 2 == 0).upper()
        case Integer() | Floating():
            return f"{number}"
        case Decimal(precision, scale):
            return f"CAST({number % 10 if precision > scale else 0} AS DECIMAL({precision},{scale}))"
        case Date():
            return f"DATE'2024-02-{number % 28 + 1:02}'"
        case Timestamp(_, zoned):
            return f"TIMESTAMP{'' if zoned else '_NTZ'}'2024-02-03 04:05:{number % 60:02}'"
        case _:
            return f"'value {number}'"
