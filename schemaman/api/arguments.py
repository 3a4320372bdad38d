"""Checks the arguments of the Python API: a wrong one is named before anything runs."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

from schemaman.errors import UnknownName, UsageError
from schemaman.migration.plan import Plan
from schemaman.registry import Registry
from schemaman.settings import Setting, parse_stream

_EXECUTOR_METHODS = ("inspect", "run", "query")


def require_registry(value: object) -> None:
    """Raise `UsageError` unless the value is a registry."""
    if not isinstance(value, Registry):
        raise _make_error("registry", value, "a Registry", "open one: registry = schemaman.open(URL)")


def require_executor(value: object) -> None:
    """Raise `UsageError` unless the value is an executor; `None` is the default one."""
    if value is not None and not all(callable(getattr(value, name, None)) for name in _EXECUTOR_METHODS):
        raise _make_error(
            "executor", value, "an Executor", "wrap the session: executor = schemaman.spark.Executor(spark)"
        )


def require_plan(value: object) -> None:
    """Raise `UsageError` unless the value is a plan."""
    if not isinstance(value, Plan):
        hint = "make one: plan = registry.plan(…); `schemaman apply FILE` applies a plan file"
        raise _make_error("plan", value, "a Plan", hint)


def require_text(name: str, value: object, hint: str) -> None:
    """Raise `UsageError` unless the argument is a text."""
    if not isinstance(value, str):
        raise _make_error(name, value, "a text", hint)


def require_known(name: str, value: object, known: tuple[str, ...]) -> None:
    """Raise `UnknownName` unless the argument is one of the known words, or None."""
    if value is not None and value not in known:
        raise UnknownName(f"{name} is {value!r}; it must be one of {', '.join(known)}")


def read_path(name: str, value: str | PathLike[str]) -> str:
    """Return a path or an address as text. Raises `UsageError` for anything else."""
    text: object = fspath(value) if isinstance(value, PathLike) else value
    if not isinstance(text, str):
        raise _make_error(name, value, "a path or an address", f"{name}='…'")
    return text


def make_stream_setting(stream: str, origin: str) -> Setting[str]:
    """Make the setting of a stream that a caller names. Raises `UsageError` for a name that is no text."""
    try:
        return Setting(parse_stream(stream), origin)
    except ValueError as error:
        raise UsageError(f"stream: {error}", hint="stream='main' is the default") from error


def _make_error(name: str, value: Any, wanted: str, hint: str) -> UsageError:
    found = "None" if value is None else f"of type {type(value).__name__}"
    return UsageError(f"{name} is {found}, not {wanted}", hint=hint)
