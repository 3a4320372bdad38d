"""Recordings without schemas of their rows, from end to end, against what was really written."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.connector import CONNECTORS
from schemaman.debezium.decode import decode
from schemaman.debezium.flattened_fields import is_document, read_additions
from schemaman.debezium.inference import ELEMENT, merge_inferred_fields
from schemaman.debezium.observation import InferredFields, Observation
from schemaman.debezium.records import Coordinates, Record
from schemaman.history.fold.fold import fold
from schemaman.history.fold.inferred_schema import resolve_paths
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.ingest.chunks import build_reading
from schemaman.ingest.scan import merge, scan
from schemaman.migration.plan import Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.source import migration_source
from schemaman.model.column_list import format_columns
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import Unknown
from tests.support import chain
from tests.support.checkout import CAPTURES
from tests.support.recordings import recorded, registry
from tests.truth.recording import facts
from tests.truth.truth import read_truth

WHOLE = ("2.5.4-update-full", "2.5.4-pre-image", "2.5.4-pre-image-plain", "1.9.8-update-full")
"""Runs whose updates bring the whole document."""
PARTIAL = ("1.4.2-oplog", "2.5.4-change-streams-avro")
"""Runs whose updates bring what was set alone."""
MONGO = tuple(f"mongodb/inventory-{name}" for name in (*WHOLE, *PARTIAL))
Shown = dict[tuple[str, tuple[str, ...], str], int]


def observed(run: str, first: int = 0, last: int | None = None) -> list[Observation]:
    schemas = registry(run)
    runs = scan(recorded(run)[first:last], build_reading(schemas))
    told = [outcome for one in runs for outcome in decode(one, "main", schemas)]
    assert [o for o in told if not isinstance(o, Observation) and not hasattr(o, "kind")] == []
    return [o for o in told if isinstance(o, Observation)]


def histories(observations: list[Observation]) -> dict[TableId, TableHistory]:
    tables = {o.table for o in observations}
    found = {t: fold(observations, t, CONNECTORS.get) for t in tables}
    return {table: history for table, history in found.items() if history is not None}


def counted(observations: list[Observation], table: str) -> InferredFields:
    return merge_inferred_fields(
        o.inferred for o in observations if o.inferred is not None and o.table.table == table
    )


def written(run: str) -> Shown:
    """Each path and kind with the number of documents that showed it, as they were written."""
    found: Shown = {}
    for line in gzip.decompress((CAPTURES / run / "truth.jsonl.gz").read_bytes()).splitlines():
        told = json.loads(line)
        if told["record"] == "path":
            path = tuple(ELEMENT if step == "[]" else step for step in told["path"])
            found[told["collection"], path, told["type"]] = told["documents"]
    return found


def shown(run: str) -> Shown:
    """The same as it was read."""
    observations = observed(run)
    found: Shown = {}
    for table in {o.table.table for o in observations}:
        for tally in resolve_paths(counted(observations, table).counts):
            # the description of an update does not tell how wide a small number is
            kind = "int" if tally.kind == "integer" else tally.kind
            place = (table.replace("order-items_2", "order-items 2"), tally.path, kind)
            found[place] = found.get(place, 0) + tally.documents
    return found


LOOKED_UP_LATER = {
    # a document that was gone when its update was looked up shows what was set alone
    ("_id", "int"): -1, ("first_name", "string"): -1,
    # two updates in a burst both show the document as it was after the second one
    ("v", "string"): 1, ("w", "bool"): 1,
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_what_was_seen_is_what_was_written(name):
    run = f"mongodb/inventory-{name}"
    found, truth = shown(run), written(run)
    assert found.keys() == truth.keys()
    differing = {(p[0], k): found[c, p, k] - n for (c, p, k), n in truth.items() if found[c, p, k] != n}
    assert differing == LOOKED_UP_LATER


@pytest.mark.case(58)
@pytest.mark.parametrize("name", PARTIAL)
def test_updates_that_bring_a_part_show_every_path_and_no_other(name):
    run = f"mongodb/inventory-{name}"
    found, truth = shown(run), written(run)
    assert found.keys() == truth.keys()
    assert all(found[place] <= truth[place] for place in truth)


@pytest.mark.parametrize("run", MONGO)
def test_each_collection_has_a_history_and_every_record_counts(run):
    found = chain.histories(run)
    assert {h.table.table for h in found} == {
        "customers", "feed", "keys", "odd", "order-items 2", "products"
    }  # fmt: skip
    assert {h.table.parts[:2] for h in found} == {("fulfillment", "inventory")}
    documents = sum(1 for r in recorded(run) if r.value is not None)
    assert sum(v.records for h in found for v in h.versions) == documents
    assert {v.status for h in found for v in h.versions} == {"inferred"}
    assert {v.schema.key for h in found for v in h.versions} == {("_id",)}


@pytest.mark.parametrize("run", MONGO)
def test_two_shapes_in_turn_are_one_structure_and_an_outlier_is_none(run):
    feed = chain.history(run, "inventory.feed")
    assert len(feed.versions) <= 2
    columns = {c.name: c for c in feed.latest.schema.columns}
    assert columns.keys() == {"_id", "kind", "x", "y", "amount", "items"}
    assert format_columns(replace(feed.latest.schema, columns=(replace(columns["x"], id=None),), key=())) == (
        "x INT EMITTED 'x'"
    )
    (rare,) = feed.disagreements
    assert rare.message == "seen in too few documents to be published: x as string in 1 of 40"


@pytest.mark.case(61)
@pytest.mark.parametrize("run", MONGO)
def test_keys_of_many_kinds_are_a_union(run):
    keys = chain.history(run, "inventory.keys").latest.schema
    assert format_columns(keys).startswith(
        "_id UNION<BIGINT, BINARY, DOUBLE, STRING, STRUCT<hi: STRING, nums: ARRAY<DOUBLE>>, "
        "TIMESTAMP(3), UNKNOWN('bson:objectId')> NOT NULL"
    )


def test_modes_of_capture_and_converters_tell_the_same_structures():
    """Another envelope, serialisation or release is not another structure."""
    told = {
        run: {h.table.table: h.latest.schema.names for h in chain.histories(f"mongodb/inventory-{run}")}
        for run in (*WHOLE, *PARTIAL)
    }
    assert all(tables == told[WHOLE[0]] for tables in told.values())


@pytest.mark.case(59)
def test_an_upgrade_from_oplog_to_change_streams_makes_no_version():
    """Envelope and places change; the documents go on."""
    old, new = observed("mongodb/inventory-1.4.2-oplog"), observed("mongodb/inventory-2.5.4-update-full")
    later = [
        replace(o, first=later_by(o.first), last=later_by(o.last), inferred=seen_later(o.inferred))
        for o in new
    ]
    before, after = histories(old), histories([*old, *later])
    for table, history in before.items():
        assert after[table].versions[0].schema.names == history.versions[0].schema.names
        assert {c.name for v in after[table].versions for c in v.schema.columns} <= {
            *history.latest.schema.names, "v", "w", "phone", "title", "price", "made", "parts",
            "i", "l", "d", "dec", "b", "s", "oid", "dt", "ts", "bin", "re", "arr", "obj", "nan", "inf",
        }  # fmt: skip
        assert len(after[table].versions) <= 3


@pytest.mark.case(58, 59)
def test_a_patch_and_the_description_of_an_update_show_the_same_fields():
    """Between two releases the same update is told in other members; neither is a change of the documents."""
    written = as_printed(op="c", after='{"_id": 1004, "given": "Ann", "age": 7}')
    fields = [f'{{"age": {age}, "city": "Bern"}}' for age in range(40)]
    old = [as_printed(op="u", patch=f'{{"$set": {f}}}', filter='{"_id": 1004}') for f in fields]
    new = [as_printed(op="u", updateDescription={"removedFields": None, "updatedFields": f}) for f in fields]
    for updates in (old, new, old[:20] + new[20:]):
        history = folded([replace(r, offset=at) for at, r in enumerate([written, *updates])])
        assert [c.name for c in history.latest.schema.columns] == ["_id", "age", "given", "city"]
        assert (len(history.versions), history.latest.records) == (1, 41)


def test_a_topic_that_was_copied_shows_no_further_documents():
    """Rows of a snapshot have no position: their bytes tell that they come again."""
    rows = [
        as_printed(op="r", after=json.dumps({"_id": n, **({"x": 1} if n == 3 else {})})) for n in range(9)
    ]
    again = [replace(r, offset=at) for at, r in enumerate([*rows, *rows, *rows])]
    for records in (again, [*again[:9], *(replace(r, topic="copy") for r in again)]):
        history = folded(records)
        assert history.latest.schema.names == ("_id",)
        assert [d.message.rpartition(" of ")[0] for d in history.disagreements] == [
            "seen in too few documents to be published: x as int in 1"
        ]


DAY = 86_400_000


def later_by(mark: Coordinates) -> Coordinates:
    return replace(
        mark,
        offset=mark.offset + 1000,
        ts_ms=mark.ts_ms and mark.ts_ms + DAY,
        read_ms=(mark.read_ms or 0) + DAY,
    )


def seen_later(seen: InferredFields | None) -> InferredFields | None:
    if seen is None:
        return None
    tallies = [
        replace(t, early=tuple(map(later_by, t.early)), last=later_by(t.last), hashes=()) for t in seen.counts
    ]
    return replace(seen, counts=tuple(tallies))


@given(
    st.sampled_from([*MONGO, "postgres/shop-modes"]),
    st.lists(st.integers(0, 90), max_size=4),
    st.randoms(use_true_random=False),
)
def test_neither_cuts_nor_order_nor_repetition_change_the_history(run, cuts, random):
    bounds = [0, *sorted(cuts), 10**6]
    pieces = [o for a, b in pairwise(bounds) for o in observed(run, a, b)]
    pieces += random.sample(pieces, len(pieces) // 3)
    random.shuffle(pieces)
    assert histories(pieces) == histories(observed(run))


# Rows in JSON without schemas


def columns_over_time(history: TableHistory) -> Iterator[tuple[str, ...]]:
    for version in history.versions:
        yield version.schema.names


def test_rows_without_schemas_tell_the_names_that_rows_with_schemas_tell():
    plain = {h.table.table: h for h in chain.histories("postgres/shop-modes")}
    schemas = {h.table.table: h for h in chain.histories("postgres/shop-json")}
    same = [t for t in plain if t in schemas and t not in ("suppliers",)]
    assert len(same) > 8
    for table in same:
        known = {frozenset(names) for names in columns_over_time(schemas[table])}
        assert {frozenset(names) for names in columns_over_time(plain[table])} <= known, table


def test_types_are_those_of_json_and_keys_those_of_the_record():
    lines = chain.history("postgres/shop-modes", "shop.order_lines").versions[0].schema
    assert {c.name: format_columns(replace(lines, columns=(c,), key=())) for c in lines.columns}["sku"] == (
        "sku UNKNOWN('json:string') EMITTED 'sku' ID 3"
    )
    assert lines.key == ("order_id", "line_no")


def test_a_member_that_stands_elsewhere_and_is_only_null_is_the_same_column():
    orders = chain.history("postgres/shop-modes", "shop.orders")
    remarks = [c for v in orders.versions for c in v.schema.columns if c.name == "remark"]
    assert len(remarks) == 5
    assert {(c.id, c.type) for c in remarks} == {(remarks[0].id, Unknown("json:string"))}


def test_a_better_witness_supersedes_what_is_inferred():
    """The same table as rows with schemas and without: the schemas make the versions, the others count."""
    emitted = observed("postgres/shop-json")
    inferred = [o for o in observed("postgres/shop-modes") if o.table.table == "orders"]
    (orders,) = {o.table for o in inferred}
    known = histories(emitted)[orders]
    told = histories([*emitted, *inferred])[orders]
    assert [(v.id, v.status) for v in told.versions] == [(v.id, v.status) for v in known.versions]
    extra = sum(o.count for o in inferred if o.action == "image")
    assert sum(v.records for v in told.versions) == sum(v.records for v in known.versions) + extra
    witnesses = {e.kind for v in told.versions for e in v.evidence}
    assert witnesses == {"emitted", "inferred"}


@pytest.mark.parametrize("run", ["mongodb/inventory-2.5.4-update-full", "postgres/shop-modes"])
def test_no_table_follows_what_is_inferred(run):
    for history in chain.histories(run):
        plan = make_plan(migration_source(history), None, chain.TARGETS["delta"], "lake.t", Policy())
        assert plan.steps == ()
        assert "inferred from values" in plan.refusals[0].reason


def test_a_document_that_cannot_be_read_is_set_aside_alone():
    run = "mongodb/inventory-2.5.4-update-full"
    records = list(recorded(run))
    damaged = [i for i, r in enumerate(records) if r.value and b'\\"kind\\": \\"click\\"' in r.value][3]
    value = (records[damaged].value or b"").replace(b'\\"kind\\": ', b'\\"kind\\" ')
    records[damaged] = replace(records[damaged], value=value)
    runs = scan(records, build_reading(registry(run)))
    (bad,) = [r for r in runs if r.fault]
    assert (bad.count, bad.first.offset) == (1, records[damaged].offset)
    assert "after: not JSON" in (bad.fault or "")
    assert sum(r.count for r in runs) == len(records)


def test_the_table_of_a_collection_has_no_schema():
    (table,) = {o.table for o in observed(MONGO[0]) if o.table.table == "feed"}
    assert table == TableId("fulfillment", "inventory", "", "feed", "main")


# Documents that were flattened


def flattened(
    documents: list[dict[str, Any]], *, schemas: bool, added: dict[str, Any] | None = None
) -> list[Record]:
    """Records as ExtractNewDocumentState makes them: a schema for each document, the key after its value."""
    made = []
    for offset, document in enumerate(documents):
        id, row = document["_id"], {**document, **(added or {})}
        if schemas:
            value: Any = {"schema": connect("fulfillment.inventory.c", row), "payload": row}
            key: Any = {"schema": connect("fulfillment.inventory.c.Key", {"id": id}), "payload": {"id": id}}
        else:
            value, key = row, {"id": id}
        texts = json.dumps(key).encode(), json.dumps(value).encode()
        made.append(Record("fulfillment.inventory.c", 0, offset, 1_700_000_000_000 + offset, *texts))
    return made


def connect(name: str, row: dict[str, Any]) -> dict[str, Any]:
    """The Connect schema that is made for one document; a null becomes a text."""

    def node(value: Any, path: str) -> dict[str, Any]:
        match value:
            case dict():
                fields = [{**node(v, f"{path}.{n}"), "field": n} for n, v in value.items()]
                return {"type": "struct", "fields": fields, "optional": True, "name": path}
            case list():
                items = node(value[0], path) if value else {"type": "string", "optional": True}
                return {"type": "array", "items": items, "optional": True}
            case bool():
                return {"type": "boolean", "optional": True}
            case int():
                return {"type": "int32" if value < 2**31 else "int64", "optional": True}
            case float():
                return {"type": "double", "optional": True}
            case _:
                return {"type": "string", "optional": True}

    return {**node(row, name), "optional": False}


def folded(records: list[Record]) -> TableHistory:
    reading = build_reading(lambda id: None)
    runs = scan(records, reading)
    assert runs == scan(records, reading, quick=False)
    told = [outcome for run in runs for outcome in decode(run, "main", lambda id: None)]
    assert all(isinstance(o, Observation) for o in told), told
    (history,) = histories([o for o in told if isinstance(o, Observation)]).values()
    return history


MIXED = [
    {"_id": n, "n": None if n % 3 else n, "o": {"k": "x"}, "l": [1]} if n % 2 else {"_id": n, "s": "t"}
    for n in range(60)
]


@pytest.mark.case(60)
def test_flattened_documents_with_a_schema_each_are_few_versions():
    history = folded(flattened(MIXED, schemas=True))
    assert str(history.table) == "fulfillment.inventory.c"
    assert (history.table.database, history.table.schema) == ("inventory", "")
    assert len(history.versions) <= 2
    assert [format_column(c) for c in history.latest.schema.columns] == [
        "_id INT NOT NULL", "s STRING", "l ARRAY<INT>", "o STRUCT<k: STRING>",
        "n INT",
    ]  # fmt: skip
    assert sum(v.records for v in history.versions) == 60


def test_flattened_documents_without_schemas_tell_kinds_of_json():
    history = folded(flattened(MIXED, schemas=False, added={"__op": "c", "__collection": "c"}))
    version = history.latest
    assert version.number <= 2
    assert [format_column(c) for c in version.schema.columns] == [
        "_id UNKNOWN('json:number') NOT NULL", "s UNKNOWN('json:string')",
        "l ARRAY<UNKNOWN('json:number')>", "o STRUCT<k: UNKNOWN('json:string')>",
        "n UNKNOWN('json:number')",
    ]  # fmt: skip
    assert version.schema.key == ("_id",)


@pytest.mark.parametrize("own", [700, 1, "x"])
def test_a_flattened_document_may_have_an_id_of_its_own(own):
    """Its key is called `id`, too: it is no table's for that, and what it lacks has not been dropped."""
    document = {"_id": 1, "id": own, "name": "ann"}
    (made,) = flattened([document], schemas=True)
    assert folded([made]).latest.schema.key == ("_id",)
    assert is_document(document, {"id": 1}, read_additions(document))
    row = {**document, "id": 1, "__connector": "mysql"}
    assert not is_document(row, {"id": 1}, read_additions(row))
    assert not is_document({**document, "_id": 7}, {"id": own}, read_additions(document))


@pytest.mark.case(61)
@pytest.mark.parametrize("schemas", [True, False])
def test_keys_of_flattened_documents_may_be_of_many_kinds(schemas):
    documents: list[dict[str, Any]] = [
        {"_id": 1, "a": True},
        {"_id": "x", "a": True},
        {"_id": 2.5, "a": None},
    ] * 5
    latest = folded(flattened(documents, schemas=schemas)).latest.schema
    told = "UNION<DOUBLE, STRING>" if schemas else "UNION<UNKNOWN('json:number'), UNKNOWN('json:string')>"
    assert format_column(latest.columns[0]) == f"_id {told} NOT NULL"


def test_a_row_with_a_key_of_its_own_is_no_document():
    """A table may have a column `_id`; its key is then called so, or has another value."""
    for key in ({"_id": 1}, {"id": 2}, {"id": 1, "x": 1}):
        record = Record("srv.public.t", 0, 0, 1, json.dumps(key).encode(), b'{"_id": 1, "__op": "c"}')
        (run,) = scan([record], build_reading(lambda id: None))
        (told,) = decode(run, "main", lambda id: None)
        assert isinstance(told, Observation)
        assert told.schema is not None
        assert (told.table.schema, told.connector) == ("public", "unknown")


def format_column(column: Column) -> str:
    return format_columns(TableSchema((replace(column, id=None, emitted_name=None),)))


def test_rows_of_too_many_shapes_are_documents_however_they_were_cut():
    """Names that are data would be a version each, for ever: then only what many rows have is a column."""
    records = [
        Record("srv.public.t", 0, n, 1_700_000_000_000 + n, b'{"id": 1}',
               json.dumps({"id": n, f"d{n % 90}": 1, "__op": "c"}).encode())
        for n in range(400)
    ]  # fmt: skip
    reading = build_reading(lambda id: None)
    whole = scan(records, reading)
    assert whole == scan(records, reading, quick=False)
    assert len(whole) == 1
    history = folded(records)
    assert len(history.versions) <= 12
    assert len(history.latest.schema.columns) == 91
    assert sum(v.records for v in history.versions) == 400
    for cut in (10, 64, 65, 66, 200):
        parts = scan(records[:cut], reading), scan(records[cut:], reading)
        assert merge((*parts[1], *parts[0]), reading) == whole
        pieces = [o for part in parts for run in part for o in decode(run, "main", lambda id: None)]
        (cut_history,) = histories([o for o in pieces if isinstance(o, Observation)]).values()
        assert [(v.schema, v.at) for v in cut_history.versions] == [
            (v.schema, v.at) for v in history.versions
        ]


def test_rows_of_a_shape_each_are_collapsed_many_at_a_time(monkeypatch):
    """To collapse costs all that was seen of the table, so it must not be done for each record."""
    records = [
        Record("srv.public.t", 0, n, n, b'{"id": 1}', json.dumps({"id": n, f"d{n}": 1, "__op": "c"}).encode())
        for n in range(1_000)
    ]
    collapsed: list[int] = []

    def counted(parts: Iterable[InferredFields]) -> InferredFields:
        collapsed.append(1)
        return merge_inferred_fields(parts)

    monkeypatch.setattr("schemaman.ingest.scan.merge_inferred_fields", counted)
    (run,) = scan(records, build_reading(lambda id: None))
    assert (run.count, run.first.offset, run.last.offset) == (1_000, 0, 999)
    assert len(collapsed) <= 20


def as_printed(**payload: Any) -> Record:
    """An event in the spelling of the manual: strict Extended JSON, spaces, a Boolean for the snapshot."""
    source = {
        "version": "2.5.4.Final", "connector": "mongodb", "name": "srv", "ts_ms": 1700000000000,
        "snapshot": False, "db": "shop", "rs": "rs0", "collection": "people", "ord": 31, "h": 15465474251,
    }  # fmt: skip
    json_text = {"type": "string", "optional": True, "name": "io.debezium.data.Json", "version": 1}
    block = {"type": "struct", "optional": False, "name": "io.debezium.connector.mongo.Source", "fields": []}
    op = {"type": "string", "optional": True}
    fields = {"after": json_text, "patch": json_text, "source": block, "op": op}
    schema = {"type": "struct", "fields": [{"field": name, **node} for name, node in fields.items()]}
    value = {"schema": schema, "payload": {"source": source, "ts_ms": 1700000000999, **payload}}
    return Record("srv.shop.people", 0, 0, 1, b'{"id": "1004"}', json.dumps(value).encode())


@pytest.mark.parametrize(("payload", "kinds"), [
    ({"op": "c", "after": '{"_id" : {"$numberLong" : "1004"},"given" : "Ann"}'},
     {"_id": "long", "given": "string"}),
    ({"op": "u", "before": '{"_id": {"$numberLong": "1004"},"old": 1}',
      "after": '{"_id": {"$numberLong": "1004"},"given": "Ann"}',
      "updateDescription": {"removedFields": None, "updatedFields": '{"given": "Ann"}'}},
     {"_id": "long", "given": "string"}),
    ({"op": "u", "patch": '{"$set":{"given":"Ann"}}', "filter": '{"_id" : {"$numberLong" : "1004"}}'},
     {"_id": "long", "given": "string"}),
    ({"op": "d", "filter": '{"_id" : {"$numberLong" : "1004"}}'}, {}),
])  # fmt: skip
def test_events_as_the_manual_prints_them(payload, kinds):
    (run,) = scan([as_printed(**payload)], build_reading(lambda id: None))
    (told,) = decode(run, "main", lambda id: None)
    assert isinstance(told, Observation)
    assert str(told.table) == "srv.shop.people"
    assert not told.snapshot
    assert told.first.position.value == "1700000000000:31"
    assert told.inferred is not None
    assert {t.path[0]: t.kind for t in told.inferred.counts} == kinds


@pytest.mark.parametrize("run", ["postgres/shop-modes", "postgres/shop-flat-plain"])
def test_names_of_rows_without_schemas_are_those_of_the_database(run):
    """Each row that was streamed has the columns of its own place in the log; so has each version."""
    folder = CAPTURES / run
    truth, told = read_truth(folder), set()
    for fact in facts(folder).values():
        name = (str(fact.source.get("schema")), fact.source["table"])
        step = None if fact.snapshot else truth.at(fact)
        if step is not None and name in step.tables:
            told.add((*name, frozenset(c.name for c in step.tables[name].columns if not c.generated)))
    versions = [(h, v) for h in chain.histories(run) for v in h.versions]
    known = {(h.table.schema, h.table.table, frozenset(v.schema.names)) for h, v in versions}
    assert told <= known
    only_read = {(h.table.table, v.number) for h, v in versions if _names(h, v) not in told}
    # a snapshot shows what was never streamed in that form: before the first change, and generated columns
    assert only_read == ({("orders", 1), ("order_lines", 1)} if run.endswith("modes") else set())


def _names(history: TableHistory, version: SchemaVersion) -> tuple[str, str, frozenset[str]]:
    return (history.table.schema, history.table.table, frozenset(version.schema.names))
