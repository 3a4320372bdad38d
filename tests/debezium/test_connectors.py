"""Each connector: what its types mean (read from `fixtures/dialects/*.tsv`) and what its positions are.

How a sheet is to be read stands in `sheets`. That Debezium itself says so is shown in `jvm/test_types`.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schemaman.debezium.connector import CONNECTORS, find_connector
from schemaman.debezium.connectors._type_expression import format_type_expression
from schemaman.debezium.converters.connect import read_type
from schemaman.debezium.flattened_fields import SOURCE_FIELDS
from schemaman.debezium.records import NO_POSITION, Position
from schemaman.history.fold.event_match import find_loss, is_carried_by
from schemaman.ingest.probe_patterns import learn_outline
from schemaman.migration.plan import Refusal
from schemaman.migration.targets import delta, iceberg
from schemaman.model.ddl import format_type, parse_type
from schemaman.model.name_adjustment import NEWEST
from schemaman.model.types import Unknown
from tests.support import type_sheets as sheets
from tests.support.checkout import CAPTURES
from tests.support.records import declared_images, records
from tests.support.type_sheets import Row

ROWS = [row for dialect in sheets.sheets() for row in sheets.rows(dialect)]


each_connector = pytest.mark.parametrize("connector", sorted({row.dialect for row in ROWS}))
"""One test a sheet: a test for each of its rows costs more than what it does."""


def rows(connector: str, *kinds: str) -> list[Row]:
    """The rows of a sheet that are of these kinds."""
    found = [row for row in ROWS if row.dialect == connector and row.witness in kinds]
    assert found
    return found


def test_every_dialect_has_its_rows():
    assert sheets.sheets() == sorted({*CONNECTORS.names()} - {"unknown"})


@each_connector
def test_declared_types(connector: str):
    for row in rows(connector, "declared"):
        declared = sheets.declared_column(row.attributes)
        assert format_type(CONNECTORS.get(connector).declared_type(declared)) == row.type, row
        spelled = format_type_expression(
            declared.type_name, declared.length, declared.scale, declared.enum_values
        )
        assert spelled == row.told, row
        assert format_type(parse_type(row.type)) == row.type, row


@each_connector
def test_wire_types(connector: str):
    for row in rows(connector, "wire", "emitted"):
        told = sheets.ABSENT if row.attributes is None else format_type(read_type(row.attributes))
        assert told == row.type, row


@each_connector
def test_each_form_on_the_wire_carries_the_declared_type(connector: str):
    """Where it does not carry all of it, the sheet says what it lost."""
    sources = {row.number: row for row in rows(connector, "declared")}
    for row in rows(connector, "emitted"):
        source = sources[row.declared]
        if row.attributes is not None:
            declared, wire = parse_type(source.type), read_type(row.attributes)
            assert is_carried_by(declared, wire), row
            assert (find_loss(declared, wire, source.told) or "") == row.lost, row


@pytest.mark.parametrize("row", [r for r in ROWS if r.type.startswith("UNKNOWN")], ids=str)
def test_what_is_not_known_is_refused_by_its_name(row: Row):
    name = row.attributes.get("type_name", row.attributes.get("name"))
    for target in (delta.TARGET, iceberg.TARGET):
        refusal = target.hold_type(parse_type(row.type))
        assert isinstance(refusal, Refusal)
        assert repr(name) in refusal.reason


@pytest.mark.parametrize(("source", "wire"), [
    ("INT", "STRING"), ("INT", "SMALLINT"), ("BIGINT", "DOUBLE"), ("STRING", "INT"),
    ("DECIMAL(10,0)", "INT"), ("DECIMAL(10,2)", "BIGINT"), ("DECIMAL(10,2)", "FLOAT"), ("DOUBLE", "STRING"),
    ("TIMESTAMP(6)", "TIMESTAMP_NTZ(6)"), ("TIMESTAMP_NTZ(6)", "DATE"), ("TIME(6)", "TIMETZ(6)"),
    ("DATE", "TIME(3)"), ("UUID", "BINARY"), ("JSON", "STRUCT<a: INT>"),
    ("ARRAY<INT>", "ARRAY<STRING>"), ("ARRAY<INT>", "INT"), ("MAP<STRING, STRING>", "XML"),
    ("STRUCT<wkb: BINARY, srid: INT>", "STRUCT<wkb: BINARY>"), ("BOOLEAN", "STRING"), ("BITS(7)", "BOOLEAN"),
])  # fmt: skip
def test_what_is_no_form_of_a_type_does_not_carry_it(source, wire):
    assert not is_carried_by(parse_type(source), parse_type(wire))


@pytest.mark.parametrize("run", ["mariadb/bookshop-mariadb-3.5.0-json", "db2/shop-3.4.1-json"])
def test_every_declared_type_of_the_recordings_is_known(run):
    images = declared_images(CAPTURES / run)
    assert images
    assert not [c for schema in images for c in schema.columns if isinstance(c.type, Unknown)]


@pytest.mark.parametrize(("dialect", "source", "position"), [
    ("postgresql", {"lsn": 84463512, "sequence": '[null,"84463512"]'}, Position("lsn", "84463512")),
    ("postgresql", {"lsn": 85059712, "sequence": '["85055344","85059712"]'},
     Position("lsn", "85059712", "85055344")),
    ("postgresql", {"lsn": 7}, Position("lsn", "7")),
    ("postgresql", {"lsn": 7, "sequence": "[]"}, Position("lsn", "7")),
    ("postgresql", {"lsn": 7, "sequence": "no JSON"}, Position("lsn", "7")),
    ("postgresql", {"lsn": None, "sequence": '["1","2"]'}, NO_POSITION),
    ("postgresql", {}, NO_POSITION),
    ("db2", {"change_lsn": "00000000:04a1b3a8", "commit_lsn": "00000000:04a1b3b0"},
     Position("commit_lsn", "00000000:04a1b3a8", "00000000:04a1b3b0")),
    ("db2", {"change_lsn": None, "commit_lsn": "00000000:04a1b390"},
     Position("commit_lsn", "", "00000000:04a1b390")),
    ("db2", {"change_lsn": None, "commit_lsn": None}, NO_POSITION),
    ("mysql", {"file": "binlog.000001", "pos": 4739, "row": 1}, Position("binlog", "binlog.000001:4739:1")),
    ("mariadb", {"file": "binlog.000001", "pos": 4739, "row": 0}, Position("binlog", "binlog.000001:4739:0")),
    ("mariadb", {"file": "", "pos": 0, "row": 0}, NO_POSITION),
    ("mysql", {"file": None, "pos": None}, NO_POSITION),
    ("sqlserver", {"change_lsn": "00000027:00000758:0003", "commit_lsn": "00000027:00000758:0005",
                   "event_serial_no": 2},
     Position("commit_lsn", "00000027:00000758:0003:2", "00000027:00000758:0005")),
    ("sqlserver", {"change_lsn": "00000027:00000758:0003", "commit_lsn": "00000027:00000758:0005"},
     Position("commit_lsn", "00000027:00000758:0003", "00000027:00000758:0005")),
    ("sqlserver", {"change_lsn": None, "commit_lsn": "00000027:00000758:0005", "event_serial_no": None},
     Position("commit_lsn", "", "00000027:00000758:0005")),
    ("sqlserver", {"change_lsn": None, "commit_lsn": None, "event_serial_no": None}, NO_POSITION),
    ("oracle", {"scn": "2122184", "commit_scn": "2122185"}, Position("scn", "2122184", "2122185")),
    ("oracle", {"scn": 2122184}, Position("scn", "2122184")),
    ("oracle", {"scn": "2122184", "commit_scn": None}, Position("scn", "2122184")),
    ("oracle", {"scn": "null", "commit_scn": "1"}, NO_POSITION),
    ("oracle", {"scn": None, "commit_scn": None}, NO_POSITION),
    ("informix", {"commit_lsn": "90194313640", "change_lsn": "90194313216"},
     Position("commit_lsn", "0000000090194313216", "0000000090194313640")),
    ("informix", {"commit_lsn": "90194313640", "change_lsn": "-1"},
     Position("commit_lsn", "", "0000000090194313640")),
    ("informix", {"commit_lsn": "-1", "change_lsn": None}, NO_POSITION),
    ("vitess", {"vgtid": '[{"keyspace":"shop","shard":"-80","gtid":"MySQL56/a-b:1-9"}]'}, NO_POSITION),
])  # fmt: skip
def test_positions(dialect, source, position):
    assert CONNECTORS.get(dialect).position(source) == position


@pytest.mark.parametrize(("dialect", "sources"), [
    ("oracle", [{"scn": "9"}, {"scn": "10"}, {"scn": "7", "commit_scn": "11"}, {"scn": "90"},
                {"scn": "100", "commit_scn": "100"}, {"scn": "110", "commit_scn": "50"},
                {"scn": "111", "commit_scn": "50"}, {"scn": "90", "commit_scn": "120"}, {"scn": 1000}]),
    ("informix", [{"commit_lsn": "9", "change_lsn": "-1"}, {"commit_lsn": "9", "change_lsn": "8"},
                  {"commit_lsn": "10", "change_lsn": "9"}, {"commit_lsn": "10", "change_lsn": "10"}]),
    ("sqlserver", [{"commit_lsn": "0000002c:000005d8:0012"},
                   *({"commit_lsn": "0000002c:000005d8:0012", "change_lsn": "0000002c:000005d8:0010",
                      "event_serial_no": n} for n in (1, 2, 10)),
                   {"commit_lsn": "0000002c:000005d8:0013"}]),
    ("mysql", [{"file": f"binlog.{n}", "pos": p, "row": r}
               for n, p, r in (("000009", 4, 0), ("000010", 4, 0), ("000010", 4, 10), ("999999", 5, 1),
                               ("1000000", 4, 0))]),
])  # fmt: skip
def test_positions_are_ordered_as_numbers_not_as_texts(dialect, sources):
    ranks = [CONNECTORS.get(dialect).position(source).rank for source in sources]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(ranks)


@given(
    st.integers(-3, 2**64) | st.sampled_from([None, "7", 7.0, True]),
    st.sampled_from(["%s", '["%s","9"]', '["%s",null]', '[null,"%s"]', '["%s", "9"]', "[%s]", '["%s"]']),
    st.integers(-3, 2**64) | st.sampled_from(["x", "", "\u0661"]),
)
def test_a_rank_that_is_read_fast_is_that_of_the_position(lsn, form, commit):
    connector, source = (
        CONNECTORS.get("postgresql"),
        {"lsn": lsn, "sequence": form.replace("%s", str(commit))},
    )
    found = connector.read_committed_ranks({name: (value, value) for name, value in source.items()})
    if found is not None:
        position = connector.position(source)
        assert found == (position.kind, [position.rank] * 2)
        assert position.commit is not None
    if type(lsn) is type(commit) is int and min(lsn, commit) >= 0 and commit < 10**19:
        assert (found is not None) == (form in ('["%s","9"]', '["%s",null]'))


SCN = st.integers(0, 120) | st.integers(0, 10**12)


@given(SCN, st.none() | SCN, SCN, st.none() | SCN, st.booleans())
@example(90, 50, 70, 60, True)
@example(99, 50, 70, 60, False)
@example(99, 50, 99, 99, True)
def test_what_orders_texts_of_equal_length_orders_positions(scn, commit, other, other_commit, as_text):
    """`Dialect.order` is the promise that the fast reading builds on."""
    dialect = CONNECTORS.get("oracle")
    numbers = ((scn, commit), (other, other_commit))
    sources = [{"scn": a, "commit_scn": b} for a, b in numbers]
    if as_text:
        sources = [{k: None if n is None else str(n) for k, n in told.items()} for told in sources]
    tails = [json.dumps({"source": source}, separators=(",", ":")).encode()[1:] for source in sources]
    learned = learn_outline(tails[0], ("t",), dialect.order)
    assert learned is not None
    texts = [learned.texts(match) for tail in tails if (match := learned.match(tail, 0)) is not None]
    assert texts
    if len(texts) == 2:
        before, behind = ([text] if isinstance(text, bytes) else list(text) for text in texts)
        ranks = [dialect.position(source).rank for source in sources]
        assert (before <= behind) == (ranks[0] <= ranks[1])


@pytest.mark.parametrize(
    "run", ["mariadb/bookshop-mariadb-3.5.0-json", "db2/shop-3.4.1-json", "postgres/shop-json"]
)
def test_positions_of_a_recording_can_be_ordered(run):
    ranks = []
    for record in records(CAPTURES / run):
        payload = json.loads(record.value or b"{}").get("payload") or {}
        source = payload.get("source")
        if source and payload.get("op") != "m":
            ranks.append(CONNECTORS.get(source["connector"]).position(source).rank)
    assert ranks
    assert all(ranks)
    assert sorted(ranks)


def test_who_appends_and_whose_facts_are_late():
    facts = {
        name: (d.append_only, d.late_facts) for name in CONNECTORS.names() for d in [CONNECTORS.get(name)]
    }
    assert facts == {
        "postgresql": (True, True),
        "db2": (True, False),
        "mysql": (False, False),
        "mariadb": (False, False),
        "sqlserver": (True, False),
        "oracle": (False, False),
        "informix": (False, False),
        "vitess": (False, False),
        "unknown": (False, True),
        "mongodb": (False, False),
    }


@pytest.mark.parametrize("name", ["unknown", "cockroachdb", "", None, ["mysql"]])
def test_every_other_name_is_that_of_the_unknown_connector(name: object) -> None:
    found = find_connector(name)
    assert (found.name, found.is_known, found.title) == ("unknown", False, "")
    assert [found.is_document_store, found.has_online_copies, found.statement_grammar] == [False, False, None]
    assert found.topic_parts("d", "s", NEWEST, databases=True) == ("d",)
    assert found.stream_position({"sequence": '["1","2"]'}) is None
    assert found.read_name("grÃ¶ÃŸe") == "grÃ¶ÃŸe"


def test_no_field_of_a_source_block_is_the_own_one_of_two_connectors() -> None:
    own = [name for connector in CONNECTORS.load_all() for name in connector.own_source_fields]
    assert len(own) == len({*own})
    assert {*own} <= SOURCE_FIELDS


def test_a_dialect_bears_the_name_of_its_file():
    assert all(CONNECTORS.get(name).name == name for name in CONNECTORS.names())
