"""Every version of a history against what the database said where that version began and ended."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from schemaman.ddl import format_type
from schemaman.evidence import Mark
from schemaman.schema import TableId, TableSchema
from schemaman.types import without_labels
from schemaman.versions import SchemaVersion, TableHistory
from tests.truth.recording import Fact, Place
from tests.truth.truth import Step, TrueColumn, TrueTable, Truth, place_of

TypeOf = Callable[[TrueColumn], str]
Found = dict[str, tuple[str, str]]
"""Fact → what the history says, what was true."""
Listed = tuple[str, str, str, str, str]
"""Table, fact, where, what the history says, what was true."""
LATE = ("key", "nullable:")
"""Facts that a PostgreSQL record tells of the moment when it was read."""


@dataclass(frozen=True, slots=True, order=True)
class Difference:
    """A fact of a version that was not so in the database at `where` (begin, end, or both)."""

    table: str
    version: int
    fact: str
    where: str
    says: str
    truth: str
    sure: bool = field(compare=False)

    @property
    def listed(self) -> Listed:
        """What an entry of the reviewed list says of it."""
        return self.table, self.fact, self.where, self.says, self.truth

    def __str__(self) -> str:
        doubt = "" if self.sure else " (unconfirmed)"
        place = f"{self.table}@{self.version} {self.fact} at {self.where}"
        return f"{place}: says {self.says}, truth {self.truth}{doubt}"


def reviewed(path: Path) -> dict[tuple[Listed, int], str]:
    """The reviewed list of a run: each difference that a person looked at, and why it is legitimate."""
    told = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {
        ((d["table"], d["fact"], d["where"], d["says"], d["truth"]), version): d["reason"]
        for d in told.get("difference", ())
        for version in d["versions"]
    }


def bless_reviewed(path: Path, found: Iterable[Difference]) -> None:
    """Write the list anew; reasons already given stay, new entries have none and fail until they do."""
    known = reviewed(path)
    entries: dict[tuple[str, ...], list[int]] = {}
    for d in sorted(found):
        reason = known.get((d.listed, d.version), "")
        entries.setdefault((*d.listed, reason), []).append(d.version)
    head = "# Where the history says something else than the database did, and why that is legitimate.\n"
    path.write_text(
        head + "".join(_entry(key, versions) for key, versions in entries.items()), encoding="utf-8"
    )


def _entry(key: tuple[str, ...], versions: list[int]) -> str:
    table, fact, where, says, truth, reason = (v.replace("\\", "\\\\").replace('"', '\\"') for v in key)
    return (
        f'\n[[difference]]\ntable = "{table}"\nversions = {versions}\nfact = "{fact}"\nwhere = "{where}"\n'
        f'says = "{says}"\ntruth = "{truth}"\nreason = "{reason}"\n'
    )


def differences(
    histories: Iterable[TableHistory], truth: Truth, facts: dict[Place, Fact], type_of: TypeOf
) -> Iterator[Difference]:
    """All of them, table by table and version by version."""
    for history in histories:
        for version in history.versions:
            begin = _begin(history, version, truth, facts, type_of)
            end = _compare(history, version, _last(version), truth, facts, type_of)
            for fact in sorted({*begin, *end}):
                where = "both" if begin.get(fact) == end.get(fact) else "begin" if fact in begin else "end"
                says, true = begin.get(fact) or end[fact]
                sure = fact not in version.unconfirmed
                yield Difference(_name(history.table), version.number, fact, where, says, true, sure)


def _begin(
    history: TableHistory, version: SchemaVersion, truth: Truth, facts: dict[Place, Fact], type_of: TypeOf
) -> Found:
    """Columns and types where the version began, key and nullability from where on they are proven."""
    at = _compare(history, version, version.at, truth, facts, type_of)
    if version.proven is None or version.proven == version.at:
        return at
    proven = _compare(history, version, version.proven, truth, facts, type_of)
    columns = {f: said for f, said in at.items() if not f.startswith(LATE)}
    return columns | {f: said for f, said in proven.items() if f.startswith(LATE)}


def _name(table: TableId) -> str:
    return f"{table.schema or table.database}.{table.table}"


def _last(version: SchemaVersion) -> Mark:
    """The last record of the log that showed the version; an event rather than a declaration."""
    marks = [e.last for e in version.evidence if e.witness == "emitted"] or [e.last for e in version.evidence]
    return max(marks, key=lambda m: (m.position.rank, m.offset))


def _compare(
    history: TableHistory,
    version: SchemaVersion,
    mark: Mark,
    truth: Truth,
    facts: dict[Place, Fact],
    type_of: TypeOf,
) -> Found:
    step = truth.at(facts[place_of(mark)])
    table = _table(step, history.table)
    if step is None or table is None:
        return {"table": ("exists", f"gone after step {step.number if step else '?'}")}
    return dict(_facts(version.schema, table, type_of))


def _table(step: Step | None, table: TableId) -> TrueTable | None:
    return step.tables.get((table.schema or table.database, table.table)) if step else None


def _facts(schema: TableSchema, table: TrueTable, type_of: TypeOf) -> Iterator[tuple[str, tuple[str, str]]]:
    true = {c.name: c for c in table.columns}
    for name in (n for n in schema.names if n not in true):
        yield f"column:{name}", ("there", "not there")
    for name, column in true.items():
        said = schema.column(name)
        if said is None:
            yield f"column:{name}", ("not there", "generated" if column.generated else "there")
            continue
        says, is_so = format_type(without_labels(said.type)), type_of(column)
        if says != is_so:
            yield f"type:{name}", (says, is_so)
        if said.nullable != column.nullable:
            yield f"nullable:{name}", ("nullable", "NOT NULL") if said.nullable else ("NOT NULL", "nullable")
    if schema.key != table.key:
        yield "key", (", ".join(schema.key) or "none", ", ".join(table.key) or "none")
