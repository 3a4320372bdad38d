"""The report of a batch that a LakeSink wrote, table by table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from schemaman.migration.plan import Plan
from schemaman.model.display import count_noun
from schemaman.sink.waiting_records import WaitingRecords


@dataclass(frozen=True, slots=True)
class TableReport:
    """The result of a batch for one lake table.

    Of its `records`, `rows` rows were merged. `ended_incarnation` records belong to an earlier incarnation of
    the source table. `quarantined` records are in quarantine, `replayed` ones were released from there.
    `truncated` ones, of the batch or released, are from before a TRUNCATE that deleted their rows: none of
    them is written. `steps` are the statements that changed the table's schema. `blocked` is the reason why
    the table accepts no rows now. `plan` is the plan that the table waits for: `plan_file` writes the file
    that `schemaman approve` reads. `notes` name what the policy left out; `ignored` counts the records of a
    table that the policy ignores.
    """

    source_table: str
    lake_table: str
    records: int = 0
    rows: int = 0
    ended_incarnation: int = 0
    quarantined: int = 0
    replayed: int = 0
    steps: tuple[str, ...] = ()
    blocked: str | None = None
    ignored: int = 0
    notes: tuple[str, ...] = ()
    plan: Plan | None = None
    truncated: int = 0

    def __str__(self) -> str:
        counts = [count_noun(self.records, "record"), f"{count_noun(self.rows, 'row')} written"]
        counts += [f"{self.quarantined} quarantined"] if self.quarantined else []
        counts += [f"{self.replayed} released from quarantine"] if self.replayed else []
        counts += [f"{self.ended_incarnation} of a dropped table"] if self.ended_incarnation else []
        counts += [f"{self.truncated} from before a TRUNCATE"] if self.truncated else []
        counts += [f"{self.ignored} ignored by the policy"] if self.ignored else []
        lines = [f"{self.source_table} -> {self.lake_table}: {', '.join(counts)}"]
        lines += [f"  {statement.splitlines()[0]}" for statement in self.steps]
        lines += [f"  note: {note}" for note in self.notes]
        lines += [f"  blocked: {self.blocked}"] if self.blocked else []
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The result of a batch, one report per lake table; `str` writes it as lines of text.

    `number` is Spark's number of the batch. `untargeted` counts the records of tables without a target, and
    `rejected` those that could not be decoded. `waiting` is what waits in quarantine after the batch.
    """

    number: int
    tables: tuple[TableReport, ...]
    untargeted: int = 0
    rejected: int = 0
    waiting: tuple[WaitingRecords, ...] = ()

    def add_moves(self, moved: Iterable[TableReport]) -> BatchReport:
        """The report with the statements that moved tables before the batch."""
        tables = {(table.source_table, table.lake_table): table for table in self.tables}
        for move in moved:
            found = tables.get((move.source_table, move.lake_table), replace(move, steps=()))
            tables[move.source_table, move.lake_table] = replace(found, steps=(*move.steps, *found.steps))
        return replace(self, tables=tuple(tables.values()))

    def __str__(self) -> str:
        lines = [f"batch {self.number}"]
        lines += (
            [f"  {count_noun(self.rejected, 'record')} not decoded, in quarantine"] if self.rejected else []
        )
        lines += (
            [f"  {count_noun(self.untargeted, 'record')} of tables without a target"]
            if self.untargeted
            else []
        )
        lines += [f"  {line}" for table in self.tables for line in str(table).splitlines()]
        lines += [f"  {each}" for each in self.waiting]
        return "\n".join(lines)
