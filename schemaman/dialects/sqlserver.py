"""SQL Server: structures are declared when a capture instance begins, as the table is at that moment."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.evidence import NOWHERE, DeclaredColumn, Dialect, Position
from schemaman.types import Type, Unknown


class Sqlserver:
    """The SQL Server connector."""

    name = "sqlserver"
    append_only = True
    late_facts = False
    order: tuple[str, ...] = ("commit_lsn", "change_lsn", "event_serial_no")

    def declared_type(self, column: DeclaredColumn) -> Type:
        """The logical type of a column as the driver names it."""
        return Unknown(column.type_name)

    def position(self, source: Mapping[str, object]) -> Position:
        """The change lsn and the event's number there, with the commit lsn that orders first.

        Snapshots and schema changes have no change lsn. Source: Debezium SqlServerSourceInfoStructMaker,
        SqlServerHistoryRecordComparator: commit lsn, then change lsn, then event serial number.
        """
        commit, change, serial = (source.get(k) for k in ("commit_lsn", "change_lsn", "event_serial_no"))
        if not isinstance(commit, str):
            return NOWHERE
        if not isinstance(change, str):
            return Position("commit_lsn", "", commit)
        return Position("commit_lsn", change if serial is None else f"{change}:{serial}", commit)


DIALECT: Dialect = Sqlserver()
