"""REFs: written and read back, looked up in a history, and refused where two versions may have stood."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.compat.snapshots import take_snapshot, to_text
from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Coordinates, Position
from schemaman.errors import (
    AmbiguousName,
    BadConfiguration,
    BadReference,
    NoHistory,
    UnknownName,
    UnreadableInput,
    UsageError,
)
from schemaman.history.references import (
    AsOf,
    FileRef,
    GitRef,
    LakeRef,
    Reference,
    RegistryRef,
    Selector,
    ShapeId,
    SourcePosition,
    TableName,
    TableRef,
    VersionNumber,
    VersionsBack,
    name_table,
    parse,
    parse_name,
    parse_pair,
)
from schemaman.model.schema import SCHEMES, TableId, TableSchema
from schemaman.model.types import Integer
from schemaman.registry import Registry
from schemaman.resolve import ReferenceReaders, select_version
from schemaman.store.log import ObservationEntry
from schemaman.store.memory import MemoryStore
from tests.store.test_entry_json import TABLES
from tests.support.log_entries import ORDERS, fold, mark, said, schema

TEXT = st.text(min_size=1, max_size=8)
COUNT = st.integers(0, 10**9 - 1)
SELECTORS: st.SearchStrategy[Selector] = st.one_of(
    st.builds(VersionNumber, COUNT, st.none() | COUNT),
    st.builds(VersionsBack, COUNT),
    st.builds(AsOf, st.integers(-62_135_596_800_000, 253_402_300_799_999)),
    st.builds(ShapeId, st.text("0123456789abcdef", min_size=4, max_size=12)),
    st.builds(SourcePosition, st.just("lsn"), st.integers(0, 2**64 - 1).map(str)),
    st.builds(SourcePosition, st.just("scn"), st.integers(0, 2**64).map(str)),
    st.builds(
        SourcePosition,
        st.just("binlog"),
        st.tuples(COUNT, COUNT).map(lambda n: f"mysql-bin.000003:{n[0]}:{n[1]}"),
    ),
    st.builds(SourcePosition, st.sampled_from(["commit_lsn", "gtid", "mongo"]), TEXT),
)
NAMES = st.builds(TableName, st.lists(TEXT, min_size=1, max_size=4).map(tuple), st.none() | TEXT)
REFERENCES: st.SearchStrategy[Reference] = st.one_of(
    st.builds(TableRef, NAMES, SELECTORS),
    st.builds(TableRef, NAMES.map(lambda n: replace(n, stream="file")), SELECTORS),
    st.builds(FileRef, TEXT),
    st.builds(GitRef, TEXT.filter(lambda t: ":" not in t), TEXT),
    st.builds(LakeRef, TEXT),
    st.builds(RegistryRef, TEXT, st.none() | COUNT),
)


@given(REFERENCES)
def test_a_reference_is_read_back_as_it_was_written(reference: Reference):
    assert parse(str(reference)) == reference


@given(TABLES | st.builds(replace, TABLES, stream=st.sampled_from(SCHEMES)))
def test_the_printed_name_of_a_table_is_read_back(table: TableId):
    name = parse_name(str(table))
    assert name.parts == table.parts
    assert (name.stream or "main") == table.stream
    assert parse(str(name_table(table))) == TableRef(name_table(table))
    assert parse(str(table)) == TableRef(name)
    assert parse(f"{table}@3") == TableRef(name, VersionNumber(3))


@given(st.text(max_size=12))
def test_any_text_is_a_reference_or_refused(text: str):
    try:
        found = parse(text)
    except BadReference:
        return
    assert parse(str(found)) == found


@pytest.mark.parametrize(
    ("text", "parts", "selector"),
    [
        ("orders", ("orders",), VersionsBack(0)),
        ("public.orders@latest", ("public", "orders"), VersionsBack(0)),
        ("orders@3", ("orders",), VersionNumber(3)),
        ("orders@3.2", ("orders",), VersionNumber(3, 2)),
        ("orders@-1", ("orders",), VersionsBack(1)),
        ("orders@2026-11-01T12:00Z", ("orders",), AsOf(1_793_534_400_000)),
        ("orders@2026-11-01 14:00:00.25+02:00", ("orders",), AsOf(1_793_534_400_250)),
        ("orders@1969-12-31T23:59:59.999Z", ("orders",), AsOf(-1)),
        ("orders@id:9f2c", ("orders",), ShapeId("9f2c")),
        ("orders@id:9F2Cab", ("orders",), ShapeId("9f2cab")),
        ("orders@lsn:0/16B6A50", ("orders",), SourcePosition("lsn", "23816784")),
        ("orders@lsn:1/0", ("orders",), SourcePosition("lsn", "4294967296")),
        ("orders@lsn:23816784", ("orders",), SourcePosition("lsn", "23816784")),
        (
            "orders@binlog:mysql-bin.000003:154",
            ("orders",),
            SourcePosition("binlog", "mysql-bin.000003:154:0"),
        ),
        ("orders@commit_lsn:0000:1", ("orders",), SourcePosition("commit_lsn", "0000:1")),
        ('"a.b"."c@d"."e""f"@2', ("a.b", "c@d", 'e"f'), VersionNumber(2)),
        ("EMP#NO$X", ("EMP#NO$X",), VersionsBack(0)),
        ("dbo.Order Details@v2", ("dbo", "Order Details"), VersionNumber(2)),
        ("orders@v2.1", ("orders",), VersionNumber(2, 1)),
    ],
)
def test_forms_of_table_references(text: str, parts: tuple[str, ...], selector: Selector):
    assert parse(text) == TableRef(TableName(parts), selector)


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("dev:orders@1", TableRef(TableName(("orders",), "dev"), VersionNumber(1))),
        ('"file":orders', TableRef(TableName(("orders",), "file"))),
        ("file:orders.avsc", FileRef("orders.avsc")),
        ("file:a:b@c", FileRef("a:b@c")),
        ("git:HEAD~1:schemas/a:b.json", GitRef("HEAD~1", "schemas/a:b.json")),
        ("lake:ice.raw.orders", LakeRef("ice.raw.orders")),
        ("lake:/data/orders", LakeRef("/data/orders")),
        ("registry:shop.public.orders-value@7", RegistryRef("shop.public.orders-value", 7)),
        ("registry:a@b@latest", RegistryRef("a@b")),
        ("registry:orders-value", RegistryRef("orders-value")),
    ],
)
def test_forms_of_other_references(text: str, reference: Reference):
    assert parse(text) == reference


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a part of the name is missing"),
        ("orders@", "'' does not name a version"),
        ("a..b", "a part of the name is missing"),
        ("a.", "a part of the name is missing"),
        ('"a', "its quotes do not end"),
        ('"a"b', "unexpected 'b'"),
        ("a b @1", "unexpected ' '"),
        ("a:b:c", "unexpected ':'"),
        ("orders@three", "'three' does not name a version"),
        ("orders@2026-11-01", "a date is not a time"),
        ("orders@2026-11-01T12:00", "a time needs a zone"),
        ("orders@2026-13-01T12:00Z", "no such time"),
        ("orders@0001-01-01T00:00+23:00", "no such time"),
        ("orders@id:xyz", "'xyz' is not an id"),
        ("orders@id:9f", "'9f' is not an id"),
        ("orders@lsn:z/1", "'z/1' is not a position of kind lsn"),
        ("orders@lsn:", "'' is not a position of kind lsn"),
        ("orders@lsn:18446744073709551616", "is not a position of kind lsn"),
        ("orders@binlog:3", "'3' is not a position of kind binlog"),
        ("orders@none:3", "'none:3' does not name a version"),
        ("orders@1@2", "'1@2' does not name a version"),
        ("file:", "nothing after file:"),
        ("git:HEAD", "it needs a revision and a path"),
        ("git::a", "it needs a revision and a path"),
        ("registry:a@x", "'x' is not a version"),
        ("registry:@1", "is not a version"),
    ],
)
def test_what_is_no_reference_is_refused(text: str, says: str):
    with pytest.raises(BadReference) as caught:
        parse(text)
    assert says in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("texts", "pair"),
    [
        (["orders"], ["orders@latest"]),
        (["orders@1", "orders@3"], ["orders@1", "orders@3"]),
        (["orders@1..orders@3"], ["orders@1", "orders@3"]),
        (["orders@1..3"], ["orders@1", "orders@3"]),
        (["orders@v1..v3.1"], ["orders@1", "orders@3.1"]),
        (["orders@1..@3"], ["orders@1", "orders@3"]),
        (["orders@1.."], ["orders@1", "orders@latest"]),
        (["orders@-2..-1"], ["orders@-2", "orders@-1"]),
        (["orders", "1..3"], ["orders@1", "orders@3"]),
        (["orders", "id:9f2c..latest"], ["orders@id:9f2c", "orders@latest"]),
        (["orders@1", "latest"], ["orders@1", "orders@latest"]),
        (["orders@1", "→", "orders@2"], ["orders@1", "orders@2"]),
        (["orders..stock"], ["orders@latest", "stock@latest"]),
        (["orders@1", "stock@1"], ["orders@1", "stock@1"]),
        (['a."..".b@1..2'], ['a."..".b@1', 'a."..".b@2']),
        (["file:../new.avsc"], ["file:../new.avsc"]),
        (["file:old.avsc..file:new.avsc"], ["file:old.avsc", "file:new.avsc"]),
        (
            ["orders@2026-11-01T12:00Z..2026-11-02T12:00Z"],
            ["orders@2026-11-01T12:00:00.000Z", "orders@2026-11-02T12:00:00.000Z"],
        ),
    ],
)
def test_two_references_in_every_spelling(texts: list[str], pair: list[str]):
    assert [str(found) for found in parse_pair(texts)] == pair


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["orders@1", "2", "3"], "more than two"),
        (["orders@1", "2..3"], "more than two"),
        (["orders@1..2..3"], "does not name a version"),
        (["..orders@1"], "a part of the name is missing"),
        (["orders", "2026-11-01..2026-11-02"], "a date is not a time"),
    ],
)
def test_what_is_no_pair_is_refused(texts: list[str], says: str):
    with pytest.raises(BadReference) as caught:
        parse_pair(texts)
    assert says in caught.value.message


@pytest.mark.parametrize("text", ["a@1", "a:b@c", "@", ""])
def test_a_name_ends_before_its_version(text: str):
    with pytest.raises(BadReference):
        parse_name(text)


# Looked up

A, AB, ABC = schema("id", "a"), schema("id", "a", "b"), schema("id", "a", "b", "c")
SEEN = (said(A, 0, 10), said(AB, 20, 30), said(A, 40, 50), said(ABC, 60, 70))
"""Four versions with ten records of silence between them; the third is of the shape of the first."""


def time(offset: float) -> str:
    return str(AsOf(1_700_000_000_000 + int(offset * 1000)))


def registry(*observations: Observation) -> Registry:
    store = MemoryStore(lambda: 0, fold)
    store.append([ObservationEntry(o) for o in observations], 0)
    return Registry(store, lambda: 0)


@pytest.fixture(scope="module")
def shop() -> Registry:
    return registry(*SEEN)


def number(shop: Registry, ref: str) -> int:
    found = shop.resolve(ref)
    assert found.version is not None
    assert found.schema == found.version.schema
    assert found.ref == f"main:shop.app.public.orders@{found.version.number}"
    assert shop.resolve(found.ref).schema == found.schema
    return found.version.number


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("1", 1),
        ("4", 4),
        ("latest", 4),
        ("-0", 4),
        ("-1", 3),
        ("-3", 1),
        (time(0), 1),
        (time(10), 1),
        (time(20), 2),
        (time(25.5), 2),
        (time(30), 2),
        (time(60), 4),
        (time(10**6), 4),
        ("lsn:1000", 1),
        ("lsn:1010", 1),
        ("lsn:1020", 2),
        ("lsn:1025", 2),
        ("lsn:0/424", 4),
        ("lsn:99999", 4),
    ],
)
def test_a_version_is_found(shop: Registry, selector: str, expected: int):
    assert number(shop, f"orders@{selector}") == expected


def test_a_bare_name_means_the_latest(shop: Registry):
    assert number(shop, "orders@latest") == 4
    assert shop.schema("orders") == shop.schema("shop.app.public.orders@4")
    assert shop.resolve("orders").table == ORDERS


def test_an_id_means_the_newest_version_of_that_shape(shop: Registry):
    first = shop.resolve("orders@1").version
    assert first is not None
    assert number(shop, f"orders@id:{first.id}") == 3
    assert number(shop, f"orders@id:{first.id[:6]}") == 3


@pytest.mark.parametrize("selector", [time(10.001), time(19.999), "lsn:1011", "lsn:1019", "lsn:0/3F8"])
def test_inside_the_interval_in_which_a_version_began_nothing_is_guessed(shop: Registry, selector: str):
    with pytest.raises(UsageError, match="version 1 or version 2 was valid then") as caught:
        shop.resolve(f"orders@{selector}")
    assert caught.value.hint == "name the version: shop.app.public.orders@1 or shop.app.public.orders@2"


@pytest.mark.parametrize(
    ("ref", "fault", "says"),
    [
        ("orders@5", UnknownName, "there are versions 1 to 4"),
        ("orders@0", UnknownName, "there are versions 1 to 4"),
        ("orders@-4", UnknownName, "there are versions 1 to 4"),
        ("orders@4.7", UnknownName, "there is only 4.0"),
        ("orders@id:0000", UnknownName, "no version has that id"),
        (f"orders@{time(-1)}", NoHistory, "the history begins later"),
        ("orders@lsn:1", NoHistory, "the history begins later"),
        ("orders@binlog:mysql-bin.000003:154", UsageError, "its positions are of kind lsn"),
        ("orders@gtid:x", UsageError, "its positions are of kind lsn"),
        ("customers", NoHistory, "there is no table customers in the history"),
        ("file:orders.avsc", UsageError, "only the history can be read here"),
        ("git:HEAD:orders.avsc", UsageError, "only the history can be read here"),
        ("registry:orders-value", UsageError, "only the history can be read here"),
        ("lake:ice.raw.orders", UsageError, "the lake cannot be read here"),
    ],
)
def test_what_cannot_be_found_is_said(shop: Registry, ref: str, fault: type[Exception], says: str):
    with pytest.raises(fault, match=says):
        shop.resolve(ref)


def test_an_id_that_begins_several_shapes_is_ambiguous(shop: Registry):
    history = shop.history(ORDERS)
    versions = tuple(replace(v, id=f"9f2c{n}".ljust(12, "0")) for n, v in enumerate(history.versions))
    with pytest.raises(
        AmbiguousName, match="several ids start with these digits: 9f2c00000000, 9f2c10000000"
    ):
        select_version(replace(history, versions=versions), ShapeId("9f2c"))


def test_a_version_that_was_declared_later_is_found_by_the_id_that_it_had():
    """Unsigned integers travel as wider ones; a plan or a snapshot may hold the id of these."""
    wide = replace(A, columns=tuple(replace(c, type=Integer(64)) for c in A.columns))
    declared = replace(A, columns=tuple(replace(c, type=Integer(32, signed=False)) for c in A.columns))
    former = registry(said(wide, 5)).resolve("orders").version
    assert former is not None
    shop = registry(said(wide, 5), replace(said(declared, 0), evidence="declared"))
    for digits in (former.id, former.id[:6]):
        found = shop.resolve(f"orders@id:{digits}").version
        assert found is not None
        assert (found.number, found.id == former.id) == (1, False)


def test_a_revision_has_its_own_attributes():
    commented = replace(A, comment="what was ordered")
    shop = registry(
        replace(said(A, 0), evidence="declared"), replace(said(commented, 5), evidence="declared")
    )
    assert shop.schema("orders@1.0").comment is None
    assert shop.schema("orders@1.1").comment == "what was ordered"
    assert shop.schema("orders@1").comment == "what was ordered"
    assert shop.resolve(f"orders@{time(3)}").revision == 0
    assert shop.resolve(f"orders@{time(5)}").revision == 1
    assert shop.resolve(f"orders@{time(3)}").ref == "main:shop.app.public.orders@1.0"


def test_a_dropped_table_did_not_stand_afterwards():
    drop = replace(said(None, 20), action="drop", evidence="declared")
    shop = registry(said(A, 0, 10), drop, said(AB, 30, 40))
    assert number(shop, f"orders@{time(10)}") == 1
    with pytest.raises(NoHistory, match="was dropped by then"):
        shop.resolve(f"orders@{time(25)}")
    assert number(shop, f"orders@{time(30)}") == 2


def test_two_versions_at_one_position_are_named_both(shop: Registry):
    """After a crash one lsn may arrive twice, with two schemas."""
    history = shop.history(ORDERS)
    first, second, *rest = history.versions
    evidence = replace(second.evidence[0], first=mark(10))
    second = replace(second, at=mark(10), evidence=(evidence,))
    with pytest.raises(UsageError, match="version 1 or version 2"):
        select_version(replace(history, versions=(first, second, *rest)), SourcePosition("lsn", "1010"))


def test_a_phantom_never_stood(shop: Registry):
    history = shop.history(ORDERS)
    first, second, *_ = history.versions
    found = replace(history, versions=(first, replace(second, status="phantom")))
    for place in (second.at.position.value, "999999"):
        resolved = select_version(found, SourcePosition("lsn", place))
        assert resolved.version == first


def test_a_table_of_phantoms_alone_never_stood(shop: Registry):
    history = shop.history(ORDERS)
    phantoms = replace(history, versions=tuple(replace(v, status="phantom") for v in history.versions))
    with pytest.raises(NoHistory, match="the history begins later"):
        select_version(phantoms, AsOf(1_800_000_000_000))
    with pytest.raises(UsageError, match="it has no positions"):
        select_version(phantoms, SourcePosition("lsn", "1020"))


def at(offset: int, commit: int | None, lsn: int) -> Coordinates:
    commit_text = None if commit is None else str(commit)
    return replace(mark(offset), position=Position("lsn", str(lsn), commit_text))


def test_a_change_is_not_seen_before_the_commit_that_precedes_it():
    late = replace(said(AB, 11), first=at(11, 1500, 1100), last=at(12, 1500, 1101))
    shop = registry(said(A, 0, 10), late)
    assert number(shop, "orders@lsn:1100") == 2
    assert number(shop, "orders@lsn:1500") == 2
    with pytest.raises(UsageError, match="version 1 or version 2"):
        shop.resolve("orders@lsn:1200")


def test_positions_without_an_order_are_only_compared_for_equality():
    def by_gtid(offset: int, structure: TableSchema) -> Observation:
        there = replace(mark(offset), position=Position("gtid", f"uuid:{offset}"))
        return replace(said(structure, offset), first=there, last=there)

    shop = registry(by_gtid(1, A), by_gtid(2, AB))
    assert number(shop, "orders@gtid:uuid:1") == 1
    assert number(shop, "orders@gtid:uuid:2") == 2
    with pytest.raises(UsageError, match="have no order"):
        shop.resolve("orders@gtid:uuid:3")


# Elsewhere

AVRO = """{"type": "record", "name": "Value", "fields": [
  {"name": "id", "type": "int"}, {"name": "note", "type": ["null", "string"], "default": null}]}"""
CONNECT = """{"type": "struct", "fields": [{"field": "id", "type": "int32"},
  {"field": "note", "type": "string", "optional": true}]}"""
RECORD = f"""{{"schema": {{"type": "struct", "fields": [
  {CONNECT.replace('"fields"', '"field": "before", "optional": true, "fields"', 1)},
  {CONNECT.replace('"fields"', '"field": "after", "optional": true, "fields"', 1)},
  {{"field": "op", "type": "string"}}]}}, "payload": null}}"""


@pytest.mark.parametrize("text", ["id INT NOT NULL, note STRING", AVRO, CONNECT, RECORD, f"\n {RECORD}\n"])
def test_a_file_may_hold_several_languages(shop: Registry, text: str):
    found = shop.resolve("file:orders.txt", ReferenceReaders(file={"orders.txt": text}.__getitem__))
    assert [(c.name, c.nullable) for c in found.schema.columns] == [("id", False), ("note", True)]
    assert found.ref == "file:orders.txt"
    assert found.table is None


def test_a_snapshot_is_the_structure_that_was_accepted(shop: Registry):
    history = shop.history(ORDERS)
    text = to_text(take_snapshot(history, history.versions[1]))
    assert (
        shop.schema("git:main:schemas/orders.json", ReferenceReaders(git=lambda *_: text)).names == AB.names
    )
    with pytest.raises(BadConfiguration, match="git:main:x: "):
        shop.schema("git:main:x", ReferenceReaders(git=lambda *_: text.replace('"columns"', '"colums"')))


def test_a_dumped_record_brings_its_key(shop: Registry):
    key = '{"schema": {"type": "struct", "fields": [{"field": "id", "type": "int32"}]}, "payload": {"id": 1}}'
    line = json.dumps({"topic": "t", "offset": 0, "key": key, "payload": RECORD})
    assert shop.schema("file:line", ReferenceReaders(file=lambda _: line)).key == ("id",)


def test_each_kind_has_its_reader(shop: Registry):
    readers = ReferenceReaders(
        file=lambda path: f"{path} INT",
        git=lambda revision, path: f"{revision}_{path} INT",
        registry=lambda subject, version: f"{subject}_{version} INT",
        lake=lambda table: schema(table),
    )
    assert shop.schema("file:a", readers).names == ("a",)
    assert shop.schema("git:main:a", readers).names == ("main_a",)
    assert shop.schema("registry:s@3", readers).names == ("s_3",)
    assert shop.schema("registry:s", readers).names == ("s_None",)
    assert shop.schema("lake:t", readers).names == ("t",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "id INTEGER NOPE",
        "[build-system]\n" * 100,
        "{",
        "[]",
        "{}",
        '{"type": "record"}',
        '{"schema": {}}',
        "\x00",
    ],
)
def test_a_file_that_holds_no_structure_is_refused(shop: Registry, text: str):
    with pytest.raises(UnreadableInput, match=r"^file:x: ") as caught:
        shop.schema("file:x", ReferenceReaders(file=lambda _: text))
    assert caught.value.hint
    assert len(caught.value.message) < 120, "of a file its name is told, not its whole text"
