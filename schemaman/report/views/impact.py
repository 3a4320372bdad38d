"""Builds the report of `impact`, and the lines about consumers in a finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from schemaman.compat.affected_consumers import AffectedConsumer
from schemaman.compat.impact.graph import ConsumerUse, ImpactGraph, Unread
from schemaman.compat.impact.impact import Impact
from schemaman.report.document import Block, Grid, Heading, Inline, Notice, Paragraph, Report, Text
from schemaman.report.json import impact as documents
from schemaman.report.views import words

_SHOWN_USES = 5
"""The largest number of statements of one consumer that a finding lists."""

_HEADER = ("hops", "consumer", "what it does", "where", "through", "owner")


def build_impact_report(found: Impact) -> Report:
    """Build the report: who depends on the column, what could not be read, and how much was read."""
    name = ".".join((str(found.table), *found.path))
    blocks: list[Block] = [Heading(f"Impact of {name}", 1), Paragraph(_build_lead(found))]
    rows = [_build_row(use) for use in found.uses]
    named = {use.consumer for use in found.uses}
    rows += [
        (
            (Text("1"),),
            (Text(c.name),),
            (Text("declared"),),
            (Text(f"[consumers.{c.name}]", code=True),),
            (Text("—", "muted"),),
            (Text(_format_owner(c.owner, c.contact)),),
        )
        for c in found.declared
        if c.name not in named
    ]
    if rows:
        blocks.append(Grid("Who depends on it, the nearest first", _HEADER, tuple(rows)))
    blocks += (_build_unread_notice(one) for one in found.unread)
    blocks.append(Paragraph((Text(_describe_coverage(found), "muted"),)))
    return Report(f"Impact of {name}", tuple(blocks), dict(documents.build_impact(found)))


def build_affected_facts(affected: Iterable[AffectedConsumer]) -> Iterator[tuple[str, Inline]]:
    """Build a line for each consumer that a finding concerns: verdict, what it does, owner."""
    for one in affected:
        consumer = one.consumer
        remark = "" if one.is_certain else ": a statement that names the table could not be read"
        owner = _format_owner(consumer.owner, consumer.contact)
        text = f"{consumer.name} ({consumer.kind}) {one.verdict}{remark}"
        yield "consumer", (Text(f"{text} · {owner}" if owner else text),)
        for use in one.uses[:_SHOWN_USES]:
            yield "reads", (Text(_describe_use(use, with_owner=use.owner != consumer.owner)),)
        if (more := len(one.uses) - _SHOWN_USES) > 0:
            yield "reads", (Text(f"and {words.format_count(more, 'more statement')}"),)


def build_coverage_line(graph: ImpactGraph) -> Inline:
    """Say in `check` how much of the SQL of the consumers was read."""
    coverage = graph.coverage
    read = words.format_count(coverage.statements, "statement")
    text = f"SQL of consumers: {read} read, {coverage.unread} not read, {coverage.unresolved} not resolved"
    advice = "; schemaman impact TABLE lists them" if graph.unread else ""
    return (Text(text, "danger" if graph.unread else "muted"), Text(advice, "muted"))


def _build_lead(found: Impact) -> Inline:
    """Say who depends on it; `none known` is not `none`."""
    if not found.consumers:
        return (Text("No consumer is declared: write [consumers.NAME] in schemaman.toml"),)
    if found.names:
        listed = ", ".join(found.names)
        count = words.format_count(len(found.names), "consumer")
        return (Text(f"{count} of {found.consumers} declared: {listed}", "break"),)
    if found.unread:
        texts = words.format_count(len(found.unread), "text")
        return (Text(f"No reader is known, but {texts} that may read it could not be read", "danger"),)
    return (Text("No declared consumer reads it", "good"),)


def _build_row(use: ConsumerUse) -> tuple[Inline, ...]:
    through = (Text(" → ".join(use.through), code=True),) if use.through else (Text("—", "muted"),)
    return (
        (Text(str(use.hops)),),
        (Text(use.consumer),),
        (Text(", ".join(use.roles) or "names the table"),),
        (Text(_format_place(use.file, use.line, use.name), code=True),),
        through,
        (Text(_format_owner(use.owner, use.contact)),),
    )


def _build_unread_notice(one: Unread) -> Notice:
    place = _format_place(one.place.file, one.place.line, one.place.name)
    facts: list[tuple[str, Inline]] = [("consumer", (Text(one.place.consumer),))]
    if owner := _format_owner(one.place.owner, one.place.contact):
        facts.append(("owner", (Text(owner),)))
    title = "not read" if one.is_whole else "not resolved"
    return Notice(title, words.SEVERITY_TONES["danger"], place, one.reason, tuple(facts))


def _describe_use(use: ConsumerUse, *, with_owner: bool) -> str:
    parts = [", ".join(use.roles) or "names the table", f"in {_format_place(use.file, use.line, use.name)}"]
    if use.through:
        parts.append(f"through {' → '.join(use.through)}, {use.hops} hops")
    owner = _format_owner(use.owner, use.contact)
    return " ".join(parts) + (f" · {owner}" if with_owner and owner else "")


def _describe_coverage(found: Impact) -> str:
    coverage = found.coverage
    statements = words.format_count(coverage.statements, "statement")
    columns = words.format_count(coverage.columns, "reference") + " to columns"
    missed = f"{coverage.unread} not read; {coverage.unresolved} not resolved"
    text = f"read: {statements} of {coverage.statements + coverage.unread}, {columns}; {missed}"
    return f"{text}; {found.elsewhere} of these do not name it" if found.elsewhere else text


def _format_place(file: str, line: int, name: str) -> str:
    place = f"{file}:{line}"
    return f"{place} ({name})" if name else place


def _format_owner(owner: str, contact: str) -> str:
    if owner and contact:
        return f"{owner} <{contact}>"
    return owner or contact
