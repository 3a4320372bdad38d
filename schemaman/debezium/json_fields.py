"""Members of a JSON struct, taken out as what they must be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemaman.errors import UnreadableInput

Struct = Mapping[str, Any]


def read_text(struct: Struct, name: str) -> str | None:
    """A text; None where it is null or absent.

    Raises:
        UnreadableInput: it is something else.
    """
    value = struct.get(name)
    if value is None or isinstance(value, str):
        return value
    raise _make_error(name, "a text", value)


def read_number(struct: Struct, name: str) -> int | None:
    """A whole number; None where it is null or absent.

    Raises:
        UnreadableInput: it is something else.
    """
    value = struct.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise _make_error(name, "a whole number", value)


def read_texts(struct: Struct, name: str) -> tuple[str, ...]:
    """A list of texts; empty where it is null or absent.

    Raises:
        UnreadableInput: it is something else.
    """
    value = struct.get(name)
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return tuple(value)
    raise _make_error(name, "a list of texts", value)


def read_structs(struct: Struct, name: str) -> tuple[Struct, ...]:
    """A list of structs; empty where it is null or absent.

    Raises:
        UnreadableInput: it is something else.
    """
    value = struct.get(name)
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(v, dict) for v in value):
        return tuple(value)
    raise _make_error(name, "a list of structs", value)


def require_value(value: Any, name: str) -> Any:
    """The value, which must be there.

    Raises:
        UnreadableInput: it is None.
    """
    if value is None:
        raise UnreadableInput(f"{name!r} is missing")
    return value


def _make_error(name: str, kind: str, value: object) -> UnreadableInput:
    return UnreadableInput(f"{name!r} must be {kind}, not {str(value)[:40]!r}")
