"""The group of commands, one file each and loaded on use; formats their help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

COMMANDS = Path(__file__).parent / "commands"
SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Start", ("init", "demo", "ingest")),
    ("Inspect", ("tables", "history", "show", "blame", "diff", "names", "rejects", "impact", "report")),
    ("Check", ("check", "snapshot", "accept", "rules", "explain", "waive", "decide")),
    ("Use in git", ("textconv", "git-diff")),
    ("Serve", ("serve", "registry")),
    (
        "Migrate",
        ("plan", "approve", "apply", "sync", "stream", "digest", "status", "resume", "unlock", "drift"),
    ),
)
"""The order of the commands in the help; other commands come last."""


class LazyGroup(click.Group):
    """Loads the command `NAME` from `COMMAND` in `commands/NAME.py`; lists the first lines of these files.

    Commands are not plug-ins: a search in other distributions would double the start-up time.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of all commands."""
        files = (path.stem for path in COMMANDS.glob("[!_]*.py"))
        return sorted(name.replace("_", "-") for name in files)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with that name; None if there is none."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = import_module(f"schemaman_cli.commands.{cmd_name.replace('-', '_')}")
        found: click.Command = module.COMMAND
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; an error suggests the most similar name."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from difflib import get_close_matches  # loaded only for a mistyped name

            near = get_close_matches(name, self.list_commands(ctx), 1, 0.5)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"no such command: {name}{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write two examples before the usual help."""
        _examples(formatter, ("schemaman demo", "schemaman ingest records.jsonl.gz"))
        super().format_help(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands in sections, without loading the commands."""
        names = self.list_commands(ctx)
        listed = [name for _, section in SECTIONS for name in section]
        rest = tuple(name for name in names if name not in listed)
        for title, section in (*SECTIONS, ("Other", rest)):
            rows = [(name, self._first_line(name)) for name in section if name in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def _first_line(self, name: str) -> str:
        with (COMMANDS / f"{name.replace('-', '_')}.py").open(encoding="utf-8") as file:
            return file.readline().strip().strip('"').rstrip(".")


class ExampleCommand(click.Command):
    """A command whose help starts with working examples."""

    def __init__(self, *, examples: Sequence[str] = (), **options: Any) -> None:
        super().__init__(**options)
        self.examples = tuple(examples)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples before the usual help."""
        _examples(formatter, self.examples)
        super().format_help(ctx, formatter)


def command(name: str, *examples: str) -> Callable[[Callable[..., Any]], ExampleCommand]:
    """Turn a function into the command with that name."""

    def decorate(function: Callable[..., Any]) -> ExampleCommand:
        return click.command(name, cls=ExampleCommand, examples=examples)(function)

    return decorate


def _examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(f"{'':>{formatter.current_indent}}$ {example}\n")
    formatter.write_paragraph()
