"""Each break has a witness that a decoder confirms, or a reason from a closed list."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest

from schemaman.compat.avro.datum import READABLE, find_unreadable
from schemaman.compat.avro.resolution import AmbiguousField, check_resolution
from schemaman.compat.avro.schema import InvalidAvroSchema, parse_schema
from schemaman.compat.counterexample import DATA_READERS, BrokenDatum, add_counterexamples, find_broken_datum
from schemaman.compat.judge import RULES, Finding, Reader, Rule, Transition, judge_transition
from schemaman.debezium.converters.avro_schema import key_to_avro, to_avro
from schemaman.model.schema import TableSchema
from tests.support.avro_schemas import make_pairs

ALL_RULES = RULES.load_all()


def list_breaks() -> Iterator[tuple[Transition, Finding, Reader]]:
    """Every break of every example, with its reader."""
    for rule in ALL_RULES:
        for example in rule.examples:
            transition = example.build_transition()
            for finding in judge_transition(transition, ALL_RULES):
                for reader in DATA_READERS:
                    if finding.verdicts.get(reader) == "break":
                        yield transition, finding, reader


BREAKS = tuple(list_breaks())


def make_avro(schema: TableSchema, part: str) -> Any:
    """The schema of rows or keys, without logical types, which would convert values."""
    return drop_logical_types(to_avro(schema, "Value") if part == "row" else key_to_avro(schema, "Key"))


def drop_logical_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [drop_logical_types(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {
        k: drop_logical_types(v) for k, v in schema.items() if k in ("type", "items", "values", "fields")
    }
    return {k: v for k, v in schema.items() if k != "logicalType"} | inner


def decode(writer: Any, reader: Any, datum: object) -> object:
    data = io.BytesIO()
    fastavro.schemaless_writer(data, fastavro.parse_schema(writer), datum)
    data.seek(0)
    return fastavro.schemaless_reader(data, fastavro.parse_schema(writer), fastavro.parse_schema(reader))


def fill(writer: Any, datum: dict[str, object]) -> dict[str, object]:
    """The whole row of a witness: its other fields have any value."""
    empty = parse_schema(json.dumps({**writer, "fields": []}))
    nothing = {"type": "record", "name": writer["name"], "fields": [{"name": "none", "type": "null"}]}
    assert find_unreadable(empty, parse_schema(json.dumps(writer))) is READABLE
    sample = find_unreadable(parse_schema(json.dumps(nothing)), parse_schema(json.dumps(writer)))
    assert isinstance(sample, dict)
    return {**sample, **datum}


def test_a_decoder_fails_on_each_witness_of_avro() -> None:
    count = 0
    for transition, finding, reader in BREAKS:
        witness = find_broken_datum(transition, finding, reader)
        if not reader.startswith("avro") or not isinstance(witness, BrokenDatum):
            continue
        old, new = transition.old, transition.new
        assert old is not None
        assert new is not None
        schemas = (old, new) if witness.written == "old" else (new, old)
        writer, other = (make_avro(schema, witness.part) for schema in schemas)
        datum = fill(writer, witness.datum)
        assert decode(writer, writer, datum) == datum
        with pytest.raises(Exception):  # noqa: B017, PT011 each cause has its own class in fastavro
            decode(writer, other, datum)
        count += 1
    assert count > 200


def test_a_break_without_witness_has_one_of_the_known_reasons() -> None:
    found = {
        (reason, finding.rule)
        for transition, finding, reader in BREAKS
        if not isinstance(reason := find_broken_datum(transition, finding, reader), BrokenDatum)
    }
    collisions = ("avro-name-collision", "case-collision", "reserved-metadata-name")
    ends = ("table-dropped", "table-moved", "table-renamed", "table-swapped")
    forms = (
        "column-added-no-avro-default", "connector-major-upgrade", "decimal-mode-changed",
        "geometry-encoding-changed", "interval-encoding-changed", "json-and-struct-exchanged",
        "name-adjustment-changed", "not-judged", "record-name-changed", "routing-changed", "type-unmapped",
    )  # fmt: skip
    assert found == {
        *(("names-collide", rule) for rule in collisions),
        *(("one-structure", rule) for rule in ("avro-incompatible", *collisions[:2], *ends)),
        *(("outside-structures", rule) for rule in forms),
        *(("values-unknown", rule) for rule in ("field-type-drift", "type-unmapped")),
    }


def test_generated_schemas_are_read_unless_a_datum_shows_that_they_are_not() -> None:
    failed = 0
    for reader_text, writer_text in make_pairs(3_000, seed=7):
        try:
            reader, writer = parse_schema(reader_text), parse_schema(writer_text)
            is_readable = not check_resolution(reader, writer)
        except (InvalidAvroSchema, AmbiguousField):
            continue
        found = find_unreadable(reader, writer)
        if is_readable:
            assert found is READABLE, (reader_text, writer_text)
        failed += found is not READABLE
    assert failed > 300


def test_a_finding_shows_the_witness_of_each_reader() -> None:
    rule: Rule = RULES.get("number-to-string")
    transition = rule.examples[0].build_transition()
    (finding,) = add_counterexamples(transition, judge_transition(transition, ALL_RULES))
    assert [fact.reader for fact in finding.counterexamples] == [
        reader for reader in DATA_READERS if finding.verdicts.get(reader) == "break"
    ]
    assert all(fact.datum and json.loads(fact.datum) for fact in finding.counterexamples)
    assert finding.witness is not None
