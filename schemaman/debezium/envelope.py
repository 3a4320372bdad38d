"""A data event: the structure that its Connect schema gives the row, and the table it is of."""

from __future__ import annotations

from dataclasses import replace

from schemaman.decode.body import Body, Node
from schemaman.decode.key import keyed
from schemaman.decode.members import text
from schemaman.decode.origin import Origin, origin_of
from schemaman.errors import UnreadableInput
from schemaman.evidence import Observation, Run
from schemaman.languages.connect import columns_of, fields_of
from schemaman.schema import TableSchema


def observe(run: Run, stream: str, value: Body, key: Body | None) -> Observation:
    """What a run of data events says of its table: an image of the row, or that it was truncated.

    Columns carry the database's own names where the wire tells them, and their field names as
    `emitted_name`. Source: Debezium Envelope; `before` and `after` share one schema.

    Raises:
        UnreadableInput: the event has no schema, or is not of the known form.
    """
    origin = origin_of(value.payload)
    truncated = value.payload.get("op") == "t"
    row = None if truncated else _row(value)
    return Observation(
        table=origin.table_id(stream),
        witness="emitted",
        action="truncate" if truncated else "image",
        connector=origin.connector,
        connector_version=origin.version,
        first=run.first,
        last=run.last,
        count=run.count,
        snapshot=origin.snapshot,
        schema=None if row is None else _schema(row, key, origin),
        schema_name=None if row is None else text(row, "name"),
        interrupted=run.interrupted,
    )


def _row(value: Body) -> Node:
    """The node of the row's struct."""
    rows = {f["field"]: f for f in fields_of(value.schema or {}) if f["field"] in ("before", "after")}
    row = rows.get("after", rows.get("before"))
    if row is None or row.get("type") != "struct":
        raise UnreadableInput("the event has no row: neither `after` nor `before` is a struct")
    return row


def _schema(row: Node, key: Body | None, origin: Origin) -> TableSchema:
    columns = tuple(replace(c, name=origin.read_name(c.name)) for c in columns_of(row))
    return keyed(columns, key, origin.read_name, origin.server)
