"""Judges what the statements of migrations propose, each finding at the statement that causes it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

from schemaman.compat.counterexample import add_counterexamples
from schemaman.compat.judge import RULES, Finding, StepFact, Transition, judge_transition
from schemaman.debezium.ddl.migrations.known_tables import HoldBack, KnownTable, ScriptPlace, UnreadStatement
from schemaman.debezium.ddl.migrations.statement_applier import StatementApplier
from schemaman.debezium.records import Coordinates
from schemaman.history.rename_detection import find_rename_candidates
from schemaman.history.versions import TableEvent
from schemaman.model.diff import diff
from schemaman.model.schema import TableId
from schemaman.store.snapshot_text import remove_ids

_NOWHERE = Coordinates("", 0, 0)


def judge_proposal(applier: StatementApplier, base: str) -> tuple[Finding, ...]:
    """Judge the tables after all statements against those before them; `base` names the accepted state.

    A finding has the place of the last statement about its column, its key or its table. Statements that were
    not read come last.
    """
    rules = RULES.load_all()
    found: list[Finding] = []
    for table, transition in _list_transitions(applier, base):
        for finding in add_counterexamples(transition, judge_transition(transition, rules)):
            place = find_place(table, transition, finding)
            found.append(
                replace(finding, file=place.file, line=place.line, new_ref=f"{place.file}:{place.line}")
            )
    return (*found, *(_judge_unread(unread) for unread in applier.unread))


def judge_schemas(
    old: StatementApplier, new: StatementApplier, names: tuple[str, str]
) -> tuple[Finding, ...]:
    """Judge the tables that one script creates against those that an earlier one creates.

    `names` are those of both scripts, the earlier first. A statement that neither read is not told again.
    """
    rules = RULES.load_all()
    before = {table.id: table for table in old.tables.values()}
    after = {table.id: table for table in new.tables.values()}
    found: list[Finding] = []
    for id in sorted({*before, *after}):
        table = after.get(id)
        was = remove_ids(before[id].schema) if id in before else None
        now = remove_ids(table.schema) if table is not None else None
        if was == now:
            continue
        transition = Transition(id, was, now, old_ref=names[0])
        if was is not None and now is not None:
            suspects = find_rename_candidates(was, now, append_only=False)
            transition = replace(transition, changes=diff(was, now), candidates=suspects)
        for finding in add_counterexamples(transition, judge_transition(transition, rules)):
            named = transition if table is None else replace(transition, new=table.schema)
            place = ScriptPlace(names[1], 1) if table is None else find_place(table, named, finding)
            found.append(replace(finding, file=names[1], line=place.line, new_ref=names[1]))
    known = {unread.text for unread in old.unread}
    return (*found, *(_judge_unread(unread) for unread in new.unread if unread.text not in known))


def count_changed(applier: StatementApplier) -> int:
    """Count the tables that the statements change."""
    return len([1 for _ in _list_transitions(applier, "")])


def find_place(table: KnownTable, transition: Transition, finding: Finding) -> ScriptPlace:
    """Find the statement that causes a finding."""
    if finding.path:
        ids = [
            column.id
            for schema in (transition.new, transition.old)
            if schema is not None and (column := schema.column(finding.path[0])) is not None
        ]
        places = [table.places[id] for id in ids if id is not None and id in table.places]
        if table.key_place is not None and (finding.rule.startswith("key-") or not places):
            return table.key_place
        if places:
            return places[0]
    place = table.key_place if finding.rule.startswith("key-") else None
    if finding.rule == "table-truncated":
        place = table.truncated
    if finding.rule == "capture-stopped" and table.held_back is not None:
        place = table.held_back.place
    return place or table.place or ScriptPlace("", 0)


def _list_transitions(applier: StatementApplier, base: str) -> Iterator[tuple[KnownTable, Transition]]:
    names = {table.id: remove_ids(table.schema) for table in applier.tables.values()}
    for gone in applier.dropped:
        table = replace(gone.table, place=gone.place, places={}, key_place=None)
        again = next((t for t in applier.tables.values() if t.id == gone.table.accepted_id), None)
        id = gone.table.accepted_id or gone.table.id
        yield (
            table,
            Transition(
                id,
                gone.table.accepted,
                None,
                old_ref=base,
                successor=remove_ids(again.schema) if again else None,
            ),
        )
    for table in applier.tables.values():
        if table.accepted is None:
            yield table, Transition(table.id, None, remove_ids(table.schema), old_ref=base)
            continue
        if table.accepted_id is not None and table.accepted_id != table.id:
            event = TableEvent("renamed", _NOWHERE, 1, table.id)
            yield table, Transition(
                table.accepted_id, table.accepted, None, event=event, old_ref=base,
                successor=names.get(table.accepted_id),
            )  # fmt: skip
        if table.schema != table.accepted or table.truncated is not None or table.held_back is not None:
            changes = diff(table.accepted, table.schema)
            suspects = find_rename_candidates(table.accepted, table.schema, append_only=False)
            facts = [StepFact("truncated")] if table.truncated is not None else []
            facts += [_describe_hold_back(table.held_back)] if table.held_back is not None else []
            yield (
                table,
                Transition(
                    table.id,
                    table.accepted,
                    table.schema,
                    changes,
                    suspects,
                    old_ref=base,
                    facts=tuple(facts),
                ),
            )


def _describe_hold_back(held_back: HoldBack) -> StepFact:
    """Describe a statement about a publication as one cause of all its tables."""
    name = held_back.publication
    before = f"{held_back.words} of {name}" if name else held_back.words
    after = "" if held_back.is_certain else f"another publication has it, or {name} never had it"
    return StepFact("held-back", before, after, scope=f"{held_back.place.file} {before}" if name else "")


def _judge_unread(unread: UnreadStatement) -> Finding:
    stem = unread.place.file.rpartition("/")[2].partition(".")[0]
    table = unread.table or TableId("", "", "", stem or "migration")
    beginning = unread.beginning
    if beginning.endswith("…"):  # equal beginnings of two statements are two findings
        beginning += f" ({hashlib.sha256(unread.text.encode('utf-8', 'replace')).hexdigest()[:8]})"
    transition = Transition(table, None, None, unread_statements=((beginning, unread.reason),))
    (finding,) = RULES.get("statement-not-read").check(transition)
    place = unread.place
    return replace(finding, file=place.file, line=place.line, new_ref=f"{place.file}:{place.line}")


def list_tables(applier: StatementApplier) -> tuple[TableId, ...]:
    """List the ids of the tables that were judged, sorted."""
    ids: Iterable[TableId] = (t.accepted_id or t.id for t in applier.tables.values())
    return tuple(sorted({*ids, *(d.table.accepted_id or d.table.id for d in applier.dropped)}))
