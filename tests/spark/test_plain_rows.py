"""Plain changes are staged as the fold of single changes stages them; no Spark session is needed."""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow as arrow
import pytest

from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import AUTO
from schemaman.ingest.ingest import ingest
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.migration.row_columns import list_row_columns
from schemaman.migration.target import LakeTable
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Integer, String
from schemaman.registry import Registry
from schemaman.sink.row_mapping import RowMap, map_columns
from schemaman.spark.streaming.decoded import LocalBatch
from schemaman.spark.streaming.plain_rows import decode_records
from schemaman.spark.streaming.row_staging import ReadingContext, RecordDecoder
from schemaman.spark.streaming.staged_columns import make_staged_helpers
from schemaman.store.memory import MemoryStore
from tests.support.records import node, row_event

FIELDS = {
    "id": node("int64"),
    "n": node("int32", optional=True),
    "d": node("double", optional=True),
    "s": node("string", optional=True),
}
HEADERS = arrow.list_(arrow.struct([("key", arrow.string()), ("value", arrow.binary())]))
UNSENT = "__debezium_unavailable_value"


def make_table(records: list[Record]) -> arrow.Table:
    return arrow.table(
        {
            "topic": [r.topic for r in records],
            "partition": arrow.array([r.partition for r in records], arrow.int32()),
            "offset": arrow.array([r.offset for r in records], arrow.int64()),
            "timestamp": arrow.nulls(len(records), arrow.timestamp("us", "UTC")),
            "key": arrow.array([r.key for r in records], arrow.binary()),
            "value": arrow.array([r.value for r in records], arrow.binary()),
            "headers": arrow.nulls(len(records), HEADERS),
        }
    )


def make_records(rng: random.Random, odd: float) -> list[Record]:
    """Changes of few keys; some of them are odd: unsent or unfit values, late ones, other operations."""
    found = []
    for offset in range(120):
        row: dict[str, object] = {"id": rng.randrange(40), "n": offset, "d": offset / 8, "s": f"ü {offset}"}
        op, lsn = rng.choice("ccuuuud"), 100 + offset
        if rng.random() < odd:
            row |= rng.choice([{"s": UNSENT}, {"n": 1 << 40}, {"d": None}, {"s": "\ud800"}, {}])
            op, lsn = rng.choice("ur"), lsn - rng.choice([0, 90])
        record = row_event(FIELDS, op, row, offset=offset, lsn=lsn)
        found.append(replace(record, value=None) if rng.random() < odd / 4 else record)
    return found


def make_row_maps(reading: ReadingContext) -> dict[str, RowMap]:
    """Lake tables: as the source, with a column more or less, with narrow types, and without a key.

    The last one takes no plain changes.
    """
    (history,) = reading.histories.values()
    own = [replace(column, id=None) for column in history.latest.schema.columns]
    narrow = [replace(c, type=Integer(8)) if c.name == "n" else c for c in own]
    columns = {"same": own, "more": [*own, Column("more", String())], "narrow": narrow}
    columns["fewer"] = own[:2]
    keys = dict.fromkeys(columns, ("id",)) | {"keyless": ()}
    return {
        name: map_columns(
            history,
            LakeTable(
                "lake.t",
                TableSchema((*columns.get(name, own), *list_row_columns(key)), key),
                identity="",
                version="",
            ),
        )
        for name, key in keys.items()
    }


@pytest.mark.parametrize("odd", [0.0, 0.2])
@pytest.mark.parametrize("truncated_at", ["", f"{130:020d}.{0:020d}/0/0.0"])
def test_staged_rows_are_those_of_single_changes(odd: float, truncated_at: str) -> None:
    rng = random.Random(f"{odd}{truncated_at}")
    store = MemoryStore()
    ingest(
        [row_event(FIELDS, "c", {"id": 1}, offset=0, lsn=1)], Registry(store, lambda: 0), "main", NO_REGISTRY
    )
    histories = {table: history for table in store.tables() if (history := store.history(table))}
    reading = ReadingContext(histories, NO_REGISTRY, "main", AUTO)
    for _ in range(4):
        raw = make_table(make_records(rng, odd))
        in_full = arrow.Table.from_batches(RecordDecoder(reading)(raw.to_batches()))
        decoded, plain = decode_records(raw, reading, in_full=1)
        assert decoded.drop(["change"]).equals(in_full.drop(["change"]))
        assert plain.tables
        assert LocalBatch(None, decoded, plain).find_progress() == [last_of(decoded)]  # type: ignore[arg-type]
        (text,) = plain.tables
        for name, row_map in make_row_maps(reading).items():
            to = replace(row_map, truncated=truncated_at)
            single = LocalBatch(None, in_full).select_table(text)  # type: ignore[arg-type]
            local = LocalBatch(None, decoded, plain).select_table(text)  # type: ignore[arg-type]
            wanted = describe(single.fold_rows(to), to)
            assert describe(local.fold_rows(to), to) == wanted, name


def last_of(decoded: arrow.Table) -> tuple[object, ...]:
    """How far the only table was read in the only partition."""
    changes = [row for row in decoded.to_pylist() if row["row_order"] is not None and row["reason"] is None]
    last = changes[-1]
    key = last["key"] if last["op"] == "d" and last["value"] is not None else None
    greatest = max(row["row_order"] for row in changes)
    return last["source_table"], last["topic"], last["partition"], greatest, (last["offset"], key)


def describe(rows: arrow.Table, to: RowMap) -> list[str]:
    """The staged rows in one order; the records of a row are needed for its reason alone."""
    helpers = make_staged_helpers(to)
    found = rows.to_pylist()
    for row in found:
        if row[helpers.reason] is None:
            row[helpers.places] = None
    return sorted(map(repr, found))
