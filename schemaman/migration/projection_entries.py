"""The `[[projection]]` entries of `schemaman.toml` as rules: selectors, and how values and names are held.

Law: what an entry says is one of the words that the option has, or an error that names the nearest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from schemaman.policy import ANY, ProjectionRule, nearest
from schemaman.policy_entries import SELECTORS, patterns
from schemaman.representation import CHOICES, ROLES, Role, decimal_of

_OPTIONS = (*CHOICES, "numeric", "metadata")


def projections(value: object) -> tuple[ProjectionRule, ...]:
    """The rules of all entries, in their order.

    Raises:
        ValueError: an entry that says nothing, an unknown option, or a word that an option does not have.
    """
    if not isinstance(value, list | tuple):
        raise ValueError("projections are written as [[projection]]")
    return tuple(_projection(entry, number) for number, entry in enumerate(value, 1))


def _projection(entry: Any, number: int) -> ProjectionRule:
    if not isinstance(entry, dict):
        raise ValueError(f"projection {number} is not a table")
    if not entry.keys() - set(SELECTORS):
        raise ValueError(f"projection {number} chooses nothing; it may hold {', '.join(_OPTIONS)}")
    tables, targets = (patterns(entry.get(key, ANY)) for key in SELECTORS)
    if not tables or not targets:
        raise ValueError(f"projection {number} means no {'targets' if tables else 'tables'}")
    options = tuple(
        (key, _option(key, told, f"projection {number}"))
        for key, told in entry.items()
        if key not in SELECTORS
    )
    return ProjectionRule(options, tables, targets, f"[[projection]] {number}")


def _option(key: str, told: object, where: str) -> object:
    if key not in _OPTIONS:
        hint = nearest(key, (*_OPTIONS, *SELECTORS)) or f"there are: {', '.join(_OPTIONS)}"
        raise ValueError(f"{where} has an unknown option {key!r}; {hint}")
    if key == "metadata":
        return tuple(_metadata(told, where))
    if key == "numeric":
        if told in ("string", "double") or (isinstance(told, str) and decimal_of(told)):
            return told
        raise ValueError(
            f"{where}: numeric is string, double or decimal(p,s) up to 38 digits, found {told!r}"
        )
    if told in CHOICES[key]:
        return told
    hint = nearest(str(told), CHOICES[key]) or f"there are: {', '.join(CHOICES[key])}"
    raise ValueError(f"{where}: {key} cannot be {told!r}; {hint}")


def _metadata(told: object, where: str) -> Iterator[tuple[Role, str]]:
    """Roles, with names of their own where a table gives them; each once."""
    if isinstance(told, list) and all(isinstance(role, str) for role in told):
        told = dict.fromkeys(told, "")
    if not isinstance(told, Mapping) or not all(isinstance(name, str) for name in told.values()):
        raise ValueError(
            f'{where}: metadata is a list of {", ".join(ROLES)}, or a table like {{ op = "_op" }}'
        )
    names: set[str] = set()
    for word, given in told.items():
        role = next((known for known in ROLES if known == word), None)
        if role is None:
            hint = nearest(word, ROLES) or f"there are: {', '.join(ROLES)}"
            raise ValueError(f"{where}: unknown metadata {word!r}; {hint}")
        name = given or ROLES[role][0]
        if name.lower() in names:
            raise ValueError(f"{where}: two metadata columns are called {name!r}")
        names.add(name.lower())
        yield role, name
