"""Avro's resolution: each verdict, place and word is that of Avro's Java classes, and data are decoded."""

from __future__ import annotations

import io
import json
import random
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import fastavro
import pyspark

from schemaman.compat.avro.resolution import AmbiguousField, check_resolution, list_leaf_causes
from schemaman.compat.avro.schema import (
    ArrayOf,
    AvroSchema,
    FixedBytes,
    InvalidAvroSchema,
    MapOf,
    Node,
    Primitive,
    RecordOf,
    Symbols,
    UnionOf,
    parse_schema,
)
from tests.support.avro_schemas import make_pairs
from tests.support.checkout import FIXTURES, PROOF

PAIRS = 100_000
DATA = 4_000
JARS = ("avro-1*", "jackson-*", "slf4j-api*", "commons-compress*")
VECTORS = FIXTURES / "avro" / "resolution-vectors.jsonl"
"""Pairs of the tests of Avro's Python implementation, release 1.12.1 (`avro/test/test_compatibility.py`)."""

PUBLISHED = FIXTURES / "avro" / "published-schemas.jsonl"
"""The valid schemas in tests of Avro, Karapace and Confluent's registry: one line a file, with its source."""

Pair = tuple[str, str]


def ask_java(pairs: Sequence[Pair]) -> list[Any]:
    """What Java says of each pair: its incompatibilities, `invalid` or `raised`."""
    folder = Path(pyspark.__file__).parent / "jars"
    jars = ":".join(str(jar) for pattern in JARS for jar in folder.glob(f"{pattern}.jar"))
    done = subprocess.run(
        ["java", "-cp", jars, str(Path(__file__).with_name("Resolution.java"))],
        input="".join(json.dumps(pair) + "\n" for pair in pairs),
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def ask(pair: Pair) -> Any:
    """What we say of a pair, in the same form."""
    try:
        reader, writer = (parse_schema(text) for text in pair)
    except InvalidAvroSchema:
        return "invalid"
    try:
        found = check_resolution(reader, writer)
    except AmbiguousField:
        return "raised"
    assert not found or has_leaf_cause(reader, writer)
    return [{"kind": each.kind, "location": each.location, "message": each.message} for each in found]


def has_leaf_cause(reader: AvroSchema, writer: AvroSchema) -> bool:
    try:
        return bool(list_leaf_causes(reader, writer))
    except AmbiguousField:
        return True  # Java does not look into a branch once another one is found


def classify(answer: Any) -> str:
    return answer if isinstance(answer, str) else "incompatible" if answer else "compatible"


def test_every_generated_pair_has_the_verdict_places_and_words_of_java() -> None:
    pairs = make_pairs(PAIRS, seed=20261126)
    wanted = ask_java(pairs)
    assert len(wanted) == len(pairs)
    for pair, answer in zip(pairs, wanted, strict=True):
        assert ask(pair) == answer, pair
    counts = Counter(map(classify, wanted))
    assert min(counts[kind] for kind in ("compatible", "incompatible", "invalid", "raised")) > PAIRS / 50


def test_every_published_pair_has_the_verdict_places_and_words_of_java() -> None:
    lines = VECTORS.read_text(encoding="utf-8").splitlines()
    pairs: list[Pair] = [(pair["reader"], pair["writer"]) for pair in map(json.loads, lines)]
    assert len(pairs) > 100
    assert [ask(pair) for pair in pairs] == ask_java(pairs)


def test_every_two_published_schemas_of_a_file_have_the_verdict_of_java() -> None:
    """The pairs of those tests are among them; a part of them is asked unless at full counts."""
    files = [json.loads(line) for line in PUBLISHED.read_text(encoding="utf-8").splitlines()]
    pairs: list[Pair] = [
        (json.dumps(reader), json.dumps(writer))
        for file in files
        for reader, writer in product(file["schemas"], repeat=2)
    ]
    assert len(pairs) > 20_000
    pairs = pairs if PROOF else random.Random(3).sample(pairs, 8_000)
    wanted = ask_java(pairs)
    wrong = [(pair, answer) for pair, answer in zip(pairs, wanted, strict=True) if ask(pair) != answer]
    assert wrong == []
    assert min(Counter(map(classify, wanted))[kind] for kind in ("compatible", "incompatible")) > 500


TEXTS = {
    "a comment": '/* one */ {"type": /* {" */ "int"}',
    "a comment behind the end": '{"type": "int"} // two',
    "two schemas": '"int" "long"',
    "no number": '{"type": "fixed", "name": "A", "size": NaN}',
    "a large size": '{"type": "fixed", "name": "A", "size": 2147483640}',
    "a size that is too large": '{"type": "fixed", "name": "A", "size": 2147483647}',
    "another script": '{"type": "record", "name": "Größe", "fields": [{"name": "数", "type": "int"}]}',
    "a digit first": '{"type": "record", "name": "1A", "fields": []}',
    "an empty namespace": '{"type": "record", "name": "A", "namespace": "", "fields": []}',
    "an empty part": '{"type": "record", "name": "a..A", "fields": []}',
    "a dot in front": '{"type": "record", "name": ".A", "namespace": "b", "fields": []}',
    "a primitive's name": '{"type": "record", "name": "int", "fields": []}',
    "a primitive's short name": '{"type": "record", "name": "a.int", "fields": []}',
    "a name as type": '{"type": "record", "name": "A", "fields": [{"name": "a", "type": {"type": "A"}}]}',
    "a type in a type": '{"type": {"type": "int"}}',
    "a name before its definition": '[{"type": "array", "items": "B"}, {"type": "fixed", "name": "B", '
    '"size": 1}]',
    "the same twice": '{"type": "record", "name": "A", "fields": [{"name": "a", "type": {"type": "fixed", '
    '"name": "B", "size": 1}}, {"name": "b", "type": {"type": "fixed", "name": "B", "size": 1}}]}',
    "a double as text": '{"type": "record", "name": "A", "fields": [{"name": "a", "type": "double", '
    '"default": " 0x1p3 "}]}',
    "no double": '{"type": "record", "name": "A", "fields": [{"name": "a", "type": "double", '
    '"default": "x"}]}',
    "a long that is too long": '{"type": "record", "name": "A", "fields": [{"name": "a", "type": "long", '
    '"default": 9223372036854775808}]}',
    "a whole float": '{"type": "record", "name": "A", "fields": [{"name": "a", "type": "int", '
    '"default": 1.0}]}',
    "a default of the second branch": '{"type": "record", "name": "A", "fields": [{"name": "a", '
    '"type": ["null", "int"], "default": 1}]}',
    "an error": '{"type": "error", "name": "A", "fields": []}',
    "an empty union": "[]",
    "null": "null",
    "nothing": "",
}


def test_an_unusual_text_is_valid_where_java_takes_it() -> None:
    answers = ask_java([(text, text) for text in TEXTS.values()])
    assert dict(zip(TEXTS, answers, strict=True)) == {name: ask((t, t)) for name, t in TEXTS.items()}
    assert {"invalid", "compatible"} <= set(map(classify, answers))


class DataMaker:
    """Makes data of a schema for fastavro; branches of unions are named."""

    def __init__(self, schema: AvroSchema, chance: random.Random) -> None:
        self.schema = schema
        self.chance = chance

    def make(self, node: Node, depth: int = 0) -> Any:
        node = self.schema.resolve(node)
        match node:
            case Primitive():
                return _VALUES[node.kind]
            case ArrayOf():
                return [] if depth > 6 else [self.make(node.items, depth + 1)]
            case MapOf():
                return {} if depth > 6 else {"k": self.make(node.values, depth + 1)}
            case UnionOf():
                kinds = [branch.kind for branch in node.branches]
                if depth > 6 and "null" in kinds:
                    return None
                branch = self.schema.resolve(self.chance.choice(node.branches))
                return (getattr(branch, "name", branch.kind), self.make(branch, depth + 1))
            case FixedBytes():
                return b"x" * node.size
            case Symbols():
                return self.chance.choice(node.symbols)
            case RecordOf():
                if depth > 12:
                    raise RecursionError
                return {field.name: self.make(field.type, depth + 1) for field in node.fields}
        raise AssertionError(node)


_VALUES: Mapping[str, Any] = {
    "null": None, "boolean": True, "int": 7, "long": 2**40, "float": 1.5, "double": 2.5, "bytes": b"ab",
    "string": "ab",
}  # fmt: skip


def without_logical_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [without_logical_types(branch) for branch in schema]
    if isinstance(schema, dict):
        kept = {k: v for k, v in schema.items() if k not in ("logicalType", "precision", "scale")}
        return {k: without_logical_types(v) for k, v in kept.items()}
    return schema


def decode(reader: str, writer: str, chance: random.Random) -> str:
    """Write a datum with the writer's schema and read it with the reader's; what became of it."""
    schema = parse_schema(writer)
    try:
        datum = DataMaker(schema, chance).make(schema.root)
    except (RecursionError, IndexError):
        return "no finite datum"
    try:
        written, read = (
            fastavro.parse_schema(without_logical_types(json.loads(text))) for text in (writer, reader)
        )
    except fastavro.schema.SchemaParseException:
        return "unknown to fastavro"
    data = io.BytesIO()
    fastavro.schemaless_writer(data, written, datum)
    data.seek(0)
    fastavro.schemaless_reader(data, written, read)
    return "decoded"


def test_what_is_called_compatible_can_be_decoded() -> None:
    chance = random.Random(5)
    # One written field may fill two fields of a reader with aliases: the check allows it, decoders do not.
    pairs = [pair for pair in make_pairs(DATA, seed=7) if '"aliases"' not in pair[0] and ask(pair) == []]
    counts = Counter(decode(*pair, chance) for pair in pairs)
    assert counts["decoded"] > DATA / 5
    assert counts["unknown to fastavro"] < DATA / 100
