"""Events whose schema does not tell the structure: documents, and rows in JSON without schemas."""

from __future__ import annotations

from schemaman.decode.body import Body, Node
from schemaman.decode.document import is_document_schema, row_of, shown_by_document, shown_by_row
from schemaman.decode.key import key_fields, keyed
from schemaman.decode.origin import Origin, origin_of
from schemaman.decode.source_schema import described
from schemaman.errors import UnreadableInput
from schemaman.evidence import MANY_SHAPES, Observation, Run, Seen
from schemaman.inference import DOCUMENTS, Shown, Sightings, row_columns
from schemaman.schema import TableSchema


def tells_no_structure(value: Body) -> bool:
    """Whether an event comes without a schema of its row."""
    return value.schema is None or is_document_schema(value.schema)


def observe_inferred(run: Run, stream: str, value: Body, key: Body | None) -> Observation:
    """What a run of such events says of its table: what was seen, and of rows the names of the columns.

    Raises:
        UnreadableInput: the event is not of the known form.
    """
    origin = origin_of(value.payload)
    truncated = value.payload.get("op") == "t"
    documents = origin.connector == DOCUMENTS
    if value.schema is not None and not documents:
        raise UnreadableInput("the event has no row: neither `after` nor `before` is a struct")
    row = None if documents or truncated else row_of(value.payload)
    seen = run.seen or seen_of(run, _shown(value.payload, row))
    counts = documents or row is not None
    if run.shape == MANY_SHAPES:
        row = None
    return Observation(
        table=origin.table_id(stream),
        witness="inferred",
        action="truncate" if truncated else "image",
        connector=origin.connector,
        connector_version=origin.version,
        first=run.first,
        last=run.last,
        count=run.count,
        snapshot=origin.snapshot,
        schema=None if row is None else described(row_schema(row, seen, key, origin), value.payload),
        interrupted=run.interrupted,
        seen=seen if counts else None,
    )


def row_schema(row: Node, seen: Seen, key: Body | None, origin: Origin) -> TableSchema:
    """The names of a row in their order, with the JSON types that were seen; the key is the record's."""
    columns = row_columns(tuple(row), seen, key_fields(key), origin.read_name)
    return keyed(columns, key, origin.read_name, origin.server)


def seen_of(run: Run, shown: frozenset[Shown]) -> Seen:
    """What the first record of a run shows, where nobody has counted."""
    sightings = Sightings()
    sightings.see(shown, run.first)
    return sightings.seen()


def _shown(payload: dict[str, object], row: dict[str, object] | None) -> frozenset[Shown]:
    try:
        return shown_by_document(payload) if row is None else shown_by_row(row)
    except ValueError as fault:
        raise UnreadableInput(str(fault)) from None
