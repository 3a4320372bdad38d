"""The names of a connector's topics, for tables and for its own records, and of the schemas of their records.

Users can configure other names; these are the strategies that Debezium ships.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from schemaman.debezium.connector import find_connector
from schemaman.model.name_adjustment import NEWEST, Mode, Release, adjust_schema, make_topic_name

Part = Literal["key", "row", "envelope"]

_SUFFIX: dict[Part, str] = {"key": "Key", "row": "Value", "envelope": "Envelope"}


@dataclass(frozen=True, slots=True)
class TopicNamingStrategy:
    """The strategy that names topics; the defaults are Debezium's.

    `unicode`: escape illegal characters instead of replacing them. `heartbeat` and `transaction` are
    `topic.heartbeat.prefix` and `topic.transaction`. Source: Debezium AbstractTopicNamingStrategy.
    """

    prefix: str
    delimiter: str = "."
    unicode: bool = False
    transaction: str = "transaction"
    heartbeat: str = "__debezium-heartbeat"

    def name_table_topic(
        self,
        connector: str,
        database: str | None,
        schema: str | None,
        table: str,
        *,
        release: Release = NEWEST,
        databases: bool = False,
    ) -> str:
        """Name the topic of a table or a collection; `databases`: SQL Server 1.x has `database.names` set."""
        parts = find_connector(connector).topic_parts(database, schema, release, databases=databases)
        return self._make_topic(*parts, table)

    @property
    def schema_changes(self) -> str:
        """The topic of schema changes: the prefix itself."""
        return self._make_topic()

    @property
    def transactions(self) -> str:
        """The topic of the beginnings and ends of transactions."""
        return self._make_topic(self.transaction)

    @property
    def heartbeats(self) -> str:
        """The topic of heartbeats, which begins with a prefix of its own."""
        return make_topic_name(self.heartbeat, self.prefix, delimiter=self.delimiter, unicode=False)

    @property
    def messages(self) -> str:
        """The topic of PostgreSQL's logical messages. Source: Debezium LogicalDecodingMessageMonitor."""
        return self._make_topic("message")

    def _make_topic(self, *parts: str | None) -> str:
        return make_topic_name(self.prefix, *parts, delimiter=self.delimiter, unicode=self.unicode)


def route_topic(name: str, regex: str, replacement: str) -> str:
    """Route a topic: return its replacement if the whole name matches, else the name itself.

    `replacement` has Java's form: `$1` is the first group. Source: Debezium
    AbstractRegexTopicNamingStrategy and ByLogicalTableRouter; Kafka RegexRouter.

    Raises:
        re.error: `regex` or `replacement` cannot be read.
    """
    made = re.fullmatch(regex, name)
    return name if made is None else made.expand(re.sub(r"\$(\d+)", r"\\g<\1>", replacement)) or name


def make_schema_name(name: str, part: Part, mode: Mode, release: Release = NEWEST) -> str:
    """Make the name of the Connect schema of a record's part; it begins with the topic that Debezium made.

    Source: Debezium TableSchemaBuilder; `before` and `after` share the schema of the row.
    """
    return adjust_schema(f"{name}.{_SUFFIX[part]}", mode, release)


def choose_schema_mode(release: Release) -> Mode:
    """Choose a release's default mode for schema names. Source: Debezium CommonConnectorConfig."""
    return "avro" if release < (2, 0) else "none"


def choose_field_mode(*, avro: bool = False) -> Mode:
    """Choose the default mode for field names, which is the same in every release.

    `avro`: the connector's own configuration names the Avro converter of Confluent or Apicurio; a converter
    of the whole worker does not count. Source: Debezium FieldNameSelector, `sanitize.field.names` up to 2.1.
    """
    return "avro" if avro else "none"
