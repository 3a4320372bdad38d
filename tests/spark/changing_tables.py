"""A stream with many structural changes: the automatic ways of autopilot, each in tables of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from schemaman.debezium.records import Record
from tests.cases.connector import Connector
from tests.streaming import automatic_ways as ways
from tests.streaming.test_moved_tables import Source

IN_PLACE = (
    "column, and a wider type", "key with more columns", "another key that rows prove",
    "key that rows do not prove", "late row of a table with a successor", "key that is gone",
    "log that gets a key", "type beside", "texts beside", "name used again", "names used again in one batch",
    "TRUNCATE", "row ahead of its confirmed key",
)  # fmt: skip
MOVING = {
    "renamed": ways._rename,
    "swapped": ways.exchange_tables,
    "rebuilt": ways._rebuild,
    "anew": ways._make_anew,
}


@dataclass
class _Prefixed:
    """A source whose tables have names of their own."""

    source: Source
    prefix: str

    def create(self, table: str, *ids: int) -> None:
        self.source.create(f"{self.prefix}_{table}", *ids)

    def write(self, table: str, id: int, value: str = "", op: str = "c") -> None:
        self.source.write(f"{self.prefix}_{table}", id, value, op)

    def rename(self, old: str, new: str) -> None:
        self.source.rename(f"{self.prefix}_{old}", f"{self.prefix}_{new}")

    def drop(self, table: str) -> None:
        self.source.drop(f"{self.prefix}_{table}")


def make_records(in_place: Sequence[str] = IN_PLACE, moving: Sequence[str] = tuple(MOVING)) -> list[Record]:
    """The records of all these changes, one of each in turn."""
    streams = [
        [rename_table(record, f"t{number}") for batch in ways.WAYS[name].batches for record in batch.records]
        for number, name in enumerate(in_place)
    ]
    for name in moving:
        source = Source(None, Connector("mysql", server=name))  # type: ignore[arg-type]
        MOVING[name](_Prefixed(source, name))  # type: ignore[arg-type]
        streams.append(source.connector.records)
    return [record for record in chain(*zip_longest(*streams)) if record is not None]


def rename_table(record: Record, table: str) -> Record:
    """The same record of another table than `t`."""

    def rename(text: bytes | None) -> bytes | None:
        if text is None:
            return None
        renamed = text.replace(b"srv.public.t", f"srv.public.{table}".encode())
        return renamed.replace(b'"table": "t"', f'"table": "{table}"'.encode())

    return replace(record, topic=f"srv.public.{table}", key=rename(record.key), value=rename(record.value))
