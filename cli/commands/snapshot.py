"""Write the accepted state of tables, one file each, for git."""

from __future__ import annotations

from pathlib import Path

import click

from schemaman.compat.snapshots import build_file_name, to_text
from schemaman.compat.snapshots import take_snapshot as taken
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door
from schemaman_cli.wiring import histories, open_registry, read_file, write_file


@verb("snapshot", "schemaman snapshot", "schemaman snapshot orders -o schemas")
@click.argument("tables", nargs=-1, metavar="[TABLE]...")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The folder; default schemas.")
@door
def snapshot(door: Door, tables: tuple[str, ...], output: Path | None) -> None:
    """Write the newest structure of each TABLE, or of all that are not dropped, where there is no file yet.

    A file that says something else is left as it is: schemaman accept TABLE writes it anew.
    """
    folder = output or door.path(door.settings.snapshots)
    written, differing = 0, []
    for history in histories(door, open_registry(door), tables):
        path = folder / build_file_name(history.table)
        text = to_text(taken(history, history.latest))
        if path.exists():
            if read_file(str(path)) != text:
                differing.append(str(history.table))
        elif tables or not history.has_ended:
            write_file(path, text)
            written += 1
    door.console.say(f"{written} written to {folder}")
    if differing:
        door.console.warn(
            f"changed since they were accepted: {', '.join(differing)}",
            hint=f"schemaman check says how; schemaman accept {differing[0]} accepts it",
        )


COMMAND = snapshot
