"""Whose word makes the versions of a table, where several witnesses speak.

What the schema-change topic declares comes first, then what events show. The connector's own schema history
supports or contradicts them, and makes the versions only of a table that nobody else speaks of.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from schemaman.evidence import Observation

Heard = tuple[tuple[Observation, ...], tuple[Observation, ...]]


def by_precedence(observations: Iterable[Observation]) -> Heard:
    """The observations that make the history, and the structures that are only compared with it.

    Where nothing is declared, the internal history still tells that a table was dropped or renamed, and that
    one stands under its name again: structures are not taken from it.
    """
    told = tuple(observations)
    public = tuple(o for o in told if o.witness != "internal")
    internal = tuple(o for o in told if o.witness == "internal")
    if not any(o.schema is not None for o in public):
        return told, ()
    if any(o.witness == "declared" for o in public):
        return public, internal
    if not any(o.action in ("drop", "rename") for o in internal):
        return public, internal
    lives = tuple(replace(o, schema=None) for o in internal if o.action in _OF_LIVES)
    return (*public, *lives), internal


_OF_LIVES = ("drop", "rename", "create", "image")


def of_life(observation: Observation) -> bool:
    """Whether it only tells that a table stands under its name: what is left of an internal structure."""
    internal = observation.witness == "internal" and observation.schema is None
    return internal and observation.previous is None and observation.action in ("create", "image")
