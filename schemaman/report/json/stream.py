"""Builds the JSON document of a batch of `stream`."""

from __future__ import annotations

from dataclasses import dataclass

from schemaman.report.json.tables import SCHEMA_VERSION, Document


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """What a batch did to one lake table: see `TableReport` for the counts."""

    table: str
    lake_table: str
    records: int
    rows: int
    quarantined: int
    released: int
    ignored: int
    statements: tuple[str, ...] = ()
    blocked: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenBatch:
    """A batch of `stream`; `text` is its report for people."""

    number: int
    records: int
    tables: tuple[WrittenTable, ...] = ()
    untargeted: int = 0
    rejected: int = 0
    text: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether each record of the batch is in its table, or left out by the policy."""
        return not self.rejected and not any(table.blocked or table.quarantined for table in self.tables)


def build_stream(batch: WrittenBatch) -> Document:
    """The document of a batch."""
    return {
        "schema_version": SCHEMA_VERSION,
        "batch": batch.number,
        "records": batch.records,
        "untargeted": batch.untargeted,
        "rejected": batch.rejected,
        "tables": [
            {
                "table": t.table,
                "lake_table": t.lake_table,
                "records": t.records,
                "rows": t.rows,
                "quarantined": t.quarantined,
                "released": t.released,
                "ignored": t.ignored,
                "statements": list(t.statements),
                "blocked": t.blocked or None,
                "notes": list(t.notes),
            }
            for t in batch.tables
        ],
    }
