"""What flattening added to a row: which of its fields are no columns, and what they tell of the event.

Law: decided by names, order and values alone, so that it is the same whoever serialised the row. A field is
taken for an addition only if it stands behind all columns, has a name that a transform gives, and a value
that such a field can have; everything else is a column, whatever it is called.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from schemaman.model.name_adjustment import adjust_schema, restore_misread_name

PREFIX = "__"
"""Source: Debezium ExtractNewRecordState, the default of `add.fields.prefix` and `add.headers.prefix`."""

PHYSICAL_TABLE_FIELD = b"__dbz__physicalTableIdentifier"
"""The field that routing adds to a key.

Source: Debezium AbstractRegexTopicNamingStrategy, ByLogicalTableRouter."""

DELETED_FIELD = "__deleted"
"""The field that tells of a delete that was rewritten; its name cannot be configured in every release."""

Headers = Sequence[tuple[str, bytes | None]]
Identity = tuple[str, str, str, str]

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
"""What no record leaves empty: where such a field is null, a table has a column of that name."""
_NO_SCHEMA = frozenset({"mysql", "mariadb", "mongodb", "vitess"})
_CONNECTORS = {"lsn": "postgresql", "event_serial_no": "sqlserver", "vgtid": "vitess"} | dict.fromkeys(
    ("scn", "commit_scn", "lcr_position", "redo_thread"), "oracle"
)
"""Fields of a source block that one connector alone has. Source: the SourceInfo classes of Debezium."""
_BINLOG = frozenset({"file", "pos"})
_DB2 = re.compile(r"[0-9a-f]{8}:[0-9a-f]{8}:[0-9a-f]{16}")
_SQLSERVER = re.compile(r"[0-9a-f]{8}:[0-9a-f]{8}:[0-9a-f]{4}")


@dataclass(frozen=True, slots=True)
class Additions:
    """What was added to a row.

    `names` are the fields of the value that are no columns. `source` holds what fields and headers tell of
    the source, under the names of a source block; `op` and `read_ms` what they tell of the event.
    """

    names: tuple[str, ...] = ()
    source: Mapping[str, object] = field(default_factory=dict)
    op: str = ""
    read_ms: int | None = None

    @property
    def is_present(self) -> bool:
        """Whether anything was added at all."""
        return bool(self.names or self.source or self.op)

    @property
    def connector(self) -> str:
        """The connector, if it was told or has fields of its own; else empty."""
        told = self.source.get("connector")
        if isinstance(told, str) and told:
            return told
        own = {_CONNECTORS[name] for name in self.source if name in _CONNECTORS}
        return own.pop() if len(own) == 1 else self._by_lsn()

    @property
    def position_connector(self) -> str:
        """The connector whose words tell the place; MySQL for MariaDB too, whose places look the same."""
        return self.connector or ("mysql" if self.source.keys() >= _BINLOG else "")

    @property
    def is_snapshot(self) -> bool:
        """Whether the row was read from the table, not from the log."""
        return self.source.get("snapshot") not in (None, "", "false", False) or self.op == "r"

    def _by_lsn(self) -> str:
        lsn = str(self.source.get("change_lsn") or self.source.get("commit_lsn") or "")
        return "db2" if _DB2.fullmatch(lsn) else "sqlserver" if _SQLSERVER.fullmatch(lsn) else ""


def read_additions(
    row: Mapping[str, object],
    headers: Headers = (),
    prefix: str = PREFIX,
    *,
    optional: frozenset[str] | None = None,
) -> Additions:
    """What flattening added to a row; `optional` are the fields that its schema lets be null, if it has one.

    `prefix` is what the transform was told to put before names. Source: Debezium ExtractNewRecordState:
    behind the row's own fields come `__deleted` (a text; a Boolean from ExtractNewDocumentState) and those
    of `add.fields`, each `__<field>` or `__<struct>_<field>`, none of them required.
    """
    names: list[str] = []
    told: dict[tuple[str, str], object] = {}
    for name in reversed(tuple(row)):
        if optional is not None and name not in optional:
            break
        place = _parse_added_name(name, prefix)
        if place is None or not _is_value_allowed(place, row[name]):
            break
        names.append(name)
        told[place] = row[name]
    for header, data in headers:
        place = _parse_added_name(header, PREFIX) or _parse_added_name(header, prefix)
        value = None if place is None or data is None else _read_header(place, data)
        if place is not None and value is not None and _is_value_allowed(place, value):
            told.setdefault(place, value)
    source = {name: value for (struct, name), value in told.items() if struct == "source"}
    read_ms = told.get(("", "ts_ms"))
    op = told.get(("", "op"))
    return Additions(
        tuple(reversed(names)),
        source,
        op if isinstance(op, str) else "",
        read_ms if isinstance(read_ms, int) else None,
    )


def remove_additions(
    row: Mapping[str, object], headers: Headers = (), prefix: str = PREFIX
) -> dict[str, object] | None:
    """A row without a schema, without what was added; None where nothing was, so that it may be no row."""
    added = read_additions(row, headers, prefix)
    return {n: v for n, v in row.items() if n not in added.names} if added.is_present else None


def is_document(row: Mapping[str, object], key: object, added: Additions) -> bool:
    """Whether a flattened row is a document of MongoDB: its `_id` is the key, which is called `id` there.

    Such a row may have members that others of its collection lack, also an `id` of its own, and its schema is
    made for it alone. A row of a table with columns of both names may look so, unless its connector is told.
    Source: Debezium ExtractNewDocumentState, MongoDataConverter; `collection` is a field of its source alone.
    """
    if "connector" in added.source:
        return added.source["connector"] == "mongodb"
    if "collection" in added.source:
        return True
    if "_id" not in row or not isinstance(key, Mapping):
        return False
    return {name for name in key if name != PHYSICAL_TABLE_FIELD.decode()} == {"id"} and key["id"] == row[
        "_id"
    ]


def mark_as_document(added: Additions) -> Additions:
    """The additions of a row that is a document, whoever told it."""
    return replace(added, source={"connector": "mongodb", **added.source})


def identify_parts(topic: str, name: str, added: Additions, physical: str | None) -> tuple[Identity, bool]:
    """Who the table of a flattened row is: (server, database, schema, table), and whether that is proven.

    Proven is what the additions tell in full. Else the parts of a name stand in: what routing wrote into the
    key (`physical`), the topic, or the name of the schema where routing has changed the topic alone.
    Source: Debezium SchemaTopicNamingStrategy and DefaultTopicNamingStrategy, `prefix.schema.table`.
    """
    base = physical or _choose_base(topic, name)
    source = {k: v for k, v in added.source.items() if isinstance(v, str)}
    server, middle, last = _split_base(base, source.get("name"))
    table = source.get("table") or source.get("collection") or last
    database, schema = source.get("db") or source.get("keyspace") or "", source.get("schema") or ""
    flat = added.connector in _NO_SCHEMA or (bool(database) and middle == database)
    proven = bool(source.get("name") and database and (source.get("table") or source.get("collection")))
    if not schema and flat:
        database = database or middle
    elif not schema:
        schema, proven = middle.removeprefix(f"{database}.") if database else middle, False
    if added.connector == "postgresql":
        schema, table = restore_misread_name(schema), restore_misread_name(table)
    return (server, database, schema, table), proven


def is_flattened(name: str, added: Additions) -> bool:
    """Whether a value without an envelope is a row: by the name of its schema, or by what was added to it."""
    return name.endswith(".Value") or added.is_present


def read_physical_table(key: object) -> str | None:
    """The table that routing wrote into a key; None if it wrote none."""
    told = key.get(PHYSICAL_TABLE_FIELD.decode()) if isinstance(key, Mapping) else None
    return told if isinstance(told, str) and told else None


@lru_cache(maxsize=4096)
def _parse_added_name(name: str, prefix: str) -> tuple[str, str] | None:
    """Struct and field that a name was made of; None for a name that no transform gives."""
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


def _is_value_allowed(place: tuple[str, str], value: object) -> bool:
    struct, name = place
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
    """What a field of a source block holds, where it was told as text."""
    if name in _NUMBERS and isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,20}", value):
        return int(value)
    return value


def _read_header(place: tuple[str, str], data: bytes) -> object:
    """The value of a header as a field of that name would have it.

    Source: Kafka SimpleHeaderConverter writes the bare text.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    if place[1] in _NUMBERS or place[1] in _MIXED:
        return int(text) if re.fullmatch(r"-?[0-9]{1,20}", text) else None
    return text.removeprefix('"').removesuffix('"')


@lru_cache(maxsize=4096)
def _choose_base(topic: str, name: str) -> str:
    """The name to take apart: the topic, unless the schema was not named after it."""
    if not name:
        return topic
    own = name.removesuffix(".Value")
    made = {adjust_schema(f"{topic}.Value", mode).removesuffix(".Value") for mode in ("avro", "avro_unicode")}
    return topic if own in made else own


def _split_base(base: str, server: str | None) -> tuple[str, str, str]:
    """Server, what stands between, and table."""
    if server and base.startswith(f"{server}."):
        rest = base.removeprefix(f"{server}.")
    else:
        first, _, rest = base.partition(".")
        server, rest = (server or first, rest) if rest else (server or "", first)
    middle, _, table = rest.rpartition(".")
    return server, middle, table
