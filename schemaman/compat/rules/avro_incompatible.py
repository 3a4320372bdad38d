"""Avro refuses to read rows or keys across the change, and no other rule says why.

What happened: The structures before and after the change differ, and Avro's schema resolution fails between
them. A table that was dropped and created again keeps its topic and its subject, so that it counts, too.

Why it hurts: A schema registry with a compatibility level refuses the new schema, and the connector's task
stops. Without a level, consumers fail on the first record of the other schema.

What to do: Read the cause: it names the place in the reader's schema. Give the column a default, or keep the
old column beside the new one, or set the level of the subject to NONE for the moment of the change.

Sources: Avro specification, Schema Resolution; Java `SchemaCompatibility` of Avro 1.12.1, whose words these
are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from schemaman.compat.avro.tables import list_column_causes
from schemaman.compat.judge import (
    Example,
    Finding,
    Reader,
    Rule,
    Transition,
    cap_verdicts,
    parse_verdicts,
)
from schemaman.compat.rules import _words
from schemaman.model.schema import TableSchema

NAME = "avro-incompatible"
VERDICTS = parse_verdicts("B B · · · · ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds the columns at which Avro cannot read old data by the new schema, or new data by the old one."""
    old, new = transition.old, transition.new or transition.successor
    if old is None or new is None or not new.columns or not (transition.changes or transition.successor):
        return
    causes: dict[str, dict[Reader, list[str]]] = {}
    _collect_causes(causes, "avro-backward", new, old)
    _collect_causes(causes, "avro-forward", old, new)
    for column, by_reader in causes.items():
        yield Finding(
            NAME,
            transition.table,
            (column,) if column else (),
            _describe(old, column),
            _describe(new, column),
            f"Avro cannot read {WAYS[tuple(by_reader)]}: {next(iter(by_reader.values()))[0]}",
            dict.fromkeys(by_reader, "break"),
            fixes=(
                "keep the old type and put the new values into a column of another name",
                "or start another subject: a topic of another name, or a level of NONE for this one change",
            ),
            claims=(("type-alias-only", (column,)),),
            evidence=tuple(dict.fromkeys(words for found in by_reader.values() for words in found)),
        )


def keep_unexplained(transition: Transition, finding: Finding, others: Sequence[Finding]) -> Finding | None:
    """Keeps the verdicts of readers for which no other rule breaks at this column, or at all without one.

    A finding at another column that claims this one explains it, as a rename does for the new name.
    """
    claim = (NAME, finding.path)
    near = [f for f in others if f.path[:1] == finding.path[:1] or not finding.path or claim in f.claims]
    unsure = any(
        transition.is_unconfirmed(fact) for fact in ("key", *(f"nullable:{n}" for n in finding.path))
    )
    verdicts = {
        reader: verdict
        for reader, verdict in finding.verdicts.items()
        if not any(f.verdicts.get(reader) == "break" or (unsure and reader in f.verdicts) for f in near)
    }
    if unsure:
        message = f"{finding.message} (not confirmed: {_words.LATER})"
        finding, verdicts = replace(finding, message=message), dict(cap_verdicts("danger", verdicts))
    return replace(finding, verdicts=verdicts) if verdicts else None


WAYS: dict[tuple[Reader, ...], str] = {
    ("avro-backward",): "old data with the new schema",
    ("avro-forward",): "new data with the old schema",
    ("avro-backward", "avro-forward"): "data across the change either way",
}
"""What the readers cannot read, in words."""


def _collect_causes(
    causes: dict[str, dict[Reader, list[str]]], by: Reader, reader: TableSchema, writer: TableSchema
) -> None:
    for cause in list_column_causes(reader, writer):
        readers = causes.setdefault(cause.column or "", {})
        readers.setdefault(by, []).append(f"{cause.part}: {cause.words}")


def _describe(schema: TableSchema, name: str) -> str:
    column = schema.column(name)
    return "absent" if column is None else _words.describe_column(column)


RULE = Rule(
    name=NAME,
    title="rows or keys that Avro cannot read across the change",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    last_resort=keep_unexplained,
    examples=(
        Example("id INT NOT NULL, `a-b` INT", "id INT NOT NULL, a_b STRING", fires=(("a_b",),)),
        Example("id INT NOT NULL, a BIGINT", "id INT NOT NULL, a INT", why="integer-narrowed says why"),
        Example("id INT NOT NULL", "id INT NOT NULL, a INT", why="both ways can be read"),
        Example("id INT, a INT", "", fires=(("a",),), successor="id INT, a STRING"),
        Example("id INT, a INT", "", why="table-recreated says why", successor="id INT, b STRING"),
        Example("a BINARY", "a STRING", why="Avro reads bytes as text and text as bytes"),
    ),
)
