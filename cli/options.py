"""What every command shares: its options, and the settings behind them; light, as every start loads it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from schemaman.errors import BadConfiguration
from schemaman.settings import KEYS, Setting, Settings, SettingsFile, read_settings
from schemaman_cli.console import Console

F = TypeVar("F", bound=Callable[..., Any])
_COMMON = ("store", "stream", "color", "debug", "quiet")


def door(function: F) -> F:
    """Gives a command its common options and a `Door` as its first argument."""

    @wraps(function)
    def opened(**arguments: Any) -> Any:
        flags = {key: value for key, value in arguments.items() if key in KEYS and key != "target"}
        kept = {k: v for k, v in arguments.items() if k not in _COMMON}
        settings = read_settings(flags, os.environ, find_settings_file(Path.cwd()))
        console = Console(settings.color.value, bool(arguments.get("quiet")))
        with Door(settings, console) as entrance:
            return function(entrance, **kept)

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
class Door:
    """What a command works with: settings, console, and what it holds `open` until it ends."""

    settings: Settings
    console: Console
    open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *_: object) -> None:
        self.console.end_progress()
        self.open.close()

    def path(self, setting: Setting[str]) -> Path:
        """A path of the settings; one from a file is relative to that file."""
        return _base(setting) / setting.value

    @property
    def store_url(self) -> str:
        """The URL of the store, the path of a local one made whole."""
        setting = self.settings.store
        scheme, slashes, path = setting.value.partition(":///")
        if scheme != "sqlite" or not slashes or path in ("", ":memory:"):
            return setting.value
        return f"sqlite:///{(_base(setting) / path).absolute()}"


def _base(setting: Setting[str]) -> Path:
    origin = Path(setting.origin)
    return origin.parent if origin.suffix == ".toml" else Path()


@contextmanager
def reopened(door: Door) -> Iterator[Door]:
    """A door as the working folder of now has it, with the same console."""
    settings = read_settings({}, os.environ, find_settings_file(Path.cwd()))
    with Door(settings, door.console) as other:
        yield other


def find_settings_file(folder: Path) -> SettingsFile | None:
    """The nearest `schemaman.toml`, or `pyproject.toml` with `[tool.schemaman]`, up to the repository's root.

    Outside a repository only the folder itself is looked at.
    """
    here = folder.absolute()
    above = (here, *here.parents)
    root = next((i for i, place in enumerate(above) if (place / ".git").exists()), 0)
    for place in above[: root + 1]:
        own = place / "schemaman.toml"
        if own.is_file():
            return SettingsFile(str(own), _text(own))
        project = place / "pyproject.toml"
        if project.is_file() and "[tool.schemaman" in (text := _text(project)):
            return SettingsFile(str(project), text, ("tool", "schemaman"))
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration(
            f"{path} cannot be read: {error}", hint="it has to be a UTF-8 text file"
        ) from error
