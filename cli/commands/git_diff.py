"""Show the changes of a schema file with their findings (a diff driver of git)."""

from __future__ import annotations

import click

from schemaman.api.schema_texts import build_file_diff, read_file_text
from schemaman.model.printable import escape_commands, escape_invisible
from schemaman.report.document import Report
from schemaman.report.json.answers import build_lines
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace
from schemaman_cli.options import CommandContext, format_option, with_context


@command(
    "git-diff",
    "schemaman git-diff orders.avsc old.avsc a1b2c3 100644 new.avsc d4e5f6 100644",
    "schemaman git-diff orders.avsc /dev/null . . orders.avsc d4e5f6 100644",
)
@click.argument("path", metavar="PATH")
@click.argument("versions", nargs=-1, metavar="[OLD HEX MODE NEW HEX MODE]...")
@format_option("text", "json")
@with_context
def git_diff(context: CommandContext, path: str, versions: tuple[str, ...], format: str) -> None:
    """Show the changes of the schema file PATH from OLD to NEW. Git itself gives the arguments.

    Write `schemas/*.json diff=schemaman` into .gitattributes, and run
    `git config diff.schemaman.command "schemaman git-diff"`: git diff then shows changes in words, and the
    readers that they break. A file without a schema is compared line by line. The exit code is 0.
    """
    text = _show_changes(context, path, versions)
    if format == "json":
        context.console.show(Report("", (), build_lines(path, text.splitlines())), format)
    else:
        context.console.write(text)


def _show_changes(context: CommandContext, path: str, versions: tuple[str, ...]) -> str:
    """Return the changes as text; git gives no versions of a file that is not merged."""
    if len(versions) < 6:
        return f"{escape_invisible(path)}: not merged\n"
    old, new = read_file_text(versions[0]), read_file_text(versions[3])
    shown = build_file_diff(make_workspace(context), path, old, new)
    if isinstance(shown, Report):
        return context.console.render(shown, "text")
    return escape_commands(escape_invisible(shown, lines=True))


COMMAND = git_diff
