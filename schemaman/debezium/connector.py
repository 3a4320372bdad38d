"""The port of a connector: what differs between the connectors of Debezium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from schemaman.debezium.records import Order, Position, PositionKind
from schemaman.model.name_adjustment import Release
from schemaman.model.types import Type
from schemaman.plugins import Plugins

if TYPE_CHECKING:  # few events hold statements
    from schemaman.debezium.ddl.event_grammar import StatementGrammar


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


@dataclass(frozen=True, slots=True)
class SpelledType:
    """A type as a statement spells it: its words in capitals, its sizes, its labels.

    `dimensions` are those of an array. `kept` is the name of the type in the case in which names are kept.
    """

    words: tuple[str, ...]
    sizes: tuple[int | None, ...] = ()
    labels: tuple[str, ...] = ()
    is_max: bool = False
    dimensions: int = 0
    kept: str = ""

    @property
    def name(self) -> str:
        """The words of the type as one text."""
        return " ".join(self.words)

    @property
    def first(self) -> int | None:
        """The first size; None if there is none, or for an asterisk."""
        return self.sizes[0] if self.sizes else None

    @property
    def second(self) -> int | None:
        """The second size, which is the scale of a number."""
        return self.sizes[1] if len(self.sizes) > 1 else None


NamedType = tuple[str, int | None, int | None]
"""The name of a type, its length and its scale, as `DeclaredColumn` has them."""


class Connector(Protocol):
    """What differs between connectors; one file a connector in `debezium/connectors/`.

    A connector derives from this class. The defaults are those of most connectors; a connector that is not
    known has them, too.
    """

    name: str
    """The name in `source.connector`."""

    title: str = ""
    """The product's own spelling of its name; empty for a product that is called by `name`."""

    is_known: bool = True
    """Whether the records name a connector whose positions and words for types are known."""

    is_document_store: bool = False
    """Whether tables are collections of documents, whose structure is inferred from their values."""

    has_schemas: bool = True
    """Whether tables lie in schemas of a database; else the database stands in front of the table's name."""

    has_online_copies: bool = False
    """Whether tools change a copy of a table of the database and swap it in; see `ddl/online.py`."""

    has_unsigned_integers: bool = False
    """Whether columns may be unsigned 64-bit integers, which events may contain as signed ones."""

    append_only: bool
    """Whether the database can only append columns, so that a column at another place is another column."""

    has_read_times: bool = False
    """Whether `source.ts_ms` is the time at which a change was read, not the time at which it was made."""

    statement_grammar: StatementGrammar | None = None
    """The SQL of the statements in schema changes; None if they have no statements that are read."""

    sends_structures: bool = True
    """Whether schema changes contain the structures of tables; else only events have them."""

    sends_bare_renames: bool = False
    """Whether a schema change may contain `d.a TO d.b;` for RENAME TABLE."""

    streams_only_primary_keys: bool = False
    """Whether structures have a unique index as their key in a snapshot, but not while streaming."""

    sends_replica_identity: bool = False
    """Whether the row before a change may have only the columns of a replica identity, and made-up values in
    the others."""

    repeats_null_keys: bool = False
    """Whether several rows may have NULL in a unique index, which is the key of a table without another one.

    Source: PostgreSQL, "Unique Constraints"; MySQL and MariaDB, CREATE INDEX; Oracle, "Unique Indexes".
    """

    required_key_release: Release = (0, 0)
    """The first release that is known not to use a unique index with nulls as the key."""

    key_order_release: Release = (0, 0)
    """The first release whose stream is known to keep the order of a composite key."""

    correct_names_release: Release = (0, 0)
    """The first release whose stream does not misread names beyond ASCII; see `read_name`."""

    own_source_fields: frozenset[str] = frozenset()
    """The fields of a source block that this connector alone has. Source: Debezium's SourceInfo classes."""

    position_fields: frozenset[str] = frozenset()
    """The fields of a source block without a connector's name that show that `position` can read it."""

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

    def read_committed_ranks(
        self, sources: Mapping[str, Sequence[object]]
    ) -> tuple[PositionKind, Sequence[tuple[int, int]]] | None:
        """Read kind and ranks of positions that have a commit, faster than `position` does.

        `sources` are the fields of source blocks, column by column. None if one of the blocks is not of the
        usual form: `position` reads them then.
        """
        return None

    def stream_position(self, source: Mapping[str, object]) -> Position | None:
        """Read the stream's position when a row was read beside it; None if the block does not have it."""
        return None

    def name_spelled_type(self, spelled: SpelledType) -> NamedType:
        """Name a type of a statement as the connector's driver or parser would name it, with its sizes."""
        return spelled.name, spelled.first, spelled.second

    def read_name(self, name: str) -> str:
        """Return the database's own form of a name in a record."""
        return name

    def topic_parts(
        self, database: str | None, schema: str | None, release: Release, *, databases: bool
    ) -> tuple[str | None, ...]:
        """List the parts between prefix and table in the name of a table's topic.

        `databases`: several databases are configured. Source: Debezium SchemaTopicNamingStrategy
        (`prefix.schema.table`), DefaultTopicNamingStrategy (`prefix.database.table`).
        """
        return (schema if self.has_schemas else database,)

    def is_own_lsn(self, lsn: str) -> bool:
        """Return whether a log sequence number has the form that this connector alone writes."""
        return False

    def is_own_offset(self, offset: Mapping[str, object], depth: int) -> bool:
        """Return whether the connector's offset in its own schema history has the form of this connector.

        `depth` is the greatest number of parts in the table ids beside it. Source: Debezium's OffsetContext
        classes.
        """
        return False


CONNECTORS: Plugins[Connector] = Plugins(
    "schemaman.debezium.connectors", "CONNECTOR", ("schemaman.dialects",)
)
"""The connectors, by their name in `source.connector`."""


def find_connector(name: object) -> Connector:
    """Find the connector that a record names; the unknown connector for any other value."""
    return CONNECTORS.get(name if isinstance(name, str) and name in CONNECTORS else "unknown")
