"""Oracle: structures are declared by the schema-change topic, with the statement that made them."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.evidence import NOWHERE, DeclaredColumn, Dialect, Position
from schemaman.types import Type, Unknown


class Oracle:
    """The Oracle connector."""

    name = "oracle"
    append_only = False
    late_facts = False
    order: tuple[str, ...] = ("commit_scn", "scn")

    def declared_type(self, column: DeclaredColumn) -> Type:
        """The logical type of a column as a statement declares it."""
        return Unknown(column.type_name)

    def position(self, source: Mapping[str, object]) -> Position:
        """The system change number, with that of the commit which orders first; both are numbers.

        They are texts since 1.5 and whole numbers before; a snapshot has no commit and may have no number.
        Source: Debezium OracleSourceInfoStructMaker, Scn, CommitScn.
        """
        scn, commit = _number(source.get("scn")), _number(source.get("commit_scn"))
        return NOWHERE if scn is None else Position("scn", scn, commit)


def _number(value: object) -> str | None:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text if text.isascii() and text.isdecimal() else None


DIALECT: Dialect = Oracle()
