"""The common options of all commands, and their settings. Every start loads this module: keep it light."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from schemaman.api.settings_files import load_settings
from schemaman.errors import UsageError
from schemaman.settings import KEYS, Settings
from schemaman_cli.console import Console
from schemaman_cli.store_options import list_options

F = TypeVar("F", bound=Callable[..., Any])
_COMPLETIONS = "schemaman_cli.completions"
_TABLES_OF_STREAM = "Only tables of this stream (default: all streams; a TABLE is looked up in main first)."
_STREAM_OF_RECORDS = "Name of the stream of records (default: main)."
_COMMON = ("store", "stream", "color", "debug", "quiet", "no_pager")


def with_context(function: F, stream_help: str = _TABLES_OF_STREAM) -> F:
    """Add the common options to a command, and pass a `CommandContext` as its first argument."""

    @wraps(function)
    def opened(**arguments: Any) -> Any:
        flags = {key: value for key, value in arguments.items() if key in KEYS and key != "target"}
        kept = {k: v for k, v in arguments.items() if k not in _COMMON}
        settings = load_settings(flags)
        json = arguments.get("format") == "json"
        console = Console(
            settings.color.value,
            bool(arguments.get("quiet")),
            json,
            not arguments.get("no_pager"),
            list_options(settings),
        )
        with CommandContext(settings, console) as context:
            return function(context, **kept)

    options: Iterable[Callable[[Any], Any]] = (
        click.option("--debug", is_flag=True, help="Show the traceback of an error."),
        click.option("-q", "--quiet", is_flag=True, help="Write only errors to stderr."),
        click.option("--no-pager", is_flag=True, help="Show long text without a pager; also NO_PAGER=1."),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            help="When to use colour; NO_COLOR overrides this.",
        ),
        click.option(
            "--stream",
            metavar="NAME",
            help=stream_help,
        ),
        click.option("--store", metavar="URL", help="The store (default: sqlite:///schemaman.db)."),
    )
    decorated: Any = opened
    for option in options:
        decorated = option(decorated)
    found: F = decorated
    return found


def with_one_stream(function: F) -> F:
    """As `with_context`, for a command that reads or migrates one stream."""
    return with_context(function, _STREAM_OF_RECORDS)


def offer(kind: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Make the completion of an argument: the words of a kind in `completions`; none after an error."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        try:
            words: list[str] = import_module(_COMPLETIONS).list_words(kind, context.params, incomplete)
        except Exception:  # a shell would print it into the line that is being typed
            return []
        return words

    return complete


class _FormatChoice(click.Choice[str]):
    """The formats of a command, and those that other distributions add."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices and value in _list_added_formats():
            return str(value)
        return super().convert(value, param, ctx)


def _list_added_formats() -> list[str]:
    """List the formats that other distributions add; looking for them costs as much as a start."""
    formats = import_module("schemaman.report.document").FORMATS
    return list(formats.added())


def format_option(*choices: str, default: str = "text") -> Callable[[F], F]:
    """Make `--format` with the choices of a command; formats of other distributions are allowed, too."""
    return click.option(
        "--format",
        "format",
        type=_FormatChoice(choices),
        default=default,
        show_default=True,
        help="Output format.",
    )


def outputs_option(example: str) -> Callable[[F], F]:
    """Make `--output FORMAT=FILE`, which may be repeated; `example` is one."""

    def split(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> tuple[tuple[str, Path], ...]:
        return tuple(_split_output(text, example) for text in texts)

    return click.option(
        "-o",
        "--output",
        "outputs",
        multiple=True,
        callback=split,
        metavar="FORMAT=FILE",
        help=f"Also write the result to a file, such as {example}. Repeatable.",
    )


def _split_output(text: str, example: str) -> tuple[str, Path]:
    """Split FORMAT=FILE, and find the format before the command runs. Raises `UsageError`."""
    name, sign, path = text.partition("=")
    if not sign or not path:
        raise UsageError(f"{text!r} is not FORMAT=FILE", hint=f"--output {example}")
    import_module("schemaman.report.document").FORMATS.get(name)
    return name, Path(path)


class _Interval(click.FloatRange):
    """A number of seconds in a range. NaN needs its own check: no comparison rejects NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = float(super().convert(value, param, ctx))
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        return seconds


class Address(click.ParamType[tuple[str, int]]):
    """An address to listen on: `PORT` or `HOST:PORT`."""

    name = "address"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """Split the text into host and port."""
        host, _, port = str(value).rpartition(":")
        if not port.isascii() or not port.isdigit() or int(port) > 65_535:
            self.fail(f"{value!r} is no port", param, ctx)
        return host or "127.0.0.1", int(port)


def interval_option(help: str) -> Callable[[F], F]:
    """Make `--interval`, in seconds."""
    return click.option(
        "--interval",
        type=_Interval(min=0.1, max=86_400),
        default=5.0,
        show_default=True,
        metavar="SECONDS",
        help=help,
    )


@dataclass
class CommandContext:
    """The settings and the console of a command, and `resources` that close when the command ends."""

    settings: Settings
    console: Console
    resources: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> CommandContext:
        return self

    def __exit__(self, *_: object) -> None:
        self.console.end_progress()
        self.resources.close()


@contextmanager
def reopen_context(context: CommandContext) -> Iterator[CommandContext]:
    """Give a context with the same console and the settings of the current working folder."""
    with CommandContext(load_settings({}), context.console) as other:
        yield other
