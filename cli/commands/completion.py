"""Print the script that completes commands and options in a shell."""

from __future__ import annotations

import click

from schemaman.report.document import Report
from schemaman.report.json.answers import build_completion
from schemaman_cli.group import command
from schemaman_cli.options import CommandContext, format_option, with_context
from schemaman_cli.shells import get_completion_class


@command("completion", "schemaman completion bash >> ~/.bashrc", "schemaman completion fish | source")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@format_option("text", "json")
@with_context
def completion(context: CommandContext, shell: str, format: str) -> None:
    """Print the completion script for SHELL."""
    kind = get_completion_class(shell)
    root = click.get_current_context().find_root().command
    script = "" if kind is None else kind(root, {}, "schemaman", "_SCHEMAMAN_COMPLETE").source() + "\n"
    if format == "json":
        context.console.show(Report("", (), dict(build_completion(shell, script))), format)
    else:
        context.console.write(script)


COMMAND = completion
