"""Names: original and emitted ones, the rule between them, collisions now and predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schemaman import names
from schemaman.documents.tables import SCHEMA_VERSION
from schemaman.names import Mode
from schemaman.report import Block, Grid, Heading, Inline, Notice, Paragraph, Report, Text
from schemaman.schema import Column
from schemaman.versions import TableHistory

MODES: tuple[Mode, ...] = ("avro", "avro_unicode", "scrubbed")


@dataclass(frozen=True, slots=True)
class Collision:
    """Names that become one: `emitted`, in a mode of the connector; `now` if events show it already."""

    mode: str
    emitted: str
    names: tuple[str, ...]
    now: bool


def names_report(histories: Sequence[TableHistory], *, whole: bool) -> Report:
    """What `names` says; only what differs or collides, unless `whole`."""
    blocks: list[Block] = []
    for history in histories:
        schema = history.latest.schema
        shown = [c for c in schema.columns if whole or c.emitted_name not in (None, c.name)]
        found = collisions(schema.columns)
        if shown or found:
            blocks.append(Heading(str(history.table), 3))
        if shown:
            rows = tuple(_row(column) for column in shown)
            blocks.append(Grid("", ("column", "on the wire", "by the rule"), rows))
        blocks += [_notice(c) for c in found]
    blocks += [_notice(c) for c in topic_collisions(histories)]
    if not blocks:
        told = "every column travels under its own name, and nothing collides"
        blocks.append(Paragraph((Text(told, "good"),)))
    return Report("Names", tuple(blocks), _document(histories))


def rule_of(column: Column) -> str | None:
    """What made the emitted name: `none`, a mode, `misread`, or `other`; None where no event showed it."""
    emitted = column.emitted_name
    if emitted is None:
        return None
    if emitted == column.name:
        return "none"
    found = (mode for mode in MODES if names.adjust_field(column.name, mode) == emitted)
    fallback = "misread" if names.misread(column.name) == emitted else "other"
    return next(found, fallback)


def collisions(columns: Sequence[Column]) -> tuple[Collision, ...]:
    """Columns of one table that share an emitted name now, or would in a mode of the connector."""
    shared: dict[str, list[str]] = {}
    for column in columns:
        if column.emitted_name is not None:
            shared.setdefault(column.emitted_name, []).append(column.name)
    found = [Collision("none", wire, tuple(own), True) for wire, own in shared.items() if len(own) > 1]
    for mode in MODES:
        for group in names.collisions((c.name for c in columns), mode):
            found.append(Collision(mode, names.adjust_field(group[0], mode), group, False))
    return tuple(found)


def topic_collisions(histories: Sequence[TableHistory]) -> tuple[Collision, ...]:
    """Tables whose records share a topic now, or whose names make one topic."""
    told: dict[str, list[str]] = {}
    made: dict[str, list[str]] = {}
    for history in histories:
        table = history.table
        for alias in history.aliases:
            if alias.kind == "topic" and alias.until is None:
                told.setdefault(f"{table.stream}:{alias.name}", []).append(str(table))
        topic = names.topic(table.server, table.schema or table.database, table.table)
        made.setdefault(f"{table.stream}:{topic}", []).append(str(table))
    found = [Collision("topic", topic, tuple(own), True) for topic, own in told.items() if len(set(own)) > 1]
    known = {c.names for c in found}
    for topic, own in made.items():
        if len(set(own)) > 1 and tuple(own) not in known:
            found.append(Collision("topic", topic, tuple(own), False))
    return tuple(found)


def _row(column: Column) -> tuple[Inline, ...]:
    wire = column.emitted_name
    return (
        (Text(column.name, code=True),),
        (Text(wire, code=True),) if wire is not None else (Text("not seen", "muted"),),
        (Text(rule_of(column) or "—", "muted"),),
    )


def _notice(found: Collision) -> Notice:
    listed = ", ".join(found.names)
    if found.mode == "topic":
        verb = "share" if found.now else "would share"
        message = f"{listed} {verb} the topic {found.emitted.partition(':')[2]}."
    elif found.now:
        message = f"{listed} travel as one field, {found.emitted}."
    else:
        message = f"{listed} would become one field, {found.emitted}, in mode {found.mode}."
    if found.now:
        return Notice("names collide", "break", "", message)
    return Notice("names would collide", "note", "", message)


def _document(histories: Sequence[TableHistory]) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "tables": [
            {
                "table": str(h.table),
                "topics": [a.name for a in h.aliases if a.kind == "topic"],
                "columns": [
                    {"name": c.name, "emitted_name": c.emitted_name, "rule": rule_of(c)}
                    for c in h.latest.schema.columns
                ],
                "collisions": [_collision(c) for c in collisions(h.latest.schema.columns)],
            }
            for h in histories
        ],
        "topic_collisions": [_collision(c) for c in topic_collisions(histories)],
    }


def _collision(found: Collision) -> dict[str, object]:
    return {"mode": found.mode, "emitted": found.emitted, "names": list(found.names), "now": found.now}
