"""The tables of a SQL store, and the encoding of values in their rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    bindparam,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeDecorator

from schemaman.errors import StoreUnavailable
from schemaman.model.schema import TableId
from schemaman.store import entry_json as codec
from schemaman.store import schema_json as structure_codec
from schemaman.store.log import CoveredRange, Entry, list_tables
from schemaman.store.offsets import merge_ranges
from schemaman.store.sql.quick_statements import QuickStatement

LAYOUT = 13
"""Of the tables below; a store of another layout is refused."""

BATCH = 500
"""How many values one statement asks for; SQLite takes 999 at least. Source: sqlite.org/limits.html §9."""

V = TypeVar("V")

RESTORE = "run `schemaman store check`, and restore a copy or read the records again"
"""What to do about damage."""


def _parse_name(text: str, kind: type[V]) -> V:
    try:
        value = json.loads(text)
    except (TypeError, ValueError) as error:
        raise make_damaged_error(f"a name in it cannot be read: {error}") from error
    if not isinstance(value, kind):
        raise make_damaged_error(f"a name in it is malformed: {text}")
    return value


class Name(TypeDecorator[str]):
    """Text that may hold what UTF-8 cannot: everything outside ASCII is escaped as in JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """The text as it is stored."""
        return None if value is None else json.dumps(value)[1:-1]

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        """The text as it was given."""
        return None if value is None else _parse_name(f'"{value}"', str)


BY_HASH = {"using": "hash"}
"""Marks an index that PostgreSQL keeps as a hash.

SQLAlchemy's own option loads the dialect of PostgreSQL, also for SQLite.
"""


def _make_key(found_by: str, *key: str) -> tuple[SchemaItem, SchemaItem]:
    """The key of a table. PostgreSQL finds its rows by the hash of one column, as names may be long.

    Its trees take no entry of more than 2,704 bytes. That no key is there twice is seen to by the writer,
    who is alone. Source: postgresql.org/docs/current/btree.html, "Introduction".
    """
    by_hash = Index(f"by_{found_by}", found_by, info=BY_HASH)
    return PrimaryKeyConstraint(*key).ddl_if(dialect="sqlite"), by_hash.ddl_if(dialect="postgresql")


METADATA = MetaData()
META = Table("meta", METADATA, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))
LOG = Table(
    "log",
    METADATA,
    Column("sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("kind", Text, nullable=False, index=True),
    Column("table_key", Text),
    Column("previous_key", Text),
    Column("body", Text, nullable=False),
    Column("chain", Text, nullable=False),
    Index("ix_log_table_key", "table_key", info=BY_HASH),
    Index("ix_log_previous_key", "previous_key", info=BY_HASH),
)
COVERED = Table(
    "covered",
    METADATA,
    Column("stream", Name, nullable=False),
    Column("topic", Name, nullable=False),
    Column("partition", BigInteger().with_variant(Integer, "sqlite"), nullable=False),
    Column("first", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    *_make_key("topic", "stream", "topic", "partition", "first"),
)
HISTORY = Table(
    "history",
    METADATA,
    Column("table_key", Text, nullable=False),
    Column("body", Text, nullable=False),
    *_make_key("table_key", "table_key"),
)
HISTORY_BLOCK = Table(
    "history_block",
    METADATA,
    Column("table_key", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("table_key", "number").ddl_if(dialect="sqlite"),
    Index("by_block_table_key", "table_key", info=BY_HASH).ddl_if(dialect="postgresql"),
)
CHECKPOINT = Table(
    "checkpoint",
    METADATA,
    Column("table_key", Text, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("table_key").ddl_if(dialect="sqlite"),
    Index("by_checkpoint_table_key", "table_key", info=BY_HASH).ddl_if(dialect="postgresql"),
)
SUMMARY = Table(
    "summary",
    METADATA,
    Column("table_key", Text, nullable=False),
    Column("body", Text, nullable=False),
    # Two indexes of one schema may not share a name, and that of `history` has the plain one.
    PrimaryKeyConstraint("table_key").ddl_if(dialect="sqlite"),
    Index("by_summary_table_key", "table_key", info=BY_HASH).ddl_if(dialect="postgresql"),
)
NAMED = Table(
    "named",
    METADATA,
    Column("kind", Text, nullable=False),
    Column("name", Name, nullable=False),
    Column("table_key", Text, nullable=False),
    Index("ix_named_table_key", "table_key", info=BY_HASH),
    *_make_key("name", "name", "kind", "table_key"),
)
FORM = Table(
    "form",
    METADATA,
    Column("scope", Text, nullable=False),
    Column("table_key", Text, nullable=False),
    Column("form", Text, nullable=False),
    Column("first_ms", BigInteger, nullable=False),
    Column("last_ms", BigInteger, nullable=False),
    Index("ix_form_table_key", "table_key", info=BY_HASH),
    Index("ix_form_last", "scope", "form", "last_ms"),
    Index("ix_form_first", "scope", "form", "first_ms"),
)
FORM_CHANGE = Table(
    "form_change",
    METADATA,
    Column("scope", Text, nullable=False),
    Column("table_key", Text, nullable=False),
    Column("topic", Name, nullable=False),
    Column("partition", BigInteger, nullable=False),
    Column("offset", BigInteger, nullable=False),
    Column("was", Text, nullable=False),
    Column("now", Text, nullable=False),
    Column("since_ms", BigInteger, nullable=False),
    Column("after_ms", BigInteger, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("until_ms", BigInteger, nullable=False),
    Column("verdict", Text, nullable=False),
    Index("ix_form_change_table_key", "table_key", info=BY_HASH),
    Index("ix_form_change_rule", "scope", "was", "now", "verdict"),
    Index("ix_form_change_was", "scope", "was", "at_ms"),
    Index("ix_form_change_now", "scope", "now", "after_ms"),
)
LEASE = Table(
    "lease",
    METADATA,
    Column("target", Name, nullable=False),
    Column("owner", Name, nullable=False),
    Column("token", Text, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
    *_make_key("target", "target"),
)


_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def make_damaged_error(what: str) -> StoreUnavailable:
    """Make the error for rows that schemaman did not write."""
    return StoreUnavailable(f"the store is damaged: {what}", hint=RESTORE)


# Each append reads four lines and writes two.
_READ_META = QuickStatement(select(META.c.value).where(META.c.name == bindparam("wanted")))
_SET_META = QuickStatement(
    update(META).where(META.c.name == bindparam("wanted")).values(value=bindparam("new"))
)


def read_meta(connection: Connection, name: str) -> str:
    """Read one line of `meta`: `layout`, `id`, `end`, `head`. Raises `StoreUnavailable` if it is missing."""
    value = _READ_META.find_value(connection, {"wanted": name})
    if value is None:
        raise make_damaged_error(f"it has lost its {name!r}")
    return str(value)


def read_identity(connection: Connection) -> str:
    """Read the store's id, which lake tables contain. Raises `StoreUnavailable` for a missing or bad id.

    The log does not contain it: an altered id of the right form is not detected.
    """
    value = read_meta(connection, "id")
    if _UUID4.fullmatch(value) is None:
        raise make_damaged_error(f"its 'id' is {value!r}, which no store was given")
    return value


def read_log_end(connection: Connection) -> int:
    """The sequence of the last entry; 0 for an empty log. Raises `StoreUnavailable` if that is no number."""
    value = read_meta(connection, "end")
    if not value.isascii() or not value.isdigit():
        raise make_damaged_error(f"its log ends at {value!r}")
    return int(value)


def set_meta(connection: Connection, **values: str) -> None:
    """Write lines of `meta` that are there."""
    _SET_META.write_rows(connection, [{"wanted": name, "new": value} for name, value in values.items()])


@lru_cache(1 << 14)
def format_table_key(table: TableId) -> str:
    """The identity of a table as one text."""
    parts = [table.stream, table.server, table.database, table.schema, table.table]
    return structure_codec.encode_canonical(parts).decode()


def parse_table_key(key: str) -> TableId:
    """The identity that `format_table_key` wrote.

    Raises `StoreUnavailable` for a text that it never writes.
    """
    try:
        stream, server, database, schema, table = json.loads(key)
    except (TypeError, ValueError) as error:
        raise StoreUnavailable(
            (f"{key!r} is not the key of a table: {error}"), hint="restore a copy"
        ) from error
    return TableId(server, database, schema, table, stream)


def list_index_columns(entry: Entry) -> dict[str, str | None]:
    """The columns by which an entry is found."""
    keys = [format_table_key(table) for table in list_tables(entry)]
    table, previous = (*keys, None, None)[:2]
    return {"kind": codec.find_kind(type(entry)), "table_key": table, "previous_key": previous}


def add_ranges(connection: Connection, covered: Iterable[CoveredRange]) -> None:
    """Join ranges to those that are covered. Raises `Conflict` if they overlap."""
    c = COVERED.c
    streams: dict[str, list[CoveredRange]] = {}
    for one in covered:
        streams.setdefault(one.stream, []).append(one)
    for stream, new in streams.items():
        before = read_topic_ranges(connection, stream, {one.topic for one in new})
        after = merge_ranges([*before, *new])
        dropped, added = set(before).difference(after), set(after).difference(before)
        here = [c[name] == bindparam(f"of_{name}") for name in ("stream", "topic", "partition", "first")]
        if dropped:
            rows = [
                {f"of_{k}": getattr(one, k) for k in ("stream", "topic", "partition", "first")}
                for one in dropped
            ]
            connection.execute(delete(COVERED).where(*here), rows)
        if added:
            connection.execute(insert(COVERED), [make_range_row(one) for one in added])


def make_range_row(covered: CoveredRange) -> dict[str, object]:
    """A merged range as a row."""
    c = covered
    body = codec.to_bytes(c).decode()
    return {"stream": c.stream, "topic": c.topic, "partition": c.partition, "first": c.first, "body": body}


def read_ranges(connection: Connection, *where: ColumnElement[bool]) -> tuple[CoveredRange, ...]:
    """The merged ranges that are covered, in order."""
    bodies = connection.scalars(select(COVERED.c.body).where(*where))
    found = [codec.from_bytes(body, "covered offsets") for body in bodies]
    return merge_ranges(one for one in found if isinstance(one, CoveredRange))


def read_topic_ranges(connection: Connection, stream: str, topics: Iterable[str]) -> tuple[CoveredRange, ...]:
    """The merged ranges of these topics that are covered, in order."""
    here = COVERED.c.stream == stream
    found = (
        one
        for some in split_batches(topics)
        for one in read_ranges(connection, here, COVERED.c.topic.in_(some))
    )
    return merge_ranges(found)


def split_batches(items: Iterable[V], size: int = BATCH) -> Iterator[list[V]]:
    """The items in lists that are short enough for one statement."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
