"""The defaults that a history tells, each where its revision began, beside those of the catalogue.

A default that is not told is no claim that there is none: connectors leave out what they cannot evaluate.
Source: Debezium PostgreSQL connector, PostgresDefaultValueConverter; recordings of releases 1.4 to 3.6.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

from schemaman.history.versions import TableHistory
from schemaman.model.schema import Scalar, TableSchema
from tests.truth.compare import TypeOf, name_of, true_table
from tests.truth.facts import Judged
from tests.truth.recording import Fact, Place
from tests.truth.tables import TrueColumn, TrueTable
from tests.truth.truth import PostgresTruth, Truth, place_of

_EVALUATED = re.compile(r"(?i)nextval\(|now\(\)|clock_timestamp\(\)|current[_ ]|gen_random_uuid\(\)")
"""Expressions of which a row has the value of its own moment."""
_NOTHING = {
    "0",
    "1970-01-01 00:00:00",
    "1970-01-01T00:00:00Z",
    "1970-01-01T00:00:00.000000Z",
    "00000000-0000-0000-0000-000000000000",
}
"""What stands in a schema for such an expression."""
_DAY_US = "86400000000"


def defaults(
    histories: Iterable[TableHistory], truth: Truth, facts: dict[Place, Fact], type_of: TypeOf
) -> Iterator[Judged]:
    """Each default that a revision tells, and the one that the column had where the revision began."""
    late = isinstance(truth, PostgresTruth)
    for history in histories:
        older: set[int | None] = set()
        for version in (v for v in history.versions if v.status != "phantom"):
            for revision in version.revisions:
                marks = [revision.at, *([version.proven_from] if version.proven_from is not None else [])]
                # what is read late is certain from where the version is proven on
                last = late and revision == version.revisions[-1]
                at = max(marks, key=lambda m: (m.position.rank, m.offset)) if last else revision.at
                table = true_table(truth.at(facts[place_of(at)]), history.table)
                known = {} if table is None else {c.name: c for c in table.columns}
                told = (c for c in revision.schema.columns if c.default is not None and c.name in known)
                for column in told:
                    true = known[column.name]
                    says = str(column.default)
                    truly = says if _stands_for(column.default, true) else str(true.default)
                    fact = f"default:{column.name}.{revision.number}"
                    newest = version.schema.column(column.name)
                    kept = newest is not None and newest.default == column.default
                    # the default of a new column is as certain as its nullability
                    fresh = [f"nullable:{column.name}"] if column.id not in older else []
                    sure = not kept or not {f"default:{column.name}", *fresh} & {*version.unconfirmed}
                    yield Judged(name_of(history.table), version.number, fact, "begin", says, truly, sure)
            older |= {c.id for c in version.schema.columns}


def told_defaults(schema: TableSchema, table: TrueTable) -> Iterator[tuple[str, tuple[str, str]]]:
    """Fact → each default that a structure tells, and the one that the column had."""
    known = {c.name: c for c in table.columns}
    for column in schema.columns:
        if column.default is not None and column.name in known:
            true = known[column.name]
            says = str(column.default)
            truly = says if _stands_for(column.default, true) else str(true.default)
            yield f"default:{column.name}", (says, truly)


def _stands_for(says: Scalar, column: TrueColumn) -> bool:
    """Whether the text that was told is what a connector makes of the default of the catalogue."""
    told, true = str(says), column.default
    if true is None or true == "NULL":
        return False
    if _EVALUATED.search(true):
        return told in _NOTHING or told.lower() == true.lower()
    constant = re.fullmatch(r"'(.*)'(?:::[\w .\[\]]+)?", true, re.DOTALL)
    if constant is None:
        return told == true or told.lower() == true or _equal(told, true)
    # a doubled quote ends the text for the connector
    text = constant[1]
    alike = told in (text, f"'{text}'", text.split("''")[0]) or _equal(told, text)
    return alike or told in (_moment(text), _DAY_US if text == "1 day" else None)


def _moment(text: str) -> str | None:
    try:
        return str(round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000))
    except ValueError:
        return None


def _equal(one: str, other: str) -> bool:
    try:
        return Decimal(one) == Decimal(other)
    except InvalidOperation:
        return False
