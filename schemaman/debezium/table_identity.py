"""The table that a flattened row belongs to: topic, schema name, key and added fields → the table's identity.

The other direction, from a table to the names of its topics and schemas, is `emitted_names`. An event with a
`source` block states its table itself: `source_block`.
"""

from __future__ import annotations

from functools import lru_cache

from schemaman.debezium.connector import find_connector
from schemaman.debezium.flattened_fields import Additions, KeyNames, is_key_name
from schemaman.model.name_adjustment import adjust_schema

Identity = tuple[str, str, str, str]
"""Server, database, schema and table."""


def identify_parts(topic: str, name: str, added: Additions, key: KeyNames) -> tuple[Identity, bool]:
    """Identify the table of a flattened row: (server, database, schema, table), and whether that is proven.

    The identity is proven if the added fields have all of its parts. Else the parts of a name complete it:
    the table that routing wrote into the key, the topic, or the name of a schema that Debezium made if
    routing has changed the topic alone. A schema name that a transformation set is no name of a table.
    Source: Debezium SchemaTopicNamingStrategy and DefaultTopicNamingStrategy, `prefix.schema.table`; Kafka
    Connect SetSchemaMetadata.
    """
    base = key.physical or _choose_base(topic, name, key.schema)
    source = {k: v for k, v in added.source.items() if isinstance(v, str)}
    server, middle, last = _split_base(base, source.get("name"))
    table = source.get("table") or source.get("collection") or last
    database, schema = source.get("db") or source.get("keyspace") or "", source.get("schema") or ""
    connector = find_connector(added.connector)
    flat = not connector.has_schemas or (bool(database) and middle == database)
    proven = bool(source.get("name") and database and (source.get("table") or source.get("collection")))
    if not schema and flat:
        database = database or middle
    elif not schema:
        schema, proven = middle.removeprefix(f"{database}.") if database else middle, False
    return (server, database, connector.read_name(schema), connector.read_name(table)), proven


@lru_cache(maxsize=4096)
def _choose_base(topic: str, name: str, key_name: str) -> str:
    """Choose the name to split: the topic, or a schema's name of Debezium that does not follow from it."""
    if not name:
        return topic
    own = name.removesuffix(".Value")
    made = {adjust_schema(f"{topic}.Value", mode).removesuffix(".Value") for mode in ("avro", "avro_unicode")}
    if own == topic or own in made:
        return topic
    if name.endswith(".Value"):
        return own
    return key_name.removesuffix(".Key") if is_key_name(key_name) else topic


def _split_base(base: str, server: str | None) -> tuple[str, str, str]:
    """Split a name into server, middle part, and table."""
    if server and base.startswith(f"{server}."):
        rest = base.removeprefix(f"{server}.")
    else:
        first, _, rest = base.partition(".")
        server, rest = (server or first, rest) if rest else (server or "", first)
    middle, _, table = rest.rpartition(".")
    return server, middle, table
