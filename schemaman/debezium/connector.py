"""The port of a connector: how to read its declared columns and its positions."""

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
    """A reader of declared columns and positions; one file a connector in `debezium/connectors/`."""

    name: str
    """The name in `source.connector`."""

    append_only: bool
    """Whether the database can only append columns, so that a column at another place is another column."""

    late_facts: bool
    """Whether key, nullability and defaults in events are those at the moment of reading,
    while columns and types are those at the record's own position in the log.
    Source: Debezium PgOutputMessageDecoder.handleRelationMessage reads them through JDBC."""

    @property
    def order(self) -> Order:
        """The fields of `source` that alone make up the position, most significant first.

        If their texts have equal lengths and do not decrease, the position does not decrease. Empty if the
        connector gives no such guarantee.
        """

    def declared_type(self, column: DeclaredColumn) -> Type:
        """Return the logical type of a declared column; `Unknown` for a type that schemaman does not know."""

    def position(self, source: Mapping[str, object]) -> Position:
        """Read the position in a `source` block.

        Raises:
            ValueError: the block has an impossible position.
        """


CONNECTORS: Plugins[Connector] = Plugins(
    "schemaman.debezium.connectors", "CONNECTOR", ("schemaman.dialects",)
)
"""The connectors, by their name in `source.connector`."""
