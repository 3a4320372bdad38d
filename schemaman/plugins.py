"""Plug-ins, ports and deferred functions: what is found by its name.

A plug-in is a file of a package, named as users type it, or an entry point. A port is a function of a package
above that a package below calls. A deferred function is imported by its first call.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any, ClassVar, Generic, TypeVar, cast

from schemaman.errors import UnknownName

Plugin = TypeVar("Plugin")


class Plugins(Generic[Plugin]):
    """The plug-ins of a package: one module each, which exposes its plug-in as `attribute`.

    `integer_narrowed.py` defines `integer-narrowed`. Modules that begin with an underscore are shared by the
    others. An installed distribution adds plug-ins through an entry-point group with the package's name.
    It cannot replace a plug-in of the package. `previous_groups` are the group's names in earlier releases.
    """

    def __init__(self, package: str, attribute: str, previous_groups: tuple[str, ...] = ()) -> None:
        self.package = package
        self.attribute = attribute
        self.previous_groups = previous_groups
        self._loaded: dict[str, Plugin] = {}

    def names(self) -> tuple[str, ...]:
        """Return the names of all plug-ins, sorted."""
        return tuple(sorted({*self._modules, *self._entry_points}))

    def __contains__(self, name: str) -> bool:
        return name in self._modules or name in self._entry_points

    def added(self) -> tuple[str, ...]:
        """Return the names of the plug-ins that other distributions add, sorted."""
        return tuple(sorted({*self._entry_points} - {*self._modules}))

    def get(self, name: str) -> Plugin:
        """Return the plug-in of that name, and load it on first use.

        Raises:
            UnknownName: no plug-in has that name; the message lists the names that exist.
        """
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def load_all(self) -> tuple[Plugin, ...]:
        """Load every plug-in, in the order of the names."""
        return tuple(self.get(name) for name in self.names())

    def load_each(self) -> Iterator[Plugin]:
        """Load the plug-ins one after the other; nothing is loaded before the first is asked for."""
        yield from map(self.get, self.names())

    @cached_property
    def _modules(self) -> dict[str, str]:
        """Name → module, for the plug-ins of the package itself."""
        path = importlib.import_module(self.package).__path__
        modules = (m.name for m in pkgutil.iter_modules(path) if not m.name.startswith("_"))
        return {m.replace("_", "-"): m for m in modules}

    @cached_property
    def _entry_points(self) -> dict[str, str]:
        """Name → `module:attribute`, for the plug-ins of other distributions; the present group wins."""
        from importlib.metadata import entry_points  # costs as much as the rest of the start-up

        groups = (*self.previous_groups, self.package)
        return {e.name: e.value for group in groups for e in entry_points(group=group)}

    def _load(self, name: str) -> Plugin:
        if name in self._modules:
            module, attribute = f"{self.package}.{self._modules[name]}", self.attribute
        elif name in self._entry_points:
            module, _, attribute = self._entry_points[name].partition(":")
        else:
            raise self._make_unknown_name(name)
        return cast(Plugin, getattr(importlib.import_module(module), attribute or self.attribute))

    def _make_unknown_name(self, name: str) -> UnknownName:
        names = self.names()
        near = difflib.get_close_matches(name, names, n=1)
        word = self.attribute.lower().replace("_", " ")
        there = f"there are: {', '.join(names)}" if names else "there are none"
        hint = f"did you mean {near[0]!r}?" if near else None
        return UnknownName(f"no {word} {name!r}; {there}", hint=hint)


class Port(Generic[Plugin]):
    """A function that a package calls and a package above it defines, so that neither imports upwards.

    `import schemaman` connects each port to its place; the place is imported on first use.
    """

    _places: ClassVar[dict[str, str]] = {}

    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    def connect(cls, places: Mapping[str, str]) -> None:
        """Connect ports by name, each to a `module:attribute`."""
        cls._places.update(places)

    def load(self) -> Plugin:
        """Load the function that the port is connected to."""
        module, _, attribute = self._places[self.name].partition(":")
        return cast(Plugin, getattr(importlib.import_module(module), attribute))


_import_once = cache(importlib.import_module)
"""To ask for a module that is loaded takes longer than many of the calls."""


def defer(place: str) -> Any:
    """Make a function that imports the function or class at `module:attribute` when it is called.

    A module writes it behind `else` of `if TYPE_CHECKING`, which imports the same name: mypy knows its type,
    and the import contract sees it.
    """
    module, _, attribute = place.partition(":")

    def call(*arguments: Any, **named: Any) -> Any:
        return getattr(_import_once(module), attribute)(*arguments, **named)

    return call


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


def install_hint(extra: str) -> str:
    """The command that installs an extra; it never names the stranger's package `schemaman`."""
    name = find_distribution()
    return f"pip install '{DISTRIBUTION if name == 'schemaman' else name}[{extra}]'"
