"""Versions of a long history in blocks, which are decoded when a version in them is asked for.

Law: a sequence of versions out of blocks equals the tuple of the same versions, and has its hash.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from schemaman.debezium.records import Coordinates
from schemaman.errors import StoreUnavailable
from schemaman.history.versions import SchemaVersion
from schemaman.store.history_json import version_from_json, version_to_json
from schemaman.store.schema_json import (
    VERSION,
    Json,
    Parsed,
    coordinates_from_json,
    coordinates_to_json,
    encode_canonical,
    loads,
    read_object,
    require_version,
)

VERSIONS_IN_BLOCK = 32
"""The number of versions in a block. The newest ones are in no block, so that an append changes no block."""

_LEVEL = 1
"""Neighbouring versions are so alike that the quickest level of zlib already makes a tenth of them."""


@dataclass(frozen=True, slots=True)
class BlockTotals:
    """What is known of a block without decoding it: its hash, its records, and its newest record."""

    hash: str
    records: int
    last: Coordinates


class VersionBlock:
    """Consecutive versions as compressed canonical JSON; `where` names them in messages."""

    def __init__(self, totals: BlockTotals, body: str, where: str) -> None:
        self.totals = totals
        self.body = body
        self._where = where
        self._versions: tuple[SchemaVersion, ...] | None = None

    def decode_versions(self) -> tuple[SchemaVersion, ...]:
        """Decode the versions, once. Raises `StoreUnavailable` if they are not those that were written."""
        if self._versions is None:
            body = require_version(loads(self.decompress_text(), self._where), self._where)
            self._versions = read_object(_versions_from_json, body, self._where)
        return self._versions

    def decompress_text(self) -> str:
        """Decompress the JSON. Raises `StoreUnavailable` if it is not the text that was written."""
        try:
            text = zlib.decompress(base64.b64decode(self.body, validate=True)).decode("ascii")
        except (TypeError, ValueError, binascii.Error, zlib.error) as error:
            raise make_altered_error(self._where) from error
        if hash_text(text) != self.totals.hash:
            raise make_altered_error(self._where)
        return text


class BlockedVersions(Sequence[SchemaVersion]):
    """All versions of a history: those in `blocks`, then the `newest`."""

    def __init__(self, blocks: Iterable[VersionBlock], newest: Iterable[SchemaVersion]) -> None:
        self.blocks = tuple(blocks)
        self.newest = tuple(newest)
        self._first = len(self.blocks) * VERSIONS_IN_BLOCK

    def __len__(self) -> int:
        return self._first + len(self.newest)

    @overload
    def __getitem__(self, index: int) -> SchemaVersion: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[SchemaVersion, ...]: ...

    def __getitem__(self, index: int | slice) -> SchemaVersion | tuple[SchemaVersion, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        place = range(len(self))[index]
        if place >= self._first:
            return self.newest[place - self._first]
        block, rest = divmod(place, VERSIONS_IN_BLOCK)
        return self.blocks[block].decode_versions()[rest]

    def __iter__(self) -> Iterator[SchemaVersion]:
        for block in self.blocks:
            yield from block.decode_versions()
        yield from self.newest

    def __reversed__(self) -> Iterator[SchemaVersion]:
        yield from reversed(self.newest)
        for block in reversed(self.blocks):
            yield from reversed(block.decode_versions())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BlockedVersions | tuple):
            return NotImplemented
        return len(self) == len(other) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[type[tuple[SchemaVersion, ...]], tuple[tuple[SchemaVersion, ...]]]:
        return (tuple, (tuple(self),))


def count_common_versions(one: Sequence[SchemaVersion], other: Sequence[SchemaVersion]) -> int:
    """Count the first versions that both have in blocks of equal hashes: they need no comparison."""
    if not (isinstance(one, BlockedVersions) and isinstance(other, BlockedVersions)):
        return 0
    count = 0
    for mine, others in zip(one.blocks, other.blocks, strict=False):
        if mine.totals.hash != others.totals.hash:
            break
        count += VERSIONS_IN_BLOCK
    return count


def replace_newest(
    versions: Sequence[SchemaVersion], settled: int, newest: Iterable[SchemaVersion]
) -> BlockedVersions:
    """Keep the first `settled` versions, and put others behind them; whole blocks are kept as they are."""
    blocks = versions.blocks if isinstance(versions, BlockedVersions) else ()
    blocks = blocks[: settled // VERSIONS_IN_BLOCK]
    return BlockedVersions(blocks, (*versions[len(blocks) * VERSIONS_IN_BLOCK : settled], *newest))


def split_versions(versions: Sequence[SchemaVersion], where: str) -> BlockedVersions:
    """Put all versions into blocks but the newest; a block that is there already is not encoded again."""
    known = versions.blocks if isinstance(versions, BlockedVersions) else ()
    count = max(len(versions) // VERSIONS_IN_BLOCK - 1, 0)
    blocks = [
        *known[:count],
        *(
            _make_block(versions[start : start + VERSIONS_IN_BLOCK], where)
            for start in range(len(known) * VERSIONS_IN_BLOCK, count * VERSIONS_IN_BLOCK, VERSIONS_IN_BLOCK)
        ),
    ]
    return BlockedVersions(blocks, versions[count * VERSIONS_IN_BLOCK :])


def totals_to_json(totals: BlockTotals) -> Json:
    """Encode what is known of a block."""
    return {"hash": totals.hash, "records": totals.records, "last": coordinates_to_json(totals.last)}


def totals_from_json(value: Parsed) -> BlockTotals:
    """Decode the output of `totals_to_json`."""
    return BlockTotals(value["hash"], value["records"], coordinates_from_json(value["last"]))


def hash_text(text: str) -> str:
    """Return the SHA-256 of a text, hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def make_altered_error(where: str) -> StoreUnavailable:
    """Make the error for a part of a history that is not the one that was written."""
    return StoreUnavailable(
        f"the store is damaged: {where} was altered",
        hint="run `schemaman store check`; `schemaman store rebuild` repairs it from an undamaged log",
    )


def find_last_record(versions: Iterable[SchemaVersion]) -> Coordinates:
    """Find the newest record of versions, as `TableHistory.last_record` does."""
    marks = (evidence.last for version in versions for evidence in version.evidence)
    return max(marks, key=make_record_order)


def make_record_order(mark: Coordinates) -> tuple[int, int]:
    """Make the sort key of the newest record."""
    return (mark.ts_ms or mark.read_ms or mark.timestamp_ms or 0, mark.offset)


def _make_block(versions: Sequence[SchemaVersion], where: str) -> VersionBlock:
    value = {"v": VERSION, "versions": [version_to_json(version) for version in versions]}
    text = encode_canonical(value).decode()
    totals = BlockTotals(hash_text(text), sum(v.records for v in versions), find_last_record(versions))
    body = base64.b64encode(zlib.compress(text.encode(), _LEVEL)).decode()
    return VersionBlock(totals, body, where)


def _versions_from_json(value: Parsed) -> tuple[SchemaVersion, ...]:
    return tuple(version_from_json(version) for version in value["versions"])
