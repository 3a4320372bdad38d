"""What records without schemas show, and what of it is published: laws, and examples of every kind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium import inference
from schemaman.debezium.document import collect_document_kinds, collect_row_kinds
from schemaman.debezium.inference import DEPTH, DOTTED, ELEMENT, FieldCounter, merge_inferred_fields
from schemaman.debezium.observation import InferredFields
from schemaman.debezium.records import Coordinates
from schemaman.history.fold.inferred_schema import (
    DORMANT_RECORDS,
    MAX_OBJECT_FIELDS,
    MAX_VERSIONS,
    MIN_DOCUMENTS,
    SETTLING_RECORDS,
    list_remarks,
    publish_schemas,
)
from schemaman.model.column_list import format_columns
from schemaman.model.schema import TableSchema

NAMES = st.sampled_from(["_id", "a", "b", "c", "größe", "x.y", "", "$v"])
LEAVES = st.sampled_from(
    [
        None,
        True,
        1,
        2**40,
        1.5,
        "t",
        {"$oid": "5"},
        {"$numberLong": "1"},
        {"$date": 5},
        {"$binary": "", "$type": "4"},
    ]
)
VALUES = st.recursive(
    LEAVES, lambda v: st.one_of(st.lists(v, max_size=3), st.dictionaries(NAMES, v, max_size=3)), max_leaves=6
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=4)


def mark(offset: int, partition: int = 0) -> Coordinates:
    return Coordinates("t", partition, offset, ts_ms=1000 + offset)


def shown(document: object) -> frozenset[inference.FieldKind]:
    return collect_document_kinds({"op": "c", "after": json.dumps(document)})


def seen(documents: Iterable[object], first: int = 0) -> InferredFields:
    sightings = FieldCounter()
    for offset, document in enumerate(documents, first):
        sightings.count_record(shown(document), mark(offset))
    return sightings.get_fields()


def kinds(document: object) -> dict[str, str]:
    return {".".join(inference.name_elements(path)): kind for path, kind in sorted(shown(document))}


def words(schema: TableSchema) -> str:
    """The columns as people write them, without ids and wire names."""
    return ", ".join(
        word.split(" EMITTED")[0]
        for word in format_columns(schema).split("', ")
        if not word.startswith("PRIMARY")
    )


def versions(documents: Sequence[object]) -> list[str]:
    return [words(v.schema) for v in publish_schemas(seen(documents))]


# What is seen


@given(st.lists(DOCUMENTS, max_size=12), st.lists(st.integers(0, 12), max_size=3), st.randoms())
def test_what_was_seen_depends_neither_on_order_nor_on_cuts(documents, cuts, random):
    bounds = [0, *sorted(min(c, len(documents)) for c in cuts), len(documents)]
    parts = [seen(documents[a:b], a) for a, b in pairwise(bounds)]
    random.shuffle(parts)
    half = len(parts) // 2
    whole = seen(documents)
    assert merge_inferred_fields(parts) == whole
    assert (
        merge_inferred_fields([merge_inferred_fields(parts[:half]), merge_inferred_fields(parts[half:])])
        == whole
    )
    backwards = FieldCounter()
    for offset in reversed(range(len(documents))):
        backwards.count_record(shown(documents[offset]), mark(offset))
    assert backwards.get_fields() == whole
    assert publish_schemas(merge_inferred_fields(parts)) == publish_schemas(whole)


@given(
    st.lists(st.dictionaries(st.integers(0, 40).map(str), VALUES, max_size=6), max_size=14),
    st.lists(st.integers(0, 14), max_size=3),
    st.randoms(),
)
def test_bounds_keep_the_law_and_exact_counts(documents, cuts, random):
    """Whatever is kept of the whole was kept of each part, so that its counts are exact."""
    with pytest.MonkeyPatch.context() as patch:
        free = {(t.path, t.kind): t for t in seen(documents).counts}
        patch.setattr(inference, "COLUMNS", 5)
        patch.setattr(inference, "PATHS", 4)
        bounds = [0, *sorted(min(c, len(documents)) for c in cuts), len(documents)]
        parts = [seen(documents[a:b], a) for a, b in pairwise(bounds)]
        random.shuffle(parts)
        whole = seen(documents)
        assert merge_inferred_fields(parts) == whole
    assert {(t.path, t.kind): t for t in whole.counts}.items() <= free.items()
    columns = {t.path[0] for t in whole.counts}
    assert len(columns) <= 5
    assert (() in whole.truncated_paths) == (len({path[0] for path, _ in free}) > 5)
    lost = {path[0] for path, kind in free.keys() - {(t.path, t.kind) for t in whole.counts}} & columns
    assert {path[0] for path in whole.truncated_paths if path} == lost


def test_nothing_seen_adds_nothing():
    some = seen([{"a": 1}, {"a": None}])
    assert merge_inferred_fields([some, InferredFields()]) == some
    assert merge_inferred_fields([]) == InferredFields()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("null", "null"), ("true", "bool"), ("1", "int"), ("-2147483648", "int"), ("2147483648", "long"),
        ("1.0", "double"), ("1e3", "double"), ("NaN", "double"), ("-Infinity", "double"), ('""', "string"),
        ('{"$oid": "5"}', "objectId"), ('{"$numberInt": "1"}', "int"), ('{"$numberLong": "1"}', "long"),
        ('{"$numberDouble": "1"}', "double"), ('{"$numberDecimal": "1"}', "decimal"),
        ('{"$date": 5}', "date"), ('{"$date": "2026-01-01T00:00:00Z"}', "date"),
        ('{"$date": {"$numberLong": "5"}}', "date"), ('{"$binary": "", "$type": "00"}', "binData"),
        ('{"$binary": {"base64": "", "subType": "00"}}', "binData"),
        ('{"$binary": {"base64": "", "subType": "04"}}', "uuid"), ('{"$binary": "", "$type": "03"}', "uuid"),
        ('{"$uuid": "73ff"}', "uuid"), ('{"$timestamp": {"t": 1, "i": 2}}', "timestamp"),
        ('{"$regex": "a", "$options": ""}', "regex"),
        ('{"$regularExpression": {"pattern": "a", "options": ""}}', "regex"), ('{"$minKey": 1}', "minKey"),
        ('{"$maxKey": 1}', "maxKey"), ('{"$undefined": true}', "undefined"), ('{"$symbol": "s"}', "symbol"),
        ('{"$code": "f"}', "javascript"), ('{"$code": "f", "$scope": {}}', "javascriptWithScope"),
        ('{"$dbPointer": {"$ref": "c", "$id": 1}}', "dbPointer"), ('{"$ref": "c", "$id": 1}', "object"),
        ('{"$price": 5}', "object"), ('{"$oid": "5", "x": 1}', "object"), ("{}", "object"), ("[]", "array"),
    ],
)  # fmt: skip
def test_every_kind_of_extended_json_in_every_dialect(text, kind):
    found = collect_document_kinds({"op": "c", "after": f'{{"v": {text}}}'})
    assert {k for path, k in found if path == ("v",)} == {kind}
    if kind not in ("object", "array"):
        assert len(found) == 1


def test_paths_lead_into_objects_and_arrays():
    document = {"a": {"b": [1, "x", [2.5], {"c": None}]}, "a.b": 1}
    assert shown(document) == {
        (("a",), "object"), (("a", "b"), "array"), (("a", "b", ELEMENT), "int"),
        (("a", "b", ELEMENT), "string"), (("a", "b", ELEMENT), "array"), (("a", "b", ELEMENT), "object"),
        (("a", "b", ELEMENT, ELEMENT), "double"), (("a", "b", ELEMENT, "c"), "null"), (("a.b",), "int"),
    }  # fmt: skip


def test_what_lies_too_deep_is_not_looked_at():
    deep: Any = 1
    for _ in range(200):
        deep = {"d": deep}
    assert max(len(path) for path, _ in shown(deep)) == DEPTH


# What events of documents are evidence of


def test_an_update_shows_what_it_set_and_the_document_tells_it_better():
    event = {
        "op": "u",
        "after": '{"_id": 1, "n": {"$numberLong": "5"}, "v": "two"}',
        "updateDescription": {"updatedFields": '{"n": 5, "v": 1, "x.y": 2}', "removedFields": ["z"]},
    }
    assert collect_document_kinds(event) == {
        (("_id",), "int"), (("n",), "long"), (("v",), "string"), (("v",), "integer"),
    }  # fmt: skip


def test_a_partial_update_is_evidence_of_the_paths_that_it_sets():
    event = {
        "op": "u",
        "after": None,
        "updateDescription": {
            "updatedFields": '{"a": 5, "b.c": "x", "t.12": {"k": true}}',
            "truncatedArrays": [{"field": "tags", "size": 2}],
        },
    }
    assert collect_document_kinds(event) == {
        (("a",), "integer"), (("b", DOTTED, "c"), "string"), (("t", DOTTED, "0"), "object"),
        (("t", DOTTED, "0", "k"), "bool"), (("tags",), "array"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("patch", "found"),
    [
        ('{"$v": 1, "$set": {"a": {"$numberLong": "1"}}, "$unset": {"b": true}}', {(("a",), "long")}),
        ('{"title": "x"}', {(("title",), "string")}),
        ('{"$v": 2, "diff": {"u": {"a": 1}, "i": {"b.c": 2}, "d": {"z": false}}}',
         {(("a",), "int"), (("b.c",), "int")}),
        ('{"$v": 2, "diff": {"so": {"u": {"p": 1}},'
         ' "sl": {"a": true, "u0": "x", "s1": {"i": {"q": 1}}, "l": 2}}}',
         {(("o",), "object"), (("o", "p"), "int"), (("l",), "array"), (("l", ELEMENT), "string"),
          (("l", ELEMENT), "object"), (("l", ELEMENT, "q"), "int")}),
    ],
)  # fmt: skip
def test_patches_of_the_oplog(patch, found):
    event = {"op": "u", "after": None, "patch": patch, "filter": '{"_id": "k"}'}
    assert collect_document_kinds(event) == found | {(("_id",), "string")}


def test_a_delete_writes_nothing():
    assert collect_document_kinds({"op": "d", "after": None, "before": '{"_id": 1, "a": 2}'}) == frozenset()
    assert collect_document_kinds({"op": "d", "filter": '{"_id": 1}'}) == frozenset()


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"after": "{"}, "after: not JSON"),
        ({"after": "[1]"}, "after: no document but \\[1\\]"),
        ({"patch": 7}, "patch: no document but 7"),
        ({"updateDescription": {"updatedFields": "x"}}, "updatedFields: not JSON"),
        ({"after": '{"\\ud800": 1}'}, "half a surrogate pair"),
        ({"after": "[" * 100_000}, "after: not JSON: nested too deeply"),
    ],
)
def test_documents_that_cannot_be_read(event, reason):
    with pytest.raises(ValueError, match=reason):
        collect_document_kinds({"op": "u", **event})


def test_rows_show_names_and_types_of_json():
    row = {"n": 1.5, "s": "x", "b": False, "z": None, "a": [1], "o": {"k": 1}}
    assert {path[0]: kind for path, kind in collect_row_kinds(row)} == {
        "n": "json:number", "s": "json:string", "b": "json:boolean", "z": "json:null",
        "a": "json:array", "o": "json:object",
    }  # fmt: skip


# What is published


def clicks(count: int, first: int = 0) -> list[Any]:
    return [{"_id": n, "kind": "click", "x": n} for n in range(first, first + count)]


def purchases(count: int, first: int = 0) -> list[Any]:
    return [{"_id": n, "kind": "buy", "items": [{"sku": "s"}]} for n in range(first, first + count)]


BOTH = "_id INT NOT NULL, kind STRING, x INT, items ARRAY<STRUCT<sku: STRING>>"


@pytest.mark.parametrize("apart", [1, 2, 7, SETTLING_RECORDS, 3 * SETTLING_RECORDS])
@pytest.mark.parametrize("length", [10, 1000])
def test_two_shapes_that_alternate_for_ever_are_two_versions_at_most(apart, length):
    documents: list[Any] = []
    while len(documents) < length:
        documents += [*clicks(apart), *purchases(apart)]
    found = versions(documents)
    assert len(found) <= 2
    if length > 10:
        assert found[-1] == BOTH


@given(st.lists(DOCUMENTS, min_size=1, max_size=4), st.lists(st.integers(0, 3), max_size=60))
def test_shapes_in_whatever_turn_are_as_many_versions_as_shapes_at_most(shapes, turns):
    documents = [shapes[turn % len(shapes)] for turn in turns]
    found = publish_schemas(seen(documents))
    # a kind of key counts at once, and nothing else without support
    assert len(found) <= len(shapes)
    assert len(publish_schemas(seen(documents * 4))) <= len(shapes)


@given(st.lists(DOCUMENTS, max_size=30))
def test_what_is_published_only_grows(documents):
    found = publish_schemas(seen(documents))
    for before, after in pairwise(found):
        assert set(before.schema.names) <= set(after.schema.names)
        assert before.at.offset < after.at.offset
        assert after.after is not None
        assert after.after.offset < after.at.offset


def test_one_odd_document_is_no_version_but_is_told():
    documents = [*clicks(30), {"_id": 99, "kind": "click", "x": "99", "z": 1}, *clicks(30, 100)]
    assert versions(documents) == ["_id INT NOT NULL, kind STRING, x INT"]
    ((kind, message, _),) = list_remarks(seen(documents), {})
    assert kind == "rarely-seen"
    assert message == "seen in too few documents to be published: x as string in 1 of 61, z as int in 1 of 61"


def test_a_new_kind_is_a_union_once_enough_documents_show_it():
    documents = [*clicks(30), *({"_id": n, "x": "s"} for n in range(MIN_DOCUMENTS))]
    first, second = publish_schemas(seen(documents))
    assert words(second.schema) == "_id INT NOT NULL, kind STRING, x UNION<INT, STRING>"
    assert (first.at.offset, first.after) == (0, None)
    assert (second.at.offset, second.after) == (30 + MIN_DOCUMENTS - 1, mark(29))


def test_wider_numbers_are_no_union():
    documents = [{"_id": 1, "n": 1}] * 30 + [{"_id": 1, "n": 2**40}] * 30 + [{"_id": 1, "n": "x"}] * 3
    assert [v.split(", ", 1)[1] for v in versions(documents)] == [
        "n INT", "n BIGINT", "n UNION<BIGINT, STRING>",
    ]  # fmt: skip


def test_a_key_of_another_kind_counts_at_once():
    documents = [*clicks(30), {"_id": {"$oid": "5"}, "kind": "click"}]
    assert [v.split(" NOT")[0] for v in versions(documents)] == [
        "_id INT",
        "_id UNION<INT, UNKNOWN('bson:objectId')>",
    ]


@pytest.mark.case(60)
def test_null_hides_a_type_and_makes_no_version():
    documents = [{"_id": 1, "a": None}] * 30 + [{"_id": 1, "a": 5}] * 2 + [{"_id": 1, "a": None}] * 30
    assert versions(documents) == ["_id INT NOT NULL"]
    assert versions([*documents, {"_id": 1, "a": 6}])[-1] == "_id INT NOT NULL, a INT"


def test_a_release_with_several_new_fields_is_one_version():
    documents = clicks(50) + [{"_id": n, f"f{n % 4}": True} for n in range(40)]
    assert len(versions(documents)) == 2


def test_a_field_that_went_is_dormant_and_stays():
    documents = [*clicks(3), *purchases(DORMANT_RECORDS + 1, 3)]
    assert versions(documents)[-1] == BOTH
    lasts = {("t", 0): len(documents) - 1}
    (remark,) = list_remarks(seen(documents), lasts)
    assert remark == (
        "field-dormant",
        f"x is dormant: not in the last {DORMANT_RECORDS + 1} records of t[0]",
        (mark(2),),
    )
    assert not list_remarks(seen(documents), {("t", 0): DORMANT_RECORDS})


def test_names_that_are_data_become_a_map():
    days = [
        {"_id": 1, "days": {f"d{n}": {"$numberLong": "1"}, f"e{n}": "x"}} for n in range(MAX_OBJECT_FIELDS)
    ] * MIN_DOCUMENTS
    assert versions(days)[-1] == "_id INT NOT NULL, days MAP<STRING, UNION<BIGINT, STRING>>"


def test_more_names_than_are_kept_are_told():
    many = seen({"_id": 1, f"n{n}": n, "o": {f"m{n}": 1}} for n in range(600))
    assert len(many.counts) < 600 + 260
    told = {message for kind, message, _ in list_remarks(many, {}) if kind == "too-many-names"}
    said = "has more names than are kept: they look like data, and not all are counted"
    assert told == {f"the collection {said}", f"o {said}"}


def test_dots_mean_what_whole_documents_have_shown():
    def updates(**fields: Any) -> frozenset[inference.FieldKind]:
        return collect_document_kinds({"op": "u", "updateDescription": {"updatedFields": json.dumps(fields)}})

    sightings = FieldCounter()
    whole = {"_id": 1, "o": {"n": 1}, "l": ["x"], "p": {"q": 1}, "p.q": 1}
    sightings.count_record(shown(whole), mark(0))
    for n in range(1, MIN_DOCUMENTS + 1):
        sightings.count_record(
            updates(**{"o.n": "s", "o.m": 1, "l.7": 2.5, "p.q": "?", "l.x": 1, "new.n": 1}), mark(n)
        )
    assert words(publish_schemas(sightings.get_fields())[-1].schema) == (
        "_id INT NOT NULL, l ARRAY<UNION<DOUBLE, STRING>>, o STRUCT<n: UNION<INT, STRING>, m: INT>, "
        "p STRUCT<q: INT>, `p.q` INT"
    )


def test_only_updates_know_no_key():
    partial = {"op": "u", "updateDescription": {"updatedFields": '{"a": "x"}'}}
    sightings = FieldCounter()
    for n in range(3):
        sightings.count_record(collect_document_kinds(partial), mark(n))
    assert [words(v.schema) for v in publish_schemas(sightings.get_fields())] == [
        "_id UNKNOWN('bson:unknown') NOT NULL, a STRING"
    ]


def test_memory_is_bounded_while_records_are_read():
    sightings = FieldCounter()
    for n in islice(range(10**6), 3_000):
        sightings.count_record(frozenset({((f"c{n}",), "int"), (("o", f"m{n}"), "int")}), mark(n))
    held = sum(len(column.counts) for column in sightings._columns.values())
    assert held < 2 * (inference.COLUMNS + inference.PATHS) + 10


def test_names_that_never_end_are_a_bounded_number_of_versions():
    documents = [{"_id": n, f"c{n // 3 % 400}": {f"k{n % 7}": n}} for n in range(2_400)]
    found = publish_schemas(seen(documents))
    assert len(found) == MAX_VERSIONS
    assert len(found[-1].schema.columns) == 401
