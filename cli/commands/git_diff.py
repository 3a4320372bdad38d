"""Show the changes of a schema file with their findings (a diff driver of git)."""

from __future__ import annotations

import click

from schemaman.api.schema_texts import build_file_diff, read_file_text
from schemaman.model.printable import escape_commands, escape_invisible
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace
from schemaman_cli.options import CommandContext, with_context


@command(
    "git-diff",
    "schemaman git-diff orders.avsc old.avsc a1b2c3 100644 new.avsc d4e5f6 100644",
    "schemaman git-diff orders.avsc /dev/null . . orders.avsc d4e5f6 100644",
)
@click.argument("path", metavar="PATH")
@click.argument("versions", nargs=-1, metavar="[OLD HEX MODE NEW HEX MODE]...")
@with_context
def git_diff(context: CommandContext, path: str, versions: tuple[str, ...]) -> None:
    """Show the changes of the schema file PATH from OLD to NEW. Git itself gives the arguments.

    Write `schemas/*.json diff=schemaman` into .gitattributes, and run
    `git config diff.schemaman.command "schemaman git-diff"`: git diff then shows changes in words, and the
    readers that they break. A file without a schema is compared line by line. The exit code is 0.
    """
    if len(versions) < 6:
        context.console.write(f"{escape_invisible(path)}: not merged\n")
        return
    shown = build_file_diff(
        make_workspace(context), path, read_file_text(versions[0]), read_file_text(versions[3])
    )
    if isinstance(shown, str):
        context.console.write(escape_commands(escape_invisible(shown, lines=True)))
    else:
        context.console.write(context.console.render(shown, "text"))


COMMAND = git_diff
