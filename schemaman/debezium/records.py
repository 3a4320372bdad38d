"""Records as Kafka delivers them, and their positions in the log of their source."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

PositionKind = Literal["lsn", "commit_lsn", "binlog", "gtid", "scn", "mongo", "none"]
Rank = tuple[int | str, ...]
Order = tuple[str | tuple[str, ...], ...]
"""Fields of `source`, most significant first; of a tuple of fields, the greatest number counts."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a Kafka topic; `timestamp_ms` is the broker's time.

    `is_key_known` is False if its container keeps no keys: then `key` is None, and the record had any key.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    is_key_known: bool = True


def hash_record(record: Record) -> str:
    """Hash key and value to 16 hexadecimal digits; null and empty give different hashes."""
    digest = hashlib.sha256()
    for part in (record.key, record.value):
        digest.update(b"-" if part is None else b"%d:%b" % (len(part), part))
    return digest.hexdigest()[:16]


class _KeptOfPosition:
    """The rank of a position, which is computed once: a fold compares each position many times."""

    __slots__ = ("_rank",)
    _rank: Rank


@dataclass(frozen=True, slots=True)
class Position(_KeptOfPosition):
    """A position in the source's own log: `value` as the connector prints it.

    `lsn` (PostgreSQL): the lsn, with `commit` = `sequence[0]`, None when unknown.
    `commit_lsn` (Db2, SQL Server, Informix): the change lsn, with `commit` = the commit lsn; a snapshot has
    no change lsn. SQL Server adds the event's number: `change lsn:number`.
    `scn` (Oracle): the system change number, with `commit` = the number of the commit, None when unknown. A
    commit number below `value` belongs to another transaction.
    `binlog` (MySQL, MariaDB): `file:pos:row`. `mongo` (MongoDB): `ts_ms:ord`. Positions of two kinds are not
    ordered.
    """

    kind: PositionKind
    value: str
    commit: str | None = None

    @property
    def rank(self) -> Rank:
        """The sort key of positions of one kind (commit order first); empty for kind `none`.

        Source: Debezium, PostgresSourceInfo `sequence` = [last commit lsn, lsn];
        Db2 TxLogPosition compares commit lsn, then change lsn; SqlServerHistoryRecordComparator, then the
        event's number; Oracle Scn compares numbers; MySqlOffset file by its number, position, row.
        """
        try:
            return self._rank
        except AttributeError:
            found = self._make_rank()
            object.__setattr__(self, "_rank", found)
            return found

    def _make_rank(self) -> Rank:
        match self.kind:
            case "lsn":
                number = int(self.value)
                return (number if self.commit is None else int(self.commit), number)
            case "scn":
                # no commit precedes its change: a smaller number is another transaction's
                number = int(self.value)
                return (max(number, int(self.commit or number)), number)
            case "commit_lsn":
                change, _, serial = self.value.rpartition(":")
                if change.count(":") < 2:
                    return (self.commit or "", self.value)
                return (self.commit or "", change, int(serial))
            case "binlog":
                file, pos, row = self.value.rsplit(":", 2)
                base, _, index = file.rpartition(".")
                in_file = (int(pos), int(row))
                return (base, int(index), *in_file) if index.isdecimal() else (file, -1, *in_file)
            case "mongo":
                seconds, order = self.value.split(":", 1)
                return (int(seconds), int(order))
            case "none":
                return ()
            case _:
                return (self.value,)


NO_POSITION = Position("none", "")


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The place and times of one record: topic, partition and offset, and its position in the source's log.

    `ts_ms` is the commit time at the source, `read_ms` the time at which the connector processed the record,
    `timestamp_ms` the broker's time. Times are epoch milliseconds, None if the record has none.
    """

    topic: str
    partition: int
    offset: int
    position: Position = NO_POSITION
    ts_ms: int | None = None
    read_ms: int | None = None
    timestamp_ms: int | None = None
