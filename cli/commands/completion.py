"""Print the script that completes commands and options in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from schemaman_cli.group import command
from schemaman_cli.options import CommandContext, with_context


@command("completion", "schemaman completion bash >> ~/.bashrc", "schemaman completion fish | source")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@with_context
def completion(context: CommandContext, shell: str) -> None:
    """Print the completion script for SHELL."""
    kind = get_completion_class(shell)
    root = click.get_current_context().find_root().command
    if kind is not None:
        context.console.write(kind(root, {}, "schemaman", "_SCHEMAMAN_COMPLETE").source() + "\n")


COMMAND = completion
