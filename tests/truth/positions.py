"""What the history answers when it is asked for the structure at each place of the log that a record names.

A refusal is no answer, and no wrong one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemaman.errors import SchemamanError
from schemaman.history.references import SourcePosition
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.schema import TableSchema
from schemaman.resolve import select_version
from tests.truth.compare import TypeOf, name_of, stated, true_table
from tests.truth.defaults import told_defaults
from tests.truth.recording import Fact
from tests.truth.tables import TrueTable
from tests.truth.truth import Truth


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and its answer: a version, 0 for a refusal, and fact → what it says, what was true.

    `doubted`: the history says that the version was altered and nothing has shown the outcome.
    """

    table: str
    place: str
    version: int = 0
    differing: dict[str, tuple[str, str]] = field(default_factory=dict)
    doubted: bool = False


def asked(
    histories: Sequence[TableHistory],
    truth: Truth,
    records: Sequence[Fact],
    type_of: TypeOf,
) -> Iterator[Asked]:
    """A question for each streamed record whose table was there when it was written.

    Key, nullability and defaults count where the answer does not call them unconfirmed.
    """
    # Db2 declares what it finds at the place of the change that it had read last
    exact = all(h.connector != "db2" for h in histories)
    known = {(h.table.schema or h.table.database, h.table.table): h for h in histories}
    for record in records:
        source, step = record.source, truth.at(record)
        history = known.get((source.get("schema") or source.get("db") or "", source.get("table") or ""))
        place = None if record.snapshot or (record.change and not exact) else _place(source)
        table = None if history is None else true_table(step, history.table)
        if history is None or place is None or table is None:
            continue
        name, where = name_of(history.table), f"{place.kind}:{place.value}"
        try:
            found = select_version(history, place)
        except SchemamanError:
            yield Asked(name, where)
            continue
        assert found.version is not None
        earlier = None if step is None else step.between.get(table.name)
        if earlier is not None and found.schema.key == earlier.key:
            table = earlier
        differing = dict(claimed(found.version, found.schema, table, type_of))
        yield Asked(name, where, found.version.number, differing, _altered_since(history, found.version))


def claimed(
    version: SchemaVersion, schema: TableSchema, table: TrueTable, type_of: TypeOf
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Fact → what a structure says and what was true, where they differ and the version calls it certain."""
    for fact, (says, true) in (*stated(schema, table, type_of), *told_defaults(schema, table)):
        # what is only inferred has no word on NULLs
        silent = version.status == "inferred" and (fact, says) == (fact, "nullable")
        if says != true and true != "generated" and fact not in version.unconfirmed and not silent:
            yield fact, (says, true)


def _place(source: dict[str, Any]) -> SourcePosition | None:
    if source.get("change_lsn"):
        return SourcePosition("commit_lsn", source["change_lsn"])
    if source.get("file"):
        return SourcePosition("binlog", f"{source['file']}:{source['pos']}:{source.get('row') or 0}")
    return SourcePosition("lsn", str(source["lsn"])) if source.get("lsn") else None


def _altered_since(history: TableHistory, version: SchemaVersion) -> bool:
    """Whether the history says that a statement altered the version and nothing has shown the outcome."""
    return any(d.kind == "altered-unseen" and version.number in d.versions for d in history.disagreements)
