"""Answer an open question of the history in schemaman.decisions.toml."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice, pairwise
from pathlib import Path

import click

from schemaman.api.files import read_text, write_text
from schemaman.api.settings_files import resolve_path
from schemaman.api.workspace import now_ms
from schemaman.errors import UsageError
from schemaman.history.decisions import (
    ENDED,
    Answer,
    Confirmation,
    Decision,
    Decisions,
    NotRename,
    Rename,
    TableRename,
    TypeAcceptance,
    apply_decisions,
    find_contradiction,
    find_table_rename_fault,
    format_coordinates,
    format_decision,
    list_rename_pairs,
    parse,
)
from schemaman.history.references import TableRef
from schemaman.history.references import parse as parse_reference
from schemaman.history.struct_fields import format_path
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.ddl import format_type, parse_type
from schemaman.model.schema import walk_fields
from schemaman.model.shell import quote_word
from schemaman.report.json.answers import build_decision
from schemaman.resolve import select_version
from schemaman_cli.asking import find_user
from schemaman_cli.group import command
from schemaman_cli.library import open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context

_ANSWERS = ("rename", "not-rename", "confirm", "accept-type", "rename-table", "not-rename-table")


@command(
    "decide",
    "schemaman decide rename orders note remark",
    "schemaman decide accept-type orders amount DOUBLE --reason 'reports read it so'",
)
@click.argument("answer", type=click.Choice(_ANSWERS))
@click.argument("table", shell_complete=offer("references"))
@click.argument("words", nargs=-1, required=True, metavar="OLD NEW | FACT | COLUMN TYPE | NEW")
@click.option("--by", metavar="NAME", help="Who accepts a type (default: git's user.email, else login).")
@click.option("--reason", metavar="TEXT", default="", help="Why a type is accepted.")
@format_option("text", "json")
@with_context
def decide(
    context: CommandContext,
    answer: str,
    table: str,
    words: tuple[str, ...],
    by: str | None,
    reason: str,
    **_: object,
) -> None:
    """State that column OLD of TABLE became NEW, that it did not, or that a provisional FACT is true.

    Or accept that lake tables keep TYPE for COLUMN while the source has the type of its newest version: no
    plan changes or refuses it any more, and the sink rounds numbers to a floating-point TYPE.

    Or state that TABLE became the table NEW (rename-table), or that it did not.

    A nested field is named by its path, such as address.street. A FACT is key, nullable:COLUMN or
    type:COLUMN; ended leaves out late rows of a table that was dropped or renamed. TABLE may name a version,
    such as orders@5 (default: the newest version with that question).
    The answer is added to schemaman.decisions.toml. Commit that file.
    """
    reference = _parse_table(table)
    registry = open_registry(context)
    history = registry.history(registry.find(reference.name), Decisions())
    version = select_version(history, reference.selector).version if "@" in table else None
    path = resolve_path(context.settings.decisions)
    before = read_text(path) if path.exists() else ""
    known = parse(before, str(path))
    document = build_decision(answer, history.table, words, str(path), written=True)
    write = partial(_write_decision, context, path, before, document)
    if answer == "accept-type":
        accepted = _make_acceptance(history, version or history.latest, words, by or find_user(), reason)
        write(accepted, _is_accepted(known, accepted))
        return
    if answer in ("rename-table", "not-rename-table"):
        if len(words) != 1:
            raise UsageError(f"{answer} takes one table", hint=f"schemaman decide {answer} orders orders_v2")
        new = str(registry.find(_parse_table(words[0]).name))
        renamed = TableRename(new, str(history.table), is_renamed=answer == "rename-table")
        if replace(renamed, is_renamed=not renamed.is_renamed) in known.table_renames:
            hint = "to change the answer, remove that entry first"
            raise UsageError(f"{path} contains the opposite answer about {words[0]}", hint=hint)
        if fault := find_table_rename_fault((*known.table_renames, renamed)):
            raise UsageError(fault, hint=f"remove the wrong entry from {path} first")
        write(renamed, renamed in known.table_renames)
        return
    decision = _make_decision(answer, history, known, version, words)
    if other := find_contradiction(history, known, decision):
        raise _make_contradiction_error(str(path), before, known, other)
    answers = (*known.renames, *known.not_renames, *known.confirmations)
    write(decision, decision in answers)


def _parse_table(text: str) -> TableRef:
    reference = parse_reference(text)
    if not isinstance(reference, TableRef):
        raise UsageError(f"{text} is not a table of the history", hint="schemaman tables lists them")
    return reference


def _write_decision(
    context: CommandContext,
    path: Path,
    before: str,
    document: dict[str, object],
    decision: Decision,
    is_known: bool,
) -> None:
    if is_known:
        context.console.answer(f"{path} already contains this answer", document | {"written": False})
        return
    write_text(path, before + format_decision(decision))
    context.console.answer(f"written to {path}", document)


def _is_accepted(known: Decisions, decision: TypeAcceptance) -> bool:
    """Whether somebody accepted the same difference before, whoever and whenever it was."""
    same = (replace(a, by=decision.by, on=decision.on, reason=decision.reason) for a in known.accepted_types)
    return decision in same


def _make_acceptance(
    history: TableHistory, version: SchemaVersion, words: tuple[str, ...], by: str, reason: str
) -> TypeAcceptance:
    """Make the decision that a lake keeps a type for a column of a version."""
    if len(words) != 2:
        raise UsageError(
            "accept-type takes a COLUMN and a TYPE", hint="schemaman decide accept-type orders amount DOUBLE"
        )
    column, text = words
    source = {format_path(path): type for path, type, _ in walk_fields(version.schema)}.get(column)
    if source is None:
        names = ", ".join(version.schema.names)
        raise UsageError(f"{history.table}@{version.number} has no column {column}", hint=f"it has {names}")
    lake = format_type(parse_type(text))
    today = datetime.fromtimestamp(now_ms() / 1000, UTC).date()
    at = version.id, format_coordinates(version.at)
    return TypeAcceptance(str(history.table), column, format_type(source), lake, *at, by, today, reason)


def _make_decision(
    answer: str,
    history: TableHistory,
    known: Decisions,
    version: SchemaVersion | None,
    words: tuple[str, ...],
) -> Answer:
    table = str(history.table)
    if answer == "confirm":
        if len(words) != 1:
            raise UsageError("confirm takes one FACT", hint="schemaman decide confirm orders key")
        find = _find_ended_version if words[0] == ENDED else _find_provisional_version
        chosen = find(history, version, words[0])
        return Confirmation(table, words[0], chosen.id, format_coordinates(chosen.at))
    if len(words) != 2:
        raise UsageError(f"{answer} takes two columns", hint=f"schemaman decide {answer} orders note remark")
    old, new = words
    chosen = _find_rename_version(history, known, version, old, new)
    kind = Rename if answer == "rename" else NotRename
    return kind(table, old, new, chosen.id, format_coordinates(chosen.at))


def _find_rename_version(
    history: TableHistory, decisions: Decisions, version: SchemaVersion | None, old: str, new: str
) -> SchemaVersion:
    """Find the version in which `old` disappeared and `new` appeared: the named one, or the newest.

    Fields nested in a renamed column or field count as far as the decisions state that rename.
    """
    steps = reversed(
        list(pairwise(zip(history.versions, apply_decisions(history, decisions).versions, strict=True)))
    )
    pairs = {
        after.number: (after, list_rename_pairs(before, after) | list_rename_pairs(decided_before, decided))
        for (before, decided_before), (after, decided) in steps
    }
    if version is None:
        found = next((v for v, known in pairs.values() if (old, new) in known), None)
        if found is not None:
            return found
        raise UsageError(
            f"no version of {history.table} drops {old} and adds {new}",
            hint=f"schemaman history {quote_word(str(history.table))} shows the versions",
        )
    _, known = pairs.get(version.number, (version, frozenset()))
    if (old, new) in known:
        return version
    ref = f"{history.table}@{version.number}"
    dropped, added = (
        (", ".join(sorted(set(names))) for names in zip(*known, strict=True)) if known else ("", "")
    )
    raise UsageError(
        f"{ref} does not drop {old} and add {new}",
        hint=f"it drops: {dropped}; it adds: {added}" if known else "it does not replace any column",
    )


def _find_provisional_version(
    history: TableHistory, version: SchemaVersion | None, fact: str
) -> SchemaVersion:
    """Find the version with this provisional fact: the named one, or the newest."""
    asked = history.versions if version is None else (version,)
    found = next((v for v in reversed(asked) if fact in v.unconfirmed), None)
    if found is None:
        facts = dict.fromkeys(f for v in asked for f in v.unconfirmed)
        where = history.table if version is None else f"{history.table}@{version.number}"
        hint = f"provisional facts: {', '.join(facts)}" if facts else "all its facts are confirmed"
        raise UsageError(f"{fact} is not a provisional fact of {where}", hint=hint)
    return found


def _find_ended_version(history: TableHistory, version: SchemaVersion | None, _: str) -> SchemaVersion:
    """Find the version of a table that is gone: the named one, or the newest."""
    gone = {e.incarnation for e in history.events if e.kind in ("dropped", "renamed")}
    asked = history.versions if version is None else (version,)
    found = next((v for v in reversed(asked) if v.incarnation in gone), None)
    if found is None:
        where = history.table if version is None else f"{history.table}@{version.number}"
        raise UsageError(
            f"no record says that the table of {where} was dropped or renamed",
            hint=f"schemaman history {quote_word(str(history.table))} shows the versions",
        )
    return found


def _make_contradiction_error(path: str, text: str, known: Decisions, other: Answer) -> UsageError:
    """Make the error for a file that already contains the opposite answer, with its line."""
    renames = isinstance(other, Rename)
    section, entries = ("rename", known.renames) if renames else ("not-rename", known.not_renames)
    number = [e is other for e in entries].index(True)
    headers = re.finditer(rf"^\s*\[\[\s*{section}\s*\]\]", text, re.MULTILINE)
    header = next(islice(headers, number, None), None)
    line = "" if header is None else f"line {text.count(chr(10), 0, header.end()) + 1}, "
    pair = f"{other.old} → {other.new}" if not isinstance(other, Confirmation) else other.fact
    return UsageError(
        f"{path} contains the opposite answer: [[{section}]] {pair}",
        hint=f"to change the answer, remove that entry first: {line}entry {number + 1} of [[{section}]]",
    )


COMMAND = decide
