"""Records as Kafka delivers them, and where they stand in the log of their source."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

PositionKind = Literal["lsn", "commit_lsn", "binlog", "gtid", "scn", "mongo", "none"]
Rank = tuple[int | str, ...]
Order = tuple[str | tuple[str, ...], ...]
"""Fields of `source`, most significant first; several as one are the greatest number among them."""


@dataclass(frozen=True, slots=True)
class Record:
    """A Kafka record as it lay in its topic; `timestamp_ms` is the broker's."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def hash_record(record: Record) -> str:
    """A hash of key and value, 16 hexadecimal digits; null and empty are told apart."""
    told = hashlib.sha256()
    for part in (record.key, record.value):
        told.update(b"-" if part is None else b"%d:%b" % (len(part), part))
    return told.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the source's own log: `value` as the connector prints it.

    `lsn` (PostgreSQL): the lsn, with `commit` = `sequence[0]`, None when unknown.
    `commit_lsn` (Db2, SQL Server, Informix): the change lsn, with `commit` = the commit lsn; a snapshot has
    no change lsn. SQL Server adds the event's number: `change lsn:number`.
    `scn` (Oracle): the system change number, with `commit` = that of the commit, None when unknown; where
    that is the smaller number, it is another one's.
    `binlog` (MySQL, MariaDB): `file:pos:row`. `mongo` (MongoDB): `ts_ms:ord`. Kinds never compare.
    """

    kind: PositionKind
    value: str
    commit: str | None = None

    @property
    def rank(self) -> Rank:
        """What orders positions of one kind (commit order first); empty for kind `none`.

        Source: Debezium, PostgresSourceInfo `sequence` = [last commit lsn, lsn];
        Db2 TxLogPosition compares commit lsn, then change lsn; SqlServerHistoryRecordComparator, then the
        event's number; Oracle Scn compares numbers; MySqlOffset file by its number, position, row.
        """
        match self.kind:
            case "lsn":
                number = int(self.value)
                return (number if self.commit is None else int(self.commit), number)
            case "scn":
                # no commit stands before its change: a smaller one is another transaction's
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
                place = (int(pos), int(row))
                return (base, int(index), *place) if index.isdecimal() else (file, -1, *place)
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
    """Where and when one record stands.

    `position` is the source's; `ts_ms` its commit time there; `read_ms` when the connector
    processed it; `timestamp_ms` the broker's. Times are epoch milliseconds, None if not told.
    """

    topic: str
    partition: int
    offset: int
    position: Position = NO_POSITION
    ts_ms: int | None = None
    read_ms: int | None = None
    timestamp_ms: int | None = None
