"""Avro verdicts against Avro's own code: its Java SchemaCompatibility, out of the jars of Spark."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import pyspark
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from schemaman.compat.judge import EXAMPLE_TABLE, RULES, Example, Rule, Transition, judge_transition
from schemaman.debezium.converters.avro_schema import key_to_avro, make_field_name, to_avro
from schemaman.history.versions import RenameCandidate
from schemaman.model.column_list import parse_columns
from schemaman.model.diff import diff
from schemaman.model.name_adjustment import find_collisions
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import (
    Array,
    Binary,
    Bits,
    Boolean,
    Date,
    Decimal,
    Enum,
    Field,
    Floating,
    Integer,
    Interval,
    Json,
    Map,
    Numeric,
    String,
    Struct,
    Time,
    Timestamp,
    Type,
    Unknown,
)
from tests.support.all_schemas import written_in

pytestmark = pytest.mark.spark

ALL_RULES = RULES.load_all()
JARS = ("avro-1*", "jackson-core-2*", "jackson-databind-2*", "jackson-annotations-2*", "slf4j-api-*")
NAME = "shop.public.orders.Value"
Avro = dict[str, object]


@dataclass
class Oracle:
    """A running Java program that answers pairs of schemas."""

    questions: IO[str]
    answers: IO[str]

    def ask(self, reader: Avro, writer: Avro) -> str:
        for schema in (reader, writer):
            self.questions.write(json.dumps(schema) + "\n")
        self.questions.flush()
        return self.answers.readline().strip()

    def reads(self, reader: Avro | None, writer: Avro | None) -> bool:
        """Whether all data is readable; what is no schema at all is not, what is absent hurts nobody."""
        return reader is None or writer is None or self.ask(reader, writer) == "readable"


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    folder = Path(pyspark.__file__).parent / "jars"
    jars = ":".join(str(jar) for pattern in JARS for jar in folder.glob(f"{pattern}.jar"))
    source = Path(__file__).parent / "Compat.java"
    command = ["java", "-cp", jars, str(source)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    ) as java:
        assert java.stdin is not None
        assert java.stdout is not None
        yield Oracle(java.stdin, java.stdout)
        java.stdin.close()


def agrees(oracle: Oracle, transition: Transition) -> None:
    old, new = transition.old, transition.new
    assert old is not None
    assert new is not None
    rows, keys = (to_avro(old, NAME), to_avro(new, NAME)), (key_to_avro(old, "Key"), key_to_avro(new, "Key"))
    backward = oracle.reads(rows[1], rows[0]) and oracle.reads(keys[1], keys[0])
    forward = oracle.reads(rows[0], rows[1]) and oracle.reads(keys[0], keys[1])
    findings = judge_transition(transition, ALL_RULES)
    told = [(f.rule, f.path, f.verdicts) for f in findings]
    assert any(f.verdicts.get("avro-backward") == "break" for f in findings) == (not backward), told
    assert any(f.verdicts.get("avro-forward") == "break" for f in findings) == (not forward), told


def test_the_oracle_can_say_all_three_things(oracle: Oracle) -> None:
    small, large = parse_columns("a INT NOT NULL"), parse_columns("a BIGINT NOT NULL")
    assert oracle.ask(to_avro(large, NAME), to_avro(small, NAME)) == "readable"
    assert oracle.ask(to_avro(small, NAME), to_avro(large, NAME)) == "unreadable"
    assert oracle.ask(to_avro(parse_columns("`a-b` INT, a_b INT"), NAME), to_avro(small, NAME)) == "invalid"


def test_what_show_writes_is_a_schema_for_avro_itself(oracle: Oracle) -> None:
    count = 0
    for where, _, done in written_in("avro"):
        schema = json.loads(done.text)
        assert oracle.ask(schema, schema) == "readable", where
        count += 1
    assert count > 50


@pytest.mark.parametrize(
    ("column", "default"),
    [
        ("SMALLINT NOT NULL DEFAULT '7'", 7),
        ("BIGINT NOT NULL DEFAULT '-1'", -1),
        ("DOUBLE NOT NULL DEFAULT '0.50'", 0.5),
        ("BOOLEAN NOT NULL DEFAULT '1'", True),
        ("BITS(1) NOT NULL DEFAULT 'b\\'0\\''", False),
        ("DATE NOT NULL DEFAULT '1970-01-11'", 10),
        ("TIMESTAMP_NTZ(0) NOT NULL DEFAULT '1970-01-01 00:00:02'", 2_000),
        ("TIMESTAMP_NTZ(6) NOT NULL DEFAULT '1970-01-01 00:00:02.5'", 2_500_000),
        ("TIME(3) NOT NULL DEFAULT '00:01:00'", 60_000),
        ("STRING NOT NULL DEFAULT '7'", "7"),
        ("INT NOT NULL DEFAULT 'nextval(1)'", None),
        ("INT NOT NULL DEFAULT '99999999999'", None),
        ("DATE NOT NULL DEFAULT 'CURRENT DATE'", None),
        ("TIMESTAMP_NTZ(3) NOT NULL DEFAULT '1970-01-01T00:00:00Z'", None),
    ],
)
def test_the_text_of_a_default_is_the_value_that_events_have(
    oracle: Oracle, column: str, default: object
) -> None:
    old, new = parse_columns("id INT"), parse_columns(f"id INT, n {column}")
    schema = to_avro(new, NAME)
    fields = schema["fields"]
    assert isinstance(fields, list)
    assert fields[1].get("default") == default
    assert oracle.reads(schema, to_avro(old, NAME)) == (default is not None)
    agrees(oracle, Transition(EXAMPLE_TABLE, old, new, diff(old, new)))


def unique_fields(schema: TableSchema) -> bool:
    """Whether no two columns and no two members of one struct become one name."""
    return not find_collisions(schema.names, "avro") and all(
        unique_members(c.type) and make_field_name(c) == make_field_name(replace(c, emitted_name=None))
        for c in schema.columns
    )


def unique_members(type: Type) -> bool:
    match type:
        case Struct(fields):
            names = [f.name for f in fields]
            return not find_collisions(names, "avro") and all(unique_members(f.type) for f in fields)
        case Array(element, _):
            return unique_members(element)
        case Map(key, value, _):
            return unique_members(key) and unique_members(value)
        case _:
            return True


def has_verdict_of_structures(example: Example) -> bool:
    """Whether the two structures alone give Avro's verdict.

    Provisional facts weigh less on purpose, columns whose fields collide never had a schema, and other facts
    of a step are about schemas that these structures do not show.
    """
    if not example.old or not example.new or example.unconfirmed or example.facts:
        return False
    return not find_collisions(parse_columns(example.old).names, "avro")


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.name)
def test_the_verdict_on_each_example_is_that_of_avro(oracle: Oracle, rule: Rule) -> None:
    for example in filter(has_verdict_of_structures, rule.examples):
        agrees(oracle, example.build_transition())


NARROWER = {64: (32, 16, 8), 32: (16, 8), 16: (8,)}
PLAIN: list[Type] = [
    *(Integer(bits) for bits in (16, 32, 64)),
    *(Integer(bits, signed=False) for bits in (16, 32, 64)),
    String(),
    Decimal(10, 2),
    Time(3),
    Time(6),
    Timestamp(3, zoned=False),
    Timestamp(6),
    *(
        Boolean(),
        Floating(32),
        Floating(64),
        Numeric(),
        Date(),
        Binary(),
        Bits(1),
        Bits(9),
        Json(),
        Interval(),
    ),
    *(Enum(("a", "b")), Map(String(), Integer(32)), Map(Integer(32), Date()), Unknown("box")),
]
PLAIN += [Array(Integer(64), False), Struct((Field("x", Integer(64), False), Field("y", String())))]


@st.composite
def worked_on(draw: DrawFn, type: Type) -> Type:
    """The type after a change: of the same kind, or any other."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(PLAIN))
    match type:
        case Integer(bits, signed) if bits in NARROWER:
            return Integer(draw(st.sampled_from(NARROWER[bits])), signed)
        case Decimal():
            return Decimal(draw(st.sampled_from([10, 12])), draw(st.sampled_from([0, 4])))
        case Time():
            return Time(draw(st.sampled_from([2, 6, 9])))
        case Timestamp():
            return Timestamp(draw(st.sampled_from([6, 9])), zoned=False)
        case Array(element, nullable):
            return Array(draw(worked_on(element)), nullable)
        case Struct(fields):
            kept = [replace(f, type=draw(worked_on(f.type))) for f in fields if draw(st.booleans())]
            required = Field("z", Integer(32), draw(st.booleans()))
            return Struct((*kept, required) if draw(st.booleans()) else tuple(kept))
        case _:
            return type


@st.composite
def columns(draw: DrawFn, name: str) -> Column:
    type = draw(st.sampled_from(PLAIN))
    default = draw(st.sampled_from([None, None, 5])) if isinstance(type, Integer) else None
    return Column(name, type, draw(st.booleans()), default)


@st.composite
def covered(draw: DrawFn) -> Transition:
    """A step out of changes that the rules know, several at once."""
    names = draw(st.lists(st.sampled_from(["a", "b", "c-c", "d", "e"]), unique=True, min_size=1))
    old = [draw(columns(n)) for n in names]
    fresh = iter(draw(st.permutations(["f", "g", "h", "i", "j", "k", "l", "m", "n"])))
    new: list[Column] = []
    renames: dict[str, str] = {}
    for column in old:
        action = draw(st.sampled_from(["keep", "keep", "drop", "retype", "require", "relax", "rename"]))
        changed = column
        if action in ("retype", "rename") and draw(st.booleans()):
            changed = replace(changed, type=draw(worked_on(column.type)))
        if action == "relax":
            changed = replace(changed, nullable=True, default=draw(st.sampled_from([None, changed.default])))
        if action == "require" or (action == "rename" and draw(st.booleans())):
            changed = replace(changed, nullable=False)
        if action == "rename":
            changed = replace(changed, name=next(fresh))
            renames[column.name] = changed.name
        if action != "drop":
            new.append(changed)
    stayed = {make_field_name(c) for c in new}
    added = [
        draw(columns(draw(st.sampled_from([next(fresh), "c_c"])))) for _ in range(draw(st.integers(0, 2)))
    ]
    # A new column under the Avro name of one that left is a change that no rule knows yet.
    left = {make_field_name(c) for c in old} - stayed
    assume(not any(make_field_name(c) in left for c in added))
    new += added
    assume(len({c.name for c in new}) == len(new))
    before = TableSchema(tuple(old), draw(keys(old)))
    after = TableSchema(tuple(new), draw(keys(new)))
    suspects = suspicions(before, after, renames) if draw(st.booleans()) else ()
    return Transition(EXAMPLE_TABLE, before, after, diff(before, after, renames), suspects)


def suspicions(old: TableSchema, new: TableSchema, renames: dict[str, str]) -> tuple[RenameCandidate, ...]:
    gone = [n for n in old.names if n not in renames and new.column(n) is None]
    come = [n for n in new.names if n not in renames.values() and old.column(n) is None]
    return tuple(RenameCandidate(a, b, "likely", ()) for a, b in zip(gone, come, strict=False))


@st.composite
def keys(draw: DrawFn, columns: list[Column]) -> tuple[str, ...]:
    required = [c.name for c in columns if not c.nullable and not isinstance(c.type, Struct | Array)]
    return tuple(draw(st.lists(st.sampled_from(required), unique=True, max_size=2))) if required else ()


@given(covered())
def test_the_verdict_on_several_changes_at_once_is_that_of_avro(
    oracle: Oracle, transition: Transition
) -> None:
    agrees(oracle, transition)
