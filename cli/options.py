"""What every command shares: its options, and the settings behind them; light, as every start loads it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar

import click

from schemaman.api.settings_files import load_settings
from schemaman.settings import KEYS, Settings
from schemaman_cli.console import Console

F = TypeVar("F", bound=Callable[..., Any])
_COMMON = ("store", "stream", "color", "debug", "quiet")


def with_context(function: F) -> F:
    """Gives a command its common options and a `CommandContext` as its first argument."""

    @wraps(function)
    def opened(**arguments: Any) -> Any:
        flags = {key: value for key, value in arguments.items() if key in KEYS and key != "target"}
        kept = {k: v for k, v in arguments.items() if k not in _COMMON}
        settings = load_settings(flags)
        console = Console(settings.color.value, bool(arguments.get("quiet")))
        with CommandContext(settings, console) as context:
            return function(context, **kept)

    options: Iterable[Callable[[Any], Any]] = (
        click.option("--debug", is_flag=True, help="Show the traceback of a fault."),
        click.option("-q", "--quiet", is_flag=True, help="Nothing on stderr but errors."),
        click.option(
            "--color", type=click.Choice(["auto", "always", "never"]), help="Colour; NO_COLOR wins."
        ),
        click.option(
            "--stream",
            metavar="NAME",
            help="Where records come from; default main. What lists or judges tables takes all without it.",
        ),
        click.option("--store", metavar="URL", help="The store; default sqlite:///schemaman.db."),
    )
    decorated: Any = opened
    for option in options:
        decorated = option(decorated)
    found: F = decorated
    return found


def format_option(*choices: str, default: str = "text") -> Callable[[F], F]:
    """`--format` with the choices of a command."""
    return click.option(
        "--format",
        "format",
        type=click.Choice(choices),
        default=default,
        show_default=True,
        help="How to print.",
    )


class _Pause(click.FloatRange):
    """Seconds between two looks, a day at most; no comparison keeps out what is no number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = float(super().convert(value, param, ctx))
        if math.isnan(seconds):
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        return seconds


def interval_option(told: str) -> Callable[[F], F]:
    """`--interval`, in seconds."""
    return click.option(
        "--interval",
        type=_Pause(min=0.1, max=86_400),
        default=5.0,
        show_default=True,
        metavar="SECONDS",
        help=told,
    )


@dataclass
class CommandContext:
    """What a command works with: settings, console, and `resources` that are open until it ends."""

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
    """A context with the settings of the working folder of now, and the same console."""
    with CommandContext(load_settings({}), context.console) as other:
        yield other
