"""The text of an Avro schema is what Avro's Java classes write, for generated, published and odd schemas."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyspark

from schemaman.compat.avro.schema import InvalidAvroSchema, parse_schema
from schemaman.compat.avro.schema_text import format_schema, normalize_schema
from tests.jvm.test_avro_resolution import JARS, PUBLISHED, TEXTS
from tests.support.avro_schemas import SchemaMaker
from tests.support.checkout import CAPTURES, PROOF

COUNT = 30_000 if PROOF else 3_000
WORDS = ("", "a doc", 'quoted "x" \\ /', "tab\tline\nbell\x07\x1f\x7f", "Größe 数 \U0001f600")


def ask_java(texts: Sequence[str]) -> list[str | None]:
    """What Java writes for each text; None for a text that it refuses."""
    folder = Path(pyspark.__file__).parent / "jars"
    jars = ":".join(str(jar) for pattern in JARS for jar in folder.glob(f"{pattern}.jar"))
    done = subprocess.run(
        ["java", "-cp", jars, str(Path(__file__).with_name("SchemaText.java"))],
        input="".join(json.dumps(text) + "\n" for text in texts),
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
        timeout=600,
    )
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def write(text: str) -> str | None:
    try:
        return format_schema(parse_schema(text))
    except InvalidAvroSchema:
        return None


class Decorator:
    """Adds what a schema may have besides its structure: docs, namespaces, aliases, orders, properties."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def decorate(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.decorate(branch) for branch in node]
        if isinstance(node, str):
            return {"type": node} if self.chance.random() < 0.1 and node.islower() else node
        if not isinstance(node, dict):
            return node
        done = {key: self.decorate(v) if key in ("items", "values") else v for key, v in node.items()}
        if "fields" in node and isinstance(node["fields"], list):
            done["fields"] = [self.decorate_field(each) for each in node["fields"]]
        if self.chance.random() < 0.3:
            done["doc"] = self.chance.choice(WORDS)
        if "name" in node and self.chance.random() < 0.3:
            done["namespace"] = self.chance.choice(["", "a", "a.b", "a.record"])
        if "name" in node and self.chance.random() < 0.2:
            done["aliases"] = self.chance.sample(["Z", "a.Y", "a.b.X", "W", "Z"], 3)
        return self.shuffle(done | self.properties())

    def decorate_field(self, field: Any) -> Any:
        if not isinstance(field, dict):
            return field
        done = dict(field)
        if "type" in field:
            done["type"] = self.decorate(field["type"])
        if self.chance.random() < 0.2:
            done["doc"] = self.chance.choice(WORDS)
        if self.chance.random() < 0.1:
            done["order"] = self.chance.choice(["ignore", "descending", "ascending", "Ignore"])
        if done.get("default") == 1.5:
            done["default"] = self.chance.choice([self.double(), "NaN", "1.5f", "-Infinity", " 2 "])
        return self.shuffle(done | self.properties())

    def properties(self) -> dict[str, Any]:
        if self.chance.random() < 0.8:
            return {}
        long = self.chance.choice([2**40, 2**40, -(2**63), 2**63])
        value = [None, True, 3, long, self.double(), self.chance.choice(WORDS), {"b": 1, "a": [1.0, {}]}]
        return {self.chance.choice(["p", "connect.name", "x y", "namespace ", "größe"]): value}

    def double(self) -> float:
        """A double with few digits: before release 19, Java writes some others with a digit too many."""
        return self.chance.choice([1, -1]) * self.chance.randint(0, 99_999) / 10 ** self.chance.randint(-9, 9)

    def shuffle(self, node: dict[str, Any]) -> dict[str, Any]:
        names = list(node)
        if self.chance.random() < 0.3:
            self.chance.shuffle(names)
        return {name: node[name] for name in names}


def test_the_text_of_every_generated_schema_is_that_of_java() -> None:
    chance = random.Random(20261127)
    maker, decorator = SchemaMaker(chance), Decorator(chance)
    texts = [json.dumps(decorator.decorate(maker.root())) for _ in range(COUNT)]
    wanted = ask_java(texts)
    assert len(wanted) == COUNT
    for text, answer in zip(texts, wanted, strict=True):
        assert write(text) == answer, text
    assert sum(answer is not None for answer in wanted) > COUNT / 2


def test_the_text_of_every_published_and_every_odd_schema_is_that_of_java() -> None:
    files = [json.loads(line) for line in PUBLISHED.read_text(encoding="utf-8").splitlines()]
    texts = [*(json.dumps(schema) for file in files for schema in file["schemas"]), *TEXTS.values()]
    assert [write(text) for text in texts] == ask_java(texts)
    assert len(texts) > 200


def test_the_text_of_every_recorded_schema_is_that_of_java() -> None:
    found = (json.loads(path.read_text(encoding="utf-8")) for path in CAPTURES.glob("*/*/registry.json"))
    texts = sorted({each["schema"] for schemas in found for each in schemas if not each["references"]})
    assert [write(text) for text in texts] == ask_java(texts)
    assert len(texts) > 100


def test_a_normal_text_is_one_for_equal_meanings_and_keeps_the_text() -> None:
    chance = random.Random(5)
    maker, decorator = SchemaMaker(chance), Decorator(chance)
    texts = [json.dumps(decorator.decorate(maker.root())) for _ in range(300)]
    for text in texts:
        if (first := write(text)) is not None:
            normal = normalize_schema(parse_schema(text))
            assert normalize_schema(parse_schema(normal)) == normal
            assert write(first) == first
