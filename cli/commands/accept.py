"""Accept the current schema of tables: rewrite their snapshot files."""

from __future__ import annotations

from pathlib import Path

import click

from schemaman.api.files import write_text
from schemaman.api.settings_files import resolve_path
from schemaman.compat.snapshots import build_file_name, take_snapshot, to_text
from schemaman.errors import BadReference
from schemaman.history.references import TableRef, parse
from schemaman.report.json.answers import WrittenSnapshot, build_snapshots
from schemaman.resolve import select_version
from schemaman_cli.group import command
from schemaman_cli.library import open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context


@command("accept", "schemaman accept orders", "schemaman accept orders@3 customers")
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...", shell_complete=offer("references"))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Folder of the snapshot files (default: schemas)."
)
@format_option("text", "json")
@with_context
def accept(context: CommandContext, tables: tuple[str, ...], output: Path | None, format: str) -> None:
    """Write the snapshot file of each TABLE: its newest version, or the version that a REF names.

    Commit the file afterwards.
    """
    folder = output or resolve_path(context.settings.snapshots)
    registry = open_registry(context)
    written = []
    for text in tables:
        reference = parse(text)
        if not isinstance(reference, TableRef):
            raise BadReference(f"{text} is not a table of the history", hint="schemaman accept orders@3")
        history = registry.history(registry.find(reference.name))
        found = select_version(history, reference.selector)
        version = found.version or history.latest
        path = folder / build_file_name(history.table)
        write_text(path, to_text(take_snapshot(history, version, found.revision)))
        written.append(WrittenSnapshot(history.table, version.number, str(path)))
    lines = "\n".join(f"{one.table}@{one.version} written to {one.file}" for one in written)
    context.console.answer(lines, build_snapshots(written))


COMMAND = accept
