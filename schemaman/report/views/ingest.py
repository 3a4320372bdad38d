"""Builds the report of an ingest, with its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemaman.debezium.observation import Reject
from schemaman.ingest.summary import NO_PARTITION, Summary
from schemaman.report.document import Block, FactsBlock, Grid, Inline, Notice, Paragraph, Report, Text
from schemaman.report.json import ingest as documents
from schemaman.report.views import numbers
from schemaman.store.log import VersionMove

_SKIPPED_NAMES = {
    "tombstone": "tombstone", "heartbeat": "heartbeat", "transaction": "transaction marker",
    "signal": "signal", "truncate": "truncate event", "outbox": "outbox message",
}  # fmt: skip

_SHOWN_SHIFTS = 5
"""The largest number of renumbered versions that a notice names for one table."""


def build_ingest_report(
    done: Summary, *, stream: str, engine: str, sources: Sequence[str], tables: Mapping[str, int]
) -> Report:
    """Build the report of `ingest`; `tables` maps each table of the records to its number of versions."""
    skipped = ", ".join(numbers.format_count(n, _SKIPPED_NAMES.get(kind, kind)) for kind, n in done.skipped)
    read = f"{numbers.format_count(done.read, 'record')}, {numbers.format_number(done.new)} of them new"
    rows: list[tuple[str, Inline]] = [("read", (Text(read),))]
    if done.unchanged_files:
        files = numbers.format_count(done.unchanged_files, "file")
        since = numbers.format_time(done.unchanged_since_ms)
        rows.append(("unchanged", (Text(f"{files} since {since}: not read again, their records are known"),)))
    if skipped:
        rows.append(("skipped", (Text(f"{skipped}: no facts about a table"),)))
    if done.rejects:
        rows.append(
            ("rejected", (Text(f"{numbers.format_count(done.rejects, 'record')} not decoded", "danger"),))
        )
    if done.notes:
        noted = f"{numbers.format_count(done.notes, 'note')} about records: schemaman rejects"
        rows.append(("notes", (Text(noted, "note"),)))
    blocks: list[Block] = [FactsBlock(tuple(rows))]
    blocks += [Notice("reject", "danger", _format_record(r), r.reason) for r in done.first_rejects]
    for shift in done.shifts:
        moves = ", ".join(_describe_shift(one) for one in shift.moves[:_SHOWN_SHIFTS])
        more = len(shift.moves) - _SHOWN_SHIFTS
        moves += f" and {numbers.format_count(more, 'more version')}" if more > 0 else ""
        blocks.append(Notice("renumbered", "note", str(shift.table), f"{moves}; ids do not change"))
    if tables:
        lines = tuple(((Text(name, code=True),), (Text(str(count)),)) for name, count in tables.items())
        caption = (
            f"{numbers.format_count(len(lines), 'table')} with records in stream {stream}, engine {engine}"
        )
        blocks.append(Grid(caption, ("table", "versions"), lines))
    elif not done.new:
        blocks.append(Paragraph((Text("no new records: the history is unchanged", "muted"),)))
    data = documents.build_ingest(
        stream=stream,
        engine=engine,
        sources=sources,
        read=done.read,
        new=done.new,
        known=done.known,
        skipped=dict(done.skipped),
        rejects=done.rejects,
        notes=done.notes,
        shifts=done.shifts,
        unchanged={
            "files": done.unchanged_files,
            "since_ms": done.unchanged_since_ms if done.unchanged_files else None,
        },
        tables=tables,
    )
    return Report("Ingest", tuple(blocks), dict(data))


def _describe_shift(one: VersionMove) -> str:
    if one.now is None:
        return f"version {one.was} ({one.id}) was removed"
    return f"version {one.was} is now version {one.now}"


def _format_record(reject: Reject) -> str:
    if reject.partition == NO_PARTITION:
        return f"{reject.topic}, line {reject.offset}"
    return f"{reject.topic}[{reject.partition}]@{reject.offset}"
