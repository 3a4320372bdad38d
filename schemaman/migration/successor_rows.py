"""The statement that fills a successor from the table before it, and the queries that prove it.

Laws: each value goes into the column of its name, and a row keeps its order, so that each later record of it
is newer. The statement adds only what the successor lacks, and may be repeated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from schemaman.migration import spark_sql as sql
from schemaman.migration.key_queries import count_unfit_keys
from schemaman.migration.row_columns import (
    DELETED,
    KEYED,
    KEYLESS,
    OFFSET,
    OP,
    ORDER,
    PARTITION,
    STREAM,
    TOPIC,
)
from schemaman.migration.successor import LakeTableAt
from schemaman.migration.target import Target
from schemaman.model.ddl import quote_name
from schemaman.model.schema import Column
from schemaman.model.types import Array, Map, Struct, Type, Unknown

_POSITION = "^(.*)/"
"""The part of an order that does not depend on the record: a change that is delivered twice has the same."""
_RECORD = "^.*/([0-9]+)[.]([0-9]+)"
_NOT_CREATED = "it has records other than created rows, and an update does not name the row that it changed"
_NO_TEXT = "CAST(NULL AS STRING)"
OWN_NAMES = frozenset(name for name, _ in (*KEYED, *KEYLESS))
"""The names of all row columns."""
_FILLS = re.compile(
    rf"INSERT INTO (?P<here>{sql.TABLE_PATTERN}) \({sql.NAMES_PATTERN}\) SELECT (?P<values>.*) "
    rf"FROM (?P<there>{sql.TABLE_PATTERN}) AS older "
    r"(?:LEFT SEMI JOIN (?P=here) AS filled ON .*)?LEFT ANTI JOIN (?P=here) AS newer ON older\.`.*",
    re.DOTALL,
)
_TEXT = r"'(?:[^'\\]|\\.)*'"
_ORIGIN = re.compile(rf"'[rd]', (?P<stream>{_TEXT}), (?P<topic>{_TEXT}|CAST\(NULL AS STRING\)), ")


@dataclass(frozen=True, slots=True)
class RowOrigin:
    """Where the records of a source come from: their stream, and their topic; empty if there are several."""

    stream: str
    topic: str = ""


def is_filling_successor(statement: str) -> bool:
    """Whether a statement adds the rows of one other table that its own table lacks, as a filling does."""
    return _FILLS.fullmatch(statement) is not None


def read_filling_table(statement: str) -> str:
    """Read the address of the table whose rows a statement of a filling adds; empty for another statement."""
    found = _FILLS.fullmatch(statement)
    return "" if found is None else sql.format_table_name(sql.split_table_name(found["there"]))


def count_newer_rows(successor: str, before: str) -> str:
    """Write the query for the rows of a successor that are of no record of the table before it.

    Both tables are named as SQL writes them.
    """
    same = f"newer.{quote_name(ORDER)} = older.{quote_name(ORDER)}"
    return f"SELECT count(*) FROM {successor} AS newer LEFT ANTI JOIN {before} AS older ON {same}"


def is_own_filling(statement: str, target: Target, before: LakeTableAt, after: LakeTableAt) -> bool:
    """Whether a statement fills a table from the one before it: each value in the column of its name."""
    found = _FILLS.fullmatch(statement)
    origin = RowOrigin("")
    if found is not None and not after.lake.schema.key:
        written = _ORIGIN.search(found["values"])
        if written is None:
            return False
        topic = "" if written["topic"] == _NO_TEXT else sql.unescape_literal(written["topic"][1:-1])
        origin = RowOrigin(sql.unescape_literal(written["stream"][1:-1]), topic)
    filling = Filling(target, before, after, origin)
    return found is not None and statement in (filling.write_statement(), filling.write_deletes())


@dataclass(frozen=True, slots=True)
class Filling:
    """The statement and the queries of one filling."""

    target: Target
    before: LakeTableAt
    after: LakeTableAt
    origin: RowOrigin

    @property
    def gate(self) -> str:
        """What proves the filling, in words."""
        if self.is_fold:
            return (
                "the log has only created rows, each with a value in the new key, which no two share; each "
                "is in the new table once, with the same values"
            )
        return "each live row is in the log once, with the same values"

    @property
    def is_fold(self) -> bool:
        """Whether a log is folded into a table with a key."""
        return bool(self.after.lake.schema.key)

    @property
    def here(self) -> str:
        """The successor as SQL writes it."""
        return self.target.table_name(self.after.address)

    @property
    def there(self) -> str:
        """The table before it as SQL writes it."""
        return self.target.table_name(self.before.address)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the source that both tables have."""
        return tuple(c for c in self.before.lake.schema.columns if c.name not in OWN_NAMES)

    @property
    def row_columns(self) -> Mapping[str, str]:
        """The row columns of the successor, each with the expression that fills it for a live row."""
        order = f"older.{quote_name(ORDER)}"
        if self.is_fold:
            return {ORDER: order, DELETED: "false"}
        partition, offset = (f"regexp_extract({order}, {sql.literal(_RECORD)}, {n})" for n in (1, 2))
        return {
            ORDER: order,
            OP: "'r'",
            STREAM: sql.literal(self.origin.stream),
            TOPIC: sql.literal(self.origin.topic) if self.origin.topic else _NO_TEXT,
            PARTITION: f"CAST({partition} AS INT)",
            OFFSET: f"CAST({offset} AS BIGINT)",
        }

    @property
    def same_row(self) -> str:
        """The condition under which the successor has a row of the table before, or a newer one of it."""
        key = self.after.lake.schema.key if self.is_fold else self.before.lake.schema.key
        parts = [f"older.{quote_name(name)} <=> newer.{quote_name(name)}" for name in key]
        return " AND ".join(parts if self.is_fold else [*parts, self._same_position()])

    @property
    def filled_row(self) -> str:
        """The condition under which a row of the successor is the very one that was filled in."""
        return f"{self.same_row} AND {self._same_position()}" if self.is_fold else self.same_row

    def write_statement(self) -> str:
        """Write the statement that adds the rows which the successor lacks; it may be repeated."""
        return self._write_insert(self.row_columns, self._write_missing())

    def write_deletes(self) -> str:
        """Write the statement that adds to a log the deletes that came once their rows were filled in."""
        return self._write_insert({**self.row_columns, OP: "'d'"}, self._write_missing_deletes())

    def count_deletes(self) -> str:
        """Write the query for the deletes that the log lacks."""
        return f"SELECT count(*) {self._write_missing_deletes()}"

    def find_gates(self) -> Mapping[str, str]:
        """Find the queries that have to give 0 before, each with what another number means."""
        if not self.is_fold:
            where = f"{self._write_live('')} AND {quote_name(ORDER)} IS NULL"
            return {sql.count_rows(self.there, where): "some of its rows were there before the sink wrote it"}
        op = f"coalesce({quote_name(OP)}, '')"
        other = f"({op} <> 'c' AND {op} <> 'r') OR {quote_name(ORDER)} IS NULL"
        nulls, repeated = count_unfit_keys(self.there, self.after.lake.schema.key)
        return {
            sql.count_rows(self.there, other): _NOT_CREATED,
            nulls: "records of the log have no value in the new key",
            repeated: "several records of the log have the same new key",
        }

    def list_proofs(self) -> tuple[str, ...]:
        """List the queries that have to give 0 afterwards: no row is missing or twice, or another."""
        live = "" if self.is_fold else self._write_live("older.")
        pair = f"{self.filled_row} AND {live}" if live else self.filled_row
        names = [quote_name(c.name) for c in self.columns if _is_comparable(c.type)]
        here, there = f"{self.here} AS newer", f"{self.there} AS older"
        filled = f"FROM {here} LEFT SEMI JOIN {there} ON {pair}"
        rows = f"FROM {there} LEFT SEMI JOIN {here} ON {pair}"
        ours, theirs = (", ".join(f"{alias}.{name}" for name in names) for alias in ("newer", "older"))
        return (
            f"SELECT count(*) {self._write_missing()}",
            f"SELECT (SELECT count(*) {filled}) - (SELECT count(*) {rows})",
            f"SELECT count(*) FROM (SELECT {theirs} {rows} EXCEPT SELECT {ours} {filled}) AS twice",
            f"SELECT count(*) FROM (SELECT {ours} {filled} EXCEPT SELECT {theirs} {rows}) AS twice",
        )

    def _write_insert(self, row_columns: Mapping[str, str], rows: str) -> str:
        names = [quote_name(c.name) for c in self.columns]
        values = [*(f"older.{name}" for name in names), *row_columns.values()]
        names += map(quote_name, row_columns)
        return f"INSERT INTO {self.here} ({', '.join(names)}) SELECT {', '.join(values)} {rows}"

    def _write_missing_deletes(self) -> str:
        key = [quote_name(name) for name in self.before.lake.schema.key]
        order = quote_name(ORDER)
        filled = [f"older.{name} <=> filled.{name}" for name in key]
        filled += [f"filled.{quote_name(OP)} = 'r'", f"filled.{order} < older.{order}"]
        return (
            f"FROM {self.there} AS older LEFT SEMI JOIN {self.here} AS filled ON {' AND '.join(filled)} "
            f"LEFT ANTI JOIN {self.here} AS newer ON {self.same_row} "
            f"WHERE coalesce(older.{quote_name(DELETED)}, false)"
        )

    def _write_missing(self) -> str:
        where = "" if self.is_fold else f" WHERE {self._write_live('older.')}"
        return f"FROM {self.there} AS older LEFT ANTI JOIN {self.here} AS newer ON {self.same_row}{where}"

    @staticmethod
    def _write_live(alias: str) -> str:
        return f"NOT coalesce({alias}{quote_name(DELETED)}, false)"

    @staticmethod
    def _same_position() -> str:
        parts = (
            f"regexp_extract({alias}.{quote_name(ORDER)}, {sql.literal(_POSITION)}, 1)"
            for alias in ("older", "newer")
        )
        return " <=> ".join(parts)


def _is_comparable(type: Type) -> bool:
    """Whether EXCEPT compares values of a type.

    Source: Spark, "Error conditions", UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE and _ON_VARIANT_TYPE.
    """
    match type:
        case Map() | Unknown():
            return False
        case Array():
            return _is_comparable(type.element)
        case Struct():
            return all(_is_comparable(field.type) for field in type.fields)
        case _:
            return True
