"""Each connector: what its types mean (read from `fixtures/dialects/*.tsv`) and what its positions are.

A row is `witness, attributes, type, source_type`: for `declared` the loose parts of a column as the
schema-change topic tells them, for `wire` a Connect schema node. `#` begins a comment with the source.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemaman.ddl import format_type, parse_type
from schemaman.decode.origin import DIALECTS
from schemaman.dialects._spelling import spell
from schemaman.evidence import NOWHERE, DeclaredColumn, Position
from schemaman.languages.connect import type_of
from schemaman.types import Unknown
from tests.house import CAPTURES, FIXTURES
from tests.records import declared_images, records

FILES = sorted((FIXTURES / "dialects").glob("*.tsv"))


def rows(path: Path) -> list[list[str]]:
    lines = path.read_text().splitlines()
    assert lines[0] == "witness\tattributes\ttype\tsource_type"
    return [line.split("\t") for line in lines[1:] if not line.startswith("#")]


ROWS = [(path.stem, *row) for path in FILES for row in rows(path)]


def column(attributes: dict[str, Any]) -> DeclaredColumn:
    parts: dict[str, Any] = {
        "name": "c", "jdbc_type": 0, "type_expression": None, "length": None, "scale": None,
        "position": 1, "nullable": True,
    }  # fmt: skip
    labels = attributes.pop("enum_values", None)
    parts |= attributes
    return DeclaredColumn(**parts, enum_values=None if labels is None else tuple(labels))


def test_every_dialect_has_its_rows():
    assert {path.stem for path in FILES} == set(DIALECTS.names())


@pytest.mark.parametrize(("dialect", "witness", "attributes", "type", "source_type"), ROWS)
def test_types(dialect, witness, attributes, type, source_type):
    told = json.loads(attributes)
    if witness == "wire":
        assert format_type(type_of(told)) == type
    else:
        declared = column(told)
        assert format_type(DIALECTS.get(dialect).declared_type(declared)) == type
        spelled = spell(declared.type_name, declared.length, declared.scale, declared.enum_values)
        assert spelled == source_type
    assert format_type(parse_type(type)) == type


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
    ("postgresql", {"lsn": None, "sequence": '["1","2"]'}, NOWHERE),
    ("postgresql", {}, NOWHERE),
    ("db2", {"change_lsn": "00000000:04a1b3a8", "commit_lsn": "00000000:04a1b3b0"},
     Position("commit_lsn", "00000000:04a1b3a8", "00000000:04a1b3b0")),
    ("db2", {"change_lsn": None, "commit_lsn": "00000000:04a1b390"},
     Position("commit_lsn", "", "00000000:04a1b390")),
    ("db2", {"change_lsn": None, "commit_lsn": None}, NOWHERE),
    ("mysql", {"file": "binlog.000001", "pos": 4739, "row": 1}, Position("binlog", "binlog.000001:4739:1")),
    ("mariadb", {"file": "binlog.000001", "pos": 4739, "row": 0}, Position("binlog", "binlog.000001:4739:0")),
    ("mariadb", {"file": "", "pos": 0, "row": 0}, NOWHERE),
    ("mysql", {"file": None, "pos": None}, NOWHERE),
])  # fmt: skip
def test_positions(dialect, source, position):
    assert DIALECTS.get(dialect).position(source) == position


@pytest.mark.parametrize(
    "run", ["mariadb/bookshop-mariadb-3.5.0-json", "db2/shop-3.4.1-json", "postgres/shop-json"]
)
def test_positions_of_a_recording_can_be_ordered(run):
    ranks = []
    for record in records(CAPTURES / run):
        payload = json.loads(record.value or b"{}").get("payload") or {}
        source = payload.get("source")
        if source and payload.get("op") != "m":
            ranks.append(DIALECTS.get(source["connector"]).position(source).rank)
    assert ranks
    assert all(ranks)
    assert sorted(ranks)


def test_who_appends_and_whose_facts_are_late():
    facts = {name: (d.append_only, d.late_facts) for name in DIALECTS.names() for d in [DIALECTS.get(name)]}
    assert facts == {
        "postgresql": (True, True),
        "db2": (True, False),
        "mysql": (False, False),
        "mariadb": (False, False),
    }


def test_a_dialect_bears_the_name_of_its_file():
    assert all(DIALECTS.get(name).name == name for name in DIALECTS.names())
