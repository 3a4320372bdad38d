"""A JSON document became structured, or the other way round.

What happened: A column of JSON texts is a struct, an array or a map now, or the other way round. Often a
transform expands the document, or no longer does.

Why it hurts: No reader of a text reads a record: Avro refuses data across the change, in both directions.
Queries that parse the text, or name a nested field, fail.

What to do: Set the transforms of the connector as they were, or add a second column at the target for the new
form.

Sources: Debezium documentation, data type mappings (io.debezium.data.Json is a text); Avro specification,
Schema Resolution.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, StepFact, Transition, parse_verdicts
from schemaman.compat.rules import _facts, _kinds
from schemaman.model.types import Array, Json, Map, Struct

NAME = "json-and-struct-exchanged"
VERDICTS = parse_verdicts("B B B B B B ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds exchanges of JSON documents and structs, arrays or maps."""
    shapes: tuple[type[Struct | Map | Array], ...] = (Struct, Map, Array)
    for change in _kinds.find_exchanges(transition, (Json,), shapes):
        yield _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "no reader of a text reads a record, and the other way round",
            "set the transforms of the connector as they were",
            "or add a second column at the target for the new form",
        )

    for fact in transition.list_facts("map-encoding"):
        yield _facts.build_fact_finding(
            NAME,
            VERDICTS,
            transition,
            fact,
            f"the connector writes maps as {fact.after} now, no longer as {fact.before}: "
            "the tables are the same",
            "set hstore.handling.mode of the connector as it was",
        )


RULE = Rule(
    name=NAME,
    title="a JSON document became structured, or the other way round",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example(
            "a INT", "a INT", fires=((),), facts=(StepFact("map-encoding", "x", "y", ("a",), "main:shop"),)
        ),
        Example("j JSON", "j STRUCT<a: INT>", fires=(("j",),)),
        Example("j ARRAY<INT>", "j JSON", fires=(("j",),)),
        Example("j JSON", "j STRING", why="a text still: text-semantic-changed"),
        Example("j STRING", "j STRUCT<a: INT>", why="no document: nested-shape-changed"),
    ),
)
