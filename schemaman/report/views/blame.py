"""Builds the report of `blame`: the origin of each fact of a table, one line for facts of one origin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from schemaman.debezium.records import Coordinates
from schemaman.history.blame import Fact
from schemaman.history.versions import SchemaVersion
from schemaman.model.schema import TableId
from schemaman.report.document import Block, FactsBlock, Grid, Inline, Report, Text
from schemaman.report.json import blame as documents
from schemaman.report.views import words

_HEADER = ("column", "what", "since", "no later than", "position", "record", "evidence")
_UNCONFIRMED_SINCE = "first shown, unconfirmed"
"""Header of a column with the first record of a fact that was read later than the rows."""


def build_blame_report(
    ref: str, table: TableId, version: SchemaVersion, revision: int, facts: Sequence[Fact]
) -> Report:
    """Builds the report: since when each column and the key have their facts; then the statements."""
    rows: list[tuple[Inline, ...]] = []
    late = any(fact.proven_from != fact.at for fact in facts)
    for column, mine in groupby(facts, key=lambda f: f.column):
        rows += _build_rows(column, tuple(mine), late)
    header = (*_HEADER, *((_UNCONFIRMED_SINCE,) if late else ()))
    blocks: list[Block] = [Grid(f"{ref}, id {version.id}, {version.status}", header, tuple(rows))]
    statements = {
        f"v{words.format_version(f.version, f.revision)}": (Text(" ".join(f.statement.split()), code=True),)
        for f in sorted(facts, key=lambda f: (f.version.number, f.revision))
        if f.statement
    }
    if statements:
        blocks.append(FactsBlock(tuple(statements.items())))
    data = documents.build_blame(ref, table, version, revision, facts)
    return Report(ref, tuple(blocks), dict(data))


def _build_rows(column: str | None, facts: Sequence[Fact], late: bool) -> Iterable[tuple[Inline, ...]]:
    """Builds a row for each stage with facts of the column, and for each record that proves them."""
    whole = next((f for f in facts if f.kind == "column"), None)
    stages: dict[tuple[int, int, bool, Coordinates | None], list[Fact]] = {}
    for fact in facts:
        if whole is None or fact.kind != "column":
            stages.setdefault(_stage_key(fact), []).append(fact)
    if whole is not None:
        stages.setdefault(_stage_key(whole), []).append(whole)
    for stage_id in sorted(stages, key=lambda stage_id: stage_id[:3]):
        descriptions = [w for fact in stages[stage_id] if (w := _describe_fact(fact, whole))]
        if whole is not None and whole in stages[stage_id]:
            descriptions = descriptions or ["added"]
        if descriptions:
            title = Text(column, code=True) if column is not None else Text("(table)", "muted")
            yield (title,), (Text(", ".join(descriptions)),), *_build_origin(stages[stage_id][0], late)


def _stage_key(fact: Fact) -> tuple[int, int, bool, Coordinates | None]:
    return fact.version.number, fact.revision, fact.proven_from != fact.at, fact.proven_from


def _build_origin(fact: Fact, late: bool) -> tuple[Inline, ...]:
    """Builds the origin of a fact: no later than the record that proves it."""
    others = "".join(f", {kind}" for kind, _ in fact.other_evidence)
    known = fact.proven_from
    first = "" if known == fact.at else f"{words.format_coordinates(fact.at)} · {_format_record(fact.at)}"
    return (
        (Text(f"v{words.format_version(fact.version, fact.revision)}"),),
        (Text("not confirmed" if known is None else words.format_time(known.ts_ms)),),
        (Text("" if known is None else words.format_position(known.position) or "—"),),
        (Text("" if known is None else _format_record(known), code=True),),
        (Text(f"{fact.evidence or '—'}{others}"),),
        *(((Text(first),),) if late else ()),
    )


def _format_record(at: Coordinates) -> str:
    return f"{at.topic}[{at.partition}]@{at.offset}"


def _describe_fact(fact: Fact, whole: Fact | None) -> str:
    """Describes a fact; empty for the usual facts of a new column."""
    new = whole is not None and (fact.version, fact.revision) == (whole.version, whole.revision)
    match fact.kind:
        case "column":
            text = ""
        case "name":
            text = "" if new else "this name"
        case "type":
            text = str(fact.value)
        case "nullable":
            text = "null" if fact.value else "not null"
        case "default":
            plain = fact.value is None or isinstance(fact.value, tuple)
            text = "" if plain and new else f"default {_format_default(fact)}"
        case "comment":
            first = new or (whole is None and fact.revision == 0 and fact.version.number == 1)
            text = "" if fact.value is None and first else f"comment {fact.value!r}"
        case "key":
            text = f"key {words.format_key(fact.value)}" if isinstance(fact.value, tuple) else ""
    return f"{text} (provisional)" if text and fact.is_provisional else text


def _format_default(fact: Fact) -> str:
    return "none" if isinstance(fact.value, tuple) else words.format_default(fact.value)
