"""The port of a connector: what its declared columns and its positions mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from schemaman.debezium.records import Order, Position
from schemaman.model.types import Type
from schemaman.plugins import Plugins


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """A column as `tableChanges` prints it. Source: Debezium ConnectTableChangeSerializer."""

    name: str
    jdbc_type: int
    type_name: str
    type_expression: str | None
    length: int | None
    scale: int | None
    position: int
    nullable: bool
    comment: str | None = None
    default: str | None = None
    enum_values: tuple[str, ...] | None = None


class Connector(Protocol):
    """A connector: what its columns and its positions mean. One file each in `debezium/connectors/`."""

    name: str
    """The name in `source.connector`."""

    append_only: bool
    """Whether the database can only append columns: a column that moved is another one."""

    late_facts: bool
    """Whether key, nullability and defaults in events are those of the moment of reading,
    while columns and types are of the record's own place in the log.
    Source: Debezium PgOutputMessageDecoder.handleRelationMessage reads them through JDBC."""

    @property
    def order(self) -> Order:
        """The fields of `source` that alone make up the position, most significant first.

        Where their texts are of equal length and not smaller, the position is not smaller. Empty if that
        cannot be said.
        """

    def declared_type(self, column: DeclaredColumn) -> Type:
        """The logical type of a declared column; `Unknown` for one that nobody knows."""

    def position(self, source: Mapping[str, object]) -> Position:
        """The source position that a `source` block tells; ValueError if it tells one that cannot be."""


CONNECTORS: Plugins[Connector] = Plugins(
    "schemaman.debezium.connectors", "CONNECTOR", ("schemaman.dialects",)
)
"""The connectors, by the name that `source.connector` gives."""
