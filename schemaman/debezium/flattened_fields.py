"""The fields that flattening added to a row: which fields are no columns, and the facts in them.

Law: names, order and values alone decide, so that every serialisation of a row gives the same answer. A field
is an added one only if it comes behind all columns, has a name that the transform makes, and a value that
such a field can have. Every other field is a column, whatever its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache, lru_cache

from schemaman.debezium.connector import CONNECTORS, find_connector
from schemaman.debezium.connectors import mongodb

PREFIX = "__"
"""Source: Debezium ExtractNewRecordState, the default of `add.fields.prefix` and `add.headers.prefix`."""

PHYSICAL_TABLE_FIELD = b"__dbz__physicalTableIdentifier"
"""The field that routing adds to a key.

Source: Debezium AbstractRegexTopicNamingStrategy, ByLogicalTableRouter."""

DELETED_FIELD = "__deleted"
"""The field that marks a rewritten delete; not every release can configure its name."""

_OWN = "io.debezium."
"""The beginning of the names of schemas that belong to no table."""

Headers = Sequence[tuple[str, bytes | None]]

_TEXTS = frozenset(
    {
        "version", "connector", "name", "snapshot", "db", "sequence", "schema", "table", "collection",
        "keyspace", "shard", "vgtid", "rs", "origin", "file", "gtid", "query", "change_lsn",
        "commit_lsn", "begin_lsn", "scn", "commit_scn", "start_scn", "lcr_position", "rs_id",
        "user_name", "redo_sql", "row_id", "lsid", "stxnid"
    }
)  # fmt: skip
_NUMBERS = frozenset(
    {
        "ts_ms", "ts_us", "ts_ns", "lsn", "xmin", "origin_lsn", "event_serial_no", "server_id", "pos",
        "row", "thread", "ord", "h", "tord", "txnNumber", "wallTime", "ssn", "redo_thread",
        "commit_ts_ms", "start_ts_ms", "txSeq"
    }
)  # fmt: skip
_MIXED = frozenset({"txId"})
"""A number at PostgreSQL, a text at Oracle."""
SOURCE_FIELDS = _TEXTS | _NUMBERS | _MIXED
"""The fields of source blocks. Source: the SourceInfo classes of Debezium, in all releases."""
_ROOT = {"op": frozenset("crudtm"), "deleted": frozenset({"true", "false", True, False})}
_TRANSACTION = {"id": _TEXTS, "total_order": _NUMBERS, "data_collection_order": _NUMBERS}
_REQUIRED = frozenset({"op", "deleted", "version", "connector", "name", "ts_ms", "table"})
"""Fields that are never null in a record; a null field of such a name is a column of the table."""


@dataclass(frozen=True, slots=True)
class KeyNames:
    """The names in a key: the table that routing wrote into it, and the name of its schema."""

    physical: str | None = None
    schema: str = ""


NO_KEY_NAMES = KeyNames()


@dataclass(frozen=True, slots=True)
class Additions:
    """The facts that flattening added to a row.

    `names` are the fields of the value that are no columns. `source` has the facts of the source from fields
    and headers, under the names of a source block; `op` and `read_ms` are facts of the event.
    """

    names: tuple[str, ...] = ()
    source: Mapping[str, object] = field(default_factory=dict)
    op: str = ""
    read_ms: int | None = None

    @property
    def is_present(self) -> bool:
        """Whether flattening added any field or header."""
        return bool(self.names or self.source or self.op)

    @property
    def connector(self) -> str:
        """The connector, by its name or by fields that no other connector has; else empty."""
        connector = self.source.get("connector")
        if isinstance(connector, str) and connector:
            return connector
        fields = _map_own_fields()
        own = {fields[name] for name in self.source if name in fields}
        return own.pop() if len(own) == 1 else self._find_connector_by_lsn()

    @property
    def position_connector(self) -> str:
        """The connector that reads the position; positions of several connectors may have one form."""
        if self.connector:
            return self.connector
        readers = (c for c in CONNECTORS.load_all() if c.position_fields)
        return next((c.name for c in readers if c.position_fields <= self.source.keys()), "")

    @property
    def is_snapshot(self) -> bool:
        """Whether the row was read from the table, not from the log."""
        return self.source.get("snapshot") not in (None, "", "false", False) or self.op == "r"

    def _find_connector_by_lsn(self) -> str:
        lsn = str(self.source.get("change_lsn") or self.source.get("commit_lsn") or "")
        return next((c.name for c in CONNECTORS.load_all() if c.is_own_lsn(lsn)), "") if lsn else ""


@cache
def _map_own_fields() -> Mapping[str, str]:
    """Map the fields of a source block that one connector alone has to its name."""
    return {
        name: connector.name for connector in CONNECTORS.load_all() for name in connector.own_source_fields
    }


def read_additions(
    row: Mapping[str, object],
    headers: Headers = (),
    prefix: str = PREFIX,
    *,
    optional: frozenset[str] | None = None,
) -> Additions:
    """Read the fields that flattening added to a row; `optional` are the optional fields of its schema.

    `prefix` is the transform's configured prefix of names. Source: Debezium ExtractNewRecordState: behind the
    row's own fields come `__deleted` (a text; a Boolean from ExtractNewDocumentState) and those of
    `add.fields`, each `__<field>` or `__<struct>_<field>`, none of them required.
    """
    names: list[str] = []
    facts: dict[tuple[str, str], object] = {}
    for name in reversed(tuple(row)):
        if optional is not None and name not in optional:
            break
        field_key = _parse_added_name(name, prefix)
        if field_key is None or not _is_value_allowed(field_key, row[name]):
            break
        names.append(name)
        facts[field_key] = row[name]
    for header, data in headers:
        field_key = _parse_added_name(header, PREFIX) or _parse_added_name(header, prefix)
        value = None if field_key is None or data is None else _read_header(field_key, data)
        if field_key is not None and value is not None and _is_value_allowed(field_key, value):
            facts.setdefault(field_key, value)
    source = {name: value for (struct, name), value in facts.items() if struct == "source"}
    read_ms = facts.get(("", "ts_ms"))
    op = facts.get(("", "op"))
    return Additions(
        tuple(reversed(names)),
        source,
        op if isinstance(op, str) else "",
        read_ms if isinstance(read_ms, int) else None,
    )


def is_document(row: Mapping[str, object], key: object, added: Additions) -> bool:
    """Return whether a flattened row is a document of MongoDB: its `_id` equals the key field `id`.

    Such a row may have fields that other documents of its collection lack, also an `id` of its own, and its
    schema belongs to it alone. A row of a table with columns of both names looks the same unless the added
    fields name its connector.
    Source: Debezium ExtractNewDocumentState, MongoDataConverter; `collection` is a field of its source alone.
    """
    if "connector" in added.source:
        return find_connector(added.source["connector"]).is_document_store
    if "collection" in added.source:
        return True
    if "_id" not in row or not isinstance(key, Mapping):
        return False
    return {name for name in key if name != PHYSICAL_TABLE_FIELD.decode()} == {"id"} and key["id"] == row[
        "_id"
    ]


def mark_as_document(added: Additions) -> Additions:
    """Set the connector of a document's added facts to MongoDB unless they name one."""
    return replace(added, source={"connector": mongodb.CONNECTOR.name, **added.source})


def is_flattened(
    topic: str,
    name: str | None,
    row: Mapping[str, object],
    added: Additions,
    key: KeyNames,
    patterns: Sequence[str],
) -> bool:
    """Return whether an object without an envelope is a row of a table.

    The name of its schema, fields that flattening added, or the name of the key's schema beside any schema
    prove it; else the topic is configured to hold rows (`patterns`). `name` is None without a schema. An
    incomplete envelope is no row.
    """
    if added.is_present or (name is not None and name.endswith(".Value")):
        return True
    if "op" in row and ("before" in row or "after" in row):
        return False
    if name is not None and is_key_name(key.schema) and not name.startswith(_OWN):
        return True
    return any(fnmatchcase(topic, pattern) for pattern in patterns)


def is_key_name(name: str) -> bool:
    """Return whether a schema name is that of a table's key, such as `prefix.schema.table.Key`."""
    return name.endswith(".Key") and name.count(".") > 1 and not name.startswith(_OWN)


def read_physical_table(key: object) -> str | None:
    """Read the table that routing wrote into a key; None if the key has none."""
    table = key.get(PHYSICAL_TABLE_FIELD.decode()) if isinstance(key, Mapping) else None
    return table if isinstance(table, str) and table else None


@lru_cache(maxsize=4096)
def _parse_added_name(name: str, prefix: str) -> tuple[str, str] | None:
    """Parse the name of an added field as struct and field; None for a name that no transform makes."""
    if name == DELETED_FIELD:
        return ("", "deleted")
    if not name.startswith(prefix):
        return None
    bare = name.removeprefix(prefix)
    struct, _, member = bare.partition("_")
    if struct == "source" and (member in _TEXTS or member in _NUMBERS or member in _MIXED):
        return ("source", member)
    if struct == "transaction" and member in _TRANSACTION:
        return ("transaction", member)
    if bare in _ROOT or bare in ("ts_ms", "ts_us", "ts_ns"):
        return ("", bare)
    if bare in _TRANSACTION:
        return ("transaction", bare)
    return ("source", bare) if bare in _TEXTS or bare in _NUMBERS or bare in _MIXED else None


def _is_value_allowed(field_key: tuple[str, str], value: object) -> bool:
    struct, name = field_key
    if value is None:
        return name not in _REQUIRED
    if struct == "" and name in _ROOT:
        return isinstance(value, str | bool) and value in _ROOT[name]
    if struct == "transaction":
        return isinstance(value, str) if _TRANSACTION[name] is _TEXTS else _is_number(value)
    if name in _MIXED:
        return isinstance(value, str) or _is_number(value)
    return isinstance(value, str) if name in _TEXTS else _is_number(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def parse_source_value(name: str, value: object) -> object:
    """Parse the text of a source field as the value that a source block has."""
    if name in _NUMBERS and isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,20}", value):
        return int(value)
    return value


def _read_header(field_key: tuple[str, str], data: bytes) -> object:
    """Read a header as the value of the added field of that name.

    Source: Kafka SimpleHeaderConverter writes the bare text.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    if field_key[1] in _NUMBERS or field_key[1] in _MIXED:
        return int(text) if re.fullmatch(r"-?[0-9]{1,20}", text) else None
    return text.removeprefix('"').removesuffix('"')
