"""Plug-ins: packages in which each file is one thing, named as users type it, and entry points."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import cached_property
from typing import Generic, TypeVar, cast

from schemaman.errors import UnknownName

Thing = TypeVar("Thing")


class Plugins(Generic[Thing]):
    """The things in a package: one module each, which exposes the thing as `attribute`.

    `integer_narrowed.py` holds `integer-narrowed`. Modules that begin with an underscore are shared by the
    others. An installed distribution adds things through an entry-point group with the package's name.
    It cannot replace a thing of the package. `previous_groups` are names of the group in earlier releases.
    """

    def __init__(self, package: str, attribute: str, former_groups: tuple[str, ...] = ()) -> None:
        self.package = package
        self.attribute = attribute
        self.previous_groups = former_groups
        self._loaded: dict[str, Thing] = {}

    def names(self) -> tuple[str, ...]:
        """The names of everything there is, sorted."""
        return tuple(sorted({*self._modules, *self._entry_points}))

    def get(self, name: str) -> Thing:
        """The thing of that name.

        Raises:
            UnknownName: there is none; the message lists what there is.
        """
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def load_all(self) -> tuple[Thing, ...]:
        """Every thing, in the order of the names."""
        return tuple(self.get(name) for name in self.names())

    @cached_property
    def _modules(self) -> dict[str, str]:
        """Name → module of what stands in the package itself."""
        path = importlib.import_module(self.package).__path__
        modules = (m.name for m in pkgutil.iter_modules(path) if not m.name.startswith("_"))
        return {m.replace("_", "-"): m for m in modules}

    @cached_property
    def _entry_points(self) -> dict[str, str]:
        """Name → `module:attribute` of what other distributions bring; the present group goes first."""
        from importlib.metadata import entry_points  # costs as much as the rest of the start-up

        groups = (*self.previous_groups, self.package)
        return {e.name: e.value for group in groups for e in entry_points(group=group)}

    def _load(self, name: str) -> Thing:
        if name in self._modules:
            module, attribute = f"{self.package}.{self._modules[name]}", self.attribute
        elif name in self._entry_points:
            module, _, attribute = self._entry_points[name].partition(":")
        else:
            raise self._make_unknown_name(name)
        return cast(Thing, getattr(importlib.import_module(module), attribute or self.attribute))

    def _make_unknown_name(self, name: str) -> UnknownName:
        names = self.names()
        near = difflib.get_close_matches(name, names, n=1)
        word = self.attribute.lower()
        there = f"there are: {', '.join(names)}" if names else "there are none at all"
        hint = f"did you mean {near[0]!r}?" if near else None
        return UnknownName(f"no {word} {name!r}; {there}", hint=hint)


DISTRIBUTION = "schemaman-cdc"
"""The name on PyPI; another project owns the name of the import package there."""


def find_distribution() -> str:
    """The name of the installed distribution of this package; `DISTRIBUTION` for a bare checkout."""
    from importlib import metadata  # costs as much as the rest of the start-up

    try:
        metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return min(metadata.packages_distributions().get("schemaman", ()), default=DISTRIBUTION)
    return DISTRIBUTION


def find_version() -> str:
    """The version of the installed distribution; `unknown` for a bare checkout."""
    from importlib import metadata  # costs as much as the rest of the start-up

    try:
        return metadata.version(find_distribution())
    except metadata.PackageNotFoundError:
        return "unknown"


def install_hint(extra: str) -> str:
    """The command that installs an extra; it never names the stranger's package `schemaman`."""
    name = find_distribution()
    return f"pip install '{DISTRIBUTION if name == 'schemaman' else name}[{extra}]'"
