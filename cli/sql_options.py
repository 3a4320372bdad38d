"""The options of commands that read SQL migrations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from schemaman.debezium.ddl.migrations.grammar import list_sql_names

F = TypeVar("F", bound=Callable[..., Any])
_NAMES = list_sql_names()


def sql_options(function: F) -> F:
    """Add the options that name SQL migrations and their database."""
    scripts = click.option(
        "--sql",
        multiple=True,
        metavar="PATH",
        help="Check a script or a folder of SQL migrations; may be repeated.",
    )
    word = click.option(
        "--dialect",
        "word",
        type=click.Choice(_NAMES),
        metavar="NAME",
        help=f"Database of the SQL: {', '.join(_NAMES)} (default: that of the folder in schemaman.toml).",
    )
    found: F = scripts(word(function))
    return found
