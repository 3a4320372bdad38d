"""What the manuals print: spellings of their own, which no connector writes, are read as they stand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemaman.debezium.decode import decode
from schemaman.debezium.observation import Observation, Skipped
from schemaman.ingest.chunks import build_reading
from schemaman.ingest.scan import scan
from schemaman.model.types import Integer
from tests.support.checkout import FIXTURES
from tests.support.records import alone, node, record, struct

SAMPLES = {
    sample["name"]: sample
    for sample in map(json.loads, (FIXTURES / "samples" / "postgresql.ndjson").read_text().splitlines())
}


def said(sample: dict[str, Any]) -> Any:
    read = record(sample["value"], sample["key"], sample["topic"])
    (outcome,) = decode(alone(read), "main", lambda id: None)
    return outcome


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_says_what_it_means(name: str) -> None:
    outcome = said(SAMPLES[name])
    found = outcome.action if isinstance(outcome, Observation) else outcome.kind
    assert found == SAMPLES[name]["says"]
    assert isinstance(outcome, Observation | Skipped)


@pytest.mark.parametrize("name", [n for n, sample in SAMPLES.items() if sample["says"] == "image"])
def test_all_images_are_one_structure_with_its_key(name: str) -> None:
    """Identity DEFAULT sends a part of `before`; that proves nothing about the structure."""
    schema = said(SAMPLES[name]).schema
    assert schema == said(SAMPLES["create"]).schema
    assert schema.key == ("id",)
    assert schema.names == ("id", "given_name", "family_name", "email")
    assert [c.nullable for c in schema.columns] == [False] * 4


def test_a_boolean_tells_a_snapshot_and_a_text_a_time() -> None:
    assert said(SAMPLES["create"]).snapshot
    assert not said(SAMPLES["update with identity DEFAULT"]).snapshot
    assert said(SAMPLES["read by an incremental snapshot"]).snapshot
    sample = SAMPLES["read by an incremental snapshot"]
    (run,) = scan([record(sample["value"], sample["key"])], build_reading(lambda id: None))
    assert (run.first.read_ms, run.first.position.kind) == (1700000000999, "none")


@pytest.mark.parametrize(("field", "nullable"), [
    ({"name": "id", "index": "0", "schema": {"type": "INT32", "optional": "false"}}, False),
    ({"name": "id", "index": 0, "schema": {"type": "INT32", "optional": "true"}}, True),
    ({"name": "id", "schema": {"type": "int32", "optional": True}}, True),
    ({"field": "id", "type": "int32"}, False),
])  # fmt: skip
def test_both_spellings_of_a_field(field: dict[str, object], nullable: bool) -> None:
    row = {"type": "struct", "fields": [field], "optional": True}
    value = {"schema": struct("E", after=row, op=node("string"), source=struct("S")),
             "payload": {**SAMPLES["create"]["value"]["payload"], "after": {"id": 1}}}  # fmt: skip
    (column,) = said({"value": value, "key": None, "topic": "t"}).schema.columns
    assert (column.name, column.type, column.nullable) == ("id", Integer(32), nullable)
