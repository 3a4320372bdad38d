"""Every version of a history against what the database said where that version began and ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from schemaman.debezium.records import Coordinates
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.ddl import format_type
from schemaman.model.schema import TableId, TableSchema
from schemaman.model.types import without_labels
from tests.truth.facts import Judged
from tests.truth.recording import Fact, Place
from tests.truth.tables import TrueColumn, TrueTable
from tests.truth.truth import Step, Truth, place_of

TypeOf = Callable[[TrueColumn], str]
Found = dict[str, tuple[str, str]]
"""Fact → what the history says, what was true."""
LATE = ("key", "nullable:")
"""Facts that a PostgreSQL record tells of the moment when it was read."""


def structures(
    histories: Iterable[TableHistory], truth: Truth, facts: dict[Place, Fact], type_of: TypeOf
) -> Iterator[Judged]:
    """Columns, types, nullability and key of each version, table by table."""
    for history in histories:
        for version in history.versions:
            if version.status == "phantom":
                yield _phantom(history, version, truth, type_of)
                continue
            begin = _begin(history, version, truth, facts, type_of)
            end = compare(history, version, last_mark(version), truth, facts, type_of)
            for fact in sorted({*begin, *end}):
                same = begin.get(fact) == end.get(fact)
                differs = fact in begin and begin[fact][0] != begin[fact][1]
                where = "both" if same else "begin" if differs or fact not in end else "end"
                says, true = begin[fact] if where == "begin" else end[fact]
                sure = fact not in version.unconfirmed
                yield Judged(name_of(history.table), version.number, fact, where, says, true, sure)


def _phantom(history: TableHistory, version: SchemaVersion, truth: Truth, type_of: TypeOf) -> Judged:
    """A structure that nobody made, the history says: the table had it after no step."""
    tables = [table for step in truth.steps if (table := true_table(step, history.table)) is not None]
    was = any(
        all(s == t for s, t in dict(stated(version.schema, table, type_of)).values()) for table in tables
    )
    says, true = "never was", "was" if was else "never was"
    return Judged(name_of(history.table), version.number, "phantom", "both", says, true)


def _begin(
    history: TableHistory, version: SchemaVersion, truth: Truth, facts: dict[Place, Fact], type_of: TypeOf
) -> Found:
    """Columns and types where the version began, key and nullability from where on they are proven."""
    at = compare(history, version, version.at, truth, facts, type_of)
    if version.proven_from is None or version.proven_from == version.at:
        return at
    proven = compare(history, version, version.proven_from, truth, facts, type_of)
    columns = {f: said for f, said in at.items() if not f.startswith(LATE)}
    return columns | {f: said for f, said in proven.items() if f.startswith(LATE)}


def name_of(table: TableId) -> str:
    """How lists call a table."""
    return f"{table.schema or table.database}.{table.table}"


def last_mark(version: SchemaVersion) -> Coordinates:
    """The last record of the log that showed the version; an event rather than a declaration."""
    marks = [e.last for e in version.evidence if e.kind == "emitted"] or [e.last for e in version.evidence]
    return max(marks, key=lambda m: (m.position.rank, m.offset))


def compare(
    history: TableHistory,
    version: SchemaVersion,
    mark: Coordinates,
    truth: Truth,
    facts: dict[Place, Fact],
    type_of: TypeOf,
) -> Found:
    """What a version says and what was true, at one record."""
    step = truth.at(facts[place_of(mark)])
    table = true_table(step, history.table)
    if step is None or table is None:
        return {"table": ("exists", f"gone after step {step.number if step else '?'}")}
    found = dict(stated(version.schema, table, type_of))
    earlier = step.between.get(table.name)
    if earlier is not None and version.schema.key == earlier.key:
        found = dict(stated(version.schema, earlier, type_of))
    return {"table": ("exists", "exists"), **found}


def true_table(step: Step | None, table: TableId) -> TrueTable | None:
    """The table of that name after a step."""
    return step.tables.get((table.schema or table.database, table.table)) if step else None


def stated(schema: TableSchema, table: TrueTable, type_of: TypeOf) -> Iterator[tuple[str, tuple[str, str]]]:
    true = {c.name: c for c in table.columns}
    for name in (n for n in schema.names if n not in true):
        yield f"column:{name}", ("there", "not there")
    for name, column in true.items():
        said = schema.column(name)
        if said is None:
            yield f"column:{name}", ("not there", "generated" if column.generated else "there")
            continue
        yield f"column:{name}", ("there", "there")
        yield f"type:{name}", (format_type(without_labels(said.type)), type_of(column))
        words = ("NOT NULL", "nullable")
        yield f"nullable:{name}", (words[said.nullable], words[column.nullable])
    yield "key", (", ".join(schema.key) or "none", ", ".join(table.key) or "none")
