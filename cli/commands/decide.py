"""Answer a question of the history, in a file for git."""

from __future__ import annotations

import click

from schemaman.decisions import Confirmation, Decision, NotRename, Rename, to_text
from schemaman.errors import UsageError
from schemaman.references import TableRef, parse
from schemaman.resolution import select
from schemaman.versions import SchemaVersion, TableHistory
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door
from schemaman_cli.wiring import in_stream, open_registry, read_file, write_file


@verb("decide", "schemaman decide rename orders note remark", "schemaman decide confirm orders key")
@click.argument("answer", type=click.Choice(["rename", "not-rename", "confirm"]))
@click.argument("table")
@click.argument("words", nargs=-1, required=True, metavar="OLD NEW | FACT")
@door
def decide(door: Door, answer: str, table: str, words: tuple[str, ...]) -> None:
    """Say that column OLD of TABLE became NEW, that it did not, or that a provisional FACT is true.

    A FACT is key or nullable:COLUMN. TABLE may name a version, orders@5; default is where the question arose.
    The answer is added to schemaman.decisions.toml: commit it.
    """
    reference = parse(table)
    if not isinstance(reference, TableRef):
        raise UsageError(f"{table} is no table of the history", hint="schemaman tables lists them")
    registry = open_registry(door)
    history = registry.history(registry.find(in_stream(door, reference.name)))
    version = select(history, reference.selector).version if "@" in table else None
    decision = _decision(answer, history, version, words)
    path = door.path(door.settings.decisions)
    before = read_file(str(path)) if path.exists() else ""
    write_file(path, before + to_text(decision))
    door.console.say(f"written to {path}")


def _decision(
    answer: str, history: TableHistory, version: SchemaVersion | None, words: tuple[str, ...]
) -> Decision:
    table = str(history.table)
    if answer == "confirm":
        if len(words) != 1:
            raise UsageError("one fact is confirmed at a time", hint="schemaman decide confirm orders key")
        chosen = version or _unsure(history, words[0])
        return Confirmation(table, words[0], chosen.id)
    if len(words) != 2:
        raise UsageError(f"{answer} needs two columns", hint=f"schemaman decide {answer} orders note remark")
    old, new = words
    at = (version or _replaced(history, old, new)).id
    return Rename(table, old, new, at) if answer == "rename" else NotRename(table, old, new, at)


def _replaced(history: TableHistory, old: str, new: str) -> SchemaVersion:
    """The newest version in which `old` is gone and `new` has come."""
    for before, version in zip(history.versions[-2::-1], history.versions[:0:-1], strict=True):
        was, now = before.schema, version.schema
        if was.column(old) and not now.column(old) and now.column(new) and not was.column(new):
            return version
    raise UsageError(
        f"in no step of {history.table} did {old} go and {new} come",
        hint=f"schemaman history {history.table} shows the steps",
    )


def _unsure(history: TableHistory, fact: str) -> SchemaVersion:
    """The newest version of which the fact is provisional."""
    found = next((v for v in reversed(history.versions) if fact in v.unconfirmed), None)
    if found is None:
        facts = dict.fromkeys(f for v in history.versions for f in v.unconfirmed)
        hint = f"provisional are: {', '.join(facts)}" if facts else "all its facts are confirmed"
        raise UsageError(f"{fact} is no provisional fact of {history.table}", hint=hint)
    return found


COMMAND = decide
