"""Rows for lake tables: values of every type a target holds, and what they must read as later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from schemaman.migration import spark_sql as sql
from schemaman.migration.plan import Step
from schemaman.migration.target import Executor
from schemaman.model.ddl import parse_type, quote_name
from schemaman.model.schema import TableSchema
from schemaman.model.types import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Floating,
    Integer,
    Map,
    String,
    Struct,
    Timestamp,
    Type,
)


def literal(type: Type, row: int) -> str:
    """The value of a column in row number `row`, as SQL."""
    match type:
        case Boolean():
            return str(row % 2 == 0)
        case Integer(bits):
            return f"CAST({row} AS {({8: 'TINYINT', 16: 'SMALLINT', 32: 'INT', 64: 'BIGINT'})[bits]})"
        case Floating(bits):
            return f"CAST({row}.5 AS {'FLOAT' if bits == 32 else 'DOUBLE'})"
        case Decimal(precision, scale):
            digits = f"{row % 10}" if precision > scale else "0"
            return f"CAST('{digits}{'.' + '7' * scale if scale else ''}' AS DECIMAL({precision},{scale}))"
        case String(length):
            return f"'{f'text {row}'[: length or 20]}'"
        case Binary():
            return f"X'{row:04X}'"
        case Date():
            return f"DATE'2024-02-{row % 28 + 1:02}'"
        case Timestamp(_, zoned):
            return f"TIMESTAMP{'' if zoned else '_NTZ'}'2024-02-03 04:05:06.{row:06}'"
        case Array(element):
            return f"ARRAY({literal(element, row)})"
        case Map(key, value):
            return f"MAP({literal(key, row)}, {literal(value, row)})"
        case Struct(fields):
            members = (f"{sql.literal(f.name)}, {literal(f.type, row)}" for f in fields)
            return f"NAMED_STRUCT({', '.join(members)})"
        case _:
            raise AssertionError(f"no target holds {type!r}")


@dataclass(slots=True)
class Rows:
    """The rows of one table as they were written: per row, the value of each column as SQL."""

    executor: Executor
    table: str
    written: list[dict[str, str]]
    types: list[dict[str, Type]] = field(default_factory=list)

    def insert(self, schema: TableSchema) -> None:
        """One more row, with a value in every column."""
        number = len(self.written) + 1
        row = {c.name: literal(c.type, number) for c in schema.columns}
        names = ", ".join(quote_name(name) for name in row)
        self.executor.run(f"INSERT INTO {self.table} ({names}) VALUES ({', '.join(row.values())})")
        self.types += ({} for _ in range(number - len(self.types)))
        self.types[number - 1] = {c.name: c.type for c in schema.columns}
        self.written.append(row)

    def follow(self, step: Step) -> None:
        """Where the values lie after a step: a rename carries them along, a drop takes them away."""
        if step.kind not in ("rename-column", "drop-columns"):
            return
        columns = step.postcondition.get("columns", {})
        assert isinstance(columns, Mapping)
        self._inside(step, columns)
        gone = [name for name, type in columns.items() if type is None]
        come = [name for name, type in columns.items() if type is not None and step.kind == "rename-column"]
        for row in self.written:
            _moved(row, gone, come)
        for types in self.types:
            _moved(types, gone, come)

    def _inside(self, step: Step, columns: Mapping[str, object]) -> None:
        """What the values are called after a step about members of structs."""
        before = step.precondition.get("columns", {})
        assert isinstance(before, Mapping)
        for name in (n for n, type in columns.items() if type and before.get(n)):
            old, new = parse_type(str(before[name])), parse_type(str(columns[name]))
            for number, (row, types) in enumerate(zip(self.written, self.types, strict=False), 1):
                if name in types:
                    types[name] = _after(types[name], old, new, renamed=step.kind == "rename-column")
                    row[name] = literal(types[name], number)

    def unread(self, schema: TableSchema) -> list[str]:
        """What does not read as it was written: row by row, and NULL where a column came later."""
        expected = [{c.name: row.get(c.name, "NULL") for c in schema.columns} for row in self.written]
        tests = [" AND ".join(f"{quote_name(n)} <=> {v}" for n, v in row.items()) for row in expected]
        counts = ", ".join(["COUNT(*)", *(f"COUNT_IF({test})" for test in tests)])
        found, *matches = self.executor.query(f"SELECT {counts} FROM {self.table}")[0]
        faults = [] if found == len(self.written) else [f"{found} rows instead of {len(self.written)}"]
        return faults + [f"no row is {row}" for row, n in zip(expected, matches, strict=True) if n == 0]


V = TypeVar("V")


def _moved(row: dict[str, V], gone: Sequence[str], come: Sequence[str]) -> None:
    """What lies under names that are gone lies under those that came, if any did."""
    left = [row.pop(name) for name in gone if name in row]
    if left and come:
        row[come[0]] = left[0]


def _after(mine: Type, old: Type, new: Type, *, renamed: bool) -> Type:
    """The type of a value after a step from one type to another, which renamed a member or dropped some."""
    match mine, old, new:
        case Array(inner), Array(a), Array(b):
            return replace(mine, element=_after(inner, a, b, renamed=renamed))
        case Map(_, inner), Map(_, a), Map(_, b):
            return replace(mine, value=_after(inner, a, b, renamed=renamed))
        case Struct(fields), Struct(a), Struct(b):
            there = {x.name: y for x, y in zip(a, b, strict=True)} if renamed else {y.name: y for y in b}
            was = {x.name: x.type for x in a}
            return Struct(
                tuple(
                    replace(f, name=to.name, type=_after(f.type, was[f.name], to.type, renamed=renamed))
                    for f in fields
                    if (to := there.get(f.name)) is not None
                )
            )
        case _:
            return mine
