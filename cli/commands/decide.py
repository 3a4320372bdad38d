"""Answer a question of the history, in a file for git."""

from __future__ import annotations

import re
from itertools import islice, pairwise

import click

from schemaman.api.files import read_text, write_text
from schemaman.api.settings_files import resolve_path
from schemaman.errors import UsageError
from schemaman.history.decisions import (
    Answer,
    Confirmation,
    Decisions,
    NotRename,
    Rename,
    apply_decisions,
    find_contradiction,
    format_coordinates,
    format_decision,
    list_rename_pairs,
    parse,
)
from schemaman.history.references import TableRef
from schemaman.history.references import parse as parse_reference
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.resolve import select_version
from schemaman_cli.group import command
from schemaman_cli.library import open_registry
from schemaman_cli.options import CommandContext, with_context


@command("decide", "schemaman decide rename orders note remark", "schemaman decide confirm orders key")
@click.argument("answer", type=click.Choice(["rename", "not-rename", "confirm"]))
@click.argument("table")
@click.argument("words", nargs=-1, required=True, metavar="OLD NEW | FACT")
@with_context
def decide(context: CommandContext, answer: str, table: str, words: tuple[str, ...]) -> None:
    """Say that column OLD of TABLE became NEW, that it did not, or that a provisional FACT is true.

    A member of a struct goes by its path, address.street. A FACT is key, nullable:COLUMN or type:COLUMN.
    TABLE may name a version, orders@5; default is where the question arose. The answer is added to
    schemaman.decisions.toml: commit it.
    """
    reference = parse_reference(table)
    if not isinstance(reference, TableRef):
        raise UsageError(f"{table} is no table of the history", hint="schemaman tables lists them")
    registry = open_registry(context)
    history = registry.history(registry.find(reference.name), Decisions())
    version = select_version(history, reference.selector).version if "@" in table else None
    path = resolve_path(context.settings.decisions)
    before = read_text(path) if path.exists() else ""
    known = parse(before, str(path))
    decision = _decision(answer, history, known, version, words)
    if other := find_contradiction(history, known, decision):
        raise _contradiction(str(path), before, known, other)
    if decision in (*known.renames, *known.not_renames, *known.confirmations):
        context.console.inform(f"{path} says so already")
        return
    write_text(path, before + format_decision(decision))
    context.console.inform(f"written to {path}")


def _decision(
    answer: str,
    history: TableHistory,
    known: Decisions,
    version: SchemaVersion | None,
    words: tuple[str, ...],
) -> Answer:
    table = str(history.table)
    if answer == "confirm":
        if len(words) != 1:
            raise UsageError("one fact is confirmed at a time", hint="schemaman decide confirm orders key")
        chosen = _unsure(history, version, words[0])
        return Confirmation(table, words[0], chosen.id, format_coordinates(chosen.at))
    if len(words) != 2:
        raise UsageError(f"{answer} needs two columns", hint=f"schemaman decide {answer} orders note remark")
    old, new = words
    chosen = _replaced(history, known, version, old, new)
    kind = Rename if answer == "rename" else NotRename
    return kind(table, old, new, chosen.id, format_coordinates(chosen.at))


def _replaced(
    history: TableHistory, decisions: Decisions, version: SchemaVersion | None, old: str, new: str
) -> SchemaVersion:
    """The version in which `old` is gone and `new` has come: the one that was named, or the newest.

    Members of what was renamed, a column or another member, went and came as far as that is answered.
    """
    steps = reversed(
        list(pairwise(zip(history.versions, apply_decisions(history, decisions).versions, strict=True)))
    )
    pairs = {
        after.number: (after, list_rename_pairs(before, after) | list_rename_pairs(told_before, told))
        for (before, told_before), (after, told) in steps
    }
    if version is None:
        found = next((v for v, known in pairs.values() if (old, new) in known), None)
        if found is not None:
            return found
        raise UsageError(
            f"in no step of {history.table} did {old} go and {new} come",
            hint=f"schemaman history {history.table} shows the steps",
        )
    _, known = pairs.get(version.number, (version, frozenset()))
    if (old, new) in known:
        return version
    ref = f"{history.table}@{version.number}"
    went, came = (", ".join(sorted(set(names))) for names in zip(*known, strict=True)) if known else ("", "")
    raise UsageError(
        f"in the step to {ref} {old} did not go and {new} come",
        hint=f"there went: {went}; there came: {came}"
        if known
        else "no column was list_rename_pairs in that step",
    )


def _unsure(history: TableHistory, version: SchemaVersion | None, fact: str) -> SchemaVersion:
    """The version of which the fact is provisional: the one that was named, or the newest."""
    asked = history.versions if version is None else (version,)
    found = next((v for v in reversed(asked) if fact in v.unconfirmed), None)
    if found is None:
        facts = dict.fromkeys(f for v in asked for f in v.unconfirmed)
        where = history.table if version is None else f"{history.table}@{version.number}"
        hint = f"provisional are: {', '.join(facts)}" if facts else "all its facts are confirmed"
        raise UsageError(f"{fact} is no provisional fact of {where}", hint=hint)
    return found


def _contradiction(path: str, text: str, known: Decisions, other: Answer) -> UsageError:
    """What to say when the file holds the contrary already, with the line where it begins."""
    renames = isinstance(other, Rename)
    section, entries = ("rename", known.renames) if renames else ("not-rename", known.not_renames)
    number = [e is other for e in entries].index(True)
    headers = re.finditer(rf"^\s*\[\[\s*{section}\s*\]\]", text, re.MULTILINE)
    header = next(islice(headers, number, None), None)
    line = "" if header is None else f"line {text.count(chr(10), 0, header.end()) + 1}, "
    pair = f"{other.old} → {other.new}" if not isinstance(other, Confirmation) else other.fact
    return UsageError(
        f"{path} says the contrary: [[{section}]] {pair}",
        hint=f"to change your mind, remove that answer first: {line}entry {number + 1} of [[{section}]]",
    )


COMMAND = decide
