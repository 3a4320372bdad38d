"""Whether a value that was built from a document is of the types that it says it is made of.

A frozen value does not look at what it is given; a document that somebody edited may give it anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def find_misfit(value: object, hint: Any, path: str = "") -> str | None:
    """The first place in a value that is not of its type, in words; None if there is none.

    Knows dataclasses, tuples of one type or of several, mappings, unions, literals and plain classes.
    """
    found = next(_find_misfits(value, hint, path), None)
    return None if found is None else f"{found} is of another kind than it should be"


def _find_misfits(value: object, hint: Any, path: str) -> Iterator[str]:
    origin, parts = get_origin(hint), get_args(hint)
    if hint in (Any, object):
        return
    if origin in (Union, UnionType):
        if all(find_misfit(value, part) is not None for part in parts):
            yield path
    elif origin is Literal:
        if value not in parts:
            yield path
    elif origin is tuple:
        yield from _find_tuple_misfits(value, parts, path)
    elif origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            yield path
            return
        for key, each in value.items():
            yield from _find_misfits(key, parts[0], path)
            yield from _find_misfits(each, parts[1], f"{path}.{key}")
    elif not _is_instance(value, hint):
        yield path
    elif is_dataclass(hint):
        hints = get_type_hints(hint)
        for each in fields(hint):
            inner = f"{path}.{each.name}" if path else each.name
            yield from _find_misfits(getattr(value, each.name), hints[each.name], inner)


def _find_tuple_misfits(value: object, parts: tuple[Any, ...], path: str) -> Iterator[str]:
    if not isinstance(value, tuple):
        yield path
        return
    endless = parts[1:] == (Ellipsis,)
    if not endless and len(parts) != len(value):
        yield path
        return
    for number, each in enumerate(value):
        yield from _find_misfits(each, parts[0 if endless else number], f"{path}[{number}]")


def _is_instance(value: object, hint: Any) -> bool:
    if hint in (None, NoneType):
        return value is None
    # True is an int to Python, and no number to anybody else.
    return isinstance(value, hint) and (hint is not int or not isinstance(value, bool))
