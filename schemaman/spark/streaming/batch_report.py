"""The report of a batch that a LakeSink wrote, table by table."""

from __future__ import annotations

from dataclasses import dataclass

from schemaman.migration.plan import Plan


@dataclass(frozen=True, slots=True)
class TableReport:
    """The result of a batch for one lake table.

    Of its `records`, `rows` rows were merged. `ended_incarnation` records belong to an earlier incarnation of
    the source table. `quarantined` records are in quarantine, `replayed` ones were written from there.
    `steps` are the statements that changed the table's schema. `blocked` is the reason why the table accepts
    no rows now, and `plan` is its plan: `plan_file` writes the file that `schemaman approve` reads. `notes`
    name what the policy left out; `ignored` counts the records of a table that the policy ignores.
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
