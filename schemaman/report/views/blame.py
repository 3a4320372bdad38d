"""Who made each fact of a table what it is, for people: a line for what came together."""

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

_HEADER = ("column", "what", "since", "no later than", "position", "record", "said by")
_UNCONFIRMED_SINCE = "told first, unconfirmed"
"""Of what was read later than the rows: the record that told it before anything confirmed it."""


def build_blame_report(
    ref: str, table: TableId, version: SchemaVersion, revision: int, facts: Sequence[Fact]
) -> Report:
    """What `blame TABLE` says: since when each column is as it is, and the key; then the statements."""
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
    """A row for each stage at which something of the column came, and for each place that proves it."""
    whole = next((f for f in facts if f.kind == "column"), None)
    stages: dict[tuple[int, int, bool, Coordinates | None], list[Fact]] = {}
    for fact in facts:
        if whole is None or fact.kind != "column":
            stages.setdefault(_stage_key(fact), []).append(fact)
    if whole is not None:
        stages.setdefault(_stage_key(whole), []).append(whole)
    for place in sorted(stages, key=lambda place: place[:3]):
        told = [w for fact in stages[place] if (w := _describe_fact(fact, whole))]
        if whole is not None and whole in stages[place]:
            told = told or ["added"]
        if told:
            title = Text(column, code=True) if column is not None else Text("(table)", "muted")
            yield (title,), (Text(", ".join(told)),), *_build_origin(stages[place][0], late)


def _stage_key(fact: Fact) -> tuple[int, int, bool, Coordinates | None]:
    return fact.version.number, fact.revision, fact.proven_from != fact.at, fact.proven_from


def _build_origin(fact: Fact, late: bool) -> tuple[Inline, ...]:
    """Where a fact began: no later than the record that proves it, whichever told it before."""
    others = "".join(f", {witness}" for witness, _ in fact.other_evidence)
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
    """The fact in words; nothing for what is as every column begins."""
    new = whole is not None and (fact.version, fact.revision) == (whole.version, whole.revision)
    match fact.kind:
        case "column":
            told = ""
        case "name":
            told = "" if new else "this name"
        case "type":
            told = str(fact.value)
        case "nullable":
            told = "null" if fact.value else "not null"
        case "default":
            plain = fact.value is None or isinstance(fact.value, tuple)
            told = "" if plain and new else f"default {_format_default(fact)}"
        case "comment":
            first = new or (whole is None and fact.revision == 0 and fact.version.number == 1)
            told = "" if fact.value is None and first else f"comment {fact.value!r}"
        case "key":
            told = f"key {words.format_key(fact.value)}" if isinstance(fact.value, tuple) else ""
    return f"{told} (provisional)" if told and fact.is_provisional else told


def _format_default(fact: Fact) -> str:
    return "none" if isinstance(fact.value, tuple) else words.format_default(fact.value)
