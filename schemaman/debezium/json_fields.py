"""Typed access to the members of a JSON struct."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemaman.errors import UnreadableInput

Struct = Mapping[str, Any]


def read_text(struct: Struct, name: str) -> str | None:
    """Read a text; None if it is null or absent.

    Raises:
        UnreadableInput: the member is no text.
    """
    value = struct.get(name)
    if value is None or isinstance(value, str):
        return value
    raise _make_error(name, "a text", value)


def read_number(struct: Struct, name: str) -> int | None:
    """Read a whole number; None if it is null or absent.

    Raises:
        UnreadableInput: the member is no whole number.
    """
    value = struct.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise _make_error(name, "a whole number", value)


def read_texts(struct: Struct, name: str) -> tuple[str, ...]:
    """Read a list of texts; empty if it is null or absent.

    Raises:
        UnreadableInput: the member is no list of texts.
    """
    value = struct.get(name)
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return tuple(value)
    raise _make_error(name, "a list of texts", value)


def read_structs(struct: Struct, name: str) -> tuple[Struct, ...]:
    """Read a list of structs; empty if it is null or absent.

    Raises:
        UnreadableInput: the member is no list of structs.
    """
    value = struct.get(name)
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(v, dict) for v in value):
        return tuple(value)
    raise _make_error(name, "a list of structs", value)


def require_value(value: Any, name: str) -> Any:
    """Return a value that must exist.

    Raises:
        UnreadableInput: the value is None.
    """
    if value is None:
        raise UnreadableInput(f"{name!r} is missing")
    return value


def _make_error(name: str, kind: str, value: object) -> UnreadableInput:
    return UnreadableInput(f"{name!r} must be {kind}, not {str(value)[:40]!r}")
