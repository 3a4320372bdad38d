"""A small history made of values, for tests of what is told: four versions, three findings, a plan."""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.compat.judge import Finding
from schemaman.debezium.records import Coordinates, Position
from schemaman.history.versions import (
    Alias,
    Disagreement,
    Evidence,
    RenameCandidate,
    Revision,
    SchemaVersion,
    TableHistory,
)
from schemaman.migration.plan import MigrationSource, Plan, Refusal, Step
from schemaman.model.schema import Column, TableId, TableSchema, fingerprint
from schemaman.model.types import Decimal, Integer, String, Timestamp
from schemaman.report.views.table_changes import JudgedFinding, TableChapter, build_chapter

ORDERS = TableId("shop", "app", "public", "orders")
NOON = 1_793_534_400_000


def mark(offset: int) -> Coordinates:
    """The record at an offset, a minute behind the one before."""
    position = Position("lsn", str(0x16B6A50 + offset * 256), str(0x16B6A50 + offset * 256))
    at = NOON + offset * 60_000
    return Coordinates("shop.public.orders", 0, offset, position, at, at + 120, at + 125)


def version(
    number: int, schema: TableSchema, start: int, end: int, *, last: bool = False, **members: object
) -> SchemaVersion:
    """A version that was seen from one offset to another."""
    chosen = {
        "incarnation": 1,
        "status": "confirmed",
        "revisions": (Revision(0, schema, mark(start)),),
        "after": mark(start - 1) if start else None,
        "until": None if last else mark(end + 1),
        "unconfirmed": (),
        "candidates": (),
    } | members
    return SchemaVersion(
        number=number,
        id=fingerprint(schema),
        at=mark(start),
        records=end - start + 1,
        evidence=(Evidence("emitted", end - start + 1, mark(start), mark(end)),),
        **chosen,  # type: ignore[arg-type]
    )


def history(table: TableId = ORDERS, extra: Sequence[str] = ()) -> TableHistory:
    """Four versions of orders; `extra` are names of further columns of the last two."""
    first = TableSchema(
        (
            Column("id", Integer(32), nullable=False, source_type="int4", emitted_name="id", id=1),
            Column("sku", String(), nullable=False, source_type="text", emitted_name="sku", id=2),
            Column(
                "price", Decimal(10, 2), default="0.00", source_type="numeric", emitted_name="price", id=3
            ),
        ),
        key=("id",),
    )
    note = Column("note", String(200), comment="What the customer wrote", emitted_name="note", id=4)
    second = TableSchema((*first.columns, note), key=("id",))
    third = TableSchema((first.columns[0], Column("price", Decimal(14, 4), id=3), note), key=("id",))
    memo = Column("memo", String(), emitted_name="memo", id=5)
    more = tuple(
        Column(name, Timestamp(), emitted_name="x_" + name, id=9 + i) for i, name in enumerate(extra)
    )
    fourth = TableSchema((*third.columns[:2], memo, *more), key=("id",))
    commented = TableSchema(
        (*first.columns, Column("note", String(200), emitted_name="note", id=4)), key=("id",)
    )
    suspected = RenameCandidate("note", "memo", "possible", ("same place", "same kind of type"))
    return TableHistory(
        table=table,
        connector="postgresql",
        versions=(
            version(1, first, 0, 9),
            version(
                2,
                second,
                10,
                30,
                revisions=(Revision(0, commented, mark(10)), Revision(1, second, mark(20))),
            ),
            version(3, third, 31, 33),
            version(
                4,
                fourth,
                34,
                40,
                last=True,
                status="provisional",
                unconfirmed=("nullable:memo", "key"),
                candidates=(suspected,),
            ),
        ),
        aliases=(Alias("topic", "shop.public.orders", mark(0)),),
        disagreements=(
            Disagreement(
                "key", (3, 4), "Two readings of one moment tell different keys.", (mark(33), mark(34))
            ),
        ),
    )


def judged(table: TableId = ORDERS) -> tuple[JudgedFinding, ...]:
    """A finding of each gravity."""
    at = f"{table}@"
    dropped = Finding(
        "column-dropped",
        table,
        ("sku",),
        "STRING NOT NULL",
        "",
        "sku is gone; readers that name it stop working.",
        {"avro-forward": "break", "spark": "break", "sql": "break"},
        fixes=("Keep the column in the lake (the default) and tell its readers.",),
        old_ref=f"{at}2.1",
        new_ref=f"{at}3",
    )
    scaled = Finding(
        "decimal-scale-changed",
        table,
        ("price",),
        "DECIMAL(10,2)",
        "DECIMAL(14,4)",
        "price has four digits after the point instead of two.",
        {"avro-backward": "break", "avro-forward": "break", "delta": "danger", "iceberg": "break"},
        fixes=("Delta: type widening.", "Iceberg: a new column, or a rewrite."),
        evidence=("shop.public.orders[0]@31",),
        witness="12.50 is written as 04E2 and read as 0.1250",
        old_ref=f"{at}2.1",
        new_ref=f"{at}3",
    )
    suspected = Finding(
        "column-rename-suspected",
        table,
        ("memo",),
        "note",
        "memo",
        "note went and memo came: possible rename.",
        {"spark": "danger"},
        fixes=("Answer with schemaman decide.",),
        old_ref=f"{at}3",
        new_ref=f"{at}4",
    )
    return (
        JudgedFinding(dropped, "break"),
        JudgedFinding(scaled, "break"),
        JudgedFinding(suspected, "danger"),
    )


def plan(table: TableId = ORDERS) -> Plan:
    """A plan with two steps and a refusal."""
    schema = history(table).latest.schema
    nothing: dict[str, object] = {}
    return Plan(
        target="lake",
        format="iceberg",
        table="ice.raw.orders",
        source=MigrationSource(str(table), 4, fingerprint(schema), 0, schema),
        base_identity="6f5e",
        base_version="00003",
        base_schema=schema,
        wanted=schema,
        steps=(
            Step(
                "add-columns",
                "ALTER TABLE ice.raw.orders ADD COLUMNS (memo STRING)",
                "additive",
                "reversible",
                nothing,
                nothing,
            ),
            Step(
                "change-comment",
                "ALTER TABLE ice.raw.orders ALTER COLUMN memo COMMENT ''",
                "metadata",
                "reversible",
                nothing,
                nothing,
            ),
        ),
        refusals=(
            Refusal(
                "change-type price",
                "Iceberg cannot change the scale of a decimal.",
                "Add price_v2 and fill it from the events.",
            ),
        ),
        notes=("sku stays: dropped columns are kept by default.",),
    )


def orders_story(table: TableId = ORDERS, extra: Sequence[str] = ()) -> TableChapter:
    """Orders with findings at the step where they belong, and a plan."""
    return build_chapter(
        history(table, extra),
        lambda t: tuple(j for j in judged(table) if j.finding.new_ref == t.new_ref),
        (plan(table),),
    )
