"""Verify the store, or fold everything again."""

from __future__ import annotations

import click

from schemaman_cli.group import verb
from schemaman_cli.options import Door, door
from schemaman_cli.wiring import open_store


@verb("store", "schemaman store check", "schemaman store rebuild")
@click.argument("action", type=click.Choice(["check", "rebuild"]))
@door
def store(door: Door, action: str) -> int:
    """Check that nothing in the store is damaged, or rebuild what is folded from its log."""
    opened = open_store(door)
    if action == "rebuild":
        opened.rebuild()
        door.console.say("folded again from the log")
    faults = opened.check()
    door.console.write("".join(f"{fault}\n" for fault in faults) or "the store is whole\n")
    return 3 if faults else 0


COMMAND = store
