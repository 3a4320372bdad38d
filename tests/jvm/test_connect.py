"""What `show --as connect` writes is read by Connect's own JsonConverter, and says the same afterwards."""

from __future__ import annotations

import json

from schemaman.debezium.converters.avro import to_connect
from schemaman.debezium.converters.connect import read_columns
from tests.jvm.debezium import run
from tests.support.all_schemas import written_in


def test_json_converter_reads_what_is_written() -> None:
    found = list(written_in("connect"))
    nodes = [json.loads(done.text) for _, _, done in found]
    assert len(nodes) > 50
    told = run("AsConnect.java", ("types", "avro"), nodes)
    for (where, _, _), ours, theirs in zip(found, nodes, told, strict=True):
        assert read_columns(theirs) == read_columns(ours), where
        assert theirs["name"] == ours["name"]


def test_avro_data_makes_of_it_what_is_written_as_avro() -> None:
    """The two languages agree: AvroData turns each column of the one into that of the other."""
    columns = {
        (field["field"], json.dumps({k: v for k, v in field.items() if k != "field"})): field
        for _, _, done in written_in("connect")
        for field in json.loads(done.text)["fields"]
    }
    asked = [{k: v for k, v in field.items() if k != "field"} for field in columns.values()]
    texts = run("InAvro.java", ("types", "avro"), asked)
    for node, text in zip(asked, texts, strict=True):
        (column,) = read_columns(to_connect(text))
        (ours,) = read_columns({"type": "struct", "fields": [{**node, "field": "c"}]})
        assert (column.type, column.nullable) == (ours.type, ours.nullable), text
        assert column.default == ours.default, text
