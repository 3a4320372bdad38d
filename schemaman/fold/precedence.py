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

    Where nothing is declared, the internal history still tells that a table was dropped or renamed.
    """
    told = tuple(observations)
    public = tuple(o for o in told if o.witness != "internal")
    internal = tuple(o for o in told if o.witness == "internal")
    if not any(o.schema is not None for o in public):
        return told, ()
    if any(o.witness == "declared" for o in public):
        return public, internal
    lives = tuple(replace(o, schema=None) for o in internal if o.action in ("drop", "rename"))
    return (*public, *lives), internal
