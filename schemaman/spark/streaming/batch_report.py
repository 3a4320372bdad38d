"""What became of a batch that a Mirror took: table by table."""

from __future__ import annotations

from dataclasses import dataclass

from schemaman.migration.plan import Plan


@dataclass(frozen=True, slots=True)
class TableReport:
    """What became of one lake table in a batch.

    Of its `records`, `rows` rows were merged, `ended_incarnation` records belong to an earlier life of the source table,
    and `quarantined` stand in quarantine; `replayed` came out of it. `steps` are the statements that changed the
    structure of the table. `blocked` is the reason why it takes nothing now, and `plan` what would be done to
    it: the text of `planfile.to_text` is the file that `schemaman approve` reads. `notes` say what the policy
    left out: with `ignored` the records of a table that it does not want.
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


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What became of a batch: by lake table; records that no target follows; records not understood."""

    number: int
    tables: tuple[TableReport, ...]
    untargeted: int = 0
    rejected: int = 0
