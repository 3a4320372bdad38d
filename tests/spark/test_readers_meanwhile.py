"""A reader in another thread while autopilot changes real tables: each value is read at every moment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import schemaman as sm
from schemaman.debezium.records import Record
from schemaman.history.decisions import Decisions
from schemaman.spark.streaming.batch_report import BatchReport
from tests.spark.meanwhile import LakeFolder, MeanwhileReader, merge_ways
from tests.spark.test_autopilot import _make_frame
from tests.streaming.automatic_ways import WAYS, _make_anew, _moved, _rename, _united
from tests.streaming.test_moved_tables import Source
from tests.support.checkout import PROOF
from tests.support.killed_sink import Batch, Way
from tests.support.lake_reader import Reading, list_faults
from tests.support.records import Node, node, row_event, struct

pytestmark = pytest.mark.spark

AUTOPILOT = sm.Policy(profile="autopilot")
INT, LONG, TEXT = (node(kind, optional=True) for kind in ("int32", "int64", "string"))


def _row(offset: int, types: Mapping[str, Node], op: str = "c", id: int = 1, **values: object) -> Record:
    return row_event({"id": node("int32"), **types}, op, {"id": id, **values}, offset=offset)


def _member(offset: int, id: int, name: str, value: int, op: str = "c") -> Record:
    types = {"s": {**struct(None, z=INT, **{name: INT}), "optional": True}}
    return _row(offset, types, op, id, s={"z": offset, name: value})


MORE: dict[str, Way] = {
    "wider type, rename by order, dropped column": Way(
        (
            Batch([_row(n, {"a": INT, "z": INT, "c": TEXT}, id=n, a=n, z=7, c="x") for n in (1, 2)]),
            Batch([_row(3, {"a": LONG, "z": INT, "c": TEXT}, "u", a=2**40, z=7, c="y")]),
            Batch([_row(4, {"b": LONG, "z": INT, "c": TEXT}, "u", b=2**41, z=7, c="y")]),
            Batch([_row(5, {"b": LONG, "z": INT}, "u", b=5, z=7)]),
        )
    ),
    "nested fields united after an answer": _united(
        _member(0, 1, "old", 10), _member(1, 2, "old", 11),
        changed=_member(2, 2, "new", 12, "u"), last=_member(3, 3, "new", 13), pairs=[("s.old", "s.new")],
    ),
}  # fmt: skip
TWO_SCHEMAS = "tables united after a stay"
"""Its two tables would have one name in the lake of this test."""
ALL = MORE | {
    name: way
    for name, way in WAYS.items()
    if name != TWO_SCHEMAS
    and way.policy == AUTOPILOT
    and all(r.topic == "srv.public.t" for r in way.batches[0].records)
}
SOME = {
    "iceberg": ("another key that rows prove", "type beside", "wider type, rename by order, dropped column",
                "nested fields united after an answer"),
    "delta": ("key that is gone", "texts beside", "TRUNCATE", "names exchanged after an answer"),
}  # fmt: skip


def _move(source: Source) -> None:
    _rename(source)
    _make_anew(source)


MOVED = {"table renamed, another one made anew": Way(_moved(_move, 3))} | (
    {name: way for name, way in WAYS.items() if way.batches[0].records[0].topic == "srv"} if PROOF else {}
)


def _is_no_table(fault: str) -> bool:
    """Between two statements a name has no table; and a path is no table before its first commit."""
    return "TABLE_OR_VIEW_NOT_FOUND" in fault or "TABLE_NOT_FOUND" in fault


def _run(spark: SparkSession, folder: Path, lake: LakeFolder, batches: tuple[Batch, ...]) -> list[str]:
    """Write batches beside a reader, and list what it missed."""
    faults, reports, decisions = list[str](), list[BatchReport](), Decisions()
    target = sm.TargetSetting("lake", "iceberg", ("*",), table=f"{lake.place}.{{table}}")
    if lake.format == "delta":
        target = sm.TargetSetting("lake", "delta", ("*",), path=f"{lake.place}/{{table}}")
    elif lake.views:
        target = sm.TargetSetting(
            "lake", "iceberg", ("*",), table=f"{lake.place}.{{table}}", view=f"{lake.views}.{{table}}"
        )
    quarantine = sm.spark.Quarantine(f"ice.{folder.name}_kept.records", "iceberg")
    with sm.open(f"sqlite:///{folder / 'store.db'}", create=True) as registry:
        sink = sm.spark.LakeSink(
            registry,
            [target],
            quarantine,
            policy=AUTOPILOT,
            on_report=reports.append,
            decisions=lambda: decisions,
        )
        before = views = Reading("nothing yet", {}, frozenset())
        for number, batch in enumerate(batches):
            decisions = batch.decide(registry.store)  # type: ignore[arg-type]
            with MeanwhileReader(spark, lake, _is_no_table if lake.moves else lambda _: False) as reader:
                sink(_make_frame(spark, list(batch.records)), number)
            faults += reader.faults
            after, views_after = lake.read(spark, "the end"), lake.read_views(spark, "the end")
            faults += list_faults(before, reader.readings, after)
            faults += list_faults(views, reader.views, views_after)
            before, views = after, views_after
    # A batch that ends amid the statements of a move stops the table until the next one.
    checked = reports[-1:] if lake.moves else reports
    faults += [each.blocked for report in checked for each in report.tables if each.blocked]
    return [*faults, *(waiting.reason for waiting in reports[-1].waiting)]


@pytest.mark.parametrize("format", ["iceberg", "delta"])
def test_each_value_is_read_while_columns_and_keys_change(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    ways = {name: ALL[name] for name in (ALL if PROOF else SOME[format])}
    lake = LakeFolder("delta", f"{tmp_path}/lake")
    if format == "iceberg":
        spark.sql(f"CREATE NAMESPACE ice.{tmp_path.name}")
        spark.sql(f"CREATE NAMESPACE ice.{tmp_path.name}_views")
        lake = LakeFolder("iceberg", f"ice.{tmp_path.name}", f"ice.{tmp_path.name}_views")
    assert _run(spark, tmp_path, lake, merge_ways(ways)) == []


@pytest.mark.parametrize("name", MOVED)
def test_each_row_is_read_while_tables_move(spark: SparkSession, tmp_path: Path, name: str) -> None:
    spark.sql(f"CREATE NAMESPACE ice.{tmp_path.name}")
    lake = LakeFolder("iceberg", f"ice.{tmp_path.name}", moves=True)
    assert _run(spark, tmp_path, lake, MOVED[name].batches) == []
