"""Write snapshot files, one per table, as the accepted state in git."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from schemaman.api.files import read_text, write_text
from schemaman.api.settings_files import resolve_path
from schemaman.compat.snapshots import build_file_name, to_text
from schemaman.compat.snapshots import take_snapshot as taken
from schemaman.report.json.answers import WrittenSnapshot, build_snapshots
from schemaman_cli.group import command
from schemaman_cli.library import open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context


@command("snapshot", "schemaman snapshot", "schemaman snapshot orders -o schemas")
@click.argument("tables", nargs=-1, metavar="[TABLE]...", shell_complete=offer("tables"))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Folder of the snapshot files (default: schemas)."
)
@format_option("text", "json")
@with_context
def snapshot(context: CommandContext, tables: tuple[str, ...], output: Path | None, format: str) -> None:
    """Write the newest schema of each TABLE, or of all tables that are not dropped, if it has no file yet.

    Existing files are not changed. To replace one, run schemaman accept TABLE.
    """
    folder = output or resolve_path(context.settings.snapshots)
    written, differing = [], []
    for history in open_registry(context).select(*tables):
        path = folder / build_file_name(history.table)
        text = to_text(taken(history, history.latest))
        if path.exists():
            if read_text(path) != text:
                differing.append(str(history.table))
        elif tables or not history.has_ended:
            write_text(path, text)
            written.append(WrittenSnapshot(history.table, history.latest.number, str(path)))
    context.console.answer(f"{len(written)} written to {folder}", build_snapshots(written, differing))
    if differing:
        context.console.warn(
            f"these tables have changed since their snapshot: {', '.join(differing)}",
            hint=f"schemaman check shows the changes; schemaman accept {quote(differing[0])} accepts them",
        )


COMMAND = snapshot
