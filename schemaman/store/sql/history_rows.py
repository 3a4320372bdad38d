"""The rows of folded histories: a head for each, and blocks of versions for a long one.

Laws: an altered row is never returned; a block that an append does not change is not written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection, bindparam, delete, insert, select

from schemaman.errors import StoreUnavailable
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.store import history_json as history_codec
from schemaman.store.schema_json import Parsed, encode_canonical, loads, read_object, require_version
from schemaman.store.sql.tables import HISTORY, HISTORY_BLOCK, format_table_key, split_batches
from schemaman.store.version_blocks import (
    BlockedVersions,
    BlockTotals,
    VersionBlock,
    hash_text,
    make_altered_error,
    split_versions,
    totals_from_json,
    totals_to_json,
)


@dataclass(frozen=True, slots=True)
class HistoryRows:
    """The rows of one history: the text of its head, and the blocks by their numbers."""

    head: str
    blocks: tuple[VersionBlock, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredBody:
    """What is stored of one history, not decoded yet: `blocks` are bodies by their numbers."""

    table: TableId
    where: str
    head: object
    blocks: Mapping[int, str]

    def decode_history(self) -> TableHistory:
        """Decode the head; blocks are decoded when a version in them is asked for.

        Raises `StoreUnavailable` if the head was altered, or a block is missing.
        """
        text, where = open_text(self.head, self.table), f"{self.where}: history of {self.table}"
        value = require_version(loads(text, where), where)
        history = history_codec.from_json(value, where)
        blocks = self._list_blocks(value, where)
        return replace(history, versions=BlockedVersions(blocks, history.versions)) if blocks else history

    def read_ids(self) -> tuple[str, ...]:
        """Read the ids of all versions, in order, without decoding the rest."""
        text = open_text(self.head, self.table)
        where = f"{self.where}: history of {self.table}"
        blocks = self._list_blocks(require_version(loads(text, where), where), where) if self.blocks else ()
        texts = (*(block.decompress_text() for block in blocks), text)
        return tuple(id for one in texts for id in history_codec.read_ids(one))

    def has_fault(self, rows: HistoryRows) -> bool:
        """Whether anything differs from the rows that there should be."""
        if self.head != rows.head or sorted(self.blocks) != list(range(len(rows.blocks))):
            return True
        totals = [block.totals for block in rows.blocks]
        stored = (VersionBlock(one, self.blocks[n], self.where) for n, one in enumerate(totals))
        try:
            for one in stored:
                one.decompress_text()
        except StoreUnavailable:
            return True
        return False

    def _list_blocks(self, value: Parsed, where: str) -> tuple[VersionBlock, ...]:
        totals: tuple[BlockTotals, ...] = read_object(_totals_from_json, value, where)
        if len(self.blocks) != len(totals):
            raise make_altered_error(f"the history of {self.table}")
        name = f"the history of {self.table}"
        return tuple(VersionBlock(one, self.blocks.get(n, ""), name) for n, one in enumerate(totals))


def make_rows(history: TableHistory) -> HistoryRows:
    """Make the rows of a history. Versions that are in blocks already are not encoded again."""
    versions = split_versions(history.versions, f"the history of {history.table}")
    value = history_codec.to_json(replace(history, versions=versions.newest))
    if versions.blocks:
        value["blocks"] = [totals_to_json(block.totals) for block in versions.blocks]
    text = encode_canonical(value).decode()
    return HistoryRows(f"{hash_text(text)} {text}", versions.blocks)


def read_bodies(
    connection: Connection, tables: Iterable[TableId], where: str
) -> Mapping[TableId, StoredBody]:
    """Read what is stored of these tables, of those that have a history."""
    names = {format_table_key(table): table for table in tables}
    heads: dict[str, object] = {}
    blocks: dict[str, dict[int, str]] = {}
    for keys in split_batches(names):
        query = select(HISTORY.c.table_key, HISTORY.c.body).where(HISTORY.c.table_key.in_(keys))
        heads.update((key, body) for key, body in connection.execute(query))
        c = HISTORY_BLOCK.c
        parts = select(c.table_key, c.number, c.body).where(c.table_key.in_(keys))
        for key, number, body in connection.execute(parts):
            blocks.setdefault(key, {})[number] = body
    return {
        names[key]: StoredBody(names[key], where, body, blocks.get(key, {})) for key, body in heads.items()
    }


def read_histories(
    connection: Connection, tables: Iterable[TableId], where: str
) -> Callable[[TableId], TableHistory | None]:
    """The histories of these tables as they are in this transaction, each decoded when it is asked for."""
    bodies = read_bodies(connection, tables, where)

    def history(table: TableId) -> TableHistory | None:
        body = bodies.get(table)
        return None if body is None else body.decode_history()

    return history


def write_histories(connection: Connection, histories: Mapping[TableId, TableHistory | None]) -> None:
    """Replace the heads of these tables, and the blocks that differ."""
    keys = [format_table_key(table) for table in histories]
    rows = {format_table_key(t): make_rows(h) for t, h in histories.items() if h is not None}
    connection.execute(delete(HISTORY).where(HISTORY.c.table_key.in_(keys)))
    if rows:
        connection.execute(insert(HISTORY), [{"table_key": k, "body": r.head} for k, r in rows.items()])
    c = HISTORY_BLOCK.c
    query = select(c.table_key, c.number, c.hash).where(c.table_key.in_(keys))
    before = {(key, number, hash) for key, number, hash in connection.execute(query)}
    now = {(key, n, b.totals.hash): b.body for key, r in rows.items() for n, b in enumerate(r.blocks)}
    if dropped := before - now.keys():
        here = [c.table_key == bindparam("of_key"), c.number == bindparam("of_number")]
        places = [{"of_key": key, "of_number": number} for key, number, _ in sorted(dropped)]
        connection.execute(delete(HISTORY_BLOCK).where(*here), places)
    if added := sorted(now.keys() - before):
        new = [
            {"table_key": key, "number": number, "hash": hash, "body": now[key, number, hash]}
            for key, number, hash in added
        ]
        connection.execute(insert(HISTORY_BLOCK), new)


def clear_histories(connection: Connection) -> None:
    """Forget all of them."""
    connection.execute(delete(HISTORY))
    connection.execute(delete(HISTORY_BLOCK))


def open_text(body: object, table: TableId) -> str:
    """The text of a head. Raises `StoreUnavailable` if it is not the one that was sealed.

    One flipped bit makes a number or bytes of a text. Source: sqlite.org/fileformat2.html §2.1, serial types.
    """
    seal, _, text = body.partition(" ") if isinstance(body, str) else ("", "", "")
    if seal != hash_text(text):
        raise make_altered_error(f"the history of {table}")
    return text


def _totals_from_json(value: Parsed) -> tuple[BlockTotals, ...]:
    return tuple(totals_from_json(one) for one in value.get("blocks", ()))
