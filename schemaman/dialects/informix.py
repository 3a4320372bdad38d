"""Informix: structures are declared again, mostly unchanged, whenever the connector opens a table's log."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.evidence import NOWHERE, DeclaredColumn, Dialect, Position
from schemaman.types import Type, Unknown

_DIGITS = 19
"""A log sequence number is a signed 64-bit number in decimal: of one width, texts compare as numbers do."""


class Informix:
    """The Informix connector."""

    name = "informix"
    append_only = False
    late_facts = False
    order: tuple[str, ...] = ("commit_lsn", "change_lsn")

    def declared_type(self, column: DeclaredColumn) -> Type:
        """The logical type of a column as the driver names it."""
        return Unknown(column.type_name)

    def position(self, source: Mapping[str, object]) -> Position:
        """The change lsn, with the commit lsn that orders first, each written with all its digits.

        Source: Debezium InformixSourceInfoStructMaker, TxLogPosition, Lsn: `-1` is none.
        """
        commit, change = _lsn(source.get("commit_lsn")), _lsn(source.get("change_lsn"))
        return NOWHERE if commit is None else Position("commit_lsn", change or "", commit)


def _lsn(value: object) -> str | None:
    text = value if isinstance(value, str) else ""
    return text.zfill(_DIGITS) if text.isascii() and text.isdecimal() else None


DIALECT: Dialect = Informix()
