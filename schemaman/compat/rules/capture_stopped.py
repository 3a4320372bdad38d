"""A migration takes a table out of what the connector reads.

What happened: A statement makes a table UNLOGGED, takes it out of a publication, drops the publication, or
leaves inserts, updates or deletes out of it.

Why it hurts: The table changes on, and no event tells of it. Nothing fails: the lake keeps the rows of that
moment for good.

What to do: Keep the table in the publication, or drop it as a source on purpose and tell its readers. When it
is captured again, take a snapshot of it.

Sources: PostgreSQL documentation, ALTER TABLE (SET UNLOGGED), ALTER PUBLICATION and DROP PUBLICATION;
Debezium documentation, PostgreSQL connector, publication.autocreate.mode.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, StepFact, Transition, parse_verdicts
from schemaman.compat.rules import _facts

NAME = "capture-stopped"
VERDICTS = parse_verdicts("· · D D D D D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds tables that a statement holds back from the connector."""
    for fact in transition.list_facts("held-back"):
        condition = f", unless {fact.after}" if fact.after else ""
        yield _facts.build_fact_finding(
            NAME,
            VERDICTS,
            transition,
            StepFact(fact.kind, fact.before, "", fact.columns, fact.scope),
            f"after {fact.before} the connector gets no changes of {transition.table}{condition}: "
            "the lake keeps its present rows",
            "keep the table in what the connector reads",
            "or tell its readers, and take a snapshot when it is captured again",
        )


RULE = Rule(
    name=NAME,
    title="a migration takes a table out of what the connector reads",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="tables",
    examples=(
        Example("id INT", "id INT", fires=((),), facts=(StepFact("held-back", "SET UNLOGGED"),)),
        Example("id INT", "", why="the table itself is gone: table-dropped"),
        Example("id INT", "id INT", why="nothing happened"),
    ),
)
