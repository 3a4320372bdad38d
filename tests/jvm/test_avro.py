"""Whatever Debezium writes, its types are the same in Avro: AvroData puts each schema of the sheets there.

AvroData is that of Apicurio's converter, which has it from Confluent's.
"""

from __future__ import annotations

import json

import pytest

from schemaman.debezium.converters.avro import to_connect
from schemaman.debezium.converters.connect import read_columns, read_type
from tests.jvm.debezium import Node, run
from tests.support import type_sheets as sheets

NODES: list[Node] = list(
    {
        json.dumps(row.attributes): row.attributes
        for dialect in sheets.sheets()
        for row in sheets.rows(dialect)
        if row.witness in ("emitted", "wire") and row.attributes is not None
    }.values()
)


@pytest.mark.parametrize("optional", [True, False])
def test_a_type_is_the_same_in_avro(optional: bool) -> None:
    asked = [{**node, "optional": optional} for node in NODES]
    assert len(asked) > 60
    texts = run("InAvro.java", ("types", "avro"), asked)
    for node, text in zip(asked, texts, strict=True):
        (column,) = read_columns(to_connect(text))
        assert column.type == read_type(node), text
        assert column.nullable is optional, text
