"""Write snapshot files, one per table, as the accepted state in git."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from schemaman.api.files import read_text, write_text
from schemaman.api.settings_files import resolve_path
from schemaman.compat.snapshots import build_file_name, take_snapshot, to_text
from schemaman.model.shell import build_command
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
        newest = take_snapshot(history, history.latest)
        text = to_text(newest)
        if path.exists():
            # files of earlier releases count no occurrences
            if read_text(path) not in (text, to_text(replace(newest, occurrences=None))):
                differing.append(str(history.table))
        elif tables or not history.has_ended:
            write_text(path, text)
            written.append(WrittenSnapshot(history.table, history.latest.number, str(path)))
    context.console.answer(f"{len(written)} written to {folder}", build_snapshots(written, differing))
    if differing:
        example = build_command(("accept",), differing[:1])
        context.console.warn(
            f"these tables have changed since their snapshot: {', '.join(differing)}",
            hint=f"schemaman check shows the changes; {example} accepts them",
        )


COMMAND = snapshot
