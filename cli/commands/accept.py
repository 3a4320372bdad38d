"""Accept the state of tables: their snapshot files are written anew."""

from __future__ import annotations

from pathlib import Path

import click

from schemaman.compat.snapshots import build_file_name, take_snapshot, to_text
from schemaman.errors import BadReference
from schemaman.history.references import TableRef, parse
from schemaman.resolve import select_version
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door
from schemaman_cli.wiring import find, open_registry, write_file


@verb("accept", "schemaman accept orders", "schemaman accept orders@3 customers")
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The folder; default schemas.")
@door
def accept(door: Door, tables: tuple[str, ...], output: Path | None) -> None:
    """Write the snapshot of each TABLE, as it is now or at the version that a REF names; commit it then."""
    folder = output or door.path(door.settings.snapshots)
    registry = open_registry(door)
    for text in tables:
        reference = parse(text)
        if not isinstance(reference, TableRef):
            raise BadReference(f"{text} is no table of the history", hint="schemaman accept orders@3")
        history = find(door, registry, str(reference.name))
        found = select_version(history, reference.selector)
        version = found.version or history.latest
        path = folder / build_file_name(history.table)
        write_file(path, to_text(take_snapshot(history, version, found.revision)))
        door.console.say(f"{history.table}@{version.number} written to {path}")


COMMAND = accept
