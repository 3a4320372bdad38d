"""A shelf: a folder of modules in which each file is one thing, named as users type it."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import cached_property
from typing import Generic, TypeVar, cast

from schemaman.errors import UnknownName

Thing = TypeVar("Thing")


class Shelf(Generic[Thing]):
    """The things in a package: one module each, which exposes the thing as `attribute`.

    `integer_narrowed.py` holds `integer-narrowed`. Modules that begin with an underscore are words
    that the things share. An installed distribution adds things through an entry-point group
    with the package's name; it cannot replace what stands in the package.
    """

    def __init__(self, package: str, attribute: str) -> None:
        self.package = package
        self.attribute = attribute
        self._taken: dict[str, Thing] = {}

    def names(self) -> tuple[str, ...]:
        """The names of everything there is, sorted."""
        return tuple(sorted({*self._own, *self._plug_ins}))

    def get(self, name: str) -> Thing:
        """The thing of that name.

        Raises:
            UnknownName: there is none; the message lists what there is.
        """
        if name not in self._taken:
            self._taken[name] = self._load(name)
        return self._taken[name]

    def all(self) -> tuple[Thing, ...]:
        """Every thing, in the order of the names."""
        return tuple(self.get(name) for name in self.names())

    @cached_property
    def _own(self) -> dict[str, str]:
        """Name → module of what stands in the package itself."""
        path = importlib.import_module(self.package).__path__
        modules = (m.name for m in pkgutil.iter_modules(path) if not m.name.startswith("_"))
        return {m.replace("_", "-"): m for m in modules}

    @cached_property
    def _plug_ins(self) -> dict[str, str]:
        """Name → `module:attribute` of what other distributions bring."""
        from importlib.metadata import entry_points  # costs as much as the rest of the start-up

        return {e.name: e.value for e in entry_points(group=self.package)}

    def _load(self, name: str) -> Thing:
        if name in self._own:
            module, attribute = f"{self.package}.{self._own[name]}", self.attribute
        elif name in self._plug_ins:
            module, _, attribute = self._plug_ins[name].partition(":")
        else:
            raise self._unknown(name)
        return cast(Thing, getattr(importlib.import_module(module), attribute or self.attribute))

    def _unknown(self, name: str) -> UnknownName:
        names = self.names()
        near = difflib.get_close_matches(name, names, n=1)
        word = self.attribute.lower()
        there = f"there are: {', '.join(names)}" if names else "there are none at all"
        hint = f"did you mean {near[0]!r}?" if near else None
        return UnknownName(f"no {word} {name!r}; {there}", hint=hint)
